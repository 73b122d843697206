"""Segments without an analysis have their back-off value wherever segments are scored."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from portmert.extensions.metaeval.data import MetricScores
from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison.scores import Counted
from tests.support.cli import run

SEMANTICS = Path(__file__).parents[2] / "configs/semantics"
# Two segments with a value, and one without that shares one word of six.
STATS = np.array([[0.8, 1, 0, 0.6, 1], [0.5, 1, 0, 0.5, 1], [0, 0, 1 / 6, 0, 1]])
BACK_OFF = [0.8, 0.5, 0.65 / 6]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sr-or_b", BACK_OFF),
        ("DR-STM-4_b", BACK_OFF),
        ("sr-or", [0.8, 0.5, 0]),
        ("0.5*sr-or_b", [value / 2 for value in BACK_OFF]),
    ],
)
def test_all_that_score_segments(name, expected):
    metric, total = registry.metric(name), STATS.sum(axis=0)
    assert metric.segment_scores(STATS, total) == pytest.approx(expected)
    assert float(metric.score(total)) == pytest.approx(np.mean(expected))
    (of_replicas,) = Counted(name, metric, [STATS[np.newaxis]]).segment_scores()
    assert of_replicas == pytest.approx(expected)
    # Two systems: each backs off by its own mean.
    both = np.stack([STATS, STATS * [0.5, 1, 1, 1, 1]], axis=1)
    scores = MetricScores(name, metric, "", both).segment_scores
    assert scores == pytest.approx(np.column_stack([expected, np.array(expected) / 2]))


def test_score_prints_what_the_corpus_averages(tmp_path):
    for side, line in (("hyp", "zzz her book"), ("ref", "he gave the book")):
        text = (SEMANTICS / f"{side}.txt").read_text()
        (tmp_path / side).write_text(f"{text}{line}\n")
    files = f"files={SEMANTICS}/roles.conllu,files={SEMANTICS}/drs.jsonl,missing=unparsed"
    shown = run(
        "score", "--hyp", tmp_path / "hyp", "--ref", tmp_path / "ref", "--metric", "sr-or_b",
        "--annotator", f"semantics:{files}", "--segments", "--json",
    )  # fmt: skip
    document = json.loads(shown.stdout)
    segments = [entry["scores"][0]["score"] for entry in document["segment_scores"]]
    assert segments == pytest.approx(BACK_OFF)
    assert document["scores"][0]["score"] == pytest.approx(np.mean(segments))


def test_a_text_with_itself_has_100_whatever_the_longest_path():
    files = f"files={SEMANTICS}/roles.conllu,files={SEMANTICS}/drs.jsonl"
    for name in ("dr-stm:average=true", "DR-STM-9"):
        shown = run(
            "score", "--hyp", SEMANTICS / "ref.txt", "--ref", SEMANTICS / "ref.txt",
            "--metric", name, "--annotator", f"semantics:{files}", "--json",
        )  # fmt: skip
        assert json.loads(shown.stdout)["scores"][0]["score"] == 1.0
