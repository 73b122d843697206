"""Replicas, held-out sets, bootstrap and prior of `portmert tune`, as users call it."""

import json

import numpy as np
import pytest

from portmert.tuner.runs.config import load_config
from portmert.tuner.runs.folder import RunFolder, Shared
from portmert.tuner.runs.scorer import Evaluator
from portmert.tuner.search.averaging import averaged
from portmert.tuner.weights.feature_weights import read_weights
from tests.end_to_end.test_tune_killed import MERT, SHORT, drive, driver, products
from tests.support.cli import run
from tests.support.places import INVENTED
from tests.support.run_folders import LITTLE

CONFIG = INVENTED / "recorded.toml"


def tune(folder, *options, status=0):
    return run(
        "tune", CONFIG, f"--set=tune.output={folder}",
        *(f"--set={option}" for option in (*SHORT, *LITTLE, *options)), status=status,
    )  # fmt: skip


def read(path):
    return json.loads(path.read_text())


def vector(weights):
    row = np.array([n for numbers in weights.values.values() for n in numbers])
    return row / np.abs(row).sum()


@pytest.fixture(scope="module")
def replicated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replicas") / "run"
    result = tune(folder, "tune.replicas=3")
    return folder, result


def test_mean_and_spread_are_those_of_the_replicas(replicated):
    folder, shown = replicated
    result = read(folder / "result.json")
    alone = [read(folder / f"replica-{number}" / "result.json") for number in (1, 2, 3)]
    scores = [one["dev_score"] for one in alone]
    assert [one["dev_score"] for one in result["replicas"]] == scores
    assert result["dev_score"]["mean"] == pytest.approx(np.mean(scores))
    assert result["dev_score"]["sd"] == pytest.approx(np.std(scores, ddof=1))
    assert len({one["seed"] for one in result["replicas"]}) == 3
    assert f" {100 * result['dev_score']['sd']:.2f}" in shown.stdout
    rows = np.array(
        [vector(read_weights(folder / f"replica-{n}" / "weights.json")) for n in (1, 2, 3)]
    )
    means = [n for one in result["weights"].values() for n in one["mean"]]
    spreads = [n for one in result["weights"].values() for n in one["sd"]]
    assert means == pytest.approx(rows.mean(axis=0))
    assert spreads == pytest.approx(rows.std(axis=0, ddof=1))


def test_the_average_is_decoded_and_is_the_result(replicated, tmp_path):
    folder, _ = replicated
    weights = [read_weights(folder / f"replica-{n}" / "weights.json") for n in (1, 2, 3)]
    assert read_weights(folder / "weights.json") == averaged(weights)
    out = tmp_path / "w.json"
    out.write_bytes((folder / "weights.json").read_bytes())
    tune(tmp_path / "again", f"tune.weights={out}", "tune.iterations=1")
    first = read(tmp_path / "again" / "iteration-01" / "scores.json")["dev_score"]
    result = read(folder / "result.json")
    assert result["average"]["dev_score"] == pytest.approx(first)
    assert read_weights(folder / "decoder.config") == averaged(weights)


def test_the_first_replica_is_the_experiment_without_replicas(replicated, tmp_path):
    folder, _ = replicated
    tune(tmp_path / "run")
    alone, first = products(tmp_path / "run"), products(folder / "replica-1")
    del alone["inputs.json"]  # the folder of all replicas has one
    assert alone.keys() == first.keys()
    assert {name for name in alone if alone[name] != first[name]} <= {"state.json"}


def test_the_first_list_is_decoded_once(replicated):
    folder, shown = replicated
    assert shown.stderr.count("iteration 1: decoding the dev set") == 1
    lists = [(folder / f"replica-{n}/iteration-01/nbest.gz").read_bytes() for n in (1, 2, 3)]
    assert lists[0] == lists[1] == lists[2]
    assert (folder / "replica-2/iteration-02/nbest.gz").exists()


def test_a_held_out_share_chooses_the_iteration(tmp_path):
    shown = tune(tmp_path / "run", "tune.held_out=0.25", "tune.iterations=4")
    result = read(tmp_path / "run" / "result.json")
    held = [one["held_out_score"] for one in result["iterations"]]
    assert len(held) > 1
    assert result["best_iteration"] == int(np.argmax(held)) + 1
    assert result["held_out_score"] == max(held)
    assert f"held out {100 * max(held):.2f}" in shown.stdout


def evaluator_of(folder, *options, split_seed=1):
    experiment = load_config(CONFIG, overrides=[f"tune.output={folder}", *options])
    return Evaluator(experiment, RunFolder(folder), Shared(folder, split_seed))


def test_the_two_parts_are_the_whole_and_follow_the_seed(tmp_path):
    tuned, held = evaluator_of(tmp_path, "tune.held_out=0.25").parts
    assert sorted([*tuned, *held]) == list(range(40))
    assert len(held) == 10
    again = evaluator_of(tmp_path, "tune.held_out=0.25").parts
    other = evaluator_of(tmp_path, "tune.held_out=0.25", split_seed=2).parts
    assert held.tolist() == again[1].tolist() != other[1].tolist()
    assert evaluator_of(tmp_path).parts is None


def test_a_share_that_leaves_nothing_is_refused(tmp_path):
    result = tune(tmp_path / "run", "tune.held_out=0.999", status=1)
    assert "[tune] held_out: 0.999 of 40 segments leaves none to tune on" in result.stderr


def test_a_held_out_set_of_its_own(tmp_path):
    files = ["data.held_out_source='recorded/dev.src'",
             "data.held_out_references=['recorded/dev.tgt']",
             "data.held_out_reference_links=['recorded/dev.links']"]  # fmt: skip
    tune(tmp_path / "run", *files)
    iterations = read(tmp_path / "run" / "result.json")["iterations"]
    # It is the dev set here, so that both scores are the same.
    for one in iterations:
        assert one["held_out_score"] == pytest.approx(one["dev_score"], abs=1e-12)
    both = tune(tmp_path / "both", *files, "tune.held_out=0.5", status=1)
    assert "held_out and [data] held_out_source; give one of them" in both.stderr
    half = tune(tmp_path / "half", files[0], status=1)
    assert "[data] has held_out_source, but no held_out_references" in half.stderr


def test_bootstrap_reports_percentiles_of_each_weight(tmp_path):
    tune(tmp_path / "run", "tune.bootstrap=4", "tune.held_out=0.25")
    sure = read(tmp_path / "run" / "result.json")["bootstrap"]
    assert sure["samples"] == 4
    samples = [read_weights(tmp_path / f"run/bootstrap/000{n}.json") for n in (1, 2, 3, 4)]
    rows = np.array([vector(one) for one in samples])
    assert len(np.unique(rows, axis=0)) > 1
    middle = [n[1] for numbers in sure["weights"].values() for n in numbers]
    assert middle == pytest.approx(np.median(rows, axis=0))
    # A sample that was changed since is made again.
    path = tmp_path / "run/bootstrap/0002.json"
    before = path.read_bytes()
    path.write_text(samples[0].to_json())
    assert before != path.read_bytes()
    said = tune(tmp_path / "run", "tune.bootstrap=4", "tune.held_out=0.25").stderr
    assert f"{path}: changed since it was written; it is made again" in said
    assert path.read_bytes() == before
    assert read(tmp_path / "run" / "result.json")["bootstrap"] == sure


def test_a_prior_keeps_weights_near_the_start(tmp_path):
    moved = []
    for strength in (0, 100):
        folder = tmp_path / str(strength)
        tune(folder, f"tune.prior={strength}", "tune.iterations=1")
        moved.append(read(folder / "iteration-01" / "optimized.json")["change"])
    assert moved[0] > 0.05
    assert moved[1] < 0.01


def test_killed_at_every_file_it_ends_as_one_left_alone(tmp_path):
    options = [
        "tune.replicas=2", "tune.held_out=0.25", "tune.bootstrap=1", "tune.iterations=1", *MERT,
    ]  # fmt: skip
    module = "portmert.tuner.runs.replicas"
    with driver() as process:
        kills = drive(process, tmp_path, ["never", "after"], options, module=module)
    assert kills["never"] == 0
    alone = products(tmp_path / "never")
    assert kills["after"] >= len(alone) // 2
    assert products(tmp_path / "after") == alone
