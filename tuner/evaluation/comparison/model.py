"""A comparison as plain data. All forms of its report show it.

Scores are on the metric's own scale (a share is 0..1, not percent). Positions count from 0.
Unknown values are None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from portmert.tuner.evaluation.history.model import RunHistory
from portmert.tuner.ground.documents import plain


@dataclass(frozen=True)
class System:
    """One system.

    Parameters
    ----------
    name
        Unique in the comparison.
    kind
        `run` (a folder of `portmert tune`) or `files`.
    replicas
        Number of outputs.
    tuned_on
        Signature of the metric it was tuned on; None for files.
    hypothesis_tokens, reference_tokens
        Sums over segments, means over replicas. The reference is the one closest in length.
    """

    name: str
    kind: str
    replicas: int
    tuned_on: str | None
    hypothesis_tokens: float
    reference_tokens: float


@dataclass(frozen=True)
class ComparedMetric:
    """One metric. `label` is how the user wrote it; tables use it too."""

    label: str
    name: str
    signature: str
    source: str
    higher_is_better: bool
    in_percent: bool


@dataclass(frozen=True)
class SystemScore:
    """One system under one metric, as in Table 4 of the PORT paper.

    Parameters
    ----------
    score
        Mean of `replica_scores`, the corpus scores of the replicas.
    low, high, s_sel, s_opt
        As in `significance.Spread`.
    difference
        From the first system. It is None in the first system's own row, like all that follows.
    difference_low, difference_high, p, p_randomization, p_bootstrap
        As in `significance.PairTest`.
    p_holm, p_randomization_holm, p_bootstrap_holm
        The same p-values, corrected for all systems and metrics of the comparison.
    """

    metric: str
    system: str
    score: float
    replica_scores: tuple[float, ...]
    low: float
    high: float
    s_sel: float
    s_opt: float | None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None
    p_randomization: float | None = None
    p_bootstrap: float | None = None
    p_holm: float | None = None
    p_randomization_holm: float | None = None
    p_bootstrap_holm: float | None = None


@dataclass(frozen=True)
class Similarity:
    """How alike the outputs of two systems are, as in Table 3.

    Values are means over pairs of replicas. `first == second` compares the replicas of one system.

    Parameters
    ----------
    identical
        Share of segments with the same tokens.
    one_minus_ter
        1 - TER of one output against the other, a mean of both directions.
    """

    first: str
    second: str
    identical: float
    one_minus_ter: float


@dataclass(frozen=True)
class OrderingScores:
    """Scores of word order: Tables 8 (qmean, port), 9 (port*) and 10 (v, rho, tau).

    Parameters
    ----------
    scores
        Metric (`v`, `rho`, `tau`, `port`, `port-rho`, `port-tau`, `qmean`) -> mean over replicas.
    """

    system: str
    scores: Mapping[str, float]


@dataclass(frozen=True)
class OrderCounts:
    """Counts of n-grams of one order, means over replicas."""

    order: int
    matched: float
    total: float
    reference_total: float
    precision: float
    recall: float


@dataclass(frozen=True)
class NgramCounts:
    """N-grams and length penalties of one system, as in Table 11.

    `brevity_penalty` is BLEU's, the strict ones are PORT's.
    """

    system: str
    orders: tuple[OrderCounts, ...]
    brevity_penalty: float
    strict_brevity_penalty: float
    strict_redundancy_penalty: float


@dataclass(frozen=True)
class LinksScore:
    """Score of one system under one metric and one set of links, as in Table 7."""

    links: str
    system: str
    metric: str
    score: float


@dataclass(frozen=True)
class LinksAgreement:
    """Alignment error rate of one set of reference links against another."""

    first: str
    second: str
    aer: float


@dataclass(frozen=True)
class Alignments:
    """The same outputs under several sets of links, as in Table 7."""

    sets: tuple[str, ...]
    scores: tuple[LinksScore, ...]
    agreement: tuple[LinksAgreement, ...]


@dataclass(frozen=True)
class Timing:
    """Time that a metric takes for one output, in this process, as in Table 6.

    `ratio` is relative to BLEU.
    """

    metric: str
    seconds: float
    ratio: float


@dataclass(frozen=True)
class Bucket:
    """Segments that have their length or their amount of reordering in common.

    Parameters
    ----------
    label
        Such as `11-20` (tokens) or `0.25-0.50` (amount of reordering).
    segments
        How many.
    scores
        Metric -> corpus score of each system on these segments, in the order of systems.
    """

    label: str
    segments: int
    scores: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class NgramDifference:
    """An n-gram that `system` gets right more often, or less often, than the first system.

    Counts are clipped matches, means over replicas. `reference` counts it in the references.
    """

    system: str
    ngram: str
    first_matched: float
    system_matched: float
    reference: float


@dataclass(frozen=True)
class SegmentDifference:
    """A segment on which a system differs much from the first one.

    `difference` is the system's score minus the first one's, both means over replicas.
    """

    metric: str
    system: str
    segment: int
    difference: float


@dataclass(frozen=True)
class Differences:
    """Where the systems differ.

    Parameters
    ----------
    by_length
        Segments grouped by the number of tokens of their first reference.
    by_reordering
        Grouped by 1 - v of the first reference's word order against the source's. Empty without
        links.
    ngrams, segments
        For each system but the first: best gain first, largest loss last.
    """

    by_length: tuple[Bucket, ...]
    by_reordering: tuple[Bucket, ...]
    ngrams: tuple[NgramDifference, ...]
    segments: tuple[SegmentDifference, ...]


@dataclass(frozen=True)
class LinkedText:
    """A text of one segment.

    Parameters
    ----------
    text
        Tokens joined by spaces.
    links
        `0-0 1-2`: source position and position in this text. None if not known.
    order
        Source positions in the order of this text, `0 2 1`: the permutation that v compares. None
        if links are not known.
    v
        Agreement of this order with the first reference's, 0..1. Outputs only.
    """

    text: str
    links: str | None = None
    order: str | None = None
    v: float | None = None


@dataclass(frozen=True)
class Segment:
    """One segment.

    Parameters
    ----------
    source
        None if the comparison has no source.
    outputs
        Output of the first replica of each system, in the order of systems.
    scores
        Metric -> score of each system, a mean over replicas.
    reordering
        1 - v of the first reference's word order against the source's.
    """

    source: str | None
    references: tuple[LinkedText, ...]
    outputs: tuple[LinkedText, ...]
    scores: Mapping[str, tuple[float, ...]]
    reordering: float | None = None


@dataclass(frozen=True)
class Comparison:
    """A whole comparison.

    Parameters
    ----------
    headlines
        One sentence for each metric and each system but the first: which differences were shown.
    tuning_luck_untested
        Systems with one replica. Tuning them again might give other scores.
    notes
        Warnings: values that cannot be estimated, and parts that were left out, with the reason.
    systems
        The others are compared with the first.
    source, references
        Names of the test set's files, without folders.
    reference_links
        Name of the set of links behind scores and segments; None without links.
    samples, seed, confidence
        Parameters of all resampling. `confidence` is the level of intervals, such as 0.95.
    """

    portmert: str
    headlines: tuple[str, ...]
    tuning_luck_untested: tuple[str, ...]
    notes: tuple[str, ...]
    source: str | None
    references: tuple[str, ...]
    reference_links: str | None
    samples: int
    seed: int
    confidence: float
    systems: tuple[System, ...]
    metrics: tuple[ComparedMetric, ...]
    scores: tuple[SystemScore, ...]
    similarity: tuple[Similarity, ...]
    ordering: tuple[OrderingScores, ...]
    ngrams: tuple[NgramCounts, ...]
    alignments: Alignments | None
    timing: tuple[Timing, ...]
    differences: Differences
    segments: tuple[Segment, ...]
    runs: tuple[RunHistory, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as JSON objects, lists, numbers and null."""
        document = plain(self)
        assert isinstance(document, dict)  # noqa: S101
        return {"kind": "comparison", **document}
