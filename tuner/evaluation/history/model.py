"""Holds how a run of `portmert tune` came to its weights, also of a run still going on.

A run's files are all there is to read: each appears whole, when its step is finished, so that a
history may be read at any moment and ends where the run is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Pass:
    """Holds one iteration of the outer loop; what it has not come to yet is None.

    Parameters
    ----------
    number
        Counted from 1.
    weights
        Of each of the run's features, in their order: absolute values of a vector add to 1.
    hypotheses, new
        Distinct hypotheses of all lists so far; those that this iteration's list added.
    dev_score, held_out_score
        Of the decoder's own best output under these weights, on the metric tuned on.
    unseen_score
        An estimate of the same on unseen text.
    scores
        The dev score of every other metric that was asked for, by its label.
    start_score, optimized_score, oracle_score
        Of hypotheses of all lists so far: the best ones under these weights, the best ones under
        the weights found for the next iteration (the score projected for it), and ones chosen
        by score alone.
    change
        How far the next weights are from these, 0..2.
    annotations
        Where the metric reads syntax: how many distinct sentences the cache had (`hits`), were
        annotated (`misses`), and have no parse (`failed`).
    """

    number: int
    weights: tuple[float, ...]
    hypotheses: int | None = None
    new: int | None = None
    dev_score: float | None = None
    held_out_score: float | None = None
    unseen_score: float | None = None
    scores: Mapping[str, float] | None = None
    start_score: float | None = None
    optimized_score: float | None = None
    oracle_score: float | None = None
    change: float | None = None
    annotations: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Slice:
    """Holds the error surface along one feature's weight, all others as they are in the result.

    Parameters
    ----------
    feature
        Name.
    weight
        Where the result stands.
    ends : (n + 1,)
        Weights at which the score changes, rising; the first and the last are where the window
        ends.
    scores : (n,)
        The score between two neighbouring ends: constant there, so that this is the function
        itself and not a sample of it.
    """

    feature: str
    weight: float
    ends: tuple[float, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True)
class ReplicaHistory:
    """Holds one tuning.

    Parameters
    ----------
    name
        `replica 2`; of a run without replicas the run's own.
    state
        `finished`, `running`, or `interrupted`.
    doing
        The last line of the log: what a running one is at.
    best
        The iteration whose weights are the result, or so far would be; None before the first
        score.
    stopped
        Why the loop ended; None where it has not.
    """

    name: str
    state: str
    doing: str
    passes: tuple[Pass, ...]
    best: int | None = None
    stopped: str | None = None


@dataclass(frozen=True)
class FeatureSpread:
    """Shows one feature's weight over replicas, each vector scaled to absolute values of sum 1.

    Parameters
    ----------
    start
        Before tuning.
    values
        The result of each replica, in order.
    mean, sd
        Of `values`; the deviation is that of a sample (n - 1), None with one.
    """

    feature: str
    start: float
    values: tuple[float, ...]
    mean: float
    sd: float | None


@dataclass(frozen=True)
class RunHistory:
    """Holds one run with all its replicas.

    Parameters
    ----------
    name
        That of its system in a comparison.
    metric
        Name of the metric tuned on; `signature` says all its score depends on.
    state
        `finished`, `running`, or `interrupted`.
    features
        Names, in the order of all weights.
    weights
        Of the replicas that have a result; of running ones the best so far.
    slices
        Of the replica with the best dev score, `sliced`; empty where the data are not at hand.
    percents
        Of each label in the scores of passes, whether that metric is printed in percent.
    notes
        What could not be read or measured and why.
    """

    name: str
    metric: str
    signature: str
    higher_is_better: bool
    in_percent: bool
    state: str
    features: tuple[str, ...]
    replicas: tuple[ReplicaHistory, ...]
    weights: tuple[FeatureSpread, ...]
    sliced: str | None = None
    slices: tuple[Slice, ...] = ()
    percents: Mapping[str, bool] | None = None
    notes: tuple[str, ...] = ()
