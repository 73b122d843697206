"""The command `portmert shims`: programs that mert-moses.pl takes for Moses' own."""

import shlex
import sys
from pathlib import Path

import click

from ..base import errors, files

PROGRAMS = {
    "extractor": "extractor",
    "mert": "mert",
    "pro": "pro",
    "kbmira": "kbmira",
    "evaluator": "evaluator",
    "megam_i686.opt": "megam",
}
"""File -> module of `portmert.tuner.dropin`; mert-moses.pl calls the last one after `pro`."""

MARK = "# written by portmert shims"


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
def command(folder: Path) -> None:
    """Write the programs that mert-moses.pl calls into DIR; give it --mertdir DIR.

    They are extractor, mert, pro, kbmira and evaluator (and megam_i686.opt, which reads what pro
    writes), with the options, files and printed forms of Moses' own, and all our metrics as
    --sctype: `mert-moses.pl ... --mertdir DIR --mertargs '--sctype PORT --scconfig
    source:FILE,reflinks:FILE'`.

    \b
    portmert shims shims-folder
    """  # noqa: D301  \b is click's sign for lines to leave alone
    files.make_folder(folder)
    for name in PROGRAMS:
        path = folder / name
        if path.exists() and MARK not in path.read_text("utf-8", "replace"):
            raise errors.StateError(
                f"{path}: is there already and no shim of portmert; name another folder than the "
                f"one of Moses' own programs"
            )
    for name, module in PROGRAMS.items():
        # -P: mert-moses.pl works in a folder of the user's, whose files are no modules of ours.
        start = f"exec {shlex.quote(sys.executable)} -P -m portmert.tuner.dropin {module}"
        files.write_text(folder / name, f'#!/bin/sh\n{MARK}\n{start} "$@"\n')
        (folder / name).chmod(0o755)
    click.echo(f"mert-moses.pl ... --mertdir {shlex.quote(str(folder.resolve()))}")
