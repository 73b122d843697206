"""Progress of work: a bar, lines, or the seconds since it began."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from portmert.tuner.commands._notice import VOICE

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


Phases = Callable[[str, int, int], None]

ANNOTATIONS_SHOWN = 500
"""With fewer sentences to annotate there is no bar."""


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
    """Return a function that shows the progress in lines, ten in each round."""
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
def searching() -> Iterator[Phases]:
    """Give a function progress(phase, done, total) that shows how long a search has been on.

    The phases are `searching` with restarts and `sampling` with bootstrap samples. On a terminal a
    line on stderr shows the seconds, once `SLOW_SECONDS` have passed; it is gone in the end. One
    restart may take minutes, and a bar would stand still.
    """
    if VOICE.quiet or not sys.stderr.isatty():
        lines = {"searching": _lines("searching", 2), "sampling": _lines("bootstrap samples", 2)}
        yield _dispatched(lines if VOICE.verbose else {})
        return
    begin, come, ended = 0.0, (0, 0, ""), threading.Event()

    def progress(phase: str, done: int, total: int) -> None:
        nonlocal begin, come
        begin = begin or time.monotonic()
        come = (done, total, "restarts" if phase == "searching" else "bootstrap samples")

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
        yield progress
    finally:
        ended.set()
        ticker.join()
        VOICE.stand("")


@contextmanager
def tuning(annotator: object, *, replicas_on: str = "local") -> Iterator[Phases]:
    """Show the search, or the annotations instead: two bars cannot stand on one line.

    Parameters
    ----------
    replicas_on
        The executor of replicas; the restarts of those on a cluster cannot be seen.
    """
    if annotator:
        with annotating() as progress:
            yield _dispatched({"annotating": progress})
    elif replicas_on != "local":
        with decoding("replicas") as done:
            yield _dispatched({"searching": done})
    else:
        with searching() as shown:
            yield shown


@contextmanager
def validating() -> Iterator[Phases]:
    """Show cross-validation: bars of sentences annotated, then of searches."""
    with annotating() as annotated, decoding("tuning") as searched:
        yield _dispatched({"annotating": annotated, "searching": searched})


def _dispatched(shown: Mapping[str, Callable[[int, int], None]]) -> Phases:
    """Return a function progress(phase, done, total) that shows these phases."""

    def progress(phase: str, done: int, total: int) -> None:
        if phase in shown:
            shown[phase](done, total)

    return progress
