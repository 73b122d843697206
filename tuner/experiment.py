"""The outer loop: decode, merge, annotate, optimize, again, until nothing is left to gain.

Every step leaves one file, written whole, and reads what it needs from the files of earlier steps.
These files are all the state there is: a run that was killed goes on behind its last finished step
and ends as one left alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

import tuner
from metrics._base import Vocabulary
from tuner.annotations import Annotator
from tuner.corpus import make_batch, read_references
from tuner.errors import StateError
from tuner.files import read_lines, write_text
from tuner.nbest import merge, model_score_mismatch, read_nbest
from tuner.optimization import Setup, optimize_lists
from tuner.run_folder import open_run
from tuner.scoring import score_texts
from tuner.statistics import notices
from tuner.weights import FeatureWeights, read_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from metrics._base import Metric, Texts
    from tuner.config import Experiment
    from tuner.corpus import References
    from tuner.decoders._base import Progress
    from tuner.nbest import NBest
    from tuner.optimization import Optimization
    from tuner.run_folder import RunFolder
    from tuner.scoring import Score


CONFIG_NAME = "decoder.config"
"""The decoder's tuned configuration, in the run's folder."""


@dataclass(frozen=True)
class Scored:
    """The score of one translation of a whole set.

    Parameters
    ----------
    score
        On the metric's own scale.
    parts
        What the papers tabulate: precisions, penalties, lengths.
    """

    score: float
    parts: dict[str, float]


@dataclass(frozen=True)
class Iteration:
    """One pass of the outer loop; all scores on the metric's own scale.

    Parameters
    ----------
    number
        Counted from 1.
    hypotheses, new
        Distinct hypotheses of all lists so far; those that this iteration's list added.
    dev_score
        Of the decoder's own best output under this iteration's weights.
    start_score, optimized_score
        Of the best hypotheses of all lists so far, under this iteration's weights and under the
        weights found for the next; None where the iteration only decoded.
    change
        How far the next weights are from these, see `weight_change`.
    """

    number: int
    hypotheses: int
    new: int
    dev_score: float
    start_score: float | None = None
    optimized_score: float | None = None
    change: float | None = None


@dataclass(frozen=True)
class Result:
    """What a run found.

    Parameters
    ----------
    metric
        Signature of the metric tuned on.
    score, start_score
        Dev scores of the decoder's own best output, tuned and with the start weights.
    best
        The iteration whose weights are the result: the earliest of the best score.
    stopped
        Why the loop ended.
    test
        Score of the test set under the result; None where there is none.
    start_list, dev_list, test_list
        The n-best lists of the dev set under the start weights and under the result, and of the
        test set (None where there is none); the first hypothesis of each segment is the output.
    """

    metric: str
    score: float
    start_score: float
    best: int
    stopped: str
    iterations: tuple[Iteration, ...]
    weights: FeatureWeights
    weights_path: Path
    config_path: Path
    test: Scored | None
    start_list: Path
    dev_list: Path
    test_list: Path | None


def run(
    experiment: Experiment,
    *,
    log: Callable[[str], None],
    progress: Progress,
    fresh: bool = False,
) -> Result:
    """Tune as `experiment` says, going on where an earlier run of the same experiment ended.

    Parameters
    ----------
    log
        Called with one line for each step; the lines also stand in log.txt, with times.
    progress
        Called while the decoder works.
    fresh
        Remove the work of an earlier run first.

    Raises
    ------
    PortmertError
        The folder holds other work or is in use; the input does not fit; a program failed.
    """
    with open_run(
        experiment.tune.output,
        experiment.fingerprint(),
        origin=str(experiment.path),
        fresh=fresh,
    ) as folder:

        def note(line: str) -> None:
            folder.log(line)
            log(line)

        return _Run(experiment, folder, note, progress).result()


def weight_change(before: FeatureWeights, after: FeatureWeights) -> float:
    """Return how far weights moved, 0..2: summed differences, both scaled to |w| summing to 1.

    The scale of weights does not change which hypothesis wins, so it does not count.
    """
    old = before.vector(before.names)
    new = after.vector(before.names)
    old_sum, new_sum = np.abs(old).sum(), np.abs(new).sum()
    return float(np.abs(old / (old_sum or 1.0) - new / (new_sum or 1.0)).sum())


def stop_reason(
    iterations: Sequence[Iteration],
    *,
    most: int,
    patience: int,
    min_weight_change: float,
    higher_is_better: bool = True,
) -> str | None:
    """Say why the loop ends after these iterations, or None.

    Asked twice in each iteration: when it has been decoded and when it has been optimized.
    """
    last = iterations[-1]
    if last.number > 1 and last.new == 0:
        return "the decoder found no new hypothesis"
    stale = last.number - best_iteration(iterations, higher_is_better=higher_is_better).number
    if stale >= patience:
        return f"the dev score has not risen for {stale} iterations"
    if last.number > most:
        return f"the limit of {most} iterations is reached"
    if last.change is not None and last.change < min_weight_change:
        return f"the weights stand still (change {last.change:.2g})"
    return None


def best_iteration(iterations: Sequence[Iteration], *, higher_is_better: bool = True) -> Iteration:
    """Return the earliest iteration of the best dev score."""
    sign = 1 if higher_is_better else -1
    return max(iterations, key=lambda iteration: sign * iteration.dev_score)


class _Run:
    """One run; every method that makes a file first looks whether it is there."""

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder,
        note: Callable[[str], None],
        progress: Progress,
    ) -> None:
        self.experiment = experiment
        self.folder = folder
        self.note = note
        self.progress = progress
        self.vocabulary = Vocabulary()
        self.text = experiment.data.pipeline
        self.pool: NBest | None = None
        self.last: NBest
        self.pooled = 0
        self.annotator = Annotator(
            experiment.aligner,
            folder.annotations,
            source=experiment.data.source,
            references=experiment.data.references,
            notice=note,
        )

    # The loop.

    def result(self) -> Result:
        tune, metric = self.experiment.tune, self.experiment.metric
        self.note(f"{self.experiment.path}: {metric.signature}, seed {tune.seed}")
        iterations: list[Iteration] = []
        stopped = None
        while stopped is None:
            number = len(iterations) + 1
            self._weights_of(number)
            self._decode(number)
            iterations.append(self._score(number, iterations))
            stopped = self._stop(iterations)
            if stopped is None:
                iterations[-1] = self._optimize(iterations)
                stopped = self._stop(iterations)
            self.note(_line(iterations[-1], self.experiment.metric))
        self.note(f"stopped: {stopped}")
        return self._finish(tuple(iterations), stopped)

    def _stop(self, iterations: Sequence[Iteration]) -> str | None:
        tune = self.experiment.tune
        return stop_reason(
            iterations,
            most=tune.iterations,
            patience=tune.patience,
            min_weight_change=tune.min_weight_change,
            higher_is_better=self.experiment.metric.higher_is_better,
        )

    def _best(self, iterations: Sequence[Iteration]) -> Iteration:
        return best_iteration(iterations, higher_is_better=self.experiment.metric.higher_is_better)

    # Its steps.

    def _weights_of(self, number: int) -> FeatureWeights:
        path = self.folder.iteration(number) / "weights.json"
        if not path.exists():
            if number == 1:
                weights = self._start()
            else:
                weights = read_weights(self.folder.iteration(number - 1) / "optimized.json")
            write_text(path, weights.to_json() + "\n")
        return read_weights(path)

    def _start(self) -> FeatureWeights:
        weights = self.experiment.decoder.read_weights()
        given = self.experiment.tune.weights
        if given is None:
            return weights
        vector = read_weights(given).vector(weights.names, origin=str(given))
        return FeatureWeights.from_vector(weights.names, vector)

    def _decode(self, number: int) -> None:
        out = self._list(number)
        if out.exists():
            return
        tune = self.experiment.tune
        self.note(f"iteration {number}: decoding the dev set")
        self.experiment.decoder.decode(
            self._weights_of(number),
            source=self.experiment.data.source,
            size=tune.nbest,
            out=out,
            workdir=self.folder.scratch,
            progress=self.progress,
        )

    def _score(self, number: int, iterations: Sequence[Iteration]) -> Iteration:
        path = self.folder.iteration(number) / "scores.json"
        if not path.exists():
            pool = self._pool(number)
            self._check_model_scores(number)
            scored = self._scored(self.last, self.references)
            hypotheses = len(pool.texts)
            before = iterations[-1].hypotheses if iterations else 0
            _write_json(
                path,
                {
                    "metric": scored.signature,
                    "dev_score": scored.score,
                    "parts": scored.parts,
                    "hypotheses": hypotheses,
                    "new": hypotheses - before,
                },
            )
        held = _read_json(path)
        return Iteration(number, held["hypotheses"], held["new"], held["dev_score"])

    def _optimize(self, iterations: Sequence[Iteration]) -> Iteration:
        last = iterations[-1]
        path = self.folder.iteration(last.number) / "optimized.json"
        if not path.exists():
            self.note(f"iteration {last.number}: optimizing over {last.hypotheses} hypotheses")
            pool = self._pool(last.number)
            pool = replace(pool, texts=self._for_metric(pool.texts))
            before = self._weights_of(last.number)
            found = self._search(pool, self._starts(iterations), last.number)
            _write_json(
                path,
                {
                    "start_score": found.start_score,
                    "optimized_score": found.final_score,
                    "oracle_score": found.oracle_score,
                    "change": weight_change(before, found.weights),
                    "weights": found.weights.values,
                },
            )
        held = _read_json(path)
        return replace(
            last,
            start_score=held["start_score"],
            optimized_score=held["optimized_score"],
            change=held["change"],
        )

    def _starts(self, iterations: Sequence[Iteration]) -> list[FeatureWeights]:
        """Return this iteration's weights, then those of the best iteration if it is another."""
        numbers = dict.fromkeys([iterations[-1].number, self._best(iterations).number])
        return [self._weights_of(number) for number in numbers]

    def _search(self, pool: NBest, starts: Sequence[FeatureWeights], number: int) -> Optimization:
        experiment = self.experiment
        return optimize_lists(
            pool,
            self.references,
            experiment.metric,
            Setup(
                optimizer=experiment.optimizer,
                starts=tuple(starts),
                constraints=experiment.constraints,
                seed=_seed(experiment.tune.seed, number),
                threads=experiment.threads,
            ),
            notice=self.note,
        )

    def _finish(self, iterations: tuple[Iteration, ...], stopped: str) -> Result:
        experiment, path = self.experiment, self.folder.path
        best = self._best(iterations)
        signature = experiment.metric.signature
        weights = self._weights_of(best.number)
        weights_path, config_path = path / "weights.json", path / CONFIG_NAME
        write_text(weights_path, weights.to_json() + "\n")
        header = (
            f"Tuned by portmert {tuner.__version__} on {signature}: "
            f"dev score {best.dev_score:.6f}, seed {experiment.tune.seed}"
        )
        experiment.decoder.write_config(weights, config_path, header=header)
        test = self._test(weights)
        _write_json(
            path / "result.json",
            {
                "metric": signature,
                "dev_score": best.dev_score,
                "start_dev_score": iterations[0].dev_score,
                "best_iteration": best.number,
                "stopped": stopped,
                "iterations": [asdict(iteration) for iteration in iterations],
                "test": None if test is None else asdict(test),
            },
        )
        self.note(
            f"best: iteration {best.number}, dev {best.dev_score:.4f} "
            f"(start weights {iterations[0].dev_score:.4f})"
            + ("" if test is None else f", test {test.score:.4f}")
        )
        return Result(
            metric=signature,
            score=best.dev_score,
            start_score=iterations[0].dev_score,
            best=best.number,
            stopped=stopped,
            iterations=iterations,
            weights=weights,
            weights_path=weights_path,
            config_path=config_path,
            test=test,
            start_list=self._list(1),
            dev_list=self._list(best.number),
            test_list=None if test is None else self.folder.test / "nbest.gz",
        )

    def _test(self, weights: FeatureWeights) -> Scored | None:
        """Decode and score the test set, if there is one."""
        data = self.experiment.data
        if data.test_source is None:
            return None
        folder = self.folder.test
        out, scores = folder / "nbest.gz", folder / "scores.json"
        if not out.exists():
            self.note("decoding the test set")
            self.experiment.decoder.decode(
                weights,
                source=data.test_source,
                size=1,
                out=out,
                workdir=self.folder.scratch,
                progress=self.progress,
            )
        if not scores.exists():
            links = data.test_reference_links
            if "links" in self.experiment.metric.needs and not links:
                links = self.annotator.test_links(data.test_source, data.test_references)
            nbest = self._read(out, source=data.test_source)
            best = nbest.texts.take(nbest.offsets[:-1])
            lines = (" ".join(best.words(row)) + "\n" for row in range(len(best)))
            write_text(folder / "output.txt", "".join(lines))
            references = self._references(data.test_source, data.test_references, links)
            scored = self._scored(nbest, references)
            _write_json(
                scores,
                {"metric": scored.signature, "score": scored.score, "parts": scored.parts},
            )
        held = _read_json(scores)
        return Scored(held["score"], held["parts"])

    # What they read.

    @cached_property
    def references(self) -> References:
        """The references of the dev set, with links where the metric needs them."""
        data = self.experiment.data
        links = data.reference_links
        if "links" in self.experiment.metric.needs and not links:
            links = self.annotator.dev_links()
        return self._references(data.source, data.references, links)

    def _references(
        self, source: Path, references: Sequence[Path], links: Sequence[Path]
    ) -> References:
        found = read_references(
            references,
            vocabulary=self.vocabulary,
            source=source,
            links=links if "links" in self.experiment.metric.needs else (),
        )
        return replace(found, texts=self.text.references(found.texts))

    def _list(self, number: int) -> Path:
        return self.folder.iteration(number) / "nbest.gz"

    def _read(self, path: Path, *, source: Path | None = None) -> NBest:
        """Read one n-best list, with links where the metric needs them."""
        sources = read_lines(source or self.experiment.data.source)
        nbest = read_nbest([path], self.vocabulary, segments=len(sources), notice=self.note)
        if "links" not in self.experiment.metric.needs:
            return nbest
        texts = self.annotator.hypothesis_links(
            nbest.texts, offsets=nbest.offsets, sources=sources
        )
        return replace(nbest, texts=texts)

    def _pool(self, number: int) -> NBest:
        """Return the merged lists of iterations 1..number; `last` is then the list of `number`.

        Always the references first, then the lists merged one by one in this order: a resumed run
        numbers words and hypotheses as an unbroken one.
        """
        while self.pool is None or self.pooled < number:
            _ = self.references
            self.last = self._read(self._list(self.pooled + 1))
            self.pool = self.last if self.pool is None else merge([self.pool, self.last])
            self.pooled += 1
        return self.pool

    def _for_metric(self, texts: Texts) -> Texts:
        return self.text.hypotheses(texts)

    def _scored(self, nbest: NBest, references: References) -> Score:
        """Score the decoder's own best output: the first hypothesis of each segment."""
        data, metric = self.experiment.data, self.experiment.metric
        first = self._for_metric(nbest.texts.take(nbest.offsets[:-1]))
        batch = make_batch(first, np.arange(len(nbest) + 1), references)
        for line in notices(metric, batch):
            self.note(line)
        return score_texts(
            [metric],
            batch,
            lowercase=data.lowercase,
            threads=self.experiment.threads,
            text=self.text.signature,
        )[0]

    def _check_model_scores(self, number: int) -> None:
        """Say so if the scores of the last list are not weights . features.

        A decoder may add what is the same for all hypotheses of a segment: it moves none of them
        above another.
        """
        found = model_score_mismatch(
            self.last, self._weights_of(number), per_segment_offset=True, origin="weights.json"
        )
        if found.off:
            self.note(f"iteration {number}: {found}")


def _seed(seed: int, *path: int) -> int:
    """Return a seed of its own for one part of a run."""
    return int(np.random.SeedSequence((seed, *path)).generate_state(1, np.uint64)[0] >> 1)


def _line(iteration: Iteration, metric: Metric) -> str:
    """Return the iteration as one line; scores as the metric shows them."""
    line = (
        f"iteration {iteration.number}: {iteration.hypotheses:7d} hypotheses, "
        f"{iteration.new:6d} new, dev {metric.shown(iteration.dev_score):>6}"
    )
    if iteration.start_score is None or iteration.optimized_score is None:
        return line
    return (
        f"{line}; optimized over all lists {metric.shown(iteration.start_score):>6} -> "
        f"{metric.shown(iteration.optimized_score):>6}, weights change {iteration.change:.4f}"
    )


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(content, indent=1) + "\n")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StateError(f"{path}: {error}; --fresh starts the run over") from None
    if not isinstance(content, dict):
        raise StateError(f"{path}: not what portmert writes; --fresh starts the run over")
    return content
