"""Optimizes weights over given lists: from hypotheses with features to tuned weights."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from portmert.metrics._base import IntArray, Metric
from portmert.tuner.executors.team import Team
from portmert.tuner.ground.errors import InputError, counted
from portmert.tuner.nbest.model import (
    NBest,
    SparseFeatures,
    best_hypotheses,
    model_scores,
    without_texts,
)
from portmert.tuner.nbest.moses_dat import DatLists
from portmert.tuner.search.constraints import Bounds, Constraints
from portmert.tuner.search.found_weights import found_weights
from portmert.tuner.search.optimizers._base import Optimizer
from portmert.tuner.search.oracle import known_hypotheses, oracle_score
from portmert.tuner.search.prior import Prior
from portmert.tuner.search.problem import NOTHING, StatTable, TuningProblem
from portmert.tuner.search.searched import Searched
from portmert.tuner.search.stat_tables import Annotate, moses_stats, statistics_table
from portmert.tuner.search.variables import Variables, choose_variables
from portmert.tuner.texts.corpus import References
from portmert.tuner.weights.feature_weights import FeatureNames, FeatureWeights


@dataclass(frozen=True)
class Setup:
    """Says how to search.

    Parameters
    ----------
    optimizer : Optimizer
    starts : tuple of FeatureWeights
        Weights to start from; the first also names the weights of what is not searched. None:
        all equal, adding to 1.
    constraints : Constraints
    seed : int
    threads : int
        Restarts that run at once; no number of them changes the result.
    prior : float
        Strength of a pull towards weights, see `Prior`; 0 for none.
    toward : FeatureWeights or None
        The weights pulled to; None: the first start.
    team : Team or None
        Where it is a cluster, restarts are sent there if they are more than threads.
    """

    optimizer: Optimizer
    starts: tuple[FeatureWeights, ...] = ()
    constraints: Constraints = field(default_factory=Constraints)
    seed: int = 0
    threads: int = 1
    prior: float = 0.0
    toward: FeatureWeights | None = None
    team: Team | None = None


@dataclass(frozen=True)
class Optimization:
    """Holds what an optimization found; all scores on the metric's own scale.

    Parameters
    ----------
    weights : FeatureWeights
        None of them is NaN or infinite; none is 0 unless it was at the start and was not searched.
    start_score, final_score : float
        Of the best hypotheses under the start weights and under `weights`, rescored from scratch.
        The final one is not worse, unless the start is outside of the bounds or a prior pulls.
    oracle_score : float
        Of one hypothesis a segment chosen to score high, see `oracle`: what perfect weights could
        not exceed by much. Chosen among the hypotheses whose statistics are known.
    restarts : tuple of float
        Score each restart ended at, before weights were normalised; less the prior's penalty.
    hypotheses, known : int
        Hypotheses in all, and those whose statistics are known: of a metric that annotates, only
        those that were asked for, in this search or before.
    line_searches : int
        Some optimizers make none.
    unseen_score, unseen_error : float or None
        An estimate of the score of `weights` on unseen text, with its standard error, from
        segments that were held out; None where the optimizer holds none out.
    unseen_rows : (S,) int64 or None
        The hypothesis of each segment that the estimate is of.
    cpu_seconds : float
        Processor time of the search, all threads together.
    seconds : dict
        Wall-clock time of each phase.
    """

    weights: FeatureWeights
    start_score: float
    final_score: float
    oracle_score: float
    restarts: tuple[float, ...]
    hypotheses: int
    known: int
    line_searches: int
    seconds: dict[str, float]
    unseen_score: float | None = None
    unseen_error: float | None = None
    unseen_rows: IntArray | None = field(default=None, compare=False, repr=False)
    cpu_seconds: float = 0.0


def optimize_lists(
    nbest: NBest,
    references: References,
    metric: Metric,
    setup: Setup,
    *,
    notice: Callable[[str], None],
    annotate: Annotate | None = None,
    segments: IntArray | None = None,
) -> Optimization:
    """Find the weights under which the lists' best hypotheses score highest.

    Parameters
    ----------
    annotate : callable, optional
        See `statistics_table`.
    segments : (n,) int64, optional
        Search and score on these segments only, each as often as it is named; absent: on all.
    setup
        Where the optimizer does not search sparse features, their weights stay as they are in
        the first start, 0 where it has none.
    notice
        Called with one line for what the user should know.

    Raises
    ------
    InputError
        Lists and references do not fit, the metric needs what they lack, a feature has no weight.
    ConfigError
        Constraints on unknown features, or contradicting ones.
    """
    begin = time.perf_counter()
    stats = statistics_table(
        nbest, references, metric, threads=setup.threads, notice=notice, annotate=annotate
    )
    seconds = {"statistics": time.perf_counter() - begin}
    return optimize_stats(
        nbest, stats, metric, setup, notice=notice, segments=segments, seconds=seconds
    )


def optimize_stats(
    nbest: NBest,
    stats: StatTable,
    metric: Metric,
    setup: Setup,
    *,
    notice: Callable[[str], None],
    progress: Callable[[int, int], None] | None = None,
    segments: IntArray | None = None,
    seconds: dict[str, float] | None = None,
) -> Optimization:
    """Optimize as `optimize_lists` where only the statistics are known: texts are not read.

    `progress` is called as progress(restarts done, restarts in all).
    """
    if stats.is_lazy and setup.optimizer.reads_all:
        notice(
            f"this optimizer compares all hypotheses: all {len(stats.rows)} of the lists are "
            f"annotated, not only those that can win"
        )
    starts = setup.starts or (equal_weights(nbest.feature_names),)
    sparse_scores, sparse = NOTHING, None
    sparse_names: tuple[str, ...] = ()
    if nbest.sparse is not None and setup.optimizer.sparse:
        sparse, sparse_names = _matrix(nbest.sparse), nbest.sparse.names
    elif nbest.sparse is not None:
        notice(
            f"the start weights of {counted(len(nbest.sparse.names), 'sparse feature')} stay: "
            f"this search is for dense ones (pro, kbmira and min-risk search both)"
        )
        dense_only = FeatureWeights({name: (0.0,) * size for name, size in nbest.feature_names})
        sparse_scores = model_scores(
            nbest, FeatureWeights({**starts[0].values, **dense_only.values})
        )

    def rescore(weights: FeatureWeights) -> float:
        """Score as `portmert rerank` chooses."""
        best = best_hypotheses(nbest, model_scores(nbest, weights))
        if segments is not None:
            best = best[segments]
        return float(metric.score(stats.total(best)))

    lists = Searched(
        nbest.features.T,
        nbest.offsets,
        nbest.feature_names,
        stats,
        metric,
        rescore,
        sparse_scores,
        sparse,
        sparse_names,
    )
    return _optimize(
        lists if segments is None else lists.take(segments),
        starts,
        setup,
        notice=notice,
        progress=progress,
        seconds={} if seconds is None else seconds,
    )


def optimize_dat(
    lists: DatLists,
    metric: Metric,
    setup: Setup,
    *,
    notice: Callable[[str], None],
    progress: Callable[[int, int], None] | None = None,
) -> Optimization:
    """Optimize as `optimize_lists`, over Moses' features.dat and scores.dat.

    Raises
    ------
    InputError
        The statistics are not this metric's, or a feature has no weight.
    """
    stats = StatTable(moses_stats(lists, metric))
    nbest = without_texts(lists.features, lists.offsets, lists.feature_names, lists.sparse)
    return optimize_stats(nbest, stats, metric, setup, notice=notice, progress=progress)


def _matrix(sparse: SparseFeatures) -> Any:
    """Return sparse features as a scipy.sparse.csr_array (H, P)."""
    from scipy.sparse import csr_array  # noqa: PLC0415  start-up time

    return csr_array(
        (sparse.values, sparse.columns, sparse.offsets - sparse.offsets[0]),
        shape=(len(sparse.offsets) - 1, len(sparse.names)),
    )


def equal_weights(names: FeatureNames) -> FeatureWeights:
    """Return equal weights that add to 1."""
    size = sum(count for _, count in names)
    return FeatureWeights({name: (1.0 / size,) * count for name, count in names})


def _optimize(
    lists: Searched,
    starts: tuple[FeatureWeights, ...],
    setup: Setup,
    *,
    notice: Callable[[str], None],
    progress: Callable[[int, int], None] | None,
    seconds: dict[str, float],
) -> Optimization:
    if not (lists.names or lists.sparse_names):
        raise InputError(
            "the hypotheses have no scores to find weights of; put some into the lists, or add "
            "features to them (--feature NAME=FILE)"
        )
    begin = time.perf_counter()
    first = starts[0].vector(lists.names)
    variables, moving = choose_variables(
        lists.features, lists.offsets, lists.names, first, setup.constraints, notice
    )
    start_score = lists.rescore(starts[0])
    reduced = [variables.reduce(start.vector(lists.names)) for start in starts]
    allowed = [variables.bounds.clip(numbers) for numbers in reduced]
    is_start_allowed = bool((allowed[0] == reduced[0]).all())
    if not is_start_allowed:
        notice("start weights outside of their bounds were moved to the nearest weight allowed")
    problem = _problem(lists, variables, moving)
    if setup.prior > 0:
        problem = replace(problem, prior=_prior(setup, starts[0], problem, variables, lists))
    final, line_searches, unseen, cpu_seconds = starts[0], 0, None, 0.0
    restarts: tuple[float, ...] = (start_score,)
    if problem.width:
        outcome = setup.optimizer.optimize(
            problem,
            [
                np.concatenate([numbers, lists.sparse_vector(start)])
                for numbers, start in zip(allowed, starts, strict=True)
            ],
            bounds=_with_sparse(variables.bounds, problem),
            seed=setup.seed,
            threads=setup.threads,
            team=setup.team,
            progress=progress,
        )
        restarts = tuple(lists.metric.oriented(value) for value in outcome.restarts)
        line_searches, unseen = outcome.line_searches, outcome.unseen
        cpu_seconds = outcome.cpu_seconds
        final = found_weights(outcome.weights, starts[0], problem, variables, lists)
    else:
        notice("no feature is left to search; the weights are the start weights")
    seconds["search"] = time.perf_counter() - begin
    begin = time.perf_counter()
    final_score = lists.rescore(final)
    is_worse = lists.metric.oriented(final_score) < lists.metric.oriented(start_score)
    if problem.width and is_worse and is_start_allowed and setup.prior == 0:
        final, final_score = starts[0], start_score  # scaling weights can turn ties over
    if problem.width and final_score == start_score and len(set(restarts)) == 1:
        where = "" if unseen is None else " on segments that were held out"
        notice(
            f"{lists.metric.name()} is {lists.metric.shown(start_score)} under the start weights "
            f"and no weights were found under which it is better{where}"
        )
    numbers = variables.reduce(final.vector(lists.names))
    best = problem.winners(np.concatenate([numbers, lists.sparse_vector(final)]))
    oracle_score_found = oracle_score(lists, best)
    seconds["oracle"] = time.perf_counter() - begin
    return Optimization(
        weights=final,
        start_score=start_score,
        final_score=final_score,
        oracle_score=oracle_score_found,
        restarts=restarts,
        hypotheses=lists.features.shape[1],
        known=int(known_hypotheses(lists).sum()),
        line_searches=line_searches,
        seconds=seconds,
        unseen_score=None if unseen is None else lists.metric.oriented(unseen.value),
        unseen_error=None if unseen is None else unseen.error,
        unseen_rows=None if unseen is None else unseen.rows,
        cpu_seconds=cpu_seconds,
    )


def _problem(lists: Searched, variables: Variables, moving: IntArray) -> TuningProblem:
    """Return what the optimizer sees: the variables, and what of the model scores is fixed."""
    fixed = variables.fixed(lists.features, moving)
    if lists.sparse_scores.size:
        fixed = lists.sparse_scores if not fixed.size else fixed + lists.sparse_scores
    return TuningProblem(
        variables.features(lists.features),
        lists.offsets,
        lists.stats,
        lists.metric,
        fixed,
        rows=lists.rows,
        sparse=lists.sparse,
    )


def _prior(
    setup: Setup,
    start: FeatureWeights,
    problem: TuningProblem,
    variables: Variables,
    lists: Searched,
) -> Prior:
    toward = setup.toward or start
    return Prior(
        setup.prior,
        np.concatenate(
            [variables.reduce(toward.vector(lists.names)), lists.sparse_vector(toward)]
        ),
        np.concatenate([problem.spread, np.ones(len(lists.sparse_names))]),
    )


def _with_sparse(bounds: Bounds, problem: TuningProblem) -> Bounds:
    """Add bounds of sparse features: none."""
    free = np.full(problem.width - len(problem.features), np.inf)
    return Bounds(np.concatenate([bounds.lower, -free]), np.concatenate([bounds.upper, free]))
