"""Selects the segments that are worth a judge's time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Texts, Vocabulary
from portmert.metrics.ter import Ter
from portmert.tuner.texts.corpus import References, make_batch, read_references
from portmert.tuner.texts.prepare import Preparation, read_output
from portmert.tuner.texts.statistics import compute_stats
from portmert.tuner.texts.text_pipeline import TextPipeline


@dataclass(frozen=True)
class Filters:
    """Says what a segment must be like.

    Parameters
    ----------
    min_length, max_length
        Tokens of the reference shown, both allowed.
    differ
        Whether the outputs must differ.
    top_share
        Of the segments that pass the others, such a share of those with the highest 1-TER of
        either system: an output that is far off both ways tells little. 1 keeps all.
    """

    min_length: int = 10
    max_length: int = 50
    differ: bool = True
    top_share: float = 0.5


@dataclass(frozen=True, eq=False)
class Selection:
    """Holds what the filters left.

    Parameters
    ----------
    segments : (n,) int64
        Rising.
    left : dict
        Name of a filter, in order -> how many segments are left behind it.
    """

    segments: IntArray
    left: dict[str, int]


def select(
    outputs: Sequence[Texts],
    references: References,
    shown: Sequence[Sequence[str]],
    filters: Filters,
) -> Selection:
    """Return the segments that pass the filters.

    Parameters
    ----------
    outputs
        Of both systems, S texts each, as TER and lengths are counted.
    references
        Those of the S segments; the first one of each is shown.
    shown
        Both outputs as judges see them.
    """
    lengths = references.texts.tokens.lengths[references.offsets[:-1]]
    kept = (lengths >= filters.min_length) & (lengths <= filters.max_length)
    left = {"segments": len(kept), "reference length": int(np.count_nonzero(kept))}
    if filters.differ:
        kept &= np.array(
            [a.split() != b.split() for a, b in zip(*shown, strict=True)], dtype=np.bool_
        )
        left["outputs differ"] = int(np.count_nonzero(kept))
    segments = np.flatnonzero(kept)
    count = math.ceil(filters.top_share * len(segments))
    if count < len(segments):
        best = np.zeros(len(kept), dtype=np.bool_)
        for texts in outputs:
            rates = _edit_rates(texts, references)[segments]
            best[segments[np.argsort(rates, kind="stable")[:count]]] = True
        segments = np.flatnonzero(best)
    left["1-TER"] = len(segments)
    return Selection(segments.astype(np.int64), left)


def _edit_rates(texts: Texts, references: References) -> FloatArray:
    metric = Ter()
    batch = make_batch(texts, np.arange(len(references) + 1, dtype=np.int64), references)
    return metric.score(compute_stats(metric, batch))


def read_and_select(
    outputs: Sequence[Path],
    references: Sequence[Path],
    pipeline: TextPipeline,
    shown: Sequence[Sequence[str]],
    filters: Filters,
) -> Selection:
    """Read both outputs and the references and apply the filters.

    Raises
    ------
    InputError
        Files of different lengths.
    """
    ready = Preparation(pipeline)
    read = read_references(references, vocabulary=Vocabulary())
    texts = [ready.hypotheses(read_output(path, read, beside=references[0])) for path in outputs]
    return select(texts, ready.references(read), shown, filters)
