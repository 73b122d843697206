"""Metrics of meaning: from files, tuned on; bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import fault, run

LIST = """\
0 ||| Mary loves a man ||| LM0= -1 WP0= -4 ||| 0
0 ||| a man loves Mary ||| LM0= -3 WP0= -4 ||| 0
0 ||| man Mary ||| LM0= -9 WP0= -2 ||| 0
"""
SUBJECTS = {"Mary loves a man": ([0], [2, 3]), "a man loves Mary": ([0, 1], [3])}


def analysed(line):
    """Roles and boxes of a line; `man Mary` has no verb."""
    words = line.split()
    found = {"words": words, "tags": [word[0].upper() for word in words]}
    if line not in SUBJECTS:
        return found | {"roles": [], "drs": {"tag": "drs"}}
    subject, thing = SUBJECTS[line]
    verb = words.index("loves")
    arguments = [{"role": "A0", "words": subject}, {"role": "A1", "words": thing}]
    below = [{"tag": "rel", "symbol": "agent", "arg2": subject},
             {"tag": "rel", "symbol": "theme", "arg2": thing}]  # fmt: skip
    return found | {
        "roles": [{"verb": verb, "arguments": arguments}],
        "drs": {"tag": "drs", "children": [{"tag": "pred", "symbol": words[0]}, *below]},
    }


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PORTMERT_CACHE", str(tmp_path / "cache"))
    Path("list").write_text(LIST)
    Path("ref").write_text("a man loves Mary\n")
    lines = [line.split(" ||| ")[1] for line in LIST.splitlines()]
    text = "".join(json.dumps(analysed(line)) + "\n" for line in lines)
    Path("analyses.jsonl").write_text(text)
    Path("start.json").write_text('{"weights": {"LM0": [0.5], "WP0": [0.1]}}')


OPTIONS = ("--ref", "ref", "--annotator", "semantics:files=analyses.jsonl")


@pytest.mark.parametrize(
    ("metric", "begin"), [("sr-or", 0.0), ("dr-stm:length=2", 5 / 9), ("sr-mr_i", 0.5)]
)
def test_tuned_on_the_hypothesis_that_means_the_same_wins(metric, begin):
    """All words of the first hypothesis are right, and of the wrong arguments."""
    result = run(
        "optimize", "--metric", metric, "--nbest", "list", *OPTIONS, "--weights", "start.json",
        "--optimizer", "mert", "--set", "searches_per_feature=40", "--out", "w.json", "--json",
    )  # fmt: skip
    report = json.loads(result.stdout)
    assert report["start_score"] == pytest.approx(begin)
    assert report["final_score"] == 1.0
    run("rerank", "--nbest", "list", "--weights", "w.json", "--out", "best")
    assert Path("best").read_text() == "a man loves Mary\n"


@pytest.mark.parametrize("metric", ["dr-stm", "dr-orp"])
@pytest.mark.parametrize(("lacks", "beside"), [("roles", "sr-or"), ("tags", "posf")])
def test_a_score_does_not_depend_on_what_else_is_scored(metric, lacks, beside):
    """A sentence without roles has its discourse representation all the same."""
    line = "a man loves Mary"
    one = analysed(line)
    del one[lacks]
    Path("one.jsonl").write_text(json.dumps(one) + "\n")
    Path("hyp").write_text(f"{line}\n")
    files = ("--annotator", "semantics:files=one.jsonl,missing=unparsed")
    scores = []
    for metrics in ((metric,), (metric, beside), (beside, metric)):
        named = [part for name in metrics for part in ("--metric", name)]
        result = run("score", *named, "--hyp", "hyp", "--ref", "ref", *files, "--json")
        found = {one["metric"]: one["score"] for one in json.loads(result.stdout)["scores"]}
        scores.append(found[metric])
    expected = 0.0 if (metric, lacks) == ("dr-orp", "tags") else 1.0
    assert scores == [expected] * 3


def test_trees_alone_give_no_meaning():
    Path("trees").write_text("(S (D a) (N man) (V loves) (N Mary))\n")
    message = fault("score", "--metric", "sr-or", "--hyp", "ref", "--ref", "ref",
                    "--annotator", "ptb:files=trees")  # fmt: skip
    assert "annotator ptb gives no semantic roles; it gives parses, tags, tree" in message
