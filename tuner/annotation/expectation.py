"""Expectation over parses: how likely each link of a sentence is."""

import numpy as np

from portmert.metrics._base import ExpectedArcs, FloatArray, Ragged, offsets_of
from portmert.metrics._elementary import exp


def over_parses(links: Ragged, rows: Ragged, scores: Ragged, gamma: float) -> ExpectedArcs:
    """Return the links of N sentences, expected over their parses.

    The weight of parse k is exp(gamma * z_k) over the sum of these, where z_k is its log score.

    Parameters
    ----------
    links : N rows of (word, head, id of the label)
        Each link of a sentence once.
    rows : N rows
        The links of each parse, as numbers of the sentence's links.
    scores : N rows of float64
        The log score of each parse.
    """
    parses = scores.lengths
    # The sentence and the share of each parse.
    sentences = np.repeat(np.arange(len(links)), parses)
    best: FloatArray = np.full(len(links), -np.inf)
    np.maximum.at(best, sentences, scores.values)
    shares = exp(gamma * (scores.values - best[sentences]))
    shares /= np.bincount(sentences, weights=shares, minlength=len(links))[sentences]
    places = rows.values + np.repeat(links.offsets[:-1], rows.lengths)
    lengths = rows.lengths // np.maximum(parses, 1)  # tokens of each sentence
    weights: FloatArray = np.bincount(
        places, weights=np.repeat(shares, np.repeat(lengths, parses)), minlength=len(links.values)
    ).astype(np.float64)
    return with_weights(links, weights)


def with_weights(links: Ragged, weights: FloatArray) -> ExpectedArcs:
    """Return links with these weights, but for weights of 0: a share may be too small."""
    is_positive = weights > 0
    rows = np.repeat(np.arange(len(links)), links.lengths)
    counts = np.bincount(rows[is_positive], minlength=len(links))
    return ExpectedArcs(
        Ragged(links.values[is_positive], offsets_of(counts)),
        np.minimum(weights[is_positive], 1.0),
    )


def certain(heads: Ragged) -> ExpectedArcs:
    """Return the links of the best parses, each certain."""
    lengths = heads.lengths
    words = np.arange(len(heads.values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    values = np.column_stack([words, heads.values]).astype(np.int32)
    return ExpectedArcs(Ragged(values, heads.offsets), np.ones(len(values)))
