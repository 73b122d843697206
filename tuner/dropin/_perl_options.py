"""Reads command lines as Perl's Getopt::Long does, which is how mert-moses.pl is called.

Options begin with one or two dashes, may be shortened as long as they are unique, upper case is
lower case, and a value follows behind `=` or as the next word, whatever that begins with.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from portmert.tuner.ground.errors import suggest
from portmert.tuner.ground.numbers import parse_number

KINDS = {
    "": "a switch", "!": "a switch", "s": "text", "i": "a whole number", "f": "a number",
}  # fmt: skip
WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
"""No more digits than any array or count can have."""


@dataclass(frozen=True)
class PerlOption:
    """Holds one option.

    Parameters
    ----------
    name
    kind
        A key of `KINDS`; `!` is a switch that `no` in front turns off.
    """

    name: str
    kind: str = "s"


def parse(
    arguments: Sequence[str], options: Sequence[PerlOption]
) -> tuple[dict[str, list[str]], list[str]]:
    """Return name -> values in order (of a switch `1` or `0`), and the words that are no options.

    Raises
    ------
    click.UsageError
        An unknown or ambiguous option, or a value that is missing or of another kind.
    """
    words = list(arguments)
    given: dict[str, list[str]] = {}
    rest: list[str] = []
    spellings = _spellings(options)
    while words:
        word = words.pop(0)
        if word == "--":
            return given, rest + words
        match = re.fullmatch(r"--?(?P<name>[^=]+)(?P<value>=.*)?", word, re.DOTALL)
        if match is None or word == "-":
            rest.append(word)
            continue
        option, negated = _find(match["name"], spellings)
        value = None if match["value"] is None else match["value"][1:]
        if option.kind in {"", "!"}:
            if value is not None:
                raise click.UsageError(f"--{option.name} is a switch and takes no value: {word}")
            value = "0" if negated else "1"
        elif value is None:
            if not words:
                raise click.UsageError(f"--{option.name} needs {KINDS[option.kind]}")
            value = words.pop(0)
        if not _fits(value, option.kind):
            raise click.UsageError(f"--{option.name} {value}: expected {KINDS[option.kind]}")
        given.setdefault(option.name, []).append(value)
    return given, rest


def _fits(value: str, kind: str) -> bool:
    """Say whether a value is what an option of this kind takes."""
    if kind == "i":
        return WHOLE.fullmatch(value) is not None
    number = parse_number(value) if kind == "f" else 0.0
    return number is not None and math.isfinite(number)


def _spellings(options: Sequence[PerlOption]) -> dict[str, tuple[PerlOption, bool]]:
    """Return every full name in lower case -> the option, and whether it turns it off."""
    found = {}
    for option in options:
        found[option.name.lower()] = (option, False)
        if option.kind == "!":
            found[f"no{option.name.lower()}"] = (option, True)
            found[f"no-{option.name.lower()}"] = (option, True)
    return found


def _find(name: str, spellings: Mapping[str, tuple[PerlOption, bool]]) -> tuple[PerlOption, bool]:
    wanted = name.lower()
    if wanted in spellings:
        return spellings[wanted]
    near = {
        spelling: found for spelling, found in spellings.items() if spelling.startswith(wanted)
    }
    if len({(option.name, negated) for option, negated in near.values()}) == 1:
        return next(iter(near.values()))
    if near:
        raise click.UsageError(
            f"--{name} may be {' or '.join(f'--{one}' for one in sorted(near))}; write more of it"
        )
    raise click.UsageError(f"mert-moses has no option --{name}{suggest(wanted, spellings)}")
