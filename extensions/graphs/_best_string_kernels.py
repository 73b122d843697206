"""Compiled loops over search graphs: their order and their best strings."""

from typing import Any, NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, TokenArray
from portmert.metrics.kernels.compiled import helper, kernel
from portmert.tuner.texts._token_kernels import MIX_PRIME, HashArray

UNKNOWN, NONE = -1, -2
"""The next string of a node: not asked for yet; there is none."""


class Graph(NamedTuple):
    """A segment's graph: nodes 0..N-1, of which the last is the goal, and A graph.

    Arcs stand in the order of their heads, tails before heads. The body of an arc is what it
    writes: a token, or -1 - t for the string of its tail t.

    Parameters
    ----------
    firsts : (N + 1,) int64
        `firsts[n]:firsts[n + 1]` are the arcs with head n.
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


class Strings(NamedTuple):
    """The K best distinct strings of a graph, each by its best derivation.

    Parameters
    ----------
    scores : (K,) float64
        Descending; of equal ones the earlier arc is first.
    tokens, token_offsets : (T,) int32, (K + 1,) int64
    features : (K, C) float64
        The sums over the arcs of each derivation.
    links, link_offsets : (V, 2) int32, (K + 1,) int64
        Each source word of an arc's phrase with each token that the arc itself writes.
    """

    scores: FloatArray
    tokens: TokenArray
    token_offsets: IntArray
    features: FloatArray
    links: TokenArray
    link_offsets: IntArray


@kernel
def order_nodes(
    heads: IntArray,
    tail_offsets: IntArray,
    tails: IntArray,
    arcs_into: tuple[IntArray, IntArray],
    arcs_from: tuple[IntArray, IntArray],
    goal: int,
) -> tuple[int, IntArray, IntArray]:
    """Give the nodes of whole derivations of the goal numbers, tails before heads.

    Parameters
    ----------
    arcs_into, arcs_from
        Offsets (N + 1,), and the arcs that have each node as head, as tail.

    Returns
    -------
    cycle : int
        A node that is behind itself, -1 if there is none.
    numbers : (N,) int64
        The new number of each node, -1 where no whole derivation has it. Nodes that wait for
        nothing come in the order of their old numbers.
    lacking : (A,) int64
        How many tails of each arc have no string.
    """
    nodes = arcs_into[0].size - 1
    waiting = np.zeros(nodes, dtype=np.int64)  # tails of arcs that lead to the node
    has_string, leads = np.zeros(nodes, dtype=np.bool_), np.zeros(nodes, dtype=np.bool_)
    lacking = tail_offsets[1:] - tail_offsets[:-1]
    for arc in range(heads.size):
        waiting[heads[arc]] += lacking[arc]
        if lacking[arc] == 0:
            has_string[heads[arc]] = True
    order, count, numbers = np.empty(nodes, dtype=np.int64), 0, np.full(nodes, -1, dtype=np.int64)
    for start in range(nodes):
        if waiting[start] == 0:
            order[count] = start
            count += 1
    i = 0
    while i < count:
        node = order[i]
        for arc in arcs_from[1][arcs_from[0][node] : arcs_from[0][node + 1]]:
            head = heads[arc]
            lacking[arc] -= has_string[node]
            has_string[head] = has_string[head] or lacking[arc] == 0
            waiting[head] -= 1
            if waiting[head] == 0:
                order[count] = head
                count += 1
        i += 1
    if count < nodes:
        return np.flatnonzero(waiting)[0], numbers, lacking
    leads[goal] = has_string[goal]
    for node in order[::-1]:
        for arc in arcs_into[1][arcs_into[0][node] : arcs_into[0][node + 1]]:
            if leads[node] and lacking[arc] == 0:
                leads[tails[tail_offsets[arc] : tail_offsets[arc + 1]]] = True
    count = 0
    for node in order:
        if leads[node]:
            numbers[node] = count
            count += 1
    return -1, numbers, lacking


class _Candidates(NamedTuple):
    """Strings of nodes, as an arc and the strings of its tails.

    Parameters
    ----------
    arc : (M,) int64
    tails : (M, W) int64
        The candidates that are the strings of the arc's tails.
    length : (M,) int64
        In tokens.
    score : (M,) float64
    hash : (M, 2) uint64
        A polynomial of the tokens, and the power of its base for as many tokens.
    moved : (M,) int64
        The first tail whose string may still be exchanged for a worse one.
    next : (M,) int64
        The next string of the same node, or `UNKNOWN` or `NONE`.
    left, right : (M,) int64
        The candidates below it in the skew heap of the node where it waits; -1 for none.
    """

    arc: IntArray
    tails: IntArray
    length: IntArray
    score: FloatArray
    hash: HashArray
    moved: IntArray
    next: IntArray
    left: IntArray
    right: IntArray


@helper
def _empty(count: int, width: int) -> _Candidates:
    """Return room for candidates whose arcs have at most `width` tails."""
    return _Candidates(
        np.empty(count, dtype=np.int64),
        np.empty((count, width), dtype=np.int64),
        np.empty(count, dtype=np.int64),
        np.empty(count),
        np.empty((count, 2), dtype=np.uint64),
        np.empty(count, dtype=np.int64),
        np.empty(count, dtype=np.int64),
        np.empty(count, dtype=np.int64),
        np.empty(count, dtype=np.int64),
    )


@helper
def _room(strings: _Candidates, count: int) -> _Candidates:
    """Return the candidates with room for one more."""
    if count < strings.score.size:
        return strings
    more = _empty(count, strings.tails.shape[1])
    return _Candidates(
        np.concatenate((strings.arc, more.arc)),
        np.concatenate((strings.tails, more.tails)),
        np.concatenate((strings.length, more.length)),
        np.concatenate((strings.score, more.score)),
        np.concatenate((strings.hash, more.hash)),
        np.concatenate((strings.moved, more.moved)),
        np.concatenate((strings.next, more.next)),
        np.concatenate((strings.left, more.left)),
        np.concatenate((strings.right, more.right)),
    )


@helper
def _begin(strings: _Candidates, c: int, graph: Graph, arc: int, score: Any) -> None:
    """Make candidate c of an arc and the best strings of its tails, in place."""
    strings.arc[c] = arc
    for t in range(graph.tail_offsets[arc], graph.tail_offsets[arc + 1]):
        strings.tails[c, t - graph.tail_offsets[arc]] = graph.tails[t]
    _fill(strings, c, graph, score)


@helper
def _fill(strings: _Candidates, c: int, graph: Graph, score: Any) -> None:
    """Compute score, hash and length of a candidate from its arc and its tails, in place."""
    arc = strings.arc[c]
    h, power, length = np.uint64(0), np.uint64(1), 0
    for b in range(graph.body_offsets[arc], graph.body_offsets[arc + 1]):
        item = graph.body[b]
        if item >= 0:
            h = h * MIX_PRIME + (np.uint64(item) + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9)
            power *= MIX_PRIME
            length += 1
        else:
            tail = strings.tails[c, -1 - item]
            h = h * strings.hash[tail, 1] + strings.hash[tail, 0]
            power *= strings.hash[tail, 1]
            length += strings.length[tail]
    for t in range(graph.tail_offsets[arc + 1] - graph.tail_offsets[arc]):
        score += strings.score[strings.tails[c, t]]
    strings.score[c], strings.length[c] = score, length
    strings.hash[c, 0], strings.hash[c, 1] = h, power
    strings.moved[c], strings.next[c] = 0, UNKNOWN
    strings.left[c] = strings.right[c] = -1


@helper
def _is_before(strings: _Candidates, a: int, b: int) -> Any:
    """Whether candidate a comes out of the heap before b: the better, then the earlier arc."""
    if strings.score[a] != strings.score[b]:
        return strings.score[a] > strings.score[b]
    if strings.arc[a] != strings.arc[b]:
        return strings.arc[a] < strings.arc[b]
    return a < b


@helper
def _melded(strings: _Candidates, a: int, b: int) -> int:
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
def best_strings(graph: Graph, weights: FloatArray, size: int) -> Strings:
    """Find the `size` best distinct strings of the goal under (C,) weights.

    Huang and Chiang, "Better k-best parsing", IWPT 2005, algorithm 3; a node gives each string
    once. In a graph of one tail an arc, this is A* with exact costs to the end.
    """
    scores = np.zeros(graph.body_offsets.size - 1)  # of the arcs
    nodes, width = graph.firsts.size - 1, 1
    for arc in range(scores.size):
        width = max(width, graph.tail_offsets[arc + 1] - graph.tail_offsets[arc])
        for k in range(graph.feature_offsets[arc], graph.feature_offsets[arc + 1]):
            scores[arc] += weights[graph.columns[k]] * graph.values[k]
    strings = _empty(nodes + 64, width)
    for node in range(nodes):  # the best string of each node, candidate `node`
        best, best_score = -1, -np.inf
        for arc in range(graph.firsts[node], graph.firsts[node + 1]):
            score = scores[arc]
            for t in range(graph.tail_offsets[arc], graph.tail_offsets[arc + 1]):
                score += strings.score[graph.tails[t]]
            if best < 0 or score > best_score:
                best, best_score = arc, score
        _begin(strings, node, graph, best, scores[best])
    strings, count = _worse(strings, graph, scores, size)
    written: Strings = _written(strings, graph, count, weights.size)
    return written


@helper
def _worse(
    strings: _Candidates, graph: Graph, scores: FloatArray, size: int
) -> tuple[_Candidates, int]:
    """Find the worse strings of the last node; return all candidates, and how many it has.

    `stack` are the nodes that are asked for their next string, each by the one below it. A node
    that needs a worse string of a tail asks that tail, and is looked at again when it has
    answered.

    Parameters
    ----------
    strings
        Candidate n is the best string of node n. Modified in place, or copied where it grows.
    scores
        Those of the arcs.
    size
        How many strings of the last node are wanted.
    """
    nodes, count = graph.firsts.size - 1, graph.firsts.size - 1
    heaps = np.full(nodes, UNKNOWN, dtype=np.int64)  # the root of each node's candidates
    last = np.arange(nodes)  # the last string that each node has given
    pending = np.arange(nodes)  # whose worse neighbours are not in the heap yet
    stack: list[Any] = [nodes - 1]
    goal, strings_of_goal = nodes - 1, 1
    while strings_of_goal < size:
        node = stack[-1]
        if heaps[node] == UNKNOWN:
            heaps[node] = NONE
            for arc in range(graph.firsts[node], graph.firsts[node + 1]):
                if arc != strings.arc[node]:
                    strings = _room(strings, count)
                    _begin(strings, count, graph, arc, scores[arc])
                    heaps[node] = _melded(strings, heaps[node], count)
                    count += 1
        c = pending[node]
        if c >= 0:  # put the strings that are worse than c in one tail into the heap
            arc = strings.arc[c]
            t = strings.moved[c]
            if t < graph.tail_offsets[arc + 1] - graph.tail_offsets[arc]:
                worse = strings.next[strings.tails[c, t]]
                if worse == UNKNOWN:
                    stack.append(graph.tails[graph.tail_offsets[arc] + t])
                    continue
                strings.moved[c] += 1
                if worse >= 0:
                    strings = _room(strings, count)
                    strings.arc[count], strings.tails[count] = arc, strings.tails[c]
                    strings.tails[count, t] = worse
                    _fill(strings, count, graph, scores[arc])
                    strings.moved[count] = t  # so each combination of tails comes once
                    heaps[node] = _melded(strings, heaps[node], count)
                    count += 1
                continue
            pending[node] = -1
        c = heaps[node]  # the next best, unless the node has given this string already
        if c < 0:
            strings.next[last[node]] = NONE
        else:
            heaps[node] = _melded(strings, strings.left[c], strings.right[c])
            if heaps[node] < 0:
                heaps[node] = NONE
            pending[node] = c
            known = node
            while known >= 0 and (
                strings.hash[known, 0] != strings.hash[c, 0]
                or strings.length[known] != strings.length[c]
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
def _written(strings: _Candidates, graph: Graph, count: int, width: int) -> Strings:
    """Write out the first `count` strings of the goal, with `width` features.

    A string is written from left to right. `unfinished` has the candidates whose bodies are
    written in part, the innermost last, each with the place in its body to go on from.
    """
    scores, features = np.empty(count), np.zeros((count, width))
    token_offsets, link_offsets = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    goal = graph.firsts.size - 2
    c = goal
    for k in range(count):
        scores[k] = strings.score[c]
        token_offsets[k + 1] = token_offsets[k] + strings.length[c]
        c = strings.next[c]
    tokens = np.empty(token_offsets[count], dtype=np.int32)
    links = np.empty((64 * count, 2), dtype=np.int32)
    written = linked = 0  # tokens and links so far
    c = goal
    for k in range(count):
        unfinished = [(c, graph.body_offsets[strings.arc[c]])]
        while len(unfinished) > 0:
            candidate, place = unfinished.pop()
            arc = strings.arc[candidate]
            end = graph.body_offsets[arc + 1]
            if place == graph.body_offsets[arc]:
                for i in range(graph.feature_offsets[arc], graph.feature_offsets[arc + 1]):
                    features[k, graph.columns[i]] += graph.values[i]
            while place < end:
                item = graph.body[place]
                place += 1
                if item < 0:  # -1 - t: the string of tail t stands here
                    if place < end:
                        unfinished.append((candidate, place))
                    inner = strings.tails[candidate, -1 - item]
                    unfinished.append((inner, graph.body_offsets[strings.arc[inner]]))
                    break
                tokens[written] = item
                for source in range(max(0, graph.spans[arc, 0]), graph.spans[arc, 1] + 1):
                    if linked == links.shape[0]:
                        links = np.concatenate((links, np.empty_like(links)))
                    links[linked, 0], links[linked, 1] = source, written - token_offsets[k]
                    linked += 1
                written += 1
        link_offsets[k + 1] = linked
        c = strings.next[c]
    return Strings(scores, tokens, token_offsets, features, links[:linked], link_offsets)
