"""L-BFGS within bounds: by hand, against SciPy's, on curved valleys, and where a loss is odd."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, rosen, rosen_der

from portmert.tuner.search.lbfgs import minimise

FREE = np.array([-np.inf, -np.inf]), np.array([np.inf, np.inf])


def bowl(numbers):
    """(x - 1)^2 + 10 (y + 2)^2, with the lowest point (1, -2)."""
    x, y = numbers
    return (x - 1) ** 2 + 10 * (y + 2) ** 2, np.array([2 * (x - 1), 20 * (y + 2)])


def test_the_lowest_point_is_found():
    assert minimise(bowl, np.array([8.0, 8.0]), *FREE, iterations=50) == pytest.approx(
        [1, -2], abs=1e-5
    )


def test_bounds_hold_and_the_rest_moves():
    lower, upper = np.array([-np.inf, 0.0]), np.array([0.5, np.inf])
    # The lowest point within x <= 0.5 and y >= 0 is the corner.
    assert minimise(bowl, np.array([-3.0, 5.0]), lower, upper, iterations=50).tolist() == [
        0.5,
        0.0,
    ]
    # A start outside is moved inside first; with y free again, only x is held.
    lower[1] = -np.inf
    found = minimise(bowl, np.array([9.0, 5.0]), lower, upper, iterations=50)
    assert found == pytest.approx([0.5, -2.0], abs=1e-5)


def test_the_start_stays_as_it_was_and_no_iteration_returns_it():
    start = np.array([3.0, 3.0])
    assert minimise(bowl, start, *FREE, iterations=0).tolist() == [3.0, 3.0]
    minimise(bowl, start, *FREE, iterations=9)
    assert start.tolist() == [3.0, 3.0]


def test_a_curved_valley_is_followed_to_its_end():
    found = minimise(
        lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0]), *FREE, iterations=100
    )
    assert found == pytest.approx([1, 1], abs=1e-3)


def test_every_iteration_more_is_no_worse():
    losses = [
        rosen(
            minimise(
                lambda x: (rosen(x), rosen_der(x)), np.array([-1.2, 1.0]), *FREE, iterations=n
            )
        )
        for n in range(30)
    ]
    assert all(after <= before for before, after in itertools.pairwise(losses))
    assert losses[29] < 0.01 * losses[0]


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.booleans())
def test_it_ends_as_low_as_the_one_of_scipy(seed, size, bounded):
    """A logistic regression, as `pro` has it: convex, so that both have one lowest point."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, size)) * rng.uniform(0.1, 3.0, size=size)

    def loss(numbers):
        margins = rows @ numbers
        slopes = -1 / (1 + np.exp(margins))
        value = np.logaddexp(0, -margins).sum() + 0.5 * numbers @ numbers
        return float(value), rows.T @ slopes + numbers

    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    if bounded:
        low[rng.random(size) < 0.4] = 0.0
        high[(rng.random(size) < 0.4) & (low < 0)] = 0.0
    begin = rng.normal(size=size)
    found = minimise(loss, begin, low, high, iterations=500)
    assert ((found >= low) & (found <= high)).all()
    theirs = minimize(
        loss, np.clip(begin, low, high), jac=True, method="L-BFGS-B",
        bounds=np.stack([low, high], axis=1), options={"ftol": 1e-14, "gtol": 1e-9},
    )  # fmt: skip
    assert loss(found)[0] <= theirs.fun + 1e-5 * max(1.0, theirs.fun)


def test_a_loss_that_is_not_a_number_beyond_a_place_is_not_entered():
    def loss(numbers):
        if numbers[0] > 2:
            return np.nan, np.full(1, np.nan)
        return -float(numbers[0]), np.full(1, -1.0)

    found = minimise(loss, np.zeros(1), np.full(1, -np.inf), np.full(1, np.inf), iterations=50)
    assert 1 < found[0] <= 2


def test_a_slope_that_lies_ends_the_descent():
    def loss(numbers):  # uphill, whatever the gradient says
        return float(np.abs(numbers).sum()), np.full(2, -1.0)

    assert minimise(loss, np.zeros(2), *FREE, iterations=50).tolist() == [0.0, 0.0]


def test_a_slope_whose_square_is_0_ends_the_descent():
    begin = np.array([3.0, 4.0])
    assert minimise(lambda _: (0.0, np.full(2, 1e-200)), begin, *FREE, iterations=9).tolist() == [
        3.0, 4.0,
    ]  # fmt: skip


LOSSES = {  # of two numbers, and the most evaluations from 20 starts: a tenth above what it takes
    "wide": (176, lambda x: ((1e-4 * x[0] - 1) ** 2, np.array([2e-4 * (1e-4 * x[0] - 1), 0]))),
    "steep": (1275, lambda x: (1e4 * (x[0] - 1) ** 4, np.array([4e4 * (x[0] - 1) ** 3, 0]))),
    "valley": (950, lambda x: (rosen(x), rosen_der(x))),
    "kink": (
        1370,
        lambda x: (abs(x[0] - 1) + x[1] ** 2, np.array([np.sign(x[0] - 1), 2 * x[1]])),
    ),
    "wave": (
        197,
        lambda x: (
            0.01 * x[0] ** 2 - np.cos(3 * x[0]) + x[1] ** 2,
            np.array([0.02 * x[0] + 3 * np.sin(3 * x[0]), 2 * x[1]]),
        ),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_steps_are_found_with_few_evaluations(name):
    """First steps are far too short or too long; SciPy's ends no lower on the whole."""
    most, loss = LOSSES[name]
    asked, ours, theirs = 0, 0.0, 0.0

    def counted(numbers):
        nonlocal asked
        asked += 1
        return loss(numbers)

    for seed in range(20):
        begin = 3 * np.random.default_rng(seed).normal(size=2)
        ours += loss(minimise(counted, begin, *FREE, iterations=200))[0]
        theirs += minimize(loss, begin, jac=True, method="L-BFGS-B").fun
    assert ours <= theirs + 1e-9
    assert asked <= most
