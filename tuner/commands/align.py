"""`portmert align`: aligns the words of a bitext, or checks links."""

import dataclasses
from pathlib import Path
from typing import Any

import click

import portmert
from portmert.metrics._display import NOTHING

from ..base.errors import ConfigError, counted
from ..base.files import write_text
from ..families import component
from . import _groups
from ._groups import key_values, refuse_all_but
from ._help import Command
from ._kinds import EXISTING, FOLDER, OUT_FILE
from ._options_of_functions import options

ALIGN = "tuner.api.aligning.align"
EXISTS = {"type": EXISTING, "required": False}


@click.command(cls=Command)
@options(ALIGN, "aligner source target", source=EXISTS, target=EXISTS)
@click.option(
    "--train-source",
    type=EXISTING,
    help="Source side of a bitext to train on, in addition to the pairs to align.",
)
@click.option("--train-target", type=EXISTING, help="Target side of that bitext.")
@click.option(
    "--model",
    "saved",
    type=FOLDER,
    metavar="DIR",
    help="Folder of trained models. If it has none, models are trained on --train-... and kept "
    "there.",
)
@_groups.settings("An option of the aligner, as model=ibm4; repeat for several.")
@click.option(
    "--out",
    type=OUT_FILE,
    help="File for the links, a line as 0-0 1-2 (source-target) for each pair; - is stdout.",
)
@options(
    "tuner.api.aligning.check_links",
    "links--check gold gold_base",
    links=EXISTS,
    gold=EXISTS,
    gold_base={"type": click.IntRange(0, 1)},
)
def command(
    *,
    aligner: str,
    settings: tuple[str, ...],
    links: Path | None,
    gold: Path | None,
    gold_base: int,
    **values: Any,
) -> None:
    """Link the words of two texts.

    Or measure links against links made by hand (--check).

    \b
    portmert align --source S --target T --out LINKS [--aligner NAME] [...]
    portmert align --check LINKS --gold GOLD

    The aligner thot takes --set model=ibm1|ibm2|hmm|ibm3|ibm4|fast_align|eflomal, iterations=N,
    symmetrization=grow-diag-final-and|intersection|union|..., subword=MODEL, vocab_size=N. The
    aligner giza runs programs, found on PATH or by --set bin_dir=DIR.
    The aligner precomputed takes --set links=FILE.

    With --check, precision, recall and alignment error rate (AER) are printed; a dash is one
    without a value, as the precision of no links.
    """  # noqa: D301  \b is click's sign for lines to leave alone
    if links is not None or gold is not None:
        refuse_all_but(("links", "gold", "gold_base"), "does not go with --check and --gold")
        if links is None or gold is None:
            raise click.UsageError("--check LINKS and --gold GOLD go together")
        _check(links, gold, gold_base)
        return
    needed = {f"--{name}": values.pop(name) for name in ("source", "target", "out")}
    if missing := [option for option, value in needed.items() if value is None]:
        raise click.UsageError(f"{', '.join(missing)} missing (or --check and --gold)")
    source, target, out = needed.values()
    fields = {field.name for field in dataclasses.fields(component("aligner", aligner))}
    _groups.refuse(values.keys() - fields, f"does not go with --aligner {aligner}")
    aligned = portmert.align(source, target, aligner=aligner, options=_merged(values, settings))
    write_text(out, "".join(f"{portmert.format_links(row)}\n" for row in aligned))
    click.echo(
        f"{counted(len(aligned), 'pair')}, {counted(sum(map(len, aligned)), 'link')}", err=True
    )


def _merged(by_name: dict[str, Path | None], settings: tuple[str, ...]) -> dict[str, object]:
    by_option: dict[str, object] = {k: value for k, value in by_name.items() if value is not None}
    by_setting = key_values(settings)
    for key in by_option.keys() & by_setting.keys():
        raise ConfigError(f"--set {key} is given by an option of its own too")
    return by_option | by_setting


def _check(links: Path, gold: Path, gold_base: int) -> None:
    agreement = portmert.check_links(links, gold, gold_base=1 if gold_base else 0)
    rates = {
        "precision": agreement.precision,
        "recall": agreement.recall,
        "AER": agreement.error_rate,
    }
    for name, rate in rates.items():
        click.echo(f"{name:9} {NOTHING if rate is None else f'{rate:.4f}'}")
    click.echo(
        f"{counted(agreement.pairs, 'pair')}, {counted(agreement.links, 'link')}; gold: "
        f"{agreement.sure} sure, {agreement.possible - agreement.sure} only possible",
        err=True,
    )
