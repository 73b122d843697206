"""Finds the least value of a smooth loss: L-BFGS within bounds.

SciPy's L-BFGS-B asks a matrix library for its sums, which adds in another order on another
processor. Here the same loss gives the same result everywhere, and no library starts threads.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.metrics._elementary import inner, norm

Loss = Callable[[FloatArray], tuple[float, FloatArray]]
"""Returns the loss at (X,) numbers, and its gradient (X,)."""

PAIRS = 10
"""How many of the last steps describe the curvature."""
ENOUGH = 1e-3
"""A step lowers the loss by at least this share of what the slope at its beginning promises."""
STEEP = 0.9
"""A step goes on if the slope along it is still steeper than this share of the first slope."""
TRIALS = 20
"""Lengths that are tried for a step."""
FLAT = 1e-6
"""The descent ends if no part of the gradient within the bounds is a larger share of the loss."""
SMALLEST_GAIN = 2.2e-9
"""The descent ends if a step gains no more than this share of the loss."""


class Point(NamedTuple):
    """Numbers (X,), the loss there, and its gradient (X,)."""

    numbers: FloatArray
    loss: float
    gradient: FloatArray


def minimise(
    loss: Loss, begin: FloatArray, lower: FloatArray, upper: FloatArray, *, iterations: int
) -> FloatArray:
    """Return the numbers (X,) within the bounds where the way down from `begin` ends.

    Each step follows the direction of L-BFGS (Nocedal & Wright, Numerical Optimization, 2006,
    algorithm 7.4) among the numbers that no bound holds, and stops at the bounds. Its length meets
    the weak Wolfe conditions (equations 3.6), unless it ends at a bound or after `TRIALS` lengths.

    Parameters
    ----------
    begin, lower, upper : (X,) float64
        The bounds may be infinite. Not modified.
    iterations : int
        The largest number of steps.
    """
    numbers = np.clip(begin, lower, upper)
    here = Point(numbers, *loss(numbers))
    pairs: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=PAIRS)  # of a move and its turn
    for _ in range(iterations):
        numbers, value, slope = here
        allowed = np.clip(numbers - slope, lower, upper) - numbers
        if not np.abs(allowed).max(initial=0.0) > FLAT * abs(value):
            break
        free = ~(((numbers <= lower) & (slope > 0)) | ((numbers >= upper) & (slope < 0)))
        downhill = np.where(free, -slope, 0.0)
        steepness = norm(downhill)
        if steepness == 0:
            break
        direction = _newton(downhill, [(move * free, turn * free) for move, turn in pairs])
        if not inner(direction, slope) < 0:
            pairs.clear()
            direction = downhill
        length = 1.0 if pairs else 1.0 / steepness
        reached = _step(loss, here, direction, length, lower, upper)
        if reached is None:
            if not pairs:
                break
            pairs.clear()  # the curvature misled: try the steepest way
            continue
        move, turn = reached.numbers - numbers, reached.gradient - slope
        if inner(move, turn) > np.finfo(np.float64).eps * inner(turn, turn):
            pairs.append((move, turn))
        here = reached
        if value - here.loss <= SMALLEST_GAIN * max(abs(value), abs(here.loss)):
            break
    return here.numbers


def _newton(downhill: FloatArray, pairs: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """Return the (X,) direction in which the curvature that the steps have met turns downhill."""
    direction, used = downhill, []
    for move, turn in reversed(pairs):
        across = inner(move, turn)
        if across > 0:
            share = inner(move, direction) / across
            direction = direction - share * turn
            used.append((move, turn, across, share))
    if used:
        _, turn, across, _ = used[0]
        direction = direction * (across / inner(turn, turn))
    for move, turn, across, share in reversed(used):
        direction = direction + (share - inner(turn, direction) / across) * move
    return direction


def _step(
    loss: Loss,
    start: Point,
    direction: FloatArray,
    length: float,
    lower: FloatArray,
    upper: FloatArray,
) -> Point | None:
    """Return a point along a direction; None if none has a lower loss.

    Parameters
    ----------
    length
        The length to try first.
    """
    along = inner(start.gradient, direction)
    moving, short, long, lowest = direction != 0, 0.0, np.inf, None
    for _ in range(TRIALS):
        numbers = np.clip(start.numbers + length * direction, lower, upper)
        there = Point(numbers, *loss(numbers))
        if there.loss <= start.loss + ENOUGH * inner(start.gradient, numbers - start.numbers):
            lowest, short = there, length
            inside = ((numbers > lower) & (numbers < upper))[moving].all()
            if not inside or inner(there.gradient, direction) >= STEEP * along:
                break
        else:
            long = length
        if long == np.inf:
            length *= 4
        elif lowest is not None:
            length = (short + long) / 2
        else:  # the lowest point of the parabola through both, not too near to either
            bend = there.loss - start.loss - length * along
            share = -along * length / (2 * bend) if 0 < bend < np.inf else 0.5
            length *= min(max(share, 0.1), 0.5)
    return lowest
