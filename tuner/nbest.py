"""N-best lists: what is in them, as flat arrays.

`NBest` is what every reader returns and every later step takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metrics._base import FloatArray, IntArray, Texts
    from tuner.weights import FeatureNames


@dataclass(frozen=True, eq=False)
class NBest:
    """The hypotheses of S segments with their feature values.

    Parameters
    ----------
    texts : Texts
        H hypotheses, segment by segment, in the order of the list; `links` is None where the
        list has no word alignment.
    offsets : (S + 1,) int64
        Hypotheses of segment s are rows `offsets[s]:offsets[s + 1]`.
    features : (H, F) float64, Fortran order (each feature's column is contiguous)
    feature_names : FeatureNames
        Names and sizes of the dense features, F columns in all.
    model_scores : (H,) float64
        The decoder's own score of each hypothesis.
    sparse : SparseFeatures or None
    """

    texts: Texts
    offsets: IntArray
    features: FloatArray
    feature_names: FeatureNames
    model_scores: FloatArray
    sparse: SparseFeatures | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """Features that only some hypotheses have, in compressed rows (CSR).

    Parameters
    ----------
    names : tuple of str
    offsets : (H + 1,) int64
        Entries of hypothesis h are `offsets[h]:offsets[h + 1]`.
    columns : (E,) int32
        Index into `names`.
    values : (E,) float64
    """

    names: tuple[str, ...]
    offsets: IntArray
    columns: IntArray
    values: FloatArray
