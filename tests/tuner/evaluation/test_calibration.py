"""P-values are uniform and intervals cover the truth where there is no difference."""

import numpy as np
import pytest
from scipy.stats import kstest
from scipy.stats import t as student

from portmert.tuner.evaluation.standard_errors import t_test_with_tuning
from research.calibration import TESTS, calibrated, covering, estimated
from research.group_tests import Setting
from research.group_tests import counted as alarms_and_coverage

DEAR = ("`compare`, three", "`rerank-tune`", "`metaeval`")
EXACT = [
    pytest.param(name, marks=pytest.mark.slow if name.startswith(DEAR) else ())
    for name in TESTS
    if "five and three" not in name and "crossval" not in name
]


@pytest.mark.parametrize("name", EXACT)
def test_p_values_are_uniform_and_intervals_cover_the_truth(name):
    p, covered = calibrated(name)
    assert kstest(p, "uniform").pvalue > 0.01
    assert 0.92 <= covered <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize(("systems", "own"), [(8, 0), (15, 1)])
def test_intervals_over_few_systems_cover_the_truth(systems, own):
    """The bounds are four standard deviations off."""
    assert (covering(systems, own, runs=60) >= 0.95 - 4 * (0.05 * 0.95 / 60) ** 0.5).all()


@pytest.mark.slow
@pytest.mark.parametrize(("segments", "folds"), [(30, 4), (30, 10), (120, 10)])
def test_the_estimate_for_unseen_text_is_unbiased_on_noise(segments, folds):
    values, errors = estimated(segments, folds=folds, seeds=100, epochs=1, iterations=0)
    assert abs(np.mean(values)) < 2.5 * np.std(values) / len(values) ** 0.5
    assert 0.92 <= np.mean(np.abs(values) <= 1.96 * errors) <= 0.98


def test_the_error_told_covers_what_was_learnt():
    """The deviation of bootstrap samples alone covers 35 of these 40."""
    values, errors = estimated(30, seeds=40, signal=0.15, epochs=1, iterations=0)
    assert np.mean(np.abs(values) <= 1.96 * errors) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TESTS if "crossval" in name])
def test_splits_raise_no_false_alarms(name):
    """By the variance over splits alone, 3 to 16 % are false alarms."""
    p, covered = calibrated(name)
    assert np.mean(p < 0.05) <= 0.05
    assert covered >= 0.95


@pytest.mark.parametrize("metric", ["outcomes", "wer", "bleu", "port"])
def test_groups_raise_no_false_alarms(metric):
    """Without groups, 12 to 20 % are false alarms; the bounds are four standard deviations off."""
    setting = Setting(metric, 20, 0.3, uneven=True)
    alarms, covered = alarms_and_coverage(setting, runs=150, samples=99)
    assert alarms <= 0.05 + 4 * (0.05 * 0.95 / 150) ** 0.5
    assert covered >= 0.95 - 4 * (0.05 * 0.95 / 150) ** 0.5


@pytest.mark.parametrize("replicas", [2, 3, 5])
def test_averages_of_replicas_are_as_uncertain_as_their_outputs(replicas):
    """400 cases without a true difference: coverage, and intervals at least of one pair's width.

    The luck of tuning is small and that of segments large, so a subtraction of the share of both
    may leave less than the paired difference varies.
    """
    rng, segments, covered = np.random.default_rng(replicas), 150, 0
    times = rng.multinomial(segments, np.full(segments, 1 / segments), size=300).T / segments
    for _ in range(400):
        baseline = 0.3 * rng.standard_normal(segments)
        tuned = baseline + 0.3 * rng.standard_normal(segments)
        luck = 0.02 * rng.standard_normal((replicas, 1))
        outputs = tuned + luck + 0.25 * rng.standard_normal((replicas, segments))
        pair = [(rows.mean(axis=1), rows @ times) for rows in (baseline[None], outputs)]
        difference = outputs.mean() - baseline.mean()
        _, error, degrees, _ = t_test_with_tuning(difference, pair, segments)
        paired = np.std((outputs.mean(axis=0) - baseline) @ times, ddof=1)
        assert error >= paired * (1 - 1e-9)
        covered += abs(difference) <= student.ppf(0.975, degrees) * error
    assert 0.93 <= covered / 400 <= 0.98
