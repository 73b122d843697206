"""Optimize weights over given lists: from hypotheses with features to tuned weights.

Optimizers draw their own random starts, see optimizers/_base.py.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric, rows_taken
from portmert.metrics._elementary import summed

from ..base.errors import InputError, counted
from ..base.warn import notice
from ..nbest import model
from ..nbest.model import NBest
from ..texts.statistics import finite_scores, named
from ..weights.feature_weights import FeatureNames, FeatureWeights
from .constraints import Constraints, moves
from .optimizers._base import Optimizer, SearchResult
from .oracle import oracle
from .problem import NOTHING, Prior, TuningProblem, oriented
from .results import Optimized
from .stat_table import StatTable
from .variables import Variables, choose_variables

ROUNDING = 1e-14
"""Model scores are equal that differ by less than this share of the sum of their parts."""
NO_SEARCH = "no feature is left to search; the weights are the start weights"


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
    prior : float
        Strength of a pull towards weights, see `Prior`; 0 for none.
    toward : FeatureWeights or None
        The weights pulled to; None means the first start.
    explores : bool
        Whether the start weights are left even if nothing is shown better, see
        `Optimizer.explorer`.
    """

    optimizer: Optimizer
    starts: tuple[FeatureWeights, ...] = ()
    constraints: Constraints = field(default_factory=Constraints)
    seed: int = 0
    prior: float = 0.0
    toward: FeatureWeights | None = None
    explores: bool = False

    @property
    def searcher(self) -> Optimizer:
        """The optimizer as it searches."""
        return self.optimizer.explorer() if self.explores else self.optimizer

    def start(self, names: FeatureNames) -> FeatureWeights:
        """Return the first start of a search of these features."""
        return self.starts[0] if self.starts else equal_weights(names)


def find_weights(
    nbest: NBest,
    stats: StatTable,
    metric: Metric,
    setup: Setup,
    *,
    segments: IntArray | None = None,
) -> Optimized:
    """Find the weights under which the lists' best hypotheses score highest.

    Parameters
    ----------
    nbest
        The features of the hypotheses. Their texts are not read.
    stats
        The statistics of the hypotheses, see `statistics_table`.
    setup
        Where the optimizer does not search sparse features, their weights stay as they are in
        the first start, 0 where it has none.
    segments : (n,) int64, optional
        Search and score on these segments only, each as often as it is named; absent: on all.

    Raises
    ------
    InputError
        A feature has no weight, or there are no features.
    ConfigError
        Constraints on unknown features, or contradicting ones.
    """
    begin = time.perf_counter()
    if stats.is_lazy and setup.optimizer.reads_all:
        notice(
            f"this optimizer compares all hypotheses: all {len(stats.rows)} of the lists are "
            f"annotated, not only those that can win"
        )

    def score(weights: FeatureWeights) -> float:
        """Score as `portmert rerank` chooses."""
        best = model.best_hypotheses(nbest, weights)
        return stats.score(metric, best if segments is None else best[segments])

    start = setup.start(nbest.feature_names)
    space = _search_space(nbest, stats, metric, setup, segments=segments)
    start_score = score(start)
    variables, bounds = space.variables, space.variables.bounds
    if space.searched.width:
        search = setup.searcher.optimize(
            space.searched,
            [bounds.clip(variables.reduce(weights)) for weights in space.starts],
            bounds=bounds,
            seed=setup.seed,
        )
        final = space.weights(search.weights)
    else:
        at_start = metric.oriented(start_score)
        search = SearchResult(NOTHING, at_start, restarts=(at_start,))
        final = space.starts[0]
    searched = time.perf_counter()
    final_score = score(final)
    moved = moves(start, space.starts[0])
    is_worse = oriented(metric, final_score) < oriented(metric, start_score)
    is_kept = setup.prior == 0 and not (moved or setup.explores)
    if space.searched.width and is_worse and is_kept:
        final, final_score = start, start_score  # scaling weights can turn ties over
    oracle_score = _oracle_score(space.problem, space.searched.winners(variables.reduce(final)))
    if space.searched.width and start_score == final_score != oracle_score:
        _say_no_gain(metric, start_score, search, space.problem.width)
    return Optimized(
        weights=final,
        metric=metric,
        start_score=start_score,
        score=final_score,
        oracle_score=oracle_score,
        restarts=tuple(metric.oriented(value) for value in search.restarts),
        hypotheses=space.problem.size,
        known=len(space.problem.known_hypotheses()),
        line_searches=search.line_searches,
        seconds={"search": searched - begin, "oracle": time.perf_counter() - searched},
        unseen_score=None if search.unseen is None else search.unseen.score(metric),
        unseen_error=None if search.unseen is None else search.unseen.error or None,
        unseen=search.unseen,
        cpu_seconds=search.seconds,
        warnings=(
            *([moved] if moved else []),
            *([] if space.searched.width else [NO_SEARCH]),
            *_doubts_of_scores(space.problem, start_score, final_score, oracle_score),
            *_ties(nbest, stats, metric, final, segments),
        ),
    )


def _say_no_gain(metric: Metric, start_score: float, search: SearchResult, width: int) -> None:
    """Say that no weights score higher than the start, if all restarts agree on it."""
    if width == 1:
        notice(
            "one feature cannot be tuned: of its weight only the sign changes a choice; add "
            "features (--feature NAME=FILE)"
        )
    elif len(set(search.restarts)) == 1:
        where = "" if search.unseen is None else " on segments that were held out"
        notice(
            f"{metric.display.labelled(metric.name())} is {metric.shown(start_score)} under the "
            f"start weights and no weights were found under which it is better{where}"
        )


class SearchSpace(NamedTuple):
    """What an optimizer searches, and how it belongs to the lists.

    Parameters
    ----------
    starts : tuple of FeatureWeights
        Weights within the constraints. Features that are not searched keep those of the first.
    variables : Variables
    problem, searched : TuningProblem
        The problem of all features, and the problem of the variables, which the optimizer sees.
    """

    starts: tuple[FeatureWeights, ...]
    variables: Variables
    problem: TuningProblem
    searched: TuningProblem

    def weights(self, vector: FloatArray) -> FeatureWeights:
        """Return the weights of all features for the result of a search."""
        variables, bounds = self.variables, self.variables.bounds
        if not self.searched.fixed.size and bounds.allow_scaling:
            # Their L1 norm is that of the start. Model scores only rank, so that any positive
            # factor will do. This one keeps the proportion between the searched weights and those
            # that the decoder has and nobody searches.
            size = float(summed(np.abs(bounds.clip(variables.reduce(self.starts[0])))))
            vector = vector * ((size or 1.0) / (float(summed(np.abs(vector))) or 1.0))
        # A weight of exactly 0 becomes a very small one of the sign that scores better.
        vector, problem = vector.copy(), self.searched
        tiny = 1e-9 * max(float(np.abs(vector).max()), 1e-9)
        zeros = np.flatnonzero(vector[: len(variables)] == 0)  # sparse ones may be 0
        scores = problem.model_scores(vector) if len(zeros) else NOTHING
        for v in zeros:
            options = [
                (problem.oriented_score(scores + value * problem.features[v]), value)
                for value in (tiny, -tiny)
                if bounds.lower[v] <= value <= bounds.upper[v]
            ]
            vector[v] = max(options)[1] if options else 0.0
            scores += vector[v] * problem.features[v]
        return variables.expand(vector)


def _search_space(
    nbest: NBest, stats: StatTable, metric: Metric, setup: Setup, *, segments: IntArray | None
) -> SearchSpace:
    """Pose the problem of a list's features under the constraints."""
    names = nbest.feature_names
    starts = setup.starts or (setup.start(names),)
    problem = _problem_of_features(nbest, stats, metric, starts[0], setup)
    sparse_names = () if nbest.sparse is None or problem.sparse is None else nbest.sparse.names
    if not (names or sparse_names):
        raise InputError(
            "the hypotheses have no scores to find weights of; put some into the lists, or add "
            "features to them (--feature NAME=FILE)"
        )
    if segments is not None:
        problem = problem.take(*rows_taken(problem.offsets, segments))
    setup.constraints.check(names)
    starts = tuple(setup.constraints.allowed(start, names) for start in starts)
    variables = choose_variables(
        problem.features, problem.offsets, names, starts[0], setup.constraints, sparse_names
    )
    left_out = variables.fixed(problem.features)  # model scores of what is not searched
    if problem.fixed.size:
        left_out = problem.fixed if not left_out.size else left_out + problem.fixed
    searched = replace(  # an empty spread is computed anew, from these features
        problem, features=variables.features(problem.features), fixed=left_out, spread=NOTHING
    )
    if setup.prior > 0:
        spread = np.concatenate([searched.spread, np.ones(len(sparse_names))])
        prior = Prior(setup.prior, variables.reduce(setup.toward or starts[0]), spread)
        searched = replace(searched, prior=prior)
    return SearchSpace(starts, variables, problem, searched)


def _problem_of_features(
    nbest: NBest, stats: StatTable, metric: Metric, start: FeatureWeights, setup: Setup
) -> TuningProblem:
    """Return the problem of all features of the lists, sparse ones if they are searched."""
    fixed, sparse = nbest.unlisted, None
    if nbest.sparse is not None and setup.optimizer.sparse:
        from scipy.sparse import csr_array  # noqa: PLC0415  start-up time

        matrix = nbest.sparse
        sparse = csr_array(
            (matrix.values, matrix.columns, matrix.offsets - matrix.offsets[0]),
            shape=(len(matrix.offsets) - 1, len(matrix.names)),
        )
    elif nbest.sparse is not None:
        notice(
            f"the start weights of {counted(len(nbest.sparse.names), 'sparse feature')} stay: "
            f"this search is for dense ones (pro, kbmira and min-risk search both)"
        )
        of_sparse = model.sparse_scores(nbest.sparse, start)
        fixed = fixed + of_sparse if fixed.size else of_sparse
    spread = np.ones(nbest.features.shape[1])  # the searched variables get their own
    return TuningProblem(
        nbest.features.T, nbest.offsets, stats, metric, fixed, sparse=sparse, spread=spread
    )


def equal_weights(names: FeatureNames) -> FeatureWeights:
    """Return equal weights that add to 1."""
    size = sum(count for _, count in names)
    return FeatureWeights({name: (1.0 / size,) * count for name, count in names})


def _doubts_of_scores(
    problem: TuningProblem, start_score: float, final_score: float, oracle_score: float
) -> Iterator[str]:
    """Yield what looks wrong about the scores of a search."""
    metric, no_score = problem.metric, problem.stats.no_score
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


def _ties(
    nbest: NBest,
    stats: StatTable,
    metric: Metric,
    weights: FeatureWeights,
    segments: IntArray | None,
) -> Iterator[str]:
    """Yield a line if the order of the lists decides between hypotheses of other features."""
    scores = model.model_scores(nbest, weights)
    vector = weights.vector(nbest.feature_names)
    best = model.highest(scores, nbest.offsets)
    lengths = np.diff(nbest.offsets)
    largest = sum(  # no row has larger parts
        abs(weight) * max(column.max(initial=0.0), -column.min(initial=0.0))
        for weight, column in zip(vector, nbest.features.T, strict=True)
    )
    # Rows that may be as high as the best one of their segment, within rounding.
    near = np.flatnonzero(scores >= np.repeat(scores[best] - 2 * ROUNDING * largest, lengths))
    segment_of_near = np.searchsorted(nbest.offsets, near, "right") - 1
    tops = best[segment_of_near]

    def sizes(rows: IntArray) -> FloatArray:
        """Return (n,) the sum of the parts of the model scores of rows."""
        parts = np.zeros(len(rows))
        for column, weight in enumerate(vector):
            parts += abs(weight) * np.abs(nbest.features[rows, column])
        return parts

    is_near = scores[near] >= scores[tops] - ROUNDING * np.maximum(sizes(near), sizes(tops))
    is_near &= (nbest.features[near] != nbest.features[tops]).any(axis=1)
    if not is_near.any():
        return
    last = best.copy()
    last[segment_of_near[is_near]] = near[is_near]  # rows rise: the last one stays
    chosen, other = (
        stats.score(metric, rows if segments is None else rows[segments]) for rows in (best, last)
    )
    if chosen != other:
        yield (
            f"the weights stand on a tie: in {np.count_nonzero(last != best)} of "
            f"{counted(len(best), 'segment')} hypotheses have equal model scores, and the first "
            f"in the list is taken ({metric.shown(chosen)}; the last: {metric.shown(other)}); "
            f"other weights, another search or more features decide"
        )


def _oracle_score(problem: TuningProblem, start: IntArray) -> float:
    """Return the oracle's score among the hypotheses whose statistics are known.

    `start` are the hypotheses of the best weights. If their score is not finite, no weights have a
    finite score, which is an error.
    """
    finite_scores(problem.metric, problem.total(start))
    if problem.rows is None and not problem.stats.is_lazy:
        return oracle(problem.stats.rows, problem.offsets, problem.metric, start)[0]
    hypotheses = problem.known_hypotheses()
    score, _ = oracle(
        problem.stats.take(problem.rows_of(hypotheses)),
        np.searchsorted(hypotheses, problem.offsets),
        problem.metric,
        np.searchsorted(hypotheses, start),
    )
    return score
