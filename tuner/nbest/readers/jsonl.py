"""Read lists of JSON lines."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.nbest.readers import _json as js
from portmert.tuner.nbest.readers._base import ListFile, Place
from portmert.tuner.nbest.readers._json import JsonReader

FEATURES = "features"
"""The key of the scores where no other is named; then it need not be there."""


@dataclass(frozen=True)
class Jsonl(JsonReader):
    """Read a JSON object a line: a hypothesis, or a segment with the list of its hypotheses.

    A dot leads to a key of an inner object: `meta.score`.

    Parameters
    ----------
    id
        Key of the segment id: a number from 0, or a name. If each line is a segment, it may be
        missing; the n-th line is then segment n - 1.
    hypotheses
        If each line is a segment: key of its list of hypotheses, which are objects.
    text
        Key of the hypothesis.
    features
        Key of the scores: a number, or an object of names and numbers (or lists of numbers).
        Several keys are joined by `+`. The key may be missing; features can be added otherwise.
    score
        Key of the model's own score, which is not a feature; it may be missing.
    links
        Key of the word alignment, `"0-0 1-1"` or `[[0, 0], [1, 1]]`; it may be missing.
    """

    id: str = "id"
    hypotheses: str = "hypotheses"
    text: str = "text"
    features: str = FEATURES
    score: str = "model_score"
    links: str = "links"

    title: ClassVar[str] = "JSON lines"
    example: ClassVar[tuple[str, ...]] = (
        "",
        '{"id": 0, "text": "a b", "features": {"LM": -1.5}}\n',
        '{"id": 0, "text": "b", "features": {"LM": -1}}\n',
        '{"id": 1, "text": "", "features": {"LM": -2}}\n',
    )

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether every line is in braces, and none is of a format that has a reader."""
        in_braces = all(line.startswith("{") and line.rstrip().endswith("}") for line in head)
        return in_braces and js.dialect(head) is None

    def found(self, file: ListFile) -> Iterator[js.Hypothesis]:
        """Yield the hypotheses of a whole file."""
        for place, number, content in js.objects(file):
            listed = js.get(content, self.hypotheses)
            segment = js.segment_id(
                file, place, content, self.id, None if listed is None else number - 1
            )
            items = [content]
            if listed is not None:
                expected = "a list of objects"
                items = js.get_list(file, place, content, self.hypotheses, dict, expected)
            for item in items:
                has_none = self.features == FEATURES and js.get(item, FEATURES) is None
                names, values = js.features(file, place, item, "" if has_none else self.features)
                text = js.get_text(file, place, item, self.text)
                score = js.get(item, self.score)
                yield js.Hypothesis(
                    place,
                    segment,
                    text,
                    names,
                    values,
                    0.0 if score is None else js.number(file, place, self.score, score),
                    self._links(file, place, js.get(item, self.links)),
                    item,
                )

    def _links(self, file: ListFile, place: Place, found: Any) -> str | None:
        if isinstance(found, list) and all(
            isinstance(pair, list) and len(pair) == 2 and all(type(x) is int for x in pair)
            for pair in found
        ):
            return " ".join(f"{i}-{j}" for i, j in found)
        if found is not None and not isinstance(found, str):
            js.wrong(file, place, self.links, found, '"0-0 1-1" or [[0, 0], [1, 1]]')
        return found
