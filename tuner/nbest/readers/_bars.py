"""Read lines of fields between `|||`, which decoders fill and order differently."""

import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, NoReturn

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, TokenArray, Vocabulary

from ...base.errors import InputError, counted, shown
from ...base.numbers import FINITE, parse_number
from ...base.warn import warn
from ...texts._kernels import ByteArray, intern_tokens
from ...weights.feature_weights import FeatureNames
from .. import _text_kernels as kernels
from ..merging import ListArrays, beyond, empty_rows, with_sparse
from ..records import ListFile
from ._base import Reader

MOST_FILLED = 100
"""Where absent means 0: with more features than this that some hypotheses lack they are lexical
ones, and stay sparse."""

LONGEST_PHRASE = 4096
"""Words of a source phrase in a segmentation: links to all of them must fit into memory."""

_RENUMBERED = 1 << 16
"""Tokens that are renumbered at once."""


class NBestReader:
    """Read one file; messages name its lines.

    Parameters
    ----------
    file : ListFile
        With its fields in Moses' order.
    absent_is_zero : bool
        A feature that a line has not is 0 there, whatever its name.
    """

    def __init__(self, file: ListFile, *, absent_is_zero: bool) -> None:
        self.file, self.data = file, file.data
        self.absent_is_zero = absent_is_zero
        self.text: ByteArray = np.frombuffer(self.data, dtype=np.uint8)
        self.unended = not self.data.endswith(b"\n")
        lines = self.data.count(b"\n") + self.unended
        first = self.text[: self.data.find(b"\n") + 1 or None]
        self.fields = int(kernels.split_lines(first, 1, 1)[1][0])
        self.starts, counts, self.cuts, self.ids = kernels.split_lines(
            self.text, lines, min(max(self.fields, 4), kernels.FIELDS)
        )
        self._check_counts(counts)
        self._check_ids(file.segments)

    def read(self, vocabulary: Vocabulary) -> ListArrays:
        """Parse all fields."""
        scores, features, names, sparse_names, entries = self._features()
        local, token_offsets, spans = intern_tokens(
            self.text, self.cuts, 1, self._most(1, shortest=2)
        )
        numbers = [vocabulary.add(self._decoded(span)) for span in spans.tolist()]
        _renumber(local, np.array(numbers, dtype=np.int32))
        links, link_offsets, has_links = self._links(token_offsets)
        self.cuts = self.cuts[:0].copy()  # frees them: all fields are read
        rows = empty_rows(len(self.ids), features=0, stats=0)._replace(
            segments=self.ids,
            tokens=local,
            token_offsets=token_offsets,
            links=links,
            link_offsets=link_offsets,
            features=features,
            scores=scores,
        )
        if entries is not None:
            rows = with_sparse(rows, *entries)
        where, absent_is_zero = self.file.where, self.absent_is_zero
        return ListArrays(rows, names, sparse_names, has_links, where, absent_is_zero)

    def fail(self, position: int, message: str) -> NoReturn:
        """Raise the error of the line that `position` is in."""
        line = int(np.searchsorted(self.starts, position, side="right"))
        line = min(line, len(self.starts) - 1)
        if self.unended and line == len(self.starts) - 1:
            message += "; the file ends in the middle of this line: is the list cut off?"
        raise InputError(f"{self.file.where}:{line}: {message}")

    def token(self, position: int) -> str:
        """Return the token at `position`, as far as a message shows it."""
        end = position
        while end < len(self.data) and not self.data[end : end + 1].isspace():
            end += 1
        return _shown(self.data[position:end])

    def field(self, line: int, column: int) -> bytes:
        """Return the bytes of a field."""
        begin, end = self.cuts[line, column]
        return self.data[begin:end]

    def _most(self, column: int, *, shortest: int) -> int:
        """Return an upper bound of the number of tokens in a column."""
        sizes = self.cuts[:, column, 1] - self.cuts[:, column, 0]
        return int(np.sum((sizes + shortest - 1) // shortest)) + 1

    def _decoded(self, span: list[int]) -> str:
        try:
            return self.data[span[0] : span[1]].decode("utf-8")
        except UnicodeDecodeError as error:
            at = span[0] + error.start
            line = int(np.searchsorted(self.starts, at, side="right"))
            self.fail(
                at,
                f"byte {self.data[at]:#04x} in column {at - int(self.starts[line - 1]) + 1} is "
                f"not UTF-8; convert the file to UTF-8",
            )

    def _check_counts(self, counts: IntArray) -> None:
        first = int(counts[0])
        valid = 4 <= first <= kernels.FIELDS
        wrong = np.flatnonzero(counts != first) if valid else np.array([0])
        if not len(wrong):
            return
        line, start = int(wrong[0]), int(self.starts[wrong[0]])
        count = int(counts[line])
        if not self.data[start : self.starts[line + 1]].strip():
            self.fail(start, "empty line, expected `id ||| hypothesis ||| features ||| score`")
        if count > 3 and b"=" not in self.field(line, 2):
            self._no_features(line)
        if valid:
            expected = f"line 1 has {first}"
        else:
            expected = (
                "expected 4 to 6: id, hypothesis, features, score, then maybe segmentation and "
                "word alignment"
            )
        self.fail(start, f"{count} field{'s' * (count != 1)} separated by |||, {expected}")

    def _no_features(self, line: int) -> NoReturn:
        if re.match(rb"\s*\S+: -?[0-9]", self.field(line, 2)):
            self.fail(
                int(self.starts[line]),
                f"the third field is '{_shown(self.field(line, 2))}', as Phrasal writes it; "
                f"expected features like `LM= -1.5`; replace `: ` by `= ` (sed 's/: /= /g')",
            )
        self.fail(
            int(self.starts[line]),
            f"the third field is '{_shown(self.field(line, 2))}', expected features like "
            f"`LM0= -23.7`; is there a ||| inside the hypothesis? escape it",
        )

    def _check_ids(self, segments: int | None) -> None:
        wrong = np.flatnonzero(self.ids < 0)
        if len(wrong):
            segment = _shown(self.field(int(wrong[0]), 0))
            if re.fullmatch(r"-\d+", segment):
                problem = f"segment id {segment} is negative; ids count from 0"
            elif re.fullmatch(r"\d+", segment, re.ASCII):
                problem = f"segment id '{segment}' is too large"
            else:
                problem = f"segment id '{segment}' is not an integer; ids count from 0"
            self.fail(int(self.starts[wrong[0]]), problem)
        if segments is not None:
            wrong = np.flatnonzero(self.ids >= segments)
            if len(wrong):
                self.fail(int(self.starts[wrong[0]]), beyond(self.ids[wrong[0]], segments))

    def _features(
        self,
    ) -> tuple[
        FloatArray,
        FloatArray,
        FeatureNames,
        tuple[str, ...],
        tuple[IntArray, IntArray, FloatArray] | None,
    ]:
        """Return scores, dense matrix, names, sparse names, and (lines, columns, values)."""
        code, position, scores, values, labels, offsets, spans, slow, same = (
            kernels.parse_features(self.text, self.cuts, self._most(2, shortest=2))
        )
        line = int(np.searchsorted(self.starts, position, side="right")) - 1
        if code == kernels.NO_LABEL:
            if not self.field(line, 2):
                self.fail(position, "no features (the third field is empty)")
            self._no_features(line)
        elif code == kernels.NO_VALUE:
            self.fail(position, f"feature {self.token(position).rstrip('=')} has no value")
        elif code == kernels.NO_NAME:
            self.fail(position, f"'{self.token(position)}' has no feature name before its =")
        elif code == kernels.TWICE:
            name = self.token(position).rpartition("=")[0]
            self.fail(position, f"feature {name} stands twice in this line")
        names = [self._decoded(span) for span in spans.tolist()]
        width = int(offsets[1]) if same else len(values)
        self._slow_numbers(slow, values, labels[:width], scores, names)
        if same:
            sizes = np.bincount(labels[:width], minlength=len(names))
            dense = tuple((names[k], int(size)) for k, size in enumerate(sizes))
            return scores, values.reshape(-1, width), dense, (), None
        matrix, dense, sparse, entries = self._ragged_features(values, labels, offsets, names)
        return scores, matrix, dense, sparse, entries

    def _slow_numbers(
        self,
        slow: IntArray,
        values: FloatArray,
        labels: TokenArray,
        scores: FloatArray,
        names: list[str],
    ) -> None:
        """Parse what the kernel left to Python; `values` and `scores` are modified in place."""
        for index, begin, end in slow.tolist():
            token = self.data[begin:end]
            meaning = "the model score"
            if index >= 0:
                meaning = f"feature {names[labels[index % len(labels)]]}"
            if index < 0 and not token:
                self.fail(
                    int(self.starts[-1 - index]), "no model score (the fourth field is empty)"
                )
            value = parse_number(token.decode("utf-8", errors="replace"))
            if value is None:
                hint = ""
                if b"|" in token:
                    hint = "; fields are separated by ||| with white space around it"
                self.fail(begin, f"'{_shown(token)}' for {meaning} is not a number{hint}")
            if not math.isfinite(value):
                self.fail(begin, f"{meaning} is {_shown(token)}; values must be {FINITE}")
            if index < 0:
                scores[-1 - index] = value
            else:
                values[index] = value

    def _ragged_features(
        self, values: FloatArray, labels: TokenArray, offsets: IntArray, names: list[str]
    ) -> tuple[FloatArray, FeatureNames, tuple[str, ...], tuple[IntArray, IntArray, FloatArray]]:
        """Tell dense from sparse features where lines differ."""
        lines = len(offsets) - 1
        line_of = np.repeat(np.arange(lines), np.diff(offsets))
        begins = np.flatnonzero(
            np.concatenate([[True], (labels[1:] != labels[:-1]) | (line_of[1:] != line_of[:-1])])
        )
        sizes = np.diff(np.concatenate([begins, [len(values)]]))
        run_labels, run_lines = labels[begins], line_of[begins]
        occurrences = np.bincount(run_labels, minlength=len(names))
        _, first_runs = np.unique(run_labels, return_index=True)
        first_sizes = sizes[first_runs]
        differing = np.flatnonzero(sizes != first_sizes[run_labels])
        if len(differing):
            run = int(differing[0])
            label = int(run_labels[run])
            self.fail(
                int(self.starts[run_lines[run]]),
                f"feature {names[label]} has {counted(sizes[run], 'value')}, line "
                f"{run_lines[first_runs[label]] + 1} has {first_sizes[label]}; is "
                f"the list cut off, or made by different models?",
            )
        is_dense = occurrences == lines
        if self.absent_is_zero:
            partly = int(np.count_nonzero(~is_dense))
            if partly <= MOST_FILLED:
                is_dense[:] = True
                self.file.remarks.append(
                    f"{partly} of the features not in all hypotheses (0 where absent)"
                )
        for label in np.flatnonzero(~is_dense).tolist():
            if "_" not in names[label] and not self.absent_is_zero:
                self._not_everywhere(names[label], run_lines[run_labels == label], lines)
            if first_sizes[label] != 1:
                self.fail(
                    int(self.starts[run_lines[first_runs[label]]]),
                    f"sparse feature {names[label]} has {counted(first_sizes[label], 'value')}, "
                    f"expected 1 (it is sparse because other lines lack it)",
                )
        dense = tuple((name, int(first_sizes[k])) for k, name in enumerate(names) if is_dense[k])
        widths = np.where(is_dense, first_sizes, 0)
        columns = np.cumsum(widths) - widths
        within = np.arange(len(values)) - np.repeat(begins, sizes)
        in_dense = is_dense[labels]
        matrix = np.zeros((lines, int(widths.sum())))
        matrix[line_of[in_dense], (columns[labels] + within)[in_dense]] = values[in_dense]
        sparse_columns = np.cumsum(~is_dense) - 1
        entries = (line_of[~in_dense], sparse_columns[labels[~in_dense]], values[~in_dense])
        return matrix, dense, tuple(n for k, n in enumerate(names) if not is_dense[k]), entries

    def _not_everywhere(self, name: str, having: IntArray, lines: int) -> NoReturn:
        """Raise the error of a feature that only the lines `having` have."""
        if having[0] == 0:
            lacking = int(np.flatnonzero(~np.isin(np.arange(lines), having))[0])
            self.fail(
                int(self.starts[lacking]),
                f"feature {name} is missing, line 1 has it",
            )
        self.fail(
            int(self.starts[having[0]]),
            f"unknown feature {name}, line 1 does not have it; only a feature "
            f"with _ in its name may be missing in some hypotheses (sparse)",
        )

    def _links(self, token_offsets: IntArray) -> tuple[TokenArray, IntArray, bool]:
        """Return links and offsets, and whether the list has any alignment."""
        alignment, segmentation = self._optional_columns()
        links = np.empty((0, 2), dtype=np.int32)
        offsets = np.zeros(len(self.ids) + 1, dtype=np.int64)
        if segmentation is not None:
            code, position, links, offsets = kernels.expand_segmentation(
                self.text, self.cuts, segmentation, token_offsets, LONGEST_PHRASE
            )
            self._check_positions(code, position, token_offsets)
        if alignment is not None:
            code, position, links, offsets = kernels.parse_links(
                self.text, self.cuts, alignment, token_offsets, self._most(alignment, shortest=4)
            )
            self._check_positions(code, position, token_offsets)
        return links, offsets, alignment is not None or segmentation is not None

    def _check_positions(self, code: int, position: int, token_offsets: IntArray) -> None:
        """Raise the error of a fault in links or segmentation."""
        if code == kernels.OK:
            return
        item = self.token(position)
        line = int(np.searchsorted(self.starts, position, side="right")) - 1
        length = int(token_offsets[line + 1] - token_offsets[line])
        messages = {
            kernels.NOT_A_LINK: f"'{item}' is not a link, expected source-target positions from "
            f"0 like 0-0",
            kernels.NOT_A_SPAN: "word scores behind the model score; cut them off (sed 's/ ||| "
            "WordScores=.*//')"
            if item == "WordScores="
            else f"'{item}' is not a phrase pair, expected source=target spans like 0-1=0-2",
            kernels.TOO_LONG: f"{item} is out of range, a source phrase has at most "
            f"{counted(LONGEST_PHRASE, 'word')}",
            kernels.OUT_OF_RANGE: f"{item} is out of range, the hypothesis has "
            f"{counted(length, 'token')} (positions count from 0)",
        }
        self.fail(position, messages[code])

    def _optional_columns(self) -> tuple[int | None, int | None]:
        """Return which columns hold the word alignment and the phrase segmentation, by content.

        A phrase pair has a `=`. A column without any token is what the other one is not.
        """
        has_equals: dict[int, bool | None] = {}
        for column in range(4, self.fields):
            filled = np.flatnonzero(self.cuts[:, column, 1] > self.cuts[:, column, 0])
            has_equals[column] = None
            if len(filled):
                has_equals[column] = b"=" in self.field(int(filled[0]), column).split()[0]
        if self.fields == 4:
            return None, None
        if self.fields == 5:
            return (None, 4) if has_equals[4] else (4, None)
        fifth, sixth = has_equals[4], has_equals[5]
        if fifth is not None and fifth == sixth:
            kind = "phrase segmentations" if fifth else "word alignments"
            self.fail(0, f"fields 5 and 6 are both {kind}, expected one of each")
        return (4, 5) if fifth is False or sixth else (5, 4)


def _shown(text: bytes) -> str:
    """Return input as a message shows it."""
    return shown(text.decode("utf-8", errors="replace"))


_BARS = re.compile(rb"(?:^|[ \t])\|\|\|(?=[ \t\r]|$)")
_ID = re.compile(r"[0-9]{1,9}")


class BarsReader(Reader):
    """Read `id ||| hypothesis ||| ...`: a format says what its lines look like."""

    absent_is_zero: ClassVar[bool] = True
    """Whether a feature that a line has not is 0 there, whatever its name."""
    numbers_of_fields: ClassVar[range] = range(4, 1 << 30)
    """How many fields a line may have."""

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether all lines have as many fields as the format wants, the first an id."""
        rows = [[part.decode() for part in split_fields(line.encode())] for line in head]
        have_ids = all(len(row) in cls.numbers_of_fields and _ID.fullmatch(row[0]) for row in rows)
        return have_ids and cls.fits(rows)

    @classmethod
    @abstractmethod
    def fits(cls, rows: list[list[str]]) -> bool:
        """Whether the fields of the first lines can only be of this format."""

    def read(self, file: ListFile, vocabulary: Vocabulary) -> ListArrays:
        """Parse a whole file."""
        moses = replace(file, data=self.as_moses(file))
        lines = NBestReader(moses, absent_is_zero=self.absent_is_zero)
        if lines.unended:
            warn(f"{file.where}: the last line has no line end; taken as complete")
        return lines.read(vocabulary)

    def as_moses(self, file: ListFile) -> bytes:
        """Return the list with its fields in Moses' order."""
        return file.data


def split_fields(line: bytes) -> list[bytes]:
    """Return the fields of a line, which the token `|||` separates, without white space around."""
    return [part.strip() for part in _BARS.split(line)]


def are_named_values(text: str) -> bool:
    """Whether a field is `name=value name=value`, at least one."""
    tokens = text.split()
    return bool(tokens) and all(
        "=" in token and parse_number(token.rpartition("=")[2]) is not None for token in tokens
    )


def _renumber(tokens: TokenArray, numbers: TokenArray) -> None:
    """Replace tokens by their numbers in place, block by block."""
    for begin in range(0, len(tokens), _RENUMBERED):
        block = tokens[begin : begin + _RENUMBERED]
        block[:] = numbers[block]
