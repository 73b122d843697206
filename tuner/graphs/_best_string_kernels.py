"""Compiled loops over search graphs: their order and their best strings.

A graph has nodes 0..N-1 and A arcs in the order of their heads, tails before heads. The body of an
arc is what it writes: a token, or -1 - t for the string of its tail t. `firsts[n]:firsts[n + 1]`
are the arcs with head n.
"""

from typing import Any, NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, TokenArray
from portmert.metrics.kernels.compiled import helper, kernel

from ..texts._token_kernels import MIX_PRIME, HashArray

UNKNOWN, NONE = -1, -2
"""The next string of a node: not asked for yet; there is none."""


class Arcs(NamedTuple):
    """The arcs of a graph; see the module.

    Parameters
    ----------
    firsts : (N + 1,) int64
    tail_offsets, tails : (A + 1,) int64, (T,) int64
    body_offsets, body : (A + 1,) int64, (B,) int32
    feature_offsets, columns, values : (A + 1,) int64, (V,) int32, (V,) float64
        The features of each arc that are not 0.
    spans : (A, 2) int64
        The first and the last source word of the phrase that the arc translates, else -1.
    """

    firsts: IntArray
    tail_offsets: IntArray
    tails: IntArray
    body_offsets: IntArray
    body: TokenArray
    feature_offsets: IntArray
    columns: TokenArray
    values: FloatArray
    spans: IntArray


@kernel
def order_nodes(
    heads: IntArray, tail_offsets: IntArray, tails: IntArray, nodes: int, goal: int
) -> tuple[int, IntArray]:
    """Give the nodes of whole derivations of the goal numbers, tails before heads.

    Returns
    -------
    cycle : int
        A node that is behind itself, -1 if there is none.
    numbers : (nodes,) int64
        The new number of each node, -1 where no whole derivation has it. Nodes that wait for
        nothing come in the order of their old numbers.
    """
    arcs = heads.size
    waiting = np.zeros(nodes, dtype=np.int64)  # tails of arcs that lead to the node
    starts = np.zeros(nodes + 1, dtype=np.int64)
    for arc in range(arcs):
        waiting[heads[arc]] += tail_offsets[arc + 1] - tail_offsets[arc]
        for t in range(tail_offsets[arc], tail_offsets[arc + 1]):
            starts[tails[t] + 1] += 1
    for node in range(nodes):
        starts[node + 1] += starts[node]
    arcs_from, place = np.empty(tails.size, dtype=np.int64), starts.copy()
    for arc in range(arcs):
        for t in range(tail_offsets[arc], tail_offsets[arc + 1]):
            arcs_from[place[tails[t]]] = arc
            place[tails[t]] += 1
    order, count = np.empty(nodes, dtype=np.int64), 0
    for node in range(nodes):
        if waiting[node] == 0:
            order[count] = node
            count += 1
    i = 0
    while i < count:
        for k in range(starts[order[i]], starts[order[i] + 1]):
            head = heads[arcs_from[k]]
            waiting[head] -= 1
            if waiting[head] == 0:
                order[count] = head
                count += 1
        i += 1
    numbers = np.full(nodes, -1, dtype=np.int64)
    if count < nodes:
        for node in range(nodes):
            if waiting[node] > 0:
                return node, numbers
    return -1, _of_whole(heads, tail_offsets, tails, order, goal)


@helper
def _of_whole(
    heads: IntArray, tail_offsets: IntArray, tails: IntArray, order: IntArray, goal: int
) -> IntArray:
    """Give the ordered nodes that whole derivations have numbers, the others -1."""
    nodes = order.size
    # Counted: numba takes 3 s to compile np.argsort and np.searchsorted.
    firsts = np.zeros(nodes + 1, dtype=np.int64)
    for head in heads:
        firsts[head + 1] += 1
    for node in range(nodes):
        firsts[node + 1] += firsts[node]
    free, by_head = firsts.copy(), np.empty(heads.size, dtype=np.int64)
    for arc in range(heads.size):
        by_head[free[heads[arc]]] = arc
        free[heads[arc]] += 1
    has_string, leads = np.zeros(nodes, dtype=np.bool_), np.zeros(nodes, dtype=np.bool_)
    for node in order:
        for arc in by_head[firsts[node] : firsts[node + 1]]:
            whole = True
            for t in range(tail_offsets[arc], tail_offsets[arc + 1]):
                whole = whole and has_string[tails[t]]
            has_string[node] = has_string[node] or whole
    leads[goal] = has_string[goal]
    for i in range(nodes - 1, -1, -1):
        node = order[i]
        for arc in by_head[firsts[node] : firsts[node + 1]]:
            whole = leads[node]
            for t in range(tail_offsets[arc], tail_offsets[arc + 1]):
                whole = whole and has_string[tails[t]]
            for t in range(tail_offsets[arc], tail_offsets[arc + 1] if whole else 0):
                leads[tails[t]] = True
    numbers, count = np.full(nodes, -1, dtype=np.int64), 0
    for node in order:
        if leads[node] and has_string[node]:
            numbers[node] = count
            count += 1
    return numbers


@kernel
def score_arcs(arcs: Arcs, weights: FloatArray) -> FloatArray:
    """Return (A,) weights . features."""
    scores = np.zeros(arcs.body_offsets.size - 1)
    for arc in range(scores.size):
        for k in range(arcs.feature_offsets[arc], arcs.feature_offsets[arc + 1]):
            scores[arc] += weights[arcs.columns[k]] * arcs.values[k]
    return scores


_Written = tuple[FloatArray, TokenArray, IntArray, IntArray, IntArray, TokenArray, IntArray]


ARC, MOVED, NEXT, LENGTH, LEFT, RIGHT, TAILS = range(7)
"""Columns of `_Strings.table`: the arc; the first tail whose string may still be exchanged for a
worse one; the next string of the same node; the length in tokens; the skew heap of the node where
it waits; and from the last column on the strings of its tails."""


class _Strings(NamedTuple):
    """Candidates: strings of nodes, as an arc and the strings of its tails.

    Parameters
    ----------
    table : (M, TAILS + W) int64
    score, hash : (M,) float64, uint64
        The hash is a polynomial of the tokens.
    """

    table: IntArray
    score: FloatArray
    hash: HashArray


@helper
def _room(strings: _Strings, count: int) -> _Strings:
    """Return the candidates with room for one more."""
    table, score, hashes = strings
    if count < score.size:
        return strings
    return _Strings(
        np.concatenate((table, np.empty_like(table))),
        np.concatenate((score, np.empty_like(score))),
        np.concatenate((hashes, np.empty_like(hashes))),
    )


@helper
def _power(exponent: int) -> Any:
    """Return the power of the hash's base, modulo 2^64."""
    base, result = MIX_PRIME, np.uint64(1)
    while exponent > 0:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result


@helper
def _fill(strings: _Strings, c: int, arcs: Arcs, score: Any) -> None:
    """Compute score, hash and length of a candidate from its arc and its tails, in place."""
    arc = strings.table[c, ARC]
    h, length = np.uint64(0), 0
    for b in range(arcs.body_offsets[arc], arcs.body_offsets[arc + 1]):
        item = arcs.body[b]
        if item >= 0:
            h = h * MIX_PRIME + (np.uint64(item) + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9)
            length += 1
        else:
            tail = strings.table[c, TAILS - 1 - item]
            h = h * _power(strings.table[tail, LENGTH]) + strings.hash[tail]
            length += strings.table[tail, LENGTH]
    for t in range(arcs.tail_offsets[arc + 1] - arcs.tail_offsets[arc]):
        score += strings.score[strings.table[c, TAILS + t]]
    strings.score[c], strings.hash[c], strings.table[c, LENGTH] = score, h, length
    strings.table[c, MOVED], strings.table[c, NEXT] = 0, UNKNOWN
    strings.table[c, LEFT] = strings.table[c, RIGHT] = -1


@helper
def _is_before(strings: _Strings, a: int, b: int) -> Any:
    """Whether candidate a comes out of the heap before b: the better, then the earlier arc."""
    if strings.score[a] != strings.score[b]:
        return strings.score[a] > strings.score[b]
    if strings.table[a, ARC] != strings.table[b, ARC]:
        return strings.table[a, ARC] < strings.table[b, ARC]
    return a < b


@helper
def _melded(strings: _Strings, a: int, b: int) -> int:
    """Return the root of two skew heaps in one (Sleator and Tarjan, 1986), top down."""
    if a < 0 or b < 0:
        return max(a, b)
    if not _is_before(strings, a, b):
        a, b = b, a
    root = a
    while True:  # a is in place; b goes somewhere below
        right = strings.table[a, RIGHT]
        strings.table[a, RIGHT] = strings.table[a, LEFT]
        if right < 0:
            strings.table[a, LEFT] = b
            return root
        if not _is_before(strings, right, b):
            right, b = b, right
        strings.table[a, LEFT] = right
        a = right


@kernel
def best_strings(arcs: Arcs, scores: FloatArray, size: int) -> _Written:
    """Find the `size` best distinct strings of the last node, each by its best derivation.

    Huang and Chiang, "Better k-best parsing", IWPT 2005, algorithm 3; a node gives each string
    once. In a graph of one tail an arc, this is A* with exact costs to the end.

    Returns
    -------
    string_scores : (K,) float64
        Descending; of equal ones the earlier arc is first.
    tokens, token_offsets : (T,) int32, (K + 1,) int64
    used, used_offsets : (U,) int64, (K + 1,) int64
        The arcs of each derivation.
    links, link_offsets : (V, 2) int32, (K + 1,) int64
        Each source word of an arc's phrase with each token that the arc itself writes.
    """
    nodes, width = arcs.firsts.size - 1, 1
    for arc in range(scores.size):
        width = max(width, arcs.tail_offsets[arc + 1] - arcs.tail_offsets[arc])
    room = nodes + 64
    strings = _Strings(
        np.empty((room, TAILS + width), dtype=np.int64),
        np.empty(room),
        np.empty(room, dtype=np.uint64),
    )
    for node in range(nodes):  # the best string of each node, candidate `node`
        best, best_score = -1, -np.inf
        for arc in range(arcs.firsts[node], arcs.firsts[node + 1]):
            score = scores[arc]
            for t in range(arcs.tail_offsets[arc], arcs.tail_offsets[arc + 1]):
                score += strings.score[arcs.tails[t]]
            if best < 0 or score > best_score:
                best, best_score = arc, score
        strings.table[node, ARC] = best
        for t in range(arcs.tail_offsets[best], arcs.tail_offsets[best + 1]):
            strings.table[node, TAILS + t - arcs.tail_offsets[best]] = arcs.tails[t]
        _fill(strings, node, arcs, scores[best])
    strings, count = _worse(strings, arcs, scores, size)
    written: _Written = _written(strings, arcs, count)
    return written


@helper
def _worse(strings: _Strings, arcs: Arcs, scores: FloatArray, size: int) -> tuple[_Strings, int]:
    """Find the worse strings of the last node; return all candidates, and how many it has."""
    nodes, count = arcs.firsts.size - 1, arcs.firsts.size - 1
    heaps = np.full(nodes, UNKNOWN, dtype=np.int64)  # the root of each node's candidates
    last = np.arange(nodes)  # the last string that each node has given
    pending = np.arange(nodes)  # whose worse neighbours are not in the heap yet
    stack: list[Any] = [nodes - 1]
    goal, strings_of_goal = nodes - 1, 1
    while strings_of_goal < size:
        node = stack[-1]
        if heaps[node] == UNKNOWN:
            heaps[node] = NONE
            for arc in range(arcs.firsts[node], arcs.firsts[node + 1]):
                if arc != strings.table[node, ARC]:
                    strings = _room(strings, count)
                    strings.table[count, ARC] = arc
                    for t in range(arcs.tail_offsets[arc], arcs.tail_offsets[arc + 1]):
                        strings.table[count, TAILS + t - arcs.tail_offsets[arc]] = arcs.tails[t]
                    _fill(strings, count, arcs, scores[arc])
                    heaps[node] = _melded(strings, heaps[node], count)
                    count += 1
        c = pending[node]
        if c >= 0:
            arc = strings.table[c, ARC]
            t = strings.table[c, MOVED]
            if t < arcs.tail_offsets[arc + 1] - arcs.tail_offsets[arc]:
                worse = strings.table[strings.table[c, TAILS + t], NEXT]
                if worse == UNKNOWN:
                    stack.append(arcs.tails[arcs.tail_offsets[arc] + t])
                    continue
                strings.table[c, MOVED] += 1
                if worse >= 0:
                    strings = _room(strings, count)
                    strings.table[count] = strings.table[c]
                    strings.table[count, TAILS + t] = worse
                    _fill(strings, count, arcs, scores[arc])
                    strings.table[count, MOVED] = t  # so each combination of tails comes once
                    heaps[node] = _melded(strings, heaps[node], count)
                    count += 1
                continue
            pending[node] = -1
        c = heaps[node]
        if c < 0:
            strings.table[last[node], NEXT] = NONE
        else:
            heaps[node] = _melded(strings, strings.table[c, LEFT], strings.table[c, RIGHT])
            if heaps[node] < 0:
                heaps[node] = NONE
            pending[node] = c
            known = node
            while known >= 0 and (
                strings.hash[known] != strings.hash[c]
                or strings.table[known, LENGTH] != strings.table[c, LENGTH]
            ):
                known = strings.table[known, NEXT]
            if known >= 0:
                continue
            strings.table[last[node], NEXT] = c
            last[node] = c
            strings_of_goal += node == goal
        if len(stack) == 1 and c < 0:
            break
        if len(stack) > 1:
            stack.pop()
    return strings, strings_of_goal


@helper
def _written(strings: _Strings, arcs: Arcs, count: int) -> _Written:
    """Return what `best_strings` does of the first strings of the last node."""
    scores = np.empty(count)
    tokens, token_offsets = np.empty(64 * count, dtype=np.int32), np.zeros(count + 1, np.int64)
    used, used_offsets = np.empty(64 * count, dtype=np.int64), np.zeros(count + 1, np.int64)
    links, link_offsets = np.empty((64 * count, 2), dtype=np.int32), np.zeros(count + 1, np.int64)
    n = u = v = 0
    c = arcs.firsts.size - 2
    for k in range(count):
        scores[k] = strings.score[c]
        begin = n
        stack = [(c, arcs.body_offsets[strings.table[c, ARC]])]
        while len(stack) > 0:
            candidate, b = stack.pop()
            arc = strings.table[candidate, ARC]
            if b == arcs.body_offsets[arc]:
                if u == used.size:
                    used = np.concatenate((used, np.empty_like(used)))
                used[u] = arc
                u += 1
            while b < arcs.body_offsets[arc + 1]:
                item = arcs.body[b]
                b += 1
                if item < 0:
                    if b < arcs.body_offsets[arc + 1]:
                        stack.append((candidate, b))
                    inner = strings.table[candidate, TAILS - 1 - item]
                    stack.append((inner, arcs.body_offsets[strings.table[inner, ARC]]))
                    break
                if n == tokens.size:
                    tokens = np.concatenate((tokens, np.empty_like(tokens)))
                tokens[n] = item
                for source in range(arcs.spans[arc, 0], arcs.spans[arc, 1] + 1):
                    if source < 0:
                        break
                    if v == links.shape[0]:
                        links = np.concatenate((links, np.empty_like(links)))
                    links[v, 0], links[v, 1] = source, n - begin
                    v += 1
                n += 1
        token_offsets[k + 1], used_offsets[k + 1], link_offsets[k + 1] = n, u, v
        c = strings.table[c, NEXT]
    return scores, tokens[:n], token_offsets, used[:u], used_offsets, links[:v], link_offsets


@kernel
def sum_features(arcs: Arcs, used: IntArray, used_offsets: IntArray, width: int) -> FloatArray:
    """Return (K, width) the sum of the features of each derivation's arcs."""
    table = np.zeros((used_offsets.size - 1, width))
    for k in range(table.shape[0]):
        for u in range(used_offsets[k], used_offsets[k + 1]):
            arc = used[u]
            for i in range(arcs.feature_offsets[arc], arcs.feature_offsets[arc + 1]):
                table[k, arcs.columns[i]] += arcs.values[i]
    return table
