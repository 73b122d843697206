"""Gold edits from M2 files, as references."""

import re
from itertools import chain

from portmert.metrics._base import Texts, Vocabulary, offsets_of
from portmert.tuner.base.errors import InputError, counted, shown
from portmert.tuner.base.files import TextFile, called, read_lines
from portmert.tuner.texts.corpus import References
from portmert.tuner.texts.joining import BYTE_ORDER_MARK

from .m2 import BARS, OR, Edit, gold_row


def read_gold(path: TextFile, vocabulary: Vocabulary) -> References:
    """Read the gold edits of an M2 file: a reference of each sentence for each annotator.

    Edits without a place (`noop`) are left out. A sentence without annotators gets one reference
    without edits.

    Raises
    ------
    InputError
        A line is not of M2, an edit is outside its sentence, or an annotator has a correction
        twice, which would count twice; says where.
    """
    rows: list[str] = []
    sizes: list[int] = []
    words: list[str] = []
    edits: dict[str, list[Edit]] | None = None  # of each annotator of the sentence
    for number, line in enumerate([*read_lines(path), ""], 1):
        kind, _, content = line.removeprefix(BYTE_ORDER_MARK).partition(" ")
        if not line.strip():
            if edits is not None:
                by_annotator = list(edits.values()) or [[]]
                rows += [gold_row(words, annotator_edits) for annotator_edits in by_annotator]
                sizes.append(len(by_annotator))
            edits = None
        elif kind == "S" and edits is None:
            words, edits = [word.decode() for word in content.encode().split()], {}
        elif kind == "A" and edits is not None:
            place, *fields = content.split(BARS)
            first, last = _positions(place, len(fields), f"{called(path)}:{number}", line)
            annotator_edits = edits.setdefault(fields[-1].strip(), [])
            if fields[0] == "noop" or first < 0:
                continue
            if not first <= last <= len(words):
                raise InputError(
                    f"{called(path)}:{number}: positions {first} to {last}, the sentence has "
                    f"{counted(len(words), 'word')}"
                )
            texts = ["" if text == "-NONE-" else text.strip() for text in fields[1].split(OR)]
            same_place = (
                edit.texts for edit in annotator_edits if (edit.first, edit.last) == (first, last)
            )
            if twice := set(texts) & set(chain.from_iterable(same_place)):
                raise InputError(
                    f"{called(path)}:{number}: '{shown(min(twice))}' stands twice at positions "
                    f"{first} to {last} for one annotator, and would count twice; take one out"
                )
            annotator_edits.append(Edit(first, last, texts))
        else:
            raise InputError(
                f"{called(path)}:{number}: '{shown(line)}', expected `S` and a sentence, then "
                f"lines `A` of its edits, then an empty line"
            )
    if not sizes:
        raise InputError(f"{called(path)}: no sentence; expected an M2 file")
    return References(Texts.from_lines(rows, vocabulary), offsets_of(sizes))


def _positions(place: str, fields: int, where: str, line: str) -> tuple[int, int]:
    """Return the first and the last position of an edit; -1 if it has no place."""
    match = re.fullmatch(r"(-?[0-9]{1,9}) (-?[0-9]{1,9})", place)
    if match is None or fields != 5:
        raise InputError(
            f"{where}: '{shown(line)}' is no edit, expected "
            f"`A 3 4|||type|||correction|||REQUIRED|||-NONE-|||0`"
        )
    return int(match[1]), int(match[2])
