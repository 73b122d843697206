import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.aligners._base import counts_from_one, parse_links
from portmert.metrics._base import Texts, Vocabulary
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.texts import corpus
from tests.support.examples import examples
from tests.support.places import SHARED, needs


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def words(texts):
    return [texts.words(i) for i in range(len(texts))]


def links_of(ragged):
    return [[tuple(link) for link in ragged.row(i).tolist()] for i in range(len(ragged))]


def test_read_texts_splits_at_spaces_and_tabs(tmp_path):
    path = write(tmp_path / "t", " a  b\tc \n\nd")
    assert words(corpus.read_texts(path, Vocabulary())) == [["a", "b", "c"], [], ["d"]]


def test_read_texts_bears_windows_line_ends_and_a_byte_order_mark(tmp_path):
    path = write(tmp_path / "t", b"\xef\xbb\xbfa b\r\nc\r\n")
    assert words(corpus.read_texts(path, Vocabulary())) == [["a", "b"], ["c"]]


def test_read_texts_refuses_an_empty_file(tmp_path):
    path = write(tmp_path / "t", "")
    with pytest.raises(InputError, match="t: the file is empty; expected one segment a line"):
        corpus.read_texts(path, Vocabulary())


def test_changed_words_keep_the_vocabulary_and_the_links():
    vocabulary = Vocabulary()
    texts = Texts.from_lines(["A b", "", "a"], vocabulary, [[(0, 0)], [], [(1, 0)]])
    lowered = corpus.with_words(texts, str.lower)
    assert words(lowered) == [["a", "b"], [], ["a"]]
    assert words(texts) == [["A", "b"], [], ["a"]]
    assert lowered.vocabulary is vocabulary
    assert lowered.links is texts.links


def read_links(path, sources, targets):
    return corpus.read_links(
        path, source_lengths=np.array(sources), target_lengths=np.array(targets)
    )


def test_read_links_sorts_and_removes_duplicates(tmp_path):
    path = write(tmp_path / "a", "1-0 0-2 1-0 0-1\r\n\n 2-2\t0-0 \n")
    links = read_links(path, [2, 1, 3], [3, 1, 3])
    assert links_of(links) == [[(0, 1), (0, 2), (1, 0)], [], [(0, 0), (2, 2)]]
    assert links.values.dtype == np.int32


def test_read_links_without_any_link_has_pairs_all_the_same(tmp_path):
    links = read_links(write(tmp_path / "a", "\n\n"), [1, 1], [1, 1])
    assert links.values.shape == (0, 2)
    assert links_of(links) == [[], []]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("7-3", "a:2: link 7-3: the source has 7 tokens, so positions are 0..6"),
        ("0-0 3-5", "a:2: link 3-5: the target has 5 tokens, so positions are 0..4"),
        ("0-0 1_1", "a:2: '1_1' is not a link; expected source-target, as in 0-0 1-2"),
        ("0--1", "a:2: '0--1' is not a link"),
        ("1", "a:2: '1' is not a link"),
        ("0-0\u00a01-1", "a:2: '0-0\u00a01-1' is not a link"),
        ("99999999999-0", "a:2: '99999999999-0' is not a link"),
    ],
)
def test_read_links_says_which_link_is_wrong(tmp_path, line, message):
    path = write(tmp_path / "a", f"0-0\n{line}\n")
    with pytest.raises(InputError, match=message):
        read_links(path, [7, 7], [5, 5])


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        (([0], [1]), "link 0-0: the source is empty, so it cannot have links"),
        (([1], [0]), "link 0-0: the target is empty, so it cannot have links"),
    ],
)
def test_read_links_refuses_links_of_empty_texts(tmp_path, lengths, message):
    with pytest.raises(InputError, match=message):
        read_links(write(tmp_path / "a", "0-0\n"), *lengths)


def test_read_links_speaks_of_one_token_in_the_singular(tmp_path):
    with pytest.raises(InputError, match=r"the source has 1 token, so positions are 0\.\.0"):
        read_links(write(tmp_path / "a", "1-0\n"), [1], [1])


def test_read_links_names_both_numbers_of_lines(tmp_path):
    path = write(tmp_path / "a", "0-0\n")
    with pytest.raises(InputError, match="a: 1 line, expected 2"):
        read_links(path, [1, 1], [1, 1])


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8),
        min_size=1,
        max_size=5,
    )
)
@examples(200)
def test_read_links_reads_what_was_written(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("links") / "a"
    path.write_text("".join(" ".join(f"{i}-{j}" for i, j in row) + "\n" for row in rows))
    links = read_links(path, [6] * len(rows), [6] * len(rows))
    assert links_of(links) == [sorted(set(row)) for row in rows]


def shifted(rows):
    return "".join(" ".join(f"{i + 1}-{j + 1}" for i, j in row) + "\n" for row in rows)


def test_links_that_count_from_one_are_told(tmp_path, caplog):
    rows = [[(0, 0), (1, 1)], [], [(1, 0)], [(0, 1)]]
    (tmp_path / "links").write_text(shifted(rows))
    lengths = np.array([3, 0, 3, 3])
    with collected_warnings():
        corpus.read_links(tmp_path / "links", source_lengths=lengths, target_lengths=lengths)
    assert "links: no link has a 0: do its positions count from 1?" in caplog.text
    assert "subtract 1 from every position" in caplog.text
    lengths = np.array([2, 0, 2, 2])
    with pytest.raises(InputError, match=r"positions are 0\.\.1 \(portmert counts words from 0"):
        corpus.read_links(tmp_path / "links", source_lengths=lengths, target_lengths=lengths)


@needs(SHARED / "data" / "moses-ja-en", SHARED / "data" / "xlwa-en-nl")
def test_real_links_raise_no_doubt_and_shifted_ones_do():
    data = SHARED / "data"
    texts = [(data / "moses-ja-en" / f"{part}.ja-en.giza").read_text() for part in ("dev", "test")]
    for part in ("train", "dev", "test"):
        rows = (data / "xlwa-en-nl" / f"{part}.tsv").read_text().splitlines()
        texts.append("\n".join(row.split("\t")[2] for row in rows))
    for text in texts:
        links = [parse_links(line) for line in text.splitlines()]
        for begin in range(0, len(links), 5):
            part = links[begin : begin + 5]
            flat = [link for row in part for link in row]
            assert not counts_from_one(flat, sum(map(bool, part)))
            if sum(map(bool, part)) > 2:
                assert counts_from_one(np.array(flat) + 1, len(part))


def test_references_stand_segment_by_segment(tmp_path):
    first = write(tmp_path / "r1", "a\nb b\n")
    second = write(tmp_path / "r2", "c c c\n\n")
    source = write(tmp_path / "s", "x y\nz\n")
    links = [write(tmp_path / "l1", "0-0\n0-1\n"), write(tmp_path / "l2", "1-2\n\n")]
    references = corpus.read_references(
        [first, second], vocabulary=Vocabulary(), source=source, links=links
    )
    assert words(references.texts) == [["a"], ["c", "c", "c"], ["b", "b"], []]
    assert links_of(references.texts.links) == [[(0, 0)], [(1, 2)], [(0, 1)], []]
    assert references.offsets.tolist() == [0, 2, 4]
    assert references.source_lengths.tolist() == [2, 1]
    assert len(references) == 2
    texts = Texts.from_lines(["a", "b"], references.texts.vocabulary)
    batch = corpus.make_batch(texts, np.array([0, 1, 2]), references)
    some = corpus.with_references(batch, [1])
    assert words(some.references) == [["c", "c", "c"], []]
    assert some.source == ("x y", "z")
    assert some.source_lengths.tolist() == [2, 1]


def test_references_of_different_lengths_are_refused(tmp_path):
    paths = [write(tmp_path / "r1", "a\nb\n"), write(tmp_path / "r2", "a\n")]
    with pytest.raises(InputError, match=r"r2: 1 line, but .*r1 has 2"):
        corpus.read_references(paths, vocabulary=Vocabulary())


def test_a_source_of_another_length_is_refused(tmp_path):
    paths = [write(tmp_path / "r1", "a\nb\n")]
    with pytest.raises(InputError, match=r"s: 3 lines, but .*r1 has 2"):
        corpus.read_references(
            paths, vocabulary=Vocabulary(), source=write(tmp_path / "s", "a\nb\nc\n")
        )


def test_reference_links_need_the_source_and_one_file_for_each(tmp_path):
    ref, links = write(tmp_path / "r", "a\n"), write(tmp_path / "l", "0-0\n")
    with pytest.raises(InputError, match="l: links need the source text"):
        corpus.read_references([ref], vocabulary=Vocabulary(), links=[links])
    with pytest.raises(InputError, match="1 file of reference links for 2 references"):
        corpus.read_references([ref, ref], vocabulary=Vocabulary(), source=ref, links=[links])


def test_references_need_a_file():
    with pytest.raises(ValueError, match="at least one reference file"):
        corpus.read_references([], vocabulary=Vocabulary())


def test_batch_needs_as_many_segments_on_both_sides(tmp_path):
    vocabulary = Vocabulary()
    references = corpus.read_references([write(tmp_path / "r", "a\nb\n")], vocabulary=vocabulary)
    texts = Texts.from_lines(["a", "b", "c"], vocabulary)
    batch = corpus.make_batch(texts, np.array([0, 2, 3]), references)
    assert len(batch) == 2
    with pytest.raises(InputError, match="hypotheses have 3 segments, the references 2"):
        corpus.make_batch(texts, np.array([0, 1, 2, 3]), references)
    with pytest.raises(ValueError, match="share one vocabulary"):
        corpus.make_batch(Texts.from_lines(["a"], Vocabulary()), np.array([0, 1, 1]), references)
