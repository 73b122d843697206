"""Options are made from the signatures and docstrings of public functions."""

import dataclasses
import inspect

import click
import pytest

import portmert
from portmert.tuner.cli import main
from portmert.tuner.commands._options_of_functions import parameters


def options_of(name):
    command = main.get_command(click.Context(main), name)
    return {one.name: one for one in command.params if isinstance(one, click.Option)}


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_every_option_has_a_help_for_the_command_line(name):
    for option in options_of(name).values():
        assert option.help
        assert "in python" not in option.help.lower()


def test_defaults_are_those_of_the_signatures():
    options = options_of("optimize")
    for field in dataclasses.fields(portmert.Search):
        if field.name != "constraints" and field.default is not None:
            assert options[field.name].default == field.default
    signature = inspect.signature(portmert.crossval).parameters
    splits = options_of("crossval")["splits"]
    assert (splits.default, splits.type.min) == (signature["splits"].default, 1)


def test_names_of_parameters_become_options():
    shown = " ".join(
        main.get_command(click.Context(main), "score").get_help(click.Context(main)).split()
    )
    assert "one for each of --ref" in shown


def test_an_unknown_function_is_named():
    with pytest.raises(LookupError, match="scores"):
        parameters("tuner.api.scoring.scores")
