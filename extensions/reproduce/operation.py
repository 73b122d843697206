"""Tuning on several metrics, and the tables of the PORT paper."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from portmert.tuner.api.texts import preparing
from portmert.tuner.base import arguments, files
from portmert.tuner.base.context import Progress, using
from portmert.tuner.components import registry
from portmert.tuner.executors.opening import opened

from .run import SCORED_WITH, TUNED_ON, experiments_of
from .run import reproduce as fill


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
    test_sets: Sequence[str] = (),
    published: Path | None = None,
    out: Path | None = None,
    overrides: Sequence[str] = (),
    annotator: str | None = None,
    annotation_cache: Path | None = None,
    threads: int | None = None,
    executor: str | None = None,
    progress: Progress | None = None,
) -> Reproduced:
    """Tune a configuration on each of several metrics, and fill the PORT paper's tables.

    Parameters
    ----------
    tuned_on : NAME[=FORMULA]
        Metric to tune on, as port:alpha=0.5, or a name for a formula, as mean=0.5*bleu + 0.5*port.
        Default: bleu, port, qmean, port-rho, port-tau.
    scored_with : NAME[:OPTION=VALUE,...]
        Metric that scores results. Default: bleu, nist, ter, METEOR 1.0 with stems, port, qmean.
    links : NAME=FILE[,FILE...]
        Another word alignment of the dev set, for example made by hand: one file for each
        reference. PORT is tuned on it too (table 7).
    test_sets : NAME=SEGMENTS
        Name and number of segments of a test set, if the test set of the configuration is several
        in one file. Tables then show each, and the means over them.
    published
        File of the paper's own results. Default: published.toml beside the configuration.
    out
        File for the tables. Default: paper.md in the output folder of the configuration.
    executor
        Where decoders run, see `Search`. Files and programs must have the same paths on all
        machines. Default: that of the configuration.

    Other parameters are those of `tune`.

    Examples
    --------
    >>> import pathlib, tempfile, portmert
    >>> folder, config = pathlib.Path(tempfile.mkdtemp()), pathlib.Path("configs/recorded.toml")
    >>> test = ["data.test_source=recorded/dev.src", "data.test_references=['recorded/dev.tgt']"]
    >>> short = ["tune.iterations=1", f"tune.output={folder}", "optimizer.name=coordinate"]
    >>> one = {"tuned_on": ["bleu", "ter"], "scored_with": ["bleu"], "overrides": [*test, *short]}
    >>> made = portmert.reproduce(config, **one)
    >>> print(made.headlines[0])
    bleu: no difference shown between TER-tuned and BLEU-tuned (...)
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
        using(annotation_cache=annotation_cache, progress=progress),
        opened(place),
        preparing(annotator) as prepare,
    ):
        headlines, filled = fill(
            config, experiments, scored_with or SCORED_WITH,
            published=published, test_sets=test_sets, prepare=prepare,
        )  # fmt: skip
    return Reproduced(tuple(headlines), filled, out)
