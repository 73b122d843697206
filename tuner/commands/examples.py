"""`portmert examples`: example data and documentation for an installation with pip."""

import shutil
from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def command(folder: Path) -> None:
    """Copy example data and the guide.

    They are configs/ and docs/ in FOLDER.

    The commands that the pages show run in FOLDER as they stand, as in

    \b
    portmert examples portmert-examples
    cd portmert-examples
    portmert tune configs/recorded.toml
    """  # noqa: D301  \b is click's sign for lines to leave alone
    from ..base.errors import PortmertError, faults_at  # noqa: PLC0415
    from ..base.files import shipped  # noqa: PLC0415

    for name in ("configs", "docs"):
        if (folder / name).exists():
            raise PortmertError(f"{folder / name}: is there already; name another folder")
    for name in ("configs", "docs"):
        with faults_at(f"{folder / name}: cannot write", OSError, PortmertError):
            shutil.copytree(shipped(name), folder / name, ignore=shutil.ignore_patterns("_*"))
    click.echo(f"{folder}: configs/ and docs/")
