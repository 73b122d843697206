"""`portmert optimize`, as users call it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.support.cli import run
from tests.support.places import MOSES, ROOT, needs

LIST = """\
0 ||| the cat sat ||| LM0= -3 -1 WP0= -3 ||| 0 ||| 0-0 1-1 2-2
0 ||| cat the sat ||| LM0= -2 -2 WP0= -3 ||| 0 ||| 1-0 0-1 2-2
1 ||| a dog ran home ||| LM0= -4 -1 WP0= -4 ||| 0 ||| 0-0 1-1 2-2
1 ||| dog ran home a ||| LM0= -3 -2 WP0= -4.5 ||| 0 ||| 1-0 2-1 0-3
"""


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("list").write_text(LIST)
    Path("ref").write_text("the cat sat\na dog ran home\n")
    Path("src").write_text("x y z\nx y z\n")
    Path("links").write_text("0-0 1-1 2-2\n0-0 1-1 2-2 2-3\n")
    Path("start.json").write_text('{"weights": {"LM0": [0.5, 0.4], "WP0": [0.1]}}')
    return tmp_path


def optimize(*arguments, status=0):
    return run("optimize", *arguments, status=status)


PORT = ("--metric", "port", "--source", "src", "--ref-links", "links", "--ref", "ref")
BASE = (
    *PORT,
    "--nbest",
    "list",
    "--weights",
    "start.json",
    "--optimizer",
    "mert",
    "--set",
    "searches_per_feature=40",
    "--out",
    "w.json",
)


def test_json_has_what_the_contract_names():
    result = optimize(*BASE, "--json")
    report = json.loads(result.stdout)
    assert set(report) == {
        "first_score",
        "start_score",
        "final_score",
        "unseen_score",
        "unseen_error",
        "oracle_score",
        "higher_is_better",
        "restarts",
        "weights",
        "contributions",
        "hypotheses",
        "line_searches",
        "seconds",
        "warnings",  # of few segments
    }
    assert report["start_score"] < report["final_score"] == pytest.approx(1.0)
    assert report["hypotheses"] == 4
    assert set(report["seconds"]) >= {"reading", "statistics", "search", "total"}
    written = json.loads(Path("w.json").read_text())
    assert written["weights"] == report["weights"]
    assert written["score"] == report["final_score"]
    assert written["metric"].startswith("port:")


def test_score_is_found_again_by_rerank_and_score():
    report = json.loads(optimize(*BASE, "--json").stdout)
    run("rerank", "--nbest", "list", "--weights", "w.json", "--out", "best", "--links-out", "bl")
    scored = run("score", *PORT, "--hyp", "best", "--hyp-links", "bl", "--json")
    assert json.loads(scored.stdout)["scores"][0]["score"] == report["final_score"]


def test_same_seed_same_bytes_for_any_threads():
    contents = []
    for threads in (1, 2, 3):
        optimize(*BASE, "--restarts", 3, "--seed", 5, "--threads", threads)
        contents.append(Path("w.json").read_bytes())
    assert contents[0] == contents[1] == contents[2]
    optimize(*BASE, "--restarts", 3, "--seed", 6)
    assert Path("w.json").read_bytes() != contents[0]


def test_text_output_has_the_result_first_then_weights_and_signature():
    lines = optimize(*BASE).stdout.splitlines()
    assert lines[0] == "port 100.00 -> 100.00"
    assert lines[1].startswith("start weights 56.93, oracle 100.00; 4 hypotheses")
    assert lines[3] == "Weights"
    assert lines[5].split() == ["feature", "weight", "share"]
    assert lines[-2].startswith("port:alpha=")
    assert lines[-1] == "weights: w.json"


def test_without_out_the_weights_are_shown_and_not_kept():
    before = set(Path().iterdir())
    shown, kept = (
        re.sub(r"[\d.]+ s$", "", optimize(*words).stdout, flags=re.MULTILINE).splitlines()
        for words in (BASE[:-2], BASE)
    )
    assert shown[-1] == "weights: not kept; --out FILE keeps them"
    assert shown[:-1] == kept[:-1]
    assert {path.name for path in set(Path().iterdir()) - before} == {"w.json"}


def test_weights_on_stdout_leave_it_to_them():
    result = optimize(*BASE[:-1], "-")
    assert json.loads(result.stdout)["score"] == pytest.approx(1.0)
    assert "weights: -" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--metric'"),
        (("--metric", "bleu", "--out", "w"), "Missing option '--nbest'"),
        ((*BASE, "--seed", "-1"), "-1 is not in the range x>=0"),
    ],
)
def test_wrong_usage_exits_with_2(arguments, message):
    result = optimize(*arguments, status=2)
    assert message in result.stderr
    assert not Path("w.json").exists()


def without(*options):
    arguments = list(BASE)
    for option in options:
        at = arguments.index(option)
        del arguments[at : at + 2]
    return arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*BASE, "--optimizer", "powel"), "unknown optimizer 'powel'; did you mean 'powell'?"),
        (
            (*BASE, "--set", "searches_per_feature=3"),
            "--set: option 'searches_per_feature' is given twice",
        ),
        (
            (*BASE, "--set", "searches_per_featur=3"),
            (
                "optimizer mert has no option 'searches_per_featur'; "
                "did you mean 'searches_per_feature'?"
            ),
        ),
        (("--metric", "bleu", "--out", "w.json", "--nbest", "list"), "give them too (--ref)"),
        (without("--ref-links"), "needs word alignments; missing: links of the references"),
        (without("--source", "--ref-links"), "missing: the source text, links of the references"),
    ],
)
def test_faults_of_input_are_one_line_and_status_1(arguments, message):
    result = optimize(*arguments, status=1)
    errors = [line for line in result.stderr.splitlines() if "error" in line]
    assert len(errors) == 1
    assert message in errors[0]
    assert "Traceback" not in result.output
    assert not Path("w.json").exists()


def test_disk_full_leaves_older_weights_alone(files, monkeypatch):
    Path("w.json").write_text("older")

    full = Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr(os, "fsync", full)
    result = optimize(*BASE, status=1)
    assert "w.json: cannot write: No space left on device" in result.stderr
    assert Path("w.json").read_text() == "older"
    assert not list(files.glob(".*"))


def test_killed_leaves_older_weights_alone():
    Path("w.json").write_text("older")
    program = (
        "import os, signal, portmert.tuner.base.files as files\n"
        "files.os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from portmert.tuner.cli import main\n"
        f"main({['optimize', *BASE]!r})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == -9, done.stderr
    assert Path("w.json").read_text() == "older"


REAL = MOSES / "mert-bleu"


@needs(REAL)
def test_moses_own_files_reach_more_than_moses(tmp_path):
    # Moses' mert: 0.36837 to 0.37042 in five seeds (README there). 169,370 after duplicates.
    dats = []
    for n in range(1, 8):
        dats += ["--features-dat", REAL / f"run{n}.features.dat.gz"]
        dats += ["--scores-dat", REAL / f"run{n}.scores.dat.gz"]
    weights = ("--weights", REAL / "run1.dense", "--out", tmp_path / "w.json")
    result = run("optimize-dat", "--metric", "bleu", *dats, *weights, "--optimizer", "mert",
                 "--set", "searches_per_feature=100", "--json")  # fmt: skip
    report = json.loads(result.stdout)
    assert report["hypotheses"] == 169370
    assert report["start_score"] == pytest.approx(0.29836, abs=1e-5)
    assert report["final_score"] > 0.3705


@needs(REAL)
def test_the_default_says_what_weights_are_worth_on_unseen_text(tmp_path):
    features, scores = (REAL / f"run1.{name}.dat.gz" for name in ("features", "scores"))
    lists = ("--features-dat", features, "--scores-dat", scores)
    given = ("optimize-dat", "--metric", "bleu", *lists, "--weights", REAL / "run1.dense",
             "--seed", 3)  # fmt: skip
    text = run(*given, "--out", tmp_path / "w.json", "--json", tmp_path / "report.json").stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["start_score"] < report["unseen_score"] < report["final_score"]
    # The deviation of the BLEU of 500 segments of ten words.
    assert 0.005 < report["unseen_error"] < 0.02
    score, error = (100 * report[f"unseen_{name}"] for name in ("score", "error"))
    assert f"{100 * report['final_score']:.2f} (unseen {score:.2f} +- {error:.2f})\n" in text


def test_the_default_says_that_it_stays_at_the_start():
    # What is right in one segment is what is wrong in the other.
    Path("ref").write_text("the cat sat\ndog ran home a\n")
    result = optimize(*without("--optimizer", "--set"), "--json")
    report = json.loads(result.stdout)
    assert report["unseen_score"] == report["final_score"] == report["start_score"]
    assert "on segments that were held out" in result.stderr


@pytest.mark.parametrize("form", ["lists", "dat"])
def test_bootstrap_says_how_weights_vary(form):
    if form == "lists":
        arguments = ("optimize", *BASE)
    else:
        Path("features").write_text(
            "FEATURES_TXT_BEGIN_0 0 2 2 A0_0 B0_0\n1 0\n0 1\nFEATURES_TXT_END_0\n"
            "FEATURES_TXT_BEGIN_0 1 2 2 A0_0 B0_0\n1 0\n0 1\nFEATURES_TXT_END_0\n"
        )
        Path("scores").write_text(
            "SCORES_TXT_BEGIN_0 0 2 9 BLEU\n4 4 3 3 2 2 1 1 4\n1 4 0 3 0 2 0 1 4\n"
            "SCORES_TXT_END_0\nSCORES_TXT_BEGIN_0 1 2 9 BLEU\n4 4 3 3 2 2 1 1 4\n"
            "1 4 0 3 0 2 0 1 4\nSCORES_TXT_END_0\n"
        )
        arguments = ("optimize-dat", "--metric", "bleu", "--features-dat", "features",
                     "--scores-dat", "scores", "--optimizer", "mert:searches_per_feature=40",
                     "--out", "w.json")  # fmt: skip
    plain = run(*arguments)
    shown = run(*arguments, "--bootstrap", 3)
    assert "3 samples" in shown.stdout
    assert "97.5 %" in shown.stdout
    assert (
        shown.stdout.partition("\n")[0] == plain.stdout.partition("\n")[0]
    )  # the result is the same
    report = json.loads(run(*arguments, "--bootstrap", 3, "--json").stdout)
    assert report["bootstrap"]["samples"] == 3
    for name, numbers in report["weights"].items():
        assert len(report["bootstrap"]["weights"][name]) == len(numbers)
        # The two segments are alike, so no sample of them gives other weights.
        assert set(report["bootstrap"]["weights"][name]) == {None}


def test_a_prior_keeps_the_start_where_the_metric_gains_little():
    optimize(*BASE, "--prior", 1000)
    weights = json.loads(Path("w.json").read_text())["weights"]
    assert weights["LM0"] == pytest.approx([0.5, 0.4], abs=0.01)
    optimize(*BASE, "--prior", -1, status=2)
