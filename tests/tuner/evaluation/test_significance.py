"""Resampling tests against enumeration, by hand, against sacrebleu, and under a true null."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest
from scipy.stats import permutation_test
from scipy.stats import t as student

from portmert.metrics._base import Vocabulary
from portmert.tuner.base.context import using
from portmert.tuner.base.threads import Team
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.components import registry
from portmert.tuner.evaluation.significance import (
    Resampling,
    holm,
    systems_tested,
)
from portmert.tuner.evaluation.standard_errors import intraclass_correlation
from portmert.tuner.texts.corpus import make_batch, read_references, read_texts
from portmert.tuner.texts.groups import Groups
from portmert.tuner.texts.statistics import compute_stats
from tests.oracles.significance import (
    exact_bootstrap_scores,
    exact_both_kinds,
    exact_paired_bootstrap,
    exact_randomization,
    exact_stratified,
)
from tests.support.places import TESTS

V = registry.metric("v")
"""X0 / X1, higher is better."""
TER = registry.metric("ter")
"""X0 / X1, lower is better."""
SAMPLES = 4000


def error(p, samples=SAMPLES):
    """Four standard errors of a p-value found by sampling, and the + 1 of both counts."""
    return 4 * math.sqrt(max(p * (1 - p), 0.25 / samples) / samples) + 2 / samples


def pair(first, second, metric=V, **options):
    """Spreads and the one difference of two systems of (S, 2) or (R, S, 2) statistics."""
    systems = [np.array(stats, dtype=float) for stats in (first, second)]
    systems = [stats if stats.ndim == 3 else stats[np.newaxis] for stats in systems]
    spreads, differences = systems_tested(
        [metric], [[stats] for stats in systems], Resampling(**{"samples": SAMPLES} | options)
    )
    return spreads[0], differences[0][0]


def draw_stats(rng, *shape):
    weights = rng.integers(1, 9, size=shape)
    return np.stack([rng.integers(0, weights + 1), weights], axis=-1).astype(float)


def test_a_team_finds_the_same_however_many_it_is():
    """Samples are so many that there are several chunks of each kind."""
    rng = np.random.default_rng(1)
    systems = [[draw_stats(rng, replicas, 500)] for replicas in (2, 2, 1, 3)]
    asked = ([V], systems, Resampling(samples=2500))
    alone = systems_tested(*asked)
    for threads in (2, 50):
        with using(cluster=Team(threads)):
            assert systems_tested(*asked) == alone


def test_example_of_the_specification():
    first, second = [[1, 1], [1, 1], [1, 1], [0, 1]], [[0, 1]] * 4
    assert exact_randomization(V, np.array(first), np.array(second)) == 0.25
    _, found = pair(first, second)
    assert found.p_randomization == pytest.approx(0.25, abs=error(0.25))
    assert found.difference == -0.75


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("metric", [V, TER], ids=["v", "ter"])
def test_randomization_agrees_with_all_swaps(metric, seed):
    rng = np.random.default_rng(seed)
    first, second = draw_stats(rng, 8), draw_stats(rng, 8)
    exact = exact_randomization(metric, first, second)
    _, found = pair(first, second, metric, seed=seed)
    assert found.p_randomization == pytest.approx(exact, abs=error(exact))


@pytest.mark.parametrize("seed", range(3))
def test_stratified_randomization_agrees_with_all_ways(seed):
    rng = np.random.default_rng(seed)
    first, second = draw_stats(rng, 2, 4), draw_stats(rng, 2, 4)
    exact = exact_stratified(V, first, second)
    _, found = pair(first, second, seed=seed)
    assert found.p_randomization == pytest.approx(exact, abs=error(exact))


@pytest.mark.parametrize("metric", [V, TER], ids=["v", "ter"])
def test_bootstrap_agrees_with_all_samples(metric):
    rng = np.random.default_rng(5)
    first, second = draw_stats(rng, 5), draw_stats(rng, 5)
    better, worse = (
        exact_paired_bootstrap(metric, *sides) for sides in ((first, second), (second, first))
    )
    exact = min(1.0, 2 * min(better, worse))
    spreads, found = pair(first, second, metric)
    assert found.p_bootstrap == pytest.approx(exact, abs=2 * error(exact))
    for stats, spread in zip((first, second), spreads, strict=True):
        scores = exact_bootstrap_scores(metric, stats)
        assert spread.s_sel == pytest.approx(scores.std(), rel=0.08)
        inside = np.mean((scores >= spread.low) & (scores <= spread.high))
        assert inside >= 0.92  # an interval of 95 %, over few distinct scores


@pytest.mark.parametrize(("some", "more"), [(2, 2), (3, 2), (1, 3), (3, 1)])
@pytest.mark.parametrize("metric", [V, TER], ids=["v", "ter"])
def test_both_kinds_of_chance_agree_with_all_samples(metric, some, more):
    rng = np.random.default_rng(some + 4 * more)
    first, second = draw_stats(rng, some, 4), draw_stats(rng, more, 4)
    _, found = pair(first, second, metric)
    assert found.p == pytest.approx(exact_both_kinds(metric, first, second), abs=0.03)
    assert found.difference == pytest.approx((found.difference_low + found.difference_high) / 2)
    _, at_p = pair(first, second, metric, level=1 - found.p)
    assert min(abs(at_p.difference_low), abs(at_p.difference_high)) == pytest.approx(0, abs=1e-9)


def test_both_kinds_of_chance_by_hand():
    # Two equal segments of scores 0.2, 0.4 and 0.5, 0.9: variances 0.02 and 0.08, of means 0.01
    # and 0.04; t = 0.4 / sqrt(0.05), free = 0.05 ** 2 / (0.01 ** 2 + 0.04 ** 2).
    _, found = pair([[[2, 10]] * 2, [[4, 10]] * 2], [[[5, 10]] * 2, [[9, 10]] * 2])
    assert found.p == pytest.approx(2 * student.sf(0.4 / math.sqrt(0.05), 0.0025 / 0.0017))


def test_luck_of_three_segments_has_two_degrees_of_freedom():
    # Replicas are alike. Differences of 0.1, 0.4 and 0.1: the mean of three drawn has the
    # variance 0.02 / 3.
    first, second = [[[1, 10]] * 3] * 2, [[[2, 10], [5, 10], [2, 10]]] * 2
    _, found = pair(first, second)
    deviation = math.sqrt(0.02 / 3)
    assert found.p == pytest.approx(2 * student.sf(0.2 / deviation, 2), abs=0.01)
    width = 2 * student.ppf(0.975, 2) * deviation
    assert found.difference_high - found.difference_low == pytest.approx(width, rel=0.05)


def test_without_replicas_the_verdict_is_of_randomization():
    rng = np.random.default_rng(1)
    _, found = pair(draw_stats(rng, 8), draw_stats(rng, 8))
    assert found.p == found.p_randomization


@pytest.mark.slow
@pytest.mark.parametrize(
    ("replicas", "tuning", "system", "own"),
    [
        ((3, 3), 0.01, 0.02, 0.05),
        ((3, 3), 0.02, 0.0, 0.01),
        ((3, 3), 0.0, 0.05, 0.05),
        ((2, 2), 0.01, 0.02, 0.05),
        ((3, 5), 0.01, 0.02, 0.05),
    ],
)
def test_false_positives_where_tuning_varies(replicas, tuning, system, own):
    # Scores of segments: what all systems share, what the replicas of one share, what each has of
    # its own, and how lucky its tuning was. Four standard deviations of 600 trials are 0.036.
    rng, shape, found = np.random.default_rng(9), (1, 100), []
    for _ in range(600):
        alike = 0.5 + rng.normal(0, 0.1, shape)
        drawn = [
            alike
            + rng.normal(0, system, shape)
            + rng.normal(0, tuning, (n, 1))
            + rng.normal(0, own, (n, 100))
            for n in replicas
        ]
        stats = [np.stack([scores, np.ones(scores.shape)], axis=-1) for scores in drawn]
        found.append(pair(*stats, samples=199)[1])
    positives = np.mean([one.p <= 0.05 for one in found])
    assert 0.014 <= positives <= 0.086
    if tuning:
        assert np.mean([one.p_randomization <= 0.05 for one in found]) > 0.25


def test_unequal_replicas_share_out_all_outputs():
    # One output against two, in the first of two segments; in the second all are 0. Each of the
    # three outputs is as likely to be the first system's: 1 against a mean of (0 + 0) / 2 is as
    # large a difference as any; 0 against 1 / 2 is half as large. So p = 1 / 3.
    _, found = pair([[[1, 1], [0, 1]]], [[[0, 1], [0, 1]], [[0, 1], [0, 1]]])
    assert found.p_randomization == pytest.approx(1 / 3, abs=error(1 / 3))


def test_s_opt_by_hand():
    # Scores 0.2, 0.4, 0.9: mean 0.5, deviations -0.3, -0.1, 0.4, squares add to 0.26, / 2.
    replicas = [[[2, 10]], [[4, 10]], [[9, 10]]]
    spreads, _ = pair(replicas, replicas)
    assert spreads[0].replica_scores == (0.2, 0.4, 0.9)
    assert spreads[0].score == pytest.approx(0.5)
    assert spreads[0].s_opt == pytest.approx(math.sqrt(0.13))
    assert spreads[0].s_sel is None  # one segment: every sample is the test set


def test_s_sel_by_hand():
    # Two segments of scores 0 and 1: samples score 0, 1/2, 1/2, 1; variance 1/8. A second
    # replica of scores 1/2 and 1/2 never varies: the mean of both is half as much.
    both = [[[0, 1], [1, 1]], [[0.5, 1], [0.5, 1]]]
    spreads, _ = pair(both, both, samples=20_000)
    assert spreads[0].s_sel == pytest.approx(math.sqrt(1 / 8) / 2, rel=0.02)


def test_one_replica_has_no_s_opt_and_one_sample_no_s_sel():
    spreads, test = pair([[1, 2], [0, 2]], [[1, 2], [1, 2]], samples=1)
    assert (spreads[0].s_opt, spreads[0].s_sel, spreads[0].low, test.p) == (None,) * 4


@pytest.mark.parametrize("metric", [V, TER], ids=["v", "ter"])
def test_one_segment_is_not_resampled_with_replicas_either(metric):
    for first, second in (([[1, 2]], [[0, 2]]), ([[[1, 2]], [[0, 2]]], [[[2, 2]], [[1, 2]]])):
        spreads, test = pair(first, second, metric)
        assert vars(test) == {**dict.fromkeys(vars(test)), "difference": test.difference}
        assert [(one.low, one.high, one.s_sel) for one in spreads] == [(None,) * 3] * 2


def test_equal_segments_have_no_interval_and_no_p_of_the_bootstrap():
    spreads, test = pair([[1, 10]] * 6, [[5, 10]] * 6)
    assert (test.difference_low, test.difference_high, test.p_bootstrap) == (None,) * 3
    assert (spreads[0].low, spreads[0].s_sel) == (None, None)
    assert test.p == pytest.approx(2 / 2**6, abs=0.01)  # swaps differ


@given(st.integers(2, 6), st.integers(1, 3), st.integers(0, 2**16))
def test_identical_systems_have_p_1(segments, replicas, seed):
    stats = draw_stats(np.random.default_rng(seed), replicas, segments)
    for metric in (V, TER):
        spreads, found = pair(stats, stats, metric, samples=50, seed=seed)
        assert (found.p_randomization, found.p_bootstrap, found.difference) == (1.0, 1.0, 0.0)
        assert spreads[0] == spreads[1]


@given(st.integers(2, 6), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**16))
def test_results_do_not_depend_on_what_else_is_tested(segments, some, more, seed):
    rng = np.random.default_rng(seed)
    first, second, third = (draw_stats(rng, n, segments) for n in (some, more, some))
    resampling = Resampling(samples=40, seed=seed)
    alone = systems_tested([V], [[first], [third]], resampling)
    _, together = systems_tested(
        [TER, V], [[first, first], [second, second], [third, third]], resampling
    )
    assert together[1][1] == alone[1][0][0]


def test_the_bootstrap_finds_better_and_worse_systems_alike():
    low, high = [[1, 10]] * 6, [[5, 10], *[[6, 10]] * 5]
    for metric in (V, TER):
        for sides in ((low, high), (high, low)):
            assert pair(*sides, metric)[1].p_bootstrap == 2 / (SAMPLES + 1)


def test_same_seed_same_numbers_other_seed_others():
    rng = np.random.default_rng(1)
    first, second = draw_stats(rng, 30), draw_stats(rng, 30)
    assert pair(first, second, seed=3) == pair(first, second, seed=3)
    assert pair(first, second, seed=3) != pair(first, second, seed=4)


def test_scores_of_fractions_are_not_changed_by_rounding():
    rng = np.random.default_rng(2)
    stats = np.stack([rng.random(200) * 20, np.full(200, 20.0)], axis=-1)
    spreads, _ = pair(stats, stats[::-1], samples=10)
    assert spreads[0].score == pytest.approx(float(V.score(stats.sum(0))), rel=1e-13)
    assert spreads[0].score == spreads[1].score  # sums are exact, in any order


@pytest.mark.parametrize("largest", [9, 2**17, 2**20, 2**40])
def test_sums_of_counts_of_any_size_are_exact(largest):
    rng, segments, samples = np.random.default_rng(3), 31, 200
    weights = rng.integers(largest // 2, largest, size=(2, segments))
    counts = np.stack([rng.integers(0, weights + 1), weights], axis=-1)
    spreads, found = pair(*counts, samples=samples, seed=4)
    drawn = np.random.default_rng([4, 0]).integers(segments, size=(samples, segments))
    for stats, spread in zip(counts, spreads, strict=True):
        scores = V.score(stats[drawn].sum(axis=1).astype(float))
        expected = [*np.quantile(scores, [0.025, 0.975]), scores.std(ddof=1)]
        assert [spread.low, spread.high, spread.s_sel] == pytest.approx(expected, rel=1e-13)
    bits = np.frombuffer(np.random.default_rng([4, 1, 1]).bytes(segments * samples // 8), "u1")
    swapped = np.unpackbits(bits).reshape(samples, segments, 1)
    one, other = np.where(swapped, *counts[::-1]), np.where(swapped, *counts)
    one, other = (V.score(side.sum(axis=1).astype(float)) for side in (one, other))
    extreme = np.abs(other - one) >= abs(found.difference) - 1e-12
    assert found.p_randomization == (1 + extreme.sum()) / (samples + 1)


def test_false_positives_under_a_true_null():
    # Of 1,200 pairs of systems without a difference about 5 % are taken for different, and a
    # little more by the bootstrap of 40 segments. The bounds are four standard deviations off.
    rng = np.random.default_rng(7)
    found = [[], []]
    for _ in range(1200):
        first, second = draw_stats(rng, 1, 40), draw_stats(rng, 1, 40)
        _, difference = pair(first, second, samples=199)
        found[0].append(difference.p_randomization)
        found[1].append(difference.p_bootstrap)
    for values in found:
        assert 0.03 <= np.mean(np.array(values) <= 0.05) <= 0.085
        assert np.mean(values) == pytest.approx(0.5, abs=0.06)  # p is uniform under the null


def test_beside_itself_a_system_has_p_1():
    stats = draw_stats(np.random.default_rng(1), 1, 40)
    assert pair(stats, stats, samples=199)[1].p_randomization == 1.0


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.04 times 3, 2, 1 is 0.03, 0.04, 0.04.
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_too_few_samples_for_holm_are_told():
    # Of 19 samples the least p is 1 / 20, of 39 it is 1 / 40: three corrected ones are 0.075. Of
    # 60 it is 3 / 61, the first below 0.05.
    for samples in (19, 39, 59):
        with collected_warnings() as lines:
            holm([1 / (samples + 1)] * 3, Resampling(samples))
        said = f"with {samples} samples and 3 comparisons no corrected p (Holm) can be below 0.05"
        assert list(lines) == [f"{said}; take --samples 60"]
    with collected_warnings() as lines:
        assert max(holm([1 / 61] * 3, Resampling(60))) < 0.05
    assert not lines


@given(st.integers(1, 5000), st.sampled_from([0.8, 0.9, 0.95, 0.99, 0.999]))
def test_the_number_of_samples_told_is_the_least_that_does(count, level):
    with collected_warnings() as lines:
        holm([1.0] * count, Resampling(1, level=level))
    (enough,) = (int(line.rpartition(" ")[2]) for line in lines)
    alpha = 1 - Fraction(str(level))
    assert Fraction(count, enough + 1) < alpha <= Fraction(count, enough)
    with collected_warnings() as lines:
        holm([1.0] * count, Resampling(enough, level=level))
    assert not lines


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_only_raises_and_keeps_the_order(values):
    corrected = holm(values)
    assert all(p <= q <= 1 for p, q in zip(values, corrected, strict=True))
    ranked = [q for _, q in sorted(zip(values, corrected, strict=True))]
    assert ranked == sorted(ranked)


@pytest.fixture(scope="module")
def outputs():
    """Two noisy copies of a reference; the second has a little less noise."""
    rng = np.random.default_rng(11)
    words = [f"w{i}" for i in range(60)]
    reference = [" ".join(rng.choice(words, size=rng.integers(6, 16))) for _ in range(120)]

    def noisy(line, share):
        kept = [w if rng.random() > share else str(rng.choice(words)) for w in line.split()]
        return " ".join(kept)

    return reference, *([noisy(line, share) for line in reference] for share in (0.32, 0.28))


@pytest.mark.parametrize("test_type", ["ar", "bs"])
def test_agrees_with_sacrebleu_on_the_same_data(outputs, test_type, tmp_path):
    reference, first, second = outputs
    systems = [("first", first), ("second", second)]
    options = {"references": [reference], "tokenize": "none", "force": True}
    _, scores = PairedTest(
        systems, {"BLEU": BLEU(**options)}, references=None, test_type=test_type, n_samples=1000
    )()
    theirs = scores["BLEU"][1]
    files = []
    for number, lines in enumerate((reference, first, second)):
        files.append(tmp_path / str(number))
        files[-1].write_text("".join(line + "\n" for line in lines))
    vocabulary = Vocabulary()
    references = read_references([files[0]], vocabulary=vocabulary)
    bleu = registry.metric("bleu")
    stats = []
    for path in files[1:]:
        texts = read_texts(path, vocabulary)
        batch = make_batch(texts, np.arange(len(texts) + 1), references)
        stats.append([compute_stats(bleu, batch)[np.newaxis]])
    spreads, differences = systems_tested([bleu], stats, Resampling(samples=SAMPLES))
    ours = differences[0][0]
    assert 100 * spreads[0][1].score == pytest.approx(theirs.score, abs=1e-6)
    tolerance = error(theirs.p_value, 1000) + error(theirs.p_value)
    if test_type == "ar":
        assert ours.p_randomization == pytest.approx(theirs.p_value, abs=tolerance)
        return
    # sacrebleu's is the share of samples whose difference is as far from its mean as 0 is, signs
    # aside: equal to ours where differences are symmetric, as here.
    assert ours.p_bootstrap == pytest.approx(theirs.p_value, abs=2 * tolerance)
    interval = (spreads[0][1].high - spreads[0][1].low) / 2
    assert 100 * interval == pytest.approx(theirs.ci, rel=0.15)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0}, "samples is 0; it must be at least 1"),
        ({"seed": -1}, "seed is -1"),
        ({"level": 1.0}, "level is 1.0; it must be between 0 and 1"),
    ],
)
def test_wrong_resampling_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Resampling(**options)


def test_systems_of_different_segments_are_refused():
    with pytest.raises(ValueError, match="the same segments"):
        pair([[1, 2]], [[1, 2], [1, 2]])


COUNTS = TESTS / "data" / "significance" / "newstest2017-en-de.counts.gz"
MULTEVAL = {"FBK": 0.0218, "LMU-nmt-reranked": 0.09029, "SYSTRAN": 0.59914, "xmu": 0.71073}
"""Published p-values against LIUM-NMT, 10,000 trials, see the README beside the counts."""


def test_agrees_with_published_values_of_multeval():
    rows = np.loadtxt(COUNTS)
    systems = []
    for matched_and_length in np.split(rows[:, 1:], 5, axis=1):
        totals = np.maximum(matched_and_length[:, 4:] - np.arange(4), 0)
        stats = np.empty((1, len(rows), 9))
        stats[0, :, 0:8:2], stats[0, :, 1:8:2] = matched_and_length[:, :4], totals
        stats[0, :, 8] = rows[:, 0]
        systems.append([stats])
    _, differences = systems_tested([registry.metric("bleu")], systems, Resampling())
    for found, (name, published) in zip(differences[0], MULTEVAL.items(), strict=True):
        tolerance = 2 * error(published, 10_000)
        assert found.p_randomization == pytest.approx(published, abs=tolerance), name


def grouped_pair(first, second, labels, **options):
    """The one difference of two systems of (S, 2) statistics, in groups."""
    systems = [[np.array(stats, dtype=float)[np.newaxis]] for stats in (first, second)]
    resampling = Resampling(**{"samples": SAMPLES} | options)
    groups = Groups.of(labels, "made up")
    _, ((found,),) = systems_tested([V], systems, resampling, groups)
    return found


def draw_groups(seed, groups=10, most=6):
    """Two systems of (S, 2) statistics with effects of groups, and a label for each segment."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), rng.integers(1, most, size=groups))
    rate = np.clip(0.5 + 0.2 * rng.normal(size=(2, groups)), 0.05, 0.95)[:, labels]
    words = rng.integers(3, 9, size=len(labels))
    systems = [np.column_stack([rng.binomial(words, p), words]).astype(float) for p in rate]
    return (*systems, [f"g{label}" for label in labels])


def test_pairs_are_tested_as_if_they_were_alone():
    """Any two of three systems, with different numbers of replicas, in one call."""
    rng = np.random.default_rng(3)
    systems = [[draw_stats(rng, replicas, 9)] for replicas in (1, 1, 3)]
    resampling, pairs = Resampling(samples=99), [(0, 1), (1, 2), (2, 0)]
    spreads, (tests,) = systems_tested([V], systems, resampling, pairs=pairs)
    assert len(spreads[0]) == 3
    for (first, second), together in zip(pairs, tests, strict=True):
        _, ((alone,),) = systems_tested([V], [systems[first], systems[second]], resampling)
        assert together == alone


def test_groups_of_one_segment_are_segments_but_for_the_interval():
    first, second, _ = draw_groups(1)
    plain = pair(first, second)[1]
    found = grouped_pair(first, second, [str(k) for k in range(len(first))])
    for name in ("difference", "p", "p_randomization", "p_bootstrap", "error", "degrees"):
        assert getattr(found, name) == getattr(plain, name)
    width = student.ppf(0.975, len(first) - 1) * plain.error
    assert found.difference_high - found.difference == pytest.approx(width)
    assert found.intraclass is None
    assert found.design_effect == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(3))
def test_whole_groups_are_exchanged_as_scipy_does(seed):
    first, second, labels = draw_groups(seed)
    found = grouped_pair(first, second, labels)
    sums = [Groups.of(labels, "").summed(x) for x in (first, second)]

    def change(x, y, axis):
        """Scores of sums; the denominators of both systems are equal."""
        return (y.sum(axis=axis) - x.sum(axis=axis)) / sums[0][:, 1].sum()

    oracle = permutation_test(
        (sums[0][:, 0], sums[1][:, 0]), change, permutation_type="samples", vectorized=True,
        n_resamples=np.inf,
    )  # fmt: skip
    assert abs(found.p - oracle.pvalue) <= error(oracle.pvalue)


@pytest.mark.parametrize("seed", range(3))
def test_the_standard_error_is_that_of_clusters_left_out(seed):
    """CR3 of the weighted mean, by least squares without each cluster (Bell & McCaffrey 2002)."""
    first, second, labels = draw_groups(seed)
    found = grouped_pair(first, second, labels)
    rate, weight = (second[:, 0] - first[:, 0]) / first[:, 1], first[:, 1]
    names = sorted(set(labels))
    without = []
    for name in names:
        kept = [label != name for label in labels]
        design = np.sqrt(weight[kept])[:, np.newaxis]
        without.append(np.linalg.lstsq(design, design[:, 0] * rate[kept], rcond=None)[0][0])
    spread = np.array(without) - np.mean(without)
    count = len(names)
    assert found.error == pytest.approx(((count - 1) / count * (spread**2).sum()) ** 0.5)


def test_equal_groups_have_the_cluster_robust_error_of_statsmodels():
    """Values of statsmodels 0.15.0, an OLS of the differences on a constant.

    `OLS(change, ones).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)`
    """
    change = [1, 0, 1, 1, 0, 0, -1, 0, 1, 1, 0, 1, 0, 1, 0, 0, -1, 0, 1, 0, 1, 1, 1, 0]
    first = np.column_stack([np.ones(24), np.ones(24)])
    second = first + np.column_stack([change, np.zeros(24)])
    tested = grouped_pair(first, second, [str(k // 4) for k in range(24)])
    assert tested.difference == pytest.approx(0.375)
    assert tested.error == pytest.approx(0.17969882)
    assert (tested.difference_low, tested.difference_high) == pytest.approx(
        (-0.08693053, 0.83693053)
    )
    # Its p by Student's t is 0.0913. Ours is by exchanges of groups: of the sums 3, -1, 3, 1, 0, 3
    # all signs add to 9 or more, or to -9 or less, in 6 of 32 ways.
    assert abs(tested.p - 6 / 32) < error(6 / 32)


def test_equal_groups_have_a_degree_of_freedom_less_than_their_number():
    rng = np.random.default_rng(1)
    first, second = draw_stats(rng, 60), draw_stats(rng, 60)
    found = grouped_pair(first, second, [str(k // 5) for k in range(60)])
    assert found.degrees == pytest.approx(11)


def test_intraclass_correlation_by_hand():
    # Means 2 and 6, between 16 = 2 * (4 + 4) / 1; within (1 + 1 + 1 + 1) / 2 = 2: 14 / 18.
    groups = Groups.of("aabb", "by hand")
    assert intraclass_correlation(np.array([1.0, 3, 5, 7]), groups) == pytest.approx(14 / 18)
    assert intraclass_correlation(np.ones(4), groups) is None
    assert intraclass_correlation(np.arange(4.0), Groups.of("abcd", "alone")) is None


def test_one_group_is_not_tested():
    first, second, labels = draw_groups(1)
    found = grouped_pair(first, second, ["all"] * len(labels))
    assert (found.p, found.error, found.difference_low) == (None, None, None)
    assert found.difference != 0


def test_many_segments_are_dealt_into_blocks_that_say_the_same(monkeypatch):
    rng = np.random.default_rng(4)
    first = np.column_stack([rng.random(900), np.ones(900)])
    second = first + np.column_stack([0.04 + 0.5 * rng.normal(size=900), np.zeros(900)])
    spreads, plain = pair(first, second)
    monkeypatch.setattr("portmert.tuner.evaluation.significance.MOST_UNITS", 200)
    spreads_of_blocks, by_blocks = pair(first, second)
    assert [x.score for x in spreads_of_blocks] == [x.score for x in spreads]
    assert (by_blocks.error, by_blocks.degrees) == (plain.error, plain.degrees)
    # Of 200 blocks a standard error is off by 5 %, so p and ends move a little.
    assert by_blocks.p == pytest.approx(plain.p, abs=0.02)
    assert by_blocks.p != plain.p
    assert by_blocks.difference_low == pytest.approx(plain.difference_low, abs=0.3 * plain.error)
