"""Tune several times from different seeds, and average the weights.

One tuning's gain may be luck of its seed. Clark et al. (ACL 2011) ask for at least three tunings;
the average of their weights tends to do better than each (Cherry & Foster, NAACL 2012). Each
replica has a folder `replica-N` of its own in the run's folder and goes on where it was
interrupted. The first replica has the run's own seed and ends as a run without replicas would.

Two kinds of tuning are replicated here: the outer loop of `tune` and `reproduce`, whose replicas
begin at the same weights and share the first n-best list, and searches on given lists
(`portmert.tuner.api.replicating`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import portmert
from portmert.metrics._base import Metric
from portmert.metrics._display import NOTHING

from ..base import files, streams, tables
from ..base.errors import counted
from ..base.frames import Framed
from ..base.json_toml import plain
from ..base.variation import deviation
from ..base.warn import notice, notices_behind
from ..search import contributions
from ..search.averaging import averaged, weight_spreads
from ..search.contributions import Contribution
from ..weights.feature_weights import FeatureWeights
from . import experiment as single
from .config import Experiment
from .folder import CONFIG_NAME, RunFolder, Shared, today
from .records import AverageScores, Scored, equal_to_start, finish, is_finished, read_file
from .result import Iteration, Result
from .scorer import Evaluator

SCORES = ("dev_score", "unseen_score", "test_score")
SHOWN = ("dev_score", "held_out_score", "unseen_score", "test_score")
BEFORE = {"first hypotheses": "first", "start weights": "start"}
"""Rows of what was not tuned, and their keys in result.json."""


class Chosen(NamedTuple):
    """One hypothesis for each segment: the files of their texts and of their word alignments.

    `rows` (S,) int64 are their positions in the lists.
    """

    text: Path
    rows: Any
    links: Path | None = None


@dataclass(frozen=True, eq=False)
class Replicas(Framed):
    """The result of several tunings; `str()` of it is a table of their scores.

    Parameters
    ----------
    weights : FeatureWeights
        The average of the replicas' weights. Each is scaled first: in `tune` so that the absolute
        values sum to 1, in `replicate` so that the model scores on the lists have equal spread.
    document
        The content of result.json.
    metric : Metric
        The metric tuned on.
    folder
        The folder of the run.
    results
        The result of each replica of `tune`; empty for `replicate`.
    baselines
        Name -> files of other choices from the test lists, if `replicate` was asked for them.
    contributions
        What each averaged weight does in the lists; empty for `tune`.
    """

    weights: FeatureWeights
    document: dict[str, Any] = field(repr=False)
    metric: Metric = field(repr=False)
    folder: Path = field(repr=False)
    results: tuple[Result, ...] = field(default=(), repr=False)
    baselines: dict[str, Chosen] = field(default_factory=dict, repr=False)
    contributions: Sequence[Contribution] = field(default=(), repr=False)

    @property
    def weights_path(self) -> Path:
        """The file of the averaged weights."""
        return self.folder / "weights.json"

    @property
    def config_path(self) -> Path:
        """The decoder's configuration with the averaged weights; `replicate` writes none."""
        return self.folder / CONFIG_NAME

    @property
    def warnings(self) -> tuple[str, ...]:
        """What looks wrong with the data, one line each."""
        return tuple(self.document.get("warnings", ()))

    def as_json(self) -> dict[str, Any]:
        """Return the content of result.json."""
        return self.document

    @property
    def frame_rows(self) -> Sequence[Mapping[str, Any]]:
        """A row for each averaged weight, with what it does in the lists."""
        return [row._asdict() for row in self.contributions] or self.weights.frame_rows

    @property
    def weights_table(self) -> tables.Table:
        """The averaged weights, with what each does where that is known."""
        rows = self.contributions or contributions.of_weights(self.weights)
        return contributions.table(rows, self.metric)

    def _repr_html_(self) -> str:
        """Return the tables as a notebook shows them."""
        return tables.preformatted(str(self))

    def __str__(self) -> str:
        return f"{self._scores.text()}\n\n{self.weights_table.text()}"

    @property
    def _scores(self) -> tables.Table:
        """The scores of each replica and of the average."""
        document = self.document
        average = {**document["average"]}
        average["test_score"] = (average["test"] or {}).get("score")
        rows: list[tuple[str, Mapping[str, Any]]] = [
            *((_named(replica), replica) for replica in document["replicas"]),
            *(
                (kind, {key: document[key][kind] for key in SCORES if document.get(key)})
                for kind in ("mean", "sd")
            ),
            ("averaged weights", average),
            *((label, document[key]) for label, key in BEFORE.items() if key in document),
        ]
        keys = [key for key in SHOWN if any(row.get(key) is not None for _, row in rows)]
        unseen = " unseen: the search's own estimate for other text." * ("unseen_score" in keys)
        return tables.Table(
            f"{self.metric.display.labelled(document['metric'])}: "
            f"{counted(len(document['replicas']), 'replica')}",
            ["", *(key.removesuffix("_score").replace("_", " ") for key in keys)],
            [
                [name, *(self._cell(row, key, is_spread=name == "sd") for key in keys)]
                for name, row in rows
            ],
            note=f"dev: on the lists tuned on.{unseen} sd: standard deviation over replicas.",
        )

    def _cell(self, row: Mapping[str, Any], key: str, *, is_spread: bool) -> str:
        if row.get(key) is None:
            return NOTHING if is_spread else ""
        if is_spread:
            return self.metric.display.shown_spread(row[key])
        error = row.get("unseen_error") if key == "unseen_score" else None
        display = self.metric.display
        return display.shown(row[key]) + (f" ± {display.shown_spread(error)}" if error else "")


def write_result(
    folder: Path,
    metric: Metric,
    rows: Sequence[Mapping[str, Any]],
    weights: Sequence[FeatureWeights],
    average: tuple[Scored, Scored | None, Scored | None],
    *,
    scores: Sequence[str],
    warnings: Sequence[str] = (),
    left_out: int = 0,
    before: Mapping[str, Mapping[str, float | None]] | None = None,
    shares: Sequence[Contribution] = (),
) -> dict[str, Any]:
    """Write result.json of a run with replicas, and return its content.

    Parameters
    ----------
    rows, weights
        The line of each replica in result.json, and its weights.
    average
        Scores of the dev set, of what is held out and of the test set under the averaged weights;
        None where there is no such set.
    scores
        The keys of `rows` whose mean and standard deviation (of a sample, n - 1) are written.
    warnings
        What looks wrong with the data.
    left_out
        The number of segments that lack an answer and were left out.
    before
        Scores of the first hypotheses (`first`) and under the start weights (`start`), if known.
    shares
        What each averaged weight does in the lists, if known.
    """
    dev, held_out, test = average
    document: dict[str, Any] = {
        "metric": metric.signature,
        "higher_is_better": metric.higher_is_better,
        **(before or {}),
        **{key: _mean([row[key] for row in rows]) for key in scores},
        "average": {
            "dev_score": dev.score,
            "held_out_score": None if held_out is None else held_out.score,
            "test": None if test is None else asdict(test),
        },
        "replicas": list(rows),
        "weights": weight_spreads(weights),
        **({"warnings": list(warnings)} if warnings else {}),
        **({"left_out": left_out} if left_out else {}),
    }
    content: dict[str, Any] = metric.display.with_rates(plain(document))
    if shares:  # behind it: a feature may be called score
        content |= contributions.as_json(shares)
    finish(folder / "result.json", content, alone=True)
    return content


def row(number: int, seed: int, best: Iteration, stopped: str, **scores: Any) -> dict[str, Any]:
    """Return the line in result.json of a replica of the loop, by the iteration it is of."""
    return {
        "folder": f"replica-{number}",
        "seed": streams.replica(seed, number),
        "dev_score": best.dev_score,
        **scores,
        "best_iteration": best.number,
        "equals_start": best.number == 1,
        "stopped": stopped,
    }


def notice_scores(document: Mapping[str, Any], metric: Metric) -> None:
    """Show the scores in result.json of replicas and their average, and who ended at the start."""
    display, scores, spread = metric.display, document["dev_score"], ""
    if scores["sd"] is not None:
        spread = f" (standard deviation {display.shown_spread(scores['sd'])})"
    notice(
        f"{counted(len(document['replicas']), 'replica')}: {display.labelled('dev')} "
        f"{display.shown(scores['mean'])}{spread}, averaged weights "
        f"{display.shown(document['average']['dev_score'])}"
    )
    if line := _equal_to_start(document["replicas"]):
        notice(line)


def _equal_to_start(rows: Sequence[Mapping[str, Any]]) -> str:
    return equal_to_start([row["folder"] for row in rows if row["equals_start"]], len(rows))


def _named(replica: Mapping[str, Any]) -> str:
    return str(replica["folder"]) + (" (start weights)" if replica.get("equals_start") else "")


def _mean(scores: Sequence[float | None]) -> dict[str, float | None] | None:
    """Return mean and standard deviation; None where a score is missing."""
    values = [score for score in scores if score is not None]
    if len(values) < len(scores):
        return None
    return {"mean": float(np.mean(values)), "sd": deviation(values)}


# Replicas of the outer loop.


def run(experiment: Experiment, *, fresh: bool = False) -> Result | Replicas:
    """Tune as often as the experiment says, one replica after the other, and average.

    Parameters: see `portmert.tuner.runs.experiment.run`.
    """
    if experiment.tune.replicas == 1:
        return single.run(experiment, fresh=fresh)
    with single.open_folder(experiment, fresh=fresh) as folder, folder.logging():
        tunings, results = _Tunings(experiment, folder), []
        for number, (replica, shared) in enumerate(tunings.replicas(), 1):
            with notices_behind(f"replica {number}"):
                results.append(single.run(replica, shared=shared))
        return tunings.finish(results)


@dataclass(frozen=True)
class _Tunings:
    """An experiment with replicas and its folder, which is locked."""

    experiment: Experiment
    folder: RunFolder

    def replicas(self) -> Iterator[tuple[Experiment, Shared]]:
        """Yield each replica as an experiment, and what it has in common with the others."""
        whole = self.experiment.tune
        for number in range(1, whole.replicas + 1):
            folder = self.folder.replica(number)
            tune = replace(
                whole, output=folder, seed=streams.replica(whole.seed, number), replicas=1
            )
            shared = Shared(
                annotations=self.folder.annotations,
                split_seed=whole.seed,
                first=None if number == 1 else self.folder.replica(1) / "iteration-01",
            )
            yield replace(self.experiment, tune=tune), shared

    def finish(self, results: Sequence[Result]) -> Replicas:
        """Average the weights of the replicas, decode and score with the average, write all."""
        experiment, path = self.experiment, self.folder.path
        evaluator = Evaluator(experiment, self.folder)
        weights = averaged(
            [result.weights for result in results], constraints=experiment.constraints
        )
        self._forget_another_average(weights)
        with closing(evaluator):
            test = evaluator.test(weights, path / "test")
            average = (*self._dev(evaluator, weights), test)
        files.write_text(path / "weights.json", weights.to_json() + "\n")
        signature = experiment.metric.signature
        header = (
            f"Tuned by portmert {portmert.__version__} on {signature}: average of {len(results)} "
            f"replicas, dev score {average[0].score:.6f}, seed {experiment.tune.seed}, {today()}"
        )
        rows = [
            row(
                number,
                experiment.tune.seed,
                result.iterations[result.best - 1],
                result.stopped,
                held_out_score=result.held_out,
                test_score=None if result.test is None else result.test.score,
            )
            for number, result in enumerate(results, 1)
        ]
        if line := _equal_to_start(rows):
            header += f"\n{line}"
        experiment.decoder.write_config(weights, path / CONFIG_NAME, header=header)
        start, start_test = results[0].start_score, results[0].start_test
        before = None
        if start_test is not None:
            before = {"start": {"dev_score": start, "test_score": start_test.score}}
        document = write_result(
            path,
            experiment.metric,
            rows,
            [result.weights for result in results],
            average,
            scores=("dev_score",),
            warnings=tuple(dict.fromkeys(line for result in results for line in result.warnings)),
            left_out=sum(map(len, experiment.joined.left_out)),
            before=before,
        )
        notice_scores(document, experiment.metric)
        return Replicas(weights, document, experiment.metric, path, tuple(results))

    def _forget_another_average(self, weights: FeatureWeights) -> None:
        """Remove what was decoded under the average of fewer or more replicas."""
        folder, text = self.folder.path / "average", weights.to_json() + "\n"
        path = folder / "weights.json"
        if not path.exists() or path.read_bytes() != text.encode():
            for outdated in (self.folder.path / "test", folder):
                if outdated.exists():
                    shutil.rmtree(outdated)
            folder.mkdir()
            files.write_text(path, text)

    def _dev(self, evaluator: Evaluator, weights: FeatureWeights) -> tuple[Scored, Scored | None]:
        """Decode and score the dev set, and what is held out, under the averaged weights."""
        folder = self.folder.path / "average"
        out, scores = folder / "nbest.gz", folder / "scores.json"
        if not is_finished(scores):  # which may have removed the weights
            files.write_text(folder / "weights.json", weights.to_json() + "\n")
            notice("decoding the dev set under the averaged weights")
            if not out.exists():
                source = evaluator.experiment.data.source
                evaluator.decode(weights, out, source=source, size=1)
            dev, held_out = evaluator.dev(evaluator.read(out))
            held_out = held_out or evaluator.held_out(weights, folder)
            finish(scores, AverageScores(evaluator.signature, dev, held_out))
        content = read_file(scores, AverageScores)
        return content.dev, content.held_out
