"""Read lists of JSON lines."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.ground.columns import failure_of
from portmert.tuner.nbest.readers import _json as js
from portmert.tuner.nbest.readers._base import ListFile, index_in
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

    joined: ClassVar[tuple[str, ...]] = ("features",)
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

    def found(self, file: ListFile) -> Iterator[js.Hypothesis | js.Failed]:
        """Yield the hypotheses of a whole file, and the requests that failed."""
        for number, whole in js.objects(file):
            is_list = whole.get(self.hypotheses) is not None
            reason = None if is_list or self.text in whole.content else failure_of(whole.content)
            segment = whole.segment(self.id, number - 1 if is_list or reason else None)
            if reason:
                yield js.Failed(whole.place, segment, reason)
                continue
            items = [whole.content]
            if is_list:
                items = whole.entries(self.hypotheses, dict, "a list of objects")
            for content in items:
                item = js.JsonObject(file, whole.place, content)
                has_none = self.features == FEATURES and item.get(FEATURES) is None
                names, values = item.features("" if has_none else self.features)
                text = item.text(self.text)
                score = 0.0 if item.get(self.score) is None else item.number(self.score)
                links = self._links(item)
                yield js.Hypothesis(
                    item.place, segment, text, names, values, score, links, content,
                    index_in(content),
                )  # fmt: skip

    def _links(self, item: js.JsonObject) -> str | None:
        found = item.get(self.links)
        if isinstance(found, list) and all(
            isinstance(pair, list) and len(pair) == 2 and all(type(x) is int for x in pair)
            for pair in found
        ):
            return " ".join(f"{i}-{j}" for i, j in found)
        if found is not None and not isinstance(found, str):
            item.wrong(self.links, found, '"0-0 1-1" or [[0, 0], [1, 1]]')
        return found
