"""Adds the options of commands that need an annotator for some metrics."""

from __future__ import annotations

import click

from portmert.tuner.commands._options import FOLDER, Decorator, all_of


def cache_option(name: str) -> Decorator:
    """Declare --annotation-cache."""
    return click.option(
        "--annotation-cache",
        name,
        type=FOLDER,
        metavar="DIR",
        help="Where annotations are kept. Default: PORTMERT_CACHE or the user's cache folder.",
    )


annotator_options = all_of(
    click.option(
        "--annotator",
        metavar="NAME[:OPTION=VALUE,...]",
        help="What tags or parses the texts, as udpipe:model=FILE; needed by metrics that compare "
        "syntax.",
    ),
    cache_option("annotation_cache"),
)
