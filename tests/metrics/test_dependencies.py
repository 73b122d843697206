"""DPM, EDPM and mu-PR: the worked examples of section 8.5 and the slow twin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from portmert.metrics._base import Arcs
from portmert.metrics._shared import each_reference
from portmert.metrics.dependencies import Dpm, Edpm, EdpmExact, MuPr, item_counts
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.components import registry
from tests.oracles import dependencies as oracles
from tests.oracles.metrics import Segment, Text
from tests.support.strategies_metrics import batch_of, corpora

FIRST = ((2, "det"), (3, "subj"), (0, "root"))  # of "the cat stumbled"
SECOND = ((3, "det"), (3, "mod"), (0, "root"))
REFERENCE = Text(
    ("the", "red", "cat", "ate"),
    heads=((3, "det"), (3, "mod"), (4, "subj"), (0, "root")),
    parses=((-7.0, ((3, "det"), (3, "mod"), (4, "subj"), (0, "root"))),),
)
FAMILY = ["dpm:of={0}", "edpm:of={0}", "edpm-exact:of={0}", "mu-pr:of={0}"]


def example(*parses):
    """The draft's pair of texts; parses are (log score, heads)."""
    heads = parses[0][1] if parses else ()
    return Segment(0, Text(("the", "cat", "stumbled"), heads=heads, parses=parses), (REFERENCE,))


def scored(metric, *segments):
    batch = batch_of(segments)
    return float(metric.score(metric.stats(batch).sum(axis=0)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dlh", [1, 3, 4]),
        ("dl", [2, 3, 4]),
        ("lh", [2, 3, 4]),
        ("dh", [1, 3, 4]),
        ("1g", [2, 3, 4]),
        ("2g", [0, 2, 3]),
        ("3g", [0, 1, 2]),
        ("9g", [0, 0, 0]),
    ],
)
def test_counts_of_the_draft(name, expected):
    batch = batch_of([example((-10.0, FIRST))])
    assert Dpm(of=name).stats(batch).tolist() == [expected]
    assert EdpmExact(of=name).stats(batch).tolist() == [expected]


def test_scores_of_the_draft():
    segment = example((-10.0, FIRST))
    assert scored(Dpm(of="dlh"), segment) == pytest.approx(2 / 7, abs=1e-15)
    assert scored(Dpm(of="dl+lh"), segment) == pytest.approx(4 / 7, abs=1e-15)
    assert scored(MuPr(of="dl+lh"), segment) == pytest.approx(4 / 7, abs=1e-15)
    assert scored(Dpm(), segment) == pytest.approx(6 / 13, abs=1e-15)
    assert scored(Edpm(), segment) == pytest.approx(6 / 13, abs=1e-15)
    assert scored(MuPr(), segment) == 0.0


@pytest.mark.parametrize(
    ("gamma", "links", "all_four"),
    [(0.0, 0.428571, 0.384615), (0.25, 0.494588, 0.420163), (1.0, 0.566290, 0.458771)],
)
@pytest.mark.parametrize("cls", [Edpm, EdpmExact])
def test_expectation_of_the_specification(cls, gamma, links, all_four, monkeypatch):
    monkeypatch.setattr(
        "tests.support.strategies_metrics.all_arcs", lambda: [Arcs(0, gamma), Arcs(50, gamma)]
    )
    segment = example((-10.0, FIRST), (-14.0, SECOND))
    assert scored(cls(of="dl+lh", gamma=gamma), segment) == pytest.approx(links, abs=1e-6)
    assert scored(cls(gamma=gamma), segment) == pytest.approx(all_four, abs=1e-6)


def test_of_several_parses_one_means_the_best():
    segment = example((-10.0, FIRST), (-14.0, SECOND))
    assert scored(Edpm(parses=1), segment) == scored(Dpm(), segment)
    assert Edpm(parses=1).needs == {"heads"}


@pytest.mark.parametrize("metric", [Dpm(), Edpm(), EdpmExact()])
def test_without_a_parse_of_the_hypothesis_n_grams_stay(metric):
    assert scored(metric, example()) == pytest.approx(0.2, abs=1e-15)  # 2 * 2 / (5 + 15)


def test_features_of_the_specification():
    batch = batch_of([example((-10.0, FIRST))])
    (counts,) = item_counts(batch, "heads", ("lh", "dl", "dlh", "dh", "1g", "2g"))
    match, hyp, ref = counts.reshape(-1, 3).T
    assert match / hyp == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1 / 3, 2 / 3, 0])
    assert match / ref == pytest.approx([1 / 2, 1 / 2, 1 / 4, 1 / 4, 1 / 2, 0])


def test_counts_are_of_one_reference_a_segment():
    segment = example((-10.0, FIRST))
    batch = batch_of([replace(segment, references=(REFERENCE, segment.hypothesis))])
    with pytest.raises(ValueError, match="one reference a segment"):
        item_counts(batch, "heads", ("dl",))
    first, second = (item_counts(single, "heads", ("dl",)) for single in each_reference(batch))
    assert first[0, [0, 2]].tolist() == [2, 4]
    assert second[0, [0, 2]].tolist() == [3, 3]


def test_a_word_called_like_the_root_is_not_the_root():
    # Only `lh` of the two roots matches; the word <root> is a head of its own.
    segment = Segment(
        0,
        Text(("a", "<root>"), heads=((2, "x"), (0, "root"))),
        (Text(("b",), heads=((0, "x"),)),),
    )
    assert Dpm(of="lh").stats(batch_of([segment])).tolist() == [[0, 2, 1]]


def test_the_reference_of_the_highest_score_counts():
    segment = example((-10.0, FIRST))
    both = replace(segment, references=(REFERENCE, segment.hypothesis))
    assert scored(Dpm(), both) == 1.0
    assert scored(Dpm(), replace(both, references=both.references[::-1])) == 1.0


@pytest.mark.parametrize("metric", [Dpm(of="1g+2g"), Edpm(of="3g"), EdpmExact(of="1g")])
def test_n_grams_alone_need_no_parse(metric):
    assert metric.needs == frozenset()
    batch = batch_of([example()])
    bare = replace(batch, hypotheses=replace(batch.hypotheses, heads=None, arcs={}))
    assert np.isfinite(metric.stats(bare)).all()


def test_needs_follow_from_the_options():
    assert Dpm().needs == {"heads"}
    assert Dpm(parses=9).needs == {Arcs(9, 0.25)}
    assert Edpm(gamma=0.5).needs == {Arcs(50, 0.5)}
    assert EdpmExact(gamma=0.5).needs == {Arcs(0, 0.5)}
    assert MuPr(parses=3, gamma=0).needs == {Arcs(3, 0)}


@pytest.mark.parametrize("text", FAMILY)
def test_decompositions_on_the_command_line_and_in_formulas(text):
    one = registry.metric(text.format("dlh+3g"))
    assert len(one.stat_names) == 6
    both = registry.metric(f"0.5*{text.format('dlh+3g')} + 0.5*bleu")
    assert both.metrics[0] == one
    assert registry.metric(both.signature) == both


@pytest.mark.parametrize("text", FAMILY)
@pytest.mark.parametrize(
    ("of", "fault"),
    [
        ("dl+x", "'x' is no decomposition; choose from 1g to 9g, dl"),
        ("10g", "'10g' is no decomposition"),
        ("dl+", "'' is no decomposition"),
        ("dl+1g+dl", "dl is named twice"),
    ],
)
def test_wrong_decompositions_are_named(text, of, fault):
    with pytest.raises(ConfigError, match=fault):
        registry.metric(text.format(of))


@given(corpora(layers=("heads",)))
def test_scores_are_those_of_the_twin(corpus):
    batch = batch_of(corpus)
    for combination in ("f", "mu-pr"):
        for metric, options in (
            (Dpm(combination=combination), {}),
            (Dpm(of="dlh+dh", combination=combination), {"of": "dlh+dh"}),
            (Edpm(combination=combination), {"parses": 50}),
            (Edpm(of="lh+3g+dlh+1g"), {"of": "lh+3g+dlh+1g", "parses": 50}),
            (EdpmExact(gamma=1.0, combination=combination), {"parses": 0, "gamma": 1.0}),
            (EdpmExact(gamma=0.0), {"parses": 0, "gamma": 0.0}),
        ):
            how = {"combination": getattr(metric, "combination", "f"), **options}
            expected = oracles.dpm(corpus, **how)
            found = float(metric.score(metric.stats(batch).sum(axis=0)))
            alone = metric.score(metric.stats(batch))
            for segment, value in zip(corpus, alone, strict=True):
                assert value == pytest.approx(oracles.dpm([segment], **how), abs=1e-9)
            if len(corpus) == 1 or all(len(s.references) == 1 for s in corpus):
                assert found == pytest.approx(expected, abs=1e-9)
    assert scored(MuPr(), *corpus) == scored(Dpm(combination="mu-pr"), *corpus)
