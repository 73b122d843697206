"""The language of texts with several parts: options, configuration files, and the same in Python.

    NAME=VALUE      the name ends at the first `=`
    FILE,FILE       files are separated by commas; other lists by `,` or `+`
    METRIC@FILE     the metric ends at the first `@`
    FILE#KEY        the key begins behind the last `#`

Separators count outside quotes alone. A part may be quoted as a whole or in places, with ' or ",
as for a shell; a backslash is a plain character. Where a text could be split and is the name of an
existing file or folder, it is that name. `quoted` writes any text so that it comes back.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from .errors import ConfigError, faults_at, shown
from .files import expanded

QUOTES = r"""(?:"[^"]*"|'[^']*')"""
"""A quoted part, as a regular expression."""
_UNCHANGED = re.compile(r"[\w./^%][\w./^%-]*|-")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
Folder = Path | str | None
"""Where relative paths begin; None: the working folder."""


def quoted(text: str) -> str:
    """Return what a user writes so that a part of an option is this text."""
    if _UNCHANGED.fullmatch(text):
        return text
    runs = re.findall(r"[^']+|'+", text) or [""]
    return "".join(f'"{run}"' if run.startswith("'") else f"'{run}'" for run in runs)


def unquoted(text: str, folder: Folder = None) -> str:
    """Return a part without its quotes; the name of an existing file stays as it is.

    Raises
    ------
    ConfigError
        A quote is not closed.
    """
    return text if exists(text, folder) else _plain(text)


def exists(text: str, folder: Folder = None) -> bool:
    """Return whether a text is the name of an existing file or folder."""
    return bool(text) and os.path.exists(Path(folder or "", text))  # noqa: PTH110  never raises


def cut(text: str, separator: str) -> tuple[str, str, str]:
    """Return what stands before and behind the first separator outside quotes, as `partition`.

    Raises
    ------
    ConfigError
        A quote is not closed before the first separator.
    """
    place = next(_outside(text, separator), len(text))
    return text[:place], text[place : place + 1], text[place + 1 :]


def name_value(text: str) -> tuple[str, str, str]:
    """Return name, `=` and value of `NAME=VALUE`; the value is still in its quotes.

    Without `=` all is the name, and the rest is empty.

    Raises
    ------
    ConfigError
        A quote in the name is not closed.
    """
    name, equals, value = cut(text, "=")
    return unquoted(name), equals, value


def names(text: str, separator: str = ",") -> list[str]:
    """Return the names, of no files, between separators; empty ones are left out.

    Raises
    ------
    ConfigError
        A quote is not closed.
    """
    begins = [-1, *_outside(text, separator)]
    parts = [text[begin + 1 : end] for begin, end in zip(begins, [*begins[1:], None], strict=True)]
    return [_plain(part) for part in parts if part]


def split(text: str, separator: str, *, named: bool = False, folder: Folder = None) -> list[str]:
    """Return the parts between separators, still in their quotes.

    Parameters
    ----------
    separator
        One character.
    named
        Whether each part is written `NAME=VALUE`, and its value may be the name of a file.

    Raises
    ------
    ConfigError
        A quote is not closed.
    """
    parts: list[str] = []
    begin = 0
    while True:
        value = begin + len(cut(text[begin:], "=")[0]) + 1 if named else begin
        if _is_file(text[value:], separator, folder):
            return [*parts, text[begin:]]
        places = [match.start() for match in re.finditer(re.escape(separator), text)]
        files = [end for end in places if _is_file(text[value:end], separator, folder)]
        end = max(files, default=None) or begin + len(cut(text[begin:], separator)[0])
        if end == len(text):
            return [*parts, text[begin:]]
        parts.append(text[begin:end])
        begin = end + 1


def files(text: str, *, where: str, folder: Folder = None) -> tuple[Path, ...]:
    """Return the files of `FILE,FILE`; each may be written `FILE#KEY`.

    Parameters
    ----------
    where
        Begins the message of an error.

    Raises
    ------
    ConfigError
        A name is empty, or a quote is not closed.
    """
    with faults_at(where, ConfigError, ConfigError):
        parts = split(text, ",", folder=folder)
        paths = tuple(path(part, folder) for part in parts)
    if not all(part.strip("\"'") for part in parts):
        raise ConfigError(
            f"{where}: a name is empty in '{shown(text)}', expected FILE or FILE,FILE"
        )
    return paths


def path(text: str, folder: Folder = None) -> Path:
    """Return the file, or `FILE#KEY`, of a part; `~` without quotes is the user's folder.

    Raises
    ------
    ConfigError
        A quote is not closed.
    InputError
        `~` is of no user.
    """
    file, key = file_key(text, folder)
    name = file if key is None else f"{file}#{key}"
    return expanded(name) if text.startswith("~") and not exists(text, folder) else Path(name)


def written_files(paths: Iterable[Path]) -> str:
    """Return what a user writes for these files; each may be `FILE#KEY`."""
    pairs = (file_key(path) for path in paths)
    return ",".join(
        quoted(file) if key is None else f"{quoted(file)}#{quoted(key)}" for file, key in pairs
    )


def metric_file(text: str, folder: Folder = None) -> tuple[str, str, str]:
    """Return metric, `@` and files of `METRIC@FILE,FILE`; text of files alone has no metric.

    Both are still in their quotes.

    Raises
    ------
    ConfigError
        A quote is not closed.
    """
    if text.startswith(("/", "./", "../", "~")) or _is_file(text, ",", folder):
        return "", "", text
    metric, at, text_file = cut(text, "@")
    if at and not _is_file(text_file, ",", folder):
        first = split(text, ",", folder=folder)[0]
        at = "" if _is_file(first, ",", folder) else at
    return (metric, at, text_file) if at else ("", "", text)


def file_key(text: Path | str, folder: Folder = None) -> tuple[str, str | None]:
    """Return file and key of `FILE#KEY`, without quotes; None for a file without a key.

    Raises
    ------
    ConfigError
        A quote is not closed.
    """
    text = str(text)
    if exists(text, folder):
        return text, None
    for place in reversed([match.start() for match in re.finditer("#", text)]):
        if exists(text[:place], folder):
            return text[:place], unquoted(text[place + 1 :])
    place = max(_outside(text, "#"), default=-1)
    if place < 0:
        return unquoted(text, folder), None
    return unquoted(text[:place], folder), unquoted(text[place + 1 :])


def _plain(text: str) -> str:
    for _ in _outside(text, ""):  # an unclosed quote is an error
        pass
    return _QUOTED.sub(lambda match: match[1] or match[2] or "", text)


def _is_file(text: str, separator: str, folder: Folder) -> bool:
    """Return whether a text is an existing file, or one and a key without the separator."""
    file, sign, key = text.rpartition("#")
    return exists(text, folder) or (bool(sign) and separator not in key and exists(file, folder))


def _outside(text: str, separator: str) -> Iterator[int]:
    """Yield the places of a separator outside quotes; raise ConfigError at an unclosed quote."""
    begin = 0
    while begin < len(text):
        if text[begin] in "\"'":
            end = text.find(text[begin], begin + 1)
            if end < 0:
                content = shown(text[begin + 1 :])
                raise ConfigError(
                    f"'{shown(text)}': the quote {text[begin]} before '{content}' is not closed; "
                    f"close it, or put the part in the other quotes"
                )
            begin = end
        elif text[begin] == separator:
            yield begin
        begin += 1
