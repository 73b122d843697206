"""Adds the options of commands that need an annotator for some metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tuner.commands._options import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable


def annotator_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --annotator and --annotation-cache."""
    command = click.option(
        "--annotation-cache",
        type=FOLDER,
        metavar="DIR",
        help="Where annotations are kept. Default: PORTMERT_CACHE or the user's cache folder.",
    )(command)
    return click.option(
        "--annotator",
        metavar="NAME[:OPTION=VALUE,...]",
        help="What tags or parses the texts, as udpipe:model=FILE; needed by metrics that compare "
        "syntax.",
    )(command)
