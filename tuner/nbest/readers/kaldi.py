"""Read n-best archives of Kaldi, as text."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.ground.errors import InputError
from portmert.tuner.nbest.readers._base import (
    CollectingReader,
    Collector,
    ListFile,
    check_all_used,
    finite_number,
    read_list,
)

_LINE = re.compile(r"(\S+-([1-9][0-9]{0,8}))(?:[ \t]+(.*))?")
_TENSOR = re.compile(r"tensor\(([^,()]*)(?:,[^()]*)?\)")


@dataclass(frozen=True)
class Kaldi(CollectingReader):
    """Read `utt-1 words`, the first hypothesis of utterance `utt`, `utt-2 words` and so on.

    The file has words, not word ids. Costs and scores are in other files with the same keys, lines
    as `utt-1 12.3`, which nbest-to-linear writes. The name of a feature is that of its file up to
    the first dot.

    Parameters
    ----------
    costs
        Files of costs, joined by `+`. Less is better, so costs are negated, and the feature of
        `ac_cost` is called `-ac_cost`.
    scores
        Files of scores, joined by `+`. More is better.
    """

    costs: str = ""
    scores: str = ""

    title: ClassVar[str] = "Kaldi"
    beside: ClassVar[tuple[str, ...]] = ("costs", "scores")
    keyed: ClassVar[bool] = True
    example: ClassVar[tuple[str, ...]] = ("", "0-1 a b\n", "0-2 b\n", "1-1\n")

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether lines begin with keys of which each utterance's count from 1."""
        before, last = "", 0
        for line in head:
            match = _LINE.fullmatch(line)
            if match is None or "\t" in line or " ||| " in line:
                return False
            name, number = match[1].rpartition("-")[0], int(match[2])
            if number != (last + 1 if name == before else 1):
                return False
            before, last = name, number
        return True

    def collect(self, file: ListFile, segments: int | None) -> Collector:
        """Return the hypotheses of a whole file."""
        columns: dict[str, tuple[ListFile, dict[str, float]]] = {}
        for option, sign in (("costs", -1.0), ("scores", 1.0)):
            for path in filter(None, getattr(self, option).split("+")):
                stem = Path(path).name.partition(".")[0]
                name = f"-{stem}" if sign < 0 else stem
                if name in columns:
                    raise InputError(f"{path}: a second file of a feature '{name}'; rename it")
                other = read_list(path)
                columns[name] = (
                    other,
                    {
                        key: sign * finite_number(other, number, _plain(text), "the value") + 0.0
                        for number, key, text in _keyed(other)
                    },
                )
        collector = Collector(file, tuple((name, 1) for name in columns), segments)
        used = set()
        for number, key, text in _keyed(file):
            used.add(key)
            values = []
            for other, known in columns.values():
                if key not in known:
                    some = ", ".join(list(known)[:3])
                    raise InputError(
                        f"{other.where}: nothing for {key}, which {file.where} has (found: "
                        f"{some}, ...); give the file of this list"
                    )
                values.append(known[key])
            segment = collector.named_segment(number, key.rpartition("-")[0])
            collector.add(number, segment=segment, text=text, values=values)
        for other, known in columns.values():
            check_all_used(other, [key for key in known if key not in used], file)
        if columns and self.costs:
            collector.remark = "costs times -1"
        elif not columns:
            collector.remark = "no costs (kaldi:costs=FILE+FILE)"
        return collector


def _keyed(file: ListFile) -> Iterator[tuple[int, str, str]]:
    """Yield number, key and rest of each line."""
    known: dict[str, int] = {}
    for number, line in enumerate(file.lines(), 1):
        match = _LINE.fullmatch(line.strip(" "))
        if match is None:
            file.fail(number, f"'{line}' does not begin with a key of a hypothesis, like utt-1")
        if match[1] in known:
            file.fail(number, f"{match[1]} stands twice, first in line {known[match[1]]}")
        known[match[1]] = number
        yield number, match[1], match[3] or ""


def _plain(text: str) -> str:
    """Return a number as it may be printed by PyTorch."""
    match = _TENSOR.fullmatch(text.strip())
    return match[1] if match else text
