"""The schemas of JSON results, made from the classes that hold them.

`compare`, `crossval` and the comparison in `rerank-tune` have one form: systems, metrics, and a
row of scores and tests for each system and metric. What only pages show is free.
"""

from __future__ import annotations

from typing import Any, get_type_hints

from pydantic import ConfigDict, create_model

from portmert.tuner.evaluation.significance import PairTest, Spread

_EXACT, _OPEN = ConfigDict(extra="forbid"), ConfigDict(extra="allow")


def _model(name: str, config: ConfigDict, /, **columns: Any) -> Any:
    """Return a class with these columns; what has a default, as a pair, may be missing."""
    needed: dict[str, Any] = {
        key: kind if isinstance(kind, tuple) else (kind, ...) for key, kind in columns.items()
    }
    return create_model(name, __config__=config, **needed)


_NAMES, _P, _ROW_OF = list[str], float | None, {"metric": str, "system": str}
_TEST: dict[str, Any] = {
    **_ROW_OF,
    **get_type_hints(Spread),
    "rate": (float | None, None),
    **{name: hint | None for name, hint in get_type_hints(PairTest).items()},
    "smallest": float | None,
    "needed": int | None,
    "p_holm": _P,
}
ScoreRow = _model(
    "ScoreRow", _EXACT, **_TEST, family=str | None, p_randomization_holm=_P, p_bootstrap_holm=_P
)
PairRow = _model("PairRow", _EXACT, **_TEST, first=str)
SubsetRow = _model("SubsetRow", _EXACT, **_TEST, subset=str, segments=int)
MarginRow = _model("MarginRow", _EXACT, **_ROW_OF, p_no_worse=_P, p_equivalent=_P)
PlanRow = _model("PlanRow", _EXACT, **_ROW_OF, difference=float, needed=int | None)
SystemRow = _model(
    "SystemRow", _EXACT, name=str, kind=str, replicas=int, tuned_on=str | None,
    hypothesis_tokens=(float, 0.0), reference_tokens=(float, 0.0),
)  # fmt: skip
MetricRow = _model(
    "MetricRow", _EXACT, label=str, name=str, signature=str, source=str, higher_is_better=bool,
    in_percent=bool, is_error_rate=bool,
)  # fmt: skip
GroupsDrawn = _model("GroupsDrawn", _EXACT, of=str, count=int, smallest=int, largest=int)
Comparison = _model(
    "Comparison", _OPEN, kind=str, portmert=str, headlines=_NAMES, notes=_NAMES,
    tuning_luck_untested=_NAMES, samples=int, seed=int, confidence=float,
    systems=list[SystemRow], metrics=list[MetricRow], groups=GroupsDrawn | None,
    scores=list[ScoreRow], pairs=(list[PairRow], []), subsets=(list[SubsetRow], []),
    margin=(float, 0.0), margins=(list[MarginRow], []), plan=(list[PlanRow], []),
    answers=(_NAMES, []), warnings=(_NAMES, []), left_out=(int, 0),
)  # fmt: skip
RerankTuned = _model("RerankTuned", _OPEN, metric=str, comparison=Comparison | None)
TextScore = _model(
    "TextScore", _EXACT, metric=str, signature=str, higher_is_better=bool, score=float,
    rate=(float, 0.0), low=(float | None, None), high=(float | None, None), parts=dict[str, float],
    confusions=(list[list[str | int]], []),
)  # fmt: skip
SegmentScore = _model("SegmentScore", _EXACT, metric=str, score=float | None, rate=(_P, None))
SegmentScores = _model("SegmentScores", _EXACT, segment=int, scores=list[SegmentScore])
Scores = _model(
    "Scores", _EXACT, segments=int, scores=list[TextScore],
    segment_scores=(list[SegmentScores], []), warnings=(_NAMES, []), left_out=(int, 0),
)  # fmt: skip

RESULTS = {
    "compare": Comparison, "crossval": Comparison, "rerank-tune": RerankTuned, "score": Scores
}  # fmt: skip
"""The class of each command's JSON."""


def schema(command: str) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of what a command writes with `--json`."""
    content: dict[str, Any] = RESULTS[command].model_json_schema()
    return content
