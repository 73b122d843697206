"""The results of a meta-evaluation as plain data for JSON."""

from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from . import evaluation
from .combined import Combined
from .measures import Differences
from .tables import Row

_DECIMALS = 10
"""Decimals of numbers in JSON. Further ones depend on the processor."""


def as_json(measured: evaluation.MetaEvaluation) -> dict[str, Any]:
    """Return all results on one test set as the JSON object of `portmert metaeval --json`."""
    judged, settings, metrics = measured.judged, measured.resampling, []
    for metric in measured.agreements:
        rates = [metric.display.of_oriented(score) for score in metric.system_scores]
        metrics.append(
            {
                "label": metric.label,
                "signature": metric.signature,
                "system_scores": metric.system_scores,
                **({"system_rates": rates} if metric.display.is_error_rate else {}),
                "correlations": metric.correlations,
                **{f"{level}_spearman": rhos for level, rhos in metric.spearman.items()},
                "epsilon": metric.epsilon,
            }
        )
    document: dict[str, Any] = {
        **({"name": measured.name} if measured.name else {}),
        "segments": len(judged.human),
        "systems": judged.systems,
        **{f"{level}s": partition.names for level, partition in judged.partitions.items()},
        "human": judged.system_scores,
        "settings": {
            **{key: getattr(settings, key) for key in ("samples", "level", "seed")},
            "resampled": measured.resampled,
        },
        "metrics": metrics,
        "differences": _differences(
            [metric.label for metric in measured.agreements], measured.differences
        ),
    }
    for level in judged.partitions:
        if len(values := measured.spearman(level)):
            better, at_least = evaluation.shares(values)
            document |= {f"{level}s_better": better, f"{level}s_at_least": at_least}
    if judged.judgments is not None:
        document["judgments"] = len(judged.judgments.scores)
    return dict(_plain(document))


def _differences(labels: Sequence[str], differences: Differences) -> list[dict[str, Any]]:
    return [
        {"metric": labels[i], "other": labels[j], "correlations": row}
        for (i, j), row in differences.items()
    ]


def _correlations(labels: Sequence[str], rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the correlations of each metric."""
    return [{"label": label, "correlations": row} for label, row in zip(labels, rows, strict=True)]


def combined_as_json(together: Combined) -> dict[str, Any]:
    """Return all results on several test sets as a JSON object."""
    labels = [metric.label for metric in together.parts[0].agreements]
    shares = {name: evaluation.shares(values) for name, values in together.values.items()}
    document = {
        "sets": [as_json(part) for part in together.parts],
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "sets": column.sets,
                "metrics": _correlations(labels, column.correlations),
                "differences": _differences(labels, column.differences),
            }
            for column in together.columns
        ],
        "scenarios": [
            {
                "name": scenario.name,
                "sets": scenario.sets,
                "metrics": _correlations(labels, scenario.correlations),
                "drops": _correlations(labels, scenario.drops),
            }
            for scenario in together.scenarios
        ],
        "sets_better": {name: better for name, (better, _) in shares.items()},
        "sets_at_least": {name: at_least for name, (_, at_least) in shares.items()},
    }
    return dict(_plain(document))


def _plain(value: Any) -> Any:
    """Return results in JSON's own types, rounded."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif is_dataclass(value):
        value = vars(value)
    if isinstance(value, float):
        return None if np.isnan(value) else round(value, _DECIMALS) + 0.0
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value
