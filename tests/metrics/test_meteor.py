"""METEOR: worked examples, the slow twin, options."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics._base import Batch, Texts, Vocabulary
from portmert.metrics.meteor import _TASKS
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.components import registry
from tests.oracles import lexical as oracle
from tests.support.strategies_metrics import batch_of_pairs

PAIR = ("the cat sat on the mat", "the cat is on the mat")
sentences = st.lists(st.sampled_from(oracle.WORDS), max_size=7)
few_words = st.lists(st.sampled_from("ab"), max_size=9)


def of_lines(hypothesis, reference):
    return batch_of_pairs((hypothesis.split(), reference.split()))


def written(path, pairs):
    """Return METEOR with a table of these paraphrases."""
    path.write_text("".join(f"0.5 <p>{a}</p> <p>{b}</p>\n" for a, b in pairs))
    return registry.metric(f"meteor:version=1.5,paraphrases={path}")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lexicon")
    (folder / "function").write_text("\n".join(oracle.FUNCTION_WORDS) + "\n")
    return {
        "synonyms": oracle.write_wordnet(folder / "wordnet"),
        "paraphrases": oracle.write_paraphrases(folder / "paraphrases"),
        "function_words": folder / "function",
    }


@pytest.mark.parametrize(
    ("version", "score"), [("2005", 0.806667), ("1.0", 0.724268), ("1.5-tune", 0.666667)]
)
def test_score_of_the_worked_example(version, score):
    metric = registry.metric(f"meteor:version={version}")
    assert metric.score(metric.stats(of_lines(*PAIR))) == pytest.approx([score], abs=1e-6)


def test_vector_and_score_of_meteor_15(tmp_path):
    (tmp_path / "words").write_text("THE\non\nis\n")
    metric = registry.metric(f"meteor:version=1.5,function_words={tmp_path}/words")
    stats = metric.stats(of_lines(*PAIR))
    assert stats.tolist() == [[6, 6, 3, 4, 2, 2, 3, 3, *[0] * 12, 2, 5, 5]]
    parts = metric.parts(stats[0])
    assert (parts["precision"], parts["recall"]) == pytest.approx((0.75, 0.9))
    assert (parts["matched_words"], parts["total_chunks"]) == (5, 2)
    stats[0, -2:] = 6, 4  # the first is that of the hypothesis
    assert metric.parts(stats[0])["matched_words"] == 6
    stats[0, -2:] = 5, 5
    assert metric.score(stats) == pytest.approx([0.437302], abs=1e-6)


def test_segments_have_the_statistics_that_they_have_alone(files):
    metric = registry.build("metric", "meteor", {"version": "1.5", **files})
    rng = np.random.default_rng(1)
    pairs = [tuple(rng.choice(oracle.WORDS, size=(2, 7)).tolist()) for _ in range(9)]
    together = metric.stats(batch_of_pairs(*pairs))
    alone = np.concatenate([metric.stats(batch_of_pairs(pair)) for pair in pairs])
    assert together.tolist() == alone.tolist()
    assert together[:, 12:20].any()  # synonyms and paraphrases are among them


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("1.5", (0.85, 0.20, 0.60, 0.75)),
        ("1.5-adequacy", (0.75, 1.40, 0.45, 0.70)),
        ("1.5-hter", (0.40, 1.50, 0.35, 0.55)),
        ("1.5-tune", (0.5, 1.0, 0.5, 0.5)),
        ("1.5-any", (0.75, 1.40, 0.70, 0.50)),
        ("1.5-universal", (0.70, 1.40, 0.30, 0.70)),
    ],
)
def test_parameters_of_a_version_are_those_of_its_authors(version, numbers, tmp_path):
    (tmp_path / "words").write_text("the\non\nis\n")
    metric = registry.metric(f"meteor:version={version},function_words={tmp_path}/words")
    row = metric.stats(of_lines(*PAIR))[0]
    alpha, beta, gamma, delta = numbers
    # 2 content words and 3 function words are linked, of 3 and 3, and of 2 and 4.
    linked = 2 * delta + 3 * (1 - delta)
    precision = linked / (3 * delta + 3 * (1 - delta))
    recall = linked / (2 * delta + 4 * (1 - delta))
    mean = precision * recall / (alpha * precision + (1 - alpha) * recall)
    assert metric.score(row) == pytest.approx(mean * (1 - gamma * (2 / 5) ** beta))
    # Of a paraphrase, 2 chunks link 6 words of one text with 4 of the other: 5 words count.
    row[-2:] = 6, 4
    assert metric.score(row) == pytest.approx(mean * (1 - gamma * (2 / 5) ** beta))


def test_own_parameters_replace_those_of_the_version(tmp_path):
    (tmp_path / "words").write_text("the\non\nis\n")
    given = {"version": "1.5", "function_words": tmp_path / "words"}
    names = ("alpha", "beta", "gamma", "delta")
    lowest, highest = (0, 0, 0, 0), (1, 100, 1, 1)
    for own in (lowest, (0.3, 2.0, 0.6, 0.4), highest):
        metric = registry.build("metric", "meteor", given | dict(zip(names, own, strict=True)))
        row = metric.stats(of_lines(*PAIR))[0]
        expected = oracle.meteor_15(row, own, _TASKS["1.5"][1])
        assert metric.score(row) == pytest.approx(expected)
    for name, low, high in zip(names, lowest, highest, strict=True):
        for value in (low - 0.1, high + 0.1):
            with pytest.raises(ConfigError, match=name):
                registry.build("metric", "meteor", given | {name: value})


def test_perfect_segment_stores_no_chunk_in_15_only():
    pair = of_lines("a b c", "a b c")
    assert registry.metric("meteor:version=1.5").stats(pair)[0, 20] == 0
    assert registry.metric("meteor").stats(pair)[0].tolist() == [3, 3, 3, 1]


@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=8))
def test_links_of_all_modules_are_those_of_the_twin(files, pairs):
    metric = registry.build("metric", "meteor", {"version": "1.5", "stem": True, **files})
    for (hypothesis, reference), row in zip(
        pairs, metric.stats(batch_of_pairs(*pairs)), strict=True
    ):
        vectors = oracle.meteor_vectors(hypothesis, reference, oracle.ALL, version15=True)
        counts, (chunks, hyp_matched, ref_matched) = row[4:20], row[20:]
        assert (hyp_matched, ref_matched) == (counts[0::2].sum(), counts[1::2].sum())
        whole = hyp_matched == len(hypothesis) and ref_matched == len(reference)
        assert (*counts, chunks) in {
            (*v[:16], 0 if whole and v[16] == 1 else v[16]) for v in vectors
        }
        assert metric.score(row) == pytest.approx(oracle.meteor_15(row, *_TASKS["1.5"]))


@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=8))
def test_links_of_2005_count_the_same_however_made(files, pairs):
    options = {"stem": True, "synonyms": files["synonyms"]}
    metric = registry.build("metric", "meteor", options)
    for (hypothesis, reference), row in zip(
        pairs, metric.stats(batch_of_pairs(*pairs)), strict=True
    ):
        vectors = oracle.meteor_vectors(hypothesis, reference, oracle.ALL, version15=False)
        ((matched, chunks),) = {(sum(v[:16:2]), v[16]) for v in vectors}
        assert row.tolist() == [len(hypothesis), len(reference), matched, chunks]
        expected = oracle.meteor_2005(row[:2], matched, chunks, alpha=0.9, beta=3, gamma=0.5)
        assert metric.score(row) == pytest.approx(expected)


@given(few_words, few_words)
def test_repeated_words_have_the_fewest_chunks(hypothesis, reference):
    row = registry.metric("meteor").stats(batch_of_pairs((hypothesis, reference)))[0]
    vectors = oracle.meteor_vectors(hypothesis, reference, oracle.NOTHING, version15=False)
    assert {(sum(v[:16:2]), v[16]) for v in vectors} == {(row[2], row[3])}


def test_where_few_states_mislead_the_search_looks_again_with_more():
    """The eight best states at each place lead to six chunks; the twin, in 40 s, finds five."""
    pair = "a c b c a c b b", "b b c b a c c a b a"
    row = registry.metric("meteor").stats(batch_of_pairs(pair))[0]
    assert row[2:4].tolist() == [8, 5]


def test_many_repeated_words_are_all_linked():
    rng = np.random.default_rng(1)
    hypothesis, reference = (list(rng.choice(["a", "b", "c"], 30)) for _ in range(2))
    row = registry.metric("meteor").stats(batch_of_pairs((hypothesis, reference)))[0]
    assert row[2] == sum(min(hypothesis.count(w), reference.count(w)) for w in "abc")
    same = registry.metric("meteor").stats(batch_of_pairs((hypothesis, hypothesis)))[0]
    assert same.tolist() == [30, 30, 30, 1]


def test_more_than_64_competing_words_of_a_hypothesis():
    words = [f"w{i % 50}" for i in range(100)]
    row = registry.metric("meteor").stats(batch_of_pairs((words[50:] + words[:50], words)))[0]
    assert row.tolist() == [100, 100, 100, 1]


def test_best_reference_counts():
    vocabulary = Vocabulary()
    hypotheses = Texts.from_lines(["a b c"], vocabulary)
    references = Texts.from_lines(["c b a", "a b d"], vocabulary)
    both = Batch(hypotheses, np.array([0, 1]), references, np.array([0, 2]))
    assert registry.metric("meteor").stats(both).tolist() == [[3, 3, 2, 1]]


def test_synonyms_by_base_form_and_exception(files):
    metric = registry.build("metric", "meteor", {"synonyms": files["synonyms"]})
    matched = metric.stats(
        batch_of_pairs((["Tomcats"], ["cat"]), (["strolling"], ["walk"]), (["doges"], ["hound"]))
    )[:, 2]
    assert matched.tolist() == [1, 1, 0]


def test_sets_of_synonyms_have_a_number_within_their_part_of_speech(tmp_path):
    oracle.write_wordnet(tmp_path)
    index = [("dog%1", 101), ("stroll%2", 101), ("walk%2", 100)]
    lines = [f"{sense}:00:00:: {offset:08d} 1 0\n" for sense, offset in index]
    (tmp_path / "index.sense").write_text("".join(lines))
    metric = registry.metric(f"meteor:synonyms={tmp_path}")
    pairs = batch_of_pairs((["dog"], ["stroll"]), (["dog"], ["walk"]))
    assert metric.stats(pairs)[:, 2].tolist() == [0, 0]


def test_stems_are_those_of_the_language():
    texts = batch_of_pairs((["Häuser"], ["Häusern"]))
    assert registry.metric("meteor:stem=true,language=german").stats(texts)[0, 2] == 1
    assert registry.metric("meteor:stem=true").stats(texts)[0, 2] == 0
    assert registry.metric("meteor:language=german").stats(texts)[0, 2] == 0


def test_meteor_format_and_gzip_say_the_same(tmp_path, files):
    lines = "".join(f"{p}\n{a}\n{b}\n" for p, a, b in oracle.PHRASES)
    # A small table may be compressed to less than a 200th.
    (tmp_path / "table.gz").write_bytes(gzip.compress((lines * 2_001).encode()))
    pair = of_lines("it walks home", "the dog strolled dog")
    rows = [
        registry.build("metric", "meteor", {"version": "1.5", "paraphrases": path}).stats(pair)
        for path in (files["paraphrases"], tmp_path / "table.gz")
    ]
    assert np.array_equal(*rows)
    assert rows[0][0, 16:].tolist() == [3, 4, 0, 0, 0, 3, 4]


@pytest.mark.parametrize(
    ("hypothesis", "reference", "matched"),
    [
        ("b c d e", "x y", [4, 2]),  # of paraphrases that begin alike, the longer one
        ("b d e", "b c", [3, 2]),  # rather than the first word alone
        ("r q", "p q", [1, 1]),  # but an equal word counts twice, so it is linked instead
    ],
)
def test_paraphrases_that_link_most_words_are_taken(tmp_path, hypothesis, reference, matched):
    pairs = [("x", "b"), ("x", "b c"), ("y", "d e"), ("y", "d"), ("b c", "b d e"), ("p q", "r")]
    metric = written(tmp_path / "table", pairs)
    assert metric.stats(of_lines(hypothesis, reference))[0, 21:].tolist() == matched


def test_words_that_compete_for_one_word_are_not_all_linked(tmp_path):
    """Two of four words have one paraphrase, the same; the others seven: 16 links, 3 at once."""
    pairs = [("w", "a"), ("x", "a"), *((word, other) for word in "yz" for other in "abcdefg")]
    stats = written(tmp_path / "table", pairs).stats(of_lines("a b c d e f g", "w x y z"))
    assert stats[0, 21:].tolist() == [3, 3]


def test_a_word_may_have_more_links_than_the_texts_have_words(tmp_path):
    spans = ["a", "b", "c", "d", "a b", "b c", "c d", "a b c", "b c d", "a b c d"]
    stats = written(tmp_path / "table", [("x", span) for span in spans]).stats(
        of_lines("a b c d", "x")
    )
    assert stats[0, 21:].tolist() == [4, 1]


def test_signature_names_files_without_their_folders(files):
    options = {"version": "1.5", "paraphrases": files["paraphrases"]}
    signature = registry.build("metric", "meteor", options).signature
    assert signature == "meteor:version=1.5,stem=false,language=english,paraphrases=paraphrases"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("delta=0.5", "version 2005 has no delta; take 1.5 or"),
        ("version=1.0,paraphrases=x", "version 1.0 has no paraphrases"),
        ("stem=true,language=klingon", "language is 'klingon'; Snowball has stemmers for arabic"),
        ("synonyms=./nowhere", "nowhere: no such folder; expected the dict folder of WordNet"),
        ("version=1.5,paraphrases=./nowhere", "nowhere: No such file or directory"),
    ],
)
def test_wrong_option_is_named(options, message):
    with pytest.raises(ConfigError, match=message):
        registry.metric(f"meteor:{options}")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t", "", "t: the file is empty; expected a table of paraphrases"),
        ("t", "0.5\na\nb\n0.5\n", "t: its number of lines, 4, is no multiple of three; expected"),
        ("t", "0.5\na\n\n", "t:1: a phrase without a word"),
        ("t", "0\na\nb\n", "t:1: probability 0; expected a number above 0, to 1"),
        ("t", "0.5\na\nb\nnan\na\nc\n", "t:4: probability nan"),
        ("t", "1 <p>a</p> <p>b</p>\n\n-0.5 <p>a</p> <p>c</p>\n", "t:3: probability -0.5"),
        ("t", "1 <p>a</p> <p>b</p>\na b\n", "t:2: no entry of a paraphrase table"),
        ("t.gz", "plain", "t.gz: the compressed stream is damaged or cut off"),
    ],
)
def test_faulty_paraphrases_are_placed(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError, match=message):
        registry.metric(f"meteor:version=1.5,paraphrases={tmp_path}/{name}")


@pytest.mark.parametrize("line", ["dog 123", f"dog%1:05:00:: {'1' * 5000} 1 0"])
def test_faulty_wordnet_is_placed(tmp_path, line):
    folder = oracle.write_wordnet(tmp_path / "wn")
    with (folder / "index.sense").open("a") as file:
        file.write(f"{line}\n")
    count = sum(len(words) for _, *words in oracle.SYNSETS)
    with pytest.raises(ConfigError, match=f"index.sense:{count + 1}: no line of WordNet's"):
        registry.metric(f"meteor:synonyms={folder}")
    oracle.write_wordnet(folder)
    (folder / "verb.exc").write_text("went go\nsaw\n")
    with pytest.raises(ConfigError, match=r"verb\.exc:2: 'saw' has no base form"):
        registry.metric(f"meteor:synonyms={folder}")
    (folder / "verb.exc").unlink()
    with pytest.raises(ConfigError, match=r"wn: no file verb\.exc; expected the dict folder"):
        registry.metric(f"meteor:synonyms={folder}")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"the\nof the\n", "w:2: 2 words; expected one per line"),
        (b"\n", "w: no word; expected a list of words"),
        (b"the\n\xff\n", "w:2: not UTF-8"),
    ],
)
def test_faulty_list_of_words_is_placed(tmp_path, content, message):
    (tmp_path / "w").write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        registry.metric(f"meteor:version=1.5,function_words={tmp_path}/w")
