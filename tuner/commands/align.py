"""`portmert align`: word alignment of a bitext, and how good an alignment is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aligners._base import Aligner, Links

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--aligner", "name", default="thot", show_default=True, help="Which aligner.")
@click.option("--source", type=FILE, help="Tokenised text.")
@click.option("--target", type=FILE, help="Its translation, line by line.")
@click.option("--train-source", type=FILE, help="Training bitext, besides the pairs to align.")
@click.option("--train-target", type=FILE, help="Its other side.")
@click.option(
    "--model",
    "saved",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Trained models: used if they are in DIR; with --train-... made and kept there if not.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the aligner, as in model=ibm4 or symmetrization=union; may be repeated.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    help="Where the links go: a line of 0-0 1-2 (source-target) for each pair; - is stdout.",
)
@click.option("--check", type=FILE, metavar="LINKS", help="Compare links with those of --gold.")
@click.option(
    "--gold",
    type=FILE,
    help="Links made by hand: 0-0 is sure, 0?0 or 0p0 is possible.",
)
@click.pass_context
def command(
    ctx: click.Context,
    name: str,
    source: Path | None,
    target: Path | None,
    train_source: Path | None,
    train_target: Path | None,
    saved: Path | None,
    settings: tuple[str, ...],
    out: Path | None,
    check: Path | None,
    gold: Path | None,
) -> None:
    """Align the words of SOURCE and TARGET, or check links made before.

    \b
    portmert align --source S --target T --out LINKS [--aligner NAME] [...]
    portmert align --check LINKS --gold GOLD

    The aligner thot takes --set model=ibm1|ibm2|hmm|ibm3|ibm4|fast_align|eflomal, iterations=N,
    symmetrization=grow-diag-final-and|intersection|union|..., subword=MODEL, vocab_size=N. The
    aligners giza, fast-align and eflomal run programs (docs/how-to/aligners.md), found on PATH or
    by --set bin_dir=DIR. The aligner precomputed takes --set links=FILE.

    With --check, precision, recall and alignment error rate (AER) are printed.
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if check is not None or gold is not None:
        _refuse_others(ctx)
        if check is None or gold is None:
            raise click.UsageError("--check LINKS and --gold GOLD go together")
        _check(check, gold)
        return
    if source is None or target is None or out is None:
        missing = [
            option
            for option, value in (("--source", source), ("--target", target), ("--out", out))
            if value is None
        ]
        raise click.UsageError(f"{', '.join(missing)} missing (or --check and --gold)")

    from tuner.components import registry  # noqa: PLC0415  start-up time
    from tuner.errors import InputError  # noqa: PLC0415
    from tuner.files import read_lines, write_text  # noqa: PLC0415

    named = {"train_source": train_source, "train_target": train_target, "saved": saved}
    aligner = registry.aligner(name, _options(named, settings))
    lines = read_lines(source), read_lines(target)
    if len(lines[0]) != len(lines[1]):
        raise InputError(f"{target}: {len(lines[1])} lines, {source} has {len(lines[0])}")
    links = _align(aligner, *lines)
    from aligners._base import format_links  # noqa: PLC0415

    write_text(out, "".join(f"{format_links(row)}\n" for row in links))
    click.echo(f"{len(links)} pairs, {sum(map(len, links))} links", err=True)


def _options(named: Mapping[str, Path | None], settings: tuple[str, ...]) -> dict[str, object]:
    from tuner.components import registry  # noqa: PLC0415  start-up time
    from tuner.errors import ConfigError  # noqa: PLC0415

    options = {key: value for key, value in named.items() if value is not None}
    given = registry.key_values(settings, where="--set")
    for key in options.keys() & given.keys():
        raise ConfigError(f"--set {key} is given by an option of its own too")
    return options | given


def _align(aligner: Aligner, source: list[str], target: list[str]) -> list[Links]:
    """Align in a folder that goes afterwards, unless there is a log to read in it."""
    import shutil  # noqa: PLC0415  start-up time
    import tempfile  # noqa: PLC0415

    workdir = Path(tempfile.mkdtemp(prefix="portmert-align-"))
    try:
        return aligner.align(source=source, target=target, workdir=workdir)
    finally:
        if not any(workdir.glob("*.log")):
            shutil.rmtree(workdir, ignore_errors=True)


def _refuse_others(ctx: click.Context) -> None:
    """Refuse what means nothing when links are checked."""
    for parameter in ctx.command.params:
        given = ctx.get_parameter_source(parameter.name or "")
        if given is click.core.ParameterSource.COMMANDLINE and parameter.name not in {
            "check",
            "gold",
        }:
            raise click.UsageError(f"{parameter.opts[0]} does not go with --check and --gold")


def _check(check: Path, gold: Path) -> None:
    from aligners._agreement import agreement, parse_gold  # noqa: PLC0415  start-up time
    from aligners._base import parse_links  # noqa: PLC0415
    from tuner.errors import InputError  # noqa: PLC0415
    from tuner.files import read_lines  # noqa: PLC0415

    rows = [
        parse_links(line, origin=f"{check}:{number}")
        for number, line in enumerate(read_lines(check), 1)
    ]
    marks = [
        parse_gold(line, origin=f"{gold}:{number}")
        for number, line in enumerate(read_lines(gold), 1)
    ]
    if len(rows) != len(marks):
        raise InputError(f"{check}: {len(rows)} lines, {gold} has {len(marks)}")
    found = agreement(rows, marks)
    click.echo(f"precision {found.precision:.4f}")
    click.echo(f"recall    {found.recall:.4f}")
    click.echo(f"AER       {found.error_rate:.4f}")
    click.echo(
        f"{len(rows)} pairs, {found.links} links; gold: {found.sure} sure, "
        f"{found.possible - found.sure} only possible",
        err=True,
    )
