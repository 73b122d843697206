"""Text steps that change characters: normal forms, punctuation, brackets, contractions.

Each takes a line of tokens and returns a line; it may join, cut, add and remove tokens.
Tokenizers, and the names of all steps, are in text_pipeline.py.
"""

import html
import re
import unicodedata
from collections.abc import Callable

_ESCAPE = re.compile(r"&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")
_MOSES_BAR = "&bar;"
_BRACKETS = re.compile(r"[<\[][^>\]]*[>\]]")
_PLAIN = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"')
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a\u00b4\u0060", "'")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | {"\u2026": "..."}
)
CONTRACTIONS = {
    "won't": "will not", "can't": "can not", "let's": "let us", "n't": " not", "'re": " are",
    "'s": " is", "'d": " would", "'ll": " will", "'t": " not", "'ve": " have", "'m": " am",
}  # fmt: skip
"""English contractions and what replaces them, in this order; the table of jiwer."""


def _form(name: str) -> Callable[[str], str]:
    return lambda line: unicodedata.normalize(name.upper(), line)  # type: ignore[arg-type]


def without_punctuation(line: str) -> str:
    """Return a line without the characters that Unicode counts as punctuation."""
    return "".join(char for char in line if not unicodedata.category(char).startswith("P"))


def unescaped(line: str) -> str:
    """Return a line with characters in place of their XML escapes, each replaced once."""
    return _ESCAPE.sub(lambda match: html.unescape(match[0]), line.replace(_MOSES_BAR, "|"))


def expanded(line: str) -> str:
    """Return a line with English contractions written out."""
    for short, long in CONTRACTIONS.items():
        line = line.replace(short, long)
    return line


CHARACTER_STEPS: dict[str, Callable[[str], str]] = {
    "lowercase": str.lower,
    **{name: _form(name) for name in ("nfc", "nfd", "nfkc", "nfkd")},
    "unescape": unescaped,
    "plain-punct": lambda line: line.translate(_PLAIN),
    "no-punct": without_punctuation,
    "no-brackets": lambda line: _BRACKETS.sub("", line),
    "contractions": expanded,
}
"""Name of a step -> what it makes of a line."""
