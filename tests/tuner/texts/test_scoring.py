import numpy as np
import pytest

import portmert
from portmert.metrics.bleu import Bleu
from portmert.metrics.port import Port
from portmert.tuner.components import registry
from portmert.tuner.texts.prepare import Preparation
from portmert.tuner.texts.scoring import as_json, as_text, score_texts
from tests.metrics.test_port import EXAMPLE
from tests.support.strategies_metrics import batch_of


def scores():
    return score_texts([Bleu(smooth="exp"), Port()], batch_of(EXAMPLE), Preparation())


def test_corpus_score_is_that_of_summed_statistics():
    bleu, port = scores()
    assert port.score == pytest.approx(0.571785, abs=1e-6)
    assert port.parts["v"] == 0.75
    assert port.segment_scores[0] == pytest.approx(0.658900, abs=1e-6)
    assert bleu.segment_scores.shape == (2,)


def test_signature_holds_references_case_and_version():
    assert scores()[0].signature == (
        f"bleu:max_order=4,reflen=closest,smooth=exp|refs:var|case:mixed|portmert:"
        f"{portmert.__version__}"
    )


def test_json_has_one_entry_a_metric_and_on_request_one_a_segment():
    document = as_json(scores(), by_segment=True)
    assert document["segments"] == 2
    assert [entry["metric"] for entry in document["scores"]] == ["bleu", "port"]
    assert set(document["scores"][0]) == {
        "metric", "signature", "higher_is_better", "score", "parts",
    }  # fmt: skip
    assert [entry["segment"] for entry in document["segment_scores"]] == [0, 1]
    assert document["segment_scores"][0]["scores"][1] == {
        "metric": "port",
        "score": pytest.approx(0.658900, abs=1e-6),
    }
    assert "segment_scores" not in as_json(scores(), by_segment=False)


def test_text_is_in_percent_and_ends_with_signatures():
    lines = as_text(scores(), by_segment=False).splitlines()
    assert lines[0].split()[:4] == ["metric", "score", "p1", "p2"]
    assert lines[3].split()[:3] == ["port", "57.18", "100.00"]
    assert "2 segments, 7 hypothesis tokens, 8 reference tokens, ratio 0.875" in lines
    assert lines[-1].startswith("port:alpha=0.25")


def test_text_lists_segments_on_request():
    last = as_text(scores(), by_segment=True).splitlines()[-2:]
    assert [line.split()[0] for line in last] == ["0", "1"]
    assert last[0].split()[2] == "65.89"


def test_more_than_one_hypothesis_a_segment_is_a_wrong_call():
    batch = batch_of(EXAMPLE)
    two = type(batch)(
        batch.hypotheses,
        np.array([0, 2]),
        batch.references,
        np.array([0, 3]),
        batch.source_lengths[:1],
    )
    with pytest.raises(ValueError, match="exactly one hypothesis"):
        score_texts([Bleu()], two, Preparation())
    with pytest.raises(ValueError, match="at least one segment"):
        score_texts([Bleu()], batch.segments(0, 0), Preparation())


def test_metrics_of_one_name_are_told_apart():
    several = [registry.metric(text) for text in ("1 - ter", "0.5 * chrf", "wer")]
    table = as_text(score_texts(several, batch_of(EXAMPLE), Preparation()), by_segment=True)
    assert [line.split("  ")[0].split(":")[0] for line in table.splitlines()[2:5]] == [
        "1 - ter", "0.5 * chrf", "wer ↓",
    ]  # fmt: skip
    orders = [registry.metric(f"bleu:max_order={order}") for order in (2, 3)]
    table = as_text(score_texts(orders, batch_of(EXAMPLE), Preparation()), by_segment=False)
    assert [line.split()[0] for line in table.splitlines()[2:4]] == [
        "bleu:max_order=2", "bleu:max_order=3",
    ]  # fmt: skip
