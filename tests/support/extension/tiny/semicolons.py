"""A reader: `segment;hypothesis;value`."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.nbest.readers._base import Reader
from portmert.tuner.nbest.records import Hypothesis


@dataclass(frozen=True)
class Semicolons(Reader):
    """Reads lines of a segment id, a hypothesis and one value, separated by semicolons."""

    title: ClassVar[str] = "semicolons"
    example: ClassVar[tuple[str, ...]] = ("", "0;a b;-1.5\n", "0;b;-1\n", "1;;-2\n")

    @classmethod
    def recognises(cls, head):
        return all(line.count(";") == 2 and "|||" not in line for line in head)

    def records(self, file):
        for number, line in enumerate(file.lines(), 1):
            segment, text, value = line.split(";")
            features = {"Value": file.number(number, value, "Value")}
            yield Hypothesis(number, segment, text, features)
