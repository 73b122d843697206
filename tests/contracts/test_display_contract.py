"""How values of every metric are shown: the number, the arrow and the better direction agree."""

from __future__ import annotations

import json

import pytest

import portmert
from portmert.metrics._base import Metric
from portmert.metrics._display import Display
from portmert.tuner import families
from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison.scores import in_families
from portmert.tuner.evaluation.comparison.sentences import against, headlines, summaries
from portmert.tuner.evaluation.formatting import ShownMetric
from portmert.tuner.texts.prepare import Preparation
from portmert.tuner.texts.scoring import as_json, as_text, score_texts
from portmert.tuner.texts.text_pipeline import TextPipeline
from tests.end_to_end.test_whole_way import NEAR, Everything
from tests.support.strategies_metrics import batch_of_pairs

METRICS = [pytest.param(registry.metric(name), id=name) for name in families.own_names("metric")]
FORMULAS = [
    pytest.param(registry.metric(text), id=text) for text in ("0.5*wer + 0.5*bleu", "1 - ter")
]
ERROR_RATES = {"wer", "cer", "cder", "per", "ter", "terp", "mter", "mer", "wil", "ser"}
LOW, HIGH = 0.25, 0.4375
"""Two scores; exact in binary."""


def described(metric: Metric):
    """What JSON says of a metric."""
    keys = ("in_percent", "higher_is_better", "is_error_rate")
    return {"label": metric.name(), **{key: getattr(metric, key) for key in keys}}


def number(text):
    return float(text.split()[0].replace("\N{MINUS SIGN}", "-"))


def test_error_rates_are_those_that_have_a_rate():
    found = {name for name in families.own_names("metric") if registry.metric(name).is_error_rate}
    assert found == ERROR_RATES


@pytest.mark.parametrize("metric", [*METRICS, *FORMULAS])
def test_value_arrow_and_differences_agree(metric):
    display, known = metric.display, described(metric)
    assert Display.of(known) == display
    shown = ShownMetric.of(known)
    unit = 100 if metric.in_percent else 1
    worse, better = (LOW, HIGH) if metric.higher_is_better else (HIGH, LOW)
    values = [number(display.shown(score)) for score in (worse, better)]
    assert display.lower_is_better == (values[1] < values[0])
    assert display.arrow == ("↓" if values[1] < values[0] else "↑")
    assert shown.directed.endswith("↓") == display.lower_is_better
    change = number(shown.signed(better - worse))
    assert change == number(shown.shown_change(better - worse))
    assert change == pytest.approx(values[1] - values[0])
    low, high = shown.span(LOW, HIGH)
    assert number(shown.shown(low)) < number(shown.shown(high))
    assert number(display.shown_spread(LOW)) == unit * LOW
    if metric.is_error_rate:
        assert metric.display.lower_is_better
        rate = 1 - LOW if metric.higher_is_better else LOW
        assert display.with_rates({"score": LOW}) == {"score": LOW, "rate": rate}
        assert display.with_rates([{"dev_score": None}]) == [{"dev_score": None, "dev_rate": None}]
    else:
        assert values == [unit * worse, unit * better]
        assert display.with_rates({"score": LOW}) == {"score": LOW}


@pytest.mark.parametrize("metric", METRICS)
def test_a_comparison_says_better_where_the_shown_value_is(metric):
    known = described(metric)
    scores = {
        "a": (HIGH, LOW)[metric.higher_is_better], "b": (LOW, HIGH)[metric.higher_is_better],
    }  # fmt: skip
    change = scores["b"] - scores["a"]
    rows = [
        {"metric": metric.name(), "system": name, "score": score, "s_opt": None, "s_sel": 0.0,
         "difference": change if name == "b" else None, "difference_low": change,
         "difference_high": change, "p": 0.01, "p_randomization": 0.01, "p_bootstrap": 0.01}
        for name, score in scores.items()
    ]  # fmt: skip
    tokens = {"hypothesis_tokens": 1, "reference_tokens": 1}
    document = {
        "systems": [
            {"name": name, "tuned_on": None, "replicas": 1, **tokens} for name in scores
        ],
        "metrics": [known], "scores": in_families(rows, [(metric.name(), "b")]),
        "confidence": 0.95, "tuning_luck_untested": [], "samples": 1, "seed": 1,
    }  # fmt: skip
    (line,), (summary,) = headlines(document), summaries(document)
    assert line.startswith(f"{ShownMetric.of(known).directed}: b is better than a")
    assert "b is better than a on" in summary
    assert against(document, "b")[0].startswith("b beats a")
    sign = "-" if metric.display.lower_is_better else "+"
    assert f"({sign}" in line
    assert f"{sign}{metric.display.shown_spread(abs(change))}, p = 0.0100" in line


@pytest.mark.parametrize("name", sorted(ERROR_RATES - {"terp"}))
def test_score_shows_the_rate_and_keeps_the_sign_of_the_score(name):
    metric = registry.metric(name)
    batch = batch_of_pairs((["a", "b", "x", "d"], ["a", "b", "c", "d"]))
    scores = score_texts([metric], batch, Preparation(TextPipeline()))
    rate = scores[0].rate
    assert rate == scores[0].parts["rate"]
    assert rate == 0.25 or name in ("cer", "ser", "wil")
    shown = as_text(scores, by_segment=True)
    assert f"{name} ↓" in shown
    assert shown.count(f"{100 * rate:.2f}") >= 2  # of the corpus and of its one segment
    assert f" {100 * (1 - rate):.2f}" not in shown
    document = as_json(scores, by_segment=True)
    for row in (document["scores"][0], document["segment_scores"][0]["scores"][0]):
        assert row["score"] == scores[0].score
        assert row["rate"] == pytest.approx(rate, abs=1e-12)
    assert document["scores"][0]["higher_is_better"] == metric.higher_is_better


def rates_beside_scores(document, turned):
    """Count the scores that have the rate beside them; raise if one has none."""
    if isinstance(document, list):
        return sum(rates_beside_scores(one, turned) for one in document)
    if not isinstance(document, dict):
        return 0
    turned = document.get("higher_is_better", turned)
    count = 0
    for key, score in document.items():
        count += rates_beside_scores(score, turned)
        if key == "score" or key.endswith("_score"):
            rate = document[key.removesuffix("score") + "rate"]
            if isinstance(score, float):
                assert rate == (1 - score if turned else score)
                count += 1
    return count


SOME = ("wer", "ter", "mer")
"""Higher scores, lower scores and a ratio of two sums; the others are shown by the same code."""


@pytest.mark.parametrize(
    "name",
    [*SOME, *(pytest.param(name, marks=pytest.mark.slow)
              for name in sorted(ERROR_RATES.difference(SOME)))],
)  # fmt: skip
def test_results_of_python_and_their_files_have_the_rate(name, tmp_path):
    decoder, metric = Everything(), registry.metric(name)
    turned, higher = metric.higher_is_better, f"higher_is_better={metric.higher_is_better}"
    settings = {"metric": name, "optimizer": "mert:restarts=1", "iterations": 1}
    tuned = decoder.tuned(tmp_path / "one", NEAR, **settings)
    document = json.loads((tmp_path / "one" / "result.json").read_text())
    assert rates_beside_scores(document, turned) > 2
    assert document["higher_is_better"] == turned
    assert rates_beside_scores(tuned.rows, turned) >= len(tuned.rows)
    assert f"dev_rate={document['dev_rate']!r}" in repr(tuned)
    assert higher in repr(tuned)
    lists = portmert.Lists.read(
        [tmp_path / "one" / "iteration-01" / "nbest.gz"], refs=[decoder.references],
        )  # fmt: skip
    found = portmert.optimize(lists, name, also=["wer"], optimizer="mert:restarts=1")
    lines = [hypotheses[0]["text"] for hypotheses in decoder.lists]
    score = portmert.score(lines, [decoder.references], metric=name)
    for result in (found, found.also[0], score):
        rate = 1 - result.score if result.metric.higher_is_better else result.score
        assert result.rate == result.rates["rate"] == rate
        assert f" rate={rate!r}" in repr(result)
        assert f"higher_is_better={result.higher_is_better}" in repr(result)
    assert found.rates["first_rate"] == found.as_json()["first_rate"]
    assert rates_beside_scores(found.as_json(), turned) > 2


def test_replicas_have_the_rate(tmp_path):
    tuned = Everything().tuned(tmp_path, NEAR, metric="wer", iterations=1, replicas=2)
    document = json.loads((tmp_path / "result.json").read_text())
    assert document == tuned.result.as_json()
    assert document["dev_rate"]["mean"] == 1 - document["dev_score"]["mean"]
    assert f"dev_rate={document['dev_rate']!r}" in repr(tuned)
    assert document["higher_is_better"]


def test_other_metrics_have_no_rate():
    score = portmert.score(["a b"], [["a b"]], metric="bleu")
    assert score.rate is None
    assert not score.rates
    assert "rate=" not in repr(score)
    assert "higher_is_better=True" in repr(score)
