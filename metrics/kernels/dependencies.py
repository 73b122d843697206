"""Adds up expected counts of dependency links that match, clipped."""

import numpy as np

from .._base import FloatArray, IntArray, TokenArray
from .compiled import helper, kernel, longest_row, mixed, table_size

Linked = tuple[TokenArray, IntArray, TokenArray, IntArray, FloatArray]
"""Tokens and where those of each text begin, links and where they begin, their weights."""
Link = tuple[np.int64, np.int64, np.int64]

DL, LH, DH, DLH = range(4)
"""Kinds of items: what of dependent, label and head they are made of."""


@helper
def _find(keys: IntArray, base: int, mask: int, first: int, second: int) -> int:
    """Return the slot of a pair in the table that begins at `base`, or a free one for it.

    The table is at most an eighth full: probing mostly ends where it begins.
    """
    key = (first << 32) | second
    slot: int = mixed(first, second) & mask
    # One test for both ends: which of the two it is cannot be foreseen, that it ends can.
    while not ((keys[base + slot] == key) | (keys[base + slot] < 0)):
        slot = (slot + 1) & mask
    return base + slot


@helper
def _link(tokens: TokenArray, start: int, links: TokenArray, first: int, i: int) -> Link:
    """Return dependent, label and head of link i as ids of words, the root being 0.

    The text's tokens begin at `start`, its links at `first`. Links are (dependent, head, label)
    or, where each word has one, (head, label).
    """
    last = links.shape[1] - 1
    dependent = i - first if last == 1 else np.int64(links[i, 0])
    head = np.int64(links[i, last - 1])
    above = np.int64(tokens[start + head - 1]) + 1 if head > 0 else np.int64(0)
    return np.int64(tokens[start + dependent]), np.int64(links[i, last]), above


@kernel
def link_matches(
    hypotheses: Linked, references: Linked, offsets: IntArray, kinds: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Add up, for each hypothesis, min(expected count, that in the reference) over all items.

    Parameters
    ----------
    hypotheses, references
        H texts and S texts, a reference for each segment. Weights are empty if all are 1.
    offsets : (S + 1,)
        Hypotheses of segment s are `offsets[s]:offsets[s + 1]`.
    kinds : (C,)
        The kinds of items that are counted: `DL`, ...

    Returns
    -------
    matches : (H, C) float64
        Sums are in the order in which items first stand in the reference.
    sums, other_sums : (H,), (S,) float64
        Weights of all links of each hypothesis, and of each reference.
    """
    tokens, starts, links, ends, weights = hypotheses
    other_tokens, other_starts, other_links, other_ends, other_weights = references
    is_counted = np.zeros(4, dtype=np.bool_)
    is_counted[kinds] = True
    looked_up = is_counted.copy()
    looked_up[DL] = is_counted[DL] or is_counted[DLH]  # the one is found by way of the other
    size = table_size(4 * longest_row(other_ends))
    # A table for each kind, one after the other. Of an item that the reference lacks the count is
    # added up in a slot that is free, and never read: a test would cost more.
    keys = np.empty(4 * size, dtype=np.int64)
    limits = np.empty(4 * size)  # expected counts in the reference
    counts = np.empty(4 * size)  # in the hypothesis being read
    filled = np.empty(4 * size, dtype=np.int64)  # the slots of each kind, as they were filled
    distinct = np.zeros(4, dtype=np.int64)
    matches = np.zeros((ends.size - 1, kinds.size))
    sums = np.zeros(ends.size - 1)
    other_sums = np.zeros(offsets.size - 1)
    for s in range(offsets.size - 1):
        used = 16  # a small table stays in the processor's cache
        while used < 8 * (other_ends[s + 1] - other_ends[s]):
            used *= 2
        mask = used - 1
        for k in range(4 * used):
            keys[k], counts[k] = -1, 0.0
        distinct[:] = 0
        for i in range(other_ends[s], other_ends[s + 1]):
            d, label, head = _link(other_tokens, other_starts[s], other_links, other_ends[s], i)
            weight = other_weights[i] if other_weights.size else 1.0
            other_sums[s] += weight
            node = np.int64(0)
            for kind in range(4):
                if looked_up[kind]:
                    first = node if kind == DLH else (label if kind == LH else d)
                    second = label if kind == DL else head
                    slot = _find(keys, kind * used, mask, first, second)
                    if keys[slot] < 0:
                        keys[slot] = (first << 32) | second
                        limits[slot] = 0.0
                        filled[kind * used + distinct[kind]] = slot
                        distinct[kind] += 1
                    limits[slot] += weight
                    if kind == DL:
                        node = slot
        for h in range(offsets[s], offsets[s + 1]):
            for i in range(ends[h], ends[h + 1]):
                d, label, head = _link(tokens, starts[h], links, ends[h], i)
                weight = weights[i] if weights.size else 1.0
                sums[h] += weight
                node = np.int64(0)
                if looked_up[DL]:
                    node = _find(keys, DL * used, mask, d, label)
                    counts[node] += weight
                if looked_up[LH]:
                    counts[_find(keys, LH * used, mask, label, head)] += weight
                if looked_up[DH]:
                    counts[_find(keys, DH * used, mask, d, head)] += weight
                if looked_up[DLH] and keys[node] >= 0:
                    counts[_find(keys, DLH * used, mask, node, head)] += weight
            for c in range(kinds.size):
                base = kinds[c] * used
                for k in range(distinct[kinds[c]]):
                    slot = filled[base + k]
                    matches[h, c] += min(counts[slot], limits[slot])
            for kind in range(4):
                for k in range(distinct[kind]):
                    counts[filled[kind * used + k]] = 0.0
    return matches, sums, other_sums
