"""F-score of grammar correction over edits, against gold edits in M2 files.

Formulas and rules in docs/metrics/m2.md.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple, Self

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, FloatArray, Metric, Texts, Vocabulary, offsets_of
from portmert.metrics._shared import best_reference, each_reference, named, quotient, segments_of
from portmert.tuner.base.errors import ConfigError, faults_at
from portmert.tuner.base.options import exists, path, split
from portmert.tuner.texts.joining import GOLD
from portmert.tuner.texts.statistics import compute_stats

from ._m2_kernels import matched_edits

BARS, OR = "|||", "||"
"""What stands before a gold edit, and between its corrections."""


@dataclass(frozen=True)
class M2(Metric):
    """Computes the F-score of a corrected text's edits against gold edits, as the M2 scorer does.

    The references are an M2 file: the source sentences with the edits of one or more annotators.
    The edits of a hypothesis are those of a cheapest way from the source to it that match the most
    gold edits (MaxMatch). Of several annotators the one counts under whom the sentence adds most
    to the score of a text that scores `level`: (1 + beta^2) correct - level (edits + beta^2
    edits_gold); of equal ones the first. The scorer takes the one who makes the score of all
    sentences so far highest; `score` shows its figures beside (`scorer`). With one annotator both
    are the same. Without an edit on either side the score is 1.

    Parameters
    ----------
    gold
        The M2 file, if no other references are given.
    beta
        The weight of recall: 0.5 counts precision twice as much, 1 is the harmonic mean.
    level
        The score of the texts for which annotators are chosen. Take what your system scores.
    """

    gold: Path | None = None
    beta: Annotated[float, Ge(0)] = 0.5
    level: Annotated[float, Ge(0), Le(1)] = 2.0 / 3.0

    signed_if_changed: ClassVar[frozenset[str]] = frozenset({"beta", "level"})
    source: ClassVar[str] = "Dahlmeier and Ng, NAACL 2012; m2scorer 3.2"
    reads_gold: ClassVar[bool] = True

    @classmethod
    def written(cls, argument: str) -> Self:
        """Return the metric of `FILE,beta=1,level=0.5`; each part may be left out."""
        gold, values = None, {}
        with faults_at("metric m2", (ValueError, ConfigError), ConfigError):
            for part in split(argument, ",") if argument else ():
                name, equals, value = part.partition("=")
                if equals and name in ("beta", "level") and not exists(part):
                    values[name] = value
                elif gold is None:
                    gold = path(part)
                else:
                    raise ConfigError(f"'{part}', expected one FILE, beta=NUMBER, level=NUMBER")
            return cls(gold, **values)  # type: ignore[arg-type]  # read as numbers by pydantic

    @property
    def own_references(self) -> Path | None:  # type: ignore[override]
        """The file of gold edits."""
        return self.gold

    @property
    def signature(self) -> str:
        """The name; the file is left out, for other references may be given."""
        return super().signature if self.gold is None else replace(self, gold=None).signature

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Correct edits, edits of the hypothesis, gold edits."""
        return ("correct", "edits", "edits_gold")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 3) counts in the order of `stat_names`."""
        return best_reference(batch, _counts, self._preferred)

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the F-score (...) for stats (..., 3)."""
        return quotient((1.0 + self.beta**2) * stats[..., 0], self._edits(stats), 1.0)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precision, recall and the counts of stats (3,); the share of no edit is 1."""
        correct, proposed, gold = stats.tolist()
        precision, recall = (correct / n if n else 1.0 for n in (proposed, gold))
        return {"precision": precision, "recall": recall, **named(self.stat_names, stats)}

    def details(self, batch: Batch) -> dict[str, float]:
        """Return the scorer's precision, recall and F, where a segment has several annotators.

        It goes through the segments and takes the annotator under whom the sum so far has the
        highest F; of equal ones the one with the most correct edits, then the fewest edits, then
        the first.
        """
        if len(batch.references) == len(batch):
            return {}
        annotators = np.stack([_counts(single) for single in each_reference(batch)], axis=1)
        total = np.zeros(3)
        for rows in annotators:
            sums = total + rows
            order = np.lexsort((self._edits(sums), -sums[:, 0], -self.score(sums)))
            total = sums[order[0]]
        named_parts = self.parts(total)
        return {
            "scorer": float(self.score(total)),
            "scorer_precision": named_parts["precision"],
            "scorer_recall": named_parts["recall"],
        }

    def _edits(self, stats: FloatArray) -> FloatArray:
        return np.asarray(stats[..., 1] + self.beta**2 * stats[..., 2])

    def _preferred(self, stats: FloatArray) -> FloatArray:
        """Return values that are highest for the annotator to choose."""
        return (1.0 + self.beta**2) * stats[..., 0] - self.level * self._edits(stats)


def _counts(single: Batch) -> FloatArray:
    """Return (H, 3) counts against one row of gold edits a segment."""
    rows = [gold_of(single.references.words(k)) for k in single.reference_offsets[:-1].tolist()]
    edits = [edit for _, edits_of_row in rows for edit in edits_of_row]
    return np.asarray(
        matched_edits(
            segments_of(single),
            np.array([length for length, _ in rows], dtype=np.int64),
            np.array(edits, dtype=np.int32).reshape(-1, 5),
            offsets_of([len(edits_of_row) for _, edits_of_row in rows]),
        )
    )


class Edit(NamedTuple):
    """The first and last source position of an edit, and its possible corrections."""

    first: int
    last: int
    texts: Sequence[str]


class Correction(NamedTuple):
    """One correction of an edit; its words begin and end at these places of the row."""

    first: int
    last: int
    edit: int
    begin: int
    end: int


def gold_of(row: Sequence[str]) -> tuple[int, list[Correction]]:
    """Return the length of the source and the corrections of a row that `gold_row` has made."""
    length = int(row[1])
    bars = [k for k in range(length + 2, len(row)) if row[k] == BARS]
    corrections = []
    for number, (begin, end) in enumerate(pairwise([*bars, len(row)])):
        first, last = int(row[begin + 1]), int(row[begin + 2])
        cuts = [begin + 2, *(k for k in range(begin, end) if row[k] == OR), end]
        corrections += [Correction(first, last, number, a + 1, b) for a, b in pairwise(cuts)]
    return length, corrections


def corrected(row: Sequence[str]) -> str:
    """Return the source of a row of gold edits with the first correction of each edit."""
    length, corrections = gold_of(row)
    words: list[str] = []
    at, last_edit = 0, -1
    for correction in sorted(corrections):
        if correction.edit != last_edit and correction.first >= at:
            words += row[2 + at : 2 + correction.first]
            words += row[correction.begin : correction.end]
            at, last_edit = correction.last, correction.edit
    return " ".join([*words, *row[2 + at : 2 + length]])


def gold_row(source: Sequence[str], edits: Sequence[Edit]) -> str:
    """Return the words of a source and its gold edits as one line, which a reference can be."""
    parts = [f"{BARS} {edit.first} {edit.last} {f' {OR} '.join(edit.texts)}" for edit in edits]
    return " ".join([GOLD, str(len(source)), *source, *parts])


def warm_up() -> None:
    """Count two corrections, so that the kernel is compiled."""
    vocabulary = Vocabulary()
    gold = Texts.from_lines([gold_row(["a"], [Edit(0, 1, ["b"])])], vocabulary)
    hypotheses = Texts.from_lines(["a b", "b"], vocabulary)
    compute_stats(M2(), Batch(hypotheses, np.array([0, 2]), gold, np.array([0, 1])))
