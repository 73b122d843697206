"""Chooses the best hypothesis of each segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric, Texts
from portmert.tuner.annotation.annotators._base import Annotator
from portmert.tuner.api.bayes import Mbr, expected
from portmert.tuner.api.components import as_metric
from portmert.tuner.api.lists import Lists, ListsLike, read_lists
from portmert.tuner.api.optimizing import Optimized
from portmert.tuner.api.searching import WeightsLike, as_weights
from portmert.tuner.api.texts import (
    Notice,
    PathLike,
    Progress,
    TextLike,
    log_notice,
    pipeline_of,
    preparing,
)
from portmert.tuner.ground.errors import InputError
from portmert.tuner.nbest.model import NBest, best_hypotheses, model_scores
from portmert.tuner.nbest.readers._base import Reader
from portmert.tuner.search.oracle import oracle
from portmert.tuner.texts.text_pipeline import TextPipeline
from portmert.tuner.weights.feature_weights import FeatureWeights
from portmert.tuner.weights.moses_ini import NEVER_TUNED


@dataclass(frozen=True, eq=False)
class Reranked:
    """Holds the hypothesis chosen for each segment.

    Parameters
    ----------
    lines : tuple of str
        Their texts, tokens with spaces between.
    rows : (S,) int64
        Which row of the lists each is.
    texts : Texts
        The same with links, where the lists have them.
    ids : tuple of str
        What the lists call the segments: names, or numbers from 0.
    """

    lines: tuple[str, ...]
    rows: IntArray = field(repr=False)
    texts: Texts = field(repr=False)
    ids: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, texts: Texts, rows: IntArray, *, ids: tuple[str, ...] | None = None) -> Reranked:
        """Return the hypotheses `rows` of lists, of which `texts` are all."""
        chosen = texts.take(rows)
        lines = tuple(" ".join(chosen.words(row)) for row in range(len(chosen)))
        return cls(lines, rows, chosen, ids or tuple(str(n) for n in range(len(lines))))

    @property
    def links(self) -> tuple[str, ...] | None:
        """Their word alignments, `0-0 1-2`; None where the lists have none."""
        links = self.texts.links
        if links is None:
            return None
        return tuple(" ".join(f"{i}-{j}" for i, j in links.row(k)) for k in range(len(links)))


def rerank(
    lists: ListsLike,
    weights: WeightsLike | Optimized | None = None,
    *,
    missing_features: Literal["refuse", "zero"] = "refuse",
    mbr: str | Metric | Mbr | None = None,
    oracle_metric: str | Metric | None = None,
    refs: Sequence[TextLike] | PathLike = (),
    source: TextLike | None = None,
    ref_links: Sequence[TextLike] | PathLike = (),
    ids: bool = False,
    nbest_format: str | Reader = "auto",
    extra_features: Sequence[str] = (),
    text: str | Sequence[str] | TextPipeline = "",
    text_model: PathLike | None = None,
    annotator: str | Annotator | None = None,
    annotation_cache: PathLike | None = None,
    notice: Notice = log_notice,
    progress: Progress | None = None,
) -> Reranked:
    r"""Choose the best hypothesis of each segment; of equal ones the first in the list.

    Parameters
    ----------
    lists
        Read by `read_nbest`, or the names of one or more files.
    weights
        A file, weights by name, or what `optimize` found; a length penalty is applied.
    missing_features
        What is done with weights other than 0 of features that no hypothesis has: they are an
        error, or the features count as 0. Lists with sparse features may always lack some.
    mbr
        Choose the highest expected score of this metric if one of the list's hypotheses is the
        truth: minimum Bayes risk. The weights then only say which are likely, see `Mbr`.
    oracle_metric
        Choose, beginning at the best under `weights` or at the first hypotheses, so that this
        metric's score becomes high: about what perfect weights could reach. It needs `refs`.
    refs, source, ref_links, ids
        As of `score`; whatever `ids` are, segments stand in the order of the lists.
    nbest_format
        Format of the lists, as on the command line: `auto` finds it out.
    extra_features
        As of `read_nbest`.
    text, text_model, annotator, annotation_cache, notice, progress
        As of `score`.

    Raises
    ------
    PortmertError
        Lists and weights do not fit.

    Examples
    --------
    >>> import portmert, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "lists.moses")
    >>> _ = path.write_text(
    ...     "0 ||| a b ||| LM= -2 TM= -1 ||| -3\n"
    ...     "0 ||| b a ||| LM= -1 TM= -3 ||| -4\n"
    ... )
    >>> lists = portmert.read_nbest(path, notice=lambda line: None)
    >>> portmert.rerank(lists, {"LM": 1.0, "TM": 0.1})
    Reranked(lines=('b a',))
    """
    metric = None if oracle_metric is None else as_metric(oracle_metric)
    metrics = [] if metric is None else [metric]
    if mbr is not None and metric is not None:
        raise ValueError("mbr and oracle_metric choose by different things; give one of them")
    how = mbr if mbr is None or isinstance(mbr, Mbr) else Mbr(mbr)
    judge = None if how is None else as_metric(how.metric)
    with preparing(annotator, annotation_cache, notice=notice, progress=progress) as prepare:
        read = read_lists(
            lists,
            refs,
            ready=prepare(metrics, pipeline_of(text, text_model), None),
            metrics=metrics,
            source=source,
            ref_links=ref_links,
            ids=ids and (bool(refs) or source is not None),
            nbest_format=nbest_format,
            extra_features=extra_features,
            notice=notice,
        )
        scores = None
        if weights is not None:
            scores = _model_scores(read, weights, zero=missing_features == "zero")
        if how is not None and judge is not None:
            scores = expected(how, judge, read, scores, progress)
        best = read.nbest.offsets[:-1] if scores is None else best_hypotheses(read.nbest, scores)
        if metric is not None:
            best = _oracle(read, metric, best, notice)
    return Reranked.of(read.scored.texts, best, ids=read.nbest.ids)


def _model_scores(lists: Lists, given: WeightsLike | Optimized, *, zero: bool) -> FloatArray:
    """Return (H,) scores under the weights."""
    if isinstance(given, Optimized):
        weights, alpha, origin = given.weights, given.length_penalty or 0.0, "weights"
    else:
        found, alpha, origin = as_weights(given)
        assert found is not None  # noqa: S101  None is the caller's case
        weights = found
    if not zero:
        _refuse_missing(lists.nbest, weights, origin)
    return model_scores(lists.penalised(alpha), weights, origin=origin)


def _refuse_missing(nbest: NBest, weights: FeatureWeights, origin: str) -> None:
    """Raise `InputError` for weights that were tuned with features that the lists lack."""
    if nbest.sparse is not None:
        return
    known = dict(nbest.feature_names)
    missing = [
        name
        for name, values in weights.values.items()
        if name not in known and any(values) and name.rstrip("0123456789") not in NEVER_TUNED
    ]
    if missing:
        raise InputError(
            f"{origin}: weights of {', '.join(missing)}, which the lists lack (they have "
            f"{', '.join(known) or 'none'}); add the features to the lists, or count them as 0: "
            f"--missing-features zero"
        )


def _oracle(lists: Lists, metric: Metric, start: IntArray, notice: Notice) -> IntArray:
    """Return hypotheses chosen for the metric, and say what they score."""
    stats = lists.statistics(metric, threads=1, notice=notice)
    stats.need(np.arange(len(stats.rows)))
    score, chosen = oracle(stats.rows, lists.nbest.offsets, metric, start)
    notice(f"oracle {metric.signature}: {metric.shown(score)}")
    return chosen
