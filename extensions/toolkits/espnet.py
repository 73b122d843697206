"""Read what ESPnet's recognisers write: JSON of ESPnet 1, folders of ESPnet 2."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.base import options
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.files import read_lines
from portmert.tuner.nbest.feature_files import plain_number
from portmert.tuner.nbest.readers import _json as js
from portmert.tuner.nbest.readers._base import Reader, check_all_used
from portmert.tuner.nbest.readers._json import JsonObject, JsonReader
from portmert.tuner.nbest.records import Hypothesis, ListFile

_TABLE = re.compile(r"(?:.*/)?([1-9][0-9]{0,8})best_recog/[^/]+")


@dataclass(frozen=True)
class Espnet(JsonReader):
    """Read `{"utts": {"utt-1": {"output": [{"rec_text": "a b", "score": -1.5}, ...]}, ...}}`.

    This is the output of asr_recog.py of ESPnet 1. A final `<eos>` is removed. ESPnet 2 writes
    folders of tables: `espnet2`.

    Parameters
    ----------
    text
        Key of the hypothesis, `rec_text` or `rec_token`.
    features
        Keys of the scores, joined by `+`.
    """

    text: str = "rec_text"
    features: str = "score"

    title: ClassVar[str] = "ESPnet"
    example: ClassVar[tuple[str, ...]] = (
        '{"utts": {"0": {"output": [\n',
        '{"rec_text": "a b<eos>", "score": -1.5},\n',
        '{"rec_text": "b<eos>", "score": -1}]},\n',
        '"1": {"output": [{"rec_text": "", "score": -2}]}}}\n',
    )

    def records(self, file: ListFile) -> Iterator[Hypothesis]:
        """Yield the hypotheses of a whole file."""
        content, keys = js.document(file), options.names(self.features, "+")
        utterances = content.get("utts")
        if not isinstance(utterances, dict):
            content.wrong("utts", utterances, "an object of utterances")
        for name, value in utterances.items():
            if not isinstance(value, dict):
                at = JsonObject(file, "utts", utterances)
                at.wrong(name, value, "an object with its output", inside=True)
            utterance = JsonObject(file, f"utts.{name}", value)
            outputs = utterance.entries("output", dict, "a list of objects")
            for number, output in enumerate(outputs, 1):
                item = JsonObject(file, f"{utterance.place}.output, hypothesis {number}", output)
                features = item.features(keys)
                text = item.text(self.text).strip().removesuffix("<eos>")
                yield Hypothesis(item.place, name, text, features)


@dataclass(frozen=True)
class Espnet2(Reader):
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

    def records(self, file: ListFile) -> Iterator[Hypothesis]:
        """Yield the hypotheses of a whole folder."""
        for rank, folder in _folders(file):
            path = folder / "score"
            scores = {
                key: plain_number(value, f"{path}:{line}") for line, key, value in _lines(path)
            }
            unused = dict.fromkeys(scores)
            for line, key, text in _lines(folder / "text"):
                if key not in scores:
                    raise InputError(f"{path}: nothing for {key}, which text has")
                del unused[key]
                place = f"{folder.relative_to(file.where) / 'text'}:{line}"
                yield Hypothesis(place, key, text, {"score": scores[key]}, rank=rank)
            check_all_used(path, list(unused), file)


def _folders(file: ListFile) -> list[tuple[int, Path]]:
    """Return the rank and the path of each folder of tables, in order of rank and job."""
    folders = set()
    for line in file.lines():
        match = _TABLE.fullmatch(line)
        if match is None:
            raise InputError(f"{file.where}: {line} is no table like 1best_recog/text")
        folders.add((int(match[1]), Path(file.where, line).parent))

    def order(ranked: tuple[int, Path]) -> tuple[int, list[tuple[int, str]]]:
        rank, folder = ranked
        parts = re.split(r"([0-9]+)", str(folder))
        return rank, [(int(part), "") if part.isdigit() else (-1, part) for part in parts]

    return sorted(folders, key=order)


def _lines(path: Path) -> list[tuple[int, str, str]]:
    """Return number, utterance and value of each line of a table."""
    lines, keys = [], set()
    for number, line in enumerate(read_lines(path), 1):
        key, _, value = line.strip(" ").partition(" ")
        if not key:
            raise InputError(f"{path}:{number}: empty line, expected an utterance and its value")
        if key in keys:
            raise InputError(f"{path}:{number}: {key} stands twice")
        keys.add(key)
        lines.append((number, key, value.strip()))
    return lines
