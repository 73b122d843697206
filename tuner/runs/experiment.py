"""Runs the outer loop: decode, merge, annotate, optimize, and repeat until nothing is gained.

Every step writes one whole file and reads the files of earlier steps. There is no other state. A
run that was killed continues after its last finished step and has the same result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import portmert
from portmert.metrics._base import FloatArray

from ..base import streams
from ..base.context import using
from ..base.errors import counted
from ..base.files import copy_file, write_text
from ..base.json_toml import plain, to_json
from ..base.warn import (
    collected_notices,
    collected_warnings,
    left_out_so_far,
    notice,
    warn,
    warn_of,
    warnings_so_far,
)
from ..nbest.check import warn_of_few
from ..nbest.model import NBest, best_hypotheses
from ..search.averaging import step_share, weight_change
from ..search.constraints import moves
from ..search.results import Confidence, Optimized
from ..search.stat_table import StatTable
from ..search.unseen import chosen_by_others, gain_of, scores_without_folds
from ..search.weight_bootstrap import bootstrap, confidence
from ..search.weight_search import Setup, find_weights
from ..weights.feature_weights import FeatureWeights, read_weights
from . import inputs, records, scorer
from .config import Experiment
from .folder import ANNOTATION_NAME, CONFIG_NAME, RunFolder, Shared, open_run, today
from .lists import ListMerger
from .records import IterationScores, IterationSearch, NextStep
from .result import (
    FEWEST,
    Iteration,
    Result,
    best_iteration,
    enough,
    is_behind,
    is_short,
    stop_reason,
)


def run(
    experiment: Experiment, *, fresh: bool = False, shared: Shared | None = None, wait: float = 0
) -> Result:
    """Tune once as `experiment` says, and go on where an earlier run ended.

    Parameters
    ----------
    fresh
        First remove the work of an earlier run.
    shared
        If the run is one of several replicas, see `portmert.tuner.runs.replicas`.
    wait
        Seconds to wait for another process that works in the folder.

    Raises
    ------
    PortmertError
        The folder has other work or is in use; the input does not fit; a program failed.
    """
    with (
        open_folder(experiment, shared, fresh=fresh, wait=wait) as folder,
        folder.logging(),
        closing(scorer.Evaluator(experiment, folder, shared)) as evaluator,
    ):
        return _Run(experiment, folder, shared, evaluator).result()


def begin(experiment: Experiment, shared: Shared, *, wait: float) -> None:
    """Decode the dev set under the start weights, as the first step of `run` does."""
    with (
        collected_notices(),
        open_folder(experiment, shared, wait=wait) as folder,
        folder.logging(),
        closing(scorer.Evaluator(experiment, folder, shared)) as evaluator,
    ):
        _Run(experiment, folder, shared, evaluator).decode(1)


@contextmanager
def open_folder(
    experiment: Experiment, shared: Shared | None = None, *, fresh: bool = False, wait: float = 0
) -> Iterator[RunFolder]:
    """Open the folder of an experiment, see `open_run`, and write what its files are made from.

    The replicas of an experiment share what they are made from: it is in the whole run's folder.
    """
    with open_run(
        experiment.tune.output,
        experiment.fingerprint(),
        origin=str(experiment.path),
        fresh=fresh,
        wait=wait,
    ) as folder:
        experiment.joined.write()
        if shared is None:
            inputs.write_inputs(folder.path, experiment)
        with using(threads=experiment.threads, annotation_cache=experiment.tune.annotation_cache):
            yield folder


def start_weights(experiment: Experiment) -> tuple[FeatureWeights, str]:
    """Return the start weights of a run, within the constraints, and what was moved there.

    They are those given, else the decoder's own.
    """
    weights = experiment.decoder.read_weights()
    experiment.constraints.check(weights.names)  # before anything takes long
    path = experiment.tune.weights
    if path is not None:
        vector = read_weights(path).vector(weights.names, origin=str(path))
        weights = FeatureWeights.from_vector(weights.names, vector)
    allowed = experiment.constraints.allowed(weights, weights.names)
    return allowed, moves(weights, allowed)


@dataclass
class _Run:
    """One run. Every method that makes a file first looks whether it exists."""

    experiment: Experiment
    folder: RunFolder
    shared: Shared | None
    evaluator: scorer.Evaluator

    def __post_init__(self) -> None:
        self.shares: dict[int, float] = {}
        self.lists = ListMerger(self.evaluator, self._list)

    # The loop.

    def result(self) -> Result:
        tune, metric = self.experiment.tune, self.experiment.metric
        notice(f"{self.experiment.path}: {metric.signature}, seed {tune.seed}")
        iterations: list[Iteration] = []
        stopped = None
        while stopped is None:
            number = len(iterations) + 1
            self.decode(number)
            iterations.append(self._score(number))
            stopped = self._stop_reason(iterations, number - 1)
            if stopped is None:
                iterations[-1] = self._searched_iteration(iterations)
                stopped = self._stop_reason(iterations, number)
            notice(iterations[-1].as_line(metric))
            if stopped is None and (stopped := enough(iterations[-1], tune)):
                iterations.append(self._undecoded(iterations[-1]))
                notice(iterations[-1].as_line(metric))
        notice(f"stopped: {stopped}")
        warnings = self._warnings(len(iterations))
        if is_short(iterations[-1], self._shares(iterations[-1].number - 1)):
            line = f"{stopped}, but the last step was cut short; more decodings would lead farther"
            self.folder.log(line)
            warnings.append(line)
        warn_of(warnings)  # some may be of an earlier call
        return self._finish(tuple(iterations), stopped, tuple(warnings))

    def _stop_reason(self, iterations: Sequence[Iteration], steps: int) -> str | None:
        """Return the reason to stop after these iterations and their first steps, or None."""
        tune, fewest = self.experiment.tune, FEWEST
        if self.experiment.decoder.makes_graphs:  # they show what is far from the start too
            tune, fewest = replace(tune, min_gain=tune.min_gain or 1.0), FEWEST - 1
        metric = self.experiment.metric
        return stop_reason(iterations, tune, metric, self._shares(steps), fewest=fewest)

    # Its steps.

    def _weights_of(self, number: int) -> FeatureWeights:
        path = self.folder.iteration(number) / "weights.json"
        if not path.exists():
            moved = ""
            if number == 1:
                weights, moved = start_weights(self.experiment)
            else:
                result = read_weights(self.folder.iteration(number - 1) / "optimized.json")
                weights = self._after(number - 1, result, self._share(number - 1))
            path.parent.mkdir(exist_ok=True)
            if moved:
                warn(moved)
                self._log_warnings([moved])
            warned = {"warnings": [moved]} if moved else {}
            write_text(path, to_json({"weights": weights.values, **warned}) + "\n")
        return read_weights(path)

    def _after(self, number: int, result: FeatureWeights, share: float) -> FeatureWeights:
        """Return the weights after an iteration that found some.

        Lists tell little about weights far from those that they were decoded under. A search for
        the highest score on the lists returns to the same weights in the end. A search that
        starts afresh in every iteration takes only part of the step.
        """
        if not self.experiment.optimizer.holds_out:
            return result
        after = self._weights_of(number).towards(result, share)
        return self.experiment.constraints.allowed(after, after.names)  # rounding

    def _share_of(self, number: int, result: FeatureWeights, searches: int) -> float:
        """Return the share that an iteration's step is of the way to the weights it found.

        It is the whole way if the decoder showed no new hypothesis although a step was cut short.
        Then the search has found the same weights as before, and the lists speak for them.
        """
        if not self.experiment.optimizer.holds_out:
            return 1.0
        scores = records.read_file(self.folder.iteration(number) / "scores.json", IterationScores)
        if not scores.new and is_behind(self._shares(number - 1)):
            return 1.0
        return step_share(number, self._weights_of(number), result, searches)

    def _share(self, number: int) -> float:
        """Return the share of an iteration whose search is done."""
        if number not in self.shares:
            result = read_weights(self.folder.iteration(number) / "optimized.json")
            self.shares[number] = self._share_of(number, result, self._search_of(number).searches)
        return self.shares[number]

    def _shares(self, count: int) -> list[float]:
        """Return the shares of the first steps."""
        return [self._share(number) for number in range(1, count + 1)]

    def decode(self, number: int) -> None:
        folder = self.folder.iteration(number)
        records.is_finished(folder / "scores.json", later="optimized.json")
        weights, out = self._weights_of(number), self._list(number)
        graphs = self.lists.graphs(number)
        has_graphs = graphs is None or graphs.exists() or self._shared_file(number, graphs)
        if has_graphs and (out.exists() or self._shared_file(number, out)):
            return
        notice(f"iteration {number}: decoding the dev set")
        self.evaluator.decode(
            weights,
            out,
            source=self.experiment.data.source,
            size=self.experiment.tune.nbest,
            graphs=graphs,
        )

    def _shared_file(self, number: int, out: Path) -> bool:
        """Copy a file from the first iteration of another replica; return whether it has one."""
        first = self.shared.first if self.shared else None
        if number > 1 or first is None or not (first / out.name).exists():
            return False
        copy_file(first / out.name, out)
        return True

    def _score(self, number: int) -> Iteration:
        path = self.folder.iteration(number) / "scores.json"
        if not path.exists():
            records.finish(path, self._scores(number))
        scores = records.read_file(path, IterationScores)
        held_out = scores.held_out
        return Iteration(
            number,
            scores.hypotheses,
            scores.new,
            scores.dev_score,
            None if held_out is None else held_out.score,
            unseen_score=scores.unseen_score,
        )

    def _scores(self, number: int) -> IterationScores:
        """Return the content of scores.json."""
        with collected_warnings():
            if number == 1:
                self.experiment.joined.warn()
            nbest = self.lists.last(number)
            if self.lists.fault:
                warn(f"iteration {number}: {self.lists.fault}")
            scored, held_out = self.evaluator.dev(nbest, check=number == 1)
            if number == 1:
                warn_of_few(len(nbest))
            warnings, left_out = warnings_so_far(), left_out_so_far()
        self._log_warnings(warnings)
        folder = self.folder.iteration(number)
        self._shared_file(number, folder / "held-out.gz")
        held_out = held_out or self.evaluator.held_out(self._weights_of(number), folder)
        self._report_annotation(number, "scoring")
        return IterationScores(
            metric=self.evaluator.signature,
            dev_score=scored.score,
            unseen_score=self._unseen(number, scored.score),
            parts=scored.parts,
            without=scored.without,
            held_out=held_out,
            hypotheses=self.lists.count(number),
            new=self.lists.new,
            warnings=warnings,
            left_out=left_out,
        )

    def _log_warnings(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.folder.log(f"warning: {line}")

    def _warnings(self, count: int) -> list[str]:
        """Return the warnings of the first iterations, each once."""
        paths = [
            self.folder.iteration(number) / name
            for number in range(1, count + 1)
            for name in ("weights.json", "scores.json", "optimized.json")
        ]
        files = [records.read_json(path) for path in paths if path.is_file()]
        return list(dict.fromkeys(line for file in files for line in file.get("warnings", [])))

    def _unseen(self, number: int, dev_score: float) -> float | None:
        """Return an estimate of the score on unseen text, see `Iteration`.

        If weights are some share of the way between two others, their estimate is taken to be so
        too. The start weights were not found on these segments, so their dev score is unbiased.
        """
        if not self.experiment.optimizer.holds_out or not self.evaluator.folds.any():
            return None
        if number == 1:
            return dev_score
        excess = self._search_of(number - 1).excess
        return None if excess is None else dev_score - excess

    def _search_of(self, number: int) -> IterationSearch:
        """Return what the search of an iteration found."""
        return records.read_file(self.folder.iteration(number) / "optimized.json", IterationSearch)

    def _excess_without(self, number: int) -> FloatArray:
        """Return the (2, K) excess of an iteration without each fold, see `chosen_by_others`."""
        if number == 1:
            return np.zeros((2, len(np.unique(self.evaluator.folds))))
        return np.array(self._search_of(number - 1).excess_without)

    def _of_best(self, iterations: Sequence[Iteration]) -> float | None:
        """Return the estimate for unseen text of the best iteration, see `chosen_by_others`."""
        metric, folds = self.experiment.metric, self.evaluator.folds
        best = best_iteration(iterations, metric)
        scores = [iteration.unseen_score for iteration in iterations]
        values = [score for score in scores if score is not None]
        if best.held_out_score is not None or len(values) < len(iterations) or not folds.any():
            return best.unseen_score
        without = []
        for iteration in iterations:
            path = self.folder.iteration(iteration.number) / "scores.json"
            dev_without = (
                records.read_file(path, IterationScores).without
                if iteration.is_decoded
                else self._search_of(iteration.number - 1).next_without
            )
            without.append(np.array(dev_without) - self._excess_without(iteration.number))
        oriented = np.array([metric.oriented(value) for value in values])
        return float(metric.oriented(chosen_by_others(oriented, np.stack(without), folds)))

    def _undecoded(self, last: Iteration) -> Iteration:
        """Return the iteration after the last one, as if it had been decoded."""
        number = last.number + 1
        score = self._search_of(last.number).next_score
        self._weights_of(number)
        unseen = self._unseen(number, score)
        return Iteration(number, last.hypotheses, 0, score, unseen_score=unseen, is_decoded=False)

    def _searched_iteration(self, iterations: Sequence[Iteration]) -> Iteration:
        last = iterations[-1]
        path = self.folder.iteration(last.number) / "optimized.json"
        if not path.exists():
            notice(
                f"iteration {last.number}: optimizing over "
                f"{counted(last.hypotheses, 'hypothesis')}"
            )
            records.finish(path, self._search_all_lists(iterations))
        searched = self._search_of(last.number)
        return replace(
            last,
            start_score=searched.start_score,
            optimized_score=searched.optimized_score,
            change=searched.change,
            gain=searched.gain,
            gain_error=searched.gain_error,
        )

    def _search_all_lists(self, iterations: Sequence[Iteration]) -> IterationSearch:
        """Search over all lists so far; return the content of optimized.json."""
        last = iterations[-1]
        before = self._weights_of(last.number)
        names = self.lists.last(last.number).feature_names
        for number in range(1, last.number + 1):  # a message names the file of the weights
            origin = str(self.folder.iteration(number) / "weights.json")
            self._weights_of(number).vector(names, origin=origin)
        # A search starts at the weights of this iteration, and at the best ones. An optimizer that
        # holds segments out starts at weights that were found on none of them. It gets the same
        # seed in every iteration: so estimates of different iterations can be compared, and the
        # same lists give the same weights.
        numbers = [last.number, best_iteration(iterations, self.experiment.metric).number]
        if self.experiment.optimizer.holds_out:
            numbers = [1]
        starts = [self._weights_of(number) for number in dict.fromkeys(numbers)]
        seed = streams.iteration(self.experiment.tune.seed, numbers[0])
        self.lists.add_strings_around(last.number, before)
        searches = 1
        while True:
            nbest, stats = self.lists.merged(last.number)
            optimization = find_weights(
                nbest,
                stats,
                self.experiment.metric,
                self._setup(starts, seed),
                segments=self.evaluator.tuned,
            )
            share = self._share_of(last.number, optimization.weights, searches)
            after = self._after(last.number, optimization.weights, share)
            is_cut = share < 1 / last.number
            if not self.lists.add_strings_under(last.number, searches, after, is_cut=is_cut):
                break  # only the last search moves the weights
            searches += 1
        self._report_annotation(last.number, "search", optimization)
        warn_of(optimization.warnings)
        self._log_warnings(optimization.warnings)
        is_annotated = self.evaluator.preparation.annotator is not None
        return IterationSearch(
            start_score=optimization.start_score,
            optimized_score=optimization.score,
            oracle_score=optimization.oracle_score,
            unseen_score=optimization.unseen_score,
            unseen_error=optimization.unseen_error,
            annotated=optimization.known if is_annotated else None,
            change=weight_change(before, after),
            weights=optimization.weights.values,
            warnings=optimization.warnings,
            searches=searches,
            **vars(self._next(last, optimization, share, nbest, stats)),
        )

    def _next(
        self,
        last: Iteration,
        result: Optimized,
        share: float,
        nbest: NBest,
        stats: StatTable,
    ) -> NextStep:
        """Return what the lists say of the next iteration's weights."""
        metric, tuned = self.experiment.metric, self.evaluator.tuned
        before = self._weights_of(last.number)
        after = self._after(last.number, result.weights, share)
        tables = []
        for weights in (before, after, result.weights):
            rows = best_hypotheses(nbest, weights)
            rows = rows if tuned is None else rows[tuned]
            stats.need(rows)
            tables.append(stats.take(rows))
        score = float(metric.score(tables[1].sum(axis=0)))
        if last.unseen_score is None or result.unseen is None or result.unseen_score is None:
            return NextStep(next_score=score)
        excess = (1 - share) * (last.dev_score - last.unseen_score)
        excess += share * (result.score - result.unseen_score)
        folds, unseen = self.evaluator.folds, result.unseen
        taught = unseen.without if np.array_equal(folds, unseen.folds) else unseen.rows
        tables += [
            stats.take(rows.ravel()).reshape(*rows.shape, -1) for rows in (taught, unseen.rows)
        ]
        seen, *held_out = (scores_without_folds(metric, table, folds) for table in tables[2:])
        by_fold = (1 - share) * self._excess_without(last.number) + share * (seen - held_out)
        step = NextStep(
            next_score=score,
            excess=excess,
            excess_without=tuple(map(tuple, by_fold.tolist())),
            next_without=tuple(scores_without_folds(metric, tables[1], folds).tolist()),
        )
        if share < 1 / last.number:  # a step that was cut short says little of the way ahead
            return step
        gain, error = gain_of(metric, tables[:2], result.unseen.seed)
        return replace(step, gain=gain, gain_error=error or None)

    def _report_annotation(self, number: int, phase: str, result: Optimized | None = None) -> None:
        """Log and write how many sentences a phase of an iteration has annotated.

        The counts have a file of their own, because they depend on the cache of earlier runs.
        """
        annotator = self.evaluator.preparation.annotator
        if annotator is None:
            return
        counts = annotator.counts
        share = ""
        if result is not None:
            share = f"{result.known} of {counted(result.hypotheses, 'hypothesis')} annotated, "
            counts |= {"annotated": result.known, "hypotheses": result.hypotheses}
        notice(
            f"iteration {number}, {phase}: {share}sentences: {counts['hits']} from the cache, "
            f"{counts['misses']} new, {counts['failed']} without a parse"
        )
        annotator.reset()
        path = self.folder.iteration(number) / ANNOTATION_NAME
        records.write_json(
            path, {**(records.read_json(path) if path.exists() else {}), phase: counts}
        )

    def _setup(self, starts: Sequence[FeatureWeights], seed: int) -> Setup:
        experiment = self.experiment
        return Setup(
            optimizer=experiment.optimizer,
            starts=tuple(starts),
            constraints=experiment.constraints,
            seed=seed,
            prior=experiment.tune.prior,
            toward=self._weights_of(1),
        )

    def _confidence(self, weights: FeatureWeights, lists: int) -> Confidence | None:
        """Search over the lists of all iterations on resampled segments; one file a sample."""
        samples = self.experiment.tune.bootstrap
        if not samples:
            return None
        folder = self.folder.path / "bootstrap"
        files = [folder / f"{sample:04d}.json" for sample in range(1, samples + 1)]
        missing = [n for n, file in enumerate(files) if not records.is_kept(file)]
        if missing:
            folder.mkdir(exist_ok=True)
            notice(f"tuning on {counted(len(missing), 'bootstrap sample')}")
            nbest, stats = self.lists.merged(lists)
            setup = self._setup([weights], streams.weight_bootstrap(self.experiment.tune.seed))
            search = bootstrap(
                nbest,
                stats,
                self.experiment.metric,
                setup,
                missing,
                segments=self.evaluator.tuned,
            )
            for count, (sample, sample_weights) in enumerate(search, 1):
                records.keep(files[sample], sample_weights.to_json() + "\n")
                if 10 * count // len(missing) > 10 * (count - 1) // len(missing):
                    notice(f"{count} of {counted(len(missing), 'bootstrap sample')} done")
        return confidence([read_weights(file) for file in files])

    def _start_test(self, test: records.Scored | None, best: int) -> records.Scored | None:
        """Return the score of the test set under the start weights.

        Replicas have the same start weights: the first one decodes for all.
        """
        if best == 1:
            return test
        if self.shared and self.shared.first:
            return None
        under = " under the start weights"
        return self.evaluator.test(self._weights_of(1), self._start_test_folder(best), under=under)

    def _start_test_folder(self, best: int) -> Path:
        return self.folder.path / ("test" if best == 1 else "test-start")

    def _write_weights(self, weights: FeatureWeights, dev_score: float) -> tuple[Path, Path]:
        """Write the tuned weights and the decoder's configuration; return the two files."""
        weights_path = self.folder.path / "weights.json"
        config_path = self.folder.path / CONFIG_NAME
        write_text(weights_path, weights.to_json() + "\n")
        header = (
            f"Tuned by portmert {portmert.__version__} on {self.experiment.metric.signature}: "
            f"dev score {dev_score:.6f}, seed {self.experiment.tune.seed}, {today()}"
        )
        self.experiment.decoder.write_config(weights, config_path, header=header)
        return weights_path, config_path

    def _finish(
        self, iterations: tuple[Iteration, ...], stopped: str, warnings: tuple[str, ...]
    ) -> Result:
        experiment, path = self.experiment, self.folder.path
        best, first = best_iteration(iterations, experiment.metric), iterations[0]
        unseen, weights = self._of_best(iterations), self._weights_of(best.number)
        weights_path, config_path = self._write_weights(weights, best.dev_score)
        test = self.evaluator.test(weights, path / "test")
        start_test = self._start_test(test, best.number)
        self.folder.clear_scratch()
        result = Result(
            metric=experiment.metric.signature,
            score=best.dev_score,
            start_score=first.dev_score,
            best=best.number,
            stopped=stopped,
            iterations=iterations,
            weights=weights,
            weights_path=weights_path,
            config_path=config_path,
            held_out=best.held_out_score,
            unseen=unseen,
            test=test,
            start_test=start_test,
            start_test_list=(
                None if start_test is None else self._start_test_folder(best.number) / "nbest.gz"
            ),
            confidence=self._confidence(weights, len(iterations)),
            start_list=self._list(1),
            dev_list=self._list(best.number - (not best.is_decoded)),
            test_list=None if test is None else path / "test" / "nbest.gz",
            warnings=warnings,
        )
        self.experiment.joined.warn()
        self._write_result(result)
        if result.keeps_start:
            notice(result.keeps_start)
        return result

    def _write_result(self, result: Result) -> None:
        """Write result.json and log its scores."""
        metric, start_test = self.experiment.metric, result.start_test
        path = self.folder.iteration(1) / "scores.json"
        left_out = records.read_file(path, IterationScores).left_out
        content = {
            "metric": result.metric,
            "higher_is_better": metric.higher_is_better,
            "dev_score": result.score,
            "start_dev_score": result.start_score,
            "held_out_score": result.held_out,
            "unseen_score": result.unseen,
            "best_iteration": result.best,
            "stopped": result.stopped,
            "iterations": result.iterations,
            "test": result.test,
            "start_test_score": None if start_test is None else start_test.score,
            "bootstrap": None if result.confidence is None else result.confidence.as_json(),
            **({"warnings": result.warnings} if result.warnings else {}),
            **({"left_out": left_out} if left_out else {}),
        }
        rated = metric.display.with_rates(plain(content))
        records.finish(self.folder.path / "result.json", rated, alone=True)
        text = metric.shown
        notice(
            f"best: iteration {result.best}, {metric.display.labelled('dev')} "
            f"{text(result.score)} (start weights {text(result.start_score)})"
            + ("" if result.test is None else f", test {text(result.test.score)}")
            + ("" if start_test is None else f" (start weights {text(start_test.score)})")
        )

    # Reading.

    def _list(self, number: int) -> Path:
        return self.folder.iteration(number) / "nbest.gz"
