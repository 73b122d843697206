"""Read lines of fields between `|||`, which decoders fill and order differently."""

import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import ClassVar, NoReturn

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, TokenArray, Vocabulary

from ...base.errors import counted, shown
from ...base.numbers import FINITE, parse_number
from ...base.warn import warn
from ...texts._token_kernels import intern_tokens
from .. import _text_kernels as kernels
from ..merging import Rows, beyond, empty_rows, extend_rows, with_sparse
from ..records import ListFile
from ._base import Reader

MOST_FILLED = 100
"""Where absent means 0: with more features than this that some hypotheses lack they are lexical
ones, and stay sparse."""

LONGEST_PHRASE = 4096
"""Words of a source phrase in a segmentation: links to all of them must fit into memory."""


class BarsReader(Reader):
    """Read `id ||| hypothesis ||| ...`: a format says what its lines look like."""

    absent_is_zero: ClassVar[bool] = True
    """Whether a feature that a line has not is 0 there, whatever its name."""
    numbers_of_fields: ClassVar[range] = range(4, 1 << 30)
    """How many fields a line may have."""
    may_be_glued: ClassVar[bool] = False
    """Whether `|||` separates fields without white space around it too."""

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:
        """Whether all lines have as many fields as the format wants, the first an id."""
        rows = _split_head(tuple(head))
        have_ids = all(len(row) in cls.numbers_of_fields and _ID.fullmatch(row[0]) for row in rows)
        return have_ids and cls.fits(rows)

    @classmethod
    @abstractmethod
    def fits(cls, rows: list[list[str]]) -> bool:
        """Whether the fields of the first lines can only be of this format."""

    def read(self, file: ListFile, vocabulary: Vocabulary) -> Rows:
        """Parse a whole file."""
        parser = _Parser(self, file, vocabulary)
        for data in self.blocks(file):
            parser.add(data)
        return parser.finish()

    def blocks(self, file: ListFile) -> Iterator[bytes]:
        """Yield the list in blocks of whole lines, their fields in Moses' order."""
        lines = self.lines(file)
        if lines is None:
            yield from file.blocks()
            return
        while block := list(islice(lines, _LINES)):
            yield b"\n".join(block) + b"\n"

    def lines(self, file: ListFile) -> Iterator[bytes] | None:  # noqa: ARG002  formats do
        """Return the lines with their fields in Moses' order; None where they are."""
        return None


class _Block:
    """Some lines of a list and where their fields stand; messages name the lines.

    Parameters
    ----------
    first_line : int
        The number of its first line in the list, from 1.
    fields : int
        The number of fields of which spans are kept.
    """

    def __init__(self, file: ListFile, data: bytes, first_line: int, fields: int) -> None:
        self.file, self.data, self.first_line = file, data, first_line
        self.text = np.frombuffer(data, dtype=np.uint8)
        self.is_unended = not data.endswith(b"\n")
        lines = data.count(b"\n") + self.is_unended
        self.starts, self.counts, self.cuts, self.ids, self.is_glued = kernels.split_lines(
            self.text, lines, fields
        )

    def __len__(self) -> int:
        return len(self.ids)

    def row_at(self, position: int) -> int:
        """Return the line of the block that a position is in, from 0."""
        row = int(np.searchsorted(self.starts, position, side="right")) - 1
        return min(row, len(self) - 1)

    def fail(self, position: int, message: str) -> NoReturn:
        """Raise the error of the line that a position is in."""
        row = self.row_at(position)
        if self.is_unended and row == len(self) - 1:
            message += _CUT_OFF
        self.file.fail(self.first_line + row, message)

    def token(self, position: int) -> str:
        """Return the token at a position, as far as a message shows it."""
        begin = self.data[position:].split(maxsplit=1)[:1]
        return _shown(b"".join(begin))

    def field(self, row: int, column: int) -> bytes:
        """Return the bytes of a field."""
        begin, end = self.cuts[row, column]
        return self.data[begin:end]

    def most(self, column: int, *, shortest: int) -> int:
        """Return an upper bound of the number of tokens in a column."""
        sizes = self.cuts[:, column, 1] - self.cuts[:, column, 0]
        return int(np.sum((sizes + shortest - 1) // shortest)) + 1

    def decoded(self, span: list[int]) -> str:
        """Return the text of a token."""
        try:
            return self.data[span[0] : span[1]].decode("utf-8")
        except UnicodeDecodeError as error:
            at = span[0] + error.start
            column = at - int(self.starts[self.row_at(at)]) + 1
            self.fail(
                at,
                f"byte {self.data[at]:#04x} in column {column} is not UTF-8; convert the file to "
                f"UTF-8",
            )

    def check(self, fields: int, segments: int | None) -> None:
        """Check that lines have as many fields as the first line of the list, and their ids."""
        is_valid = 4 <= fields <= kernels.FIELDS
        for row in (np.flatnonzero(self.counts != fields) if is_valid else np.array([0]))[:1]:
            self._fail_of_fields(int(row), f"line 1 has {fields}" if is_valid else _FIELDS)
        for row in np.flatnonzero(self.ids < 0)[:1]:
            segment = _shown(self.field(row, 0))
            if re.fullmatch(r"-\d+", segment):
                problem = f"segment id {segment} is negative; ids count from 0"
            elif re.fullmatch(r"\d+", segment, re.ASCII):
                problem = f"segment id '{segment}' is too large"
            else:
                problem = f"segment id '{segment}' is not an integer; ids count from 0"
            self.fail(int(self.starts[row]), problem)
        if segments is not None:
            for row in np.flatnonzero(self.ids >= segments)[:1]:
                self.fail(int(self.starts[row]), beyond(self.ids[row], segments))

    def _fail_of_fields(self, row: int, expected: str) -> NoReturn:
        start, count = int(self.starts[row]), int(self.counts[row])
        if not self.data[start : self.starts[row + 1]].strip():
            self.fail(start, "empty line, expected `id ||| hypothesis ||| features ||| score`")
        if count > 3 and b"=" not in self.field(row, 2):
            self.fail_without_features(row)
        self.fail(start, f"{count} field{'s' * (count != 1)} separated by |||, {expected}")

    def fail_without_features(self, row: int) -> NoReturn:
        """Raise the error of a line whose third field has no features."""
        third = self.field(row, 2)
        if not third:
            message = "no features (the third field is empty)"
        else:
            message = (
                f"the third field is '{_shown(third)}', expected features like `LM0= -23.7`; is "
                f"there a ||| inside the hypothesis? escape it"
            )
        self.fail(int(self.starts[row]), message)


class _Parser:
    """The arrays of a list, which grow block by block."""

    def __init__(self, reader: BarsReader, file: ListFile, vocabulary: Vocabulary) -> None:
        self.reader, self.file, self.vocabulary = reader, file, vocabulary
        self.rows = empty_rows(0)
        self.fields = 0
        self.is_unended = False
        self.names: dict[str, int] = {}  # numbers of the features
        self.first_labels = np.empty(0, dtype=np.int32)  # of the values of the first line
        self.is_uniform = True  # whether all lines have the features of the first, in its order
        self.has_equals: dict[int, bool] = {}  # of the fields behind the score

    def add(self, data: bytes) -> None:
        """Parse a block."""
        if not self.fields:
            first = self._block(data[: data.find(b"\n") + 1 or None])
            self.fields = int(first.counts[0])
        block = self._block(data)
        if block.is_unended:
            self.is_unended = True
            warn(f"{self.file.where}: the last line has no line end; taken as complete")
        block.check(self.fields, self.file.segments)
        rows = empty_rows(len(block))._replace(segments=block.ids)
        rows = self._with_features(rows, block)
        local, offsets, spans = intern_tokens(block.text, block.cuts, 1, block.most(1, shortest=2))
        numbers = [self.vocabulary.add(block.decoded(span)) for span in spans.tolist()]
        rows = rows._replace(
            tokens=np.array(numbers, dtype=np.int32)[local], token_offsets=offsets
        )
        if self.fields > 4:
            links, link_offsets = self._links(block, offsets)
            rows = rows._replace(links=links, link_offsets=link_offsets)
        extend_rows(self.rows, rows)

    def _block(self, data: bytes) -> _Block:
        """Return the next lines of the list."""
        line, fields = len(self.rows.segments) + 1, min(max(self.fields, 4), kernels.FIELDS)
        block = _Block(self.file, data, line, fields)
        if block.is_glued and self.reader.may_be_glued:
            block = _Block(self.file, _spaced(data), line, fields)
        return block

    def finish(self) -> Rows:
        """Return the hypotheses of all blocks."""
        rows, names = self.rows, list(self.names)
        if self.is_uniform:
            sizes = np.bincount(self.first_labels, minlength=len(names)).tolist()
            rows = rows._replace(names=tuple(zip(names, sizes, strict=True)))
        else:
            rows = self._dense_and_sparse(names)
        return rows._replace(
            has_links=self.fields > 4,
            where=self.file.where,
            absent_is_zero=self.reader.absent_is_zero,
        )

    def _with_features(self, rows: Rows, block: _Block) -> Rows:
        """Return the rows of a block with their features and model scores."""
        code, position, scores, values, labels, offsets, spans, slow, same = (
            kernels.parse_features(block.text, block.cuts, block.most(2, shortest=2))
        )
        if code != kernels.OK:
            _fail_of_features(block, code, position)
        names = [block.decoded(span) for span in spans.tolist()]
        numbers = [self.names.setdefault(name, len(self.names)) for name in names]
        width = int(offsets[1]) if same else len(values)
        if len(slow):
            _read_slowly(block, slow, values, scores, [names[label] for label in labels[:width]])
        labels = np.array(numbers, dtype=np.int32)[labels[:width]]
        if not len(self.first_labels):
            self.first_labels = labels[: offsets[1]].copy()
            self.rows = empty_rows(0, features=len(self.first_labels))
        if self.is_uniform and not (same and np.array_equal(labels, self.first_labels)):
            self.is_uniform = False
            self.rows = _in_sparse_form(self.rows, self.first_labels)
        if self.is_uniform:
            return rows._replace(scores=scores, features=values.reshape(-1, width))
        return rows._replace(
            scores=scores,
            sparse_columns=np.tile(labels, len(block)) if same else labels,
            sparse_values=values,
            sparse_offsets=offsets,
        )

    def _dense_and_sparse(self, names: Sequence[str]) -> Rows:
        """Tell dense from sparse features where lines differ."""
        rows, lines = self.rows, len(self.rows.segments)
        labels, values = rows.sparse_columns, rows.sparse_values
        line_of = np.repeat(np.arange(lines), np.diff(rows.sparse_offsets))
        is_begin = (labels[1:] != labels[:-1]) | (line_of[1:] != line_of[:-1])
        begins = np.flatnonzero(np.concatenate([[True], is_begin]))
        sizes = np.diff(begins, append=len(values))
        run_labels, run_lines = labels[begins], line_of[begins]
        occurrences = np.bincount(run_labels, minlength=len(names))
        _, first_runs = np.unique(run_labels, return_index=True)
        first_lines, first_sizes = run_lines[first_runs], sizes[first_runs]
        for run in np.flatnonzero(sizes != first_sizes[run_labels])[:1]:
            label = int(run_labels[run])
            self._fail(
                int(run_lines[run]),
                f"feature {names[label]} has {counted(int(sizes[run]), 'value')}, line "
                f"{first_lines[label] + 1} has {first_sizes[label]}; is the list cut off, or made "
                f"by different models?",
            )
        is_dense = occurrences == lines
        absent_is_zero = self.reader.absent_is_zero
        partly = int(np.count_nonzero(~is_dense))
        if absent_is_zero and 0 < partly <= MOST_FILLED:
            is_dense[:] = True
            self.file.remarks.append(
                f"{partly} of the features not in all hypotheses (0 where absent)"
            )
        for label in np.flatnonzero(~is_dense).tolist():
            if "_" not in names[label] and not absent_is_zero:
                self._fail_not_everywhere(names[label], run_lines[run_labels == label])
            if first_sizes[label] != 1:
                self._fail(
                    first_lines[label],
                    f"sparse feature {names[label]} has {counted(first_sizes[label], 'value')}, "
                    f"expected 1 (it is sparse because other lines lack it)",
                )
        dense = tuple((name, int(first_sizes[k])) for k, name in enumerate(names) if is_dense[k])
        widths = np.where(is_dense, first_sizes, 0)
        columns = np.cumsum(widths) - widths
        within = np.arange(len(values)) - np.repeat(begins, sizes)
        in_dense = is_dense[labels]
        features = np.zeros((lines, int(widths.sum())))
        features[line_of[in_dense], (columns[labels] + within)[in_dense]] = values[in_dense]
        sparse_columns = np.cumsum(~is_dense) - 1
        rows = rows._replace(
            features=features,
            names=dense,
            sparse_names=tuple(name for k, name in enumerate(names) if not is_dense[k]),
        )
        return with_sparse(
            rows,
            line_of[~in_dense],
            sparse_columns[labels[~in_dense]],
            values[~in_dense],
        )

    def _fail_not_everywhere(self, name: str, having: IntArray) -> NoReturn:
        """Raise the error of a feature that only the lines `having` have."""
        if having[0] == 0:
            lacking = np.setdiff1d(np.arange(len(self.rows.segments)), having)
            self._fail(lacking[0], f"feature {name} is missing, line 1 has it")
        self._fail(
            having[0],
            f"unknown feature {name}, line 1 does not have it; only a feature with _ in its name "
            f"may be missing in some hypotheses (sparse)",
        )

    def _fail(self, row: int, message: str) -> NoReturn:
        is_last = row == len(self.rows.segments) - 1
        self.file.fail(int(row) + 1, message + _CUT_OFF * (self.is_unended and is_last))

    def _links(self, block: _Block, token_offsets: IntArray) -> tuple[TokenArray, IntArray]:
        """Return (V, 2) links and (n + 1,) offsets."""
        alignment, segmentation = self._optional_columns(block)
        links, offsets = np.empty((0, 2), dtype=np.int32), np.zeros_like(block.starts)
        if segmentation is not None:
            code, position, links, offsets = kernels.expand_segmentation(
                block.text, block.cuts, segmentation, token_offsets, LONGEST_PHRASE,
                alignment is None,
            )  # fmt: skip
            if code != kernels.OK:
                _fail_of_positions(block, code, position, token_offsets)
        if alignment is not None:
            code, position, links, offsets = kernels.parse_links(
                block.text, block.cuts, alignment, token_offsets, block.most(alignment, shortest=4)
            )
            if code != kernels.OK:
                _fail_of_positions(block, code, position, token_offsets)
        return links, offsets

    def _optional_columns(self, block: _Block) -> tuple[int | None, int | None]:
        """Return which columns hold the word alignment and the phrase segmentation, by content.

        A phrase pair has a `=`. A column without any token is what the other one is not.
        """
        for column in set(range(4, self.fields)) - self.has_equals.keys():
            for row in np.flatnonzero(block.cuts[:, column, 1] > block.cuts[:, column, 0])[:1]:
                self.has_equals[column] = b"=" in block.field(int(row), column).split()[0]
        fifth, sixth = self.has_equals.get(4), self.has_equals.get(5)
        if self.fields == 5:
            return (None, 4) if fifth else (4, None)
        if fifth is not None and fifth == sixth:
            kind = "phrase segmentations" if fifth else "word alignments"
            self.file.fail(1, f"fields 5 and 6 are both {kind}, expected one of each")
        return (4, 5) if fifth is False or sixth else (5, 4)


def _in_sparse_form(rows: Rows, labels: TokenArray) -> Rows:
    """Return rows whose features are all sparse; `labels` are the columns of each row."""
    n, width = rows.features.shape
    return rows._replace(
        features=np.empty((n, 0)),
        sparse_columns=np.repeat(labels[np.newaxis], n, axis=0).flatten(),
        sparse_values=rows.features.flatten(),
        sparse_offsets=np.arange(n + 1) * width,
    )


def _fail_of_features(block: _Block, code: int, position: int) -> NoReturn:
    """Raise the error of a fault in the names of features."""
    token = block.token(position)
    if code == kernels.NO_LABEL:
        block.fail_without_features(block.row_at(position))
    messages = {
        kernels.NO_VALUE: f"feature {token.rstrip('=')} has no value",
        kernels.NO_NAME: f"'{token}' has no feature name before its =",
        kernels.TWICE: f"feature {token.rpartition('=')[0]} stands twice in this line",
    }
    block.fail(position, messages[code])


def _read_slowly(
    block: _Block, slow: IntArray, values: FloatArray, scores: FloatArray, names: Sequence[str]
) -> None:
    """Parse what the kernel left to Python; `values` and `scores` are modified in place.

    Parameters
    ----------
    names
        The feature of each value; of the first row only, if all rows have the same.
    """
    for index, begin, end in slow.tolist():
        token = block.data[begin:end]
        meaning = f"feature {names[index % len(names)]}" if index >= 0 else "the model score"
        if index < 0 and not token:
            block.fail(int(block.starts[-1 - index]), "no model score (the fourth field is empty)")
        value = parse_number(token.decode("utf-8", errors="replace"))
        if value is None:
            hint = "; fields are separated by ||| with white space around it" * (b"|" in token)
            block.fail(begin, f"'{_shown(token)}' for {meaning} is not a number{hint}")
        if not math.isfinite(value):
            block.fail(begin, f"{meaning} is {_shown(token)}; values must be {FINITE}")
        if index < 0:
            scores[-1 - index] = value
        else:
            values[index] = value


def _fail_of_positions(
    block: _Block, code: int, position: int, token_offsets: IntArray
) -> NoReturn:
    """Raise the error of a fault in links or segmentation."""
    item, row = block.token(position), block.row_at(position)
    length = int(token_offsets[row + 1] - token_offsets[row])
    messages = {
        kernels.NOT_A_LINK: f"'{item}' is not a link, expected source-target positions from 0 "
        f"like 0-0",
        kernels.NOT_A_SPAN: "word scores behind the model score; cut them off (sed 's/ ||| "
        "WordScores=.*//')"
        if item == "WordScores="
        else f"'{item}' is not a phrase pair, expected source=target spans like 0-1=0-2",
        kernels.TOO_LONG: f"{item} is out of range, a source phrase has at most "
        f"{counted(LONGEST_PHRASE, 'word')}",
        kernels.OUT_OF_RANGE: f"{item} is out of range, the hypothesis has "
        f"{counted(length, 'token')} (positions count from 0)",
    }
    block.fail(position, messages[code])


_BARS = re.compile(rb"(?:^|[ \t])\|\|\|(?=[ \t\r]|$)")
_ID = re.compile(r"[0-9]{1,9}")
_LINES = 8192
"""Lines that are parsed at once where Python changes each of them."""
_CUT_OFF = "; the file ends in the middle of this line: is the list cut off?"
_FIELDS = (
    "expected 4 to 6: id, hypothesis, features, score, then maybe segmentation and word alignment"
)


def _shown(text: bytes) -> str:
    """Return input as a message shows it."""
    return shown(text.decode("utf-8", errors="replace"))


def _spaced(data: bytes) -> bytes:
    """Return a list with blanks around `|||` in lines that are no list without them."""

    def spaced(line: re.Match[bytes]) -> bytes:
        return line[0] if len(split_fields(line[0])) > 3 else line[0].replace(b"|||", b" ||| ")

    return re.sub(rb"[^\n]+", spaced, data)


@lru_cache(maxsize=1)
def _split_head(head: tuple[str, ...]) -> list[list[str]]:
    """Return the fields of the first lines, which several formats look at."""
    return [[field.decode() for field in split_fields(line.encode())] for line in head]


def split_fields(line: bytes) -> list[bytes]:
    """Return the fields of a line, which the token `|||` separates, without white space around."""
    return [part.strip() for part in _BARS.split(line)]


def are_named_values(text: str) -> bool:
    """Whether a field is `name=value name=value`, at least one."""
    tokens = text.split()
    return bool(tokens) and all(
        "=" in token and parse_number(token.rpartition("=")[2]) is not None for token in tokens
    )
