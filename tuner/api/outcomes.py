"""Scores in hand: choices of answers that need no search, and the comparison of all choices."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import portmert
from portmert.metrics._base import FloatArray, IntArray, Texts, Vocabulary
from portmert.tuner.api.lists import Lists, PreparedLists
from portmert.tuner.api.optimizing import ListProblem
from portmert.tuner.api.texts import PathLike
from portmert.tuner.components.external import Scores
from portmert.tuner.evaluation.comparison.material import Material
from portmert.tuner.evaluation.comparison.report import headlines
from portmert.tuner.evaluation.comparison.scores import Counted, described, score_systems
from portmert.tuner.evaluation.significance import Resampling
from portmert.tuner.ground.documents import plain
from portmert.tuner.ground.errors import ConfigError
from portmert.tuner.nbest.extra import answers_of, numbers_of
from portmert.tuner.nbest.model import NBest, model_scores
from portmert.tuner.runs.replicas import Chosen
from portmert.tuner.search.oracle import oracle
from portmert.tuner.search.problem import within_segment_spread
from portmert.tuner.texts.corpus import no_references
from portmert.tuner.texts.mbr import by_model
from portmert.tuner.weights.feature_weights import FeatureWeights

TUNED = "tuned"
SPREAD = 2.0
"""Spread of the model scores within segments of whose softmax votes are weighted."""

Files = PathLike | Sequence[PathLike]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Scores of the hypotheses of test lists that are in hand, and final answers to vote on.

    Parameters
    ----------
    scores
        Name -> files, one for each test list: a number for each hypothesis, more is better.
    answers
        Files, one for each test list, with the final answer of each hypothesis; or none.
    """

    scores: Mapping[str, Files] = field(default_factory=dict)
    answers: Files = ()

    def check(self, test: Lists) -> None:
        """Read all files, before a search.

        Raises
        ------
        PortmertError
            A file is wrong, or nothing judges the votes.
        """
        if self.answers and not self.scores:
            raise ConfigError("--test-answers: nothing judges the votes; give --test-scores")
        for name in self.scores:
            self._table(test.nbest, name)
        if self.answers:
            self._answers(test.nbest)

    def choices(
        self,
        problem: ListProblem,
        test: PreparedLists,
        average: FeatureWeights,
        alone: Sequence[FeatureWeights],
    ) -> dict[str, IntArray]:
        """Return name -> (S,) rows of the test lists, see `MoreChoices`.

        `equal weights`: the sum of all features, each divided by its spread within segments and
        with the sign that chooses better on the lists tuned on. `votes`: the most frequent answer.
        `weighted votes`: the same, a vote counting by the softmax of the model score under the
        averaged weights. `oracle`: the best by the first of the scores.
        """
        if not self.scores:
            return {}
        dev, nbest, alpha = problem.read.nbest, test.nbest, problem.penalty.low
        signs = np.sum([one.vector(dev.feature_names, origin="weights") for one in alone], axis=0)
        spread = within_segment_spread(np.ascontiguousarray(dev.features.T), dev.offsets)
        equal = FeatureWeights.from_vector(dev.feature_names, signs / spread)
        found = {"equal weights": test.best(equal, alpha)}
        if self.answers:
            scores = model_scores(test.penalised(alpha), average)
            by = SPREAD / float(within_segment_spread(scores[np.newaxis], nbest.offsets)[0])
            weights = by_model(nbest.offsets, scores, temperature=by)
            answers = self._answers(nbest)
            found["votes"] = elected(nbest, answers, np.ones(len(weights)))
            found["weighted votes"] = elected(nbest, answers, weights)
        table = self._table(nbest, next(iter(self.scores)))
        start = nbest.offsets[:-1]
        return found | {"oracle": oracle(table, nbest.offsets, Scores("scores"), start)[1]}

    def counted(self, test: NBest, choices: Iterable[Chosen]) -> list[Counted]:
        """Return the statistics of all choices under each of the scores."""
        rows = np.stack([one.rows for one in choices])
        return [
            Counted(name, Scores(",".join(map(str, _paths(files)))), self._table(test, name)[rows])
            for name, files in self.scores.items()
        ]

    def _table(self, test: NBest, name: str) -> FloatArray:
        """Return the (H, 2) statistics of the test lists under one of the scores."""
        files = _paths(self.scores[name])
        values = numbers_of(test, files, where=f"--test-scores {name}")
        return np.column_stack([values, np.ones(len(values))])

    def _answers(self, test: NBest) -> IntArray:
        return answers_of(test, _paths(self.answers), where="--test-answers")


def elected(nbest: NBest, answers: IntArray, weights: FloatArray) -> IntArray:
    """Return (S,) the row of highest weight among those whose answer has most votes.

    Equal hypotheses that were dropped vote as those that were kept. Of equal answers, and of equal
    rows, the first in the list is taken. A hypothesis without an answer is taken only where none
    has one.

    Parameters
    ----------
    answers : (L,) int64
        The answer of each hypothesis of the files, -1 for none.
    weights : (H,) float64
        What the vote of each row counts; not below 0.
    """
    pairs = np.column_stack([nbest.segments_in_files, answers])
    groups = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    kept = groups[nbest.lines]
    times = np.bincount(groups) / np.maximum(np.bincount(kept, minlength=groups.max() + 1), 1)
    votes: FloatArray = np.bincount(kept, weights, minlength=len(times)) * times
    totals = np.where(answers[nbest.lines] < 0, -1.0, votes[kept])
    found = []
    for begin, end in pairwise(nbest.offsets.tolist()):
        best = kept[begin + int(np.argmax(totals[begin:end]))]
        own = np.where(kept[begin:end] == best, weights[begin:end], -1.0)
        found.append(begin + int(np.argmax(own)))
    return np.array(found)


def judged(
    counted: Sequence[Counted], systems: Mapping[str, int], tuned_on: str
) -> dict[str, Any]:
    """Compare systems by statistics in hand, without texts: a document as `compare` makes it.

    Parameters
    ----------
    counted
        The statistics of all outputs, those of the first system first.
    systems
        Name -> number of outputs.
    tuned_on
        The signature of the metric that the first system was tuned on.
    """
    resampling, segments = Resampling(), counted[0].stats.shape[1]
    owners = np.repeat(np.arange(len(systems)), list(systems.values()))
    texts = Texts.from_lines([], Vocabulary())
    material = Material(owners, texts, no_references(Vocabulary(), segments))
    found = {
        "kind": "comparison",
        "portmert": portmert.__version__,
        "headlines": (),
        "tuning_luck_untested": ["averaged"],
        "notes": [],
        "samples": resampling.samples,
        "seed": resampling.seed,
        "confidence": resampling.level,
        "systems": [
            {
                "name": name,
                "kind": "files" if number else "run",
                "replicas": outputs,
                "tuned_on": None if number else tuned_on,
            }
            for number, (name, outputs) in enumerate(systems.items())
        ],
        "metrics": [described(one, one.metric.signature) for one in counted],
        "scores": score_systems(list(systems), material, counted, resampling),
    }
    document: dict[str, Any] = plain(found)
    return {**document, "headlines": list(headlines(document))}


def _paths(files: Files) -> tuple[Path, ...]:
    """Return files; several may be one text, with commas between them."""
    several = str(files).split(",") if isinstance(files, Path | str) else files
    return tuple(Path(one) for one in several)
