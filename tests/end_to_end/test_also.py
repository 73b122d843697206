"""`optimize --also`: what other metrics make of the weights, and the reminder of it."""

import json

import numpy as np
import pytest

import portmert
from tests.support.cli import run
from tests.support.places import INVENTED

QUALITY = INVENTED / "quality"
GIVEN = ("--nbest", QUALITY / "dev.nbest.gz", "--ref", QUALITY / "dev.ref", "--text", "debpe")
REMINDER = "report other metrics too: --also chrf"


def test_others_report_seen_and_unseen(tmp_path):
    out, document = tmp_path / "w.json", tmp_path / "found.json"
    result = run(
        "optimize", *GIVEN, "--metric", f"scores:{QUALITY / 'dev.comet'}", "--also", "chrf",
        "--also", "ter", "--out", out, "--json", document,
    )  # fmt: skip
    assert REMINDER not in result.output
    found = json.loads(document.read_text())
    chrf, ter = found["also"]
    assert [one["metric"].split("|")[0] for one in (chrf, ter)] == [
        "chrf:max_order=6,beta=2.0",
        "ter",
    ]
    # The scores are those of the hypotheses that rerank writes.
    steps = ("--nbest", QUALITY / "dev.nbest.gz", "--weights", out, "--text", "debpe")
    run("rerank", *steps, "--out", tmp_path / "best")
    for one, metric in ((chrf, "chrf"), (ter, "ter")):
        scored = portmert.score(tmp_path / "best", [QUALITY / "dev.ref"], metric=metric)
        assert one["final_score"] == pytest.approx(scored.score)
        assert np.isfinite(one["unseen_score"])
    assert chrf["unseen_score"] <= chrf["final_score"] + 0.05


def test_what_is_tuned_on_reports_the_same_as_other_metric():
    lists = portmert.Lists.read(QUALITY / "dev.nbest.gz", refs=QUALITY / "dev.ref", text="debpe")
    found = portmert.optimize(lists, "chrf", also=["chrf"])
    (same,) = found.also
    assert same.start_score == found.start_score
    assert same.score == found.score
    assert same.unseen_score == pytest.approx(found.unseen_score)
    assert str(same).startswith(f"{found.signature}: ")
    assert ", unseen " in str(same)


def test_without_others_a_line_reminds(tmp_path):
    scores = ("--metric", f"scores:{QUALITY / 'dev.comet'}", "--optimizer", "mert")
    result = run("optimize", *GIVEN, *scores, "--restarts", 1, "--out", tmp_path / "w.json")
    assert REMINDER in result.output
    result = run(
        "optimize", *GIVEN, *scores, "--restarts", 1, "--also", "bleu", "--out",
        tmp_path / "w.json",
    )  # fmt: skip
    assert REMINDER not in result.output
    assert "\nalso bleu:max_order=4" in result.output


def test_what_another_metric_lacks_is_said_before_the_search():
    searched = []
    with pytest.raises(portmert.PortmertError, match="metric port compares word orders"):
        portmert.optimize(
            portmert.Lists.read(QUALITY / "dev.nbest.gz", refs=QUALITY / "dev.ref"),
            "chrf",
            also=["port"],
            progress=lambda *come: searched.append(come),
        )
    assert not searched


def test_equal_metrics_report_once_and_so_do_notes(tmp_path):
    given = ("--nbest", QUALITY / "dev.nbest.gz", "--ref", QUALITY / "dev.ref")  # in subwords
    also = ("--also", "bleu", "--also", "bleu:max_order=4", "--also", "ter")
    search = ("--optimizer", "mert", "--restarts", 1, "--out", tmp_path / "w.json")
    result = run("optimize", *given, "--metric", "chrf", *also, *search)
    assert result.stdout.count("\nalso ") == 2
    assert result.stderr.count("of the hypotheses' tokens stand in no reference") == 1


def test_wrong_usage(tmp_path):
    result = run(
        "optimize", *GIVEN, "--metric", "bleu", "--also", "chrff", "--out", tmp_path / "w",
        status=1,
    )  # fmt: skip
    assert "unknown metric 'chrff'" in result.output
    lists = portmert.Lists.from_arrays(np.zeros((1, 2, 1)), scores=[[0, 1]])
    with pytest.raises(portmert.PortmertError, match="reads texts, and these lists have none"):
        portmert.optimize(lists, also=["chrf"])
