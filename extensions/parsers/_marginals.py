"""Expected links over all dependency trees of an arc-factored parser.

The matrix-tree theorem: Koo, Globerson, Carreras and Collins, "Structured Prediction Models via
the Matrix-Tree Theorem", EMNLP 2007.
"""

from collections.abc import Sequence
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from portmert.tuner.texts.annotator import WeightedArc

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-9
"""How far the sum of a word's head probabilities may be from 1 before more digits are used."""

DIGITS = (50, 200, 800, 3200)
"""Decimal digits, tried in turn, for sentences on which float64 cancels."""


def tree_marginals(scores: FloatArray) -> FloatArray:
    """Return the probability of each arc over all non-projective trees with one token at the root.

    Parameters
    ----------
    scores : (n, n + 1) float64
        `scores[d, h]`: log potential of token d (from 0) under head h (from 1, 0 is the root).
        An arc from a token to itself is ignored.

    Returns
    -------
    (n, n + 1) float64
        Each row adds to 1.

    Raises
    ------
    ValueError
        A score is not finite.
    """
    if not np.isfinite(scores).all():
        raise ValueError("a parser's scores must be finite")
    size = len(scores)
    if size == 0:
        return np.zeros((0, 1))
    tokens = np.arange(size)
    shifted = scores.astype(np.float64)
    shifted[tokens, tokens + 1] = -np.inf
    shifted -= shifted.max(axis=1, keepdims=True)  # a factor common to all trees
    with np.errstate(all="ignore"):  # NaN is found below
        marginals = _solved(np.exp(shifted))
        if _is_distribution(marginals):
            return _scaled(marginals)
    for digits in DIGITS:
        marginals = _solved_in_decimals(shifted, digits)
        if _is_distribution(marginals):
            return _scaled(marginals)
    raise AssertionError("no tree has a probability")  # the shift gives each token a head


def _is_distribution(marginals: FloatArray) -> bool:
    if not np.isfinite(marginals).all() or marginals.min() < -TOLERANCE:
        return False
    return bool(np.abs(marginals.sum(axis=1) - 1).max() <= TOLERANCE)


def _scaled(marginals: FloatArray) -> FloatArray:
    """Return rows in [0, 1] that add to 1."""
    clipped = np.maximum(marginals, 0.0)
    scaled: FloatArray = clipped / clipped.sum(axis=1, keepdims=True)
    return scaled


def _solved(weights: FloatArray) -> FloatArray:
    """Return the marginals in float64; wrong if the Laplacian is nearly singular."""
    root, arcs = weights[:, 0], weights[:, 1:]
    laplacian = -arcs.T
    np.fill_diagonal(laplacian, arcs.sum(axis=1))
    laplacian[0] = root
    try:
        inverse: FloatArray = np.linalg.inv(laplacian).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return np.full_like(weights, np.nan)
    return _arcs_of_inverse(root, arcs, inverse)


def _arcs_of_inverse(root: FloatArray, arcs: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return the derivatives of the log partition function; arrays may hold objects."""
    # Row 0 of the Laplacian holds the root's weights: it does not depend on any other arc.
    gain = arcs * inverse.diagonal()[:, None]
    gain[0] = 0 * gain[0]
    loss = arcs * inverse
    loss[:, 0] = 0 * loss[:, 0]
    return np.column_stack([root * inverse[:, 0], gain - loss])


def _solved_in_decimals(shifted: FloatArray, digits: int) -> FloatArray:
    """Return the marginals, computed with this many decimal digits.

    If two words almost surely govern each other, float64 loses the mass of the trees.
    """
    with localcontext() as context:
        context.prec = digits
        weights = np.array(
            [[Decimal(0) if x == -np.inf else Decimal(x).exp() for x in row] for row in shifted]
        )
        size = len(weights)
        root, arcs = weights[:, 0], weights[:, 1:]
        matrix = np.full((size, 2 * size), Decimal(0))
        matrix[:, :size] = -arcs.T
        for token in range(size):
            matrix[token, token] = arcs[token].sum()
            matrix[token, size + token] = Decimal(1)
        matrix[0, :size] = root
        for column in range(size):
            pivot = column + int(np.argmax(np.abs(matrix[column:, column])))
            if not matrix[pivot, column]:
                return np.full(shifted.shape, np.nan)
            matrix[[column, pivot]] = matrix[[pivot, column]]
            matrix[column] = matrix[column] / matrix[column, column]
            other_rows = np.arange(size) != column
            matrix[other_rows] = (
                matrix[other_rows] - matrix[other_rows, column, None] * matrix[column]
            )
        return _arcs_of_inverse(root, arcs, matrix[:, size:]).astype(np.float64)


def flattened(arcs: FloatArray, labels: FloatArray, gamma: float) -> tuple[FloatArray, FloatArray]:
    """Return log potentials of arcs, and probabilities of their labels, at p(tree) ** gamma.

    The weight of a labelled tree is the product of the probabilities of its arcs and labels, to
    the power gamma. The sum over the labels of an arc is then a factor of the arc (1 at gamma 1).

    Parameters
    ----------
    arcs : (n, n + 1) float64
        Log potentials.
    labels : (n, n + 1, L) float64
        Logits of the labels of each arc.
    """
    top = labels.max(axis=2, keepdims=True)
    logs = labels - top - np.log(np.exp(labels - top).sum(axis=2, keepdims=True))
    powers = np.exp(gamma * logs)
    sums = powers.sum(axis=2)
    return gamma * arcs + np.log(sums), powers / sums[:, :, None]


def weighted_arcs(
    arcs: FloatArray,
    labels: FloatArray,
    names: Sequence[str],
    *,
    min_count: float,
    root_label: str,
) -> tuple[WeightedArc, ...]:
    """Return the labelled links of at least `min_count`; the weights of each token add to 1.

    Parameters
    ----------
    arcs : (n, n + 1) float64
        Probability of each arc.
    labels : (n, n + 1, L) float64
        Probability of each label, given the arc.
    names
        The L labels; equal ones are added.
    min_count
        The likeliest link of a token is kept also below it.
    root_label
        The label of all links under the root.
    """
    joint = arcs[:, :, None] * labels
    distinct = sorted({*names, root_label})
    places = [distinct.index(name) for name in names]
    counts = np.zeros((*arcs.shape, len(distinct)))
    for column, place in enumerate(places):
        counts[:, :, place] += joint[:, :, column]
    under_root = counts[:, 0].sum(axis=1)
    counts[:, 0] = 0.0
    counts[:, 0, distinct.index(root_label)] = under_root
    flat = counts.reshape(len(arcs), -1)
    is_likely = flat >= np.minimum(min_count, flat.max(axis=1, initial=0.0))[:, None]
    is_likely &= flat > 0
    flat = np.where(is_likely, flat, 0.0)
    flat /= flat.sum(axis=1, keepdims=True)
    counts = flat.reshape(counts.shape)
    return tuple(
        (int(token), int(head), distinct[label], float(counts[token, head, label]))
        for token, head, label in zip(*np.nonzero(counts), strict=True)
    )
