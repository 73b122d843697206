"""A reader: `segment;hypothesis;value`."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.nbest.readers._base import Collector, Reader


@dataclass(frozen=True)
class Semicolons(Reader):
    """Reads lines of a segment id, a hypothesis and one value, separated by semicolons."""

    title: ClassVar[str] = "semicolons"
    example: ClassVar[tuple[str, ...]] = ("", "0;a b;-1.5\n", "0;b;-1\n", "1;;-2\n")

    @classmethod
    def recognises(cls, head):
        return all(line.count(";") == 2 and "|||" not in line for line in head)

    def read(self, file, vocabulary):
        collector = Collector(file, (("Value", 1),))
        for number, line in enumerate(file.lines(), 1):
            segment, text, value = line.split(";")
            collector.add(
                number,
                segment=collector.segment(number, segment),
                text=text,
                values=[collector.number(number, value, "Value")],
            )
        return collector.finish(vocabulary)
