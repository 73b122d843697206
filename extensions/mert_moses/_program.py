"""Command lines as mert-moses.pl and Moses' programs read them; numbers as these print them."""

from __future__ import annotations

import getopt
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import click

from portmert.metrics._base import Metric
from portmert.tuner.base import errors, numbers
from portmert.tuner.components import registry


@dataclass(frozen=True)
class ProgramOptions:
    """The options of one of Moses' programs.

    Parameters
    ----------
    spellings
        `name|letter`, or `name`, with blanks between them; behind one `=` if a value follows.
    refused
        Name -> why it cannot be honoured.
    """

    spellings: str
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Return the long names."""
        return re.findall(r"(?<!\S)[\w-]+", self.spellings)

    def parse(self, arguments: Sequence[str]) -> OptionValues:
        """Return the options given; as getopt_long does, abbreviations and all.

        Raises
        ------
        click.UsageError
            An unknown, refused or ambiguous option, or one without its value.
        """
        options = re.findall(r"([\w-]+)(?:\|(\w))?(=?)", self.spellings)
        letters = "".join(
            letter + value.replace("=", ":") for _, letter, value in options if letter
        )
        by_word = {f"--{name}": name for name, _, _ in options}
        by_word |= {f"-{letter}": name for name, letter, _ in options if letter}
        names = [name + value for name, _, value in options]
        try:
            pairs, free_words = getopt.gnu_getopt(list(arguments), letters, names)
        except getopt.GetoptError as error:
            raise click.UsageError(error.msg) from None
        values = OptionValues(((by_word[word], value) for word, value in pairs), free_words)
        for name in values:
            if name in self.refused:
                raise click.UsageError(f"--{name}: {self.refused[name]}")
        return values


class OptionValues(dict[str, list[str]]):
    """The options given to a program: long name -> values in order.

    Parameters
    ----------
    pairs
        (long name, value) of all options as they came.
    rest
        The words that are no options.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]], rest: Sequence[str] = ()) -> None:
        super().__init__()
        self.rest = list(rest)
        for name, value in pairs:
            self.setdefault(name, []).append(value)

    def last(self, name: str, default: str = "") -> str:
        """Return the last value of an option."""
        return self.get(name, [default])[-1]

    def items_of(self, name: str) -> list[str]:
        """Return the items between commas of the last value."""
        return [item for item in self.last(name).split(",") if item]

    def integer(self, name: str, default: int) -> int:
        """Return the last value of an option that is a whole number, else raise UsageError."""
        text = self.last(name, str(default))
        try:
            return int(text)
        except ValueError:
            raise click.UsageError(f"--{name} {text}: expected a whole number") from None

    def settings(self) -> dict[str, str]:
        """Return the options of our search, KEY=VALUE each."""
        return registry.key_values(self.get("set", ()), where="--set")


def number(value: float) -> str:
    """Return a number that reads back exactly, in the form that mert-moses.pl knows: no `e+`."""
    text = repr(float(value) + 0.0)
    return format(float(value), ".1f") if "e+" in text else text


def row(values: Iterable[float]) -> str:
    """Return numbers with a blank behind each."""
    return "".join(f"{number(value)} " for value in values)


def printed_score(metric: Metric, score: float) -> float:
    """Return a score as mert-moses.pl compares it: higher is better, so 1 - an error rate.

    Raises InputError if it is not finite, as of outputs without a word.
    """
    if not math.isfinite(score):
        raise errors.InputError(f"{metric.name()} is {score}")
    return score if metric.higher_is_better else 1.0 - score


KINDS = {
    "": "a switch", "!": "a switch", "s": "text", "i": "a whole number", "f": "a number",
}  # fmt: skip
WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
"""No more digits than any array or count can have."""


def parse_perl(
    arguments: Sequence[str], options: Mapping[str, str]
) -> tuple[OptionValues, list[str]]:
    """Read a command line as Perl's Getopt::Long does, which is how mert-moses.pl is called.

    Options begin with one or two dashes, may be shortened as long as they are unique, and upper
    case is lower case. A value follows behind `=` or as the next word, whatever that begins with.

    Parameters
    ----------
    options
        Name -> kind, a key of `KINDS`; `!` is a switch that `no` in front turns off.

    Returns
    -------
    OptionValues, list
        The options (of a switch `1` or `0`), and the words that are no options.

    Raises
    ------
    click.UsageError
        An unknown or ambiguous option, or a value that is missing or of another kind.
    """
    words = list(arguments)
    pairs: list[tuple[str, str]] = []
    free_words: list[str] = []
    # Every full name in lower case -> the option, and its value if it is a switch.
    spellings = {name.lower(): (name, "1") for name in options} | {
        f"{no}{name.lower()}": (name, "0")
        for name, kind in options.items()
        if kind == "!"
        for no in ("no", "no-")
    }
    while words:
        word = words.pop(0)
        if word == "--":
            return OptionValues(pairs), free_words + words
        match = re.fullmatch(r"--?(?P<name>[^=]+)(?P<value>=.*)?", word, re.DOTALL)
        if match is None or word == "-":
            free_words.append(word)
            continue
        name, value = _find(match["name"], spellings)
        kind = options[name]
        if kind in {"", "!"}:
            if match["value"] is not None:
                raise click.UsageError(f"--{name} is a switch and takes no value: {word}")
        elif match["value"] is not None:
            value = match["value"][1:]
        elif words:
            value = words.pop(0)
        else:
            raise click.UsageError(f"--{name} needs {KINDS[kind]}")
        is_whole = kind != "i" or WHOLE.fullmatch(value)
        if not is_whole or (kind == "f" and numbers.parse_finite(value) is None):
            raise click.UsageError(f"--{name} {value}: expected {KINDS[kind]}")
        pairs.append((name, value))
    return OptionValues(pairs), free_words


def _find(name: str, spellings: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    prefix = name.lower()
    if prefix in spellings:
        return spellings[prefix]
    near = {
        spelling: meaning for spelling, meaning in spellings.items() if spelling.startswith(prefix)
    }
    if len(set(near.values())) == 1:
        return next(iter(near.values()))
    if near:
        raise click.UsageError(
            f"--{name} may be {' or '.join(f'--{spelling}' for spelling in sorted(near))}; write "
            f"more of it"
        )
    raise click.UsageError(f"mert-moses has no option --{name}{errors.suggest(prefix, spellings)}")
