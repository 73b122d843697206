from __future__ import annotations

import pytest
from click.testing import CliRunner

from tuner.cli import main
from tuner.demo.grammar import write_bitext


@pytest.fixture
def bitext(tmp_path):
    write_bitext(tmp_path, train=60, dev=10, test=0, seed=1)
    return tmp_path


def run(bitext, *options, out="links"):
    return CliRunner().invoke(
        main,
        [
            *("align", "--source", str(bitext / "dev.src"), "--target", str(bitext / "dev.tgt")),
            *("--out", str(bitext / out), *map(str, options)),
        ],
    )


def test_align_with_thot_keeps_and_uses_a_model(bitext):
    train = ("--train-source", bitext / "train.src", "--train-target", bitext / "train.tgt")
    common = ("--aligner", "thot", "--set", "model=ibm1", "--model", bitext / "model")
    made = run(bitext, *common, *train)
    assert made.exit_code == 0, made.output
    assert (bitext / "model" / "model.json").exists()
    again = run(bitext, *common, out="again")
    assert again.exit_code == 0, again.output
    links = (bitext / "links").read_text()
    assert links == (bitext / "again").read_text()
    assert len(links.splitlines()) == 10
    assert "10 pairs, " in made.stderr


def test_align_with_precomputed_copies_links(bitext):
    made = run(bitext, "--aligner", "precomputed", "--set", f"links={bitext / 'dev.links'}")
    assert made.exit_code == 0, made.output
    assert (bitext / "links").read_text() == (bitext / "dev.links").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--aligner", "thut"], "unknown aligner 'thut'; did you mean 'thot'?"),
        (["--set", "modell=hmm"], "aligner thot has no option 'modell'; did you mean 'model'?"),
        (["--set", "model"], "--set 'model' is not KEY=VALUE"),
        (["--set", "model=hmm", "--set", "model=ibm1"], "--set model is given twice"),
        (["--model", "none"], "none: no trained model there; name a training bitext"),
        (["--aligner", "precomputed", "--set", "links=gone"], "gone: No such file or directory"),
    ],
)
def test_faults_end_as_one_line(bitext, monkeypatch, options, message):
    monkeypatch.chdir(bitext)
    done = run(bitext, *options)
    assert done.exit_code == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("portmert: error: ")
    assert message in line
    assert not (bitext / "links").exists()


def test_sides_of_different_length_are_an_error(bitext):
    (bitext / "dev.tgt").write_text("one\n")
    done = run(bitext)
    assert f"dev.tgt: 1 lines, {bitext}/dev.src has 10" in done.stderr
