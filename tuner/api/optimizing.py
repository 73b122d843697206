"""Tuned weights: `optimize` and its result."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Unpack

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric
from portmert.tuner.api.components import as_metric
from portmert.tuner.api.counts import Pooled
from portmert.tuner.api.lists import ListsLike, as_lists
from portmert.tuner.api.searching import Ended, ListProblem, SearchOptions, list_problem, setup_of
from portmert.tuner.api.texts import Notice, Phases, Progress, log_notice, once, phase
from portmert.tuner.components.comet import neural
from portmert.tuner.executors.opening import opened
from portmert.tuner.ground.documents import to_json
from portmert.tuner.ground.errors import ConfigError
from portmert.tuner.nbest.model import best_hypotheses, model_scores
from portmert.tuner.search.optimization import Optimization, Setup, equal_weights
from portmert.tuner.search.problem import StatTable
from portmert.tuner.search.weight_bootstrap import Confidence, bootstrap, confidence
from portmert.tuner.texts.prepare import counts, depth
from portmert.tuner.weights.feature_weights import FeatureWeights


@dataclass(frozen=True, eq=False)
class Optimized:
    """Tuned weights and their scores.

    Parameters
    ----------
    weights : FeatureWeights
        By name: `weights.values["LM"]`.
    score, start_score, oracle_score : float
        The score under `weights`, the score under the start weights, and about the best score
        that any choice of hypotheses could reach; on the metric's own scale.
    unseen_score, unseen_error : float or None
        An estimate of the score on unseen text, with its standard error; None where the optimizer
        holds no segments out.
    length_penalty : float or None
        The power of the length that model scores are divided by; None where none was asked for.
    signature : str
        The metric and all else that scores depend on.
    metric : Metric
    found : Optimization
        Everything that the search found.
    bootstrap : Confidence or None
        How the weights vary over resampled sets of segments.
    also : tuple of OtherScore
        The scores of the weights by other metrics.
    annotations : dict
        Where texts were annotated: `annotated` hypotheses, and how many sentences the cache had
        (`hits`), were new (`misses`), and have no parse (`failed`).
    annotated_by : str
        The annotator; also the depth of its lists of parses where that is less than asked for.
    seconds : dict
        The time of each phase.
    """

    weights: FeatureWeights
    score: float
    start_score: float
    oracle_score: float
    unseen_score: float | None
    unseen_error: float | None
    length_penalty: float | None
    signature: str
    metric: Metric = field(repr=False)
    found: Optimization = field(repr=False)
    bootstrap: Confidence | None = field(repr=False)
    annotations: dict[str, int] = field(repr=False)
    annotated_by: str = field(repr=False)
    seconds: dict[str, float] = field(repr=False)
    also: tuple[OtherScore, ...] = field(default=(), repr=False)

    @property
    def vector(self) -> FloatArray:
        """(F,) float64: the weights of the dense features, in the order of their columns."""
        return self.weights.vector(self.weights.names)

    def to_json(self) -> str:
        """Return the text of a file of weights; nothing in it changes from run to run."""
        content: dict[str, object] = {
            **self._weights(),
            "metric": self.signature,
            "score": self.score,
        }
        return to_json(content) + "\n"

    def as_json(self) -> dict[str, object]:
        """Return what `portmert optimize --json` prints."""
        found = self.found
        return {
            "start_score": self.start_score,
            "final_score": self.score,
            "unseen_score": self.unseen_score,
            "unseen_error": self.unseen_error,
            "oracle_score": self.oracle_score,
            **({"also": [other.as_json() for other in self.also]} if self.also else {}),
            "restarts": list(found.restarts),
            **self._weights(),
            "hypotheses": found.hypotheses,
            **self.annotations,
            "line_searches": found.line_searches,
            **({} if self.bootstrap is None else {"bootstrap": self.bootstrap.as_json()}),
            "seconds": {phase: round(value, 3) for phase, value in self.seconds.items()},
        }

    def _weights(self) -> dict[str, object]:
        numbers = {name: list(values) for name, values in self.weights.values.items()}
        alpha = self.length_penalty
        return {"weights": numbers, **({} if alpha is None else {"length_penalty": alpha})}


@dataclass(frozen=True)
class OtherScore:
    """The score of tuned weights by another metric.

    Parameters
    ----------
    metric : Metric
    signature : str
        The metric and all else that scores depend on.
    start_score, score : float
        The score under the start weights, and under the weights found.
    unseen_score : float or None
        The score of hypotheses chosen while their segment was held out; None where none was.
    """

    metric: Metric = field(repr=False)
    signature: str
    start_score: float
    score: float
    unseen_score: float | None

    def as_json(self) -> dict[str, object]:
        """Return what `portmert optimize --json` prints."""
        return {
            "metric": self.signature,
            "start_score": self.start_score,
            "final_score": self.score,
            "unseen_score": self.unseen_score,
        }

    def __str__(self) -> str:
        shown = self.metric.shown
        unseen = "" if self.unseen_score is None else f", unseen {shown(self.unseen_score)}"
        return f"{self.signature}: {shown(self.start_score)} -> {shown(self.score)}{unseen}"


def optimize(
    lists: ListsLike,
    metric: str | Metric | None = None,
    *,
    also: Sequence[str | Metric] = (),
    samples: int = 0,
    notice: Notice = log_notice,
    progress: Phases | None = None,
    **search: Unpack[SearchOptions],
) -> Optimized:
    """Find the weights under which the lists' best hypotheses score highest.

    Parameters
    ----------
    lists
        The n-best lists with their references, `Lists`; or the names of files.
    metric
        The metric to tune on, as `"port"` or `"bleu:smooth=add1"`; none for `Lists.from_arrays`
        with scores.
    also
        Other metrics that report the score of the weights.
    samples
        Tune again on so many resampled sets of segments, to see how the weights vary.
    notice
        Called with one line for each thing worth knowing. Default: the log `portmert`.
    progress
        Called with a phase and how much of it is done, of how much: `"annotating"` sentences,
        `"searching"` restarts, `"sampling"` resampled sets.
    **search
        `weights` (the start), `optimizer`, `constraints`, `length_penalty`, `prior`, `seed`,
        `threads` and `executor`, see `SearchOptions`.

    Raises
    ------
    PortmertError
        Lists, references and metric do not fit, or an option is wrong.
    ValueError
        A wrong call: there is no metric, or arrays do not fit it.

    Examples
    --------
    Two segments with two hypotheses each; the second of each scores higher:

    >>> import numpy as np, portmert
    >>> features = np.array([[[1.0, 0.0], [0.0, 2.0]], [[2.0, 0.0], [0.0, 1.0]]])
    >>> lists = portmert.Lists.from_arrays(features, scores=[[0.1, 0.9], [0.2, 0.8]])
    >>> found = portmert.optimize(lists, optimizer="mert")
    >>> round(found.start_score, 4), round(found.score, 4)
    (0.55, 0.85)
    >>> best = np.argmax(features @ found.vector, axis=1)
    >>> best.tolist()
    [1, 1]
    """
    begin, notice = time.perf_counter(), once(notice)
    start, setup = setup_of(search)
    chosen = None if metric is None else as_metric(metric)
    judges = list({one.signature: one for one in map(as_metric, also)}.values())
    given = as_lists(lists, notice)
    executor = search.get("executor", "local")
    if isinstance(given.counts, Pooled) and (samples or executor != "local"):
        raise ConfigError("a pool on disk does not go with samples or an executor")
    if chosen is not None:
        remind(chosen, also, notice)
    with (
        _workers(executor, setup, samples or given.annotator, notice) as setup,
        list_problem(
            given,
            chosen,
            also=judges,
            start=start,
            length_penalty=search.get("length_penalty"),
            threads=setup.threads,
            notice=notice,
            progress=phase(progress, "annotating"),
            team=setup.team,
        ) as problem,
    ):
        ended = problem.search(setup, notice, phase(progress, "searching"))
        sure = _confidence(
            ended, problem.metric, setup, samples, notice, phase(progress, "sampling")
        )
        result = _result(problem, ended, begin, sure)
        if judges:
            begun = setup.starts[0] if setup.starts else equal_weights(ended.nbest.feature_names)
            said = _others(judges, problem, ended, begun, threads=setup.threads, notice=notice)
            result = replace(result, also=said)
        annotator_used = problem.ready.annotator
        if annotator_used is None:
            return result
        seconds = {**result.seconds, "annotating": annotator_used.seconds}  # of the others
        seconds["total"] = seconds.pop("total")
        annotations = {"annotated": ended.stats.known, **counts(annotator_used)}
        by = f"{annotator_used.name}{depth(annotator_used)}"
        return replace(result, seconds=seconds, annotations=annotations, annotated_by=by)


def _others(
    metrics: Sequence[Metric],
    problem: ListProblem,
    ended: Ended,
    start: FeatureWeights,
    *,
    threads: int,
    notice: Notice,
) -> tuple[OtherScore, ...]:
    """Return the scores, by other metrics, of the hypotheses before and after a search."""
    read = problem.read
    chosen = [
        read.best(start, problem.start_alpha),
        best_hypotheses(ended.nbest, model_scores(ended.nbest, ended.found.weights)),
    ]
    if ended.found.unseen_rows is not None:
        chosen.append(ended.found.unseen_rows)
    found = []
    for metric in metrics:
        stats = read.statistics(metric, threads=threads, notice=notice, lazily=True)

        def score(rows: IntArray, metric: Metric = metric, stats: StatTable = stats) -> float:
            return float(metric.score(stats.total(np.asarray(rows, dtype=np.int64))))

        scores = [score(rows) for rows in chosen]
        found.append(
            OtherScore(
                metric,
                problem.ready.signature(metric, read.references.offsets),
                scores[0],
                scores[1],
                scores[2] if len(scores) > 2 else None,
            )
        )
    return tuple(found)


def remind(metric: Metric, also: Sequence[object], notice: Notice) -> None:
    """Advise another metric where scores come from a network or from outside."""
    if also or not (metric.of_lists or any(neural(metric))):
        return
    notice(
        f"{metric.name()}: such scores may reward what readers do not want, and tuning finds it; "
        f"report other metrics too: --also chrf"
    )


@contextmanager
def _workers(executor: str, setup: Setup, others: object, notice: Notice) -> Iterator[Setup]:
    """Give the setup with the team of the executor, and notice a cluster without work.

    `others` is true if there is more to do than restarts.
    """
    with opened(executor, threads=1, notice=notice) as team:
        if team.is_remote and not others and setup.optimizer.restarts <= setup.threads:
            notice(
                f"workers have nothing to do: they get bootstrap samples, sentences to annotate, "
                f"and restarts where they are more than the {setup.threads} threads here"
            )
        yield replace(setup, team=team)


def _result(
    problem: ListProblem, ended: Ended, begin: float, sure: Confidence | None
) -> Optimized:
    found = ended.found
    return Optimized(
        weights=found.weights,
        score=found.final_score,
        start_score=found.start_score,
        oracle_score=found.oracle_score,
        unseen_score=found.unseen_score,
        unseen_error=found.unseen_error,
        length_penalty=ended.alpha,
        signature=problem.signature,
        metric=problem.metric,
        found=found,
        bootstrap=sure,
        annotations={},
        annotated_by="",
        seconds={**ended.seconds, **found.seconds, "total": time.perf_counter() - begin},
    )


def _confidence(
    ended: Ended,
    metric: Metric,
    setup: Setup,
    samples: int,
    notice: Notice,
    progress: Progress | None,
) -> Confidence | None:
    """Tune again on bootstrap samples of the segments, beginning at the weights found."""
    if not samples:
        return None
    start = setup.starts[0] if setup.starts else equal_weights(ended.nbest.feature_names)
    again = replace(setup, starts=(ended.found.weights,), toward=start)
    found = dict(
        bootstrap(
            ended.nbest,
            ended.stats,
            metric,
            again,
            range(samples),
            notice=notice,
            progress=progress,
        )
    )
    return confidence([found[sample] for sample in range(samples)])
