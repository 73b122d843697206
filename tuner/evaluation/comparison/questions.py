"""More questions to one comparison: other pairs, subsets, margins, plans for larger test sets."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ...base.errors import ConfigError, suggest
from ...base.files import TextLike
from ...base.numbers import NonNegative
from ...texts.groups import Groups
from .. import power
from ..significance import Resampling, correct
from .scores import Counted, rows_of_tests

Direction = Literal["higher", "lower"]


@dataclass(frozen=True)
class Questions:
    """What else a comparison answers.

    Parameters
    ----------
    baseline : NAME
        The system that the others are compared with. Default: the first.
    all_pairs
        Compare every system with every other one; p-values are corrected for all pairs.
    subset : FILE#KEY
        The subset of each segment, such as its domain, in a file as for `groups`: a table for each
        subset, corrected together.
    margin
        Test whether the difference from the first is within this margin, by two one-sided tests.
        It is written as scores are printed: 0.3 points of BLEU.
    plan
        A difference that an evaluation is to show, as scores are printed: how many segments, or
        groups, it needs, with these systems as a pilot.
    better
        Whether higher or lower is better, for scores computed elsewhere whose key does not tell.
    answers : KEY
        The key of the final answer beside each score, for votes: `maj@k`.
    """

    baseline: str | None = None
    all_pairs: bool = False
    subset: TextLike | None = None
    margin: NonNegative | None = None
    plan: Sequence[NonNegative] = ()
    better: Direction | None = None
    answers: str = ""


def baseline_first(names: Sequence[str], baseline: str | None) -> list[int]:
    """Return the order of systems in which the baseline is first.

    Raises
    ------
    ConfigError
        There is no system of this name.
    """
    if baseline is None:
        return list(range(len(names)))
    if baseline not in names:
        raise ConfigError(f"--baseline {baseline}: no such system{suggest(baseline, names)}")
    first = list(names).index(baseline)
    return [first, *(k for k in range(len(names)) if k != first)]


def answered(
    questions: Questions,
    document: Mapping[str, Any],
    counts: Sequence[Counted],
    resampling: Resampling,
    groups: Groups | None,
    subsets: Groups | None,
) -> dict[str, Any]:
    """Return the parts of the document of a comparison that answer the questions.

    `pairs` and `subsets` are rows as those of `scores`, `margins` and `plan` have a row for each
    of these.
    """
    names = [system["name"] for system in document["systems"]]
    parts: dict[str, Any] = {}
    if questions.all_pairs:
        parts["pairs"] = pair_scores(names, counts, resampling, groups)
    if subsets is not None:
        parts["subsets"] = subset_scores(names, counts, resampling, subsets, groups)
    metrics = {x.label: x.metric for x in counts}
    # Margins and plans are in the units in which scores are printed.
    units_of_score = {x: 100 if metric.in_percent else 1 for x, metric in metrics.items()}
    rows = [row for row in document["scores"] if row["difference"] is not None]
    if questions.margin is not None:
        parts["margin"] = questions.margin
        parts["margins"] = [
            {
                "metric": row["metric"],
                "system": row["system"],
                **power.margin_tests(
                    float(metrics[row["metric"]].oriented(row["difference"])),
                    row,
                    questions.margin / units_of_score[row["metric"]],
                ),
            }
            for row in rows
        ]
    units = counts[0].stats[0].shape[1] if groups is None else len(groups)
    parts["plan"] = [
        {
            "metric": row["metric"],
            "system": row["system"],
            "difference": difference,
            "needed": power.units_needed(
                difference / units_of_score[row["metric"]],
                row,
                units,
                resampling.level,
            ),
        }
        for row in rows
        for difference in questions.plan
    ]
    return {name: part for name, part in parts.items() if part not in ([], None)}


def pair_scores(
    names: Sequence[str],
    counts: Sequence[Counted],
    resampling: Resampling,
    groups: Groups | None = None,
) -> list[dict[str, Any]]:
    """Return the tests of all pairs of systems, corrected together: `p_holm`.

    Each row says with which `first` system the `system` is compared.
    """
    pairs = list(itertools.combinations(range(len(names)), 2))
    rows = rows_of_tests(names, counts, resampling, groups, pairs)
    return correct(rows, resampling=resampling)


def subset_scores(
    names: Sequence[str],
    counts: Sequence[Counted],
    resampling: Resampling,
    subsets: Groups,
    groups: Groups | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of `score_systems` on each subset of the segments, corrected together.

    Each row says of which `subset` it is, and of how many `segments`.
    """
    rows = []
    for number, subset in enumerate(subsets.names):
        places = np.flatnonzero(subsets.of_segment == number)
        part = [replace(x, stats=[stats[:, places] for stats in x.stats]) for x in counts]
        inside = None if groups is None else groups.of_segments(places)
        tested = rows_of_tests(names, part, resampling, inside)
        rows += [{"subset": subset, "segments": len(places), **row} for row in tested]
    return correct(rows, resampling=resampling)
