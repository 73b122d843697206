"""Tokens as parsers want them and as treebanks write them; one token stays one token."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_BRACKETS = {
    "(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-",
}  # fmt: skip
_PLAIN = {name: sign for sign, name in _BRACKETS.items()} | {"\\/": "/", "\\*": "*"}
_SIGNS = re.compile(r"[()\[\]{}]")
_ESCAPED = re.compile("|".join(map(re.escape, _PLAIN)))
_QUOTES = {"``": '"', "''": '"'}

# What the tokeniser of Moses writes for signs with a meaning for its decoder. `&amp;` comes last,
# because `&amp;lt;` stands for `&lt;`.
_MOSES = {
    "&apos;": "'", "&quot;": '"', "&#124;": "|", "&#91;": "[", "&#93;": "]", "&lt;": "<",
    "&gt;": ">", "&amp;": "&",
}  # fmt: skip
_NOT = ("'t", "\u2019t", "'T", "\u2019T")


def escaped(token: str) -> str:
    """Return a token as the Penn Treebank writes it between brackets: `(` is `-LRB-`."""
    return _SIGNS.sub(lambda sign: _BRACKETS[sign[0]], token)


def unescaped(token: str) -> str:
    """Return the plain token that a leaf of a treebank stands for."""
    return _ESCAPED.sub(lambda name: _PLAIN[name[0]], token)


def comparable(token: str) -> str:
    """Return one form for a token and for all ways in which parsers write it.

    A straight quote and the treebank's two quotes are the same.
    """
    plain = unescaped(token)
    return _QUOTES.get(plain, plain)


def as_parsed(tokens: Sequence[str]) -> list[str]:
    """Return the tokens of a Moses text as treebanks write them, one for each.

    `don 't` becomes `do n't`, `&quot;` becomes `"`.
    """
    words = [_plain(token) if "&" in token else token for token in tokens]
    for place in range(1, len(words)):
        if words[place] in _NOT:
            before = words[place - 1]
            if len(before) > 1 and before[-1] in "nN" and before[-2].isalnum():
                words[place - 1] = before[:-1]
                words[place] = before[-1] + words[place]
    return words


def prepared(tokens: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """Return the words that a parser with these options is given for the tokens of a text."""
    words = as_parsed(tokens) if options["contractions"] else list(tokens)
    return [word.lower() for word in words] if options.get("lowercase") else words


def _plain(token: str) -> str:
    for name, sign in _MOSES.items():
        token = token.replace(name, sign)
    return token
