"""The group of all commands."""

import re
import subprocess
import sys
import threading
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tuner import __version__, commands
from tuner.cli import main

COMMANDS = sorted(
    path.stem.replace("_", "-") for path in Path(commands.__file__).parent.glob("[!_]*.py")
)


def run(*arguments):
    return CliRunner().invoke(main, arguments)


def test_help_lists_every_command():
    lines = run("--help").stdout.splitlines()
    listed = [line.split()[0] for line in lines[lines.index("Commands:") + 1 :] if line.strip()]
    assert listed == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name):
    result = run(name, "--help")
    assert result.exit_code == 0
    assert re.match(rf"Usage: \w+ {name}\b", result.stdout)


def test_version():
    assert run("--version").stdout == f"portmert, version {__version__}\n"


def test_an_unknown_command_is_wrong_usage_and_the_nearest_is_named():
    result = run("optimise")
    assert result.exit_code == 2
    assert "no command 'optimise'; did you mean 'optimize'?" in result.stderr


@pytest.mark.parametrize("searching", [False, True])
def test_an_interrupt_is_one_line_and_its_status(monkeypatch, searching):
    def interrupted():
        raise KeyboardInterrupt

    left = []

    def leave(status):
        left.append(status)
        raise SystemExit(status)

    monkeypatch.setattr("tuner.commands.metrics.command", click.Command("x", callback=interrupted))
    monkeypatch.setattr("os._exit", leave)
    threads = [threading.main_thread(), threading.Thread(daemon=True)]
    threads += [threading.Thread(daemon=False)] * searching
    monkeypatch.setattr("threading.enumerate", lambda: threads)
    result = run("metrics")
    assert (result.exit_code, result.stderr) == (130, "portmert: interrupted\n")
    assert left == [130] * searching  # Python would wait for the search


def test_help_imports_nothing_heavy():
    # What makes `portmert --help` answer at once.
    program = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from tuner.cli import main\n"
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0\n"
        "print(sorted({'numpy', 'numba', 'pydantic', 'thot', 'scipy'} & set(sys.modules)))\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout == "[]\n"


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")
def test_a_full_disk_behind_the_output_is_one_line():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tuner", "metrics"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == (
        "portmert: error: standard output or a temporary file: cannot write: No space left on "
        "device\n"
    )


def test_other_faults_of_the_system_are_not_hidden(monkeypatch):
    def missing():
        raise FileNotFoundError(2, "No such file", "ours")

    monkeypatch.setattr("tuner.commands.metrics.command", click.Command("x", callback=missing))
    assert isinstance(run("metrics").exception, FileNotFoundError)
