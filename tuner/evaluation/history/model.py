"""How a run of `portmert tune` came to its weights, also while it is still running.

A history is read from the run's files. Each file appears whole when its step is finished, so a
history may be read at any moment; it ends where the run is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Pass:
    """One iteration of the outer loop. Steps that are still to come are None.

    Parameters
    ----------
    number
        Counted from 1.
    weights
        Weight of each feature, in the order of features. Absolute values add to 1.
    hypotheses, new
        Number of distinct hypotheses of all lists so far, and of those that this list added.
    dev_score, held_out_score
        Score of the decoder's own best output under these weights, on the metric tuned on.
    unseen_score
        An estimate of that score on unseen text.
    scores
        Label -> dev score, for every other metric that was asked for.
    start_score, optimized_score, oracle_score
        Scores over all lists so far: of the best hypotheses under these weights; of the best ones
        under the weights found for the next iteration, its projected score; and of hypotheses
        chosen by score alone.
    change
        Distance of the next weights from these, 0..2.
    annotations
        If the metric reads syntax: numbers of distinct sentences found in the cache (`hits`),
        annotated (`misses`), and without a parse (`failed`).
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
    """The error surface along one feature's weight. The other weights are those of the result.

    Parameters
    ----------
    feature
        Its name.
    weight
        Its weight in the result.
    ends : (n + 1,)
        Weights at which the score changes, rising. The first and the last end the window.
    scores : (n,)
        The score between two neighbouring ends. It is constant there, so this is the exact
        function, not a sample.
    """

    feature: str
    weight: float
    ends: tuple[float, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True)
class ReplicaHistory:
    """One tuning.

    Parameters
    ----------
    name
        `replica 2`, or the run's name if it has no replicas.
    state
        `finished`, `running`, or `interrupted`.
    doing
        The last line of the log: the current step of a running tuning.
    best
        The iteration whose weights are the result, or would be so far; None before the first
        score.
    stopped
        Why the loop ended; None if it has not.
    """

    name: str
    state: str
    doing: str
    passes: tuple[Pass, ...]
    best: int | None = None
    stopped: str | None = None


@dataclass(frozen=True)
class FeatureSpread:
    """One feature's weight over replicas. In each vector, absolute values add to 1.

    Parameters
    ----------
    start
        Before tuning.
    values
        The result of each replica, in order.
    mean, sd
        Mean and standard deviation (n - 1) of `values`; no deviation with one value.
    """

    feature: str
    start: float
    values: tuple[float, ...]
    mean: float
    sd: float | None


@dataclass(frozen=True)
class RunHistory:
    """One run with all its replicas.

    Parameters
    ----------
    name
        Name of its system in a comparison.
    metric
        Name of the metric tuned on. `signature` has all that its score depends on.
    state
        `finished`, `running`, or `interrupted`.
    features
        Names, in the order of all weights.
    weights
        Weights of the replicas that have a result; of running ones, the best so far.
    slices
        Slices for the replica with the best dev score, named in `sliced`; empty if its data are
        gone.
    percents
        Label of each metric in the scores of passes -> whether it is printed in percent.
    notes
        What could not be read or measured, and why.
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
