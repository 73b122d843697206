"""Options of n-best lists and texts, which all become one `Lists`, and options of searches."""

from __future__ import annotations

from typing import Any

import click

import portmert
from portmert.tuner.commands._options import (
    FILE,
    Decorator,
    FiniteRange,
    Whole,
    all_of,
    annotator_options,
    defaulted,
    key_values,
    ref_links_option,
    refs_option,
    refuse,
    seed_option,
    set_option,
    several,
    source_option,
    threads_option,
)
from portmert.tuner.commands._outputs import notice
from portmert.tuner.families import names
from portmert.tuner.search import DEFAULT_OPTIMIZER

TEST = ("test_lists", "test_refs", "test_source", "test_ref_links", "test_features")
"""Parameters of a test set."""
_READ = (
    "refs",
    "source",
    "ref_links",
    "ids",
    "format",
    "features",
    "text",
    "text_model",
    "annotator",
    "annotation_cache",
)
"""Parameters of `Lists`."""


class _FormatOption(click.Option):
    """An option that lists all formats in its help, which looks them up."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help."""
        self.help = (
            f"Format of the lists: {', '.join(names('reader'))}; `portmert components reader` "
            f"explains them and their options."
        )
        return super().get_help_record(ctx)


format_option = click.option(
    "--nbest-format",
    "format",
    default="auto",
    show_default=True,
    metavar="NAME[:OPTION=VALUE,...]",
    cls=_FormatOption,
)

feature_option = click.option(
    "--feature",
    "features",
    multiple=True,
    metavar="NAME=FILE|NAME=METRIC@FILE|length|ratio|mbr:METRIC",
    help="Add a feature: a number for each hypothesis, in the order of the list (text, .gz, "
    ".npy; of several lists with commas between them); -NAME=FILE where less is better; "
    "NAME=chrf@FILE, a metric against another output; length; ratio, to the source's length; "
    "mbr:chrf, the mean score against the others of the list. "
    "Repeat for more.",
)


def options_of_test(*, required: bool = False) -> Decorator:
    """Declare the files of a test set."""
    return all_of(
        several(
            "--test-nbest",
            "test_lists",
            required=required,
            help="List of a test set, repeatable.",
        ),
        several(
            "--test-ref",
            "test_refs",
            help="Reference of the test set, repeatable. Without one its lists are reranked, but "
            "nothing is scored.",
        ),
        click.option(
            "--test-source", type=FILE, help="Its source text, needed with links and for ratio."
        ),
        several(
            "--test-ref-links",
            help="Links of source and reference, one file for each --test-ref.",
        ),
        several(
            "--test-feature",
            "test_features",
            kind=str,
            metavar="NAME=FILE|...",
            help="The same features for the lists of the test set, in the form of --feature; "
            "length and the like, which name no file, need not be repeated.",
        ),
    )


ids_option = click.option(
    "--ids",
    is_flag=True,
    help="Lines of references (and of source and links) begin with the ids of their segments, "
    "as in Kaldi's text.",
)


def missing_features_option(help_text: str) -> Decorator:
    """Declare --missing-features."""
    return defaulted("--missing-features", click.Choice(["refuse", "zero"]), "refuse", help_text)


text_options = all_of(
    click.option(
        "--text",
        default="",
        metavar="STEP,...",
        help="Steps applied to the texts, in order: lowercase, debpe, spm-decode, spm-encode, or "
        "sacrebleu's 13a, intl, char, zh, ja-mecab, ko-mecab, flores101, flores200; hyp:STEP or "
        "ref:STEP for one side.",
    ),
    click.option(
        "--text-model",
        type=FILE,
        help="Sentencepiece model of spm-decode and spm-encode, or of flores101 and flores200.",
    ),
)
lowercase_option = click.option("--lowercase", is_flag=True, help="Short for --text lowercase.")


def list_options(
    *, refs: str = "References; repeat for more than one.", ids: Decorator = ids_option
) -> Decorator:
    """Declare what `take_lists` takes: the format of lists, references, and text steps."""
    return all_of(
        format_option,
        feature_option,
        refs_option(refs),
        source_option,
        ref_links_option,
        lowercase_option,
        text_options,
        annotator_options,
        ids,
    )


def take_lists(given: dict[str, Any]) -> portmert.Lists:
    """Take the options of lists out of those given; files are read when they are needed.

    With --pool they are lists on disk.
    """
    given["text"] = steps(given["text"], lowercase=given.pop("lowercase"))
    options: Any = {name: given.pop(name) for name in _READ}
    pool, paths = given.pop("pool", None), given.pop("lists")
    if pool is not None:
        return portmert.Lists.on_disk(pool, paths, notice=notice, **options)
    return portmert.Lists.unread(paths, notice=notice, **options)


def take_test(given: dict[str, Any], lists: portmert.Lists) -> portmert.Lists | None:
    """Take the options of a test set out of those given; formats are those of the other lists."""
    found = {name: given.pop(name) for name in TEST}
    if not found["test_lists"]:
        refuse(TEST, "needs --test-nbest")
        return None
    return portmert.Lists.unread(
        found["test_lists"],
        refs=found["test_refs"],
        source=found["test_source"],
        ref_links=found["test_ref_links"],
        ids=lists.ids and bool(found["test_refs"] or found["test_source"]),
        format=lists.format,
        features=found["test_features"],
        notice=notice,
    )


def steps(text: str, *, lowercase: bool) -> str:
    """Return the text steps that both options ask for."""
    if lowercase and text:
        raise click.UsageError(
            "--lowercase beside --text: make it one of the steps, their order matters "
            f"(--text lowercase,{text})"
        )
    return "lowercase" if lowercase else text


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
