"""Tuned weights: `optimize`, its arguments and its result."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack, get_args

import numpy as np

import portmert
from portmert.metrics._base import FloatArray, IntArray, Metric, rows_taken

from ..base import arguments
from ..base.context import Progress, current, using
from ..base.errors import ConfigError, InputError, counted, faults_at, suggest
from ..base.numbers import Natural, NonNegative
from ..base.warn import (
    notice,
    take_over,
    unsaid,
    warn,
    warn_of,
    warn_of_machine,
    warnings_so_far,
)
from ..components import external, registry
from ..components.features import Feature
from ..components.features_of_references import doubtful_features
from ..components.formula import Formula
from ..components.registry import MetricLike
from ..executors.opening import opened
from ..families import provided
from ..nbest.check import few_segments, length_order
from ..nbest.findings import column_findings, direction_finding, feature_ranges
from ..nbest.missing import MISSING, Missing
from ..nbest.model import NBest, best_hypotheses, model_scores
from ..search import DEFAULT_OPTIMIZER, list_statistics
from ..search.constraints import Constraints, ConstraintsLike
from ..search.contributions import contributions as contributions_of
from ..search.doubtful_gains import negative_finding
from ..search.length_penalty import LengthPenalty, find_weights_and_alpha, penalised
from ..search.optimizers._base import Optimizer
from ..search.problem import oriented
from ..search.results import Optimized, OtherScore
from ..search.stat_table import ROWS_AT_ONCE, StatTable
from ..search.weight_bootstrap import bootstrap, confidence
from ..search.weight_search import Setup
from ..texts import corpus, statistics
from ..texts.prepare import Preparation, depth, signature
from ..weights.feature_weights import FeatureWeights, TunedOn, read_tuned_weights
from ..weights.recognisers import in_recognisers_terms, in_steps
from .lists import Lists, ListsLike, as_lists
from .texts import PathLike, own_references, preparing

MOST_SEARCHES = 10
"""So often at most, strings of search graphs are added under the weights of a search."""
ROUNDING = 1e-9
SEGMENTS_SHOWN = 50
"""At most so many segments tell which metric of a formula dominates."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """How weights are searched: the options of `optimize`, `replicate` and `rerank_tune`.

    Parameters
    ----------
    weights : FILE
        Start weights: a file (our JSON or a moses.ini); in Python also weights by name, or an
        earlier result. Default: all weights equal.
    optimizer : NAME[:OPTION=VALUE,...]
        The search algorithm; `portmert components optimizer` lists all.
    constraints
        Weights that are fixed, tied, within bounds or of one sign, as `Constraints` or as the
        table [constraints] of `tune`: `{"fixed": ["LM"], "bounds": {"TM": [0, 1]},
        "signs": {"WP": "-"}, "tied": [["LM", "TM"]]}`.
    length_penalty : ALPHA|LOW:HIGH
        Divide model scores by length^ALPHA. In a range the best ALPHA is searched. Default: the
        length penalty of the start weights.
    prior
        How strongly the weights are drawn towards the start weights; 0: not at all.
    seed
        Seed of all random choices. Equal seeds give equal results, whatever the number of threads.
    threads
        Number of threads; 0: one for each processor. The number never changes a result.
    executor : PLACE
        Where to run: local; a Dask cluster, dask:tcp://HOST:8786 or dask:FILE.json; a queueing
        system, dask-slurm:JOBS; or FILE.toml with a table [executor]. The
        place never changes a result.
    """

    weights: WeightsLike | None = None
    optimizer: str | Optimizer = DEFAULT_OPTIMIZER
    constraints: ConstraintsLike | None = None
    length_penalty: str | float | None = None
    prior: NonNegative = 0.0
    seed: Natural = 1
    threads: Natural = 0
    executor: str = "local"

    @classmethod
    def of(cls, options: Mapping[str, Any], options_type: type | None = None) -> Search:
        """Take options by name.

        Raises
        ------
        TypeError
            There is no such option.
        """
        names = (options_type or cls).__annotations__
        for name in options:
            if name not in names:
                raise TypeError(f"unexpected option '{name}'{suggest(name, names)}")
        return cls(**options)

    @cached_property
    def start(self) -> Start:
        """The start weights."""
        return as_weights(self.weights)

    @cached_property
    def setup(self) -> Setup:
        """How to search, for one length penalty."""
        return Setup(
            optimizer=registry.optimizer(self.optimizer),
            starts=() if self.start.weights is None else (self.start.weights,),
            constraints=Constraints.of(self.constraints),
            seed=self.seed,
            prior=self.prior,
        )

    @cached_property
    def penalty(self) -> LengthPenalty | None:
        """The length penalties to try; None: none was asked for."""
        alphas = self.length_penalty
        if alphas is None:
            alphas = self.start.length_penalty or None
        return None if alphas is None else LengthPenalty.parse(str(alphas))

    @property
    def alpha(self) -> float:
        """The length penalty if there is one to try, else the lowest; 0 without."""
        return self.penalty.low if self.penalty else 0.0


class CommonOptions(TypedDict, total=False):
    """The options that every search has, in `crossval` too; `Search` explains them."""

    weights: WeightsLike | None
    constraints: ConstraintsLike | None
    seed: int
    threads: int
    executor: str


class SearchOptions(CommonOptions, total=False):
    """The options of every search; `Search` explains them."""

    optimizer: str | Optimizer
    length_penalty: str | float | None
    prior: float


class Start(NamedTuple):
    """Start weights, their length penalty, their name in messages, and what is known of them."""

    weights: FeatureWeights | None = None
    length_penalty: float = 0.0
    origin: str = ""
    tuned_on: TunedOn = TunedOn()

    @property
    def rule(self) -> Missing:
        """What becomes of values that are missing where the weights are used."""
        names = () if self.weights is None else self.weights.values
        has_indicators = any(name.endswith(MISSING) for name in names)
        stated = self.tuned_on.missing
        return next((rule for rule in get_args(Missing) if rule == stated), None) or (
            "impute" if has_indicators else "error"
        )


def as_weights(start: WeightsLike | None) -> Start:
    """Return the start that weights of any form describe.

    Raises
    ------
    ValueError
        The weights are not numbers, or not given by name.
    """
    if start is None:
        return Start()
    if isinstance(start, Path | str):
        weights, alpha, tuned_on = read_tuned_weights(Path(start))
        return Start(weights, alpha, str(start), tuned_on)
    if isinstance(start, FeatureWeights):
        return Start(start, 0.0, "weights")
    if isinstance(start, Optimized):
        return Start(start.weights, start.length_penalty or 0.0, "weights", start.tuned_on)
    if not isinstance(start, Mapping):
        raise ValueError(  # noqa: TRY004  a wrong call, as others
            f"weights are given by name, as {{'LM': 0.5, 'TM': 0.3}}, found {type(start).__name__}"
        )
    values = {}
    for name, numbers in start.items():
        with faults_at(f"weight of {name}: {numbers!r:.60}", (TypeError, ValueError), ValueError):
            values[name] = tuple(map(float, np.ravel(numbers).tolist()))
    return Start(FeatureWeights(values), 0.0, "weights")


@dataclass(frozen=True, eq=False)
class PreparedLists:
    """Lists with texts as metrics see them, their statistics, and how to search.

    Parameters
    ----------
    lists : Lists
        What they are made of; their texts are before any text step.
    metrics
        What they are scored by; the first is the one tuned on. A test set may have none.
    scored : NBest
        The hypotheses with texts as they are scored.
    references : References
        As they are scored; none for a metric that reads none.
    preparation : Preparation
        What made the texts ready.
    annotate : callable or None
        See `portmert.tuner.search.list_statistics.statistics_table`.
    search : Search
    seconds
        The time of reading and counting.
    """

    lists: Lists
    metrics: Sequence[Metric]
    scored: NBest
    references: corpus.References
    preparation: Preparation
    annotate: list_statistics.Annotate | None
    search: Search
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls, lists: Lists, metrics: Sequence[Metric], preparation: Preparation, search: Search
    ) -> PreparedLists:
        """Prepare lists: references are annotated at once, hypotheses when they are asked for.

        Raises
        ------
        PortmertError
            A metric cannot score these lists.
        """
        refs = own_references(metrics)
        _check_can_score(lists, metrics, has_references=bool(lists.refs or refs))
        lists = lists.scored_by(metrics)
        take_over(lists.said)
        texts, references = lists.nbest.texts, lists.references
        if references is None and refs:
            references = corpus.read_references(refs, vocabulary=texts.vocabulary)
        if references is None:
            references = corpus.no_references(texts.vocabulary, len(lists), lists.source_lines)
        references = preparation.references(references)
        texts, annotate = preparation.lazily(texts)
        scored = replace(lists.nbest, texts=texts)
        return cls(lists, metrics, scored, references, preparation, annotate, search)

    @property
    def nbest(self) -> NBest:
        """The hypotheses with texts as they stand in the lists."""
        return self.lists.nbest

    @property
    def metric(self) -> Metric:
        """The metric tuned on."""
        return self.metrics[0]

    @cached_property
    def stats(self) -> StatTable:
        """The statistics of the metric tuned on."""
        return self.statistics(self.metric)

    def statistics(self, metric: Metric, *, lazily: bool = False) -> StatTable:
        """Return the statistics of all hypotheses; `lazily` or annotated ones when asked for."""
        annotate = self.annotate if statistics.needs_of([metric]) else None
        if lazily and annotate is None:
            annotate = self.scored.texts.take
        return list_statistics.statistics_table(
            self.scored, self.references, metric, annotate=annotate
        )

    def signature(self, metric: Metric) -> str:
        """Return the metric and everything else on which its score depends."""
        if self.nbest.statistics is not None:
            return signature(metric, self.nbest.statistics.origin)
        return self.preparation.signature(metric, self.references.offsets)

    def best(self, weights: FeatureWeights, alpha: float) -> IntArray:
        """Return (S,) the best hypothesis of each segment under weights and a length penalty."""
        return best_hypotheses(penalised(self.nbest, alpha), weights)

    def total(self, weights: FeatureWeights, alpha: float) -> FloatArray:
        """Return the (K,) statistics of what `rerank` chooses from these lists or graphs."""
        strings = self.lists.strings
        if strings is None or not strings.around:
            return self.stats.total(self.best(weights, alpha))
        lists = replace(self.lists, in_memory=strings.only_under(weights), origin=None)
        with unsaid():
            read = PreparedLists.of(lists, [self.metric], self.preparation, self.search)
            return read.stats.total(read.best(weights, alpha))

    @property
    def start(self) -> FeatureWeights:
        """The start weights."""
        return self.search.setup.start(self.nbest.feature_names)

    @cached_property
    def tuned_on(self) -> TunedOn:
        """What files of the weights tell: the same for the same data, wherever it came from."""
        content, nbest = hashlib.sha256(), self.nbest
        content.update(repr((nbest.names, nbest.feature_names)).encode())
        rows = [] if self.stats.is_lazy else [self.stats.rows]
        for array in (nbest.offsets, nbest.features, *rows):
            for begin in range(0, len(array), ROWS_AT_ONCE):
                content.update(np.ascontiguousarray(array[begin : begin + ROWS_AT_ONCE]).tobytes())
        return TunedOn(
            self.signature(self.metric),
            content.hexdigest()[:16],
            (self.lists.missing or "") if self.lists.may_lack else "",
            feature_ranges(nbest),
            portmert.__version__,
        )

    def warn_of_negative(self, weights: FeatureWeights, alpha: float) -> None:
        """Warn of a gain that negative weights carry."""
        nbest, setup = penalised(self.nbest, alpha), self.search.setup
        if line := negative_finding(nbest, self.stats, self.metric, setup, weights):
            warn(line)


def _check_can_score(lists: Lists, metrics: Sequence[Metric], *, has_references: bool) -> None:
    """Raise the error of a metric that lacks what it scores these lists by."""
    nbest = lists.nbest
    for metric in metrics:
        if nbest.statistics is not None:
            if len(metrics) > 1:
                raise ConfigError("other metrics need n-best lists with texts, not statistics")
            list_statistics.statistics_in(nbest, metric)
            continue
        if not (metric.of_lists or nbest.has_texts):
            outcomes = f"; give one of their outcomes: {', '.join(nbest.outcomes)}"
            raise InputError(
                f"metric {metric.name()} reads texts, and these lists have none"
                f"{outcomes * bool(nbest.outcomes)}"
            )
        if metric.reads_references and not has_references:
            raise InputError(
                f"metric {metric.name()} compares with references; give them too (--ref)"
            )


@contextmanager
def read_dev_lists(
    lists: Lists, metrics: Sequence[Metric], search: Search
) -> Iterator[PreparedLists]:
    """Read lists and references, and compute the statistics of the first metric.

    The other metrics are checked before the search.
    """
    start, _ = search.start, search.setup
    with (
        using(threads=search.threads, annotation_cache=lists.annotation_cache),
        opened(search.executor),
    ):
        lists = lists.scored_by(metrics).in_order()
        if lists.strings is not None and start.weights is None:
            weights = dict(lists.strings.start.values)
            for name, size in lists.nbest.feature_names:  # of files, which made no string
                weights.setdefault(name, (0.0,) * size)
            search = replace(search, weights=FeatureWeights(weights))
        is_penalised = bool(search.length_penalty or start.length_penalty)
        if is_penalised and not lists.nbest.has_texts:
            raise ConfigError("a length penalty needs lists with texts: these know no lengths")
        if search.length_penalty is None and start.length_penalty:
            notice(f"length penalty {start.length_penalty:g}, as in {start.origin}")
        with preparing(lists.annotator) as prepare:
            preparation = prepare(metrics, lists.pipeline, None)
            begin = time.perf_counter()
            dev = PreparedLists.of(lists, metrics, preparation, search)
            for judge in metrics[1:]:
                if not statistics.needs_of([judge]):
                    nbest = dev.scored
                    statistics.check_texts(
                        judge, corpus.make_batch(nbest.texts, nbest.offsets, dev.references)
                    )
            read_at = time.perf_counter()
            _describe(dev.metric, dev.stats, dev.nbest.offsets)
            _check_lists(dev, is_penalised=is_penalised)
            dev.seconds["reading"] = read_at - begin
            dev.seconds["statistics"] = time.perf_counter() - read_at
            yield dev


def with_graph_strings(
    lists: Lists, metric: Metric, search: Search, step: float | None = None
) -> Lists:
    """Return lists of search graphs that have what is best under the weights of their search.

    Other lists are returned as they are.
    """
    for _ in range(MOST_SEARCHES if lists.strings is not None and lists.strings.around else 0):
        with unsaid(), read_dev_lists(lists, [metric], search) as dev:
            weights = _searched(dev, step).weights
        with_best = lists.under([weights])
        scores, best = (
            np.maximum.reduceat(model_scores(each.nbest, weights), each.nbest.offsets[:-1])
            for each in (lists, with_best)
        )
        added = len(with_best.nbest.features) - len(lists.nbest.features)
        if not (best > scores + ROUNDING * np.abs(best)).any():
            break
        lists = with_best
        notice(f"{counted(added, 'new hypothesis')} in the search graphs")
    return lists


def _searched(dev: PreparedLists, step: float | None = None) -> Optimized:
    """Search, and with a step take the best of the nearest weights that a recogniser can have."""
    optimized = find_weights_and_alpha(
        dev.nbest,
        dev.stats,
        dev.metric,
        dev.search.setup,
        penalty=dev.search.penalty,
        start_alpha=dev.search.start.length_penalty,
    )
    if step is None:
        return optimized
    alpha = optimized.length_penalty or 0.0
    choices = [optimized.weights, *in_steps(optimized.weights, step)]
    scores = [float(dev.metric.score(dev.total(weights, alpha))) for weights in choices]
    best = max(range(1, len(choices)), key=lambda n: oriented(dev.metric, scores[n]))
    terms = in_recognisers_terms(choices[best])
    notice(
        f"LMWT {terms['lm_weight']:.0f}, penalty {terms['insertion_penalty']:.4g}: "
        f"{dev.metric.display.labelled(dev.metric.name())} {dev.metric.shown(scores[best])} "
        f"({dev.metric.shown(scores[0])} before rounding)"
    )
    return replace(optimized, weights=choices[best])


def _check_lists(dev: PreparedLists, *, is_penalised: bool) -> None:
    """Warn of lists to tune on that are few or in another order, and of doubtful columns."""
    nbest, metric, stats, starts = dev.nbest, dev.metric, dev.stats, dev.search.setup.starts
    warn_of(few_segments(len(nbest)))
    if not is_penalised:
        under = model_scores(nbest, starts[0]) if starts else None
        if line := length_order(nbest, under):
            warn(line)
    functions: dict[str, str] = {}
    if added := [Feature.parse(spec) for spec in dev.lists.features]:
        batch = corpus.make_batch(dev.scored.texts, nbest.offsets, dev.references)
        functions = doubtful_features(added, nbest, batch, metric)
        warn_of(functions.values())

    def scores(rows: IntArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return np.asarray(metric.score(stats.take(rows)), dtype=np.float64)

    outcomes = {} if stats.is_lazy else {metric.name(): scores}
    warn_of(column_findings(nbest, outcomes, functions))
    asked = metric.of_lists and metric.higher_is_better
    if asked and (line := direction_finding(metric.signature)):
        warn(line)


def _describe(metric: Metric, stats: StatTable, offsets: IntArray) -> None:
    """Say of a formula's metrics their scores, and how much each moves the formula."""
    if not isinstance(metric, Formula) or len(metric.metrics) < 2 or stats.is_lazy:
        return
    segments = np.unique(np.linspace(0, len(offsets) - 2, SEGMENTS_SHOWN).astype(np.int64))
    rows, part = rows_taken(offsets, segments)
    by_label = metric.influences(stats.take(rows), part)
    turned = [part_of.display.is_turned for part_of in metric.metrics]
    scores = ", ".join(
        f"{'1 - ' if is_turned else ''}{label} {score:.4f}"
        for is_turned, (label, (score, _)) in zip(turned, by_label.items(), strict=True)
    )
    shares = ", ".join(f"{label} {100 * share:.0f} %" for label, (_, share) in by_label.items())
    notice(
        f"of the formula, {scores} for the first hypotheses; exchanging one moves it by {shares}"
    )


WeightsLike = PathLike | FeatureWeights | Optimized | Mapping[str, float | Sequence[float]]


@arguments.checked
def optimize(
    lists: ListsLike,
    metric: MetricLike | None = None,
    *,
    also: Sequence[MetricLike] = (),
    samples: Natural = 0,
    contributions: bool = False,
    penalty_step: float | None = None,
    plot: PathLike | None = None,
    progress: Progress | None = None,
    **search: Unpack[SearchOptions],
) -> Optimized:
    """Find the weights under which the lists' best hypotheses score highest.

    Parameters
    ----------
    lists
        The n-best lists with their references, `Lists`; or the names of files.
    metric : NAME[:OPTION=VALUE,...]
        Metric to tune on, for example port or bleu:smooth=add1 (`portmert metrics` lists all); or
        scores:FILE, or command:"PROGRAM"; in Python also an object, and None for the only outcome.
    also : NAME[:OPTION=VALUE,...]
        Another metric by which the tuned weights are scored.
    samples
        Tune again on this many resampled sets of segments, and report how much the weights vary.
    contributions
        Also score the lists with each weight set to 0 and the others as they are.
    penalty_step
        Of a recogniser's weights take the best of the nearest with a whole LMWT and a multiple of
        this as insertion penalty, as Kaldi's score.sh.
    plot
        Draw the scores and the weights to a file: .svg, .png or .pdf. Needs portmert[plots].
    progress
        Called with a phase, how much of it is done, and how much there is: `"annotating"`
        sentences, `"searching"` restarts, `"sampling"` resampled sets.
    **search
        The options of `Search`.

    Raises
    ------
    PortmertError
        Lists, references and metric do not fit, or an option is wrong.
    ValueError
        There is no metric, or arrays do not fit it.

    Examples
    --------
    There are two segments with two hypotheses each. The second one of each scores higher:

    >>> import portmert
    >>> features = [[[1.0, 0.0], [0.0, 2.0]], [[2.0, 0.0], [0.0, 1.0]]]
    >>> lists = portmert.Lists.from_arrays(features, scores=[[0.1, 0.9], [0.2, 0.8]])
    >>> found = portmert.optimize(lists, optimizer="mert")
    >>> round(found.first_score, 4), round(found.score, 4)
    (0.15, 0.85)
    """
    if samples < 0:
        raise ValueError(f"samples is {samples}; it must be 0 or more")
    plots: Any = None if plot is None else provided("portmert.drawing", "plots")
    if plot is not None:
        plots.form_of(Path(plot))
    begin, how = time.perf_counter(), Search.of(search)
    dev_lists = as_lists(lists)
    tuned_metric = registry.metric(dev_lists.metric_of(metric))
    also_metrics = [registry.metric(dev_lists.metric_of(judge)) for judge in also]
    judges = list({judge.signature: judge for judge in also_metrics}.values())
    remind(tuned_metric, also)
    with using(progress=progress):
        dev_lists = with_graph_strings(dev_lists, tuned_metric, how, penalty_step)
    prepared = read_dev_lists(dev_lists, [tuned_metric, *judges], how)
    with using(progress=progress), prepared as dev:
        threads, is_parallel = current().threads, samples or dev_lists.annotator is not None
        if current().cluster and how.setup.optimizer.restarts <= threads and not is_parallel:
            warn_of_machine(
                f"workers have nothing to do: they get bootstrap samples, sentences to annotate, "
                f"and restarts where they are more than the {threads} threads here"
            )
        optimized = _searched(dev, penalty_step)
        total = dev.total(optimized.weights, optimized.length_penalty or 0.0)
        optimized = replace(optimized, score=float(dev.metric.score(total)))
        warn_of(optimized.warnings)
        nbest = penalised(dev.nbest, optimized.length_penalty or 0.0)
        sure = None
        if samples:
            again = replace(dev.search.setup, starts=(optimized.weights,), toward=dev.start)
            tuned = dict(bootstrap(nbest, dev.stats, dev.metric, again, range(samples)))
            sure = confidence([tuned[sample] for sample in range(samples)])
        also_scored = _other_scores(judges, dev, optimized, nbest) if judges else ()
        scored_by = (dev.metric, dev.stats) if contributions else None
        rows = contributions_of(nbest, optimized.weights, scored_by=scored_by)
        seconds, annotations, by = {**dev.seconds, **optimized.seconds}, {}, ""
        first = dev.stats.score(dev.metric, dev.nbest.offsets[:-1])
        warn_if_worse(dev.metric, first, optimized.score)
        dev.warn_of_negative(optimized.weights, optimized.length_penalty or 0.0)
        if (used := dev.preparation.annotator) is not None:
            seconds["annotating"] = used.seconds  # of the others
            annotations = {"annotated": dev.stats.known, **used.counts}
            by = f"{used.name}{depth(used)}"
    completed = replace(
        optimized,
        first_score=first,
        signature=dev.signature(dev.metric),
        bootstrap=sure,
        annotations=annotations,
        annotated_by=by,
        seconds=seconds | {"total": time.perf_counter() - begin},
        also=also_scored,
        contributions=tuple(rows),
        tuned_on=dev.tuned_on,
        warnings=warnings_so_far(),
    )
    if plot is not None:
        plots.draw(plots.charts_of_search(completed), Path(plot))
    return completed


def _other_scores(
    metrics: Sequence[Metric],
    dev: PreparedLists,
    optimized: Optimized,
    nbest: NBest,
) -> tuple[OtherScore, ...]:
    """Return the scores, by other metrics, of the hypotheses before and after a search."""
    choices = [
        dev.nbest.offsets[:-1],
        dev.best(dev.start, dev.search.start.length_penalty),
        best_hypotheses(nbest, optimized.weights),
    ]
    if optimized.unseen is not None:
        choices.append(np.asarray(optimized.unseen.rows, dtype=np.int64))
    scored = []
    for metric in metrics:
        stats = dev.statistics(metric, lazily=True)
        scores = [stats.score(metric, rows) for rows in choices]
        if not np.isfinite(scores).all():
            warn(f"{metric.name()} of some of the choices is no finite number (0 divided by 0?)")
        scored.append(OtherScore(metric, dev.signature(metric), *scores))
    return tuple(scored)


def warn_if_worse(metric: Metric, first: float, score: float) -> None:
    """Warn of weights that choose worse than the order of the lists they were found on."""
    if oriented(metric, score) < oriented(metric, first):
        warn(
            f"under these weights {metric.display.labelled(metric.name())} is "
            f"{metric.shown(score)}, and {metric.shown(first)} in the order of the lists: they "
            f"choose worse than the system; add features to the lists, as the system's own score"
        )


def remind(metric: Metric, also: Sequence[object]) -> None:
    """Advise another metric where scores come from a network or from outside."""
    if also or not (metric.of_lists or any(external.neural(metric))):
        return
    notice(
        f"{metric.name()}: such scores may reward what readers do not want, and tuning finds it; "
        f"report other metrics too: --also chrf"
    )
