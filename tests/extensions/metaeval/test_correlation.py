"""Correlations against the specification's examples, scipy, and slow twins."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from portmert.extensions.metaeval.correlation import (
    Pairs,
    mean_removed,
    pearson,
    spearman,
    williams,
)
from portmert.extensions.metaeval.data import Judged
from portmert.extensions.metaeval.measures import measured, segment_rows
from tests.oracles.metaeval import kendall_counts
from tests.support.agreements import given_scores

# Section 12.3: two groups of unequal size.
X = np.array([0.5, 0.7, 0.2, 0.3, 0.4])
Y = np.array([0.4, 0.2, 0.9, 0.8, 0.5])
LENGTHS = np.array([10.0, 20, 5, 5, 10])


def removed(values):
    return np.concatenate([mean_removed(values[:2]), mean_removed(values[2:])])


def test_spearman_of_the_specification():
    assert spearman(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])) == pytest.approx(0.8)
    ties = spearman(np.array([1.0, 1, 2]), np.array([1.0, 2, 3]))
    assert ties == pytest.approx(0.866025, abs=1e-6)


def test_pearson_of_the_specification():
    assert pearson(removed(X), removed(Y)) == pytest.approx(-0.918559, abs=1e-6)
    assert pearson(X, Y, weights=LENGTHS) == pytest.approx(-0.974726, abs=1e-6)
    both = pearson(removed(X), removed(Y), weights=LENGTHS)
    assert both == pytest.approx(-0.907886, abs=1e-6)


def test_kendall_of_the_specification():
    # 3 concordant, 1 discordant, 1 tie: a segment each.
    human = np.array([[2.0, 1.0]] * 5)
    metric = np.array([[2.0, 1.0]] * 3 + [[1.0, 2.0], [1.0, 1.0]])
    rows = segment_rows(Judged(("A", "B"), human, np.ones(5)), given_scores(metric), 0.0)
    found = {
        name: measured([rows])[0][f"segment.{name}"]
        for name in ("wmt10", "wmt13", "wmt14", "consistency")
    }
    assert found == pytest.approx({"wmt10": 0.2, "wmt13": 0.5, "wmt14": 0.4, "consistency": 0.6})


def test_constant_scores_have_no_correlation():
    constant, other = np.full(5, 0.1), np.arange(5.0)
    assert np.isnan(pearson(constant, other))
    assert np.isnan(pearson(other, constant))
    assert np.isnan(spearman(constant, other))
    # Far from 0 a small spread is not rounding.
    assert pearson(1e6 + other, other) == pytest.approx(1)
    assert np.isnan(pearson(other, other, weights=np.zeros(5)))


small = st.integers(-3, 3).map(float)


@given(hnp.arrays(np.float64, (3, 8), elements=small), hnp.arrays(np.float64, 8, elements=small))
def test_correlations_are_those_of_scipy(x, y):
    for row, r, rho in zip(x, pearson(x, y), spearman(x, y), strict=True):
        if np.ptp(row) == 0 or np.ptp(y) == 0:
            assert np.isnan(r)
            assert np.isnan(rho)
        else:
            assert r == pytest.approx(scipy.stats.pearsonr(row, y)[0], abs=1e-12)
            assert rho == pytest.approx(scipy.stats.spearmanr(row, y)[0], abs=1e-12)


@given(
    hnp.arrays(np.float64, 6, elements=small),
    hnp.arrays(np.float64, 6, elements=small),
    hnp.arrays(np.int64, 6, elements=st.integers(0, 4)),
)
def test_weights_repeat_the_scores(x, y, times):
    if times.sum() == 0:
        return
    repeated = pearson(np.repeat(x, times), np.repeat(y, times))
    assert pearson(x, y, weights=times.astype(float)) == pytest.approx(
        repeated, abs=1e-12, nan_ok=True
    )


@given(
    hnp.arrays(np.float64, (4, 4), elements=small), hnp.arrays(np.float64, (4, 4), elements=small)
)
def test_pairs_are_counted_as_the_twin_counts_them(human, metric):
    pairs = Pairs.of(human)
    concordant, discordant = pairs.outcomes(metric)
    counts = concordant.sum(), discordant.sum(), pairs.count
    assert counts == kendall_counts(human.tolist(), metric.tolist())


def test_williams_by_hand():
    # K = 1 - .81 - .49 - .36 + 2 (.9)(.7)(.6) = 0.096;
    # t = .2 sqrt(9 (1.6) / (2 (.096) 9 / 7 + 2.56 / 4 (.064))) = 1.415020, 7 degrees of freedom.
    root = np.sqrt(9 * 1.6 / (2 * 0.096 * 9 / 7 + 0.64 * 0.064))
    expected = 2 * scipy.stats.t.sf(0.2 * root, 7)
    assert williams(0.9, 0.7, 0.6, count=10) == pytest.approx(expected)
    assert williams(0.7, 0.9, 0.6, count=10) == pytest.approx(expected)
    assert 0.1 < expected < 0.3


def test_williams_at_its_ends():
    assert williams(0.5, 0.5, 1.0, count=10) == 1.0
    assert np.isnan(williams(0.5, 0.4, 0.3, count=3))
    assert np.isnan(williams(1.0, -1.0, -1.0, count=5))


def test_williams_keeps_its_level_under_the_null():
    rng = np.random.default_rng(1)
    human = rng.normal(size=(2000, 20))
    first, second = (human + rng.normal(size=human.shape) for _ in range(2))
    p = [
        williams(float(a), float(b), float(c), count=20)
        for a, b, c in zip(
            pearson(first, human), pearson(second, human), pearson(first, second), strict=True
        )
    ]
    assert 0.03 < np.mean(np.array(p) < 0.05) < 0.07
