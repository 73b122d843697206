"""Reads CoNLL-U, with every fault at its line, and writes it.

Our n-best convention: trees of one sentence follow each other with the same `# sent_id = ` (the
tokens must be the same), each with `# parse_logprob = ` and the natural logarithm of its
probability, up to a constant of the sentence. `# tree = ` has the constituency tree in brackets,
`# unparsed` says that the parser failed on the sentence; HEAD is then `_` throughout.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from portmert.tuner.annotation.annotators._base import Heads, faulty_word, heads_fault
from portmert.tuner.ground.errors import InputError, counted
from portmert.tuner.ground.files import decode_line, read_bytes

Tagset = Literal["upos", "xpos", "upos+feats", "xpos+feats"]
"""What of a word's columns is its tag; where that one is empty, UPOS or XPOS for the other."""

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
NOTHING = "_"

_ID = re.compile(r"[1-9][0-9]{0,5}")
_NO_WORD = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6})|\.[0-9]{1,6})")
_HEAD = re.compile(r"0|[1-9][0-9]{0,5}")
_COMMENT = re.compile(r"#\s*(sent_id|parse_logprob|tree)\s*=\s*(.*)")
_UNPARSED = re.compile(r"#\s*unparsed\s*")


class Word(NamedTuple):
    """Holds one word's columns."""

    form: str
    upos: str
    xpos: str
    feats: str


@dataclass(frozen=True)
class Block:
    """Holds one tree of a file; `line` is where it begins, from 1."""

    line: int
    words: tuple[Word, ...]
    heads: Heads
    sent_id: str = ""
    logprob: float | None = None
    tree: str = ""
    tree_line: int = 0
    unparsed: bool = False
    several: tuple[tuple[int, int, str], ...] = ()

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words as they are written."""
        return tuple(word.form for word in self.words)

    @property
    def text(self) -> tuple[str, ...]:
        """The tokens of the text: `du` where the words are `de` and `le`."""
        tokens: list[str] = []
        place = 1
        for first, last, form in self.several:
            tokens += (*self.tokens[place - 1 : first - 1], form)
            place = last + 1
        return (*tokens, *self.tokens[place - 1 :])


def tag(word: Word, tagset: Tagset) -> str:
    """Return the tag of a word; empty if it has neither UPOS nor XPOS."""
    column, _, feats = tagset.partition("+")
    names = (word.upos, word.xpos) if column == "upos" else (word.xpos, word.upos)
    name = next((name for name in names if name not in ("", NOTHING)), "")
    return f"{name}|{word.feats}" if name and feats and word.feats not in ("", NOTHING) else name


def read(path: Path | str) -> Iterator[Block]:
    """Yield the trees of a file (.gz, .xz, .zst too).

    Raises
    ------
    InputError
        The file cannot be read, or a line of it is wrong.
    """
    block, found = _Unfinished(path), False
    for number, raw in enumerate(read_bytes(path).split(b"\n"), 1):
        line = decode_line(raw.removesuffix(b"\r"), path, number)
        if not line or line.isspace():
            if block.words:
                found = True
                yield block.finished()
            if not block.is_new:
                block = _Unfinished(path)
        elif line.startswith("#"):
            block.comment(line, number)
        else:
            block.word(line, number)
    if block.words:
        yield block.finished()
    elif not found:
        raise InputError(f"{path}: no sentence; expected CoNLL-U")


@dataclass
class _Unfinished:
    """Holds a tree of which some lines were read."""

    path: Path | str
    line: int = 0
    words: list[Word] = field(default_factory=list)
    heads: list[tuple[int, str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    sent_id: str = ""
    logprob: float | None = None
    tree: str = ""
    tree_line: int = 0
    unparsed: bool = False
    several: list[tuple[int, int, str]] = field(default_factory=list)
    several_line: int = 0

    @property
    def is_new(self) -> bool:
        return not self.line

    def comment(self, text: str, number: int) -> None:
        self.line = self.line or number
        if _UNPARSED.fullmatch(text):
            self.unparsed = True
        found = _COMMENT.fullmatch(text)
        if found is None:
            return
        name, value = found[1], found[2].strip()
        if name == "sent_id":
            self.sent_id = value
        elif name == "tree":
            self.tree, self.tree_line = value, number
        else:
            self.logprob = logprob(value, f"{self.path}:{number}: parse_logprob")

    def word(self, text: str, number: int) -> None:
        self.line = self.line or number
        if "\r" in text:  # as part of a tag or label it could not be written again
            raise self._fault(number, "a carriage return within the line")
        columns = text.split("\t")
        if len(columns) != len(COLUMNS):
            raise self._fault(
                number,
                f"{counted(len(columns), 'column')}, expected {len(COLUMNS)}, parted by tabs; is "
                f"the file cut off, or no CoNLL-U?",
            )
        no_word = _NO_WORD.fullmatch(columns[0])
        if no_word:  # a multiword token or an empty node
            if no_word[2]:
                self._token(int(no_word[1]), int(no_word[2]), columns[1], number)
            return
        expected = len(self.words) + 1
        if columns[0] != str(expected):
            what = "another number" if _ID.fullmatch(columns[0]) else "no number of a word"
            raise self._fault(
                number,
                f"ID '{columns[0]}' is {what}, expected {expected} (a blank line ends a tree)",
            )
        if not columns[1]:
            raise self._fault(number, "FORM is empty")
        self.words.append(Word(columns[1], columns[3], columns[4], columns[5]))
        self.lines.append(number)
        self._link(columns[6], columns[7], number)

    def _token(self, first: int, last: int, form: str, number: int) -> None:
        """Note a token that is several words, which follow it."""
        begin = max(len(self.words), self.several[-1][1] if self.several else 0) + 1
        if not len(self.words) + 1 == begin == first <= last:
            raise self._fault(
                number,
                f"ID '{first}-{last}' is no range that begins at the next word, {begin}",
            )
        self.several.append((first, last, form))
        self.several_line = number

    def _link(self, head: str, label: str, number: int) -> None:
        if head == NOTHING:
            if self.heads:
                raise self._fault(number, f"HEAD is '{NOTHING}', the words before have one")
            return
        if len(self.heads) < len(self.words) - 1:
            raise self._fault(number, f"HEAD is '{head}', the words before have '{NOTHING}'")
        if not _HEAD.fullmatch(head):
            raise self._fault(number, f"HEAD '{head}' is no number of a word, nor 0")
        if label in ("", NOTHING):
            raise self._fault(number, "DEPREL is missing")
        self.heads.append((int(head), label))

    def finished(self) -> Block:
        if self.several and self.several[-1][1] > len(self.words):
            first, last, _ = self.several[-1]
            raise self._fault(
                self.several_line,
                f"ID '{first}-{last}' goes beyond the last word, {len(self.words)}",
            )
        heads = tuple(self.heads)
        fault = heads_fault(heads)
        if fault:
            raise self._fault(self.lines[faulty_word(heads) - 1], fault)
        return Block(
            self.line,
            tuple(self.words),
            heads,
            self.sent_id,
            self.logprob,
            self.tree,
            self.tree_line,
            self.unparsed,
            tuple(self.several),
        )

    def _fault(self, number: int, text: str) -> InputError:
        return InputError(f"{self.path}:{number}: {text}")


def logprob(text: str, where: str) -> float:
    """Return the score of a parse; `where` begins the message of an InputError."""
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{where} is '{text}', expected a number") from None
    if not math.isfinite(value):
        raise InputError(f"{where} is {text}, expected a finite number")
    return value


def write(
    tokens: Sequence[str],
    tags: Sequence[str],
    heads: Heads,
    comments: Iterable[str],
) -> str:
    """Return one tree with the blank line after it; no tags or no heads are allowed.

    Raises
    ------
    ValueError
        A tag or label holds a tab or a line end, which the format cannot say.
    """
    lines = [f"# {comment}" for comment in comments]
    for place, token in enumerate(tokens):
        xpos = tags[place] if tags else NOTHING
        head, label = heads[place] if heads else (NOTHING, NOTHING)
        lines.append(
            "\t".join(
                (
                    str(place + 1),
                    token,
                    NOTHING,
                    NOTHING,
                    xpos,
                    NOTHING,
                    str(head),
                    label,
                    NOTHING,
                    NOTHING,
                )
            )
        )
        if lines[-1].count("\t") != len(COLUMNS) - 1 or "\n" in lines[-1] or "\r" in lines[-1]:
            raise ValueError(f"tag {xpos!r} or label {label!r} of '{token}' cannot be written")
    return "\n".join(lines) + "\n\n"
