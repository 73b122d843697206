"""Declares options that several commands have, and those that had another name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from portmert.tuner.commands._notice import VOICE
from portmert.tuner.ground.numbers import LARGEST, MOST, bounded

if TYPE_CHECKING:
    from click import Context, Parameter

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
OUT_FILE = click.Path(dir_okay=False, path_type=Path, allow_dash=True)
METRIC = "NAME[:OPTION=VALUE,...]"


class FiniteRange(click.FloatRange):
    """Accepts a number in a range that can be calculated with; for click NaN is in all."""

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> float:
        """Return the number, or fail as wrong usage."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(bounded(number)):
            self.fail(f"{value} is not a finite number of at most {LARGEST:g}.", param, ctx)
        return number


class Whole(click.IntRange):
    """Accepts a whole number from `lowest` on, none that no array could hold."""

    def __init__(self, lowest: int, highest: int = MOST) -> None:
        super().__init__(lowest, highest)

    def _describe_range(self) -> str:
        return super()._describe_range() if self.max != MOST else f"x>={self.min}"


class Name(click.types.StringParamType):
    """Accepts a name that can stand in a text: not the empty one, none that is not UTF-8."""

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> str:
        """Return the name, or fail as wrong usage."""
        name: str = super().convert(value, param, ctx)
        if not name:
            self.fail("a name is empty.", param, ctx)
        if not name.isascii() and name != name.encode(errors="replace").decode():
            self.fail(f"{name!a} is not UTF-8.", param, ctx)
        return name


def refuse_given(ctx: Context, other: str, *, but: Sequence[str] = ()) -> None:
    """Refuse options that would mean nothing beside another, or before a subcommand."""
    for parameter in ctx.command.params:
        given = ctx.get_parameter_source(parameter.name or "")
        if given is click.core.ParameterSource.COMMANDLINE and parameter.name not in but:
            raise click.UsageError(f"{parameter.opts[0]} does not go with {other}")


class Renamed(click.Option):
    """Understands old names of an option too, and shows only the new one."""

    def __init__(self, *given: Any, old: Sequence[str] = (), **rest: Any) -> None:
        super().__init__(*given, **rest)
        self.old = tuple(old)

    def add_to_parser(self, parser: Any, ctx: Context) -> None:
        """Let the parser know all names."""
        shown, self.opts = self.opts, [*self.opts, *self.old]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = shown


def renamed(*names: str, old: Sequence[str], **rest: Any) -> Decorator:
    """Declare an option that once was called otherwise."""
    return click.option(*names, cls=Renamed, old=old, **rest)


def all_of(*options: Decorator) -> Decorator:
    """Declare several options, which help shows in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def several(*names: str, kind: Any = FILE, **rest: Any) -> Decorator:
    """Declare an option that may be repeated."""
    return click.option(*names, multiple=True, type=kind, **rest)


def defaulted(name: str, kind: Any, default: object, help_text: str) -> Decorator:
    """Declare an option whose help shows its default."""
    return click.option(name, type=kind, default=default, show_default=True, help=help_text)


def refs_option(
    help_text: str = "References; repeat for more.", *, required: bool = False
) -> Decorator:
    """Declare --ref."""
    return several("--ref", "refs", required=required, help=help_text)


def metrics_option(
    help_text: str, *, name: str = "metric", option: str = "--metric", required: bool = False
) -> Decorator:
    """Declare --metric, of which there may be several."""
    return several(option, name, kind=str, required=required, metavar=METRIC, help=help_text)


def human_options(help_text: str, *, old: Sequence[str] = (), required: bool = True) -> Decorator:
    """Declare --human, --penalties, --outputs, --ref."""
    return all_of(
        renamed("--human", old=old, required=required, type=FILE, help=help_text),
        click.option(
            "--penalties",
            is_flag=True,
            help="The human scores are penalties (HTER): lower is better.",
        ),
        click.option(
            "--outputs",
            required=required,
            type=FOLDER,
            help="Folder of outputs named after their systems, SYSTEM.en, one segment a line.",
        ),
        refs_option(required=required),
    )


systems_option = several(
    "--system", "systems", kind=Name(), help="Only this system; repeat for more. Default: all."
)

source_option = click.option(
    "--source", type=FILE, help="Source text; links, and some metrics and features, need it."
)

ref_links_option = several(
    "--ref-links",
    help="Links of source and reference; one file for each --ref, in the same order.",
)

html_option = click.option(
    "--html", "html_out", type=FILE, help="Write a page, one file that needs no network."
)

seed_option = defaulted("--seed", Whole(0), 1, "Equal seeds give equal results.")

threads_option = click.option(
    "--threads",
    type=Whole(0),
    default=0,
    help="0, the default: one for each processor. No number of them changes a result.",
)


_PLACES = (
    "Where the work is done: local, a Dask cluster as dask:tcp://HOST:8786 or dask:FILE.json, a "
    "queueing system as dask-slurm:JOBS, or FILE.toml with a table [executor] "
    "(docs/how-to/cluster.md). No place changes a result."
)

executor_option = click.option(
    "--executor", default="local", show_default=True, metavar="PLACE", help=_PLACES
)

run_executor_option = click.option(
    "--executor",
    metavar="PLACE",
    help=f"{_PLACES} Default: what the table [executor] of CONFIG says, else local.",
)

confidence_option = renamed(
    "--confidence",
    "level",
    old=["--level"],
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Level of the intervals.",
)


def set_option(help_text: str, *, old: Sequence[str] = ()) -> Decorator:
    """Declare --set KEY=VALUE."""
    return renamed(
        "--set", "settings", old=old, multiple=True, metavar="KEY=VALUE", help=help_text
    )


def overrides_option(help_text: str) -> Decorator:
    """Declare --set TABLE.KEY=VALUE."""
    return click.option(
        "--set", "overrides", multiple=True, metavar="TABLE.KEY=VALUE", help=help_text
    )


def with_volume(command: click.Command) -> click.Command:
    """Add --quiet and --verbose to a command and to all of a group's."""
    if isinstance(command, click.Group):
        for one in command.commands.values():
            with_volume(one)
        if not command.invoke_without_command:
            return command
    if not any(parameter.name == "quiet" for parameter in command.params):
        command.params += [
            click.Option(
                ["-q", "--quiet"],
                is_flag=True,
                expose_value=False,
                callback=_set_volume,
                help="Show results and faults only.",
            ),
            click.Option(
                ["-v", "--verbose"],
                is_flag=True,
                expose_value=False,
                callback=_set_volume,
                help="Show progress also off a terminal, and when each line came.",
            ),
        ]
    return command


def _set_volume(_: Context, parameter: Parameter, value: bool) -> None:
    if value and parameter.name is not None:
        setattr(VOICE, parameter.name, True)
