"""Preparation of texts for metrics: text steps, annotations, references.

Texts are annotated after all text steps except a last lowercasing: parsers want capitals, and the
number of tokens is the same. Lowercasing then changes words only, not tags or labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

import portmert
from portmert.metrics._base import Batch, IntArray, Metric, Need, Ragged, Texts

from ..base.errors import counted
from ..base.files import TextFile, called
from .annotator import Annotator, TextAnnotator
from .corpus import References, make_batch, read_texts, with_links
from .forms import LinesById, TimedWords, cut_at_times
from .joining import check_lines, check_order, joined, opened
from .statistics import needs_of
from .text_pipeline import Side, TextPipeline

Prepare: TypeAlias = "Callable[[Sequence[Metric], TextPipeline, Annotator | None], Preparation]"
"""Makes the preparation for metrics; the annotator is that of a run."""


@dataclass(frozen=True, eq=False)
class Preparation:
    """Prepares texts for some metrics.

    Parameters
    ----------
    pipeline
        The text steps.
    annotator
        Gives tags and parses; None if no metric needs them.
    needs
        The needs of the metrics that an annotator meets; see `texts.statistics.needs_of`.
    """

    pipeline: TextPipeline = field(default_factory=TextPipeline)
    annotator: TextAnnotator | None = None
    needs: frozenset[Need] = frozenset()

    @classmethod
    def of(
        cls,
        metrics: Sequence[Metric],
        pipeline: TextPipeline,
        open_annotator: Callable[[], TextAnnotator | None],
    ) -> Preparation:
        """Return the preparation for metrics; an annotator is opened only if one needs it."""
        needs = needs_of(metrics)
        return cls(pipeline, open_annotator() if needs else None, needs)

    def references(self, references: References) -> References:
        """Return prepared references, and the source that metrics read.

        Links go on counting the tokens of the source as it was read.
        """
        return replace(
            references,
            texts=self.prepared(references.texts, "ref"),
            source=self.pipeline.source(references.source),
        )

    def batch(self, texts: Texts, references: References) -> Batch:
        """Prepare as many hypotheses of each segment, and set them against prepared references."""
        each = len(texts) // max(len(references), 1)
        offsets = np.arange(len(references) + 1, dtype=np.int64) * each
        return make_batch(self.prepared(texts), offsets, references)

    def lazily(
        self, texts: Texts, side: Side = "hyp"
    ) -> tuple[Texts, Callable[[IntArray], Texts] | None]:
        """Return texts after the steps, and a function that annotates (n,) of them, if needed."""
        scored = self.pipeline.applied(texts, side)
        annotator = self.annotator
        if annotator is None:
            return scored, None
        cased = self.pipeline.cased(texts, side)

        def annotated(rows: IntArray) -> Texts:
            annotations, texts_of_rows = (
                annotator.annotate(cased.take(rows), self.needs),
                scored.take(rows),
            )
            trees = (
                None
                if annotations.trees is None
                else _with_leaves(annotations.trees, texts_of_rows.tokens)
            )
            return replace(
                annotations, tokens=texts_of_rows.tokens, links=texts_of_rows.links, trees=trees
            )

        return scored, annotated

    def signature(self, metric: Metric, references: int | IntArray) -> str:
        """Return all that a score depends on.

        Parameters
        ----------
        references : int or (S + 1,) int64
            The number of references of each segment, or the offsets of the references.
        """
        counts = np.unique(np.diff(references) if np.ndim(references) else references)
        parts = [f"refs:{counts[0] if counts.size == 1 else 'var'}", self.pipeline.signature]
        if self.annotator is not None and needs_of([metric]):
            parts.append(f"annotator:{self.annotator.fingerprint}")
        return signature(metric, *parts)

    def prepared(self, texts: Texts, side: Side = "hyp") -> Texts:
        """Return prepared texts of a side."""
        scored, annotated = self.lazily(texts, side)
        return scored if annotated is None else annotated(np.arange(len(texts)))


def signature(metric: Metric, *circumstances: str) -> str:
    """Return a metric's signature, all else on which its score depends, and the version."""
    return "|".join((metric.signature, *circumstances, f"portmert:{portmert.__version__}"))


def coverage(annotator: TextAnnotator) -> str:
    """Return a line on the sentences with a parse, from where, in what time and of what depth."""
    hits, misses, failed = annotator.counts.values()
    line = (
        f"annotator {annotator.name}: {counted(hits + misses, 'sentence')}, "
        f"{1 - failed / max(hits + misses, 1):.1%} with a parse, {failed} without; "
        f"{hits} from the cache, {misses} new in {annotator.seconds:.1f} s"
    )
    return line + depth(annotator)


def depth(annotator: TextAnnotator) -> str:
    """Return a note if lists of parses are shorter than asked for; else an empty text."""
    return "".join(
        f"; at most {counted(most, 'parse')} of a sentence, {requested} asked for"
        for requested, most in annotator.depths.items()
        if most < requested
    )


def read_output(
    path: TextFile, references: References, *, beside: TextFile, links: TextFile | None = None
) -> Texts:
    """Read the output of a system, one hypothesis a segment, joined by ids where both have some.

    Parameters
    ----------
    beside
        The file of references, which must have the same number of lines.
    links
        Links with the source; the references know the lengths of the source.

    Raises
    ------
    InputError
        It is no text or of another length, or the links do not fit.
    """
    path = opened(path)
    if isinstance(path, TimedWords):
        path = cut_at_times(path, [opened(beside)])
    if references.ids is not None:
        like = LinesById(called(beside), (), references.ids)
        (path, *linked), _, _ = joined([path] if links is None else [path, links], like)
        links = linked[0] if linked else None
    elif isinstance(path, LinesById):
        check_order(path.ids, path, beside)
    texts = read_texts(path, references.texts.vocabulary)
    check_lines(path, len(texts), beside, len(references))
    return texts if links is None else with_links(texts, links, references.source_lengths)


def _with_leaves(trees: Ragged, tokens: Ragged) -> Ragged:
    """Return trees with other words at their leaves; texts without a tree have none."""
    trees = trees.alone()
    values = trees.values.reshape(-1, 2).copy()
    starts = np.repeat(trees.offsets[:-1], trees.lengths)
    has_child = np.zeros(len(values), dtype=np.bool_)
    below = values[:, 1] >= 0
    has_child[(starts + values[:, 1])[below]] = True
    parsed = np.repeat(trees.lengths > 0, tokens.lengths)
    values[~has_child, 0] = tokens.alone().values[parsed]
    return Ragged(values, trees.offsets)
