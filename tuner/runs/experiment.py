"""Runs the outer loop: decode, merge, annotate, optimize, and repeat until nothing is gained.

Every step writes one whole file and reads the files of earlier steps. There is no other state. A
run that was killed continues after its last finished step and has the same result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import portmert
from portmert.metrics._base import FloatArray

from ..base import streams
from ..base.context import using
from ..base.documents import plain, to_json
from ..base.errors import counted
from ..base.files import copy_file, write_text
from ..base.warn import collected_notices, collected_warnings, notice, warn, warn_of, with_warnings
from ..nbest.check import few_segments, model_score_mismatch
from ..nbest.model import NBest, best_hypotheses, model_scores
from ..search.averaging import step_share, weight_change
from ..search.constraints import moves
from ..search.optimization import Optimization, Setup, optimize_stats
from ..search.problem import StatTable
from ..search.unseen import chosen_by_others, gain_of, worths_without
from ..search.weight_bootstrap import Confidence, bootstrap, confidence
from ..weights.feature_weights import FeatureWeights, read_weights
from . import inputs, scorer
from .config import Experiment
from .folder import ANNOTATION_NAME, CONFIG_NAME, RunFolder, Shared, open_run, today
from .lists import ListMerger
from .result import Iteration, Result, best_iteration, enough, is_behind, is_short, stop_reason


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
    with _opened(experiment, shared, fresh=fresh, wait=wait) as one:
        return one.result()


def begin(experiment: Experiment, shared: Shared, *, wait: float) -> None:
    """Decode the dev set under the start weights, as the first step of `run` does."""
    with (
        collected_notices(),
        _opened(experiment, shared, wait=wait) as one,
    ):
        one.decode(1)


@contextmanager
def open_folder(
    experiment: Experiment, *, fresh: bool = False, wait: float = 0
) -> Iterator[RunFolder]:
    """Open the folder of an experiment, see `open_run`."""
    with open_run(
        experiment.tune.output,
        experiment.fingerprint(),
        origin=str(experiment.path),
        fresh=fresh,
        wait=wait,
    ) as folder:
        experiment.joined.write()
        with using(threads=experiment.threads, annotation_cache=experiment.tune.annotation_cache):
            yield folder


@contextmanager
def _opened(
    experiment: Experiment, shared: Shared | None, *, fresh: bool = False, wait: float = 0
) -> Iterator[_Run]:
    with open_folder(experiment, fresh=fresh, wait=wait) as folder, folder.logging():
        if shared is None:
            inputs.write_inputs(folder.path, experiment)
        common = shared or Shared(folder.annotations, experiment.tune.seed)
        evaluator = scorer.Evaluator(
            experiment,
            annotations=common.annotations,
            scratch=folder.scratch,
            split_seed=common.split_seed,
        )
        with closing(evaluator):
            yield _Run(experiment, folder, common, evaluator)


def start_weights(experiment: Experiment) -> tuple[FeatureWeights, str]:
    """Return the start weights of a run, within the constraints, and what was moved there.

    They are those given, else the decoder's own.
    """
    weights = experiment.decoder.read_weights()
    experiment.constraints.check(weights.names)  # before anything takes long
    given = experiment.tune.weights
    if given is not None:
        vector = read_weights(given).vector(weights.names, origin=str(given))
        weights = FeatureWeights.from_vector(weights.names, vector)
    allowed = experiment.constraints.allowed(weights, weights.names)
    return allowed, moves(weights, allowed)


@dataclass
class _Run:
    """One run. Every method that makes a file first looks whether it exists."""

    experiment: Experiment
    folder: RunFolder
    shared: Shared
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
            iterations.append(self._score(number, iterations))
            stopped = stop_reason(iterations, tune, metric, self._shares(number - 1))
            if stopped is None:
                iterations[-1] = self._optimize(iterations)
                stopped = stop_reason(iterations, tune, metric, self._shares(number))
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
        warn_of(warnings)  # they may be those of an earlier call
        return self._finish(tuple(iterations), stopped, tuple(warnings))

    # Its steps.

    def _weights_of(self, number: int) -> FeatureWeights:
        path = self.folder.iteration(number) / "weights.json"
        if not path.exists():
            moved = ""
            if number == 1:
                weights, moved = start_weights(self.experiment)
            else:
                found = read_weights(self.folder.iteration(number - 1) / "optimized.json")
                weights = self._after(number - 1, found)
            path.parent.mkdir(exist_ok=True)
            if moved:
                warn(moved)
                self._log_warnings([moved])
            warned = {"warnings": [moved]} if moved else {}
            write_text(path, to_json({"weights": weights.values, **warned}) + "\n")
        return read_weights(path)

    def _after(self, number: int, found: FeatureWeights) -> FeatureWeights:
        """Return the weights after an iteration that found some.

        Lists tell little about weights far from those that they were decoded under. A search for
        the highest score on the lists returns to the same weights in the end. A search that
        starts afresh in every iteration takes only part of the step.
        """
        if not self.experiment.optimizer.holds_out:
            return found
        after = self._weights_of(number).towards(found, self._share(number, found))
        return self.experiment.constraints.allowed(after, after.names)  # rounding

    def _share(self, number: int, found: FeatureWeights | None = None) -> float:
        """Return the share that an iteration's step is of the way to the weights it found.

        It is the whole way if the decoder showed no new hypothesis although a step was cut short.
        Then the search has found the same weights as before, and the lists speak for them.
        """
        if number not in self.shares:
            folder, share = self.folder.iteration(number), 1.0
            if self.experiment.optimizer.holds_out:
                new = scorer.read_json(folder / "scores.json", new=int)["new"]
                if new or not is_behind(self._shares(number - 1)):
                    found = found or read_weights(folder / "optimized.json")
                    share = step_share(number, self._weights_of(number), found)
            self.shares[number] = share
        return self.shares[number]

    def _shares(self, count: int) -> list[float]:
        """Return the shares of the first steps."""
        return [self._share(number) for number in range(1, count + 1)]

    def decode(self, number: int) -> None:
        folder = self.folder.iteration(number)
        scorer.is_finished(folder / "scores.json", later="optimized.json")
        weights, out = self._weights_of(number), self._list(number)
        if out.exists() or self._shared_file(number, out):
            return
        notice(f"iteration {number}: decoding the dev set")
        self.evaluator.decode(
            weights, out, source=self.experiment.data.source, size=self.experiment.tune.nbest
        )

    def _shared_file(self, number: int, out: Path) -> bool:
        """Copy a file from the first iteration of another replica; return whether it has one."""
        first = self.shared.first
        if number > 1 or first is None or not (first / out.name).exists():
            return False
        copy_file(first / out.name, out)
        return True

    def _score(self, number: int, iterations: Sequence[Iteration]) -> Iteration:
        path = self.folder.iteration(number) / "scores.json"
        if not path.exists():
            with collected_warnings():
                if number == 1:
                    self.experiment.joined.warn()
                nbest = self.lists.last(number)
                off = model_score_mismatch(nbest, self._weights_of(number), origin="weights.json")
                if off:
                    warn(f"iteration {number}: {off}")
                scored, held_out = self.evaluator.dev(nbest, check=number == 1)
                if number == 1 and (line := few_segments(len(nbest))):
                    warn(line)
                warned = with_warnings({})
            self._log_warnings(warned.get("warnings", ()))
            folder = self.folder.iteration(number)
            self._shared_file(number, folder / "held-out.gz")
            held_out = held_out or self.evaluator.held_out(self._weights_of(number), folder)
            self._report_annotation(number, "scoring")
            hypotheses = self.lists.count(number)
            before = iterations[-1].hypotheses if iterations else 0
            scorer.finish(
                path,
                {
                    "metric": self.evaluator.signature,
                    "dev_score": scored.score,
                    "unseen_score": self._unseen(number, scored.score),
                    "parts": scored.parts,
                    "without": scored.without,
                    "held_out": held_out,
                    "hypotheses": hypotheses,
                    "new": hypotheses - before,
                    **warned,
                },
            )
        held = scorer.read_json(
            path,
            hypotheses=int,
            new=int,
            dev_score=scorer.NUMBER,
            unseen_score=scorer.NUMBER | None,
        )
        held_out = scorer.read_scored(path, held, "held_out")
        return Iteration(
            number,
            held["hypotheses"],
            held["new"],
            held["dev_score"],
            None if held_out is None else held_out.score,
            unseen_score=held["unseen_score"],
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
        kept = [scorer.read_json(path).get("warnings", []) for path in paths if path.is_file()]
        return list(dict.fromkeys(line for lines in kept for line in lines))

    def _unseen(self, number: int, dev_score: float) -> float | None:
        """Return an estimate of the score on unseen text, see `Iteration`.

        If weights are some share of the way between two others, their estimate is taken to be so
        too. The start weights were not found on these segments, so their dev score is unbiased.
        """
        if not self.experiment.optimizer.holds_out or not self.evaluator.folds.any():
            return None
        if number == 1:
            return dev_score
        path = self.folder.iteration(number - 1) / "optimized.json"
        excess = scorer.read_json(path, excess=scorer.NUMBER | None)["excess"]
        return None if excess is None else dev_score - excess

    def _excess_without(self, number: int) -> FloatArray:
        """Return the (2, K) excess of an iteration without each fold, see `chosen_by_others`."""
        shape = (2, len(np.unique(self.evaluator.folds)))
        path = self.folder.iteration(number - 1) / "optimized.json"
        return (
            scorer.read_numbers(path, "excess_without", shape) if number > 1 else np.zeros(shape)
        )

    def _of_best(self, iterations: Sequence[Iteration]) -> float | None:
        """Return the estimate for unseen text of the best iteration, see `chosen_by_others`."""
        metric, folds = self.experiment.metric, self.evaluator.folds
        best = best_iteration(iterations, metric)
        values = [one.unseen_score for one in iterations if one.unseen_score is not None]
        if best.held_out_score is not None or len(values) < len(iterations) or not folds.any():
            return best.unseen_score
        without = []
        for one in iterations:
            excess = self._excess_without(one.number)
            path, key = self.folder.iteration(one.number) / "scores.json", "without"
            if not one.is_decoded:
                path, key = (
                    self.folder.iteration(one.number - 1) / "optimized.json",
                    "next_without",
                )
            without.append(scorer.read_numbers(path, key, excess.shape[1:]) - excess)
        worths = np.array([metric.oriented(value) for value in values])
        return float(metric.oriented(chosen_by_others(worths, np.stack(without), folds)))

    def _undecoded(self, last: Iteration) -> Iteration:
        """Return the iteration after the last one, as if it had been decoded."""
        number = last.number + 1
        path = self.folder.iteration(last.number) / "optimized.json"
        listed: float = scorer.read_json(path, next_score=scorer.NUMBER)["next_score"]
        self._weights_of(number)
        unseen = self._unseen(number, listed)
        return Iteration(number, last.hypotheses, 0, listed, unseen_score=unseen, is_decoded=False)

    def _optimize(self, iterations: Sequence[Iteration]) -> Iteration:
        last = iterations[-1]
        path = self.folder.iteration(last.number) / "optimized.json"
        if not path.exists():
            notice(
                f"iteration {last.number}: optimizing over "
                f"{counted(last.hypotheses, 'hypothesis')}"
            )
            nbest, stats = self.lists.searched(last.number)
            before = self._weights_of(last.number)
            for number in range(1, last.number + 1):  # a message names the file of the weights
                origin = str(self.folder.iteration(number) / "weights.json")
                self._weights_of(number).vector(nbest.feature_names, origin=origin)
            # A search starts at the weights of this iteration, and at the best ones. An optimizer
            # that holds segments out starts at weights that were found on none of them. It gets
            # the same seed in every iteration: so estimates of different iterations can be
            # compared, and the same lists give the same weights.
            numbers = [last.number, best_iteration(iterations, self.experiment.metric).number]
            if self.experiment.optimizer.holds_out:
                numbers = [1]
            starts = [self._weights_of(number) for number in dict.fromkeys(numbers)]
            seed = streams.iteration(self.experiment.tune.seed, numbers[0])
            found = optimize_stats(
                nbest,
                stats,
                self.experiment.metric,
                self._setup(starts, seed),
                segments=self.evaluator.tuned,
            )
            self._report_annotation(last.number, "search", found)
            warn_of(found.warnings)
            self._log_warnings(found.warnings)
            after = self._after(last.number, found.weights)
            scorer.finish(
                path,
                {
                    "start_score": found.start_score,
                    "optimized_score": found.final_score,
                    "oracle_score": found.oracle_score,
                    "unseen_score": found.unseen_score,
                    "unseen_error": found.unseen_error,
                    **({"annotated": found.known} if self.evaluator.ready.annotator else {}),
                    "change": weight_change(before, after),
                    **self._next(last, found, after, nbest, stats),
                    "weights": found.weights.values,
                    **({"warnings": found.warnings} if found.warnings else {}),
                },
            )
        kinds = dict.fromkeys(("start_score", "optimized_score", "change"), scorer.NUMBER)
        kinds |= dict.fromkeys(("gain", "gain_error"), scorer.NUMBER | None)
        held = scorer.read_json(path, **kinds)
        return replace(last, **{name: held[name] for name in kinds})

    def _next(
        self,
        last: Iteration,
        found: Optimization,
        after: FeatureWeights,
        nbest: NBest,
        stats: StatTable,
    ) -> dict[str, Any]:
        """Return what the lists say of the next iteration's weights.

        The excess is what to take off their dev score, see `_unseen`, also without each fold, see
        `chosen_by_others`. The gain is how much higher the best hypotheses in all lists score
        under them than under the weights before.
        """
        metric, tuned = self.experiment.metric, self.evaluator.tuned
        before = self._weights_of(last.number)
        tables = []
        for weights in (before, after, found.weights):
            rows = best_hypotheses(nbest, model_scores(nbest, weights))
            rows = rows if tuned is None else rows[tuned]
            stats.need(rows)
            tables.append(stats.take(rows))
        listed = float(metric.score(tables[1].sum(axis=0)))
        unknown = dict.fromkeys(("excess", "excess_without", "gain", "gain_error"))
        if last.unseen_score is None or found.unseen is None or found.unseen_score is None:
            return {"next_score": listed, **unknown}
        share = self._share(last.number, found.weights)
        excess = (1 - share) * (last.dev_score - last.unseen_score)
        excess += share * (found.final_score - found.unseen_score)
        folds, unseen = self.evaluator.folds, found.unseen
        taught = unseen.without if np.array_equal(folds, unseen.folds) else unseen.rows
        tables += [
            stats.take(rows.ravel()).reshape(*rows.shape, -1) for rows in (taught, unseen.rows)
        ]
        seen, *others = (worths_without(metric, one, folds) for one in tables[2:])
        by_fold = (1 - share) * self._excess_without(last.number) + share * (seen - others)
        known = {"next_score": listed, "excess": excess, "excess_without": by_fold.tolist()}
        known["next_without"] = worths_without(metric, tables[1], folds).tolist()
        if share < 1 / last.number:  # a step that was cut short says little of the way ahead
            return {**unknown, **known}
        gain, error = gain_of(metric, tables[:2], found.unseen.seed)
        return {**known, "gain": gain, "gain_error": error or None}

    def _report_annotation(
        self, number: int, phase: str, found: Optimization | None = None
    ) -> None:
        """Log and write how many sentences a phase of an iteration has annotated.

        The counts have a file of their own, because they depend on the cache of earlier runs.
        """
        ready = self.evaluator.ready
        if ready.annotator is None:
            return
        counts = ready.annotator.counts
        asked = ""
        if found is not None:
            asked = f"{found.known} of {counted(found.hypotheses, 'hypothesis')} annotated, "
            counts |= {"annotated": found.known, "hypotheses": found.hypotheses}
        notice(
            f"iteration {number}, {phase}: {asked}sentences: {counts['hits']} from the cache, "
            f"{counts['misses']} new, {counts['failed']} without a parse"
        )
        ready.annotator.reset()
        path = self.folder.iteration(number) / ANNOTATION_NAME
        scorer.write_json(
            path, {**(scorer.read_json(path) if path.exists() else {}), phase: counts}
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
        missing = [n for n, file in enumerate(files) if not scorer.is_kept(file)]
        if missing:
            folder.mkdir(exist_ok=True)
            notice(f"tuning on {counted(len(missing), 'bootstrap sample')}")
            nbest, stats = self.lists.searched(lists)
            setup = self._setup([weights], streams.weight_bootstrap(self.experiment.tune.seed))
            search = bootstrap(
                nbest,
                stats,
                self.experiment.metric,
                setup,
                missing,
                segments=self.evaluator.tuned,
            )
            for done, (sample, found) in enumerate(search, 1):
                scorer.keep(files[sample], found.to_json() + "\n")
                if 10 * done // len(missing) > 10 * (done - 1) // len(missing):
                    notice(f"{done} of {counted(len(missing), 'bootstrap sample')} done")
        return confidence([read_weights(file) for file in files])

    def _start_test(self, test: scorer.Scored | None, best: int) -> scorer.Scored | None:
        """Return the score of the test set under the start weights.

        Replicas have the same start weights: the first one decodes for all.
        """
        if best == 1 or self.shared.first is not None:
            return test if best == 1 else None
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

    def _tell_best(
        self,
        best: Iteration,
        start_score: float,
        test: scorer.Scored | None,
        start_test: scorer.Scored | None,
    ) -> None:
        shown, display = self.experiment.metric.shown, self.experiment.metric.display
        notice(
            f"best: iteration {best.number}, {display.labelled('dev')} {shown(best.dev_score)} "
            f"(start weights {shown(start_score)})"
            + ("" if test is None else f", test {shown(test.score)}")
            + ("" if start_test is None else f" (start weights {shown(start_test.score)})")
        )

    def _finish(
        self, iterations: tuple[Iteration, ...], stopped: str, warnings: tuple[str, ...]
    ) -> Result:
        experiment, path = self.experiment, self.folder.path
        best = best_iteration(iterations, experiment.metric)
        signature = experiment.metric.signature
        unseen = self._of_best(iterations)
        weights = self._weights_of(best.number)
        weights_path, config_path = self._write_weights(weights, best.dev_score)
        test = self.evaluator.test(weights, path / "test")
        start_test = self._start_test(test, best.number)
        self.folder.clear_scratch()
        sure = self._confidence(weights, len(iterations))
        scores = scorer.read_json(self.folder.iteration(1) / "scores.json")
        left_out = {"left_out": scores["left_out"]} if "left_out" in scores else {}
        self.experiment.joined.warn()
        content = plain(
            {
                "metric": signature,
                "higher_is_better": experiment.metric.higher_is_better,
                "dev_score": best.dev_score,
                "start_dev_score": iterations[0].dev_score,
                "held_out_score": best.held_out_score,
                "unseen_score": unseen,
                "best_iteration": best.number,
                "stopped": stopped,
                "iterations": iterations,
                "test": test,
                "start_test_score": None if start_test is None else start_test.score,
                "bootstrap": None if sure is None else sure.as_json(),
                **({"warnings": warnings} if warnings else {}),
                **left_out,
            }
        )
        rated = experiment.metric.display.with_rates(content)
        scorer.finish(path / "result.json", rated, alone=True)
        self._tell_best(best, iterations[0].dev_score, test, start_test)
        result = Result(
            metric=signature,
            score=best.dev_score,
            start_score=iterations[0].dev_score,
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
            confidence=sure,
            start_list=self._list(1),
            dev_list=self._list(best.number - (not best.is_decoded)),
            test_list=None if test is None else path / "test" / "nbest.gz",
            warnings=warnings,
        )
        if result.keeps_start:
            notice(result.keeps_start)
        return result

    # Reading.

    def _list(self, number: int) -> Path:
        return self.folder.iteration(number) / "nbest.gz"
