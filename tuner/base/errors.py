"""Faults that a user can mend. The command line prints one line for them and exits with status 1.

PortmertError
├── InputError     a file, line or segment that does not say what it should
├── ConfigError    a configuration key, option or component name
├── ProgramError   an outside program or library that failed
│   └── AnnotatorError    an annotator that cannot work
└── StateError     a run folder that does not fit what is asked of it

`ValueError` stays what it is everywhere: a wrong call, a fault of the calling program.
"""

import difflib
import errno
import re
import signal
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

LONGEST = 80
"""Characters of a piece of input that a message shows."""
_LONG_QUOTE = re.compile(rf"(?<!\S)'(?=\S)([^'\n]{{{LONGEST + 1},}}?)(?<=\S)'(?!\w)")


def shown(text: str) -> str:
    """Return input as a message shows it: in one line, and cut if it is long."""
    text = re.sub(r"\s*[\r\n]+\s*", " ", text)
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def as_message(text: str) -> str:
    """Return a message with long parts cut and without characters that move a cursor."""
    text = "".join(c if c == "\n" else _inert(c) for c in text)
    text = _LONG_QUOTE.sub(lambda match: f"'{shown(match[1])}'", text)
    for long in (r"\S{1000,}", rf"[^\s/]{{{LONGEST + 1},}}"):  # a path, a word
        text = re.sub(long, lambda match: shown(match[0]), text)
    if len(text) <= 1600:  # however many pieces of input it shows
        return text
    return f"{text[:1000]} ... {text[-500:]}"  # where it is, and what to do


def _inert(character: str) -> str:
    if unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp"):
        return character
    return " " if character.isspace() else "\ufffd"


class PortmertError(Exception):
    """An error that a user can correct; its text is one line."""

    def __init__(self, message: str) -> None:
        super().__init__(as_message(message))


class InputError(PortmertError):
    """Input is not what it should be: `where: found, expected, what to do`."""


class ScoreError(InputError):
    """A metric's score is not finite where a score is needed."""


class ConfigError(PortmertError):
    """A configuration key, an option or the name of a component is wrong."""


class ProgramError(PortmertError):
    """An outside program or embedded library failed."""


class AnnotatorError(ProgramError):
    """An annotator cannot work (no library, no model, a crash)."""


class StateError(PortmertError):
    """A run folder, a saved model or a saved state does not fit what is asked of it."""


def counted(count: int, noun: str) -> str:
    """Return a number of things as messages have it: `1 line`, `2 lines`."""
    if count == 1:
        return f"1 {noun}"
    *kind, last = noun.split()
    plurals = {"entry": "entries", "hypothesis": "hypotheses", "search": "searches"}
    return " ".join((str(count), *kind, plurals.get(last, f"{last}s")))


def exhausted(error: BaseException) -> str:
    """Return one line for input that is too large for this machine: what was being done with it.

    The innermost function of ours tells: what it is for is its first line.
    """
    task, _ = innermost(error)
    if isinstance(error, RecursionError):
        return f"the input is nested too deep (in {task})"
    size = f": {error}" if str(error) else ""
    return f"not enough memory{size} (in {task}); give less input at once, or a larger machine"


def innermost(error: BaseException) -> tuple[str, str]:
    """Return the innermost function of ours that an error passed, and the one it called."""
    ours, callee, trace = "", "", error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        name = f"{module}.{trace.tb_frame.f_code.co_qualname}"
        if module.partition(".")[0] == "portmert":
            ours, callee = name, ""
        else:
            callee = callee or name
        trace = trace.tb_next
    return ours, callee


class Interrupted(KeyboardInterrupt):
    """A signal that asks this program, and the programs it runs, to end."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(number.name)
        self.number = number


@contextmanager
def faults_at(
    where: object, caught: type[Exception] | tuple[type[Exception], ...], raised: type[Exception]
) -> Iterator[None]:
    """Turn a fault of the block into another one: where it is, and what the first one says."""
    try:
        yield
    except caught as error:
        raise raised(f"{where}: {reason(error)}") from None


def reason(error: Exception) -> str:
    """Return what an error says of a file, and what to do where the system leaves it open.

    Of pydantic's errors it is the first thing that is wrong with keys or options, in one line.
    """
    from pydantic import ValidationError  # noqa: PLC0415  start-up time

    if isinstance(error, ValidationError):
        return _first_fault(error.errors()[0])
    if getattr(error, "errno", None) == errno.ELOOP:
        return "its symbolic links form a loop; remove one of them, or give another name"
    if isinstance(error, FileExistsError):
        return "there is a file of this name; remove it, or give another name"
    if isinstance(error, IsADirectoryError):
        return "there is a folder of this name, expected a file"
    return getattr(error, "strerror", None) or str(error)


_PLAIN = {
    "path_type": "expected the name of a file or folder",
    "string_type": "expected text in quotes",
    "too_short": "expected at least {min_length}",
    "tuple_type": "expected a list",
}
"""Messages of pydantic, which speaks of Python, for a user who writes TOML."""


def _first_fault(first: Mapping[str, Any]) -> str:
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return f"{key} must be given"
    if not key:  # the component's own check, which says what it found
        return str(first["msg"]).removeprefix("Value error, ")
    plain = _PLAIN.get(first["type"])
    expected = first["msg"] if plain is None else plain.format(**first.get("ctx", {}))
    return f"{key}: {expected}, found {first.get('input')!r}"


def named(error: BaseException) -> str:
    """Return the kind of an error and what it says, in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


def suggest(name: str, candidates: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the nearest known name; all of them if none is near."""
    names = sorted(candidates)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if near:
        return f"; did you mean '{near[0]}'?"
    return f"; known: {', '.join(names)}" if names else ""
