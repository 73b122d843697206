"""Summarises what was measured: means, their errors, differences from the first choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import portmert
from portmert.metrics._base import FloatArray, Metric
from portmert.tuner.evaluation.crossval.cells import Measured, Plan
from portmert.tuner.ground.documents import plain

UNTUNED = "untuned"
"""What tables call the start weights."""


@dataclass(frozen=True)
class Verdict:
    """Holds how one choice does by one metric; scores and differences on the metric's own scale.

    Parameters
    ----------
    seen, unseen
        Means over splits and seeds.
    gain, error
        How much better than the first choice on unseen segments, above 0 whatever the metric, and
        the standard error of that mean over splits; None of the first itself, or of one split.
    p
        Of no gain at all, two-sided; see `corrected_p`.
    seed_spread
        Standard deviation of the unseen score over seeds, mean over splits; None of one seed.
    estimate, estimate_error
        The search's estimate for unseen text less the unseen score, and the standard error over
        splits; None of other metrics than it tuned on, or where it makes none.
    """

    seen: float
    unseen: float
    gain: float | None
    error: float | None
    p: float | None
    seed_spread: float | None
    estimate: float | None
    estimate_error: float | None


def corrected_p(gains: FloatArray, ratio: float) -> float | None:
    """Return the two-sided p of (n,) gains, one a split, by a corrected resampled t-test.

    Splits share segments, so that their gains go together: the correlation of two is taken to be
    the share of segments that are judged. Of their mean the variance is then (1/n + ratio) times
    that of one gain, not 1/n of it.

    Parameters
    ----------
    ratio
        Segments judged for one that is not, whether it was learnt from or left out for its size.

    References
    ----------
    Nadeau & Bengio, "Inference for the Generalization Error", Machine Learning 2003.
    """
    from scipy.special import stdtr  # noqa: PLC0415  start-up time

    count = len(gains)
    if count < 2:
        return None
    mean, variance = float(gains.mean()), float(gains.var(ddof=1))
    if variance == 0:
        return 1.0 if mean == 0 else 0.0
    return 2 * float(stdtr(count - 1, -abs(mean) / ((1 / count + ratio) * variance) ** 0.5))


def document_of(plan: Plan, measured: Sequence[Measured]) -> dict[str, Any]:
    """Return all that was measured as plain data, the last choice being no tuning at all."""
    seen, unseen = plan.parts(0)
    ratio = len(unseen) / (len(plan.nbest) - len(unseen))
    return {
        "kind": "crossval",
        "portmert": portmert.__version__,
        "segments": len(plan.nbest),
        "learnt_from": len(seen),
        "judged_on": len(unseen),
        "splits": plan.splits,
        "seeds": plan.seeds,
        "seed": plan.seed,
        "metrics": [
            {
                "label": label,
                "signature": judged.signature,
                "in_percent": judged.metric.in_percent,
                "higher_is_better": judged.metric.higher_is_better,
            }
            for label, judged in plan.judges.items()
        ],
        "choices": [
            {
                "name": name,
                "tuned_on": one.choice and one.choice.tuned_on,
                "optimizer": one.choice and one.choice.by,
                "without": list(one.choice.without) if one.choice else [],
                "prior": one.choice and one.choice.prior,
                "cpu_seconds": _mean(one.cpu_seconds),
                "judged": {
                    label: plain(_verdict(judged.metric, label, one, measured[0], ratio))
                    for label, judged in plan.judges.items()
                },
            }
            for name, one in zip(_names(measured), measured, strict=True)
        ],
    }


def _verdict(metric: Metric, label: str, one: Measured, first: Measured, ratio: float) -> Verdict:
    unseen = one.unseen[label]
    gains = np.asarray(metric.oriented(unseen - first.unseen[label])).mean(axis=1)
    off = (one.estimate - unseen).mean(axis=1)
    is_estimated = one.choice is not None and one.choice.tuned_on == label
    is_estimated = is_estimated and not np.isnan(off).any()
    is_first = one is first
    return Verdict(
        seen=float(one.seen[label].mean()),
        unseen=float(unseen.mean()),
        gain=None if is_first else float(gains.mean()),
        error=None if is_first else _error(gains),
        p=None if is_first else corrected_p(gains, ratio),
        seed_spread=float(unseen.std(axis=1, ddof=1).mean()) if unseen.shape[1] > 1 else None,
        estimate=float(off.mean()) if is_estimated else None,
        estimate_error=_error(off) if is_estimated else None,
    )


def _error(values: FloatArray) -> float | None:
    """Return the standard error of the mean of (n,) values; None of one."""
    return float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else None


def _mean(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _names(measured: Sequence[Measured]) -> list[str]:
    """Return what each row is called: the optimizer and whatever else is not always alike."""
    choices = [one.choice for one in measured if one.choice is not None]
    priors, metrics = (len({getattr(c, key) for c in choices}) for key in ("prior", "tuned_on"))
    found = []
    for choice in choices:
        name = f"{choice.by} on {choice.tuned_on}" if metrics > 1 else choice.by
        name += f", prior {choice.prior:g}" if priors > 1 else ""
        name += f", without {', '.join(choice.without)}" if choice.without else ""
        found.append(name)
    return [*found, UNTUNED]
