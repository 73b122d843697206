"""Text files with markup around the texts, as evaluations and recognisers write them.

A file is known by its first lines. What is markup is no word: of STM, SGML, subtitles and the
results of icefall the texts are read, with their ids if they have some. CTM has a word a line with
its time; its words are cut into the segments of an STM file. See docs/how-to/formats.md.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np

from portmert.metrics._base import Texts

from ..base.columns import recogs_of
from ..base.errors import InputError, counted, faults_at, shown
from ..base.files import Lines, TextFile, called, each_line
from ..base.markup import SGML, sgml_segments
from ..base.warn import warn

_HEAD = 1000
"""Lines of a file that show its form."""
_SHARE = 0.9
"""Share of them that must be of the form, comments aside."""
_MOST = 256
"""Texts that the alternatives of one segment may make."""
_ROLLING = 0.2
"""Share of cues that may begin as the one before ends; all do in captions that scroll."""
_NUMBER = r"\d+(?:\.\d+)?"
_STM = re.compile(
    rf"(\S+)\s+(\S+)\s+(\S+)\s+({_NUMBER})\s+({_NUMBER})(?:\s+(<[^>]*>))?(?:\s+(.*))?"
)
_CTM = re.compile(
    rf"(\S+)\s+(\S+)\s+({_NUMBER}|\*)\s+({_NUMBER}|\*)\s+(\S+)"
    rf"(?:\s+(?:-?{_NUMBER}|NA)(?:\s+\S+){{0,2}})?\s*"
)
"""A word may have its confidence, its type and its speaker behind it."""
_CHANNELS = ("0", "1", "2", "A", "B", "a", "b")
_CUE = re.compile(r"\s*(?:\d+:)?\d\d:\d\d[.,]\d{3}\s+-->\s+(?:\d+:)?\d\d:\d\d[.,]\d{3}\b.*")
_RECOGS = re.compile(r"\S+:\t?\s*(?:ref|hyp)=\[.*\]\s*")
_CONLLU = re.compile(r"\d+(?:[-.]\d+)?(?:\t[^\t]+){9}")
_TAG = re.compile(r"<[^<>]*>")
_BRACES = re.compile(r"(?<!\S)\{(?!\s*[\"'\[])([^{}]*(?:\s/|/\s)[^{}]*)\}(?!\S)")
"""Alternatives of SCTK: `{ a / b c / @ }`, of which `@` is no word; they may be inside others.
What begins with a quote or a bracket is JSON."""
COMMENT = ";;"
IGNORED = "ignore_time_segment_in_scoring"
"""Text of a segment of STM that is not scored."""


class LinesById(Lines):
    """The lines of a text and their ids.

    Parameters
    ----------
    ids
        The id of each line.
    all_ids
        The ids of all segments, also of those without a line.
    spans
        File with channel, begin and end in seconds, and speaker of each line of an STM file.
    """

    ids: tuple[str, ...]
    all_ids: tuple[str, ...]
    spans: tuple[tuple[str, float, float, str], ...]

    def __new__(
        cls,
        name: str,
        lines: Iterable[str],
        ids: Iterable[str] = (),
        all_ids: Iterable[str] = (),
        spans: Iterable[tuple[str, float, float, str]] = (),
    ) -> Self:
        """Keep lines and ids, one id for each line."""
        text = super().__new__(cls, name, lines)
        text.ids = tuple(ids)
        text.all_ids = tuple(all_ids) or text.ids
        text.spans = tuple(spans)
        return text


class TimedWords(LinesById):
    """The words of a CTM file, a line each, with file and channel and the middle of their time."""

    times: tuple[tuple[str, float], ...]

    def __new__(cls, name: str, words: Iterable[str], times: Iterable[tuple[str, float]]) -> Self:
        """Keep words and times, a time for each word."""
        text = super().__new__(cls, name, words)
        text.times = tuple(times)
        return text


def read_form(path: TextFile) -> TextFile:
    """Return the texts of a file with markup around them; any other file as it is.

    Raises
    ------
    InputError
        A line is not of the form that the first lines show; says where.
    """
    head = [line.removeprefix("\ufeff") for line in itertools.islice(each_line(path), _HEAD)]
    lines = [line for line in head if line.strip() and not line.startswith(COMMENT)]
    form = next(
        (form for form in FORMS if lines and form.first(lines[0]) and form.recognises(lines)), None
    )
    if form is None:
        return path
    whole = itertools.chain(head, itertools.islice(each_line(path), len(head), None))
    return form.read(called(path), list(enumerate(whole, 1)))


def _are_mostly(lines: Sequence[str], pattern: re.Pattern[str], least: int = 1) -> bool:
    """Whether lines have a pattern, all but a few."""
    count = sum(pattern.fullmatch(line) is not None for line in lines)
    return count >= max(least, _SHARE * len(lines))


def _are_stm(lines: Sequence[str]) -> bool:
    """Whether lines have times in their place and order, with decimals or behind a channel."""
    matches = [match for match in map(_STM.fullmatch, lines) if match]
    return (
        _are_mostly(lines, _STM)
        and (
            any("." in match[4] + match[5] for match in matches)
            or all(match[2] in _CHANNELS and not match[3].isdecimal() for match in matches)
        )
        and all(float(match[4]) <= float(match[5]) for match in matches)
    )


def _fields(
    where: str, numbered: Iterable[tuple[int, str]], pattern: re.Pattern[str], form: str
) -> Iterator[tuple[str, ...]]:
    """Yield the fields of each line that is no comment."""
    for number, line in numbered:
        if not line.strip() or line.startswith(COMMENT):
            continue
        match = pattern.fullmatch(line.removeprefix("\ufeff").strip())
        if match is None:
            raise InputError(f"{where}:{number}: '{shown(line)}' is no line of {form}")
        yield tuple(field or "" for field in match.groups())


def _stm(where: str, numbered: Sequence[tuple[int, str]]) -> TextFile:
    """Return the texts of STM; ids are made of file, channel and begin."""
    form = "STM, `FILE CHANNEL SPEAKER BEGIN END [<LABEL>] WORDS`"
    fields = list(_fields(where, numbered, _STM, form))
    are_labels = 2 * sum(bool(row[5]) for row in fields) > len(fields)  # else words, as <unk>
    rows = [
        (f"{file}-{channel}", speaker, float(begin), float(end), f"{word} {text}".strip())
        for file, channel, speaker, begin, end, label, text in fields
        for word in ("" if are_labels else label,)
        if text.strip().lower() != IGNORED
    ]
    ids = [f"{file}-{begin:.3f}" for file, _, begin, _, _ in rows]
    often = Counter(ids)
    ids = [
        name if often[name] < 2 else f"{name}-{speaker}"
        for name, (_, speaker, *_) in zip(ids, rows, strict=True)
    ]
    twice = next((name for name, count in Counter(ids).items() if count > 1), None)
    if twice:
        raise InputError(f"{where}: two segments begin at one time with one speaker: {twice}")
    spans = [(file.lower(), begin, end, speaker) for file, speaker, begin, end, _ in rows]
    return LinesById(where, (row[-1] for row in rows), ids, spans=spans)


def _ctm(where: str, numbered: Sequence[tuple[int, str]]) -> TextFile:
    rows = list(_fields(where, numbered, _CTM, "CTM, `FILE CHANNEL BEGIN DURATION WORD`"))
    for number, line in numbered:
        if "*" in line.split()[2:4] and not line.startswith(COMMENT):
            raise InputError(
                f"{where}:{number}: CTM with alternatives is not read; keep one of them, and no "
                f"line with times `*`"
            )
    times = [(f"{row[0]}-{row[1]}".lower(), float(row[2]) + float(row[3]) / 2) for row in rows]
    return TimedWords(where, (row[4] for row in rows), times)


def cut_at_times(words: TimedWords, others: Sequence[TextFile]) -> LinesById:
    """Return the words of a CTM file as lines, a segment of an STM file each.

    The middle of a word's time decides. Words outside of all segments are left out and told.

    Raises
    ------
    InputError
        None of the other texts has times.
    """
    stm = next((text for text in others if isinstance(text, LinesById) and text.spans), None)
    if stm is None:
        raise InputError(
            f"{words}: CTM has words with times and no segments; give references in STM, which "
            f"have the times of segments, or write a line for each segment"
        )
    order = sorted(range(len(stm.spans)), key=lambda k: stm.spans[k])
    begins = [stm.spans[k][:2] for k in order]
    in_time = itertools.pairwise(stm.spans[k] for k in order)
    overlaps = sum(a[0] == b[0] and b[1] < a[2] for a, b in in_time)
    if overlaps:
        warn(
            f"{stm}: {counted(overlaps, 'segment')} of one channel that overlap: a word goes to "
            f"the one that begins last; asclite or meeteval score such speech"
        )
    lines: list[list[str]] = [[] for _ in order]
    outside = 0
    for word, (file, middle) in zip(words, words.times, strict=True):
        place = bisect_right(begins, (file, middle)) - 1
        span = stm.spans[order[place]] if place >= 0 else ("", 0.0, 0.0, "")
        if span[0] == file and middle <= span[2]:
            lines[order[place]].append(word)
        else:
            outside += 1
    if outside:
        warn(f"{words}: {counted(outside, 'word')} outside of all segments of {stm}, left out")
    return LinesById(str(words), map(" ".join, lines), stm.ids)


def _sgml(where: str, numbered: Sequence[tuple[int, str]]) -> TextFile:
    with faults_at(where, ValueError, InputError):
        return Lines(where, sgml_segments(line for _, line in numbered))


def _subtitles(where: str, numbered: Sequence[tuple[int, str]]) -> TextFile:
    """Return the texts of SRT or VTT, a cue each."""
    cues: list[list[str]] = []
    is_text = False
    for _, line in numbered:
        if _CUE.fullmatch(line):
            cues.append([])
            is_text = True
        elif not line.strip():
            is_text = False
        elif is_text:
            cues[-1].append(" ".join(_TAG.sub("", line).split()))
    again = sum(a[-1:] == b[:1] != [] for a, b in itertools.pairwise(cues))
    if again > max(1, _ROLLING * len(cues)):
        warn(
            f"{where}: {counted(again, 'cue')} of {len(cues)} begin with the last line of the cue "
            f"before, as rolling captions do: such words count twice; leave them out"
        )
    return Lines(where, (" ".join(filter(None, lines)) for lines in cues))


def _recogs(where: str, numbered: Sequence[tuple[int, str]]) -> TextFile:
    """Return the texts of icefall's results; a file has references, hypotheses or both."""
    records = recogs_of(where, (line for _, line in numbered))
    keys = dict.fromkeys(key for _, record in records for key in record if key != "id")
    if len(keys) > 1:
        raise InputError(
            f"{where}: icefall's results have references and hypotheses: name these by "
            f"{where}#ref, those by {where}#hyp"
        )
    (key,) = keys
    return LinesById(where, (row[key] for _, row in records), (row["id"] for _, row in records))


def _is_conllu(lines: Sequence[str]) -> bool:
    return next((bool(_CONLLU.fullmatch(line)) for line in lines if line[0] != "#"), False)


def _conllu(where: str, _: Sequence[tuple[int, str]]) -> TextFile:
    raise InputError(
        f"{where}: CoNLL-U has a word a line; write the words of a sentence in a line, and give "
        f"the file to metrics of syntax: --annotator conllu:files={where}"
    )


class TextForm(NamedTuple):
    """A form of text files: its first line, its first lines, its reader, and where ids are."""

    name: str
    first: Callable[[str], object]
    recognises: Callable[[Sequence[str]], bool]
    read: Callable[[str, Sequence[tuple[int, str]]], TextFile]
    ids: str = "none: a cue is a line"


_OF_RECOGS = "before the colon; `recogs.txt#hyp` or `#ref` if both are there"
FORMS = (
    TextForm("SGML", SGML.match, bool, _sgml, "none: a `seg` is a line"),
    TextForm("STM", _STM.fullmatch, _are_stm, _stm, "file, channel and begin"),
    TextForm(
        "CTM", _CTM.fullmatch, lambda lines: _are_mostly(lines, _CTM, 3), _ctm,
        "of STM beside it; it is cut into its segments",
    ),
    TextForm("VTT", re.compile("WEBVTT").match, bool, _subtitles),
    TextForm("SRT", bool, lambda lines: any(map(_CUE.fullmatch, lines[1:2])), _subtitles),
    TextForm(
        "icefall's results", _RECOGS.fullmatch, lambda lines: _are_mostly(lines, _RECOGS), _recogs,
        _OF_RECOGS,
    ),
    TextForm(
        "CoNLL-U", lambda line: line[0] == "#" or _CONLLU.fullmatch(line), _is_conllu, _conllu,
        "not read: it has a word a line",
    ),
)  # fmt: skip


def lines_with_alternatives(texts: Texts) -> dict[int, str]:
    """Return the rows of texts that have alternatives `{ a / b }`, and their lines."""
    opening = [n for n, word in enumerate(texts.vocabulary.words) if word.startswith("{")]
    marked = np.flatnonzero(np.isin(texts.tokens.values, opening))
    rows = np.unique(np.searchsorted(texts.tokens.offsets, marked, "right") - 1)
    lines = {row: " ".join(texts.words(row)) for row in rows.tolist()}
    return {row: line for row, line in lines.items() if _BRACES.search(line)}


def alternatives(line: str, where: str) -> list[str]:
    """Return the texts that a line with alternatives `{ a / b / @ }` stands for, itself without.

    Raises
    ------
    InputError
        They are too many.
    """
    texts, waiting = [], [line]
    while waiting:
        text = waiting.pop()
        match = _BRACES.search(text)
        if match is None:
            texts.append(text if text == line else " ".join(text.split()))
            continue
        before, after = text[: match.start()], text[match.end() :]
        for choice in reversed(re.split(r"(?:^|\s)/|/(?=\s|$)", match[1])):
            words = " ".join(word for word in choice.split() if word != "@")
            waiting.append(f"{before}{words}{after}")
        if len(texts) + len(waiting) > _MOST:
            raise InputError(
                f"{where}: alternatives make more than {_MOST} texts of a segment; leave some out"
            )
    return list(dict.fromkeys(texts))
