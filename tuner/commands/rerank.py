"""`portmert rerank`: the best hypothesis of each segment under given weights."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

import portmert

from ..base import documents, errors, files
from . import _lists, _options, _outputs
from ._outputs import notice


@click.command()
@_options.several(
    "--nbest",
    "lists",
    kind=str,
    required=True,
    metavar="FILE",
    help="N-best list (plain, .gz, .bz2, .xz, .zst, or - for stdin); several are merged.",
)
@click.option(
    "--weights",
    type=_options.FILE,
    help="File of weights: our JSON (its length penalty is applied), a moses.ini, or a "
    "runN.dense of mert-moses.pl.",
)
@_lists.missing_features_option(
    "What happens if the lists lack a feature that has a weight: an error, or its value is 0."
)
@click.option(
    "--mbr",
    metavar="METRIC",
    help="Minimum Bayes risk: choose the hypothesis with the highest mean score by this metric "
    "when the hypotheses of its segment serve as references.",
)
@click.option(
    "--mbr-temperature",
    type=_options.FiniteRange(0),
    metavar="T",
    help="With --mbr: as a reference, a hypothesis counts by the softmax of T times its model "
    "score, under --weights or as in the list. Default: all count alike.",
)
@click.option(
    "--mbr-size",
    type=click.IntRange(1),
    metavar="N",
    help="With --mbr: use only the N hypotheses with the highest model scores as references; the "
    "first N if there are neither weights nor T. Default: all.",
)
@_options.defaulted(
    "--mbr-average",
    click.Choice(["scores", "statistics"]),
    "scores",
    "With --mbr: average the scores against all references, or score the average of the "
    "statistics, which is fast for BLEU and chrF on lists of any length.",
)
@click.option(
    "--oracle",
    "oracle_metric",
    metavar="METRIC",
    help="Choose for a high score by this metric against --ref, not by the weights.",
)
@_lists.list_options(
    refs=_options.refs("References, for --oracle."),
    ids=click.option(
        "--ids",
        is_flag=True,
        help="Begin each output line with the id of its segment, as Kaldi does; lines of "
        "references, source and links begin with it too.",
    ),
)
@click.option(
    "--out",
    type=_options.OUT_FILE,
    help="File for the chosen hypotheses, one a line; or, if its name ends in .jsonl, a JSON "
    "object a line: the id of the segment, the index of the hypothesis among those of its segment "
    "(from 0), its score, its text as it was given and, if the list is JSON, its own record. "
    "Default: stdout.",
)
@_outputs.json_option
@click.option(
    "--links-out",
    type=_options.OUT_FILE,
    help="File for their word alignments, a line as 0-0 1-2 each.",
)
def command(
    *, out: Path | None, json_out: Path | None, links_out: Path | None, **given: Any
) -> None:
    """Write the best hypothesis of each segment under the weights.

    If several have the same score, the first in the list is chosen. With --mbr the hypothesis that
    a metric finds most like the others is chosen. With --oracle hypotheses are exchanged, segment
    by segment, while that raises the metric's score against the references; no weights can reach
    much more. The exchange begins with the best hypotheses under the weights or, without weights,
    with the first ones.

    \b
    portmert rerank --nbest test.nbest.gz --weights weights.json --out test.output
    portmert rerank --nbest test.samples.jsonl --mbr chrf --out test.output
    portmert rerank --nbest answers.jsonl --weights weights.json --out chosen.jsonl
    """  # noqa: D301  \b is click's sign for lines to leave alone
    paths = (Path("-") if out is None and json_out is None else out, json_out, links_out)
    inputs = [*given["lists"], *given["refs"], given["weights"]]
    read = {os.path.realpath(path) for path in inputs if path}
    for option, path in zip(("--out", "--json", "--links-out"), paths, strict=True):
        if path is not None and str(path) != "-" and os.path.realpath(path) in read:
            raise click.UsageError(f"{option} names an input, {path}, which it would overwrite")
    _outputs.check_outputs(*paths)
    mbr, with_ids, first = _mbr(given), given["ids"], given["lists"][0]
    if given["weights"] is None and given["oracle_metric"] is None and mbr is None:
        raise click.UsageError("give --weights, or --mbr or --oracle with a metric")
    if given["oracle_metric"] is None:
        _options.refuse(("refs", "ref_links", "annotator"), "goes with --oracle")
        if not given["features"]:
            _options.refuse(("source",), "goes with --oracle or --feature")
    elif mbr is not None:
        raise click.UsageError("--mbr and --oracle choose by different things; give one of them")
    _outputs.announce_compiling()
    given["ids"] = with_ids and bool(given["refs"] or given["source"])
    with _outputs.annotating() as progress:
        lists = _lists.take_lists(given)
        found = portmert.rerank(lists, mbr=mbr, notice=notice, progress=progress, **given)
    if links_out is not None and found.links is None:
        raise errors.InputError(
            f"{first}: the list has no word alignment for --links-out; let the decoder print it"
        )
    _write(found, [f"{name} " if with_ids else "" for name in found.ids], *paths)


def _mbr(given: dict[str, Any]) -> portmert.Mbr | None:
    """Take the options of minimum Bayes risk out of those given."""
    metric = given.pop("mbr")
    options = {name: given.pop(f"mbr_{name}") for name in ("temperature", "size", "average")}
    if metric is not None:
        return portmert.Mbr(metric, **options)
    _options.refuse([f"mbr_{name}" for name in options], "goes with --mbr")
    return None


def _write(
    found: portmert.Reranked,
    begins: list[str],
    out: Path | None,
    json_out: Path | None,
    links_out: Path | None,
) -> None:
    """Write what was chosen; each line of text begins with its own of `begins`."""
    in_json = out is not None and out.suffix == ".jsonl"
    objects = found.as_json() if in_json or json_out is not None else []
    _outputs.print_json(json_out, objects)
    if out is not None and in_json:
        lines = (documents.to_json(one, indent=None, ensure_ascii=False) for one in objects)
        files.write_text(out, "".join(f"{line}\n" for line in lines))
        out = None
    for path, texts in ((out, found.lines), (links_out, found.links)):
        if path is not None and texts is not None:
            pairs = zip(begins, texts, strict=True)
            files.write_text(path, "".join(f"{begin}{line}\n" for begin, line in pairs))
