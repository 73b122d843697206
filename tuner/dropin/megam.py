"""A logistic regression on the pairs of `pro`, for which mert-moses.pl calls MegaM."""

from collections.abc import Sequence

import click
import numpy as np
from scipy.sparse import csr_array

from portmert.metrics._base import FloatArray
from portmert.metrics._elementary import exp, inner, summed

from ..base import files, numbers
from ..base.errors import InputError, PortmertError
from ..search.lbfgs import minimise
from ..search.optimizers.pro import ITERATIONS
from ._program import FAILURE, number, say

USAGE = """usage: megam [-fvals] [-nobias] [-maxi N] [-lambda L] binary FILE
reads lines `1 name value name value` and `0 ...`, prints a weight for each name"""


def main(arguments: Sequence[str]) -> int:
    """Run the program; return its exit status."""
    words, precision, operands = list(arguments), 1.0, []
    while words:
        word = words.pop(0)
        if word in {"-maxi", "-lambda"} and words:
            value = numbers.parse_number(words.pop(0))
            if value is None or value < 0:
                say(USAGE)
                return FAILURE
            precision = value if word == "-lambda" else precision
        elif word not in {"-fvals", "-nobias", "-quiet"}:  # which are always so here
            operands.append(word)
    if len(operands) != 2 or operands[0] != "binary":
        say(USAGE)
        return FAILURE
    try:
        names, labels, matrix = read_pairs(operands[1])
    except PortmertError as error:
        say(f"megam: error: {error}")
        return FAILURE
    weights = regress(labels, matrix, precision)
    for name, weight in zip(names, weights.tolist(), strict=True):
        click.echo(f"{name} {number(weight)}")
    return 0


def read_pairs(path: str) -> tuple[list[str], FloatArray, csr_array]:
    """Read examples: names of features, labels 1 or -1 (N,), values (N, F).

    Raises
    ------
    InputError
        No line, or one that is something else.
    """
    columns: dict[str, int] = {}
    labels, indices, values, offsets = [], [], [], [0]
    for line_number, line in enumerate(files.read_lines(path), 1):
        label, *tokens = line.split() or [""]
        if label not in {"0", "1"} or len(tokens) % 2:
            raise InputError(f"{path}:{line_number}: expected 0 or 1, then names with values")
        labels.append(1.0 if label == "1" else -1.0)
        for name, text in zip(tokens[::2], tokens[1::2], strict=True):
            value = numbers.parse_finite(text)
            if value is None:
                raise InputError(f"{path}:{line_number}: {name} is '{text}', expected a number")
            indices.append(columns.setdefault(name, len(columns)))
            values.append(value)
        offsets.append(len(indices))
    if not columns:
        raise InputError(f"{path}: no pair of hypotheses that differ in features")
    shape = (len(labels), len(columns))
    return list(columns), np.array(labels), csr_array((values, indices, offsets), shape=shape)


def regress(labels: FloatArray, matrix: csr_array, precision: float) -> FloatArray:
    """Return the (F,) weights of the least logistic loss plus precision/2 times their squares.

    The squares are those of weights of features of root mean square 1, so that the unit in which
    a feature is measured does not decide how far its weight is held back.
    """
    size = np.sqrt(np.asarray(matrix.multiply(matrix).mean(axis=0)).ravel())
    scale = 1.0 / np.where(size > 0, size, 1.0)
    scaled = matrix.multiply(scale[np.newaxis]).tocsr()

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        margins = labels * (scaled @ weights)
        value = float(summed(np.logaddexp(0.0, -margins)))
        value += 0.5 * precision * inner(weights, weights)
        slopes = -labels / (1.0 + exp(margins))
        return value, scaled.T @ slopes + precision * weights

    infinite = np.full(len(scale), np.inf)
    begin = np.zeros(len(scale))
    return minimise(loss, begin, -infinite, infinite, iterations=ITERATIONS) * scale
