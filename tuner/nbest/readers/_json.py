"""Read hypotheses from JSON; each format finds them in its own place."""

import json
import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from portmert.tuner.ground.documents import parse_json
from portmert.tuner.ground.errors import InputError, shown
from portmert.tuner.ground.numbers import FINITE, bounded
from portmert.tuner.nbest.readers._base import CollectingReader, Collector, ListFile, Place
from portmert.tuner.weights.feature_weights import FeatureNames

_DIALECTS = {
    "openai": re.compile(r'"choices"\s*:\s*\[|"cumulative_logprob"\s*:'),
    "huggingface": re.compile(r'"sequences"\s*:\s*\['),
    "nemo": re.compile(r'"beams"\s*:\s*\['),
}
"""Patterns by which the JSON of a format is known."""
_KEYS = 8
"""The most keys of an object that a message lists."""


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis of a JSON file.

    `segment` is its id, a whole number or a name; `record` its own object, if it has one.
    """

    place: Place
    segment: str
    text: str
    names: FeatureNames
    values: list[float]
    score: float = 0.0
    links: str | None = None
    record: dict[str, Any] | None = None


class JsonReader(CollectingReader):
    """Read JSON in which a format finds the hypotheses."""

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether the first lines are JSON with what only this format has."""
        return dialect(head) == cls.name()

    @abstractmethod
    def found(self, file: ListFile) -> Iterator[Hypothesis]:
        """Yield the hypotheses of a whole file."""

    def collect(self, file: ListFile, segments: int | None) -> Collector:
        """Return the hypotheses of a whole file."""
        collector: Collector | None = None
        for each in self.found(file):
            if collector is None:
                collector = Collector(file, each.names, segments)
            elif each.names != collector.names:
                file.fail(
                    each.place,
                    f"features {_listed(each.names)}, the first hypothesis has "
                    f"{_listed(collector.names)}",
                )
            collector.add(
                each.place,
                segment=collector.named_segment(each.place, each.segment),
                text=each.text,
                values=each.values,
                score=each.score,
                links=None if each.links is None else collector.links(each.place, each.links),
            )
        if collector is None:
            raise InputError(f"{file.where}: no hypothesis in the file")
        return collector


def dialect(head: Sequence[str]) -> str | None:
    """Return the name of the format whose JSON the first lines are; None where no one's."""
    if not head[0].lstrip().startswith(("{", "[")):
        return None
    text = "\n".join(head)
    return next((name for name, sign in _DIALECTS.items() if sign.search(text)), None)


def objects(file: ListFile) -> Iterator[tuple[Place, int, dict[str, Any]]]:
    """Yield place, number from 1 and content of each object: one a line, or of a whole document.

    A document is one object over several lines, or a list of objects.
    """
    lines = file.lines()
    first = lines[0].strip()
    if first == "{" or first.startswith("["):
        content = _parsed(file, lines)
        several = content if isinstance(content, list) else [content]
        numbered: Iterator[tuple[Place, Any]] = (
            (f"entry {number}", item) for number, item in enumerate(several, 1)
        )
    else:
        numbered = (
            (number, _parsed(file, [line], number)) for number, line in enumerate(lines, 1)
        )
    for count, (place, item) in enumerate(numbered, 1):
        if not isinstance(item, dict):
            file.fail(place, f"'{shown(json.dumps(item, ensure_ascii=False))}' is no JSON object")
        yield place, count, item


def _parsed(file: ListFile, lines: Sequence[str], number: int | None = None) -> Any:
    """Return the JSON of a whole file, or of one line of it."""
    try:
        return parse_json("\n".join(lines))
    except ValueError as error:
        reason = f"not JSON: {getattr(error, 'msg', error)}"
        if number is None:
            file.fail(getattr(error, "lineno", 1), reason)
        file.fail(number, f"{reason}; expected one object a line")


def get(content: dict[str, Any], key: str) -> Any:
    """Return what a key holds, None if it is not there; dots lead into objects."""
    if key in content:
        return content[key]
    first, dot, rest = key.partition(".")
    inner = content.get(first)
    return get(inner, rest) if dot and isinstance(inner, dict) else None


def wrong(
    file: ListFile,
    place: Place,
    key: str,
    found: object,
    expected: str,
    *,
    of: dict[str, Any] | None = None,
) -> NoReturn:
    """Raise the error of a key that holds something else.

    Parameters
    ----------
    of
        The object that the key was looked for in; None: what was found was there.
    """
    text, keys = shown(json.dumps(found, ensure_ascii=False)), ""
    if found is None and of is not None:
        names = sorted(of) or ["none"]
        keys = f" (keys found: {', '.join(names[:_KEYS])}{', ...' * (len(names) > _KEYS)})"
        if key not in of:
            text = "missing"
    file.fail(place, f"'{key}' is {text}, expected {expected}{keys}")


def get_text(file: ListFile, place: Place, content: dict[str, Any], key: str) -> str:
    """Return the text that a key holds."""
    found = get(content, key)
    if not isinstance(found, str):
        wrong(file, place, key, found, "a text", of=content)
    return found


def get_list(
    file: ListFile, place: Place, content: dict[str, Any], key: str, kind: type, expected: str
) -> list[Any]:
    """Return the list that a key holds, which has something in it, all of one type."""
    found = get(content, key)
    if not isinstance(found, list) or not all(isinstance(item, kind) for item in found):
        wrong(file, place, key, found, expected, of=content)
    if not found:
        file.fail(
            place,
            f"'{key}' is empty: a segment has at least one hypothesis, maybe one without words",
        )
    return found


def number(
    file: ListFile, place: Place, key: str, found: object, *, of: dict[str, Any] | None = None
) -> float:
    """Return a finite number; `key` is what messages call it."""
    if isinstance(found, bool) or not isinstance(found, int | float):
        wrong(file, place, key, found, "a number", of=of)
    value = bounded(found)
    if not math.isfinite(value):
        file.fail(place, f"'{key}' is {found}; values must be {FINITE}")
    return value


def features(
    file: ListFile, place: Place, content: dict[str, Any], keys: str
) -> tuple[FeatureNames, list[float]]:
    """Return the scores that keys joined by `+` hold: numbers, or objects of names and numbers."""
    names: list[tuple[str, int]] = []
    values: list[float] = []

    def take(name: str, found: object) -> None:
        several = found if isinstance(found, list) else [found]
        if not several:
            file.fail(place, f"feature {name} has no value")
        names.append((name, len(several)))
        values.extend(number(file, place, name, one) for one in several)

    for key in keys.split("+") if keys else ():
        found = get(content, key)
        if found is None:
            wrong(file, place, key, found, "scores (name the keys in features=)", of=content)
        if isinstance(found, dict):
            for name in sorted(found):
                take(name, found[name])
        else:
            take(key, found)
    return tuple(names), values


def segment_id(
    file: ListFile, place: Place, content: dict[str, Any], key: str, default: int | None
) -> str:
    """Return the id of a segment, `default` where a key is not there."""
    found = get(content, key) if key else default
    if found is None:
        found = default
    if isinstance(found, str):
        return found
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        wrong(
            file, place, key, found, "a segment id: a name, or a whole number from 0", of=content
        )
    return str(found)


def _listed(names: FeatureNames) -> str:
    listed = (name if size == 1 else f"{name} ({size} values)" for name, size in names)
    return ", ".join(listed) or "none"


def records_file(records: Any, where: str = "the records") -> ListFile:
    """Return dicts, JSON texts or a data frame of pandas or polars as a file of JSON lines.

    Raises
    ------
    InputError
        There is none, or a value is none of JSON.
    """
    for name in ("to_dicts", "to_dict"):  # of polars, of pandas
        if hasattr(records, name) and not isinstance(records, dict):
            method = getattr(records, name)
            records = method() if name == "to_dicts" else method("records")
            break
    lines = [
        " ".join(one.splitlines()) if isinstance(one, str) else _as_line(one, where, number)
        for number, one in enumerate(records, 1)
    ]
    if not lines:
        raise InputError(f"{where}: there is none")
    return ListFile(where, "\n".join(lines).encode())


def _as_line(record: Any, where: str, number: int) -> str:
    """Return a record as a line of JSON; numpy's numbers and arrays become plain ones."""

    def plain(value: Any) -> Any:
        if hasattr(value, "tolist"):
            return value.tolist()
        raise InputError(f"{where}: {value!r} is no value of JSON")

    line = json.dumps(record, ensure_ascii=False, default=plain)
    for key, value in _not_finite(record, ""):
        raise InputError(f"{where}: record {number}: {key} is {value}; values must be {FINITE}")
    return line


def _not_finite(value: Any, key: str) -> Iterator[tuple[str, float]]:
    """Yield the numbers that are not finite, and their keys."""
    if isinstance(value, dict | list | tuple):
        named = value.items() if isinstance(value, dict) else ((key, one) for one in value)
        for name, one in named:
            yield from _not_finite(one, str(name))
    elif isinstance(value, float) and not math.isfinite(value):
        yield key, value
