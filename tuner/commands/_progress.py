"""Shows how far work has come: a bar, lines, or for how long it has been on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from portmert.tuner.commands._notice import VOICE

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


ANNOTATIONS_SHOWN = 500
"""Fewer sentences are annotated before a bar is of use."""


SLOW_SECONDS = 2.0
"""A search that ends sooner shows nothing."""
TICK_SECONDS = 1.0


@contextmanager
def decoding(label: str = "decoding", *, least: int = 0) -> Iterator[Callable[[int, int], None]]:
    """Give a function progress(done, total) that draws a bar on stderr; silent off a terminal.

    Each round ends with done == total; the next call begins a new bar. There is none for a total
    below `least`.
    """
    if VOICE.quiet or not sys.stderr.isatty():
        yield _lines(label, least) if VOICE.verbose else lambda _done, _total: None
        return
    bar: Any = None

    def progress(done: int, total: int) -> None:
        nonlocal bar
        if total < least:
            return
        if bar is None:
            bar = click.progressbar(length=total, label=label, file=sys.stderr)
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


def _lines(label: str, least: int) -> Callable[[int, int], None]:
    """Return a function that says in lines how far the work has come, ten in each round."""
    said = 0

    def progress(done: int, total: int) -> None:
        nonlocal said
        tenths = 10 * done // max(total, 1)
        if total >= least and tenths != said:
            VOICE.say(f"{label}: {done} of {total}")
        said = tenths % 10

    return progress


def annotating() -> AbstractContextManager[Callable[[int, int], None]]:
    """Give a function progress(done, total) of sentences annotated, as `decoding` does."""
    return decoding("annotating", least=ANNOTATIONS_SHOWN)


@contextmanager
def searching() -> Iterator[dict[str, Any]]:
    """Give functions progress(done, total) that show how long a search has been on.

    `searching` is called with restarts, `sampling` with bootstrap samples. On a terminal a line on
    stderr says so each second, once `SLOW_SECONDS` have passed; it is gone in the end. One restart
    may take minutes, so that a bar would say nothing.
    """
    if VOICE.quiet or not sys.stderr.isatty():
        yield (
            {"searching": _lines("searching", 2), "sampling": _lines("bootstrap samples", 2)}
            if VOICE.verbose
            else {}
        )
        return
    begin, come, ended = 0.0, (0, 0, ""), threading.Event()

    def restarted(done: int, total: int) -> None:
        nonlocal begin, come
        begin, come = begin or time.monotonic(), (done, total, "restarts")

    def sampled(done: int, total: int) -> None:
        nonlocal come
        come = (done, total, "bootstrap samples")

    def tick() -> None:
        while not ended.wait(TICK_SECONDS):
            seconds = time.monotonic() - begin
            if begin and seconds >= SLOW_SECONDS:
                done, total, what = come
                far = f", {done} of {total} {what} done" if total > 1 else ""
                VOICE.stand(f"searching: {seconds:.0f} s{far}")

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield {"searching": restarted, "sampling": sampled}
    finally:
        ended.set()
        ticker.join()
        VOICE.stand("")


@contextmanager
def tuning(annotator: str | None, *, replicas_on: str = "local") -> Iterator[dict[str, Any]]:
    """Show the search, or what is annotated meanwhile: bars of both would stand on one line.

    `replicas_on` is where replicas are searched; what those on a cluster do is not seen.
    """
    if annotator:
        with annotating() as progress:
            yield {"progress": progress}
    elif replicas_on != "local":
        with decoding("replicas") as done:
            yield {"searching": done}
    else:
        with searching() as shown:
            yield shown
