"""Tune a decoder as a configuration says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from portmert.tuner.annotation.annotators._base import Annotator
from portmert.tuner.api.texts import Notice, PathLike, Progress, log_notice
from portmert.tuner.components import registry
from portmert.tuner.executors.opening import opened
from portmert.tuner.runs import config as configs
from portmert.tuner.runs.config import Experiment
from portmert.tuner.runs.replicas import Replicas, run
from portmert.tuner.runs.result import Result

__all__ = ["Replicas", "Result", "load_config", "tune"]


def load_config(
    path: PathLike,
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    threads: int | None = None,
    annotator: str | Annotator | None = None,
    annotation_cache: PathLike | None = None,
    executor: str | None = None,
) -> Experiment:
    """Read and check a configuration; parameters are those of `tune`."""
    return configs.load_config(
        Path(path),
        overrides=tuple(overrides),
        seed=seed,
        threads=threads,
        annotator=registry.annotator(annotator) if isinstance(annotator, str) else annotator,
        annotation_cache=None if annotation_cache is None else Path(annotation_cache),
        executor=executor,
    )


def tune(
    config: PathLike | Experiment,
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    threads: int | None = None,
    fresh: bool = False,
    annotator: str | Annotator | None = None,
    annotation_cache: PathLike | None = None,
    executor: str | None = None,
    log: Notice = log_notice,
    progress: Progress | None = None,
    annotating: Progress | None = None,
) -> Result | Replicas:
    """Tune as a configuration says: decode, merge, optimize, and again, until nothing is gained.

    Called again, it goes on where it was interrupted. All files are in the output folder that the
    configuration names.

    Parameters
    ----------
    config
        The file, in TOML; or the result of `load_config`, which the options that replace values do
        not change.
    overrides
        Values in place of the file's, as `"metric.alpha=0.5"`.
    seed, threads, annotator, annotation_cache, executor
        In place of the file's. On a cluster, see `crossval`, workers decode, annotate, and search
        bootstrap samples and restarts beyond `threads`; other searches stay here.
    fresh
        Remove the files of an earlier run and start over.
    log
        Called with each line of the run's log.
    progress, annotating
        Called with the amount done and the whole, while decoding and while annotating.

    Returns
    -------
    Result or Replicas
        The second if the configuration asks for more than one replica.

    Raises
    ------
    PortmertError
        The configuration, a file or a program is faulty.
    """
    experiment = config
    if not isinstance(experiment, Experiment):
        experiment = load_config(
            experiment,
            overrides=overrides,
            seed=seed,
            threads=threads,
            annotator=annotator,
            annotation_cache=annotation_cache,
            executor=executor,
        )
    with opened(experiment.executor, threads=1, notice=log) as team:
        return run(
            experiment,
            log=log,
            progress=progress or (lambda _done, _total: None),
            annotated=annotating,
            fresh=fresh,
            team=team,
        )
