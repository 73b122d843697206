import html
import json

import pytest

from portmert.extensions.demo import run as demo_run
from portmert.tuner.base.files import read_lines
from tests.support.cli import run
from tests.support.places import ROOT
from tests.support.run_folders import LITTLE_SET

SIZES = {"train": 300, "dev": 12, "test": 10}
SMALL = [
    "--set=tune.iterations=1", "--set=tune.nbest=20", "--set=optimizer.name=bagged", *LITTLE_SET,
    "--set=decoder.non_monotonicity=1", "--set=decoder.processes=1",
    "--set=decoder.iterations=2", "--set=decoder.lm_order=2",
]  # fmt: skip


def demo(folder, *options, status=0):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(demo_run.run_demo.__kwdefaults__, "sizes", SIZES)
        return run("demo", "--out", folder, *SMALL, *options, status=status)


def products(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for run in ("bleu", "port", "corpus")
        for path in sorted((folder / run).rglob("*"))
        if path.is_file() and path.suffix != ".log" and path.name not in {"log.txt", ".lock"}
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "run"
    return folder, demo(folder)


def test_demo_shows_both_tunings_their_comparison_and_what_to_do_next(finished):
    folder, result = finished
    for metric in ("bleu", "port"):
        scores = json.loads((folder / metric / "result.json").read_text())
        gain = f"{100 * scores['start_dev_score']:.2f} -> {100 * scores['dev_score']:.2f} on dev"
        assert f"{metric} {gain}" in result.stdout
    assert "; chance in tuning untested" in result.stdout
    assert f"copy {folder / 'demo-port.toml'}" in result.stdout
    assert f"open {folder / 'comparison.html'} in a browser" in result.stdout
    page = (folder / "comparison.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "default-src 'none'" in html.unescape(page)  # nothing is loaded from anywhere


def test_demo_runs_are_what_tune_makes_of_their_configs(finished):
    folder, _ = finished
    before = products(folder)
    run("tune", folder / "demo-port.toml", *SMALL)
    assert products(folder) == before


def test_demo_refuses_a_wrong_key_before_it_tunes_anything(tmp_path):
    for wrong in ("nonsense", "tune.nonsense=1"):
        result = demo(tmp_path / "run", f"--set={wrong}", status=1)
        assert "nonsense" in result.stderr.splitlines()[-1]
        assert result.stdout == ""


def test_no_sentence_to_tune_or_test_on_is_in_the_training_text():
    train, dev, test = (
        set(read_lines(ROOT / "configs/tanaka" / name))
        for name in ("train.src.xz", "dev.src", "test.src")
    )
    assert not train & (dev | test)


@pytest.mark.slow
def test_the_whole_demo_tunes_visibly(tmp_path):
    run("demo", "--out", tmp_path / "run")
    for metric, least in (("bleu", 0.02), ("port", 0.01)):
        scores = json.loads((tmp_path / "run" / metric / "result.json").read_text())
        assert scores["test"]["score"] > scores["start_test_score"] + least
