"""The outer loop: decode, score, search, go a step, and repeat until a rule (result.py) ends it.

`tune` and `mert-moses` run it. They differ in the folder that keeps the state, in what decodes and
counts, and in the set-up of a search: these are the methods of a subclass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric

from ..base.errors import counted
from ..base.warn import notice, warn, warn_of
from ..nbest.model import NBest
from ..search.averaging import weight_change
from ..search.constraints import Constraints
from ..search.optimizers._base import Optimizer
from ..search.results import Optimized
from ..search.stat_table import StatTable
from ..search.steps import (
    Steps,
    WeightFlags,
    constant_places,
    counted_part,
    decodable,
    equal_weights_but,
    fixed_places,
    is_by_chance,
    stats_of_best,
)
from ..search.unseen import (
    CLEARLY_BETTER,
    chosen_by_others,
    error_without_folds,
    gain_of,
    scores_without_folds,
)
from ..search.weight_search import Setup, find_weights
from ..weights.feature_weights import FeatureWeights
from .config import Tune
from .promises import Promise, cause, promise_of
from .records import IterationScores, IterationSearch, NextStep
from .result import Iteration, best_iteration
from .stopping import FEWEST, enough, is_short, stop_reason

Searched = tuple[NBest, StatTable]
"""The lists of all iterations so far, and their statistics."""


class MergedLists(ABC):
    """The lists of all iterations so far. Without search graphs nothing is added to them."""

    @abstractmethod
    def merged(self, number: int) -> tuple[NBest, StatTable]:
        """Return the lists of iterations 1..number merged, and their statistics."""

    def add_strings_around(self, number: int, weights: FeatureWeights) -> None:  # noqa: B027
        """Add the strings of search graphs under random weights around those of an iteration."""

    def add_strings_under(
        self,
        number: int,  # noqa: ARG002
        search: int,  # noqa: ARG002
        weights: FeatureWeights,  # noqa: ARG002
        *,
        is_cut: bool,  # noqa: ARG002
    ) -> bool:
        """Add the strings under the weights after a search; return whether to search again."""
        return False


Lists = TypeVar("Lists", bound=MergedLists)


class Loop(ABC, Generic[Lists]):
    """One tuning: its rules, and its state as far as the folder keeps it.

    Every method that makes a file of an iteration first looks whether it exists.

    Parameters
    ----------
    tune
        When the loop stops.
    fewest
        Decodings before the gain may end the loop.

    Attributes
    ----------
    decoded
        The number of the last decoding.
    doubts
        Warnings of outputs that are not what the lists promised.
    """

    def __init__(
        self, tune: Tune, metric: Metric, optimizer: Optimizer, *, fewest: int = FEWEST
    ) -> None:
        self.tune = tune
        self.metric = metric
        self.optimizer = optimizer
        self.fewest = fewest
        self.doubts: list[str] = []
        self.decoded = 0

    # What a subclass says.

    lists: Lists

    @property
    @abstractmethod
    def folds(self) -> IntArray:
        """The (S,) folds of the segments tuned on, see `Optimizer.folds_of`."""

    @property
    def tuned(self) -> IntArray | None:
        """The segments tuned on; None: all."""
        return None

    @abstractmethod
    def weights_of(self, number: int) -> FeatureWeights:
        """Return the weights that an iteration decodes with."""

    @abstractmethod
    def decode(self, number: int) -> None:
        """Decode the dev set under the weights of an iteration."""

    @abstractmethod
    def scores_of(self, number: int) -> IterationScores:
        """Return what is to be said of the decoder's output in an iteration."""

    @abstractmethod
    def setup(self, iterations: Sequence[Iteration], nbest: NBest) -> Setup:
        """Return how to search after these iterations.

        An optimizer that holds segments out starts at weights that were found on none of them. It
        gets the same seed in every iteration: so estimates of different iterations can be
        compared, and the same lists give the same weights.
        """

    @abstractmethod
    def has_search(self, number: int) -> bool:
        """Return whether the search of an iteration is done."""

    @abstractmethod
    def search_of(self, number: int) -> IterationSearch:
        """Return what the search of an iteration found."""

    @abstractmethod
    def keep_search(self, number: int, search: IterationSearch) -> None:
        """Write what the search of an iteration found."""

    @abstractmethod
    def say(self, iteration: Iteration) -> None:
        """Show an iteration that is done."""

    def report_search(self, number: int, optimization: Optimized) -> None:
        """Report the work of a search that ended."""

    def after(self, number: int, target: FeatureWeights, share: float) -> FeatureWeights:
        """Return the weights after an iteration that found some.

        Lists tell little about weights far from those that they were decoded under. A search for
        the highest score on the lists returns to the same weights in the end. A search that
        starts afresh in every iteration takes only part of the step.
        """
        if not self.optimizer.holds_out:
            return target
        return self.weights_of(number).towards(target, share)

    # The loop.

    def iterations(self) -> tuple[tuple[Iteration, ...], str]:
        """Iterate until a rule ends the loop; return the iterations and the reason."""
        iterations: list[Iteration] = []
        stopped = None
        while stopped is None:
            number = len(iterations) + 1
            self.decode(number)
            self.decoded = number
            iterations.append(self._scored(number))
            self._compare_with_promise(iterations)
            stopped = self.stop_reason(iterations, number - 1)
            if stopped is None:
                iterations[-1] = self._searched(iterations)
                stopped = self.stop_reason(iterations, number)
            self.say(iterations[-1])
            if stopped is None and (stopped := enough(iterations[-1], self.tune)):
                iterations.append(self.undecoded(iterations[-1]))
                self.say(iterations[-1])
        notice(f"stopped: {stopped}")
        return tuple(iterations), stopped

    def stop_reason(self, iterations: Sequence[Iteration], steps: int) -> str | None:
        """Return the reason to stop after these iterations and their first steps, or None."""
        done = self._steps(steps)
        return stop_reason(iterations, self.tune, self.metric, done, fewest=self.fewest)

    def cut_short(self, last: Iteration, stopped: str) -> str:
        """Return a line if the loop ended behind a step that was cut short, else nothing."""
        if not is_short(last, self._steps(last.number - 1)):
            return ""
        return f"{stopped}, but the last step was cut short; more decodings would lead farther"

    def undecoded(self, last: Iteration) -> Iteration:
        """Return the iteration after the last one, as if it had been decoded."""
        number = last.number + 1
        score = self.search_of(last.number).next_score
        self.weights_of(number)
        unseen = self.unseen(number, score)
        return Iteration(number, last.hypotheses, 0, score, unseen_score=unseen, is_decoded=False)

    # Steps.

    def _share_of(
        self, number: int, target: FeatureWeights, searches: int, setup: Setup, lists: Searched
    ) -> float:
        """Return the share that an iteration's step is of the way to the weights it found.

        It is the whole way if the decoder showed no new hypothesis although a step was cut short:
        then the search has found the same weights as before, and the lists speak for them. It is
        also the whole way if the weights before choose no better than chance from all lists so
        far, as after a step that made the output far worse, or if the decoder cannot calculate
        with the weights.
        """
        if not self.optimizer.holds_out:
            return 1.0
        before, earlier = self.weights_of(number), self._steps(number - 1)
        is_done = not self.scores_of(number).new and earlier.is_behind
        is_usual = _decodable(target, lists[0], setup.constraints) == target
        if is_done or not is_usual:
            return 1.0
        uncounted = _uncounted(lists[0], setup.constraints)
        first, second = (counted_part(weights, *uncounted) for weights in (before, target))
        share = earlier.next_share(first, second, searches)
        is_whole = share < 1 and is_by_chance(
            *lists, self.metric, before, segments=self.tuned, seed=setup.seed
        )
        return 1.0 if is_whole else share

    def _elsewhere(
        self, number: int, result: Optimized, setup: Setup, lists: Searched
    ) -> FeatureWeights | None:
        """Return equal weights to decode with if the lists teach nothing; None if they do.

        The first lists teach nothing if what was learnt is not clearly better on them than equal
        weights, later ones if almost all weights have one score, as BLEU 0, and equal weights are
        as good. They are tried once. Lists of a start that nobody would choose are so alike that a
        search among them goes nowhere, or far too far.
        """
        is_first = number == 1 and self.optimizer.holds_out
        learnt, before = map(self.metric.oriented, (result.score, result.start_score))
        if not is_first and learnt > before:
            return None
        names, least = lists[0].feature_names, self.tune.min_weight_change
        equal = equal_weights_but(result.weights, fixed_places(names, setup.constraints))
        equal = setup.constraints.allowed(equal, equal.names)
        earlier = [self.weights_of(iteration) for iteration in range(1, number + 1)]
        if any(weight_change(equal, weights) < least for weights in earlier):
            return None
        tables = [
            stats_of_best(*lists, weights, self.tuned) for weights in (equal, result.weights)
        ]
        gain, error = gain_of(self.metric, tables, setup.seed)
        return equal if gain <= (CLEARLY_BETTER * error if is_first else 0.0) else None

    def _steps(self, count: int) -> Steps:
        """Return the first steps; those before the last decoding may have been too short."""
        promises = [self._promise(number + 1) for number in range(1, min(count + 1, self.decoded))]
        return Steps(
            [self.search_of(number).share for number in range(1, count + 1)],
            [promise is not None and promise.is_exceeded(self.metric) for promise in promises],
        )

    # Scores.

    def _compare_with_promise(self, iterations: Sequence[Iteration]) -> None:
        """Warn if the decoder's output is not what the lists promised of its weights."""
        promise = iterations[-1].promise
        if promise is None or promise.is_kept:
            return
        scores, before = (self.scores_of(iteration.number) for iteration in iterations[:-3:-1])
        if scores.fault:  # which says that the decoder chose by other weights
            return
        is_same = (scores.dev_score, scores.without) == (before.dev_score, before.without)
        line = cause(promise, self.metric, new_share=scores.new_outputs, is_same=is_same)
        line = f"iteration {iterations[-1].number}: {promise.text(self.metric)}: {line}"
        if scores.new_outputs and not is_same:  # as in any tuning
            notice(line)
            return
        self.doubts.append(line)
        warn(line)

    def _promise(self, number: int) -> Promise | None:
        """Return what the lists promised of an iteration's weights, and what was decoded."""
        if number == 1 or (search := self.search_of(number - 1)).next_without is None:
            return None
        scores = self.scores_of(number)
        return promise_of(
            (search.next_score, np.array(search.next_without)),
            (scores.dev_score, np.array(scores.without)),
        )

    def _scored(self, number: int) -> Iteration:
        scores = self.scores_of(number)
        return Iteration(
            number,
            scores.hypotheses,
            scores.new,
            scores.dev_score,
            None if scores.held_out is None else scores.held_out.score,
            unseen_score=scores.unseen_score,
            promise=self._promise(number),
        )

    def unseen(self, number: int, dev_score: float) -> float | None:
        """Return an estimate of the score on unseen text, see `Iteration`.

        If weights are some share of the way between two others, their estimate is taken to be so
        too. The start weights were not found on these segments, so their dev score is unbiased.
        """
        if not self.optimizer.holds_out or not self.folds.any():
            return None
        if number == 1:
            return dev_score
        excess = self.search_of(number - 1).excess
        return None if excess is None else dev_score - excess

    def _excess_without(self, number: int) -> FloatArray:
        """Return the (2, K) excess of an iteration without each fold, see `chosen_by_others`."""
        if number == 1:
            return np.zeros((2, len(np.unique(self.folds))))
        return np.array(self.search_of(number - 1).excess_without)

    def unseen_of_best(self, iterations: Sequence[Iteration]) -> float | None:
        """Return the estimate for unseen text of the best iteration.

        Other folds choose an iteration, and each fold judges it: see `chosen_by_others`.
        """
        best = best_iteration(iterations, self.metric)
        scores = [iteration.unseen_score for iteration in iterations]
        values = [score for score in scores if score is not None]
        is_estimated = best.held_out_score is None and len(values) == len(iterations)
        if not is_estimated or not self.folds.any():
            return best.unseen_score
        without = [self._judged_without(iteration) for iteration in iterations]
        oriented = np.array([self.metric.oriented(value) for value in values])
        return float(
            self.metric.oriented(chosen_by_others(oriented, np.stack(without), self.folds))
        )

    def _judged_without(self, iteration: Iteration) -> FloatArray:
        """Return (2, K) the oriented estimate of an iteration without each fold."""
        dev_without = (
            self.scores_of(iteration.number).without
            if iteration.is_decoded
            else self.search_of(iteration.number - 1).next_without
        )
        without: FloatArray = np.array(dev_without) - self._excess_without(iteration.number)
        return without

    def gain(self, first: Iteration, best: Iteration) -> tuple[float, float | None]:
        """Return how much better the result is than the start weights, and the standard error.

        It is by the score that chose it; above 0 is better. Scores of other text have no error.
        """
        gain = self.metric.oriented(best.real_score) - self.metric.oriented(first.real_score)
        if best.unseen_score is None or best.held_out_score is not None or best is first:
            return gain, None
        without = self._judged_without(best)[1] - self._judged_without(first)[1]
        return gain, error_without_folds(without) or None

    # Searches.

    def _searched(self, iterations: Sequence[Iteration]) -> Iteration:
        last = iterations[-1]
        if not self.has_search(last.number):
            notice(
                f"iteration {last.number}: optimizing over "
                f"{counted(last.hypotheses, 'hypothesis')}"
            )
            self.keep_search(last.number, self.search(iterations))
        search = self.search_of(last.number)
        return replace(
            last,
            start_score=search.start_score,
            optimized_score=search.optimized_score,
            change=search.change,
            gain=search.gain,
            gain_error=search.gain_error,
        )

    def search(self, iterations: Sequence[Iteration]) -> IterationSearch:
        """Search over all lists so far."""
        last = iterations[-1]
        before = self.weights_of(last.number)
        self.lists.add_strings_around(last.number, before)
        searches = 1
        while True:
            nbest, stats = self.lists.merged(last.number)
            setup = replace(self.setup(iterations, nbest), explores=True)
            optimization = find_weights(nbest, stats, self.metric, setup, segments=self.tuned)
            lists, limits = (nbest, stats), setup.constraints
            if (elsewhere := self._elsewhere(last.number, optimization, setup, lists)) is None:
                share = self._share_of(last.number, optimization.weights, searches, setup, lists)
                target = _decodable(optimization.weights, nbest, limits)
            else:
                share, target = 1.0, elsewhere
            steps = self._steps(last.number - 1).and_one(share)
            optimization = replace(optimization, weights=target)
            after = self.after(last.number, optimization.weights, share)
            was_cut = steps.is_cut(last.number)
            if not self.lists.add_strings_under(last.number, searches, after, is_cut=was_cut):
                break  # only the last search moves the weights
            searches += 1
        # Lists that teach nothing do not tell either which features count.
        uncounted = () if elsewhere is not None else _uncounted(nbest, limits)
        if elsewhere is not None:
            notice(
                f"iteration {last.number}: these lists teach nothing that equal weights do not "
                f"give; the next decoding has equal weights"
            )
        self.report_search(last.number, optimization)
        warn_of(optimization.warnings)
        return IterationSearch(
            start_score=optimization.start_score,
            optimized_score=optimization.score,
            oracle_score=optimization.oracle_score,
            unseen_score=optimization.unseen_score,
            unseen_error=optimization.unseen_error,
            annotated=optimization.known,
            change=weight_change(*(counted_part(each, *uncounted) for each in (before, after))),
            weights=optimization.weights.values,
            share=share,
            warnings=optimization.warnings,
            searches=searches,
            **vars(self._next(last, optimization, steps, lists)),
        )

    def _next(
        self,
        last: Iteration,
        result: Optimized,
        steps: Steps,
        lists: Searched,
    ) -> NextStep:
        """Return what the lists say of the next iteration's weights."""
        metric, share, stats = self.metric, steps.shares[-1], lists[1]
        after = self.after(last.number, result.weights, share)
        of_before, of_after, of_target = (
            stats_of_best(*lists, weights, self.tuned)
            for weights in (self.weights_of(last.number), after, result.weights)
        )
        step = NextStep(
            next_score=float(metric.score(of_after.sum(axis=0))),
            next_without=tuple(scores_without_folds(metric, of_after, self.folds).tolist()),
        )
        if result.unseen is None:
            return step
        # A step that was cut short says little of the way ahead.
        if not steps.is_cut(last.number):
            gain, error = gain_of(metric, [of_before, of_after], result.unseen.seed)
            step = replace(step, gain=gain, gain_error=error or None)
        if last.unseen_score is None or result.unseen_score is None:
            return step
        excess = (1 - share) * (last.dev_score - last.unseen_score)
        excess += share * (result.score - result.unseen_score)
        folds, unseen = self.folds, result.unseen
        taught = unseen.without if np.array_equal(folds, unseen.folds) else unseen.rows
        seen = scores_without_folds(metric, of_target, folds)
        held_out = [  # to choose by, and to judge by
            scores_without_folds(metric, stats.take(rows.ravel()).reshape(*rows.shape, -1), folds)
            for rows in (taught, unseen.rows)
        ]
        by_fold = (1 - share) * self._excess_without(last.number) + share * (seen - held_out)
        return replace(
            step,
            excess=excess,
            excess_without=tuple(map(tuple, by_fold.tolist())),
        )


def _uncounted(nbest: NBest, constraints: Constraints) -> tuple[WeightFlags, WeightFlags]:
    """Return which features do not count in the sizes of weights and steps."""
    names = nbest.feature_names
    constant = constant_places(nbest.features, nbest.offsets, names)
    return constant, fixed_places(names, constraints)


def _decodable(weights: FeatureWeights, nbest: NBest, constraints: Constraints) -> FeatureWeights:
    """Return weights of the same order with which a decoder can calculate."""
    may_scale = not (constraints.are_absolute or nbest.unlisted.size)
    changed = decodable(weights, *_uncounted(nbest, constraints), may_scale=may_scale)
    return weights if changed == weights else constraints.allowed(changed, changed.names)
