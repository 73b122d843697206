"""Read JSON of mlm-scoring."""

import re
from collections.abc import Iterator
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ...base.errors import InputError
from . import _json as js
from ._base import ListFile, check_all_used, read_list
from ._json import JsonObject, JsonReader


@dataclass(frozen=True)
class MlmScoring(JsonReader):
    """Read `{"utt-1": {"hyp_1": {"score": -1.5, "text": "a b"}, ..., "ref": "a b"}, ...}`.

    Hypotheses are ordered by their numbers. References are ignored. The feature is `score`.
    `mlm-scoring:bert=FILE` adds a feature.

    Parameters
    ----------
    scores
        More files of this format with the same hypotheses, `NAME=FILE`, joined by `+`.
    """

    scores: str = ""

    title: ClassVar[str] = "mlm-scoring"
    named_files: ClassVar[str] = "scores"
    example: ClassVar[tuple[str, ...]] = (
        '{"0": {\n',
        '"hyp_1": {"score": -1.5, "text": "a b"},\n',
        '"hyp_2": {"score": -1, "text": "b"}},\n',
        '"1": {"hyp_1": {"score": -2, "text": ""}, "ref": "a"}}\n',
    )

    def found(self, file: ListFile) -> Iterator[js.Hypothesis]:
        """Yield the hypotheses of a whole file."""
        added = self.named()
        others, names = [], ["score"]
        for name, path in added:
            if name in names:
                raise InputError(f"{path}: there is a feature '{name}' already; choose another")
            names.append(name)
        for _, path in added:
            other = read_list(path)
            others.append((other, {item.place: item for _, item in _hypotheses(other)}))
        columns = tuple((name, 1) for name in names)
        for segment, item in _hypotheses(file):
            text = item.text("text")
            values = [item.number("score")]
            for other, known in others:
                same = known.pop(item.place, None)
                if same is None or same.get("text") != text:
                    other.fail(
                        item.place, f"not the hypothesis '{text}' that {file.where} has there"
                    )
                values.append(same.number("score"))
            yield js.Hypothesis(item.place, segment, text, columns, values, values[0])
        for other, known in others:
            check_all_used(other.where, [str(place) for place in known], file)


def _hypotheses(file: ListFile) -> Iterator[tuple[str, JsonObject]]:
    """Yield the utterance and the object of each hypothesis in its order; `utt-1.hyp_1` is it."""
    content = js.document(file)
    for name, found in content.content.items():
        if not isinstance(found, dict):
            content.wrong(name, found, "an object of hypotheses hyp_1, hyp_2, ...", inside=True)
        utterance = JsonObject(file, name, found)
        keys = (re.fullmatch(r"hyp_([1-9][0-9]{0,8})", key) for key in found)
        numbers = sorted(int(match[1]) for match in keys if match)
        if not numbers:
            utterance.wrong("hyp_1", None, "a hypothesis")
        for key in (f"hyp_{number}" for number in numbers):
            item = utterance.get(key)
            if not isinstance(item, dict):
                utterance.wrong(key, item, "an object of text and score")
            yield name, JsonObject(file, f"{name}.{key}", item)
