"""Scores under several sets of links, and how far these agree: Table 7."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from portmert.metrics._base import Ragged
from portmert.tuner.evaluation.comparison.material import Material
from portmert.tuner.evaluation.comparison.model import Alignments, LinksAgreement, LinksScore


def alignments(materials: Sequence[Material], scores: Sequence[LinksScore]) -> Alignments | None:
    """Return Table 7; None where there are not two sets of links."""
    if len(materials) < 2:
        return None
    agreement = []
    for one, other in itertools.combinations(materials, 2):
        first, second = one.references.texts.links, other.references.texts.links
        assert first is not None  # noqa: S101
        assert second is not None  # noqa: S101
        agreement.append(
            LinksAgreement(str(one.links), str(other.links), error_rate(first, second))
        )
    return Alignments(
        sets=tuple(str(material.links) for material in materials),
        scores=tuple(scores),
        agreement=tuple(agreement),
    )


def error_rate(first: Ragged, second: Ragged) -> float:
    """Return the alignment error rate of two sets of links of the same texts.

    All links are taken as sure, so that it does not matter which set is held against which:
    1 - 2 |A n B| / (|A| + |B|) (Och and Ney 2003); 0 if both are empty.
    """
    one, other = _keys(first), _keys(second)
    if not len(one) + len(other):
        return 0.0
    return 1.0 - 2.0 * len(np.intersect1d(one, other)) / (len(one) + len(other))


def _keys(links: Ragged) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return a number for each link that tells text, source and target position."""
    values = links.values[links.offsets[0] : links.offsets[-1]].astype(np.int64).reshape(-1, 2)
    rows = np.repeat(np.arange(len(links), dtype=np.int64), links.lengths)
    return np.unique((rows << 40) | (values[:, 0] << 20) | values[:, 1])
