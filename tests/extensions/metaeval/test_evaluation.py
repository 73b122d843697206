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

from portmert.extensions.metaeval import data, evaluation, measures, soft_accuracy
from portmert.extensions.metaeval.combined import combine
from portmert.extensions.metaeval.correlation import Pairs
from portmert.extensions.metaeval.correlation import pearson as pearson_of
from portmert.extensions.metaeval.data import Judged, Likeness, MetricScores, Points, likeness
from portmert.extensions.metaeval.evaluation import MEASURES, evaluate, shares
from portmert.extensions.metaeval.human_scores import HumanScores, Judgments
from portmert.extensions.metaeval.report import document_of
from portmert.extensions.metaeval.results import as_json, combined_as_json
from portmert.extensions.metaeval.tables import tables
from portmert.metrics._base import Texts, Vocabulary
from portmert.metrics.bleu import Bleu
from portmert.metrics.terp import Ter
from portmert.tuner.base.errors import InputError
from portmert.tuner.evaluation.document import text
from portmert.tuner.evaluation.significance import Resampling, holm
from portmert.tuner.texts import corpus
from portmert.tuner.texts.groups import Groups
from tests.oracles import metaeval as oracle
from tests.support.agreements import Given, given_scores, two_sets

SEGMENTS, SYSTEMS = 3, 3
small = st.integers(-3, 3).map(float)
table = hnp.arrays(np.float64, (SEGMENTS, SYSTEMS), elements=small)
LENGTHS = np.array([1.0, 4.0, 2.0])


def value(name, rows):
    return float(measures.Measure(name, rows.shape[-1]).value(rows))


@given(table, table, st.lists(st.integers(0, 3), min_size=SEGMENTS, max_size=SEGMENTS))
def test_measures_of_samples_are_those_written_out(human, metric, times):
    written = oracle.sampled(human, metric, LENGTHS, times, range(SYSTEMS))
    if not written[0]:
        return
    judged = Judged(("A", "B", "C"), human, LENGTHS)
    rows = measures.segment_rows(judged, given_scores(metric), 1.0)
    rows |= evaluation.pearsons_of("segment", [(judged.points, metric)])
    rows |= {
        f"segment.{k}": x for k, x in measures.pearson_rows([(judged.points, metric)]).items()
    }
    sums = {name: np.array(times, dtype=float) @ x for name, x in rows.items()}
    for name, expected in oracle.pearsons(*written, np.nan).items():
        assert value(f"segment.{name}", sums[f"segment.{name}"]) == pytest.approx(
            expected, abs=1e-9, nan_ok=True
        ), name
    right, wrong, total = oracle.kendall_counts(*written[:2])
    ties = total - right - wrong
    shares = {
        "wmt10": (right - wrong - ties, total),
        "wmt13": (right - wrong, right + wrong),
        "wmt14": (right - wrong, total),
        "consistency": (right, total),
    }
    for name, (part, whole) in shares.items():
        assert value(f"segment.{name}", sums[f"segment.{name}"]) == pytest.approx(
            part / whole if whole else np.nan, nan_ok=True
        )
    item = oracle.by_item(*written[:2])
    if np.isnan(
        value("segment.pearson_mean_removed", rows["segment.pearson_mean_removed"].sum(0))
    ):
        item = None  # no row of the data has a correlation
    assert value("segment.pearson_by_item", sums["segment.pearson_by_item"]) == pytest.approx(
        np.nan if item is None else item, abs=1e-9, nan_ok=True
    )
    x, y = (np.round(np.array(times) @ side / sum(times), 12) for side in (metric, human))
    share = oracle.pairwise_accuracy(y, x)
    assert value("system.pairwise", sums["system.pairwise"]) == pytest.approx(
        np.nan if share is None else share, nan_ok=True
    )
    assert value("system.pearson", sums["system.pearson"]) == pytest.approx(
        pearson_of(x, y), abs=1e-9, nan_ok=True
    )


def test_p_is_the_share_of_all_exchanges_of_segments():
    """Of six segments there are 64 exchanges; each is written out."""
    rng = np.random.default_rng(2)
    human = rng.normal(size=(6, 3))
    scores = [human + rng.normal(size=human.shape), 0.3 * human + rng.normal(size=human.shape)]
    people = Judged(tuple("ABC"), human, np.ones(6))
    found = evaluate(people, [given_scores(x) for x in scores], Resampling(4000))
    scaled = [(x - x.mean()) / x.std() for x in scores]
    differences = []
    for swap in itertools.product((False, True), repeat=6):
        sides = np.where(np.array(swap)[:, np.newaxis], scaled[::-1], scaled)
        differences.append(np.subtract(*(np.corrcoef(x.flat, human.flat)[0, 1] for x in sides)))
    difference = found.differences[0, 1]["segment.pearson"]
    assert difference.value == pytest.approx(differences[0])
    expected = np.mean(np.abs(differences) >= abs(differences[0]) - 1e-9)
    assert difference.p == pytest.approx(expected, abs=0.03)


def test_documents_widen_errors_as_their_segments_are_alike():
    """The error of r over documents is that of the jackknife, written out."""
    rng = np.random.default_rng(4)
    documents = np.arange(80) // 4
    human = np.repeat(rng.normal(size=(20, 3)), 4, axis=0) + 0.3 * rng.normal(size=(80, 3))
    alike = np.repeat(rng.normal(size=(20, 3)), 4, axis=0)
    scores = [human + alike, human + rng.normal(size=human.shape)]
    partition = Groups(tuple(map(str, range(20))), documents, "")
    people = Judged(tuple("ABC"), human, np.ones(80), {"document": partition})
    found = evaluate(people, [given_scores(x) for x in scores], Resampling(99))

    def difference(kept):
        return np.subtract(*(np.corrcoef(x[kept].flat, human[kept].flat)[0, 1] for x in scores))

    without = [difference(documents != document) for document in range(20)]
    error = (361 / 20 * np.var(without, ddof=1)) ** 0.5
    one = found.differences[0, 1]["segment.pearson"]
    assert (one.error, one.degrees) == pytest.approx((error, 19))
    assert data.facts(found.judged)[-1].endswith("in 20 documents: tests draw whole documents")
    alone = replace(people, partitions={})
    apart = evaluate(alone, [given_scores(x) for x in scores], Resampling(99))
    assert one.error > 1.2 * apart.differences[0, 1]["segment.pearson"].error


def test_an_interval_by_hand():
    # z of 0.5 is 0.549306; its errors are 0.3 and 0.4 over 0.75, together 2/3; degrees:
    # 0.25 ** 2 / (0.3 ** 4 / 4 + 0.4 ** 4 / 9) = 12.8353.
    one = measures.estimated("segment.pearson", 0.5, [(0.3, 4), (0.4, 9)], 0.95)
    half = scipy.stats.t.ppf(0.975, 12.8353) * 2 / 3
    assert (one.low, one.high) == pytest.approx(
        (np.tanh(0.549306 - half), np.tanh(0.549306 + half)), abs=1e-5
    )
    share = measures.estimated("system.pairwise", 0.9, [(0.1, 9)], 0.95)
    assert (share.low, share.high) == pytest.approx((0.9 - 2.262157 * 0.1, 1.0))
    nothing = measures.estimated("segment.pearson", 0.5, [], 0.95)
    assert (nothing.low, nothing.high, nothing.error) == (None, None, None)
    assert measures.estimated("segment.pearson", 1.0, [(0.1, 9)], 0.95).low is None


def test_intervals_are_for_other_segments_or_systems():
    rng = np.random.default_rng(6)
    human = rng.normal(size=(30, 5)) + np.arange(5.0)
    people = Judged(tuple("ABCDE"), human, np.ones(30))
    scores = human + rng.normal(size=human.shape) + rng.normal(size=5)
    found = {
        how: evaluate(people, [given_scores(scores)], Resampling(400), how)
        .agreements[0]
        .correlations["segment.pearson"]
        for how in get_args(data.Resampled)
    }
    without = [
        np.corrcoef(np.delete(scores, k, 1).flat, np.delete(human, k, 1).flat)[0, 1]
        for k in range(5)
    ]
    assert found["systems"].error == pytest.approx((16 / 5 * np.var(without, ddof=1)) ** 0.5)
    assert found["systems"].degrees == pytest.approx(4)
    both = found["segments"].error ** 2 + found["systems"].error ** 2
    assert found["both"].error == pytest.approx(both**0.5)


def bleu_counts(rng, quality):
    """BLEU of made-up outputs of 20 words; matches rise with their quality (S, M)."""
    share = 1 / (1 + np.exp(-quality - rng.normal(size=quality.shape)))
    matched = [rng.binomial(20 - n, share ** (n + 1)) for n in range(4)]
    totals = [np.full(quality.shape, 20 - n) for n in (0, 1, 2, 3, 0)]
    columns = [x for pair in itertools.zip_longest(matched, totals) for x in pair if x is not None]
    return MetricScores("bleu", Bleu(), "bleu", np.stack(columns, axis=-1) * 1.0)


def test_systems_of_a_metric_of_corpora_are_tested_by_the_scores_of_corpora():
    """What segments add to BLEU has BLEU as its mean."""
    rng = np.random.default_rng(6)
    human = rng.normal(size=(20, 5)) + np.linspace(-1, 1, 5)
    scores = [bleu_counts(rng, human) for _ in range(2)]
    people = Judged(tuple("ABCDE"), human, np.ones(20))
    result = evaluate(people, scores, Resampling(99))
    for of_metric, agreement in zip(scores, result.agreements, strict=True):
        mean = of_metric.contributions.mean(axis=0)
        assert mean == pytest.approx(of_metric.system_scores, abs=1e-12)
        assert not np.allclose(mean, of_metric.segment_scores.mean(axis=0), atol=0.01)
        expected = np.corrcoef(of_metric.system_scores, human.mean(axis=0))[0, 1]
        assert agreement.correlations["system.pearson"].value == pytest.approx(expected)


def test_what_a_segment_adds_to_a_mean_is_its_score():
    scores = np.random.default_rng(7).normal(size=(6, 3))
    assert given_scores(scores).contributions == pytest.approx(scores)
    assert given_scores(scores[:1]).contributions == pytest.approx(scores[:1])


def test_corrected_p_are_holms():
    rng = np.random.default_rng(8)
    human = rng.normal(size=(60, 6))
    alike = [human + 2 * rng.normal(size=human.shape) for _ in range(3)]
    good = human + 0.1 * rng.normal(size=human.shape)
    scores = [given_scores(x) for x in (*alike, good)]
    found = evaluate(Judged(tuple("ABCDEF"), human, np.ones(60)), scores, Resampling(999))
    rows = {pair: row["segment.pearson"] for pair, row in found.differences.items()}
    assert [x.p_corrected for x in rows.values()] == holm([x.p for x in rows.values()])
    assert all((x.p_corrected < 0.05) == (pair[1] == 3) for pair, x in rows.items())


def test_equal_metrics_do_not_differ():
    rng = np.random.default_rng(4)
    human, scores = rng.normal(size=(2, 6, 5))
    result = evaluate(
        Judged(tuple("ABCDE"), human, np.ones(6)),
        [given_scores(scores, "one"), given_scores(scores, "two")],
        Resampling(samples=50),
    )
    for one in result.differences[0, 1].values():
        assert (one.value, one.p) == (0, 1)
        assert one.p_williams in (None, 1)


@pytest.fixture
def judged():
    rng = np.random.default_rng(5)
    human = rng.integers(-5, 5, size=(8, 4)).astype(np.float64)
    documents = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    return Judged(
        tuple("ABCD"), human, np.arange(1.0, 9.0),
        {"document": Groups(("x", "y", "z"), documents, ""),
         "group": Groups(("g", "h"), np.array([1, 0, 0, 1, 0, 1, 0, 0]), "")},
    ), given_scores(rng.normal(size=human.shape))  # fmt: skip


def test_a_metric_that_is_the_human_score_agrees_wholly(judged):
    people, _ = judged
    people = replace(people, lengths=np.ones(8))  # this metric's score of a document is a mean
    result = evaluate(people, [given_scores(people.human)], Resampling(samples=20))
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
    result = evaluate(people, [scores, perfect], Resampling(samples=20))
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
    correlations = evaluate(people, [scores], Resampling(samples=1)).agreements[0].correlations
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
    return Judged(tuple("ABCDE"), human, np.ones(6), judgments=each, of_systems=of_systems)


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
        how: evaluate(ranked(how), [metric], Resampling(samples=1))
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
        people = Judged(tuple("ABC"), human, np.ones(2), judgments=each, of_systems=how)
        scores = people.system_scores
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


def test_one_segment_has_no_intervals():
    people = Judged(("A", "B"), np.array([[1.0, 2.0]]), np.ones(1))
    result = evaluate(people, [given_scores(np.array([[0.1, 0.2]]))], Resampling(samples=10))
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
        tuple("ABC"), human, np.ones(5), {"document": Groups(("d",), np.zeros(5, int), "")}
    )
    scores = given_scores(human + rng.normal(size=(5, 3)))
    one = evaluate(people, [scores], Resampling(samples=10)).agreements[0]
    found = one.correlations["document.pearson"]
    assert (found.low, found.high) == (None, None)
    assert one.correlations["segment.pearson"].low is not None


def test_constant_scores_are_said_and_nothing_fails():
    people = Judged(("A", "B", "C"), np.ones((3, 3)), np.ones(3))
    scores = given_scores(np.zeros((3, 3)))
    result = evaluate(people, [scores, given_scores(np.eye(3), "b")], Resampling(samples=10))
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
        as_json(evaluate(people, [scores], Resampling(samples=30, seed=seed)))
        for seed in (1, 1, 2)
    )
    assert one == two
    assert one["metrics"] != other["metrics"]


def human_scores(scores, documents=None):
    names = tuple("ABC"[: scores.shape[1]])
    partitions = {} if documents is None else {"document": Groups(("x", "y"), documents, "")}
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
    assert people.partitions["document"].of_segment.tolist() == [0]
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
    documents = Groups(tuple("wxyz"), np.repeat(np.arange(4), 10), "")
    people = Judged(("A",), human, np.ones(40), {"document": documents})
    result = evaluate(
        people, [given_scores(metric), given_scores(human, "b")], Resampling(samples=9)
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
    found = evaluate(people, [given_scores(metric)], Resampling(samples=5)).agreements[0]
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
    epsilon = evaluation.calibrated(Pairs.of(human), metric)
    assert epsilon == oracle.calibrated(human.tolist(), metric.tolist())
    people = Judged(("A", "B", "C"), human, LENGTHS)
    rows = measures.segment_rows(people, given_scores(metric), epsilon)["segment.acc_eq"]
    expected = oracle.accuracy_with_ties(human.tolist(), metric.tolist(), epsilon)
    assert value("segment.acc_eq", rows.sum(axis=0)) == pytest.approx(expected)


def test_epsilon_by_hand():
    # People tie the first two; the metric does only with epsilon 0.05: 2/3 become 1.
    human, metric = np.array([[0.0, 0, 1]]), np.array([[0.1, 0.15, 0.9]])
    people = Judged(("A", "B", "C"), human, np.ones(1))
    for epsilon, expected in ((0.0, 2 / 3), (0.05, 1.0)):
        rows = measures.segment_rows(people, given_scores(metric), epsilon)["segment.acc_eq"]
        assert value("segment.acc_eq", rows.sum(axis=0)) == pytest.approx(expected)
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
    by_metric = soft_accuracy.better_than(scores.stats, scores.oriented, swaps)
    found = 1 - np.abs(soft_accuracy.human_better_than(people, swaps) - by_metric)
    expected = oracle.soft_pairwise(human.tolist(), metric.tolist(), swaps.tolist())
    assert found.mean() == pytest.approx(expected)


def test_soft_accuracy_sums_segment_scores_in_its_other_form():
    # The corpus score is X0 / X1: B has it higher, the mean of its segment scores is lower.
    stats = np.array([[[2.0, 2], [0.0, 1]], [[0.0, 8], [5.0, 10]]])
    scores = MetricScores("given", Given(), "given", stats)
    people = Judged(("A", "B"), np.array([[1.0, 0], [0, 1]]), np.ones(2))
    found = evaluate(people, [scores], Resampling(samples=200)).agreements[0].correlations
    means = evaluate(people, [given_scores(scores.segment_scores)], Resampling(samples=200))
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
    people = Judged(("A", "B", "C"), human, LENGTHS[: len(kept)], judgments=each)
    x, y, groups = oracle.judgments_written_out(numbered, scores)
    (found,) = measures.measured([measures.pearson_rows([(people.points, scores)])])
    weights = [LENGTHS[group] for group in groups]
    for name, sides in (
        ("pearson", (x, y)),
        ("pearson_mean_removed", tuple(oracle.group_removed(side, groups) for side in (x, y))),
    ):
        for suffix, w in (("", [1.0] * len(x)), ("_weighted", weights)):
            expected = oracle.pearson(*sides, w)
            assert np.nan_to_num(found[name + suffix]) == pytest.approx(expected, abs=1e-9)
    right, wrong, total = oracle.judgment_pairs(numbered, scores)
    rows = measures.segment_rows(people, given_scores(scores), 0.0)
    assert rows["segment.consistency"].sum(axis=0).tolist() == [right, total]
    assert rows["segment.wmt13"].sum(axis=0).tolist() == [right - wrong, right + wrong]
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
    parts = [(Points.of(h, LENGTHS), m) for h, m in ((human, metric), (other_human, other_metric))]
    (found,) = measures.measured([measures.pearson_rows(parts)])
    whole = oracle.pearsons(
        [*human.tolist(), *other_human.tolist()],
        [*metric.tolist(), *other_metric.tolist()],
        [*LENGTHS, *LENGTHS],
    )
    for name, expected in whole.items():
        assert np.nan_to_num(found[name]) == pytest.approx(expected, abs=1e-9), name


def test_test_sets_are_put_together_as_means_and_as_points():
    measured = two_sets()
    found = combine(measured, groups=["x", "x"], scenarios=["good", "bad"])
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
        scores = [part.levels["segment"].scores[k] for part in measured]
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
    # The means of two sets have half the root of the sum of their squared errors.
    name = "segment.pearson"
    errors = [part.differences[0, 1][name].error for part in measured]
    assert mean.differences[0, 1][name].error == pytest.approx(np.hypot(*errors) / 2)
    # The first metric is nearest to people.
    assert pooled.differences[0, 2]["segment.pearson_mean_removed"].p < 0.03
    drop = found.scenarios[1].drops[0]["segment.acc_eq"]
    good, bad = (one.correlations[0]["segment.acc_eq"].value for one in found.scenarios)
    assert drop.value == pytest.approx(good - bad)
    assert drop.low < drop.value < drop.high
    assert found.scenarios[0].drops == ({}, {}, {})


def test_human_likeness_of_several_test_sets_is_a_mean_and_never_pooled():
    measured = two_sets(lambda human: Likeness(np.ones(len(human)), np.ones(human.shape)))
    found = combine(measured, groups=["", ""], scenarios=["", ""])
    mean, pooled = found.columns
    assert mean.correlations[0]["likeness.king"].value == 1
    assert mean.differences[0, 1]["likeness.king"].value == 0
    assert "likeness.king" not in pooled.correlations[0]
    assert "likeness.king" not in pooled.differences[0, 1]


def test_shares_of_test_sets_and_documents():
    measured = two_sets()
    found = combine(measured, groups=["", ""], scenarios=["", ""])
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
    together = combine(measured, groups=["x", "y"], scenarios=["one", "two"])
    whole = text(document_of(together.parts, together, []), "long")
    assert "over scenarios, and what it drops from one to the next" in whole
    assert "set 1: Scores of systems" in whole
    assert len(text(document_of(together.parts, together, [])).splitlines()) < 30
    document = combined_as_json(together)
    assert [one["name"] for one in document["sets"]] == ["set 1", "set 2"]
    assert document["columns"][0]["metrics"][0]["correlations"]["segment.pearson"]["value"]


def test_one_test_set_put_together_is_itself():
    (part, _) = two_sets()
    together = combine([part], groups=[""], scenarios=[""])
    assert together.columns == ()
    assert text(document_of([part], together, [])).count("\n") > 3
