"""What commands that read n-best lists have in common: options, and the reading."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tuner.commands._notice import notice
from tuner.families import names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metrics._base import IntArray, Metric, Texts
    from tuner.nbest.model import NBest
    from tuner.texts.corpus import References
    from tuner.texts.prepare import Preparation
    from tuner.texts.text_pipeline import TextPipeline

_FILE = click.Path(dir_okay=False, path_type=Path)


class _FormatOption(click.Option):
    """Names all formats in its help; they are looked up when it is asked for."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option and its help."""
        self.help = (
            f"Format of the lists: {', '.join(names('reader'))}; `portmert components reader` "
            f"explains them and their options."
        )
        return super().get_help_record(ctx)


def format_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --nbest-format."""
    return click.option(
        "--nbest-format",
        default="auto",
        show_default=True,
        metavar="NAME[:OPTION=VALUE,...]",
        cls=_FormatOption,
    )(command)


def text_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --text and --text-model."""
    command = click.option(
        "--text-model", type=_FILE, help="Sentencepiece model of spm-decode and spm-encode."
    )(command)
    return click.option(
        "--text",
        "text_steps",
        default="",
        metavar="STEP,...",
        help="What is done to the texts, in order: lowercase, debpe, spm-decode, spm-encode, or "
        "sacrebleu's 13a, intl, char, zh, ja-mecab, ko-mecab; hyp:STEP or ref:STEP for one side.",
    )(command)


def pipeline_of(
    text_steps: str, text_model: Path | None, *, lowercase: bool = False
) -> TextPipeline:
    """Return the text pipeline that the options ask for."""
    from tuner.texts.text_pipeline import TextPipeline  # noqa: PLC0415  start-up time

    if lowercase and text_steps:
        raise click.UsageError(
            "--lowercase beside --text: make it one of the steps, their order matters "
            f"(--text lowercase,{text_steps})"
        )
    return TextPipeline.parse("lowercase" if lowercase else text_steps, text_model)


@dataclass(frozen=True, eq=False)
class Lists:
    """N-best lists as commands use them.

    Parameters
    ----------
    nbest : NBest
        Texts as they stand in the lists.
    scored : NBest
        The same with texts as they are scored.
    references : References
        As they are scored; none for a metric that reads none.
    annotate : callable or None
        See `tuner.search.optimization.statistics_table`.
    """

    nbest: NBest
    scored: NBest
    references: References
    annotate: Callable[[IntArray], Texts] | None = None

    @property
    def lengths(self) -> IntArray:
        """(H,) tokens of each hypothesis as it stands in the lists."""
        return self.nbest.texts.tokens.lengths


def read_lists(
    paths: Sequence[Path | str],
    *,
    nbest_format: str,
    ready: Preparation,
    metric: Metric | None = None,
    refs: Sequence[Path] = (),
    source: Path | None = None,
    ref_links: Sequence[Path] = (),
) -> Lists:
    """Read lists and references, check that they fit, and make the texts ready.

    References are annotated at once, hypotheses when they are asked for.
    """
    from metrics._base import Vocabulary  # noqa: PLC0415  start-up time
    from tuner.components import registry  # noqa: PLC0415
    from tuner.nbest.check import check_links  # noqa: PLC0415
    from tuner.nbest.read import read_nbest  # noqa: PLC0415
    from tuner.texts import corpus  # noqa: PLC0415

    reader = registry.reader(nbest_format)
    vocabulary = Vocabulary()
    references = None
    if refs:
        references = corpus.read_references(
            refs, vocabulary=vocabulary, source=source, links=ref_links
        )
        references = ready.references(references)
    nbest = read_nbest(
        paths,
        vocabulary,
        segments=None if references is None else len(references),
        notice=notice,
        reader=reader,
    )
    if metric is not None:
        metric.check_lists(paths, nbest.list_sizes)
    if references is None:
        references = corpus.no_references(vocabulary, len(nbest))
    elif references.source_lengths is not None:
        check_links(nbest, references.source_lengths)
    scored, annotate = ready.lazily(nbest.texts)
    return Lists(nbest, replace(nbest, texts=scored), references, annotate)


def reads_references(metric_text: str) -> bool:
    """Whether a metric compares with references."""
    from tuner.components import registry  # noqa: PLC0415  start-up time

    return registry.metric(metric_text).reads_references
