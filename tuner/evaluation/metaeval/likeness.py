"""Tells whether metrics find people's translations better than machines': KING and ORANGE.

Each reference in turn is held out and scored beside the systems against the others.

References
----------
Amigo, Gonzalo, Penas & Verdejo, "QARLA: A Framework for the Evaluation of Text Summarization
Systems", ACL 2005; Lin & Och, "ORANGE", COLING 2004.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from portmert.metrics._base import Batch, FloatArray, IntArray, Metric
from portmert.tuner.evaluation.correlation import rounded
from portmert.tuner.ground.errors import InputError
from portmert.tuner.texts.corpus import with_references
from portmert.tuner.texts.statistics import compute_stats

if TYPE_CHECKING:
    from portmert.tuner.evaluation.metaeval.intervals import Draws


@dataclass(frozen=True, eq=False)
class Likeness:
    """Holds how references fare among the systems on each of S segments, means over references.

    Parameters
    ----------
    king : (S,) float64
        Whether the reference held out scores as high as every system.
    orange : (S, M) float64
        Whether it scores as high as each.
    """

    king: FloatArray
    orange: FloatArray

    @classmethod
    def of(cls, references: FloatArray, systems: FloatArray) -> Likeness:
        """Return what scores say, of R references (R, S) and of systems (R, S, M) beside each."""
        wins = rounded(references)[:, :, np.newaxis] >= rounded(systems)
        return cls(wins.all(axis=2).mean(axis=0), wins.mean(axis=0))

    def samples(self, draws: Draws) -> dict[str, FloatArray]:
        """Return (B,) KING and ORANGE; KING is of all systems, whichever are in a sample."""
        weights = draws.rows / draws.rows.sum(axis=1, keepdims=True)
        orange = (weights @ self.orange) * draws.times
        return {
            "king": weights @ self.king,
            "orange": orange.sum(axis=1) / draws.systems.shape[1],
        }


def likeness(metric: Metric, batch: Batch, *, kept: IntArray, threads: int = 1) -> Likeness:
    """Score each reference and the systems against the other references.

    Parameters
    ----------
    kept : (S,) int64
        Segments to tell of.

    Raises
    ------
    InputError
        There is one reference only, or not all segments have as many.
    """
    each = np.unique(np.diff(batch.reference_offsets))
    if len(each) != 1 or each[0] < 2:
        raise InputError(
            "KING and ORANGE hold out one reference and score it against the others: every "
            f"segment needs at least two references, here it has {each.min()}; repeat --ref, or "
            "name more refs of the test set"
        )
    count, segments = int(each[0]), len(batch)
    scores = []
    for held_out in range(count):
        others = with_references(batch, [n for n in range(count) if n != held_out])
        alone = replace(
            others,
            hypotheses=with_references(batch, [held_out]).references,
            offsets=np.arange(segments + 1, dtype=np.int64),
        )
        pair = []
        for part in (alone, others):
            stats = compute_stats(metric, part, threads=threads)
            found = np.asarray(metric.oriented(metric.score(stats)))
            pair.append(found.reshape(segments, -1)[kept])
        scores.append(pair)
    return Likeness.of(
        np.stack([one[:, 0] for one, _ in scores]), np.stack([other for _, other in scores])
    )
