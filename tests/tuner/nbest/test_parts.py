"""Lists read part by part are the lists read whole."""

import gzip
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics._base import Vocabulary
from portmert.tuner.base.errors import InputError
from portmert.tuner.components import registry
from portmert.tuner.nbest import parts
from portmert.tuner.nbest.parts import PartedList, merged_parts
from portmert.tuner.nbest.read import read_nbest


@pytest.fixture(autouse=True)
def _small_reads(monkeypatch):
    monkeypatch.setattr("portmert.tuner.base.files._READ", 16)


@pytest.fixture
def each_segment_alone(monkeypatch):
    """Make parts of one segment each, however short."""

    def cut(pieces):
        rows = b"".join(pieces).splitlines(keepends=True)
        for _, group in groupby(enumerate(rows, 1), lambda row: row[1].split(b"|||")[0]):
            numbers, some = zip(*group, strict=True)
            yield numbers[0], b"".join(some)

    monkeypatch.setattr(parts, "_whole_segments", cut)


def parted(paths, *, segments=None, notice=lambda _: None, form="auto"):
    vocabulary = Vocabulary()
    reader = registry.reader(form)
    return [PartedList(path, reader, vocabulary, segments, notice) for path in paths]


def texts_of(nbest):
    return [nbest.texts.words(n) for n in range(len(nbest.texts))]


def same(paths, *, at_least=1):
    """Compare with the lists read whole; return the number of parts."""
    whole = read_nbest(paths, Vocabulary(), reader=registry.reader("auto"))
    found = list(merged_parts(parted(paths), lambda _: None))
    assert np.concatenate([segments for segments, _ in found]).tolist() == list(range(len(whole)))
    features = np.concatenate([nbest.features for _, nbest in found])
    assert features.tobytes() == np.ascontiguousarray(whole.features).tobytes()
    assert [t for _, nbest in found for t in texts_of(nbest)] == texts_of(whole)
    lengths = np.concatenate([np.diff(nbest.offsets) for _, nbest in found])
    assert lengths.tolist() == np.diff(whole.offsets).tolist()
    assert {nbest.feature_names for _, nbest in found} == {whole.feature_names}
    assert len(found) >= at_least


def line(segment, text="a b", values="1 2", score="0"):
    return f"{segment} ||| {text} ||| LM= {values} ||| {score}\n"


hypotheses = st.tuples(st.sampled_from(["a", "a b", "b c a", ""]), st.sampled_from(["1 2", "3 4"]))
lists = st.lists(st.lists(hypotheses, min_size=1, max_size=5), min_size=3, max_size=3)


@given(st.lists(lists, min_size=1, max_size=3), st.sampled_from([1, 40, 100, 10_000]))
def test_parts_are_the_whole_list(tmp_path_factory, given_lists, size):
    folder = tmp_path_factory.mktemp("lists")
    paths = []
    for number, segments in enumerate(given_lists):
        paths.append(folder / f"{number}.nbest")
        rows = [line(s, *row) for s, one in enumerate(segments) for row in one]
        paths[-1].write_text("".join(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PART_BYTES", size)
        same(paths)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_lists_are_cut_between_segments(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(parts, "PART_BYTES", 1)
    monkeypatch.setattr("portmert.tuner.base.compressed._PIECE", 5)
    text = ("\ufeff" + "".join(line(s, f"w{s} w{n}") for s in range(5) for n in range(3))).encode()
    path = tmp_path / f"list{suffix}"
    path.write_bytes(gzip.compress(text) if suffix else text)
    same([path], at_least=3)


@pytest.mark.usefixtures("each_segment_alone")
def test_links_and_other_formats_are_read_in_parts(tmp_path):
    linked = tmp_path / "linked"
    linked.write_text("".join(line(s, score=f"0 ||| 0-{n}") for s in range(3) for n in range(2)))
    found = list(merged_parts(parted([linked]), lambda _: None))
    assert [nbest.texts.links.values.tolist() for _, nbest in found] == [[[0, 0], [0, 1]]] * 3
    cdec = tmp_path / "cdec"
    cdec.write_text("".join(f"{s} ||| a ||| LM=1 Glue={s} ||| 0\n" for s in range(3)))
    same([cdec], at_least=3)


def test_a_list_is_described_as_if_it_were_whole(tmp_path, monkeypatch):
    path = tmp_path / "list"
    path.write_text(line(0) + line(0, "b") + line(1))
    said = []
    read_nbest([path], Vocabulary(), reader=registry.reader("auto"), notice=said.append)
    monkeypatch.setattr(parts, "PART_BYTES", 1)
    (one,) = parted([path])
    list(merged_parts([one], lambda _: None))
    assert (
        [one.describe()]
        == said
        == ["Moses n-best, 2 features, 2 segments x 1..2, no word alignment"]
    )


def refused(tmp_path, *contents, segments=None):
    paths = []
    for number, content in enumerate(contents):
        paths.append(tmp_path / f"list{number}")
        paths[-1].write_text(content)
    with pytest.raises(InputError) as caught:
        list(merged_parts(parted(paths, segments=segments), lambda _: None))
    return str(caught.value).replace(f"{tmp_path}/", "")


@pytest.mark.usefixtures("each_segment_alone")
def test_what_is_wrong_is_named_by_its_line_in_the_whole_file(tmp_path):
    begin = line(0) + line(1)
    assert refused(tmp_path, begin + line(2, values="x")).startswith("list0:3: 'x' for feature LM")
    assert refused(tmp_path, begin + line(1, "c") + line(0)).startswith(
        "list0:4: segment 0 after 1"
    )
    assert refused(tmp_path, begin + line(7), segments=3).startswith("list0:3: segment id 7")
    assert refused(tmp_path, begin + "2 ||| a\n").startswith("list0:3: 2 fields")
    assert refused(tmp_path, "").startswith("list0: empty file")
    other = "2 ||| a ||| LM= 1 2 ||| 0 ||| 0-0\n"
    assert refused(tmp_path, begin + other).startswith("list0:3: a word alignment or none")
    assert "are read whole" in refused(tmp_path, '{"id": 0, "text": "a", "features": {"LM": 1}}\n')


@pytest.mark.usefixtures("each_segment_alone")
def test_features_that_are_not_everywhere_are_refused(tmp_path):
    more = "2 ||| a ||| LM= 1 2 x_y= 1 ||| 0\n"
    assert "feature x_y is not in every hypothesis" in refused(tmp_path, line(0) + more)
    both = line(0) + more.replace("2 |||", "0 |||", 1)
    assert "feature x_y is not in every hypothesis" in refused(tmp_path, both)
    other = "0 ||| a ||| TM= 1 2 ||| 0\n"
    assert refused(tmp_path, line(0), other).startswith("list1: list1 has no feature LM")
    linked = "0 ||| a ||| LM= 1 2 ||| 0 ||| 0-0\n"
    assert "some of the lists have word alignments" in refused(tmp_path, line(0), linked)
    longer = "1 ||| a ||| LM= 1 2 3 ||| 0\n"
    assert "with more values" in refused(tmp_path, line(0) + longer)
