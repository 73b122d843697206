"""Checks whole lists: links, model scores, numbers of segments and order.

nbest/findings.py checks the columns of lists.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from portmert.aligners._base import warn_of_base
from portmert.metrics._base import FloatArray, IntArray

from ..base.errors import InputError, counted
from ..weights.feature_weights import FeatureWeights
from .model import NBest, model_scores

FEW_SEGMENTS = 100
"""Segments below which a set to tune on is small."""
MOST_SEGMENTS = 1000
"""Lists whose order is looked at."""
LEAST_STEPS = 20
"""Neighbours of different scores below which nothing is said of the order of lists."""
SORTED = 0.98
"""The share of neighbours in order from which lists are sorted."""
UNCOUNTED = "each word that no feature counts"
TOLERATED = 0.01
"""The share of the spread of model scores that rounding may explain."""


def check_links(nbest: NBest, source_lengths: NDArray[np.int32]) -> None:
    """Check that every link begins at a token of its source segment, and warn if all count from 1.

    Parameters
    ----------
    source_lengths : (S,) int32

    Raises
    ------
    InputError
        Source and list have different numbers of segments, or a link is out of range.
    """
    if len(source_lengths) != len(nbest):
        raise InputError(
            f"the source has {counted(len(source_lengths), 'segment')}, the n-best list has "
            f"{len(nbest)}; give the source of this list"
        )
    links = nbest.texts.links
    if links is None:
        return
    per_segment = links.offsets[nbest.offsets]
    limits = np.repeat(np.asarray(source_lengths), np.diff(per_segment))
    pairs, linked = links.values[per_segment[0] : per_segment[-1]], np.diff(per_segment) > 0
    wrong = np.flatnonzero(pairs[:, 0] >= limits)
    if len(wrong):
        at = int(wrong[0] + per_segment[0])
        segment = int(np.searchsorted(per_segment, at, side="right")) - 1
        row = int(np.searchsorted(links.offsets, at, side="right")) - 1
        source, target = links.values[at]
        raise InputError(
            f"n-best list: segment {segment}, hypothesis {row - nbest.offsets[segment] + 1}: link "
            f"{source}-{target} is out of range, the source has "
            f"{counted(source_lengths[segment], 'token')}; is it the source of this list?"
        )
    warn_of_base(pairs, int(linked.sum()), origin="n-best list")


def model_score_mismatch(nbest: NBest, weights: FeatureWeights, *, origin: str = "weights") -> str:
    """Return how far the decoder's scores are from weights . features; "" if they are equal.

    Equal means as far as the printed digits say.

    A positive factor is allowed for: mert-moses.pl hands Moses weights whose absolute values add
    to 1. It is the median ratio of the two scores, and taken where it explains more of them.

    Any difference that is the same for all hypotheses of a segment is allowed for, too: the
    median one is taken off. Such a constant moves no hypothesis above another. Moses' lists need
    it where words are unknown: the score has their penalty (-100 each), the features do not.

    Raises
    ------
    InputError
        A dense feature has no weight.
    """
    in_lists = nbest.model_scores
    expected = model_scores(nbest, weights, origin=origin)
    absolute = FeatureWeights({name: tuple(map(abs, v)) for name, v in weights.values.items()})
    sparse = nbest.sparse and replace(nbest.sparse, values=np.abs(nbest.sparse.values))
    all_positive = replace(nbest, features=np.abs(nbest.features), sparse=sparse)
    sizes = model_scores(all_positive, absolute)
    counts = np.diff(nbest.offsets)
    usable = expected != 0
    ratio = float(np.median(in_lists[usable] / expected[usable])) if usable.any() else 1.0
    tried: list[tuple[int, float, FloatArray, FloatArray]] = []
    for scale in (1.0, ratio) if ratio > 0 and math.isfinite(ratio) else (1.0,):
        scaled = scale * expected
        # A product errs by half a unit for the value and one for the weight, the score for itself:
        # half a unit of the last of Moses' six digits is the relative error of a printed number.
        tolerance = 0.5e-5 * (2 * scale * sizes + np.abs(in_lists)) * 1.1 + 1e-9
        if scale != 1.0:
            tolerance *= 2  # the ratio errs as its hypothesis does
        gaps = in_lists - scaled
        order = np.lexsort((gaps, np.repeat(np.arange(len(nbest)), counts)))
        middle = nbest.offsets[:-1] + (counts - 1) // 2
        scaled += np.repeat(gaps[order[middle]], counts)
        tolerance *= 2  # the median errs as its hypothesis does
        off = int(np.count_nonzero(np.abs(in_lists - scaled) > tolerance))
        tried.append((off, scale, scaled, tolerance))
    _, scale, expected, tolerance = min(tried, key=lambda one: one[0])
    difference = np.abs(in_lists - expected)
    wrong = np.flatnonzero(difference > tolerance)
    if not len(wrong):
        return ""
    first = int(wrong[0])
    segment = int(np.searchsorted(nbest.offsets, first, side="right")) - 1
    times = "" if scale == 1.0 else f" times {scale:.6g}"
    share = 100 * len(wrong) / len(in_lists)
    return (
        f"{len(wrong)} of {len(in_lists)} model scores ({share:.1f}%) are not weights . features"
        f"{times}, by up to {difference[wrong].max():.6g} (first: segment {segment}, hypothesis "
        f"{first - int(nbest.offsets[segment]) + 1}: the list says {in_lists[first]:.6g}, the "
        f"weights give {expected[first]:.6g})"
    )


def few_segments(count: int) -> list[str]:
    """Return a line if a set to tune on has few segments."""
    if count >= FEW_SEGMENTS:
        return []
    line = (
        f"{counted(count, 'segment')} to tune on, fewer than {FEW_SEGMENTS}: weights found on "
        f"so few owe much to chance; take more"
    )
    return [line]


def length_order(nbest: NBest, scores: FloatArray | None = None) -> str:
    """Return a line if the lists are in the order of scores divided by length; else "".

    Neighbours in the lists, of different scores, are compared.

    Parameters
    ----------
    scores : (H,) float64, optional
        The scores of the hypotheses under the weights given. Without weights: the scores in the
        lists, if there are any, and each feature. No feature may explain the order itself.
    """
    if scores is not None:
        by_name = {"the scores under these weights": (scores, False)}
    else:
        names = [name for name, size in nbest.feature_names for _ in range(size)]
        columns = zip(names, nbest.features.T, strict=True)
        by_name = {f"feature {name}": (np.asarray(column), True) for name, column in columns}
        by_name = {"the scores in the lists": (nbest.model_scores, False), **by_name}
    neighbours, divisors = _neighbours(nbest), list(_divisors(nbest))
    lines = []
    for name, (of_all, is_feature) in by_name.items():
        values = of_all[: nbest.offsets[: MOST_SEGMENTS + 1][-1]]
        plain = _in_order(values, neighbours)
        if plain is None:
            continue
        if is_feature:  # it may be a cost
            plain = max(plain, 1 - plain)
        if plain > SORTED - 0.05:
            if is_feature or scores is not None:
                return ""
            continue
        shares = [
            (max(share, 1 - share) if is_feature else share, divisor)
            for divisor, lengths in divisors
            if (share := _in_order(values / lengths, neighbours)) is not None
        ]
        divided, divisor = max(shares, key=lambda pair: pair[0], default=(0.0, ""))
        if divided >= SORTED:
            lines.append(
                f"the lists are in the order of {name} divided by {divisor} "
                f"({100 * divided:.0f} % of neighbours), not of {name} ({100 * plain:.0f} %): "
                f"does the decoder normalise by length? Try --length-penalty 0:2"
            )
    return lines[0] if lines else ""


def order_of_firsts(nbest: NBest, weights: FeatureWeights) -> str:
    """Return a line if no score tells why the first hypotheses stand first; else "".

    Scores are those in the lists, each feature in the direction of its weight, and all together.
    In lists with the best one first, at least one of them is highest for the first hypothesis more
    often than by chance: by four standard errors.
    """
    if len(nbest) < LEAST_STEPS:
        return ""
    counts, segments = np.diff(nbest.offsets), nbest.segment_of_row
    ranks = nbest.ranks if len(nbest.ranks) else np.arange(len(segments))
    firsts = np.lexsort((ranks, segments))[nbest.offsets[:-1]]
    columns = (nbest.features * weights.vector(nbest.feature_names)).T
    for scores in (nbest.model_scores, model_scores(nbest, weights), *columns):
        highest = np.maximum.reduceat(scores, nbest.offsets[:-1])
        are_highest = scores == highest[segments]
        chances = np.add.reduceat(are_highest, nbest.offsets[:-1], dtype=np.float64) / counts
        error = math.sqrt(float(np.sum(chances * (1 - chances))))
        if float(np.sum(are_highest[firsts] - chances)) > 4 * error:
            return ""
    return (
        "no score is highest for the first hypotheses more often than by chance: if the lists are "
        "not in the system's own order, `first` is an arbitrary choice, and easy to beat"
    )


def _divisors(nbest: NBest) -> Iterator[tuple[str, FloatArray]]:
    """Yield what decoders divide scores by: names, and values for the first lists.

    The length may count the end of the sentence; with 5 more it is that of Wu et al. (2016).
    """
    ends = nbest.texts.tokens.offsets[: nbest.offsets[: MOST_SEGMENTS + 1][-1] + 1]
    lengths = np.maximum(np.diff(ends).astype(np.float64), 1)
    for more in (0, 1, 5):
        for power in (1, 0.6):
            name = f"the length + {more}" if more else "the length"
            yield name if power == 1 else f"({name})^{power}", (lengths + more) ** power


def _neighbours(nbest: NBest) -> tuple[IntArray, IntArray]:
    """Return the rows of neighbours in the first lists: of the earlier, and of the later ones."""
    ends = nbest.offsets[: MOST_SEGMENTS + 1]
    rows = np.arange(ends[-1])
    if len(nbest.ranks) == nbest.offsets[-1]:
        segments = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
        rows = np.lexsort((nbest.ranks[: ends[-1]], segments))
    later = np.setdiff1d(np.arange(1, len(rows)), ends)
    return rows[later - 1], rows[later]


def _in_order(scores: FloatArray, neighbours: tuple[IntArray, IntArray]) -> float | None:
    """Return the share of neighbours in order, of different scores.

    None if these are few, or less than half of all.
    """
    earlier, later = scores[neighbours[0]], scores[neighbours[1]]
    steps = earlier - later
    steps = steps[np.abs(steps) > 1e-6 * np.abs(later)]  # printed digits end there
    return float(np.mean(steps > 0)) if len(steps) >= max(LEAST_STEPS, len(later) / 2) else None


class ScoreFault(NamedTuple):
    """What is wrong with the decoder's scores.

    Parameters
    ----------
    text
        Empty if the scores are weights . features.
    is_unlisted
        Whether the decoder used these weights, and features that are not in the list.
    """

    text: str = ""
    is_unlisted: bool = False


def score_fault(
    nbest: NBest, weights: FeatureWeights, *, origin: str = "weights", is_hiding: bool = False
) -> ScoreFault:
    """Return what is wrong if the decoder's scores are not weights . features.

    A positive factor and a constant of each segment are allowed for, and so is rounding. The rest
    is explained by least squares over the differences between the hypotheses of each segment: by
    the number of words, by another weight of one feature, by a division by the length, or by other
    weights of all.

    Parameters
    ----------
    is_hiding
        Whether the decoder has features that are not in the list, which explain any difference.
    """
    fault = model_score_mismatch(nbest, weights, origin=origin)
    if not fault:
        return ScoreFault()
    if is_hiding:
        return ScoreFault(
            f"{fault}; the decoder hides features that are not tuned", is_unlisted=True
        )
    expected = model_scores(nbest, weights)
    error = _left(nbest, nbest.model_scores, expected)[0]
    if error <= TOLERATED:
        return ScoreFault()
    vector = weights.vector(nbest.feature_names)
    for left, why in _explanations(nbest, expected, vector):
        if left <= TOLERATED:
            return ScoreFault(f"{fault}; {why}", why.endswith(UNCOUNTED))
        error = min(error, left)
    text = f"no weights explain it ({100 * error**2:.0f}% of its variance is left)"
    why = "a feature is missing (does the decoder hide those that are not tuned?)"
    return ScoreFault(f"{fault}; {text}: {why}", is_unlisted=True)


def _explanations(
    nbest: NBest, expected: FloatArray, vector: FloatArray
) -> Iterator[tuple[float, str]]:
    """Yield what may explain the scores, the simplest first, and how much it leaves."""
    in_lists = nbest.model_scores
    words = np.asarray(nbest.texts.tokens.lengths, dtype=np.float64)
    names = [name for name, size in nbest.feature_names for _ in range(size)]
    for name, weight, column in zip(names, vector.tolist(), nbest.features.T, strict=True):
        left, (scale, slope) = _left(nbest, in_lists, expected, column)
        fits = weight + slope / (scale if scale > 0 else math.nan)
        why = f"the score fits a weight of {fits:.3g} of {name}, which was given {weight:.3g}"
        pairs = ((fits, weight), (weight, fits))
        if any(abs(a - math.log(10) * b) < TOLERATED * abs(a) for a, b in pairs):
            why += " (natural logarithms against those to base 10)"
        yield (left if scale > 0 else math.inf), why
    left, (scale, slope) = _left(nbest, in_lists, expected, words)
    slope /= scale if scale > 0 else math.nan
    why = f"the score contains {slope:.3g} for {UNCOUNTED}"
    yield (left if scale > 0 else math.inf), why
    why = "the score is divided by the number of words, the features are not"
    yield _left(nbest, in_lists * np.maximum(words, 1), expected)[0], why
    for by_word in ((), (words,)):
        if len(in_lists) - len(nbest) > 2 * (len(names) + len(by_word)):
            left, fitted = _left(nbest, in_lists, *nbest.features.T, *by_word)
            each = zip(names, fitted.tolist(), strict=False)
            weights = ", ".join(f"{name} {weight:.3g}" for name, weight in each)
            why = f"the decoder did not use these weights: the score fits the weights {weights}"
            yield left, why + (f", and {fitted[-1]:.3g} for each word" if by_word else "")


def _left(nbest: NBest, scores: FloatArray, *columns: FloatArray) -> tuple[float, FloatArray]:
    """Return the share of the scores' spread that a sum of columns leaves, and its weights."""
    counts = np.diff(nbest.offsets)

    def centred(values: FloatArray) -> FloatArray:
        means = np.add.reduceat(values, nbest.offsets[:-1]) / counts
        return np.asarray(values - np.repeat(means, counts), dtype=np.float64)

    target = centred(scores)
    matrix = np.stack([centred(column) for column in columns], axis=1)
    weights: FloatArray = np.linalg.lstsq(matrix, target, rcond=None)[0].astype(np.float64)
    spread = float(np.linalg.norm(target)) or 1.0
    return float(np.linalg.norm(target - matrix @ weights)) / spread, weights


class ListChecker:
    """Compares the scores of a run's lists with weights . features.

    Attributes
    ----------
    has_unlisted : bool
        Whether a list had scores with a part that no feature of it explains, as of features that
        the decoder hides. The search leaves that part as it is.
    fault : str
        What is wrong with the scores of the last list. What is not listed is said once.
    """

    def __init__(self) -> None:
        self.has_unlisted = False
        self.fault = ""

    def checked(
        self,
        nbest: NBest,
        weights: FeatureWeights,
        *,
        origin: str = "weights",
        is_hiding: bool = False,
    ) -> NBest:
        """Return a list with the part of its scores that is not weights . features.

        Parameters: see `score_fault`.
        """
        fault = score_fault(nbest, weights, origin=origin, is_hiding=is_hiding)
        self.fault, is_unlisted = fault
        if is_unlisted:
            stays = f"{self.fault}; the search leaves that part of the scores as it is"
            self.fault = "" if self.has_unlisted else stays
            self.has_unlisted = True
        return replace(nbest, unlisted=nbest.model_scores - model_scores(nbest, weights))
