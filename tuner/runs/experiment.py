"""One tuning with a decoder: its folder, its steps, its start and end; loop.py repeats them.

Every step writes one whole file and reads the files of earlier steps. There is no other state. A
run that was killed continues after its last finished step and has the same result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import portmert
from portmert.metrics._base import IntArray

from ..base import streams
from ..base.context import using
from ..base.errors import counted
from ..base.files import copy_file, write_text
from ..base.json_toml import plain, to_json
from ..base.warn import (
    collected_warnings,
    left_out_so_far,
    notice,
    warn,
    warn_of,
    warnings_so_far,
)
from ..families import provided
from ..nbest.check import few_segments
from ..nbest.model import NBest
from ..search.constraints import moves
from ..search.results import Confidence, Optimized
from ..search.weight_bootstrap import bootstrap, confidence
from ..search.weight_search import Setup
from ..weights.feature_weights import FeatureWeights, read_weights
from . import inputs, records, scorer
from .config import Experiment
from .folder import ANNOTATION_NAME, CONFIG_NAME, RunFolder, Shared, open_run, today
from .lists import ListMerger
from .loop import Loop
from .promises import DECODED, PREDICTED
from .records import EQUALS_START, IterationScores, IterationSearch
from .result import Iteration, Result, best_iteration, gain_line
from .stopping import FEWEST


def run(experiment: Experiment, *, fresh: bool = False, shared: Shared | None = None) -> Result:
    """Tune once as `experiment` says, and go on where an earlier run ended.

    Parameters
    ----------
    fresh
        First remove the work of an earlier run.
    shared
        If the run is one of several replicas, see `portmert.tuner.runs.replicas`.

    Raises
    ------
    PortmertError
        The folder has other work or is in use; the input does not fit; a program failed.
    """
    with (
        open_folder(experiment, shared, fresh=fresh) as folder,
        folder.logging(),
        closing(scorer.Evaluator(experiment, folder, shared)) as evaluator,
    ):
        return _Run(experiment, folder, shared, evaluator).result()


@contextmanager
def open_folder(
    experiment: Experiment, shared: Shared | None = None, *, fresh: bool = False
) -> Iterator[RunFolder]:
    """Open the folder of an experiment, see `open_run`, and write what its files are made from.

    The replicas of an experiment share what they are made from: it is in the whole run's folder.
    """
    with open_run(
        experiment.tune.output,
        experiment.fingerprint(),
        origin=str(experiment.path),
        fresh=fresh,
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


class _Run(Loop[ListMerger]):
    """One run. Every method that makes a file first looks whether it exists."""

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder,
        shared: Shared | None,
        evaluator: scorer.Evaluator,
    ) -> None:
        tune, fewest = experiment.tune, FEWEST
        if experiment.decoder.makes_graphs:  # they show what is far from the start too
            tune, fewest = replace(tune, min_gain=tune.min_gain or 1.0), FEWEST - 1
        super().__init__(tune, experiment.metric, experiment.optimizer, fewest=fewest)
        self.experiment = experiment
        self.folder = folder
        self.shared = shared
        self.evaluator = evaluator
        of_graphs = experiment.decoder.makes_graphs
        merger = provided("portmert.list_mergers", "graphs") if of_graphs else ListMerger
        self.lists: ListMerger = merger(evaluator, self._list)

    @property
    def folds(self) -> IntArray:
        """The folds of the segments tuned on."""
        return self.evaluator.folds

    @property
    def tuned(self) -> IntArray | None:
        """The segments tuned on."""
        return self.evaluator.tuned

    def result(self) -> Result:
        """Iterate, then write the weights and scores."""
        notice(f"{self.experiment.path}: {self.metric.signature}, seed {self.tune.seed}")
        iterations, stopped = self.iterations()
        warnings = self._warnings(len(iterations)) + self.doubts
        if line := self.cut_short(iterations[-1], stopped):
            self.folder.log(line)
            warnings.append(line)
        warn_of(warnings)  # some may be of an earlier call
        return self._finish(iterations, stopped, tuple(warnings))

    # Its steps.

    def say(self, iteration: Iteration) -> None:
        """Log an iteration."""
        notice(iteration.as_line(self.metric))

    def weights_of(self, number: int) -> FeatureWeights:
        """Return the weights of an iteration; write them."""
        path = self.folder.iteration(number) / "weights.json"
        if not path.exists():
            moved = ""
            if number == 1:
                weights, moved = start_weights(self.experiment)
            else:
                target = read_weights(self.folder.iteration(number - 1) / "optimized.json")
                weights = self.after(number - 1, target, self.search_of(number - 1).share)
            path.parent.mkdir(exist_ok=True)
            if moved:
                warn(moved)
                self._log_warnings([moved])
            warned = {"warnings": [moved]} if moved else {}
            write_text(path, to_json({"weights": weights.values, **warned}) + "\n")
        return read_weights(path)

    def after(self, number: int, target: FeatureWeights, share: float) -> FeatureWeights:
        """Return the weights after an iteration that found some, within the constraints."""
        after = super().after(number, target, share)
        if not self.optimizer.holds_out:
            return after
        return self.experiment.constraints.allowed(after, after.names)  # rounding

    def decode(self, number: int) -> None:
        """Decode, unless the list is there."""
        folder = self.folder.iteration(number)
        records.is_finished(folder / "scores.json", later="optimized.json")
        weights, out = self.weights_of(number), self._list(number)
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

    def scores_of(self, number: int) -> IterationScores:
        """Return the content of scores.json; write it."""
        path = self.folder.iteration(number) / "scores.json"
        if not path.exists():
            records.finish(path, self._scores(number))
        return records.read_file(path, IterationScores)

    def _scores(self, number: int) -> IterationScores:
        """Return the content of scores.json."""
        with collected_warnings():
            if number == 1:
                self.experiment.joined.warn()
            nbest = self.lists.last(number)
            if self.lists.checker.fault:
                warn(f"iteration {number}: {self.lists.checker.fault}")
            scored, held_out = self.evaluator.dev(nbest, check=number == 1)
            if number == 1:
                warn_of(few_segments(len(nbest)))
            warnings, left_out = warnings_so_far(), left_out_so_far()
        self._log_warnings(warnings)
        folder = self.folder.iteration(number)
        self._shared_file(number, folder / "held-out.gz")
        held_out = held_out or self.evaluator.held_out(self.weights_of(number), folder)
        self._report_annotation(number, "scoring")
        return IterationScores(
            metric=self.evaluator.signature,
            dev_score=scored.score,
            unseen_score=self.unseen(number, scored.score),
            parts=scored.parts,
            without=scored.without,
            held_out=held_out,
            hypotheses=self.lists.count(number),
            new=self.lists.new,
            new_outputs=self.lists.new_outputs,
            fault=self.lists.checker.fault,
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

    def has_search(self, number: int) -> bool:
        """Return whether optimized.json is there."""
        return (self.folder.iteration(number) / "optimized.json").exists()

    def search_of(self, number: int) -> IterationSearch:
        """Return the content of optimized.json."""
        return records.read_file(self.folder.iteration(number) / "optimized.json", IterationSearch)

    def keep_search(self, number: int, search: IterationSearch) -> None:
        """Write optimized.json."""
        if self.evaluator.preparation.annotator is None:
            search = replace(search, annotated=None)
        records.finish(self.folder.iteration(number) / "optimized.json", search)

    def setup(self, iterations: Sequence[Iteration], nbest: NBest) -> Setup:
        """Return how to search: from the weights of the last iteration, and of the best one."""
        names = nbest.feature_names
        for iteration in iterations:  # a message names the file of the weights
            origin = str(self.folder.iteration(iteration.number) / "weights.json")
            self.weights_of(iteration.number).vector(names, origin=origin)
        numbers = [iterations[-1].number, best_iteration(iterations, self.metric).number]
        if self.optimizer.holds_out:
            numbers = [1]
        starts = [self.weights_of(number) for number in dict.fromkeys(numbers)]
        return self._setup(starts, streams.iteration(self.tune.seed, numbers[0]))

    def report_search(self, number: int, optimization: Optimized) -> None:
        """Report the work of a search, and its warnings."""
        self._report_annotation(number, "search", optimization)
        self._log_warnings(optimization.warnings)

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
            toward=self.weights_of(1),
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
        if self.shared and self.shared.first:  # the folder of the first replica: this is another
            return None
        under = " under the start weights"
        return self.evaluator.test(self.weights_of(1), self._start_test_folder(best), under=under)

    def _start_test_folder(self, best: int) -> Path:
        return self.folder.path / ("test" if best == 1 else "test-start")

    def _write_weights(self, weights: FeatureWeights, best: Iteration) -> tuple[Path, Path]:
        """Write the tuned weights and the decoder's configuration; return the two files."""
        weights_path = self.folder.path / "weights.json"
        config_path = self.folder.path / CONFIG_NAME
        write_text(weights_path, weights.to_json() + "\n")
        header = (
            f"Tuned by portmert {portmert.__version__} on {self.experiment.metric.signature}: "
            f"dev score {best.dev_score:.6f} ({DECODED if best.is_decoded else PREDICTED}), "
            f"seed {self.experiment.tune.seed}, {today()}"
        )
        if best.number == 1:
            header += f"\n{EQUALS_START}"
        self.experiment.decoder.write_config(weights, config_path, header=header)
        return weights_path, config_path

    def _finish(
        self, iterations: tuple[Iteration, ...], stopped: str, warnings: tuple[str, ...]
    ) -> Result:
        """Judge the best weights, write them and the result, and return it."""
        experiment, path = self.experiment, self.folder.path
        best, first = best_iteration(iterations, experiment.metric), iterations[0]
        unseen, weights = self.unseen_of_best(iterations), self.weights_of(best.number)
        gain, gain_error = self.gain(first, best)
        weights_path, config_path = self._write_weights(weights, best)
        test = self.evaluator.test(weights, path / "test")
        start_test = self._start_test(test, best.number)
        self.folder.clear_scratch()
        decoded = best.number if best.is_decoded else best.number - 1
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
            gain=gain,
            gain_error=gain_error,
            test=test,
            start_test=start_test,
            start_test_list=(
                None if start_test is None else self._start_test_folder(best.number) / "nbest.gz"
            ),
            confidence=self._confidence(weights, len(iterations)),
            start_list=self._list(1),
            dev_list=self._list(decoded),
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
            "equals_start": result.best == 1,
            "gain": result.gain,
            "gain_error": result.gain_error,
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
        if result.best > 1:
            best = result.iterations[result.best - 1]
            notice(gain_line(best, (result.gain, result.gain_error), metric))

    # Reading.

    def _list(self, number: int) -> Path:
        return self.folder.iteration(number) / "nbest.gz"
