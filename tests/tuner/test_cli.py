"""The group of all commands."""

import re
import subprocess
import sys
from pathlib import Path

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
