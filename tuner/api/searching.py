"""Makes what a search needs of what callers give: weights, constraints, lists that are counted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import IntArray, Metric, rows_taken
from portmert.tuner.annotation.annotators._base import Annotator
from portmert.tuner.api.components import as_metric, as_optimizer
from portmert.tuner.api.lists import Lists, ListsLike, read_lists
from portmert.tuner.api.texts import Notice, PathLike, Progress, TextLike, pipeline_of, preparing
from portmert.tuner.components.formula import Formula
from portmert.tuner.executors.team import Team
from portmert.tuner.ground.processes import available_processors
from portmert.tuner.nbest.model import NBest
from portmert.tuner.nbest.readers._base import Reader
from portmert.tuner.search.constraints import Constraints
from portmert.tuner.search.length_penalty import LengthPenalty, optimize_penalised
from portmert.tuner.search.optimization import Optimization, Setup
from portmert.tuner.search.optimizers._base import Optimizer
from portmert.tuner.search.problem import StatTable
from portmert.tuner.texts.corpus import make_batch
from portmert.tuner.texts.prepare import Preparation
from portmert.tuner.texts.statistics import check_texts, needs_of
from portmert.tuner.texts.text_pipeline import TextPipeline
from portmert.tuner.weights.feature_weights import FeatureWeights, read_penalised_weights

ConstraintsLike = Constraints | Mapping[str, Sequence[str]]
WeightsLike = PathLike | FeatureWeights | Mapping[str, float | Sequence[float]]


SEGMENTS_SHOWN = 50
"""So many at most tell which metric of a formula dominates."""


class Start(NamedTuple):
    """Holds start weights, the length penalty that goes with them, and what to call them."""

    weights: FeatureWeights | None = None
    length_penalty: float = 0.0
    origin: str = ""


def as_weights(given: WeightsLike | None) -> Start:
    """Return start weights, from a file or as they are."""
    if given is None:
        return Start()
    if isinstance(given, Path | str):
        return Start(*read_penalised_weights(Path(given)), str(given))
    if isinstance(given, FeatureWeights):
        return Start(given, 0.0, "weights")
    values = {
        name: (float(number),) if isinstance(number, int | float) else tuple(map(float, number))
        for name, number in given.items()
    }
    return Start(FeatureWeights(values), 0.0, "weights")


def as_constraints(given: ConstraintsLike | None) -> Constraints:
    """Return constraints given by themselves or as on the command line."""
    if isinstance(given, Constraints):
        return given
    return Constraints.from_options(**(given or {}))


@dataclass(eq=False)
class Ended:
    """Holds what was found, and what it was found on.

    Parameters
    ----------
    alpha
        The length penalty, None where none was asked for.
    seconds
        Of what came before the search.
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
    """Holds lists, references and a metric, ready to be searched with one seed after another.

    Parameters
    ----------
    read, ready
        The texts, and what made them ready.
    stats
        Of all hypotheses.
    penalty
        What length penalties are tried; `has_penalty` says whether there are any but 0.
    start_alpha
        That of the start weights.
    signature
        The metric and all else that scores depend on.
    seconds
        Of reading and counting.
    """

    read: Lists
    ready: Preparation
    metric: Metric
    stats: StatTable
    penalty: LengthPenalty
    has_penalty: bool
    start_alpha: float
    signature: str
    seconds: dict[str, float]

    def search(self, setup: Setup, notice: Notice, searching: Progress | None = None) -> Ended:
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
            progress=searching,
        )
        known_alpha = alpha if self.has_penalty else None
        return Ended(found, known_alpha, self.seconds, self.read.penalised(alpha), self.stats)


@contextmanager
def list_problem(
    lists: ListsLike,
    refs: Sequence[TextLike] | PathLike,
    *,
    metric: str | Metric,
    also: Sequence[Metric] = (),
    source: TextLike | None,
    ref_links: Sequence[TextLike] | PathLike,
    ids: bool = False,
    nbest_format: str | Reader,
    extra_features: Sequence[str] = (),
    text: str | Sequence[str] | TextPipeline,
    text_model: PathLike | None,
    annotator: str | Annotator | None,
    annotation_cache: PathLike | None,
    start: Start,
    length_penalty: str | float | None,
    threads: int,
    notice: Notice,
    progress: Progress | None,
    team: Team | None = None,
) -> Iterator[ListProblem]:
    """Read lists and references and count for the metric; parameters are those of `optimize`."""
    chosen = as_metric(metric)
    start_alpha = start.length_penalty
    penalty = LengthPenalty(start_alpha, start_alpha)
    if length_penalty is not None:
        penalty = LengthPenalty.parse(str(length_penalty))
    elif start_alpha:
        notice(f"length penalty {start_alpha:g}, as in {start.origin}")
    with preparing(
        annotator, annotation_cache, notice=notice, progress=progress, team=team
    ) as prepare:
        metrics = [chosen, *also]
        ready = prepare(metrics, pipeline_of(text, text_model), None)
        begin = time.perf_counter()
        read = read_lists(
            lists,
            refs,
            ready=ready,
            metrics=metrics,
            source=source,
            ref_links=ref_links,
            ids=ids,
            nbest_format=nbest_format,
            extra_features=extra_features,
            notice=notice,
        )
        for one in also:  # what it lacks is said before the search; annotators come after it
            if not needs_of([one]):
                nbest = read.scored
                check_texts(one, make_batch(nbest.texts, nbest.offsets, read.references))
        read_at = time.perf_counter()
        stats = read.statistics(chosen, threads=threads, notice=notice)
        if isinstance(chosen, Formula) and len(chosen.metrics) > 1 and not stats.is_lazy:
            notice(influences(chosen, stats, read.nbest.offsets))
        yield ListProblem(
            read,
            ready,
            chosen,
            stats,
            penalty,
            length_penalty is not None or bool(start_alpha),
            start_alpha,
            ready.signature(chosen, read.references.offsets),
            {"reading": read_at - begin, "statistics": time.perf_counter() - read_at},
        )


def influences(formula: Formula, stats: StatTable, offsets: IntArray) -> str:
    """Say what the formula's metrics score, and which of them moves it."""
    some = np.unique(np.linspace(0, len(offsets) - 2, SEGMENTS_SHOWN).astype(np.int64))
    rows, part = rows_taken(offsets, some)
    stats.need(rows)
    found = formula.influences(stats.take(rows), part)
    scores = ", ".join(f"{label} {score:.4f}" for label, (score, _) in found.items())
    shares = ", ".join(f"{label} {100 * share:.0f} %" for label, (_, share) in found.items())
    return (
        f"of the formula, {scores} for the first hypotheses; exchanging one moves it by {shares}"
    )


def setup_of(
    start: Start,
    optimizer: str | Optimizer,
    options: Mapping[str, object] | None,
    constraints: ConstraintsLike | None,
    seed: int,
    threads: int,
    prior: float,
) -> Setup:
    """Return how to search; parameters are those of `optimize`."""
    return Setup(
        optimizer=as_optimizer(optimizer, options or {}),
        starts=() if start.weights is None else (start.weights,),
        constraints=as_constraints(constraints),
        seed=seed,
        threads=threads or available_processors(),
        prior=prior,
    )
