"""Optimizes weights over n-best lists, arrays, and Moses' files of features and scores."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from portmert.metrics._base import FloatArray, Metric
from portmert.tuner.annotation.annotators._base import Annotator
from portmert.tuner.api.also import OtherScore, others, remind
from portmert.tuner.api.arrays import lists_of_arrays
from portmert.tuner.api.components import as_metric
from portmert.tuner.api.lists import ListsLike
from portmert.tuner.api.pooling import Pooled
from portmert.tuner.api.searching import (
    ConstraintsLike,
    Ended,
    WeightsLike,
    as_weights,
    influences,
    list_problem,
    setup_of,
)
from portmert.tuner.api.texts import (
    Notice,
    PathLike,
    Progress,
    TextLike,
    log_notice,
    once,
    pipeline_of,
    text_file,
    text_files,
)
from portmert.tuner.components.formula import Formula
from portmert.tuner.executors.opening import opened
from portmert.tuner.ground.documents import to_json
from portmert.tuner.ground.errors import ConfigError, InputError
from portmert.tuner.nbest.model import without_texts
from portmert.tuner.nbest.moses_dat import read_dat
from portmert.tuner.nbest.readers._base import Reader
from portmert.tuner.search import DEFAULT_OPTIMIZER
from portmert.tuner.search.optimization import Optimization, Setup, equal_weights, optimize_stats
from portmert.tuner.search.optimizers._base import Optimizer
from portmert.tuner.search.problem import StatTable
from portmert.tuner.search.stat_tables import moses_stats
from portmert.tuner.search.weight_bootstrap import Confidence, bootstrap, confidence
from portmert.tuner.texts.prepare import counts, depth
from portmert.tuner.texts.prepare import signature as signature_of
from portmert.tuner.texts.text_pipeline import TextPipeline
from portmert.tuner.weights.feature_weights import FeatureWeights


@dataclass(frozen=True, eq=False)
class Optimized:
    """Holds tuned weights, and what they were found on.

    Parameters
    ----------
    weights : FeatureWeights
        By name: `weights.values["LM"]`.
    score, start_score, oracle_score : float
        Of the best hypotheses under `weights`, under the start weights, and of about what perfect
        weights could reach; on the metric's own scale.
    unseen_score, unseen_error : float or None
        An estimate of the score of `weights` on unseen text, with its standard error; None where
        the optimizer holds no segments out.
    length_penalty : float or None
        The power of the length that model scores are divided by; None where none was asked for.
    signature : str
        The metric and all else that scores depend on.
    metric : Metric
    found : Optimization
        All that the search found.
    bootstrap : Confidence or None
        How weights vary over resampled sets of segments.
    also : tuple of OtherScore
        What other metrics say of the weights.
    annotations : dict
        Where texts were annotated: `annotated` hypotheses, and how many sentences the cache had
        (`hits`), were new (`misses`), and have no parse (`failed`).
    annotated_by : str
        The annotator, and how deep its lists of parses are where that is less than asked for.
    seconds : dict
        Of each phase.
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


def optimize(
    lists: ListsLike | ArrayLike,
    refs: Sequence[TextLike] | PathLike = (),
    *,
    metric: str | Metric | None = None,
    also: Sequence[str | Metric] = (),
    scores: ArrayLike | None = None,
    stats: ArrayLike | None = None,
    offsets: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    source: TextLike | None = None,
    ref_links: Sequence[TextLike] | PathLike = (),
    ids: bool = False,
    nbest_format: str | Reader = "auto",
    extra_features: Sequence[str] = (),
    text: str | Sequence[str] | TextPipeline = "",
    text_model: PathLike | None = None,
    annotator: str | Annotator | None = None,
    annotation_cache: PathLike | None = None,
    pool: PathLike | None = None,
    weights: WeightsLike | None = None,
    optimizer: str | Optimizer = DEFAULT_OPTIMIZER,
    options: Mapping[str, object] | None = None,
    constraints: ConstraintsLike | None = None,
    length_penalty: str | float | None = None,
    prior: float = 0.0,
    samples: int = 0,
    seed: int = 1,
    threads: int = 0,
    executor: str = "local",
    notice: Notice = log_notice,
    progress: Progress | None = None,
    searching: Progress | None = None,
    sampling: Progress | None = None,
) -> Optimized:
    """Find the weights under which the lists' best hypotheses score highest.

    Parameters
    ----------
    lists
        N-best lists: read by `read_nbest`, or the names of one or more files. Or plain arrays:
        features (S, N, F) of N hypotheses of each of S segments, or ragged, (H, F) with
        `offsets`.
    refs
        The references of lists: each the name of a file or a list of lines.
    metric
        What to tune on, as `"port"` or `"bleu:smooth=add1"`. With arrays: the metric of `stats`.
    also
        Other metrics, that only report what they say of the weights.
    scores : (S, N) or (H,), optional
        With arrays: a score of each hypothesis; the mean over segments is made high.
    stats : (S, N, K) or (H, K), optional
        With arrays: the sufficient statistics of each hypothesis, `metric.stats(batch)`.
    offsets : (S + 1,), optional
        Of ragged arrays: hypotheses of segment s are rows `offsets[s]:offsets[s + 1]`.
    feature_names
        Of arrays. Default: f0, f1 and so on.
    source, ref_links, nbest_format, text, text_model, annotator, annotation_cache
        As for `rerank` and `score`.
    ids
        Lines of refs, ref_links and source begin with the ids of their segments, as in Kaldi's
        `text`. Default: line n is of the n-th segment of the lists.
    extra_features
        As of `read_nbest`.
    pool
        A folder that features and statistics are kept in, in place of memory: for lists larger
        than that, and to search the same lists again without reading them. The result is the
        same. Made anew where it was made from anything else. What needs the texts, or a copy of
        everything, does not go with it; see docs/how-to/large-pools.md.
    weights
        Start weights: a file, weights by name, or an earlier result's. Default: all equal.
    optimizer, options
        By its name and options, as `"mert"` and `{"searches_per_feature": 1600}`, or itself.
    constraints
        Weights that are fixed, tied, bound or of one sign; or these as on the command line,
        `{"fixed": ["LM"], "bounds": ["TM=0:1"], "signs": ["WP=-"], "tied": ["LM,TM"]}`.
    length_penalty
        Divide model scores by length to this power; `"0:2"` is a range that is searched.
    prior
        Strength of a pull towards the start weights.
    samples
        Tune again on so many resampled sets of segments, to see how weights vary.
    seed
        Equal seeds give equal weights, whatever the number of threads.
    threads
        0: one for each processor.
    executor
        Where resampled sets, restarts beyond `threads` and annotations are done, as of
        `crossval`. No place changes a result.
    notice
        Called with one line for what is worth knowing. Default: the log `portmert`.
    progress, searching, sampling
        Called with how many sentences are annotated, restarts of the search and resampled sets
        are done, and of how many.

    Raises
    ------
    PortmertError
        Lists, references and metric do not fit, or an option is wrong.
    ValueError
        Arrays of shapes that do not fit.

    Examples
    --------
    Two segments with two hypotheses each; the second of each scores higher:

    >>> import numpy as np, portmert
    >>> features = np.array([[[1.0, 0.0], [0.0, 2.0]], [[2.0, 0.0], [0.0, 1.0]]])
    >>> found = portmert.optimize(features, scores=[[0.1, 0.9], [0.2, 0.8]], optimizer="mert")
    >>> round(found.start_score, 4), round(found.score, 4)
    (0.55, 0.85)
    >>> best = np.argmax(features @ found.vector, axis=1)
    >>> best.tolist()
    [1, 1]
    """
    begin, notice = time.perf_counter(), once(notice)
    start = as_weights(weights)
    setup = setup_of(start, optimizer, options, constraints, seed, threads, prior)
    if scores is not None or stats is not None:
        if also:
            raise ValueError("other metrics read texts: `also` goes with lists, not with arrays")
        of_stats = None if metric is None else as_metric(metric)
        nbest, table, chosen = lists_of_arrays(
            lists, scores, stats, offsets, feature_names, of_stats
        )
        known = StatTable(table)
        with _workers(executor, setup, samples, notice) as setup:
            found = optimize_stats(nbest, known, chosen, setup, notice=notice, progress=searching)
            ended = Ended(found, None, {}, nbest, known)
            sure = _confidence(ended, chosen, setup, samples, notice, sampling)
        return _result(ended, chosen, signature_of(chosen, "arrays"), begin, sure)
    if metric is None or isinstance(lists, np.ndarray):
        raise ValueError("give lists and a metric, or arrays with scores or stats")
    chosen = as_metric(metric)
    judges = list({one.signature: one for one in map(as_metric, also)}.values())
    remind(chosen, also, notice)
    if pool is not None:
        beyond = {
            "also": also,
            "ids": ids,
            "extra_features": extra_features,
            "annotator": annotator,
            "length_penalty": length_penalty is not None or start.length_penalty,
            "samples": samples,
            "executor": executor != "local",
        }
        if given := [name for name, value in beyond.items() if value]:
            raise ConfigError(f"a pool on disk does not go with {' or '.join(given)}")
        files = [lists] if isinstance(lists, Path | str) else lists
        pooled = Pooled(
            Path(pool),
            tuple(map(Path, files)) if isinstance(files, list | tuple) else (),
            text_files(refs, "references"),
            None if source is None else text_file(source, "the source"),
            text_files(ref_links, "links of references"),
            nbest_format,
            chosen,
            pipeline_of(text, text_model),
            setup.threads,
            notice,
        )
        ended, signature = _on_disk(pooled, setup, searching)
        return _result(ended, chosen, signature, begin)
    with (
        _workers(executor, setup, samples or annotator, notice) as setup,
        list_problem(
            cast("ListsLike", lists),
            refs,
            metric=chosen,
            also=judges,
            source=source,
            ref_links=ref_links,
            ids=ids,
            nbest_format=nbest_format,
            extra_features=extra_features,
            text=text,
            text_model=text_model,
            annotator=annotator,
            annotation_cache=annotation_cache,
            start=start,
            length_penalty=length_penalty,
            threads=setup.threads,
            notice=notice,
            progress=progress,
            team=setup.team,
        ) as problem,
    ):
        ended = problem.search(setup, notice, searching)
        sure = _confidence(ended, problem.metric, setup, samples, notice, sampling)
        result = _result(ended, problem.metric, problem.signature, begin, sure)
        if judges:
            begun = setup.starts[0] if setup.starts else equal_weights(ended.nbest.feature_names)
            said = others(judges, problem, ended, begun, threads=setup.threads, notice=notice)
            result = replace(result, also=said)
        annotator_used = problem.ready.annotator
        if annotator_used is None:
            return result
        seconds = {**result.seconds, "annotating": annotator_used.seconds}  # of the others
        seconds["total"] = seconds.pop("total")
        annotations = {"annotated": ended.stats.known, **counts(annotator_used)}
        by = f"{annotator_used.name}{depth(annotator_used)}"
        return replace(result, seconds=seconds, annotations=annotations, annotated_by=by)


def optimize_dat(
    features: Sequence[PathLike],
    scores: Sequence[PathLike],
    *,
    metric: str | Metric,
    weights: WeightsLike | None = None,
    optimizer: str | Optimizer = DEFAULT_OPTIMIZER,
    options: Mapping[str, object] | None = None,
    constraints: ConstraintsLike | None = None,
    prior: float = 0.0,
    samples: int = 0,
    seed: int = 1,
    threads: int = 0,
    executor: str = "local",
    notice: Notice = log_notice,
    searching: Progress | None = None,
    sampling: Progress | None = None,
) -> Optimized:
    """Optimize as `optimize`, over Moses' features.dat and scores.dat; one for each of the other.

    Raises
    ------
    PortmertError
        The statistics are not this metric's, or a feature has no weight.
    """
    begin = time.perf_counter()
    chosen = as_metric(metric)
    start = as_weights(weights)
    if start.length_penalty:
        raise InputError(
            f"{start.origin}: weights with a length penalty ({start.length_penalty:g}) need the "
            f"n-best lists: features.dat does not know the lengths"
        )
    setup = setup_of(start, optimizer, options, constraints, seed, threads, prior)
    read_from = time.perf_counter()
    lists = read_dat([Path(path) for path in features], [Path(path) for path in scores])
    reading = time.perf_counter() - read_from
    table = StatTable(moses_stats(lists, chosen))
    nbest = without_texts(lists.features, lists.offsets, lists.feature_names, lists.sparse)
    with _workers(executor, setup, samples, notice) as setup:
        found = optimize_stats(nbest, table, chosen, setup, notice=notice, progress=searching)
        ended = Ended(found, None, {"reading": reading}, nbest, table)
        sure = _confidence(ended, chosen, setup, samples, notice, sampling)
    return _result(ended, chosen, signature_of(chosen, "stats:moses"), begin, sure)


@contextmanager
def _workers(executor: str, setup: Setup, others: object, notice: Notice) -> Iterator[Setup]:
    """Give the setup with the team that is named; say so where a cluster gets nothing to do.

    `others` says whether there is more to do than restarts.
    """
    with opened(executor, threads=1, notice=notice) as team:
        if team.is_remote and not others and setup.optimizer.restarts <= setup.threads:
            notice(
                f"workers have nothing to do: they get bootstrap samples, sentences to annotate, "
                f"and restarts where they are more than the {setup.threads} threads here"
            )
        yield replace(setup, team=team)


def _on_disk(pooled: Pooled, setup: Setup, searching: Progress | None) -> tuple[Ended, str]:
    """Search a pool; return what was found, and what scores depend on."""
    pool, signature, seconds = pooled.open()
    table, metric = StatTable(pool.stats), pooled.metric
    if isinstance(metric, Formula) and len(metric.metrics) > 1:
        pooled.notice(influences(metric, table, pool.offsets))
    nbest = without_texts(pool.features.T, pool.offsets, pool.feature_names, None)
    found = optimize_stats(nbest, table, metric, setup, notice=pooled.notice, progress=searching)
    return Ended(found, None, seconds, nbest, table), signature


def _result(
    ended: Ended, metric: Metric, signature: str, begin: float, sure: Confidence | None = None
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
        signature=signature,
        metric=metric,
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
    """Tune again on bootstrap samples of the segments, if any, from the weights found."""
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
