"""Counts n-gram matches and compares permutations, compiled.

Arrays and numbers in and out; inputs are read-only; every function releases the interpreter lock.
"""

from __future__ import annotations

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, TokenArray
from portmert.metrics._compiled import helper, kernel

V, RHO, DISCORDANCE, AGREEMENT = range(4)
"""The values of `measure` in `compare_orders`."""


@helper
def _find(keys: IntArray, mask: int, node: int, token: int) -> tuple[int, bool]:
    """Return the slot of n-gram `node` extended by `token`, and whether it holds that n-gram.

    A node is the slot of an n-gram plus one, or 0 for the empty n-gram. The table is at most half
    full, so that probing ends.
    """
    key = (node << 32) | token
    mixed = token * 0x2545F491 + node * 0x1B873593  # below 2**62: no overflow
    slot = (mixed ^ (mixed >> 17)) & mask
    while keys[slot] != key:
        if keys[slot] < 0:
            return slot, False
        slot = (slot + 1) & mask
    return slot, True


@kernel
def ngram_matches(
    tokens: TokenArray,
    token_offsets: IntArray,
    offsets: IntArray,
    reference_tokens: TokenArray,
    reference_token_offsets: IntArray,
    reference_offsets: IntArray,
    max_order: int,
) -> FloatArray:
    """Count the n-grams of each hypothesis that match, clipped by the references of its segment.

    Parameters
    ----------
    tokens, token_offsets
        Hypothesis h is `tokens[token_offsets[h]:token_offsets[h + 1]]`.
    offsets
        Hypotheses of segment s are `offsets[s]:offsets[s + 1]`.
    reference_tokens, reference_token_offsets, reference_offsets
        The same for the references.
    max_order
        N, the longest n-gram.

    Returns
    -------
    (H, N) float64
        Column n - 1 counts n-grams. Each distinct n-gram counts at most as often as it occurs in
        the one reference that has most of it.
    """
    largest = 0
    for s in range(offsets.size - 1):
        first, last = reference_offsets[s], reference_offsets[s + 1]
        largest = max(largest, reference_token_offsets[last] - reference_token_offsets[first])
    size = 16
    while size < 2 * max_order * largest:
        size *= 2
    keys = np.empty(size, dtype=np.int64)
    limits = np.empty(size, dtype=np.int64)  # the most that any one reference has
    counts = np.empty(size, dtype=np.int64)  # in the text being read ...
    turns = np.empty(size, dtype=np.int64)  # ... if this is the number of that text
    matches = np.zeros((token_offsets.size - 1, max_order))
    turn = 0
    for s in range(offsets.size - 1):
        first, last = reference_offsets[s], reference_offsets[s + 1]
        in_segment = reference_token_offsets[last] - reference_token_offsets[first]
        used = 16  # a small table stays in the processor's cache
        while used < 2 * max_order * in_segment:
            used *= 2
        mask = used - 1
        keys[:used] = -1
        turns[:used] = -1
        limits[:used] = 0
        for r in range(first, last):
            turn += 1
            end = reference_token_offsets[r + 1]
            for begin in range(reference_token_offsets[r], end):
                node = 0
                for i in range(begin, min(end, begin + max_order)):
                    slot, found = _find(keys, mask, node, np.int64(reference_tokens[i]))
                    if not found:
                        keys[slot] = (node << 32) | np.int64(reference_tokens[i])
                    if turns[slot] != turn:
                        turns[slot] = turn
                        counts[slot] = 0
                    counts[slot] += 1
                    limits[slot] = max(limits[slot], counts[slot])
                    node = slot + 1
        for h in range(offsets[s], offsets[s + 1]):
            turn += 1
            end = token_offsets[h + 1]
            for begin in range(token_offsets[h], end):
                node = 0
                for i in range(begin, min(end, begin + max_order)):
                    slot, found = _find(keys, mask, node, np.int64(tokens[i]))
                    if not found:
                        break  # no longer n-gram from here matches either
                    if turns[slot] != turn:
                        turns[slot] = turn
                        counts[slot] = 0
                    counts[slot] += 1
                    if counts[slot] <= limits[slot]:
                        matches[h, i - begin] += 1.0
                    node = slot + 1
    return matches


@kernel
def ngram_information(
    tokens: TokenArray, token_offsets: IntArray, max_order: int
) -> tuple[IntArray, FloatArray]:
    """Weigh every n-gram of some texts by how surprising its last word is after the others.

    Parameters
    ----------
    tokens, token_offsets
        Text t is `tokens[token_offsets[t]:token_offsets[t + 1]]`.
    max_order
        N, the longest n-gram.

    Returns
    -------
    keys : (2**k,) int64
        The table of n-grams, see `_find`.
    information : (2**k,) float64
        log2(count of all but the last word / count) in the slot of each n-gram; for one word the
        numerator is the number of all words.
    """
    words = token_offsets[-1] - token_offsets[0]
    size = 16
    while size < 2 * max_order * words:
        size *= 2
    keys = np.full(size, -1, dtype=np.int64)
    counts = np.zeros(size, dtype=np.int64)
    for t in range(token_offsets.size - 1):
        end = token_offsets[t + 1]
        for begin in range(token_offsets[t], end):
            node = 0
            for i in range(begin, min(end, begin + max_order)):
                slot, found = _find(keys, size - 1, node, np.int64(tokens[i]))
                if not found:
                    keys[slot] = (node << 32) | np.int64(tokens[i])
                counts[slot] += 1
                node = slot + 1
    information = np.zeros(size)
    for slot in range(size):
        if keys[slot] >= 0:
            shorter = keys[slot] >> 32
            before = counts[shorter - 1] if shorter > 0 else words
            information[slot] = np.log2(before / counts[slot])
    return keys, information


@kernel
def information_matches(
    tokens: TokenArray,
    token_offsets: IntArray,
    offsets: IntArray,
    reference_tokens: TokenArray,
    reference_token_offsets: IntArray,
    reference_offsets: IntArray,
    table: tuple[IntArray, FloatArray],
    max_order: int,
) -> FloatArray:
    """Add up the information of the n-grams that `ngram_matches` counts: (H, N) float64.

    `table`: what `ngram_information` says of texts that the references are among.
    """
    keys, information = table
    mask = keys.size - 1
    limits = np.zeros(keys.size, dtype=np.int64)  # the most that any one reference has ...
    limit_turns = np.zeros(keys.size, dtype=np.int64)  # ... if this is the number of the segment
    counts = np.zeros(keys.size, dtype=np.int64)  # in the text being read ...
    turns = np.zeros(keys.size, dtype=np.int64)  # ... if this is the number of that text
    matches = np.zeros((token_offsets.size - 1, max_order))
    turn = 0
    for s in range(offsets.size - 1):
        for r in range(reference_offsets[s], reference_offsets[s + 1]):
            turn += 1
            end = reference_token_offsets[r + 1]
            for begin in range(reference_token_offsets[r], end):
                node = 0
                for i in range(begin, min(end, begin + max_order)):
                    slot, _ = _find(keys, mask, node, np.int64(reference_tokens[i]))
                    if turns[slot] != turn:
                        turns[slot] = turn
                        counts[slot] = 0
                    counts[slot] += 1
                    if limit_turns[slot] != s + 1:
                        limit_turns[slot] = s + 1
                        limits[slot] = 0
                    limits[slot] = max(limits[slot], counts[slot])
                    node = slot + 1
        for h in range(offsets[s], offsets[s + 1]):
            turn += 1
            end = token_offsets[h + 1]
            for begin in range(token_offsets[h], end):
                node = 0
                for i in range(begin, min(end, begin + max_order)):
                    slot, found = _find(keys, mask, node, np.int64(tokens[i]))
                    if not found or limit_turns[slot] != s + 1:
                        break  # no longer n-gram from here matches either
                    if turns[slot] != turn:
                        turns[slot] = turn
                        counts[slot] = 0
                    counts[slot] += 1
                    if counts[slot] <= limits[slot]:
                        matches[h, i - begin] += information[slot]
                    node = slot + 1
    return matches


@kernel
def permutations(
    links: TokenArray,
    link_offsets: IntArray,
    source_lengths: IntArray,
    target_lengths: IntArray,
    plus_one: bool,
    rank: bool,
) -> tuple[TokenArray, int]:
    """Turn the links of each text into the order in which the target meets the source words.

    Parameters
    ----------
    links : (L, 2) int32
        Source and target positions, in any order.
    link_offsets : (T + 1,) int64
        Links of text t are `links[link_offsets[t]:link_offsets[t + 1]]`.
    source_lengths, target_lengths : (T,) int64
    plus_one
        An unaligned word stands one target position after the previous source word, not at the
        same position.
    rank
        Return the inverse: for each source word its rank in target order.

    Returns
    -------
    orders : (sum of source_lengths,) int32
        One permutation of 0..n-1 after the other.
    fault : int
        The first link outside its sentence, as an index into `links`; -1 if there is none. With
        a fault the orders mean nothing.
    """
    longest_source, longest_target, total = 0, 0, 0
    for t in range(source_lengths.size):
        longest_source = max(longest_source, source_lengths[t])
        longest_target = max(longest_target, target_lengths[t])
        total += source_lengths[t]
    orders = np.empty(total, dtype=np.int32)
    positions = np.empty(longest_source, dtype=np.int64)
    # Positions run from -1 (before all) to the last target word, or with `plus_one` beyond it.
    starts = np.empty(longest_target + longest_source + 2, dtype=np.int64)
    base = 0
    for t in range(source_lengths.size):
        n, m = source_lengths[t], target_lengths[t]
        positions[:n] = m  # no link yet
        for k in range(link_offsets[t], link_offsets[t + 1]):
            i, j = links[k, 0], links[k, 1]
            if i < 0 or i >= n or j < 0 or j >= m:
                return orders, k
            positions[i] = min(positions[i], j)
        highest = m + n if plus_one else m
        starts[: highest + 2] = 0
        previous = -1
        for i in range(n):
            if positions[i] == m:
                positions[i] = previous + 1 if plus_one and previous >= 0 else previous
            previous = positions[i]
            starts[previous + 2] += 1
        for p in range(1, highest + 1):
            starts[p] += starts[p - 1]
        # starts[p + 1] is now the number of words at positions below p: counting sort, stable.
        for i in range(n):
            p = positions[i] + 1
            if rank:
                orders[base + i] = starts[p]
            else:
                orders[base + starts[p]] = i
            starts[p] += 1
        base += n
    return orders, -1


@helper
def _ordering_v(a: TokenArray, b: TokenArray) -> float:
    """Harmonic mean of v1 and v2 (PORT paper, equations 11 to 15)."""
    n = a.size
    if n < 2:
        return 1.0
    distance, jumps, before = 0, 0, 0
    for i in range(n):
        apart = a[i] - b[i]
        distance += abs(apart)
        jumps += abs(apart - before)
        before = apart
    v1 = 1.0 - distance / (n * (n + 1) / 2)
    v2 = 1.0 - jumps / (n * n - 1)
    return 2.0 * v1 * v2 / (v1 + v2)  # v1 is never 0


@helper
def _spearman_rho(a: TokenArray, b: TokenArray) -> float:
    n = a.size
    if n < 2:
        return 1.0
    squares = 0.0
    for i in range(n):
        apart = float(a[i] - b[i])
        squares += apart * apart
    return 1.0 - 6.0 * squares / (n * (n * n - 1.0))


@helper
def _discordant_share(a: TokenArray, b: TokenArray, image: IntArray, tree: IntArray) -> float:
    """Share of the pairs (i, j) with a[i] < a[j] and b[i] > b[j]. Modifies `image` and `tree`."""
    n = a.size
    if n < 2:
        return 0.0
    for i in range(n):
        image[a[i]] = b[i]
    tree[: n + 1] = 0  # Fenwick tree: how many values below x stand further right
    inversions = 0
    for i in range(n - 1, -1, -1):
        x = image[i]
        while x > 0:
            inversions += tree[x]
            x -= x & -x
        x = image[i] + 1
        while x <= n:
            tree[x] += 1
            x += x & -x
    return inversions / (n * (n - 1) / 2)


@helper
def _agreeing_share(a: TokenArray, b: TokenArray) -> float:
    n = a.size
    if n == 0:
        return 1.0
    same = 0
    for i in range(n):
        if a[i] == b[i]:
            same += 1
    return same / n


@kernel
def compare_orders(
    orders: TokenArray,
    offsets: IntArray,
    reference_orders: TokenArray,
    reference_offsets: IntArray,
    source_lengths: IntArray,
    measure: int,
) -> FloatArray:
    """Compare the order of each hypothesis with that of each reference of its segment.

    Parameters
    ----------
    orders, reference_orders : int32
        Permutations of all hypotheses and references, segment by segment (see `permutations`).
    offsets, reference_offsets : (S + 1,) int64
        Hypotheses and references of each segment.
    source_lengths : (S,) int64
        n, the length of each permutation of the segment.
    measure
        V, RHO (-1..1), DISCORDANCE (share of discordant pairs) or AGREEMENT (share of equal
        entries).

    Returns
    -------
    (P,) float64
        All pairs, hypothesis by hypothesis, its references in order.
    """
    pairs, longest = 0, 0
    for s in range(source_lengths.size):
        pairs += (offsets[s + 1] - offsets[s]) * (reference_offsets[s + 1] - reference_offsets[s])
        longest = max(longest, source_lengths[s])
    values = np.empty(pairs)
    image = np.empty(longest, dtype=np.int64)
    tree = np.empty(longest + 1, dtype=np.int64)
    at, base, reference_base = 0, 0, 0
    for s in range(source_lengths.size):
        n = source_lengths[s]
        references = reference_offsets[s + 1] - reference_offsets[s]
        for _ in range(offsets[s], offsets[s + 1]):
            a = orders[base : base + n]
            for r in range(references):
                b = reference_orders[reference_base + r * n : reference_base + (r + 1) * n]
                if measure == V:
                    values[at] = _ordering_v(a, b)
                elif measure == RHO:
                    values[at] = _spearman_rho(a, b)
                elif measure == DISCORDANCE:
                    values[at] = _discordant_share(a, b, image, tree)
                else:
                    values[at] = _agreeing_share(a, b)
                at += 1
            base += n
        reference_base += references * n
    return values
