"""Read hypotheses from JSON; each format finds them in its own place."""

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, NoReturn

from ...base.columns import ID_KEYS, collected_later, failure_of, value_at
from ...base.errors import InputError, shown
from ...base.files import decode_line
from ...base.json_toml import parse_json, parse_plain_json
from ...base.numbers import FINITE, bounded
from ..records import ListFile, Place
from ._base import Reader

_STRING = r'"(?:[^"\\]|\\.)*+"'
_DIALECTS = {
    "openai-responses": re.compile(r'"object"\s*:\s*"response"'),
    "anthropic": re.compile(
        r'"result"\s*:\s*\{\s*"type"\s*:\s*"(?:succ|err|canc|exp)|"type"\s*:\s*"message"'
    ),
    "gemini": re.compile(r'"candidates"\s*:\s*\['),
    "tgi": re.compile(r'"generated_text"\s*:'),
    "lm-evaluation": re.compile(r'"doc_id"\s*:(?s:.*)"resps"\s*:'),
    "mt-bench": re.compile(r'"choices"\s*:\s*\[(?s:.*)"turns"\s*:\s*\['),
    "alpaca-eval": re.compile(r'\A(?=(?s:.*)"instruction"\s*:)(?=(?s:.*)"generator"\s*:)'),
    "openai": re.compile(r'"choices"\s*:\s*\[|"cumulative_logprob"\s*:'),
    "huggingface": re.compile(r'"sequences"\s*:\s*\['),
    "espnet": re.compile(r'\A\s*\{\s*"utts"\s*:'),
    "mlm-scoring": re.compile(rf'\A\s*\{{\s*{_STRING}\s*:\s*\{{\s*"(?:hyp_\d+|ref)"\s*:'),
}
"""Patterns by which the JSON of a format is known."""
IDS = tuple(dict.fromkeys(("id", "sentence_id", "utt", "utt_id", "custom_id", *ID_KEYS)))
"""Keys of segment ids, the usual ones."""
CTC_SCORES = ("logit_score", "lm_score")
"""The scores of a beam of pyctcdecode."""
_EMPTY = ": a segment has at least one hypothesis, maybe one without words"
_LINES = 64
"""Lines that are parsed and checked at once."""
_BLANK = re.compile(r"\s")
_KEYS = 8
"""The most keys of an object that a message lists."""


class JsonReader(Reader):
    """Read JSON in which a format finds the hypotheses."""

    are_unique: ClassVar[bool] = True

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether the first lines are JSON with what only this format has."""
        return dialect(head) == cls.name()


def dialect(head: Sequence[str]) -> str | None:
    """Return the name of the format whose JSON the first lines are; None where no one's."""
    return _dialect("\n".join(head)) if head[0].lstrip().startswith(("{", "[")) else None


@lru_cache(maxsize=1)
def _dialect(text: str) -> str | None:
    return next((name for name, sign in _DIALECTS.items() if sign.search(text)), None)


class JsonObject(NamedTuple):
    """An object of a JSON file, and where it stands."""

    file: ListFile
    place: Place
    content: dict[str, Any]

    def get(self, key: str) -> Any:
        """Return what a path leads to, see `value_at`; None if it leads nowhere."""
        return value_at(self.content, key)

    def wrong(self, key: str, value: object, expected: str, *, inside: bool = False) -> NoReturn:
        """Raise the error of a key with another value; `inside`: the value is a part of its."""
        text, keys = shown(json.dumps(value, ensure_ascii=False)), ""
        if value is None and not inside:
            names = [shown(name) for name in sorted(self.content)] or ["none"]
            keys = f" (keys found: {', '.join(names[:_KEYS])}{', ...' * (len(names) > _KEYS)})"
            if key not in self.content:
                text = "missing"
        self.file.fail(self.place, f"'{key}' is {text}, expected {expected}{keys}")

    def text(self, key: str, remedy: str = "") -> str:
        """Return the text of a key, which may be a list of tokens."""
        value = self.get(key)
        if are_tokens(value):
            return " ".join(value)
        if isinstance(value, list) and value and all(isinstance(x, str) for x in value):
            remedy = f"; name one: {key}.0"
        if not isinstance(value, str):
            self.wrong(key, value, f"a text{remedy}")
        return value

    def entries(self, key: str, kind: type, expected: str) -> list[Any]:
        """Return the list of a key, which is not empty, with entries of one type."""
        entries = self.get(key)
        if not isinstance(entries, list) or not all(isinstance(item, kind) for item in entries):
            self.wrong(key, entries, expected)
        if not entries:
            self.file.fail(self.place, f"'{key}' is empty{_EMPTY}")
        return entries

    def number(self, key: str, part: object = ...) -> float:
        """Return the finite number of a key, or a `part` of its value as one."""
        inside = part is not ...
        value = part if inside else self.get(key)
        if type(value) is not float and type(value) is not int:
            self.wrong(key, value, "a number", inside=inside)
        number = bounded(value)
        if not math.isfinite(number):
            self.file.fail(self.place, f"'{key}' is {value}; values must be {FINITE}")
        return number

    def features(
        self,
        keys: Sequence[str],
        computed: Mapping[str, float] | None = None,
        *,
        in_order: bool = True,
    ) -> Mapping[str, float | list[float] | None]:
        """Return the computed features and the scores of keys, None where one may be missing.

        Scores are numbers, or objects of names and numbers, which `in_order` sorts by name.
        """
        features: dict[str, float | list[float] | None] = {**(computed or {})}
        for key in keys:
            scores = self.get(key)
            if scores is None and self.file.names.drop:
                features |= {} if computed else {key: None}
                continue
            if scores is None:
                self.wrong(key, scores, "scores (name the keys in features=)")
            if "*" in key and isinstance(scores, list):
                scores = sum(self.number(key, score) for score in scores)
            by_name = scores if isinstance(scores, dict) else {key: scores}
            if in_order:
                by_name = dict(sorted(by_name.items()))
            if len(keys) == 1 and not computed:
                return by_name
            for name in by_name.keys() & features.keys():
                self.file.fail_of_names(name)
            features.update(by_name)
        return features

    def segment(self, key: str, default: int | None, remedy: str = "") -> str:
        """Return the id of a segment, `default` where a key is not there."""
        segment = self.get(key) if key else default
        if segment is None:
            segment = default
            self.file.names.are_places |= default is not None
            ids = self.file.names.in_references
            if ids is None or default is None or str(default) in ids:
                pass
            elif default == 0 and list(map(type, self.content.values())) == [list]:
                self.file.names.are_names = False
                self.file.remarks.append("no ids, so line n is the n-th segment")
            elif self.file.names.are_names is not False:
                self.wrong(
                    key, None, "the id of the segment, as the references have ids; name it: id=KEY"
                )
        if isinstance(segment, str):
            return segment
        if not isinstance(segment, int) or isinstance(segment, bool) or segment < 0:
            expected = f"a segment id: a name, or a whole number from 0{remedy}"
            self.wrong(key, segment, expected)
        return str(segment)


def are_tokens(value: Any) -> bool:
    """Whether a value is a list of tokens: texts without blanks."""
    return isinstance(value, list) and all(
        isinstance(token, str) and not _BLANK.search(token) for token in value
    )


def objects(file: ListFile, *, list_key: str = "") -> Iterator[tuple[int, JsonObject]]:
    """Yield each object and its number from 1: one per line, or of a whole document.

    A document is one object over several lines, or a list of objects. With `list_key`, a list in
    place of an object is what an object has under this key.
    """
    if file.objects is not None:
        for k, record in enumerate(file.objects, 1):
            yield k, JsonObject(file, k, plain_record(record, file.where, k))
        return
    first, *others = (line.strip() for line in itertools.islice(file.byte_lines(), 2))
    has_lists = list_key and others and _is_list(first)
    if first == b"{" or (first.startswith(b"[") and not has_lists):
        content = _parsed(file, file.data.removesuffix(b"\n"))
        entries = content if isinstance(content, list) else [content]
        if list_key and all(isinstance(item, str) for item in entries):
            entries = [entries]
        numbered: Iterator[tuple[Place, Any]] = (
            (f"entry {number}", item) for number, item in enumerate(entries, 1)
        )
    else:
        numbered = _numbered_lines(file)
    for count, (place, content) in enumerate(numbered, 1):
        item = {list_key: content} if list_key and isinstance(content, list) else content
        if not isinstance(item, dict):
            file.fail(place, f"'{shown(json.dumps(item, ensure_ascii=False))}' is no JSON object")
        yield count, JsonObject(file, place, item)


def _numbered_lines(file: ListFile) -> Iterator[tuple[int, Any]]:
    """Yield the number of each line from 1, and what it holds."""
    lines, count = file.byte_lines(), 0
    while batch := list(itertools.islice(lines, _LINES)):
        contents: Iterable[Any] | None = parse_plain_json(batch)
        if contents is None:
            contents = (_parsed(file, line, count + k) for k, line in enumerate(batch, 1))
        yield from enumerate(contents, count + 1)
        count += len(batch)


def _is_list(line: bytes) -> bool:
    """Whether a line is a whole list."""
    try:
        return isinstance(parse_json(line), list)
    except ValueError:
        return False


def usual(item: JsonObject, keys: Sequence[str]) -> str:
    """Return the first of these keys that is there, or the first of all."""
    return next((key for key in keys if item.get(key) is not None), keys[0])


def identified(
    records: Iterable[tuple[int, JsonObject]], keys: Sequence[str], *, must_have_ids: bool
) -> Iterator[tuple[JsonObject, str]]:
    """Yield each record and the id of its segment; without ids this is its place from 0.

    The first record decides which of the keys has the ids; `named`: one must be there.
    """
    id_key: str | None = None
    for number, item in records:
        if id_key is None:
            id_key = next((key for key in keys if item.get(key) is not None), "")
        later = "" if id_key else usual(item, keys)
        if later and item.get(later) is not None:
            item.file.fail(item.place, f"'{later}' is an id, the first record has none")
        yield (
            item,
            item.segment(id_key or keys[0], None if id_key or must_have_ids else number - 1),
        )


def no_answer(item: JsonObject, key: str) -> str | None:
    """Return why a record has no list of hypotheses; None if it has one, or another fault."""
    if item.get(key) == []:
        return f"'{key}' is empty{_EMPTY}"
    return failure_of(item.content)


def as_object(hypothesis: Any) -> dict[str, Any] | None:
    """Return a hypothesis as an object of its text and scores; None if it is none.

    It may be an object, a text, a list of tokens, a text and its score (NeMo), or what
    pyctcdecode calls an OutputBeam: a text first and two scores last.
    """
    if isinstance(hypothesis, dict):
        return hypothesis
    parts = [hypothesis] if isinstance(hypothesis, str) else hypothesis
    if not isinstance(parts, list):
        return None
    if isinstance(hypothesis, str) or are_tokens(parts):
        return {"text": " ".join(parts)}
    scores = {2: ("score",), 4: CTC_SCORES, 5: CTC_SCORES}.get(len(parts))
    if scores is None or not isinstance(parts[0], str):
        return None
    return {"text": parts[0], **dict(zip(scores, parts[-len(scores) :], strict=True))}


def document(file: ListFile) -> JsonObject:
    """Return the one object of a whole file."""
    content = _parsed(file, file.data.removesuffix(b"\n"))
    if not isinstance(content, dict):
        file.fail(1, "expected one JSON object")
    return JsonObject(file, 1, content)


def _parsed(file: ListFile, data: bytes, number: int | None = None) -> Any:
    """Return the JSON of a whole file, or of one line of it."""
    try:
        return parse_json(data)
    except ValueError as error:
        for line_number, line in enumerate(data.split(b"\n"), number or 1):
            decode_line(line, file.where, line_number)
        reason = f"not JSON: {getattr(error, 'msg', error)}"
        if number is None:
            file.fail(getattr(error, "lineno", 1), reason)
        file.fail(number, f"{reason}; expected one object per line")


@collected_later()
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
    records = list(records)
    if records and all(isinstance(record, dict) for record in records):
        return ListFile(where, objects=tuple(map(dict, records)))
    lines = [
        " ".join(record.splitlines())
        if isinstance(record, str)
        else _as_line(record, where, number)
        for number, record in enumerate(records, 1)
    ]
    if not lines:
        raise InputError(f"{where}: there is none")
    return ListFile(where, "\n".join(lines).encode())


_PLAIN = {str, int, bool, type(None)}


def plain_record(record: dict[str, Any], where: str, number: int) -> dict[str, Any]:
    """Return a record as JSON would have it, by way of JSON only where it must be."""
    if _is_plain(record):
        return record
    plain: dict[str, Any] = json.loads(_as_line(record, where, number))
    return plain


def _is_plain(value: Any) -> bool:
    """Whether a value is one of JSON, and all its numbers are finite."""
    kind = type(value)
    if kind is float:
        return math.isfinite(value)
    if kind is dict:
        kinds = set(map(type, value.values()))
        if kinds <= {float, int}:  # a sum that is finite has finite parts
            return set(map(type, value)) <= {str} and math.isfinite(sum(value.values()))
        return set(map(type, value)) <= {str} and all(map(_is_plain, value.values()))
    if kind is list:
        return all(map(_is_plain, value))
    return kind in _PLAIN


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
        items = value.items() if isinstance(value, dict) else ((key, entry) for entry in value)
        for name, entry in items:
            yield from _not_finite(entry, str(name))
    elif isinstance(value, float) and not math.isfinite(value):
        yield key, value
