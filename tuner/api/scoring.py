"""Scores of plain text against references."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypedDict, Unpack, overload

import numpy as np

from portmert.aligners._base import Aligner
from portmert.metrics._base import Metric, Texts, Vocabulary

from ..base import arguments, errors
from ..base.context import Progress, using
from ..base.files import TextFile
from ..base.warn import warn_of, warnings_so_far
from ..components import registry
from ..texts import corpus, joining, scoring, statistics, text_pipeline
from ..texts.annotator import Annotator
from ..texts.corpus import References
from ..texts.links import linking, links_made
from ..texts.prepare import read_output
from ..texts.scoring import Score
from .texts import (
    PathLike,
    TextLike,
    own_references,
    pipeline_of,
    preparing,
    text_file,
    text_files,
)


class ScoreOptions(TypedDict, total=False):
    """The options of `score`, which explains them."""

    source: TextLike | None
    hyp_links: TextLike | None
    ref_links: Sequence[TextLike] | PathLike
    aligner: str | Aligner | None
    ids: bool
    missing: Literal["error", "segment", "empty"] | None
    text: str | Sequence[str] | text_pipeline.TextPipeline
    text_model: PathLike | None
    annotator: str | Annotator | None
    annotation_cache: PathLike | None
    threads: int
    progress: Progress | None


@overload
def score(  # type: ignore[overload-overlap]  # text is a sequence of texts too
    hyp: TextLike,
    refs: Sequence[TextLike] | PathLike,
    *,
    metric: str | Metric = ...,
    **options: Unpack[ScoreOptions],
) -> Score: ...
@overload
def score(
    hyp: TextLike,
    refs: Sequence[TextLike] | PathLike,
    *,
    metric: Sequence[str | Metric],
    **options: Unpack[ScoreOptions],
) -> list[Score]: ...
@arguments.checked
def score(
    hyp: TextLike,
    refs: Sequence[TextLike] | PathLike = (),
    *,
    metric: str | Metric | Sequence[str | Metric] = "bleu",
    source: TextLike | None = None,
    hyp_links: TextLike | None = None,
    ref_links: Sequence[TextLike] | PathLike = (),
    aligner: str | Aligner | None = None,
    ids: bool = False,
    missing: Literal["error", "segment", "empty"] | None = None,
    text: str | Sequence[str] | text_pipeline.TextPipeline = "",
    text_model: PathLike | None = None,
    annotator: str | Annotator | None = None,
    annotation_cache: PathLike | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Score | list[Score]:
    """Score tokenised text, one segment a line, against one or more references.

    Parameters
    ----------
    hyp
        Hypotheses, one segment a line, or FILE#KEY; in Python a list of lines too.
    refs
        The references: each is the name of a file or a list of lines, as `[["the cat"]]`. A single
        name is one reference. None are needed if `metric` is `m2:FILE`.
    metric : NAME[:OPTION=VALUE,...]
        Metric, as bleu or port:alpha=0.5; `portmert metrics` lists all. In Python also an object,
        or several in a list.
    hyp_links
        Word alignment of source and hypothesis, lines as 0-0 1-2, or GIZA++'s A3 file.
    aligner
        Aligner for the texts that have no links: its name, or an object of `portmert.aligners`.
    ids
        As in `Lists`. The order of segments is then that of the first reference.
    missing
        Treatment of segments that lack a text: an `error`, leave out the `segment`, or count an
        `empty` hypothesis (by ids), as Kaldi's `mode=all`. A warning counts them. Default: error.
    source, ref_links, text, text_model, annotator, annotation_cache
        As in `Lists`.
    threads
        The number of threads, which never changes a score.
    progress
        Called with the phase `"annotating"`, how many sentences are done, and how many there are.

    Returns
    -------
    Score, or a list of scores for a list of metrics

    Raises
    ------
    PortmertError
        Texts do not fit together, or lack something that a metric needs.

    Examples
    --------
    >>> import portmert
    >>> found = portmert.score(["the cat sat"], [["the cat sat down"]], metric="bleu:max_order=2")
    >>> round(found.score, 4)
    0.7165
    >>> found
    Score(score=0.7165313105737893, signature='bleu:max_order=2,...', higher_is_better=True)
    """
    specs = [metric] if isinstance(metric, str | Metric) else metric
    metrics = [registry.metric(item) for item in specs]
    if isinstance(aligner, str):
        aligner = registry.aligner(aligner, {}, where="aligner")
    if aligner is None:
        _check_links_given(metrics, source, hyp_links, ref_links)
    with (
        using(threads=threads, annotation_cache=annotation_cache, progress=progress),
        preparing(annotator) as prepare,
    ):
        preparation = prepare(metrics, pipeline_of(text, text_model), None)
        sides = {
            "refs": text_files(refs or own_references(metrics), "references"),
            "ref_links": text_files(ref_links, "links of references"),
            "hyp": (text_file(hyp, "the hypotheses"),),
            "source": () if source is None else (text_file(source, "the source"),),
            "hyp_links": ()
            if hyp_links is None
            else (text_file(hyp_links, "links of the hypotheses"),),
        }
        texts, read = _read(sides, aligner, ids=ids, missing=missing)
        batch = preparation.batch(texts, preparation.references(read))
        warn_of(n for item in metrics for n in statistics.notices(item, batch))
        scores = scoring.score_texts(metrics, batch, preparation)
    warn_of(line for item in scores for line in item.doubts())
    scores = [replace(item, warnings=warnings_so_far(), ids=read.ids) for item in scores]
    return scores[0] if isinstance(metric, str | Metric) else scores


def with_intervals(
    scores: Sequence[Score], refs: Sequence[Path | str] = (), groups: TextLike | None = None
) -> list[Score]:
    """Return scores of one text with intervals: those that `compare` gives one system.

    Parameters
    ----------
    refs
        The references, whose format may name groups of segments.
    groups
        The group of each segment, as in `TestSet`.
    """
    stats, ids = [score.stats[np.newaxis] for score in scores], scores[0].ids
    from ..evaluation.comparison.systems import TestSet, find_groups  # noqa: PLC0415  start-up
    from ..evaluation.significance import systems_tested  # noqa: PLC0415  start-up

    of_segments = find_groups(TestSet(groups=groups), refs, stats[0].shape[1], ids)
    spreads, _ = systems_tested([x.metric for x in scores], [stats], None, of_segments)
    return [
        replace(score, low=spread.low, high=spread.high)
        for score, (spread,) in zip(scores, spreads, strict=True)
    ]


def _read(
    sides: dict[str, tuple[TextFile, ...]],
    aligner: Aligner | None,
    *,
    ids: bool,
    missing: str | None,
) -> tuple[Texts, References]:
    """Read hypotheses and references of the same segments; `sides` are the texts by argument."""
    if missing == "empty":
        sides["hyp"] = tuple(joining.with_empty_lines(x, sides["refs"][0]) for x in sides["hyp"])
    files = [text for texts in sides.values() for text in texts]
    if ids or missing == "empty":
        files = [joining.read_by_id(text) for text in files]
    left_out: tuple[str, ...] = ()
    if not any(joining.is_gold(text) for text in sides["refs"]):
        files, _, left_out = joining.joined(files, drop=missing == "segment")
    if left_out:
        joining.warn_left_out(left_out, "a text")
    rest = iter(files)
    refs, ref_links, (hyp,), source, links = (
        [next(rest) for _ in texts] for texts in sides.values()
    )
    with linking(aligner, next(iter(source), None), refs) as linker:
        if linker is not None and not ref_links:
            ref_links = list(linker.dev_links())
        references = corpus.read_references(
            refs, vocabulary=Vocabulary(), source=next(iter(source), None), links=ref_links
        )
        texts = read_output(hyp, references, beside=refs[0], links=next(iter(links), None))
        return links_made(linker, texts, 1, references), references


def _check_links_given(
    metrics: Sequence[Metric],
    source: TextLike | None,
    hyp_links: TextLike | None,
    ref_links: Sequence[TextLike] | PathLike,
) -> None:
    by_option = {"--source": source, "--hyp-links": hyp_links, "--ref-links": ref_links}
    missing = [option for option, value in by_option.items() if not value]
    for metric in metrics:
        if "links" in metric.needs and missing:
            raise errors.InputError(
                f"metric {metric.name()} compares word orders and needs word alignments; give "
                f"{' and '.join(missing)} too, or --aligner NAME"
            )
