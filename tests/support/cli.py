"""The command line, called in this process."""

import click
from click.testing import CliRunner

from portmert.tuner.cli import main


def run(*arguments, status=0):
    """Run `portmert` with these arguments; it must end with this exit status."""
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(main, words, prog_name="portmert", catch_exceptions=False)
    assert result.exit_code == status, result.output
    return result


def fault(*arguments, status=1):
    """Return what `portmert` says of a fault; of bad input in one line, the last."""
    result = run(*arguments, status=status)
    assert result.stdout == ""
    if status == 1:
        assert result.stderr.splitlines()[-1].startswith("portmert: error: "), result.stderr
    return result.stderr


def commands(group=main, *names):
    """Yield the name of every command, with its group's before it, and the command."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
        else:
            yield " ".join((*names, name)), command
