"""Texts annotated between the steps of a pipeline, and when they are asked for."""

from __future__ import annotations

import numpy as np
import pytest

import portmert
from portmert.metrics._base import Arcs, Ragged, Texts, Vocabulary
from portmert.tuner.components import registry
from portmert.tuner.texts.corpus import References
from portmert.tuner.texts.prepare import Preparation, signature
from portmert.tuner.texts.statistics import needs_of
from portmert.tuner.texts.text_pipeline import TextPipeline
from tests.support.fake_annotator import FakeAnnotator, parsed
from tests.support.strategies_metrics import arrays

LINES = ["The bl@@ ack Cat", "", "A Dog"]


def prepared_for(metrics, steps=""):
    metrics = [registry.metric(metric) for metric in metrics]
    return Preparation.of(metrics, TextPipeline.parse(steps), FakeAnnotator)


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
    ready = prepared_for(["dpm", "posf", "stm"], steps)
    texts = texts_of(LINES)
    found = ready.prepared(texts)
    assert ready.annotator.asked == [[("The", "black", "Cat"), (), ("A", "Dog")]]
    assert found.words(0) == ["the", "black", "cat"]
    assert names(found, found.tags.row(0)) == ["T", "B", "C"]
    assert names(found, found.heads.row(0)[:, 1]) == ["root", "k", "t"]
    # Words at the leaves are those that are scored; tags and labels keep their case.
    assert names(found, found.trees.row(0)[:, 0]) == ["S", "T", "the", "B", "black", "C", "cat"]
    assert found.trees.row(1).size == 0
    assert names(found, found.trees.row(2)[:, 0]) == ["S", "A", "a", "D", "dog"]


def test_metrics_read_the_source_after_its_steps_and_links_count_it_as_it_was_read():
    ready = prepared_for(["bleu"], "src:debpe")
    references = References(texts_of(["a"]), np.arange(2), np.array([3]), ("bl@@ ack cat",))
    prepared = ready.references(references)
    assert prepared.source == ("black cat",)
    assert prepared.source_lengths.tolist() == [3]


def test_a_lowercase_step_before_others_is_before_the_parser_too():
    ready = prepared_for(["posf"], "lowercase,debpe")
    texts = texts_of(LINES)
    ready.references(References(texts, np.arange(4)))
    assert ready.annotator.asked == [[("the", "black", "cat"), (), ("a", "dog")]]


def test_an_unparsed_text_between_parsed_ones_keeps_no_tree():
    ready = prepared_for(["stm"])
    vocabulary = Vocabulary()
    rows = [parsed(["A", "b"]), parsed([]), parsed(["c"])]
    whole = arrays(rows, vocabulary)
    # The second text has words, but the parser failed on it.
    scored = Texts.from_lines(["a b", "x y z", "c"], vocabulary)

    ready.annotator.annotate = lambda *_: whole
    found = ready.prepared(scored)
    assert found.trees.lengths.tolist() == [5, 0, 3]
    assert names(found, found.trees.row(0)[:, 0]) == ["S", "A", "a", "B", "b"]
    assert names(found, found.trees.row(2)[:, 0]) == ["S", "C", "c"]


def test_links_stay_and_only_the_chosen_are_annotated():
    ready = prepared_for(["dpm"])
    texts = Texts.from_lines(LINES, Vocabulary(), [[(0, 1)], [], [(1, 0), (1, 1)]])
    _, annotated = ready.lazily(texts)
    assert ready.annotator.asked == []
    found = annotated(np.array([2]))
    assert ready.annotator.asked == [[("A", "Dog")]]
    assert found.links.row(0).tolist() == [[1, 0], [1, 1]]
    assert found.heads.row(0)[:, 0].tolist() == [0, 1]
    assert isinstance(texts.links, Ragged)
    assert texts.heads is None


def test_an_annotator_is_opened_only_for_those_that_need_it():
    def never():
        raise AssertionError

    ready = Preparation.of([registry.metric("port")], TextPipeline(), never)
    assert ready.annotator is None
    assert ready.lazily(texts_of(LINES))[1] is None


def test_signatures_say_all_that_a_score_depends_on():
    version = f"portmert:{portmert.__version__}"
    ready = prepared_for(["posf"], "lowercase")
    bleu, posf = registry.metric("bleu"), registry.metric("posf")
    assert ready.signature(bleu, 2) == f"{bleu.signature}|refs:2|case:lc|{version}"
    assert ready.signature(posf, np.array([0, 1, 3])) == (
        f"{posf.signature}|refs:var|case:lc|annotator:fake 1|{version}"
    )
    assert signature(bleu, "stats:moses") == f"{bleu.signature}|stats:moses|{version}"


def test_a_batch_has_as_many_hypotheses_in_each_segment():
    ready = prepared_for(["bleu"], "hyp:lowercase")
    texts = texts_of(["A", "B", "C", "D"])
    references = References(Texts.from_lines(["A", "D"], texts.vocabulary), np.array([0, 1, 2]))
    batch = ready.batch(texts, ready.references(references))
    assert batch.offsets.tolist() == [0, 2, 4]
    assert [batch.hypotheses.words(row) for row in range(4)] == [["a"], ["b"], ["c"], ["d"]]
    assert batch.references.words(0) == ["A"]
