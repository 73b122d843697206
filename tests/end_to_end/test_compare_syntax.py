"""Runs tuned on syntax, compared: with the annotator that they record."""

import gzip
import json

import pytest

from tests.support.bracketed import write_trees
from tests.support.cli import run
from tests.support.places import INVENTED
from tests.support.run_folders import LITTLE_SET

CONFIG = INVENTED / "recorded.toml"
RECORDED = CONFIG.parent / "recorded"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a folder with a run tuned on posf, one on bleu, and the trees of all sentences."""
    folder = tmp_path_factory.mktemp("runs")
    sentences = (RECORDED / "dev.tgt").read_text(encoding="utf-8").splitlines()
    for number in (1, 2):
        with gzip.open(RECORDED / f"{number}.nbest.gz", "rt", encoding="utf-8") as lines:
            sentences += [line.split(" ||| ")[1] for line in lines]
    annotator = write_trees(folder / "trees.mrg", sentences)
    for name, options in (("posf", ["--annotator", annotator]), ("bleu", [])):
        run(
            "tune", CONFIG, f"--set=tune.output={folder / name}", f"--set=metric.name={name}",
            "--set=tune.iterations=2", "--set=tune.held_out=0.2",
            "--set=data.test_source=recorded/dev.src",
            "--set=data.test_references=['recorded/dev.tgt']",
            f"--annotation-cache={folder / 'cache'}", *LITTLE_SET, *options,
        )  # fmt: skip
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PORTMERT_CACHE", str(tmp_path / "cache"))


def test_what_a_run_was_tuned_on_is_compared_too(runs):
    """Without a word on metric or annotator; the score is the run's own of its test set."""
    out = runs / "compared.json"
    run("compare", runs / "bleu", runs / "posf", "--samples=20", "--no-timing", "--json", out)
    document = json.loads(out.read_text())
    labels = [metric["label"] for metric in document["metrics"]]
    assert labels == ["bleu", "qmean", "ter", "posf"]
    assert "|annotator:ptb 1 " in document["metrics"][-1]["signature"]
    scores = {(s["metric"], s["system"]): s["score"] for s in document["scores"]}
    for name in ("bleu", "posf"):
        held = json.loads((runs / name / "result.json").read_text())
        assert scores[name, name] == pytest.approx(held["test"]["score"], abs=1e-12)
    # A run that annotated nothing takes the annotator of the other.
    assert scores["posf", "bleu"] > 0


def test_an_annotator_that_is_gone_is_said(runs):
    trees = runs / "trees.mrg"
    kept = trees.read_bytes()
    try:
        trees.unlink()
        said = run("compare", runs / "bleu", runs / "posf", "--samples=20").stderr
        assert "not scored with what posf was tuned on: " in said
        assert "trees.mrg" in said
    finally:
        trees.write_bytes(kept)
