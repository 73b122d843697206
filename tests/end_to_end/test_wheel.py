"""The wheel, installed into an environment and used in a folder that know nothing of this tree."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

from tests.support.places import ROOT

pytest.importorskip("hatchling", reason="hatchling, which builds the wheel, is not installed")


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """An environment that holds the wheel; beside it, what the wheel depends on."""
    folder = tmp_path_factory.mktemp("fresh")
    pip(
        "wheel", "--no-deps", "--no-build-isolation", "--no-index",
        f"--wheel-dir={folder}", str(ROOT),
    )  # fmt: skip
    venv.create(folder / "env", with_pip=False)
    (wheel,) = folder.glob("*.whl")
    pip(f"--python={folder / 'env/bin/python'}", "install", "--no-deps", "--no-index", str(wheel))
    (packages,) = folder.glob("env/lib/*/site-packages")
    # A path in a .pth is searched, the .pth files in it (that of this tree) are not read.
    (packages / "others.pth").write_text(f"{Path(np.__file__).parents[1]}\n", encoding="utf-8")
    (folder / "elsewhere").mkdir()
    return folder


@pytest.fixture
def run(fresh):
    environment = {key: value for key, value in os.environ.items() if "PYTHON" not in key}

    def run(program, *arguments):
        done = subprocess.run(
            [fresh / "env/bin" / program, *arguments],
            cwd=fresh / "elsewhere", env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_the_wheel_runs_and_everything_comes_from_it(fresh, run):
    assert run("portmert", "--version").startswith("portmert, version ")
    packages = ["portmert", "tuner", "metrics", "aligners"]
    code = "".join(f"import {name}; print({name}.__file__);" for name in packages)
    for place in run("python", "-c", code).split():
        assert Path(place).is_relative_to(fresh / "env")


def test_the_wheel_scores(fresh, run):
    text = fresh / "elsewhere/text"
    text.write_text("a b c d e\nthe cat sat on the mat\n", encoding="utf-8")
    scored = run("portmert", "score", "--metric", "bleu", "--hyp", "text", "--ref", "text")
    assert "bleu       100.00" in scored
    code = "import portmert; print(portmert.score(['a b'], [['a c']], metric='ter').score)"
    assert run("python", "-c", code) == "0.5\n"


def test_the_wheel_brings_examples_and_documentation(fresh, run):
    run("portmert", "examples", "here")
    here = fresh / "elsewhere/here"
    wanted = {
        path.relative_to(ROOT)
        for name in ("configs", "docs")
        for path in (ROOT / name).rglob("*")
        if path.is_file() and not any(part.startswith(("_", ".")) for part in path.parts)
    }
    assert len(wanted) > 40
    for path in wanted:
        assert (here / path).read_bytes() == (ROOT / path).read_bytes(), path


def test_examples_replace_nothing(fresh, run):
    (fresh / "elsewhere/taken/docs").mkdir(parents=True)
    with pytest.raises(AssertionError, match="taken/docs: is there already; name another folder"):
        run("portmert", "examples", "taken")
    assert not (fresh / "elsewhere/taken/configs").exists()
