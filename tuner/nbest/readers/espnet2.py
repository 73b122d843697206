"""Read the folders of ESPnet 2."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.ground.errors import InputError
from portmert.tuner.ground.files import read_lines
from portmert.tuner.nbest.extra import plain_number
from portmert.tuner.nbest.readers import _base

_TABLE = re.compile(r"(?:.*/)?([1-9][0-9]{0,8})best_recog/[^/]+")


@dataclass(frozen=True)
class Espnet2(_base.CollectingReader):
    """Read a folder with `1best_recog/text`, `1best_recog/score`, `2best_recog/text` and so on.

    asr_inference.py writes them. The folder of a whole decoding has them below
    `logdir/output.1`, `logdir/output.2` and so on; they are read together. A line of a table is
    the name of an utterance and its value.
    """

    title: ClassVar[str] = "ESPnet 2"

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether the lines are names of such tables."""
        return all(_TABLE.fullmatch(line) for line in head)

    def collect(self, file: _base.ListFile) -> _base.Collector:
        """Return the hypotheses of a whole folder."""
        collector = _base.Collector(file, (("score", 1),))
        for rank, folder in _folders(file):
            path, used = folder / "score", set()
            scores = {
                key: plain_number(value, f"{path}:{line}") for line, key, value in _lines(path)
            }
            for line, key, text in _lines(folder / "text"):
                if key not in scores:
                    raise InputError(f"{path}: nothing for {key}, which text has")
                used.add(key)
                place = f"{folder.relative_to(file.where) / 'text'}:{line}"
                segment = collector.named_segment(place, key)
                collector.add(place, segment=segment, text=text, values=[scores[key]], rank=rank)
            _base.check_all_used(path, [key for key in scores if key not in used], file)
        return collector


def _folders(file: _base.ListFile) -> list[tuple[int, Path]]:
    """Return the rank and the path of each folder of tables, in order of rank and job."""
    found = set()
    for line in file.lines():
        match = _TABLE.fullmatch(line)
        if match is None:
            raise InputError(f"{file.where}: {line} is no table like 1best_recog/text")
        found.add((int(match[1]), Path(file.where, line).parent))

    def place(one: tuple[int, Path]) -> tuple[int, list[tuple[int, str]]]:
        parts = re.split(r"([0-9]+)", str(one[1]))
        return one[0], [(int(part), "") if part.isdigit() else (-1, part) for part in parts]

    return sorted(found, key=place)


def _lines(path: Path) -> list[tuple[int, str, str]]:
    """Return number, utterance and value of each line of a table."""
    lines, known = [], set()
    for number, line in enumerate(read_lines(path), 1):
        key, _, value = line.strip(" ").partition(" ")
        if not key:
            raise InputError(f"{path}:{number}: empty line, expected an utterance and its value")
        if key in known:
            raise InputError(f"{path}:{number}: {key} stands twice")
        known.add(key)
        lines.append((number, key, value.strip()))
    return lines
