"""`portmert optimize --replicas`, as users call it: lists alone suffice for a comparison."""

import json
import shutil
import signal

import numpy as np
import pytest

import portmert
from portmert.tuner.base import streams
from portmert.tuner.weights.feature_weights import read_weights
from tests.end_to_end.test_tune_killed import products
from tests.support.cli import fault, run
from tests.support.forks import forks
from tests.support.places import INVENTED

DATA = INVENTED / "recorded"
DEV = ("--nbest", DATA / "1.nbest.gz", "--ref", DATA / "dev.tgt", "--weights", DATA / "start.json")
TEST = ("--test-nbest", DATA / "2.nbest.gz", "--test-ref", DATA / "dev.tgt")
LINKS = ("--source", DATA / "dev.src", "--ref-links", DATA / "dev.links",
         "--test-source", DATA / "dev.src", "--test-ref-links", DATA / "dev.links")  # fmt: skip
MERT = ("--optimizer", "mert:searches_per_feature=5,restarts=1")


def optimize(*arguments, status=0):
    return run("optimize", *DEV, *MERT, *arguments, status=status)


def read(path):
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replicas") / "bleu"
    optimize(*TEST, "--metric", "bleu", "--replicas", 3, "--out-dir", folder)
    return folder


def best_score(lists, weights):
    best = portmert.rerank(lists, weights)
    return portmert.score(best.lines, [DATA / "dev.tgt"], metric="bleu").score


def test_each_replica_is_optimize_with_its_seed(folder):
    result = read(folder / "result.json")
    assert [one["folder"] for one in result["replicas"]] == ["replica-1", "replica-2", "replica-3"]
    for number, one in enumerate(result["replicas"], 1):
        assert one["seed"] == streams.replica(1, number)
        found = portmert.optimize(
            portmert.Lists.read(DATA / "1.nbest.gz", refs=DATA / "dev.tgt"),
            "bleu", seed=one["seed"], weights=DATA / "start.json",
            optimizer="mert:searches_per_feature=5,restarts=1",
        )  # fmt: skip
        weights = folder / one["folder"] / "weights.json"
        assert read_weights(weights) == found.weights
        assert one["dev_score"] == found.score
        assert one["test_score"] == pytest.approx(best_score(DATA / "2.nbest.gz", weights))
        lines = portmert.rerank(DATA / "2.nbest.gz", weights).lines
        output = folder / one["folder"] / "test" / "output.txt"
        assert output.read_text().splitlines() == list(lines)


def test_means_deviations_and_the_average(folder):
    result = read(folder / "result.json")
    for key in ("dev_score", "test_score"):
        scores = [one[key] for one in result["replicas"]]
        assert result[key]["mean"] == pytest.approx(np.mean(scores))
        assert result[key]["sd"] == pytest.approx(np.std(scores, ddof=1))
    assert result["unseen_score"] is None  # mert makes no estimate
    files = [folder / f"replica-{n}" / "weights.json" for n in (1, 2, 3)]
    mean = portmert.average(files, DATA / "1.nbest.gz")
    assert read_weights(folder / "weights.json") == mean.weights
    for lists, found in (
        ("1.nbest.gz", result["average"]["dev_score"]),
        ("2.nbest.gz", result["average"]["test"]["score"]),
    ):
        assert found == pytest.approx(best_score(DATA / lists, folder / "weights.json"))
    start = best_score(DATA / "2.nbest.gz", DATA / "start.json")
    assert result["start"]["test_score"] == pytest.approx(start)


def test_what_is_printed(folder):
    shown = optimize(*TEST, "--metric", "bleu", "--replicas", 3, "--out-dir", folder, "-q").stdout
    result = read(folder / "result.json")
    rows = {line[:18].strip(): line[18:].split() for line in shown.splitlines()}
    for one in result["replicas"]:
        scores = [f"{100 * one[key]:.2f}" for key in ("dev_score", "test_score")]
        assert rows[one["folder"]] == scores
    assert rows["averaged weights"][1] == f"{100 * result['average']['test']['score']:.2f}"
    assert rows["sd"][0] == f"{100 * result['dev_score']['sd']:.2f}"
    assert shown.endswith(f"weights: {folder / 'weights.json'}\n")
    document = optimize(
        *TEST, "--metric", "bleu", "--replicas", 3, "--out-dir", folder, "--json", "-q"
    ).stdout
    assert json.loads(document) == {**result, "higher_is_better": True}


def test_compare_takes_two_such_folders(folder, tmp_path):
    other = tmp_path / "port"
    given = [*LINKS, "--metric", "port", "--replicas", 2, "--out-dir", other]
    # Links of the test set are in the folder; those of outputs in the lists.
    optimize(*TEST, *given)
    page, out = tmp_path / "page.html", tmp_path / "out.json"
    shown = run(
        "compare", other, f"bleu={folder}", "--samples", 100, "--html", page, "--json", out
    )
    assert "Tuned on, and judged by" in shown.stdout
    scores = {(row["metric"], row["system"]): row for row in read(out)["scores"]}
    for system, metric, where in (("bleu", "bleu", folder), ("port", "port", other)):
        result = read(where / "result.json")
        assert scores[metric, system]["score"] == pytest.approx(result["test_score"]["mean"])
        assert scores[metric, system]["s_opt"] == pytest.approx(result["test_score"]["sd"])


def test_a_test_set_is_checked(folder, tmp_path):
    reference = tmp_path / "ref"
    reference.write_text("x\n" * 40)
    said = fault("compare", folder, f"twin={folder}", "--ref", reference)
    assert "the run is of another test set: its test_references did not hold" in said
    plain = tmp_path / "plain"
    optimize("--metric", "bleu", "--replicas", 1, "--out-dir", plain)
    assert read(plain / "result.json")["test_score"] is None
    assert "no output of a test set" in fault("compare", folder, plain)
    (plain / "result.json").unlink()
    assert "the same `portmert optimize --replicas` goes on" in fault("compare", folder, plain)


@pytest.mark.parametrize("name", ["output.txt", "scores.json", "../weights.json"])
@pytest.mark.parametrize("edit", ["changed", "gone"])
def test_compare_refuses_a_file_of_a_replica_that_was_edited_or_removed(
    folder, tmp_path, name, edit
):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    damaged = (copy / "replica-2" / "test" / name).resolve()
    whole = damaged.read_bytes()
    if edit == "gone":
        damaged.unlink()
    else:
        damaged.write_bytes(whole[::-1])
    said = fault("compare", folder, copy)
    assert f"{damaged}: {edit} since it was written; the command that made the run" in said
    optimize(*TEST, "--metric", "bleu", "--replicas", 3, "--out-dir", copy)
    assert damaged.read_bytes() == whole
    run("compare", folder, copy, "--samples", 10)


def test_the_default_estimates_what_is_unseen(tmp_path):
    shown = run("optimize", *DEV, *TEST, "--metric", "bleu", "--replicas", 2, "--out-dir",
                tmp_path / "run", "-q").stdout  # fmt: skip
    first, second = read(tmp_path / "run" / "result.json")["replicas"]
    row = f"{100 * first['unseen_score']:.2f} ± {100 * first['unseen_error']:.2f}"
    assert row in shown
    found = read(tmp_path / "run" / "result.json")["unseen_score"]["mean"]
    assert found == pytest.approx((first["unseen_score"] + second["unseen_score"]) / 2)


def test_killed_at_every_file_it_ends_as_one_left_alone(tmp_path):
    options = ["optimize", *DEV, *MERT, *TEST, "--metric", "bleu", "--replicas", 2, "-q",
               "--out-dir"]  # fmt: skip
    alone, killed = tmp_path / "alone" / "run", tmp_path / "killed" / "run"
    for folder in (alone, killed):
        folder.parent.mkdir()
    kills, finished = 0, {}
    with forks() as process:
        first = process.alone(*options, alone)
        while (ended := process.killed(*options, killed)).status:
            assert ended.status == -signal.SIGKILL, ended.stderr
            kills += 1
            now = {path: path.stat().st_mtime_ns for path in killed.glob("replica-*/result.json")}
            assert finished.items() <= now.items()  # what is finished is not made again
            finished = now
    assert kills == len(products(alone))
    assert products(killed) == products(alone)
    assert ended.stdout.replace("/killed/", "/alone/") == first.stdout


def test_more_replicas_are_added_and_threads_change_nothing(folder, tmp_path):
    copy = tmp_path / "copy"
    options = [*TEST, "--metric", "bleu", "--out-dir", copy, "--replicas"]
    optimize(*options, 2, "--threads", 1)
    first = (copy / "replica-1" / "result.json").stat().st_mtime_ns
    optimize(*options, 3, "--threads", 2)
    assert (copy / "replica-1" / "result.json").stat().st_mtime_ns == first
    names = {name for name in products(copy) if name != "inputs.json"}  # its paths are relative
    ours, theirs = products(copy), products(folder)
    assert {name: ours[name] for name in names} == {name: theirs[name] for name in names}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--replicas", 2], "--replicas needs --out-dir"),
        (["--replicas", 2, "--out", "w", "--out-dir", "d"], "--out does not go with --replicas"),
        (["--out", "w", "--out-dir", "d"], "--out-dir needs --replicas"),
        (["--out", "w", *TEST], "--test-nbest needs --replicas"),
        (["--out", "w", "--test-graphs", "x"], "--test-graphs needs --replicas"),
        (
            ["--replicas", 2, "--out-dir", "d", "--bootstrap", 3],
            "--bootstrap does not go with --replicas",
        ),
        (["--replicas", 2, "--out-dir", "d", *TEST[2:]], "needs --test-nbest"),
        (["--replicas", 2, "--out-dir", "d", "--test-feature", "x=y"], "needs --test-nbest"),
    ],
)
def test_wrong_usage(options, message):
    assert message in fault("optimize", *DEV, "--metric", "bleu", *options, status=2)


def test_without_references_of_the_test_set_it_is_reranked(tmp_path):
    optimize(*TEST[:2], "--metric", "bleu", "--replicas", 1, "--out-dir", tmp_path / "d")
    assert read(tmp_path / "d" / "result.json")["average"]["test"] is None
    assert not (tmp_path / "d" / "test" / "scores.json").exists()
    found = portmert.rerank(DATA / "2.nbest.gz", tmp_path / "d" / "weights.json")
    assert (tmp_path / "d" / "test" / "output.txt").read_text().splitlines() == list(found.lines)


def test_a_range_of_length_penalties_is_refused(tmp_path):
    given = ["--metric", "bleu", "--replicas", 1, "--out-dir", tmp_path / "d", "--length-penalty"]
    assert "`portmert optimize --length-penalty 0:1` finds it, then give it here" in fault(
        "optimize", *DEV, *MERT, *given, "0:1"
    )
    optimize(*given, "0.5")
    assert read(tmp_path / "d" / "weights.json")["length_penalty"] == 0.5
