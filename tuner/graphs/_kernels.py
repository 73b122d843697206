"""Compiled loops over search graphs: their order, their best strings, Moses' text form.

A graph has nodes 0..N-1 and A arcs in the order of their heads, tails before heads. The body of an
arc is what it writes: a token, or -1 - t for the string of its tail t. `firsts[n]:firsts[n + 1]`
are the arcs with head n.
"""

from typing import NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, TokenArray
from portmert.metrics.kernels.compiled import helper, kernel

from ..texts._kernels import (
    MIX_PRIME,
    ByteArray,
    HashArray,
    is_space,
    read_natural,
    read_number,
)

UNKNOWN, NONE = -1, -2
"""The next string of a node: not asked for yet; there is none."""
OK, NO_NODE, NO_VALUES, OTHER_SEGMENT, NO_TEXT = range(5)


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
    """Number the nodes of whole derivations of the goal, tails before heads.

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
    """Number the ordered nodes that whole derivations have; the others get -1."""
    nodes = order.size
    by_head = np.argsort(heads, kind="mergesort")
    firsts = np.searchsorted(heads[by_head], np.arange(nodes + 1))
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


@kernel
def best_through(arcs: Arcs, scores: FloatArray) -> FloatArray:
    """Return (A,) the score of the best derivation that has each arc."""
    nodes = arcs.firsts.size - 1
    inside, outside = np.full(nodes, -np.inf), np.full(nodes, -np.inf)
    through = scores.copy()
    for node in range(nodes):
        for arc in range(arcs.firsts[node], arcs.firsts[node + 1]):
            for t in range(arcs.tail_offsets[arc], arcs.tail_offsets[arc + 1]):
                through[arc] += inside[arcs.tails[t]]
            inside[node] = max(inside[node], through[arc])
    outside[nodes - 1] = 0.0
    for node in range(nodes - 1, -1, -1):
        for arc in range(arcs.firsts[node], arcs.firsts[node + 1]):
            through[arc] += outside[node]
            for t in range(arcs.tail_offsets[arc], arcs.tail_offsets[arc + 1]):
                tail = arcs.tails[t]
                outside[tail] = max(outside[tail], through[arc] - inside[tail])
    return through


class _Strings(NamedTuple):
    """Candidates: strings of nodes, as an arc and the strings of its tails.

    Parameters
    ----------
    arc, moved, next : (M,) int64
        The arc; the first tail whose string may still be exchanged for a worse one; the next
        string of the same node.
    tails : (M, W) int64
        The candidates that are the strings of its tails.
    score, hash, length : (M,) float64, uint64, int64
        Of the string; the hash is a polynomial of the tokens.
    left, right : (M,) int64
        The skew heap of the node that it waits in.
    """

    arc: IntArray
    moved: IntArray
    next: IntArray
    tails: IntArray
    score: FloatArray
    hash: HashArray
    length: IntArray
    left: IntArray
    right: IntArray


@helper
def _larger(array: IntArray) -> IntArray:
    return np.concatenate((array, np.empty_like(array)))


@helper
def _room(strings: _Strings, count: int) -> _Strings:
    """Return the candidates with room for one more."""
    if count < strings.arc.size:
        return strings
    return _Strings(
        _larger(strings.arc),
        _larger(strings.moved),
        _larger(strings.next),
        np.concatenate((strings.tails, np.empty_like(strings.tails))),
        np.concatenate((strings.score, np.empty_like(strings.score))),
        np.concatenate((strings.hash, np.empty_like(strings.hash))),
        _larger(strings.length),
        _larger(strings.left),
        _larger(strings.right),
    )


@helper
def _power(exponent: int) -> int:
    """Return the power of the hash's base, modulo 2^64."""
    base, result = MIX_PRIME, np.uint64(1)
    while exponent > 0:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result


@helper
def _fill(strings: _Strings, c: int, arcs: Arcs, score: float) -> None:
    """Compute score, hash and length of a candidate from its arc and its tails, in place."""
    arc = strings.arc[c]
    h, length = np.uint64(0), 0
    for b in range(arcs.body_offsets[arc], arcs.body_offsets[arc + 1]):
        item = arcs.body[b]
        if item >= 0:
            h = h * MIX_PRIME + (np.uint64(item) + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9)
            length += 1
        else:
            tail = strings.tails[c, -1 - item]
            h = h * _power(strings.length[tail]) + strings.hash[tail]
            length += strings.length[tail]
    for t in range(arcs.tail_offsets[arc + 1] - arcs.tail_offsets[arc]):
        score += strings.score[strings.tails[c, t]]
    strings.score[c], strings.hash[c], strings.length[c] = score, h, length
    strings.moved[c], strings.next[c] = 0, UNKNOWN
    strings.left[c] = strings.right[c] = -1


@helper
def _is_before(strings: _Strings, a: int, b: int) -> bool:
    """Whether candidate a comes out of the heap before b: the better, then the earlier arc."""
    if strings.score[a] != strings.score[b]:
        return strings.score[a] > strings.score[b]
    if strings.arc[a] != strings.arc[b]:
        return strings.arc[a] < strings.arc[b]
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
        right = strings.right[a]
        strings.right[a] = strings.left[a]
        if right < 0:
            strings.left[a] = b
            return root
        if not _is_before(strings, right, b):
            right, b = b, right
        strings.left[a] = right
        a = right


@kernel
def best_strings(
    arcs: Arcs, scores: FloatArray, size: int
) -> tuple[FloatArray, TokenArray, IntArray, IntArray, IntArray, TokenArray, IntArray]:
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
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty((room, width), dtype=np.int64),
        np.empty(room),
        np.empty(room, dtype=np.uint64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
    )
    for node in range(nodes):  # the best string of each node, candidate `node`
        best, best_score = -1, -np.inf
        for arc in range(arcs.firsts[node], arcs.firsts[node + 1]):
            score = scores[arc]
            for t in range(arcs.tail_offsets[arc], arcs.tail_offsets[arc + 1]):
                score += strings.score[arcs.tails[t]]
            if best < 0 or score > best_score:
                best, best_score = arc, score
        strings.arc[node] = best
        for t in range(arcs.tail_offsets[best], arcs.tail_offsets[best + 1]):
            strings.tails[node, t - arcs.tail_offsets[best]] = arcs.tails[t]
        _fill(strings, node, arcs, scores[best])
    strings, count = _worse(strings, arcs, scores, size)
    return _written(strings, arcs, count)


@helper
def _worse(
    strings: _Strings, arcs: Arcs, scores: FloatArray, size: int
) -> tuple[_Strings, int]:
    """Find the worse strings of the last node; return all candidates, and how many it has."""
    nodes, count = arcs.firsts.size - 1, arcs.firsts.size - 1
    heaps = np.full(nodes, UNKNOWN, dtype=np.int64)  # the root of each node's candidates
    last = np.arange(nodes)  # the last string that each node has given
    pending = np.arange(nodes)  # whose worse neighbours are not in the heap yet
    stack, goal, strings_of_goal = [nodes - 1], nodes - 1, 1
    while strings_of_goal < size:
        node = stack[-1]
        if heaps[node] == UNKNOWN:
            heaps[node] = NONE
            for arc in range(arcs.firsts[node], arcs.firsts[node + 1]):
                if arc != strings.arc[node]:
                    strings = _room(strings, count)
                    strings.arc[count] = arc
                    for t in range(arcs.tail_offsets[arc], arcs.tail_offsets[arc + 1]):
                        strings.tails[count, t - arcs.tail_offsets[arc]] = arcs.tails[t]
                    _fill(strings, count, arcs, scores[arc])
                    heaps[node] = _melded(strings, heaps[node], count)
                    count += 1
        c = pending[node]
        if c >= 0:
            arc = strings.arc[c]
            t = strings.moved[c]
            if t < arcs.tail_offsets[arc + 1] - arcs.tail_offsets[arc]:
                worse = strings.next[strings.tails[c, t]]
                if worse == UNKNOWN:
                    stack.append(arcs.tails[arcs.tail_offsets[arc] + t])
                    continue
                strings.moved[c] += 1
                if worse >= 0:
                    strings = _room(strings, count)
                    strings.arc[count] = arc
                    strings.tails[count] = strings.tails[c]
                    strings.tails[count, t] = worse
                    _fill(strings, count, arcs, scores[arc])
                    strings.moved[count] = t  # so each combination of tails comes once
                    heaps[node] = _melded(strings, heaps[node], count)
                    count += 1
                continue
            pending[node] = -1
        c = heaps[node]
        if c < 0:
            strings.next[last[node]] = NONE
        else:
            heaps[node] = _melded(strings, strings.left[c], strings.right[c])
            if heaps[node] < 0:
                heaps[node] = NONE
            pending[node] = c
            known = node
            while known >= 0 and (
                strings.hash[known] != strings.hash[c] or strings.length[known] != strings.length[c]
            ):
                known = strings.next[known]
            if known >= 0:
                continue
            strings.next[last[node]] = c
            last[node] = c
            strings_of_goal += node == goal
        if len(stack) == 1 and c < 0:
            break
        if len(stack) > 1:
            stack.pop()
    return strings, strings_of_goal


@helper
def _written(
    strings: _Strings, arcs: Arcs, count: int
) -> tuple[FloatArray, TokenArray, IntArray, IntArray, IntArray, TokenArray, IntArray]:
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
        stack = [(c, arcs.body_offsets[strings.arc[c]])]
        while len(stack) > 0:
            candidate, b = stack.pop()
            arc = strings.arc[candidate]
            if b == arcs.body_offsets[arc]:
                if u == used.size:
                    used = _larger(used)
                used[u] = arc
                u += 1
            while b < arcs.body_offsets[arc + 1]:
                item = arcs.body[b]
                b += 1
                if item < 0:
                    if b < arcs.body_offsets[arc + 1]:
                        stack.append((candidate, b))
                    inner = strings.tails[candidate, -1 - item]
                    stack.append((inner, arcs.body_offsets[strings.arc[inner]]))
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
        c = strings.next[c]
    return scores, tokens[:n], token_offsets, used[:u], used_offsets, links[:v], link_offsets


@kernel
def sum_features(
    arcs: Arcs, used: IntArray, used_offsets: IntArray, width: int
) -> FloatArray:
    """Return (K, width) the sum of the features of each derivation's arcs."""
    table = np.zeros((used_offsets.size - 1, width))
    for k in range(table.shape[0]):
        for u in range(used_offsets[k], used_offsets[k + 1]):
            arc = used[u]
            for i in range(arcs.feature_offsets[arc], arcs.feature_offsets[arc + 1]):
                table[k, arcs.columns[i]] += arcs.values[i]
    return table


class OsgxLines(NamedTuple):
    """The arcs of a segment as `-output-search-graph-extended` writes them.

    Parameters
    ----------
    code, position : int
        OK, or the first fault and where.
    lines : (A,) int64
        The line of each arc, from 0.
    heads, tails : (A,) int64
        Hypotheses: the one that the line leads to, and the one behind it.
    is_final : (A,) bool
    spans : (A, 2) int64
        Source words.
    values, value_offsets : (V,) float64, (A + 1,) int64
        The dense features.
    sparse : (X, 3) int64
        Arc, and the span of `name=value`.
    cuts : (A, 1, 2) int64
        The span of the target phrase.
    slow : (M, 3) int64
        Numbers left to Python: index into `values`, begin, end.
    """

    code: int
    position: int
    lines: IntArray
    heads: IntArray
    tails: IntArray
    is_final: IntArray
    spans: IntArray
    values: FloatArray
    value_offsets: IntArray
    sparse: IntArray
    cuts: IntArray
    slow: IntArray


@helper
def _key_is(text: ByteArray, i: int, end: int, key: ByteArray) -> bool:
    """Whether text[i:end] begins with a key."""
    if i + key.size > end:
        return False
    for k in range(key.size):
        if text[i + k] != key[k]:
            return False
    return True


_HYP, _BACK, _RECOMBINED, _FORWARD, _COVERED, _SCORES, _OUT = (
    np.frombuffer(key, dtype=np.uint8)
    for key in (b"hyp=", b"back=", b"recombined=", b"forward=", b"covered=", b'scores="core=(', b'out="')
)


@kernel
def parse_osgx(text: ByteArray, lines: int, most: int) -> OsgxLines:
    """Read the lines of one segment.

    Parameters
    ----------
    lines, most
        At least the number of lines, and of commas and spaces.
    """
    at_line, heads = np.empty(lines, dtype=np.int64), np.full(lines, -1, dtype=np.int64)
    tails, is_final = np.full(lines, -1, dtype=np.int64), np.zeros(lines, dtype=np.int64)
    spans, cuts = np.full((lines, 2), -1, dtype=np.int64), np.zeros((lines, 1, 2), dtype=np.int64)
    values, value_offsets = np.empty(most), np.zeros(lines + 1, dtype=np.int64)
    sparse, slow = np.empty((64, 3), dtype=np.int64), np.empty((64, 3), dtype=np.int64)
    code, position, line, arc, n, sparses, slows = OK, 0, -1, 0, 0, 0, 0
    first_segment, i = -1, 0
    while i < text.size and code == OK:
        line += 1
        begin, end = i, i
        while end < text.size and text[end] != 10:
            end += 1
        segment, i = read_natural(text, i, end)
        if first_segment < 0:
            first_segment = segment
        if segment != first_segment:
            code, position = OTHER_SEGMENT, begin
            break
        hyp = back = recombined = target = -1
        numbers = n
        while i < end:
            while i < end and is_space(text[i]):
                i += 1
            if _key_is(text, i, end, _HYP):
                hyp, i = read_natural(text, i + 4, end)
            elif _key_is(text, i, end, _BACK):
                back, i = read_natural(text, i + 5, end)
            elif _key_is(text, i, end, _RECOMBINED):
                recombined, i = read_natural(text, i + 11, end)
            elif _key_is(text, i, end, _FORWARD):
                is_final[arc] = i + 8 < end and text[i + 8] == 45
            elif _key_is(text, i, end, _COVERED):
                spans[arc, 0], i = read_natural(text, i + 8, end)
                spans[arc, 1], i = read_natural(text, i + 1, end)
            elif _key_is(text, i, end, _SCORES):
                i += 14
                while i < end and text[i] != 41 and text[i] != 34:
                    begin_number = i
                    while i < end and text[i] != 44 and text[i] != 41 and text[i] != 34:
                        i += 1
                    values[n], exact = read_number(text, begin_number, i)
                    if not exact:
                        if slows == slow.shape[0]:
                            slow = np.concatenate((slow, np.empty_like(slow)))
                        slow[slows, 0], slow[slows, 1], slow[slows, 2] = n, begin_number, i
                        slows += 1
                    n += 1
                    i += i < end and text[i] == 44
                i += 1
                while i < end and text[i] != 34:  # sparse features
                    begin_name = i
                    while i < end and text[i] != 34 and not is_space(text[i]):
                        i += 1
                    if i > begin_name:
                        if sparses == sparse.shape[0]:
                            sparse = np.concatenate((sparse, np.empty_like(sparse)))
                        sparse[sparses, 0] = arc
                        sparse[sparses, 1], sparse[sparses, 2] = begin_name, i
                        sparses += 1
                    else:
                        i += 1
            elif _key_is(text, i, end, _OUT):
                last = end - 1
                while last > i and is_space(text[last]):
                    last -= 1
                i += 5
                while i < last and text[i] != 124:
                    i += 1
                if text[last] == 34 and i < last:
                    target = i + 1
                    cuts[arc, 0, 0], cuts[arc, 0, 1] = target, last
                i = end
            while i < end and not is_space(text[i]):
                i += 1
        if hyp < 0 or (back < 0 and hyp > 0):
            code, position = NO_NODE, begin
        elif back >= 0 and n == numbers:
            code, position = NO_VALUES, begin
        elif back >= 0 and target < 0:
            code, position = NO_TEXT, begin
        elif back >= 0:
            at_line[arc], tails[arc] = line, back
            heads[arc] = recombined if recombined >= 0 else hyp
            arc += 1
            value_offsets[arc] = n
        i = end + 1
    return OsgxLines(
        code,
        position,
        at_line[:arc],
        heads[:arc],
        tails[:arc],
        is_final[:arc],
        spans[:arc],
        values[:n],
        value_offsets[: arc + 1],
        sparse[:sparses],
        cuts[:arc],
        slow[:slows],
    )
