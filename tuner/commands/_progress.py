"""A progress bar for work of unknown number of rounds, on a terminal only."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def decoding() -> Iterator[Callable[[int, int], None]]:
    """Give a function progress(done, total) that draws a bar on stderr; silent off a terminal.

    Each round ends with done == total; the next call begins a new bar.
    """
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    bar: Any = None

    def progress(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            bar = click.progressbar(length=total, label="decoding", file=sys.stderr)
            bar.__enter__()
        bar.update(done - bar.pos)
        if done >= total:
            bar.__exit__(None, None, None)
            bar = None

    try:
        yield progress
    finally:
        if bar is not None:
            bar.__exit__(None, None, None)
