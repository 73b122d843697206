"""Adds the options of commands that need an annotator for some metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tuner.commands._options import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable


def annotator_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --annotator and --annotation-cache."""
    command = cache_option("annotation_cache")(command)
    return click.option(
        "--annotator",
        metavar="NAME[:OPTION=VALUE,...]",
        help="What tags or parses the texts, as udpipe:model=FILE; needed by metrics that compare "
        "syntax.",
    )(command)


def cache_option(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare --annotation-cache."""
    return click.option(
        "--annotation-cache",
        name,
        type=FOLDER,
        metavar="DIR",
        help="Where annotations are kept. Default: PORTMERT_CACHE or the user's cache folder.",
    )
