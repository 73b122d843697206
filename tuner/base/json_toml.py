"""JSON and TOML; hostile and ambiguous texts are refused."""

import dataclasses
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from .errors import InputError, faults_at
from .files import read_lines
from .numbers import LARGEST, MOST

_DEPTH = 100
"""Brackets within brackets: what walks through them calls itself."""
_BEFORE_VALUES = (b'":', b" :", b"\t:", b"\n:", b"\r:")
_HOLDERS = frozenset({dict, list})
_TOO_DEEP = "brackets are nested too deep"
_TOO_LONG = "a number has thousands of digits"
_KEY = r"(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')"
_LONG_KEY = re.compile(rf"(?<![\w-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{100}}")
"""Time and depth of tables grow with the dots of a key."""


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text holds.

    Raises
    ------
    ValueError
        It is not JSON, or JSON that could mean several things: a key that stands twice, half of a
        surrogate pair, NaN. A `json.JSONDecodeError` if its line is known.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    contents = parse_plain_json([data])
    return _parsed_strictly(text) if contents is None else contents[0]


def parse_plain_json(texts: Sequence[bytes]) -> list[Any] | None:
    """Return what each JSON text holds; None if `parse_json` may refuse one of them."""
    try:
        contents = [from_json(text, allow_inf_nan=False, cache_strings="keys") for text in texts]
    except ValueError:
        return None
    data = b"\n".join(texts)
    keys, depth = _extent(contents, 1 + data.count(b"{") + data.count(b"["))
    # Keys stand before colons, behind a quote or white space: no more of them, none stands twice.
    if data.count(b":") != keys and sum(map(data.count, _BEFORE_VALUES)) != keys:
        return None
    return contents if depth <= _DEPTH + 1 else None


def _extent(content: Any, brackets: float = math.inf) -> tuple[int, int]:
    """Return how many keys all objects have, and how deep they and lists are nested.

    Parameters
    ----------
    brackets
        At least the number of objects and lists; nothing is looked for inside the last of them.
    """
    keys = depth = 0
    level = [content] if type(content) in _HOLDERS else []
    while level:
        depth += 1
        brackets -= len(level)
        objects = [holder for holder in level if type(holder) is dict]
        lists = [holder for holder in level if type(holder) is list]
        keys += sum(map(len, objects))
        values = chain(*map(dict.values, objects), *lists) if brackets else ()
        level = [value for value in values if type(value) in _HOLDERS]
    return keys, depth


def _parsed_strictly(text: str | bytes) -> Any:
    """Return what a JSON text holds; says what is wrong with it."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    try:
        content = json.loads(text, object_pairs_hook=_object, parse_constant=_refused)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError as error:
        raise _understood(error) from None
    if _extent(content)[1] > _DEPTH:
        raise ValueError(_TOO_DEEP)
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(content, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            raise ValueError(f"{half} is half of a surrogate pair") from None
    return content


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise ValueError(f"the key '{twice}' stands twice in one object")
    return content


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


def _understood(error: ValueError) -> ValueError:
    """Return the fault of a parser, without advice for programmers."""
    return ValueError(_TOO_LONG) if "int_max_str_digits" in str(error) else error


def to_json(content: object, *, indent: int | None = 1, ensure_ascii: bool = True) -> str:
    """Return records and values as JSON; a number that is not finite is unknown, null."""
    return json.dumps(plain(content), indent=indent, ensure_ascii=ensure_ascii, allow_nan=False)


def plain(value: object) -> Any:
    """Return a value in JSON's own types; a number that is not finite is unknown."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


def read_toml(path: Path) -> dict[str, Any]:
    """Return what a TOML file holds.

    Raises
    ------
    InputError
        The file cannot be read, or `parse_toml` refuses it.
    """
    text = "\n".join(read_lines(path))
    with faults_at(f"{path}: not TOML", ValueError, InputError):
        return parse_toml(text)


def parse_toml(text: str) -> dict[str, Any]:
    """Return what a TOML text holds.

    Raises
    ------
    ValueError
        It is not TOML, nested too deep, or has a number that is too large or a NUL character.
    """
    match = _LONG_KEY.search(text)
    if match is not None:
        line = text.count("\n", 0, match.start()) + 1
        raise ValueError(f"a key of more than 100 parts (at line {line})")
    try:
        tables = tomllib.loads(text)
        _check_values(tables, "")
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError as error:
        raise _understood(error) from None
    return tables


def _check_values(value: object, key: str) -> None:
    if isinstance(value, dict):
        for name, item in value.items():
            _check_values(item, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for item in value:
            _check_values(item, key)
    elif isinstance(value, str) and "\0" in value:
        raise ValueError(f"{key} has a NUL character")
    elif isinstance(value, int) and abs(value) > MOST:
        raise ValueError(f"{key} is {value}, expected a number of at most {MOST}")
    elif isinstance(value, float) and not abs(value) <= LARGEST:
        raise ValueError(f"{key} is {value}, expected a finite number, at most {LARGEST:g}")
