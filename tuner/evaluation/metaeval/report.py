"""Shows what a meta-evaluation found, as tables and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from tuner.evaluation.metaeval.evaluation import MEASURES, PEARSONS
from tuner.tables import Table

if TYPE_CHECKING:
    from metrics._base import FloatArray
    from tuner.evaluation.metaeval.evaluation import Estimate, MetaEvaluation

_DECIMALS = 10
"""Of numbers in JSON: what lies behind depends on how a processor adds."""
_NAMES = {
    "system.spearman": "Spearman",
    "system.pearson": "Pearson",
    "segment.wmt10": "tau WMT10",
    "segment.wmt13": "tau WMT13",
    "segment.wmt14": "tau WMT14",
    "segment.consistency": "consistency",
    "pearson": "Pearson",
    "pearson_weighted": "weighted",
    "pearson_mean_removed": "mean removed",
    "pearson_mean_removed_weighted": "both",
}


def tables(found: MetaEvaluation) -> list[Table]:
    """Return all tables, that of the PORT paper first."""
    level = f"{100 * found.settings.level:g} %"
    listed = [
        _short(found),
        _systems(found),
        _level(found, f"Systems, with {level} intervals", MEASURES[:2]),
        _level(
            found,
            f"Segments, Kendall, with {level} intervals",
            [name for name in MEASURES if name in _NAMES and name.startswith("segment")],
        ),
    ]
    levels = ("segment", "document") if found.judged.documents is not None else ("segment",)
    listed += [
        _level(
            found,
            f"{level_name.capitalize()}s, Pearson: plain, weighted by length, the mean of each "
            f"{level_name} removed, both; with {level} intervals",
            [f"{level_name}.{name}" for name in PEARSONS],
        )
        for level_name in levels
    ]
    if found.better is not None and found.at_least is not None:
        listed.append(_documents(found, found.better, found.at_least))
    if found.differences:
        listed.append(_differences(found))
    return listed


def _short(found: MetaEvaluation) -> Table:
    return Table(
        "Correlations with human judgment: Spearman of systems, Kendall (WMT10) of segments",
        ["metric", "sys.", "seg."],
        [
            [one.label]
            + [_shown(one.correlations[name].value) for name in (MEASURES[0], "segment.wmt10")]
            for one in found.agreements
        ],
    )


def _systems(found: MetaEvaluation) -> Table:
    order = np.argsort(-found.judged.system_scores, kind="stable").tolist()
    human = found.judged.system_scores
    return Table(
        "Scores of systems, higher is better (error metrics negated)",
        ["system", "human", *(one.label for one in found.agreements)],
        [
            [
                found.judged.systems[m],
                _shown(float(human[m])),
                *(_shown(one.system_scores[m]) for one in found.agreements),
            ]
            for m in order
        ],
    )


def _level(found: MetaEvaluation, title: str, names: list[str] | tuple[str, ...]) -> Table:
    return Table(
        title,
        ["metric", *(_NAMES.get(name) or _NAMES[name.partition(".")[2]] for name in names)],
        [
            [one.label, *(_with_interval(one.correlations[name]) for name in names)]
            for one in found.agreements
        ],
    )


def _documents(found: MetaEvaluation, better: FloatArray, at_least: FloatArray) -> Table:
    others = ~np.eye(len(better), dtype=np.bool_)
    return Table(
        "Share of documents on which the systems' Spearman correlation is better (>) or not worse "
        "(>=) than that of the other metrics, and than that of each (Popovic & Ney 2009, Tables 2 "
        "and 4)",
        ["metric", "mean", "rank>", "rank>=", *(f"> {one.label}" for one in found.agreements)],
        [
            [
                one.label,
                _shown(float(np.mean(one.documents))),
                *(
                    _percent(table[number][others[number]].mean()) if len(better) > 1 else "-"
                    for table in (better, at_least)
                ),
                *(
                    "" if other == number else _percent(better[number, other])
                    for other in range(len(better))
                ),
            ]
            for number, one in enumerate(found.agreements)
        ],
    )


def _differences(found: MetaEvaluation) -> Table:
    return Table(
        "Is one metric's correlation better than another's? Two-sided p, not corrected for the "
        "number of comparisons; PERM-BOTH takes means of segment scores as scores of systems",
        ["metric", "other", "level", "correlation", "difference", "p PERM-BOTH", "p Williams"],
        [
            [
                found.agreements[i].label,
                found.agreements[j].label,
                name.partition(".")[0],
                _NAMES.get(name) or _NAMES[name.partition(".")[2]],
                _shown(one.value),
                _p(one.p_perm_both),
                _p(one.p_williams),
            ]
            for (i, j), row in found.differences.items()
            for name, one in row.items()
        ],
        left=4,
    )


def as_json(found: MetaEvaluation) -> dict[str, Any]:
    """Return all that was found as the JSON object of `portmert metaeval --json`."""
    judged, settings = found.judged, found.settings
    document: dict[str, Any] = {
        "segments": len(judged.human),
        "systems": list(judged.systems),
        "documents": list(judged.document_names),
        "human": judged.system_scores.tolist(),
        "settings": asdict(settings),
        "metrics": [
            {
                "label": one.label,
                "signature": one.signature,
                "system_scores": list(one.system_scores),
                "correlations": {name: asdict(value) for name, value in one.correlations.items()},
                "document_spearman": list(one.documents),
            }
            for one in found.agreements
        ],
        "differences": [
            {
                "metric": found.agreements[i].label,
                "other": found.agreements[j].label,
                "correlations": {name: asdict(one) for name, one in row.items()},
            }
            for (i, j), row in found.differences.items()
        ],
    }
    if found.better is not None and found.at_least is not None:
        document["documents_better"] = found.better.tolist()
        document["documents_at_least"] = found.at_least.tolist()
    rounded: dict[str, Any] = _rounded(document)
    return rounded


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DECIMALS) + 0.0
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value


def _shown(value: float | None) -> str:
    # Adding 0 makes -0 a 0.
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"


def _with_interval(one: Estimate) -> str:
    if one.low is None or one.high is None:
        return _shown(one.value)
    return f"{_shown(one.value)} ({_shown(one.low)} to {_shown(one.high)})"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"
