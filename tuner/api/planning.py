"""Says how long a tuning will take before it is started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portmert.tuner.annotation.annotators._base import Annotator
from portmert.tuner.api.texts import Notice, PathLike, log_notice
from portmert.tuner.api.tuning import load_config
from portmert.tuner.components import registry
from portmert.tuner.evaluation.reproduction.run import experiments_of
from portmert.tuner.executors.opening import Place, opened
from portmert.tuner.ground.errors import counted
from portmert.tuner.ground.processes import available_processors
from portmert.tuner.runs import plan as plans
from portmert.tuner.runs.config import Experiment
from portmert.tuner.runs.meter import Cost
from portmert.tuner.runs.plan import Needs, Planned, Range

__all__ = ["Needs", "Plan", "Planned", "Range", "plan"]


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
                    "before": list(one.before),
                    "cluster": _cluster(one.elsewhere),
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


def _cluster(elsewhere: plans.Elsewhere | None) -> dict[str, Any] | None:
    if elsewhere is None or elsewhere.task is None:
        return None
    return {"task": elsewhere.task._asdict(), "pace": elsewhere.pace}


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
    executor: str | None = None,
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
        there are processors, or workers of the cluster.
    segments
        How many dev segments the sample has.
    tuned_on
        Metrics, as of `reproduce`: their runs are planned.
    overrides, annotator
        In place of what the file says.
    executor
        Where workers are, in place of what the file says. A cluster that runs is asked how many
        there are and what a task costs; of a queueing system no job is asked for.
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
    fewest = min(workers, default=1)
    if segments < 1 or fewest < 1:
        raise ValueError(
            f"{counted(segments, 'segment')} and {counted(fewest, 'worker')}: expected 1 or more"
        )
    place = Place.parse(executor or next(iter(experiments.values())).executor)
    elsewhere, size = None, available_processors()
    if place.kind:
        elsewhere, size = plans.Elsewhere(), place.jobs
    elif not place.is_local:
        with opened(place, threads=1, notice=log) as team:
            elsewhere, size = plans.measure_tasks(team), team.size
    counts = sorted(set(workers) or {1, size})
    runs = {}
    for name, experiment in experiments.items():

        def note(line: str, name: str = name) -> None:
            log(line if len(experiments) == 1 else f"{name}: {line}")

        runs[name] = plans.plan(
            experiment, counts, segments=segments, note=note, elsewhere=elsewhere
        )
    return Plan(runs)
