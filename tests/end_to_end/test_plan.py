"""`portmert plan`: what a run will take, from a timed sample."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest

import portmert
from portmert.tuner.runs import plan
from tests.support import annotation_models
from tests.support.cli import fault, run
from tests.support.clusters import NEEDS_DASK, cluster
from tests.support.languages.grammar import generate
from tests.support.places import ROOT
from tests.support.run_folders import LITTLE
from tests.support.thot_config import thot_config


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    yield
    assert not list((tmp_path / "temporary").glob("portmert-plan-*"))


@pytest.fixture
def recorded(tmp_path):
    shutil.copytree(ROOT / "configs" / "recorded", tmp_path / "configs" / "recorded")
    text = (ROOT / "configs" / "recorded.toml").read_text()
    little = "".join(f"{setting.removeprefix('optimizer.')}\n" for setting in LITTLE)
    path = tmp_path / "configs" / "recorded.toml"
    path.write_text(text.replace("[optimizer] ", f"[optimizer]\n{little}# "))
    return path


def test_the_run_is_as_large_as_planned_and_the_plan_leaves_nothing(recorded):
    before = sorted(recorded.parent.parent.rglob("*"))
    found = portmert.plan(recorded, workers=[2, 1, 2], log=lambda _: None)
    assert sorted(recorded.parent.parent.rglob("*")) == before
    planned = found.runs["run"]
    assert [one.workers for one in found.needs] == [1, 2]
    for one in found.needs:
        assert 0 < one.cpu.low <= one.cpu.high
        assert 0 < one.wall.low <= one.wall.high
    result = portmert.tune(recorded, log=lambda _: None).result
    searched = [one for one in result.iterations if one.optimized_score is not None]
    assert planned.searches.low == 3
    assert len(searched) <= planned.searches.high == 6
    assert searched[0].hypotheses == planned.hypotheses.low
    assert searched[-1].hypotheses <= planned.hypotheses.high
    lists = result.weights_path.parent.glob("iteration-*/nbest.gz")
    assert sum(path.stat().st_size for path in lists) <= planned.folder_bytes.high


def test_the_table_says_what_was_measured_and_what_assumed(recorded):
    result = run("plan", recorded, "--workers", "1", "--workers", "7", "--set", "tune.replicas=3")
    assert "Measured on 40 segments with 19.4 hypotheses each" in result.stdout
    assert "\nworkers" in result.stdout
    assert "\n7 " in result.stdout
    assert "Assumed:\n- from 3 searches (patience ends the run) to 6" in result.stdout
    assert "3 replicas are alike" in " ".join(result.stdout.split())
    assert "searching over their 778 hypotheses" in result.stderr


def test_json_and_the_metrics_of_reproduce(recorded, tmp_path):
    two = ("--tune-on", "bleu", "--tune-on", "port", "--json", tmp_path / "plan.json")
    result = run("plan", recorded, "--workers", "3", *two)
    written = json.loads((tmp_path / "plan.json").read_text())
    assert set(written["runs"]) == {"bleu", "port"}
    each = [one["needs"][0]["cpu"] for one in written["runs"].values()]
    assert written["needs"][0]["cpu"] == pytest.approx(
        [sum(side) for side in zip(*each, strict=True)]
    )
    assert written["runs"]["port"]["sample"]["segments"] == 40
    assert "All runs, one after the other" in result.stdout
    assert "the comparison at the end of `reproduce` is not measured" in result.stdout


def test_a_decoder_with_models_of_its_own_keeps_these_alone(tmp_path):
    pairs = generate(60, seed=2)
    for side, suffix in (("source", "src"), ("target", "tgt")):
        lines = ["".join(f"{word} " for word in getattr(pair, side)) + "\n" for pair in pairs]
        (tmp_path / f"train.{suffix}").write_text("".join(lines[:50]))
        (tmp_path / f"dev.{suffix}").write_text("".join(lines[50:]))
    (tmp_path / "tune.toml").write_text(
        thot_config(iterations=4, nbest=5, rounds=1, aligner='saved = "aligner"')
    )
    before = {path.name for path in tmp_path.iterdir()}
    found = portmert.plan(tmp_path / "tune.toml", segments=4, log=lambda _: None)
    assert {path.name for path in tmp_path.iterdir()} - before == {"model"}
    one = found.runs["run"].sample
    assert one.segments == 4
    assert one.dev == pytest.approx(one.test)
    assert one.costs["training"][0] > 0 < one.costs["references"][0]
    if one.decoder_bytes:
        assert one.decoder_bytes > 10**7


def test_sentences_are_annotated_in_a_cache_of_the_sample(recorded, tmp_path, monkeypatch):
    monkeypatch.setenv("PORTMERT_CACHE", str(tmp_path / "cache"))
    model = annotation_models.udpipe()
    syntax = ("--set", "metric.name=posbleu", "--annotator", f"udpipe:model={model}")
    result = run("plan", recorded, *syntax, "--json", "-", "--set", "tune.nbest=3")
    one = json.loads(result.stdout)["runs"]["run"]
    assert one["sample"]["costs"]["annotation"][0] > 0
    assert one["sample"]["kept_bytes"] > 0
    assert not (tmp_path / "cache").exists()


@NEEDS_DASK
def test_a_cluster_is_asked_how_many_workers_it_has(recorded, tmp_path):
    with cluster(2) as two:
        place = f"dask:{two.scheduler_address}"
        shown = run("plan", recorded, "--executor", place)
        recorded.write_text(f'{recorded.read_text()}[executor]\nname = "{place}"\n')
        run("plan", recorded, "--json", tmp_path / "plan.json")
    assert "a cluster's overhead and waiting in its queue are not measured" in shown.stdout
    written = json.loads((tmp_path / "plan.json").read_text())
    assert [one["workers"] for one in written["needs"]] == [1, 2]


def test_of_a_queue_no_job_is_asked_for(recorded):
    result = run("plan", recorded, "--executor", "dask-slurm:20", "--segments", "2")
    assert "\n20 " in result.stdout
    text = " ".join(result.stdout.split())
    assert "a cluster's overhead and waiting in its queue are not measured" in text
    assert "expected local" in fault("plan", recorded, "--executor", "dask-slum:20")


def test_an_interrupt_ends_it_and_leaves_nothing(recorded, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(plan, "optimize_lists", interrupted)
    result = run("plan", recorded, status=130)
    assert result.stderr.splitlines()[-1] == "portmert: interrupted"
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["tune.nbset=3"], "[tune] has no key 'nbset'; did you mean 'nbest'?"),
        (["data.source=nowhere"], "nowhere"),
        (['data.references=["recorded.toml"]'], "dev.src has 40"),
        (['decoder.lists=["recorded/dev.src"]'], "dev.src:1: "),
        (["metric.name=posbleu"], "annotator"),
    ],
)
def test_bad_input_is_one_line(recorded, settings, message):
    words = [word for setting in settings for word in ("--set", setting)]
    assert message in fault("plan", recorded, *words)


def test_an_empty_dev_set_is_one_line(recorded):
    for name in ("dev.src", "dev.tgt", "dev.links"):
        (recorded.parent / "recorded" / name).write_text("")
    assert "dev.src: the file is empty" in fault("plan", recorded)


@pytest.mark.parametrize(
    "words",
    [("--workers", "0"), ("--workers", "x"), ("--segments", "0"), ("--workers", "9" * 30)],
)
def test_wrong_usage(recorded, words):
    run("plan", recorded, *words, status=2)


def test_a_config_that_is_not_there(tmp_path):
    assert "does not exist" in run("plan", Path(tmp_path, "no.toml"), status=2).stderr
