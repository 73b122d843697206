"""`portmert align`: word alignment of a bitext."""

from __future__ import annotations

from pathlib import Path

import click

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--aligner", "name", default="thot", show_default=True, help="Which aligner.")
@click.option("--source", required=True, type=FILE, help="Tokenised text.")
@click.option("--target", required=True, type=FILE, help="Its translation, line by line.")
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
    required=True,
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    help="Where the links go: a line of 0-0 1-2 (source-target) for each pair; - is stdout.",
)
def command(
    name: str,
    source: Path,
    target: Path,
    train_source: Path | None,
    train_target: Path | None,
    saved: Path | None,
    settings: tuple[str, ...],
    out: Path,
) -> None:
    """Align the words of SOURCE and TARGET.

    The aligner thot takes --set model=ibm1|ibm2|hmm|ibm3|ibm4|fast_align|eflomal, iterations=N,
    symmetrization=grow-diag-final-and|intersection|union|..., subword=MODEL, vocab_size=N.
    The aligner precomputed takes --set links=FILE.
    """
    import tempfile  # noqa: PLC0415  start-up time

    from aligners._base import format_links  # noqa: PLC0415
    from tuner import registry  # noqa: PLC0415
    from tuner.errors import ConfigError, InputError  # noqa: PLC0415
    from tuner.files import read_lines, write_text  # noqa: PLC0415

    options: dict[str, object] = {
        key: value
        for key, value in (
            ("train_source", train_source),
            ("train_target", train_target),
            ("saved", saved),
        )
        if value is not None
    }
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(f"--set '{setting}' is not KEY=VALUE")
        if key in options:
            raise ConfigError(f"--set {key} is given twice, or by an option of its own too")
        options[key] = value
    aligner = registry.aligner(name, options)
    lines = read_lines(source), read_lines(target)
    if len(lines[0]) != len(lines[1]):
        raise InputError(f"{target}: {len(lines[1])} lines, {source} has {len(lines[0])}")
    with tempfile.TemporaryDirectory(prefix="portmert-align-") as workdir:
        links = aligner.align(source=lines[0], target=lines[1], workdir=Path(workdir))
    write_text(out, "".join(f"{format_links(row)}\n" for row in links))
    click.echo(f"{len(links)} pairs, {sum(map(len, links))} links", err=True)
