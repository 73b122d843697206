"""Signs that texts do not fit: the two sides are written differently, or one is no text.

Each check counts the distinct tokens of a sample of segments, so its cost does not grow with the
lists. A check returns a line for the user, or None. Numbers of lines and ids are
checked in joining.py, the columns of lists in nbest/findings.py.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from portmert.metrics._base import Batch, IntArray, Texts

from .forms import lines_with_alternatives

MOST_SEGMENTS = 1000
"""Segments in the sample."""
LEAST = 3
"""Least tokens of a form that count as a sign."""
MOST_EMPTY = 0.2
"""Share of empty lines of one side from which they count as a sign."""
LONGEST_WORDS = 6.0
"""Letters of a token, on average, above which a script without blanks is not segmented."""
_MOST_LINES = 0.9
"""Share of the lines of a side above which what they have in common is markup."""
MOST_RATIO = 4.0
"""Ratio of the lengths of source and references above which one of them is not segmented."""

Form = Callable[[str], object]
"""Tells whether a token has a form."""
_JSON = re.compile(r'[\[{]\s*["\'{\[]|[\[{]$')
_PUNCTUATION = re.compile("[.,!?;:\u3002\uff0c\uff01\uff1f]").search
_ATTACHED = re.compile(r"\w[.,!?;:\u3002\uff0c\uff01\uff1f]+$").search
_ALONE = re.compile(r"[.,!?;:\u3002\uff0c\uff01\uff1f]+$").match
_ESCAPE = re.compile(
    r"&(?:apos|quot|amp|lt|gt|bar|#\d{2,5}|#x[0-9a-fA-F]{2,5});|^(?:apos|x27)$"
).search
"""An XML escape, also one that a tokeniser has cut: `& apos ;`."""
_ESCAPED = re.compile(r"[&<>|\[\]'\"\u2019\u201c]").search
"""A character that is escaped."""
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
)
"""Letters of Thai, Lao, Burmese, Khmer, Kana and Han."""
_ALIKE = "--lowercase compares both in lower case; or write both alike"
_ONE_TEXT = (
    "a file has the text of a segment on each line and no more (FILE.tsv#COLUMN reads a column, "
    "--ids reads ids on both sides)"
)
_TAKE_OUT = "they count as words; take them out of both sides"
_DROPPED = (
    "they count as words; --text no-brackets takes what is in brackets out of both sides, --text "
    "drop=WORD+WORD other words"
)
_ID = r"(?:(?=.*\d)(?=.*[-_])[\w.-]+:?$|[A-Za-z]+\d+:?$)"
MARKUP = (
    ("are fields of CSV", r'[\w.-]+,["\w]', "", _ONE_TEXT),
    ("are within tags", r"<(?:\w|$)", r"<?/\w+>$|^>$", _ONE_TEXT),  # tokenisers cut tags
    ("are within quotes", r'["\u201c]', r'["\u201d]$', _ONE_TEXT),
    ("begin with times", r"[\[(]?(?:\d+:)?\d+:\d\d(?:[.,]\d+)?\b|\[\d+[.:]\d", "", _TAKE_OUT),
    ("begin with numbers", r"\d+[.):]?$", "", _ONE_TEXT),
    ("begin with the name of their side",
     r"(?i:hyp|ref|src|hypothesis|reference|pred|target|source)\s*[:=]|\|[A-Z]\|:?$", "",
     _TAKE_OUT),
    ("begin with ids", _ID, f"^(?!{_ID})", _ONE_TEXT),  # not where other words look so too
    ("end with ids", "", r"^\([^\s()]*\d\)$", _ONE_TEXT),
)  # fmt: skip
"""Lines that are more than a text: what they are, patterns of their first and last tokens, and
what to do."""
_ALTERNATIVES = (
    "the hypotheses have alternatives (`{ a / b }`), whose braces count as words: write one text "
    "a segment"
)
MARKS = (
    (0.0, "^;;", "comments", "a line that begins so is a comment of SCTK; take these lines out"),
    (0.01,
     r"^(?:<(?:s|/s|unk|pad|eps|sil|blank|noise|[a-z]{2})>|<\|[^\s|]*\|>|\[[A-Z_]{3,}\]|!SIL)$",
     "marks that are no words", _DROPPED),
)  # fmt: skip
"""Tokens that are no words on any side: their least share, a pattern, their name, what to do."""


def _sign(share: float, pattern: str, what: str, todo: str) -> tuple[str, Form, float]:
    """Return a message on tokens of one side alone, their form, and their least share."""
    others = "do not" if what.startswith("have") else "are not"
    message = f"the {{present}} {what} (`{{example}}`), the {{absent}} {others}: {todo}"
    return message, re.compile(pattern).search, share


BROKEN = (
    _sign(0.0, r"^\|\d+-\d+[|,]", "have marks of phrases, which are no words",
          "let Moses decode without -t (-report-segmentation)"),
    _sign(0.5, r"^[^|]+\|[^|]+$", "have words with factors",
          "let Moses decode without -report-all-factors"),
    _sign(0.0, "[\u00c2\u00c3][\u0080-\u00bf]|\u00e2(?:\u20ac|\u0080)", "were encoded twice",
          "UTF-8 was read as Latin-1; `iconv -f UTF-8 -t LATIN1` (or WINDOWS-1252) undoes it"),
    _sign(0.2, "^[\u0120\u010a]", "are in subwords of bytes",
          "decode them with the tokenizer of the model"),
    _sign(0.01, r"▁|^##\w|\w@@$|^￭|\w￭$", "are in subwords",
          "join them (`@@`: --text debpe, `▁`: --text {side}:spm-decode)"),
)  # fmt: skip
"""Tokens of one side that are no words; the first sign counts."""
WIDE = _sign(
    0.01, "[\uff01-\uff5e]", "have full-width characters", "--text nfkc makes both narrow"
)


def _numbers(kind: str, commas: str, points: str) -> tuple[str, Form, Form, Form | None]:
    return (
        (
            f"numbers of the {{first}} have {kind} commas (`{{example1}}`), those of the "
            f"{{second}} {kind} points (`{{example2}}`): write both alike"
        ),
        re.compile(rf"\W*{commas}\W*").fullmatch,
        re.compile(rf"\W*{points}\W*").fullmatch,
        None,
    )


def _marks(name: str, typographic: str, straight: str) -> tuple[str, Form, Form, Form | None]:
    return (
        (
            f"{name} are typographic in the {{first}} (`{{example1}}`), straight in the "
            f"{{second}} (`{{example2}}`): --text plain-punct makes both straight"
        ),
        re.compile(typographic).search,
        re.compile(straight).search,
        # A system may write quotes its own way, and apostrophes as all do: no sign then.
        re.compile("'").search,
    )


OPPOSED = (
    (
        _numbers("decimal", r"\d+,(?:\d{1,2}|\d{4,})", r"\d+\.(?:\d{1,2}|\d{4,})"),
        _numbers("thousands", r"\d{1,3}(?:,\d{3})+", r"\d{1,3}(?:\.\d{3})+"),
    ),
    (
        (
            "the {first} have other digits (`{example1}`) than the {second}: write both alike",
            lambda word: not word.isascii() and re.search(r"[^\D0-9]", word),
            re.compile("[0-9]").search,
            None,
        ),
    ),
    (
        (
            (
                "letters with marks are decomposed (NFD) in the {first}, composed (NFC) in the "
                "{second} (`{example2}`): --text nfc composes both"
            ),
            lambda word: not word.isascii() and not unicodedata.is_normalized("NFC", word),
            lambda word: not word.isascii() and not unicodedata.is_normalized("NFD", word),
            None,
        ),
    ),
    (
        _marks("apostrophes", "[\u2018\u2019]", "'"),
        _marks("quotes", "[\u201c\u201d\u201e\u00ab\u00bb]", '"'),
    ),
)
"""Two ways of writing, each of one side alone: message, both forms, and a form that the side of
the first may not have at all. Of a group the first sign counts."""


@dataclass(frozen=True)
class SideWords:
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
        The number of texts without tokens.
    total
        The number of tokens.
    """

    name: str
    words: Sequence[str]
    counts: IntArray
    lines: Sequence[tuple[str, str]]
    empty: int
    total: int

    @classmethod
    def of(cls, name: str, texts: Texts, rows: IntArray) -> "SideWords":
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
            len(part.values),
        )

    def count(self, form: Form) -> int:
        """Return the number of tokens that have a form."""
        counts = zip(self.words, self.counts.tolist(), strict=True)
        return sum(count for word, count in counts if form(word))

    def example(self, form: Form) -> str:
        """Return the most frequent token that has a form."""
        order: list[int] = np.argsort(-self.counts, kind="stable").tolist()
        words = (self.words[place] for place in order)
        return next(filter(form, words), "")

    def share_of_lines(self, begin: str, end: str) -> float:
        """Return the share of lines of whose first and last token these are patterns."""
        begins, ends = re.compile(begin), re.compile(end)
        lines = sum(bool(begins.match(first) and ends.search(last)) for first, last in self.lines)
        return lines / max(1, len(self.lines))


TwoSides = tuple[SideWords, SideWords]


def doubts(
    batch: Batch, *, compares_words: bool, reads_order: bool, counts_blanks: bool = False
) -> list[str]:
    """Return the signs that the texts of a batch do not fit, a line each.

    Parameters
    ----------
    compares_words
        Whether the metric compares words, not characters: then tokenisation matters.
    reads_order
        Whether the metric compares word orders, which the tokens of the source decide.
    counts_blanks
        Whether the metric compares characters, blanks among them.
    """
    segments = np.unique(np.linspace(0, len(batch) - 1, MOST_SEGMENTS).astype(np.int64))
    if not len(batch) or not len(batch.references):
        return []
    first_rows = [
        offsets[:-1][segments][np.diff(offsets)[segments] > 0]
        for offsets in (batch.offsets, batch.reference_offsets)
    ]
    hyp = SideWords.of("hypotheses", batch.hypotheses, first_rows[0])
    ref = SideWords.of("references", batch.references, first_rows[1])
    sides = hyp, ref
    source = [] if batch.source is None else [batch.source[n] for n in segments.tolist()]
    lines = [_json_lines(sides, source)]
    if source and reads_order and batch.source_lengths is not None:
        linked = int(batch.source_lengths[segments].sum())
        lines.append(_unsegmented_source(source, linked, ref.total))
    lines += [_empty_lines(sides), _markup(sides), *(_marked(sides, *mark) for mark in MARKS)]
    if lines_with_alternatives(batch.hypotheses.take(first_rows[0])):  # references may
        lines.append(_ALTERNATIVES)
    broken = next(filter(None, (_one_sided(sides, *sign) for sign in BROKEN)), None)
    lines += [broken, _one_sided(sides, *WIDE), _escapes(sides)]
    for group in OPPOSED:
        lines.append(next(filter(None, (_opposed(sides, *signs) for signs in group)), None))
    if broken is None:  # case and tokens of pieces and of broken letters say nothing
        lines += [_casing(sides), _punctuation(sides)]
        if compares_words:
            lines.append(_tokenisation(sides) or _segmentation(sides, "segment both"))
        elif counts_blanks:
            lines.append(_segmentation(sides, "cer:spaces=false leaves blanks out of both"))
    return [line for line in lines if line is not None]


def _json_lines(sides: TwoSides, source: Sequence[str]) -> str | None:
    """Return a line if texts look like JSON; hypotheses and references may be answers in JSON."""
    begins = {side.name: [first for first, _ in side.lines] for side in sides}
    begins["source"] = list(source)
    shares = [sum(map(bool, map(_JSON.match, x))) / max(1, len(x)) for x in begins.values()]
    alike = [name for name, share in zip(begins, shares, strict=True) if share > 0.5]
    if not alike or any(0.1 < share <= 0.5 for share in shares):
        return None
    return (
        f"the {' and '.join(alike)} look like JSON (`{begins[alike[0]][0][:20]}`): if these are "
        f"records, FILE#KEY names the key that has the text"
    )


def _unsegmented_source(
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
    advice = (
        "word order means little then. Segment its file into words and align it anew (links count "
        "the words of the file, which no text step changes)"
    )
    letters_a_token = letters * len(tokens) / max(1, with_letters * linked_tokens)
    if with_letters > 0.2 * len(tokens) and letters_a_token > LONGEST_WORDS:
        return (
            f"the source has {letters_a_token:.0f} letters a token: its script has no "
            f"blanks between words, and it is not segmented; {advice}"
        )
    ratio = linked_tokens / max(1, reference_tokens)
    if min(linked_tokens, reference_tokens) >= 20 and not 1 / MOST_RATIO <= ratio <= MOST_RATIO:
        return (
            f"the source has {linked_tokens} tokens, the references {reference_tokens}: one of "
            f"them is not cut into words; {advice}"
        )
    return None


def _empty_lines(sides: TwoSides) -> str | None:
    for side, full in (sides, sides[::-1]):
        number, empty = side.empty + len(side.lines), side.empty
        if empty >= max(LEAST, MOST_EMPTY * number) and full.empty <= 0.1 * empty:
            return (
                f"{100 * empty / number:.0f} % of the {side.name} are empty, of the {full.name} "
                f"{100 * full.empty / max(1, full.empty + len(full.lines)):.0f} %: see whether "
                f"the file is whole and its lines stand in the same order"
            )
    return None


def _markup(sides: TwoSides) -> str | None:
    """Return a line if the lines of a side are more than texts, looking at each side alone."""
    for kind, begin, end, todo in MARKUP:
        marked = [side for side in sides if side.share_of_lines(begin, end) > _MOST_LINES]
        if marked and len(marked[0].lines) >= LEAST:
            first, last = marked[0].lines[0]
            names = " and ".join(f"the {side.name}" for side in marked)
            return f"{names} {kind} (`{first} ... {last}`): {todo}"
    return None


def _marked(sides: TwoSides, least_share: float, pattern: str, name: str, todo: str) -> str | None:
    """Return a line if a side has tokens that are no words, looking at each side alone."""
    form = re.compile(pattern).search
    least = LEAST if least_share else 1
    marked = [s for s in sides if s.count(form) >= max(least, least_share * s.total)]
    if not marked:
        return None
    names = " and ".join(f"the {side.name}" for side in marked)
    return f"{names} have {name} (`{marked[0].example(form)}`): {todo}"


def _one_sided(sides: TwoSides, message: str, form: Form, least_share: float = 0.0) -> str | None:
    """Return a message if tokens of a form are on one side alone.

    Parameters
    ----------
    message
        `{present}` and `{absent}` are the names of the sides, `{example}` a token of the form,
        `{side}` what a text step calls the side that has it.
    least_share
        The least share of the tokens on their side.
    """
    for side, plain in (sides, sides[::-1]):
        count = side.count(form)
        share, expected = count / max(1, side.total), count * plain.total / max(1, side.total)
        if count < LEAST or share < least_share or expected < 2 * LEAST:
            continue  # too few, or too little text to expect any on the other side
        if plain.count(form) <= 0.1 * expected:
            return message.format(
                present=side.name,
                absent=plain.name,
                example=side.example(form),
                side=side.name[:3],
            )
    return None


def _opposed(
    sides: TwoSides, message: str, form1: Form, form2: Form, absent: Form | None = None
) -> str | None:
    """Return a message if one side has the first of two forms alone, and the other the second.

    Parameters
    ----------
    message
        `{first}` and `{second}` are the names of the sides, `{example1}` and `{example2}` tokens
        of the forms.
    absent
        A form that the side of the first form may not have at all.
    """
    for first, second in (sides, sides[::-1]):
        count1, count2 = first.count(form1), second.count(form2)
        is_opposed = (
            min(count1, count2) >= LEAST
            and first.count(form2) <= 0.1 * count1
            and second.count(form1) <= 0.1 * count2
        )
        if is_opposed and (absent is None or not first.count(absent)):
            return message.format(
                first=first.name,
                second=second.name,
                example1=first.example(form1),
                example2=second.example(form2),
            )
    return None


def _escapes(sides: TwoSides) -> str | None:
    for side, plain in (sides, sides[::-1]):
        count = side.count(_ESCAPE)
        # Without the characters themselves the other side just has no such words.
        if count >= LEAST and plain.count(_ESCAPE) <= 0.1 * count < plain.count(_ESCAPED):
            return (
                f"the {side.name} have XML escapes (`{side.example(_ESCAPE)}`), "
                f"the {plain.name} have none: --text unescape undoes them"
            )
    return None


def _casing(sides: TwoSides) -> str | None:
    """Return a line if one side is in lower case, in capitals or true-cased."""
    cased = [
        side.count(lambda word: len(word) > 1 and word.lower() != word.upper()) for side in sides
    ]
    if any(count < 0.2 * side.total for count, side in zip(cased, sides, strict=True)):
        return None  # a script without cases
    shares = [
        side.count(lambda word: len(word) > 1 and word.isupper()) / max(1, count)
        for count, side in zip(cased, sides, strict=True)
    ]
    if abs(shares[0] - shares[1]) > 0.5:
        capitals, mixed = sides[::-1] if shares[0] < shares[1] else sides
        return f"the {capitals.name} are in capitals, the {mixed.name} are not: {_ALIKE}"
    lower = "the {absent} are in lower case, the {present} are not (`{example}`): "
    line = _one_sided(sides, lower + _ALIKE, _has_capital, 0.01)
    if line and min(side.count(_has_capital) / max(1, side.total) for side in sides) < 0.01:
        return line
    begins = [_share_of_capital_begins(side) for side in sides]
    if min(begins) < 0 or abs(begins[0] - begins[1]) <= 0.6:
        return None
    capitals, lower_case = sides[::-1] if begins[0] < begins[1] else sides
    return (
        f"the {capitals.name} begin with capitals, the {lower_case.name} do not (are they "
        f"true-cased?): {_ALIKE}"
    )


def _has_capital(word: str) -> bool:
    return word != word.lower()


def _share_of_capital_begins(side: SideWords) -> float:
    """Return the share of lines with letters that begin with a capital; -1 if there are few."""
    letters = [first for first, _ in side.lines if first[:1].lower() != first[:1].upper()]
    return sum(first[0].isupper() for first in letters) / len(letters) if len(letters) > 9 else -1


def _punctuation(sides: TwoSides) -> str | None:
    bare = [side for side in sides if not side.count(_PUNCTUATION)]
    if not bare or bare[0].total < 200:
        return None
    message = (
        "the {absent} have no punctuation, the {present} have some (`{example}`): --text no-punct "
        "takes it from both"
    )
    return _one_sided(sides, message, _PUNCTUATION, 0.05)


def _tokenisation(sides: TwoSides) -> str | None:
    """Return a line if one side is tokenised and the other is not."""
    shares = []
    for side in sides:
        alone, attached = side.count(_ALONE), side.count(_ATTACHED)
        if alone + attached >= 10:
            shares.append(alone / (alone + attached))
    if len(shares) == 2 and abs(shares[0] - shares[1]) > 0.6:
        cut, plain = sides[::-1] if shares[0] < shares[1] else sides
        return (
            f"the {cut.name} are tokenised, the {plain.name} are not "
            f"(`{plain.example(_ATTACHED)}`): --text 13a (zh, ja-mecab, ...) tokenises"
        )
    return None


def _segmentation(sides: TwoSides, todo: str) -> str | None:
    """Return a line if one side has blanks between words of a script without, the other not."""
    means = [_letters_a_word(side) for side in sides]
    whole, words = sides[::-1] if means[0] < means[1] else sides
    is_whole = max(means) > LONGEST_WORDS or whole.total == len(whole.lines) >= LEAST
    if min(means) <= 0 or max(means) <= 3 * min(means) or not is_whole:
        return None
    return f"the {words.name} are segmented into words, the {whole.name} are not: {todo}"


def _letters_a_word(side: SideWords) -> float:
    """Return how many letters of scripts without blanks a token of such letters has; 0 if none."""
    counts = zip(side.words, side.counts.tolist(), strict=True)
    letters: int = sum(len(_UNSPACED.findall(word)) * count for word, count in counts)
    return letters / max(1, side.count(_UNSPACED.search))
