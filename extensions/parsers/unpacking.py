"""The analyses of single sentences, unpacked from the records of the cache."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from portmert.metrics._base import WORD_KINDS, Arcs, Need
from portmert.tuner.annotation import records
from portmert.tuner.annotation.annotating import CachedAnnotator
from portmert.tuner.annotation.annotators import _tokens, _trees
from portmert.tuner.base.errors import InputError
from portmert.tuner.texts.annotator import Annotation, Heads, Structure


def annotations(
    annotator: CachedAnnotator,
    sentences: Sequence[Sequence[str]],
    *,
    needs: Sequence[Need] = (),
    parses: int = 1,
) -> Iterator[Annotation | None]:
    """Yield the annotation of each sentence; None if it has no parse.

    Parameters
    ----------
    sentences
        An empty sentence gets an empty annotation.
    needs
        `tags`, `heads`, `trees`. Default: all that the annotator has.
    parses
        If above 1: also this many weighted parses.

    Raises
    ------
    InputError, ProgramError
        As `annotate`.
    """
    if parses > 1 and "parses" not in annotator.gives:
        raise InputError(f"annotator {annotator.name} gives one parse of a sentence only")
    needs_of_one_parse = needs or annotator.has()
    if not needs_of_one_parse:
        raise InputError(f"annotator {annotator.name}: no tags and no parses in its files")
    all_needs = [*needs_of_one_parse, *[Arcs(parses, 1.0)][: parses - 1]]
    lines = list(dict.fromkeys(" ".join(sentence) for sentence in sentences if sentence))
    places = {line: place for place, line in enumerate(lines)}
    columns = annotator.records(lines, all_needs)
    for sentence in sentences:
        place = places.get(" ".join(sentence))
        if place is None:
            yield Annotation()
        else:
            row = {layer.name: column[place] for layer, column in columns.items()}
            yield unpack(row, sentence)


def unpack(row: Mapping[str, bytes], words: Sequence[str]) -> Annotation | None:
    """Return the annotation of a sentence from its records; None if one of them has no parse."""
    if records.UNPARSED in row.values():
        return None
    return Annotation(
        tags=tags_of(row.get("tags", b"")),
        heads=heads_of(row.get("heads", b"")),
        tree=tree_of(row["trees"], words) if "trees" in row else "",
        parses=parses_of(row.get("parses", b"")),
        roles=structure_of(row.get("roles", b"")),
        drs=structure_of(row.get("drs", b"")),
    )


def _lists(record: bytes) -> tuple[list[str], list[int], list[int], list[float]]:
    """Return the names, the two lists of whole numbers and the values of one record."""
    text, numbers, more_numbers, values = records.parts(record)
    whole = (np.frombuffer(part, "<i4").tolist() for part in (numbers, more_numbers))
    return text.decode().split("\n")[:-1], *whole, np.frombuffer(values, "<f8").tolist()


def tags_of(record: bytes) -> tuple[str, ...]:
    """Return the tags of one record."""
    return tuple(_lists(record)[0])


def heads_of(record: bytes) -> Heads:
    """Return the dependency parse of one record."""
    labels, heads, _, _ = _lists(record)
    return tuple(zip(heads, labels, strict=True))


def tree_of(record: bytes, tokens: Sequence[str]) -> str:
    """Return the constituency parse of one record in brackets, its tokens escaped."""
    names, parents, _, _ = _lists(record)
    labels, leaves, inner = iter(names), map(_tokens.escaped, tokens), {*parents}
    node_names = tuple(next(labels if place in inner else leaves) for place in range(len(parents)))
    return str(_trees.Tree(node_names, tuple(parents)))


def parses_of(record: bytes) -> tuple[tuple[float, Heads], ...]:
    """Return the weighted parses of one record, as the annotator gave them."""
    labels, pairs, rows, scores = _lists(record)
    links = list(zip(pairs[1::2], labels, strict=True))
    length = len(rows) // max(len(scores), 1)
    return tuple(
        (score, tuple(links[row] for row in rows[number * length : (number + 1) * length]))
        for number, score in enumerate(scores)
    )


def structure_of(record: bytes) -> Structure | None:
    """Return the analysis of one record."""
    if not record:
        return None
    # Names: labels and types of all nodes, then dates. Words: node, kind, value of each.
    names, parents, words, _ = _lists(record)
    size = len(parents)
    labels, types, dates = names[:size], names[size : 2 * size], names[2 * size :]
    kinds = [WORD_KINDS[kind] for kind in words[1::3]]
    return Structure(
        tuple(zip(labels, parents, types, strict=True)),
        tuple(
            (node, kind, dates[value] if kind == "date" else value)
            for node, kind, value in zip(words[0::3], kinds, words[2::3], strict=True)
        ),
    )
