"""Objectives written as formulas: `0.6*port + 0.4*(1-ter)`.

    value  = number | metric | "-" value | value ("+" | "-" | "*" | "/") value | "(" value ")"
           | ("min" | "max") "(" value ("," value)+ ")"
    metric = name [":" option "=" value ("," option "=" value)*]
           | ("scores" | "comet" | "m2" | "command" | "command+links") ":" text

A name is never arithmetic: `bleu-sbp`, `bleu-4`, `DR-Or-*` and `PORT(rho)` are names. So
a sign behind a metric needs a space before it. The value of an option ends at a space, a comma, a
bracket, `*` or `/`. A plus or minus directly behind it belongs to it, as in `bleu:smooth=moses+1 +
port`, and so does the `*` behind `=` in `sr-or:type=*`. Quotes protect everything. A path may have
slashes if it begins with `/`, `./` or `../`. Files of scores and commands may stand in quotes;
without quotes they end at a space, a bracket, `*` or a plus: `0.5*scores:dev.comet + 0.5*bleu`.
Nobody knows whether a higher outside score is better, so a formula may rise or fall with it:
`bleu - 0.1*scores:dev.metricx`.

A division by 0 divides by 1e-9, so that 2 / (1/bleu + 1/chrf) is 0 where bleu is 0; 0 / 0 is 0.
More errors than reference words make an error rate above 1, and 1 minus it is below 0. The product
of two such numbers, or a division by one, would be better than perfect. So an error rate above 1
counts as 1 in a product of metrics and in a division by a metric. Sums keep it, and so do products
with numbers. Scores from outside stay as they are: nobody knows their best value.
A constant must not take the value further out of 0..1: `bleu - 4` is no score.
"""

import ast
import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.metrics import _paper_names
from portmert.metrics._base import Batch, FloatArray, IntArray, Metric
from portmert.metrics._shared import SMALLEST_COUNT

from ..base.errors import ConfigError, faults_at
from ..base.formulas import Grammar
from ..base.options import QUOTES, files, quoted, unquoted
from ..families import provided
from . import external

_NAME = (
    r"(?!(?:min|max)\s*\()[^\W\d_][^\s,:()\[\]=\"']*"  # up to a space, comma, colon, bracket
    r"(?:\[[^\]]*\](?:,n=\d+(?:,gamma=[\d.]+)?)?|\([^()]*\))?"  # of a paper's name
)
_OPTION = (
    rf"[a-z][a-z0-9_]*=(?:\*|\.{{0,2}}/(?:{QUOTES}|[^\s,()*=\"'])+"
    rf"|(?:{QUOTES}|[^\s,()*/=\"'])+)"
)
_METRIC = rf"{_NAME}(?::{_OPTION}(?:,{_OPTION})*)?"


GRAMMAR = Grammar(
    names=rf"{external.WRITTEN}|{_METRIC}",
    operations={
        ast.Add: np.add,
        ast.Sub: np.subtract,
        ast.Mult: np.multiply,
        ast.Div: lambda values, by: values / np.where(by == 0, SMALLEST_COUNT, by),
    },
    functions={
        name: (lambda *values, reduce=reduce: functools.reduce(reduce, values), 2)
        for name, reduce in (("min", np.minimum), ("max", np.maximum))
    },
)


def is_formula(text: str) -> bool:
    """Return whether a metric is written as a formula, not as `name:option=value,...`."""
    name, _, argument = text.partition(":")
    if not re.search(r"[\s()*/]", argument) and _paper_names.resolved(name):
        return False
    if re.fullmatch(GRAMMAR.names, text):
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

    Files may be in quotes; a command is taken as it is.

    Raises
    ------
    ConfigError
        The argument is empty, or no command line.
    """
    if name == "scores":
        with faults_at(f"metric {name}", (ValueError, ConfigError), ConfigError):
            return external.Scores(files(argument, where="write scores:FILE,FILE"))
    metric: Metric = provided("portmert.outside_metrics", name).written(argument)
    return metric


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
        bounds = self._inside and node.id not in GRAMMAR.functions
        return ast.Name(f"b{node.id[1:]}") if bounds else node


def _has_metric(node: ast.expr) -> bool:
    return any(
        isinstance(part, ast.Name) and part.id not in GRAMMAR.functions for part in ast.walk(node)
    )


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

    @property
    def best(self) -> float:
        """No limit: a sum of shares may be more than 1."""
        return self.oriented(np.inf)

    def __post_init__(self) -> None:
        """Check which way is better, and that no constant takes the value out of 0..1.

        Raises
        ------
        ValueError
            It gets better with one metric and worse with another; or its constants put it further
            out of 0..1 than its metrics do.
        """
        _ = self.higher_is_better
        sides = itertools.product((0.0, 1.0), repeat=min(len(self.metrics), 10))
        scores = [np.array(side) for side in zip(*sides, strict=True)]
        # Beyond ten metrics, the others score as the first: 2 ** n would be too many.
        values = self.value([*scores, *scores[:1] * (len(self.metrics) - 10)])
        constant = values[0]  # where all scores are 0
        low, high = values.min(), values.max()
        beyond = max(-low, 0.0) + max(high - 1.0, 0.0)
        beyond_without_constant = max(constant - low, 0.0) + max(high - constant - 1.0, 0.0)
        if self.in_percent and beyond > beyond_without_constant + 1e-6:
            raise ValueError(
                f"the constant {constant:g} takes its value out of 0..1, to {low:g}..{high:g}; "
                f"leave it out"
            )

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
        return np.asarray(GRAMMAR.value(self._tree, by_name))

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

    def segment_scores(self, stats: FloatArray, total: FloatArray) -> FloatArray:
        """Return (...): the formula's value for the scores that its metrics give a segment."""
        parts = zip(self.metrics, self._split(stats), self._split(total), strict=True)
        return self.value([metric.segment_scores(*sums) for metric, *sums in parts])

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
        The text is no formula (the message shows where), it has no metric or an unknown one, it
        rises with one metric and falls with another, or a constant takes it out of 0..1.
    """
    metrics: list[Metric] = []

    def read(word: str) -> str:
        try:
            metric = outside(word) or build(word)
        except ConfigError as error:
            hint = f"; write {word}:... with a file or a command, in quotes or close to it"
            raise ConfigError(f"{error}{hint * (word.lower() in external.NAMES)}") from None
        if metric not in metrics:
            metrics.append(metric)
        return f"m{metrics.index(metric)}"

    try:
        tree = GRAMMAR.parse(text, read)
    except ConfigError as error:
        if re.search(r"[-+*/()]", text) is None and (hint := _paper_names.near(text)):
            raise ConfigError(f"unknown metric '{text}'{hint}") from None
        if re.search(r'(?i:scores|comet|command(?:\+links)?):[^"]', text):
            hint = 'names with spaces, brackets, * or + stand in quotes, as scores:"my file"'
            raise ConfigError(f"{error}\n{hint}") from None
        raise
    if not metrics:
        raise ConfigError(f"formula '{text}': no metric in it")
    with faults_at(f"formula '{text}'", ValueError, ConfigError):
        return Formula(ast.unparse(tree), tuple(metrics))
