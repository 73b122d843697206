"""Read n-best archives of Kaldi, as text.

Its plain texts (`id words`) are read in texts/joining.py, utt2spk in texts/groups.py.
"""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.base.errors import InputError, counted
from portmert.tuner.nbest.feature_files import keyed_lines, number_under, read_keyed
from portmert.tuner.nbest.readers._base import Reader, check_all_used
from portmert.tuner.nbest.records import Hypothesis, ListFile


@dataclass(frozen=True)
class Kaldi(Reader):
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

    def records(self, file: ListFile) -> Iterator[Hypothesis]:
        """Yield the hypotheses of a whole file."""
        costs = self._costs()
        unused = {name: dict.fromkeys(by_key) for name, (_, by_key) in costs.items()}
        utterances = set()
        for number, key, text in keyed_lines(list(file.lines()), file.where):
            utterance, _, rank = key.rpartition("-")
            utterances.add(utterance)
            features: dict[str, float | list[float]] = {}
            for name, (files, by_key) in costs.items():
                features[name] = 0.0 - number_under(key, by_key, files, file.where)
                del unused[name][key]
            yield Hypothesis(number, utterance, text, features, rank=int(rank))
        file.remarks.append("costs times -1" if self.costs else "no costs (kaldi:NAME=FILE)")
        for name, (files, _) in costs.items():
            in_list = [key for key in unused[name] if key.rpartition("-")[0] in utterances]
            check_all_used(files, in_list, file)
            if unused[name]:
                count = counted(len(unused[name]), "number")
                file.remarks.append(f"{count} of other lists in {files}")

    def _costs(self) -> dict[str, tuple[str, dict[str, float]]]:
        """Return files and costs by key of each feature."""
        costs: dict[str, tuple[str, dict[str, float]]] = {}
        for name, path in self.pairs_of_files():
            feature = f"-{name.removeprefix('-')}"
            files, by_key = costs.get(feature, ("", {}))
            part = read_keyed(path)
            twice = next((key for key in part if key in by_key), None)
            if twice is not None:
                raise InputError(f"{path}: {twice} stands in another file of {feature} too")
            costs[feature] = f"{files}+{path}".removeprefix("+"), by_key | part
        return costs
