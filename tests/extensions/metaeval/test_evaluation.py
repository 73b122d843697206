"""Meta-evaluation: bootstrap samples, permutation tests and the whole, against slow twins."""

import itertools
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from portmert.extensions.metaeval import data, differences, evaluation, intervals
from portmert.extensions.metaeval.combined import combine
from portmert.extensions.metaeval.correlation import VARIANTS, Pairs, kendall, spearman
from portmert.extensions.metaeval.correlation import pearson as pearson_of
from portmert.extensions.metaeval.data import Judged, Likeness, MetricScores, Points, likeness
from portmert.extensions.metaeval.evaluation import MEASURES, Settings, evaluate, shares
from portmert.extensions.metaeval.human_scores import HumanScores, Judgments, Partition
from portmert.extensions.metaeval.report import document_of
from portmert.extensions.metaeval.results import as_json, combined_as_json
from portmert.extensions.metaeval.tables import tables
from portmert.metrics._base import Texts, Vocabulary
from portmert.metrics.bleu import Bleu
from portmert.metrics.terp import Ter
from portmert.tuner.base.errors import InputError
from portmert.tuner.evaluation.document import text
from portmert.tuner.texts import corpus
from tests.oracles import metaeval as oracle
from tests.support.agreements import Given, given_scores, two_sets

SEGMENTS, SYSTEMS = 3, 3
small = st.integers(-3, 3).map(float)
table = hnp.arrays(np.float64, (SEGMENTS, SYSTEMS), elements=small)
rows = hnp.arrays(np.float64, (2, SEGMENTS), elements=st.integers(0, 3).map(float))
systems = hnp.arrays(np.int64, (2, SYSTEMS), elements=st.integers(0, SYSTEMS - 1))
LENGTHS = np.array([1.0, 4.0, 2.0])


@given(table, table, rows, systems)
def test_bootstrap_samples_are_those_written_out(human, metric, times, kept):
    draws = data.Draws(times, kept)
    points = Points.of(human, LENGTHS)
    pearsons = intervals.pearsons([(points, metric, draws)], systems=SYSTEMS)
    judged = Judged(("A", "B", "C"), human, LENGTHS)
    kendalls = intervals.pair_correlations(
        intervals.pair_sums(judged, given_scores(metric), draws, epsilon=1.0)
    )
    for number in range(len(times)):
        written = oracle.sampled(human, metric, LENGTHS, times[number], kept[number])
        if not written[0]:
            continue
        for name, value in oracle.pearsons(*written, np.nan).items():
            if np.isnan(pearsons[name][0]):  # the first sample has no correlation
                assert np.isnan(pearsons[name]).all()
                continue
            assert pearsons[name][number] == pytest.approx(value, abs=1e-9, nan_ok=True), name
        right, wrong, total = map(float, oracle.kendall_counts(*written[:2]))
        for name in VARIANTS:
            expected = float(
                kendall(np.asarray(right), np.asarray(wrong), np.asarray(total), name)
            )
            assert kendalls[name][number] == pytest.approx(expected, nan_ok=True)
        item = oracle.by_item(*written[:2])
        if np.isnan(pearsons["pearson_mean_removed"][0]):  # no row has a correlation
            item = None
        assert pearsons["pearson_by_item"][number] == pytest.approx(
            np.nan if item is None else item, abs=1e-9, nan_ok=True
        )


@given(table, table, systems)
def test_samples_of_systems_score_each_corpus_anew(human, metric, kept):
    scores = given_scores(metric)
    times = np.array([[1.0, 1, 1], [0, 0, 3]])
    found = intervals.system_samples(
        Judged(("A", "B", "C"), human, LENGTHS), scores, data.Draws(times, kept)
    )
    for number in range(2):
        x = (times[number] @ metric / 3)[kept[number]]
        y = (times[number] @ human / 3)[kept[number]]
        expected = pearson_of(np.round(x, 12), y)
        if not np.isnan(found["pearson"][0]):
            assert found["pearson"][number] == pytest.approx(expected, abs=1e-9, nan_ok=True)
        share = oracle.pairwise_accuracy(np.round(y, 12), np.round(x, 12))
        assert found["pairwise"][number] == pytest.approx(
            np.nan if share is None else share, nan_ok=True
        )


def test_draws_resample_what_they_should():
    for resampled in get_args(data.Resampled):
        draws = data.Draws.draw(
            5, 4, samples=50, resampled=resampled, rng=np.random.default_rng(1)
        )
        assert (draws.rows[0] == 1).all()  # the data itself
        assert (draws.times[0] == 1).all()
        assert (draws.rows.sum(axis=1) == 5).all()
        assert (draws.times.sum(axis=1) == 4).all()
        assert (draws.rows == 1).all() == (resampled == "systems")
        assert (draws.times == 1).all() == (resampled == "segments")


def swapped(human, scores, signs, level="segment", lengths=None):
    """Differences of two metrics under given swaps."""
    points = Points.of(human, np.ones(len(human)) if lengths is None else lengths)
    block = differences.ScoredPoints(
        points, np.stack(scores), Pairs.of(human), human.mean(axis=0), np.stack(scores)
    )
    sides = [differences._standardised([block], removed=removed)[0] for removed in (False, True)]
    test = differences._Test(block, sides, points.human_moments)
    return differences._all_differences([test], level, [signs])


@given(table, table, table, hnp.arrays(np.bool_, (SEGMENTS, SYSTEMS)))
def test_swapped_scores_are_those_written_out(human, first, second, swap):
    signs = np.where(swap, -1.0, 1.0)
    points = Points.of(human, LENGTHS)
    block = differences.ScoredPoints(points, np.stack([first, second]))
    ((x, y),) = differences._standardised([block], removed=False)
    found = swapped(human, [first, second], signs[None], lengths=LENGTHS)
    sides = oracle.exchanged(oracle.standardised(first), oracle.standardised(second), signs)
    people = human.tolist()
    for name in ("pearson", "pearson_weighted"):
        r = [oracle.pearsons(people, t, LENGTHS.tolist())[name] for t in sides]
        assert found[f"segment.{name}"][0, 0] == pytest.approx(r[0] - r[1], abs=1e-9), name
    # Means of rows are removed before scores are brought to one scale, and after the swap.
    apart = [oracle.standardised(oracle.removed(one)) for one in (first.tolist(), second.tolist())]
    sides = oracle.exchanged(*apart, signs)
    for name in ("pearson_mean_removed", "pearson_mean_removed_weighted", "pearson_deltas"):
        r = [oracle.pearsons(people, t, LENGTHS.tolist())[name] for t in sides]
        assert found[f"segment.{name}"][0, 0] == pytest.approx(r[0] - r[1], abs=1e-9), name
    # The twin's tables may differ by rounding: ties are those of the exact numbers.
    exact = oracle.exchanged(x, y, signs)
    means = [np.round(np.mean(t, axis=0), 12) for t in exact]
    r = [oracle.pearson(mean, human.mean(axis=0), [1] * 3) for mean in means]
    assert found["system.pearson"][0, 0] == pytest.approx(r[0] - r[1], abs=1e-9)
    r = [np.nan_to_num(spearman(mean, np.round(human.mean(axis=0), 12))) for mean in means]
    assert found["system.spearman"][0, 0] == pytest.approx(r[0] - r[1], abs=1e-9)
    r = [oracle.pairwise_accuracy(np.round(human.mean(axis=0), 12), mean) or 0.0 for mean in means]
    assert found["system.pairwise"][0, 0] == pytest.approx(r[0] - r[1], abs=1e-9)
    counts = [oracle.kendall_counts(human, t) for t in exact]
    total = counts[0][2]
    if total == 0:
        assert "segment.wmt10" not in found
        return
    taus = [(right - (all_ - right)) / total for right, _, all_ in counts]
    assert found["segment.wmt10"][0, 0] == pytest.approx(taus[0] - taus[1], abs=1e-9)


def permuted(human, scores, *, permutations, rng):
    block = differences.ScoredPoints(
        Points.of(human, np.ones(len(human))), scores, Pairs.of(human), human.mean(axis=0), scores
    )
    return differences.permute([block], "segment", permutations=permutations, rng=rng)


def test_permutations_come_near_to_all_of_them():
    rng = np.random.default_rng(2)
    human, first, second = (rng.normal(size=(3, 3)) for _ in range(3))
    scores = np.stack([human + first, second])
    every = np.array(list(itertools.product((-1.0, 1.0), repeat=9))).reshape(-1, 3, 3)
    all_of_them = swapped(human, scores, every)
    drawn = permuted(human, scores, permutations=4000, rng=rng)
    for name, p in drawn.p_values().items():
        value = drawn.observed[name][0]
        exact = np.mean(np.abs(all_of_them[name]) >= abs(value) - 1e-12)
        assert p[0] == pytest.approx(exact, abs=0.03), name


def test_permutations_keep_their_level_under_the_null():
    rng = np.random.default_rng(3)
    found = {}
    for _ in range(200):
        human = rng.normal(size=(20, 5))
        scores = np.stack([human + rng.normal(size=human.shape) for _ in range(2)])
        for name, p in permuted(human, scores, permutations=99, rng=rng).p_values().items():
            found.setdefault(name, []).append(p[0])
    assert len(found) == 9
    for name, p in found.items():
        assert 0.04 < np.mean(np.array(p) <= 0.1) < 0.17, name


def bleu_counts(rng, quality):
    """BLEU of made-up outputs of 20 words; matches rise with their quality (S, M)."""
    share = 1 / (1 + np.exp(-quality - rng.normal(size=quality.shape)))
    matched = [rng.binomial(20 - n, share ** (n + 1)) for n in range(4)]
    totals = [np.full(quality.shape, 20 - n) for n in (0, 1, 2, 3, 0)]
    columns = [x for pair in itertools.zip_longest(matched, totals) for x in pair if x is not None]
    return MetricScores("bleu", Bleu(), "bleu", np.stack(columns, axis=-1) * 1.0)


def test_systems_of_a_metric_of_corpora_are_tested_by_the_scores_of_corpora():
    """What segments add to BLEU has BLEU as its mean; swaps of it keep the level of the test."""
    rng, found = np.random.default_rng(6), {}
    for number in range(200):
        human = rng.normal(size=(20, 5)) + np.linspace(-1, 1, 5)
        scores = [bleu_counts(rng, human) for _ in range(2)]
        result = evaluate(Judged(tuple("ABCDE"), human, np.ones(20)), scores, Settings(99, number))
        for of_metric in scores:
            mean = of_metric.contributions.mean(axis=0)
            assert mean == pytest.approx(of_metric.system_scores, abs=1e-12)
            assert not np.allclose(mean, of_metric.segment_scores.mean(axis=0), atol=0.01)
        for name, one in result.differences[0, 1].items():
            assert result.permuted.observed[name][0] == pytest.approx(one.value, abs=1e-9), name
            found.setdefault(name, []).append(one.p_perm_both)
    for name in ("system.pearson", "system.spearman", "system.pairwise"):
        assert np.mean(np.array(found[name]) <= 0.1) < 0.17, name


def test_what_a_segment_adds_to_a_mean_is_its_score():
    scores = np.random.default_rng(7).normal(size=(6, 3))
    assert given_scores(scores).contributions == pytest.approx(scores)
    assert given_scores(scores[:1]).contributions == pytest.approx(scores[:1])


def test_corrected_p_find_one_of_many_differences_and_no_more_than_chance():
    rng = np.random.default_rng(8)
    human = rng.normal(size=(60, 6))
    alike = [human + 2 * rng.normal(size=human.shape) for _ in range(11)]
    good = human + 0.1 * rng.normal(size=human.shape)
    drawn = permuted(human, np.stack([*alike, good]), permutations=999, rng=rng)
    pairs = differences.metric_pairs(12)
    with_good = pairs[:, 1] == 11
    corrected = drawn.corrected()["segment.pearson"]
    # Holm's correction of 999 permutations would say 66 / 1000 at least.
    assert (corrected[with_good] < 0.05).all()
    assert (corrected[~with_good] >= 0.05).mean() > 0.9
    for name, p in drawn.p_values().items():
        assert (drawn.corrected()[name] >= p - 1e-12).all(), name


def test_whole_rows_are_swapped_where_a_measure_is_their_mean():
    # Two rows: of 4 swaps differences of means are 0.3, 0.1, -0.1, -0.3.
    values, weights = np.array([[0.5, 0.3], [0.1, 0.1]]), np.ones(2)
    seen, found = differences.permute_rows(
        [(values, weights)], permutations=400, rng=np.random.default_rng(1)
    )
    assert seen == pytest.approx([0.3])
    assert set(np.round(found[:, 0], 9)) == {0.3, 0.1, -0.1, -0.3}
    seen, _ = differences.permute_rows(
        [(values, np.array([1.0, 0.0]))], permutations=1, rng=np.random.default_rng(1)
    )
    assert seen == pytest.approx([0.4])


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
        tuple("ABCD"), human, np.arange(1.0, 9.0),
        {"document": Partition(("x", "y", "z"), documents),
         "group": Partition(("g", "h"), np.array([1, 0, 0, 1, 0, 1, 0, 0]))},
    ), given_scores(rng.normal(size=human.shape))  # fmt: skip


def test_a_metric_that_is_the_human_score_agrees_wholly(judged):
    people, _ = judged
    people = replace(people, lengths=np.ones(8))  # this metric's score of a document is a mean
    result = evaluate(people, [given_scores(people.human)], Settings(samples=20))
    correlations = result.agreements[0].correlations
    assert tuple(correlations) == MEASURES[:-2]  # no references were held out
    for name, one in correlations.items():
        assert one.value == pytest.approx(1), name
    assert result.agreements[0].spearman["document"] == pytest.approx([1, 1, 1])
    assert result.agreements[0].spearman["group"] == pytest.approx([1, 1])
    assert [one.tolist() for one in shares(result.spearman("document"))] == [[[0]], [[1]]]


def test_documents_are_compared_one_by_one(judged):
    people, scores = judged
    perfect = given_scores(people.human, "human")
    result = evaluate(people, [scores, perfect], Settings(samples=20))
    rho = result.agreements[0].spearman["document"]
    assert shares(result.spearman("document"))[0].tolist() == [
        [0, 0],
        [np.mean(np.array(rho) < 1 - 1e-9), 0],
    ]
    # Each document's systems: people by length; the mean is this metric's score of a corpus.
    for number, part in enumerate((slice(0, 3), slice(3, 5), slice(5, 8))):
        x = scores.segment_scores[part].mean(axis=0)
        y = np.average(people.human[part], axis=0, weights=people.lengths[part])
        order = [np.argsort(np.argsort(side)) for side in (x, y)]
        if len(set(y.tolist())) == 4:
            assert rho[number] == pytest.approx(np.corrcoef(order)[0, 1])


@pytest.mark.parametrize("level", ["document", "group"])
def test_a_document_has_the_score_of_its_statistics(judged, level):
    """People's scores of its segments are weighted by length."""
    people, scores = judged
    counts = np.arange(1.0, 1 + scores.stats[..., 1].size).reshape(people.human.shape)
    scores = replace(scores, stats=np.stack([scores.stats[..., 0] * counts, counts], axis=-1))
    correlations = evaluate(people, [scores], Settings(samples=1)).agreements[0].correlations
    partition = people.partitions[level]
    of_document = [partition.of_segment == d for d in range(len(partition.names))]
    human = [
        np.average(people.human[of], axis=0, weights=people.lengths[of]) for of in of_document
    ]
    metric = [scores.metric.score(scores.stats[of].sum(axis=0)) for of in of_document]
    lengths = [float(people.lengths[of].sum()) for of in of_document]
    for name, value in oracle.pearsons(human, metric, lengths).items():
        assert correlations[f"{level}.{name}"].value == pytest.approx(value), name


RANKS = {
    0: ["A2 B3 C5 D4 E1"], 1: ["A1 D1 E2"], 2: ["A1 D1 E1"], 3: ["A1 B2 C4 D3 E5"],
    4: ["B2 C4 D3 E5"], 5: ["A2 B2 C3 D4"],
}  # fmt: skip


def ranked(of_systems):
    rows = [
        (segment, "ABCDE".index(word[0]), judge, -float(word[1]))
        for segment, rankings in RANKS.items()
        for judge, ranking in enumerate(rankings)
        for word in ranking.split()
    ]
    segments, columns, judges, scores = map(np.array, zip(*rows, strict=True))
    human = np.full((6, 5), np.nan)
    human[segments, columns] = scores
    each = Judgments(segments, columns, judges, scores)
    return Judged(tuple("ABCDE"), human, np.ones(6), each=each, of_systems=of_systems)


def test_systems_are_scored_by_the_comparisons_they_win():
    means = ranked("mean").system_scores
    assert means.tolist() == pytest.approx([-7 / 5, -9 / 4, -16 / 4, -16 / 6, -14 / 5])
    assert "ABCDE"[np.argmax(means)] == "A"
    better = ranked("better").system_scores
    # A beats B, C, D; E; nobody; all four; C, D. B: C, D; C, D, E; all three; C, D.
    assert better[:2].tolist() == pytest.approx([10 / 15, 10 / 14])
    or_equal = ranked("better-or-equal").system_scores
    # Ties of A: with D; D and E; B.
    assert or_equal[:2].tolist() == pytest.approx([14 / 15, 11 / 14])
    metric = given_scores(np.tile([4.0, 5.0, 1.0, 3.0, 2.0], (6, 1)))
    rho = {
        how: evaluate(ranked(how), [metric], Settings(samples=1))
        .agreements[0]
        .correlations["system.spearman"]
        .value
        for how in ("mean", "better")
    }
    orders = {how: ranked(how).system_scores for how in rho}
    for how, value in rho.items():
        assert value == pytest.approx(scipy.stats.spearmanr(orders[how], [4, 5, 1, 3, 2])[0])
    assert rho["better"] > rho["mean"]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), small), min_size=4, max_size=12))
def test_shares_of_wins_are_those_written_out(judgments):
    """Judge by judge and segment by segment, without arrays."""
    unique = {(judge, segment % 2, m): s for (judge, m, s), segment in zip(
        judgments, itertools.count(), strict=False)}  # fmt: skip
    human = np.full((2, 3), np.nan)
    for (_, segment, system), score in unique.items():
        human[segment, system] = score
    rows = [(segment, system, judge, score) for (judge, segment, system), score in unique.items()]
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    each = Judgments(*columns[:3], columns[3])
    for or_equal, how in enumerate(("better", "better-or-equal")):
        won, every = [0.0] * 3, [0] * 3
        for (s, m, j, x), (t, n, k, y) in itertools.permutations(rows, 2):
            if (s, j) == (t, k) and m != n:
                won[m] += x > y or (x == y and or_equal)
                every[m] += 1
        scores = Judged(tuple("ABC"), human, np.ones(2), each=each, of_systems=how).system_scores
        for system in range(3):
            if every[system]:
                assert scores[system] == pytest.approx(won[system] / every[system])
            else:
                assert np.isnan(scores[system])


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
    for resampled in get_args(data.Resampled):
        one = evaluate(people, [scores], Settings(samples=200, resampled=resampled))
        r = one.agreements[0].correlations["segment.pearson"]
        assert r.low < 2**-0.5 < r.high
        assert r.low < r.value < r.high


def test_an_interval_of_pearsons_r_by_hand():
    # The z of the samples are -1, 0, 1 and 2; that of the data is 0.5. With 5 units Student's t
    # has 4 degrees of freedom and the 97.5 % quantile 2.776445.
    samples = np.tanh(np.array([0.5, -1.0, 0.0, 1.0, 2.0]))
    half = 2.776445 * 1.25**0.5 * 1.25**0.5
    expected = np.tanh([0.5 - half, 0.5 + half])
    assert intervals.fisher_interval(samples, 0.95, 5) == pytest.approx(expected, rel=1e-6)
    # What has two points at most, or cannot be computed, says nothing.
    more = np.concatenate([samples, [1.0, -1.0, np.nan]])
    assert intervals.fisher_interval(more, 0.95, 5) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("samples", "units"), [([0.5, 0.1, 0.2, 0.3], 1), ([1.0, 0.1, 0.2, 0.3], 9), ([0.5, 0.2], 9)]
)
def test_an_interval_is_quantiles_where_there_is_no_z_or_deviation(samples, units):
    samples = np.array(samples)
    expected = intervals.interval(samples[1:], 0.95)
    assert intervals.fisher_interval(samples, 0.95, units) == expected


def test_units_are_the_fewer_of_what_is_sampled():
    people = data.Judged(
        ("A", "B", "C"),
        np.zeros((9, 3)),
        np.ones(9),
        {"document": Partition(("d", "e"), np.arange(9) // 5)},
    )
    assert people.units("both") == {"system": 3, "segment": 3, "document": 2}
    assert people.units("systems") == {"system": 3, "segment": 3, "document": 3}
    assert people.units("segments") == {"system": 9, "segment": 9, "document": 2}
    alone = data.Judged(("A",), np.zeros((9, 1)), np.ones(9))
    assert alone.units("both")["segment"] == 9


def test_one_segment_has_no_intervals():
    people = Judged(("A", "B"), np.array([[1.0, 2.0]]), np.ones(1))
    result = evaluate(people, [given_scores(np.array([[0.1, 0.2]]))], Settings(samples=10))
    one = result.agreements[0].correlations["system.pearson"]
    assert (one.low, one.high) == (None, None)
    assert one.value == pytest.approx(1)
    few, one_segment = data.facts(people)
    assert few.startswith("two systems: their correlation is always")
    assert one_segment.startswith("one segment")
    assert people.sizes == "2 systems, 1 segment"


def test_one_document_has_no_interval_of_documents():
    rng = np.random.default_rng(12)
    human = rng.normal(size=(5, 3))
    people = Judged(
        tuple("ABC"), human, np.ones(5), {"document": Partition(("d",), np.zeros(5, int))}
    )
    scores = given_scores(human + rng.normal(size=(5, 3)))
    one = evaluate(people, [scores], Settings(samples=10)).agreements[0]
    found = one.correlations["document.pearson"]
    assert (found.low, found.high) == (None, None)
    assert one.correlations["segment.pearson"].low is not None


def test_constant_scores_are_said_and_nothing_fails():
    people = Judged(("A", "B", "C"), np.ones((3, 3)), np.ones(3))
    scores = given_scores(np.zeros((3, 3)))
    result = evaluate(people, [scores, given_scores(np.eye(3), "b")], Settings(samples=10))
    correlations = result.agreements[0].correlations
    assert correlations["system.pearson"].value is None
    assert correlations["segment.wmt10"].value is None
    left_out = "2 of 5 segments are left out: not every system has a score of them"
    assert data.facts(people, left_out=2) == [left_out]
    assert data.doubts(people, [scores]) == [
        "people tie all systems in every segment: no pair of outputs is ranked",
        "all human scores are the same: no correlation has a value",
        "given: all segments of all systems have one score: its correlations have no value",
    ]
    assert "segment.wmt10" not in result.differences[0, 1]
    assert as_json(result)["metrics"][0]["correlations"]["segment.wmt10"]["value"] is None
    (kendall_table,) = [one for one in tables(result) if one.title.startswith("Segments, Kendall")]
    assert kendall_table.rows[0] == ["given", *["\N{EN DASH}"] * 4]
    assert not [one.title for one in tables(result) if "nan" in one.text()]


def test_the_same_seed_gives_the_same(judged):
    people, scores = judged
    one, two, other = (
        as_json(evaluate(people, [scores], Settings(samples=30, seed=seed))) for seed in (1, 1, 2)
    )
    assert one == two
    assert one["metrics"] != other["metrics"]


def human_scores(scores, documents=None):
    names = tuple("ABC"[: scores.shape[1]])
    partitions = {} if documents is None else {"document": Partition(("x", "y"), documents)}
    return HumanScores("human.tsv", names, scores, partitions)


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
    assert people.partitions["document"].names == ("y",)
    assert people.numbers("document").tolist() == [0]
    counted = data.metric_scores(
        "bleu", Bleu(), batch_of(2), segments=kept, systems="ab", signature="bleu"
    )
    assert counted.stats.shape == (1, 2, 9)


def test_no_common_segment_is_an_error():
    with pytest.raises(InputError, match="no segment has scores of all 2 systems"):
        data.judged(human_scores(np.array([[1.0, np.nan]] * 2)), batch_of(2))


def test_ties_of_people_are_no_pairs():
    assert Pairs.of(np.array([[1.0, 1.0, 2.0]])).count == 2


def test_one_system_has_correlations_of_segments_alone():
    rng = np.random.default_rng(9)
    human, metric = rng.normal(size=(2, 40, 1))
    documents = Partition(tuple("wxyz"), np.repeat(np.arange(4), 10))
    people = Judged(("A",), human, np.ones(40), {"document": documents})
    result = evaluate(
        people, [given_scores(metric), given_scores(human, "b")], Settings(samples=9)
    )
    correlations = result.agreements[0].correlations
    assert set(correlations) == {
        f"{level}.{name}"
        for level in ("segment", "document")
        for name in ("pearson", "pearson_weighted")
    }
    expected = scipy.stats.pearsonr(metric.ravel(), human.ravel()).statistic
    assert correlations["segment.pearson"].value == pytest.approx(expected)
    assert set(result.differences[0, 1]) == set(correlations)
    assert data.facts(people)[0].startswith("one system: there are no correlations")
    titles = [one.title.partition(",")[0] for one in tables(result)]
    assert titles[:2] == ["Segments", "Documents"]
    assert not [one.title for one in tables(result) if "nan" in one.text()]


def test_correlations_are_scipys_on_random_scores():
    rng = np.random.default_rng(10)
    human = rng.normal(size=(30, 6))
    metric = human + rng.normal(size=human.shape)
    people = Judged(tuple("ABCDEF"), human, np.ones(30))
    found = evaluate(people, [given_scores(metric)], Settings(samples=5)).agreements[0]
    values = {name: one.value for name, one in found.correlations.items()}
    means = metric.mean(axis=0), human.mean(axis=0)
    assert values["system.spearman"] == pytest.approx(scipy.stats.spearmanr(*means).statistic)
    assert values["system.pearson"] == pytest.approx(scipy.stats.pearsonr(*means).statistic)
    tau = scipy.stats.kendalltau(*means).statistic  # of systems: no ties
    assert values["system.pairwise"] == pytest.approx((tau + 1) / 2)
    flat = metric.ravel(), human.ravel()
    assert values["segment.pearson"] == pytest.approx(scipy.stats.pearsonr(*flat).statistic)
    rows = list(zip(metric, human, strict=True))
    assert values["segment.pearson_by_item"] == pytest.approx(
        np.mean([scipy.stats.pearsonr(*row).statistic for row in rows])
    )
    taus = [scipy.stats.kendalltau(*row).statistic for row in rows]
    assert values["segment.wmt14"] == pytest.approx(np.mean(taus))


@given(table, table)
def test_epsilon_and_accuracy_are_the_twins(human, metric):
    pairs = Pairs.of(human)
    epsilon = evaluation.calibrated(pairs, metric)
    assert epsilon == oracle.calibrated(human.tolist(), metric.tolist())
    people = Judged(("A", "B", "C"), human, LENGTHS)
    draws = data.Draws(np.ones((1, SEGMENTS)), np.arange(SYSTEMS)[None])
    sums = intervals.pair_sums(people, given_scores(metric), draws, epsilon=epsilon)
    expected = oracle.accuracy_with_ties(human.tolist(), metric.tolist(), epsilon)
    assert intervals.pair_correlations(sums)["acc_eq"][0] == pytest.approx(expected)


def test_epsilon_by_hand():
    # People tie the first two; the metric does only with epsilon 0.05: 2/3 become 1.
    human, metric = np.array([[0.0, 0, 1]]), np.array([[0.1, 0.15, 0.9]])
    people = Judged(("A", "B", "C"), human, np.ones(1))
    draws = data.Draws(np.ones((1, 1)), np.arange(3)[None])
    for epsilon, expected in ((0.0, 2 / 3), (0.05, 1.0)):
        sums = intervals.pair_sums(people, given_scores(metric), draws, epsilon=epsilon)
        assert intervals.pair_correlations(sums)["acc_eq"][0] == pytest.approx(expected)
    found = evaluate(people, [given_scores(metric)]).agreements[0]
    assert found.epsilon == pytest.approx(0.05)
    assert found.correlations["segment.acc_eq"].value == pytest.approx(1)


def test_differences_that_only_rounding_parts_tie_together():
    # TER of A is 0 and 1/3, that of B 1/3 and 2/3: both differences are 1/3, so the metric is
    # right once of two times whatever epsilon is. Rounded scores would part the differences.
    stats = np.array([[[0.0, 3], [1.0, 3]], [[1.0, 3], [2.0, 3]]])
    people = Judged(("A", "B"), np.array([[1.0, 1], [1, 0]]), np.ones(2))
    found = evaluate(people, [MetricScores("ter", Ter(), "ter", stats)]).agreements[0]
    assert found.correlations["segment.acc_eq"].value == 0.5
    assert found.epsilon == 0.0


def test_pairwise_accuracy_by_hand():
    people = Judged(("A", "B", "C"), np.array([[1.0, 2, 3]]), np.ones(1))
    found = evaluate(people, [given_scores(np.array([[1.0, 3, 2]]))]).agreements[0]
    assert found.correlations["system.pairwise"].value == pytest.approx(2 / 3)


@given(table, table, hnp.arrays(np.bool_, (5, SEGMENTS)))
def test_soft_accuracy_is_the_twins(human, metric, swap):
    swaps = np.where(swap, -1.0, 1.0)
    people = Judged(("A", "B", "C"), human, LENGTHS)
    scores = given_scores(metric)
    by_metric = evaluation.better_than(scores.stats, scores.oriented, swaps)
    found = 1 - np.abs(evaluation.human_better_than(people, swaps) - by_metric)
    expected = oracle.soft_pairwise(human.tolist(), metric.tolist(), swaps.tolist())
    assert found.mean() == pytest.approx(expected)


def test_soft_accuracy_sums_segment_scores_in_its_other_form():
    # The corpus score is X0 / X1: B has it higher, the mean of its segment scores is lower.
    stats = np.array([[[2.0, 2], [0.0, 1]], [[0.0, 8], [5.0, 10]]])
    scores = MetricScores("given", Given(), "given", stats)
    people = Judged(("A", "B"), np.array([[1.0, 0], [0, 1]]), np.ones(2))
    found = evaluate(people, [scores], Settings(samples=200)).agreements[0].correlations
    means = evaluate(people, [given_scores(scores.segment_scores)], Settings(samples=200))
    expected = means.agreements[0].correlations["system.soft_pairwise"].value
    assert found["system.soft_pairwise_segments"].value == expected
    assert found["system.soft_pairwise"].value != expected


@pytest.mark.parametrize(
    ("systems", "king", "orange"),
    [([[0.5, 0.6]], 0.75, 0.75), ([[0.5, 0.6], [0.55, 0.1]], 0.5, 0.75)],
)
def test_king_and_orange_by_hand(systems, king, orange):
    # R1 .6 .4, R2 .5 .7 against S .5 .6: yes, no, yes, yes; S2 .55 .1 loses but once.
    references = np.array([[0.6, 0.4], [0.5, 0.7]])
    beside = np.broadcast_to(np.array(systems).T, (2, 2, len(systems)))
    found = Likeness.of(references, beside)
    assert found.king.mean() == king
    assert found.orange.mean() == orange
    assert oracle.king_and_orange(references.tolist(), beside.tolist()) == (king, orange)


def test_references_held_out_are_scored_against_the_others():
    vocabulary = Vocabulary()
    lines = ["a b c d", "a b c x", "e f g h", "e f g h"]
    references = corpus.References(
        Texts.from_lines(lines, vocabulary), np.array([0, 2, 4]), source_lengths=None
    )
    # Beside the first of each segment's references, then the second; the last system is perfect.
    outputs = ["x y", "a b c d", "e f", "e f g h"]
    texts = Texts.from_lines(outputs, vocabulary)
    batch = corpus.make_batch(texts, np.array([0, 2, 4]), references)
    found = likeness(Ter(), batch, judged_segments=np.arange(2))
    # TER of a reference: 1/4 twice, then 0 twice. The perfect system has 1/4 beside the first
    # reference of segment 0 and 0 beside its second: the second loses to it.
    assert found.king.tolist() == [0.5, 1.0]
    assert found.orange.tolist() == [[1.0, 0.5], [1.0, 1.0]]
    assert likeness(Ter(), batch, judged_segments=np.array([1])).king.tolist() == [1.0]


def test_likeness_needs_two_references():
    vocabulary = Vocabulary()
    references = corpus.References(Texts.from_lines(["a"], vocabulary), np.array([0, 1]))
    batch = corpus.make_batch(Texts.from_lines(["a"], vocabulary), np.array([0, 1]), references)
    with pytest.raises(InputError, match="needs at least two references, here it has 1"):
        likeness(Ter(), batch, judged_segments=np.arange(1))


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1), small),
        min_size=3, max_size=12, unique_by=lambda one: one[:3],
    ),
    table,
)  # fmt: skip
def test_every_judgment_is_a_data_point(judgments, metric):
    kept = sorted({segment for segment, *_ in judgments})
    numbered = [(kept.index(s), m, j, h) for s, m, j, h in judgments]
    columns = [np.array(column) for column in zip(*numbered, strict=True)]
    each = Judgments(*(column.astype(np.int64) for column in columns[:3]), columns[3])
    human = np.full((len(kept), SYSTEMS), np.nan)
    for segment, system, *_ in numbered:
        same = [h for s, m, _, h in numbered if (s, m) == (segment, system)]
        human[segment, system] = np.mean(same)
    scores = metric[: len(kept)]
    people = Judged(("A", "B", "C"), human, LENGTHS[: len(kept)], each=each)
    x, y, groups = oracle.judgments_written_out(numbered, scores)
    draws = data.Draws(np.ones((1, len(kept))), np.arange(SYSTEMS)[None])
    found = intervals.pearsons([(people.points, scores, draws)], systems=SYSTEMS)
    weights = [LENGTHS[group] for group in groups]
    for name, sides in (
        ("pearson", (x, y)),
        ("pearson_mean_removed", tuple(oracle.group_removed(side, groups) for side in (x, y))),
    ):
        for suffix, w in (("", [1.0] * len(x)), ("_weighted", weights)):
            expected = oracle.pearson(*sides, w)
            assert np.nan_to_num(found[name + suffix][0]) == pytest.approx(expected, abs=1e-9)
    sums = intervals.pair_sums(people, given_scores(scores), draws, epsilon=0.0)
    assert sums[0, :3].tolist() == list(oracle.judgment_pairs(numbered, scores))
    totals = [
        np.mean([h for _, m, _, h in numbered if m == system])
        for system in range(SYSTEMS)
        if system in columns[1]
    ]
    with np.errstate(invalid="ignore"):
        known = people.system_scores[np.unique(columns[1])]
    assert known.tolist() == pytest.approx(totals)


@given(table, table, table, table)
def test_pooled_sums_are_those_of_all_data_points(human, metric, other_human, other_metric):
    draws = data.Draws(np.ones((1, SEGMENTS)), np.arange(SYSTEMS)[None])
    parts = [
        (Points.of(h, LENGTHS), m, draws)
        for h, m in ((human, metric), (other_human, other_metric))
    ]
    found = intervals.pearsons(parts, systems=SYSTEMS)
    whole = oracle.pearsons(
        [*human.tolist(), *other_human.tolist()],
        [*metric.tolist(), *other_metric.tolist()],
        [*LENGTHS, *LENGTHS],
    )
    for name, expected in whole.items():
        assert np.nan_to_num(found[name][0]) == pytest.approx(expected, abs=1e-9), name


def test_test_sets_are_put_together_as_means_and_as_points():
    measured = two_sets()
    found = combine(
        measured, groups=["x", "x"], scenarios=["good", "bad"], settings=Settings(samples=40)
    )
    assert [(one.name, one.kind) for one in found.columns] == [
        ("x", "mean"), ("x", "pooled"), ("all", "mean"), ("all", "pooled"),
    ]  # fmt: skip
    assert found.columns[0].correlations == found.columns[2].correlations
    first, second = (part.agreements for part in measured)
    mean, pooled = found.columns[2:]
    for k in range(3):
        for name in ("system.spearman", "segment.acc_eq", "document.pearson"):
            values = [one[k].correlations[name].value for one in (first, second)]
            assert mean.correlations[k][name].value == pytest.approx(np.mean(values))
        scores = [part.blocks["segment"].scores[k] for part in measured]
        people = [part.judged for part in measured]
        x, y = (
            np.concatenate(
                [oracle.removed(one.tolist())[n] for one in sides for n in range(len(one))]
            )
            for sides in (scores, [one.human for one in people])
        )
        weights = np.concatenate([np.repeat(p.lengths, p.human.shape[1]) for p in people])
        name = "segment.pearson_mean_removed_weighted"
        assert pooled.correlations[k][name].value == pytest.approx(oracle.pearson(x, y, weights))
    assert "system.spearman" not in pooled.correlations[0]
    # What is tested is what is reported.
    for part in measured:
        for place, row in enumerate(part.differences.values()):
            for name, one in row.items():
                tested = part.permuted.observed[name][place]
                assert tested == pytest.approx(one.value, abs=1e-9), name
    # The first metric is nearest to people.
    assert pooled.differences[0, 2]["segment.pearson_mean_removed"].p_corrected < 0.06
    drop = found.scenarios[1].drops[0]["segment.acc_eq"]
    good, bad = (one.correlations[0]["segment.acc_eq"].value for one in found.scenarios)
    assert drop.value == pytest.approx(good - bad)
    assert drop.low < drop.value < drop.high
    assert found.scenarios[0].drops == ({}, {}, {})


def test_human_likeness_of_several_test_sets_is_a_mean_and_never_pooled():
    measured = two_sets(lambda human: Likeness(np.ones(len(human)), np.ones(human.shape)))
    settings = Settings(samples=40)
    found = combine(measured, groups=["", ""], scenarios=["", ""], settings=settings)
    mean, pooled = found.columns
    assert mean.correlations[0]["likeness.king"].value == 1
    assert mean.differences[0, 1]["likeness.king"].value == 0
    assert "likeness.king" not in pooled.correlations[0]
    assert "likeness.king" not in pooled.differences[0, 1]


def test_shares_of_test_sets_and_documents():
    measured = two_sets()
    found = combine(measured, groups=["", ""], scenarios=["", ""], settings=Settings(samples=40))
    assert [one.name for one in found.columns] == ["all", "all"]
    assert found.scenarios == ()
    values = np.array(
        [[one.correlations["segment.wmt10"].value for one in part.agreements]
         for part in measured]
    )  # fmt: skip
    for i, j in itertools.product(range(3), repeat=2):
        assert shares(found.values["segment.wmt10"])[0][i, j] == np.mean(
            values[:, i] > values[:, j]
        )
    rho = np.concatenate(
        [np.array([one.spearman["document"] for one in part.agreements]).T for part in measured]
    )
    assert rho.shape == (7, 3)
    documents = np.concatenate([part.spearman("document") for part in found.parts])
    assert shares(documents)[1][1, 0] == np.mean(rho[:, 1] >= rho[:, 0] - 1e-12)


def test_all_tables_of_test_sets_can_be_printed():
    measured = two_sets()
    together = combine(
        measured, groups=["x", "y"], scenarios=["one", "two"], settings=Settings(samples=40)
    )
    whole = text(document_of(together.parts, together, []), "long")
    assert "over scenarios, and what it drops from one to the next" in whole
    assert "set 1: Scores of systems" in whole
    assert len(text(document_of(together.parts, together, [])).splitlines()) < 30
    document = combined_as_json(together)
    assert [one["name"] for one in document["sets"]] == ["set 1", "set 2"]
    assert document["columns"][0]["metrics"][0]["correlations"]["segment.pearson"]["value"]


def test_one_test_set_put_together_is_itself():
    (part, _) = two_sets()
    together = combine([part], groups=[""], scenarios=[""], settings=Settings(samples=40))
    assert together.columns == ()
    assert text(document_of([part], together, [])).count("\n") > 3


def test_samples_without_a_correlation_do_not_draw_intervals_towards_0():
    """Of three systems a ninth of the samples has one system only: it has no correlation."""
    human = np.arange(3.0) + np.random.default_rng(3).normal(size=(40, 3)) / 10
    people = Judged(("A", "B", "C"), human, np.ones(40))
    result = evaluate(people, [given_scores(human)], Settings(samples=400))
    measured = result.agreements[0].samples["system.spearman"]
    assert 0.05 < np.isnan(measured).mean() < 0.2
    assert measured[~np.isnan(measured)] == pytest.approx(1.0)
    estimate = result.agreements[0].correlations["system.spearman"]
    assert estimate.value == pytest.approx(1.0)
    assert (estimate.low, estimate.high) == (None, None)
