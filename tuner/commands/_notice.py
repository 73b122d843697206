"""Says lines that are not results, in one place for all commands: on stderr, or not at all."""

from __future__ import annotations

import time

import click


class Voice:
    """Knows how much is to be said.

    Attributes
    ----------
    quiet
        Nothing but results and faults.
    verbose
        More: how far the work has come also where there is no terminal, and when each line came.
    standing
        What stands on the last line of a terminal until something else is said.
    """

    def __init__(self) -> None:
        self.quiet = self.verbose = False
        self.standing = ""
        self.begin = time.monotonic()

    def reset(self) -> None:
        """Begin anew, for a command."""
        self.__init__()  # type: ignore[misc]  # as if it were new

    def say(self, line: str) -> None:
        """Show one line on stderr."""
        if self.quiet:
            return
        self.stand("")
        since = f"[{time.monotonic() - self.begin:7.1f} s] " if self.verbose else ""
        click.echo(since + line, err=True)

    def stand(self, line: str) -> None:
        """Put a line in the place of that which stands there; an empty one leaves nothing."""
        if self.standing:
            click.echo("\r" + " " * len(self.standing) + "\r", nl=False, err=True)
        if line:
            click.echo(line, nl=False, err=True)
        self.standing = line


VOICE = Voice()


def notice(line: str) -> None:
    """Show what the user should know."""
    VOICE.say(f"portmert: note: {line}")


def log(line: str) -> None:
    """Show a line of a log."""
    VOICE.say(line)
