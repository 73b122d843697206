"""Read JSON of mlm-scoring."""

import re
from collections.abc import Iterator
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.base.errors import InputError
from portmert.tuner.nbest.readers import _json as js
from portmert.tuner.nbest.readers._base import check_all_used
from portmert.tuner.nbest.readers._json import JsonObject, JsonReader
from portmert.tuner.nbest.records import Hypothesis, ListFile, Place, read_list


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

    def records(self, file: ListFile) -> Iterator[Hypothesis]:
        """Yield the hypotheses of a whole file."""
        other_lists: dict[str, tuple[ListFile, dict[Place, JsonObject]]] = {}
        for name, path in self.pairs_of_files():
            if name == "score" or name in other_lists:
                raise InputError(f"{path}: there is a feature '{name}' already; choose another")
            other_file = read_list(path)
            other_lists[name] = (
                other_file,
                {item.place: item for _, item in _hypotheses(other_file)},
            )
        for segment, item in _hypotheses(file):
            text, score = item.text("text"), item.number("score")
            features = {"score": score}
            for name, (other_file, by_place) in other_lists.items():
                same = by_place.pop(item.place, None)
                if same is None or same.get("text") != text:
                    other_file.fail(
                        item.place, f"not the hypothesis '{text}' that {file.where} has there"
                    )
                features[name] = same.number("score")
            yield Hypothesis(item.place, segment, text, features, score)
        for other_file, by_place in other_lists.values():
            check_all_used(other_file.where, [str(place) for place in by_place], file)


def _hypotheses(file: ListFile) -> Iterator[tuple[str, JsonObject]]:
    """Yield the utterance and the object, whose place is `utt-1.hyp_1`, of each hypothesis."""
    content = js.document(file)
    for name, value in content.content.items():
        if not isinstance(value, dict):
            content.wrong(name, value, "an object of hypotheses hyp_1, hyp_2, ...", inside=True)
        utterance = JsonObject(file, name, value)
        keys = (re.fullmatch(r"hyp_([1-9][0-9]{0,8})", key) for key in value)
        numbers = sorted(int(match[1]) for match in keys if match)
        if not numbers:
            utterance.wrong("hyp_1", None, "a hypothesis")
        for key in (f"hyp_{number}" for number in numbers):
            item = utterance.get(key)
            if not isinstance(item, dict):
                utterance.wrong(key, item, "an object of text and score")
            yield name, JsonObject(file, f"{name}.{key}", item)
