"""The choice of segments that judges see."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from portmert.metrics._base import IntArray, Texts, Vocabulary
from portmert.metrics.terp import Ter
from portmert.tuner.base.numbers import Natural, Positive, PositiveShare
from portmert.tuner.texts import corpus, statistics, text_pipeline
from portmert.tuner.texts.prepare import Preparation, read_output


@dataclass(frozen=True)
class Filters:
    """The choice of segments to show to judges.

    Parameters
    ----------
    min_length
        Least number of tokens in the first reference.
    max_length
        Largest number of tokens in the first reference.
    differ
        Whether the two outputs must differ.
    top_share
        Share of these segments to keep: those with the lowest TER of either system. A choice
        between two bad outputs tells little. 1: all.
    """

    min_length: Natural = 10
    max_length: Positive = 50
    differ: bool = True
    top_share: PositiveShare = 0.5


def select(
    outputs: Sequence[Texts],
    references: corpus.References,
    displayed: Sequence[Sequence[str]],
    filters: Filters,
) -> tuple[IntArray, dict[str, int]]:
    """Return the segments that pass the filters.

    Parameters
    ----------
    outputs
        S texts of either system, ready for TER and for counting tokens.
    references
        References of the S segments. Judges see the first of each.
    displayed
        Both outputs as judges see them.

    Returns
    -------
    segments : (n,) int64
        Rising.
    left : dict
        Name of each filter, in order -> number of segments left after it.
    """
    lengths = references.texts.tokens.lengths[references.offsets[:-1]]
    passes = (lengths >= filters.min_length) & (lengths <= filters.max_length)
    left = {"segments": len(passes), "reference length": int(np.count_nonzero(passes))}
    if filters.differ:
        passes &= np.array(
            [a.split() != b.split() for a, b in zip(*displayed, strict=True)], dtype=np.bool_
        )
        left["outputs differ"] = int(np.count_nonzero(passes))
    segments = np.flatnonzero(passes)
    count = math.ceil(filters.top_share * len(segments))
    if count < len(segments):
        best, metric = np.zeros(len(passes), dtype=np.bool_), Ter()
        offsets = np.arange(len(references) + 1, dtype=np.int64)
        for texts in outputs:
            stats = statistics.compute_stats(metric, corpus.make_batch(texts, offsets, references))
            rates = metric.score(stats)[segments]
            best[segments[np.argsort(rates, kind="stable")[:count]]] = True
        segments = np.flatnonzero(best)
    left["TER"] = len(segments)
    return segments.astype(np.int64), left


def read_and_select(
    outputs: Sequence[Path],
    references: Sequence[Path],
    pipeline: text_pipeline.TextPipeline,
    displayed: Sequence[Sequence[str]],
    filters: Filters,
) -> tuple[IntArray, dict[str, int]]:
    """Read both outputs and the references and apply the filters, see `select`.

    Raises
    ------
    InputError
        Files of different lengths.
    """
    preparation = Preparation(pipeline)
    read = corpus.read_references(references, vocabulary=Vocabulary())
    texts = [
        preparation.prepared(read_output(path, read, beside=references[0])) for path in outputs
    ]
    return select(texts, preparation.references(read), displayed, filters)
