"""Texts annotated between the steps of a pipeline, and when they are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from metrics._base import Arcs, Ragged, Texts, Vocabulary
from tests.support.fake_annotator import FakeAnnotator, parsed
from tests.support.strategies_metrics import arrays
from tuner.annotation.syntax import Syntax
from tuner.components import registry
from tuner.texts.statistics import needs_of
from tuner.texts.text_pipeline import TextPipeline

LINES = ["The bl@@ ack Cat", "", "A Dog"]


def syntax_of(metrics, steps=""):
    pipeline = TextPipeline.parse(steps)
    needs = needs_of([registry.metric(metric) for metric in metrics])
    return Syntax(FakeAnnotator(), pipeline, needs), pipeline


def texts_of(lines):
    return Texts.from_lines(lines, Vocabulary())


def names(texts, rows):
    return [texts.vocabulary.words[i] for i in rows]


def test_needs_are_those_an_annotator_makes():
    metrics = [registry.metric(name) for name in ("bleu", "port", "edpm", "hwcm", "posf")]
    assert needs_of(metrics) == {Arcs(50, 0.25), "heads", "tags"}
    assert needs_of([registry.metric("0.5*port + 0.5*dpm")]) == {"heads"}
    assert needs_of([registry.metric("port")]) == frozenset()


@pytest.mark.parametrize("steps", ["debpe,lowercase", "hyp:debpe,hyp:lowercase,ref:13a"])
def test_parsers_see_the_case_that_metrics_do_not(steps):
    syntax, pipeline = syntax_of(["dpm", "posf", "stm"], steps)
    texts = texts_of(LINES)
    found = syntax.whole(texts, pipeline.hypotheses(texts), "hyp")
    assert syntax.annotator.asked == [[("The", "black", "Cat"), (), ("A", "Dog")]]
    assert found.words(0) == ["the", "black", "cat"]
    assert names(found, found.tags.row(0)) == ["T", "B", "C"]
    assert names(found, found.heads.row(0)[:, 1]) == ["root", "k", "t"]
    # Words at the leaves are those that are scored; tags and labels keep their case.
    assert names(found, found.trees.row(0)[:, 0]) == ["S", "T", "the", "B", "black", "C", "cat"]
    assert found.trees.row(1).size == 0
    assert names(found, found.trees.row(2)[:, 0]) == ["S", "A", "a", "D", "dog"]


def test_a_lowercase_step_before_others_is_before_the_parser_too():
    syntax, pipeline = syntax_of(["posf"], "lowercase,debpe")
    texts = texts_of(LINES)
    syntax.whole(texts, pipeline.references(texts), "ref")
    assert syntax.annotator.asked == [[("the", "black", "cat"), (), ("a", "dog")]]


def test_an_unparsed_text_between_parsed_ones_keeps_no_tree():
    syntax, _ = syntax_of(["stm"])
    vocabulary = Vocabulary()
    rows = [parsed(["A", "b"]), parsed([]), parsed(["c"])]
    whole = arrays(rows, vocabulary)
    # The second text has words, but the parser failed on it.
    scored = Texts.from_lines(["a b", "x y z", "c"], vocabulary)

    syntax.annotator.annotate = lambda *_: whole
    found = syntax.whole(scored, scored, "hyp")
    assert found.trees.lengths.tolist() == [5, 0, 3]
    assert names(found, found.trees.row(0)[:, 0]) == ["S", "A", "a", "B", "b"]
    assert names(found, found.trees.row(2)[:, 0]) == ["S", "C", "c"]


def test_links_stay_and_only_the_chosen_are_annotated():
    syntax, _ = syntax_of(["dpm"])
    texts = Texts.from_lines(LINES, Vocabulary(), [[(0, 1)], [], [(1, 0), (1, 1)]])
    annotated = syntax.lazily(texts, texts)
    assert syntax.annotator.asked == []
    found = annotated(np.array([2]))
    assert syntax.annotator.asked == [[("A", "Dog")]]
    assert found.links.row(0).tolist() == [[1, 0], [1, 1]]
    assert found.heads.row(0)[:, 0].tolist() == [0, 1]
    assert isinstance(texts.links, Ragged)
    assert texts.heads is None
