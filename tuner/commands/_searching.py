"""Adds the options of commands that search for weights."""

from __future__ import annotations

from typing import Any

import click

import portmert
from portmert.tuner.commands._lists import steps
from portmert.tuner.commands._options import (
    FILE,
    FiniteRange,
    Whole,
    all_of,
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
search_options = all_of(
    start_option,
    click.option(
        "--optimizer",
        default=DEFAULT_OPTIMIZER,
        show_default=True,
        metavar="NAME[:OPTION=VALUE,...]",
        help="What searches; `portmert components optimizer` lists all.",
    ),
    set_option("Option of the optimizer, as searches_per_feature=1600."),
    click.option("--restarts", type=Whole(1), help="Independent searches."),
    seed_option,
    threads_option,
    constraint_options,
    click.option(
        "--length-penalty",
        metavar="ALPHA|LOW:HIGH",
        help="Divide model scores by length^ALPHA; a range is searched. Default: that of "
        "--weights.",
    ),
    click.option(
        "--prior",
        type=FiniteRange(0),
        default=0.0,
        help="Strength of a pull towards the start weights. 0, the default: none.",
    ),
)


def take_search(given: dict[str, Any]) -> None:
    """Put options of the optimizer and constraints as the API takes them."""
    given["text"] = steps(given["text"], lowercase=given.pop("lowercase"))
    given["options"] = portmert.key_values(given.pop("settings"), where="--set")
    restarts = given.pop("restarts")
    if restarts is not None:
        given["options"]["restarts"] = restarts
    given["constraints"] = take_constraints(given)


def take_constraints(given: dict[str, Any]) -> dict[str, Any]:
    """Return the constraints among what was given, and remove them there."""
    return {name: given.pop(name) for name in _CONSTRAINTS}
