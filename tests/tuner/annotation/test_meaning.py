"""Roles and discourse representations: records, and what follows from parses by rules."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portmert.metrics._base import Vocabulary
from portmert.tuner.annotation import records
from portmert.tuner.annotation.annotators._meaning import (
    DEEPEST,
    Part,
    discourse_tree,
    propositions_of,
    roles_tree,
)
from portmert.tuner.annotation.annotators._role_rules import Sentence, arguments, representation
from portmert.tuner.annotation.annotators._role_rules import roles as roles_of
from portmert.tuner.annotation.cache import FILE
from portmert.tuner.base.errors import InputError
from portmert.tuner.texts.annotator import Structure
from tests.oracles.metrics import Text
from tests.support.known_annotator import Fixed, OneTree, TreesOnly
from tests.support.strategies_metrics import boxes, heads, role_tree, roles, structures


def part(node):
    """From a tree of the oracles to one of the program."""
    below = list(map(part, node.children))
    return Part(node.tag, node.type, node.symbol, list(node.words), below)


@given(st.lists(st.none() | boxes(4), min_size=1, max_size=5), st.lists(roles(4), max_size=4))
@settings(max_examples=150)
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
        assert records.structure_of(record) == one


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


def sentence(line, links, tags=""):
    """Links are `head/label`."""
    pairs = (link.split("/") for link in links.split())
    return Sentence(line.split(), tuple((int(a), b) for a, b in pairs), tuple(tags.split()))


def said(one):
    """Predicates and arguments as words."""
    words = one.words
    return {
        words[place]: {role: " ".join(words[i] for i in span) for role, span in found}
        for place, found in propositions_of(roles_of(one))
    }


def test_roles_of_a_plain_clause():
    one = sentence(
        "Tom gave her the red book yesterday .",
        "2/nsubj 0/root 2/iobj 6/det 6/amod 2/obj 2/advmod 2/punct",
    )
    assert said(one) == {
        "gave": {"A0": "Tom", "A2": "her", "A1": "the red book", "AM-ADV": "yesterday"}
    }


def test_roles_of_a_passive_and_of_its_agent():
    one = sentence(
        "it was not eaten by the dog in Paris",
        "4/nsubj:pass 4/aux:pass 4/advmod 0/root 7/case 7/det 4/obl 9/case 4/obl",
    )
    assert said(one) == {
        "eaten": {"A1": "it", "AM-NEG": "not", "A0": "by the dog", "AM": "in Paris"}
    }
    old = sentence("it was eaten", "3/nsubjpass 3/auxpass 0/root")
    assert said(old) == {"eaten": {"A1": "it"}}


def test_roles_of_shared_subjects_and_clauses():
    one = sentence(
        "he wants her to go and sleeps",
        "2/nsubj 0/root 2/obj 5/mark 2/xcomp 7/cc 2/conj",
        "PRP VBZ PRP TO VB CC VBZ",
    )
    # Object and clause are both A1: a role may stand several times.
    assert propositions_of(roles_of(one))[0] == (1, (("A0", (0,)), ("A1", (2,)), ("A1", (3, 4))))
    assert said(one)["go"] == {"A0": "her"}
    assert said(one)["sleeps"] == {"A0": "he"}


def test_roles_of_a_relative_clause_hold_its_noun_without_the_clause():
    one = sentence(
        "the man seen yesterday laughs", "2/det 5/nsubj 2/acl 3/advmod 0/root", "DT NN VBN RB VBZ"
    )
    assert said(one)["seen"] == {"A0": "the man", "AM-ADV": "yesterday"}
    assert said(one)["laughs"] == {"A0": "the man seen yesterday"}


def test_a_sentence_without_a_clause_has_an_analysis_without_predicates():
    one = sentence("thank you", "0/root 1/dep")
    assert roles_of(one) == Structure((("roles", -1, "roles"),))
    assert representation(one).nodes[0] == ("drs", -1, "drs")


def labels(one):
    """The representation as nested labels."""
    found = representation(one)
    below = {place: [] for place in range(len(found.nodes))}
    for place, (_, parent, _) in enumerate(found.nodes):
        if parent >= 0:
            below[parent].append(place)

    def text(place):
        inner = " ".join(map(text, below[place]))
        return found.nodes[place][0] + (f"({inner})" if inner else "")

    return text(0)


@pytest.mark.parametrize(
    ("line", "links", "tags", "expected"),
    [
        (
            "a man loves Mary",
            "2/det 3/nsubj 0/root 3/obj",
            "DT NN VBZ NNP",
            "drs(pred.man pred.loves rel.agent rel.theme named.mary)",
        ),
        (
            "every man loves Mary",
            "2/det 3/nsubj 0/root 3/obj",
            "DT NN VBZ NNP",
            "drs(imp(drs-1(pred.man) drs-2(pred.loves rel.agent rel.theme named.mary)))",
        ),
        (
            "he does n't eat three eggs",
            "4/nsubj 4/aux 4/advmod 0/root 6/nummod 4/obj",
            "",
            "drs(pred.he not(drs(pred.eat rel.agent rel.theme pred.eggs card.three)))",
        ),
        (
            "if it rains he sleeps or sings",
            "3/mark 3/nsubj 5/advcl 5/nsubj 0/root 7/cc 5/conj",
            "",
            (
                "drs(imp(drs-1(pred.it pred.rains rel.agent) drs-2(or("
                "drs-1(pred.he pred.sleeps rel.agent) drs-2(pred.sings rel.agent)))))"
            ),
        ),
        (
            "he says it rains in Paris",
            "2/nsubj 0/root 4/nsubj 2/ccomp 6/case 4/obl",
            "",
            (
                "drs(pred.he pred.says rel.agent rel.theme prop(drs(pred.it pred.rains rel.agent "
                "rel.in named.paris)))"
            ),
        ),
        (
            "every dog the man has sleeps",
            "2/det 6/nsubj 4/det 5/nsubj 2/acl:relcl 0/root",
            "",
            (
                "drs(imp(drs-1(pred.dog rel.about pred.man pred.has rel.agent) "
                "drs-2(pred.sleeps rel.agent)))"
            ),
        ),
        ("doch nicht", "0/root 1/advmod", "Polarity=Pos ADV|Polarity=Neg", "drs(pred.doch not)"),
    ],
)
def test_representations_by_rules(line, links, tags, expected):
    assert labels(sentence(line, links, tags)) == expected


@given(st.integers(1, 12).flatmap(heads), st.data())
@settings(max_examples=300)
def test_every_parse_has_analyses_over_its_tokens(parse, data):
    """Any labels: what is packed is checked."""
    names = st.sampled_from(
        ["nsubj", "nsubj:pass", "obj", "obl", "advcl", "acl", "ccomp", "xcomp", "conj", "cc",
         "det", "case", "mark", "advmod", "nmod", "flat", "nummod", "X/Y", "root"]
    )  # fmt: skip
    vocabulary = st.sampled_from(["not", "every", "if", "or", "by", "a", "B"])
    many = len(parse)
    words = data.draw(st.lists(vocabulary, min_size=many, max_size=many))
    one = Sentence(words, tuple((head, data.draw(names)) for head, _ in parse))
    for structure in (roles_of(one), representation(one)):
        record = records.pack_structure(structure, many)
        assert records.structure_of(record) == structure
    found = representation(one)
    # Words of conditions: each token at most once.
    own = [value for node, kind, value in found.words if kind == "word"
           and not found.nodes[node][0].startswith("rel.")]  # fmt: skip
    assert len(own) == len(set(own))
    for place in one.predicates:
        assert all(place not in span or role for role, span in arguments(one, place))


def test_a_part_of_a_name_is_added_once_also_below_every():
    one = Sentence(["a", "B", "every"], ((0, "root"), (1, "flat"), (2, "det")))
    words = [value for _, kind, value in representation(one).words if kind == "word"]
    assert sorted(words) == sorted(set(words))


def test_a_parse_too_deep_has_no_representation():
    one = Sentence(["a"] * 80, tuple((place, "ccomp") for place in range(80)))
    assert representation(one) is None
    assert len(one.predicates) == 80


GIVE = Text(
    ("Tom", "gave", "books"), tags=("NNP", "VBD", "NNS"),
    heads=((2, "nsubj"), (0, "root"), (2, "obj")),
)  # fmt: skip
MISS = Text(("never", "seen"))


def test_roles_and_representations_follow_from_cached_parses(tmp_path):
    rows = [GIVE, MISS, Text(()), GIVE]
    cold = Fixed(rows, OneTree, cache=tmp_path)
    found = cold.annotate(rows, ["roles", "drs"])
    assert found.heads is None
    assert found.roles.nodes.lengths.tolist() == [4, 0, 0, 4]
    names = [found.vocabulary.words[label] for label, _, _ in found.roles.nodes.row(0).tolist()]
    assert names == ["roles", "predicate", "A0", "A1"]
    assert found.drs.nodes.lengths.tolist() == [6, 0, 0, 6]
    assert cold.counts == (0, 2, 1)
    assert sum("approximate" in line for line in cold.said) == 2
    assert "gives no semantic roles: they follow from its dependency parses by rules" in str(
        cold.said
    )
    asked = [request.layers for _, request in cold.backend.requests]
    assert asked == [{"tags", "heads"}]
    cold.annotator.close()
    warm = Fixed(rows, OneTree, cache=tmp_path)
    again = warm.annotate(rows, ["drs", "roles"])
    assert not warm.backend.requests
    assert warm.counts == (2, 0, 1)
    for part_of, other in ((found.roles, again.roles), (found.drs, again.drs)):
        assert part_of.nodes.values[:, 1].tobytes() == other.nodes.values[:, 1].tobytes()
        assert part_of.words.values.tobytes() == other.words.values.tobytes()
    warm.annotator.close()


def test_a_damaged_parse_behind_them_is_made_anew(tmp_path):
    first = Fixed([GIVE], OneTree, cache=tmp_path)
    first.annotate([GIVE], ["heads", "tags"])
    first.annotator.close()
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute("UPDATE records SET record = x'01'")
        database.commit()
    again = Fixed([GIVE], OneTree, cache=tmp_path)
    assert again.annotate([GIVE], ["roles"]).roles.nodes.lengths.tolist() == [4]
    assert any("damaged" in line for line in again.said)
    again.annotator.close()


def test_constituents_alone_give_no_roles():
    with pytest.raises(InputError, match="gives no semantic roles; it gives tree"):
        Fixed([GIVE], TreesOnly).annotate([GIVE], ["roles"])
