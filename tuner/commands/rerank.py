"""Offers `portmert rerank`: the best hypothesis of each segment under given weights."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import portmert
from portmert.tuner.commands._annotating import annotator_options
from portmert.tuner.commands._compiling import announce_compiling
from portmert.tuner.commands._lists import (
    feature_option,
    format_option,
    missing_features_option,
    text_options,
)
from portmert.tuner.commands._notice import notice
from portmert.tuner.commands._options import (
    FILE,
    OUT_FILE,
    FiniteRange,
    defaulted,
    ref_links_option,
    refs_option,
    source_option,
)
from portmert.tuner.commands._outputs import check_outputs
from portmert.tuner.commands._progress import annotating
from portmert.tuner.ground.errors import InputError
from portmert.tuner.ground.files import writing

if TYPE_CHECKING:
    from portmert import Reranked


@click.command()
@click.option(
    "--nbest",
    "lists",
    multiple=True,
    required=True,
    metavar="FILE",
    help="N-best list (plain, .gz, .xz, .zst, or - for stdin); several are merged.",
)
@format_option
@feature_option
@click.option(
    "--weights",
    "weights",
    type=FILE,
    help="Our JSON (a length penalty in it is applied), a moses.ini, or a runN.dense of "
    "mert-moses.pl.",
)
@missing_features_option(
    "What is done with weights of features that the lists lack: an error, or they count as 0."
)
@click.option(
    "--mbr",
    metavar="METRIC",
    help="Choose the highest mean of this metric against the hypotheses of the list: minimum "
    "Bayes risk. Weights, if any, say how likely these are.",
)
@click.option(
    "--mbr-temperature",
    type=FiniteRange(0),
    metavar="T",
    help="Weigh them by the softmax of T times the model score; left out: all alike.",
)
@click.option(
    "--mbr-size",
    type=click.IntRange(1),
    metavar="N",
    help="Compare with the N best only (without weights and T the first N); left out: all.",
)
@defaulted(
    "--mbr-average",
    click.Choice(["scores", "statistics"]),
    "scores",
    "What is averaged: the scores, or the statistics, of which the score is taken then; fast for "
    "BLEU and chrF, whatever the length of the lists.",
)
@click.option(
    "--oracle",
    "oracle_metric",
    metavar="METRIC",
    help="Choose for a high score of this metric in place of the weights; needs --ref.",
)
@refs_option("References, for --oracle.")
@source_option
@ref_links_option
@click.option(
    "--ids",
    is_flag=True,
    help="Begin each line that is written with the id of its segment, as Kaldi does; lines of "
    "references, source and links begin with it too.",
)
@text_options
@annotator_options
@click.option("--out", default="-", type=OUT_FILE, help="One hypothesis a line; default stdout.")
@click.option("--links-out", type=OUT_FILE, help="Their word alignments, `0-0 1-2` a line.")
def command(
    *,
    lists: tuple[str, ...],
    weights: Path | None,
    out: Path,
    links_out: Path | None,
    **given: Any,
) -> None:
    """Write the best hypothesis of each segment under the weights.

    Of hypotheses with equal scores the first in the list is taken. With --oracle the hypotheses
    are chosen segment by segment to make the metric's score high, beginning at the best under
    the weights or, without weights, at the first of each segment: about what perfect weights
    could reach. With --mbr the hypothesis is chosen that is most like the others, by a metric.

    \b
    portmert rerank --nbest test.nbest.gz --weights weights.json --out test.output
    portmert rerank --nbest test.samples.jsonl --mbr chrf --out test.output
    """  # noqa: D301  \b is click's sign for lines to leave alone
    metric, refs = given["oracle_metric"], given["refs"]
    inputs = {Path(path).resolve() for path in (*lists, *given["refs"], weights) if path}
    for option, path in (("--out", out), ("--links-out", links_out)):
        if path is not None and str(path) != "-" and path.resolve() in inputs:
            raise click.UsageError(f"{option} names an input, {path}, which it would overwrite")
    mbr = _mbr(given)
    if weights is None and metric is None and mbr is None:
        raise click.UsageError("give --weights, or --mbr or --oracle with a metric")
    if mbr is not None and metric is not None:
        raise click.UsageError("--mbr and --oracle choose by different things; give one of them")
    if metric is None and (refs or given["ref_links"] or given["annotator"]):
        raise click.UsageError("--ref, --ref-links and --annotator go with --oracle")
    if given["source"] and not (metric or given["extra_features"]):
        raise click.UsageError("--source goes with --oracle or --feature")
    if metric is not None and not refs and portmert.metric(metric).reads_references:
        raise click.UsageError("--oracle needs --ref")
    check_outputs(out, links_out)
    announce_compiling()
    with annotating() as progress:
        found = portmert.rerank(lists, weights, mbr=mbr, notice=notice, progress=progress, **given)
    ids = [f"{name} " for name in found.ids] if given["ids"] else [""] * len(found.ids)
    _write(found, ids, lists[0], out, links_out)


def _mbr(given: dict[str, Any]) -> portmert.Mbr | None:
    """Take the options of minimum Bayes risk out of those given, and return what they say."""
    metric = given.pop("mbr")
    options = {name: given.pop(f"mbr_{name}") for name in ("temperature", "size", "average")}
    if metric is not None:
        return portmert.Mbr(metric, **options)
    if options != {"temperature": None, "size": None, "average": "scores"}:
        raise click.UsageError("--mbr-temperature, --mbr-size and --mbr-average go with --mbr")
    return None


def _write(found: Reranked, ids: list[str], first: str, out: Path, links_out: Path | None) -> None:
    links = found.links
    if links_out is not None and links is None:
        raise InputError(
            f"{first}: the list has no word alignment for --links-out; let the decoder print it"
        )
    with ExitStack() as files:
        text = files.enter_context(writing(out))
        text.write(
            "".join(
                f"{name}{line}\n" for name, line in zip(ids, found.lines, strict=True)
            ).encode()
        )
        if links_out is not None and links is not None:
            file = files.enter_context(writing(links_out))
            file.write(
                "".join(f"{name}{line}\n" for name, line in zip(ids, links, strict=True)).encode()
            )
