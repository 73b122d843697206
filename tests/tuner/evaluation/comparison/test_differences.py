"""Buckets, reordering, segments with the largest differences."""

import numpy as np
import pytest
from hypothesis import given

from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison.differences import (
    differences,
    reference_reordering,
    segments_of,
)
from portmert.tuner.evaluation.comparison.scores import count
from tests.support.strategies_comparison import material_of, materials


def counted(material, *names):
    return count(material, {name: registry.metric(name) for name in names})


def linked(orders):
    """One system, its output as long as the source; the reference has the words in `orders`."""
    lengths = [len(order) for order in orders]
    tokens = [tuple(f"w{i}" for i in range(n)) for n in lengths]
    straight = [{(i, i) for i in range(n)} for n in lengths]
    gold = [[{(i, j) for j, i in enumerate(order)}] for order in orders]
    return material_of(
        [tokens, tokens], [[line] for line in tokens], systems=2, source_lengths=lengths,
        links=[straight, straight], gold_links=gold,
    )  # fmt: skip


def test_reordering_is_what_v_says_of_the_reference_against_source_order():
    material = linked([(0, 1, 2), (2, 1, 0), (), (1, 0, 2)])
    found = reference_reordering(material)
    # The outputs are in source order, so that v of an output is v of source order.
    stats = counted(material, "v")[0].stats[0][0]
    expected = 1 - registry.metric("v").score(stats)
    assert found[0] == pytest.approx(0.0)
    assert found[[0, 1, 3]] == pytest.approx(expected[[0, 1, 3]])
    assert found[1] > found[3] > 0
    assert np.isnan(found[2])


def test_reordering_is_not_known_without_links():
    material = material_of([[("a",)]], [[("a",)]], systems=1)
    assert reference_reordering(material) is None


def test_segments_show_links_and_orders_of_the_texts():
    material = linked([(1, 0)])
    (segment,) = segments_of(material, counted(material, "bleu"), reference_reordering(material))
    assert segment["references"][0]["links"] == "0-1 1-0"
    assert segment["references"][0]["order"] == "1 0"
    assert segment["outputs"][0]["order"] == "0 1"
    assert segment["outputs"][0]["text"] == "w0 w1"
    assert segment["scores"] == {"bleu": [0.0, 0.0]}  # two words have no 4-gram


def test_segments_tell_v_of_each_drawn_order():
    material = linked([(0, 1, 2), (2, 1, 0), (1, 0, 2)])
    (v,) = counted(material, "v")
    found = segments_of(material, [v], reference_reordering(material))
    for segment, score in zip(found, v.metric.score(v.stats[0][0]), strict=True):
        assert segment["outputs"][0]["v"] == pytest.approx(score)
        assert segment["references"][0]["v"] is None
    assert found[0]["outputs"][0]["v"] == 1.0
    alone = material_of([[("a",)]], [[("a",)]], systems=1)
    (segment,) = segments_of(alone, [], None)
    assert segment["outputs"][0]["v"] is None


@given(materials())
def test_buckets_share_out_the_segments(drawn):
    material, _, golds = drawn
    found = differences(material, counted(material, "ter"), None)
    assert sum(bucket["segments"] for bucket in found["by_length"]) == len(golds)
    assert found["by_reordering"] == []


def test_a_bucket_is_scored_as_a_corpus_of_its_own():
    long = tuple("abcdefghijkl")
    golds = [[("a", "b")], [long], [("c",)]]
    outputs = [[("a", "c"), long, ("c",)], [("a", "b"), long[:6], ("d",)]]
    found = differences(material := material_of(outputs, golds, systems=2),
                        counted(material, "ter"), None)  # fmt: skip
    short, longer = found["by_length"]
    assert short == {"label": "1-10", "segments": 2, "scores": {"ter": [1 / 3, 1 / 3]}}
    assert longer == {"label": "11-20", "segments": 1, "scores": {"ter": [0.0, 0.5]}}


def test_segments_with_the_largest_differences_best_gain_first():
    golds = [[("a", "b")], [("c", "d")], [("e", "f")]]
    outputs = [
        [("a", "x"), ("x", "x"), ("e", "f")],  # TER 0.5, 1, 0
        [("a", "x"), ("c", "d"), ("e", "x")],  # TER 0.5, 0, 0.5
    ]
    material = material_of(outputs, golds, systems=2)
    found = differences(material, counted(material, "ter"), None)["segments"]
    assert [(one["segment"], one["difference"]) for one in found] == [(1, -1.0), (2, 0.5)]
