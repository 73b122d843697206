"""Offers `portmert compile`: fills the cache of compiled kernels ahead of time."""

from __future__ import annotations

import time

import click


@click.command()
def command() -> None:
    """Compile all kernels now, so that no later command has to wait for it.

    Without it each kernel is compiled when it is first used after an installation, and kept.

    \b
    portmert compile
    """  # noqa: D301  \b is click's sign for lines to leave alone
    from portmert.tuner.evaluation.metaeval import evaluation as judging  # noqa: PLC0415  start-up time
    from portmert.tuner.runs import warm_up as tuning  # noqa: PLC0415

    begin = time.perf_counter()
    tuning.warm_up()
    judging.warm_up()
    click.echo(f"kernels are compiled ({time.perf_counter() - begin:.1f} s)")
