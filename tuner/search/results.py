"""The result of a search, as Python, the command line and files show it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

from portmert.metrics._base import FloatArray, Metric
from portmert.metrics._display import NOTHING, Rated

from ..base import tables
from ..base.errors import counted
from ..base.frames import Framed
from ..base.json_toml import to_json
from ..weights.feature_weights import FeatureWeights, TunedOn, value_labels
from ..weights.recognisers import written_terms
from . import contributions
from .unseen import Unseen

PERCENTILES = (2.5, 50.0, 97.5)
"""The middle one, and the ends of the interval of 95 % of the samples."""


@dataclass(frozen=True)
class Confidence:
    """Percentiles of each weight over samples, whose absolute weights are scaled to sum 1.

    Parameters
    ----------
    samples : int
    weights : dict
        Name -> the `PERCENTILES` of the weight of each of the feature's values; None if it is the
        same in all samples.
    """

    samples: int
    weights: dict[str, list[list[float] | None]]

    def as_json(self) -> dict[str, object]:
        """Return it as the JSON object of reports."""
        return {"samples": self.samples, "percentiles": list(PERCENTILES), "weights": self.weights}

    def as_text(self) -> str:
        """Return the percentiles of each weight as a table."""
        labels = value_labels(tuple((name, len(row)) for name, row in self.weights.items()))
        values = itertools.chain(*self.weights.values())
        rows = [
            [label, *(f"{x:.4f}" for x in value)]
            if value
            else [label] + [NOTHING] * len(PERCENTILES)
            for label, value in zip(labels, values, strict=True)
        ]
        headers = [
            f"weight, {counted(self.samples, 'sample')}",
            *(f"{p:g} %" for p in PERCENTILES),
        ]
        return tables.aligned(headers, rows)


@dataclass(frozen=True, repr=False)
class OtherScore(Rated):
    """The score of tuned weights by another metric.

    Parameters
    ----------
    metric : Metric
    signature : str
        The metric and everything else on which scores depend.
    first_score, start_score, score : float
        The score of the first hypotheses, under the start weights, and under the weights found.
    unseen_score : float or None
        The score of the hypotheses chosen for segments while they were held out, if any were.
    """

    metric: Metric = field(repr=False)
    signature: str
    first_score: float
    start_score: float
    score: float
    unseen_score: float | None = None

    def as_json(self) -> dict[str, object]:
        """Return what `portmert optimize --json` prints."""
        document = {
            "metric": self.signature,
            "higher_is_better": self.metric.higher_is_better,
            "first_score": self.first_score,
            "start_score": self.start_score,
            "final_score": self.score,
            "unseen_score": self.unseen_score,
        }
        return {**self.metric.display.with_rates(document)}

    def __str__(self) -> str:
        form = self.metric.shown
        unseen = "" if self.unseen_score is None else f", unseen {form(self.unseen_score)}"
        return (
            f"{self.metric.display.labelled(self.signature)}: first {form(self.first_score)} -> "
            f"tuned {form(self.score)}{unseen} (start weights {form(self.start_score)})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Optimized(Rated, Framed):
    """Tuned weights and their scores.

    All scores are on the metric's own scale. A search sets what it knows; `optimize` adds
    `first_score`, `signature` and all that comes after it.

    Parameters
    ----------
    weights : FeatureWeights
        By name: `weights.values["LM"]`. All weights are finite. A weight is 0 only if it was 0 at
        the start and was not searched, or if steps of a penalty were asked for.
    first_score, score : float
        The score of the first hypothesis of each segment, as the system ranked them, and the score
        under `weights`, computed from scratch. It is not worse than that of the start unless the
        start is out of bounds or there is a prior.
    start_score, oracle_score : float
        The score under the start weights, and the oracle score: about the best of any choice of
        hypotheses whose statistics are known, see `oracle`.
    unseen_score, unseen_error : float or None
        An estimate of the score on unseen text, and its standard error; None if the optimizer
        holds no segments out. The error is also None if it does not vary over samples.
    length_penalty : float or None
        Model scores are divided by the length to this power; None if no penalty was asked for.
    signature : str
        The metric and everything else on which scores depend.
    metric : Metric
    restarts : tuple of float
        The score at the end of each restart, before weights were normalised, less the prior's
        penalty.
    hypotheses, known : int
        Number of all hypotheses, and of those whose statistics are known. If the metric needs
        annotations, only the hypotheses that a search asked for are known.
    line_searches : int
        Number of exact line searches, of all restarts and folds; some optimizers make none.
    seconds : dict
        The seconds that each phase took.
    cpu_seconds : float
        Processor time of the search, all threads together.
    unseen : Unseen or None
        The estimate for unseen text with its hypotheses, as an oriented score: negated if lower
        is better.
    warnings : tuple of str
        What looks wrong with lists, weights and constraints, one line each.
    bootstrap : Confidence or None
        How much the weights vary over resampled sets of segments.
    annotations : dict
        If texts were annotated: the number of hypotheses (`annotated`), and of sentences in the
        cache (`hits`), new (`misses`), and without a parse (`failed`).
    annotated_by : str
        The annotator, and the length of its lists of parses if that is less than asked for.
    also : tuple of OtherScore
        The scores of the weights by other metrics.
    contributions : tuple of Contribution
        What each weight of a dense feature does in the lists.
    tuned_on : TunedOn
        What files of weights tell: by it `rerank` knows lists on other scales, and what to do with
        values that are missing.
    """

    weights: FeatureWeights
    first_score: float = field(default=math.nan, kw_only=True)
    score: float
    start_score: float
    oracle_score: float
    unseen_score: float | None = field(default=None, kw_only=True)
    unseen_error: float | None = field(default=None, kw_only=True)
    length_penalty: float | None = field(default=None, kw_only=True)
    signature: str = field(default="", kw_only=True)
    metric: Metric = field(repr=False)
    restarts: tuple[float, ...] = field(repr=False)
    hypotheses: int = field(repr=False)
    known: int = field(repr=False)
    line_searches: int = field(repr=False)
    seconds: dict[str, float] = field(repr=False)
    cpu_seconds: float = field(default=0.0, repr=False)
    unseen: Unseen | None = field(default=None, repr=False)
    warnings: tuple[str, ...] = field(default=(), repr=False)
    bootstrap: Confidence | None = field(default=None, repr=False)
    annotations: dict[str, int] = field(default_factory=dict, repr=False)
    annotated_by: str = field(default="", repr=False)
    also: tuple[OtherScore, ...] = field(default=(), repr=False)
    contributions: tuple[contributions.Contribution, ...] = field(default=(), repr=False)
    tuned_on: TunedOn = field(default_factory=TunedOn, repr=False)

    def _repr_html_(self) -> str:
        """Return the summary as a notebook shows it."""
        return tables.preformatted("\n".join(self.summary))

    @property
    def frame_rows(self) -> list[dict[str, Any]]:
        """A row for each weight, with what it does in the lists."""
        return [row._asdict() for row in self.contributions] or self.weights.frame_rows

    @property
    def vector(self) -> FloatArray:
        """(F,) float64: the weights of the dense features, in the order of their columns."""
        return self.weights.vector(self.weights.names)

    @property
    def summary(self) -> list[str]:
        """The lines that the command prints."""
        display, counts = self.metric.display, self.annotations
        form, alpha, error = display.shown, self.length_penalty, self.unseen_error
        penalised = "" if alpha is None else f" with length penalty {alpha:.4g}"
        unseen = "" if error is None else f" +- {display.shown_spread(error)}"
        if self.unseen_score is not None:
            unseen = f" (unseen {form(self.unseen_score)}{unseen})"
        name = display.labelled(self.metric.name())
        annotated = " of those annotated" if counts else ""
        lines = [
            f"{name} {form(self.first_score)} -> {form(self.score)}{unseen}{penalised}",
            (
                f"start weights {form(self.start_score)}, oracle {form(self.oracle_score)}"
                f"{annotated}; {counted(self.hypotheses, 'hypothesis')}, "
                f"{self.seconds['total']:.1f} s"
            ),
        ]
        if counts:
            lines.append(
                f"annotated: {counted(counts['annotated'], 'hypothesis')} "
                f"({counts['annotated'] / self.hypotheses:.1%}); sentences: {counts['hits']} "
                f"from the cache, {counts['misses']} new, {counts['failed']} without a parse; "
                f"{self.seconds['annotating']:.1f} s; by {self.annotated_by}"
            )
        lines += [f"also {score}" for score in self.also]
        if self.contributions:
            lines += [
                "",
                *contributions.table(self.contributions, self.metric).text().splitlines(),
            ]
        return [*lines, "", self.signature]

    def to_json(self) -> str:
        """Return the text of a file of weights; nothing in it changes from run to run."""
        scores = {**self._weights(), "metric": self.signature, "score": self.score}
        scores |= self.tuned_on.as_json() | written_terms(self.weights)
        return to_json(self.metric.display.with_rates(scores)) + "\n"

    def as_json(self) -> dict[str, object]:
        """Return what `portmert optimize --json` prints."""
        scores = {
            "first_score": self.first_score,
            "start_score": self.start_score,
            "final_score": self.score,
            "unseen_score": self.unseen_score,
            "unseen_error": self.unseen_error,
            "oracle_score": self.oracle_score,
        }
        return {
            **self.metric.display.with_rates(scores),
            "higher_is_better": self.metric.higher_is_better,
            **({"also": [score.as_json() for score in self.also]} if self.also else {}),
            "restarts": list(self.restarts),
            **self._weights(),
            **contributions.as_json(self.contributions),
            "hypotheses": self.hypotheses,
            **self.annotations,
            "line_searches": self.line_searches,
            **({} if self.bootstrap is None else {"bootstrap": self.bootstrap.as_json()}),
            "seconds": {phase: round(value, 3) for phase, value in self.seconds.items()},
            **({"warnings": list(self.warnings)} if self.warnings else {}),
        }

    def _weights(self) -> dict[str, object]:
        numbers = {name: list(values) for name, values in self.weights.values.items()}
        alpha = self.length_penalty
        return {"weights": numbers, **({} if alpha is None else {"length_penalty": alpha})}
