"""Error rates: WER, CER, CDER, PER, MER, WIL, SER, and exact matches; TER is in terp.py.

Formulas in docs/metrics/edits.md.
"""

import itertools
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic.dataclasses import dataclass

from . import _characters, _shared
from ._base import Batch, FloatArray, Metric
from .kernels.edits import edit_distances, edit_kinds, edit_pairs, equal_words


@dataclass(frozen=True)
class _DistanceRate(Metric):
    """Scores 1 minus an edit distance over the reference length.

    A subclass says whether jumps are edits as in CDER (`long_jumps`).
    """

    is_error_rate: ClassVar[bool] = True
    long_jumps: ClassVar[bool] = False

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The distance and the length of the reference."""
        return ("edits", "ref_len")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) counts in the order of `stat_names`, of the reference with fewest edits.

        That is, per reference word. An empty reference is chosen where the distance to it is 0, or
        where there is no other.
        """

        def stats(single: Batch) -> FloatArray:
            distances = edit_distances(_shared.segments_of(single), self.long_jumps)
            return np.column_stack([distances, _shared.one_length(single)])

        return _shared.best_reference(batch, stats, _lowest_rate)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return 1 minus the rate, at most 1, for stats (..., 2)."""
        return _one_minus_rate(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the rate, the edits and the reference length of stats (2,)."""
        rate = 1.0 - float(_one_minus_rate(stats))
        return {"rate": rate, "edits": float(stats[0]), "ref_len": float(stats[1])}

    def details(self, batch: Batch) -> dict[str, float]:
        """Return substitutions, insertions, deletions: sums, and shares of the reference length.

        The references are those of `stats`. CDER has none: its jumps are no such edits.
        """
        if self.long_jumps:
            return {}

        def stats(single: Batch) -> FloatArray:
            kinds = edit_kinds(_shared.segments_of(single))
            return np.column_stack([kinds.sum(axis=1), _shared.one_length(single), kinds])

        totals = _shared.best_reference(batch, stats, lambda rows: _lowest_rate(rows[:, :2])).sum(
            axis=0
        )
        names = ("substitutions", "insertions", "deletions")
        counts = dict(zip(names, totals[2:].tolist(), strict=True))
        length = float(totals[1]) or 1.0  # as in `_one_minus_rate`
        return {f"{name[:3]}_rate": count / length for name, count in counts.items()} | counts


def _one_minus_rate(stats: FloatArray) -> FloatArray:
    """Return 1 - distance / length (...) of stats (..., 2); a length of 0 counts as 1 (jiwer)."""
    distance, length = stats[..., 0], stats[..., 1]
    return np.asarray(1.0 - _shared.quotient(distance, length, distance))


def _lowest_rate(stats: FloatArray) -> FloatArray:
    """Return values, highest for the reference to choose; edits to no word rate infinitely."""
    endless = (stats[..., 1] == 0.0) & (stats[..., 0] > 0.0)
    return np.where(endless, -np.inf, _one_minus_rate(stats))


class Confusion(NamedTuple):
    """The words of an edit, and how often it is made.

    A word is "" where there is none: in an insertion or a deletion.
    """

    reference: str
    hypothesis: str
    times: int


@dataclass(frozen=True)
class Wer(_DistanceRate):
    """Computes 1 minus the insertions, deletions and substitutions over the reference length.

    1 is perfect; with more edits than reference words the score is below 0. With several
    references, the one with the lowest rate counts, the first on a tie. If no reference has a
    word, the rate is the number of hypothesis words, as in jiwer.
    """

    source: ClassVar[str] = "Moses mert/CderScorer.cpp (WER)"

    def confusions(self, batch: Batch) -> list[Confusion]:
        """Return the words of each edit of `details`, the most frequent first."""
        numbers = itertools.count()

        def stats(single: Batch) -> FloatArray:
            distances = edit_distances(_shared.segments_of(single), self.long_jumps)
            number = np.full(len(distances), next(numbers))
            return np.column_stack([distances, _shared.one_length(single), number])

        chosen = _shared.best_reference(batch, stats, lambda rows: _lowest_rate(rows[:, :2]))
        rows = batch.reference_offsets[:-1] + chosen[:, 2].astype(np.int64)
        texts, offsets = batch.references.take(rows), np.arange(len(rows) + 1)
        single = replace(batch, references=texts, reference_offsets=offsets)
        pairs = edit_pairs(_shared.segments_of(single))
        distinct, counts = np.unique(pairs, axis=0, return_counts=True)
        words = [*texts.vocabulary.words, ""]  # -1 is the last
        by_words = [
            Confusion(words[reference], words[hypothesis], count)
            for (reference, hypothesis), count in zip(
                distinct.tolist(), counts.tolist(), strict=True
            )
        ]
        return sorted(by_words, key=lambda row: (-row.times, row))


@dataclass(frozen=True)
class Cer(_DistanceRate):
    """Computes 1 minus the character insertions, deletions and substitutions over the length.

    The length is the number of characters (code points) of the reference. Other rules are those of
    `wer`.

    Parameters
    ----------
    spaces
        Whether a space between two words counts as a character. Several spaces in a row are one.
    """

    spaces: bool = True

    compares_words: ClassVar[bool] = False
    source: ClassVar[str] = "jiwer's cer"

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) counts in the order of `stat_names`."""
        return super().stats(_characters.in_characters(batch, spaces=self.spaces))

    def details(self, batch: Batch) -> dict[str, float]:
        """Return how many edits are of which kind."""
        return super().details(_characters.in_characters(batch, spaces=self.spaces))


@dataclass(frozen=True)
class Cder(_DistanceRate):
    """Computes 1 minus the CDER, edits and long jumps over the reference length.

    An alignment passes through the reference once, from left to right. In the hypothesis it may
    jump anywhere; a jump costs 1, as an edit does. Hypothesis words may be used several times or
    not at all. 1 is perfect; with more edits than reference words the score is below 0. With
    several references, the one with the lowest rate counts, the first on a tie. If no reference
    has a word, the rate is the CDER itself.
    """

    long_jumps: ClassVar[bool] = True
    source: ClassVar[str] = "Leusch, Ueffing and Ney, EACL 2006; Moses mert/CderScorer.cpp"


@dataclass(frozen=True)
class Per(Metric):
    """Computes the share of reference words in the hypothesis, less its superfluous words.

    The score is (words in common - words by which the hypothesis is longer) / reference length.
    The order of words does not count. 1 is perfect. A hypothesis that is much too long scores
    below 0. If no reference has a word, the score is 0. Moses takes one reference; here, with
    several, the one with the highest score counts, the first on a tie. An empty reference counts
    only for an empty hypothesis, or where there is no other.
    """

    is_error_rate: ClassVar[bool] = True
    source: ClassVar[str] = "Tillmann et al., Eurospeech 1997; Moses mert/PerScorer.cpp"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Words in common, lengths of the hypothesis and the reference."""
        return ("correct", "hyp_len", "ref_len")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 3) counts in the order of `stat_names`."""

        def stats(single: Batch) -> FloatArray:
            lengths = _shared.hypothesis_lengths(single), _shared.one_length(single)
            return np.column_stack([_shared.matched(single, 1), *lengths])

        def preferred(rows: FloatArray) -> FloatArray:
            undefined = (rows[:, 2] == 0.0) & (rows[:, 1] > 0.0)
            return np.where(undefined, -np.inf, self.score(rows))

        return _shared.best_reference(batch, stats, preferred)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return 1 - per, at most 1, for stats (..., 3)."""
        correct, hypothesis, length = stats[..., 0], stats[..., 1], stats[..., 2]
        return _shared.quotient(correct - np.maximum(hypothesis - length, 0.0), length)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the rate, the words in common and the lengths of stats (3,)."""
        counts = dict(zip(self.stat_names, stats.tolist(), strict=True))
        return {"rate": 1.0 - float(self.score(stats)), **counts}


@dataclass(frozen=True)
class _EqualWords(Metric):
    """Scores the words that a cheapest edit path leaves unchanged.

    Of equally cheap paths the one counts that jiwer finds (docs/metrics/edits.md).
    """

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Unchanged words, edits, lengths of the hypothesis and the reference."""
        return ("correct", "edits", "hyp_len", "ref_len")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 4) counts in the order of `stat_names`, of the best-scoring reference."""

        def stats(single: Batch) -> FloatArray:
            lengths = _shared.hypothesis_lengths(single), _shared.one_length(single)
            return np.column_stack([equal_words(_shared.segments_of(single)), *lengths])

        return _shared.best_reference(batch, stats, lambda rows: self.oriented(self.score(rows)))

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the rate, if the score is one, and the counts of stats (4,)."""
        rate = {} if self.higher_is_better else {"rate": float(self.score(stats))}
        return rate | _shared.named(self.stat_names, stats)


@dataclass(frozen=True)
class Mer(_EqualWords):
    """Computes the match error rate, the share of edits among edits and unchanged words.

    Lower is better; 0 is perfect and 1 is the worst. With several references, the one with the
    lowest rate counts, the first on a tie. Two empty texts have the rate 0. Scores equal jiwer's
    `mer`.
    """

    higher_is_better: ClassVar[bool] = False
    is_error_rate: ClassVar[bool] = True
    source: ClassVar[str] = "Morris, Maier and Green, Interspeech 2004; jiwer's mer"

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the rate, 0 to 1, for stats (..., 4)."""
        equal, edits = stats[..., 0], stats[..., 1]
        return _shared.quotient(edits, equal + edits)


@dataclass(frozen=True)
class Wip(_EqualWords):
    """Computes the word information preserved, unchanged words over each length, multiplied.

    1 is perfect and 0 is the worst. With several references, the one with the highest score
    counts, the first on a tie. Two empty texts have the score 1, an empty one and another 0.
    Scores equal jiwer's `wip`.
    """

    source: ClassVar[str] = "Morris, Maier and Green, Interspeech 2004; jiwer's wip"

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the share, 0 to 1, for stats (..., 4)."""
        return _preserved(stats)


@dataclass(frozen=True)
class Wil(_EqualWords):
    """Computes the word information lost, 1 minus `wip`.

    Lower is better; 0 is perfect and 1 is the worst. Other rules are those of `wip`. Scores equal
    jiwer's `wil`.
    """

    higher_is_better: ClassVar[bool] = False
    is_error_rate: ClassVar[bool] = True
    source: ClassVar[str] = "Morris, Maier and Green, Interspeech 2004; jiwer's wil"

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the rate, 0 to 1, for stats (..., 4)."""
        return 1.0 - _preserved(stats)


@dataclass(frozen=True)
class ExactMatch(Metric):
    """Computes the share of hypotheses that equal a reference, word for word."""

    source: ClassVar[str] = "SQuAD, Rajpurkar et al., EMNLP 2016 (without its normalisation)"

    @property
    def stat_names(self) -> tuple[str, ...]:
        """1 for an equal reference, and 1 for the hypothesis."""
        return ("correct", "segments")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) counts in the order of `stat_names`."""

        def stats(single: Batch) -> FloatArray:
            distances = edit_distances(_shared.segments_of(single), False)  # noqa: FBT003
            return np.column_stack([distances == 0.0, np.ones(len(distances))])

        return _shared.best_reference(batch, stats, lambda rows: rows[:, 0])

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the share, 0 to 1, for stats (..., 2)."""
        return _shared.quotient(stats[..., 0], stats[..., 1])

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the counts of stats (2,), and the rate of errors if the score is one."""
        rate = {} if self.higher_is_better else {"rate": float(self.score(stats))}
        return rate | _shared.named(self.stat_names, stats)


@dataclass(frozen=True)
class Ser(ExactMatch):
    """Computes the sentence error rate, the share of hypotheses that equal no reference.

    Lower is better; 0 is perfect.
    """

    higher_is_better: ClassVar[bool] = False
    is_error_rate: ClassVar[bool] = True
    source: ClassVar[str] = "sclite's S.Err, Kaldi's %SER"

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the rate, 0 to 1, for stats (..., 2)."""
        return _shared.quotient(stats[..., 1] - stats[..., 0], stats[..., 1])


def _preserved(stats: FloatArray) -> FloatArray:
    """Return (...): the product of unchanged words over both lengths, 1 where both are 0."""
    equal, hypothesis, length = stats[..., 0], stats[..., 2], stats[..., 3]
    return _shared.quotient(equal, hypothesis, hypothesis == length) * _shared.quotient(
        equal, length, hypothesis == length
    )
