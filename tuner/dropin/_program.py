"""What the programs share: their options, how they end, how they print numbers."""

from __future__ import annotations

import getopt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import click

from portmert.metrics._base import Metric
from portmert.tuner.components import registry
from portmert.tuner.ground.errors import PortmertError, exhausted, suggest
from portmert.tuner.ground.numbers import parse_number

SUCCESS, FAILURE = 0, 1


class UsageError(click.UsageError):
    """A program was called with wrong options."""


@dataclass(frozen=True)
class Flag:
    """An option of a program.

    Parameters
    ----------
    name
        Its long name.
    letter
        Its short name, or empty.
    takes_value
    help
        One line.
    """

    name: str
    letter: str = ""
    takes_value: bool = True
    help: str = ""


def parse(arguments: Sequence[str], options: Sequence[Flag]) -> dict[str, list[str]]:
    """Return long name -> values in order; see `parse_in_order`."""
    given: dict[str, list[str]] = {}
    for name, value in parse_in_order(arguments, options):
        given.setdefault(name, []).append(value)
    return given


def parse_in_order(arguments: Sequence[str], options: Sequence[Flag]) -> list[tuple[str, str]]:
    """Return (long name, value) of all options; as getopt_long does, abbreviations and all.

    Words that are no options are ignored, as Moses' programs do.

    Raises
    ------
    UsageError
        An unknown or ambiguous option, or one without its value.
    """
    letters = "".join(o.letter + ":" * o.takes_value for o in options if o.letter)
    names = [o.name + "=" * o.takes_value for o in options]
    try:
        found, _ = getopt.gnu_getopt(list(arguments), letters, names)
    except getopt.GetoptError as error:
        raise UsageError(error.msg) from None
    by_word = {f"--{o.name}": o.name for o in options}
    by_word |= {f"-{o.letter}": o.name for o in options if o.letter}
    return [(by_word[word], value) for word, value in found]


def last(given: dict[str, list[str]], name: str, default: str) -> str:
    """Return the last value of an option."""
    return given.get(name, [default])[-1]


def integer(given: dict[str, list[str]], name: str, default: int) -> int:
    """Return the last value of an option that is a whole number.

    Raises
    ------
    UsageError
        It is none.
    """
    text = last(given, name, str(default))
    try:
        return int(text)
    except ValueError:
        raise UsageError(f"--{name} {text}: expected a whole number") from None


def settings(given: dict[str, list[str]]) -> dict[str, str]:
    """Return the options of our search, KEY=VALUE each."""
    return registry.key_values(given.get("set", ()), where="--set")


def run(
    program: str,
    options: Sequence[Flag],
    work: Callable[[dict[str, list[str]]], int],
    arguments: Sequence[str],
) -> int:
    """Parse the arguments, do the work, return the exit status; faults are one line on stderr.

    Moses' programs end with status 1 for wrong usage, `--help` included.
    """
    try:
        given = parse(arguments, options)
        if "help" not in given:
            return work(given)
    except UsageError as error:
        say(f"{program}: {error}")
    except (PortmertError, ValueError) as error:
        say(f"{program}: error: {error}")
        return FAILURE
    except (MemoryError, RecursionError) as error:
        say(f"{program}: error: {exhausted(error)}")
        return FAILURE
    say(usage(program, options))
    return FAILURE


def usage(program: str, options: Sequence[Flag]) -> str:
    """Return the list of options."""
    lines = [f"usage: {program} [options]"]
    for option in options:
        words = f"--{option.name}" + (f"|-{option.letter}" if option.letter else "")
        lines.append(f"[{words}] {option.help}".rstrip())
    return "\n".join(lines)


def say(line: str) -> None:
    """Print a line on stderr, as all these programs do."""
    click.echo(line, err=True)


def number(value: float) -> str:
    """Return a number that reads back exactly, in the form that mert-moses.pl knows: no `e+`."""
    text = repr(float(value) + 0.0)
    return format(float(value), ".1f") if "e+" in text else text


def printed_score(metric: Metric, score: float) -> float:
    """Return a score as mert-moses.pl compares it: higher is better, so 1 - an error rate."""
    return score if metric.higher_is_better else 1.0 - score


def comma_list(text: str) -> list[str]:
    """Return the items between commas."""
    return [item for item in text.split(",") if item]


KINDS = {
    "": "a switch", "!": "a switch", "s": "text", "i": "a whole number", "f": "a number",
}  # fmt: skip
WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
"""No more digits than any array or count can have."""


@dataclass(frozen=True)
class PerlOption:
    """An option of mert-moses.pl.

    Parameters
    ----------
    name
    kind
        A key of `KINDS`; `!` is a switch that `no` in front turns off.
    """

    name: str
    kind: str = "s"


def parse_perl(
    arguments: Sequence[str], options: Sequence[PerlOption]
) -> tuple[dict[str, list[str]], list[str]]:
    """Read a command line as Perl's Getopt::Long does, which is how mert-moses.pl is called.

    Options begin with one or two dashes, may be shortened as long as they are unique, and upper
    case is lower case. A value follows behind `=` or as the next word, whatever that begins with.

    Returns
    -------
    dict, list
        Name -> values in order (of a switch `1` or `0`), and the words that are no options.

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
    """Return whether a value is one that an option of this kind takes."""
    if kind == "i":
        return WHOLE.fullmatch(value) is not None
    number = parse_number(value) if kind == "f" else 0.0
    return number is not None and math.isfinite(number)


def _spellings(options: Sequence[PerlOption]) -> dict[str, tuple[PerlOption, bool]]:
    """Return every full name in lower case -> the option, and whether the name turns it off."""
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
