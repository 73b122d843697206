"""Runs several whole tunings from different seeds, and averages their weights.

One tuning's gain may be luck of its seed: Clark et al. (ACL 2011) ask for at least three, and
their average tends to do better than each (Cherry & Foster, NAACL 2012). All begin at the same
weights, so that the first n-best list is decoded once. Each replica is a run of its own in a
folder `replica-N` of the run's folder, that goes on where it was interrupted; the first one has
the experiment's own seed and ends as the experiment without replicas would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

import portmert
from portmert.tuner.decoders._base import Progress
from portmert.tuner.executors.team import Team
from portmert.tuner.ground import streams
from portmert.tuner.ground.errors import counted
from portmert.tuner.ground.files import write_text
from portmert.tuner.runs import experiment as single
from portmert.tuner.runs.config import Experiment
from portmert.tuner.runs.folder import CONFIG_NAME, RunFolder, Shared, open_run, today
from portmert.tuner.runs.inputs import write_inputs
from portmert.tuner.runs.result import Result
from portmert.tuner.runs.scorer import LOCAL, Evaluator, Scored, read_json, read_scored, write_json
from portmert.tuner.search.averaging import averaged, deviation, weight_spreads
from portmert.tuner.weights.feature_weights import FeatureWeights


@dataclass(frozen=True)
class Replicated:
    """Holds what several tunings found.

    Parameters
    ----------
    metric
        Signature of the metric tuned on.
    replicas
        The result of each, in order; `seeds` are theirs.
    mean, spread
        Mean and standard deviation (of a sample, n - 1) of the dev scores.
    dev, held_out, test
        Scores under the averaged weights; None where there is no such set.
    weights
        The average: each replica's weights scaled to absolute values that add to 1, their mean,
        as large as the replicas' weights are on average.
    weights_path, config_path
        Of the average.
    """

    metric: str
    seeds: tuple[int, ...]
    replicas: tuple[Result, ...]
    mean: float
    spread: float
    dev: Scored
    held_out: Scored | None
    test: Scored | None
    weights: FeatureWeights
    weights_path: Path
    config_path: Path

    def as_json(self) -> dict[str, object]:
        """Return what result.json holds."""
        return {
            "metric": self.metric,
            "dev_score": {"mean": self.mean, "sd": self.spread},
            "average": {
                "dev_score": self.dev.score,
                "held_out_score": None if self.held_out is None else self.held_out.score,
                "test": None if self.test is None else asdict(self.test),
            },
            "replicas": [
                {
                    "folder": f"replica-{number}",
                    "seed": seed,
                    "dev_score": result.score,
                    "held_out_score": result.held_out,
                    "test_score": None if result.test is None else result.test.score,
                    "best_iteration": result.best,
                    "stopped": result.stopped,
                }
                for number, (seed, result) in enumerate(
                    zip(self.seeds, self.replicas, strict=True), 1
                )
            ],
            "weights": weight_spreads([result.weights for result in self.replicas]),
        }


def run(
    experiment: Experiment,
    *,
    log: Callable[[str], None],
    progress: Progress,
    annotated: Progress | None = None,
    fresh: bool = False,
    team: Team = LOCAL,
) -> Replicated:
    """Tune `experiment.tune.replicas` times and average, going on where an earlier run ended.

    See `portmert.tuner.runs.experiment.run`.
    """
    with opened(experiment, log=log, fresh=fresh) as tunings:
        results = []
        for number in range(1, experiment.tune.replicas + 1):
            one, shared = tunings.replica(number)

            def note(line: str, number: int = number) -> None:
                tunings.note(f"replica {number}: {line}")

            results.append(
                single.run(
                    one,
                    log=note,
                    progress=progress,
                    annotated=annotated,
                    shared=shared,
                    team=team,
                )
            )
        return tunings.finish(results, progress=progress, annotated=annotated, team=team)


@contextmanager
def opened(
    experiment: Experiment, *, log: Callable[[str], None], fresh: bool = False
) -> Iterator[Tunings]:
    """Hold the folder of an experiment with replicas; see `run`."""
    with open_run(
        experiment.tune.output,
        experiment.fingerprint(),
        origin=str(experiment.path),
        fresh=fresh,
    ) as folder:

        def note(line: str) -> None:
            folder.log(line)
            log(line)

        write_inputs(folder.path, experiment)
        yield Tunings(experiment, folder, note)


@dataclass(frozen=True)
class Tunings:
    """Holds an experiment with replicas and its folder, which is locked."""

    experiment: Experiment
    folder: RunFolder
    note: Callable[[str], None]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seed of each replica."""
        tune = self.experiment.tune
        return tuple(streams.replica(tune.seed, n) for n in range(1, tune.replicas + 1))

    def replica(self, number: int) -> tuple[Experiment, Shared]:
        """Return replica `number` as an experiment, and what it has in common with the others."""
        tune = replace(
            self.experiment.tune,
            output=self.folder.replica(number),
            seed=self.seeds[number - 1],
            replicas=1,
        )
        shared = Shared(
            annotations=self.folder.annotations,
            split_seed=self.experiment.tune.seed,
            first=None if number == 1 else self.folder.replica(1) / "iteration-01",
        )
        return replace(self.experiment, tune=tune), shared

    def finish(
        self,
        results: Sequence[Result],
        *,
        progress: Progress,
        annotated: Progress | None = None,
        team: Team = LOCAL,
    ) -> Replicated:
        """Average what the replicas found, and score it."""
        evaluator = Evaluator(
            self.experiment,
            annotations=self.folder.annotations,
            scratch=self.folder.scratch,
            split_seed=self.experiment.tune.seed,
            note=self.note,
            progress=progress,
            annotated=annotated,
            team=team,
        )
        with closing(evaluator):
            return _finish(evaluator, self.folder, self.seeds, tuple(results))


def _finish(
    evaluator: Evaluator,
    folder: RunFolder,
    seeds: tuple[int, ...],
    results: tuple[Result, ...],
) -> Replicated:
    experiment = evaluator.experiment
    weights = averaged([result.weights for result in results])
    scores = np.array([result.score for result in results])
    mean, spread = float(scores.mean()), deviation(scores)
    dev, held_out = _dev(evaluator, weights, folder)
    test = evaluator.test(weights, lambda: folder.test)
    weights_path, config_path = folder.path / "weights.json", folder.path / CONFIG_NAME
    write_text(weights_path, weights.to_json() + "\n")
    signature = experiment.metric.signature
    header = (
        f"Tuned by portmert {portmert.__version__} on {signature}: average of {len(results)} "
        f"replicas, dev score {dev.score:.6f}, seed {experiment.tune.seed}, {today()}"
    )
    experiment.decoder.write_config(weights, config_path, header=header)
    found = Replicated(
        metric=signature,
        seeds=seeds,
        replicas=results,
        mean=mean,
        spread=spread,
        dev=dev,
        held_out=held_out,
        test=test,
        weights=weights,
        weights_path=weights_path,
        config_path=config_path,
    )
    write_json(folder.path / "result.json", found.as_json())
    shown = experiment.metric.shown
    evaluator.note(
        f"{counted(len(results), 'replica')}: dev {shown(mean)} (standard deviation "
        f"{shown(spread)}), averaged weights {shown(dev.score)}"
    )
    return found


def _dev(
    evaluator: Evaluator, weights: FeatureWeights, folder: RunFolder
) -> tuple[Scored, Scored | None]:
    """Decode and score the dev set, and what is held out, under the averaged weights."""
    out, scores = folder.average / "nbest.gz", folder.average / "scores.json"
    if not scores.exists():
        evaluator.note("decoding the dev set under the averaged weights")
        evaluator.decode(weights, out, source=evaluator.experiment.data.source, size=1)
        dev, held_out = evaluator.dev(evaluator.read(out))
        held_out = held_out or evaluator.held_out(weights, folder.average)
        write_json(
            scores,
            {
                "metric": evaluator.signature,
                "dev": asdict(dev),
                "held_out": None if held_out is None else asdict(held_out),
            },
        )
    kept = read_json(scores, dev=dict)
    first = read_scored(scores, kept, "dev")
    assert first is not None  # noqa: S101  it is a dict
    return first, read_scored(scores, kept, "held_out")
