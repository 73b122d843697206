"""No command runs code of the current folder, leaves litter or dies with a library."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from portmert.tuner import commands as tuner_commands
from portmert.tuner.base.model_folders import make_folder
from portmert.tuner.base.programs import module_path
from tests.support.annotation_models import udpipe
from tests.support.cli import fault
from tests.support.places import INVENTED, ROOT
from tests.support.run_folders import write, write_lines

CONFIG = INVENTED / "recorded.toml"


SHADOWS = ["json", "re", "os", "sys", "subprocess", "numpy", "thot", "ufal", "tuner", "aligners",
           "metrics", "numba", "sitecustomize", "sqlite3", "gzip", "portmert/__init__",
           "portmert/__main__", "portmert/tuner/__init__", "portmert/tuner/cli"]  # fmt: skip


@pytest.fixture
def hostile_folder(tmp_path):
    """Make a folder of modules that tell when they are run."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in SHADOWS:
        (folder / f"{name}.py").parent.mkdir(parents=True, exist_ok=True)
        write(folder / f"{name}.py", f"open({str(tmp_path / 'hijacked')!r}, 'a').write('{name} ')")
    source = [f"{a} {b} c" for a, b in zip("abcdefghij", "klmnopqrst", strict=True)] * 3
    write_lines(folder / "source", source)
    write_lines(folder / "target", [line.upper() for line in source])
    return folder


def commands():
    folder = Path(tuner_commands.__file__).parent
    return sorted(path.stem.replace("_", "-") for path in folder.glob("[!_]*.py"))


HELP = """
import sys
from portmert.tuner.cli import main
for name in sys.argv[1:]:
    try:
        main([name, "--help"])
    except SystemExit as ended:
        assert not ended.code, name
"""
"""Loads every command in one process."""


def test_no_command_runs_a_module_of_the_current_folder(hostile_folder, tmp_path):
    programs = Path(sys.executable).parent
    portmert = ["-m", "portmert"]
    environment = {
        **os.environ,
        "PORTMERT_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(ROOT),
        "PATH": f"{programs}:{os.environ['PATH']}",
    }
    text = ["--in", "source", "--out", "trees.conllu", "--annotator", f"udpipe:model={udpipe()}"]
    few = [
        "tune.iterations=1",
        "tune.nbest=5",
        "optimizer.name=mert",
        "optimizer.searches_per_feature=1",
        f"tune.output={tmp_path / 'run'}",
    ]
    few += ["data.reference_links=[]", "aligner.name=thot", "aligner.model=ibm1"]
    calls = [
        ["-c", HELP, *commands()],
        [*portmert, "align", "--source", "source", "--target", "target", "--out", "links",
         "--set", "model=ibm1"],
        [*portmert, "annotate", *text, "--processes", "2"],
        [*portmert, "score", "--metric", "bleu", "--hyp", "source", "--ref", "target"],
        [*portmert, "tune", CONFIG, *[word for setting in few for word in ("--set", setting)]],
    ]  # fmt: skip
    for words in calls:
        done = subprocess.run(
            [sys.executable, "-P", *words], cwd=hostile_folder, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stderr)
        assert not (tmp_path / "hijacked").exists(), words


def test_processes_do_not_get_the_current_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), "", *sys.path, str(tmp_path / "kept")])
    found = module_path().split(os.pathsep)
    assert str(tmp_path) not in found
    assert "" not in found
    assert str(tmp_path / "kept") in found
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [str(ROOT)])
    assert module_path() == str(ROOT)


# What is left behind, and what takes a process along.


def test_what_a_killed_training_left_is_removed_and_what_runs_is_not(tmp_path):
    folder = tmp_path / "model"
    code = (
        "import sys, time, pathlib; from portmert.tuner.base.model_folders import make_folder\n"
        "def make(folder): print(folder, flush=True); time.sleep(60)\n"
        f"make_folder(pathlib.Path({str(folder)!r}), {{}}, make)\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(2)
    ]
    parts = [Path(process.stdout.readline().strip()) for process in processes]
    processes[0].kill()
    processes[0].wait()
    assert all(part.is_dir() for part in parts)
    other = tmp_path / ".models.01234567.part"
    other.mkdir()
    make_folder(folder, {}, lambda _: {})
    assert not parts[0].exists()
    assert parts[1].is_dir()
    assert other.is_dir()
    processes[1].kill()
    for process in processes:
        process.wait()
        process.stdout.close()


def test_a_model_that_ends_the_library_does_not_end_the_command(tmp_path, monkeypatch):
    model = write(tmp_path / "bad.udpipe", "no model")
    text = write(tmp_path / "text", "a b\n")
    package = tmp_path / "modules" / "ufal"
    package.mkdir(parents=True)
    write(package / "__init__.py", "")
    write(package / "udpipe.py", "import os\nclass Model:\n    load = lambda path: os.abort()\n")
    importlib.import_module("ufal.udpipe")  # the real one, in this process
    monkeypatch.setattr(sys, "path", [str(tmp_path / "modules"), *sys.path])
    out = tmp_path / "out.conllu"
    said = fault(
        "annotate", "--annotator", f"udpipe:model={model}", "--in", text, "--out", out,
        "--processes", "1", "--annotation-cache", tmp_path / "cache",
    )  # fmt: skip
    assert f"its process does not start with {model}: it was killed by SIGABRT" in said
    assert sorted(path.name for path in tmp_path.glob("*out*")) == []
    assert not list(tmp_path.glob(".*.part"))
