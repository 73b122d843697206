"""`portmert` is the one name: its modules have no other, and a project keeps its own."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.support.imports import MODULES
from tests.support.places import ROOT
from tests.support.run_folders import write


def python(*arguments, folder):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
        env={**environment, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_each_module_is_loaded_under_one_name(tmp_path):
    code = """
import importlib, json, sys
from pathlib import Path
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
places = {}
for name, module in sorted(sys.modules.items()):
    if getattr(module, "__file__", None):
        places.setdefault(str(Path(module.__file__).resolve()), []).append(name)
print(json.dumps({place: names for place, names in places.items()
                  if place.startswith(sys.argv[2] + "/") and "/.venv/" not in place}))
"""
    names = [name for name in MODULES if not name.endswith("__main__")]
    done = python("-c", code, json.dumps(names), str(ROOT), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == len(names)
    for place, loaded in found.items():
        assert len(loaded) == 1, (place, loaded)
        assert loaded[0].partition(".")[0] == "portmert"


@pytest.mark.parametrize("folder", ["tuner", "metrics", "aligners"])
def test_a_folder_at_the_top_is_no_package(folder):
    done = python("-c", f"import {folder}", folder=ROOT)
    assert f"import portmert.{folder}; this folder is a part of it" in done.stderr


def test_a_program_whose_package_imports_portmert_finds_its_own_modules(tmp_path):
    (tmp_path / "mytool").mkdir()
    write(tmp_path / "mytool/__init__.py", "import portmert\nportmert.metric('bleu')\n")
    write(tmp_path / "mytool/__main__.py", "import helper\nfrom mytool import inner\n")
    write(tmp_path / "mytool/inner.py", "print('inner')\n")
    write(tmp_path / "helper.py", "print('helper')\n")
    done = python("-m", "mytool", folder=tmp_path)
    assert done.stdout == "helper\ninner\n", done.stderr


def test_lost_links_are_one_line(tmp_path):
    package = tmp_path / "portmert"
    package.mkdir()
    shutil.copy(ROOT / "portmert" / "__init__.py", package)
    (package / "tuner").write_text("../tuner")  # what Git for Windows makes of a link
    ended = python("-P", "-c", f"import sys; sys.path[0:0] = [{str(tmp_path)!r}]; import portmert",
                   folder=tmp_path)  # fmt: skip
    assert ended.stderr.splitlines()[-1].startswith("ImportError: portmert/tuner should be a link")
