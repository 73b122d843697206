"""When the outer loop stops: the stop rule of a run."""

from collections.abc import Sequence

from portmert.metrics._base import Metric

from ..base.errors import counted
from ..search.steps import Steps
from . import config
from .result import Iteration, best_iteration

FEWEST = 3
"""Decodings before a run may end by its gain: the first lists show only what is near the start."""


def is_short(last: Iteration, steps: Steps) -> bool:
    """Return whether the last weights are short of what was found, as only a limit may end a run.

    Parameters
    ----------
    steps
        Those before the last iteration.
    """
    is_unfinished = last.is_decoded and last.new == 0 and steps.is_behind
    return is_unfinished or steps.is_cut(last.number - 1)


def stop_reason(
    iterations: Sequence[Iteration],
    tune: config.Tune,
    metric: Metric,
    steps: Steps = Steps(),  # noqa: B008  it is frozen
    *,
    fewest: int = FEWEST,
) -> str | None:
    """Return the reason to stop after these iterations, or None.

    The loop asks twice in each iteration: after decoding and after optimizing. Behind a step that
    was cut short only a limit ends a run. If the decoder found nothing new, the rest of the way is
    taken, even after the last search that the limit allows: it is the same search again.

    Parameters
    ----------
    steps
        Those so far. Default: all went the whole way.
    fewest
        Decodings before the gain may end the run.
    """
    last, limit = iterations[-1], None
    if last.number == tune.decodings and last.held_out_score is not None:
        limit = f"the limit of {counted(tune.decodings, 'decoding')} is reached"
    if last.number > 1 and last.new == 0:
        on_the_way = steps.first(last.number - 1).is_behind
        return limit if on_the_way else "the decoder found no new hypothesis"
    stale = last.number - best_iteration(iterations, metric).number
    if stale >= tune.patience and not steps.is_cut(last.number - 1):
        return f"{last.judged_by} has not improved for {counted(stale, 'iteration')}"
    if limit:
        return limit
    if last.number > tune.iterations:
        return f"the limit of {counted(tune.iterations, 'search')} is reached"
    is_on_the_way = steps.is_cut(last.number) or steps.is_cut(last.number - 1)
    return None if is_on_the_way else _comes_to_rest(last, tune, metric, fewest)


def _comes_to_rest(last: Iteration, tune: config.Tune, metric: Metric, fewest: int) -> str | None:
    if last.change is not None and last.change < tune.min_weight_change:
        return f"the weights stand still (change {last.change:.2g})"
    if last.number < fewest or last.gain is None or not tune.min_gain:
        return None
    if last.gain > tune.min_gain * (last.gain_error or 0.0):
        return None
    spread_text = metric.display.shown_spread
    error = "" if last.gain_error is None else f" ± {spread_text(last.gain_error)}"
    return f"the next weights gain {spread_text(last.gain)}{error} on all lists"


def enough(last: Iteration, tune: config.Tune) -> str | None:
    """Return the reason to judge the weights found last without decoding them, or None."""
    if last.held_out_score is None and last.number == tune.decodings:
        return f"the limit of {counted(tune.decodings, 'decoding')} is reached"
    return None
