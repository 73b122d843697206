"""`portmert rerank`: the best hypothesis of each segment under given weights."""

from __future__ import annotations

from contextlib import ExitStack
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

if TYPE_CHECKING:
    from metrics._base import IntArray, Metric, Texts
    from tuner.commands._lists import Lists

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--nbest",
    "nbest_paths",
    multiple=True,
    required=True,
    metavar="FILE",
    help="N-best list (plain, .gz, .xz, .zst, or - for stdin); several are merged.",
)
@format_option
@click.option(
    "--weights",
    "weights_path",
    type=_FILE,
    help="Our JSON (a length penalty in it is applied), a moses.ini, or a runN.dense of "
    "mert-moses.pl.",
)
@click.option(
    "--oracle",
    "metric_text",
    metavar="METRIC",
    help="Choose for a high score of this metric in place of the weights; needs --ref.",
)
@click.option("--ref", "refs", multiple=True, type=_FILE, help="References, for --oracle.")
@click.option("--source", type=_FILE, help="Source text, needed with links.")
@click.option("--ref-links", multiple=True, type=_FILE, help="Links, one file for each --ref.")
@text_options
@annotator_options
@click.option("--out", default="-", metavar="FILE", help="One hypothesis a line; default stdout.")
@click.option("--links-out", metavar="FILE", help="Their word alignments, `0-0 1-2` a line.")
def command(
    *,
    nbest_paths: tuple[str, ...],
    nbest_format: str,
    weights_path: Path | None,
    metric_text: str | None,
    refs: tuple[Path, ...],
    source: Path | None,
    ref_links: tuple[Path, ...],
    text_steps: str,
    text_model: Path | None,
    annotator_text: str | None,
    annotation_cache: Path | None,
    out: str,
    links_out: str | None,
) -> None:
    """Write the best hypothesis of each segment under the weights.

    Of hypotheses with equal scores the first in the list is taken. With --oracle the hypotheses
    are chosen segment by segment to make the metric's score high, beginning at the best under
    the weights or, without weights, at the first of each segment: about what perfect weights
    could reach.
    """
    from tuner.commands._compiling import announce_compiling  # noqa: PLC0415
    from tuner.components import registry  # noqa: PLC0415  start-up time

    if links_out == out:
        raise click.UsageError("--out and --links-out name the same file")
    if weights_path is None and metric_text is None:
        raise click.UsageError("give --weights, or --oracle with a metric")
    if metric_text is None and (refs or source or ref_links or annotator_text):
        raise click.UsageError("--ref, --source, --ref-links and --annotator go with --oracle")
    if metric_text is not None and reads_references(metric_text) and not refs:
        raise click.UsageError("--oracle needs --ref")
    announce_compiling()
    metric = None if metric_text is None else registry.metric(metric_text)
    pipeline = pipeline_of(text_steps, text_model)
    metrics = [] if metric is None else [metric]
    lists = read_lists(
        nbest_paths,
        nbest_format=nbest_format,
        metric=metric,
        refs=refs,
        source=source,
        ref_links=ref_links,
        ready=preparation(annotator_text, annotation_cache, metrics, pipeline),
    )
    best = lists.nbest.offsets[:-1] if weights_path is None else _best(lists, weights_path)
    if metric is not None:
        best = _oracle(lists, metric, best)
    _write(lists.scored.texts.take(best), nbest_paths[0], out, links_out)


def _best(lists: Lists, path: Path) -> IntArray:
    """Return the best hypothesis of each segment under the weights of a file."""
    from tuner.nbest.model import best_hypotheses, model_scores  # noqa: PLC0415
    from tuner.search.length_penalty import penalised  # noqa: PLC0415
    from tuner.weights.feature_weights import read_penalised_weights  # noqa: PLC0415

    weights, alpha = read_penalised_weights(path)
    nbest = penalised(lists.nbest, alpha, lengths=lists.lengths)
    return best_hypotheses(nbest, model_scores(nbest, weights, origin=str(path)))


def _oracle(lists: Lists, metric: Metric, start: IntArray) -> IntArray:
    """Return hypotheses chosen for the metric, and say what they score."""
    import numpy as np  # noqa: PLC0415

    from tuner.search.oracle import oracle  # noqa: PLC0415
    from tuner.search.stat_tables import statistics_table  # noqa: PLC0415

    stats = statistics_table(
        lists.scored, lists.references, metric, threads=1, notice=notice, annotate=lists.annotate
    )
    stats.need(np.arange(len(stats.rows)))
    score, chosen = oracle(stats.rows, lists.nbest.offsets, metric, start)
    shown = metric.shown(score)
    notice(f"oracle {metric.signature}: {shown}")
    return chosen


def _write(texts: Texts, first: str, out: str, links_out: str | None) -> None:
    from tuner.errors import InputError  # noqa: PLC0415
    from tuner.files import writing  # noqa: PLC0415

    links = texts.links
    if links_out is not None and links is None:
        raise InputError(
            f"{first}: the list has no word alignment for --links-out; let the decoder print it"
        )
    with ExitStack() as files:
        text = files.enter_context(writing(out))
        lines = (f"{' '.join(texts.words(row))}\n" for row in range(len(texts)))
        text.write("".join(lines).encode())
        if links_out is not None and links is not None:
            rows = (" ".join(f"{i}-{j}" for i, j in links.row(k)) for k in range(len(texts)))
            file = files.enter_context(writing(links_out))
            file.write("".join(f"{line}\n" for line in rows).encode())
