"""Finds the least value of a smooth loss: L-BFGS within bounds.

SciPy's L-BFGS-B asks a matrix library for its sums, which adds in another order on another
processor. Here the same loss gives the same result everywhere, and no library starts threads.
"""

from collections import deque
from collections.abc import Callable

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.metrics._elementary import inner, norm

Loss = Callable[[FloatArray], tuple[float, FloatArray]]

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


def minimise(
    loss: Loss, begin: FloatArray, lower: FloatArray, upper: FloatArray, *, iterations: int
) -> FloatArray:
    """Return the numbers (X,) within the bounds where the way down from `begin` ends.

    Each step follows the direction of L-BFGS (Nocedal & Wright, Numerical Optimization, 2006,
    algorithm 7.4) among the numbers that no bound holds, and stops at the bounds. Its length meets
    the weak Wolfe conditions (equations 3.6), unless it ends at a bound or after `TRIALS` lengths.

    Parameters
    ----------
    loss : callable
        Returns the loss at (X,) numbers, and its gradient (X,).
    begin, lower, upper : (X,) float64
        The bounds may be infinite. Not modified.
    iterations : int
        The largest number of steps.
    """
    here = np.clip(begin, lower, upper)
    value, slope = loss(here)
    pairs: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=PAIRS)
    for _ in range(iterations):
        allowed = np.clip(here - slope, lower, upper) - here
        if not np.abs(allowed).max(initial=0.0) > FLAT * abs(value):
            break
        free = ~(((here <= lower) & (slope > 0)) | ((here >= upper) & (slope < 0)))
        downhill = np.where(free, -slope, 0.0)
        steepness = norm(downhill)
        if steepness == 0:
            break
        direction = _newton(downhill, [(move * free, turn * free) for move, turn in pairs])
        if not inner(direction, slope) < 0:
            pairs.clear()
            direction = downhill
        length = 1.0 if pairs else 1.0 / steepness
        reached = _step(loss, (here, value, slope), direction, length, lower, upper)
        if reached is None:
            if not pairs:
                break
            pairs.clear()  # the curvature misled: try the steepest way
            continue
        there, low, turned = reached
        move, turn = there - here, turned - slope
        if inner(move, turn) > np.finfo(np.float64).eps * inner(turn, turn):
            pairs.append((move, turn))
        gain, size = value - low, max(abs(value), abs(low))
        here, value, slope = reached
        if gain <= SMALLEST_GAIN * size:
            break
    return here


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
    start: tuple[FloatArray, float, FloatArray],
    direction: FloatArray,
    length: float,
    lower: FloatArray,
    upper: FloatArray,
) -> tuple[FloatArray, float, FloatArray] | None:
    """Return numbers along a direction, their loss and gradient; None if none has a lower loss.

    Parameters
    ----------
    start
        Numbers, their loss and gradient.
    length
        The length to try first.
    """
    here, value, slope = start
    along = inner(slope, direction)
    moving, short, long, lowest = direction != 0, 0.0, np.inf, None
    for _ in range(TRIALS):
        there = np.clip(here + length * direction, lower, upper)
        low, turned = loss(there)
        if low <= value + ENOUGH * inner(slope, there - here):
            lowest, short = (there, low, turned), length
            inside = ((there > lower) & (there < upper))[moving].all()
            if not inside or inner(turned, direction) >= STEEP * along:
                break
        else:
            long = length
        if long == np.inf:
            length *= 4
        elif lowest is not None:
            length = (short + long) / 2
        else:  # the lowest point of the parabola through both, not too near to either
            bend = low - value - length * along
            share = -along * length / (2 * bend) if 0 < bend < np.inf else 0.5
            length *= min(max(share, 0.1), 0.5)
    return lowest
