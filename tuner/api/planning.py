"""Estimates how long a tuning will take, before it is started."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portmert.tuner.annotation.annotators._base import Annotator
from portmert.tuner.api.texts import Notice, PathLike, log_notice
from portmert.tuner.evaluation.reproduction.run import experiments_of
from portmert.tuner.executors.opening import opened
from portmert.tuner.ground import arguments, processes
from portmert.tuner.ground.errors import counted
from portmert.tuner.runs.config import Experiment, load_config
from portmert.tuner.runs.plan import Needs, Planned, Range, planned, take_sample

SEGMENTS = 30


@dataclass(frozen=True)
class Plan:
    """The time, memory and disk that runs will need.

    Parameters
    ----------
    runs
        Name -> plan of a run. The name is that of the metric, or `run` for the configuration's
        own.
    """

    runs: dict[str, Planned]

    @property
    def needs(self) -> tuple[Needs, ...]:
        """The time of all runs, one after the other, for each number of workers."""

        def summed(several: Sequence[Range]) -> Range:
            return Range(*(sum(ends) for ends in zip(*several, strict=True)))

        return tuple(
            Needs(
                each[0].workers,
                summed([needs.wall for needs in each]),
                summed([needs.cpu for needs in each]),
            )
            for each in zip(*(one.needs for one in self.runs.values()), strict=True)
        )

    def as_json(self) -> dict[str, Any]:
        """Return what `portmert plan --json` writes: seconds and bytes, ranges as [low, high]."""
        runs = {}
        for name, one in self.runs.items():
            sample = dataclasses.asdict(one.sample)
            sample["costs"] = {key: cost.tolist() for key, cost in one.sample.costs.items()}
            runs[name] = {
                "metric": one.metric,
                "sample": sample,
                "searches": list(one.searches),
                "hypotheses": list(one.hypotheses),
                "needs": [dataclasses.asdict(needs) for needs in one.needs],
                "memory": list(one.command_bytes),
                "disk": list(one.folder_bytes),
            }
        return {"needs": [dataclasses.asdict(needs) for needs in self.needs], "runs": runs}


@arguments.checked
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
    """Estimate the time, memory and disk that `tune` or `reproduce` will take.

    A few dev segments are decoded, annotated, scored and searched in a temporary folder. The time,
    memory and disk measured are scaled to the whole run, see docs/how-to/plan.md.

    Parameters
    ----------
    config
        The file, in TOML; or the result of `load_config`, for which `tuned_on`, `overrides`,
        `annotator` and `executor` have no effect.
    workers
        Numbers of processes that decode and annotate, a row of the table for each. Default: 1, and
        as many as there are processors or workers of the cluster.
    segments
        Number of dev segments in the sample.
    tuned_on
        Metrics, as in `reproduce`. Plan the runs on them instead of `tune`.
    overrides, annotator
        Values that replace those of the file.
    executor
        Where the run will be, in place of the file's. A running cluster is asked for its number of
        workers; no job is started in a queueing system. The sample is measured on this machine.
    log
        Called with each step of the sample.

    Raises
    ------
    PortmertError
        The error that the run itself would raise at these steps.
    """
    experiments: dict[str, Experiment]
    if isinstance(config, Experiment):
        experiments = {"run": config}
    elif tuned_on:
        experiments = experiments_of(
            Path(config), tuned_on, overrides=overrides, annotator=annotator, executor=executor
        )
    else:
        experiments = {
            "run": load_config(config, overrides=overrides, annotator=annotator, executor=executor)
        }
    fewest = min(workers, default=1)
    if segments < 1 or fewest < 1:
        raise ValueError(
            f"{counted(segments, 'segment')} and {counted(fewest, 'worker')}: expected 1 or more"
        )
    place = next(iter(experiments.values())).executor
    size = place.jobs if place.kind else processes.available_processors()
    if place.address:
        with opened(place, threads=1, notice=log) as team:
            size = team.size
    counts = sorted(set(workers) or {1, size})
    runs = {}
    for name, experiment in experiments.items():

        def note(line: str, name: str = name) -> None:
            log(line if len(experiments) == 1 else f"{name}: {line}")

        runs[name] = planned(experiment, take_sample(experiment, segments, note), counts)
    return Plan(runs)
