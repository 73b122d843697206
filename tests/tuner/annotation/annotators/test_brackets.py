"""Bracketed trees: reading, writing, faults; heads by rule; tokens in the treebank's spelling."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.tuner.annotation.annotators import _trees
from portmert.tuner.annotation.annotators._tokens import as_parsed, comparable, escaped, unescaped
from tests.oracles import annotators as oracle
from tests.oracles.metrics import Tree


@st.composite
def trees(draw, depth=3):
    label = draw(st.sampled_from(oracle.CATEGORIES)) + draw(
        st.sampled_from(["", "", "-SBJ", "=2"])
    )
    children = []
    for _ in range(draw(st.integers(1, 4))):
        if depth and draw(st.booleans()):
            children.append(draw(trees(depth - 1)))
        else:
            children.append(oracle.leaf(draw(st.sampled_from(oracle.TAGS)), "w"))
    return Tree(label, tuple(children))


@given(trees())
def test_heads_by_rule_are_those_of_the_slow_twin(tree):
    parsed = _trees.parse(f"( {oracle.brackets(tree)})")
    assert _trees.dependencies(parsed) == oracle.heads(tree)
    assert oracle.is_forest(_trees.dependencies(parsed))


def test_heads_of_the_specification_s_example():
    parsed = _trees.parse(f"(S1 {oracle.brackets(oracle.example())})")
    found = _trees.dependencies(parsed)
    assert [head for head, _ in found] == [2, 0, 5, 5, 2]
    assert [label for _, label in found] == ["S/NP", "root", "NP/DT", "NP/JJ", "VP/NP"]
    assert found == oracle.heads(oracle.example())


@pytest.mark.parametrize(
    ("text", "heads"),
    [
        ("(NP (NP (NN cat)) (CC and) (NP (NN dog)))", [0, 1, 1]),  # the first NP from the left
        ("(NP (NN cat) (, ,) (NN cow) (, ,) (CC and) (NN dog))", [3, 3, 0, 3, 3, 3]),
        ("(NP (NP (NN dog)) (POS 's))", [2, 0]),
        ("(VP (VB go) (CC and) (VB see))", [0, 1, 1]),
        ("(QP (-LRB- -LRB-) (CC or) (CD two))", [3, 3, 0]),  # nothing but a bracket to the left
    ],
)
def test_coordination_and_possessives(text, heads):
    assert [head for head, _ in _trees.dependencies(_trees.parse(text))] == heads


@given(trees())
def test_a_tree_is_read_as_it_is_written(tree):
    parsed = _trees.parse(oracle.brackets(tree))
    assert str(parsed) == oracle.brackets(tree)
    assert len(parsed.tokens) == len(parsed.tags) == oracle.brackets(tree).count(" w)")


@pytest.mark.parametrize("wrapper", ["", "TOP", "ROOT", "S1", "S1 (TOP"])
def test_wrappers_are_dropped(wrapper):
    end = ")" * (1 + wrapper.count("("))
    assert str(_trees.parse(f"({wrapper} (S (NN a) (VB b)){end}")) == "(S (NN a) (VB b))"


def test_a_wrapper_of_several_trees_or_of_a_token_stays():
    assert str(_trees.parse("(S1 (X a) (Y b))")) == "(S1 (X a) (Y b))"
    assert str(_trees.parse("(TOP a)")) == "(TOP a)"


def test_traces_are_dropped_and_what_they_leave_empty():
    text = "( (S (NP-SBJ (-NONE- *T*-1)) (VP (VB go) (NP (-NONE- *)))))"
    assert str(_trees.parse(text)) == "(S (VP (VB go)))"


def test_only_ascii_white_space_parts_tokens():
    assert _trees.parse("(S (NN a\u3000b)\t(NN c\u00a0d))").tokens == ["a\u3000b", "c\u00a0d"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN a)", "1 brackets are not closed; is the tree cut off?"),
        ("(S (NN a)))", "column 11: ')' stands outside all brackets"),
        ("a (NN b)", "column 1: 'a' stands outside all brackets"),
        ("", "no tree"),
        ("(NN a) (NN b)", "column 8: a second tree"),
        ("(S (NP) (NN b))", "column 7: '(NP)' has no token"),
        ("( )", "'()' has no token"),
        ("(S (NN a b))", "token 'a' has no part of speech of its own"),
        ("(S a (NN b))", "token 'a' has no part of speech of its own"),
        ("(S (-NONE- *))", "no token besides traces"),
    ],
)
def test_faults_are_named(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        _trees.parse(text)


def test_depth_is_no_limit():
    deep = "(S " * 20_000 + "(NN a)" + ")" * 20_000
    assert _trees.dependencies(_trees.parse(deep)) == ((0, "root"),)


def test_tokens_in_the_treebank_s_spelling():
    assert escaped(":)") == ":-RRB-"
    assert unescaped("-LRB-a\\/b-RCB-") == "(a/b}"
    assert comparable("``") == comparable("''") == comparable('"') == '"'
    assert comparable("-LSB-") == comparable("[")


@given(
    st.text(st.characters(blacklist_characters=" \\`'", blacklist_categories=["Cs"]), min_size=1)
)
def test_an_escaped_token_is_unescaped(token):
    if not any(name in token for name in ("-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-")):
        assert unescaped(escaped(token)) == token
        assert comparable(escaped(token)) == comparable(token)


@pytest.mark.parametrize(
    ("given", "parsed"),
    [
        ("I don 't", "I do n't"),
        ("we CAN 'T , won \u2019t", "we CA N'T , wo n\u2019t"),
        ("n 't 's 't", "n 't 's 't"),  # no verb before them
        ("&quot; a &amp;lt; &#124;", '" a &lt; |'),
        ("don 't don 't", "do n't do n't"),
        ("", ""),
    ],
)
def test_tokens_of_moses_as_parsers_want_them(given, parsed):
    assert as_parsed(given.split()) == parsed.split()
