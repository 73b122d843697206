"""Compares systems by statistics that are in hand, without texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import portmert

from ...base.json_toml import plain
from ...texts.groups import Groups
from ..significance import Resampling
from .scores import Counted, described, score_systems
from .sentences import headlines
from .systems import described_groups


def compared_by_scores(
    counted: Sequence[Counted],
    systems: Mapping[str, int],
    tuned_on: str | None = None,
    *,
    resampling: Resampling | None = None,
    groups: Groups | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Compare systems by statistics in hand, without texts: a document as `compare` makes it.

    Parameters
    ----------
    counted
        The statistics of all outputs, those of the first system first.
    systems
        Name -> number of outputs.
    tuned_on
        The signature of the metric that the first system was tuned on; None if none was.
    """
    resampling = resampling or Resampling()
    once = [name for name in [*systems][:1] if systems[name] == 1 and tuned_on is not None]
    content = {
        "kind": "comparison",
        "portmert": portmert.__version__,
        "headlines": (),
        "tuning_luck_untested": once,
        "notes": list(notes),
        "tested": counted[0].stats[0].shape[1],
        "samples": resampling.samples,
        "seed": resampling.seed,
        "confidence": resampling.level,
        "systems": [
            {
                "name": name,
                "kind": "run" if tuned_on is not None and not number else "files",
                "replicas": outputs,
                "tuned_on": None if number else tuned_on,
            }
            for number, (name, outputs) in enumerate(systems.items())
        ],
        "metrics": [described(x, x.metric.signature) for x in counted],
        "groups": described_groups(groups),
        "scores": score_systems(list(systems), counted, resampling, groups),
    }
    document: dict[str, Any] = plain(content)
    return {**document, "headlines": list(headlines(document))}
