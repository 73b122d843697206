"""Roles and discourse representations: their records, and who gives them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.extensions.parsers.annotating import propositions_of
from portmert.extensions.parsers.unpacking import structure_of
from portmert.metrics._base import Vocabulary
from portmert.tuner.annotation import records
from portmert.tuner.annotation.annotators._meaning import (
    DEEPEST,
    Part,
    discourse_tree,
    roles_tree,
)
from portmert.tuner.base.errors import InputError
from portmert.tuner.texts.annotator import Structure
from tests.oracles.metrics import Text
from tests.support.examples import examples
from tests.support.known_annotator import Fixed, OneTree, TreesOnly
from tests.support.strategies_metrics import boxes, role_tree, roles, structures


def part(node):
    """From a tree of the oracles to one of the program."""
    below = list(map(part, node.children))
    return Part(node.tag, node.type, node.symbol, list(node.words), below)


@given(st.lists(st.none() | boxes(4), min_size=1, max_size=5), st.lists(roles(4), max_size=4))
@examples(150)
def test_records_say_what_was_packed(trees, propositions):
    """Roles and representations of sentences of four words, as the oracles build their arrays."""
    given_trees = [None if tree is None else discourse_tree(part(tree)) for tree in trees]
    given_roles = [None if one is None else roles_tree(one) for one in propositions]
    known, vocabulary = Vocabulary(), Vocabulary()
    both = [*trees, *(None if one is None else role_tree(one) for one in propositions)]
    packed = [records.pack_structure(one, 4) for one in [*given_trees, *given_roles]]
    found = records.unpack_structures(packed, vocabulary)
    expected = structures(both, known.add)
    assert found.nodes.offsets.tolist() == expected.nodes.offsets.tolist()
    assert found.words.offsets.tolist() == expected.words.offsets.tolist()
    for row, other in zip(found.nodes.values, expected.nodes.values, strict=True):
        names = [vocabulary.words[row[k]] for k in (0, 2)]
        assert (names, row[1]) == ([known.words[other[k]] for k in (0, 2)], other[1])
    for row, other in zip(found.words.values, expected.words.values, strict=True):
        assert row[:2].tolist() == other[:2].tolist()
        if row[1] == 4:
            assert vocabulary.words[row[2]] == known.words[other[2]]
        else:
            assert row[2] == other[2]
    for record, one in zip(packed, [*given_trees, *given_roles], strict=True):
        assert structure_of(record) == one


def test_propositions_come_back_out_of_their_tree():
    found = [(1, (("A0", (0,)), ("A1", (2, 3)))), (4, ())]
    assert propositions_of(roles_tree(found)) == found
    prefixed = [(1, (("C-A0", (0,)), ("R-A1", (2,))))]
    assert propositions_of(roles_tree(prefixed)) == [(1, (("A0", (0,)), ("A1", (2,))))]


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (Structure((("a", 0, "a"),)), "node 0 'a' stands before the one that it is below"),
        (Structure((("a", -1, "a"), ("b", 1, "b"))), "node 1 'b' stands before"),
        (Structure((("a", -1, "a"),), ((0, "word", 2),)), "word 3 of 2 at node 'a'"),
    ],
)
def test_what_is_no_tree_over_the_tokens_is_not_packed(structure, message):
    with pytest.raises(ValueError, match=message):
        records.pack_structure(structure, 2)


def test_boxes_in_boxes_have_an_end():
    box = Part("drs")
    for _ in range(DEEPEST):
        box = Part("drs", children=[box])
    with pytest.raises(ValueError, match="boxes in boxes, more than 200 deep"):
        discourse_tree(box)


GIVE = Text(
    ("Tom", "gave", "books"), tags=("NNP", "VBD", "NNS"),
    heads=((2, "nsubj"), (0, "root"), (2, "obj")),
)  # fmt: skip


@pytest.mark.parametrize(("annotator", "gives"), [(OneTree, "heads, tags"), (TreesOnly, "tree")])
def test_parses_alone_give_no_roles(annotator, gives):
    with pytest.raises(InputError, match=f"gives no semantic roles; it gives {gives}: use"):
        Fixed([GIVE], annotator).annotate([GIVE], ["roles"])
