"""Metrics that compare syntax: score, optimize, rerank and tune with an annotator."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from portmert.tuner import families
from portmert.tuner.components import registry
from portmert.tuner.texts.statistics import needs_of
from tests.support.bracketed import write_trees
from tests.support.cli import fault, run
from tests.support.places import INVENTED, MOSES, SHARED, needs
from tests.support.run_folders import products

CONFIG = INVENTED / "recorded.toml"
RECORDED = INVENTED / "recorded"
MODEL = SHARED / "data" / "parsers" / "models" / "en_ewt_micro.udpipe"

LIST = """\
0 ||| the cat sat ||| LM0= -3 -1 WP0= -3 ||| 0 ||| 0-0 1-1 2-2
0 ||| cat the sat ||| LM0= -2 -2 WP0= -3 ||| 0 ||| 1-0 0-1 2-2
0 ||| sat the dog ||| LM0= -9 -9 WP0= -3 ||| 0 ||| 1-0 0-1 2-2
1 ||| a dog ran home ||| LM0= -4 -1 WP0= -4 ||| 0 ||| 0-0 1-1 2-2
1 ||| dog ran home a ||| LM0= -3 -2 WP0= -4 ||| 0 ||| 1-0 2-1 0-3
"""
NEVER = "sat the dog"
"""Below all others for any positive weights, so that it never wins."""


@pytest.fixture(autouse=True)
def annotator(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PORTMERT_CACHE", str(tmp_path / "cache"))
    Path("list").write_text(LIST)
    Path("ref").write_text("the cat sat\na dog ran home\n")
    Path("src").write_text("x y z\nx y z\n")
    Path("links").write_text("0-0 1-1 2-2\n0-0 1-1 2-2 2-3\n")
    Path("hyp").write_text("cat the sat\na dog ran home\n")
    Path("start.json").write_text('{"weights": {"LM0": [0.5, 0.4], "WP0": [0.1]}}')
    lines = [line.split(" ||| ")[1] for line in LIST.splitlines()]
    return write_trees(tmp_path / "trees.mrg", lines)


PLAIN = ("--hyp", "hyp", "--ref", "ref")


def test_scores_say_who_parsed(annotator):
    metrics = ("--metric", "edpm", "--metric", "posf", "--metric", "stm-f", "--metric", "bleu")
    cold = run("score", *metrics, *PLAIN, "--annotator", annotator, "--json")
    scores = json.loads(cold.stdout)["scores"]
    assert [score["metric"] for score in scores] == ["edpm", "posf", "stm-f", "bleu"]
    assert all(0 < score["score"] < 1 for score in scores)
    assert all("|annotator:ptb 1 " in score["signature"] for score in scores[:3])
    assert "annotator" not in scores[3]["signature"]
    # From the cache the same.
    assert run("score", *metrics, *PLAIN, "--annotator", annotator, "--json").stdout == cold.stdout


def test_lowercasing_is_for_words_and_not_for_the_parser(annotator):
    lines = ["Cat The Sat", "A Dog Ran Home", "the cat sat", "a dog ran home"]
    cased = write_trees(Path("cased.mrg"), lines)  # has no lowercased hypothesis
    options = ("score", "--metric", "tkm:lexical=true", "--json", *PLAIN)
    plain = json.loads(run(*options, "--annotator", annotator).stdout)["scores"][0]
    Path("hyp").write_text("Cat The Sat\nA Dog Ran Home\n")
    lower = json.loads(run(*options, "--lowercase", "--annotator", cased).stdout)["scores"][0]
    assert 0 < lower["score"] == plain["score"] < 1
    assert "|case:lc|" in lower["signature"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("udpip:model=x", "unknown annotator 'udpip'; did you mean 'udpipe'?"),
        ("udpipe:model=none.udpipe", "none.udpipe: no such model; give one of UDPipe 1"),
        ("udpipe", "annotator udpipe: model must be given"),
        ("ptb:file=trees.mrg", "annotator ptb has no option 'file'; did you mean 'files'?"),
        ("ptb:files=none.mrg", "none.mrg: "),
        ("ptb:files=hyp", "hyp:1: "),
        ("udpipe:model=hyp", "hyp: no model of UDPipe 1"),
    ],
)
def test_an_annotator_that_cannot_work_is_one_line(text, said):
    message = fault("score", "--metric", "edpm", *PLAIN, "--annotator", text)
    assert said in message
    assert message.splitlines()[-1].startswith("portmert: ")
    assert "Traceback" not in message


def test_an_annotator_for_nothing_is_said(annotator):
    result = run("score", "--metric", "bleu", *PLAIN, "--annotator", annotator)
    assert "no metric here compares syntax" in result.stderr


def optimize(annotator, *options, metric="edpm", out="w.json"):
    bounds = [word for name in ("LM0", "WP0") for word in ("--sign", f"{name}=+")]
    return run(
        "optimize", "--metric", metric, "--nbest", "list", "--ref", "ref",
        "--weights", "start.json", "--optimizer", "mert", "--set", "searches_per_feature=40",
        "--restarts", 2,
        *bounds,
        "--annotator", annotator, "--out", out, *options,
    )  # fmt: skip


def test_only_what_can_win_is_annotated():
    lines = [line.split(" ||| ")[1] for line in LIST.splitlines()]
    # A sentence that is in no file stops the run; that of this hypothesis is not looked for.
    annotator = write_trees(Path("few.mrg"), [line for line in lines if line != NEVER])
    report = json.loads(optimize(annotator, "--json").stdout)
    assert report["final_score"] == 1.0
    assert report["hypotheses"] == 5
    assert report["annotated"] == 4
    assert (report["hits"], report["misses"], report["failed"]) == (0, 4, 0)
    again = json.loads(optimize(annotator, "--json").stdout)
    assert (again["hits"], again["misses"]) == (4, 0)
    assert again["weights"] == report["weights"]
    assert report["seconds"]["annotating"] >= again["seconds"]["annotating"] == 0
    shown = optimize(annotator).stdout
    assert "annotated: 4 hypotheses (80.0%); sentences: 4 from the cache, 0 new" in shown
    assert "0 without a parse; 0.0 s" in shown
    assert "|annotator:ptb 1 " in json.loads(Path("w.json").read_text())["metric"]


def test_an_optimizer_that_compares_all_has_all_annotated(annotator):
    result = run(
        "optimize", "--metric", "edpm", "--nbest", "list", "--ref", "ref", "--optimizer", "kbmira",
        "--restarts", 1, "--annotator", annotator, "--out", "w.json", "--json",
    )  # fmt: skip
    assert "all 5 of the lists are annotated" in result.stderr
    assert json.loads(result.stdout)["annotated"] == 5


def test_a_formula_of_word_order_and_syntax_is_tuned_on(annotator):
    options = ("--source", "src", "--ref-links", "links", "--bootstrap", 3, "--json")
    report = json.loads(optimize(annotator, *options, metric="0.5*port + 0.5*edpm").stdout)
    assert report["start_score"] < report["final_score"] == pytest.approx(1.0)
    assert report["bootstrap"]["samples"] == 3


def test_a_length_penalty_is_searched_with_syntax(annotator):
    report = json.loads(optimize(annotator, "--length-penalty", "0:1", "--json").stdout)
    assert report["final_score"] == 1.0


def test_rerank_chooses_for_syntax(annotator):
    options = ("rerank", "--nbest", "list", "--oracle", "edpm", "--ref", "ref")
    result = run(*options, "--annotator", annotator, "--weights", "start.json")
    assert result.stdout == "the cat sat\na dog ran home\n"
    assert "oracle edpm:of=" in result.stderr
    wrong = ("rerank", "--nbest", "list", "--weights", "start.json", "--annotator", annotator)
    assert "--annotator goes with --oracle" in fault(*wrong, status=2)


def recorded_sentences():
    for name in ("1.nbest.gz", "2.nbest.gz"):
        with gzip.open(RECORDED / name, "rt", encoding="utf-8") as lines:
            yield from (line.split(" ||| ")[1] for line in lines)
    yield from (RECORDED / "dev.tgt").read_text(encoding="utf-8").splitlines()


def tune(folder, annotator, *options, status=0):
    return run(
        "tune", CONFIG, "--set", f"tune.output={folder}", "--set", "metric.name=edpm",
        "--set", "tune.iterations=2", "--set", "optimizer.longest=15", "--annotator", annotator,
        *options, status=status,
    )  # fmt: skip


def test_tune_on_syntax_from_end_to_end(tmp_path):
    annotator = write_trees(tmp_path / "recorded.mrg", recorded_sentences())
    cache = ("--annotation-cache", tmp_path / "own")
    shown = tune(tmp_path / "cold" / "run", annotator, *cache, "--threads", 1)
    folder = tmp_path / "cold" / "run"
    result = json.loads((folder / "result.json").read_text())
    assert result["metric"].startswith("edpm:of=1g+2g+dl+lh,parses=50")
    assert result["dev_score"] > result["start_dev_score"] + 0.015
    assert (tmp_path / "own" / "annotations.sqlite3").is_file()
    assert not (tmp_path / "cache").exists()
    first = json.loads((folder / "iteration-01" / "annotation.json").read_text())
    assert first["scoring"]["hits"] == 0
    assert first["scoring"]["misses"] > 0
    assert first["search"]["annotated"] < first["search"]["hypotheses"]
    assert (
        first["search"]["annotated"]
        == (json.loads((folder / "iteration-01" / "optimized.json").read_text())["annotated"])
    )
    assert "iteration 1, search: " in shown.stderr
    assert "hypotheses annotated, sentences: " in shown.stderr
    second = json.loads((folder / "iteration-02" / "annotation.json").read_text())
    assert second["search"]["hits"] > second["search"]["misses"]
    # A warm cache and other threads change nothing but what is said of the cache.
    tune(tmp_path / "warm" / "run", annotator, *cache, "--threads", 2)
    warm = tmp_path / "warm" / "run"
    assert products(warm, "annotation.json") == products(folder, "annotation.json")
    again = json.loads((warm / "iteration-01" / "annotation.json").read_text())
    assert again["search"]["misses"] == again["scoring"]["misses"] == 0
    # Other parses are another experiment.
    trees = tmp_path / "recorded.mrg"
    trees.write_text(f"{trees.read_text()}(S (A other))\n")
    refused = tune(folder, annotator, *cache, status=1)
    assert "annotator" in refused.stderr


def test_tune_annotates_before_it_lowercases(tmp_path):
    lists = [RECORDED / name for name in ("1.nbest.gz", "2.nbest.gz")]
    cased = []
    for path in lists:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [line.split(" ||| ") for line in lines]
        cased.append(tmp_path / path.stem)
        cased[-1].write_text(
            "".join(" ||| ".join([row[0], row[1].upper(), *row[2:]]) for row in rows)
        )
    (tmp_path / "dev.tgt").write_text((RECORDED / "dev.tgt").read_text().upper())
    sentences = list(recorded_sentences())
    options = ("--set", "metric.name=posf", "--set", "tune.iterations=1")
    plain = write_trees(tmp_path / "plain.mrg", sentences)
    tune(tmp_path / "plain", plain, *options)
    # These files have no sentence in lower case.
    upper = write_trees(tmp_path / "upper.mrg", [line.upper() for line in sentences])
    tune(
        tmp_path / "upper", upper, *options, "--set", "data.lowercase=true",
        "--set", f"decoder.lists={[str(path) for path in cased]}",
        "--set", f"data.references=['{tmp_path / 'dev.tgt'}']",
    )  # fmt: skip
    scores = [
        json.loads((tmp_path / name / "result.json").read_text())["dev_score"]
        for name in ("plain", "upper")
    ]
    assert scores[0] == scores[1] > 0


def cut(segments):
    """Write `some` and `some.ref`: the first segments of a real list."""
    with gzip.open(MOSES / "mert-bleu" / "run1.best100.out.gz", "rt", encoding="utf-8") as lines:
        some = [line for line in lines if int(line.split(" ", 1)[0]) < segments]
    Path("some").write_text("".join(some), encoding="utf-8")
    with (MOSES / "dev.en").open(encoding="utf-8") as lines:
        head = "".join(next(lines) for _ in range(segments))
    Path("some.ref").write_text(head, encoding="utf-8")
    return len(some)


def optimize_real(metric, *options):
    return run(
        "optimize", "--metric", metric, "--nbest", "some", "--ref", "some.ref", "--restarts", 1,
        "--weights", MOSES / "mert-bleu" / "run1.dense", "--annotator",
        f"udpipe:model={MODEL},beam=1", "--out", "w.json", "--json", *options,
    )  # fmt: skip


@needs(MODEL, MOSES)
def test_real_lists_lazily_and_eagerly():
    size = cut(20)
    reports = []
    for optimizer in ("coordinate", "pro"):
        result = optimize_real("edpm", "--optimizer", optimizer)
        assert "EDPM is then DPM" in result.stderr
        reports.append(json.loads(result.stdout))
    lazy, all_known = reports
    assert lazy["annotated"] < 0.6 * lazy["hypotheses"]
    assert all_known["annotated"] == all_known["hypotheses"] == size
    assert lazy["final_score"] > lazy["start_score"]
    assert lazy["start_score"] == all_known["start_score"]


@needs(MODEL, MOSES)
@pytest.mark.parametrize("metric", ["posf", "dtkm", "0.5*(1-ter) + 0.5*dpm"])
def test_what_real_lists_are_tuned_to_is_what_score_gives(metric):
    cut(12)
    report = json.loads(
        optimize_real(metric, "--optimizer", "mert", "--set", "searches_per_feature=20").stdout
    )
    assert report["start_score"] < report["final_score"] <= report["oracle_score"]
    run("rerank", "--nbest", "some", "--weights", "w.json", "--out", "best")
    scored = run(
        "score", "--metric", metric, "--hyp", "best", "--ref", "some.ref", "--json",
        "--annotator", f"udpipe:model={MODEL},beam=1",
    )  # fmt: skip
    assert json.loads(scored.stdout)["scores"][0]["score"] == report["final_score"]


@pytest.mark.parametrize(
    "name", [name for name in families.names("metric") if needs_of([registry.metric(name)])]
)
def test_every_metric_of_syntax_says_what_it_lacks(name):
    message = fault("score", "--metric", name, *PLAIN)
    assert re.search(rf"metric {name} compares (syntax|meaning)", message)


def test_cross_validation_annotates_what_wins_somewhere(annotator):
    given = ["--nbest", "list", "--ref", "ref", "--weights", "start.json", "--splits", 3,
             "--optimizer", "mert:searches_per_feature=10,restarts=2"]  # fmt: skip
    metrics = ["--metric", "edpm", "--metric", "bleu:smooth=add1"]
    assert "needs an annotator" in fault("crossval", *metrics, *given)
    options = ["crossval", *metrics, *given, "--annotator", annotator, "--json"]
    alone, several = (run(*options, "--threads", n).stdout for n in (1, 3))
    assert alone == several
    found = json.loads(alone)
    by_name = {one["label"]: one["signature"] for one in found["metrics"]}
    assert "|annotator:ptb 1 " in by_name["edpm"]
    assert "annotator" not in by_name["bleu:smooth=add1"]
    rows = {row["system"]: row["score"] for row in found["scores"] if row["metric"] == "edpm"}
    mert = "mert:searches_per_feature=10,restarts=2 on"
    assert list(rows) == [
        f"{mert} edpm", f"{mert} bleu:smooth=add1",
        "first", "start", "equal weights", "best single", *(x for x in rows if "only" in x),
    ]  # fmt: skip
    assert all(0 < score <= 1 for score in rows.values())
    assert rows["first"] == 1.0  # each list begins with its reference
    assert rows["only LM0[1]"] < 1.0  # in list 0 neither of its extremes is the reference
    # Plain texts do not change what a metric without syntax says.
    plain = json.loads(run("crossval", "--metric", "bleu:smooth=add1", *given, "--json").stdout)
    judged = [
        next(x["score"] for x in one["scores"] if x["system"] == "start" and "bleu" in x["metric"])
        for one in (found, plain)
    ]
    assert judged[0] == judged[1]
