"""Reads objectives written as formulas: `0.6*port + 0.4*(1-ter)`.

    sum     = product (("+" | "-") product)*
    product = factor (("*" | "/") factor)*
    factor  = "-" factor | number | metric | "(" sum ")" | ("min" | "max") "(" sum ("," sum)+ ")"
    metric  = name [":" option "=" value ("," option "=" value)*]
            | ("scores" | "command" | "command+links") ":" (text | '"' text '"')

A name may have hyphens between letters, as `bleu-sbp`: write a difference of two metrics with
spaces. The value of an option ends at a space, a comma, a bracket, `*` or `/`; a plus or minus
directly behind it belongs to it, as in `bleu:smooth=moses+1 + port`, and so does the `*` behind
`=` in `sr-or:type=*`. A path may have slashes if it begins with `/`, `./` or `../`. Files of
scores and commands may stand in quotes; without them they end at a space, a bracket, `*` or a
plus: `0.5*scores:dev.comet + 0.5*bleu`. Which outside scores are better is not known: a formula
may rise or fall with them, `bleu - 0.1*scores:dev.metricx`.

Whatever is divided by 0 is 0. The text is parsed by the rules above and never run as a program.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import ValidationError
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, FloatArray, IntArray, Metric, Need
from portmert.tuner.components import external
from portmert.tuner.families import reason
from portmert.tuner.ground.errors import ConfigError
from portmert.tuner.ground.numbers import FINITE, parse_number

_NAME = r"[A-Za-z][A-Za-z0-9_]*(?:-[A-Za-z][A-Za-z0-9_]*)*(?:(?<=(?i:chrf))\+\+)?"
_OPTION = r"[a-z][a-z0-9_]*=(?:\*|\.{0,2}/[^\s,()*=]+|[^\s,()*/=]+)"
_METRIC = rf"{_NAME}(?::{_OPTION}(?:,{_OPTION})*)?"
_OUTSIDE = (
    r"(?i:scores|comet|command(?:\+links)?):"
    r'(?:"(?:[^"\\]|\\.)*"|[^\s()*+",]+(?:,[^\s()*+",]+)*)'
)
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>{_NUMBER})|(?P<metric>{_OUTSIDE}|{_METRIC})|(?P<sign>[-+*/(),]))"
)
_SPACE = re.compile(r"\s*")
_FUNCTIONS = ("min", "max")
MOST_WORDS = 400
"""Of a formula: what walks through it calls itself."""
_AROUND = 40
"""Characters that a message shows before and after the place of a fault."""
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}
_PROBES = np.arange(1, 24, 2) / 24
"""Scores at which it is looked whether the formula rises."""


def _divided(values: FloatArray, by: FloatArray) -> FloatArray:
    zero = by == 0
    return np.where(zero, 0.0, values / np.where(zero, 1.0, by))


_OPERATIONS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": _divided,
    "min": np.minimum,
    "max": np.maximum,
}


def is_formula(text: str) -> bool:
    """Return whether a metric is written as a formula, not as `name:option=value,...`."""
    if re.fullmatch(_METRIC, text) or re.fullmatch(_OUTSIDE, text):
        return False
    bare = re.fullmatch(rf"{_NAME}:[^\s()*/]*", text)  # a faulty option, but no formula
    return bare is None and re.search(r"[-+*/()\s]|^[\d.]", text) is not None


@dataclasses.dataclass(frozen=True)
class Node:
    """Stands for a part of a formula.

    Parameters
    ----------
    kind
        `number`, `metric`, `min`, `max`, `negative`, or an operator `+ - * /`.
    number
        The number; of a metric, its place in the formula's list of metrics.
    children
    """

    kind: str
    number: float = 0.0
    children: tuple[Node, ...] = ()

    def value(self, scores: Sequence[FloatArray]) -> FloatArray:
        """Return (...): the value where metric i scores `scores[i]` (...)."""
        if self.kind == "number":
            return np.full(np.shape(scores[0]), self.number)
        if self.kind == "metric":
            return np.asarray(scores[int(self.number)])
        if self.kind == "negative":
            return -self.children[0].value(scores)
        parts = [child.value(scores) for child in self.children]
        return functools.reduce(_OPERATIONS[self.kind], parts)

    def text(self, metrics: Sequence[str], *, within: int = 0) -> str:
        """Return the formula again, spaced and with brackets where they are needed."""
        if self.kind == "number":
            return f"{self.number!r}".removesuffix(".0")
        if self.kind == "metric":
            return metrics[int(self.number)]
        if self.kind in _FUNCTIONS:
            return f"{self.kind}({', '.join(child.text(metrics) for child in self.children)})"
        if self.kind == "negative":
            return f"-{self.children[0].text(metrics, within=3)}"
        own = _PRECEDENCE[self.kind]
        left = self.children[0].text(metrics, within=own)
        right = self.children[1].text(metrics, within=own + 1)
        joined = f"{left} {self.kind} {right}"
        return f"({joined})" if own < within else joined


@dataclass(frozen=True)
class Formula(Metric):
    """Combines metrics by a formula; built by `parse`.

    Its statistics are those of its metrics one after the other, each distinct metric's once.

    Parameters
    ----------
    node
        What is computed.
    metrics
        Of which metrics.
    """

    node: Node = dataclasses.field(repr=False)
    metrics: tuple[Metric, ...]

    source: ClassVar[str] = "a formula of metrics"

    def __post_init__(self) -> None:
        """Check which way is better.

        Raises
        ------
        ValueError
            It rises with one metric's getting better and falls with another's.
        """
        _ = self.higher_is_better

    # Class variables of other metrics, but of a formula each has its own.

    @cached_property
    def needs(self) -> frozenset[Need]:  # type: ignore[override]
        """What its metrics need."""
        return frozenset(need for metric in self.metrics for need in metric.needs)

    @cached_property
    def higher_is_better(self) -> bool:  # type: ignore[override]
        """Whether it rises as its metrics get better."""
        return self._rises()

    @cached_property
    def most_tokens(self) -> int | None:  # type: ignore[override]
        """The fewest that any of its metrics takes."""
        return min((one.most_tokens for one in self.metrics if one.most_tokens), default=None)

    @cached_property
    def in_percent(self) -> bool:  # type: ignore[override]
        """Whether all its metrics are."""
        return all(metric.in_percent for metric in self.metrics)

    @cached_property
    def reads_references(self) -> bool:  # type: ignore[override]
        """Whether any of its metrics does."""
        return any(metric.reads_references for metric in self.metrics)

    @cached_property
    def compares_words(self) -> bool:  # type: ignore[override]
        """Whether any of its metrics does."""
        return any(metric.compares_words for metric in self.metrics)

    @cached_property
    def of_lists(self) -> bool:  # type: ignore[override]
        """Whether any of its metrics is."""
        return any(metric.of_lists for metric in self.metrics)

    def check_lists(self, lists: Sequence[Path | str], sizes: Sequence[int]) -> None:
        """Let each of its metrics check."""
        for metric in self.metrics:
            metric.check_lists(lists, sizes)

    @property
    def signature(self) -> str:
        """The formula with every metric's signature; it builds the same formula again."""
        return self.node.text([_written(metric.signature) for metric in self.metrics])

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
        return self.node.value([metric.score(part) for metric, part in parts])

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return each metric's score and its parts, named `port` and `port.p1`."""
        named: dict[str, float] = {}
        for label, metric, part in zip(self.labels, self.metrics, self._split(stats), strict=True):
            named[label] = float(metric.score(part))
            named |= {f"{label}.{key}": value for key, value in metric.parts(part).items()}
        return named

    def influences(self, stats: FloatArray, offsets: IntArray) -> dict[str, tuple[float, float]]:
        """Return each metric's score, and its share in how the formula moves with the choice.

        The scores are of the first hypothesis of each segment. One at a time is exchanged for
        another, and one metric at a time follows: the share is of the root mean squares of what
        the formula changes by.

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
            scores = [np.broadcast_to(one, len(stats)) for one in start]
            scores[i] = metric.score(part)
            change = self.node.value(scores) - self.node.value(start)
            moved.append(float(np.sqrt(np.mean(change**2))))
        whole = sum(moved)
        return {
            label: (float(score), move / whole if whole else 0.0)
            for label, score, move in zip(self.labels, start, moved, strict=True)
        }

    def _split(self, stats: FloatArray) -> list[FloatArray]:
        ends = np.cumsum([len(metric.stat_names) for metric in self.metrics])
        return np.split(stats, ends[:-1], axis=-1)

    def _rises(self) -> bool:
        """Return whether it rises as its metrics get better; between scores of 0 and 1."""
        slopes: dict[str, float] = {}
        for i, metric in enumerate(self.metrics):
            scores = [np.roll(_PROBES, 5 * j) for j in range(len(self.metrics))]
            low, high = [*scores], [*scores]
            low[i], high[i] = scores[i] - 1e-3, scores[i] + 1e-3
            with np.errstate(over="ignore", invalid="ignore"):
                change = float((self.node.value(high) - self.node.value(low)).sum())
            if not math.isfinite(change):
                raise ValueError("its numbers multiply beyond all bounds")
            change = 0.0 if abs(change) < 1e-12 else change
            slopes[self.labels[i]] = metric.oriented(change)
        if not any(slopes.values()):
            raise ValueError(f"it stays the same whatever {' and '.join(slopes)} say")
        outside = {
            label for label, one in zip(self.labels, self.metrics, strict=True) if one.of_lists
        }
        better = [label for label in slopes.keys() - outside if slopes[label] > 0]
        worse = [label for label in slopes.keys() - outside if slopes[label] < 0]
        if better and worse:
            raise ValueError(
                f"it rises where {better[0]} gets better and falls where {worse[0]} does; turn "
                f"one of them round, as (1 - {worse[0]})"
            )
        return not worse


def _written(signature: str) -> str:
    """Return a metric's signature as a formula has it: that of outside scores in quotes."""
    name, _, rest = signature.partition(":")
    if name not in {"scores", "comet", "command", "command+links"} or re.fullmatch(
        _OUTSIDE, signature
    ):
        return signature
    escaped = re.sub(r'(["\\])', r"\\\1", rest)
    return f'{name}:"{escaped}"'


def _outside(word: str) -> Metric | None:
    """Return outside scores as `_written` writes them; None of another metric."""
    if not re.fullmatch(_OUTSIDE, word):
        return None
    name, _, rest = word.partition(":")
    plain = re.sub(r"\\(.)", r"\1", rest[1:-1]) if rest.startswith('"') else rest
    return external.metric(name.lower(), plain)


def parse(text: str, build: Callable[[str], Metric]) -> Formula:
    """Return the objective that a formula describes.

    Parameters
    ----------
    build
        From `name:option=value,...` to the metric.

    Raises
    ------
    ConfigError
        The text is no formula (the message shows where), has no metric, an unknown one, or is
        at odds with itself about which way is better.
    """
    parser = _Parser(text, build)
    node = parser.sum()
    if parser.kind:
        raise parser.error(f"found '{parser.word}', expected an operator or the end")
    if not parser.metrics:
        raise ConfigError(f"formula '{text}': no metric in it")
    try:
        return Formula(node, tuple(parser.metrics))
    except ValidationError as error:
        raise ConfigError(f"formula '{text}': {reason(error)}") from None


class _Parser:
    """Descends recursively; `kind` and `word` are what comes next, `kind` is empty at the end."""

    def __init__(self, text: str, build: Callable[[str], Metric]) -> None:
        self.text = text
        self.build = build
        self.metrics: list[Metric] = []
        self.end = 0
        self.depth = 0
        self.count = 0
        self.advance()

    def advance(self) -> str:
        """Go to the next token, return the one left behind."""
        left = getattr(self, "word", "")
        self.kind, self.word = "", ""
        self.start = _SPACE.match(self.text, self.end).end()  # type: ignore[union-attr]  # always
        if self.start == len(self.text):
            return left
        found = _TOKEN.match(self.text, self.end)
        if found is None:
            raise self.error(f"cannot read '{self.text[self.start]}'")
        self.kind = found.lastgroup or ""
        self.word = found.group(self.kind)
        self.end = found.end()
        self.count += 1
        if self.count > MOST_WORDS:
            raise self.error(f"more than {MOST_WORDS} numbers, metrics and signs")
        return left

    def error(self, what: str) -> ConfigError:
        """Return an error that shows the formula with a caret below the place."""
        before, after = self.text[: self.start], self.text[self.start :]
        text = f"{before[-_AROUND:]}{after[:_AROUND]}"
        return ConfigError(
            f"formula: {what} (column {self.start + 1})\n    {text}\n"
            f"    {' ' * len(before[-_AROUND:])}^"
        )

    def sum(self) -> Node:
        node = self.product()
        while self.word in {"+", "-"}:
            node = Node(self.advance(), children=(node, self.product()))
        return node

    def product(self) -> Node:
        node = self.factor()
        while self.word in {"*", "/"}:
            sign, start = self.advance(), self.start
            node = Node(sign, children=(node, self.factor()))
            if sign == "/" and node.children[1] == Node("number", 0.0):
                self.start = start
                raise self.error("division by 0")
        return node

    def factor(self) -> Node:
        self.depth += 1
        if self.depth > 100:
            raise self.error("brackets and signs are nested more than 100 deep")
        try:
            if self.kind == "number":
                number = parse_number(self.word)
                if number is None or not math.isfinite(number):
                    raise self.error(f"the number is {self.word}, expected one that is {FINITE}")
                self.advance()
                return Node("number", number)
            if self.word == "-":
                self.advance()
                return Node("negative", children=(self.factor(),))
            if self.word in _FUNCTIONS and self.text[self.end :].lstrip().startswith("("):
                return self.function()
            if self.kind == "metric":
                return self.metric()
            if self.word == "(":
                self.advance()
                node = self.sum()
                self.expect(")")
                return node
        finally:
            self.depth -= 1
        found = f"'{self.word}'" if self.kind else "the end"
        raise self.error(f"found {found}, expected a number, a metric or '('")

    def function(self) -> Node:
        name = self.advance()
        self.expect("(")
        children = [self.sum()]
        while self.word == ",":
            self.advance()
            children.append(self.sum())
        if len(children) < 2:
            raise self.error(f"{name} takes two values or more, separated by commas")
        self.expect(")")
        return Node(name, children=tuple(children))

    def metric(self) -> Node:
        try:
            metric = _outside(self.word) or self.build(self.word)
        except ConfigError as error:
            hint = ""
            if self.word.lower() in {"scores", "command"}:
                hint = (
                    f"; write {self.word}:... with a file or a command, in quotes or close to it"
                )
            if "-" in self.word.partition(":")[0]:
                hint = "; write a difference with spaces around the minus"
            raise self.error(f"{error}{hint}") from None
        self.advance()
        if metric not in self.metrics:
            self.metrics.append(metric)
        return Node("metric", self.metrics.index(metric))

    def expect(self, sign: str) -> None:
        if self.word != sign:
            found = f"'{self.word}'" if self.kind else "the end"
            raise self.error(f"found {found}, expected '{sign}'")
        self.advance()
