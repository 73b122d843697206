"""Tuning with a decoder that is a program: a recorded Moses."""

import json
import re

from portmert.tuner.weights.feature_weights import read_weights
from tests.support.cli import run
from tests.support.places import INVENTED

CONFIG = INVENTED / "moses.toml"
PROGRAM = INVENTED / "recorded" / "recorded_moses"


def tune(folder, *options, status=0):
    return run("tune", CONFIG, "--set", f"tune.output={folder}", *options, status=status)


def test_the_shipped_config_tunes_on_links_of_moses_lists(tmp_path):
    result = tune(tmp_path / "run")
    found = json.loads((tmp_path / "run" / "result.json").read_text())
    assert found["dev_score"] > found["start_dev_score"] + 0.02
    assert "model scores are not weights" not in result.stderr
    assert not (tmp_path / "run" / "annotations").exists()  # no aligner was needed
    tuned = (tmp_path / "run" / "decoder.config").read_text()
    assert tuned.startswith("# Tuned by portmert ")
    assert "port:alpha=0.25,order=v" in tuned.splitlines()[0]
    assert tuned.splitlines()[0].endswith(", 2012-06-18")
    assert f"dev score {found['dev_score']:.6f}" in tuned.splitlines()[0]
    assert "UnknownWordPenalty0= 1\n" in tuned
    weights = json.loads((tmp_path / "run" / "weights.json").read_text())["weights"]
    read = read_weights(tmp_path / "run" / "decoder.config").values
    assert {name: list(values) for name, values in read.items()} == {
        **weights,
        "UnknownWordPenalty0": [1.0],
    }


def test_a_run_that_moses_broke_goes_on(tmp_path, monkeypatch):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    tune(whole, "--set", "tune.iterations=1")
    monkeypatch.setenv("RECORDED_MOSES_FAULT", "exit")
    options = ["--set", "tune.iterations=1", "--set", f'decoder.program="{PROGRAM}"']
    result = tune(broken, *options, status=1)
    (message,) = [line for line in result.stderr.splitlines() if "error" in line]
    assert "ended with status 3: Loading table / Exception: phrase-table.gz is" in message
    assert re.search(r"recorded_moses, segments (1 to 20|21 to 40) of .*dev\.src, ended", message)
    # Two jobs run at once and both fail; the first that is seen to is reported.
    logs = [f"its log is {broken / 'scratch' / f'moses-{job}.log'}" for job in (1, 2)]
    assert any(log in message for log in logs)
    monkeypatch.delenv("RECORDED_MOSES_FAULT")
    tune(broken, *options)
    assert (broken / "decoder.config").read_bytes() == (whole / "decoder.config").read_bytes()
