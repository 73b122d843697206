"""`portmert report`: how a run of tune came to its weights."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuner.commands._annotating import annotator_options, preparation
from tuner.commands._notice import notice

if TYPE_CHECKING:
    from tuner.evaluation.history.model import RunHistory
    from tuner.texts.prepare import Prepare

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--metric",
    "metric_texts",
    multiple=True,
    metavar="NAME[:OPTION=VALUE,...]",
    help="Score the dev output of every iteration with it too; repeat for more. "
    "Default: bleu, port, qmean, ter.",
)
@annotator_options
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@click.option("--html", type=_FILE, help="Write a page, one file that needs no network.")
@click.option("--json", "json_out", type=_FILE, help="Write everything as JSON.")
def command(
    *,
    run: Path,
    metric_texts: tuple[str, ...],
    annotator_text: str | None,
    annotation_cache: Path | None,
    threads: int,
    html: Path | None,
    json_out: Path | None,
) -> None:
    """Report on the folder RUN of tune, also while it is still running.

    Dev scores of each iteration on several metrics, projected and real score, growth of the
    n-best lists, weights with their spread over replicas; on the page also slices of the error
    surface along each weight, and the output of the test set of a finished run.
    """
    import json  # noqa: PLC0415  start-up time

    from tuner.commands._compiling import announce_compiling  # noqa: PLC0415
    from tuner.components import registry  # noqa: PLC0415
    from tuner.evaluation.comparison.compare import METRICS  # noqa: PLC0415
    from tuner.evaluation.history.report import as_text, document_of  # noqa: PLC0415
    from tuner.evaluation.history.run_history import read_history  # noqa: PLC0415
    from tuner.evaluation.page.html import render  # noqa: PLC0415
    from tuner.files import check_writable, write_text  # noqa: PLC0415

    if html is not None and html == json_out:
        raise click.UsageError(f"two outputs are to be written to {html}")
    for out in (html, json_out):
        if out is not None:
            check_writable(out)
    announce_compiling()
    prepare = functools.partial(preparation, annotator_text, annotation_cache)
    history = read_history(
        run,
        name=run.resolve().name,
        metrics={text: registry.metric(text) for text in metric_texts or METRICS},
        threads=threads,
        notice=notice,
        surface=html is not None or json_out is not None,
        prepare=prepare,
    )
    click.echo(as_text(history))
    if html is None and json_out is None:
        return
    test = _test_document(run, history, prepare, chosen=bool(metric_texts), threads=threads)
    document = document_of(history, test)
    if json_out is not None:
        write_text(json_out, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    if html is not None:
        write_text(html, render(document))
    for path in filter(None, (html, json_out)):
        click.echo(f"written: {path}", err=True)


def _test_document(
    run: Path, history: RunHistory, prepare: Prepare, *, chosen: bool, threads: int
) -> dict[str, Any] | None:
    """Return what there is to say of a finished run's output of its test set."""
    from tuner.errors import InputError, StateError  # noqa: PLC0415
    from tuner.evaluation.comparison.request import Request, compare_request  # noqa: PLC0415

    if history.state != "finished":
        return None
    request = Request(
        systems=(str(run),),
        metrics=tuple(history.percents or ()) if chosen else (),
        prepare=prepare,
        threads=threads,
        timing=False,
    )
    try:
        return compare_request(request, notice).as_json()
    except (InputError, StateError) as error:
        notice(f"no scores of a test set: {error}")
        return None
