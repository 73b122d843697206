"""TERp: worked examples, the slow twin, TER as a special case, options."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from portmert.metrics._base import Batch, Texts, Vocabulary
from portmert.metrics._lexicon_files import read_paraphrases
from portmert.metrics.terp import PRESETS, terp_counts
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.components import registry
from tests.oracles import lexical as oracle
from tests.support.places import SHARED, needs
from tests.support.strategies_metrics import batch_of_pairs

SAMPLE = SHARED / "data" / "peers" / "terp" / "sample.pt.txt"

sentences = st.lists(st.sampled_from(oracle.WORDS), max_size=7)
EXAMPLES = [
    ("i visited paris recently", "recently i visited paris", 0.562054),
    ("the dogs walked home", "the dog walks home today", 1.426936),
    ("he signed it quickly", "he signed the deal rapidly", 2.269234),
]
PAIRS = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=6)


def counts(metric, texts):
    return terp_counts(texts, metric._lexicon, PRESETS[metric.costs])


def one_list(hypotheses, reference):
    """Hypotheses of one segment, all lists of words."""
    vocabulary = Vocabulary()
    texts = Texts.from_lines([" ".join(words) for words in hypotheses], vocabulary)
    references = Texts.from_lines([" ".join(reference)], vocabulary)
    return Batch(texts, np.array([0, len(hypotheses)]), references, np.array([0, 1]))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lexicon")
    (folder / "stop").write_text("\n".join(oracle.FUNCTION_WORDS) + "\n")
    return {
        "synonyms": oracle.write_wordnet(folder / "wordnet"),
        "paraphrases": oracle.write_paraphrases(folder / "paraphrases"),
        "stop_words": folder / "stop",
    }


@pytest.mark.parametrize(("hypothesis", "reference", "edits"), EXAMPLES)
def test_worked_examples(files, hypothesis, reference, edits):
    metric = registry.build("metric", "terp", {"paraphrases": files["paraphrases"]})
    stats = metric.stats(batch_of_pairs((hypothesis.split(), reference.split())))
    assert stats == pytest.approx(np.array([[edits, len(reference.split())]]), abs=1e-6)
    assert metric.score(stats) == pytest.approx([edits / len(reference.split())], abs=1e-6)


def test_distance_of_a_phrase_counts_shifts(tmp_path):
    """From `a b c` to `c a b` is one shift, 0.562054, not an insertion and a deletion."""
    table = tmp_path / "paraphrases"
    table.write_text("0.5 <p>a b c</p> <p>c a b</p>\n")
    metric = registry.build("metric", "terp", {"paraphrases": table})
    (row,) = counts(metric, batch_of_pairs((["c", "a", "b"], ["a", "b", "c"])))
    e = 0.562054
    assert row[6:11] == pytest.approx([0, 1, -0.30103 * e, 0.5 * e, e], abs=1e-5)
    # w1 + w2 e log10(p) + w3 e p + w4 e = -0.2307 + 0.0249 - 0.0220 + 0.0995: never below 0.
    assert row[11] == 0


def test_a_span_that_ends_in_a_paraphrase_is_not_shifted(tmp_path):
    """As in the program: the whole would match after `the deal` went to the front as `it`."""
    table = tmp_path / "paraphrases"
    table.write_text("0.1 <p>the deal</p> <p>it</p>\n")
    metric = registry.build("metric", "terp", {"paraphrases": table})
    shared = ["a1", "b1", "c1", "d1"]
    pair = batch_of_pairs(([*shared, "it"], ["the", "deal", *shared]))
    assert counts(metric, pair)[0, 6] == 0
    assert metric.score(metric.stats(pair)) == pytest.approx([0.519], abs=5e-4)


def test_a_table_of_the_program_is_read(tmp_path):
    """A pair of probability 0 is never used; a line of two numbers is two pairs."""
    table = tmp_path / "paraphrases"
    table.write_text(
        "0.0 <p>stock exchange</p> <p>stock market</p>\n"
        "0.5 3.0 <p>shares of ez</p> <p>stocks of it</p>\n"
        "0 1.0 <p>american</p> <p>u . s .</p>\n"
    )
    found = read_paraphrases(table)
    assert found.probabilities.tolist() == [0.5, 3.0, 1.0]
    assert [len(found.left.row(k)) for k in range(3)] == [3, 3, 1]
    metric = registry.build("metric", "terp", {"paraphrases": table})
    pair = batch_of_pairs((["u", ".", "s", "."], ["american"]))
    e = 3 * 0.2588527567630183 + 1.5565478292505814  # three words too many, one replaced
    cost = max(0.0, -0.2306579294476191 + (0.17708577297831574 - 0.07843705907022736) * e)
    assert metric.stats(pair)[0, 0] == pytest.approx(cost)


@needs(SAMPLE)
def test_the_sample_of_the_program_is_read():
    assert len(read_paraphrases(SAMPLE).probabilities) == 5


def test_counts_of_the_worked_examples(files):
    metric = registry.build("metric", "terp", {"paraphrases": files["paraphrases"]})
    texts = batch_of_pairs(*([text.split() for text in pair[:2]] for pair in EXAMPLES[1:]))
    one, other = counts(metric, texts)
    assert one[:11].tolist() == [2, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0]
    e = 2.983484
    assert other[:11] == pytest.approx([2, 0, 0, 1, 0, 0, 0, 1, -e, 0.1 * e, e], abs=1e-5)


@pytest.mark.parametrize(
    ("preset", "costs", "phrase_costs"),
    [
        ("terpa", oracle.TERPA, oracle.TERPA_PHRASE),
        ("terph", oracle.TERPH, oracle.TERPH_PHRASE),
    ],
)
@given(PAIRS)
def test_edits_are_those_of_the_twin(files, preset, costs, phrase_costs, pairs):
    metric = registry.build("metric", "terp", {"costs": preset, **files})
    twin = oracle.Terp(oracle.ALL, costs, phrase_costs, oracle.FUNCTION_WORDS)
    texts = batch_of_pairs(*pairs)
    rows, stats = counts(metric, texts), metric.stats(texts)
    for (hypothesis, reference), row, own in zip(pairs, rows, stats, strict=True):
        expected, total = twin.edits(hypothesis, reference)
        assert row == pytest.approx([*expected, total], abs=1e-9)
        assert own == pytest.approx([total, len(reference)], abs=1e-9)


@pytest.mark.parametrize(("letters", "longest"), [("abc", 5), ("abcef", 8)])
def test_paraphrases_that_overlap_are_those_of_the_twin(tmp_path, letters, longest):
    """Many cost nothing, so that paths of equal cost are frequent; `d` is in no reference."""
    rng = np.random.default_rng(5)

    def words(letters, least, most):
        return tuple(rng.choice(list(letters), rng.integers(least, most + 1)).tolist())

    for number in range(30):
        table = {}
        while len(table) < 12:
            pair = words(letters, 1, 3), words(letters + "d", 1, 3)
            if pair[0] != pair[1]:
                table[pair] = float(rng.choice([1.0, 1.0, 0.1]))
        lines = [f"{p} <p>{' '.join(a)}</p> <p>{' '.join(b)}</p>" for (a, b), p in table.items()]
        path = tmp_path / str(number)
        path.write_text("\n".join(lines))
        metric = registry.build("metric", "terp", {"paraphrases": path})
        lexicon = replace(oracle.NOTHING, phrases=tuple((p, *pair) for pair, p in table.items()))
        twin = oracle.Terp(lexicon, oracle.TERPA, oracle.TERPA_PHRASE)
        reference = words(letters, 2, longest)
        hypotheses = [words(letters + "d", 2, longest) for _ in range(5)]
        for hypothesis, row in zip(
            hypotheses, counts(metric, one_list(hypotheses, reference)), strict=True
        ):
            expected, total = twin.edits(hypothesis, reference)
            assert row == pytest.approx([*expected, total], abs=1e-9), (number, hypothesis)


@given(st.lists(st.tuples(*[st.lists(st.sampled_from("abcde"), max_size=14)] * 2), min_size=1))
def test_costs_of_ter_are_ter(pairs):
    texts = batch_of_pairs(*pairs)
    terp = registry.metric("terp:costs=ter,cap=false")
    ter = registry.metric("ter")
    assert np.array_equal(terp.stats(texts), ter.stats(texts))
    assert np.array_equal(terp.score(terp.stats(texts)), ter.score(ter.stats(texts)))


def test_a_text_of_20000_tokens_is_compared():
    rng = np.random.default_rng(4)
    words = [f"w{w}" for w in rng.integers(0, 2000, 20_000)]
    ((edits, length),) = registry.metric("terp").stats(batch_of_pairs((words[1:], words)))
    assert (edits, length) == (pytest.approx(PRESETS["terpa"].edits[2]), 20_000)


@given(st.lists(st.lists(st.sampled_from(oracle.WORDS), max_size=5), min_size=1, max_size=9))
@example([["dog", "tom"], ["home", "dog"]])  # the second one's last word is new
def test_hypotheses_of_a_list_are_counted_as_by_themselves(files, hypotheses):
    """Those with the same matches are counted once."""
    metric = registry.build("metric", "terp", files)
    reference = ["the", "dog", "walks", "home"]
    together = one_list(hypotheses, reference)
    alone = batch_of_pairs(*((words, reference) for words in hypotheses))
    assert np.array_equal(counts(metric, together), counts(metric, alone))


def test_a_segment_of_more_words_than_are_remembered():
    """The matches of 512 words are; each of these hypotheses lacks 513 words."""
    words = [f"w{k}" for k in range(514)]
    batch = one_list([[word] for word in words], words)
    edits = registry.metric("terp").stats(batch)[:, 0]
    assert edits == pytest.approx(np.full(514, 513 * PRESETS["terpa"].edits[2]))


def test_the_cheapest_reference_counts_over_the_mean_length():
    vocabulary = Vocabulary()
    hypotheses = Texts.from_lines(["a b c"], vocabulary)
    references = Texts.from_lines(["c d e f", "a b"], vocabulary)
    both = Batch(hypotheses, np.array([0, 1]), references, np.array([0, 2]))
    assert registry.metric("terp").stats(both) == pytest.approx(np.array([[0.2588527567, 3.0]]))


def test_stop_words_are_not_moved_by_themselves(files):
    texts = batch_of_pairs(
        (["it", "x", "y"], ["x", "y", "it"]), (["tom", "x", "y"], ["x", "y", "tom"])
    )
    without = registry.metric("terp")
    with_list = registry.build("metric", "terp", {"stop_words": files["stop_words"]})
    assert counts(without, texts)[:, 6].tolist() == [1, 1]
    assert counts(with_list, texts)[:, 6].tolist() == [0, 1]


def test_rate_is_capped_when_reported_not_in_the_sums():
    metric, open_end = registry.metric("terp"), registry.metric("terp:cap=false")
    stats = metric.stats(batch_of_pairs((["a"] * 9, ["b"]), (["c"], ["c"] * 7)))
    assert stats[0, 0] == pytest.approx(8 * PRESETS["terpa"].edits[1] + PRESETS["terpa"].edits[3])
    assert metric.score(stats).tolist() == [1.0, 1.0]
    assert open_end.score(stats)[0] == pytest.approx(stats[0, 0])
    assert metric.score(stats.sum(axis=0)) == 1.0
    assert metric.score(np.zeros(2)) == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("costs=ter,synonyms=x", "costs=ter has no synonyms; take costs=terpa or costs=terph"),
        ("costs=free", "costs"),
        ("language=klingon", "language is 'klingon'"),
        ("stop_words=./nowhere", "nowhere: No such file"),
    ],
)
def test_wrong_option_is_named(options, message):
    with pytest.raises(ConfigError, match=message):
        registry.metric(f"terp:{options}")
