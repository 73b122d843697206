"""Says what a target is: a call of a program, and which of its files are damaged."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portmert.tuner.cli import main
from tests.crash.trials import content


@dataclass(frozen=True)
class Target:
    """Stands for a call; `{}` in its words is the damaged file, its first pattern's name."""

    name: str
    words: tuple[str, ...]
    damaged: tuple[str, ...]
    """Patterns of files of which one is damaged."""
    out: tuple[str, ...] = ()
    """What is written when all goes well, and otherwise not."""
    changed: tuple[str, ...] = ()
    """Folders in which files may change."""
    then: Any = None
    """What is tried in the child when the command has accepted its input."""
    packs: bool = False
    """Whether the damaged file may be compressed."""
    program: Any = None
    """What is called with the words; None: portmert."""
    voice: str = "portmert"
    """What the program calls itself in messages."""
    statuses: tuple[int, ...] = (0, 1, 2)
    """How it may end."""
    names: tuple[str, ...] = ()
    """What a message may name besides files."""

    def command(self, damaged: str) -> list[str]:
        """Return the words of the call; for `@` stand those of the damaged file, a line each."""
        words = []
        for word in self.words:
            if word == "@":
                words += option_lines(Path(damaged))
            else:
                words.append(word.replace("{}", damaged))
        return words

    def call(self, words: list[str]) -> int:
        """Call the program, and return its exit status."""
        if self.program is not None:
            return self.program(words)
        try:
            main(args=words, prog_name="portmert")
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        return 0


class Same:
    """Demands that a command which goes on in a damaged folder ends with what it had."""

    def __init__(self, folder):
        self.name, self.files = folder.name, _read(folder)

    def __call__(self, _):
        found = _read(Path(self.name))
        for name in found.keys() & self.files.keys():
            if Path(name).name == "digests.json":  # a digest that is gone harms no result
                found[name] = self.files[name] | found[name]
        names = {**found, **self.files}
        differ = [name for name in names if found.get(name) != self.files.get(name)]
        assert not differ, differ


def _read(folder):
    """Return what the files of a folder say."""
    return {
        name: json.loads(data) if name.endswith(".json") else data
        for name, data in content(folder).items()
    }


def option_lines(path):
    """Return the lines of a file as words of a command line, which have no NUL."""
    lines = path.read_bytes().replace(b"\0", b"").split(b"\n")
    return [line.decode("utf-8", "surrogateescape") for line in lines if line]


def new_place(folder, name):
    """Make the folder of a target's good files."""
    place = folder / name
    place.mkdir(parents=True)
    return place
