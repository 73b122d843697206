"""The metrics of meaning: examples by hand, slow twins, forms, options, bad input."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from portmert.metrics import semantics
from portmert.metrics._base import Ragged
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.components import registry
from tests.oracles import semantics as oracle
from tests.oracles.metrics import Segment, Text
from tests.oracles.semantics import Node
from tests.support.strategies_metrics import batch_of, corpora


def score(name, *segments):
    metric = registry.metric(name)
    return float(metric.score(metric.stats(batch_of(list(segments))).sum(axis=0)))


def text(line, **known):
    return Text(tuple(line.split()), **known)


GAVE = text("he gave her the book", roles=((1, (("A0", (0,)), ("A2", (2,)), ("A1", (3, 4)))),))
READ = text(
    "he gave a book to her read",
    roles=((1, (("A0", (0,)), ("A1", (2, 3)), ("A2", (4, 5)))), (6, (("A1", (3,)),))),
)
BOOKS = Segment(0, GAVE, (READ,))


def conditions(shift):
    """Some words are one place further on in the reference."""
    named = Node("named", "per", "mary", (("word", 2 + shift),))
    love = Node("pred", "", "love", (("word", 1 + shift),))
    return named, love, Node("rel", "", "agent"), Node("rel", "", "patient")


MAN = Node("pred", "", "man", (("word", 0),))
HYPOTHESIS = text(
    "man loves mary", tags=("N", "V", "P"), drs=Node("drs", children=(MAN, *conditions(0)))
)
REFERENCE = text(
    "man loves mary",
    tags=("N", "V", "P"),
    drs=Node(
        "drs",
        children=(
            Node(
                "imp", children=(Node("drs", children=(MAN,)), Node("drs", children=conditions(0)))
            ),
        ),
    ),
)
MARY = Segment(0, HYPOTHESIS, (REFERENCE,))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sr-or:type=A1", 1 / 4),  # book of {the, book}, {a, book, book}
        ("sr-or", 3 / 7),
        ("sr-mr", 1 / 6),  # he of six different arguments
        ("sr-orv", 3 / 7),  # the other verb's argument matches nothing anyway
        ("sr-mrv", 1 / 6),
        ("sr-or:type=names", 3 / 4),  # A0 A1 A2 of A0 A1 A1 A2
        ("sr-or:average=true", (1 + 1 / 4 + 1 / 2) / 3),
        ("sr-or:type=A5", 0),
    ],
)
def test_roles_of_the_specification(name, value):
    assert score(name, BOOKS) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dr-stm:length=1", 6 / 9),
        ("dr-stm:length=2", 6 / 22),
        ("dr-stm:length=3", 6 / 29),
        ("dr-stm", 6 / 34),
        ("dr-stm:average=true", 1 / 6),
        ("dr-stm:average=true,length=9", 1 / 6),  # no path of 5 labels
        ("dr-or:type=pred", 1),
        ("dr-or:type=imp", 0),
        ("dr-or", 6 / 12),
        ("dr-orp", 6 / 12),
        ("dr-or:type=drs-2", 0),
        ("dr-or:average=true", (1 + 1 + 1 + 0 + 0 + 0) / 6),  # drs pred named; imp drs-1 drs-2
    ],
)
def test_discourse_of_the_specification(name, value):
    assert score(name, MARY) == pytest.approx(value, abs=1e-12)


def test_a_word_counts_once_for_each_node_at_or_above_it_with_what_it_is_to_the_node():
    date = Node("timex", words=(("date", "+1999"), ("arg", 0)))
    inner = Node("drs", words=(("referent", 0),), children=(date,))
    one = text("a b", tags=("X", "Y"), drs=Node("drs", children=(inner,)))
    lacks = replace(one, drs=Node("drs"))
    both = Segment(0, one, (replace(one, words=("z", "b")),))
    # Dates are alike, `a` and `z` are not, as argument or as referent. The two boxes have date and
    # argument each, four items of which two are alike; the date's node has both, the referent one.
    for kind, shared in {"drs": 2 / 6, "timex": 1 / 3, "dr": 0}.items():
        assert score(f"dr-or:type={kind}", both) == pytest.approx(shared)
        assert score(f"dr-or:type={kind}", Segment(0, one, (one,))) == 1
        assert score(f"dr-or:type={kind}", Segment(0, lacks, (one,))) == 0
    assert score("dr-orp:type=timex", Segment(0, one, (one,))) == 1


@pytest.mark.parametrize(
    ("name", "segment", "first"),
    [("sr-or:average=true", BOOKS, (1 + 1 / 4 + 1 / 2) / 3), ("dr-or:average=true", MARY, 1 / 2)],
)
def test_of_two_hypotheses_of_a_segment_the_second_is_the_reference(name, segment, first):
    reference = segment.references[0]
    two = batch_of([segment, replace(segment, hypothesis=reference)])
    one_segment = replace(
        two,
        offsets=np.array([0, 2]),
        references=two.references.take(np.array([0])),
        reference_offsets=np.array([0, 1]),
        source_lengths=two.source_lengths[:1],
    )
    for batch in (two, one_segment):
        assert registry.metric(name).stats(batch)[:, 0] == pytest.approx([first, 1.0])


STATS = np.array([[0.6, 1, 0, 0.5, 1], [0, 0, 0.8, 0, 1], [0.2, 1, 0, 0.4, 1]])
"""x = 0.6, missing, 0.2; l = 0.5, 0.8, 0.4."""


@pytest.mark.parametrize(
    ("form", "denominator", "value"),
    [
        ("plain", "all", 0.8 / 3),
        ("back-off", "all", (0.6 + 0.4 * 0.8 + 0.2) / 3),
        ("interpolation", "all", (0.55 + 0.4 + 0.3) / 3),
        ("plain", "available", 0.4),
        ("back-off", "available", 0.4),
        ("interpolation", "available", 0.425),
    ],
)
def test_forms_of_the_specification(form, denominator, value):
    metric = registry.metric(f"sr-or:form={form},denominator={denominator}")
    assert float(metric.score(STATS.sum(axis=0))) == pytest.approx(value, abs=1e-12)


def test_short_names_of_the_forms():
    assert registry.metric("sr-or_b") == registry.metric("sr-or:form=back-off")
    assert (
        registry.metric("DR-STM_i:length=9").signature
        == registry.metric("dr-stm:form=interpolation,length=9").signature
    )


def test_a_value_is_missing_without_an_analysis_or_without_any_item():
    bare, silent = text("He gave her the book"), text("he gave her the book", roles=())
    for hypothesis, reference, present in (
        (bare, READ, 0),
        (GAVE, bare, 0),
        (silent, silent, 0),
        (silent, READ, 1),
        (GAVE, silent, 1),
    ):
        stats = registry.metric("sr-or").stats(batch_of([Segment(0, hypothesis, (reference,))]))
        assert stats[0, 1] == present
        shared = 1.0 if reference != READ else 4 / 8  # he gave book her of eight words
        assert stats[0, 2:].tolist() == [(1 - present) * shared, present * shared, 1]
    # One reference with an analysis is enough; the lexical overlap is that of the other.
    stats = registry.metric("sr-or").stats(batch_of([Segment(0, GAVE, (bare, READ))]))
    assert stats[0].tolist() == pytest.approx([3 / 7, 1, 0, 1, 1])


def test_ol_is_of_lowercased_words():
    assert score("ol", Segment(0, text("The the cat"), (text("the cat sat"), text("dog")))) == 0.5
    assert score("ol", Segment(0, text(""), (text(""),))) == 0


TWINS = {
    "sr-or": (oracle.sr, {"kind": "words"}),
    "sr-mr": (oracle.sr, {"kind": "strings"}),
    "sr-orv": (oracle.sr, {"kind": "words+verb"}),
    "sr-mrv": (oracle.sr, {"kind": "strings+verb"}),
    "sr-or:type=names": (oracle.sr, {"kind": "names"}),
    "sr-or:type=A0": (oracle.sr, {"kind": "words", "role": "A0"}),
    "sr-mr:average=true": (oracle.sr, {"kind": "strings", "average": True}),
    "dr-stm": (oracle.dr_stm, {}),
    "dr-stm:length=9": (oracle.dr_stm, {"length": 9}),
    "dr-stm:length=2,average=true": (oracle.dr_stm, {"length": 2, "average": True}),
    "dr-or": (oracle.dr_or, {}),
    "dr-or:type=dr": (oracle.dr_or, {"relation": "dr"}),
    "dr-or:type=drs-1": (oracle.dr_or, {"relation": "drs-1"}),
    "dr-or:average=true": (oracle.dr_or, {"average": True}),
    "dr-orp": (oracle.dr_or, {"tags": True}),
    "dr-orp:type=pred": (oracle.dr_or, {"tags": True, "relation": "pred"}),
}


FORMS = list(itertools.product(("plain", "back-off", "interpolation"), ("all", "available")))
METRICS = {
    (name, *how): registry.metric(
        f"{name}{',' if ':' in name else ':'}form={how[0]},denominator={how[1]}"
    )
    for name in TWINS
    for how in FORMS
}


@given(corpora(layers=("tags", "meaning")))
def test_scores_are_those_of_the_twins(corpus):
    batch = batch_of(corpus)
    for name, (value, options) in TWINS.items():
        stats = registry.metric(name).stats(batch).sum(axis=0)
        found = oracle.judged(corpus, value, **options)
        for form, denominator in FORMS:
            metric = METRICS[name, form, denominator]
            expected = oracle.corpus(found, form=form, denominator=denominator)
            assert float(metric.score(stats)) == pytest.approx(expected), metric
            rows = registry.metric(name).stats(batch)
            values = metric.segment_scores(rows, stats)
            counted = np.full(len(rows), denominator == "all") | (rows[:, 1] > 0)
            if counted.any():
                assert float(values[counted].mean()) == pytest.approx(expected), metric
    overlaps = [float(oracle.lexical(s.hypothesis, s.references)) for s in corpus]
    assert registry.metric("ol").stats(batch)[:, 0] == pytest.approx(overlaps, abs=1e-12)


def test_too_many_different_words_are_refused(monkeypatch):
    monkeypatch.setattr(semantics, "MOST_WORDS", 5)  # not 2 ** 28, more than a test can have
    with pytest.raises(ValueError, match="different words, at most 5 can be"):
        registry.metric("sr-or").stats(batch_of([BOOKS]))


def test_analyses_of_other_tokens_are_refused():
    batch = batch_of([BOOKS, BOOKS])
    words = batch.hypotheses.roles.words
    for place, value in (((-1, 2), 5), ((-1, 0), 9), ((-1, 1), 8), ((0, 2), -1)):
        values = words.values.copy()
        values[place] = value
        roles = replace(batch.hypotheses.roles, words=Ragged(values, words.offsets))
        wrong = replace(batch, hypotheses=replace(batch.hypotheses, roles=roles))
        which = 0 if place[0] == 0 else 1
        with pytest.raises(ValueError, match=f"that of text {which} is not of its 5 tokens"):
            registry.metric("sr-or").stats(wrong)


@pytest.mark.parametrize("name", ["", "a b"])
def test_a_type_is_a_name(name):
    for metric in ("sr-or", "dr-or"):
        with pytest.raises(ConfigError, match="expected a name without spaces, or"):
            registry.build("metric", metric, {"type": name})


def test_a_star_may_be_written():
    assert registry.metric("sr-or:type=*") == registry.metric("sr-or")
    formula = registry.metric("0.5*dr-or:type=pred + 0.5*sr-mr_i")
    assert formula.needs == {"roles", "drs"}
