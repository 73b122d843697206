"""Reads lists of JSON lines."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from pydantic.dataclasses import dataclass

from tuner.documents import parse_json
from tuner.errors import InputError
from tuner.nbest.readers._base import CollectingReader, Collector, ListFile, shown
from tuner.numbers import FINITE, bounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuner.weights.feature_weights import FeatureNames


@dataclass(frozen=True)
class Jsonl(CollectingReader):
    """Reads a JSON object a line: a hypothesis, or a segment with the list of its hypotheses.

    A key inside an object inside is written with a dot: `meta.score`.

    Parameters
    ----------
    id
        Key of the segment id, from 0. A segment a line may leave it out: the n-th line is then
        segment n - 1.
    hypotheses
        Key of the list of hypotheses, objects, where there is a segment a line.
    text
        Key of the hypothesis.
    features
        Key of the scores: a number, or an object of names and numbers (or lists of numbers);
        several keys are joined by `+`.
    score
        Key of the model's own score, which is not tuned; may be left out.
    links
        Key of the word alignment, `"0-0 1-1"` or `[[0, 0], [1, 1]]`; may be left out.
    """

    id: str = "id"
    hypotheses: str = "hypotheses"
    text: str = "text"
    features: str = "features"
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
        """Whether every line is in braces."""
        return all(line.startswith("{") and line.rstrip().endswith("}") for line in head)

    def collect(self, file: ListFile, segments: int | None) -> Collector:
        """Return the hypotheses of a whole file."""
        collector: Collector | None = None
        for number, segment, item in self._items(file):
            names, values = self._features(file, number, item)
            if collector is None:
                collector = Collector(file, names, segments)
            elif names != collector.names:
                file.fail(
                    number,
                    f"features {_listed(names)}, the first hypothesis has "
                    f"{_listed(collector.names)}",
                )
            text = _get(item, self.text)
            if not isinstance(text, str):
                _wrong(file, number, self.text, text, "a text")
            score = _get(item, self.score)
            collector.add(
                number,
                segment=collector.segment(number, str(segment)),
                text=text,
                values=values,
                score=0.0 if score is None else _number(file, number, self.score, score),
                links=self._links(collector, number, _get(item, self.links)),
            )
        if collector is None:
            raise InputError(f"{file.where}: no hypothesis in the file")
        return collector

    def _items(self, file: ListFile) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield line, segment id and object of each hypothesis."""
        for number, line in enumerate(file.lines(), 1):
            try:
                content = parse_json(line)
            except ValueError as error:
                reason = getattr(error, "msg", str(error))
                file.fail(number, f"not JSON: {reason}; expected one object a line")
            if not isinstance(content, dict):
                file.fail(number, f"'{shown(line)}' is no JSON object")
            listed = _get(content, self.hypotheses)
            segment = _get(content, self.id)
            if segment is None and listed is not None:
                segment = number - 1
            if isinstance(segment, str) and segment.isascii() and segment.isdigit():
                segment = int(segment)
            if not isinstance(segment, int) or isinstance(segment, bool) or segment < 0:
                _wrong(file, number, self.id, segment, "a segment id, a whole number from 0")
            if listed is None:
                yield number, segment, content
                continue
            if not isinstance(listed, list) or not all(isinstance(x, dict) for x in listed):
                _wrong(file, number, self.hypotheses, listed, "a list of objects")
            for item in listed:
                yield number, segment, item

    def _features(
        self, file: ListFile, line: int, item: dict[str, Any]
    ) -> tuple[FeatureNames, list[float]]:
        names: list[tuple[str, int]] = []
        values: list[float] = []

        def take(name: str, found: object) -> None:
            numbers = found if isinstance(found, list) else [found]
            if not numbers:
                file.fail(line, f"feature {name} has no value")
            names.append((name, len(numbers)))
            values.extend(_number(file, line, name, number) for number in numbers)

        for key in self.features.split("+"):
            found = _get(item, key)
            if found is None:
                _wrong(file, line, key, found, "scores (name the keys in features=)")
            if isinstance(found, dict):
                for name in sorted(found):
                    take(name, found[name])
            else:
                take(key, found)
        if not names:
            file.fail(line, f"'{self.features}' holds no scores")
        return tuple(names), values

    def _links(
        self, collector: Collector, line: int, found: object
    ) -> list[tuple[int, int]] | None:
        if found is None:
            return None
        if isinstance(found, list) and all(
            isinstance(pair, list) and len(pair) == 2 and all(type(x) is int for x in pair)
            for pair in found
        ):
            found = " ".join(f"{i}-{j}" for i, j in found)
        if not isinstance(found, str):
            _wrong(collector.file, line, self.links, found, '"0-0 1-1" or [[0, 0], [1, 1]]')
        return collector.links(line, found)


def _get(content: dict[str, Any], key: str) -> Any:
    """Return what a key holds, None if it is not there; dots lead into objects."""
    if key in content:
        return content[key]
    first, dot, rest = key.partition(".")
    inner = content.get(first)
    return _get(inner, rest) if dot and isinstance(inner, dict) else None


def _number(file: ListFile, line: int, key: str, found: object) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float):
        _wrong(file, line, key, found, "a number")
    value = bounded(found)
    if not math.isfinite(value):
        file.fail(line, f"'{key}' is {found}; values must be {FINITE}")
    return value


def _wrong(file: ListFile, line: int, key: str, found: object, expected: str) -> NoReturn:
    text = "missing" if found is None else shown(json.dumps(found, ensure_ascii=False))
    file.fail(line, f"'{key}' is {text}, expected {expected}")


def _listed(names: FeatureNames) -> str:
    return ", ".join(name if size == 1 else f"{name} ({size} values)" for name, size in names)
