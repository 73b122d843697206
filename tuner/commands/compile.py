"""`portmert compile`: compile the kernels ahead of time."""

import contextlib
import sys
import time

import click

from .. import families
from ..base.errors import ProgramError


@click.command()
def command() -> None:
    """Compile all kernels now, so that no later command has to wait for it.

    Without it each kernel is compiled when it is first used after an installation, and kept. The
    work is divided among as many processes as there are processors.

    \b
    portmert compile
    """  # noqa: D301  \b is click's sign for lines to leave alone
    from ..base.context import available_processors  # noqa: PLC0415  start-up time
    from ..base.line_processes import environment  # noqa: PLC0415
    from ..base.programs import Command, python, run, scratch  # noqa: PLC0415

    begin, shares = time.perf_counter(), min(available_processors(), MOST)
    if shares > 1:
        with scratch(name="compile") as folder, contextlib.suppress(ProgramError):
            workers = [
                Command(
                    python(__name__, str(share), str(shares)),
                    folder / f"{share}.log",
                    environment=environment(),
                )
                for share in range(shares)
            ]
            run(*workers, at_once=shares)
    # Load all from the cache; compile here, or tell the error of, what a worker failed to compile.
    _compile(0, 1)
    click.echo(f"kernels are compiled ({time.perf_counter() - begin:.1f} s)")


MOST = 8
"""More processes would wait for the longest compilation of one kernel."""


def _compile(share: int, shares: int) -> None:
    from ..runs import warm_up as tuning  # noqa: PLC0415

    tuning.warm_up(share, shares)
    if share == shares - 1:
        families.wing("evaluation.metaeval.evaluation").warm_up()


if __name__ == "__main__":
    _compile(*map(int, sys.argv[1:]))
