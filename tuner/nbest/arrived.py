"""Holds a list as a reader leaves it: rows in order of arrival."""

from __future__ import annotations

from dataclasses import dataclass

from portmert.metrics._base import FloatArray
from portmert.tuner.nbest.pool import Rows
from portmert.tuner.weights.feature_weights import FeatureNames


@dataclass
class ArrivedList:
    """Holds one list in order of arrival, with the names behind its columns.

    Parameters
    ----------
    rows : Rows
        Without statistics.
    model_scores : (n,) float64
    where : str
        What messages call it.
    absent_is_zero : bool
        The format leaves out features that are 0, whatever their names.
    remark : str
        What the reader did that a user should know, or nothing.
    """

    rows: Rows
    model_scores: FloatArray
    names: FeatureNames
    sparse_names: tuple[str, ...]
    has_links: bool
    where: str
    absent_is_zero: bool = False
    remark: str = ""
