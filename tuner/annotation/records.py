"""Annotations as records of bytes, and as the arrays that metrics read.

There is one record for each sentence and layer; an empty record says that there is no parse. Any
other record has names, two arrays of whole numbers and an array of values. Functions that pack
check what an annotator gives. The cache sees to it that records come back as they were packed.
"""

import math
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from portmert.metrics._base import (
    WORD_KINDS,
    ExpectedArcs,
    IntArray,
    Ragged,
    Structures,
    Vocabulary,
    offsets_of,
)

from ..texts._token_kernels import intern_tokens
from ..texts.annotator import Heads, Structure, WeightedArc, heads_fault
from .annotators import _trees
from .expectation import over_parses, with_weights

UNPARSED = b""

_SIZES = struct.Struct("<III")
"""The bytes of each array; the arrays and the text of the names follow."""

_SPACES = tuple(bytes([code]) for code in b" \t\v\f\r")
"""Where `intern_tokens` splits besides line feeds."""


def _packed(
    names: Iterable[str],
    numbers: ArrayLike = (),
    more_numbers: ArrayLike = (),
    values: ArrayLike = (),
) -> bytes:
    all_names = list(names)
    try:
        text = "".join(f"{name}\n" for name in all_names).encode()
    except UnicodeEncodeError:
        raise ValueError("a tag or label is no text") from None
    if text.count(b"\n") != len(all_names):
        raise ValueError("a tag or label holds a line end")
    arrays = np.asarray(numbers, "<i4"), np.asarray(more_numbers, "<i4"), np.asarray(values, "<f8")
    sizes = _SIZES.pack(*(array.nbytes for array in arrays))
    return b"".join([sizes, *(array.tobytes() for array in arrays), text])


def pack_tags(tags: Sequence[str]) -> bytes:
    """Return the record of tags."""
    return _packed(tags)


def pack_heads(heads: Heads) -> bytes:
    """Return the record of a dependency parse; a cycle or a head out of range is no parse."""
    if heads_fault(heads):
        return UNPARSED
    return _packed((label for _, label in heads), [head for head, _ in heads])


def pack_tree(tree: _trees.Tree) -> bytes:
    """Return the record of a constituency parse; its leaves are the tokens of the sentence."""
    inner = sorted({*tree.parents} - {-1})
    return _packed([tree.labels[place] for place in inner], tree.parents)


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
    return _packed_arcs(arcs, [score for score, _ in usable], rows)


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
    return _packed_arcs(arcs, list(arcs.values())) if arcs else UNPARSED


def _packed_arcs(
    arcs: Iterable[tuple[int, int, str]], values: Sequence[float], rows: ArrayLike = ()
) -> bytes:
    """Pack links, each once; values; and the links of each parse."""
    all_arcs = list(arcs)
    pairs = [(word, head) for word, head, _ in all_arcs]
    return _packed((label for _, _, label in all_arcs), pairs, rows, values)


def pack_structure(structure: Structure | None, length: int) -> bytes:
    """Return the record of an analysis of meaning of a sentence of `length` tokens.

    Raises
    ------
    ValueError
        A node is out of order, or a word is no token of the sentence.
    """
    if structure is None:
        return UNPARSED
    nodes = structure.nodes
    for place, (label, parent, _) in enumerate(nodes):
        if not -1 <= parent < place or (parent < 0) != (place == 0):
            raise ValueError(f"node {place} '{label}' stands before the one that it is below")
    dates: list[str] = []
    rows = []
    for node, kind, value in structure.words:
        if isinstance(value, str):
            dates.append(value)
            value = len(dates) - 1  # noqa: PLW2901
        elif not 0 <= value < length:
            raise ValueError(f"word {value + 1} of {length} at node '{nodes[node][0]}'")
        rows.append((node, WORD_KINDS.index(kind), value))
    names = [*(label for label, _, _ in nodes), *(kind for _, _, kind in nodes), *dates]
    return _packed(names, [parent for _, parent, _ in nodes], rows)


def parts(record: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """Return the text of the names, the two arrays of whole numbers, and the values."""
    if not record:
        return b"", b"", b"", b""
    numbers, more_numbers, values = _SIZES.unpack_from(record)
    begin = _SIZES.size + numbers
    middle, end = begin + more_numbers, begin + more_numbers + values
    return record[end:], record[_SIZES.size : begin], record[begin:middle], record[middle:end]


def _unpacked(
    records: Sequence[bytes], vocabulary: Vocabulary
) -> tuple[Ragged, Ragged, Ragged, Ragged]:
    """Return N rows of the ids of names, of either whole numbers, and of values (float64).

    The vocabulary grows, in the order of the sentences.
    """
    texts, *arrays = zip(*map(parts, records), strict=True)

    def joined(pieces: Sequence[bytes], dtype: type[Any]) -> Ragged:
        flat = np.frombuffer(bytearray().join(pieces), dtype)
        return Ragged(flat, offsets_of([len(piece) // flat.itemsize for piece in pieces]))

    numbers, more_numbers = (joined(pieces, np.int32) for pieces in arrays[:2])
    return _ids(texts, vocabulary), numbers, more_numbers, joined(arrays[2], np.float64)


def _ids(texts: Sequence[bytes], vocabulary: Vocabulary) -> Ragged:
    """Return N rows of the ids of names.

    The loop that reads n-best lists splits at white space and knows no empty token. If names are
    plain, as they nearly always are, it finds as many as there are line feeds.
    """
    data = b"".join(texts)
    most = data.count(b"\n")
    if most and not any(space in data for space in _SPACES):
        sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        cuts = np.stack([np.cumsum(sizes) - sizes, np.cumsum(sizes)], axis=1)[:, np.newaxis]
        places, offsets, spans = intern_tokens(np.frombuffer(data, np.uint8), cuts, 0, most)
        if len(places) == most:
            ids = [vocabulary.add(data[start:stop].decode()) for start, stop in spans.tolist()]
            return Ragged(np.array(ids, dtype=np.int32)[places], offsets)
    names = data.decode().split("\n")[:-1]
    values = np.fromiter(map(vocabulary.add, names), np.int32, most)
    return Ragged(values, offsets_of([text.count(b"\n") for text in texts]))


def unpack_tags(records: Sequence[bytes], vocabulary: Vocabulary) -> Ragged:
    """Return N rows of the ids of tags."""
    return _unpacked(records, vocabulary)[0]


def unpack_heads(records: Sequence[bytes], vocabulary: Vocabulary) -> Ragged:
    """Return N rows of (head, id of the label), see `Texts.heads`."""
    labels, heads, _, _ = _unpacked(records, vocabulary)
    return Ragged(np.column_stack([heads.values, labels.values]), labels.offsets)


def unpack_trees(records: Sequence[bytes], tokens: Ragged, vocabulary: Vocabulary) -> Ragged:
    """Return N rows of (id of the label or token, parent), see `Texts.trees`."""
    names, parents, _, _ = _unpacked(records, vocabulary)
    begins = np.repeat(parents.offsets[:-1], parents.lengths)
    inner = np.zeros(len(begins), dtype=np.bool_)
    inner[(begins + parents.values)[parents.values >= 0]] = True
    labels = np.empty(len(begins), dtype=np.int32)
    labels[inner] = names.values
    labels[~inner] = tokens.take(np.flatnonzero(parents.lengths)).values
    return Ragged(np.column_stack([labels, parents.values]), parents.offsets)


def unpack_parses(
    records: Sequence[bytes], vocabulary: Vocabulary, gamma: float
) -> tuple[ExpectedArcs, IntArray]:
    """Return the links of N sentences, expected over their parses, and (N,) the number of parses.

    `gamma` is as in `over_parses`.
    """
    links, rows, scores = _unpacked_arcs(records, vocabulary)
    return over_parses(links, rows, scores, gamma), scores.lengths


def unpack_marginals(records: Sequence[bytes], vocabulary: Vocabulary) -> ExpectedArcs:
    """Return the expected links of N sentences."""
    links, _, weights = _unpacked_arcs(records, vocabulary)
    return with_weights(links, weights.values.astype(np.float64))


def _unpacked_arcs(
    records: Sequence[bytes], vocabulary: Vocabulary
) -> tuple[Ragged, Ragged, Ragged]:
    """Return the links of N sentences, the links of their parses, and their values."""
    labels, pairs, rows, values = _unpacked(records, vocabulary)
    links = np.column_stack([pairs.values.reshape(-1, 2), labels.values])
    return Ragged(links, labels.offsets), rows, values


def unpack_structures(records: Sequence[bytes], vocabulary: Vocabulary) -> Structures:
    """Return the analyses of N sentences, see `portmert.metrics._base.Structures`."""
    names, parents, words, _ = _unpacked(records, vocabulary)
    sizes, begins = parents.lengths, names.offsets[:-1]
    labels = np.arange(sizes.sum()) + np.repeat(begins - parents.offsets[:-1], sizes)
    types = labels + np.repeat(sizes, sizes)
    nodes = np.column_stack([names.values[labels], parents.values, names.values[types]])
    rows, counts = words.values.reshape(-1, 3), words.lengths // 3
    dates = rows[:, 1] == WORD_KINDS.index("date")
    places = np.repeat(begins + 2 * sizes, counts) + rows[:, 2]
    rows[dates, 2] = names.values[places[dates]]
    return Structures(Ragged(nodes, parents.offsets), Ragged(rows, offsets_of(counts)))
