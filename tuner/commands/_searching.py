"""Options of commands that search for weights."""

from __future__ import annotations

from typing import Any

import click

from portmert.tuner.commands._options import (
    FILE,
    FiniteRange,
    Whole,
    all_of,
    key_values,
    seed_option,
    set_option,
    threads_option,
)
from portmert.tuner.search import DEFAULT_OPTIMIZER

_CONSTRAINTS = ("fixed", "tied", "bounds", "signs")

start_option = click.option(
    "--weights", type=FILE, help="Start weights: our JSON, a moses.ini. Default: all equal."
)


constraint_options = all_of(
    *(
        click.option(name, kept_as, multiple=True, metavar=form, help=text)
        for name, kept_as, form, text in (
            ("--fix", "fixed", "NAME", "Keep a feature's weight."),
            ("--bound", "bounds", "NAME=LOW:HIGH", "Keep a weight in a range."),
            ("--sign", "signs", "NAME=+", "Demand a weight's sign."),
            ("--tie", "tied", "NAME,NAME", "Keep the ratios of some weights."),
        )
    )
)
length_penalty_option = click.option(
    "--length-penalty",
    metavar="ALPHA|LOW:HIGH",
    help="Divide model scores by length^ALPHA; a range is searched. Default: that of --weights.",
)
bootstrap_option = click.option(
    "--bootstrap",
    "samples",
    type=Whole(0),
    default=0,
    help="Tune again on so many resampled sets of segments; report how weights vary.",
)
search_options = all_of(
    start_option,
    click.option(
        "--optimizer",
        default=DEFAULT_OPTIMIZER,
        show_default=True,
        metavar="NAME[:OPTION=VALUE,...]",
        help="The optimizer; `portmert components optimizer` lists all.",
    ),
    set_option("Option of the optimizer, as searches_per_feature=1600."),
    click.option("--restarts", type=Whole(1), help="Independent searches."),
    seed_option,
    threads_option,
    constraint_options,
    click.option(
        "--prior",
        type=FiniteRange(0),
        default=0.0,
        help="Strength of a pull towards the start weights. 0, the default: none.",
    ),
)


def take_search(given: dict[str, Any]) -> None:
    """Put optimizer and constraints into the options given, as `SearchOptions` has them."""
    from portmert.tuner.components import registry  # noqa: PLC0415  start-up time

    options, restarts = key_values(given.pop("settings")), given.pop("restarts")
    if restarts is not None:
        options["restarts"] = restarts
    given["optimizer"] = registry.optimizer(given["optimizer"], options)
    take_constraints(given)


def take_constraints(given: dict[str, Any]) -> None:
    """Put the constraints into the options given as one."""
    given["constraints"] = {name: given.pop(name) for name in _CONSTRAINTS}
