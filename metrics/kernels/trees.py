"""Counts chains and subtrees that match, and computes tree kernels.

A forest is rows of `nodes` (V, 2) int32: label, and the parent's place in the row (-1: a root).
Children are ordered by their place. That of text t is
`nodes[node_offsets[t]:node_offsets[t + 1]]`, nothing if the text has no parse.
"""

import math
from typing import NamedTuple

import numpy as np

from .._base import FloatArray, IntArray, TokenArray
from .compiled import Segments, find, helper, kernel, longest_row, most_in_segment, table_size

ABSENT, UNKNOWN = -1, -2
"""In the place of a slot: there is no such item; there is, but no reference has one like it."""

SLOT, CHILD, SIBLING, ORDER, RANK, ALIKE, BASE = range(7)
"""Columns of the shape of a forest, one row a node.

Slot of its production (ABSENT: a leaf); first child; next sibling; k-th node from the top, in row
k; rank among the nodes of its production; next of these; where its values begin (`_log_kernel`).
"""

TURN, FIRST, COUNT = range(3)
"""Columns of the nodes of one production: of which text, the first of them, how many."""

LEVELS, LABEL, SHALLOW, DEEP, INNER, BELOW = range(6)
"""Rows of the work space of `_subtrees`, one column a node.

How many levels it has, as far as they count; slots of its label, of its subtree of at most n and
of n + 1 levels. Two lists: the nodes of more than n levels that may match, and those below them.
"""

LOG_2 = math.log(2.0)


class ItemTable(NamedTuple):
    """Hash table of items; the slot of an item is its place in `keys`.

    Parameters
    ----------
    keys : (2 ** b,) int64
        -1: the slot is free.
    mask
        2 ** b - 1.
    may_add
        Whether an unknown item gets a slot; else it is UNKNOWN.
    """

    keys: IntArray
    mask: int
    may_add: bool


@helper
def _extend(table: ItemTable, slot: int, token: int) -> int:
    """Return the slot of sequence `slot` (ABSENT: the empty one) and `token`, or UNKNOWN.

    Keys of the table are modified in place if items may be added.
    """
    if min(slot, token) == UNKNOWN:
        return UNKNOWN
    longer: int
    longer, is_stored = find(table.keys, table.mask, slot + 1, token)
    if not is_stored:
        if not table.may_add:
            return UNKNOWN
        table.keys[longer] = ((slot + 1) << 32) | token
    return longer


@helper
def _chains(
    nodes: TokenArray,
    first: int,
    last: int,
    table: ItemTable,
    total: IntArray,
    items: IntArray,
) -> int:
    """Count the chains of n + 1 nodes into total[n]; a chain is read upwards.

    Parameters
    ----------
    nodes, first, last
        The forest is nodes first..last-1: no slices, which cost more than a short forest.
    total : (D,) int64
        Modified in place.
    items : (2, items) int64
        Modified in place: slot, and n, of each chain that has a slot; others are not listed.

    Returns
    -------
    count : int
        How many those are.
    """
    total[:] = 0
    count = 0
    for v in range(first, last):
        slot, above = np.int64(ABSENT), np.int64(v - first)
        for n in range(total.size):
            if above < 0:
                break
            total[n] += 1
            slot = _extend(table, slot, np.int64(nodes[first + above, 0]))
            items[0, count] = slot
            items[1, count] = n
            count += slot != UNKNOWN  # without a branch, which would often be foretold wrongly
            above = np.int64(nodes[first + above, 1])
    return count


@helper
def _subtrees(
    nodes: TokenArray,
    first: int,
    last: int,
    table: ItemTable,
    alone: IntArray,
    total: IntArray,
    items: IntArray,
    work: IntArray,
) -> int:
    """Count the subtrees of n + 1 levels into total[n], as `_chains` does.

    A subtree is the sequence of its root's label and the slots of its children's subtrees of one
    level less, so that equal slots mean equal trees; a branch that ends earlier goes in whole.
    `alone` holds the slot of each label, UNKNOWN where it has none; `work` (6, nodes) is work
    space.
    """
    size, count, inner = last - first, 0, 0
    for v in range(size):
        work[LEVELS, v] = 1
    for v in range(size):
        slot = alone[nodes[first + v, 0]]
        work[LABEL, v] = work[SHALLOW, v] = slot
        items[0, count] = slot
        items[1, count] = 0
        count += slot != UNKNOWN
        above, reach = nodes[first + v, 1], min(work[LEVELS, v] + 1, total.size)
        while above >= 0 and work[LEVELS, above] < reach:
            if work[LEVELS, above] == 1:
                work[INNER, inner] = above
                inner += 1
            work[LEVELS, above] = reach
            above, reach = nodes[first + above, 1], min(reach + 1, total.size)
    for n in range(total.size):
        total[n] = 0
    total[0] = size
    for k in range(inner):
        for n in range(1, work[LEVELS, work[INNER, k]]):
            total[n] += 1
    below = size
    for n in range(1, total.size):
        candidates, inner = inner, 0
        for k in range(candidates):
            v = work[INNER, k]
            # Where no reference has the shallower subtree, none has the deeper one.
            if work[LEVELS, v] > n and work[SHALLOW, v] != UNKNOWN:
                work[DEEP, v] = work[LABEL, v]
                work[INNER, inner] = v
                inner += 1
        if inner == 0:
            break
        candidates, below = below, 0
        for k in range(candidates):  # siblings come in their order
            v = work[BELOW, k] if n > 1 else k
            above = nodes[first + v, 1]
            if above >= 0 and work[LEVELS, above] > n and work[SHALLOW, above] != UNKNOWN:
                work[DEEP, above] = _extend(table, work[DEEP, above], work[SHALLOW, v])
                work[BELOW, below] = v
                below += 1
        for k in range(inner):
            v = work[INNER, k]
            slot = work[DEEP, v]
            work[SHALLOW, v] = slot
            items[0, count] = slot
            items[1, count] = n
            count += slot != UNKNOWN
    return count


@kernel
def item_matches(
    segments: Segments, depth: int, chains: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Count the chains or the subtrees of each hypothesis, and those that match, clipped.

    Parameters
    ----------
    segments
        The forests of hypotheses and references.
    depth
        D, the longest chain or the most levels of a subtree.
    chains
        Count downward paths of n nodes; else nodes with all below them down to n levels.

    Returns
    -------
    matches, totals : (H, D) float64
        Column n - 1 counts items of n nodes or levels. Each distinct item matches at most as
        often as it occurs in the one reference that has most of it.
    reference_totals : (R, D) float64
    """
    nodes, node_offsets, offsets, reference_nodes, reference_node_offsets, references = segments
    largest = most_in_segment(references, reference_node_offsets)
    longest, highest = longest_row(node_offsets), 0
    if not chains:
        for v in range(nodes.shape[0]):
            highest = max(highest, nodes[v, 0])
        for v in range(reference_nodes.shape[0]):
            highest = max(highest, reference_nodes[v, 0])
    alone = np.full(
        highest + 1, UNKNOWN, dtype=np.int64
    )  # slots of labels: without them half the look-ups
    size = table_size(depth * largest)
    keys = np.empty(size, dtype=np.int64)
    limits = np.empty(size, dtype=np.int64)  # the most that any one reference has
    counts = np.empty(size, dtype=np.int64)  # in the forest being read, see `base`
    total = np.empty(depth, dtype=np.int64)
    items = np.empty((2, depth * max(longest, largest)), dtype=np.int64)
    work = np.empty((6, max(longest, largest)), dtype=np.int64)
    matches = np.zeros((node_offsets.size - 1, depth))
    totals = np.zeros((node_offsets.size - 1, depth))
    reference_totals = np.zeros((reference_node_offsets.size - 1, depth))
    turn = 0
    for s in range(offsets.size - 1):
        first, last = references[s], references[s + 1]
        in_segment = reference_node_offsets[last] - reference_node_offsets[first]
        used = 16  # a small table stays in the processor's cache
        while used < 2 * depth * in_segment:
            used *= 2
        keys[:used] = -1
        counts[:used] = 0
        limits[:used] = 0
        table = ItemTable(keys, mask=used - 1, may_add=True)
        if not chains:
            for v in range(reference_node_offsets[first], reference_node_offsets[last]):
                label = reference_nodes[v, 0]
                alone[label] = _extend(table, np.int64(ABSENT), np.int64(label))
        for r in range(first, last):
            turn += 1
            begin, end = reference_node_offsets[r], reference_node_offsets[r + 1]
            if chains:
                count = _chains(reference_nodes, begin, end, table, total, items)
            else:
                count = _subtrees(reference_nodes, begin, end, table, alone, total, items, work)
            base = turn << 32  # more than the count of any forest before this one
            for k in range(count):
                slot = items[0, k]
                counts[slot] = max(counts[slot], base) + 1
                limits[slot] = max(limits[slot], counts[slot] - base)
            for n in range(depth):
                reference_totals[r, n] = total[n]
        table = ItemTable(keys, mask=used - 1, may_add=False)
        for h in range(offsets[s], offsets[s + 1]):
            turn += 1
            begin, end = node_offsets[h], node_offsets[h + 1]
            if chains:
                count = _chains(nodes, begin, end, table, total, items)
            else:
                count = _subtrees(nodes, begin, end, table, alone, total, items, work)
            base = turn << 32
            for k in range(count):
                slot = items[0, k]
                counts[slot] = max(counts[slot], base) + 1
                matches[h, items[1, k]] += counts[slot] - base <= limits[slot]
            for n in range(depth):
                totals[h, n] = total[n]
        if not chains:
            for v in range(reference_node_offsets[first], reference_node_offsets[last]):
                alone[reference_nodes[v, 0]] = UNKNOWN
    return matches, totals, reference_totals


@kernel
def without_leaves(nodes: TokenArray, node_offsets: IntArray) -> tuple[TokenArray, IntArray, int]:
    """Drop the words of trees in preorder.

    Returns
    -------
    nodes, node_offsets
        The trees that are left: their leaves are the parts of speech.
    fault : int
        The first tree that is not in preorder, -1 if there is none; with a fault the trees mean
        nothing.
    """
    inner_nodes = np.empty_like(nodes)
    kept_offsets = np.zeros(node_offsets.size, dtype=np.int64)
    places = np.empty(longest_row(node_offsets), dtype=np.int64)
    count = 0
    for t in range(node_offsets.size - 1):
        first, last = node_offsets[t], node_offsets[t + 1]
        start, place = count, np.int64(-1)
        if first < last and nodes[first, 1] >= 0:
            return inner_nodes, kept_offsets, t
        for v in range(last - first):
            # Written without a branch, which would often be foretold wrongly: a word is written
            # where the next node goes.
            inner_nodes[count, 0] = nodes[first + v, 0]
            inner_nodes[count, 1] = place
            if v == last - first - 1:
                break
            above = np.int64(nodes[first + v + 1, 1])
            has_child = above == v  # a first child comes next
            places[v] = count - start if has_child else -1
            count += has_child
            if above < 0 or above > v or places[above] < 0:
                return inner_nodes, kept_offsets, t
            place = places[above]
        kept_offsets[t + 1] = count
    return inner_nodes[:count], kept_offsets, -1


@helper
def _shape(
    nodes: TokenArray, keys: IntArray, mask: int, shape: IntArray, added: IntArray
) -> tuple[int, int]:
    """Describe a forest: see the columns of a shape. Modifies `keys`, `shape` and `added`.

    A production is the sequence of a node's label and its children's.

    Returns
    -------
    count : int
        How many nodes hang on a root: all, if there is no cycle.
    used : int
        How many slots were taken: `added[:used]`.
    """
    size, count, used = nodes.shape[0], 0, 0
    shape[:size, CHILD] = -1
    # From the last node on, so that the first child comes first; roots begin the order.
    shape[:size, SLOT] = ABSENT
    for v in range(size - 1, -1, -1):
        above = nodes[v, 1]
        if above >= 0:
            shape[v, SIBLING] = shape[above, CHILD]
            shape[above, CHILD] = v
        else:
            shape[v, SIBLING] = -1
            shape[count, ORDER] = v
            count += 1
    for v in range(size):  # the slot of each production, label by label
        token, child, slot = np.int64(nodes[v, 0]), shape[v, CHILD], ABSENT
        while shape[v, CHILD] >= 0:
            longer, is_stored = find(keys, mask, slot + 1, token)
            if not is_stored:
                keys[longer] = ((slot + 1) << 32) | token
                added[used] = longer
                used += 1
            slot = longer
            if child < 0:
                break
            token, child = np.int64(nodes[child, 0]), shape[child, SIBLING]
        shape[v, SLOT] = slot
    k = 0
    while k < count:  # children behind all nodes of the level above
        child = shape[shape[k, ORDER], CHILD]
        while child >= 0:
            shape[count, ORDER] = child
            count += 1
            child = shape[child, SIBLING]
        k += 1
    return count, used


@helper
def _group(shape: IntArray, groups: IntArray, turn: int) -> None:
    """Chain the nodes of each production by ALIKE.

    Modifies RANK and ALIKE of `shape`, and `groups`. `turn` marks the groups of this call. A leaf
    has no production: its slot is below 0.
    """
    for v in range(shape.shape[0]):
        slot = shape[v, SLOT]
        if slot >= 0:
            if groups[slot, TURN] != turn:
                groups[slot, TURN] = turn
                groups[slot, FIRST] = -1
                groups[slot, COUNT] = 0
            shape[v, RANK] = groups[slot, COUNT]
            shape[v, ALIKE] = groups[slot, FIRST]
            groups[slot, FIRST] = v
            groups[slot, COUNT] += 1


@helper
def _log_kernel(
    shape: IntArray,
    node_count: int,
    other_shape: IntArray,
    groups: IntArray,
    turn: int,
) -> float:
    """Return ln K of two forests, -inf if they share no production.

    In logarithms, because the number of fragments grows like an exponential of an exponential.

    Parameters
    ----------
    shape, node_count
        Shape of one forest (its BASE is modified), and how many nodes its ORDER has.
    other_shape
        Shape of the other, whose nodes `groups` lists under number `turn`.
    """
    pairs = 0
    for k in range(node_count - 1, -1, -1):
        slot = shape[shape[k, ORDER], SLOT]
        if slot >= 0 and groups[slot, TURN] == turn:
            pairs += groups[slot, COUNT]
    if pairs == 0:
        return -np.inf
    values = np.empty(pairs)  # ln C of each pair of nodes that have the same production
    base, highest = 0, 0.0
    for k in range(node_count - 1, -1, -1):  # children before their parents
        a = shape[k, ORDER]
        slot = shape[a, SLOT]
        if slot < 0 or groups[slot, TURN] != turn:
            continue
        shape[a, BASE] = base
        b = groups[slot, FIRST]
        while b >= 0:
            value = 0.0
            below, other_below = shape[a, CHILD], other_shape[b, CHILD]
            while below >= 0:
                production = shape[below, SLOT]
                if production >= 0 and production == other_shape[other_below, SLOT]:
                    inner = values[shape[below, BASE] + other_shape[other_below, RANK]]
                    # ln(1 + C); 0, of a production over leaves, is by far the most frequent.
                    value += LOG_2 if inner == 0.0 else inner + math.log1p(math.exp(-inner))
                below, other_below = shape[below, SIBLING], other_shape[other_below, SIBLING]
            values[base + other_shape[b, RANK]] = value
            highest = max(highest, value)
            b = other_shape[b, ALIKE]
        base += groups[slot, COUNT]
    total = 0.0
    for i in range(pairs):
        total += math.exp(values[i] - highest)
    return float(highest + math.log(total))


@kernel
def tree_similarities(segments: Segments) -> FloatArray:
    """Return (H,) float64: the highest cosine of each hypothesis with a reference of its segment.

    The cosine is that of the numbers of all fragments (Collins and Duffy 2001), 0 without a parse
    or if one forest is without a production; two without any are alike, 1, if they are equal.
    """
    nodes, node_offsets, offsets, reference_nodes, reference_node_offsets, references = segments
    largest = most_in_segment(references, reference_node_offsets)
    longest = longest_row(node_offsets)
    size = table_size(2 * (largest + longest))
    keys = np.full(size, -1, dtype=np.int64)
    groups = np.zeros((size, 3), dtype=np.int64)
    shapes = np.empty((largest, 7), dtype=np.int64)  # of the references
    shape = np.empty((longest, 7), dtype=np.int64)
    added = np.empty(2 * (largest + longest), dtype=np.int64)
    lengths = np.empty(reference_node_offsets.size - 1)  # ln K with itself ...
    counts = np.empty(reference_node_offsets.size - 1, dtype=np.int64)
    best = np.zeros(node_offsets.size - 1)
    turn = 0
    for s in range(offsets.size - 1):
        begin = reference_node_offsets[references[s]]
        stored = 0
        for r in range(references[s], references[s + 1]):
            first, last = reference_node_offsets[r], reference_node_offsets[r + 1]
            current = shapes[first - begin : last - begin]
            counts[r], used = _shape(
                reference_nodes[first:last], keys, size - 1, current, added[stored:]
            )
            stored += used
            turn += 1
            _group(current, groups, turn)
            lengths[r] = _log_kernel(current, counts[r], current, groups, turn)
        for h in range(offsets[s], offsets[s + 1]):
            first, last = node_offsets[h], node_offsets[h + 1]
            tree, current = nodes[first:last], shape[: last - first]
            count, used = _shape(tree, keys, size - 1, current, added[stored:])
            turn += 1
            _group(current, groups, turn)
            length = _log_kernel(current, count, current, groups, turn)
            for r in range(references[s], references[s + 1]):
                first, last = reference_node_offsets[r], reference_node_offsets[r + 1]
                if length > -np.inf and lengths[r] > -np.inf:
                    other = shapes[first - begin : last - begin]
                    product = _log_kernel(other, counts[r], current, groups, turn)
                    cosine = min(1.0, math.exp(product - (length + lengths[r]) / 2.0))
                    best[h] = max(best[h], cosine)
                elif length == lengths[r] and tree.shape[0] == last - first > 0:
                    equal = True
                    for v in range(last - first):
                        equal &= tree[v, 0] == reference_nodes[first + v, 0]
                    if equal:
                        best[h] = 1.0
            for i in range(used - 1, -1, -1):  # the last in is the first out: no gap in a probe
                keys[added[stored + i]] = -1
        for i in range(stored - 1, -1, -1):
            keys[added[i]] = -1
    return best
