"""`portmert optimize`: one optimization over given lists."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.commands._annotating import annotator_options, preparation
from tuner.commands._lists import (
    format_option,
    pipeline_of,
    read_lists,
    reads_references,
    text_options,
)
from tuner.commands._notice import notice
from tuner.commands._numbers import FiniteRange

if TYPE_CHECKING:
    from collections.abc import Callable

    from metrics._base import Metric
    from tuner.commands._lists import Lists
    from tuner.nbest.model import NBest
    from tuner.search.optimization import Optimization, Setup
    from tuner.search.optimizers._base import Optimizer
    from tuner.search.problem import StatTable
    from tuner.search.weight_bootstrap import Confidence
    from tuner.texts.prepare import TextAnnotations


@dataclass(frozen=True, eq=False)
class _Ended:
    """What was found, and what it was found on.

    Parameters
    ----------
    alpha
        The length penalty, None where none was asked for.
    reading
        Seconds.
    nbest
        The lists as they were searched.
    stats
        Their statistics, as far as they are known.
    """

    found: Optimization
    alpha: float | None
    reading: float
    nbest: NBest
    stats: StatTable


_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--metric",
    "metric_text",
    required=True,
    metavar="NAME[:OPTION=VALUE,...]",
    help="What to tune on, as port or bleu:smooth=add1 (`portmert metrics` lists all), "
    'scores:FILE or command:"PROGRAM ...".',
)
@click.option(
    "--nbest", "lists", multiple=True, type=_FILE, help="N-best list; repeat to merge several."
)
@format_option
@click.option(
    "--ref", "refs", multiple=True, type=_FILE, help="References; repeat for more than one."
)
@click.option("--source", type=_FILE, help="Source text, needed with links.")
@click.option(
    "--ref-links",
    multiple=True,
    type=_FILE,
    help="Links of source and reference, one file for each --ref.",
)
@click.option("--lowercase", is_flag=True, help="Lowercase hypotheses and references.")
@text_options
@annotator_options
@click.option("--features", multiple=True, type=_FILE, help="Moses' features.dat, repeatable.")
@click.option("--scores", multiple=True, type=_FILE, help="Moses' scores.dat, one a --features.")
@click.option(
    "--weights", type=_FILE, help="Start weights: our JSON, a moses.ini. Default: all equal."
)
@click.option("--optimizer", "optimizer_name", default="mert", show_default=True)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Option of the optimizer, as effort=1600.",
)
@click.option("--restarts", type=click.IntRange(1), help="Independent searches.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--threads", type=click.IntRange(0), default=0, help="0, the default: one for each processor."
)
@click.option("--fix", "fixed", multiple=True, metavar="NAME", help="Keep a feature's weight.")
@click.option(
    "--bound", "bounds", multiple=True, metavar="NAME=LOW:HIGH", help="Keep a weight in a range."
)
@click.option("--sign", "signs", multiple=True, metavar="NAME=+", help="Demand a weight's sign.")
@click.option(
    "--tie", "tied", multiple=True, metavar="NAME,NAME", help="Keep the ratios of some weights."
)
@click.option(
    "--length-penalty",
    metavar="ALPHA|LOW:HIGH",
    help="Divide model scores by length^ALPHA; a range is searched. Default: that of --weights.",
)
@click.option(
    "--prior",
    type=FiniteRange(0),
    default=0.0,
    help="Pull towards the start weights; the penalty is at most 4 times this. 0: none.",
)
@click.option(
    "--bootstrap",
    "samples",
    type=click.IntRange(0),
    default=0,
    help="Tune again on so many resampled sets of segments; report how weights vary.",
)
@click.option("--out", required=True, type=_FILE, help="Where the weights go (JSON).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    *,
    metric_text: str,
    lists: tuple[Path, ...],
    nbest_format: str,
    refs: tuple[Path, ...],
    source: Path | None,
    ref_links: tuple[Path, ...],
    lowercase: bool,
    text_steps: str,
    text_model: Path | None,
    annotator_text: str | None,
    annotation_cache: Path | None,
    features: tuple[Path, ...],
    scores: tuple[Path, ...],
    weights: Path | None,
    optimizer_name: str,
    settings: tuple[str, ...],
    restarts: int | None,
    seed: int,
    threads: int,
    fixed: tuple[str, ...],
    bounds: tuple[str, ...],
    signs: tuple[str, ...],
    tied: tuple[str, ...],
    length_penalty: str | None,
    prior: float,
    samples: int,
    out: Path,
    as_json: bool,
) -> None:
    """Find the weights under which the lists' best hypotheses score highest.

    Give n-best lists and references, or Moses' features.dat and scores.dat.
    """
    import time  # noqa: PLC0415

    from tuner.commands._compiling import announce_compiling  # noqa: PLC0415  start-up time
    from tuner.components import registry  # noqa: PLC0415
    from tuner.files import check_writable  # noqa: PLC0415
    from tuner.processors import available_processors  # noqa: PLC0415
    from tuner.search.constraints import Constraints  # noqa: PLC0415
    from tuner.search.optimization import Setup  # noqa: PLC0415
    from tuner.texts.prepare import signature as signature_of  # noqa: PLC0415
    from tuner.weights.feature_weights import read_penalised_weights  # noqa: PLC0415

    announce_compiling()
    check_writable(out)
    begin = time.perf_counter()
    _check_usage(metric_text, lists, refs, features, scores, source, ref_links)
    of_lists = (text_steps, text_model, length_penalty, annotator_text, nbest_format != "auto")
    if features and any(of_lists):
        raise click.UsageError(
            "--text, --text-model, --length-penalty, --annotator and --nbest-format go with "
            "--nbest"
        )
    pipeline = pipeline_of(text_steps, text_model, lowercase=lowercase)
    metric = registry.metric(metric_text)
    start, start_alpha = (None, 0.0) if weights is None else read_penalised_weights(weights)
    setup = Setup(
        optimizer=_optimizer(optimizer_name, settings, restarts),
        starts=() if start is None else (start,),
        constraints=Constraints.from_options(fixed=fixed, tied=tied, bounds=bounds, signs=signs),
        seed=seed,
        threads=threads or available_processors(),
        prior=prior,
    )
    if features:
        ended = _from_dat(features, scores, metric, setup, start_alpha, weights)
        annotator, signature = None, signature_of(metric, "stats:moses")
    else:
        ready = preparation(annotator_text, annotation_cache, [metric], pipeline)
        annotator, signature = ready.annotator, ready.signature(metric, len(refs))
        ended = _from_lists(
            partial(
                read_lists,
                lists,
                nbest_format=nbest_format,
                metric=metric,
                refs=refs,
                source=source,
                ref_links=ref_links,
                ready=ready,
            ),
            metric,
            setup,
            length_penalty=length_penalty,
            start_alpha=start_alpha,
            weights=weights,
        )
    sure = _confidence(ended, metric, setup, samples) if samples else None
    _write(out, ended.found, signature, ended.alpha)
    seconds = {
        "reading": ended.reading,
        **ended.found.seconds,
        **({} if annotator is None else {"annotating": annotator.seconds}),  # of the others
        "total": time.perf_counter() - begin,
    }
    if as_json:
        click.echo(json.dumps(_report(ended, seconds, sure, annotator), indent=1))
    else:
        _show(ended, metric, signature, seconds["total"], sure, annotator, out)


def _check_usage(
    metric_text: str,
    lists: tuple[Path, ...],
    refs: tuple[Path, ...],
    features: tuple[Path, ...],
    scores: tuple[Path, ...],
    source: Path | None,
    ref_links: tuple[Path, ...],
) -> None:
    if bool(lists) == bool(features):
        raise click.UsageError("give --nbest and --ref, or --features and --scores")
    if lists and not refs and reads_references(metric_text):
        raise click.UsageError("--nbest needs --ref")
    if lists and scores:
        raise click.UsageError("--scores goes with --features")
    if features and len(features) != len(scores):
        raise click.UsageError(
            f"{len(features)} --features and {len(scores)} --scores; give one for each"
        )
    if features and (refs or source or ref_links):
        raise click.UsageError("--features and --scores need no --ref, --source or --ref-links")
    if ref_links and source is None:
        raise click.UsageError("--ref-links need --source to be checked against")


def _optimizer(name: str, settings: tuple[str, ...], restarts: int | None) -> Optimizer:
    from tuner.components import registry  # noqa: PLC0415

    options = registry.key_values(settings, where="--set")
    if restarts is not None:
        options["restarts"] = restarts
    return registry.optimizer(name, options)


def _from_dat(
    features: tuple[Path, ...],
    scores: tuple[Path, ...],
    metric: Metric,
    setup: Setup,
    start_alpha: float,
    weights: Path | None,
) -> _Ended:
    import time  # noqa: PLC0415

    from tuner.errors import InputError  # noqa: PLC0415
    from tuner.nbest.model import without_texts  # noqa: PLC0415
    from tuner.nbest.moses_dat import read_dat  # noqa: PLC0415
    from tuner.search.optimization import optimize_dat  # noqa: PLC0415
    from tuner.search.problem import StatTable  # noqa: PLC0415
    from tuner.search.stat_tables import moses_stats  # noqa: PLC0415

    if start_alpha:
        raise InputError(
            f"{weights}: weights with a length penalty ({start_alpha:g}) need the n-best "
            f"lists: features.dat does not know the lengths"
        )
    begin = time.perf_counter()
    lists = read_dat(features, scores)
    reading = time.perf_counter() - begin
    found = optimize_dat(lists, metric, setup, notice=notice)
    nbest = without_texts(lists.features, lists.offsets, lists.feature_names, lists.sparse)
    return _Ended(found, None, reading, nbest, StatTable(moses_stats(lists, metric)))


def _from_lists(
    read_them: Callable[[], Lists],
    metric: Metric,
    setup: Setup,
    *,
    length_penalty: str | None,
    start_alpha: float,
    weights: Path | None,
) -> _Ended:
    import time  # noqa: PLC0415

    from tuner.search.length_penalty import LengthPenalty, optimize_penalised, penalised  # noqa: PLC0415
    from tuner.search.stat_tables import statistics_table  # noqa: PLC0415

    penalty = LengthPenalty(start_alpha, start_alpha)
    if length_penalty is not None:
        penalty = LengthPenalty.parse(length_penalty)
    elif start_alpha:
        notice(f"length penalty {start_alpha:g}, as in {weights}")
    begin = time.perf_counter()
    read = read_them()
    reading = time.perf_counter() - begin
    begin = time.perf_counter()
    stats = statistics_table(
        read.scored,
        read.references,
        metric,
        threads=setup.threads,
        notice=notice,
        annotate=read.annotate,
    )
    counting = time.perf_counter() - begin
    found, alpha = optimize_penalised(
        read.scored,
        stats,
        metric,
        setup,
        penalty=penalty,
        lengths=read.lengths,
        start_alpha=start_alpha,
        notice=notice,
    )
    found = replace(found, seconds={"statistics": counting, **found.seconds})
    nbest = penalised(read.scored, alpha, lengths=read.lengths)
    asked = length_penalty is not None or start_alpha
    return _Ended(found, alpha if asked else None, reading, nbest, stats)


def _confidence(ended: _Ended, metric: Metric, setup: Setup, samples: int) -> Confidence:
    """Tune again on bootstrap samples of the segments, from the weights found."""
    from tuner.search.optimization import equal_weights  # noqa: PLC0415
    from tuner.search.weight_bootstrap import bootstrap, confidence  # noqa: PLC0415

    start = setup.starts[0] if setup.starts else equal_weights(ended.nbest.feature_names)
    again = replace(setup, starts=(ended.found.weights,), toward=start)
    return confidence(
        [
            bootstrap(ended.nbest, ended.stats, metric, again, sample=sample)
            for sample in range(samples)
        ]
    )


def _show(
    ended: _Ended,
    metric: Metric,
    signature: str,
    seconds: float,
    sure: Confidence | None,
    annotator: TextAnnotations | None,
    out: Path,
) -> None:
    found, to_stdout = ended.found, str(out) == "-"
    penalised = "" if ended.alpha is None else f" with length penalty {ended.alpha:.4g}"
    searches = f"{found.line_searches} line searches, " if found.line_searches else ""
    click.echo(
        f"{signature}: {metric.shown(found.start_score)} -> {metric.shown(found.final_score)}"
        f"{penalised} (oracle {metric.shown(found.oracle_score)}"
        f"{'' if annotator is None else ' of those annotated'}; {found.hypotheses} hypotheses, "
        f"{searches}{seconds:.1f} s)",
        err=to_stdout,
    )
    if annotator is not None:
        known = ended.stats.known
        click.echo(
            f"annotated: {known} hypotheses ({known / len(ended.stats.rows):.1%}); sentences: "
            f"{annotator.hits} from the cache, {annotator.misses} new, {annotator.failed} without "
            f"a parse; {annotator.seconds:.1f} s",
            err=to_stdout,
        )
    click.echo(f"weights: {out}", err=to_stdout)
    if sure is not None:
        click.echo(_table(sure), err=to_stdout)


def _table(sure: Confidence) -> str:
    """Return the percentiles of each weight as a table."""
    from tuner.search.weight_bootstrap import PERCENTILES  # noqa: PLC0415
    from tuner.tables import aligned  # noqa: PLC0415

    rows = [
        [f"{name}_{i}" if len(values) > 1 else name, *(f"{number:.4f}" for number in value)]
        for name, values in sure.weights.items()
        for i, value in enumerate(values)
    ]
    return aligned([f"weight, {sure.samples} samples", *(f"{p:g} %" for p in PERCENTILES)], rows)


def _write(out: Path, found: Optimization, signature: str, alpha: float | None) -> None:
    """Write the weights; nothing in the file changes from run to run."""
    from tuner.files import write_text  # noqa: PLC0415

    content: dict[str, object] = {
        "weights": {name: list(numbers) for name, numbers in found.weights.values.items()},
        **({} if alpha is None else {"length_penalty": alpha}),
        "metric": signature,
        "score": found.final_score,
    }
    write_text(out, json.dumps(content, indent=1) + "\n")


def _report(
    ended: _Ended,
    seconds: dict[str, float],
    sure: Confidence | None,
    annotator: TextAnnotations | None,
) -> dict[str, object]:
    from tuner.texts.prepare import counts  # noqa: PLC0415

    found, alpha = ended.found, ended.alpha
    return {
        "start_score": found.start_score,
        "final_score": found.final_score,
        "oracle_score": found.oracle_score,
        "restarts": list(found.restarts),
        "weights": {name: list(numbers) for name, numbers in found.weights.values.items()},
        **({} if alpha is None else {"length_penalty": alpha}),
        "hypotheses": found.hypotheses,
        **({} if annotator is None else {"annotated": ended.stats.known, **counts(annotator)}),
        "line_searches": found.line_searches,
        **({} if sure is None else {"bootstrap": sure.as_json()}),
        "seconds": {phase: round(value, 3) for phase, value in seconds.items()},
    }
