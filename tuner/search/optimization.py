"""One optimization over given lists: from hypotheses with features to tuned weights."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tuner.errors import InputError
from tuner.nbest import model as nbest_lists
from tuner.search.constraints import Bounds, Constraints
from tuner.search.prior import Prior
from tuner.search.problem import NOTHING, StatTable, TuningProblem
from tuner.search.variables import choose_variables
from tuner.texts.corpus import References, make_batch
from tuner.texts.statistics import compute_stats, notices
from tuner.weights.feature_weights import FeatureWeights

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from metrics._base import FloatArray, IntArray, Metric, Texts
    from tuner.nbest.model import NBest, SparseFeatures
    from tuner.nbest.moses_dat import DatLists
    from tuner.search.optimizers._base import Optimizer
    from tuner.search.variables import Variables
    from tuner.weights.feature_weights import FeatureNames

    Annotate = Callable[[IntArray], Texts]

ORACLE_SWEEPS = 10


@dataclass(frozen=True)
class Setup:
    """How to search.

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
    """

    optimizer: Optimizer
    starts: tuple[FeatureWeights, ...] = ()
    constraints: Constraints = field(default_factory=Constraints)
    seed: int = 0
    threads: int = 1
    prior: float = 0.0
    toward: FeatureWeights | None = None


@dataclass(frozen=True)
class Optimization:
    """What an optimization found; all scores on the metric's own scale.

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


@dataclass(frozen=True, eq=False)
class _Lists:
    """What is searched, wherever it came from.

    Parameters
    ----------
    features : (F, H) float64
    offsets : (S + 1,) int64
    names : FeatureNames
    stats : StatTable
    metric : Metric
    rescore : callable
        From weights to the metric's score, from scratch.
    sparse_scores : (H,) float64, or empty
        The part of the model scores of sparse features that are not searched.
    sparse : scipy.sparse.csr_array (H, P), or None
        Sparse features that are searched, `sparse_names`.
    rows : (H,) int64, or None for 0..H-1
        Which row of `stats` belongs to each hypothesis.
    """

    features: FloatArray
    offsets: IntArray
    names: FeatureNames
    stats: StatTable
    metric: Metric
    rescore: Callable[[FeatureWeights], float]
    sparse_scores: FloatArray = field(default_factory=lambda: NOTHING)
    sparse: Any = None
    sparse_names: tuple[str, ...] = ()
    rows: IntArray | None = None

    def take(self, segments: IntArray) -> _Lists:
        """Return some segments, once or repeatedly; `rescore` stays as it is."""
        lengths = np.diff(self.offsets)[segments]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        hypotheses = np.arange(offsets[-1]) + np.repeat(
            self.offsets[segments] - offsets[:-1], lengths
        )
        return replace(
            self,
            features=np.ascontiguousarray(self.features[:, hypotheses]),
            offsets=offsets,
            rows=hypotheses if self.rows is None else self.rows[hypotheses],
            sparse_scores=(self.sparse_scores[hypotheses] if self.sparse_scores.size else NOTHING),
            sparse=None if self.sparse is None else self.sparse[hypotheses],
        )

    def sparse_vector(self, weights: FeatureWeights) -> FloatArray:
        """Return the (P,) weights of the sparse features that are searched; 0 if not given."""
        return np.array(
            [weights.values.get(name, (0.0,))[0] for name in self.sparse_names], dtype=np.float64
        )


def optimize_lists(
    nbest: NBest,
    references: References,
    metric: Metric,
    setup: Setup,
    *,
    notice: Callable[[str], None],
    progress: Callable[[int, int], None] | None = None,
    stats: StatTable | None = None,
    annotate: Annotate | None = None,
    segments: IntArray | None = None,
) -> Optimization:
    """Find the weights under which the lists' best hypotheses score highest.

    Parameters
    ----------
    stats : StatTable, optional
        The statistics, where there are some from an earlier search.
    annotate : callable, optional
        See `statistics_table`.
    segments : (n,) int64, optional
        Search and score on these segments only, each as often as it is named; absent: on all.
    setup
        Where the optimizer does not search sparse features, their weights stay as they are in
        the first start, 0 where it has none.
    notice
        Called with one line for what the user should know.
    progress
        Called as progress(restarts done, restarts in all).

    Raises
    ------
    InputError
        Lists and references do not fit, the metric needs what they lack, a feature has no weight.
    ConfigError
        Constraints on unknown features, or contradicting ones.
    """
    begin = time.perf_counter()
    if stats is None:
        stats = statistics_table(
            nbest, references, metric, threads=setup.threads, notice=notice, annotate=annotate
        )
    seconds = {"statistics": time.perf_counter() - begin}
    return optimize_stats(
        nbest,
        stats,
        metric,
        setup,
        notice=notice,
        progress=progress,
        segments=segments,
        seconds=seconds,
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
    """As `optimize_lists`, where only the statistics are known: texts are not read."""
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
            f"{len(nbest.sparse.names)} sparse features keep their start weights: this search is "
            f"for dense ones (pro, kbmira and expected search both)"
        )
        dense_only = FeatureWeights({name: (0.0,) * size for name, size in nbest.feature_names})
        sparse_scores = nbest_lists.model_scores(
            nbest, FeatureWeights({**starts[0].values, **dense_only.values})
        )

    def rescore(weights: FeatureWeights) -> float:
        """Score as `portmert rerank` chooses."""
        best = nbest_lists.best_hypotheses(nbest, nbest_lists.model_scores(nbest, weights))
        if segments is not None:
            best = best[segments]
        return float(metric.score(stats.total(best)))

    lists = _Lists(
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


def statistics_table(
    nbest: NBest,
    references: References,
    metric: Metric,
    *,
    threads: int,
    notice: Callable[[str], None],
    annotate: Annotate | None = None,
) -> StatTable:
    """Return the statistics of all hypotheses, and say what is odd about the hypotheses.

    Parameters
    ----------
    annotate : callable, optional
        Takes (n,) int64 hypotheses and returns their texts with what else the metric needs. It is
        slow, so that statistics are then computed only of hypotheses that are asked for.

    Raises
    ------
    InputError
        Lists and references do not fit, or the metric needs what they lack.
    """
    batch = make_batch(nbest.texts, nbest.offsets, references, lines=nbest.lines)
    if annotate is None:
        table = StatTable(compute_stats(metric, batch, threads=threads))
    else:
        make_texts = annotate

        def compute(hypotheses: IntArray) -> FloatArray:
            part = replace(batch.take(hypotheses), hypotheses=make_texts(hypotheses))
            return compute_stats(metric, part, threads=threads)

        shape = (len(nbest.texts), len(metric.stat_names))
        table = StatTable(np.zeros(shape), compute)
    for line in notices(metric, batch):
        notice(line)
    return table


def optimize_dat(
    lists: DatLists,
    metric: Metric,
    setup: Setup,
    *,
    notice: Callable[[str], None],
    progress: Callable[[int, int], None] | None = None,
) -> Optimization:
    """As `optimize_lists`, over Moses' features.dat and scores.dat.

    Raises
    ------
    InputError
        The statistics are not this metric's, or a feature has no weight.
    """
    stats = StatTable(moses_stats(lists, metric))
    nbest = nbest_lists.without_texts(
        lists.features, lists.offsets, lists.feature_names, lists.sparse
    )
    return optimize_stats(nbest, stats, metric, setup, notice=notice, progress=progress)


def _matrix(sparse: SparseFeatures) -> Any:
    """Return sparse features as a scipy.sparse.csr_array (H, P)."""
    from scipy.sparse import csr_array  # noqa: PLC0415  start-up time

    return csr_array(
        (sparse.values, sparse.columns, sparse.offsets - sparse.offsets[0]),
        shape=(len(sparse.offsets) - 1, len(sparse.names)),
    )


def moses_stats(lists: DatLists, metric: Metric) -> FloatArray:
    """Return the (H, K) statistics of a scores.dat if they are those of `metric`.

    Raises
    ------
    InputError
        They are another metric's.
    """
    if lists.score_name.lower() != metric.name() or lists.stats.shape[1] != len(metric.stat_names):
        raise InputError(
            f"scores.dat holds {lists.stats.shape[1]} statistics of {lists.score_name}, metric "
            f"{metric.name()} has {len(metric.stat_names)}; give --metric "
            f"{lists.score_name.lower()}, or the n-best lists and references in place of the files"
        )
    return lists.stats


def equal_weights(names: FeatureNames) -> FeatureWeights:
    """Return equal weights that add to 1."""
    size = sum(count for _, count in names)
    return FeatureWeights({name: (1.0 / size,) * count for name, count in names})


def oracle(
    stats: FloatArray, offsets: IntArray, metric: Metric, start: IntArray
) -> tuple[float, IntArray]:
    """Choose one hypothesis a segment for a high corpus score, whatever the model scores.

    Segment by segment, the hypothesis is taken that makes the corpus score highest while the
    others stay, again and again until nothing changes: a local optimum, no more, as the exact
    one is not known how to be found for most metrics.

    Parameters
    ----------
    stats : (H, K) float64
    start : (S,) int64
        Hypotheses to begin with.

    Returns
    -------
    score : float
    chosen : (S,) int64
    """
    chosen = start.copy()
    total = stats[chosen].sum(axis=0)
    for _ in range(ORACLE_SWEEPS):
        before = chosen.copy()
        for segment in range(len(chosen)):
            rows = stats[offsets[segment] : offsets[segment + 1]]
            rest = total - stats[chosen[segment]]
            values = metric.oriented(metric.score(rest + rows))
            best = int(np.argmax(values))
            if values[best] > values[chosen[segment] - offsets[segment]]:
                chosen[segment] = offsets[segment] + best
                total = rest + rows[best]
        if (chosen == before).all():
            break
    return float(metric.score(stats[chosen].sum(axis=0))), chosen


def _optimize(
    lists: _Lists,
    starts: tuple[FeatureWeights, ...],
    setup: Setup,
    *,
    notice: Callable[[str], None],
    progress: Callable[[int, int], None] | None,
    seconds: dict[str, float],
) -> Optimization:
    begin = time.perf_counter()
    vectors = [start.vector(lists.names) for start in starts]
    variables, moving = choose_variables(
        lists.features, lists.offsets, lists.names, vectors[0], setup.constraints, notice
    )
    fixed = variables.fixed(lists.features, moving)
    if lists.sparse_scores.size:
        fixed = lists.sparse_scores if not fixed.size else fixed + lists.sparse_scores
    start_score = lists.rescore(starts[0])
    free = variables.bounds.clip
    sparse_starts = [lists.sparse_vector(start) for start in starts]
    numbers = [
        np.concatenate([free(variables.reduce(vector)), sparse])
        for vector, sparse in zip(vectors, sparse_starts, strict=True)
    ]
    _report_clipped(variables, vectors[0], notice)
    restarts: tuple[float, ...] = (start_score,)
    line_searches = 0
    final = starts[0]
    problem = TuningProblem(
        variables.features(lists.features),
        lists.offsets,
        lists.stats,
        lists.metric,
        fixed,
        rows=lists.rows,
        sparse=lists.sparse,
    )
    if setup.prior > 0:
        problem = replace(problem, prior=_prior(setup, starts[0], problem, variables, lists))
    searched = problem.width
    if searched:
        outcome = setup.optimizer.optimize(
            problem,
            numbers,
            bounds=_with_sparse(variables.bounds, problem),
            seed=setup.seed,
            threads=setup.threads,
            progress=progress,
        )
        restarts = tuple(lists.metric.oriented(value) for value in outcome.restarts)
        line_searches = outcome.line_searches
        found = outcome.weights
        if not fixed.size and variables.bounds.allow_scaling:
            found = _as_long_as(found, numbers[0])
        found = _without_zeros(found, problem, variables)
        final = _named(lists, variables.expand(found[: len(variables)]), starts[0])
        final = _with_sparse_weights(final, lists.sparse_names, found[len(variables) :])
    else:
        notice("no feature is left to search; the weights are the start weights")
    seconds["search"] = time.perf_counter() - begin
    begin = time.perf_counter()
    final_score = lists.rescore(final)
    allowed = bool((numbers[0][: len(variables)] == variables.reduce(vectors[0])).all())
    worse = lists.metric.oriented(final_score) < lists.metric.oriented(start_score)
    if searched and worse and allowed and setup.prior == 0:
        final, final_score = starts[0], start_score  # scaling weights can turn ties over
    if searched and final_score == start_score and len(set(restarts)) == 1:
        notice(
            f"{lists.metric.name()} is {start_score:.6g} under the start weights and no weights "
            f"were found under which it is better"
        )
    reduced = variables.reduce(final.vector(lists.names))
    best = problem.winners(np.concatenate([reduced, lists.sparse_vector(final)]))
    oracle_score = _oracle_score(lists, best)
    seconds["oracle"] = time.perf_counter() - begin
    return Optimization(
        weights=final,
        start_score=start_score,
        final_score=final_score,
        oracle_score=oracle_score,
        restarts=restarts,
        hypotheses=lists.features.shape[1],
        known=int(_is_known(lists).sum()),
        line_searches=line_searches,
        seconds=seconds,
    )


def _is_known(lists: _Lists) -> NDArray[np.bool_]:
    """Return (H,) whether the statistics of each hypothesis are known."""
    known = lists.stats.is_known
    return known if lists.rows is None else known[lists.rows]


def _oracle_score(lists: _Lists, start: IntArray) -> float:
    """Return the oracle's score among the hypotheses whose statistics are known."""
    rows = np.arange(len(lists.stats.rows)) if lists.rows is None else lists.rows
    lists.stats.need(rows[start])
    known = np.flatnonzero(_is_known(lists))
    score, _ = oracle(
        lists.stats.rows[rows[known]],
        np.searchsorted(known, lists.offsets),
        lists.metric,
        np.searchsorted(known, start),
    )
    return score


def _prior(
    setup: Setup,
    start: FeatureWeights,
    problem: TuningProblem,
    variables: Variables,
    lists: _Lists,
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


def _named(lists: _Lists, vector: FloatArray, start: FeatureWeights) -> FeatureWeights:
    """Name the columns, keep what else `start` holds: sparse and untuned features."""
    return FeatureWeights(
        {**start.values, **FeatureWeights.from_vector(lists.names, vector).values}
    )


def _with_sparse_weights(
    weights: FeatureWeights, names: tuple[str, ...], found: FloatArray
) -> FeatureWeights:
    """Add the sparse weights found; one of 0 only takes the place of another."""
    sparse = {
        name: (float(number),)
        for name, number in zip(names, found, strict=True)
        if number != 0 or name in weights.values
    }
    return FeatureWeights({**weights.values, **sparse})


def _as_long_as(found: FloatArray, start: FloatArray) -> FloatArray:
    """Scale weights so that their absolute values add to what those of the start do.

    Model scores only rank, so that any positive factor will do; this one keeps the searched
    weights as they were beside the ones that the decoder has and nobody searches.
    """
    size, found_size = float(np.abs(start).sum()), float(np.abs(found).sum())
    return found * ((size or 1.0) / (found_size or 1.0))


def _without_zeros(found: FloatArray, problem: TuningProblem, variables: Variables) -> FloatArray:
    """Replace each weight of exactly 0 by a very small one of the sign that scores better."""
    found = found.copy()
    tiny = 1e-9 * max(float(np.abs(found).max()), 1e-9)
    for v in np.flatnonzero(found[: len(variables)] == 0):  # sparse ones may be 0
        options = []
        for value in (tiny, -tiny):
            if variables.bounds.lower[v] <= value <= variables.bounds.upper[v]:
                changed = found.copy()
                changed[v] = value
                options.append((problem.value(problem.model_scores(changed)), value))
        found[v] = max(options)[1] if options else 0.0
    return found


def _report_clipped(
    variables: Variables, start: FloatArray, notice: Callable[[str], None]
) -> None:
    numbers = variables.reduce(start)
    if (variables.bounds.clip(numbers) != numbers).any():
        notice("start weights outside of their bounds were moved to the nearest weight allowed")
