from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.extensions.parsers import _marginals
from portmert.extensions.parsers._marginals import (
    flattened,
    tree_marginals,
    weighted_arcs,
)


def all_trees(size):
    """Every assignment of heads (from 1, 0 is the root) without a cycle."""
    for heads in itertools.product(range(size + 1), repeat=size):
        if all(reaches_root(heads, token) for token in range(1, size + 1)):
            yield heads


def reaches_root(heads, token):
    for _ in range(len(heads)):
        token = heads[token - 1]
        if token == 0:
            return True
    return False


def enumerated(scores):
    """The definition: the share of trees' weights that have an arc."""
    size = len(scores)
    found = np.zeros((size, size + 1))
    for heads in all_trees(size):
        if heads.count(0) == 1:
            weight = math.exp(sum(scores[token, head] for token, head in enumerate(heads)))
            found[range(size), heads] += weight
    return found / found.sum(axis=1, keepdims=True)


sizes = st.integers(1, 4)


@st.composite
def score_tables(draw):
    size = draw(sizes)
    values = st.lists(st.integers(-6, 6), min_size=size + 1, max_size=size + 1)
    return np.array(draw(st.lists(values, min_size=size, max_size=size)), dtype=np.float64)


@given(score_tables())
def test_marginals_are_those_of_all_trees(scores):
    found = tree_marginals(scores)
    expected = enumerated(scores)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@given(score_tables())
def test_decimals_give_the_same(scores):
    shifted = scores.copy()
    shifted[range(len(scores)), range(1, len(scores) + 1)] = -np.inf
    found = _marginals._solved_in_decimals(shifted, 50)
    expected = enumerated(scores)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_two_words():
    # Trees with one root: 1 under the root and 2 under 1, weight e^(1+2); the other e^(0+3).
    # The weights are equal, so that each arc of them has 1/2.
    found = tree_marginals(np.array([[1.0, 9.0, 3.0], [0.0, 2.0, 9.0]]))
    np.testing.assert_allclose(found, [[0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])


@pytest.mark.parametrize("gap", [30.0, 60.0, 300.0, 2000.0])
def test_words_that_all_but_surely_govern_each_other(gap):
    """Float64 cancels: the two trees have but exp(-gap) of the weight of the cycle."""
    scores = np.array([[-gap, 0.0, 0.0], [-gap, 0.0, 0.0]])
    np.testing.assert_allclose(
        tree_marginals(scores), [[0.5, 0.0, 0.5], [0.5, 0.5, 0.0]], atol=1e-9
    )
    scores[0, 0] -= 1  # the tree with the first word under the root has e^-1 of the other
    share = 1 / (1 + math.e)
    np.testing.assert_allclose(
        tree_marginals(scores), [[share, 0, 1 - share], [1 - share, share, 0]], atol=1e-9
    )


def test_an_input_is_not_changed():
    scores = np.ones((3, 4))
    tree_marginals(scores)
    assert (scores == 1).all()


def test_no_token_has_no_arc():
    assert tree_marginals(np.zeros((0, 1))).shape == (0, 1)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_must_be_finite(bad):
    with pytest.raises(ValueError, match="must be finite"):
        tree_marginals(np.array([[bad, 0.0]]))


@given(score_tables(), st.sampled_from([0.0, 0.25, 1.0]), st.integers(0, 99))
def test_labelled_links_are_those_of_all_labelled_trees(scores, gamma, seed):
    """Kahn's weights p(labelled tree) ** gamma over every labelled tree there is."""
    if len(scores) > 3:
        scores = scores[:3, :4]
    size, names = len(scores), ("x", "y")
    logits = np.random.default_rng(seed).integers(-2, 3, (size, size + 1, 2)).astype(float)
    logs = logits - np.logaddexp(logits[:, :, :1], logits[:, :, 1:])
    expected: dict[tuple[int, int, str], float] = {}
    total = 0.0
    for heads in all_trees(size):
        if heads.count(0) != 1:
            continue
        for labels in itertools.product(range(2), repeat=size):
            arcs = list(zip(range(size), heads, labels, strict=True))
            score = sum(scores[d, h] + logs[d, h, label] for d, h, label in arcs)
            total += math.exp(gamma * score)
            for d, h, label in arcs:
                key = (d, h, names[label] if h else "x")  # one label stands under the root
                expected[key] = expected.get(key, 0.0) + math.exp(gamma * score)
    arcs, labels = flattened(scores, logits, gamma)
    found = weighted_arcs(tree_marginals(arcs), labels, names, min_count=0.0, root_label="x")
    assert {arc[:3] for arc in found} == {
        key for key in expected if tree_marginals(arcs)[key[:2]] > 0
    }
    for *key, count in found:
        assert count == pytest.approx(expected[tuple(key)] / total, abs=1e-9)


def test_rare_links_are_left_out_and_the_others_scaled():
    arcs = np.array([[0.625, 0.0, 0.375], [0.25, 0.75, 0.0]])
    found = weighted_arcs(arcs, np.ones((2, 3, 1)), ["dep"], min_count=0.3, root_label="dep")
    assert found == ((0, 0, "dep", 0.625), (0, 2, "dep", 0.375), (1, 1, "dep", 1.0))
    # Where none is frequent enough the likeliest is kept.
    found = weighted_arcs(arcs, np.ones((2, 3, 1)), ["dep"], min_count=0.9, root_label="dep")
    assert found == ((0, 0, "dep", 1.0), (1, 1, "dep", 1.0))


def test_links_under_the_root_may_have_one_label():
    labels = np.full((1, 2, 2), 0.5)
    found = weighted_arcs(np.array([[1.0, 0.0]]), labels, ["x", "y"], min_count=0, root_label="r")
    assert found == ((0, 0, "r", 1.0),)


def test_labels_of_one_name_are_added():
    labels = np.full((1, 2, 2), 0.5)
    found = weighted_arcs(
        np.array([[1.0, 0.0]]), labels, ["x", "x"], min_count=0.0, root_label="x"
    )
    assert found == ((0, 0, "x", 1.0),)
