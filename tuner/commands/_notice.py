"""Lines that are no results, on stderr, for all commands: notes, logs, progress."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from numba.core.event import Event


class Voice:
    """How much commands show on stderr.

    Attributes
    ----------
    quiet
        Show results and faults only.
    verbose
        Show progress off a terminal too, and the time of each line.
    standing
        The text on the last line of a terminal, until the next line.
    """

    def __init__(self) -> None:
        self.quiet = self.verbose = False
        self.standing = ""
        self.begin = time.monotonic()

    def reset(self) -> None:
        """Start afresh for a command."""
        self.__init__()  # type: ignore[misc]  # as if it were new

    def say(self, line: str) -> None:
        """Show one line on stderr."""
        if self.quiet:
            return
        self.stand("")
        since = f"[{time.monotonic() - self.begin:7.1f} s] " if self.verbose else ""
        click.echo(since + line, err=True)

    def stand(self, line: str) -> None:
        """Replace the text on the last line of the terminal; an empty one clears it."""
        if self.standing:
            click.echo("\r" + " " * len(self.standing) + "\r", nl=False, err=True)
        if line:
            click.echo(line, nl=False, err=True)
        self.standing = line


VOICE = Voice()


def notice(line: str) -> None:
    """Show a note to the user."""
    VOICE.say(f"portmert: note: {line}")


def log(line: str) -> None:
    """Show a line of a log."""
    VOICE.say(line)


def announce_compiling() -> None:
    """Note on stderr, once, that kernels are compiled: the first run after an installation."""
    from numba.core import event  # noqa: PLC0415  start-up time

    class Announcer(event.Listener):  # type: ignore[misc]  # numba has no types
        """Notes the first compilation."""

        said = False

        def on_start(self, _: Event) -> None:
            """Write the note."""
            if not self.said:
                self.said = True
                click.echo(
                    "portmert: note: compiling kernels, once after an installation (10 to 30 s; "
                    "`portmert compile` does it ahead of time)",
                    err=True,
                )

        def on_end(self, _: Event) -> None:
            """Do nothing."""

    event.register("numba:compile", Announcer())
