"""Read JSON of mlm-scoring."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.ground.errors import InputError
from portmert.tuner.nbest.readers import _json as js
from portmert.tuner.nbest.readers._base import ListFile, check_all_used, read_list
from portmert.tuner.nbest.readers._json import JsonReader

_HYPOTHESIS = re.compile(r"hyp_([1-9][0-9]{0,8})")


@dataclass(frozen=True)
class MlmScoring(JsonReader):
    """Read `{"utt-1": {"hyp_1": {"score": -1.5, "text": "a b"}, ..., "ref": "a b"}, ...}`.

    Hypotheses are ordered by their numbers. References are ignored. The feature is `score`.

    Parameters
    ----------
    scores
        More files of this format with the same hypotheses, joined by `+`. The name of each feature
        is that of its file up to the first dot.
    """

    scores: str = ""

    title: ClassVar[str] = "mlm-scoring"
    beside: ClassVar[tuple[str, ...]] = ("scores",)
    example: ClassVar[tuple[str, ...]] = (
        '{"0": {\n',
        '"hyp_1": {"score": -1.5, "text": "a b"},\n',
        '"hyp_2": {"score": -1, "text": "b"}},\n',
        '"1": {"hyp_1": {"score": -2, "text": ""}, "ref": "a"}}\n',
    )

    def found(self, file: ListFile) -> Iterator[js.Hypothesis]:
        """Yield the hypotheses of a whole file."""
        others = {}
        for path in filter(None, self.scores.split("+")):
            name = Path(path).name.partition(".")[0]
            if name in others or name == "score":
                raise InputError(f"{path}: there is a feature '{name}' already; rename the file")
            other = read_list(path)
            others[name] = other, dict(_hypotheses(other))
        names = (("score", 1), *((name, 1) for name in others))
        for place, item in _hypotheses(file):
            text = js.get_text(file, place, item, "text")
            values = [js.number(file, place, "score", item.get("score"), of=item)]
            for other, known in others.values():
                same = known.pop(place, None)
                if same is None or same.get("text") != item["text"]:
                    other.fail(place, f"not the hypothesis '{text}' that {file.where} has there")
                values.append(js.number(other, place, "score", same.get("score"), of=same))
            segment = place.rpartition(".")[0]
            yield js.Hypothesis(place, segment, text, names, values, values[0])
        for other, left in others.values():
            check_all_used(other, list(left), file)


def _hypotheses(file: ListFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place, `utt-1.hyp_1`, and the object of each hypothesis in its order."""
    for name, utterance in js.document(file).items():
        if not isinstance(utterance, dict):
            js.wrong(file, 1, name, utterance, "an object of hypotheses hyp_1, hyp_2, ...")
        numbers = sorted(
            int(match[1]) for key in utterance if (match := _HYPOTHESIS.fullmatch(key))
        )
        if not numbers:
            js.wrong(file, name, "hyp_1", utterance.get("hyp_1"), "a hypothesis", of=utterance)
        for number in numbers:
            item = utterance[f"hyp_{number}"]
            if not isinstance(item, dict):
                js.wrong(file, name, f"hyp_{number}", item, "an object of text and score")
            yield f"{name}.hyp_{number}", item
