"""Lists items of analyses of meaning and adds up those that two texts share.

An item is a sequence of numbers, the first of which is its type.
"""

import numpy as np

from .._base import FloatArray, IntArray, TokenArray
from .compiled import find, kernel, table_size

Analysed = tuple[TokenArray, IntArray, TokenArray, IntArray, TokenArray, IntArray]
"""Nodes, words at them, tokens (or tags) of the texts, and where those of each text begin."""
Items = tuple[IntArray, IntArray, IntArray]
"""Numbers; where each item ends, after a first 0; where the items of each text begin."""

ANY, NO_TYPE = -1, -2
"""For `wanted`: items of all types, of none."""

REFERENTS = 1 << 28
"""The type of words of referents: beyond the ids of all strings."""

KINDS = 8
DATE, REFERENT = 4, 5
"""Places of `WORD_KINDS`, of which there are less than `KINDS`."""

NAMES, WORDS, STRINGS = range(3)
"""Items of roles: the role; each word of an argument; all words of an argument together."""


@kernel
def fault(
    nodes: TokenArray,
    node_offsets: IntArray,
    words: TokenArray,
    word_offsets: IntArray,
    lengths: IntArray,
) -> int:
    """Return the first text of which a node, a word or a token is out of place, -1 if none is."""
    for t in range(node_offsets.size - 1):
        first, count = node_offsets[t], node_offsets[t + 1] - node_offsets[t]
        for v in range(count):
            above = nodes[first + v, 1]
            if above >= v or above < -1 or (above == -1) != (v == 0):
                return t
        before = 0
        for w in range(word_offsets[t], word_offsets[t + 1]):
            node, kind, value = words[w, 0], words[w, 1], words[w, 2]
            if node < before or node >= count or kind < 0 or kind >= KINDS or value < 0:
                return t
            if kind != DATE and value >= lengths[t]:
                return t
            before = node
    return -1


@kernel
def role_items(
    texts: Analysed, content: int, with_verb: bool, role: int
) -> tuple[Items, IntArray]:
    """List the items of the arguments of each text.

    Parameters
    ----------
    texts
        Roles of N texts.
    content
        `NAMES`, `WORDS` or `STRINGS`.
    with_verb
        Whether the predicate's first word stands behind the role.
    role
        The role, or `ANY`.

    Returns
    -------
    items
        An item is a role, the verb if asked for, and what was asked for.
    sizes : (N,) int64
        Arguments of each text, of any role.
    """
    nodes, node_offsets, words, word_offsets, tokens, token_offsets = texts
    count = node_offsets.size - 1
    numbers = np.empty(3 * words.shape[0], dtype=np.int64)
    ends = np.zeros(words.shape[0] + 1, dtype=np.int64)
    begins = np.zeros(count + 1, dtype=np.int64)
    sizes = np.zeros(count, dtype=np.int64)
    used, total = 0, 0
    for t in range(count):
        first, w = node_offsets[t], word_offsets[t]
        verb = np.int64(0)
        for v in range(first, node_offsets[t + 1]):
            start = w
            while w < word_offsets[t + 1] and first + words[w, 0] == v:
                w += 1
            if nodes[v, 1] <= 0:  # the root, or a predicate: its arguments follow
                if w > start:
                    verb = np.int64(tokens[token_offsets[t] + words[start, 2]])
                continue
            sizes[t] += 1
            if w == start or (role != ANY and role != nodes[v, 0]):
                continue
            for k in range(start, start + 1 if content == NAMES else w):
                if k == start or content == WORDS:
                    numbers[used] = nodes[v, 0]
                    used += 1
                    if with_verb:
                        numbers[used] = verb
                        used += 1
                if content != NAMES:
                    numbers[used] = tokens[token_offsets[t] + words[k, 2]]
                    used += 1
                if content == WORDS or k == start:
                    total += 1
                ends[total] = used
        begins[t + 1] = total
    return (numbers[:used], ends[: total + 1], begins), sizes


@kernel
def discourse_items(texts: Analysed, with_dates: bool, relation: int) -> tuple[Items, IntArray]:
    """List the words at the nodes of each text, once for each node at or above them.

    Parameters
    ----------
    texts
        Discourse representations of N texts, and their tokens or tags.
    with_dates
        Whether a date is an item.
    relation
        The type of node, `REFERENTS`, or `ANY`.

    Returns
    -------
    items
        An item is a type, and `KINDS` times the word plus the kind.
    sizes : (N,) int64
        Words of each text at any node.
    """
    nodes, node_offsets, words, word_offsets, tokens, token_offsets = texts
    count = node_offsets.size - 1
    room = 0
    for t in range(count):
        for w in range(word_offsets[t], word_offsets[t + 1]):
            above = np.int64(words[w, 0])
            while above >= 0:
                room += 1
                above = np.int64(nodes[node_offsets[t] + above, 1])
    numbers = np.empty(2 * room, dtype=np.int64)
    begins = np.zeros(count + 1, dtype=np.int64)
    sizes = np.zeros(count, dtype=np.int64)
    total = 0
    for t in range(count):
        for w in range(word_offsets[t], word_offsets[t + 1]):
            kind, value = np.int64(words[w, 1]), np.int64(words[w, 2])
            if kind == DATE and not with_dates:
                continue
            sizes[t] += 1
            item = KINDS * (value if kind == DATE else np.int64(tokens[token_offsets[t] + value]))
            if kind == REFERENT:
                if relation in (ANY, REFERENTS):
                    numbers[2 * total], numbers[2 * total + 1] = REFERENTS, item
                    total += 1
                continue
            above = np.int64(words[w, 0])
            while above >= 0:
                v = node_offsets[t] + above
                if relation == ANY or relation == nodes[v, 2]:
                    numbers[2 * total], numbers[2 * total + 1] = nodes[v, 2], item + kind
                    total += 1
                above = np.int64(nodes[v, 1])
        begins[t + 1] = total
    ends = np.empty(total + 1, dtype=np.int64)
    for k in range(total + 1):
        ends[k] = 2 * k
    return (numbers[: 2 * total], ends, begins), sizes


@kernel
def shared_items(
    items: Items, references: Items, offsets: IntArray, types: IntArray, other_types: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Count the items that each hypothesis shares with the one reference of its segment.

    Parameters
    ----------
    items, references
        Items of H hypotheses and of S references.
    offsets : (S + 1,)
        Hypotheses of segment s are `offsets[s]:offsets[s + 1]`.
    types, other_types
        The number of the type of each item, from 0 without a gap; empty: no means are computed.

    Returns
    -------
    matches : (H,) float64
        Sum over items of the smaller number of occurrences.
    means : (H,) float64
        Mean, over the types that either side has, of shared items over all; 0 without types.
    """
    numbers, ends, begins = items
    other_numbers, other_ends, other_begins = references
    largest = np.int64(0)
    for s in range(offsets.size - 1):
        length = other_ends[other_begins[s + 1]] - other_ends[other_begins[s]]
        largest = max(largest, length)
    size = table_size(largest)
    keys = np.empty(size, dtype=np.int64)
    left = np.empty(size, dtype=np.int64)  # occurrences in the reference not yet matched ...
    turns = np.empty(size, dtype=np.int64)  # ... by the hypothesis of this number
    limits = np.empty(size, dtype=np.int64)
    kinds = 0
    for part in (types, other_types):
        for k in range(part.size):
            kinds = max(kinds, part[k] + 1)
    of_type = np.zeros((3, kinds))  # items of the hypothesis, of the reference, shared
    seen = np.empty(2 * kinds, dtype=np.int64)
    matches, means = np.zeros(begins.size - 1), np.zeros(begins.size - 1)
    for s in range(offsets.size - 1):
        used = 16  # a small table stays in the processor's cache
        while used < 2 * (other_ends[other_begins[s + 1]] - other_ends[other_begins[s]]):
            used *= 2
        mask = used - 1
        for k in range(used):
            keys[k], limits[k], turns[k] = -1, 0, -1
        in_reference = 0
        for i in range(other_begins[s], other_begins[s + 1]):
            slot = -1
            for k in range(other_ends[i], other_ends[i + 1]):
                longer, is_shared = find(keys, mask, slot + 1, other_numbers[k])
                if not is_shared:
                    keys[longer] = ((slot + 1) << 32) | other_numbers[k]
                slot = longer
            limits[slot] += 1
            if kinds:
                if of_type[1, other_types[i]] == 0.0:
                    seen[in_reference] = other_types[i]
                    in_reference += 1
                of_type[1, other_types[i]] += 1.0
        for h in range(offsets[s], offsets[s + 1]):
            seen_count = in_reference
            for i in range(begins[h], begins[h + 1]):
                slot, is_shared = -1, True
                for k in range(ends[i], ends[i + 1]):
                    slot, is_shared = find(keys, mask, slot + 1, numbers[k])
                    if not is_shared:
                        break
                if is_shared:
                    if turns[slot] != h:
                        turns[slot], left[slot] = h, limits[slot]
                    is_shared = left[slot] > 0
                    left[slot] -= 1
                if is_shared:
                    matches[h] += 1.0
                if kinds:
                    k = types[i]
                    if of_type[0, k] == 0.0 and of_type[1, k] == 0.0:
                        seen[seen_count] = k
                        seen_count += 1
                    of_type[0, k] += 1.0
                    of_type[2, k] += is_shared
            for j in range(seen_count):
                k = seen[j]
                together = of_type[0, k] + of_type[1, k] - of_type[2, k]
                means[h] += of_type[2, k] / together / seen_count
                of_type[0, k] = of_type[2, k] = 0.0
        for j in range(in_reference):
            of_type[1, seen[j]] = 0.0
    return matches, means
