"""Scores computed elsewhere: one number for each segment of a system, or several repeats of it.

They are read from a column of a file, `FILE#KEY` (see base/columns.py), from numbers, one per
line, from segment scores of mt-metrics-eval, and from arrays, series and frames.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from portmert.metrics._base import Batch, FloatArray, IntArray
from portmert.tuner.base import options
from portmert.tuner.base.columns import RecordColumn, collected_later, column_of, column_of_records
from portmert.tuner.base.errors import ConfigError, InputError, counted, shown
from portmert.tuner.base.files import called, each_line, read_lines
from portmert.tuner.base.frames import Frame, is_frame
from portmert.tuner.base.numbers import FINITE, bounded, parse_finite
from portmert.tuner.base.warn import warn
from portmert.tuner.components.external import MeanOfScores, NameOf
from portmert.tuner.nbest.feature_files import read_numbers
from portmert.tuner.texts.groups import numbered

SYSTEM_KEYS = ("system", "model")
"""Keys of the system in a file of several."""
FILTER_KEY = "filter"
"""Key of how lm-evaluation-harness took an answer from an output: a sample has several scores."""
GROUP_KEYS = ("group", "docid", "document", "speaker")
"""Keys of a group in records of scores."""
GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "true": 1.0, "false": 0.0}
"""Grades of inspect_ai: correct, incorrect, partly, no answer; and truth as tables have it."""
_UNKNOWN = ("", "nan", "none", "null", "na")
"""What tables have for a number that is not known."""
_SEGMENT_SCORES = re.compile(r"(.*)\.seg\.score")
_SYSTEM_SCORES = re.compile(r".*\.sys\.score")
_HIGHER = re.compile(
    "acc|accuracy|bertscore|bleu|bleurt|chrf|comet|correct|em|exact|f1|match|meteor|pass|qmean|"
    "reward|right|rouge|wins?|xcomet"
)
_LOWER = re.compile("cer|der|errors?|loss|nll|per|perplexity|ppl|ter|wer")
"""Words in keys that tell whether higher or lower is better."""


@dataclass(frozen=True, eq=False)
class SegmentScores:
    """The scores of one output of a system: V values of S segments.

    Parameters
    ----------
    where : str
        The file, for messages.
    key : str
        What the values are called.
    ids : tuple of str or None
        The id of each segment; None if they are only in order.
    segments : (V,) int64
        The number of each value's segment; a segment has several values if it was repeated.
    values : (V,) float64
        NaN where there is no value.
    lacking : dict of int to str
        What is said of a value that is not there.
    columns : dict of str to tuple of str
        What stands beside the values under `GROUP_KEYS` and the key of answers, where all have it.
    is_graded
        Whether the values were grades, or true and false: then 1 is right.
    """

    where: str
    key: str
    ids: tuple[str, ...] | None
    segments: IntArray
    values: FloatArray
    lacking: dict[int, str]
    columns: dict[str, tuple[str, ...]]
    is_graded: bool = False

    def __len__(self) -> int:
        return int(self.segments.max(initial=-1)) + 1

    @property
    def repeats(self) -> IntArray:
        """(S,) the number of values of each segment."""
        return np.bincount(self.segments, minlength=len(self))

    @property
    def is_outcome(self) -> bool:
        """Whether all values are 0 or 1."""
        return bool(np.isin(self.values[~np.isnan(self.values)], (0.0, 1.0)).all())

    def of_segments(self, order: Sequence[int]) -> SegmentScores:
        """Return the values of some segments, none of which lacks one, in this order."""
        places = np.full(len(self), -1, dtype=np.int64)
        places[np.asarray(order, dtype=np.int64)] = np.arange(len(order))
        numbers = places[self.segments]
        rows = np.flatnonzero(numbers >= 0)
        rows = rows[np.argsort(numbers[rows], kind="stable")]
        return replace(
            self,
            ids=None if self.ids is None else tuple(self.ids[k] for k in order),
            segments=numbers[rows],
            values=self.values[rows],
            lacking={},
            columns={key: tuple(texts[k] for k in rows) for key, texts in self.columns.items()},
        )

    def name_of(self, segment: int) -> str:
        """Return how messages name a segment: by its id, or by its number from 1."""
        return str(segment + 1) if self.ids is None else f"'{self.ids[segment]}'"


@collected_later()
def read_outcomes(source: Any, answers: str = "") -> dict[str, SegmentScores]:
    """Read the scores of a system, or of each system in a file of several.

    Parameters
    ----------
    source
        `FILE#KEY`, a file of numbers, `NAME.seg.score`; in memory an array or a series, or a pair
        of a frame or records and the key of their scores.
    answers
        The key of the final answers beside the scores, for `maj@k`.

    Returns
    -------
    By the names of systems; the one name is "" if the file names none.

    Raises
    ------
    InputError
        A value is no number, or scores of one id differ in how they were made; says where.
    """
    if isinstance(source, tuple):
        records, key = source
        return _of_column(_column_in_memory(records, key), answers)
    if not isinstance(source, Path | str):
        return {"": _in_memory(source)}
    column = column_of(source)
    if column is not None:
        return _of_column(column, answers)
    name = Path(options.file_key(source)[0]).name
    if _SYSTEM_SCORES.fullmatch(name):
        raise InputError(
            f"{source}: one score for each system, which no test can compare; give segment scores "
            f"(.seg.score)"
        )
    if match := _SEGMENT_SCORES.fullmatch(name):
        return _of_segment_scores(source, match[1])
    if not name.endswith(".npy"):
        first = next(each_line(source), "")
        if parse_finite(first.strip()) is None and "\tscore: " not in first:
            raise InputError(
                f"no system says what its references are; give --ref, or scores (FILE#KEY): "
                f"{source} begins with '{shown(first)}', no number"
            )
    values = read_numbers(source)
    return {"": _in_order(called(source), Path(name).stem, values, {})}


def _in_order(where: str, key: str, values: FloatArray, lacking: dict[int, str]) -> SegmentScores:
    return SegmentScores(where, key, None, np.arange(len(values)), values, lacking, {})


def _in_memory(source: Any) -> SegmentScores:
    """Return the scores of an array or a series; the index of a series has the ids."""
    where = f"scores '{source.name}'" if getattr(source, "name", None) else "the scores"
    index = getattr(source, "index", None)
    names = [] if type(index).__name__ == "RangeIndex" or callable(index) else index
    names = [] if names is None else list(map(str, names))
    try:
        values = np.array(source, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{where}: expected numbers, found {source!r:.60}") from None
    if values.ndim == 2 and not names:  # repeats of each segment
        segments = np.repeat(np.arange(len(values)), values.shape[1])
        values = values.ravel()
    elif values.ndim == 1:
        segments = np.arange(len(values))
    else:
        raise InputError(
            f"{where}: an array of shape {values.shape}; expected a number for each segment, or a "
            f"row of repeats for each"
        )
    ids = None
    if names:
        ids, segments = numbered(names)
    lacking = _lacking(values, lambda k: f"{where}: number {k + 1} is {values[k]}")
    key = str(getattr(source, "name", None) or "score")
    return SegmentScores(where, key, ids, segments, values, lacking, {})


def _lacking(values: FloatArray, say: Any) -> dict[int, str]:
    """Return what is said of values that are not there; infinite ones are refused."""
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise InputError(f"{say(int(infinite[0]))}, expected a number {FINITE}")
    return {int(k): say(int(k)) for k in np.flatnonzero(np.isnan(values))}


def _column_in_memory(records: Any, key: str) -> RecordColumn:
    """Return a column of a data frame, or of dicts."""
    if is_frame(records):
        records = Frame.of(records, "the records").records()
    rows = [(f"the records: {number}", record) for number, record in enumerate(records, 1)]
    if not rows or not all(isinstance(record, dict) for _, record in rows):
        raise InputError("the records: expected a data frame or dicts, one for each score")
    return column_of_records(rows, key, where="the records", is_table=False)


def _of_segment_scores(path: Path | str, key: str) -> dict[str, SegmentScores]:
    """Read lines of a system and a score, as mt-metrics-eval has them; None is no score."""
    by_system: dict[str, list[tuple[int, float]]] = {}
    for number, line in enumerate(read_lines(path), 1):
        name, *cells = line.split("\t")
        value = parse_finite(cells[0].strip()) if len(cells) == 1 else None
        if value is None and cells != ["None"]:
            raise InputError(
                f"{path}:{number}: '{shown(line)}', expected a system, a tab and a score"
            )
        by_system.setdefault(name, []).append((number, math.nan if value is None else value))
    return {
        name: _in_order(
            f"{path} ({name})",
            key,
            np.array([value for _, value in rows]),
            {k: f"{path}:{n}: no score" for k, (n, value) in enumerate(rows) if math.isnan(value)},
        )
        for name, rows in by_system.items()
    }


def _of_column(column: RecordColumn, answers: str) -> dict[str, SegmentScores]:
    values = _numbers(column)
    distinct = {x for x in column.values if isinstance(x, bool | str)}
    is_graded = bool(distinct & {True, False}) or any(x in GRADES for x in distinct)
    systems = next(filter(None, map(column.beside, SYSTEM_KEYS)), None)
    rows_of: dict[str, list[int]] = {}
    for row, name in enumerate(systems or [""] * len(values)):
        rows_of.setdefault(name, []).append(row)
    beside = {
        key: column.beside(key) for key in (*GROUP_KEYS, FILTER_KEY, *filter(None, [answers]))
    }
    columns = {key: texts for key, texts in beside.items() if texts is not None}
    if answers and answers not in columns:
        raise InputError(f"{column.where}: '{answers}' is missing, or no text, beside some scores")
    by_system = {}
    for name, rows in rows_of.items():
        ids, segments, of_system = None, np.arange(len(rows)), values[rows]
        if column.ids is not None:
            ids, segments = numbered(column.ids[row] for row in rows)
        lacking = {
            k: str(column.lacking(rows[k], "")).rstrip("; ")
            for k in np.flatnonzero(np.isnan(of_system)).tolist()
        }
        by_system[name] = SegmentScores(
            f"{column.where} ({name})" if len(rows_of) > 1 else column.where,
            column.key,
            ids,
            segments,
            of_system,
            lacking,
            {key: tuple(texts[row] for row in rows) for key, texts in columns.items()},
            is_graded,
        )
        _check_filters(by_system[name])
    return by_system


def _check_filters(outcomes: SegmentScores) -> None:
    """Refuse scores of one sample that were made in several ways: they are no repeats."""
    filters = dict.fromkeys(outcomes.columns.get(FILTER_KEY, ()))
    if len(filters) > 1 and outcomes.repeats.max() > 1:
        first = next(iter(filters))
        raise InputError(
            f"{outcomes.where}: each sample has a score for each '{FILTER_KEY}' "
            f"({', '.join(map(shown, filters))}); choose one: #{outcomes.key}"
            f"[{FILTER_KEY}={first}]"
        )


def _numbers(column: RecordColumn) -> FloatArray:
    """Return the numbers of all values; equal texts are read once."""
    values = column.values
    if {*map(type, values)} <= {int, float, bool}:
        with suppress(OverflowError):
            numbers = np.array(values, dtype=np.float64)
            if np.isfinite(numbers).all():
                return numbers
    by_text: dict[str, float] = {}
    rows = []
    for row, value in enumerate(values):
        number = by_text.get(value) if isinstance(value, str) else None
        if number is None:
            number = _number(column, row)
            if isinstance(value, str) and not math.isnan(number):  # of these each has a reason
                by_text[value] = number
        rows.append(number)
    return np.array(rows, dtype=np.float64)


def _number(column: RecordColumn, row: int) -> float:
    """Return the number of a value: NaN for none, 1 for a right answer."""
    value = column.values[row]
    if value is None:
        return math.nan
    if isinstance(value, int | float):
        number = bounded(value)
        if math.isfinite(number) or math.isnan(number):
            return number
    elif isinstance(value, str):
        text = value.strip()
        parsed = GRADES.get(text, GRADES.get(text.lower()))
        parsed = parse_finite(text) if parsed is None else parsed
        if parsed is not None:
            return parsed
        if text.lower() in _UNKNOWN:
            column.reasons.setdefault(row, f"'{column.key}' is '{text}'")
            return math.nan
    text = shown(str(value))
    of_text = "" if not isinstance(value, str) else "; to compare texts, give --ref"
    raise InputError(
        f"{column.places[row]}: '{column.key}' is {text}, expected a number {FINITE}{of_text}"
    )


# What is computed of the values of each segment.


@dataclass(frozen=True)
class OutcomeMetric(MeanOfScores):
    """Averages what is computed of the scores of each segment.

    Parameters
    ----------
    key
        What the scores are called.
    kind
        `mean`; `pass@k`, `best@k` or `maj@k` of k repeats.
    better
        `higher` or `lower`.
    percent
        Whether the scores are shares, shown in percent.
    """

    key: str
    kind: str = "mean"
    better: str = "higher"
    percent: bool = False

    name = NameOf("label")  # pyright: ignore[reportAssignmentType]
    source: ClassVar[str] = "the program that made the scores"
    reads_references: ClassVar[bool] = False

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]
        """Whether a higher score is better."""
        return self.better == "higher"

    @property
    def in_percent(self) -> bool:  # type: ignore[override]
        """Whether the scores are shares."""
        return self.percent

    @property
    def label(self) -> str:
        """The name in tables."""
        return self.key if self.kind == "mean" else f"{self.key} {self.kind}"

    @property
    def signature(self) -> str:
        """The key, what is computed, and what is better."""
        return f"scores:{self.key},{self.kind},better={self.better}"

    def stats(self, batch: Batch) -> FloatArray:  # noqa: ARG002  it cannot
        """Refuse texts: the scores are given."""
        raise InputError(f"metric {self.signature}: its scores are of no texts")

    def of_outcomes(self, outcomes: SegmentScores, answers: str = "") -> FloatArray:
        """Return (S, 2) statistics of a system.

        Raises
        ------
        InputError
            A segment has fewer repeats than k, or lacks what the kind needs.
        """
        name, _, number = self.kind.partition("@")
        if name == "mean":
            sums = np.bincount(outcomes.segments, outcomes.values, minlength=len(outcomes))
            values = sums / outcomes.repeats
        else:
            values = self._of_repeats(outcomes, name, int(number), answers)
        return np.column_stack([values, np.ones(len(values))])

    def _of_repeats(self, outcomes: SegmentScores, name: str, k: int, answers: str) -> FloatArray:
        fewest = int(outcomes.repeats.argmin())
        if outcomes.repeats[fewest] < k:
            raise InputError(
                f"{outcomes.where}: {self.kind} needs {counted(k, 'repeat')} of each segment; "
                f"segment {outcomes.name_of(fewest)} has {outcomes.repeats[fewest]}"
            )
        if name == "pass" and not outcomes.is_outcome:
            raise InputError(f"{outcomes.where}: {self.kind} needs outcomes of 0 and 1 only")
        if name == "maj":
            return _majority(outcomes, k, answers)
        return best_of(outcomes, k, higher=self.higher_is_better)


def best_of(outcomes: SegmentScores, k: int, *, higher: bool) -> FloatArray:
    """Return (S,) the mean best value of k repeats drawn from those of each segment.

    Of outcomes of 0 and 1 it is pass@k without bias (Chen et al., "Evaluating Large Language
    Models Trained on Code", 2021, equation 1): of n values in rising order, the i-th is the best
    of k in a share of C(i - 1, k - 1) / C(n, k) of the draws.
    """
    from scipy.special import gammaln  # noqa: PLC0415  start-up time

    oriented = outcomes.values if higher else -outcomes.values
    order = np.lexsort((oriented, outcomes.segments))
    counts = outcomes.repeats
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    ranks: FloatArray = np.arange(len(order)) - np.repeat(starts, counts) + np.float64(1)
    totals: FloatArray = np.repeat(counts, counts).astype(np.float64)

    def log_binomial(n: FloatArray, m: float) -> FloatArray:
        return np.asarray(gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1))

    with np.errstate(all="ignore"):
        share = np.exp(log_binomial(ranks - 1, k - 1) - log_binomial(totals, k))
    share = np.where(ranks >= k, share, 0.0)
    best = np.add.reduceat(share * oriented[order], starts)
    # Shares sum to 1 but for rounding; equal values stay what they are.
    best = best / np.add.reduceat(share, starts)
    return np.asarray(best if higher else -best)


def _majority(outcomes: SegmentScores, k: int, answers: str) -> FloatArray:
    """Return (S,) the value of the most frequent answer of the first k repeats.

    Of equally frequent ones it is the first.
    """
    texts, chosen = outcomes.columns[answers], np.empty(len(outcomes))
    counts = outcomes.repeats
    order = np.argsort(outcomes.segments, kind="stable")
    begin = 0
    for segment, count in enumerate(counts.tolist()):
        rows = order[begin : begin + min(k, count)].tolist()
        begin += count
        votes: dict[str, int] = {}
        for row in rows:
            votes[texts[row]] = votes.get(texts[row], 0) + 1
        winner = max(votes, key=lambda text: votes[text])  # the first of equal ones
        chosen[segment] = next(outcomes.values[row] for row in rows if texts[row] == winner)
    return chosen


_KIND = re.compile(r"mean|(?:pass|best|maj)@[1-9][0-9]{0,3}")


def outcome_metrics(
    kinds: Sequence[str], outputs: Sequence[SegmentScores], better: str, answers: str
) -> list[OutcomeMetric]:
    """Return the metrics of outcomes by their kinds.

    Raises
    ------
    ConfigError
        A kind is unknown or lacks answers, or nothing says what is better.
    """
    keys = list(dict.fromkeys(output.key for output in outputs))
    key = keys[0] if len(keys) == 1 else "score"
    for kind in kinds:
        if not _KIND.fullmatch(kind):
            raise ConfigError(
                f"--metric {kind}: scores have no texts; expected mean, pass@K, best@K or maj@K "
                f"(to compare texts, give --ref)"
            )
        if kind.startswith("maj") and not answers:
            raise ConfigError(f"--metric {kind}: votes are on answers; give --answers KEY")
    direction = better or _direction(keys, outputs)
    if not direction:
        raise ConfigError(
            f"is a higher or a lower '{key}' better? give --better higher or --better lower"
        )
    percent = all(output.is_outcome for output in outputs)
    return [OutcomeMetric(key, kind, direction, percent) for kind in kinds]


def _direction(keys: Sequence[str], outputs: Sequence[SegmentScores]) -> str:
    """Return whether higher or lower is better, as keys or grades tell; "" if they do not."""
    if all(output.is_graded for output in outputs):
        return "higher"
    directions = set()
    for key in keys:
        words = re.findall(r"[a-z0-9]+", key.lower())
        is_higher, is_lower = (any(map(side.fullmatch, words)) for side in (_HIGHER, _LOWER))
        directions.add("" if is_higher == is_lower else "higher" if is_higher else "lower")
    return directions.pop() if len(directions) == 1 else ""


def warn_of_repeats(name: str, output: SegmentScores) -> None:
    """Warn if segments have unequal numbers of repeats."""
    repeats = output.repeats
    if repeats.min() == repeats.max():
        return
    fewest = output.name_of(int(repeats.argmin()))
    warn(
        f"{name}: segments have {repeats.min()} to {repeats.max()} repeats (segment "
        f"{fewest} has {repeats.min()}); each segment counts the same"
    )
