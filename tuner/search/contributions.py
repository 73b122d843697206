"""What each weight does: its share in the model scores, and the score without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import Metric

from ..base.tables import Table
from ..nbest.model import NBest, best_hypotheses, model_scores
from ..weights.feature_weights import FeatureWeights
from .problem import StatTable, within_segment_spread


class Contribution(NamedTuple):
    """What one weight does.

    Parameters
    ----------
    name
        The feature; of several values `TM0[2]` is the second one.
    weight
    share
        The weight times the spread of its feature within lists, absolute, divided by the sum of
        these over all dense features: 0..1. None if the lists are not at hand.
    without
        The score of the lists with this weight set to 0 and the others as they are; None if it was
        not asked for.
    """

    name: str
    weight: float
    share: float | None = None
    without: float | None = None


def contributions(
    nbest: NBest, weights: FeatureWeights, *, scored_by: tuple[Metric, StatTable] | None = None
) -> list[Contribution]:
    """Return what each weight of a dense feature does in these lists.

    Parameters
    ----------
    scored_by
        The metric and the statistics of the lists, to score them without each weight.
    """
    vector = weights.vector(nbest.feature_names)
    spread = within_segment_spread(nbest.features.T, nbest.offsets, if_constant=0.0)
    moved = np.abs(vector * spread)
    shares = moved / (moved.sum() or 1.0)
    names = [(name, place, size) for name, size in nbest.feature_names for place in range(size)]
    rows = []
    for (name, place, size), weight, share in zip(
        names, vector.tolist(), shares.tolist(), strict=True
    ):
        without = None
        if scored_by is not None:
            metric, stats = scored_by
            fewer = list(weights.values[name])
            fewer[place] = 0.0
            others = FeatureWeights({**weights.values, name: tuple(fewer)})
            rows_chosen = best_hypotheses(nbest, model_scores(nbest, others))
            without = float(metric.score(stats.total(rows_chosen)))
        label = name if size == 1 else f"{name}[{place + 1}]"
        rows.append(Contribution(label, weight, share, without))
    return rows


def of_weights(weights: FeatureWeights) -> list[Contribution]:
    """Return the weights alone, without what they do."""
    return [
        Contribution(name if len(values) == 1 else f"{name}[{place}]", value)
        for name, values in weights.values.items()
        for place, value in enumerate(values, 1)
    ]


MOST = 30
"""Rows of a table; JSON has all."""


def table(rows: Sequence[Contribution], metric: Metric) -> Table:
    """Return the weights as a table for the terminal and for pages."""
    heaviest = sorted(
        rows, key=lambda row: -(abs(row.weight) if row.share is None else row.share)
    )[:MOST]
    left_out, rows = len(rows) - len(heaviest), [row for row in rows if row in heaviest]
    columns, note = ["feature", "weight"], ""
    cells = [[row.name, f"{row.weight:.4g}"] for row in rows]
    if any(row.share is not None for row in rows):
        columns.append("share")
        note = "share: of the differences between the model scores in a list."
        for line, row in zip(cells, rows, strict=True):
            line.append("" if row.share is None else f"{100 * row.share:.0f} %")
    if any(row.without is not None for row in rows):
        columns.append(f"{metric.display.labelled(metric.name())} without it")
        note += " without it: this weight set to 0, the others as they are."
        for line, row in zip(cells, rows, strict=True):
            line.append("" if row.without is None else metric.shown(row.without))
    note += f" {left_out} lighter weights are left out." if left_out else ""
    return Table("Weights", columns, cells, note=note.strip())


def as_json(rows: Sequence[Contribution]) -> dict[str, Mapping[str, float]]:
    """Return what JSON says of the weights."""
    return {
        row.name: {
            key: value
            for key, value in zip(row._fields[1:], row[1:], strict=True)
            if value is not None
        }
        for row in rows
    }
