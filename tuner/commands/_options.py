"""Options that several commands have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import portmert

from ..base.numbers import LARGEST, MOST, bounded

if TYPE_CHECKING:
    from click import Context, Parameter

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FILE = click.Path(dir_okay=False, path_type=Path)
LIST = click.Path(path_type=Path)
"""A file of n-best lists, or a folder."""
FOLDER = click.Path(file_okay=False, path_type=Path)
OUT_FILE = click.Path(dir_okay=False, path_type=Path, allow_dash=True)
METRIC = "NAME[:OPTION=VALUE,...]"


class FiniteRange(click.FloatRange):
    """A finite number in a range; for click, NaN is in every range."""

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> float:
        """Return the number, or fail as wrong usage."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(bounded(number)):
            self.fail(f"{value} is not a finite number of at most {LARGEST:g}.", param, ctx)
        return number


class Whole(click.IntRange):
    """A whole number from `lowest` on, small enough for an array."""

    def __init__(self, lowest: int, highest: int = MOST) -> None:
        super().__init__(lowest, highest)

    def _describe_range(self) -> str:
        return super()._describe_range() if self.max != MOST else f"x>={self.min}"


class Name(click.types.StringParamType):
    """A name that a text can hold: not empty, and UTF-8."""

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> str:
        """Return the name, or fail as wrong usage."""
        name: str = super().convert(value, param, ctx)
        if not name:
            self.fail("a name is empty.", param, ctx)
        if not name.isascii() and name != name.encode(errors="replace").decode():
            self.fail(f"{name!a} is not UTF-8.", param, ctx)
        return name


def refuse(names: Iterable[str], reason: str) -> None:
    """Refuse each of these parameters that the command line gives.

    Parameters
    ----------
    reason
        The end of the message, as `needs --replicas`.
    """
    context = click.get_current_context()
    chosen = set(names)
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in chosen and source is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} {reason}")


def refuse_all_but(names: Sequence[str], reason: str) -> None:
    """Refuse all other parameters."""
    params = click.get_current_context().command.params
    refuse({one.name for one in params if one.name} - set(names), reason)


def key_values(settings: Iterable[str]) -> dict[str, Any]:
    """Return the options given as --set KEY=VALUE."""
    from ..components import registry  # noqa: PLC0415  start-up time

    return registry.key_values(settings, where="--set")


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


def refs(
    help_text: str = "Reference translations: FILE, FILE.jsonl#KEY or FILE.tsv#COLUMN; repeat for "
    "several.",
    *,
    required: bool = False,
) -> Decorator:
    """Declare --ref."""
    return several("--ref", "refs", required=required, help=help_text)


def metrics(
    help_text: str, *, name: str = "metric", option: str = "--metric", required: bool = False
) -> Decorator:
    """Declare --metric, which may be repeated."""
    return several(option, name, kind=str, required=required, metavar=METRIC, help=help_text)


def metric(help_text: str) -> Decorator:
    """Declare --metric, which must be given once."""
    return click.option("--metric", required=True, metavar=METRIC, help=help_text)


def human(help_text: str, *, required: bool = True) -> Decorator:
    """Declare --human, --penalties, --outputs, --ref."""
    return all_of(
        click.option("--human", required=required, type=FILE, help=help_text),
        click.option(
            "--penalties",
            is_flag=True,
            help="The human scores are penalties, such as HTER: lower is better.",
        ),
        click.option(
            "--outputs",
            required=required,
            type=FOLDER,
            help="Folder of system outputs, files such as SYSTEM.en, one segment a line.",
        ),
        refs(required=required),
    )


systems = several(
    "--system",
    "systems",
    kind=Name(),
    help="Use only this system; repeat for several. Default: all systems.",
)

source = click.option(
    "--source",
    type=FILE,
    help="Source text: FILE, FILE.jsonl#KEY or FILE.tsv#COLUMN. Word alignments and some metrics "
    "and features need it; --text src:STEP changes what metrics read.",
)

ref_links = several(
    "--ref-links",
    help="Word alignment of source and reference; one file for each --ref, in the same order.",
)


def cache(name: str) -> Decorator:
    """Declare --annotation-cache."""
    return click.option(
        "--annotation-cache",
        name,
        type=FOLDER,
        metavar="DIR",
        help="Folder of the cache of tags and parses. Default: $PORTMERT_CACHE or the user's "
        "cache folder.",
    )


run_annotator = all_of(
    click.option(
        "--annotator",
        metavar="NAME[:OPTION=VALUE,...]",
        help="Tagger or parser, for example udpipe:model=FILE. Metrics that compare syntax or "
        "meaning need one.",
    ),
    cache("annotation_cache"),
)
"""For commands whose CONFIG or run may name the annotator too."""


def annotator(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare --annotator, and --annotation-cache, which is refused without it."""

    @wraps(command)
    def checked(*words: Any, **given: Any) -> Any:
        if given["annotation_cache"] is not None and given["annotator"] is None:
            raise click.UsageError(
                f"--annotation-cache {given['annotation_cache']}: nothing is annotated without "
                f"--annotator"
            )
        return command(*words, **given)

    return run_annotator(checked)


html = click.option(
    "--html", "html_out", type=FILE, help="Write an HTML page, one file that needs no network."
)

seed = defaulted(
    "--seed", Whole(0), 1, "Seed of all random choices. Equal seeds give equal results."
)

threads = click.option(
    "--threads",
    type=Whole(0),
    default=0,
    help="Number of threads. 0, the default: one for each processor. The number never changes a "
    "result.",
)

processes = click.option(
    "--threads", type=Whole(0), help="Number of threads and processes; 0: one for each processor."
)

no_timing = click.option(
    "--no-timing",
    is_flag=True,
    help="Leave out measured times, so that equal calls write equal bytes.",
)

config = click.argument(
    "config", type=click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True)
)

_PLACES = (
    "Where to run: local; a Dask cluster, dask:tcp://HOST:8786 or dask:FILE.json; a queueing "
    "system, dask-slurm:JOBS; or FILE.toml with a table [executor] (docs/how-to/cluster.md). The "
    "place never changes a result."
)

executor = click.option(
    "--executor", default="local", show_default=True, metavar="PLACE", help=_PLACES
)

run_executor = click.option(
    "--executor",
    metavar="PLACE",
    help=f"{_PLACES} Default: the table [executor] of CONFIG, else local.",
)

confidence = click.option(
    "--confidence",
    "level",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Confidence level of the intervals.",
)


def take_resampling(given: dict[str, Any]) -> portmert.Resampling:
    """Take --samples, --seed and --confidence out of the options given."""
    return portmert.Resampling(*(given.pop(name) for name in ("samples", "seed", "level")))


def settings(help_text: str) -> Decorator:
    """Declare --set KEY=VALUE."""
    return click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=help_text)


def overrides(help_text: str) -> Decorator:
    """Declare --set TABLE.KEY=VALUE."""
    return click.option(
        "--set", "overrides", multiple=True, metavar="TABLE.KEY=VALUE", help=help_text
    )
