"""What looks wrong about texts: the two sides are written differently, or one is no text.

Each check looks at the distinct tokens of a sample of segments and at how often they occur, so its
cost does not grow with the lists. A check returns a line for the user, or None.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from portmert.metrics._base import Batch, IntArray, Texts

MOST_SEGMENTS = 1000
"""Segments that are looked at."""
LEAST = 3
"""Tokens of a kind below which nothing is said of it."""

_JSON = re.compile(r'[\[{]\s*["\'{\[]|[\[{]$')
_ESCAPE = re.compile(r"&(?:apos|quot|amp|lt|gt|bar|#\d{2,5}|#x[0-9a-fA-F]{2,5});")
_PIECE = re.compile(r"▁|^##\w|\w@@$|^￭|\w￭$")
_BYTE_PIECE = re.compile("^[\u0120\u010a]")
_TWICE = re.compile("[\u00c2\u00c3][\u0080-\u00bf]|\u00e2(?:\u20ac|\u0080)")
"""UTF-8 that was read as Latin-1 or Windows-1252, and encoded again."""
_PUNCTUATION = re.compile("[.,!?;:\u3002\uff0c\uff01\uff1f]")
_WRAPPED = {
    "are fields of CSV": (r'[\w.-]+,["\w]', ""),
    "are within tags": (r"<\w", r"<?/\w+>$"),
    "are within quotes": (r'["\u201c]', r'["\u201d]$'),
    "begin with numbers": (r"\d+[.):]?$", ""),
    "begin with ids": (r"(?=.*\d)(?=.*[-_])[\w.-]+$|[A-Za-z]+\d+$", ""),
    "end with ids": ("", r"^\([^\s()]*\d\)$"),
}
"""What stands around texts -> patterns of the first and the last token of a line."""
MOST_EMPTY = 0.2
"""Share of empty lines on one side above which something is said of them."""
_ATTACHED = re.compile(r"\w[.,!?;:\u3002\uff0c\uff01\uff1f]+$")
_ALONE = re.compile(r"[.,!?;:\u3002\uff0c\uff01\uff1f]+$")
_NUMBERS = {
    "decimal": (r"\d+,(?:\d{1,2}|\d{4,})", r"\d+\.(?:\d{1,2}|\d{4,})"),
    "thousands": (r"\d{1,3}(?:,\d{3})+", r"\d{1,3}(?:\.\d{3})+"),
}
"""Part of a number -> its form with commas and with points."""
_WIDE = re.compile("[\uff01-\uff5e]")
_QUOTES = {
    "apostrophes": (re.compile("[\u2018\u2019]"), re.compile("'")),
    "quotes": (re.compile("[\u201c\u201d\u201e\u00ab\u00bb]"), re.compile('"')),
}
"""Marks -> their typographic form and the straight one."""
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
)
"""Letters of Thai, Lao, Burmese, Khmer, Kana and Han."""
LONGEST_WORDS = 6.0
"""Letters of a token, on average, above which a text of such letters is not segmented."""
MOST_RATIO = 4.0
"""Ratio of the lengths of source and references above which one of them is not segmented."""


@dataclass(frozen=True)
class Side:
    """The tokens of one side.

    Parameters
    ----------
    name
        Its name in messages.
    words
        The distinct tokens.
    counts : (n,) int64
        How often each occurs.
    lines
        The first and the last token of each text that has any.
    empty
        The number of texts that have none.
    """

    name: str
    words: Sequence[str]
    counts: IntArray
    lines: Sequence[tuple[str, str]]
    empty: int

    @classmethod
    def of(cls, name: str, texts: Texts, rows: IntArray) -> "Side":
        """Return the side of some rows of texts."""
        part = texts.tokens.take(rows).alone()
        tokens, counts = np.unique(part.values, return_counts=True)
        words = texts.vocabulary.words
        full = np.flatnonzero(part.lengths)
        first, last = part.values[part.offsets[full]], part.values[part.offsets[full + 1] - 1]
        pairs = zip(first.tolist(), last.tolist(), strict=True)
        return cls(
            name,
            [words[token] for token in tokens.tolist()],
            counts.astype(np.int64),
            [(words[begin], words[end]) for begin, end in pairs],
            len(rows) - len(full),
        )

    @cached_property
    def total(self) -> int:
        """The number of tokens."""
        return int(self.counts.sum())

    def count(self, is_such: Callable[[str], object]) -> int:
        """Return how many tokens are such."""
        return sum(
            count
            for word, count in zip(self.words, self.counts.tolist(), strict=True)
            if is_such(word)
        )

    def example(self, is_such: Callable[[str], object]) -> str:
        """Return the most frequent token that is such."""
        order = np.argsort(-self.counts, kind="stable").tolist()
        return next((self.words[place] for place in order if is_such(self.words[place])), "")


def doubts(batch: Batch, *, compares_words: bool, reads_order: bool) -> list[str]:
    """Return what looks wrong about a batch, a line each.

    Parameters
    ----------
    compares_words
        Whether the metric compares words, not characters: then tokenisation matters.
    reads_order
        Whether the metric compares word orders, which the tokens of the source decide.
    """
    chosen = np.unique(np.linspace(0, len(batch) - 1, MOST_SEGMENTS).astype(np.int64))
    if not len(batch) or not len(batch.references):
        return []
    firsts = [
        starts[:-1][chosen][np.diff(starts)[chosen] > 0]
        for starts in (batch.offsets, batch.reference_offsets)
    ]
    hyp = Side.of("hypotheses", batch.hypotheses, firsts[0])
    ref = Side.of("references", batch.references, firsts[1])
    lines = [_json(ref, hyp)]
    if batch.source is not None:
        source = [batch.source[number] for number in chosen.tolist()]
        lines.append(_json_lines(source))
        if reads_order and batch.source_lengths is not None:
            linked = int(batch.source_lengths[chosen].sum())
            lines.append(unsegmented_source(source, linked, ref.total))
    lines += [empty_lines(hyp, ref), wrapped(hyp, ref)]
    unlike = encoded_twice(hyp, ref) or subwords(hyp, ref)
    checks: tuple[Callable[[Side, Side], str | None], ...] = FORMS
    if unlike is None:  # of pieces and broken letters, case and tokens say nothing
        checks += (casing, punctuation, tokenisation) if compares_words else (casing, punctuation)
    lines += [unlike, *(check(hyp, ref) for check in checks)]
    return [line for line in lines if line is not None]


def _json(ref: Side, hyp: Side) -> str | None:
    shares = [
        sum(_JSON.match(first) is not None for first, _ in side.lines) / max(1, len(side.lines))
        for side in (ref, hyp)
    ]
    if shares[0] <= 0.5 or shares[1] > 0.1:
        return None
    return (
        f"{100 * shares[0]:.0f} % of the references look like JSON (`{ref.lines[0][0]}`): "
        f"FILE#KEY names the key that has the text"
    )


def _json_lines(source: Sequence[str]) -> str | None:
    share = sum(_JSON.match(line) is not None for line in source) / max(1, len(source))
    if share <= 0.5:
        return None
    return (
        f"{100 * share:.0f} % of the source looks like JSON (`{source[0][:20]}`): FILE#KEY names "
        f"the key that has the text"
    )


def unsegmented_source(
    source: Sequence[str], linked_tokens: int, reference_tokens: int
) -> str | None:
    """Return a line if the source has no blanks between words.

    Parameters
    ----------
    source
        Its lines, which text steps may have cut.
    linked_tokens
        The number of its tokens as links count them, before any step: they decide.
    reference_tokens
        The number of tokens in one reference of the same segments.
    """
    tokens = [word for line in source for word in line.split()]
    letters = sum(len(_UNSPACED.findall(word)) for word in tokens)
    with_letters = sum(_UNSPACED.search(word) is not None for word in tokens)
    what = (
        "word order means little then. Segment its file into words and align it anew (links count "
        "the words of the file, which no text step changes)"
    )
    each = letters * len(tokens) / max(1, with_letters * linked_tokens)
    if with_letters > 0.2 * len(tokens) and each > LONGEST_WORDS:
        return (
            f"the source has {each:.0f} letters a token: its script has no "
            f"blanks between words, and it is not segmented; {what}"
        )
    ratio = linked_tokens / max(1, reference_tokens)
    if min(linked_tokens, reference_tokens) >= 20 and not 1 / MOST_RATIO <= ratio <= MOST_RATIO:
        return (
            f"the source has {linked_tokens} tokens, the references {reference_tokens}: one of "
            f"them is not cut into words; {what}"
        )
    return None


def _pair(
    hyp: Side, ref: Side, is_such: Callable[[str], object], least: float
) -> tuple[Side, Side] | None:
    """Return the side with tokens of a kind and the side without, if there are such sides."""
    counts = hyp.count(is_such), ref.count(is_such)
    shares = [count / max(1, side.total) for count, side in zip(counts, (hyp, ref), strict=True)]
    more, less = (0, 1) if shares[0] > shares[1] else (1, 0)
    if counts[more] < LEAST or shares[more] < least or shares[less] > 0.1 * shares[more]:
        return None
    if (hyp, ref)[less].total * shares[more] < 2 * LEAST:
        return None  # too little text to expect any there
    return ((hyp, ref), (ref, hyp))[more]


def empty_lines(hyp: Side, ref: Side) -> str | None:
    """Return a line if many texts of one side alone are empty."""
    for side, other in ((hyp, ref), (ref, hyp)):
        number, empty = side.empty + len(side.lines), side.empty
        if empty >= max(LEAST, MOST_EMPTY * number) and other.empty <= 0.1 * empty:
            return (
                f"{100 * empty / number:.0f} % of the {side.name} are empty, of the {other.name} "
                f"{100 * other.empty / max(1, other.empty + len(other.lines)):.0f} %: see whether "
                f"the file is whole and its lines stand in the same order"
            )
    return None


def wrapped(hyp: Side, ref: Side) -> str | None:
    """Return a line if the texts of one side alone stand among ids, tags, quotes or fields."""
    for kind, patterns in _WRAPPED.items():
        begins, ends = map(re.compile, patterns)
        shares = [
            sum(bool(begins.match(first) and ends.search(last)) for first, last in side.lines)
            / max(LEAST, len(side.lines))
            for side in (hyp, ref)
        ]
        for a, b, side in ((0, 1, hyp), (1, 0, ref)):
            if shares[a] > 0.9 and shares[b] <= 0.1:
                first, last = side.lines[0]
                verb = "are" if kind.startswith("are ") else "do"
                return (
                    f"the {side.name} {kind} (`{first} ... {last}`), the {(hyp, ref)[b].name} "
                    f"{verb} not: a file has the text of a segment on each line and no more "
                    f"(FILE.tsv#COLUMN reads a column, --ids reads ids on both sides)"
                )
    return None


def encoded_twice(hyp: Side, ref: Side) -> str | None:
    """Return a line if one side is UTF-8 that was encoded twice."""
    sides = _pair(hyp, ref, _TWICE.search, 0.0)
    if sides is None:
        return None
    return (
        f"the {sides[0].name} were encoded twice (`{sides[0].example(_TWICE.search)}`): UTF-8 was "
        f"read as Latin-1 and encoded again; `iconv -f UTF-8 -t LATIN1` undoes it (WINDOWS-1252 "
        f"where it fails)"
    )


def subwords(hyp: Side, ref: Side) -> str | None:
    """Return a line if one side is in subwords."""
    sides = _pair(hyp, ref, _BYTE_PIECE.search, 0.2)
    if sides is not None:
        return (
            f"the {sides[0].name} are in subwords of bytes "
            f"(`{sides[0].example(_BYTE_PIECE.search)}`), the {sides[1].name} are not: decode "
            f"them with the tokenizer of the model"
        )
    sides = _pair(hyp, ref, _PIECE.search, 0.01)
    if sides is None:
        return None
    return (
        f"the {sides[0].name} are in subwords (`{sides[0].example(_PIECE.search)}`), the "
        f"{sides[1].name} are not: join them (`@@`: --text debpe, `▁`: --text spm-decode)"
    )


def _has_upper(word: str) -> bool:
    return word != word.lower()


def _begins_upper(side: Side) -> float:
    letters = [first for first, _ in side.lines if first[:1].lower() != first[:1].upper()]
    return sum(first[0].isupper() for first in letters) / len(letters) if len(letters) > 9 else -1


def casing(hyp: Side, ref: Side) -> str | None:
    """Return a line if one side is in lower case, in capitals or true-cased."""
    advice = "--lowercase compares both in lower case; or write both alike"
    shares = [
        side.count(lambda word: len(word) > 1 and word.isupper())
        / max(1, side.count(lambda word: len(word) > 1 and word.lower() != word.upper()))
        for side in (hyp, ref)
    ]
    if abs(shares[0] - shares[1]) > 0.5:
        names = (hyp.name, ref.name) if shares[0] > shares[1] else (ref.name, hyp.name)
        return f"the {names[0]} are in capitals, the {names[1]} are not: {advice}"
    sides = _pair(hyp, ref, _has_upper, 0.01)
    if sides is not None:
        return (
            f"the {sides[1].name} are in lower case, the {sides[0].name} are not "
            f"(`{sides[0].example(_has_upper)}`): {advice}"
        )
    begins = _begins_upper(hyp), _begins_upper(ref)
    if min(begins) >= 0 and abs(begins[0] - begins[1]) > 0.6:
        names = (hyp.name, ref.name) if begins[0] > begins[1] else (ref.name, hyp.name)
        return (
            f"the {names[0]} begin with capitals, the {names[1]} do not (are they true-cased?): "
            f"{advice}"
        )
    return None


def _apart(
    hyp: Side, ref: Side, forms: Sequence[Callable[[str], object]]
) -> tuple[Side, Side] | None:
    """Return the side that has the first of two forms alone and the side with the second alone."""
    first, second = ([side.count(form) for side in (hyp, ref)] for form in forms)
    for a, b, sides in ((0, 1, (hyp, ref)), (1, 0, (ref, hyp))):
        enough = min(first[a], second[b]) >= LEAST
        if enough and second[a] <= 0.1 * first[a] and first[b] <= 0.1 * second[b]:
            return sides
    return None


def number_format(hyp: Side, ref: Side) -> str | None:
    """Return a line if numbers have commas on one side and points on the other."""
    for part, forms in _NUMBERS.items():
        whole = [re.compile(rf"\W*{form}\W*").fullmatch for form in forms]
        sides = _apart(hyp, ref, whole)
        if sides is not None:
            return (
                f"numbers of the {sides[0].name} have {part} commas "
                f"(`{sides[0].example(whole[0])}`), those of the {sides[1].name} {part} points "
                f"(`{sides[1].example(whole[1])}`): write both alike"
            )
    return None


def _other_digits(word: str) -> bool:
    return not word.isascii() and re.search(r"[^\D0-9]", word) is not None


def digits(hyp: Side, ref: Side) -> str | None:
    """Return a line if the digits of the sides are of different scripts."""
    sides = _apart(hyp, ref, (_other_digits, re.compile("[0-9]").search))
    if sides is None:
        return None
    return (
        f"the {sides[0].name} have other digits (`{sides[0].example(_other_digits)}`) than the "
        f"{sides[1].name}: write both alike"
    )


def _decomposed(word: str) -> bool:
    return not word.isascii() and not unicodedata.is_normalized("NFC", word)


def _composed(word: str) -> bool:
    return not word.isascii() and not unicodedata.is_normalized("NFD", word)


def unicode_forms(hyp: Side, ref: Side) -> str | None:
    """Return a line if letters with marks are one character on one side, two on the other."""
    sides = _apart(hyp, ref, (_decomposed, _composed))
    if sides is None:
        return None
    return (
        f"letters with marks are decomposed (NFD) in the {sides[0].name}, composed (NFC) in the "
        f"{sides[1].name} (`{sides[1].example(_composed)}`): --text nfc composes both"
    )


def wide_letters(hyp: Side, ref: Side) -> str | None:
    """Return a line if one side has full-width characters."""
    sides = _pair(hyp, ref, _WIDE.search, 0.01)
    if sides is None:
        return None
    return (
        f"the {sides[0].name} have full-width characters "
        f"(`{sides[0].example(_WIDE.search)}`), the {sides[1].name} have none: --text nfkc makes "
        f"both narrow"
    )


def quotes(hyp: Side, ref: Side) -> str | None:
    """Return a line if quotes are typographic on one side, straight on the other."""
    for marks, (curly, straight) in _QUOTES.items():
        sides = _apart(hyp, ref, (curly.search, straight.search))
        # A system may write quotes its own way, and apostrophes as all do: no fault of the text.
        if sides is not None and not sides[0].count(_QUOTES["apostrophes"][1].search):
            return (
                f"{marks} are typographic in the {sides[0].name} "
                f"(`{sides[0].example(curly.search)}`), straight in the {sides[1].name} "
                f"(`{sides[1].example(straight.search)}`): --text plain-punct makes both straight"
            )
    return None


def escapes(hyp: Side, ref: Side) -> str | None:
    """Return a line if one side has XML escapes."""
    counts = [side.count(_ESCAPE.search) for side in (hyp, ref)]
    for a, b, sides in ((0, 1, (hyp, ref)), (1, 0, (ref, hyp))):
        if counts[a] >= LEAST and counts[b] <= 0.1 * counts[a]:
            return (
                f"the {sides[0].name} have XML escapes (`{sides[0].example(_ESCAPE.search)}`), "
                f"the {sides[1].name} have none: --text unescape undoes them"
            )
    return None


def punctuation(hyp: Side, ref: Side) -> str | None:
    """Return a line if one side has no punctuation at all."""
    sides = _pair(hyp, ref, _PUNCTUATION.search, 0.05)
    if sides is None or sides[1].count(_PUNCTUATION.search) or sides[1].total < 200:
        return None
    return (
        f"the {sides[1].name} have no punctuation, the {sides[0].name} have some "
        f"(`{sides[0].example(_PUNCTUATION.search)}`): --text no-punct takes it from both"
    )


def tokenisation(hyp: Side, ref: Side) -> str | None:
    """Return a line if one side is tokenised and the other is not."""
    shares = []
    for side in (hyp, ref):
        alone, attached = side.count(_ALONE.match), side.count(_ATTACHED.search)
        shares.append(alone / (alone + attached) if alone + attached >= 10 else None)
    if shares[0] is not None and shares[1] is not None and abs(shares[0] - shares[1]) > 0.6:
        sides = (hyp, ref) if shares[0] > shares[1] else (ref, hyp)
        return (
            f"the {sides[0].name} are tokenised, the {sides[1].name} are not "
            f"(`{sides[1].example(_ATTACHED.search)}`): --text 13a (zh, ja-mecab, ...) tokenises"
        )
    means = [
        side.count(_UNSPACED.search) and _letters(side) / side.count(_UNSPACED.search)
        for side in (hyp, ref)
    ]
    if min(means) > 0 and max(means) > 3 * min(means) and max(means) > LONGEST_WORDS:
        names = (ref.name, hyp.name) if means[0] > means[1] else (hyp.name, ref.name)
        return f"the {names[0]} are segmented into words, the {names[1]} are not: segment both"
    return None


def _letters(side: Side) -> int:
    return sum(
        len(_UNSPACED.findall(word)) * count
        for word, count in zip(side.words, side.counts.tolist(), strict=True)
    )


FORMS = (number_format, digits, unicode_forms, wide_letters, quotes, escapes)
"""Checks of how letters and numbers are written."""
