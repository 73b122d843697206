"""A package of ours that another one of its name shadows is told before anything is run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from portmert._shadowed import OURS, shadowed
from tests.support.places import ROOT


def portmert(folder, *arguments, path="."):
    """Run the command in a folder that is searched before everything else."""
    return subprocess.run(
        [sys.executable, "-c", "from portmert.__main__ import main; main()", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("form", ["{}/__init__.py", "{}.py"])
def test_the_first_line_says_which_path_shadows_what(tmp_path, name, form):
    other = tmp_path / form.format(name)
    other.parent.mkdir(exist_ok=True)
    other.write_text("raise SystemExit('this must not run')\n")
    done = portmert(tmp_path, "metrics")
    shown = other.parent if other.name == "__init__.py" else other
    assert done.returncode == 1
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith(f"portmert: error: {shown} shadows portmert's own package {name} ")
    assert str(ROOT / name) in line


def test_the_python_api_says_it_too(tmp_path):
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "__init__.py").touch()
    done = subprocess.run(
        [sys.executable, "-c", "import portmert; portmert.metric('bleu')"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f".{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {tmp_path / 'metrics'} shadows portmert's own package")


def test_folders_that_are_no_packages_shadow_nothing(tmp_path):
    for name in OURS:
        (tmp_path / name).mkdir()
    done = portmert(tmp_path, "--version")
    assert done.returncode == 0, done.stderr


def test_nothing_shadows_here():
    assert shadowed() == ""


def test_a_package_that_is_not_there(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # noqa: ARG005
    assert shadowed() == f"{Path(ROOT) / 'tuner'} is missing; install portmert again"
