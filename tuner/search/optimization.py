"""Optimize weights over given lists: from hypotheses with features to tuned weights."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray, Metric, rows_taken
from portmert.metrics._elementary import summed

from ..base.errors import InputError, counted
from ..executors.team import Team
from ..nbest import model, moses_dat
from ..nbest.model import NBest
from ..texts.corpus import References
from ..texts.statistics import finite_scores, named
from ..weights.feature_weights import FeatureNames, FeatureWeights
from .constraints import Constraints, moves
from .optimizers._base import Optimizer, Outcome
from .oracle import oracle
from .problem import NOTHING, Prior, StatTable, TuningProblem, worth
from .stat_tables import Annotate, moses_stats, statistics_table
from .unseen import Unseen
from .variables import Variables, choose_variables


@dataclass(frozen=True)
class Setup:
    """How to search.

    Parameters
    ----------
    optimizer : Optimizer
    starts : tuple of FeatureWeights
        Weights to start from. Features that are not searched keep the weights of the first. An
        empty tuple means equal weights that add to 1.
    constraints : Constraints
    seed : int
    threads : int
        Restarts that run at once; no number of them changes the result.
    prior : float
        Strength of a pull towards weights, see `Prior`; 0 for none.
    toward : FeatureWeights or None
        The weights pulled to; None means the first start.
    team : Team or None
        If it is a cluster, restarts are sent there when there are more of them than threads.
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
    """The result of an optimization; all scores are on the metric's own scale.

    Parameters
    ----------
    weights : FeatureWeights
        All weights are finite. A weight is 0 only if it was 0 at the start and was not searched.
    start_score, final_score : float
        Scores of the best hypotheses under the start weights and under `weights`, computed from
        scratch. The final score is not worse unless the start is out of bounds or there is a
        prior.
    oracle_score : float
        About the highest score of any choice of hypotheses, see `oracle`. No weights can exceed it
        by much. Only hypotheses whose statistics are known can be chosen.
    restarts : tuple of float
        The score at the end of each restart, before weights were normalised, less the prior's
        penalty.
    hypotheses, known : int
        Number of all hypotheses, and of those whose statistics are known. If the metric needs
        annotations, only the hypotheses that a search asked for are known.
    line_searches : int
        Number of line searches; some optimizers make none.
    unseen_score, unseen_error : float or None
        An estimate of the score of `weights` on unseen text, with its standard error, from
        segments that were held out; None if the optimizer holds none out.
    unseen : Unseen or None
        The same estimate with its hypotheses, as an objective: negated if lower is better.
    cpu_seconds : float
        Processor time of the search, all threads together.
    warnings : tuple of str
        What looks wrong about start, constraints and lists; whoever asked for the search warns.
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
    unseen: Unseen | None = field(default=None, compare=False, repr=False)
    cpu_seconds: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def unseen_error(self) -> float | None:
        """Standard error of `unseen_score`; None if it does not vary over samples of segments."""
        return None if self.unseen is None else self.unseen.error or None


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
        sparse_scores = model.model_scores(
            nbest, FeatureWeights({**starts[0].values, **dense_only.values})
        )

    def rescore(weights: FeatureWeights) -> float:
        """Score as `portmert rerank` chooses."""
        best = model.best_hypotheses(nbest, model.model_scores(nbest, weights))
        if segments is not None:
            best = best[segments]
        return float(metric.score(stats.total(best)))

    lists = TuningProblem(  # the features of its variables are other ones: no spread yet
        nbest.features.T, nbest.offsets, stats, metric, sparse_scores, sparse=sparse,
        spread=np.ones(nbest.features.shape[1]),
    )  # fmt: skip
    if segments is not None:
        lists = lists.take(*rows_taken(lists.offsets, segments))
    return _optimize(
        lists,
        (nbest.feature_names, sparse_names),
        rescore,
        starts,
        setup,
        notice=notice,
        progress=progress,
        seconds={} if seconds is None else seconds,
    )


def optimize_dat(
    lists: moses_dat.DatLists,
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
    nbest = model.without_texts(lists.features, lists.offsets, lists.feature_names, lists.sparse)
    return optimize_stats(nbest, stats, metric, setup, notice=notice, progress=progress)


def _matrix(sparse: model.SparseFeatures) -> Any:
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


Names = tuple[FeatureNames, tuple[str, ...]]
"""Those of the dense features, and of the sparse ones that are searched."""


def _sparse_vector(names: Names, weights: FeatureWeights) -> FloatArray:
    """Return the (P,) weights of the sparse features that are searched; 0 if not given."""
    return np.array([weights.values.get(name, (0.0,))[0] for name in names[1]], dtype=np.float64)


def _optimize(
    lists: TuningProblem,
    names: Names,
    rescore: Callable[[FeatureWeights], float],
    starts: tuple[FeatureWeights, ...],
    setup: Setup,
    *,
    notice: Callable[[str], None],
    progress: Callable[[int, int], None] | None,
    seconds: dict[str, float],
) -> Optimization:
    if not any(names):
        raise InputError(
            "the hypotheses have no scores to find weights of; put some into the lists, or add "
            "features to them (--feature NAME=FILE)"
        )
    begin = time.perf_counter()
    metric = lists.metric
    setup.constraints.check(names[0])
    start_score = rescore(starts[0])
    given, starts = starts[0], tuple(setup.constraints.allowed(one, names[0]) for one in starts)
    doubts = [line for line in [moves(given, starts[0])] if line]
    is_start_allowed = not doubts
    variables, problem = _pose(lists, names, starts[0], setup, notice)
    allowed = [variables.bounds.clip(variables.reduce(start.vector(names[0]))) for start in starts]
    final, outcome = starts[0], Outcome(starts[0].vector(names[0]), start_score)
    restarts: tuple[float, ...] = (start_score,)
    if problem.width:
        sparse = [_sparse_vector(names, start) for start in starts]
        outcome = setup.optimizer.optimize(
            problem,
            list(map(np.append, allowed, sparse)),
            bounds=variables.bounds.followed_by(len(names[1])),
            seed=setup.seed,
            threads=setup.threads,
            team=setup.team,
            progress=progress,
        )
        restarts = tuple(metric.oriented(value) for value in outcome.restarts)
        final = _found_weights(outcome.weights, starts[0], problem, variables, names)
    else:
        doubts.append("no feature is left to search; the weights are the start weights")
    seconds["search"] = time.perf_counter() - begin
    begin = time.perf_counter()
    final_score = rescore(final)
    is_worse = worth(metric, final_score) < worth(metric, start_score)
    if problem.width and is_worse and is_start_allowed and setup.prior == 0:
        final, final_score = starts[0], start_score  # scaling weights can turn ties over
    unseen = outcome.unseen
    numbers = variables.reduce(final.vector(names[0]))
    best = problem.winners(np.concatenate([numbers, _sparse_vector(names, final)]))
    oracle_score = _oracle_score(lists, best)
    doubts += _doubts_of_scores(lists, start_score, final_score, oracle_score)
    is_at_start = final_score == start_score != oracle_score
    if problem.width and is_at_start and len(set(restarts)) == 1:
        where = "" if unseen is None else " on segments that were held out"
        notice(
            f"{metric.display.labelled(metric.name())} is {metric.shown(start_score)} under the "
            f"start weights and no weights were found under which it is better{where}"
        )
    seconds["oracle"] = time.perf_counter() - begin
    return Optimization(
        weights=final,
        start_score=start_score,
        final_score=final_score,
        oracle_score=oracle_score,
        restarts=restarts,
        hypotheses=lists.size,
        known=int(_known_hypotheses(lists).sum()),
        line_searches=outcome.line_searches,
        seconds=seconds,
        unseen_score=None if unseen is None else unseen.score(metric),
        unseen=unseen,
        cpu_seconds=outcome.cpu_seconds,
        warnings=tuple(doubts),
    )


def _doubts_of_scores(
    lists: TuningProblem, start_score: float, final_score: float, oracle_score: float
) -> Iterator[str]:
    """Yield what looks wrong about the scores of a search."""
    metric, no_score = lists.metric, lists.stats.no_score
    if no_score is not None:
        yield (
            f"{metric.name()} of some weights is no finite number, as of "
            f"{named(metric, no_score)}; they count as the worst"
        )
    if start_score == final_score == oracle_score:
        yield (
            f"the lists hold nothing better than the start weights choose "
            f"({metric.display.labelled(metric.name())} {metric.shown(start_score)}): let the "
            f"decoder list more (size, beam), or begin at other weights"
        )


def _found_weights(
    found: FloatArray,
    start: FeatureWeights,
    problem: TuningProblem,
    variables: Variables,
    names: Names,
) -> FeatureWeights:
    """Return the weights of all features after a search.

    Parameters
    ----------
    found : (n,) float64
        The optimizer's result: the variables, then sparse features.
    start : FeatureWeights
        Where the search began. Features that are not searched keep these weights.
    """
    if not problem.fixed.size and variables.bounds.allow_scaling:
        # Absolute weights add to what those of the start do. Model scores only rank, so that any
        # positive factor will do; this one keeps the searched weights as they were beside the
        # ones that the decoder has and nobody searches.
        numbers = variables.bounds.clip(variables.reduce(start.vector(names[0])))
        size = float(summed(np.abs(np.concatenate([numbers, _sparse_vector(names, start)]))))
        found = found * ((size or 1.0) / (float(summed(np.abs(found))) or 1.0))
    found = _without_zeros(found, problem, variables)
    dense = FeatureWeights.from_vector(names[0], variables.expand(found[: len(variables)]))
    sparse = {  # a weight of 0 is kept only where it replaces another
        name: (float(number),)
        for name, number in zip(names[1], found[len(variables) :], strict=True)
        if number != 0 or name in start.values or name in dense.values
    }
    return FeatureWeights({**start.values, **dense.values, **sparse})


def _without_zeros(found: FloatArray, problem: TuningProblem, variables: Variables) -> FloatArray:
    """Replace each weight of exactly 0 by a very small one of the sign that scores better."""
    found = found.copy()
    tiny = 1e-9 * max(float(np.abs(found).max()), 1e-9)
    zeros = np.flatnonzero(found[: len(variables)] == 0)  # sparse ones may be 0
    scores = problem.model_scores(found) if len(zeros) else np.zeros(0)
    for v in zeros:
        options = [
            (problem.value(scores + value * problem.features[v]), value)
            for value in (tiny, -tiny)
            if variables.bounds.lower[v] <= value <= variables.bounds.upper[v]
        ]
        found[v] = max(options)[1] if options else 0.0
        scores += found[v] * problem.features[v]
    return found


def _pose(
    lists: TuningProblem,
    names: Names,
    start: FeatureWeights,
    setup: Setup,
    notice: Callable[[str], None],
) -> tuple[Variables, TuningProblem]:
    """Return the variables, and the problem that the optimizer sees of them."""
    variables, moving = choose_variables(
        lists.features, lists.offsets, names[0], start.vector(names[0]), setup.constraints, notice
    )
    fixed = variables.fixed(lists.features, moving)
    if lists.fixed.size:
        fixed = lists.fixed if not fixed.size else fixed + lists.fixed
    features = variables.features(lists.features)
    problem = replace(lists, features=features, fixed=fixed, spread=NOTHING)
    if setup.prior > 0:
        toward = setup.toward or start
        pulled_to = [variables.reduce(toward.vector(names[0])), _sparse_vector(names, toward)]
        spread = np.concatenate([problem.spread, np.ones(len(names[1]))])
        prior = Prior(setup.prior, np.concatenate(pulled_to), spread)
        problem = replace(problem, prior=prior)
    return variables, problem


def _known_hypotheses(lists: TuningProblem) -> NDArray[np.bool_]:
    """Return (H,) whether the statistics of each hypothesis are known."""
    known = lists.stats.is_known
    return known if lists.rows is None else known[lists.rows]


def _oracle_score(lists: TuningProblem, start: IntArray) -> float:
    """Return the oracle's score among the hypotheses whose statistics are known.

    `start` are those of the best weights: no weights are good if theirs is no finite score.
    """
    finite_scores(lists.metric, lists.total(start))
    if lists.rows is None and not lists.stats.is_lazy:
        return oracle(lists.stats.rows, lists.offsets, lists.metric, start)[0]
    rows = np.arange(len(lists.stats.rows)) if lists.rows is None else lists.rows
    lists.stats.need(rows[start])
    known = np.flatnonzero(_known_hypotheses(lists))
    score, _ = oracle(
        lists.stats.take(rows[known]),
        np.searchsorted(known, lists.offsets),
        lists.metric,
        np.searchsorted(known, start),
    )
    return score
