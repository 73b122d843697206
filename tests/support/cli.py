"""The command line, called in this process."""

from click.testing import CliRunner

from tuner.cli import main


def run(*arguments, status=0):
    """Run `portmert` with these arguments; it must end with this exit status."""
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(main, words, prog_name="portmert", catch_exceptions=False)
    assert result.exit_code == status, result.output
    return result


def fault(*arguments, status=1):
    """Return what `portmert` says of a fault: nothing but that, of bad input in one line."""
    result = run(*arguments, status=status)
    assert result.stdout == ""
    assert status == 2 or result.stderr.count("\n") == 1, result.stderr
    return result.stderr
