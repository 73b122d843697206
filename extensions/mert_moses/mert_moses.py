"""The loop of mert-moses.pl: the same files in the same folder, with our search.

A run that ended early goes on with `--continue` after its last finished step, no matter which of
the two programs began it.
"""

import shlex
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

import portmert
from portmert.metrics._base import FloatArray, IntArray, Metric, Vocabulary
from portmert.tuner.base import streams
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import InputError, StateError, suggest
from portmert.tuner.base.files import copy_file, locked, make_folder, writing
from portmert.tuner.base.programs import Command
from portmert.tuner.base.programs import run as run_program
from portmert.tuner.base.warn import collected_notices, notice, notices_behind, warn, warn_of
from portmert.tuner.components import registry
from portmert.tuner.decoders._shards import lines_of
from portmert.tuner.decoders.moses import Moses
from portmert.tuner.executors.opening import opened
from portmert.tuner.nbest.check import ListChecker, few_segments
from portmert.tuner.nbest.model import NBest, new_outputs
from portmert.tuner.nbest.read import merge
from portmert.tuner.runs.config import Tune
from portmert.tuner.runs.folder import RunFolder
from portmert.tuner.runs.loop import Loop, MergedLists
from portmert.tuner.runs.promises import DECODED, PREDICTED
from portmert.tuner.runs.records import (
    EQUALS_START,
    IterationScores,
    IterationSearch,
    Scored,
)
from portmert.tuner.runs.replicas import notice_scores, row, write_result
from portmert.tuner.runs.result import Iteration, best_iteration, gain_line
from portmert.tuner.search.averaging import averaged, weight_change
from portmert.tuner.search.constraints import moves
from portmert.tuner.search.list_statistics import statistics_in
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.search.unseen import scores_without_folds
from portmert.tuner.search.weight_search import Setup, find_weights
from portmert.tuner.texts.joining import check_lines
from portmert.tuner.weights.feature_weights import FeatureNames, FeatureWeights
from portmert.tuner.weights.weights_file import sparse_text

from . import _program, mert
from ._mert_folder import FINISHED, NOT_ESTIMATED, StepFolder, StepRecord
from ._mert_moses_options import MertRequest
from .dat_files import write_features, write_scores
from .extractor import extract

FIRST = "run1"
"""The name of the first decoding."""
SEEDS = 10**6
"""Steps of a run draw from this many seeds, so that runs of different seeds share none."""


class TunedIni(NamedTuple):
    """A tuned moses.ini.

    Parameters
    ----------
    path, score
        The file, and its score as it is printed there.
    weights
        Its weights.
    best
        The iteration that they are of; None for an average.
    stopped
        Why the loop ended.
    has_unlisted
        Whether the decoder has features that its lists do not show.
    """

    path: Path
    score: str
    weights: FeatureWeights
    best: Iteration | None = None
    stopped: str = ""
    has_unlisted: bool = False


def run(request: MertRequest) -> list[TunedIni]:
    """Tune as asked; return each tuned moses.ini.

    Replicas are in folders of their own below that of the request, `replica-1` and so on. Each
    has a seed of its own; they share the filtered model and the first decoding. The last
    moses.ini, in the folder of the request, has the average of their weights.

    Raises
    ------
    PortmertError
        The input does not fit, the decoder failed, the folder cannot be continued.
    """
    folders = [request.folder]
    if request.replicas > 1:
        folders += [RunFolder(request.folder).replica(n) for n in range(1, request.replicas + 1)]
    with ExitStack() as locks:
        for folder in folders:
            make_folder(folder)
            fault = StateError(
                f"{folder}: another run is at work there; wait for its end, or name another "
                f"--working-dir"
            )
            locks.enter_context(locked(folder, fault))
        config = _filtered(request)
        with using(threads=request.threads), opened(request.executor):
            if request.replicas == 1:
                return [_Run(request, config).result()]
            results = [
                _replica(replace(request, folder=folder), number, config)
                for number, folder in enumerate(folders[1:], 1)
            ]
            return [*results, _average(request, config, results)]


def _replica(request: MertRequest, number: int, config: Path) -> TunedIni:
    """Tune once more, from the first decoding of the first replica."""
    seed = streams.replica(request.seed, number)
    with notices_behind(f"replica {number}"):
        if number > 1 and not (request.go_on and (request.folder / FINISHED).is_file()):
            first = RunFolder(request.folder.parent).replica(1)
            for path in (*_lists(request, FIRST), request.folder / f"{FIRST}.out"):
                copy_file(first / path.name, path)
            request = replace(request, skip_decoder=True, go_on=False)
        return _Run(replace(request, seed=seed), config).result()


def _average(request: MertRequest, config: Path, results: Sequence[TunedIni]) -> TunedIni:
    """Average the weights of the replicas, decode with them, and write result.json."""
    average = _Run(replace(request, go_on=False), config)
    of_each = [result.weights for result in results]
    # Beside what is hidden the size of weights counts.
    average.checker.has_unlisted = any(result.has_unlisted for result in results)
    sizes = [1.0] * len(results) if average.checker.has_unlisted else None
    weights = averaged(of_each, sizes, constraints=average.limits)
    scored = average.of_average(weights)
    rows = [
        row(number, request.seed, result.best, result.stopped)
        for number, result in enumerate(results, 1)
        if result.best is not None
    ]
    metric = request.scorer.metric
    document = write_result(
        request.folder, metric, rows, of_each, (scored, None, None), scores=("dev_score",)
    )
    notice_scores(document, metric)
    return average.written(weights, scored.score, 0, is_decoded=True)


class _StepLists(MergedLists):
    """The lists of a run's steps; only those that are still used are in memory.

    Parameters
    ----------
    aggregate
        How many earlier lists a step uses; -1: all.
    read
        Returns the lists of a finished step.
    checker
        Has seen the lists; where it says so, all have a part that is in no feature.
    """

    def __init__(
        self,
        metric: Metric,
        aggregate: int,
        read: Callable[[int], NBest],
        checker: ListChecker,
    ) -> None:
        self.metric, self.aggregate, self.read, self.checker = metric, aggregate, read, checker
        self.steps: dict[int, NBest] = {}
        self._merged: tuple[range, NBest] | None = None

    def used(self, step: int) -> range:
        """Return the steps whose lists a step uses, as mert-moses.pl does."""
        return range(1 if self.aggregate < 0 else max(1, step - self.aggregate), step + 1)

    def lists_of(self, step: int) -> NBest:
        """Return the lists of a step."""
        lists = self.steps.get(step)
        if lists is None or (self.checker.has_unlisted and not lists.unlisted.size):
            self.steps[step] = self.read(step)
        return self.steps[step]

    def add(self, step: int, lists: NBest) -> None:
        """Take the lists of a new step, and forget those that no later one uses."""
        self.steps = {k: self.steps[k] for k in self.steps if k in self.used(step)}
        self.steps[step] = lists

    def merged(self, number: int) -> tuple[NBest, StatTable]:
        """Return the lists that a step uses, and their statistics."""
        steps = self.used(number)
        if self._merged is None or self._merged[0] != steps:
            self._merged = steps, self._merge(steps)
            statistics_in(self._merged[1], self.metric)  # raises if they are no counts
        lists = self._merged[1]
        return lists, StatTable(lists.counted.rows)

    def counts(self, number: int) -> tuple[int, int, float]:
        """Return how many hypotheses a step uses, how many its own list added, and of its outputs.

        The last number is the share of segments whose output is in no earlier list.
        """
        steps, before, new = self.used(number)[:-1], 0, 1.0
        if steps:
            is_last = self._merged is not None and self._merged[0] == steps
            earlier = self._merged[1] if is_last and self._merged else self._merge(steps)
            before, new = len(earlier.features), new_outputs(earlier, self.lists_of(number))
        after = len(self.merged(number)[0].features)
        return after, after - before, new

    def _merge(self, steps: range) -> NBest:
        parts = [self.lists_of(step) for step in steps]
        if not self.checker.has_unlisted:  # what is left is rounding
            parts = [replace(part, unlisted=part.unlisted[:0]) for part in parts]
        merged, name = merge(parts), self.metric.name()
        return replace(merged, statistics=merged.counted._replace(metric=name))


class _Run(Loop[_StepLists]):
    """One run in the folder of mert-moses.pl."""

    lists: _StepLists

    def __init__(self, request: MertRequest, config: Path) -> None:
        tune = Tune(
            output=request.folder,
            seed=request.seed,
            nbest=request.nbest,
            iterations=request.iterations,
            decodings=request.iterations,
            min_weight_change=min(request.least_change, 2.0),
            min_gain=request.least_gain,
        )
        if not request.optimizer.holds_out:  # mert-moses.pl has no patience
            tune = replace(tune, patience=request.iterations)
        super().__init__(tune, request.scorer.metric, request.optimizer)
        self.request, self.folder = request, request.folder
        # The decoder's threads are those of its configuration or flags.
        options = {
            "config": config,
            "program": request.program,
            "flags": request.flags,
            "threads": 1,
            "jobs": request.jobs,
            "timeout_seconds": request.timeout_seconds,
        }
        self.decoder = cast("Moses", registry.decoder("moses", options, where="--decoder-flags"))
        features = self.decoder.shown_features()
        self.names: FeatureNames = features.names
        # Faults of references and of named features are found before the first decoding.
        references = request.scorer.plain_references(request.references, Vocabulary())
        self.size = len(references)
        check_lines(
            request.source, len(lines_of(request.source)), request.references[0], self.size
        )
        linked = "links" in request.scorer.metric.needs
        self.decoder.check_texts(request.source, references.texts, linked=linked)
        warn_of(few_segments(self.size))
        self.ranges = self._ranges()
        self.limits = mert.constraints_of(self.names, request.active, request.positive)
        self.files = StepFolder(request.folder, features.names, request.scorer)
        self.files.claim([request.source, *request.references])
        self.files.write_features_list(features)
        self.checker = ListChecker()
        self.lists = _StepLists(self.metric, request.aggregate, self._read_lists, self.checker)
        self.is_hiding = features.hides_some
        self.finished = self.files.last_finished() if request.go_on else 0
        self.records: dict[int, StepRecord] = {}
        self.equals_start = False

    # The loop.

    def result(self) -> TunedIni:
        """Make all steps, then the tuned configuration."""
        for note in self.request.scorer.notes:
            notice(note)
        self._read_finished()
        iterations, stopped = self.iterations()
        last = iterations[-1]
        if line := self.cut_short(last, stopped):
            warn(line)
        if last.is_decoded and last.start_score is None:  # its lists had nothing to search for
            record = StepRecord(scores=self.scores_of(last.number), search=None)
            weights = self.weights_of(last.number)
            self._keep(last.number, record, weights, last.dev_score, [stopped])
        chosen = self._chosen(iterations)
        self.equals_start = chosen.number == 1
        step = chosen.number - (not chosen.is_decoded)
        tuned = self.written(
            self.weights_of(chosen.number), chosen.dev_score, step, is_decoded=chosen.is_decoded
        )
        if chosen.is_decoded:
            notice(f"copying weights from best iteration ({step}, {tuned.score}) to moses.ini")
        if self.equals_start:
            notice(EQUALS_START)
        else:
            gain = self.gain(iterations[0], chosen)
            (warn if gain[0] < 0 else notice)(gain_line(chosen, gain, self.metric))
        self.files.write(FINISHED, f"{self.finished}\n")
        return tuned._replace(best=chosen, stopped=stopped, has_unlisted=self.checker.has_unlisted)

    def written(
        self, weights: FeatureWeights, dev_score: float, step: int, *, is_decoded: bool
    ) -> TunedIni:
        """Write the tuned configuration."""
        score = self._printed(dev_score)
        self._write_config(
            "moses.ini",
            weights,
            score,
            step,
            is_decoded=is_decoded,
            config=self.request.config,
        )
        return TunedIni(self.folder / "moses.ini", score, weights)

    def of_average(self, weights: FeatureWeights) -> Scored:
        """Decode the dev set under the average of replicas, and score the output."""
        notice("decoding the dev set under the averaged weights")
        self._decode("average", weights)
        lists = self._counted("average", weights)
        return Scored.of(self.metric, lists.counted.rows[lists.offsets[:-1]].sum(axis=0))

    def _chosen(self, iterations: tuple[Iteration, ...]) -> Iteration:
        """Return the iteration whose weights are the result.

        With an optimizer that holds no segments out it is the last one, as in mert-moses.pl.
        """
        if self.request.return_best:
            decoded = [iteration for iteration in iterations if iteration.is_decoded]
            return max(decoded, key=lambda iteration: self.metric.oriented(iteration.dev_score))
        if self.optimizer.holds_out:
            return best_iteration(iterations, self.metric)
        last = iterations[-1]  # without a search behind it, or the weights of that search
        return last if last.start_score is None else self.undecoded(last)

    def stop_reason(self, iterations: Sequence[Iteration], steps: int) -> str | None:
        """Return the reason to stop; steps that others took behind this one are no reason."""
        number = iterations[-1].number
        is_ours = number not in self.records or self._is_ours(number)
        if number < self.finished or not is_ours:
            return None
        return super().stop_reason(iterations, steps)

    def say(self, iteration: Iteration) -> None:
        """Show an iteration, unless an earlier call did."""
        if iteration.number >= self.first:
            notice(iteration.as_line(self.metric))

    # Decoding.

    def weights_of(self, number: int) -> FeatureWeights:
        """Return the weights that the decoding of a step has."""
        if number == 1:
            start = self.files.weights(1) if self.finished else self._start
            # Beside what is hidden the size of weights counts.
            return self._decoded(FIRST, start) if self.checker.has_unlisted else start
        if number <= self.finished:
            return self.files.weights(number)
        result, _ = self.files.result_of(number - 1)
        after = self._interpolated(number - 1, result)
        return FeatureWeights({**after.values, **self.files.sparse(result)})  # mixed already

    @cached_property
    def _start(self) -> FeatureWeights:
        """The decoder's weights, those that must be positive made so."""
        weights = self.decoder.read_weights()
        allowed = self.limits.allowed(weights, self.names)
        if line := moves(weights, allowed):
            warn(line)
        return allowed

    def decode(self, number: int) -> None:
        """Decode, unless the step is finished, and count."""
        if number <= self.finished:
            return
        notice(f"run {number} start")
        weights = self.weights_of(number)
        score = NOT_ESTIMATED
        if number > 1:
            score = self._printed(self.search_of(number - 1).next_score)
        self._write_config(f"run{number}.moses.ini", weights, score, number)
        dense = ((name, v) for name, _ in self.names for v in weights.values[name])
        text = "".join(f"{name}= {_program.number(value)}\n" for name, value in dense)
        self.files.write(f"run{number}.dense", text)
        if self.request.skip_decoder and number == self.first:
            notice(f"skipped decoder run {number}")
        else:
            self._decode(f"run{number}", weights)
        self.lists.add(number, self._extract(number, weights))
        # Where the search begins, the lowest random weights and the highest.
        starts = (self.files.vector(weights), *self.ranges)
        text = "".join(" ".join(map(_program.number, row)) + "\n" for row in starts)
        self.files.write("init.opt", text, step=number)

    def _decoded(self, name: str, weights: FeatureWeights) -> FeatureWeights:
        """Return weights as the decoder gets them.

        Absolute weights found by mert add to 1; those of the first decoding must, too, unless
        features are hidden whose weights stay, and the step is ours.
        """
        is_of_others = self.finished and self.files.record(1) is None
        is_plain = self.is_hiding and not is_of_others
        if name != FIRST or is_plain or self.request.config_weights_first:
            return weights
        dense = FeatureWeights({name: weights.values[name] for name, _ in self.names})
        return FeatureWeights({**weights.values, **mert.sized(dense, self.names).values})

    def _decode(self, name: str, weights: FeatureWeights) -> None:
        weights = self._decoded(name, weights)
        nbest, *samples = _lists(self.request, name)
        first_of_config = name == FIRST and self.request.config_weights_first
        self.decoder.write_lists(
            None if first_of_config else weights,
            {
                "source": self.request.source,
                "size": self.request.nbest,
                "out": nbest,
                "workdir": self.folder / "decoder",
            },
            best=self.folder / f"{name}.out",
            sampled=(samples[0], self.request.lattice_samples) if samples else None,
            links="links" in self.request.scorer.metric.needs,
        )

    # Counting and searching.

    def _extract(self, step: int, weights: FeatureWeights) -> NBest:
        with collected_notices() as notes:
            lists = self._counted(f"run{step}", weights)
        write_features(lists, self.folder / f"run{step}.features.dat")
        write_scores(lists, self.folder / f"run{step}.scores.dat")
        scorer = f"Scorer type: {self.metric.signature}"
        notes_text = "".join(f"{note}\n" for note in (scorer, *notes))
        self.files.write("extract.err", notes_text, step=step)
        self.files.write("extract.out", "", step=step)
        for note in notes:
            notice(note)
        return lists

    def _read_lists(self, step: int) -> NBest:
        """Return the lists of a finished step; with what is hidden, from its n-best list."""
        lists = self.files.lists(step)
        self.files.check_step(step, lists)
        if not self.checker.has_unlisted:
            records = map(self.files.record, range(1, self.finished + 1))
            if all(record and not record.scores.fault for record in records):
                return lists
            for path in _lists(self.request, f"run{step}"):
                if not path.is_file():
                    notice(f"{path}: is not there, so that its scores cannot be checked")
                    return lists
        counted = self._counted(f"run{step}", self.weights_of(step))
        return counted if self.checker.has_unlisted else lists

    def _counted(self, name: str, weights: FeatureWeights) -> NBest:
        """Return the lists of a decoding with their statistics."""
        paths = _lists(self.request, name)
        for path in paths:
            if not path.is_file():
                advice = "; leave out --skip-decoder" * self.request.skip_decoder
                raise StateError(f"{path}: is not there{advice}")
        lists, nbest = extract(
            paths,
            self.request.references,
            self.request.scorer,
            dense=self.decoder.dense_features,
        )
        if lists.feature_names != self.names:
            raise InputError(
                f"{paths[0]}: features {' '.join(mert.column_names(lists.feature_names))}, but "
                f"the decoder said {' '.join(mert.column_names(self.names))}"
            )
        nbest = self.checker.checked(nbest, self._decoded(name, weights), is_hiding=self.is_hiding)
        if self.checker.fault:
            warn(f"{name}: {self.checker.fault}")
        return merge([replace(lists, unlisted=nbest.unlisted)])

    @property
    def folds(self) -> IntArray:
        """The folds of the segments, see `Optimizer.folds_of`."""
        return self._folds

    @cached_property
    def _folds(self) -> IntArray:
        return self.optimizer.folds_of(self.size, self._seed(1))

    def _seed(self, step: int) -> int:
        """Return the seed of a step's search: with held-out segments the same for all steps."""
        dealt = 1 if self.optimizer.holds_out else step
        return SEEDS * self.tune.seed + dealt * (1000 if self.request.predictable_seeds else 1)

    def scores_of(self, number: int) -> IterationScores:
        """Return the scores of the decoder's output in a step."""
        if number not in self.records:
            hypotheses, new, outputs = self.lists.counts(number)
            scores = replace(
                self._scores(number),
                hypotheses=hypotheses,
                new=new,
                new_outputs=outputs,
                fault=self.checker.fault,
            )
            self.records[number] = StepRecord(scores=scores, search=None)
        return self.records[number].scores

    def _scores(self, number: int) -> IterationScores:
        """Return the scores of the decoder's output; its list alone is counted."""
        lists = self.lists.lists_of(number)
        stats = lists.counted.rows[lists.offsets[:-1]]
        scored = Scored.of(self.metric, stats.sum(axis=0))
        return IterationScores(
            metric=self.metric.signature,
            dev_score=scored.score,
            unseen_score=self.unseen(number, scored.score),
            parts=scored.parts,
            without=tuple(scores_without_folds(self.metric, stats, self.folds).tolist()),
            held_out=None,
            hypotheses=len(lists.features),
            new=len(lists.features),
        )

    def setup(self, iterations: Sequence[Iteration], nbest: NBest) -> Setup:
        """Return how to search: from the last weights and others that were asked for."""
        request, step = self.request, iterations[-1].number
        start = self.weights_of(1 if self.optimizer.holds_out else step)
        points = [self.files.vector(start)]
        if request.historic_bests:
            points += [self.files.vector(self.weights_of(k)) for k in self.lists.used(step)[:-1]]
        if request.from_pro:
            if nbest.sparse is not None:
                raise InputError(
                    "--pro-starting-point: the lists have sparse features, whose weights only "
                    "--pairwise-ranked and --batch-mira find"
                )
            setup = mert.setup_as_mert(
                nbest,
                self.metric,
                request.from_pro,
                points[:1],
                self.ranges,
                limits=mert.constraints_of(self.names, request.active),
                seed=self._seed(step),
            )
            pro = find_weights(nbest, self.lists.merged(step)[1], self.metric, setup)
            warn_of(pro.warnings)
            points.append(self.files.vector(self._sized(pro.weights)))
        return mert.setup_as_mert(
            nbest,
            self.metric,
            self.optimizer,
            points,
            self.ranges,
            limits=self.limits,
            sparse=self.files.sparse(start),
            seed=self._seed(step),
        )

    def search(self, iterations: Sequence[Iteration]) -> IterationSearch:
        """Search over the lists; the notices stand in the log of the step."""
        with collected_notices() as self.notes:
            search = super().search(iterations)
        number = iterations[-1].number
        if self._steps(number - 1).and_one(search.share).is_cut(number):
            self.notes.append(f"share of the way that the step goes: {search.share:.4g}")
        for note in self.notes:
            notice(note)
        return search

    def after(self, number: int, target: FeatureWeights, share: float) -> FeatureWeights:
        """Return the weights after a step, of the size that mert-moses.pl has them."""
        return self._interpolated(number, self._stepped(number, target, share))

    def _stepped(self, number: int, target: FeatureWeights, share: float) -> FeatureWeights:
        target = self._sized(target)
        if not self.optimizer.holds_out:
            return target
        return self._sized(self._sized(self.weights_of(number)).towards(target, share))

    def _sized(self, weights: FeatureWeights) -> FeatureWeights:
        is_absolute = bool(self.request.active) or self.checker.has_unlisted
        return weights if is_absolute else mert.sized(weights, self.names)

    def _interpolated(self, number: int, after: FeatureWeights) -> FeatureWeights:
        share = self.request.interpolation
        if not share or number < 4:  # as in mert-moses.pl
            return after
        return self.weights_of(number).towards(after, share)

    # What is known of steps.

    def has_search(self, number: int) -> bool:
        """Return whether the search of a step is done."""
        return number <= self.finished and self.records[number].search is not None

    def search_of(self, number: int) -> IterationSearch:
        """Return what the search of a step found."""
        search = self.records[number].search
        assert search is not None  # noqa: S101  the loop has seen to it
        return search

    def keep_search(self, number: int, search: IterationSearch) -> None:
        """Write the files of a step's search."""
        record = StepRecord(scores=self.scores_of(number), search=search)
        target = FeatureWeights(dict(search.weights))
        stepped = self._stepped(number, target, search.share)
        self._keep(number, record, stepped, search.next_score, self.notes)
        after = self.files.vector(self.weights_of(number + 1))
        text = " ".join(f"{value:.4g}" for value in after)
        notice(f"({number}) BEST at {number}: {text} => {self._printed(search.next_score)}")

    def _keep(
        self,
        number: int,
        record: StepRecord,
        weights: FeatureWeights,
        score: float,
        notes: Sequence[str],
    ) -> None:
        """Write all files of a step that found some weights."""
        self.files.keep_record(number, record)
        self.files.write_search(number, weights, float(self._printed(score)), notes)
        after = self._interpolated(number, weights)
        if sparse := self.files.sparse(after):
            self.files.write(f"run{number + 1}.sparse-weights", sparse_text(sparse))
        if after is not weights:
            values = self.files.vector(after)
            self.files.write(f"run{number}.weights.txt", f"{_program.row(values)}\n")
        self.files.write(FINISHED, f"{max(number, self.finished)}\n")
        self.records[number], self.finished = record, max(number, self.finished)

    def _read_finished(self) -> None:
        """Read what is known of the steps that an earlier run finished.

        A step of mert-moses.pl, or one that it made again, went the whole way to its weights.
        """
        self.first = self.finished + 1
        if not self.finished:
            return
        notice(f"last finished step is {self.finished}")
        last = self.finished
        for step in self.lists.used(last):
            for name in ("features.dat", "scores.dat", "init.opt"):
                self.files.demand(f"run{step}.{name}", last)
        for name in (
            f"run{last}.mert.log",
            f"run{last}.weights.txt",
            *(path.name for path in _lists(self.request, f"run{last}")),
        ):
            self.files.demand(name, last)
        for step in self.lists.used(last):
            self.lists.lists_of(step)  # which tells whether some scores have a hidden part
        for step in range(1, last + 1):
            record = self._record(step)
            if record is None:
                record = self._record_of_others(step)
                notice(f"step {step} is of mert-moses.pl: its weights have no estimate")
            self.records[step] = record

    def _record(self, step: int) -> StepRecord | None:
        """Return what we wrote of a step; None if the weights that it found are others."""
        record = self.files.record(step)
        if record is None:
            return None
        stepped = self.weights_of(step)
        if record.search is not None:
            target = FeatureWeights(dict(record.search.weights))
            stepped = self._stepped(step, target, record.search.share)
        elif step < self.finished:
            return None
        vector = self.files.vector(self.files.result_of(step)[0])
        return record if np.array_equal(vector, self.files.vector(stepped)) else None

    def _record_of_others(self, step: int) -> StepRecord:
        scores = self._scores(step)
        weights, printed = self.files.result_of(step)
        score = scores.dev_score
        if printed is not None:
            score = printed if self.metric.higher_is_better else 1.0 - printed
        search = IterationSearch(
            next_score=score,
            start_score=scores.dev_score,
            optimized_score=score,
            oracle_score=score,
            unseen_score=None,
            unseen_error=None,
            change=weight_change(self.weights_of(step), weights),
            weights=weights.values,
            share=1.0,
            searches=0,
        )
        return StepRecord(scores=scores, search=search)

    def _is_ours(self, number: int) -> bool:
        search = self.records[number].search
        return search is None or search.searches > 0

    def _ranges(self) -> tuple[FloatArray, FloatArray]:
        """Return the (F,) lowest and highest weights of random starts.

        Raises
        ------
        InputError
            The decoder has no such feature.
        """
        by_feature, sizes = self.request.ranges, dict(self.names)
        ranges = {name: [mert.DEFAULT_RANGE] * size for name, size in self.names}
        for name, pairs in by_feature.items():
            if name not in sizes:
                raise InputError(f"--range: there is no feature {name}{suggest(name, sizes)}")
            if len(pairs) > sizes[name]:
                too_many = f"--range: {len(pairs)} ranges for {name}"
                notice(f"{too_many}, of which mert-moses.pl too uses {sizes[name]}")
            ranges[name][: len(pairs)] = pairs[: sizes[name]]
        low, high = np.array([pair for pairs in ranges.values() for pair in pairs]).T
        return low, high

    # Files that are left for others.

    def _printed(self, score: float) -> str:
        return f"{_program.printed_score(self.metric, score):.6f}"

    def _write_config(
        self,
        name: str,
        weights: FeatureWeights,
        score: str,
        step: int,
        *,
        is_decoded: bool = False,
        config: Path | None = None,
    ) -> None:
        scorer = self.request.scorer
        header = (
            f"MERT optimized configuration\n"
            f"decoder {self.request.program}\n"
            f"{scorer.name} {score} on dev {self.request.source}\n"
            f"This score is {DECODED if is_decoded else PREDICTED}\n"
            f"We were before running iteration {step}\n"
            f"finished {datetime.now(UTC):%a %b %d %H:%M:%S UTC %Y}\n"
            f"portmert {portmert.__version__}, {scorer.metric.signature}"
        )
        if name == "moses.ini" and self.equals_start:
            header += f"\n{EQUALS_START}"
        path = self.folder / name
        content = self.decoder.tuned_ini(
            config or self.decoder.config, weights, path, header=header
        )
        with writing(path) as out:
            out.write(content)


def _lists(request: MertRequest, name: str) -> list[Path]:
    """Return the lists of a decoding: n-best, and samples of lattices where asked for."""
    kinds = {"best": request.nbest, "lsamp": request.lattice_samples}
    return [request.folder / f"{name}.{kind}{size}.out.gz" for kind, size in kinds.items() if size]


def _filtered(request: MertRequest) -> Path:
    """Return the configuration of the filtered model, made once, or the one given."""
    if not request.filter_command:
        return request.config
    config = request.folder / "filtered" / "moses.ini"
    if config.is_file():
        notice(f"the tables are filtered already: {config}")
        return config
    command = [*shlex.split(request.filter_command), "./filtered", str(request.config)]
    command.append(str(request.filter_input))
    notice(f"filtering the phrase tables: {shlex.join(command)}")
    filtering = Command(
        command,
        request.folder / "filterphrases.err",
        request.folder / "filterphrases.out",
        folder=request.folder,
        timeout_seconds=request.timeout_seconds,
    )
    run_program(filtering)
    if not config.is_file():
        raise filtering.failure("wrote no filtered/moses.ini")
    return config
