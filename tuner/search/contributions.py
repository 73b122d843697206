"""What each weight does: its share in the model scores, and the score without it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from portmert.metrics._base import Metric

from ..base.tables import Table
from ..nbest.model import NBest, best_hypotheses
from ..weights.feature_weights import FeatureWeights, value_labels
from ..weights.recognisers import in_recognisers_terms, written_terms
from .problem import within_segment_spread
from .stat_table import StatTable


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
    without: list[float | None] = [None] * len(vector)
    if scored_by is not None:
        metric, stats = scored_by
        for column in range(len(vector)):
            fewer = FeatureWeights.from_vector(
                nbest.feature_names, np.where(np.arange(len(vector)) == column, 0.0, vector)
            )
            others = FeatureWeights({**weights.values, **fewer.values})
            without[column] = stats.score(metric, best_hypotheses(nbest, others))
    labels = value_labels(nbest.feature_names)
    columns = zip(labels, vector.tolist(), shares.tolist(), without, strict=True)
    return [Contribution(*column) for column in columns]


def of_weights(weights: FeatureWeights) -> list[Contribution]:
    """Return the weights alone, without what they do."""
    values = itertools.chain(*weights.values.values())
    return [
        Contribution(label, value)
        for label, value in zip(value_labels(weights.names), values, strict=True)
    ]


MOST = 30
"""Rows of a table; JSON has all."""


def table(rows: Sequence[Contribution], metric: Metric) -> Table:
    """Return the weights as a table for the terminal and for pages."""
    sizes = [abs(row.weight) if row.share is None else row.share for row in rows]
    heaviest = sorted(range(len(rows)), key=lambda number: -sizes[number])[:MOST]
    left_out, rows = len(rows) - len(heaviest), [rows[number] for number in sorted(heaviest)]
    columns, note = ["feature", "weight"], ""
    cells = [[row.name, f"{row.weight:.4g}"] for row in rows]
    if any(row.share is not None for row in rows):
        columns.append("share")
        note = (
            "share: how much of the spread of the model scores within a list comes from this "
            "feature."
        )
        for line, row in zip(cells, rows, strict=True):
            line.append("" if row.share is None else f"{100 * row.share:.0f} %")
    if any(row.without is not None for row in rows):
        columns.append(f"{metric.display.labelled(metric.name())} without it")
        note += " without it: this weight set to 0, the others as they are."
        for line, row in zip(cells, rows, strict=True):
            line.append("" if row.without is None else metric.shown(row.without))
    note += f" {left_out} lighter weights are left out." if left_out else ""
    if terms := in_recognisers_terms(_weights(rows)):
        note += (
            " LM weight (lw, alpha) {lm_weight:.4g}; for each word {word_bonus:.4g} (beta, log of "
            "wip), as Kaldi's insertion penalty {insertion_penalty:.4g}."
        ).format(**terms)
    return Table("Weights", columns, cells, note=note.strip())


def as_json(rows: Sequence[Contribution]) -> dict[str, Mapping[str, Any]]:
    """Return what JSON says of the weights: `contributions`, and of recognisers `recogniser`."""
    contents = {
        row.name: {
            key: value
            for key, value in zip(row._fields[1:], row[1:], strict=True)
            if value is not None
        }
        for row in rows
    }
    return {"contributions": contents, **written_terms(_weights(rows))}


def _weights(rows: Sequence[Contribution]) -> FeatureWeights:
    """Return the weights of the rows, a name for each."""
    return FeatureWeights({row.name: (row.weight,) for row in rows})
