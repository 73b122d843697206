"""Annotations as short records of bytes, and as the arrays that metrics read.

There is one record for each sentence and layer; an empty record says that there is no parse. Tags
and labels are text, each ended by a line feed. So the text of many records is split at once, and a
warm cache is read as fast as plain text.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import (
    WORD_KINDS,
    ExpectedArcs,
    FloatArray,
    IntArray,
    Ragged,
    Structures,
    Vocabulary,
    offsets_of,
)
from portmert.tuner.annotation.annotators import _trees
from portmert.tuner.annotation.annotators._base import Heads, Structure, WeightedArc, heads_fault
from portmert.tuner.annotation.annotators._tokens import escaped
from portmert.tuner.texts._kernels import intern_tokens
from portmert.tuner.texts.corpus import IntegerArray

UNPARSED = b""

_SIZES = struct.Struct("<II")
_HEAD = np.dtype("<u2")
_MOST_TOKENS = 65_535
_LEVEL = 6
_LEAF = " "  # no label has a space
_LINE_FEED = ord("\n")
_SPACES = tuple(bytes([code]) for code in b" \t\v\f\r")
"""Where `intern_tokens` splits besides line feeds."""


class RecordError(Exception):
    """A record is damaged, or something cannot be put in one."""


def pack_tags(tags: Sequence[str]) -> bytes:
    """Return the record of tags."""
    return _text(tags)


def pack_heads(heads: Heads) -> bytes:
    """Return the record of a dependency parse; a cycle or a head out of range is no parse."""
    if heads_fault(heads):
        return UNPARSED
    if len(heads) > _MOST_TOKENS:
        raise RecordError(f"more than {_MOST_TOKENS} tokens")
    numbers = np.array([head for head, _ in heads], dtype=_HEAD)
    return numbers.tobytes() + _text(label for _, label in heads)


def pack_tree(tree: _trees.Tree) -> bytes:
    """Return the record of a constituency parse; its leaves are the tokens of the sentence."""
    leaves = set(tree.leaves)
    pieces = (
        (_LEAF if place in leaves else label, str(parent))
        for place, (label, parent) in enumerate(zip(tree.labels, tree.parents, strict=True))
    )
    return zlib.compress(_text(chain.from_iterable(pieces)), _LEVEL)


def pack_parses(parses: Sequence[tuple[float, Heads]]) -> bytes:
    """Return the record of weighted parses.

    A parse with a cycle, a head out of range or no finite score does not count.
    """
    usable = [
        (score, heads)
        for score, heads in parses
        if math.isfinite(score) and not heads_fault(heads)
    ]
    if not usable:
        return UNPARSED
    arcs: dict[tuple[int, int, str], int] = {}
    rows = [
        [arcs.setdefault((word, *link), len(arcs)) for word, link in enumerate(heads)]
        for _, heads in usable
    ]
    scores = np.array([score for score, _ in usable], dtype="<f8")
    return _pack_arcs(arcs, scores, np.array(rows, dtype="<u4"))


def pack_marginals(links: Sequence[WeightedArc], length: int) -> bytes:
    """Return the record of expected links of a sentence of `length` tokens.

    It says that there is no parse if a link is out of range.
    """
    arcs: dict[tuple[int, int, str], float] = {}
    for word, head, label, weight in links:
        if not (0 <= word < length and 0 <= head <= length and math.isfinite(weight)):
            return UNPARSED
        if weight > 0:
            arcs[word, head, label] = arcs.get((word, head, label), 0.0) + weight
    if not arcs:
        return UNPARSED
    return _pack_arcs(arcs, np.array(list(arcs.values()), dtype="<f8"), np.zeros((0, 0), "<u4"))


def pack_structure(structure: Structure | None, length: int) -> bytes:
    """Return the record of an analysis of meaning of a sentence of `length` tokens.

    Raises
    ------
    ValueError
        A node is out of order, or a word is no token of the sentence.
    """
    if structure is None:
        return UNPARSED
    nodes, words = structure.nodes, structure.words
    for place, (label, parent, _) in enumerate(nodes):
        if not -1 <= parent < place or (parent < 0) != (place == 0):
            raise ValueError(f"node {place} '{label}' stands before the one that it is below")
    dates: list[str] = []
    rows = np.empty((len(words), 3), dtype="<i4")
    for number, (node, kind, value) in enumerate(words):
        if isinstance(value, str):
            dates.append(value)
            value = len(dates) - 1  # noqa: PLW2901
        elif not 0 <= value < length:
            raise ValueError(f"word {value + 1} of {length} at node '{nodes[node][0]}'")
        rows[number] = (node, WORD_KINDS.index(kind), value)
    parents = np.array([parent for _, parent, _ in nodes], dtype="<i4")
    names = [*(label for label, _, _ in nodes), *(kind for _, _, kind in nodes), *dates]
    sizes = _SIZES.pack(len(nodes), len(words))
    return zlib.compress(sizes + parents.tobytes() + rows.tobytes() + _text(names), _LEVEL)


def _pack_arcs(
    arcs: Iterable[tuple[int, int, str]], values: FloatArray, rows: NDArray[np.uint32]
) -> bytes:
    """Pack links, each once; values; and the links of each parse."""
    text = _text(chain.from_iterable((str(word), str(head), label) for word, head, label in arcs))
    sizes = _SIZES.pack(len(values), rows.size)
    return zlib.compress(sizes + values.tobytes() + rows.tobytes() + text, _LEVEL)


def _text(pieces: Iterable[str]) -> bytes:
    listed = list(pieces)
    try:
        data = "".join(f"{piece}\n" for piece in listed).encode()
    except UnicodeEncodeError:
        raise RecordError("a tag or label is no text") from None
    if data.count(b"\n") != len(listed):
        raise RecordError("a tag or label holds a line end")
    return data


def unpack_tags(records: Sequence[bytes], lengths: IntArray, vocabulary: Vocabulary) -> Ragged:
    """Return N rows of the ids of tags.

    Parameters
    ----------
    records
        The records of N sentences.
    lengths : (N,) int64
        The number of tokens of each.
    vocabulary
        Grows, in the order of the sentences.
    """
    counts, numbers, names = _numbered(records)
    _check_counts(counts, lengths)
    return Ragged(_ids(names, vocabulary)[numbers], offsets_of(counts))


def unpack_heads(records: Sequence[bytes], lengths: IntArray, vocabulary: Vocabulary) -> Ragged:
    """Return N rows of (head, id of the label), see `Texts.heads`."""
    middles = (_HEAD.itemsize * lengths).tolist()
    numbers = b"".join([record[:end] for record, end in zip(records, middles, strict=True)])
    texts = [record[begin:] for record, begin in zip(records, middles, strict=True)]
    counts, labels, names = _numbered(texts)
    _check_counts(counts, lengths)
    if len(numbers) != _HEAD.itemsize * len(labels):
        raise RecordError
    values = np.empty((len(labels), 2), dtype=np.int32)
    values[:, 0] = np.frombuffer(numbers, dtype=_HEAD)
    _check_range(values[:, 0], np.repeat(lengths, counts))
    values[:, 1] = _ids(names, vocabulary)[labels]
    return Ragged(values, offsets_of(counts))


def unpack_trees(records: Sequence[bytes], tokens: Ragged, vocabulary: Vocabulary) -> Ragged:
    """Return N rows of (id of the label or token, parent), see `Texts.trees`."""
    counts, pieces = _pieces([_inflated(record) for record in records])
    nodes = counts // 2
    parents = _numbers(pieces[1::2])
    names = pieces[0::2]
    leaves = np.fromiter((name == _LEAF for name in names), np.bool_, len(names))
    rows = np.repeat(np.arange(len(records)), nodes)
    _check_counts(np.bincount(rows[leaves], minlength=len(records)), tokens.lengths)
    places = np.arange(len(names)) - np.repeat(np.cumsum(nodes) - nodes, nodes)
    if np.any(counts % 2) or np.any(parents >= places) or np.any((parents < 0) != (places == 0)):
        raise RecordError
    labels = np.empty(len(names), dtype=np.int32)
    labels[leaves] = tokens.take(np.flatnonzero(nodes)).values
    labels[~leaves] = _ids([name for name in names if name != _LEAF], vocabulary)
    values = np.stack([labels, parents], axis=1)
    return Ragged(np.ascontiguousarray(values, dtype=np.int32), offsets_of(nodes))


def unpack_parses(
    records: Sequence[bytes], lengths: IntArray, vocabulary: Vocabulary, gamma: float
) -> tuple[ExpectedArcs, IntArray]:
    """Return the links of N sentences, expected over their parses, and (N,) the number of parses.

    The weight of parse k is exp(gamma * z_k) over the sum of these, where z_k is its log score.
    """
    links, scores, parses, rows = _unpack_arcs(records, lengths, vocabulary)
    # The sentence and the share of each parse.
    sentences = np.repeat(np.arange(len(records)), parses)
    best = np.full(len(records), -np.inf)
    np.maximum.at(best, sentences, scores)
    shares = np.exp(gamma * (scores - best[sentences]))
    shares /= np.bincount(sentences, weights=shares, minlength=len(records))[sentences]
    if len(rows) != int((parses * lengths).sum()):
        raise RecordError
    counts = links.lengths
    size = parses * lengths  # links of all parses of each sentence
    _check_range(rows, np.repeat(counts - 1, size))
    places = rows + np.repeat(np.cumsum(counts) - counts, size)
    weights: FloatArray = np.bincount(
        places,
        weights=np.repeat(shares, np.repeat(lengths, parses)),
        minlength=len(links.values),
    ).astype(np.float64)
    return _expected(links, weights), parses


def unpack_marginals(
    records: Sequence[bytes], lengths: IntArray, vocabulary: Vocabulary
) -> ExpectedArcs:
    """Return the expected links of N sentences."""
    links, weights, sizes, _ = _unpack_arcs(records, lengths, vocabulary)
    if np.any(sizes != links.lengths):
        raise RecordError
    return _expected(links, weights)


def unpack_structures(
    records: Sequence[bytes], lengths: IntArray, vocabulary: Vocabulary
) -> Structures:
    """Return the analyses of N sentences, see `portmert.metrics._base.Structures`."""
    parts = [_structure_parts(_inflated(record)) for record in records]
    counts, numbers, names = _numbered([text for _, _, text in parts])
    ids = _ids(names, vocabulary)[numbers].astype(np.int64)
    parents = np.frombuffer(b"".join(part[0] for part in parts), dtype="<i4").astype(np.int64)
    words = np.frombuffer(b"".join(part[1] for part in parts), dtype="<i4").astype(np.int64)
    words = words.reshape(-1, 3)
    sizes = np.array([len(part[0]) // 4 for part in parts], dtype=np.int64)
    word_sizes = np.array([len(part[1]) // 12 for part in parts], dtype=np.int64)
    begins, text_begins = np.cumsum(sizes) - sizes, np.cumsum(counts) - counts
    places = np.arange(len(parents)) - np.repeat(begins, sizes)
    is_date = words[:, 1] == WORD_KINDS.index("date")
    rows = np.repeat(np.arange(len(records)), word_sizes)
    dates = (counts - 2 * sizes)[rows]
    limits = np.where(is_date, dates, lengths[rows])
    _check_range(words[:, 0], sizes[rows] - 1)
    _check_range(words[:, 1], np.full(len(words), len(WORD_KINDS) - 1))
    _check_range(words[:, 2], limits - 1)
    if np.any(counts < 2 * sizes) or np.any((parents < 0) != (places == 0)):
        raise RecordError
    if np.any(parents >= places) or np.any(parents < -1):
        raise RecordError
    labels = np.repeat(text_begins, sizes) + places
    nodes = np.column_stack([ids[labels], parents, ids[labels + np.repeat(sizes, sizes)]])
    at = (text_begins + 2 * sizes)[rows] + words[:, 2]
    words[is_date, 2] = ids[at[is_date]]
    return Structures(
        Ragged(nodes.astype(np.int32), offsets_of(sizes)),
        Ragged(words.astype(np.int32), offsets_of(word_sizes)),
    )


def structure_of(record: bytes, length: int) -> Structure | None:
    """Return the analysis of one record."""
    if not record:
        return None
    vocabulary = Vocabulary()
    found = unpack_structures([record], np.array([length]), vocabulary)
    names = vocabulary.words
    nodes = [(names[a], parent, names[b]) for a, parent, b in found.nodes.values.tolist()]
    words = [
        (node, WORD_KINDS[kind], names[value] if WORD_KINDS[kind] == "date" else value)
        for node, kind, value in found.words.values.tolist()
    ]
    return Structure(tuple(nodes), tuple(words))


def _structure_parts(data: bytes) -> tuple[bytes, bytes, bytes]:
    """Return parents, words and text of a record."""
    if not data:
        return data, data, data
    if len(data) < _SIZES.size:
        raise RecordError
    nodes, words = _SIZES.unpack_from(data)
    middle = _SIZES.size + 4 * nodes
    end = middle + 12 * words
    if not nodes or len(data) < end:
        raise RecordError
    return data[_SIZES.size : middle], data[middle:end], data[end:]


def certain(heads: Ragged) -> ExpectedArcs:
    """Return the links of the best parses, each certain."""
    lengths = heads.lengths
    words = np.arange(len(heads.values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    values = np.column_stack([words, heads.values]).astype(np.int32)
    return ExpectedArcs(Ragged(values, heads.offsets), np.ones(len(values)))


def _expected(links: Ragged, weights: FloatArray) -> ExpectedArcs:
    """Leave out links without weight: a share may be too small for a float64."""
    kept = weights > 0
    rows = np.repeat(np.arange(len(links)), links.lengths)
    counts = np.bincount(rows[kept], minlength=len(links))
    return ExpectedArcs(
        Ragged(links.values[kept], offsets_of(counts)), np.minimum(weights[kept], 1.0)
    )


def _unpack_arcs(
    records: Sequence[bytes], lengths: IntArray, vocabulary: Vocabulary
) -> tuple[Ragged, FloatArray, IntArray, IntArray]:
    """Return the links of each sentence; all values; their number for each sentence; all rows."""
    texts: list[bytes] = []
    values: list[bytes] = []
    rows: list[bytes] = []
    sizes = np.zeros(len(records), dtype=np.int64)
    for number, record in enumerate(records):
        if not record:
            texts.append(record)
            continue
        data = _inflated(record)
        if len(data) < _SIZES.size:
            raise RecordError
        sizes[number], cells = _SIZES.unpack_from(data)
        middle = _SIZES.size + 8 * int(sizes[number])
        end = middle + 4 * cells
        values.append(data[_SIZES.size : middle])
        rows.append(data[middle:end])
        texts.append(data[end:])
    counts, pieces = _pieces(texts)
    if np.any(counts % 3):
        raise RecordError
    words, heads = _numbers(pieces[0::3]), _numbers(pieces[1::3])
    limits = np.repeat(lengths, counts // 3)
    _check_range(words, limits - 1)
    _check_range(heads, limits)
    links = np.column_stack([words, heads, _ids(pieces[2::3], vocabulary)]).astype(np.int32)
    try:
        flat = np.frombuffer(b"".join(values), dtype="<f8").astype(np.float64)
        cells_of_all = np.frombuffer(b"".join(rows), dtype="<u4").astype(np.int64)
    except ValueError:
        raise RecordError from None
    if len(flat) != sizes.sum():
        raise RecordError
    return Ragged(links, offsets_of(counts // 3)), flat, sizes, cells_of_all


def _inflated(record: bytes) -> bytes:
    try:
        return zlib.decompress(record) if record else record
    except zlib.error:
        raise RecordError from None


def _pieces(records: Sequence[bytes]) -> tuple[IntArray, list[str]]:
    """Return the number of pieces of each record, and all pieces."""
    counts = np.fromiter((record.count(b"\n") for record in records), np.int64, len(records))
    try:
        pieces = b"".join(records).decode().split("\n")
    except UnicodeDecodeError:
        raise RecordError from None
    if pieces.pop() or len(pieces) != counts.sum():
        raise RecordError
    return counts, pieces


def _numbered(records: Sequence[bytes]) -> tuple[IntArray, IntegerArray, list[str]]:
    """Return the number of pieces of each record, an id for every piece, and the piece of each id.

    The loop that reads n-best lists splits at white space and knows no empty token. If pieces are
    plain, as they nearly always are, it finds as many as there are line feeds.
    """
    data = b"".join(records)
    most = data.count(b"\n")
    if most and not any(space in data for space in _SPACES):
        sizes = np.fromiter(map(len, records), np.int64, len(records))
        ends = np.cumsum(sizes)
        text = np.frombuffer(data, dtype=np.uint8)
        if (text[ends[sizes > 0] - 1] == _LINE_FEED).all():
            cuts = np.stack([ends - sizes, ends], axis=1)[:, np.newaxis]
            numbers, offsets, spans = intern_tokens(text, cuts, 0, most)
            if len(numbers) == most:
                names = [_decoded(data[start:stop]) for start, stop in spans.tolist()]
                return np.diff(offsets), numbers, names
    counts, pieces = _pieces(records)
    places = {name: place for place, name in enumerate(dict.fromkeys(pieces))}
    return counts, np.fromiter(map(places.__getitem__, pieces), np.int64), list(places)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise RecordError from None


def _ids(pieces: Sequence[str], vocabulary: Vocabulary) -> NDArray[np.int32]:
    ids = {piece: vocabulary.add(piece) for piece in dict.fromkeys(pieces)}
    return np.fromiter(map(ids.__getitem__, pieces), np.int32, len(pieces))


def _numbers(pieces: Sequence[str]) -> IntArray:
    try:
        numbers = {piece: int(piece) for piece in dict.fromkeys(pieces)}
    except ValueError:
        raise RecordError from None
    return np.fromiter(map(numbers.__getitem__, pieces), np.int64, len(pieces))


def _check_counts(found: IntArray, expected: IntArray) -> None:
    if np.any((found != 0) & (found != expected)):
        raise RecordError


def _check_range(values: IntegerArray, highest: IntArray) -> None:
    if np.any((values < 0) | (values > highest)):
        raise RecordError


def tags_of(record: bytes, length: int) -> tuple[str, ...]:
    """Return the tags of one record."""
    return tuple(_exactly(length, _pieces([record])[1]))


def heads_of(record: bytes, length: int) -> Heads:
    """Return the dependency parse of one record."""
    middle = _HEAD.itemsize * length
    labels = _exactly(length, _pieces([record[middle:]])[1])
    if len(record) < middle:
        raise RecordError
    numbers: list[int] = np.frombuffer(record, dtype=_HEAD, count=length).tolist()
    if max(numbers, default=0) > length:
        raise RecordError
    return tuple(zip(numbers, labels, strict=True))


def tree_of(record: bytes, tokens: Sequence[str]) -> str:
    """Return the constituency parse of one record in brackets, its tokens escaped."""
    pieces = _pieces([_inflated(record)])[1]
    names, parents = pieces[0::2], _numbers(pieces[1::2]).tolist()
    _exactly(len(tokens), [name for name in names if name == _LEAF])
    if len(names) != len(parents) or not _are_parents(parents):
        raise RecordError
    leaves = iter(tokens)
    labels = (escaped(next(leaves)) if name == _LEAF else name for name in names)
    return str(_trees.Tree(tuple(labels), tuple(parents)))


def parses_of(record: bytes, length: int) -> tuple[tuple[float, Heads], ...]:
    """Return the weighted parses of one record, as the annotator gave them."""
    if not record:
        return ()
    data = _inflated(record)
    try:
        count, cells = _SIZES.unpack_from(data)
        scores = np.frombuffer(data, "<f8", count, _SIZES.size)
        rows = np.frombuffer(data, "<u4", cells, _SIZES.size + 8 * count).reshape(count, length)
        pieces = _pieces([data[_SIZES.size + 8 * count + 4 * cells :]])[1]
        links = list(zip(map(int, pieces[1::3]), pieces[2::3], strict=True))
        return tuple(
            (float(score), tuple(links[link] for link in row))
            for score, row in zip(scores.tolist(), rows.tolist(), strict=True)
        )
    except (struct.error, ValueError, IndexError):
        raise RecordError from None


def _exactly(count: int, pieces: list[str]) -> list[str]:
    if len(pieces) != count:
        raise RecordError
    return pieces


def _are_parents(parents: Sequence[int]) -> bool:
    """Return whether these are parents of nodes in preorder."""
    return parents[:1] == [-1] and all(
        0 <= parent < place for place, parent in enumerate(parents[1:], 1)
    )
