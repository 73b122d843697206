"""What looks wrong about the columns of lists, whatever they were read from.

nbest/check.py checks whole lists, components/features_of_references.py features made of
references, search/doubtful_gains.py tuned weights, texts/text_checks.py texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, offsets_of

from ..base.errors import counted
from ..base.warn import warn
from ..texts._token_kernels import HASH_PRIME, HashArray
from ..weights.feature_weights import value_labels
from .merging import hash_ragged, mixed
from .model import NBest

MOST_COLUMNS = 300
"""Columns of which every pair is compared."""
BLOCK = 1 << 16
"""Values that are centred at once."""
MOST_SEGMENTS, MOST_OF_SEGMENT = 200, 20
"""Segments, and hypotheses of each, whose order is compared with that of outcomes."""
LEAST_PAIRS, LEAST_SEGMENTS = 100, 20
"""Pairs of different outcomes, and segments that have some, below which nothing is said."""
LEAKS = 0.995
"""The share of pairs in the order of outcomes from which a feature knows them."""
SCALED = 1.8
"""The ratio of median spreads from which features are on other scales; log10 makes 2.3."""
ROUNDING = 1e-9
LEAST_SHARED = 0.01
"""The share of segments in both sets, beyond what equal segments explain, that is told."""
_LESS_IS_BETTER = re.compile(
    r"(?:.*[\W_])?(?:err|errors?|error_rate|loss|nll|wer|cer|ter|per|ppl|perplexity|edits|cost)"
)
_MAY_BE_CONSTANT = re.compile(r"-?(?:[A-Z][A-Za-z]*[0-9]+|WordPenalty|UnknownWordPenalty|Unknown)")
"""Features of decoders, which name them all whether a text needs them or not."""


Outcome = Callable[[IntArray], FloatArray]
"""Takes (n,) hypotheses, and returns the outcome of each."""


def column_findings(
    nbest: NBest, outcomes: Mapping[str, Outcome], functions: Collection[str] = ()
) -> list[str]:
    """Return what looks wrong about features and outcomes, a line each.

    A feature is constant within each segment, a copy of another but for scale and level of each
    segment, or orders hypotheses as an outcome does.

    Parameters
    ----------
    outcomes
        By name; of two hypotheses the better one has more, or the worse one.
    functions
        Features that are told to be functions of what outcomes are made of.
    """
    columns = value_labels(nbest.feature_names)
    lines = _constants_and_copies(nbest, columns)
    rows, offsets = _sampled(nbest.offsets)
    for outcome, of_rows in outcomes.items():
        shares = concordance(nbest.features[rows], of_rows(rows), offsets)
        lines += [
            f"feature {name} orders {100 * share:.1f} % of pairs of hypotheses as {outcome} does: "
            f"is it made of it? Where the outcome is unknown, there is no such feature, so the "
            f"result means nothing"
            for name, share in zip(columns, np.maximum(shares, 1 - shares).tolist(), strict=True)
            if share >= LEAKS and name not in functions
        ]
    return lines


def _sampled(offsets: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows of some hypotheses of some segments, and the offsets of these segments."""
    segments = np.unique(np.linspace(0, len(offsets) - 2, MOST_SEGMENTS).astype(np.int64))
    sizes = np.minimum(np.diff(offsets)[segments], MOST_OF_SEGMENT)
    ends = offsets_of(sizes)
    return np.arange(ends[-1]) + np.repeat(offsets[segments] - ends[:-1], sizes), ends


def _constants_and_copies(nbest: NBest, names: list[str]) -> list[str]:
    """Return the lines of constant columns, and of those equal to others but for their scale."""
    offsets, count = nbest.offsets, len(names)
    if not 0 < count <= MOST_COLUMNS:
        return []
    gram, begin, step = np.zeros((count, count)), 0, max(1, BLOCK // count)
    while begin < len(nbest):  # blocks of whole segments
        end = max(begin + 1, int(np.searchsorted(offsets, offsets[begin] + step, "right")) - 1)
        rows, sizes = slice(offsets[begin], offsets[end]), np.diff(offsets[begin : end + 1])
        block = nbest.features[rows].T
        means = np.add.reduceat(block, offsets[begin:end] - offsets[begin], axis=1) / sizes
        centred = block - np.repeat(means, sizes, axis=1)
        gram += centred @ centred.T
        begin = end
    scale = np.maximum(nbest.features.max(axis=0), -nbest.features.min(axis=0))
    spread = np.sqrt(np.diag(gram) / len(nbest.features))
    varies = spread > 1e-9 * scale
    with np.errstate(all="ignore"):
        alike = np.abs(gram) / np.sqrt(np.outer(np.diag(gram), np.diag(gram))) > 1 - 1e-9
    alike &= np.outer(varies, varies) & np.tri(count, k=-1, dtype=bool)
    constant = [
        f"feature {names[column]} is equal for all hypotheses of a segment: it changes nothing"
        for column in np.flatnonzero(~varies).tolist()
        if not _MAY_BE_CONSTANT.match(names[column])
    ]
    return constant + [
        f"feature {names[column]} is a copy of {names[int(np.argmax(alike[column]))]}, but for "
        f"its scale: it adds nothing; leave one of them out"
        for column in np.flatnonzero(alike.any(axis=1)).tolist()
    ]


def concordance(columns: FloatArray, outcome: FloatArray, offsets: IntArray) -> FloatArray:
    """Return (F,) the share of pairs that each column orders as the outcome does; ties: half.

    Pairs are of one segment and have different outcomes. A share of 0.5 stands for columns of
    which too few pairs tell.

    Parameters
    ----------
    columns : (H, F) float64
    outcome : (H,) float64
    """
    agreeing, pairs, segments = np.zeros(columns.shape[1]), 0, 0
    for begin, end in pairwise(offsets.tolist()):
        rows = slice(begin, end)
        upper, lower = np.nonzero(outcome[rows, None] > outcome[None, rows])
        if len(upper):
            signs = np.sign(columns[rows][upper] - columns[rows][lower])
            agreeing += (1 + signs).sum(axis=0) / 2
            pairs, segments = pairs + len(upper), segments + 1
    if pairs < LEAST_PAIRS or segments < LEAST_SEGMENTS:
        return np.full(columns.shape[1], 0.5)
    return np.asarray(agreeing / pairs, dtype=np.float64)


def direction_finding(name: str) -> str:
    """Return a line if the name of an outcome sounds as if lower were better; else ""."""
    key = name.partition("#")[2].partition(":")[0] or name
    if not _LESS_IS_BETTER.fullmatch(key.lower()):
        return ""
    return (
        f"{key} sounds as if lower were better, but higher counts as better here: write a minus "
        f"before it (-{name}) if less is"
    )


def warn_of_dropped_outcomes(nbest: NBest, outcomes: Mapping[str, FloatArray]) -> None:
    """Warn of hypotheses that were dropped, as equal to others with different outcomes.

    Parameters
    ----------
    outcomes : (L,) float64 by name
        Of all hypotheses of the files; NaN where one is missing.
    """
    if nbest.dropped is None:
        return
    dropped, _, _, equal = nbest.dropped.T
    for name, values in outcomes.items():
        both = values[np.stack([dropped, equal])]
        if count := int((both[0] != both[1])[~np.isnan(both).any(axis=0)].sum()):
            warn(
                f"{counted(count, 'hypothesis')} equal to an earlier one of the segment but for "
                f"{name}: the outcome of the first counts"
            )


def overlap_finding(dev: NBest, test: NBest) -> str:
    """Return a line if segments of a test set were tuned on, whatever their ids; else "".

    Segments are equal if they have the same hypotheses in any order: the same texts, or the same
    values of all features. Equal segments within the set tuned on tell how many of these chance
    explains.
    """
    shares = {}
    if set(dev.feature_names) == set(test.feature_names):
        shares["features"] = _shared(_of_features(dev), _of_features(test))
    shares["texts"] = _shared(_of_texts(dev), _of_texts(test))
    what, count = max(shares.items(), key=lambda item: item[1])
    if count < 2:
        return ""
    share = "all" if count == len(test) else f"{100 * count / len(test):.0f} %"
    return (
        f"{count} of {len(test)} segments of the test set ({share}) have the {what} of segments "
        f"tuned on: their scores say nothing of unseen text; leave them out of one of both"
    )


class Range(NamedTuple):
    """The values of a feature: the extremes, and the median spread within segments (or 0)."""

    low: float
    high: float
    spread: float


def feature_ranges(nbest: NBest) -> dict[str, Range]:
    """Return the range of each feature that has one value."""
    starts, sizes, ranges = nbest.offsets[:-1], np.diff(nbest.offsets), {}
    place = 0
    for name, size in nbest.feature_names:
        if size == 1:
            values = nbest.features[:, place]
            squares = np.repeat(np.add.reduceat(values, starts) / sizes, sizes)
            np.square(np.subtract(values, squares, out=squares), out=squares)
            spreads = np.sqrt(np.add.reduceat(squares, starts) / sizes)
            spreads = spreads[spreads > ROUNDING * np.abs(values).max(initial=0.0)]
            spread = float(np.median(spreads)) if len(spreads) >= LEAST_SEGMENTS else 0.0
            ranges[name] = Range(float(values.min()), float(values.max()), spread)
        place += size
    return ranges


def range_findings(tuned: Mapping[str, Sequence[float]], nbest: NBest, *, where: str) -> list[str]:
    """Return a line for each feature of another sign or scale than that tuned on.

    A log to the base of 10 in place of e is 2.3 times smaller; a cost has another sign than a log
    probability. `tuned` has a `Range` of each feature.
    """
    lines = []
    for name, here in feature_ranges(nbest).items():
        if name not in tuned:
            continue
        there = Range(*tuned[name])
        extremes = (
            f"{here.low:.4g} to {here.high:.4g}, {there.low:.4g} to {there.high:.4g} in tuning"
        )
        if (here.high <= 0 < -here.low and there.low >= 0 < there.high) or (
            there.high <= 0 < -there.low and here.low >= 0 < here.high
        ):
            lines.append(
                f"{where}: feature {name} has another sign than in tuning ({extremes}): its "
                f"weight then rewards what it should punish"
            )
        elif (
            here.spread
            and there.spread
            and here[:2] != there[:2]  # as of a score of 0 or 1, whose spread is chance
            and not 1 / SCALED < here.spread / there.spread < SCALED
        ):
            lines.append(
                f"{where}: feature {name} varies {here.spread / there.spread:.3g} times as much "
                f"as in tuning ({extremes}): is it on another scale?"
            )
    return lines


def _shared(dev: HashArray, test: HashArray) -> int:
    """Return how many segments of the test set are in the other too; 0 if chance explains it."""
    used = dev[dev != 0]
    chance = 1 - len(np.unique(used)) / max(1, len(used))
    count = int(np.isin(test[test != 0], used).sum())
    return count if count / len(test) > LEAST_SHARED + 2 * chance else 0


def _of_features(nbest: NBest) -> HashArray:
    """Return (S,) a number of the features of each segment; 0 where too few tell it."""
    columns = [name for name, size in nbest.feature_names for _ in range(size)]
    hashes = np.full(len(nbest.features), HASH_PRIME)
    for place in sorted(range(len(columns)), key=columns.__getitem__):
        column = np.ascontiguousarray(nbest.features[:, place] + 0.0)
        hashes = mixed(hashes ^ column.view(np.uint64))
    return _of_segments(hashes, nbest.offsets)


def _of_texts(nbest: NBest) -> HashArray:
    """Return (S,) a number of the texts of each segment; 0 where too few tell it."""
    words = np.array([hash(word) for word in nbest.texts.vocabulary.words], dtype=np.int64)
    tokens = nbest.texts.tokens.alone()
    return _of_segments(hash_ragged(words[tokens.values], tokens.offsets), nbest.offsets)


def _of_segments(rows: HashArray, offsets: IntArray) -> HashArray:
    """Return (S,) the sums of rows; 0 for segments whose rows are all equal."""
    sums = np.add.reduceat(rows, offsets[:-1])
    is_one = np.maximum.reduceat(rows, offsets[:-1]) == np.minimum.reduceat(rows, offsets[:-1])
    return np.where(is_one, np.uint64(0), sums)
