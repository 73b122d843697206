"""From the arguments of callers to a search: weights, constraints, lists with statistics."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, TypedDict, runtime_checkable

import numpy as np

from portmert.metrics._base import IntArray, Metric, rows_taken
from portmert.tuner.api.components import as_optimizer
from portmert.tuner.api.lists import Lists, PreparedLists
from portmert.tuner.api.texts import Notice, PathLike, Progress, preparing
from portmert.tuner.components.formula import Formula
from portmert.tuner.executors.team import Team
from portmert.tuner.ground.errors import ConfigError
from portmert.tuner.ground.processes import available_processors
from portmert.tuner.nbest.model import NBest
from portmert.tuner.search import DEFAULT_OPTIMIZER
from portmert.tuner.search.constraints import Constraints
from portmert.tuner.search.length_penalty import LengthPenalty, optimize_penalised
from portmert.tuner.search.optimization import Optimization, Setup
from portmert.tuner.search.optimizers._base import Optimizer
from portmert.tuner.search.problem import StatTable
from portmert.tuner.texts.corpus import make_batch, no_references
from portmert.tuner.texts.prepare import Preparation
from portmert.tuner.texts.statistics import check_texts, needs_of
from portmert.tuner.weights.feature_weights import FeatureWeights, read_penalised_weights


@runtime_checkable
class Tuned(Protocol):
    """Weights that an earlier search found, with their length penalty."""

    @property
    def weights(self) -> FeatureWeights:
        """The weights."""

    @property
    def length_penalty(self) -> float | None:
        """The power of the length that model scores are divided by."""


ConstraintsLike = Constraints | Mapping[str, Sequence[str]]
WeightsLike = PathLike | FeatureWeights | Tuned | Mapping[str, float | Sequence[float]]

SEGMENTS_SHOWN = 50
"""At most so many segments tell which metric of a formula dominates."""


class CommonOptions(TypedDict, total=False):
    """The options of whatever searches, `crossval` among it; see `SearchOptions`."""

    weights: WeightsLike | None
    constraints: ConstraintsLike | None
    seed: int
    threads: int
    executor: str


class SearchOptions(CommonOptions, total=False):
    """The options of every search.

    Parameters
    ----------
    weights
        Start weights: a file, weights by name, or an earlier result. Default: all equal.
    optimizer
        The optimizer, as `"mert:searches_per_feature=1600"`, or itself.
    constraints
        Weights that are fixed, tied, bound or of one sign; or these as on the command line,
        `{"fixed": ["LM"], "bounds": ["TM=0:1"], "signs": ["WP=-"], "tied": ["LM,TM"]}`.
    length_penalty
        Divide model scores by length to this power; `"0:2"` is a range that is searched.
    prior
        Strength of a pull towards the start weights. Default: 0, none.
    seed
        Equal seeds give equal weights, whatever the number of threads. Default: 1.
    threads
        Default: 0, one for each processor.
    executor
        Where the work is done: `local`, a cluster as `dask:tcp://HOST:8786`, `dask:FILE.json`,
        `dask-slurm:JOBS`, or a TOML file with a table [executor]. No place changes a result.
    """

    optimizer: str | Optimizer
    length_penalty: str | float | None
    prior: float


class Start(NamedTuple):
    """Start weights, the length penalty that belongs to them, and their name in messages."""

    weights: FeatureWeights | None = None
    length_penalty: float = 0.0
    origin: str = ""


def as_weights(given: WeightsLike | None) -> Start:
    """Return weights given in any way.

    Raises
    ------
    ValueError
        They are not given by name.
    """
    if given is None:
        return Start()
    if isinstance(given, Path | str):
        return Start(*read_penalised_weights(Path(given)), str(given))
    if isinstance(given, FeatureWeights):
        return Start(given, 0.0, "weights")
    if isinstance(given, Tuned):
        return Start(given.weights, given.length_penalty or 0.0, "weights")
    if not isinstance(given, Mapping):
        raise ValueError(  # noqa: TRY004  a wrong call, as others
            f"weights are given by name, as {{'LM': 0.5, 'TM': 0.3}}, found {type(given).__name__}"
        )
    values = {name: tuple(map(float, np.ravel(numbers))) for name, numbers in given.items()}
    return Start(FeatureWeights(values), 0.0, "weights")


def as_constraints(given: ConstraintsLike | None) -> Constraints:
    """Return constraints given as an object or as on the command line."""
    if isinstance(given, Constraints):
        return given
    return Constraints.from_options(**(given or {}))


def setup_of(search: SearchOptions) -> tuple[Start, Setup]:
    """Return the start weights, and how to search."""
    start = as_weights(search.get("weights"))
    setup = Setup(
        optimizer=as_optimizer(search.get("optimizer", DEFAULT_OPTIMIZER)),
        starts=() if start.weights is None else (start.weights,),
        constraints=as_constraints(search.get("constraints")),
        seed=search.get("seed", 1),
        threads=search.get("threads", 0) or available_processors(),
        prior=search.get("prior", 0.0),
    )
    return start, setup


@dataclass(eq=False)
class Ended:
    """The result of a search, and the lists that it searched.

    Parameters
    ----------
    alpha
        The length penalty, None where none was asked for.
    seconds
        The time of each phase before the search.
    nbest
        The lists as they were searched.
    stats
        Their statistics, as far as they are known.
    """

    found: Optimization
    alpha: float | None
    seconds: dict[str, float]
    nbest: NBest
    stats: StatTable


@dataclass(frozen=True, eq=False)
class ListProblem:
    """Lists, references and a metric, ready to be searched with one seed after another.

    Parameters
    ----------
    read, ready
        The lists, and what prepared their texts.
    stats
        The statistics of all hypotheses.
    penalty
        The length penalties to try.
    has_penalty
        Whether any of them is not 0.
    start_alpha
        The length penalty of the start weights.
    signature
        The metric and all else that scores depend on.
    seconds
        The time of reading and counting.
    """

    read: PreparedLists
    ready: Preparation
    metric: Metric
    stats: StatTable
    penalty: LengthPenalty
    has_penalty: bool
    start_alpha: float
    signature: str
    seconds: dict[str, float]

    def search(self, setup: Setup, notice: Notice, progress: Progress | None = None) -> Ended:
        """Search weights, and the length penalty."""
        found, alpha = optimize_penalised(
            self.read.scored,
            self.stats,
            self.metric,
            setup,
            penalty=self.penalty,
            lengths=self.read.lengths,
            start_alpha=self.start_alpha,
            notice=notice,
            progress=progress,
        )
        known_alpha = alpha if self.has_penalty else None
        return Ended(found, known_alpha, self.seconds, self.read.penalised(alpha), self.stats)


@contextmanager
def list_problem(
    lists: Lists,
    metric: Metric | None,
    *,
    also: Sequence[Metric] = (),
    start: Start,
    length_penalty: str | float | None,
    threads: int,
    notice: Notice,
    progress: Progress | None = None,
    team: Team | None = None,
) -> Iterator[ListProblem]:
    """Read lists and references and compute the statistics of the metric.

    Parameters
    ----------
    metric
        None: the mean of the scores that the lists hold.
    also
        Metrics whose faults are found before the search.
    progress
        Called with the number of sentences annotated, and of how many.
    """
    penalty = LengthPenalty(start.length_penalty, start.length_penalty)
    if length_penalty is not None:
        penalty = LengthPenalty.parse(str(length_penalty))
    elif start.length_penalty and lists.counts is None:
        notice(f"length penalty {start.length_penalty:g}, as in {start.origin}")
    has_penalty = length_penalty is not None or bool(start.length_penalty)
    if lists.counts is not None:
        _check_counted(lists.counts.name, start, also, length_penalty)
        found = lists.counts.counted(metric, threads=threads, notice=notice)
        nbest = found.nbest
        _describe(found.metric, found.stats, nbest.offsets, notice)
        yield ListProblem(
            PreparedLists(nbest, nbest, no_references(nbest.texts.vocabulary, len(nbest))),
            Preparation(),
            found.metric,
            found.stats,
            penalty,
            has_penalty=False,
            start_alpha=0.0,
            signature=found.signature,
            seconds=found.seconds,
        )
        return
    if metric is None:
        raise ValueError("give a metric; or scores, as in Lists.from_arrays(features, scores=...)")
    with preparing(
        lists.annotator,
        lists.annotation_cache,
        notice=notice,
        progress=progress,
        team=team,
    ) as prepare:
        metrics = [metric, *also]
        ready = prepare(metrics, lists.pipeline, None)
        begin = time.perf_counter()
        read = lists.prepared(metrics, ready)
        for one in also:
            if not needs_of([one]):
                nbest = read.scored
                check_texts(one, make_batch(nbest.texts, nbest.offsets, read.references))
        read_at = time.perf_counter()
        stats = read.statistics(metric, threads=threads, notice=notice)
        _describe(metric, stats, read.nbest.offsets, notice)
        yield ListProblem(
            read,
            ready,
            metric,
            stats,
            penalty,
            has_penalty=has_penalty,
            start_alpha=start.length_penalty,
            signature=ready.signature(metric, read.references.offsets),
            seconds={"reading": read_at - begin, "statistics": time.perf_counter() - read_at},
        )


def _check_counted(
    name: str, start: Start, also: Sequence[Metric], length_penalty: str | float | None
) -> None:
    """Raise ConfigError for what needs texts, where there are none."""
    if start.length_penalty:
        raise ConfigError(
            f"{start.origin}: weights with a length penalty ({start.length_penalty:g}) need lists "
            f"with texts: {name} do not know the lengths"
        )
    if also:
        raise ConfigError(f"other metrics need n-best lists with texts, not {name}")
    if length_penalty is not None:
        raise ConfigError(f"a length penalty needs n-best lists with texts, not {name}")


def _describe(metric: Metric, stats: StatTable, offsets: IntArray, notice: Notice) -> None:
    """Notice which of a formula's metrics moves it."""
    if isinstance(metric, Formula) and len(metric.metrics) > 1 and not stats.is_lazy:
        notice(influences(metric, stats, offsets))


def influences(formula: Formula, stats: StatTable, offsets: IntArray) -> str:
    """Describe the scores of the formula's metrics, and how much each moves the formula."""
    some = np.unique(np.linspace(0, len(offsets) - 2, SEGMENTS_SHOWN).astype(np.int64))
    rows, part = rows_taken(offsets, some)
    stats.need(rows)
    found = formula.influences(stats.take(rows), part)
    scores = ", ".join(f"{label} {score:.4f}" for label, (score, _) in found.items())
    shares = ", ".join(f"{label} {100 * share:.0f} %" for label, (_, share) in found.items())
    return (
        f"of the formula, {scores} for the first hypotheses; exchanging one moves it by {shares}"
    )
