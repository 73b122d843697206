import fcntl
import json
import os
import shutil

import numpy as np
import pytest

from portmert.extensions.report.run_history import read_history
from portmert.tuner.base.errors import InputError, PortmertError, StateError
from portmert.tuner.base.files import LOCK
from portmert.tuner.components import registry
from portmert.tuner.components.registry import metric_of
from portmert.tuner.runs.folder import FINGERPRINT_FILE
from tests.support.cli import run
from tests.support.places import INVENTED
from tests.support.run_folders import LITTLE_SET, renew_digest


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


def history(folder):
    return read_history(folder, name="mine")


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
    assert run["weights"] == run["replicas"][0]["passes"] == []
    assert run["replicas"][0]["best"] is None


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
    with pytest.raises(InputError, match="cannot be computed again"):
        metric_of("gone:x=1|refs:1")
