"""Packages that extras install."""

from importlib import metadata

import pytest

from portmert.tuner.base.errors import ProgramError
from portmert.tuner.base.extras import require
from tests.support.cli import run


def test_a_missing_package_names_the_command_that_installs_it():
    message = r"no-such is not installed; install it with: pip install 'portmert\[x\]'"
    with pytest.raises(ProgramError, match=message):
        require("no-such", extra="x")
    with pytest.raises(ProgramError, match="no-such is not installed"):
        require("numpy", "no-such", extra="x")
    assert require("numpy", extra="x") == metadata.version("numpy")


SHEETS = """humaneval make a=text b=text --ref text --source text --judge x --equal-outputs
    --min-length 1 --items 1 --common 0 --out kit"""


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("people", SHEETS),
    ],
)
def test_commands_without_their_extra_are_one_line(tmp_path, monkeypatch, extra, words):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("a b\nc d\n")
    lines = run(*words.split(), status=1).stderr.splitlines()
    assert lines[-1].endswith(f"install it with: pip install 'portmert[{extra}]'")
