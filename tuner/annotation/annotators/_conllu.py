"""CoNLL-U: reading, with every fault at its line, and writing.

Columns of TreeTagger, TnT and FreeLing are read as tags of words without heads.

An n-best list is written so: the trees of one sentence follow each other, with the same tokens and
the same `# sent_id = `. Each has `# parse_logprob = `, the natural logarithm of its probability,
up to a constant of the sentence. `# tree = ` has the constituency tree in brackets. `# unparsed`
says that the parser failed on the sentence; HEAD is then `_` throughout.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from ...base.errors import InputError, counted
from ...base.files import decode_line, read_bytes
from ...base.warn import notice
from ...texts.annotator import Heads, faulty_word, heads_fault

Tagset = Literal["upos", "xpos", "upos+feats", "xpos+feats"]
"""The columns that are the tag of a word. An empty UPOS is replaced by XPOS, and the other way."""

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
NOTHING = "_"

_ID = re.compile(r"[1-9][0-9]{0,5}")
_NO_WORD = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6})|\.[0-9]{1,6})")
_HEAD = re.compile(r"0|[1-9][0-9]{0,5}")
_COMMENT = re.compile(r"#\s*(sent_id|parse_logprob|tree)\s*=\s*(.*)")
_MARK = re.compile(r"\s*$|%%|#|<[^\t ]*>\s*$")
"""What is no row: a blank line, a comment, or a mark of the text."""
_UNPARSED = re.compile(r"#\s*unparsed\s*")


class Tagger(NamedTuple):
    """The columns of a tagger, by their number, and the place of the tag among them."""

    name: str
    columns: str
    tag: int


TAGGERS = {
    2: Tagger("TnT", "word, tag", 1),
    3: Tagger("TreeTagger", "word, tag, lemma", 1),
    4: Tagger("FreeLing", "word, lemma, tag, probability", 2),
}
"""TnT puts several tabs between columns, FreeLing spaces."""


class Word(NamedTuple):
    """The columns of one word."""

    form: str
    upos: str
    xpos: str
    feats: str


@dataclass(frozen=True)
class ConlluTree:
    """One tree of a file.

    Parameters
    ----------
    line, tree_line
        Where it begins, and where `tree` stands; from 1.
    several
        Tokens of the text that are several words: the first and the last word, and the token.
    """

    line: int
    words: tuple[Word, ...]
    heads: Heads
    sent_id: str
    logprob: float | None
    tree: str
    tree_line: int
    unparsed: bool
    multiwords: tuple[tuple[int, int, str], ...]

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words as they are written."""
        return tuple(word.form for word in self.words)

    @property
    def text(self) -> tuple[str, ...]:
        """The tokens of the text: `du` where the words are `de` and `le`."""
        tokens: list[str] = []
        place = 1
        for first, last, form in self.multiwords:
            tokens += (*self.tokens[place - 1 : first - 1], form)
            place = last + 1
        return (*tokens, *self.tokens[place - 1 :])


def tag(word: Word, tagset: Tagset) -> str:
    """Return the tag of a word; empty if it has neither UPOS nor XPOS."""
    column, _, feats = tagset.partition("+")
    names = (word.upos, word.xpos) if column == "upos" else (word.xpos, word.upos)
    name = next((name for name in names if name not in ("", NOTHING)), "")
    return f"{name}|{word.feats}" if name and feats and word.feats not in ("", NOTHING) else name


def read(path: Path | str) -> Iterator[ConlluTree]:
    """Yield the trees of a file.

    Raises
    ------
    InputError
        The file cannot be read, or a line of it is wrong.
    """
    rows: list[tuple[int, str]] = []
    is_any = False
    lines = [
        (number, decode_line(raw.removesuffix(b"\r"), path, number))
        for number, raw in enumerate([*read_bytes(path).split(b"\n"), b""], 1)
    ]
    tagger = _tagger(next((line for _, line in lines if not _MARK.match(line)), ""))
    if tagger is not None:
        notice(f"{path}: read as columns of {tagger.name}: {tagger.columns}")
        lines = list(_tagged(path, lines, tagger))
    for number, line in lines:
        if line and not line.isspace():
            rows.append((number, line))
        elif rows:
            tree = _Tree(path, rows).read()
            if tree.words:
                is_any = True
                yield tree
            rows = []
    if not is_any:
        raise InputError(f"{path}: no sentence; expected CoNLL-U")


def _columns(line: str) -> list[str]:
    return [column for column in (line.split("\t") if "\t" in line else line.split()) if column]


def _tagger(line: str) -> Tagger | None:
    """Return the tagger that has written a line; None for CoNLL-U."""
    columns = _columns(line)
    is_freeling = len(columns) == 4 and re.fullmatch(r"[01](\.\d+)?(e-\d+)?", columns[3])
    is_conllu = NOTHING in columns or (len(columns) == 4 and not is_freeling)
    return None if is_conllu else TAGGERS.get(len(columns))


def _tagged(
    path: Path | str, lines: Sequence[tuple[int, str]], tagger: Tagger
) -> Iterator[tuple[int, str]]:
    """Yield the lines of a tagger as CoNLL-U, blank lines between sentences.

    Without blank lines and marks such as <s>, a sentence ends with the tag SENT of TreeTagger.
    """
    width = tagger.columns.count(",") + 1
    # A word may look like a mark, but it has a tag.
    rows = [
        (number, [] if len(columns) != width and _MARK.match(line) else columns)
        for number, line in lines
        for columns in [_columns(line)]
    ]
    ends = [number for number, columns in rows if not columns]
    is_marked = any(number < max(n for n, columns in rows if columns) for number in ends)
    place = 0
    for number, columns in rows:
        place = place + 1 if columns else 0
        if columns and len(columns) != width:
            raise InputError(
                f"{path}:{number}: {counted(len(columns), 'column')}, expected those of "
                f"{tagger.name}: {tagger.columns}"
            )
        row = [NOTHING] * 5
        if columns:
            row = [str(place), columns[0], NOTHING, NOTHING, columns[tagger.tag], *row]
        yield number, "\t".join(row) if columns else ""
        if columns and columns[tagger.tag] == "SENT" and not is_marked:
            place = 0
            yield number, ""


class _Tree:
    """Reads the lines of one tree."""

    def __init__(self, path: Path | str, rows: list[tuple[int, str]]) -> None:
        self._path = path
        self._rows = rows
        self._words: list[Word] = []
        self._heads: list[tuple[int, str]] = []
        self._several: list[tuple[int, int, str]] = []
        self._comments: dict[str, str] = {}

    def read(self) -> ConlluTree:
        """Return the tree; an InputError names the line that is wrong."""
        logprob = None
        lines: dict[str | int, int] = {}  # where each comment, word and range stands
        number = 0
        try:
            for number, text in self._rows:
                if not text.startswith("#"):
                    lines[self._row(text)] = number
                elif comment := _COMMENT.fullmatch(text):
                    self._comments[comment[1]] = comment[2].strip()
                    lines[comment[1]] = number
                    if comment[1] == "parse_logprob":
                        logprob = finite(comment[2].strip(), "parse_logprob")
                elif _UNPARSED.fullmatch(text):
                    self._comments["unparsed"] = text
            if self._several and self._several[-1][1] > len(self._words):
                first, last, _ = self._several[-1]
                number = lines["range"]
                raise ValueError(  # noqa: TRY301  the line is told below
                    f"ID '{first}-{last}' goes beyond the last word, {len(self._words)}"
                )
            heads = tuple(self._heads)
            if bad := faulty_word(heads):
                number = lines[bad]
                raise ValueError(heads_fault(heads))  # noqa: TRY301
        except ValueError as error:
            raise InputError(f"{self._path}:{number}: {error}") from None
        return ConlluTree(
            self._rows[0][0],
            tuple(self._words),
            heads,
            self._comments.get("sent_id", ""),
            logprob,
            self._comments.get("tree", ""),
            lines.get("tree", 0),
            "unparsed" in self._comments,
            tuple(self._several),
        )

    def _row(self, text: str) -> int | str:
        """Read a line of columns; return the number of its word, or `range` for other lines."""
        if "\r" in text:  # as part of a tag or label it could not be written again
            raise ValueError("a carriage return within the line")
        columns = text.split("\t")
        if len(columns) != len(COLUMNS):
            raise ValueError(
                f"{counted(len(columns), 'column')}, expected {len(COLUMNS)}, separated by tabs; "
                f"is the file cut off, or no CoNLL-U?"
            )
        expected = len(self._words) + 1
        if no_word := _NO_WORD.fullmatch(columns[0]):  # a multiword token or an empty node
            if no_word[2]:
                self._token(int(no_word[1]), int(no_word[2]), columns[1])
                return "range"
            return "empty node"
        if columns[0] != str(expected):
            fault = "another number" if _ID.fullmatch(columns[0]) else "no number of a word"
            raise ValueError(
                f"ID '{columns[0]}' is {fault}, expected {expected} (a blank line ends a tree)"
            )
        if not columns[1]:
            raise ValueError("FORM is empty")
        self._words.append(Word(columns[1], columns[3], columns[4], columns[5]))
        self._link(columns[6], columns[7])
        return expected

    def _token(self, first: int, last: int, form: str) -> None:
        """Add a token that is several words, which follow it."""
        begin = max(len(self._words), self._several[-1][1] if self._several else 0) + 1
        if not len(self._words) + 1 == begin == first <= last:
            raise ValueError(
                f"ID '{first}-{last}' is no range that begins at the next word, {begin}"
            )
        self._several.append((first, last, form))

    def _link(self, head: str, label: str) -> None:
        if head == NOTHING:
            if self._heads:
                raise ValueError(f"HEAD is '{NOTHING}', the words before have one")
            return
        if len(self._heads) < len(self._words) - 1:
            raise ValueError(f"HEAD is '{head}', the words before have '{NOTHING}'")
        if not _HEAD.fullmatch(head):
            raise ValueError(f"HEAD '{head}' is no number of a word, nor 0")
        if label in ("", NOTHING):
            raise ValueError("DEPREL is missing")
        self._heads.append((int(head), label))


def finite(text: str, noun: str) -> float:
    """Return a finite number; `noun` begins the message of a ValueError."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{noun} is '{text}', expected a number") from None
    if not math.isfinite(value):
        raise ValueError(f"{noun} is {text}, expected a finite number")
    return value
