"""Texts as a metric that needs syntax sees them: hypotheses annotated when they are asked for.

Annotating comes behind all steps of the text pipeline but a last lowercasing: parsers want case,
and the tokens are as many. Lowercasing then changes words alone, neither tags nor labels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from metrics._base import Ragged
from tuner.annotation.annotating import TextAnnotator
from tuner.annotation.cache import default_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from metrics._base import IntArray, Metric, Need, Texts
    from tuner.annotation.annotators._base import Annotator
    from tuner.texts.text_pipeline import Side, TextPipeline

    OpenSyntax = Callable[[Sequence[Metric], TextPipeline, Annotator | None], "Syntax | None"]


def open_annotator(
    annotator: Annotator,
    *,
    cache: Path | None,
    processes: int,
    notice: Callable[[str], None],
    progress: Callable[[int, int], None] | None = None,
) -> TextAnnotator:
    """Return what annotates texts, with the cache in a folder; None: the user's own.

    Raises
    ------
    InputError
        The annotator lacks its library or model.
    """
    return TextAnnotator(
        annotator,
        cache=default_folder() if cache is None else cache,
        processes=processes,
        notice=notice,
        progress=progress,
    )


class Syntax:
    """What metrics need from an annotator, for texts that go through a pipeline.

    Parameters
    ----------
    needs
        As `tuner.texts.statistics.needs_of` finds them.
    """

    def __init__(
        self, annotator: TextAnnotator, pipeline: TextPipeline, needs: frozenset[Need]
    ) -> None:
        self.annotator = annotator
        self._pipeline = pipeline
        self._needs = needs

    def counts(self) -> dict[str, int]:
        """Return how many distinct sentences the cache had, were new, and have no parse."""
        annotator = self.annotator
        return {"hits": annotator.hits, "misses": annotator.misses, "failed": annotator.failed}

    def whole(self, texts: Texts, scored: Texts, side: Side) -> Texts:
        """Return all of `scored` with what is needed; parameters as of `lazily`."""
        return self.lazily(texts, scored, side)(np.arange(len(texts)))

    def lazily(
        self, texts: Texts, scored: Texts, side: Side = "hyp"
    ) -> Callable[[IntArray], Texts]:
        """Return a function from (n,) texts to these with what is needed.

        Parameters
        ----------
        texts, scored : Texts
            Texts before the pipeline, and the same as they are scored.
        side
            Of the pipeline.
        """
        cased = self._pipeline.cased(texts, side)

        def annotated(chosen: IntArray) -> Texts:
            found = self.annotator.annotate(cased.take(chosen), self._needs)
            return _as_scored(scored.take(chosen), found)

        return annotated


def _as_scored(scored: Texts, annotated: Texts) -> Texts:
    """Return the texts that are scored with the syntax of the annotated ones."""
    trees = None if annotated.trees is None else _with_leaves(annotated.trees, scored.tokens)
    return replace(
        scored, tags=annotated.tags, heads=annotated.heads, trees=trees, arcs=annotated.arcs
    )


def _with_leaves(trees: Ragged, tokens: Ragged) -> Ragged:
    """Return trees with other words at their leaves; a text without a tree stays without."""
    first = trees.offsets[0]
    values = trees.values[first : trees.offsets[-1]].reshape(-1, 2).copy()
    starts = np.repeat(trees.offsets[:-1] - first, trees.lengths)
    has_child = np.zeros(len(values), dtype=np.bool_)
    below = values[:, 1] >= 0
    has_child[(starts + values[:, 1])[below]] = True
    parsed = np.repeat(trees.lengths > 0, tokens.lengths)
    words = tokens.values[tokens.offsets[0] : tokens.offsets[-1]]
    values[~has_child, 0] = words[parsed]
    return Ragged(values, trees.offsets - first)
