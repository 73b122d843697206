"""Run the commands of README.md and docs/ and compare what they print.

`python -m tests.support.readme` puts the present output into the pages and the notebooks, or into
those that are named: `python -m tests.support.readme README.md rerank.md`. Tests compare.

It runs the lines `$ portmert ...` of ```console blocks that name a file below configs/ (`$R`
stands for a folder that a line `$ R=...` names), and a few that need no file. `| head -N` shows
the first N lines of stdout, after all of stderr. The commands of a page run in their order, in a
copy of configs/, as `portmert examples` makes it. Other blocks stay as they are: after them a page
says "(A recorded run".
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import tempfile
from contextlib import chdir
from typing import TYPE_CHECKING

import click
from click.testing import CliRunner

from portmert.tuner.cli import main
from tests.support.notebooks import NOTEBOOKS, executed
from tests.support.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"```console\n(.*?)```\n", re.DOTALL)
ALONE = ("--help", "metrics", "COMMAND")
SECONDS = re.compile(r"\d+\.\d s(?=[),]|$)", re.MULTILINE)
BEGINNING = re.compile(
    r"```(console|sh|python)[^\n]*\n(.*?)```(?:\n+```text\n(.*?)```)?(\s*\(A recorded run)?",
    re.DOTALL,
)
"""A block of code: its kind, the code, its output if that follows, the label of a recorded run."""
HEAD = re.compile(r"(.*) \| head -(\d+)")
COMPILING = re.compile(r"(?:portmert: note: )?(?:compiling|compiled) kernels.*\n")
"""A note of the first command after an installation."""


def runnable(command: str) -> bool:
    """Tell whether a command needs nothing but configs/."""
    if head := HEAD.fullmatch(command):
        command = head[1]
    return command.startswith("portmert ") and ("configs/" in command or command.endswith(ALONE))


def entries(block: str) -> list[tuple[str, str]]:
    """Split a block into (command as written, output)."""
    commands: list[tuple[str, str]] = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            commands.append((line, ""))
        elif commands and commands[-1][0].endswith("\\\n"):
            commands[-1] = (commands[-1][0] + line, "")
        elif commands:
            commands[-1] = (commands[-1][0], commands[-1][1] + line)
    return commands


def shell(page: str) -> str | None:
    """Return the commands of a page in their order, if it shows some without their output.

    Blocks with a title, as `with files of your own`, are left out.
    """
    if re.search(r"^ *```sh$", page, re.MULTILINE) is None:
        return None
    lines = []
    for kind, code in re.findall(
        r"^ *```(console|sh)\n(.*?)^ *```$", page, re.DOTALL | re.MULTILINE
    ):
        if kind == "sh":
            lines.append(code)
            continue
        lines += [written.removeprefix("$ ") for written, _ in entries(code)]
    return "\n".join(lines)


def first_code(page: str) -> re.Match[str] | None:
    """Return the match of the first block that is not about how to get the examples."""
    return next(
        (one for one in BEGINNING.finditer(page) if "portmert examples" not in one[2]), None
    )


def refreshed(page: str) -> str:
    """Return the page with the present output of its commands; run beside configs/."""
    variables: dict[str, str] = {}

    def refresh(match: re.Match[str]) -> str:
        parts = []
        for written, old_output in entries(match[1]):
            command = written.removeprefix("$ ").replace("\\\n", " ").strip()
            if re.fullmatch(r"([A-Z]+=\S+ ?)+", command):
                variables.update(re.findall(r"([A-Z]+)=(\S+)", command))
            for name, value in variables.items():
                command = command.replace(f"${name}", value)
            output = old_output
            if runnable(command):
                head = HEAD.fullmatch(command)
                words = shlex.split(head[1] if head else command)[1:]
                result = CliRunner().invoke(main, words, prog_name="portmert")
                output = result.output
                if head:
                    shown = result.stdout.splitlines(keepends=True)[: int(head[2])]
                    output = result.stderr + "".join(shown)
                output = re.sub(r"[ ]+\n", "\n", COMPILING.sub("", output))
            parts.append(written + output)
        return f"```console\n{''.join(parts)}```\n"

    return BLOCK.sub(refresh, page)


def without_times(page: str) -> str:
    """Return the page with 0.0 in place of all seconds."""
    return SECONDS.sub("0.0 s", page)


def in_a_copy(pages: list[Path]) -> dict[Path, str]:
    """Return each page with the present output; all commands run in one new folder."""
    columns = os.environ.get("COLUMNS")
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        shutil.copytree(ROOT / "configs", "configs", ignore=shutil.ignore_patterns("_*"))
        os.environ["COLUMNS"] = "100"
        try:
            return {page: refreshed(page.read_text(encoding="utf-8")) for page in pages}
        finally:
            if columns is None:
                del os.environ["COLUMNS"]
            else:
                os.environ["COLUMNS"] = columns


@click.command(epilog="Without names: all pages and notebooks.")
@click.argument("names", nargs=-1, metavar="[PAGE]...")
def rewrite(names: tuple[str, ...]) -> None:
    """Put the present output of commands into pages and notebooks, as README.md or rerank.md."""
    paths = [*PAGES, *NOTEBOOKS]
    for name in names:
        if not any(path.as_posix().endswith(f"/{name}") for path in paths):
            raise click.UsageError(f"{name}: there is no such page")
    selected = [p for p in paths if p.as_posix().endswith(tuple(f"/{end}" for end in names) or "")]
    for path, text in in_a_copy([path for path in selected if path in PAGES]).items():
        if without_times(text) != without_times(path.read_text(encoding="utf-8")):
            path.write_text(text, encoding="utf-8")
    for path in selected:
        if path in NOTEBOOKS:
            path.write_text(executed(path), encoding="utf-8")


if __name__ == "__main__":
    rewrite()
