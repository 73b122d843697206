"""What every annotator promises, whichever the registry finds and this machine can run."""

from __future__ import annotations

import dataclasses
import math

import pytest

from portmert.extensions.parsers.unpacking import structure_of
from portmert.tuner import families
from portmert.tuner.annotation import records
from portmert.tuner.annotation.annotators import _trees
from portmert.tuner.annotation.annotators._tokens import comparable
from portmert.tuner.components import registry
from portmert.tuner.texts.annotator import Annotation, AnnotationRequest, Annotator, heads_fault
from tests.support import annotation_models, optional_models
from tests.support.annotation_models import SENTENCES

OPTIONS = annotation_models.OPTIONS | optional_models.OPTIONS
GAMMA = 0.5
LONG = tuple(word for words in SENTENCES for word in words)[:200]
ODD = [
    ("(",),
    ('"', "``", "'"),
    ("don", "'t", "&quot;", "-LRB-"),
    ("\u3000", "\u00a0x", "\u2028"),
    ("_", "#", "1-2", "\\"),
    ("\U0001f600", "e\u0301", "\u200f\u05d0"),
    tuple("." * 40),
]
"""Tokens that mean something to a parser or to a format."""


@pytest.fixture(params=families.own_names("annotator"))
def annotator(request):
    """With a small model; an optional one where its library is installed."""
    if request.param not in OPTIONS:
        pytest.skip(f"no model for {request.param} is made in tests/support")
    return registry.build("annotator", request.param, OPTIONS[request.param]())


@pytest.fixture
def gives(annotator):
    return annotator.gives


@pytest.fixture
def ask(annotator, gives):
    def answers(sentences, **options):
        layers = gives
        gammas = (GAMMA,) if "marginals" in layers else ()
        request = AnnotationRequest(layers, parses=3, gammas=gammas)
        return list(annotator.annotate(sentences, request, **options))

    return answers


def test_who_looks_up_files_says_so(annotator):
    """Else its sentences travel to workers that have no such files."""
    assert annotator.looks_up == hasattr(annotator, "files")


def check(words, answer, gives):
    """One answer to one sentence."""
    assert isinstance(answer, Annotation)
    count = len(words)
    if "tags" in gives:
        assert len(answer.tags) == count
        assert all(isinstance(tag, str) and tag for tag in answer.tags)
    if "heads" in gives:
        check_parse(answer.heads, count)
    if "tree" in gives:
        tree = _trees.parse(answer.tree)
        assert list(map(comparable, tree.tokens)) == list(map(comparable, words))
    if "parses" in gives:
        scores = [score for score, _ in answer.parses]
        assert scores == sorted(scores, reverse=True)
        assert all(map(math.isfinite, scores))
        assert 1 <= len(scores) <= 3
        for _, heads in answer.parses:
            check_parse(heads, count)
    for layer in {"roles", "drs"} & gives:
        structure = getattr(answer, layer)
        assert structure_of(records.pack_structure(structure, count)) == structure
    if "marginals" in gives:
        check_links(answer.marginals[GAMMA], count)


def check_parse(heads, count):
    assert len(heads) == count
    assert heads_fault(heads) == ""
    assert all(isinstance(label, str) and "\n" not in label for _, label in heads)


def check_links(links, count):
    total = dict.fromkeys(range(count), 0.0)
    for word, head, label, weight in links:
        assert 0 <= head <= count
        assert head != word + 1
        assert isinstance(label, str)
        assert weight > 0
        total[word] += weight
    assert list(total.values()) == pytest.approx([1.0] * count, abs=1e-6)


def test_is_a_frozen_dataclass_with_a_docstring(annotator):
    assert isinstance(annotator, Annotator)
    assert type(annotator).__doc__
    assert annotator.gives
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(annotator, dataclasses.fields(annotator)[0].name, None)


def test_every_sentence_gets_what_was_asked_for(ask, gives):
    answers = ask(SENTENCES)
    assert len(answers) == len(SENTENCES)
    for words, answer in zip(SENTENCES, answers, strict=True):
        check(words, answer, gives)


def test_what_was_not_asked_for_is_empty(annotator, gives):
    empty = Annotation()
    for layer in gives - {"marginals"}:
        (answer,) = annotator.annotate(SENTENCES[:1], AnnotationRequest(frozenset({layer})))
        assert getattr(answer, layer)
        assert dataclasses.replace(answer, **{layer: getattr(empty, layer)}) == empty


def test_an_answer_depends_on_its_sentence_alone(ask):
    answers = ask(SENTENCES[:12])
    assert ask(SENTENCES[:12][::-1]) == answers[::-1]
    assert ask(SENTENCES[:12], processes=2) == answers
    assert ask(SENTENCES[4:5]) == answers[4:5]


def test_nothing_to_do_is_nothing(ask):
    assert ask([]) == []


def test_odd_tokens_and_long_sentences_are_answered_or_have_no_parse(annotator, ask, gives):
    if annotator.name() in ("conllu", "ptb", "semantics"):
        annotator = dataclasses.replace(annotator, missing="unparsed")
        answers = list(annotator.annotate([*ODD, LONG], AnnotationRequest(annotator.gives, 3)))
        assert answers == [None] * (len(ODD) + 1)
        return
    answers = ask([*ODD, LONG])
    assert len(answers) == len(ODD) + 1
    for words, answer in zip([*ODD, LONG], answers, strict=True):
        if answer is not None:
            check(words, answer, gives)


def test_the_fingerprint_is_one_line_that_begins_with_the_name(annotator):
    fingerprint = annotator.fingerprint()
    assert fingerprint.startswith(f"{annotator.name()} ")
    assert "\n" not in fingerprint
    again = dataclasses.replace(annotator)
    assert again.fingerprint() == fingerprint
