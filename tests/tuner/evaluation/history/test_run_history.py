import dataclasses
import fcntl
import json
import os
import shutil

import numpy as np
import pytest

from portmert.tuner.base.errors import PortmertError, StateError
from portmert.tuner.base.files import LOCK
from portmert.tuner.components import registry
from portmert.tuner.evaluation.history import dev_set, run_history
from portmert.tuner.evaluation.history.dev_set import (
    DevSet,
    ScoringTools,
    UnknownDevSet,
    metric_of,
)
from portmert.tuner.evaluation.history.run_history import read_history
from portmert.tuner.nbest.model import best_hypotheses
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.runs.folder import FINGERPRINT_FILE
from portmert.tuner.weights.feature_weights import read_weights
from tests.support.cli import run
from tests.support.places import INVENTED
from tests.support.run_folders import LITTLE_SET, renew_digest

QUIET = ScoringTools()
METRICS = {text: registry.metric(text) for text in ("port", "bleu", "ter")}


def tune(folder, *options):
    config = folder.parent / "configs" / "recorded.toml"
    return run(
        "tune", config, "--set", f"tune.output={folder}", "--set=tune.seed=3",
        "--set=tune.iterations=2", *LITTLE_SET, *options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a folder with the data and two finished runs: one of two replicas, one alone."""
    folder = tmp_path_factory.mktemp("runs")
    shutil.copytree(INVENTED, folder / "configs")
    for name, options in (
        ("replicas", ["--set=tune.replicas=2", "--set=tune.held_out=0.3"]),
        ("alone", []),
    ):
        tune(folder / name, *options)
    return folder


@pytest.fixture
def copies(runs, tmp_path):
    """Return a copy that a test may spoil."""
    shutil.copytree(runs, tmp_path / "runs")
    return tmp_path / "runs"


def history(folder, metrics=METRICS, *, surface=True, **tools):
    tools = dataclasses.replace(QUIET, **tools)
    return read_history(folder, name="mine", metrics=metrics, tools=tools, surface=surface)


def test_what_the_run_wrote_is_what_is_read(runs):
    run = history(runs / "replicas")
    assert (run["name"], run["metric"], run["state"]) == ("mine", "port", "finished")
    assert [replica["name"] for replica in run["replicas"]] == ["replica 1", "replica 2"]
    for replica in run["replicas"]:
        part = runs / "replicas" / replica["name"].replace(" ", "-")
        result = json.loads((part / "result.json").read_text())
        assert replica["best"] == result["best_iteration"]
        assert replica["stopped"] == result["stopped"]
        for one, held in zip(replica["passes"], result["iterations"], strict=True):
            for key in ("number", "hypotheses", "new", "dev_score", "held_out_score",
                        "start_score", "optimized_score", "change"):  # fmt: skip
                assert one[key] == held[key]


def test_weights_add_to_one_and_spread_over_replicas(runs):
    run = history(runs / "replicas")
    for replica in run["replicas"]:
        for one in replica["passes"]:
            assert np.abs(one["weights"]).sum() == pytest.approx(1)
    result = json.loads((runs / "replicas" / "result.json").read_text())
    for weight in run["weights"]:
        name, _, number = weight["feature"].partition("[")
        held = result["weights"][name]
        at = int(number.removesuffix("]") or 1) - 1
        assert weight["mean"] == pytest.approx(held["mean"][at])
        assert weight["sd"] == pytest.approx(held["sd"][at])
    alone = history(runs / "alone")
    assert {weight["sd"] for weight in alone["weights"]} == {None}


def test_dev_scores_of_other_metrics_are_those_of_portmert_score(runs, tmp_path):
    """On the metric tuned on they are the run's own; on others what `score` says of the output."""
    done = history(runs / "alone")
    for one in done["replicas"][0]["passes"]:
        assert one["scores"]["port"] == pytest.approx(one["dev_score"], abs=1e-12)
    data = runs / "configs" / "recorded"
    last = done["replicas"][0]["passes"][-1]
    lists = read_nbest(
        [runs / "alone" / f"iteration-{last['number']:02d}" / "nbest.gz"], dev_set.Vocabulary()
    )
    lines = [" ".join(lists.texts.words(row)) + "\n" for row in lists.offsets[:-1]]
    (tmp_path / "out").write_text("".join(lines))
    scored = run(
        "score", "--metric=bleu", "--metric=ter", "--json", "--hyp", tmp_path / "out", "--ref",
        data / "dev.tgt",
    )  # fmt: skip
    for row in json.loads(scored.stdout)["scores"]:
        assert last["scores"][row["metric"]] == pytest.approx(row["score"], abs=1e-12)


def test_scores_are_of_the_segments_tuned_on(runs):
    for replica in history(runs / "replicas")["replicas"]:
        for one in replica["passes"]:
            assert one["scores"]["port"] == pytest.approx(one["dev_score"], abs=1e-12)


def test_what_was_scored_once_is_kept(copies, monkeypatch):
    first = history(copies / "replicas")

    def never(*_, **__):
        raise AssertionError("read again")

    monkeypatch.setattr(dev_set, "read_first_hypotheses", never)
    monkeypatch.setattr(run_history, "_surfaces", never)
    assert history(copies / "replicas") == first
    with pytest.raises(AssertionError, match="read again"):
        history(copies / "replicas", {"nist": registry.metric("nist")})


def test_a_damaged_store_is_made_again(copies):
    first = history(copies / "alone")
    for file in (copies / "alone" / "history").iterdir():
        file.write_text("{")
    assert history(copies / "alone") == first


def test_the_slice_is_the_score_of_the_best_hypotheses_at_each_weight(runs):
    """Rescored from scratch in the middle of pieces, on the segments that were tuned on."""
    folder = runs / "replicas"
    run = history(folder)
    assert run["sliced"] in {"replica 1", "replica 2"}
    part = folder / run["sliced"].replace(" ", "-")
    replica = next(replica for replica in run["replicas"] if replica["name"] == run["sliced"])
    weights = read_weights(part / f"iteration-{replica['best']:02d}" / "weights.json")
    fingerprint = json.loads((folder / FINGERPRINT_FILE).read_text())["fingerprint"]
    dev = DevSet.of_run(folder, fingerprint, QUIET)
    _ = dev.references
    pool = read_nbest(sorted(part.glob("iteration-*/nbest.gz")), dev.vocabulary)
    metric = METRICS["port"]
    table = dev.stats(metric, pool)
    vector = weights.vector(pool.feature_names)
    assert {piece["feature"] for piece in run["slices"]} == set(run["features"])
    checked = 0
    for column, piece in enumerate(run["slices"]):
        assert piece["weight"] == vector[column]
        assert piece["ends"][0] < piece["weight"] < piece["ends"][-1]
        for low, high, score in list(
            zip(piece["ends"][:-1], piece["ends"][1:], piece["scores"], strict=True)
        )[::5]:
            if high - low < 1e-3 * (piece["ends"][-1] - piece["ends"][0]):
                continue  # within the rounding of its ends
            moved = vector.copy()
            moved[column] = (low + high) / 2
            best = best_hypotheses(pool, type(weights).from_vector(pool.feature_names, moved))
            assert score == pytest.approx(
                float(metric.score(table.total(best[dev.tuned]))), abs=1e-6
            )
            checked += 1
    assert checked > 20


def test_a_run_is_read_as_far_as_it_has_come(copies):
    folder = copies / "alone"
    (folder / "result.json").unlink()
    (folder / "iteration-03" / "scores.json").unlink()
    (folder / "iteration-02" / "optimized.json").unlink()
    with (folder / "log.txt").open("a") as log:
        log.write("2026-01-01 00:00:00Z iteration 2: optimizing\n")
    run = history(folder)
    (replica,) = run["replicas"]
    assert (run["state"], replica["state"]) == ("interrupted", "interrupted")
    assert replica["doing"] == "iteration 2: optimizing"
    assert replica["stopped"] is None
    assert [one["dev_score"] is None for one in replica["passes"]] == [False, False, True]
    assert [one["optimized_score"] is None for one in replica["passes"]] == [False, True, True]
    assert replica["best"] in {1, 2}
    lock = os.open(folder / LOCK, os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert history(folder)["state"] == "running"
        assert history(folder)["replicas"][0]["state"] == "running"
    finally:
        os.close(lock)


def test_a_run_that_has_scored_nothing_is_read(copies):
    folder = copies / "alone"
    for item in folder.iterdir():
        if item.name.startswith("iteration-") or item.name == "result.json":
            shutil.rmtree(item) if item.is_dir() else item.unlink()
    run = history(folder)
    assert run["weights"] == run["slices"] == run["replicas"][0]["passes"] == []
    assert run["replicas"][0]["best"] is None


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("alone/inputs.json", None, "did not record its dev set"),
        ("configs/recorded/dev.tgt", None, "dev.tgt of the dev set is gone"),
        ("configs/recorded/dev.src", "x\n", "have changed since"),
    ],
)
def test_without_its_dev_set_a_run_is_read_and_says_what_is_missing(copies, file, content, said):
    (copies / file).unlink()
    if content is not None:
        (copies / file).write_text(content)
    run = history(copies / "alone")
    assert run["slices"] == []
    assert run["replicas"][0]["passes"][0]["scores"] is None
    assert run["replicas"][0]["passes"][0]["dev_score"] is not None
    assert any(said in note for note in run["notes"])


def test_a_metric_that_needs_links_is_left_out_where_there_are_none(copies):
    inputs = copies / "alone" / "inputs.json"
    content = json.loads(inputs.read_text())
    content["data"]["reference_links"] = []
    inputs.write_text(json.dumps(content))
    run = history(copies / "alone")
    assert "no dev scores of port: port needs word alignments" in run["notes"]
    assert set(run["replicas"][0]["passes"][0]["scores"]) == {"bleu", "ter"}


def test_a_run_without_links_takes_those_of_another_of_the_same_dev_set(copies):
    inputs = copies / "alone" / "inputs.json"
    content = json.loads(inputs.read_text())
    content["data"]["reference_links"] = []
    inputs.write_text(json.dumps(content))
    run = history(copies / "alone", lenders=[copies / "alone", copies / "replicas"])
    assert run["notes"] == []
    for one in run["replicas"][0]["passes"]:
        assert one["scores"]["port"] == pytest.approx(one["dev_score"], abs=1e-12)
    other = copies / "replicas" / "inputs.json"
    content = json.loads(other.read_text())
    content["data"]["references"] = content["data"]["source"], content["data"]["source"]
    other.write_text(json.dumps(content))
    run = history(copies / "alone", lenders=[copies / "replicas"])
    assert "no dev scores of port: port needs word alignments" in run["notes"]


def test_a_folder_of_something_else_is_refused(tmp_path):
    with pytest.raises(StateError, match=r"not the folder of a run \(no state.json\)"):
        history(tmp_path)
    (tmp_path / FINGERPRINT_FILE).write_text("{}")
    with pytest.raises(StateError, match="is not what portmert writes"):
        history(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            FINGERPRINT_FILE,
            '{"fingerprint": {"tune.replicas": "x"}}',
            "is not what portmert writes",
        ),
        (FINGERPRINT_FILE, '{"fingerprint": []}', "is not what portmert writes"),
        ("iteration-01/scores.json", '{"dev_score": 1}', "metric is not what portmert writes"),
        (
            "iteration-01/optimized.json",
            '{"start_score": "x"}',
            "next_score is not what",
        ),
        ("iteration-01/weights.json", "{}", "no weights"),
    ],
)
def test_a_file_of_something_else_is_named(copies, name, content, message):
    path = copies / "alone" / name
    path.write_text(content)
    renew_digest(path)
    with pytest.raises(PortmertError) as caught:
        history(copies / "alone")
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_a_metric_is_known_again_by_its_signature():
    for text in ("port:alpha=0.5", "bleu", "0.5*port + 0.5*(1-ter)"):
        metric = registry.metric(text)
        assert metric_of(f"{metric.signature}|refs:1|case:mixed") == metric
    with pytest.raises(UnknownDevSet, match="cannot be computed again"):
        metric_of("gone:x=1|refs:1")
