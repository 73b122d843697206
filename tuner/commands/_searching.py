"""Adds the options of commands that search for weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tuner.commands._options import FILE

if TYPE_CHECKING:
    from collections.abc import Callable

_CONSTRAINTS = ("fixed", "tied", "bounds", "signs")


def start_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --weights."""
    return click.option(
        "--weights", type=FILE, help="Start weights: our JSON, a moses.ini. Default: all equal."
    )(command)


def constraint_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --fix, --bound, --sign and --tie."""
    options = (
        ("--fix", "fixed", "NAME", "Keep a feature's weight."),
        ("--bound", "bounds", "NAME=LOW:HIGH", "Keep a weight in a range."),
        ("--sign", "signs", "NAME=+", "Demand a weight's sign."),
        ("--tie", "tied", "NAME,NAME", "Keep the ratios of some weights."),
    )
    for name, kept_as, form, text in reversed(options):
        command = click.option(name, kept_as, multiple=True, metavar=form, help=text)(command)
    return command


def take_constraints(given: dict[str, Any]) -> dict[str, Any]:
    """Return the constraints among what was given, and remove them there."""
    return {name: given.pop(name) for name in _CONSTRAINTS}
