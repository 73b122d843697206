"""`portmert compile`: compile the kernels ahead of time."""

import sys
import time
from itertools import chain

import click

from portmert.tuner.base.errors import ProgramError
from portmert.tuner.families import extensions


@click.command()
@click.option(
    "--for",
    "purpose",
    type=click.Choice(["all", "tune"]),
    default="all",
    show_default=True,
    help="Compile for every command, or for reading lists and tuning on BLEU or PORT.",
)
def command(purpose: str) -> None:
    """Compile kernels now.

    No later command has to wait for it.

    Without it each kernel is compiled when it is first used after an installation, and kept. All
    are divided among as many processes as there are processors.

    \b
    portmert compile
    portmert compile --for tune
    """  # noqa: D301  \b is click's sign for lines to leave alone
    from portmert.tuner.base.context import (  # noqa: PLC0415  start-up time
        available_processors,
    )
    from portmert.tuner.base.programs import (  # noqa: PLC0415
        Command,
        environment,
        python,
        run,
        scratch,
    )

    begin = time.perf_counter()
    shares = min(available_processors(), MOST) if purpose == "all" else 1
    is_shared = shares > 1
    if is_shared:
        with scratch(name="compile") as folder:
            workers = [
                Command(
                    python(__name__, str(share), str(shares)),
                    folder / f"{share}.log",
                    environment=environment(),
                )
                for share in range(shares)
            ]
            try:
                run(*workers, at_once=shares)
            except ProgramError:
                is_shared = False  # once more here: to compile the rest, or to tell the error
    if not is_shared:
        _compile(0, 1, only_tuning=purpose == "tune")
    click.echo(f"kernels are compiled ({time.perf_counter() - begin:.1f} s)")


MOST = 8
"""More processes would wait for the longest compilation of one kernel."""


def _compile(share: int, shares: int, *, only_tuning: bool = False) -> None:
    from .warm_up import warm_up  # noqa: PLC0415

    warm_up(share, shares, only_tuning=only_tuning)
    if share == 0 and not only_tuning:
        for kernels in chain(*extensions("portmert.kernels").values()):
            kernels.load()()


if __name__ == "__main__":
    _compile(*map(int, sys.argv[1:]))
