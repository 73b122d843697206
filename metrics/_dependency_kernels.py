"""Compiled loop of the dependency metrics: expected counts of items, clipped.

Inputs are read-only; the interpreter lock is released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from metrics._base import FloatArray, IntArray, TokenArray


@njit(cache=True, nogil=True)
def _slot(slots: IntArray, mask: int, known: TokenArray, items: TokenArray, i: int) -> int:
    """Return the slot of item `items[i]`: one that holds an equal item of `known`, or is free.

    A slot is -1 or the place of an item in `known`. The table is at most half full, so that
    probing ends.
    """
    mixed = np.int64(0)
    for column in range(items.shape[1]):
        mixed = (mixed * 0x5851F42D + np.int64(items[i, column]) + 1) & 0x7FFFFFFF  # no overflow
    slot = (mixed ^ (mixed >> 15)) & mask
    while slots[slot] >= 0:
        equal = True
        for column in range(items.shape[1]):
            equal = equal and known[slots[slot], column] == items[i, column]
        if equal:
            break
        slot = (slot + 1) & mask
    return int(slot)


@njit(cache=True, nogil=True)
def item_matches(
    items: TokenArray,
    weights: FloatArray,
    item_offsets: IntArray,
    offsets: IntArray,
    reference_items: TokenArray,
    reference_weights: FloatArray,
    reference_item_offsets: IntArray,
) -> FloatArray:
    """Add up, for each hypothesis, min(expected count, that in the reference) over all items.

    Parameters
    ----------
    items : (V, C)
        The items of hypothesis h are rows `item_offsets[h]:item_offsets[h + 1]`; equal ones may
        stand in several rows.
    weights : (V,)
        What each row adds to the expected count of its item.
    offsets : (S + 1,)
        Hypotheses of segment s are `offsets[s]:offsets[s + 1]`.
    reference_items, reference_weights, reference_item_offsets
        The same for the references, one a segment.

    Returns
    -------
    (H,) float64
        Sums are in the order in which items first stand in a text.
    """
    largest = 0
    for s in range(offsets.size - 1):
        largest = max(largest, reference_item_offsets[s + 1] - reference_item_offsets[s])
    size = 16
    while size < 2 * largest:
        size *= 2
    slots = np.empty(size, dtype=np.int64)
    limits = np.empty(size)  # expected counts in the reference
    counts = np.empty(size)  # in the hypothesis being read ...
    turns = np.empty(size, dtype=np.int64)  # ... if this is the number of that hypothesis
    touched = np.empty(size, dtype=np.int64)
    matches = np.zeros(item_offsets.size - 1)
    for s in range(offsets.size - 1):
        first, last = reference_item_offsets[s], reference_item_offsets[s + 1]
        used = 16  # a small table stays in the processor's cache
        while used < 2 * (last - first):
            used *= 2
        mask = used - 1
        slots[:used] = -1
        turns[:used] = -1
        for i in range(first, last):
            slot = _slot(slots, mask, reference_items, reference_items, i)
            if slots[slot] < 0:
                slots[slot] = i
                limits[slot] = 0.0
            limits[slot] += reference_weights[i]
        for h in range(offsets[s], offsets[s + 1]):
            distinct = 0
            for i in range(item_offsets[h], item_offsets[h + 1]):
                slot = _slot(slots, mask, reference_items, items, i)
                if slots[slot] < 0:
                    continue
                if turns[slot] != h:
                    turns[slot] = h
                    counts[slot] = 0.0
                    touched[distinct] = slot
                    distinct += 1
                counts[slot] += weights[i]
            for k in range(distinct):
                matches[h] += min(counts[touched[k]], limits[touched[k]])
    return matches
