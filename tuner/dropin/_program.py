"""Holds what the programs share: options, how they end, how they print numbers."""

from __future__ import annotations

import getopt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click

from portmert.metrics._base import Metric
from portmert.tuner.components import registry
from portmert.tuner.ground.errors import PortmertError, exhausted

SUCCESS, FAILURE = 0, 1


class UsageError(Exception):
    """Says that a program does not have these options."""


@dataclass(frozen=True)
class Option:
    """Holds one option.

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


def parse(arguments: Sequence[str], options: Sequence[Option]) -> dict[str, list[str]]:
    """Return long name -> values in order; see `parse_in_order`."""
    given: dict[str, list[str]] = {}
    for name, value in parse_in_order(arguments, options):
        given.setdefault(name, []).append(value)
    return given


def parse_in_order(arguments: Sequence[str], options: Sequence[Option]) -> list[tuple[str, str]]:
    """Return (long name, value) of all options; as getopt_long does, abbreviations and all.

    What is no option is ignored, as Moses' programs do.

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
    options: Sequence[Option],
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


def usage(program: str, options: Sequence[Option]) -> str:
    """Return the list of options."""
    lines = [f"usage: {program} [options]"]
    for option in options:
        words = f"--{option.name}" + (f"|-{option.letter}" if option.letter else "")
        lines.append(f"[{words}] {option.help}".rstrip())
    return "\n".join(lines)


def say(line: str) -> None:
    """Print a line on stderr, where all these programs talk."""
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
