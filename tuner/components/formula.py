"""Objectives written as formulas: `0.6*port + 0.4*(1-ter)`.

    sum     = product (("+" | "-") product)*
    product = factor (("*" | "/") factor)*
    factor  = "-" factor | number | metric | "(" sum ")" | ("min" | "max") "(" sum ("," sum)+ ")"
    metric  = name [":" option "=" value ("," option "=" value)*]
            | ("scores" | "comet" | "m2" | "command" | "command+links") ":" text

A name may have hyphens between letters, as `bleu-sbp`. So put spaces around the minus between two
metrics. The value of an option ends at a space, a comma, a bracket, `*` or `/`. A plus or minus
directly behind it belongs to it, as in `bleu:smooth=moses+1 + port`, and so does the `*` behind
`=` in `sr-or:type=*`. Quotes protect everything. A path may have slashes if it begins with `/`,
`./` or `../`. Files of scores and commands may stand in quotes; without quotes they end at a
space, a bracket, `*` or a plus: `0.5*scores:dev.comet + 0.5*bleu`. Nobody knows whether a higher
outside score is better, so a formula may rise or fall with it: `bleu - 0.1*scores:dev.metricx`.

A division by 0 divides by 1e-9, so that 2 / (1/bleu + 1/chrf) is 0 where bleu is 0; 0 / 0 is 0.
More errors than reference words make an error rate above 1, and 1 minus it is below 0. The product
of two such numbers, or a division by one, would be better than perfect. So an error rate above 1
counts as 1 in a product of metrics and in a division by a metric. Sums keep it, and so do products
with numbers. Scores from outside stay as they are: nobody knows their best value.
Metrics are replaced by placeholders, and Python's `ast` parses the rest.
The formula is never run as a program.
"""

import ast
import dataclasses
import functools
import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, FloatArray, IntArray, Metric
from portmert.metrics._m2 import M2
from portmert.metrics._shared import SMALLEST_COUNT

from ..base.errors import ConfigError, faults_at
from ..base.numbers import FINITE, parse_finite
from ..base.options import QUOTES, exists, files, path, quoted, split, unquoted
from ..families import provided
from ..nbest.model import NBest
from . import external

_NAME = r"[A-Za-z][A-Za-z0-9_]*(?:-[A-Za-z][A-Za-z0-9_]*)*(?:(?<=(?i:chrf))\+\+)?"
_OPTION = (
    rf"[a-z][a-z0-9_]*=(?:\*|\.{{0,2}}/(?:{QUOTES}|[^\s,()*=\"'])+"
    rf"|(?:{QUOTES}|[^\s,()*/=\"'])+)"
)
_METRIC = rf"{_NAME}(?::{_OPTION}(?:,{_OPTION})*)?"
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>{_NUMBER})|(?P<function>(?:min|max)(?=\s*\())|"
    rf"(?P<metric>{external.WRITTEN}|{_METRIC})|(?P<sign>[-+*/(),])|(?P<end>\Z)|(?P<wrong>\S))"
)
_UNQUOTED = re.compile(r'(?i:scores|comet|command(?:\+links)?):[^"]')
MOST_WORDS = 400
"""The most words of a formula: functions that walk through it call themselves."""
MOST_NESTED = 100
_AROUND = 40
"""Characters that a message shows before and after the place of a fault."""


_FUNCTIONS = {"min": np.minimum, "max": np.maximum}
_OPERATIONS: dict[type[ast.operator], Callable[[FloatArray, FloatArray], FloatArray]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: lambda values, by: np.asarray(values / np.where(by == 0, SMALLEST_COUNT, by)),
}


def is_formula(text: str) -> bool:
    """Return whether a metric is written as a formula, not as `name:option=value,...`."""
    if re.fullmatch(_METRIC, text) or re.fullmatch(external.WRITTEN, text):
        return False
    bare = re.fullmatch(rf"{_NAME}:[^\s()*/]*", text)  # a faulty option, but no formula
    signs = re.sub(QUOTES, "", text)
    return bare is None and re.search(r"[-+*/()\s]|^[\d.]", signs) is not None


def outside(text: str) -> Metric | None:
    """Return a metric from outside as a formula has it; None if the text is another one."""
    if not re.fullmatch(external.WRITTEN, text):
        return None
    name, _, argument = text.partition(":")
    name = name.lower()
    return outside_metric(name, unquoted(argument) if name.startswith("command") else argument)


def outside_metric(name: str, argument: str) -> Metric:
    """Return the metric `name:argument`; the name is one of `external.NAMES`.

    A command is taken as it is, files may be in quotes; an existing file is the program.

    Raises
    ------
    ConfigError
        The argument is empty, or no command line.
    """
    if name == "comet":
        metric: Metric = provided("portmert.outside_metrics", name).written(argument)
        return metric
    if name == "m2":
        return _m2(argument)
    if name.startswith("command") and exists(argument):
        argument = shlex.quote(argument)
    with faults_at(f"metric {name}", (ValueError, ConfigError), ConfigError):
        if name == "scores":
            return external.Scores(files(argument, where="write scores:FILE,FILE"))
        return external.CommandMetric(argument, links=name == "command+links")


def _m2(argument: str) -> M2:
    """Return the metric of `FILE,beta=1,level=0.5`; each part may be left out."""
    gold, values = None, {}
    with faults_at("metric m2", (ValueError, ConfigError), ConfigError):
        for part in split(argument, ",") if argument else ():
            name, equals, value = part.partition("=")
            if equals and name in ("beta", "level") and not exists(part):
                values[name] = value
            elif gold is None:
                gold = path(part)
            else:
                raise ConfigError(f"'{part}', expected one FILE, beta=NUMBER, level=NUMBER")
        return M2(gold, **values)  # type: ignore[arg-type]  # read as numbers by pydantic


class _Bounding(ast.NodeTransformer):
    """Names metric i `bi`, not `mi`, where a formula multiplies metrics or divides by one.

    There an error rate is at most 1.
    """

    def __init__(self) -> None:
        self._inside = False

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        outside, left, right = self._inside, _has_metric(node.left), _has_metric(node.right)
        bounds = isinstance(node.op, ast.Mult) and left and right
        bounds |= isinstance(node.op, ast.Div) and right
        self._inside = outside or bounds
        self.generic_visit(node)
        self._inside = outside
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        bounds = self._inside and node.id not in _FUNCTIONS
        return ast.Name(f"b{node.id[1:]}") if bounds else node


def _has_metric(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Name) and part.id not in _FUNCTIONS for part in ast.walk(node))


def _value(node: ast.expr, scores: Mapping[str, FloatArray]) -> FloatArray:
    match node:
        case ast.Constant(value=int() | float() as number):
            return np.full(np.shape(scores["m0"]), float(number))
        case ast.Name(id=name):
            return scores[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, scores)
        case ast.BinOp(left=left, op=operator, right=right):
            return _OPERATIONS[type(operator)](_value(left, scores), _value(right, scores))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return functools.reduce(
                _FUNCTIONS[name], [_value(argument, scores) for argument in arguments]
            )
    raise AssertionError(ast.dump(node))


def _of_all(compute: Callable[[Any], object]) -> Any:
    """Return a property for what other metrics have as a class variable."""
    return property(compute)


@dataclass(frozen=True)
class Formula(Metric):
    """Combines metrics by a formula; built by `parse`.

    Its statistics are the statistics of its distinct metrics, one after the other.

    Parameters
    ----------
    expression
        The formula, with `m0`, `m1` and so on for its metrics.
    metrics
        The metrics, in this order.
    """

    expression: str = dataclasses.field(repr=False)
    metrics: tuple[Metric, ...]

    source: ClassVar[str] = "a formula of metrics"

    needs = _of_all(
        lambda self: frozenset(need for metric in self.metrics for need in metric.needs)
    )
    most_tokens = _of_all(
        lambda self: min(
            filter(None, (metric.most_tokens for metric in self.metrics)), default=None
        )
    )
    in_percent = _of_all(lambda self: all(metric.in_percent for metric in self.metrics))
    reads_references = _of_all(
        lambda self: any(metric.reads_references for metric in self.metrics)
    )
    compares_words = _of_all(lambda self: any(metric.compares_words for metric in self.metrics))
    of_lists = _of_all(lambda self: any(metric.of_lists for metric in self.metrics))

    def __post_init__(self) -> None:
        """Check which way is better.

        Raises
        ------
        ValueError
            It gets better with one metric and worse with another.
        """
        _ = self.higher_is_better

    @cached_property
    def _tree(self) -> ast.expr:
        tree: ast.expr = _Bounding().visit(ast.parse(self.expression, mode="eval").body)
        return tree

    def value(self, scores: Sequence[FloatArray]) -> FloatArray:
        """Return (...): the value of the formula if metric i scores `scores[i]` (...)."""
        by_name = {f"m{i}": np.asarray(score) for i, score in enumerate(scores)}
        for i, metric in enumerate(self.metrics):
            bounded = by_name[f"m{i}"]
            if metric.is_error_rate:
                rises = metric.higher_is_better
                bounded = np.maximum(bounded, 0.0) if rises else np.minimum(bounded, 1.0)
            by_name[f"b{i}"] = bounded
        return _value(self._tree, by_name)

    @cached_property
    def higher_is_better(self) -> bool:  # type: ignore[override]
        """Whether it rises as its metrics get better, for scores between 0 and 1."""
        slopes: dict[str, float] = {}
        for i, metric in enumerate(self.metrics):
            scores = [np.roll(np.arange(1, 24, 2) / 24, 5 * j) for j in range(len(self.metrics))]
            low, high = [*scores], [*scores]
            low[i], high[i] = scores[i] - 1e-3, scores[i] + 1e-3
            with np.errstate(over="ignore", invalid="ignore"):
                change = float((self.value(high) - self.value(low)).sum())
            if not math.isfinite(change):
                raise ValueError("its value grows beyond all bounds")
            change = 0.0 if abs(change) < 1e-12 else change
            slopes[self.labels[i]] = metric.oriented(change)
        if not any(slopes.values()):
            raise ValueError(f"its value does not depend on {' and '.join(slopes)}")
        outside = {
            label
            for label, metric in zip(self.labels, self.metrics, strict=True)
            if metric.of_lists
        }
        better = [label for label in slopes.keys() - outside if slopes[label] > 0]
        worse = [label for label in slopes.keys() - outside if slopes[label] < 0]
        if better and worse:
            raise ValueError(
                f"it rises where {better[0]} gets better and falls where {worse[0]} does; turn "
                f"one of them round, as (1 - {worse[0]})"
            )
        return not worse

    def check_lists(self, lists: Sequence[Path | str], nbest: NBest) -> None:
        """Let each of its metrics check."""
        for metric in self.metrics:
            metric.check_lists(lists, nbest)

    def lacks_score(self, nbest: NBest) -> NDArray[np.bool_] | None:
        """Return (H,) whether any of its metrics lacks a score."""
        by_metric = [metric.lacks_score(nbest) for metric in self.metrics]
        lacking = [rows for rows in by_metric if rows is not None]
        return np.logical_or.reduce(lacking) if lacking else None

    @property
    def signature(self) -> str:
        """The formula with the signature of every metric; it builds the same formula again.

        Outside metrics are in quotes if need be.
        """
        parts = [metric.signature.partition(":") for metric in self.metrics]
        names = [
            name + colon + (quoted(options) if name.startswith("command") else options)
            for name, colon, options in parts
        ]
        return re.sub(r"\bm(\d+)\b", lambda place: names[int(place[1])], self.expression)

    @property
    def labels(self) -> tuple[str, ...]:
        """A short name of each metric, with a number where two have the same."""
        names = [metric.name() for metric in self.metrics]
        return tuple(
            name if names.count(name) == 1 else f"{name}#{names[: i + 1].count(name)}"
            for i, name in enumerate(names)
        )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Names of all statistics: `port.matched_1` and so on."""
        return tuple(
            f"{label}.{name}"
            for label, metric in zip(self.labels, self.metrics, strict=True)
            for name in metric.stat_names
        )

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, K) in the order of `stat_names`."""
        return np.concatenate([metric.stats(batch) for metric in self.metrics], axis=1)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the formula's value for stats (..., K)."""
        parts = zip(self.metrics, self._split(stats), strict=True)
        return self.value([metric.score(part) for metric, part in parts])

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return each metric's score and its parts, named `port` and `port.p1`."""
        by_name: dict[str, float] = {}
        for label, metric, part in zip(self.labels, self.metrics, self._split(stats), strict=True):
            by_name[label] = float(metric.score(part))
            by_name |= {f"{label}.{key}": value for key, value in metric.parts(part).items()}
        return by_name

    def influences(self, stats: FloatArray, offsets: IntArray) -> dict[str, tuple[float, float]]:
        """Return each metric's score, and its share in the changes of the formula.

        The scores are of the first hypotheses of all segments. Then one hypothesis at a time
        is exchanged for another, and one metric at a time follows. A metric's share is the root
        mean square of its changes, divided by the sum of these over the metrics.

        Parameters
        ----------
        stats : (H, K) float64
        offsets : (S + 1,) int64
        """
        firsts = offsets[:-1]
        total = stats[firsts].sum(axis=0)
        exchanged = total + stats - stats[np.repeat(firsts, np.diff(offsets))]
        start = [
            metric.score(part)
            for metric, part in zip(self.metrics, self._split(total), strict=True)
        ]
        moved: list[float] = []
        for i, (metric, part) in enumerate(zip(self.metrics, self._split(exchanged), strict=True)):
            scores = [np.broadcast_to(score, len(stats)) for score in start]
            scores[i] = metric.score(part)
            change = self.value(scores) - self.value(start)
            moved.append(float(np.sqrt(np.mean(change**2))))
        whole = sum(moved)
        return {
            label: (float(score), move / whole if whole else 0.0)
            for label, score, move in zip(self.labels, start, moved, strict=True)
        }

    def _split(self, stats: FloatArray) -> list[FloatArray]:
        ends = np.cumsum([len(metric.stat_names) for metric in self.metrics])
        return np.split(stats, ends[:-1], axis=-1)


def parse(text: str, build: Callable[[str], Metric]) -> Formula:
    """Return the objective that a formula describes.

    Parameters
    ----------
    build
        Returns the metric written `name:option=value,...`.

    Raises
    ------
    ConfigError
        The text is no formula (the message shows where), it has no metric or an unknown one, or it
        rises with one metric and falls with another.
    """
    parser = _Parser(text, build)
    expression = parser.expression()
    if not parser.metrics:
        raise ConfigError(f"formula '{text}': no metric in it")
    with faults_at(f"formula '{text}'", ValueError, ConfigError):
        return Formula(expression, tuple(parser.metrics))


class _Parser:
    """Checks a formula word by word, and writes it with placeholders in place of metrics."""

    def __init__(self, text: str, build: Callable[[str], Metric]) -> None:
        self.metrics: list[Metric] = []
        self._text = text
        self._build = build
        self._start = 0
        self._kind = self._word = ""
        self._written: list[str] = []
        self._signs = 0
        self._opened: list[tuple[str, int]] = []  # the function of each bracket; where it begins

    def expression(self) -> str:
        """Return the formula, spaced and with the brackets it needs; metric i is called `mi`."""
        value_is_next = True
        for _ in self._words():
            value_is_next = self._value() if value_is_next else self._operator()
        return ast.unparse(ast.parse("".join(self._written), mode="eval"))

    def _words(self) -> Iterator[None]:
        """Go from word to word; the last one is the end."""
        end = count = 0
        while self._kind != "end":
            match = _TOKEN.match(self._text, end)
            assert match is not None  # noqa: S101  any sign is at least wrong
            self._kind = match.lastgroup or ""
            self._word, self._start, end = match[self._kind], match.start(self._kind), match.end()
            if self._kind == "wrong":
                raise self._error(f"cannot read '{self._word}'")
            count += 1
            if count > MOST_WORDS:
                raise self._error(f"more than {MOST_WORDS} numbers, metrics and signs")
            yield

    def _value(self) -> bool:
        """Write a word where a value begins; return whether the value is still to come."""
        written = self._word
        if self._kind == "number":
            number = parse_finite(self._word)
            if number is None:
                raise self._error(f"the number is {self._word}, expected one that is {FINITE}")
            if not number and self._written[-1:] == [" / "]:
                raise self._error("division by 0")
            written = repr(number).removesuffix(".0")
        elif self._kind == "metric":
            metric = self._metric()
            if metric not in self.metrics:
                self.metrics.append(metric)
            written = f"m{self.metrics.index(metric)}"
        elif self._word == "(":
            function = self._written[-1] if self._written[-1:] in (["min"], ["max"]) else ""
            self._opened.append((function, len(self._written)))
        elif self._word == "-":
            self._signs += 1
        elif self._kind != "function":
            raise self._unexpected("a number, a metric or '('")
        if len(self._opened) + self._signs > MOST_NESTED:
            raise self._error(f"brackets and signs are nested more than {MOST_NESTED} deep")
        self._written.append(written)
        self._signs *= self._word == "-"
        return self._kind not in ("number", "metric")

    def _operator(self) -> bool:
        """Write a word behind a value; return whether another value must follow."""
        function, begin = self._opened[-1] if self._opened else ("", 0)
        if self._word and self._word in "+-*/":
            self._written.append(f" {self._word} ")
            return True
        if self._word == "," and function:
            self._written.append(",")
            return True
        if self._word == ")" and self._opened:
            if function and "," not in self._written[begin:]:
                raise self._error(f"{function} takes two values or more, separated by commas")
            self._opened.pop()
            self._written.append(")")
            return False
        if self._opened or self._kind != "end":
            raise self._unexpected("')'" if self._opened else "an operator or the end")
        return False

    def _metric(self) -> Metric:
        try:
            return outside(self._word) or self._build(self._word)
        except ConfigError as error:
            hint = ""
            if self._word.lower() in external.NAMES:
                hint = (
                    f"; write {self._word}:... with a file or a command, in quotes or close to it"
                )
            if "-" in self._word.partition(":")[0]:
                hint = "; write a difference with spaces around the minus"
            raise self._error(f"{error}{hint}") from None

    def _unexpected(self, expected: str) -> ConfigError:
        word = "the end" if self._kind == "end" else f"'{self._word}'"
        hint = ""
        if _UNQUOTED.search(self._text, 0, self._start):
            hint = '; names with spaces, brackets, * or + stand in quotes, as scores:"my file"'
        return self._error(f"found {word}, expected {expected}{hint}")

    def _error(self, fault: str) -> ConfigError:
        """Return an error that shows the formula with a caret below the place."""
        before, after = self._text[: self._start], self._text[self._start :]
        text = f"{before[-_AROUND:]}{after[:_AROUND]}"
        return ConfigError(
            f"formula: {fault} (column {self._start + 1})\n    {text}\n"
            f"    {' ' * len(before[-_AROUND:])}^"
        )
