import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics.bleu import Bleu
from portmert.metrics.pos import Posbleu, Posf, Posp, Posr, Wpbleu, Wpf
from tests.oracles import trees as oracles_trees
from tests.oracles.metrics import Segment, Text
from tests.support.strategies_metrics import batch_of, corpora

MEANS = pytest.mark.parametrize("mean", ["gm", "am"])


def tagged(words, tags):
    return Text(tuple(words.split()), tags=tuple(tags.split()))


def stats_of(metric, hypothesis, *references):
    return metric.stats(batch_of([Segment(0, hypothesis, references)]))[0]


TREE = tagged("This tree is high", "DT NN VBZ JJ")
SENTENCE = tagged("This sentence is correct", "DT NN VBZ JJ")
SHORT = tagged("a b c d e", "DT NN VBZ JJ NN")
LONG = tagged("a b c d e f", "DT NN VBZ JJ . DT")


def test_sentences_of_one_structure_are_perfect_and_half_alike_with_their_words():
    for metric in (Posbleu(), Posf()):
        assert float(metric.score(stats_of(metric, TREE, SENTENCE))) == 1.0
    pooled = stats_of(Wpf(), TREE, SENTENCE)
    assert pooled.tolist() == [6, 8, 8, 3, 6, 6, 2, 4, 4, 1, 2, 2]
    assert float(Wpf(mean="am").score(pooled)) == 0.5625
    assert float(Wpf().score(pooled)) == pytest.approx(0.553341, abs=1e-6)


@pytest.mark.parametrize(
    ("mean", "precision", "recall", "f"),
    [("gm", 0.668740, 0.508133, 0.577477), ("am", 0.679167, 0.525000, 0.592215)],
)
def test_precision_recall_and_f_are_those_of_the_specification(mean, precision, recall, f):
    for metric, expected in ((Posp, precision), (Posr, recall), (Posf, f)):
        stats = stats_of(metric(mean=mean), SHORT, LONG)
        assert stats.tolist() == [4, 5, 6, 3, 4, 5, 2, 3, 4, 1, 2, 3]
        assert float(metric(mean=mean).score(stats)) == pytest.approx(expected, abs=1e-6)
        parts = metric(mean=mean).parts(stats)
        assert parts["precision"] == pytest.approx(precision, abs=1e-6)
        assert parts["recall"] == pytest.approx(recall, abs=1e-6)
        assert parts["F"] == pytest.approx(f, abs=1e-6)
        assert (parts["p2"], parts["r2"], parts["matched_2"]) == (3 / 4, 3 / 5, 3)
    posbleu = float(Posbleu().score(stats_of(Posbleu(), SHORT, LONG)))
    assert posbleu == pytest.approx(0.547518, abs=1e-6)


def test_wpbleu_is_the_mean_of_bleu_and_posbleu():
    stats = stats_of(Wpbleu(smooth="add1"), TREE, SENTENCE)
    assert len(stats) == 18
    bleu = float(Bleu(smooth="add1").score(stats_of(Bleu(), TREE, SENTENCE)))
    assert float(Wpbleu(smooth="add1").score(stats)) == pytest.approx((bleu + 1) / 2)
    parts = Wpbleu(smooth="add1").parts(stats)
    assert parts["words.BLEU"] == pytest.approx(bleu)
    assert (parts["tags.BLEU"], parts["tags.matched_2"], parts["words.total_1"]) == (1.0, 3.0, 4.0)


def test_reference_is_chosen_by_f_of_arithmetic_means():
    # No 4-gram matches, so that gm is 0 for both references; the second has the higher am.
    hypothesis = tagged("a b c", "DT NN VBZ")
    other, near = tagged("a", "JJ"), tagged("a b", "DT NN")
    assert stats_of(Posf(), hypothesis, other, near).tolist()[:3] == [2, 3, 2]
    # Nothing matches: the first counts.
    assert stats_of(Posf(), tagged("a", "X"), near, other).tolist()[:3] == [0, 1, 2]


def test_of_references_whose_f_differs_by_rounding_the_first_counts():
    # F is 1/3 by 1/2 and 1/4 as by 1 and 1/5; in floating point the second is higher.
    hypothesis = tagged("b", "N")
    short, long = tagged("a a", "N N"), tagged("a a a a b", "N N N N N")
    assert stats_of(Wpf(), hypothesis, short, long).tolist()[:3] == [1, 2, 4]
    assert stats_of(Wpf(), hypothesis, long, short).tolist()[:3] == [2, 2, 10]


def test_untagged_hypothesis_matches_nothing_but_its_words():
    untagged = Text(TREE.words)
    assert stats_of(Posf(), untagged, SENTENCE).tolist() == [0, 0, 4, 0, 0, 3, 0, 0, 2, 0, 0, 1]
    # The first reference counts: F is 0 against both.
    assert stats_of(Posp(), untagged, SHORT, TREE)[2] == 5
    assert stats_of(Wpf(), untagged, SENTENCE).tolist() == [2, 4, 8, 0, 3, 6, 0, 2, 4, 0, 1, 2]
    assert stats_of(Posbleu(), untagged, LONG, SENTENCE)[-1] == 4


@pytest.mark.parametrize("metric", [Posbleu(), Posf(), Wpf(), Wpbleu()])
@pytest.mark.parametrize("side", ["hypothesis", "reference"])
def test_wrong_number_of_tags_names_the_text(metric, side):
    wrong = tagged("a b c", "DT NN")
    texts = {"hypothesis": TREE, "reference": TREE, side: wrong}
    with pytest.raises(ValueError, match=f"{side} 0 has tags: 2, tokens: 3; a text"):
        stats_of(metric, texts["hypothesis"], texts["reference"])


def test_the_first_text_with_a_wrong_number_of_tags_is_named():
    wrong = tagged("a b c", "DT NN")
    with pytest.raises(ValueError, match="reference 1 has tags: 2, tokens: 3; a text"):
        stats_of(Posf(), TREE, TREE, wrong, tagged("a b", "X"))


@MEANS
@given(corpus=corpora(layers=("tags",)))
def test_scores_equal_their_slow_twins(mean, corpus):
    batch = batch_of(corpus)
    for metric, which, pooled in (
        (Posp, "P", False),
        (Posr, "R", False),
        (Posf, "F", False),
        (Wpf, "F", True),
    ):
        stats = metric(mean=mean).stats(batch)
        options = [{}, {"effective_order": True}]
        options += [{"f_first": True}, {"f_first": True, "effective_order": True}] * (which == "F")
        for option in options:
            score = metric(mean=mean, **option).score(stats.sum(axis=0))
            expected = oracles_trees.pos(corpus, which=which, mean=mean, pooled=pooled, **option)
            assert float(score) == pytest.approx(float(expected), abs=1e-12), option
        counts = [
            [cell for row in oracles_trees.tag_counts(s, pooled=pooled) for cell in row]
            for s in corpus
        ]
        assert stats.tolist() == counts


@given(
    corpora(layers=("tags",)),
    st.sampled_from(["none", "exp", "mteval", "add1", "moses+1", "floor", "add-k"]),
    st.sampled_from(["closest", "shortest", "average"]),
    st.integers(1, 5),
)
def test_bleus_equal_their_slow_twins(corpus, smooth, reflen, max_order):
    options = {"smooth": smooth, "reflen": reflen, "max_order": max_order}
    batch = batch_of(corpus)
    for metric, twin in (
        (Posbleu(**options), oracles_trees.posbleu),
        (Wpbleu(**options), oracles_trees.wpbleu),
    ):
        score = float(metric.score(metric.stats(batch).sum(axis=0)))
        assert score == pytest.approx(twin(corpus, **options), abs=1e-12)
