"""Count the sentences of a page that a reader must read twice.

`python -m tests.support.prose [PAGE]...` lists them. Code, tables, comments and the targets of
links do not count.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEFINITIONS = frozenset({"NUMBERS", "SEMICOLONS"})
"""Rules that pages of definitions need not keep: formulas and lists are numbers."""

LANGUAGE = "(?:Chinese|Spanish|German|Japanese|Dutch)"
NEGATION = re.compile(
    r"\b(?:no|not|never|none|neither|nor|nothing|nobody|without|cannot|hardly)\b|n't\b",
    re.IGNORECASE,
)
NUMBER = re.compile(r"(?<![\w.])[-+±]?\d[\d,.]*(?: ?%)?")
PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being) (?:\w+ly |also |then |not |never |only )?"
    r"(?:\w{2,}ed|made|found|done|known|given|taken|shown|chosen|left|told|kept|held|read|written"
    r"|learnt|drawn|run|sent|lost|put|set|cut)\b"
)
CLAUSE = re.compile(
    r"(?:^|[,;:(] ?|\b(?:of|for|from|than|by|on|in|with|to|and|or|is|are|has|have|gives?|loses?"
    r"|keeps?|shows?|says?|reads?) )\*{0,2}[Ww]hat (?!to\b|if\b)\w+"
)


def words_of(sentence: str) -> list[str]:
    """Return the words of a sentence, without numbers and signs."""
    return re.findall(r"[A-Za-z][\w'-]*", sentence)


def at_least(number: int, pattern: re.Pattern[str]) -> Callable[[str], bool]:
    """Return a rule: so many matches, or more, are a hit."""
    return lambda sentence: len(pattern.findall(sentence)) >= number


def any_of(*patterns: str) -> Callable[[str], bool]:
    """Return a rule: a match of one of the patterns is a hit."""
    together = re.compile("|".join(patterns))
    return lambda sentence: bool(together.search(sentence))


RULES: dict[str, Callable[[str], bool]] = {
    "LONG": lambda sentence: len(words_of(sentence)) > 30,
    "NUMBERS": at_least(5, NUMBER),
    "TWO-NOS": at_least(2, NEGATION),
    "SEMICOLONS": at_least(2, re.compile(r"[;:](?= )")),
    "PASSIVES": at_least(3, PASSIVE),
    "WHAT": lambda sentence: bool(
        not sentence.rstrip("*_)").endswith("?") and CLAUSE.search(sentence)
    ),
    "THAT-OF": any_of(
        r"\b(?:that|those) of\b", r"\b(?:ours|theirs)\b", r"\bthe (?:former|latter)\b"
    ),
    "AS-LIKE": any_of(
        r"\b(?:lines?|files?|options?|names?|values?|keys?|choices|form|notes?) as (?:`|how\b)",
        r"\(as [`\d]",
    ),
    "IDIOM": any_of(
        r"\bso many\b", r"\bin turns\b", r"\bdear\b", r"\bstands? in\b", r"\bnext to nothing\b",
        r"\btold apart\b", r"\bof one's own\b", r"\bbeyond chance\b", r"\bgoes? apart\b",
        r"\bthe whole way\b", r"\bluck\b", r"\bin hand\b", r"\bwant(?:s|ed)? \d+ ", r"\bworth\b",
        r"\bpays?\b", r"\bpromis\w+", r"\bto blame\b", r"\bhow far\b", r"\bnever tuned on\b",
        r"\bgo(?:es)? on\b", r"\bof (?:its|their|that) time\b",
        r"\b(?:a|each) (?:line|number) a (?:segment|line)\b",
        r"\bhad (?:gained|made|been) higher\b",
    ),
    "LESS": any_of(
        r"\bless (?:Optuna|the (?:best|gain|true|score)|\d+ random|mert-moses|a grid|what)"
    ),
    "FROM-LANG": any_of(rf"\b[Ff]rom (?:the )?{LANGUAGE}\b"),
    "SHAPELESS": any_of(
        r"^\W*(?:Both|Others|The others?|The same|The first|The last|One|Neither|All|None|Most of "
        r"(?:it|that)) (?:is|are|was|were|has|have|had|do|does|may|can|needs?|takes?|would|will"
        r"|gives?|differ|holds?|of (?:them|these|it))"
    ),
    "HISTORY": any_of(
        r"\b[Aa]n? (?:earlier|older) (?:version|form|rule)\b", r"\bcame last\b",
        r"\bat that time\b",
        r"\bwas the .{0,30}default\b.{0,12}\bbefore\b", r"\bwhen the default had\b",
        r"\bas (?:it|they) (?:was|were) then\b", r"\bthe defaults? of (?:its|that|their) time\b",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Hits:
    """The hits of some text, and how many words of prose it has."""

    found: tuple[str, ...] = ()
    words: int = 0

    @property
    def rate(self) -> float:
        """Hits in 1,000 words; a short page is not judged by a single hit."""
        return 1000 * len(self.found) / max(self.words, 150)

    def __add__(self, other: Hits) -> Hits:
        return Hits(self.found + other.found, self.words + other.words)

    def __str__(self) -> str:
        return "\n".join((f"{self.rate:.1f} hits in 1,000 words", *self.found))


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and items of lists of a page of Markdown."""
    text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    block: list[str] = []
    for line in (*text.splitlines(), ""):
        item = re.match(r"\s*(?:[-*]|\d+\.)\s+(.*)", line)
        is_code = line.startswith(("    ", "\t")) and not block
        ends = not line.strip() or line.lstrip().startswith(("|", "#", "!")) or is_code
        if ends or item:
            if block:
                yield " ".join(block)
            block = [item[1]] if item else []
        else:
            block.append(line.strip())


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page, with `x` in place of code."""
    for paragraph in paragraphs(text):
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
        plain = re.sub(r"<[^>]+>", "", re.sub(r"`[^`]+`", "`x`", plain))
        for sentence in re.split(r"(?<=[.?!])(?:\*\*)?\s+(?=[\"'(*`A-Z]|portmert|spaCy)", plain):
            if len(words_of(sentence)) > 2:
                yield sentence.strip()


def hits(text: str, skipped: frozenset[str] = frozenset()) -> Hits:
    """Return the hits of a page under all rules but those skipped."""
    found, words = [], 0
    for sentence in sentences(text):
        words += len(words_of(sentence))
        found += [
            f"{name}: {sentence}"
            for name, rule in RULES.items()
            if name not in skipped and rule(sentence)
        ]
    return Hits(tuple(found), words)


if __name__ == "__main__":
    for name in sys.argv[1:] or map(str, sorted((ROOT / "docs").rglob("*.md"))):
        skipped = DEFINITIONS if Path(name).resolve().parent.name == "metrics" else frozenset()
        print(f"{name}: {hits(Path(name).read_text(encoding='utf-8'), skipped)}")  # noqa: T201
