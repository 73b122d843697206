"""Tuning on several metrics, and the tables of the PORT paper."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..base import arguments, files
from ..components import registry
from ..evaluation.reproduction.run import SCORED_WITH, TUNED_ON, experiments_of
from ..evaluation.reproduction.run import reproduce as fill
from ..executors.opening import opened
from .texts import Notice, Progress, log_notice, preparing


@dataclass(frozen=True, eq=False)
class Reproduced:
    """The filled tables of a paper.

    Parameters
    ----------
    headlines
        The findings, one sentence each.
    document
        The tables, in Markdown.
    out
        The file for the document.
    """

    headlines: tuple[str, ...]
    document: str = field(repr=False)
    out: Path


@arguments.checked
def reproduce(
    config: Path,
    *,
    tuned_on: Sequence[str] = (),
    scored_with: Sequence[str] = (),
    links: Sequence[str] = (),
    published: Path | None = None,
    out: Path | None = None,
    overrides: Sequence[str] = (),
    annotator: str | None = None,
    annotation_cache: Path | None = None,
    threads: int | None = None,
    executor: str | None = None,
    log: Notice = log_notice,
    notice: Notice = log_notice,
    progress: Progress | None = None,
    annotating: Progress | None = None,
) -> Reproduced:
    """Tune a configuration on each of several metrics, and fill the PORT paper's tables.

    Parameters
    ----------
    tuned_on, scored_with
        The metrics to tune on, names or `NAME=FORMULA`, and those that score the results. Default:
        the paper's.
    links
        Other word alignments of the dev set, each `NAME=FILE[,FILE...]`. PORT is tuned on with
        these too, for the paper's table 7.
    published
        The paper's own results. Default: published.toml beside the configuration.
    out
        The file for the tables. Default: paper.md in the output folder.
    executor
        Where tuning runs, see `SearchOptions`: a task for each replica of each metric. The files,
        programs and output folder must have the same paths on all machines. Default: that of the
        configuration.

    Other parameters are those of `tune`.
    """
    registry.labelled(scored_with)  # a wrong name ends here, not after hours of tuning
    if published is None and (config.parent / "published.toml").is_file():
        published = config.parent / "published.toml"
    experiments_at = partial(
        experiments_of,
        tuned_on=tuned_on or TUNED_ON,
        links=links,
        overrides=overrides,
        threads=threads,
        annotator=annotator,
        annotation_cache=annotation_cache,
        executor=executor,
    )
    experiments = experiments_at(config)
    place = next(iter(experiments.values())).executor
    if not place.is_local:
        experiments = experiments_at(config.absolute())  # so are all paths in it
    if out is None:
        output = next(iter(experiments.values())).tune.output.parent
        files.make_folder(output)
        out = output / "paper.md"
    files.check_writable(out)
    with (
        opened(place, threads=1, notice=notice) as team,
        preparing(
            annotator, annotation_cache, notice=notice, progress=annotating, team=team
        ) as prepare,
    ):
        headlines, filled = fill(
            config,
            experiments,
            scored_with or SCORED_WITH,
            published=published,
            log=log,
            progress=progress or (lambda _done, _total: None),
            prepare=prepare,
            team=team,
        )
    return Reproduced(tuple(headlines), filled, out)
