"""Meta-evaluation: bootstrap samples, permutation tests and the whole, against slow twins."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from metrics._base import Texts, Vocabulary
from metrics.bleu import Bleu
from metrics.ter import Ter
from tests.oracles import metaeval as oracle
from tuner.errors import InputError
from tuner.evaluation.correlation import VARIANTS, Pairs, kendall
from tuner.evaluation.correlation import pearson as pearson_of
from tuner.evaluation.human_scores import HumanScores
from tuner.evaluation.metaeval import data, differences, intervals
from tuner.evaluation.metaeval.data import Judged, MetricScores
from tuner.evaluation.metaeval.evaluation import MEASURES, Settings, evaluate
from tuner.evaluation.metaeval.report import as_json, tables
from tuner.texts import corpus

SEGMENTS, SYSTEMS = 3, 3
small = st.integers(-3, 3).map(float)
table = hnp.arrays(np.float64, (SEGMENTS, SYSTEMS), elements=small)
rows = hnp.arrays(np.float64, (2, SEGMENTS), elements=st.integers(0, 3).map(float))
systems = hnp.arrays(np.int64, (2, SYSTEMS), elements=st.integers(0, SYSTEMS - 1))
LENGTHS = np.array([1.0, 4.0, 2.0])


class Given(Ter):
    """A metric of which each statistic is a score: a corpus has the mean."""

    higher_is_better = True

    def score(self, stats):
        return stats[..., 0] / np.maximum(stats[..., 1], 1.0)


def given_scores(scores, label="given"):
    return MetricScores(label, Given(), label, np.stack([scores, np.ones(scores.shape)], axis=-1))


@given(table, table, rows, systems)
def test_bootstrap_samples_are_those_written_out(human, metric, times, kept):
    draws = intervals.Draws(times, kept)
    pearsons = intervals.pearson_samples(human, metric, LENGTHS, draws)
    kendalls = intervals.kendall_samples(Judged(("A", "B", "C"), human, LENGTHS), metric, draws)
    for number in range(len(times)):
        written = oracle.sampled(human, metric, LENGTHS, times[number], kept[number])
        if not written[0]:
            continue
        for name, value in oracle.pearsons(*written).items():
            assert pearsons[name][number] == pytest.approx(value, abs=1e-9), name
        right, wrong, total = map(float, oracle.kendall_counts(*written[:2]))
        for name in VARIANTS:
            expected = float(
                kendall(np.asarray(right), np.asarray(wrong), np.asarray(total), name)
            )
            assert kendalls[name][number] == pytest.approx(expected, nan_ok=True)


@given(table, table, systems)
def test_samples_of_systems_score_each_corpus_anew(human, metric, kept):
    scores = given_scores(metric)
    times = np.array([[1.0, 1, 1], [0, 0, 3]])
    found = intervals.system_samples(
        Judged(("A", "B", "C"), human, LENGTHS), scores, intervals.Draws(times, kept)
    )
    for number in range(2):
        x = (times[number] @ metric / 3)[kept[number]]
        y = (times[number] @ human / 3)[kept[number]]
        expected = pearson_of(np.round(x, 12), y)
        assert found["pearson"][number] == pytest.approx(expected, abs=1e-9)


def test_draws_resample_what_they_should():
    for resampled in intervals.RESAMPLED:
        draws = intervals.Draws.draw(
            5, 4, samples=50, resampled=resampled, rng=np.random.default_rng(1)
        )
        assert (draws.rows.sum(axis=1) == 5).all()
        assert (draws.times.sum(axis=1) == 4).all()
        assert (draws.rows == 1).all() == (resampled == "systems")
        assert (draws.times == 1).all() == (resampled == "segments")


@given(table, table, table, hnp.arrays(np.bool_, (SEGMENTS, SYSTEMS)))
def test_swapped_scores_are_those_written_out(human, first, second, swap):
    signs = np.where(swap, -1.0, 1.0)
    x, y = intervals.standardised(first), intervals.standardised(second)
    test = differences._Test(human, [x, y], [(0, 1)])
    found = test.differences(signs.reshape(1, -1))
    sides = oracle.exchanged(oracle.standardised(first), oracle.standardised(second), signs)
    cells = [value for row in human for value in row]
    r = [oracle.pearson([v for row in t for v in row], cells, [1] * 9) for t in sides]
    assert found["segment.pearson"][0, 0] == pytest.approx(r[0] - r[1], abs=1e-9)
    means = [np.mean(t, axis=0) for t in sides]
    r = [oracle.pearson(mean, human.mean(axis=0), [1] * 3) for mean in means]
    assert found["system.pearson"][0, 0] == pytest.approx(r[0] - r[1], abs=1e-9)
    # The twin's tables may differ by rounding: ties are those of the exact numbers.
    exact = oracle.exchanged(x, y, signs)
    counts = [oracle.kendall_counts(human, t) for t in exact]
    total = max(counts[0][2], 1)
    taus = [(right - (all_ - right)) / total for right, _, all_ in counts]
    assert found["segment.wmt10"][0, 0] == pytest.approx(taus[0] - taus[1], abs=1e-9)


def test_permutations_come_near_to_all_of_them():
    rng = np.random.default_rng(2)
    human, first, second = (rng.normal(size=(3, 3)) for _ in range(3))
    scores = [human + first, second]
    test = differences._Test(human, [intervals.standardised(one) for one in scores], [(0, 1)])
    every = np.array(list(itertools.product((-1.0, 1.0), repeat=9)))
    all_of_them = test.differences(every)
    drawn = differences.permutation_tests(human, scores, permutations=4000, rng=rng)[0, 1]
    for name, (value, p) in drawn.items():
        exact = np.mean(np.abs(all_of_them[name]) >= abs(value) - 1e-12)
        assert p == pytest.approx(exact, abs=0.03), name


def test_permutations_keep_their_level_under_the_null():
    rng = np.random.default_rng(3)
    found = {name: [] for name in differences.TESTED}
    for _ in range(200):
        human = rng.normal(size=(20, 5))
        scores = [human + rng.normal(size=human.shape) for _ in range(2)]
        tested = differences.permutation_tests(human, scores, permutations=99, rng=rng)[0, 1]
        for name, (_, p) in tested.items():
            found[name].append(p)
    for name, p in found.items():
        assert 0.04 < np.mean(np.array(p) <= 0.1) < 0.17, name


def test_equal_metrics_do_not_differ():
    rng = np.random.default_rng(4)
    human, scores = rng.normal(size=(2, 6, 5))
    result = evaluate(
        Judged(tuple("ABCDE"), human, np.ones(6)),
        [given_scores(scores, "one"), given_scores(scores, "two")],
        Settings(samples=50),
    )
    for one in result.differences[0, 1].values():
        assert (one.value, one.p_perm_both) == (0, 1)
        assert one.p_williams in (None, 1)


@pytest.fixture
def judged():
    rng = np.random.default_rng(5)
    human = rng.integers(-5, 5, size=(8, 4)).astype(np.float64)
    documents = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    return Judged(
        tuple("ABCD"), human, np.arange(1.0, 9.0), documents, ("x", "y", "z")
    ), given_scores(rng.normal(size=human.shape))


def test_a_metric_that_is_the_human_score_agrees_wholly(judged):
    people, _ = judged
    result = evaluate(people, [given_scores(people.human)], Settings(samples=20))
    correlations = result.agreements[0].correlations
    assert tuple(correlations) == MEASURES
    for name, one in correlations.items():
        assert one.value == pytest.approx(1), name
    assert result.agreements[0].documents == pytest.approx([1, 1, 1])
    assert (result.better.tolist(), result.at_least.tolist()) == ([[0]], [[1]])


def test_documents_are_compared_one_by_one(judged):
    people, scores = judged
    perfect = given_scores(people.human, "human")
    result = evaluate(people, [scores, perfect], Settings(samples=20))
    rho = result.agreements[0].documents
    assert result.better.tolist() == [[0, 0], [np.mean(np.array(rho) < 1 - 1e-9), 0]]
    # Each document's systems: the mean of its segments, here the metric's score of the corpus.
    for number, part in enumerate((slice(0, 3), slice(3, 5), slice(5, 8))):
        x, y = scores.segment_scores[part].mean(axis=0), people.human[part].mean(axis=0)
        order = [np.argsort(np.argsort(side)) for side in (x, y)]
        if len(set(y.tolist())) == 4:
            assert rho[number] == pytest.approx(np.corrcoef(order)[0, 1])


def test_documents_scores_are_means_weighted_by_length(judged):
    people, scores = judged
    correlations = evaluate(people, [scores], Settings(samples=1)).agreements[0].correlations
    expected = [
        [
            np.average(
                side[people.documents == d], axis=0, weights=people.lengths[people.documents == d]
            )
            for d in range(3)
        ]
        for side in (people.human, scores.segment_scores)
    ]
    lengths = [6.0, 9.0, 21.0]
    for name, value in oracle.pearsons(*expected, lengths).items():
        assert correlations[f"document.{name}"].value == pytest.approx(value), name


def test_error_metrics_are_negated():
    scores = MetricScores("ter", Ter(), "ter", np.array([[[1.0, 4.0], [3.0, 4.0]]]))
    assert scores.segment_scores.tolist() == [[-0.25, -0.75]]
    assert np.signbit(scores.oriented(np.array([0.0, 4.0]))) == np.False_


def test_scores_that_differ_by_rounding_tie():
    people = Judged(("A", "B"), np.array([[2.0, 1.0]]), np.ones(1))
    found = evaluate(people, [given_scores(np.array([[0.1 + 0.2, 0.3]]))])
    kendalls = found.agreements[0].correlations
    assert kendalls["segment.wmt10"].value == -1.0  # the only pair is wrong
    assert kendalls["segment.wmt13"].value is None  # or left out
    assert kendalls["segment.wmt14"].value == 0.0


def test_intervals_hold_the_correlation_of_good_data():
    rng = np.random.default_rng(6)
    human = rng.normal(size=(200, 8))
    people = Judged(tuple("ABCDEFGH"), human, np.ones(200))
    scores = given_scores(human + rng.normal(size=human.shape))
    for resampled in intervals.RESAMPLED:
        one = evaluate(people, [scores], Settings(samples=200, resampled=resampled))
        r = one.agreements[0].correlations["segment.pearson"]
        assert r.low < 2**-0.5 < r.high
        assert r.low < r.value < r.high


def test_one_segment_has_no_intervals():
    people = Judged(("A", "B"), np.array([[1.0, 2.0]]), np.ones(1))
    result = evaluate(people, [given_scores(np.array([[0.1, 0.2]]))], Settings(samples=10))
    one = result.agreements[0].correlations["system.pearson"]
    assert (one.low, one.high) == (None, None)
    assert one.value == pytest.approx(1)
    few, one_segment = data.notices(people, [])
    assert few.startswith("two systems: whatever a metric says, their correlation is")
    assert one_segment.startswith("one segment")
    assert people.sizes == "2 systems, 1 segment"


def test_constant_scores_are_said_and_nothing_fails():
    people = Judged(("A", "B", "C"), np.ones((3, 3)), np.ones(3))
    scores = given_scores(np.zeros((3, 3)))
    result = evaluate(people, [scores, given_scores(np.eye(3), "b")], Settings(samples=10))
    correlations = result.agreements[0].correlations
    assert correlations["system.pearson"].value == 0
    assert correlations["segment.wmt10"].value is None
    lines = data.notices(people, [scores], left_out=2)
    assert lines == [
        "2 of 5 segments are left out: not every system has a score of them",
        "all human scores are the same: every correlation is 0",
        "given: all segments of all systems have one score: its correlations are 0",
    ]
    assert "segment.wmt10" not in result.differences[0, 1]
    assert as_json(result)["metrics"][0]["correlations"]["segment.wmt10"]["value"] is None
    assert all(table.text() for table in tables(result))


def test_the_same_seed_gives_the_same(judged):
    people, scores = judged
    one, two, other = (
        as_json(evaluate(people, [scores], Settings(samples=30, seed=seed))) for seed in (1, 1, 2)
    )
    assert one == two
    assert one["metrics"] != other["metrics"]


def human_scores(scores, documents=None):
    names = tuple("ABC"[: scores.shape[1]])
    return HumanScores("human.tsv", names, scores, documents, ("x", "y"))


def batch_of(count):
    vocabulary = Vocabulary()
    references = corpus.References(
        Texts.from_lines(["a b", "a b c d", "a", "a"], vocabulary), np.array([0, 2, 4])
    )
    texts = Texts.from_lines(["a"] * 2 * count, vocabulary)
    return corpus.make_batch(texts, np.arange(3) * count, references)


def test_segments_without_all_scores_are_left_out():
    scores = np.array([[1.0, np.nan], [1.0, 2.0]])
    people, kept = data.judged(human_scores(scores, np.array([0, 1])), batch_of(2))
    assert kept.tolist() == [1]
    assert people.lengths.tolist() == [1.0]
    assert people.document_names == ("y",)
    assert people.documents.tolist() == [0]
    counted = data.metric_scores(
        "bleu", Bleu(), batch_of(2), kept=kept, systems=2, signature="bleu"
    )
    assert counted.stats.shape == (1, 2, 9)


def test_one_system_and_no_common_segment_are_errors():
    with pytest.raises(InputError, match="one system, 'A'; a correlation needs at least two"):
        data.judged(human_scores(np.ones((2, 1))), batch_of(1))
    with pytest.raises(InputError, match="no segment has scores of all 2 systems"):
        data.judged(human_scores(np.array([[1.0, np.nan]] * 2)), batch_of(2))


def test_ties_of_people_are_no_pairs():
    assert Pairs.of(np.array([[1.0, 1.0, 2.0]])).count == 2
