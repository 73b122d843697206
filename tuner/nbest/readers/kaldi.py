"""Read n-best archives of Kaldi, as text."""

import re
from collections.abc import Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ...base.errors import InputError, counted
from ..extra import keyed_lines, number_under, read_keyed
from . import _base


@dataclass(frozen=True)
class Kaldi(_base.CollectingReader):
    """Read `utt-1 words`, the first hypothesis of utterance `utt`, `utt-2 words` and so on.

    The file has words, not word ids. Costs and scores are in other files with the same keys, lines
    as `utt-1 12.3`, which nbest-to-linear writes. They may have numbers of other utterances too.
    `kaldi:ac=FILE,lm=FILE` names two files of costs.

    Parameters
    ----------
    costs
        Files of costs, `NAME=FILE`, joined by `+`. Less is better, so costs are negated, and the
        feature of NAME is called `-NAME`. Files of one NAME are parts of one archive.
    """

    costs: str = ""

    title: ClassVar[str] = "Kaldi"
    named_files: ClassVar[str] = "costs"
    example: ClassVar[tuple[str, ...]] = ("", "0-1 a b\n", "0-2 b\n", "1-1\n")

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether lines begin with keys of which each utterance's count from 1."""
        before, last = "", 0
        for line in head:
            match = re.fullmatch(r"(\S+-([1-9][0-9]{0,8}))(?:[ \t]+(.*))?", line)
            if match is None or "\t" in line or " ||| " in line:
                return False
            name, number = match[1].rpartition("-")[0], int(match[2])
            if number != (last + 1 if name == before else 1):
                return False
            before, last = name, number
        return True

    def collect(self, file: _base.ListFile) -> _base.Collector:
        """Return the hypotheses of a whole file."""
        archives: dict[str, list[str]] = {}
        for name, path in self.named():
            archives.setdefault(f"-{name.removeprefix('-')}", []).append(path)
        columns: dict[str, tuple[str, dict[str, float]]] = {}
        for name, paths in archives.items():
            known: dict[str, float] = {}
            for path in paths:
                more = read_keyed(path)
                twice = next((key for key in more if key in known), None)
                if twice is not None:
                    raise InputError(f"{path}: {twice} stands in another file of {name} too")
                known |= more
            negated = {key: 0.0 - value for key, value in known.items()}
            columns[name] = "+".join(paths), negated
        collector = _base.Collector(file, tuple((name, 1) for name in columns))
        used: set[str] = set()
        for number, key, text in keyed_lines(file.lines(), file.where):
            used.add(key)
            values = [number_under(key, known, at, file.where) for at, known in columns.values()]
            name, _, rank = key.rpartition("-")
            segment = collector.named_segment(number, name)
            collector.add(number, segment=segment, text=text, values=values, rank=int(rank))
        remarks = ["costs times -1"] if self.costs else []
        utterances = {key.rpartition("-")[0] for key in used}
        for at, known in columns.values():
            left = [key for key in known if key not in used]
            own = [key for key in left if key.rpartition("-")[0] in utterances]
            _base.check_all_used(at, own, file)
            if left:
                remarks.append(f"{counted(len(left), 'number')} of other lists in {at}")
        collector.remark = ", ".join(remarks) if columns else "no costs (kaldi:NAME=FILE)"
        return collector
