"""Neural lists, outside scores, length penalties and text steps, as users call them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.cli import run
from tests.support.places import SERVED

# BPE tokens; the second hypothesis of segment 0 is right, and longer
MARIAN = """\
0 ||| the c@@ at ||| F0= -2 F1= -1 ||| -2
0 ||| the c@@ at s@@ at down here ||| F0= -3 F1= -4 ||| -3
1 ||| a d@@ og ran ||| F0= -2.5 F1= -3 ||| -2
1 ||| dog ||| F0= -2 F1= -4 ||| -2
"""
REF = "the cat sat down here\na dog ran\n"


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("list").write_text(MARIAN)
    Path("ref").write_text(REF)
    Path("one.json").write_text('{"weights": {"F0": [1], "F1": [0.1]}}')


def optimize(*arguments, status=0):
    given = (
        "optimize",
        "--nbest",
        "list",
        "--optimizer",
        "mert",
        "--set",
        "searches_per_feature=20",
        "--out",
        "w.json",
    )
    return run(*given, *arguments, status=status)


def test_marian_list_is_tuned_and_reranked_after_its_subwords_are_joined():
    result = optimize("--metric", "bleu:smooth=add1", "--ref", "ref", "--text", "hyp:debpe")
    assert "note: Marian n-best, 2 models, 2 segments x 2, no word alignment" in result.stderr
    assert "|case:mixed|text:hyp:debpe|" in json.loads(Path("w.json").read_text())["metric"]
    result = run("rerank", "--nbest", "list", "--weights", "w.json", "--text", "debpe")
    assert result.stdout == REF


def test_lengths_are_searched_kept_and_honoured():
    fixed = ("--fix", "F1", "--sign", "F0=+", "--weights", "one.json", "--ref", "ref")
    options = ("--metric", "bleu:smooth=add1", "--text", "debpe", *fixed)
    without = json.loads(optimize(*options, "--json").stdout)
    assert "length_penalty" not in without
    result = optimize(*options, "--length-penalty", "0:2", "--json")
    report = json.loads(result.stdout)
    assert report["length_penalty"] > 0
    assert report["final_score"] == pytest.approx(1.0)
    assert report["start_score"] == without["start_score"]
    assert json.loads(Path("w.json").read_text())["length_penalty"] == report["length_penalty"]
    assert run("rerank", "--nbest", "list", "--weights", "w.json", "--text", "debpe").stdout == REF
    Path("again.json").write_text(Path("w.json").read_text())
    again = optimize(*options[:4], "--ref", "ref", "--weights", "again.json", "--json")
    assert f"length penalty {report['length_penalty']:g}, as in again.json" in again.stderr
    assert json.loads(again.stdout)["start_score"] == report["final_score"]
    assert json.loads(Path("w.json").read_text())["length_penalty"] == report["length_penalty"]


def test_scores_from_outside_are_tuned_on_without_references():
    Path("comet").write_text("0.1\n0.9\n0.2\n0.7\n")
    result = optimize("--metric", "scores:comet", "--json")
    report = json.loads(result.stdout)
    assert report["oracle_score"] == pytest.approx(0.8)
    plain = optimize("--metric", "scores:comet")
    assert "\nscores:comet|refs:0|" in plain.stdout
    assert "0.1500 -> 0.8000\nstart weights 0.1500, oracle 0.8000; 4 hypotheses" in plain.stdout


def test_scores_stay_with_their_lines_through_merging_and_duplicates():
    Path("list").write_text(MARIAN.splitlines(keepends=True)[1] + MARIAN)
    Path("second").write_text(
        MARIAN.splitlines(keepends=True)[0] + "1 ||| new ||| F0= 0 F1= 0 ||| 0\n"
    )
    # equal lines: the first one's score (0.9, 0.1) counts
    Path("one").write_text("0.9\n0.1\n0\n0.3\n0.2\n")
    Path("two").write_text("1\n0.4\n")
    result = run(
        "rerank", "--nbest", "list", "--nbest", "second", "--oracle", "scores:one,two",
        "--text", "debpe",
    )  # fmt: skip
    assert result.stdout == "the cat sat down here\nnew\n"
    assert "oracle scores:one,two: 0.6500" in result.stderr


def test_a_program_is_tuned_on_like_our_own_metric():
    command = f"command:{sys.executable} {SERVED} bleu:smooth=add1"
    ours = optimize("--metric", "bleu:smooth=add1", "--ref", "ref", "--text", "debpe", "--json")
    theirs = optimize("--metric", command, "--ref", "ref", "--text", "debpe", "--json")
    reports = [json.loads(result.stdout) for result in (ours, theirs)]
    for report in reports:
        del report["seconds"]
    assert reports[0] == reports[1]


def test_mismatch_of_tokens_is_warned_about():
    Path("hyp").write_text("Hello, you.\n" * 60)
    Path("ref60").write_text("Hello , you .\n" * 60)
    options = ("score", "--metric", "bleu", "--hyp", "hyp", "--ref", "ref60")
    result = run(*options)
    assert "100 % of the hypotheses' tokens stand in no reference" in result.stderr
    result = run(*options, "--text", "hyp:13a", "--json")
    assert result.stderr == ""
    entry = json.loads(result.stdout)["scores"][0]
    assert entry["score"] == pytest.approx(1.0)
    assert "|case:mixed|text:hyp:13a|" in entry["signature"]


def test_links_are_written_for_the_new_tokens():
    Path("list").write_text("0 ||| un@@ able cats ||| 0-0 0-1 1-2 2-3 ||| F0=-1 ||| -1\n")
    Path("f.json").write_text('{"weights": {"F0": [1]}}')
    run(
        "rerank", "--nbest", "list", "--weights", "f.json", "--text", "debpe", "--out", "out",
        "--links-out", "links",
    )  # fmt: skip
    assert Path("out").read_text() == "unable cats\n"
    assert Path("links").read_text() == "0-0 1-1\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("optimize", "--metric", "bleu", "--nbest", "list", "--ref", "ref", "--out", "w",
             "--text", "13a", "--lowercase"),
            "make it one of the steps, their order matters (--text lowercase,13a)",
        ),
        (("rerank", "--nbest", "list"), "give --weights, --by, or --mbr or --oracle"),
        (
            ("rerank", "--nbest", "list", "--weights", "w", "--ref", "r"),
            "--ref goes with --oracle",
        ),
    ],
)  # fmt: skip
def test_wrong_usage(arguments, message):
    result = run(*arguments, status=2)
    assert message in " ".join(result.stderr.split())


def test_a_run_tunes_on_a_neural_list_with_text_steps():
    Path("src").write_text("x\ny\n")
    Path("run.toml").write_text(
        """
        [tune]
        output = "run"
        iterations = 2
        nbest = 2
        [data]
        source = "src"
        references = ["ref"]
        text = ["hyp:debpe"]
        [metric]
        name = "bleu"
        smooth = "add1"
        [optimizer]
        name = "mert"
        searches_per_feature = 20
        [decoder]
        name = "recorded"
        lists = ["list"]
        format = "marian"
        """
    )
    run("tune", "run.toml")
    assert json.loads(Path("run/result.json").read_text())["dev_score"] == pytest.approx(1.0)
    refused = run("tune", "run.toml", "--set", "data.text=['debp']", status=1)
    assert "[data] text: unknown text step 'debp'; did you mean 'debpe'?" in refused.stderr
    refused = run("tune", "run.toml", "--set", "data.lowercase=true", status=1)
    assert "[data] lowercase and text: make lowercase one of the steps" in refused.stderr
    refused = run("tune", "run.toml", "--set", "decoder.format=marain", status=1)
    assert "format: unknown reader 'marain'; did you mean 'marian'?" in refused.stderr
