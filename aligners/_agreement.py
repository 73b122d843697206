"""Agreement with links made by hand: precision, recall, alignment error rate."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from portmert.tuner.base.errors import InputError, counted

from ._base import Links

GOLD = re.compile(r"([0-9]{1,9})([-?p])([0-9]{1,9})")
_WPT = re.compile(r"\s*0*([1-9]\d{0,6})\s+(\d{1,6})\s+(\d{1,6})(?:\s+([SP]))?(?:\s+\d[\d.]*)?\s*")
"""A link of WPT: pair, source word, target word, maybe sure or possible, maybe a confidence."""


@dataclass(frozen=True)
class Gold:
    """The links of one pair made by hand; every sure link is possible too."""

    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Agreement:
    """Counts over all pairs, and the rates made of them.

    Parameters
    ----------
    pairs
        Lines of links.
    links, sure, possible
        How many links there are, of each kind.
    links_sure, links_possible
        How many links are sure, and how many possible.

    References
    ----------
    Och and Ney, "A Systematic Comparison of Various Statistical Alignment Models", CL 2003.
    """

    pairs: int
    links: int
    sure: int
    possible: int
    links_sure: int
    links_possible: int

    @property
    def precision(self) -> float | None:
        """Share of the links that are possible; None if there are none."""
        return self.links_possible / self.links if self.links else None

    @property
    def recall(self) -> float | None:
        """Share of the sure links that were found; None if there are none."""
        return self.links_sure / self.sure if self.sure else None

    @property
    def error_rate(self) -> float | None:
        """Alignment error rate; None if there are neither links nor sure links."""
        if not self.links + self.sure:
            return None
        return 1 - (self.links_sure + self.links_possible) / (self.links + self.sure)


def pair_lines(lines: Sequence[str], *, base: int) -> Sequence[str]:
    """Return a line of links for each pair of a file as WPT's, `1 3 2 S`; other lines as they are.

    WPT's numbers of pairs and words count from 1, word 0 is none; `P` is a possible link. The
    links returned count from `base`.
    """
    matches = [_WPT.fullmatch(line) for line in lines]
    if not lines or None in matches:
        return lines
    rows = [match.groups(default="S") for match in matches if match]
    by_pair: dict[int, list[str]] = {int(row[0]): [] for row in rows}
    for pair, source, target, kind in rows:
        if int(source) and int(target):
            link = int(source) - 1 + base, "-" if kind == "S" else "?", int(target) - 1 + base
            by_pair[int(pair)].append("{}{}{}".format(*link))
    return [" ".join(by_pair.get(pair, ())) for pair in range(1, max(by_pair) + 1)]


def parse_gold(line: str, *, origin: str, base: int = 0) -> Gold:
    """Read one line: `0-0` is a sure link, `0?0` and `0p0` are possible ones.

    Positions count from `base`, 0 or 1; the links returned count from 0.

    Raises
    ------
    InputError
        An entry is none of these; `origin` begins the message.
    """
    sure, possible = set(), set()
    for entry in line.split():
        match = GOLD.fullmatch(entry)
        if match is None:
            raise InputError(
                f"{origin}: found '{entry}', expected 0-0 (a sure link), 0?0 or 0p0 (a possible "
                f"one), source before target, counted from 0"
            )
        link = (int(match[1]) - base, int(match[3]) - base)
        if min(link) < 0:
            raise InputError(f"{origin}: found '{entry}', but gold links are to count from 1")
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def agreement(links: Sequence[Links], gold: Sequence[Gold]) -> Agreement:
    """Count where links and gold links agree.

    Raises
    ------
    ValueError
        There are not as many pairs in one as in the other.
    """
    if len(links) != len(gold):
        raise ValueError(f"{counted(len(links), 'line')} of links, {len(gold)} of gold links")
    rows = [set(row) for row in links]
    return Agreement(
        pairs=len(rows),
        links=sum(map(len, rows)),
        sure=sum(len(right.sure) for right in gold),
        possible=sum(len(right.possible) for right in gold),
        links_sure=sum(len(row & right.sure) for row, right in zip(rows, gold, strict=True)),
        links_possible=sum(
            len(row & right.possible) for row, right in zip(rows, gold, strict=True)
        ),
    )
