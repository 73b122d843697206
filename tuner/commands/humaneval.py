"""`portmert humaneval`: people compare the outputs of two systems."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tuner.commands._lists import pipeline_of, text_options
from tuner.commands._notice import notice
from tuner.commands._numbers import FiniteRange
from tuner.commands._outputs import check_outputs, output_options, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuner.evaluation.humaneval.evaluation import Evaluation

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group()
def command() -> None:
    """Make sheets for human judges, and read what they answered."""


@command.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option(
    "--ref",
    "refs",
    multiple=True,
    type=_FILE,
    help="References; the first one is shown, all count for 1-TER. Default: those of the runs.",
)
@click.option("--source", type=_FILE, help="Source text, to be shown too.")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="Folder to make: key.json, and judges/ with each judge's sheet.",
)
@click.option("--judges", "count", type=click.IntRange(1), help="Number of judges.  [default: 3]")
@click.option("--judge", "names", multiple=True, help="Name of a judge; repeat for more.")
@click.option(
    "--items",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="Items of each judge.",
)
@click.option(
    "--common",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="How many of them every judge sees, to know how far judges agree.",
)
@click.option(
    "--min-length",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Fewest tokens of the reference.",
)
@click.option(
    "--max-length",
    type=click.IntRange(1),
    default=50,
    show_default=True,
    help="Most tokens of the reference.",
)
@click.option(
    "--equal-outputs", is_flag=True, help="Keep segments that both systems translate the same way."
)
@click.option(
    "--top-share",
    type=FiniteRange(0, 1, min_open=True),
    default=0.5,
    show_default=True,
    help="Of these segments, the share of those with the highest 1-TER of either system; 1: all.",
)
@click.option("--condition", help="What tables call this comparison.  [default: A against B]")
@text_options
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
def make(
    *,
    first: str,
    second: str,
    refs: tuple[Path, ...],
    source: Path | None,
    out: Path,
    count: int | None,
    names: tuple[str, ...],
    items: int,
    common: int,
    min_length: int,
    max_length: int,
    equal_outputs: bool,
    top_share: float,
    condition: str | None,
    text_steps: str,
    text_model: Path | None,
    seed: int,
) -> None:
    """Make sheets on which judges compare the outputs of A and B.

    A and B are folders of runs, or name=FILE.

    Each judge's sheet is a table (.csv, .xlsx) and a form for a browser (.html): send one of
    them. Keep key.json: it says whose output is left and whose right.
    """
    from tuner.evaluation.comparison.systems import find_systems, find_test_set  # noqa: PLC0415  start-up
    from tuner.evaluation.humaneval import evaluation, folder  # noqa: PLC0415
    from tuner.evaluation.humaneval.selection import Filters, read_and_select  # noqa: PLC0415
    from tuner.files import read_lines  # noqa: PLC0415

    judges = _judges(count, names)
    if common > items:
        raise click.UsageError(f"--common {common} is more than --items {items}")
    if min_length > max_length:
        raise click.UsageError(f"--min-length {min_length} is more than --max-length {max_length}")
    folder.check_absent(out)
    systems = find_systems([first, second])
    for system in systems:
        if len(system.outputs) > 1:
            notice(f"{system.name} has {len(system.outputs)} replicas; the first one is judged")
    test = find_test_set(systems, source, refs)
    outputs = [system.outputs[0].text for system in systems]
    pipeline = pipeline_of(text_steps, text_model)
    filters = Filters(min_length, max_length, not equal_outputs, top_share)
    shown = {path: read_lines(path) for path in (test.references[0], *outputs)}
    selection = read_and_select(
        outputs, test.references, pipeline, [shown[path] for path in outputs], filters
    )
    notice(", ".join(f"{name}: {left}" for name, left in selection.left.items()))
    texts = {"reference": shown[test.references[0]]}
    if source is not None:
        from tuner.texts.corpus import check_lines  # noqa: PLC0415

        texts["source"] = read_lines(source)
        check_lines(source, len(texts["source"]), test.references[0], len(texts["reference"]))
    made = evaluation.make(
        selection.segments,
        texts=texts,
        outputs=(shown[outputs[0]], shown[outputs[1]]),
        systems=(systems[0].name, systems[1].name),
        judges=judges,
        per_judge=items,
        common=common,
        condition=condition or f"{systems[0].name} against {systems[1].name}",
        filters={
            "min_length": min_length,
            "max_length": max_length,
            "differ": not equal_outputs,
            "top_share": top_share,
            "text": pipeline.signature,
            "left": selection.left,
        },
        seed=seed,
    )
    folder.write(made, out)
    click.echo(
        f"{out / 'judges'}: sheets of {len(judges)} judges, {items} items each, {common} of them "
        f"common\n{out / 'key.json'}: keep it from the judges"
    )


def _judges(count: int | None, names: tuple[str, ...]) -> list[str]:
    if count is not None and names:
        raise click.UsageError("--judges or --judge, not both")
    # As file systems compare names that do not tell cases, or ways to write an accent, apart.
    if len({unicodedata.normalize("NFC", name.casefold()) for name in names}) < len(names):
        raise click.UsageError("--judge names one judge twice")
    for name in names:
        if not name.strip() or name.strip(" .") != name or any(
            sign in '/\\:*?"<>|' or not sign.isprintable() for sign in name
        ):  # fmt: skip
            raise click.UsageError(f"--judge {name!r}: expected a name that a file can have")
    if names:
        return list(names)
    count = count or 3
    width = len(str(count))
    return [f"judge-{number:0{width}}" for number in range(1, count + 1)]


@command.command()
@click.argument("sheets", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--key",
    "keys",
    multiple=True,
    type=_FILE,
    help="key.json of an evaluation; repeat for more. Default: that beside the sheets or above.",
)
@click.option("--without", multiple=True, metavar="JUDGE", help="Judge whose sheet never came.")
@click.option(
    "--drop",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Leave out so many judges: those who disagree most with the others on common items.",
)
@click.option(
    "--literal",
    is_flag=True,
    help="Leave out by the expression that the PORT paper prints, which is the other way round.",
)
@output_options
def read(
    *,
    sheets: tuple[Path, ...],
    keys: tuple[Path, ...],
    without: tuple[str, ...],
    drop: int,
    literal: bool,
    json_out: Path | None,
    latex_out: Path | None,
) -> None:
    """Count preferences and agreement in the SHEETS that judges sent back.

    SHEETS are .csv, .xlsx, or .json files that the form exported.
    """
    from dataclasses import replace  # noqa: PLC0415  start-up time

    from tuner.evaluation.humaneval import answers, folder, report, results  # noqa: PLC0415
    from tuner.evaluation.humaneval.evaluation import read_key  # noqa: PLC0415
    from tuner.tables import as_text  # noqa: PLC0415

    check_outputs(json_out, latex_out)
    evaluations = [read_key(path) for path in keys or folder.find_keys(sheets)]
    _check_known(without, evaluations)
    given = [answers.read_answers(path, evaluations) for path in sheets]
    answers.check_left_out(given, without)
    asked = {one.id: answers.without(one, without) for one in evaluations}
    given = [replace(one, evaluation=asked[one.evaluation.id]) for one in given]
    answers.check_complete(given, list(asked.values()))
    found = results.evaluate(given, drop=drop, literal=literal)
    listed = report.tables(found)
    show(as_text(listed), listed, report.as_json(found), json_out=json_out, latex_out=latex_out)


def _check_known(judges: Sequence[str], evaluations: Sequence[Evaluation]) -> None:
    from tuner.errors import InputError, suggest  # noqa: PLC0415  start-up time

    known = {judge for one in evaluations for judge in one.sheets}
    for judge in judges:
        if judge not in known:
            raise InputError(f"--without {judge}: there is no such judge{suggest(judge, known)}")
