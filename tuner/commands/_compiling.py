"""Tells those who wait for the compiler: the first run after an installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from numba.core.event import Event


def announce_compiling() -> None:
    """Say so on stderr, once, if a kernel has to be compiled because the cache has none yet."""
    from numba.core import event  # noqa: PLC0415  start-up time

    class Announcer(event.Listener):  # type: ignore[misc]  # numba has no types
        """Hears of the first compilation."""

        said = False

        def on_start(self, _: Event) -> None:
            """Say it."""
            if not self.said:
                self.said = True
                click.echo(
                    "portmert: note: compiling kernels, once after an installation (10 to 30 s; "
                    "`portmert compile` does it ahead of time)",
                    err=True,
                )

        def on_end(self, _: Event) -> None:
            """Nothing to say."""

    event.register("numba:compile", Announcer())
