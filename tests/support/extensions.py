"""Packages of others, installed into a folder of their own: `test_wheel.py` has pip do it."""

from __future__ import annotations

import zipfile

from tests.support.places import TESTS

TINY = TESTS / "support" / "extension" / "tiny"
TINY_POINTS = {
    "portmert.metrics": {"share": "tiny.share:Share"},
    "portmert.readers": {"semicolons": "tiny.semicolons:Semicolons"},
    "portmert.graph_readers": {"edges": "tiny.edges:Edges"},
    "portmert.aligners": {"diagonal": "tiny.diagonal:Diagonal"},
    "portmert.optimizers": {"still": "tiny.still:Still"},
    "portmert.annotators": {"nouns": "tiny.nouns:Nouns"},
    "portmert.decoders": {"echo": "tiny.echo:Echo"},
    "portmert.commands": {"segments": "tiny.segments:command"},
}


def wheel(folder, name, files, points):
    """Build a wheel of `files` (path -> text) with entry points (group -> name -> object)."""
    info = f"{name}-1.0.dist-info"
    lines = [
        line
        for group, entries in points.items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()))
    ]
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{info}/entry_points.txt": "".join(f"{line}\n" for line in lines),
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in files.items():
            archive.writestr(inner, text)
    return path


def tiny_wheel(folder):
    """Build the wheel of the package with a component of each family."""
    files = {f"tiny/{path.name}": path.read_text(encoding="utf-8") for path in TINY.glob("*.py")}
    return wheel(folder, "tiny", files, TINY_POINTS)


def install(folder, *wheels):
    """Install wheels into a folder, as pip does with those that have no programs."""
    for path in wheels:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
    return folder
