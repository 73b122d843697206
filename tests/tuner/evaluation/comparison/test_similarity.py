"""Identical segments and 1 - TER between outputs."""

import numpy as np
import pytest
from hypothesis import given

from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison.differences import similarities
from portmert.tuner.evaluation.comparison.material import identical_segments
from portmert.tuner.texts.corpus import References, make_batch
from tests.support.strategies_comparison import material_of, materials


@given(materials())
def test_identical_segments_agree_with_a_comparison_of_lists(drawn):
    material, outputs, _ = drawn
    found = identical_segments(*material.outputs[0])
    assert found.tolist() == [a == b for a, b in zip(outputs[0], outputs[1], strict=True)]


def test_rows_of_a_view_are_compared_by_what_they_hold():
    outputs = [[("a", "b"), ("c",), ("a", "d")], [("a",), ("c",), ("a", "b")]]
    material = material_of(outputs, [[("a",)]] * 3, systems=2)
    (one,), (other,) = material.outputs
    assert identical_segments(one.rows(1, 3), other.rows(1, 3)).tolist() == [True, False]
    assert identical_segments(one.rows(0, 1), other.rows(2, 3)).tolist() == [True]


def test_example_by_hand():
    # One of two segments is the same. TER: 1 edit over 5 words, and 1 over 4: a mean of 0.225.
    outputs = [[("a", "b", "c"), ("d", "e")], [("a", "b"), ("d", "e")]]
    (found,) = similarities(material_of(outputs, [[("a",)]] * 2, systems=2))
    assert (found["first"], found["second"], found["identical"]) == ("x", "y", 0.5)
    assert found["one_minus_ter"] == pytest.approx(1 - (1 / 5 + 1 / 4) / 2)


@given(materials())
def test_rates_are_those_of_all_segments_compared_one_by_one(drawn):
    material, _, _ = drawn
    names = ["x", "y"]
    offsets = np.arange(len(material) + 1, dtype=np.int64)
    ter = registry.metric("ter")
    for found in similarities(material):
        i, j = names.index(found["first"]), names.index(found["second"])
        ours, theirs = material.outputs[i], material.outputs[j]
        pairs = [tuple(ours)] if i == j else list(zip(ours, theirs, strict=True))
        rates = []
        for both in pairs:
            for one, other in (both, both[::-1]):
                batch = make_batch(one, offsets, References(other, offsets))
                rates.append(float(ter.score(ter.stats(batch).sum(axis=0))))
        assert found["one_minus_ter"] == pytest.approx(1.0 - np.mean(rates), abs=1e-12)


def test_replicas_are_compared_in_pairs():
    same, other = [("a", "b")], [("c", "d")]
    material = material_of([same, other, same, other], [[("a",)]], systems=2)
    pairs = similarities(material)
    found = {(one["first"], one["second"]): one["identical"] for one in pairs}
    assert found == {("x", "x"): 0.0, ("x", "y"): 1.0, ("y", "y"): 0.0}
