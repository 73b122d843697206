import html
import json
import shutil
from functools import cache

import numpy as np
import pytest

from portmert.extensions.demo import recorded
from portmert.tuner.base.files import read_lines
from tests.support.cli import run
from tests.support.places import ROOT
from tests.support.run_folders import LITTLE_SET

SMALL = [
    "--train=300", "--dev=12", "--test=10", "--set=tune.iterations=1", "--set=tune.nbest=20",
    "--set=optimizer.name=bagged", *LITTLE_SET,
    "--set=decoder.non_monotonicity=1", "--set=decoder.processes=1",
    "--set=decoder.iterations=2", "--set=decoder.lm_order=2",
]  # fmt: skip


def demo(folder, *options, status=0):
    return run("demo", "--out", folder, *SMALL, *options, status=status)


@pytest.fixture(scope="module", autouse=True)
def _recorded_once():
    """Tune the recorded lists in the first of all demos only: all tune the same ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded, "tune_recorded", cache(recorded.tune_recorded))
        yield


def products(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for run in ("bleu", "port", "corpus")
        for path in sorted((folder / run).rglob("*"))
        if path.is_file() and path.suffix != ".log" and path.name not in {"log.txt", ".lock"}
    }


def lines_of(result):
    """Return what the whole loop prints, which comes after the recorded lists."""
    return result.stdout.partition("decode, tune\n")[2].splitlines()


def table(lines):
    return {line[:13].strip(): [float(n) for n in line[13:].split()] for line in lines[3:6]}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "run"
    result = demo(folder)
    return folder, result


def test_demo_shows_three_systems_and_what_to_do_next(finished):
    folder, result = finished
    lines = lines_of(result)
    titles = ["BLEU", "PORT", "Qmean", "v", "length"]
    assert lines[0].split() == ["system"] + ["test"] * 5 + ["dev"] * 5
    assert lines[1].split() == titles * 2
    rows = table(lines)
    shown = [line.split() for line in result.stdout.splitlines()[:8]]
    gains = np.array(shown[4][3:], float) - np.array(shown[2][1:], float)
    assert (gains > 2).all()  # tuned on PORT against first, on BLEU, PORT and chrF
    assert [line[0] for line in shown[6:]] == ["source", "reference"]
    assert list(rows) == ["untuned", "tuned on BLEU", "tuned on PORT"]
    assert all(len(row) == 10 for row in rows.values())
    assert rows["tuned on BLEU"][5] >= rows["untuned"][5]  # each gains what it was tuned on
    assert rows["tuned on PORT"][6] >= rows["untuned"][6]
    assert lines[6].startswith("test: PORT-tuned ")
    assert lines[6].endswith("; chance in tuning untested")
    assert " of 10 test outputs are the same tuned on BLEU and on PORT" in lines[7]
    assert f"copy {folder / 'demo-port.toml'}" in result.stdout
    assert "portmert optimize --metric port --nbest LIST" in result.stdout


def test_demo_decodes_under_the_start_weights_once(finished):
    folder, result = finished
    assert result.stderr.count("iteration 1: decoding") == 1
    port = folder / "port" / "iteration-01" / "nbest.gz"
    assert port.read_bytes() == (folder / "bleu" / "iteration-01" / "nbest.gz").read_bytes()


def test_demo_runs_are_what_tune_makes_of_their_configs(finished):
    folder, _ = finished
    before = products(folder)
    options = [option for option in SMALL if option.startswith("--set=")]
    run("tune", folder / "demo-port.toml", *options)
    assert products(folder) == before


def test_demo_of_another_size_is_refused_before_anything_is_written(finished):
    folder, _ = finished
    before = products(folder)
    result = demo(folder, "--dev=13", status=1)
    assert "dev.src: holds 12 sentences, but 13 are asked for; name another folder, or give " in (
        result.stderr
    )
    assert products(folder) == before


def test_demo_refuses_a_wrong_key_before_it_tunes_anything(tmp_path):
    for wrong in ("nonsense", "tune.nonsense=1"):
        result = demo(tmp_path / "run", f"--set={wrong}", status=1)
        assert "nonsense" in result.stderr.splitlines()[-1]
        assert result.stdout == ""


def test_demo_of_more_pairs_than_are_shipped_is_refused(tmp_path):
    result = demo(tmp_path / "run", "--dev=301", status=1)
    assert "--dev 301: the demo has 300 sentence pairs; ask for fewer" in result.stderr
    assert not (tmp_path / "run" / "corpus").exists()


def test_no_sentence_to_tune_or_test_on_is_in_the_training_text():
    train, dev, test = (
        set(read_lines(ROOT / "configs/tanaka" / name))
        for name in ("train.src.xz", "dev.src", "test.src")
    )
    assert not train & (dev | test)


@pytest.mark.slow
def test_the_whole_demo_tunes_visibly(tmp_path):
    result = run("demo", "--out", tmp_path / "run")
    lines = lines_of(result)
    rows = table(lines)
    untuned, on_bleu, on_port = rows.values()
    assert on_bleu[0] > untuned[0] + 2
    assert on_port[1] > untuned[1] + 1


def test_demo_also_tunes_on_syntax_with_a_model_of_its_own(finished, tmp_path):
    folder, _ = finished
    run = tmp_path / "run"
    shutil.copytree(folder, run)
    result = demo(run, "--also=posf", "--also=edpm", "--set=tune.annotation_cache=cache")
    lines = lines_of(result)
    assert lines[1].split() == ["BLEU", "PORT", "TER", "POSF", "HWCM", "EDPM", "length"] * 2
    rows = [line[:13].strip() for line in lines[3:8]]
    assert rows == ["untuned", "tuned on BLEU", "tuned on PORT", "tuned on POSF", "tuned on EDPM"]
    assert (run / "treebank.udpipe").is_file()
    assert (run / "cache").is_dir()
    scores = {line[:13].strip(): [float(n) for n in line[13:].split()] for line in lines[3:8]}
    assert scores["tuned on POSF"][10] >= scores["untuned"][10]
    assert "tuning on BLEU" in result.stderr
    assert "iteration 1: decoding" not in result.stderr.split("tuning on POSF")[0]
    assert result.stderr.count("EDPM is then DPM") == 1  # a warning is shown once
    page = (run / "comparison.html").read_text()
    for metric in ("posf", "edpm"):  # tuned on, and so compared too
        assert f'{{"label":"{metric}","percent":true,' in page
    assert "needs an annotator" not in html.unescape(page)


def test_demo_has_replicas_where_they_are_asked_for(finished, tmp_path):
    folder, _ = finished
    run = tmp_path / "run"
    for made in ("corpus", "model", "aligner"):
        shutil.copytree(folder / made, run / made)
    result = demo(run, "--replicas=2")
    assert "chance in tuning untested" not in result.stdout
    for name in ("bleu", "port"):
        held = json.loads((run / name / "result.json").read_text())
        assert [one["folder"] for one in held["replicas"]] == ["replica-1", "replica-2"]
        row = table(lines_of(result))[f"tuned on {name.upper()}"]
        column = {"bleu": 0, "port": 1}[name]
        for place, key in ((column, "test_score"), (5 + column, "dev_score")):
            mean = sum(one[key] for one in held["replicas"]) / 2
            assert row[place] == pytest.approx(100 * mean, abs=0.0051)


def test_demo_page_compares_the_tuned_systems(finished):
    folder, result = finished
    assert f"Open {folder / 'comparison.html'} in a browser" in result.stdout
    page = (folder / "comparison.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "default-src 'none'" in html.unescape(page)  # nothing is loaded from anywhere
