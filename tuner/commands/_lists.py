"""Adds the options of commands that read n-best lists or texts."""

from __future__ import annotations

import click

from portmert.tuner.commands._annotating import annotator_options
from portmert.tuner.commands._options import (
    FILE,
    Decorator,
    all_of,
    defaulted,
    ref_links_option,
    refs_option,
    several,
    source_option,
)
from portmert.tuner.families import names


class _FormatOption(click.Option):
    """Names all formats in its help; they are looked up when it is asked for."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help."""
        self.help = (
            f"Format of the lists: {', '.join(names('reader'))}; `portmert components reader` "
            f"explains them and their options."
        )
        return super().get_help_record(ctx)


format_option = click.option(
    "--nbest-format",
    default="auto",
    show_default=True,
    metavar="NAME[:OPTION=VALUE,...]",
    cls=_FormatOption,
)

feature_option = click.option(
    "--feature",
    "extra_features",
    multiple=True,
    metavar="NAME=FILE|NAME=METRIC@FILE|length|ratio|mbr:METRIC",
    help="Add a feature: a number for each hypothesis, in the order of the list (text, .gz, "
    ".npy; of several lists with commas between them); -NAME=FILE where less is better; "
    "NAME=chrf@FILE, a metric against another output; length; ratio, to the source's length; "
    "mbr:chrf, the mean score against the others of the list. "
    "Repeat for more.",
)


def options_of_test(*, required: bool = False) -> Decorator:
    """Add what names a test set of n-best lists."""
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
        several("--test-ref-links", help="Links of its source and reference, one a --test-ref."),
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
    "as in Kaldi's text; segments are found by them.",
)


def missing_features_option(help_text: str) -> Decorator:
    """Declare --missing-features."""
    return defaulted("--missing-features", click.Choice(["refuse", "zero"]), "refuse", help_text)


text_options = all_of(
    click.option(
        "--text",
        default="",
        metavar="STEP,...",
        help="What is done to the texts, in order: lowercase, debpe, spm-decode, spm-encode, or "
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


list_options = all_of(
    format_option,
    feature_option,
    refs_option("References; repeat for more than one."),
    source_option,
    ref_links_option,
    lowercase_option,
    text_options,
    annotator_options,
    ids_option,
)
"""How lists are read, what they are compared with, and what texts become."""


def steps(text: str, *, lowercase: bool) -> str:
    """Return the text steps that both options ask for."""
    if lowercase and text:
        raise click.UsageError(
            "--lowercase beside --text: make it one of the steps, their order matters "
            f"(--text lowercase,{text})"
        )
    return "lowercase" if lowercase else text
