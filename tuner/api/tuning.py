"""Tunes a decoder from a configuration."""

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
    """Read and check a configuration; the parameters are those of `tune`."""
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
    """Tune a decoder: decode, merge, optimize, and repeat until nothing is gained.

    All files are in the output folder that the configuration names. After an interruption the same
    call continues.

    Parameters
    ----------
    config
        The file, in TOML; or the result of `load_config`, which no other parameter changes.
    overrides
        Values that replace those of the file, as `"metric.alpha=0.5"`.
    seed, threads, annotator, annotation_cache, executor
        These replace the values of the file. On a cluster, see `SearchOptions`, workers decode,
        annotate, and search bootstrap samples and restarts beyond `threads`. Other searches run
        here.
    fresh
        Whether to remove the files of an earlier run and start over.
    log
        Called with each line of the run's log.
    progress, annotating
        Called with how much is done and how much there is, in decoding and in annotating.

    Returns
    -------
    Result or Replicas
        `Replicas` if the configuration asks for more than one replica.

    Raises
    ------
    PortmertError
        The configuration, a file or a program is wrong or fails.
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
