"""Options of n-best lists and texts, which all become one `Lists`, and options of searches."""

from __future__ import annotations  # portmert.Lists in a type would load it

from typing import Any

import click

import portmert

from ..base import options as language
from ..families import names
from ..search import DEFAULT_OPTIMIZER
from . import _options, _outputs
from ._options import (
    FILE,
    LIST,
    Decorator,
    FiniteRange,
    Whole,
    several,
)

TEST = (
    "test_lists",
    "test_format",
    "test_refs",
    "test_source",
    "test_ref_links",
    "test_features",
)
"""Parameters of a test set."""
_READ = (
    "refs", "source", "ref_links", "ids", "drop_missing", "format", "systems", "features", "text",
    "text_model", "annotator", "annotation_cache",
)  # fmt: skip
"""Parameters of `Lists`."""


class _FormatOption(click.Option):
    """An option that lists all formats in its help, which looks them up."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help."""
        self.help = (
            f"Format of the lists: {', '.join(names('reader'))}. `portmert components reader` "
            f"explains the formats and their options."
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

systems_option = click.option(
    "--systems",
    metavar="NAME,NAME,...",
    callback=lambda _, __, given: tuple(language.names(given or "")),
    help="The system that each --nbest is of, for lists with different features. Features are "
    "then called SYSTEM.FEATURE, and are 0 for hypotheses that the system has not; the feature "
    "SYSTEM is 1 for those that it has.",
)

feature_option = click.option(
    "--feature",
    "features",
    multiple=True,
    metavar="NAME=FILE|NAME=METRIC@FILE|length|ratio|mbr:METRIC",
    help="Add a feature; repeat for several. NAME=FILE: a file with one number for each "
    "hypothesis, in the order of the list (text, .gz or .npy; for several lists one file each, "
    "separated by commas), or with lines as `utt-2 -1.5` by segment and number. "
    "NAME=FILE.jsonl#KEY, NAME=FILE.tsv#COLUMN: a column, joined by id and index where it has "
    "them. -NAME=FILE: the "
    "same, negated, for numbers where less is better. "
    "NAME=chrf@FILE: the score against another system's output (a name with , @ or # stands in "
    "quotes, see docs/how-to/command-line.md). length: the number of tokens. "
    "ratio: the length divided by the source's. mbr:chrf: the mean score against all "
    "hypotheses of the segment.",
)


def options_of_test(*, required: bool = False) -> Decorator:
    """Declare the files of a test set."""
    return _options.all_of(
        several(
            "--test-nbest",
            "test_lists",
            kind=LIST,
            required=required,
            help="N-best list of a test set; repeat to merge several.",
        ),
        click.option(
            "--test-nbest-format",
            "test_format",
            metavar="NAME[:OPTION=VALUE,...]",
            help="Format of the lists of the test set, if it is not that of --nbest-format or "
            "names other files.",
        ),
        several(
            "--test-ref",
            "test_refs",
            help="References of the test set; repeat for several. Without any, its lists are "
            "reranked but not scored.",
        ),
        click.option(
            "--test-source",
            type=FILE,
            help="Source text of the test set; word alignments and the feature ratio need it.",
        ),
        several(
            "--test-ref-links",
            help="Word alignment of source and reference; one file for each --test-ref.",
        ),
        several(
            "--test-feature",
            "test_features",
            kind=str,
            metavar="NAME=FILE|...",
            help="The features of --feature for the test set, written the same way. Features that "
            "name no file, such as length, need not be repeated.",
        ),
    )


ids_option = click.option(
    "--ids",
    is_flag=True,
    help="Each line of the references, the source and the word alignments begins with the id of "
    "its segment, as in Kaldi's text files. Columns with ids, FILE.jsonl#KEY, need no option.",
)
drop_option = click.option(
    "--drop-missing",
    is_flag=True,
    help="Leave out segments that lack an answer, in the lists, the references, the source or "
    "the features; a warning counts them. Default: they are errors.",
)


def missing_features_option(help_text: str) -> Decorator:
    """Declare --missing-features."""
    return _options.defaulted(
        "--missing-features", click.Choice(["refuse", "zero"]), "refuse", help_text
    )


text_options = _options.all_of(
    click.option(
        "--text",
        default="",
        metavar="STEP,...",
        help="Change the texts before scoring by these steps, in this order: lowercase, nfc, nfd, "
        "nfkc, nfkd, unescape, plain-punct, no-punct, no-brackets, contractions, debpe, "
        "spm-decode, spm-encode, or sacrebleu's tokenisers 13a, intl, char, zh, ja-mecab, "
        "ko-mecab, flores101, flores200, spBLEU-1K. hyp:STEP or ref:STEP changes one side only, "
        "src:STEP the source that metrics read.",
    ),
    click.option(
        "--text-model",
        type=FILE,
        help="Sentencepiece model for the spm and flores steps.",
    ),
)
lowercase_option = click.option(
    "--lowercase",
    is_flag=True,
    help="Lowercase the texts before scoring; short for --text lowercase.",
)


def list_options(*, refs: Decorator | None = None, ids: Decorator = ids_option) -> Decorator:
    """Declare what `take_lists` takes: the format of lists, references, and text steps."""
    return _options.all_of(
        format_option,
        systems_option,
        feature_option,
        refs or _options.refs(),
        _options.source,
        _options.ref_links,
        lowercase_option,
        text_options,
        _options.annotator,
        ids,
        drop_option,
    )


def take_lists(given: dict[str, Any]) -> portmert.Lists:
    """Take the options of lists out of those given; files are read when they are needed.

    With --pool they are lists on disk.
    """
    given["text"] = steps(given["text"], lowercase=given.pop("lowercase"))
    options: Any = {name: given.pop(name) for name in _READ}
    pool, paths = given.pop("pool", None), given.pop("lists")
    if pool is not None:
        return portmert.Lists.on_disk(pool, paths, notice=_outputs.notice, **options)
    return portmert.Lists.unread(paths, notice=_outputs.notice, **options)


def take_test(given: dict[str, Any], lists: portmert.Lists) -> portmert.Lists | None:
    """Take the options of a test set out of those given; formats are those of the other lists."""
    found = {name: given.pop(name) for name in TEST}
    if not found["test_lists"]:
        _options.refuse(TEST, "needs --test-nbest")
        return None
    return portmert.Lists.unread(
        found["test_lists"],
        refs=found["test_refs"],
        source=found["test_source"],
        ref_links=found["test_ref_links"],
        ids=lists.ids and bool(found["test_refs"] or found["test_source"]),
        drop_missing=lists.drop_missing,
        format=found["test_format"] or lists.format,
        features=found["test_features"],
        notice=_outputs.notice,
    )


def steps(text: str, *, lowercase: bool) -> str:
    """Return the text steps that both options ask for."""
    if lowercase and text:
        raise click.UsageError(
            "--lowercase beside --text: make it one of the steps, their order matters "
            f"(--text lowercase,{text})"
        )
    return "lowercase" if lowercase else text


start_option = click.option(
    "--weights",
    type=FILE,
    help="File of start weights: our JSON or a moses.ini. Default: all weights equal.",
)


constraint_options = _options.all_of(
    *(
        click.option(name, kept_as, multiple=True, metavar=form, help=text)
        for name, kept_as, form, text in (
            ("--fix", "fixed", "NAME", "Do not change the weight of this feature."),
            ("--bound", "bounds", "NAME=LOW:HIGH", "Keep the weight of a feature within a range."),
            (
                "--sign",
                "signs",
                "NAME=+",
                "Keep the weight of a feature positive (+) or negative (-).",
            ),
            (
                "--tie",
                "tied",
                "NAME,NAME",
                "Change the weights of these features together, in fixed ratios.",
            ),
        )
    )
)
length_penalty_option = click.option(
    "--length-penalty",
    metavar="ALPHA|LOW:HIGH",
    help="Divide model scores by length^ALPHA. In a range the best ALPHA is searched. Default: "
    "the length penalty in --weights.",
)
bootstrap_option = click.option(
    "--bootstrap",
    "samples",
    type=Whole(0),
    default=0,
    help="Tune again on this many resampled sets of segments, and report how much the weights "
    "vary.",
)
search_options = _options.all_of(
    start_option,
    click.option(
        "--optimizer",
        default=DEFAULT_OPTIMIZER,
        show_default=True,
        metavar="NAME[:OPTION=VALUE,...]",
        help="The search algorithm; `portmert components optimizer` lists all.",
    ),
    _options.settings("An option of the optimizer, for example searches_per_feature=1600."),
    click.option(
        "--restarts", type=Whole(1), help="Number of independent searches; the best one wins."
    ),
    _options.seed,
    _options.threads,
    constraint_options,
    click.option(
        "--prior",
        type=FiniteRange(0),
        default=0.0,
        help="How strongly the weights are drawn towards the start weights. 0, the default: not "
        "at all.",
    ),
)


def take_search(given: dict[str, Any]) -> None:
    """Put optimizer and constraints into the options given, as `SearchOptions` has them."""
    from ..components import registry  # noqa: PLC0415  start-up time

    options, restarts = _options.key_values(given.pop("settings")), given.pop("restarts")
    if restarts is not None:
        options["restarts"] = restarts
    given["optimizer"] = registry.optimizer(given["optimizer"], options)
    take_constraints(given)


def take_constraints(given: dict[str, Any]) -> None:
    """Put the constraints into the options given as one."""
    from ..search.constraints import Constraints  # noqa: PLC0415  start-up time

    names = ("fixed", "tied", "bounds", "signs")
    options = {name: given.pop(name) for name in names}
    given["constraints"] = Constraints.from_options(**options)
