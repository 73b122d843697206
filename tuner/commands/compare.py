"""`portmert compare`: systems side by side, and whether the difference is more than luck."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.commands._annotating import annotator_options, preparation
from tuner.commands._lists import pipeline_of, text_options
from tuner.commands._notice import notice
from tuner.commands._numbers import FiniteRange
from tuner.commands._outputs import check_outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aligners._base import Aligner
    from tuner.evaluation.comparison.model import Comparison

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("systems", nargs=-1, metavar="A B [C ...]")
@click.option("--test", "source", type=_FILE, help="Source text of the test set.")
@click.option("--ref", "refs", multiple=True, type=_FILE, help="References; repeat for more.")
@click.option(
    "--metric",
    "metric_texts",
    multiple=True,
    metavar="NAME[:OPTION=VALUE,...]",
    help="Metric; repeat for more. Default: bleu, port, qmean, ter, and what runs were tuned on.",
)
@click.option(
    "--links",
    "links_texts",
    multiple=True,
    metavar="NAME=FILE[,FILE...]",
    help="A set of word alignments: a file for each --ref, then maybe one for each output; repeat "
    "to compare sets.",
)
@click.option(
    "--aligner",
    "aligner_name",
    metavar="NAME",
    help="Align references, and outputs whose decoder gave no links, with this aligner.",
)
@click.option(
    "--aligner-set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the aligner, as in train_source=FILE; may be repeated.",
)
@click.option("--lowercase", is_flag=True, help="Lowercase outputs and references.")
@text_options
@annotator_options
@click.option("--samples", type=click.IntRange(1), default=10_000, show_default=True,
              help="Resampled test sets and randomized pairs.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--confidence", type=FiniteRange(0, 1, min_open=True, max_open=True),
              default=0.95, show_default=True, help="Level of the intervals.")  # fmt: skip
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@click.option(
    "--no-timing",
    is_flag=True,
    help="Leave out measured times: the same call then writes the same bytes.",
)
@click.option("--html", type=_FILE, help="Write a page, one file that needs no network.")
@click.option("--json", "json_out", type=_FILE, help="Write everything as JSON.")
@click.option("--latex", type=_FILE, help="Write the tables for LaTeX (booktabs).")
def command(
    *,
    systems: tuple[str, ...],
    source: Path | None,
    refs: tuple[Path, ...],
    metric_texts: tuple[str, ...],
    links_texts: tuple[str, ...],
    aligner_name: str | None,
    settings: tuple[str, ...],
    lowercase: bool,
    text_steps: str,
    text_model: Path | None,
    annotator_text: str | None,
    annotation_cache: Path | None,
    samples: int,
    seed: int,
    confidence: float,
    threads: int,
    no_timing: bool,
    html: Path | None,
    json_out: Path | None,
    latex: Path | None,
) -> None:
    """Compare systems with the first one: scores, significance, and where they differ.

    A system is the folder of a run of tune, or name=FILE[,FILE...]: a file of tokenised text for
    each replica. Folders say what their test set is; else give --ref, and --test for word order.

    \b
    portmert compare runs/bleu runs/port --html page.html
    portmert compare base=a.txt new=b1.txt,b2.txt,b3.txt --test t.src --ref t.ref
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if len(systems) < 2:
        raise click.UsageError("name at least two systems")
    if settings and aligner_name is None:
        raise click.UsageError("--aligner-set needs --aligner")
    from tuner.commands._compiling import announce_compiling  # noqa: PLC0415  start-up time
    from tuner.evaluation.comparison.request import Request, compare_request  # noqa: PLC0415
    from tuner.evaluation.significance import Resampling  # noqa: PLC0415

    check_outputs(html, json_out, latex)
    announce_compiling()
    pipeline = None
    if lowercase or text_steps or text_model is not None:
        pipeline = pipeline_of(text_steps, text_model, lowercase=lowercase)
    request = Request(
        systems=systems,
        source=source,
        references=refs,
        metrics=metric_texts,
        links=links_texts,
        aligner=_aligner(aligner_name, settings),
        pipeline=pipeline,
        prepare=functools.partial(preparation, annotator_text, annotation_cache),
        resampling=Resampling(samples, seed, confidence),
        threads=threads,
        runs=html is not None or json_out is not None,
        timing=not no_timing,
    )
    _write(compare_request(request, notice), html, json_out, latex)


def _aligner(name: str | None, settings: Sequence[str]) -> tuple[str, Aligner] | None:
    if name is None:
        return None
    from tuner.components import registry  # noqa: PLC0415  start-up time

    options = registry.key_values(settings, where="--aligner-set")
    return name, registry.aligner(name, options, where="--aligner")


def _write(
    comparison: Comparison, html: Path | None, json_out: Path | None, latex: Path | None
) -> None:
    from tuner.evaluation.comparison.text import as_latex, as_text  # noqa: PLC0415  start-up time
    from tuner.files import write_text  # noqa: PLC0415

    document = comparison.as_json()
    if json_out is not None:
        write_text(json_out, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    if latex is not None:
        write_text(latex, as_latex(comparison))
    if html is not None:
        from tuner.evaluation.page.html import render  # noqa: PLC0415

        write_text(html, render(document))
    click.echo(as_text(comparison))
    for path in filter(None, (html, json_out, latex)):
        click.echo(f"written: {path}", err=True)
