"""What killed and living processes leave, and what is refused before anything takes long."""

import errno
import fcntl
import os
import subprocess
import sys

import pytest

from portmert.tuner.base.files import clear_parts, writing
from portmert.tuner.texts import corpus
from tests.support.cli import fault, run
from tests.support.places import INVENTED, ROOT
from tests.support.run_folders import write_lines

CONFIG = INVENTED / "recorded.toml"


def settings(*given):
    return [word for setting in given for word in ("--set", setting)]


@pytest.mark.parametrize(
    ("command", "name"),
    [("crossval", "cells/.x.json.0123abcd.part"), ("optimize", ".w.json.0123abcd.part")],
)
def test_what_a_killed_process_was_writing_is_removed(tmp_path, monkeypatch, command, name):
    monkeypatch.chdir(tmp_path)
    lines = [f"{n} ||| {word} ||| LM= {n} ||| 0" for n in range(2) for word in "ab"]
    nbest = write_lines(tmp_path / "nbest", lines)
    text = write_lines(tmp_path / "text", ["a", "b"])
    (tmp_path / "cells").mkdir()
    (tmp_path / name).write_text("half")
    other = tmp_path / ".other.0123abcd.part"
    other.write_text("half of another file")
    out = {"crossval": ("--out-dir", tmp_path, "--splits", 1), "optimize": ("--out", "w.json")}
    given = ("--nbest", nbest, "--ref", text, "--metric", "bleu", "--optimizer", "mert")
    run(command, *given, *out[command])
    assert not (tmp_path / name).exists()
    assert other.exists()


def test_a_run_killed_in_the_training_of_its_aligner_goes_on(tmp_path):
    few = settings("tune.iterations=1", "tune.nbest=5", f"tune.output={tmp_path / 'run'}")
    run("tune", CONFIG, *few)
    part = tmp_path / "run" / "annotations" / "aligner" / ".thot-ibm1-0.0123abcd.part"
    (part / "in").mkdir(parents=True)
    (part / "in" / ".x.0123abcd.part").write_text("half")
    run("tune", CONFIG, *few)
    assert not part.exists()


def test_what_a_living_process_is_writing_stays(tmp_path):
    with writing(tmp_path / "file") as first:
        first.write(b"first")
        with writing(tmp_path / "file") as second:
            second.write(b"second")
        clear_parts(tmp_path)
    assert (tmp_path / "file").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_that_is_cleared_before_it_is_locked_is_begun_again(tmp_path, monkeypatch):
    """As when another process writes the same file and clears what nobody has locked."""
    lock, others = fcntl.flock, ["another process"]

    def late(file, how):
        if others:
            others.pop()
            clear_parts(tmp_path)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with writing(tmp_path / "file") as file:
        file.write(b"whole")
    assert others == []
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_constraint_on_an_unknown_feature_is_named_before_anything_is_decoded(tmp_path):
    given = settings(f"tune.output={tmp_path / 'run'}", 'constraints.fixed=["LN0"]')
    said = fault("tune", CONFIG, *given)
    assert "constraint on unknown feature 'LN0'; did you mean 'LM0'?" in said
    assert not list(tmp_path.rglob("*.nbest*"))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "not enough memory"),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files"),
        (RuntimeError("can't start new thread"), "not enough memory: can't start new thread"),
        (ImportError("x.so: failed to map segment from shared object"), "a library cannot be"),
        (MemoryError("Unable to allocate 9 TiB"), "(in portmert.tuner.texts.corpus."),
        (RecursionError(), "(in portmert.tuner.texts.corpus."),
    ],
)
def test_what_the_machine_lacks_is_one_line(tmp_path, monkeypatch, error, said):
    def exhausted(*_, **__):
        raise error

    monkeypatch.setattr(corpus, "each_line", exhausted)
    text = write_lines(tmp_path / "text", ["a"])
    found = fault("score", "--metric", "bleu", "--hyp", text, "--ref", text)
    assert said in found
    assert len(found.splitlines()) == 1


def test_a_decoder_that_prints_without_end_is_stopped(tmp_path):
    program = tmp_path / "decoder"
    program.write_text(
        f"#!{sys.executable} -S\nimport os\nwhile True: os.write(1, b'a' * 65536)\n"
    )
    program.chmod(0o755)
    (tmp_path / "moses.ini").write_text("[weight]\nLM0= 1\n")
    text = write_lines(tmp_path / "text", ["a"])
    given = ("mert-moses", text, text, program, tmp_path / "moses.ini")
    said = fault(*given, "--no-filter-phrase-table", f"--working-dir={tmp_path / 'work'}")
    assert "decoder wrote more than 1048576 bytes" in said


def test_python_m_portmert_runs_no_module_of_the_current_folder(tmp_path):
    here = tmp_path / "work"
    here.mkdir()
    for name in ("typing", "pathlib", "json", "re", "click", "numpy", "tuner", "metrics", "os"):
        (here / f"{name}.py").write_text(f"open({str(tmp_path / 'hijacked')!r}, 'a')")
    for options, cwd in ((["-P"], here), ([], ROOT)):
        done = subprocess.run(
            [sys.executable, *options, "-m", "portmert", "--version"], cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.stdout.startswith("portmert, version"), done.stderr
    assert not (tmp_path / "hijacked").exists()
