"""Smallest differences and sizes of test sets, against their definition and by simulation."""

import numpy as np
import pytest
from scipy.stats import nct, norm, t

from portmert.tuner.evaluation.power import margin_tests, smallest_difference, units_needed


def luck(error=1.0, degrees=1e6, tuning=0.0):
    return {"error": error, "degrees": degrees, "tuning_error": tuning}


def test_the_smallest_difference_of_many_segments_is_that_of_textbooks():
    # 1.96 + 0.84 standard errors
    assert smallest_difference(luck(2.0), 0.95) == pytest.approx(
        2 * (norm.ppf(0.975) + norm.ppf(0.8)), rel=1e-5
    )
    assert smallest_difference(luck(None), 0.95) is None


@pytest.mark.parametrize("degrees", [9, 19, 99])
def test_a_t_test_shows_the_smallest_difference_four_times_in_five(degrees):
    """The power of a t-test is known: the non-central t distribution."""
    change = smallest_difference(luck(1.0, degrees), 0.95)
    power = nct.sf(t.ppf(0.975, degrees), degrees, change)
    assert power == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("difference", [0.1, 0.5, 1.0, 3.0])
def test_the_units_needed_are_the_fewest_that_suffice(difference):
    test, units = luck(0.3, 39), 40
    needed = units_needed(difference, test, units, 0.95)

    def smallest(count):
        degrees = max(1.0, 39 * count / units)
        return smallest_difference(luck(0.3 * (units / count) ** 0.5, degrees), 0.95)

    assert smallest(needed) <= difference
    assert needed == 2 or smallest(needed - 1) > difference


def test_more_segments_do_not_help_against_the_luck_of_tuning():
    test = luck(0.5, 30, tuning=0.4)
    assert units_needed(0.5, test, 100, 0.95) is None
    assert units_needed(2.0, test, 100, 0.95) is not None
    assert units_needed(0.0, test, 100, 0.95) is None
    assert units_needed(1.0, luck(None), 100, 0.95) is None


def test_margins_by_hand():
    # Gain -1 with error 1: the margin of 3 is 2 errors away on one side, 4 on the other.
    found = margin_tests(-1.0, luck(1.0), 3.0)
    assert found["p_no_worse"] == pytest.approx(norm.sf(2), rel=1e-4)
    assert found["p_equivalent"] == pytest.approx(norm.sf(2), rel=1e-4)
    assert margin_tests(1.0, luck(1.0), 3.0)["p_no_worse"] == pytest.approx(norm.sf(4), rel=1e-3)
    assert margin_tests(0.0, luck(None), 3.0) == {"p_no_worse": None, "p_equivalent": None}
    assert margin_tests(1e6, luck(1e-3), 1.0)["p_no_worse"] > 0


def test_one_of_twenty_true_margins_is_missed():
    rng = np.random.default_rng(1)
    gains = -0.3 + rng.normal(size=4000)  # a system that is worse by the margin exactly
    p = [margin_tests(gain, luck(1.0), 0.3)["p_no_worse"] for gain in gains]
    assert np.mean(np.array(p) < 0.05) == pytest.approx(0.05, abs=0.015)
