"""Parts that the programs share: their options, how they end, how they print numbers."""

import getopt
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import click

from portmert.metrics._base import Metric

from ..base import errors, numbers
from ..components import registry

FAILURE = 1


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
        One line; behind `refused: ` or `ignored: ` the reason.
    """

    name: str
    letter: str = ""
    takes_value: bool = True
    help: str = ""

    def reason(self, kind: str) -> str:
        """Return why it is `refused` or `ignored`; an empty text if it is not."""
        return self.help.removeprefix(f"{kind}: ") if self.help.startswith(kind) else ""


HELP = Flag("help", "h", takes_value=False, help="print this message and exit")
"""An option of all programs."""


class OptionValues(dict[str, list[str]]):
    """The options given to a program: long name -> values in order.

    Parameters
    ----------
    in_order
        (long name, value) of all options as they came.
    rest
        The words that are no options.
    """

    def __init__(self, in_order: Iterable[tuple[str, str]], rest: Sequence[str] = ()) -> None:
        super().__init__()
        self.in_order = list(in_order)
        self.rest = list(rest)
        for name, value in self.in_order:
            self.setdefault(name, []).append(value)

    def last(self, name: str, default: str = "") -> str:
        """Return the last value of an option."""
        return self.get(name, [default])[-1]

    def items_of(self, name: str, default: str = "") -> list[str]:
        """Return the items between commas of the last value."""
        return [item for item in self.last(name, default).split(",") if item]

    def integer(self, name: str, default: int) -> int:
        """Return the last value of an option that is a whole number, else raise `UsageError`."""
        text = self.last(name, str(default))
        try:
            return int(text)
        except ValueError:
            raise UsageError(f"--{name} {text}: expected a whole number") from None

    def settings(self) -> dict[str, str]:
        """Return the options of our search, KEY=VALUE each."""
        return registry.key_values(self.get("set", ()), where="--set")


def parse(arguments: Sequence[str], options: Sequence[Flag]) -> OptionValues:
    """Return the options given; as getopt_long does, abbreviations and all.

    Words that are no options are ignored, as Moses' programs do.

    Raises
    ------
    UsageError
        An unknown, refused or ambiguous option, or one without its value.
    """
    letters = "".join(o.letter + ":" * o.takes_value for o in options if o.letter)
    names = [o.name + "=" * o.takes_value for o in options]
    try:
        pairs, words = getopt.gnu_getopt(list(arguments), letters, names)
    except getopt.GetoptError as error:
        raise UsageError(error.msg) from None
    by_word = {f"--{o.name}": o.name for o in options}
    by_word |= {f"-{o.letter}": o.name for o in options if o.letter}
    values = OptionValues(((by_word[word], value) for word, value in pairs), words)
    for option in options:
        if option.name in values and (reason := option.reason("refused")):
            raise UsageError(f"--{option.name}: {reason}")
    return values


def program(
    name: str, options: Sequence[Flag]
) -> Callable[[Callable[[OptionValues], int]], Callable[[Sequence[str]], int]]:
    """Make a program of a function that takes its options and returns the exit status.

    The program takes its arguments; faults are one line on stderr. Moses' programs end with status
    1 for wrong usage, `--help` included.
    """
    options = (*options, HELP)

    def decorate(work: Callable[[OptionValues], int]) -> Callable[[Sequence[str]], int]:
        def main(arguments: Sequence[str]) -> int:
            try:
                values = parse(arguments, options)
                if "help" not in values:
                    return work(values)
            except UsageError as error:
                say(f"{name}: {error}")
            except (errors.PortmertError, ValueError) as error:
                say(f"{name}: error: {error}")
                return FAILURE
            except (MemoryError, RecursionError) as error:
                say(f"{name}: error: {errors.exhausted(error)}")
                return FAILURE
            say(f"usage: {name} [options]")
            for option in options:
                words = f"--{option.name}" + (f"|-{option.letter}" if option.letter else "")
                say(f"[{words}] {option.help}".rstrip())
            return FAILURE

        return main

    return decorate


def say(line: str) -> None:
    """Print a line on stderr, as all these programs do."""
    click.echo(line, err=True)


def number(value: float) -> str:
    """Return a number that reads back exactly, in the form that mert-moses.pl knows: no `e+`."""
    text = repr(float(value) + 0.0)
    return format(float(value), ".1f") if "e+" in text else text


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
