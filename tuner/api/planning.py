"""Says how long a tuning will take before it is started."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aligners._errors import counted
from tuner.api.texts import log_notice
from tuner.api.tuning import load_config
from tuner.components import registry
from tuner.evaluation.reproduction.run import experiments_of
from tuner.processors import available_processors
from tuner.runs import plan as plans
from tuner.runs.config import Experiment
from tuner.runs.meter import Cost
from tuner.runs.plan import Needs, Planned, Range

__all__ = ["Needs", "Plan", "Planned", "Range", "plan"]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuner.annotation.annotators._base import Annotator
    from tuner.api.texts import Notice, PathLike

SEGMENTS = 30


@dataclass(frozen=True)
class Plan:
    """Holds what runs will need.

    Parameters
    ----------
    runs
        By name: the metric tuned on, or `run` where there is only the configuration's.
    """

    runs: dict[str, Planned]

    @property
    def needs(self) -> tuple[Needs, ...]:
        """Time of all runs, one after the other, by number of workers."""
        first, *others = [planned.needs for planned in self.runs.values()]
        found = list(first)
        for needs in others:
            found = [
                Needs(one.workers, one.wall.plus(two.wall), one.cpu.plus(two.cpu))
                for one, two in zip(found, needs, strict=True)
            ]
        return tuple(found)

    def as_json(self) -> dict[str, Any]:
        """Return what `portmert plan --json` writes: seconds and bytes, ranges as [low, high]."""
        return {
            "needs": [_needs(one) for one in self.needs],
            "runs": {
                name: {
                    "metric": one.metric,
                    "sample": _sample(one),
                    "searches": list(one.searches),
                    "hypotheses": list(one.hypotheses),
                    "needs": [_needs(needs) for needs in one.needs],
                    "memory": {
                        "command": list(one.command_bytes),
                        "decoder": one.sample.decoder_bytes,
                        "other": one.sample.other_bytes,
                    },
                    "disk": {
                        "folder": list(one.folder_bytes),
                        "while decoding": one.scratch_bytes,
                        "annotation cache": list(one.cache_bytes),
                    },
                }
                for name, one in self.runs.items()
            },
        }


def _needs(needs: Needs) -> dict[str, Any]:
    return {"workers": needs.workers, "wall": list(needs.wall), "cpu": list(needs.cpu)}


def _sample(planned: Planned) -> dict[str, Any]:
    sample = vars(planned.sample)
    return {
        name: value._asdict() if isinstance(value, Cost) else value
        for name, value in sample.items()
    }


def plan(
    config: PathLike | Experiment,
    *,
    workers: Sequence[int] = (),
    segments: int = SEGMENTS,
    tuned_on: Sequence[str] = (),
    overrides: Sequence[str] = (),
    annotator: str | Annotator | None = None,
    log: Notice = log_notice,
) -> Plan:
    """Say how long `tune` or `reproduce` will take, and how much memory and disk it needs.

    A few dev segments are decoded by the decoder, annotated, counted and searched, in a temporary
    folder; what they took is scaled to the whole. All else is arithmetic, see docs/how-to/plan.md.

    Parameters
    ----------
    config
        The file, in TOML; or what `load_config` read, for which `tuned_on`, `overrides` and
        `annotator` mean nothing.
    workers
        How many processes decode and annotate; several for a table. Default: one, and as many as
        there are processors.
    segments
        How many dev segments the sample has.
    tuned_on
        Metrics, as of `reproduce`: their runs are planned.
    overrides, annotator
        In place of what the file says.
    log
        Called with each step of the sample.

    Raises
    ------
    PortmertError
        What the run would raise at these steps.
    """
    experiments: dict[str, Experiment]
    if isinstance(config, Experiment):
        experiments = {"run": config}
    elif tuned_on:
        own = registry.annotator(annotator) if isinstance(annotator, str) else annotator
        experiments = experiments_of(Path(config), tuned_on, overrides=overrides, annotator=own)
    else:
        experiments = {"run": load_config(config, overrides=overrides, annotator=annotator)}
    counts = sorted(set(workers)) or sorted({1, available_processors()})
    if segments < 1 or counts[0] < 1:
        raise ValueError(
            f"{counted(segments, 'segment')} and {counted(counts[0], 'worker')}: expected 1 or "
            f"more"
        )
    runs = {}
    for name, experiment in experiments.items():

        def note(line: str, name: str = name) -> None:
            log(line if len(experiments) == 1 else f"{name}: {line}")

        runs[name] = plans.plan(experiment, counts, segments=segments, note=note)
    return Plan(runs)
