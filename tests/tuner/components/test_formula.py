"""Objectives by formula: their grammar, their arithmetic, and that they are metrics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.tuner.base.errors import ConfigError
from portmert.tuner.components import registry
from portmert.tuner.components.formula import Formula, is_formula, parse
from tests.support.cli import run
from tests.support.examples import examples
from tests.support.strategies_metrics import batch_of, corpora

NAMES = ("bleu", "qmean", "port")


def scores_of(text, **scores):
    """The formula's value where each metric has a given score."""
    formula = registry.metric(text)
    values = [np.array(scores[metric.name().replace("-", "_")]) for metric in formula.metrics]
    return float(formula.value(values))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.6*port + 0.4*bleu", 0.6 * 0.5 + 0.4 * 0.25),
        ("2*port - bleu / bleu", 0.0),
        ("port - -bleu - 0.1 + 0.05", 0.5 + 0.25 - 0.1 + 0.05),
        ("1 - (1 - port) - (0.1 - bleu)", 0.5 - 0.1 + 0.25),
        ("port / 2 / 2 * 3", 0.375),
        ("(port + bleu) * .5", 0.375),
        ("min(port, bleu, 0.3)", 0.25),
        ("0.5*max(port,bleu) + 1e-1", 0.35),
        ("port - 1 / (bleu - 0.25)", 0.5 - 1e9),  # 1 / 0 is 1e9
        ("-(1 - port) * -1 * -1 + bleu", -0.25),
    ],
)
def test_value_by_hand(text, value):
    assert scores_of(text, port=0.5, bleu=0.25) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("port", False),
        ("bleu-sbp", False),
        ("port:alpha=0.5,order=rho", False),
        ("bleu:smooth=moses+1", False),
        ("port:alpha", False),  # a faulty option: its own message is better
        ("0.5*port", True),
        ("port:alpha=0.5 + bleu", True),
        ("-ter", True),
        ("port bleu", True),
        ("2", True),
    ],
)
def test_a_formula_is_told_from_a_name(text, is_one):
    assert is_formula(text) is is_one


def test_a_formula_is_in_percent_where_all_its_metrics_are():
    assert registry.metric("0.5*port + 0.5*bleu").shown(0.5) == "50.00"
    assert registry.metric("0.5*port + 0.1*nist").shown(0.5) == "0.5000"


def test_options_end_where_the_grammar_says():
    formula = registry.metric("min(bleu:smooth=moses+1,max_order=2,qmean:recall_cap=true) + bleu")
    assert [metric.signature for metric in formula.metrics] == [
        registry.metric(text).signature
        for text in ("bleu:smooth=moses+1,max_order=2", "qmean:recall_cap=true", "bleu")
    ]


def test_each_distinct_metric_is_counted_once():
    formula = registry.metric("0.5*bleu + bleu:max_order=4 * 0.1 + bleu:max_order=2")
    assert len(formula.metrics) == 2
    assert formula.labels == ("bleu#1", "bleu#2")
    assert formula.stat_names[0] == "bleu#1.matched_1"
    assert len(formula.stat_names) == 9 + 5


def test_needs_are_those_of_all_parts():
    assert registry.metric("0.5*bleu + 0.5*port").needs == {"links"}
    assert registry.metric("0.5*bleu + 0.5*qmean").needs == frozenset()


def test_better_is_where_its_metrics_get_better():
    assert registry.metric("0.5*port + 0.5*(1-ter)").higher_is_better
    assert not registry.metric("0.5*ter + (1 - port)").higher_is_better
    assert registry.metric("-ter").higher_is_better


@pytest.mark.parametrize("text", ["./wer", "../bin/wer", "/bin/wer", "~/wer"])
def test_a_path_is_no_formula(text):
    with pytest.raises(
        ConfigError, match=r"unknown metric '.*wer'; a program is written command:"
    ):
        registry.metric(text)


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("0.5*prt", "unknown metric 'prt'; did you mean 'port'?", 5),
        ("0.5*port +", "it cannot be read on from here", 11),
        ("0.5*(port", "'(' was never closed", 5),
        ("0.5*port)", "unmatched ')'", 9),
        ("0.5*(port, bleu)", "found what is no value: between values stand signs", 5),
        ("bleu (port)", "found what is no value", 1),
        ("port * * bleu", "it cannot be read on from here", 8),
        ("port ** bleu", "cannot read '**'", 1),
        ("port bleu", "it cannot be read on from here", 6),
        ("port ; bleu", "cannot read ';'", 6),
        ("min(port, bleu, **ter)", "found what is no value", 1),
        ("min(port)", "min takes two values or more, separated by commas", 1),
        ("2*bleu-qmean", "a sign behind a metric needs spaces around it", 3),
        ("2*port:alpha=x", "metric port: alpha", 3),
        ("__import__('os').getcwd()", "cannot read '_'", 1),
        ("bleu / 0", "division by 0", 1),
        ("(" * 200 + "bleu" + ")" * 200, "or 100 brackets and minuses", 101),
    ],
)
def test_an_error_shows_the_place(text, message, column):
    with pytest.raises(ConfigError) as raised:
        registry.metric(text)
    first, excerpt, caret = str(raised.value).split("\n")
    assert message in first
    assert first.endswith(f"(column {column})")
    at = column - 1
    assert excerpt == f"    {text[max(0, at - 40) : at + 40]}"
    assert caret == "    " + " " * min(at, 40) + "^"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 + 2", "no metric in it"),
        ("bleu - 4", "the constant -4 takes its value out of 0..1, to -4..-3"),
        ("2 * (bleu - 1)", "the constant -2 takes its value out of 0..1"),
        ("bleu + 0.5", "the constant 0.5 takes its value out of 0..1, to 0.5..1.5"),
        ("port + ter", "it rises where port gets better and falls where ter does"),
        ("bleu * 2 - bleu - bleu", "its value does not depend on bleu"),
    ],
)
def test_a_formula_at_odds_with_itself_is_refused(text, message):
    with pytest.raises(ConfigError, match=r"formula '") as raised:
        registry.metric(text)
    assert message in str(raised.value)


def trees():
    leaves = st.one_of(
        st.sampled_from(NAMES),
        st.floats(0.01, 9, allow_nan=False).map(repr),
        st.integers(0, 9).map(str),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from("+-*/"), inner).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(
                lambda t: f"{t[0]}({t[1]},{t[2]})"
            ),
            inner.map(lambda text: f"-{text}"),
        ),
        max_leaves=8,
    )


@examples(300)
@given(trees(), st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
def test_value_is_python_s_own_and_survives_its_signature(text, scores):
    try:
        formula = parse(text, registry.metric)
    except ConfigError as error:
        assert "formula" in str(error)  # noqa: PT017  constant, contrary or without a metric
        return
    by_name = dict(zip(NAMES, scores, strict=True))
    values = [np.array(by_name[metric.name()]) for metric in formula.metrics]
    value = float(formula.value(values))
    try:
        # Python's own reading of the same text: what the tests may do and the program must not.
        expected = eval(text, {"min": min, "max": max, **by_name})  # noqa: S307
    except ZeroDivisionError:
        expected = None
    if expected is not None:
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)
    again = registry.metric(formula.signature) if is_formula(formula.signature) else None
    if again is not None:
        assert again == formula
        assert again.signature == formula.signature


@given(corpora())
def test_statistics_are_those_of_the_parts_and_scores_of_stacks_those_of_rows(corpus):
    batch = batch_of(corpus)
    formula = registry.metric("0.6*port + 0.4*min(bleu:smooth=exp, qmean)")
    stats = formula.stats(batch)
    parts = [registry.metric(name) for name in ("port", "bleu:smooth=exp", "qmean")]
    assert np.array_equal(stats, np.hstack([part.stats(batch) for part in parts]))
    total = stats.sum(axis=0)
    port, bleu, qmean = (part.score(part.stats(batch).sum(axis=0)) for part in parts)
    assert formula.score(total) == pytest.approx(0.6 * port + 0.4 * min(bleu, qmean))
    assert formula.parts(total)["qmean"] == float(qmean)
    stack = np.stack([stats, stats.cumsum(axis=0)], axis=1)
    assert formula.score(stack).shape == (len(corpus), 2)
    for row in range(len(corpus)):
        assert formula.score(stack[row, 1]) == formula.score(stack)[row, 1]


def test_a_formula_is_the_metric_where_it_only_names_it():
    assert isinstance(registry.metric("1*bleu"), Formula)
    assert not isinstance(registry.metric("bleu"), Formula)


def test_score_command_takes_a_formula(tmp_path):
    (tmp_path / "hyp").write_text("a b c d\n")
    (tmp_path / "ref").write_text("a b c e\n")
    output = run(
        "score", "--metric", "0.5*bleu:max_order=1 + 0.5*bleu:max_order=2", "--hyp",
        tmp_path / "hyp", "--ref", tmp_path / "ref",
    )  # fmt: skip
    # 3/4 and sqrt(3/4 * 2/3): (0.75 + 0.7071) / 2.
    assert "72.86" in output.stdout
    assert "bleu:max_order=1" in output.stdout


def test_a_path_may_have_slashes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "words").write_text("the\n")
    expected = "meteor:version=1.5,stem=false,language=english,function_words=words"
    for path in (tmp_path / "lists/words", "lists/words", "./lists/words", "lists/../lists/words"):
        text = f"meteor:version=1.5,function_words={path}"
        assert registry.metric(text).signature == expected
    # In a formula a path shows that it is one.
    formula = registry.metric("0.5*meteor:function_words=./lists/words,version=1.5 + 0.5*bleu")
    assert formula.metrics[0].signature == expected
    assert scores_of("bleu:max_order=2 / 2", bleu=0.5) == 0.25
