"""Random small corpora for the metrics' tests, and from them to the arrays that metrics read."""

from __future__ import annotations

import dataclasses
import functools
from typing import get_type_hints

import numpy as np
from hypothesis import strategies as st

from portmert.metrics._base import (
    WORD_KINDS,
    Arcs,
    Batch,
    ExpectedArcs,
    Ragged,
    Structures,
    Texts,
    Vocabulary,
    offsets_of,
)
from portmert.tuner import families
from portmert.tuner.components.catalogue import _parts
from tests.oracles import semantics
from tests.oracles.metrics import Segment, Text, Tree, expected_links

TAGS = ("N", "V", "D")
LABELS = ("subj", "obj")
CATEGORIES = ("S", "NP", "VP")
LAYERS = ("tags", "heads", "tree", "meaning")
"""Drawn of a text beside its words and links; it is much faster without."""

# Strategies are made once: to make one takes longer than to draw from it.
_LABELS, _CATEGORIES = st.sampled_from(LABELS), st.sampled_from(CATEGORIES)
_UP_TO = functools.cache(lambda last: st.integers(0, last))


def limits(hint):
    """The lowest and the highest value of an option of this type, if it has both."""
    bounds = _parts(hint)[1]
    return tuple(bounds[side] for side in ("ge", "le") if side in bounds)


@functools.cache
@st.composite
def heads(draw, length):
    """A random forest: words in a random order, each under an earlier one or the root."""
    order = draw(st.permutations(range(length)))
    parse = [(0, "root")] * length
    for place, word in enumerate(order):
        above = draw(_UP_TO(place))
        if above:
            parse[word] = (order[above - 1] + 1, draw(_LABELS))
    return tuple(parse)


@st.composite
def trees(draw, words, tags):
    """A random constituency parse over all the words."""
    leaves = [Tree(tag, (Tree(word),)) for word, tag in zip(words, tags, strict=True)]

    def over(parts):
        label = draw(_CATEGORIES)
        if len(parts) < 2:
            return Tree(label, tuple(parts))
        cut = draw(st.integers(1, len(parts) - 1))
        halves = (parts[:cut], parts[cut:])
        return Tree(label, tuple(half[0] if len(half) == 1 else over(half) for half in halves))

    return over(leaves)


ROLES = ("A0", "A1", "AM")
SYMBOLS = ("a", "b", "c")


@functools.cache
def _propositions(length):
    places = st.integers(0, length - 1)
    spans = st.lists(places, min_size=1, max_size=3, unique=True).map(sorted).map(tuple)
    arguments = st.lists(st.tuples(st.sampled_from(ROLES), spans), max_size=3).map(tuple)
    return st.lists(st.tuples(places, arguments), max_size=2).map(tuple)


@functools.cache
@st.composite
def roles(draw, length):
    """None, no predicate, or some: of each argument the words need not stand together."""
    return None if draw(_UP_TO(5)) == 0 else draw(_propositions(length))


@functools.cache
def boxes(length, deep=3):
    """A random discourse representation."""
    words = st.tuples(
        st.sampled_from(["word", "word", "arg", "arg1", "arg2", "referent"]),
        st.integers(0, length - 1),
    )
    dates = st.tuples(st.just("date"), st.sampled_from(["+1999", "monday"]))
    return st.builds(
        semantics.Node,
        st.sampled_from(["drs", "imp", "or", "pred", "named", "rel"]),
        st.sampled_from(["", "per"]),
        st.sampled_from(["", *SYMBOLS]),
        st.lists(words | dates, max_size=2).map(tuple),
        st.lists(boxes(length, deep - 1), max_size=3).map(tuple) if deep else st.just(()),
    )


@functools.cache
def _words(longest):
    return st.lists(st.sampled_from("abcd"), max_size=longest).map(tuple)


@functools.cache
def _links(source_length, length):
    positions = st.tuples(st.integers(0, source_length - 1), st.integers(0, length - 1))
    return st.lists(positions, max_size=8).map(frozenset)


_tags = functools.cache(lambda n: st.lists(st.sampled_from(TAGS), min_size=n, max_size=n))
_LOGS = st.lists(st.integers(-9, 0), min_size=1, max_size=3)
drs = functools.cache(lambda length: st.none() | boxes(length))


@functools.cache
@st.composite
def texts(draw, source_length, longest=7, *, layers=LAYERS):
    words = draw(_words(longest))
    if not words:
        return Text(())
    links = frozenset()
    if source_length:
        links = draw(_links(source_length, len(words)))
    bare = Text(words, links)
    if not layers or draw(_UP_TO(7)) == 0:  # the parser failed
        return bare
    layer_values = {}
    if "tags" in layers or "tree" in layers:
        layer_values["tags"] = tuple(draw(_tags(len(words))))
    if "heads" in layers:
        logs = sorted(draw(_LOGS), reverse=True)
        parses = tuple((float(log), draw(heads(len(words)))) for log in logs)
        layer_values |= {"parses": parses, "heads": parses[0][1]}
    if "meaning" in layers:
        layer_values["drs"] = draw(drs(len(words)))
        layer_values["roles"] = draw(roles(len(words)))
    if "tree" in layers:
        layer_values["tree"] = draw(trees(words, layer_values["tags"]))
    return dataclasses.replace(bare, **layer_values)


@st.composite
def segments(draw, *, layers):
    source_length = draw(_UP_TO(7))
    references = draw(_references(source_length, layers))
    return Segment(source_length, draw(texts(source_length, layers=layers)), references)


@functools.cache
def _references(source_length, layers):
    text = texts(source_length, layers=layers)
    return st.lists(text, min_size=1, max_size=3).map(tuple)


def corpora(max_segments=3, *, layers=()):
    """Corpora of words and links, and of layers if these are asked for."""
    return st.lists(segments(layers=layers), min_size=1, max_size=max_segments)


def batch_of(corpus):
    """One hypothesis a segment."""
    vocabulary = Vocabulary()

    def many(rows):
        return arrays(rows, vocabulary)

    counts = [len(s.references) for s in corpus]
    return Batch(
        many([s.hypothesis for s in corpus]),
        np.arange(len(corpus) + 1, dtype=np.int64),
        many([r for s in corpus for r in s.references]),
        offsets_of(counts),
        np.array([s.source_length for s in corpus], dtype=np.int32),
    )


def batch_of_pairs(*pairs):
    """One hypothesis and one reference a segment, each some words."""
    vocabulary = Vocabulary()
    hypotheses, references = (
        Texts.from_lines([" ".join(pair[side]) for pair in pairs], vocabulary) for side in (0, 1)
    )
    offsets = np.arange(len(pairs) + 1)
    return Batch(hypotheses, offsets, references, offsets)


def arrays(rows, vocabulary):
    """From texts of the oracles to the arrays that metrics read, with all that any needs."""
    bare = Texts.from_lines(
        (" ".join(row.words) for row in rows), vocabulary, [sorted(row.links) for row in rows]
    )
    add = vocabulary.add
    heads = [[(head, add(label)) for head, label in row.heads] for row in rows]
    trees = [[] if row.tree is None else nodes(row.tree, add) for row in rows]
    return Texts(
        vocabulary,
        bare.tokens,
        bare.links,
        Ragged.from_rows([[add(tag) for tag in row.tags] for row in rows]),
        Ragged.from_rows(heads, 2),
        Ragged.from_rows(trees, 2),
        {need: expected_arcs(rows, need, add) for need in all_arcs()},
        structures([None if row.roles is None else role_tree(row.roles) for row in rows], add),
        structures([row.drs for row in rows], add),
    )


def role_tree(role_list):
    """Roles as a tree: the root, predicates, arguments."""
    return semantics.Node(
        "roles",
        children=tuple(
            semantics.Node(
                "predicate",
                words=(("word", place),),
                children=tuple(
                    semantics.Node(role, words=tuple(("word", i) for i in positions))
                    for role, positions in arguments
                ),
            )
            for place, arguments in role_list
        ),
    )


def structures(trees, add):
    """From trees of the oracles, None where there is no analysis."""
    nodes, words = [], []
    for tree in trees:
        nodes.append([])
        words.append([])
        todo = [] if tree is None else [(semantics.numbered(tree), -1)]
        while todo:
            (label, kind, values, below), parent = todo.pop()
            here = len(nodes[-1])
            nodes[-1].append((add(label), parent, add(kind)))
            words[-1] += [
                (here, WORD_KINDS.index(value_kind), add(value) if value_kind == "date" else value)
                for value_kind, value in values
            ]
            todo += [(child, here) for child in reversed(below)]
    return Structures(*(threes(rows) for rows in (nodes, words)))


def threes(rows):
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    flat = [value for row in rows for value in row]
    return Ragged(np.array(flat, dtype=np.int32).reshape(-1, 3), offsets)


def nodes(tree, add, parent=-1, place=0):
    """A tree's nodes in preorder."""
    rows = [(add(tree.label), parent)]
    for child in tree.children:
        rows += nodes(child, add, place, place + len(rows))
    return rows


def expected_arcs(rows, need, add):
    expected = [sorted(expected_links(row, need.parses, need.gamma).items()) for row in rows]
    offsets = np.cumsum([0, *map(len, expected)]).astype(np.int64)
    values = [(word, head, add(label)) for row in expected for (word, head, label), _ in row]
    weights = np.array([weight for row in expected for _, weight in row], dtype=np.float64)
    return ExpectedArcs(Ragged(np.array(values, dtype=np.int32).reshape(-1, 3), offsets), weights)


@functools.cache
def all_arcs():
    """Every need for expected links of any metric, its options as they are or at their limits.

    And two of few parses, which the names of papers are tested with.
    """
    arcs = {Arcs(2, 0.0), Arcs(2, 0.5)}
    for name in families.names("metric"):
        cls = families.component("metric", name)
        built = [cls()]
        fields = {field.name for field in dataclasses.fields(cls)}
        hints = get_type_hints(cls, include_extras=True)
        for option in ("parses", "gamma"):
            if option in fields:
                built += [cls(**{option: value}) for value in limits(hints[option])]
        arcs |= {need for metric in built for need in metric.needs if isinstance(need, Arcs)}
    return sorted(arcs)


def text(line, links=""):
    """From a line of words and a line of links as in files."""
    pairs = (item.split("-") for item in links.split())
    return Text(tuple(line.split()), frozenset((int(i), int(j)) for i, j in pairs))
