"""Groups of options that several commands have, and the objects that they become."""

from __future__ import annotations  # portmert.Lists in a type would load it

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import click

import portmert

from ..base import options as language
from ..families import names
from ._kinds import EXISTING, FOLDER, Whole
from ._options_of_functions import Decorator, options

REQUIRED = {"required": True}
LISTS = "tuner.api.lists.Lists"
TEST_SET = "tuner.evaluation.comparison.systems.TestSet"
READ = (
    "refs", "source", "ref_links", "ids", "missing", "format", "systems", "features", "text",
    "text_model", "annotator", "annotation_cache",
)  # fmt: skip
"""Parameters of `Lists` that are options."""
TEST = ("paths", "format", "refs", "source", "ref_links", "features")
"""Those of the lists of a test set."""


def refuse(names: Iterable[str], reason: str) -> None:
    """Refuse each of these parameters that the command line gives.

    Parameters
    ----------
    reason
        The end of the message, as `needs --replicas`.
    """
    context = click.get_current_context()
    refused = set(names)
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name in refused and source is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} {reason}")


def refuse_all_but(names: Sequence[str], reason: str) -> None:
    """Refuse all other parameters."""
    params = click.get_current_context().command.params
    refuse({parameter.name for parameter in params if parameter.name} - set(names), reason)


def key_values(settings: Iterable[str]) -> dict[str, Any]:
    """Return the options given as --set KEY=VALUE."""
    from ..components import registry  # noqa: PLC0415  start-up time

    return registry.key_values(settings, where="--set")


def take_aligner(values: dict[str, Any]) -> Any:
    """Return the aligner of --aligner and --set, None without; they leave `values`."""
    from ..components import registry  # noqa: PLC0415  start-up time

    name, settings = values.pop("aligner"), values.pop("options")
    if name is None and settings:
        raise click.UsageError("--set needs --aligner")
    return name and registry.aligner(name, key_values(settings), where="--aligner")


def all_of(*decorators: Decorator) -> Decorator:
    """Declare several options, which help shows in this order."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return add


class _FormatOption(click.Option):
    """An option that lists all formats in its help, which looks them up."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help."""
        record = super().get_help_record(ctx)
        return record and (record[0], f"{record[1]} Formats: {', '.join(names('reader'))}.")


def settings(help_text: str) -> Decorator:
    """Declare --set KEY=VALUE."""
    return click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=help_text)


def overrides(help_text: str) -> Decorator:
    """Declare --set TABLE.KEY=VALUE."""
    return click.option(
        "--set", "overrides", multiple=True, metavar="TABLE.KEY=VALUE", help=help_text
    )


def metric(owner: str, **changes: Any) -> Decorator:
    """Declare --metric, which must be given."""
    return options(owner, "metric", metric={**REQUIRED, **changes})


any_annotator = options(LISTS, "annotator annotation_cache")
"""For commands whose CONFIG or run may name the annotator too."""


def annotator(command: Callable[..., Any]) -> Callable[..., Any]:
    """Declare --annotator, and --annotation-cache, which is refused without it."""

    @wraps(command)
    def checked(*words: Any, **values: Any) -> Any:
        if values["annotation_cache"] is not None and values["annotator"] is None:
            raise click.UsageError(
                f"--annotation-cache {values['annotation_cache']}: nothing is annotated without "
                f"--annotator"
            )
        return command(*words, **values)

    return any_annotator(checked)


config = click.argument("config", type=EXISTING)
processes = click.option(
    "--threads", type=Whole(0), help="Number of threads and processes; 0: one for each processor."
)
lowercase = click.option(
    "--lowercase",
    is_flag=True,
    help="Lowercase the texts before scoring; short for --text lowercase.",
)
text_steps = options(LISTS, "text text_model")
text_files = options(LISTS, "refs source ref_links ids")
nbest_format = options(LISTS, "format", format={"cls": _FormatOption})
nbest = options(LISTS, "paths", paths=REQUIRED)
FROM_GRAPHS = "tuner.api.lists.Lists.from_graphs"
graphs = options(FROM_GRAPHS, "graphs graph_format", graphs={"required": False})
"""Search graphs in place of lists; see `take_lists`."""
lists = all_of(
    nbest_format,
    options(
        LISTS,
        "systems features",
        systems={"callback": lambda _, __, text: tuple(language.names(text)) if text else ()},
    ),
    text_files,
    options(LISTS, "missing"),
    lowercase,
    text_steps,
    annotator,
)
"""What `take_lists` takes, but for the files."""


of_test = all_of(
    options(
        LISTS,
        " ".join(TEST),
        prefix="test-",
        format={"default": None, "help": "Format of the test lists. Default: as --nbest-format."},
        paths={"help": "N-best list of the test set."},
        source={"help": "Source text of the test set, as --source."},
        ref_links={"help": "Links of the references of the test set, for each of --test-ref."},
        refs={"help": "References of the test set, by which its lists are scored."},
        features={
            "help": "The features of --feature for the test set, written the same way. Only "
            "features with a file must be repeated."
        },
    ),
    options(
        FROM_GRAPHS,
        "graphs",
        prefix="test-",
        graphs={
            "required": False,
            "help": "Search graphs of the test set, where --graphs names those to tune on.",
        },
    ),
)
"""The files of a test set; see `take_test`."""
constraints = options("tuner.search.constraints.Constraints.from_options")
SEARCH = "tuner.api.optimizing.Search"
search = all_of(
    options(SEARCH, "weights optimizer"),
    settings("An option of the optimizer, for example searches_per_feature=1600."),
    click.option(
        "--restarts", type=Whole(1), help="Number of independent searches; the best one wins."
    ),
    options(SEARCH, "seed threads"),
    constraints,
    options(SEARCH, "prior"),
)
length_penalty = options(SEARCH, "length_penalty")
executor = options(SEARCH, "executor")
config_executor = options(
    SEARCH,
    "executor",
    executor={"default": None, "show_default": "the table [executor] of CONFIG, else local"},
)
threads = options(SEARCH, "threads")
seed = options(SEARCH, "seed")
bootstrap = options("tuner.api.optimizing.optimize", "samples--bootstrap")
confidence = options("tuner.evaluation.significance.Resampling", "level")
fresh = click.option("--fresh", is_flag=True, help="Empty --out-dir and start over.")


def out_dir(help_text: str, **changes: Any) -> Decorator:
    """Declare --out-dir."""
    return click.option("--out-dir", type=FOLDER, help=help_text, **changes)


def out_dir_is_needed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse a call without --out-dir, which in Python may be left out."""
    for parameter in vars(command)["__click_params__"]:
        parameter.required |= parameter.name == "out_dir"
    return command


def take_lists(values: dict[str, Any], **strings: Any) -> portmert.Lists:
    """Take the options of lists out of all values; files are read when they are needed.

    Parameters
    ----------
    strings
        What else `Lists.from_graphs` takes, for a command with --graphs.
    """
    values["text"] = steps(values["text"], lowercase=values.pop("lowercase"))
    read: Any = {name: values.pop(name) for name in READ}
    paths, graphs = values.pop("paths"), values.pop("graphs", ())
    if strings and bool(paths) == bool(graphs):
        missing = "Missing option '--nbest' or '--graphs'."
        raise click.UsageError("give --nbest or --graphs, not both" if graphs else missing)
    refuse(
        ("format", "systems") if graphs else ("graph_format",),
        f"goes with --{'nbest' if graphs else 'graphs'}",
    )
    graph_format = values.pop("graph_format", None)
    if graphs:
        return portmert.Lists.from_graphs(graphs, graph_format=graph_format, **strings, **read)
    return portmert.Lists(paths, **read)


def take_test(values: dict[str, Any], lists: portmert.Lists) -> portmert.Lists | None:
    """Take the options of a test set out of all values; formats are those of the other lists."""
    of_test = {name: values.pop(f"test_{name}") for name in TEST}
    paths, graphs = of_test.pop("paths"), values.pop("test_graphs")
    strings, kind = lists.strings, "graphs" if lists.strings else "nbest"
    refuse(
        ("test_paths", "test_format") if strings else ("test_graphs",),
        f"does not go with --{kind}",
    )
    if not paths and not graphs:
        refuse([f"test_{name}" for name in TEST], f"needs --test-{kind}")
        return None
    of_test["format"] = of_test["format"] or lists.format
    of_test["ids"] = lists.ids and bool(of_test["refs"] or of_test["source"])
    if strings:
        of_test["in_memory"] = strings.of_test_set(graphs)
    return portmert.Lists(paths, missing=lists.missing, **of_test)


def steps(text: str | None, *, lowercase: bool) -> str:
    """Return the text steps that both options ask for."""
    if lowercase and text:
        raise click.UsageError(
            "--lowercase beside --text: make it one of the steps, their order matters "
            f"(--text lowercase,{text})"
        )
    return "lowercase" if lowercase else text or ""


def take_search(values: dict[str, Any]) -> None:
    """Put optimizer and constraints into the values, as `Search` has them."""
    from ..components import registry  # noqa: PLC0415  start-up time

    settings, restarts = key_values(values.pop("settings")), values.pop("restarts")
    if restarts is not None:
        settings["restarts"] = restarts
    values["optimizer"] = registry.optimizer(values["optimizer"], settings)
    take_constraints(values)


def take_constraints(values: dict[str, Any]) -> None:
    """Put the constraints into the values as one."""
    from ..search.constraints import Constraints  # noqa: PLC0415  start-up time

    limits = {name: values.pop(name) for name in ("fixed", "bounds", "signs", "tied")}
    values["constraints"] = Constraints.from_options(**limits)


def take_resampling(values: dict[str, Any]) -> portmert.Resampling:
    """Take --samples, --seed and --confidence out of all values."""
    return portmert.Resampling(*(values.pop(name) for name in ("samples", "seed", "level")))
