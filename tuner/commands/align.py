"""`portmert align`: aligns the words of a bitext, or checks links."""

import dataclasses
from pathlib import Path
from typing import Any

import click

import portmert

from ..base.errors import ConfigError, counted
from ..base.files import write_text
from ..base.tables import NOTHING
from ..families import component
from . import _options
from ._options import key_values, refuse_all_but

EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True)


@click.command()
@click.option(
    "--aligner",
    default="thot",
    show_default=True,
    help="The aligner; `portmert components aligner` lists all.",
)
@click.option("--source", type=EXISTING, help="Tokenised source text, one segment a line.")
@click.option("--target", type=EXISTING, help="Its tokenised translation, line by line.")
@click.option(
    "--train-source",
    type=EXISTING,
    help="Source side of a bitext to train on, in addition to the pairs to align.",
)
@click.option("--train-target", type=EXISTING, help="Target side of that bitext.")
@click.option(
    "--model",
    "saved",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of trained models. If it has none, models are trained on --train-... and kept "
    "there.",
)
@_options.settings("An option of the aligner, as model=ibm4; repeat for several.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    help="File for the links, a line as 0-0 1-2 (source-target) for each pair; - is stdout.",
)
@click.option(
    "--check", type=EXISTING, metavar="LINKS", help="Compare these links with those of --gold."
)
@click.option(
    "--gold",
    type=EXISTING,
    help="Links made by hand; 0-0 is a sure link, 0?0 or 0p0 a possible one.",
)
@click.option(
    "--gold-base",
    type=click.IntRange(0, 1),
    default=0,
    show_default=True,
    help="Number of the first word in GOLD; many files made by hand count from 1.",
)
def command(
    *,
    aligner: str,
    settings: tuple[str, ...],
    check: Path | None,
    gold: Path | None,
    gold_base: int,
    **named: Any,
) -> None:
    """Align the words of SOURCE and TARGET, or measure links against links made by hand.

    \b
    portmert align --source S --target T --out LINKS [--aligner NAME] [...]
    portmert align --check LINKS --gold GOLD

    The aligner thot takes --set model=ibm1|ibm2|hmm|ibm3|ibm4|fast_align|eflomal, iterations=N,
    symmetrization=grow-diag-final-and|intersection|union|..., subword=MODEL, vocab_size=N. The
    aligners giza, fast-align and eflomal run programs (docs/how-to/aligners.md), found on PATH or
    by --set bin_dir=DIR. The aligner precomputed takes --set links=FILE.

    With --check, precision, recall and alignment error rate (AER) are printed; a dash is one
    without a value, as the precision of no links.
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if check is not None or gold is not None:
        refuse_all_but(("check", "gold", "gold_base"), "does not go with --check and --gold")
        if check is None or gold is None:
            raise click.UsageError("--check LINKS and --gold GOLD go together")
        _check(check, gold, gold_base)
        return
    needed = {f"--{name}": named.pop(name) for name in ("source", "target", "out")}
    if missing := [option for option, value in needed.items() if value is None]:
        raise click.UsageError(f"{', '.join(missing)} missing (or --check and --gold)")
    source, target, out = needed.values()
    known = {field.name for field in dataclasses.fields(component("aligner", aligner))}
    _options.refuse(named.keys() - known, f"does not go with --aligner {aligner}")
    links = portmert.align(source, target, aligner=aligner, options=_given(named, settings))
    write_text(out, "".join(f"{portmert.format_links(row)}\n" for row in links))
    click.echo(f"{counted(len(links), 'pair')}, {counted(sum(map(len, links)), 'link')}", err=True)


def _given(named: dict[str, Path | None], settings: tuple[str, ...]) -> dict[str, object]:
    options: dict[str, object] = {k: value for k, value in named.items() if value is not None}
    given = key_values(settings)
    for key in options.keys() & given.keys():
        raise ConfigError(f"--set {key} is given by an option of its own too")
    return options | given


def _check(check: Path, gold: Path, gold_base: int) -> None:
    found = portmert.check_links(check, gold, gold_base=1 if gold_base else 0)
    rates = {"precision": found.precision, "recall": found.recall, "AER": found.error_rate}
    for name, rate in rates.items():
        click.echo(f"{name:9} {NOTHING if rate is None else f'{rate:.4f}'}")
    click.echo(
        f"{counted(found.pairs, 'pair')}, {counted(found.links, 'link')}; gold: {found.sure} "
        f"sure, {found.possible - found.sure} only possible",
        err=True,
    )
