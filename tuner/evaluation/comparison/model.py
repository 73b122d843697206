"""Holds a whole comparison as plain data: what every form of its report shows.

All scores are on the metric's own scale (a share is 0..1, not percent), all positions count from
0, and what cannot be known is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from portmert.tuner.evaluation.history.model import RunHistory
from portmert.tuner.ground.documents import plain


@dataclass(frozen=True)
class System:
    """Holds one system.

    Parameters
    ----------
    name
        Unique in the comparison.
    kind
        `run` (a folder of `portmert tune`) or `files`.
    replicas
        Number of outputs.
    tuned_on
        Signature of the metric it was tuned on; None of files.
    hypothesis_tokens, reference_tokens
        Of all segments, a mean over replicas; the reference is the closest one.
    """

    name: str
    kind: str
    replicas: int
    tuned_on: str | None
    hypothesis_tokens: float
    reference_tokens: float


@dataclass(frozen=True)
class ComparedMetric:
    """Holds one metric; `label` is what was asked for and what all tables name it by."""

    label: str
    name: str
    signature: str
    source: str
    higher_is_better: bool
    in_percent: bool


@dataclass(frozen=True)
class SystemScore:
    """Holds one system under one metric: Table 4 of the PORT paper.

    Parameters
    ----------
    score
        Mean over replicas of the corpus score; `replica_scores` are they.
    low, high
        Bootstrap interval of `score` at the level of the comparison.
    s_sel
        Standard deviation over bootstrap samples of the segments, a mean over replicas.
    s_opt
        Standard deviation over replicas; None with one.
    difference
        From the first system; None in its own row, as all that follows. `difference_low` and
        `difference_high` are its interval: of the bootstrap where neither has replicas, else of
        both kinds of chance.
    p
        Of the verdict, two-sided: a t-test of both kinds of chance, of segments and of tuning;
        where neither has replicas `p_randomization`.
    p_randomization
        Two-sided, approximate randomization, stratified over segments and replicas.
    p_bootstrap
        One-sided for "better than the first system", paired bootstrap.
    p_holm, p_randomization_holm, p_bootstrap_holm
        The same, corrected for all systems and metrics of the comparison.
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
    """Says how alike two systems' outputs are: Table 3.

    Means over all pairs of replicas; `first == second` where replicas of one system are compared.

    Parameters
    ----------
    identical
        Share of segments with the same tokens.
    one_minus_ter
        1 - TER of the second's output against the first's, a mean of both directions.
    """

    first: str
    second: str
    identical: float
    one_minus_ter: float


@dataclass(frozen=True)
class OrderingScores:
    """Says what word order is in a system: Tables 8 (qmean, port), 9 (port*), 10 (v, rho, tau).

    Parameters
    ----------
    scores
        Metric (`v`, `rho`, `tau`, `port`, `port-rho`, `port-tau`, `qmean`) -> mean over replicas.
    """

    system: str
    scores: Mapping[str, float]


@dataclass(frozen=True)
class OrderCounts:
    """Holds n-grams of one order; means over replicas."""

    order: int
    matched: float
    total: float
    reference_total: float
    precision: float
    recall: float


@dataclass(frozen=True)
class NgramCounts:
    """Holds n-grams and length penalties of one system: Table 11.

    `brevity_penalty` is BLEU's, the strict ones are PORT's.
    """

    system: str
    orders: tuple[OrderCounts, ...]
    brevity_penalty: float
    strict_brevity_penalty: float
    strict_redundancy_penalty: float


@dataclass(frozen=True)
class LinksScore:
    """Holds one system under one metric and one set of links: Table 7."""

    links: str
    system: str
    metric: str
    score: float


@dataclass(frozen=True)
class LinksAgreement:
    """Holds the alignment error rate of one set of reference links against another."""

    first: str
    second: str
    aer: float


@dataclass(frozen=True)
class Alignments:
    """Holds the same outputs under several sets of links: Table 7."""

    sets: tuple[str, ...]
    scores: tuple[LinksScore, ...]
    agreement: tuple[LinksAgreement, ...]


@dataclass(frozen=True)
class Timing:
    """Holds how long a metric takes for one whole output, in this process: Table 6.

    `ratio` is to BLEU.
    """

    metric: str
    seconds: float
    ratio: float


@dataclass(frozen=True)
class Bucket:
    """Segments with something in common.

    Parameters
    ----------
    label
        Such as `11-20` (tokens) or `0.25-0.50` (amount of reordering).
    segments
        How many.
    scores
        Metric -> the corpus score of these segments of each system, in the order of systems.
    """

    label: str
    segments: int
    scores: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class NgramDifference:
    """Holds an n-gram that `system` has right more often, or less often, than the first system.

    Counts are clipped matches, means over replicas; `reference` is how often the references have
    it.
    """

    system: str
    ngram: str
    first_matched: float
    system_matched: float
    reference: float


@dataclass(frozen=True)
class SegmentDifference:
    """Holds a segment on which a system differs much from the first one.

    `difference` is score of the system - score of the first, each a mean over replicas.
    """

    metric: str
    system: str
    segment: int
    difference: float


@dataclass(frozen=True)
class Differences:
    """Says where the systems differ.

    Parameters
    ----------
    by_length
        By number of reference tokens (first reference).
    by_reordering
        By 1 - v of the first reference's word order against the source's; empty without links.
    ngrams, segments
        For each system but the first, best gain first, largest loss last.
    """

    by_length: tuple[Bucket, ...]
    by_reordering: tuple[Bucket, ...]
    ngrams: tuple[NgramDifference, ...]
    segments: tuple[SegmentDifference, ...]


@dataclass(frozen=True)
class LinkedText:
    """Holds a text.

    Parameters
    ----------
    text
        Tokens joined by spaces.
    links
        `0-0 1-2`, source position and position here; None where they are not known.
    order
        The source positions in the order in which this text has them, `0 2 1`: the permutation
        that v compares; None where links are not known.
    v
        Of this order against the first reference's, 0..1; only of outputs.
    """

    text: str
    links: str | None = None
    order: str | None = None
    v: float | None = None


@dataclass(frozen=True)
class Segment:
    """Holds one segment.

    Parameters
    ----------
    source
        None where the comparison has no source.
    outputs
        Of each system in the order of systems, of its first replica.
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
    """Holds a whole comparison.

    Parameters
    ----------
    headlines
        One sentence for each system but the first and each metric: what was shown, and what not.
    tuning_luck_untested
        Systems of one replica: whether tuning them again would give the same is not known.
    notes
        What the reader should know: what cannot be estimated, what was left out and why.
    systems
        The first one is what the others are compared with.
    source, references
        Names of the test set's files, without folders.
    reference_links
        Name of the set of links that scores and segments are shown with; None without links.
    samples, seed, confidence
        Of all resampling; `confidence` is the level of intervals, such as 0.95.
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
        """Return the comparison as JSON knows it: objects, lists, numbers, null."""
        document = plain(self)
        assert isinstance(document, dict)  # noqa: S101
        return {"kind": "comparison", **document}
