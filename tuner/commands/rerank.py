"""`portmert rerank`: the best hypothesis of each segment under given weights."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

import portmert

from ..base import columns, errors, files, json_toml
from ..base.warn import warn
from . import _groups, _outputs
from ._help import Command
from ._kinds import OUT_FILE
from ._options_of_functions import options

RERANK = "tuner.api.reranking.rerank"


@click.command(cls=Command)
@options("tuner.api.lists.Lists", "paths", paths={"type": str, "metavar": "FILE"})
@_groups.graphs
@options(RERANK, "weights by missing_features")
@click.option(
    "--mbr",
    metavar="METRIC",
    help="Minimum Bayes risk: choose the hypothesis with the highest mean score by this metric "
    "when the hypotheses of its segment serve as references.",
)
@options("tuner.api.reranking.Mbr", "temperature size average", prefix="mbr-")
@options(RERANK, "oracle_metric--oracle")
@_groups.lists
@click.option(
    "--out",
    type=OUT_FILE,
    help="File for the chosen hypotheses, in lines, with --ids after the ids of their segments. "
    "If its name ends in .jsonl, each line is a JSON object: id of the segment, index of the "
    "hypothesis in its list (from 0), score, text, and its own record if the list is JSON. "
    "Default: stdout.",
)
@_outputs.json_option
@click.option(
    "--links-out",
    type=OUT_FILE,
    help="File for their word alignments, a line as 0-0 1-2 each.",
)
def command(
    *, out: Path | None, json_out: Path | None, links_out: Path | None, **values: Any
) -> None:
    """Choose hypotheses with weights.

    The best hypothesis of each segment is written.

    If several have the same score, the first in the list is chosen. With --mbr the hypothesis that
    a metric finds most like the others is chosen. With --oracle hypotheses are exchanged, segment
    by segment, while that raises the metric's score against the references; no weights can reach
    much more. The exchange begins with the best hypotheses under the weights or, without weights,
    with the first ones.

    \b
    portmert rerank --nbest test.nbest.gz --weights weights.json --out test.output
    portmert rerank --nbest test.samples.jsonl --mbr chrf --out test.output
    portmert rerank --graphs lattices/test --weights weights.json --out test.output
    portmert rerank --nbest answers.jsonl --weights weights.json --out chosen.jsonl
    """  # noqa: D301  \b is click's sign for lines to leave alone
    paths = (Path("-") if out is None and json_out is None else out, json_out, links_out)
    inputs = [*values["paths"], *values["graphs"], *values["refs"], values["weights"]]
    read = {os.path.realpath(path) for path in inputs if path}
    for option, path in zip(("--out", "--json", "--links-out"), paths, strict=True):
        if path is not None and str(path) != "-" and os.path.realpath(path) in read:
            raise click.UsageError(f"{option} names an input, {path}, which it would overwrite")
    _outputs.check_outputs(*paths)
    mbr, with_ids, first = (
        _mbr(values),
        values["ids"],
        [*values["paths"], *values["graphs"], ""][0],
    )
    if not any(values[name] for name in ("weights", "by", "oracle_metric")) and mbr is None:
        raise click.UsageError("give --weights, --by, or --mbr or --oracle with a metric")
    if values["oracle_metric"] is None:
        _groups.refuse(("refs", "ref_links", "annotator"), "goes with --oracle")
        if not values["features"]:
            _groups.refuse(("source",), "goes with --oracle or --feature")
    elif mbr is not None:
        raise click.UsageError("--mbr and --oracle choose by different things; give one of them")
    _outputs.announce_compiling()
    values["ids"] = with_ids and bool(values["refs"] or values["source"])
    size = 1 if mbr is None and values["oracle_metric"] is None else 100
    lists = _groups.take_lists(values, weights=values["weights"], size=size)
    reranked = portmert.rerank(lists, mbr=mbr, **values)
    if links_out is not None and reranked.links is None:
        raise errors.InputError(
            f"{first}: the list has no word alignment for --links-out; let the decoder print it"
        )
    pair = None if with_ids else columns.unordered(reranked.ids)
    if pair and paths[0] is not None and paths[0].suffix != ".jsonl":
        warn(
            f"{first}: the ids are not in order ('{pair[0]}' stands before '{pair[1]}'), and the "
            f"lines written have none; give --ids, or an --out that ends in .jsonl"
        )
    wide = [name for name in reranked.ids if with_ids and len(name.split()) > 1]
    if wide and paths[0] is not None and paths[0].suffix != ".jsonl":
        raise errors.InputError(
            f"{first}: the id '{errors.shown(wide[0])}' has blanks, so no line can begin with it; "
            f"give an --out that ends in .jsonl"
        )
    _write(reranked, [f"{name} " if with_ids else "" for name in reranked.ids], *paths)


def _mbr(values: dict[str, Any]) -> portmert.Mbr | None:
    """Take the options of minimum Bayes risk out of those given."""
    metric = values.pop("mbr")
    how = {name: values.pop(f"mbr_{name}") for name in ("temperature", "size", "average")}
    if metric is not None:
        return portmert.Mbr(metric, **how)
    _groups.refuse([f"mbr_{name}" for name in how], "goes with --mbr")
    return None


def _write(
    reranked: portmert.Reranked,
    begins: list[str],
    out: Path | None,
    json_out: Path | None,
    links_out: Path | None,
) -> None:
    """Write what was chosen; each line of text begins with its own of `begins`."""
    in_json = out is not None and out.suffix == ".jsonl"
    objects = reranked.as_json() if in_json or json_out is not None else []
    _outputs.print_json(json_out, objects)
    if out is not None and in_json:
        lines = (json_toml.to_json(row, indent=None, ensure_ascii=False) for row in objects)
        files.write_text(out, "".join(f"{line}\n" for line in lines))
        out = None
    for path, texts in ((out, reranked.lines), (links_out, reranked.links)):
        if path is not None and texts is not None:
            pairs = zip(begins, texts, strict=True)
            files.write_text(path, "".join(f"{begin}{line}\n" for begin, line in pairs))
