"""Tunes on half of the segments and judges on the others, for every choice there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from numpy.typing import ArrayLike

from portmert.metrics._base import Metric
from portmert.tuner.annotation.annotators._base import Annotator
from portmert.tuner.api.arrays import lists_of_arrays
from portmert.tuner.api.components import as_metric
from portmert.tuner.api.lists import Lists, ListsLike, read_lists
from portmert.tuner.api.searching import ConstraintsLike, WeightsLike, as_constraints, as_weights
from portmert.tuner.api.texts import (
    Notice,
    PathLike,
    Progress,
    TextLike,
    log_notice,
    once,
    pipeline_of,
    preparing,
)
from portmert.tuner.components import registry
from portmert.tuner.evaluation.crossval.cells import CrossPlan, Judge, choices_of, digest, measure
from portmert.tuner.evaluation.crossval.report import document_of, headlines, tables_of
from portmert.tuner.evaluation.page.html import render
from portmert.tuner.executors.opening import opened
from portmert.tuner.ground.documents import to_json
from portmert.tuner.ground.files import write_text
from portmert.tuner.ground.processes import available_processors
from portmert.tuner.ground.tables import as_text
from portmert.tuner.nbest.readers._base import Reader
from portmert.tuner.search import DEFAULT_OPTIMIZER
from portmert.tuner.search.optimizers._base import Optimizer
from portmert.tuner.search.problem import StatTable
from portmert.tuner.texts.prepare import Preparation
from portmert.tuner.texts.prepare import signature as signature_of
from portmert.tuner.texts.text_pipeline import TextPipeline

OptimizerLike = str | Optimizer


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Holds what cross-validation found; `str()` of it is what `portmert crossval` prints.

    Parameters
    ----------
    headlines
        What is best on unseen segments, a sentence for each metric.
    document
        Everything as plain data.
    """

    headlines: tuple[str, ...]
    document: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return "\n".join([*self.headlines, "", as_text(tables_of(self.document))])

    def as_json(self) -> dict[str, Any]:
        """Return what `portmert crossval --json` prints."""
        return self.document

    def as_html(self) -> str:
        """Return a page that needs no network."""
        shared = {key: self.document[key] for key in ("portmert", "metrics", "headlines")}
        return render({"kind": "crossval", "crossval": self.document, **shared})


def crossval(
    lists: ListsLike | ArrayLike,
    refs: Sequence[TextLike] | PathLike = (),
    *,
    metric: str | Metric | Sequence[str | Metric] = (),
    scores: ArrayLike | None = None,
    stats: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    optimizer: OptimizerLike | Sequence[OptimizerLike] = DEFAULT_OPTIMIZER,
    without: Sequence[str | Sequence[str]] = (),
    prior: float | Sequence[float] = 0.0,
    source: TextLike | None = None,
    ref_links: Sequence[TextLike] | PathLike = (),
    ids: bool = False,
    nbest_format: str | Reader = "auto",
    extra_features: Sequence[str] = (),
    text: str | Sequence[str] | TextPipeline = "",
    text_model: PathLike | None = None,
    annotator: str | Annotator | None = None,
    annotation_cache: PathLike | None = None,
    weights: WeightsLike | None = None,
    constraints: ConstraintsLike | None = None,
    splits: int = 10,
    seeds: int = 1,
    size: int | None = None,
    seed: int = 1,
    threads: int = 0,
    executor: str = "local",
    out_dir: PathLike | None = None,
    timing: bool = True,
    notice: Notice = log_notice,
    progress: Progress | None = None,
    annotating: Progress | None = None,
) -> CrossValidation:
    r"""Tune on half of the segments and judge on the others, for every choice given.

    The segments are halved at random, `splits` times. On one half weights are tuned, once for each
    metric, optimizer, prior and set of features left out; on the other they are judged by every
    metric. Differences from the first choice are paired over the splits.

    Parameters
    ----------
    lists, refs, source, ref_links, ids, nbest_format, extra_features, text, text_model, annotator,
    annotation_cache
        As of `optimize`.
    metric
        One or more; each is tuned on, and all judge.
    scores, stats, offsets, feature_names
        With arrays of features, as of `optimize`: what each hypothesis scores, or its statistics
        and the one metric that they are of.
    optimizer
        One or more, as `"mert:searches_per_feature=400"`, or itself.
    without
        Features to leave out: each item is tried for itself, several names of one item together,
        as `"LM0"` or `("LM0", "WP0")`. Beside them all features are tried.
    prior
        One or more strengths of a pull towards the start weights.
    weights
        Start weights, which also stand for no tuning at all. Default: all equal. A length penalty
        that goes with them stays.
    constraints
        As of `optimize`, for every choice.
    splits, seeds
        How often the segments are halved, and searches on each half.
    size
        Learn from so many segments of the half only. Default: from all.
    seed
        Equal seeds give equal splits and weights, whatever the number of threads.
    threads
        Searches at once on this machine; 0: one for each processor.
    executor
        Where searches run: `local`, or a cluster as `dask:tcp://HOST:8786`, `dask:FILE.json`,
        `dask-slurm:JOBS`, or a TOML file with a table [executor]. No place changes a result.
    out_dir
        A folder that keeps what each search found: called again, after a kill too or with more
        choices, splits or seeds, only what is missing is searched.
    timing
        Whether times are measured, the only numbers that differ from call to call.
    notice
        Called with one line for what is worth knowing. Default: the log `portmert`.
    progress, annotating
        Called with how many searches are done, and how many sentences are annotated, and of how
        many.

    Raises
    ------
    PortmertError
        Lists, references and metrics do not fit, or an option is wrong.
    ValueError
        There is no metric or optimizer, or numbers of splits, seeds or size are below 1.

    Examples
    --------
    >>> import portmert, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "lists.moses")
    >>> _ = path.write_text("".join(
    ...     f"{n} ||| a b c {word} ||| LM= {lm} TM= {tm} ||| 0\n"
    ...     for n in range(8) for word, lm, tm in (("x", -1, -2), ("d", -2, -1))
    ... ))
    >>> found = portmert.crossval(path, [["a b c d"] * 8], metric="bleu", splits=2, timing=False)
    >>> for choice in found.document["choices"]:
    ...     print(choice["name"], round(choice["judged"]["bleu"]["unseen"], 4))
    bagged 1.0
    untuned 0.0
    """
    notice = once(notice)
    metrics = {_label(one): as_metric(one) for one in _several(metric)}
    optimizers = {
        _label(one): registry.optimizer(one) if isinstance(one, str) else one
        for one in _several(optimizer)
    }
    of_arrays = None
    if scores is not None or stats is not None:
        if len(metrics) > 1:
            raise ValueError("arrays are of one metric")
        of_arrays = lists_of_arrays(
            lists, scores, stats, offsets, feature_names, next(iter(metrics.values()), None)
        )
        metrics = metrics or {of_arrays[2].name(): of_arrays[2]}
    if not metrics or not optimizers or min(splits, seeds, 1 if size is None else size) < 1:
        raise ValueError("give a metric and an optimizer; splits, seeds and size are above 0")
    choices = choices_of(
        list(metrics),
        optimizers,
        [(one,) if isinstance(one, str) else tuple(one) for one in without],
        [prior] if isinstance(prior, int | float) else list(prior),
    )
    start, alpha, origin = as_weights(weights)
    if alpha:
        notice(f"length penalty {alpha:g}, as in {origin}")
    threads = threads or available_processors()
    with (
        opened(executor, threads=threads, notice=notice) as team,
        preparing(
            annotator, annotation_cache, notice=notice, progress=annotating, team=team
        ) as prepare,
    ):
        if of_arrays is not None:
            if alpha:
                raise ValueError("a length penalty needs lists: arrays do not know the lengths")
            nbest, table, chosen = of_arrays
            signature = signature_of(chosen, "arrays")
            judge = Judge(chosen, StatTable(table), signature, digest(table))
            judges = dict.fromkeys(metrics, judge)
        else:
            ready = prepare(list(metrics.values()), pipeline_of(text, text_model), None)
            read = read_lists(
                cast("ListsLike", lists),
                refs,
                ready=ready,
                metrics=list(metrics.values()),
                source=source,
                ref_links=ref_links,
                ids=ids,
                nbest_format=nbest_format,
                extra_features=extra_features,
                notice=notice,
            )
            nbest = read.penalised(alpha)
            judges = {
                label: _judged(read, ready, one, threads, notice) for label, one in metrics.items()
            }
        plan = CrossPlan(
            nbest,
            judges,
            start=start,
            constraints=as_constraints(constraints),
            splits=splits,
            seeds=seeds,
            size=size,
            seed=seed,
            timing=timing,
        )
        measured = measure(
            plan,
            choices,
            team=team,
            folder=None if out_dir is None else Path(out_dir),
            notice=notice,
            progress=progress,
        )
    document = document_of(plan, measured)
    document["headlines"] = headlines(document)
    if out_dir is not None:
        text_of = to_json(document, ensure_ascii=False) + "\n"
        write_text(Path(out_dir, "result.json"), text_of)
    return CrossValidation(tuple(document["headlines"]), document)


def _several(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _label(given: object) -> str:
    """Return what a component is called in tables: as it was written."""
    if isinstance(given, Metric):
        return given.signature
    return given if isinstance(given, str) else repr(given)


def _judged(
    read: Lists, ready: Preparation, metric: Metric, threads: int, notice: Notice
) -> Judge:
    table = read.statistics(metric, threads=threads, notice=notice)
    signature = ready.signature(metric, read.references.offsets)
    if not table.is_lazy:
        return Judge(metric, table, signature, digest(table.rows))
    texts = (read.scored.texts.tokens, read.references.texts.tokens)  # what it will follow from
    parts = (part for tokens in texts for part in (tokens.values, tokens.offsets))
    words = "\n".join(read.scored.texts.vocabulary.words)
    return Judge(metric, table, signature, digest(words, *parts))
