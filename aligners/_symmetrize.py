"""One alignment out of two, by the heuristics of Moses' symal, point for point."""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Literal

from ._base import Links

Heuristic = Literal[
    "srctotgt", "tgttosrc", "union", "intersection", "grow", "grow-diag", "grow-final",
    "grow-diag-final", "grow-final-and", "grow-diag-final-and",
]  # fmt: skip
"""`srctotgt` and `tgttosrc` are one direction alone; the others need both."""

Linked = tuple[set[int], set[int]]
"""The target words and the source words that have a link."""

# (target, source) steps in symal's order: which neighbour comes first decides what still grows.
STEPS = ((-1, 0), (0, -1), (1, 0), (0, 1))
DIAGONAL = ((-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(
    heuristic: Heuristic,
    *,
    by_source: Iterable[tuple[int, int]],
    by_target: Iterable[tuple[int, int]],
) -> Links:
    """Merge the two directions of one pair; the links come back sorted.

    Parameters
    ----------
    by_source
        Links (source, target) in which a source word has at most one target word: what a model
        of p(source | target) gives, Moses' `srctotgt`.
    by_target
        Links in which a target word has at most one source word: p(target | source).

    References
    ----------
    Och and Ney, "A Systematic Comparison of Various Statistical Alignment Models", CL 2003;
    Koehn, Och and Marcu, "Statistical Phrase-Based Translation", NAACL 2003.
    """
    # Turned to (target, source), the order in which symal goes through points.
    direct = {(target, source) for source, target in by_source}
    inverse = {(target, source) for source, target in by_target}
    if heuristic == "srctotgt":
        points = sorted(direct)
    elif heuristic == "tgttosrc":
        points = sorted(inverse)
    elif heuristic == "union":
        points = sorted(direct | inverse)
    else:
        points = sorted(direct & inverse)
    if heuristic.startswith("grow"):
        linked = {target for target, _ in points}, {source for _, source in points}
        _grow(points, direct | inverse, linked, STEPS + DIAGONAL * ("diag" in heuristic))
        if "final" in heuristic:
            for remaining in (inverse, direct):
                _finish(points, remaining, linked, both=heuristic.endswith("and"))
    return sorted((source, target) for target, source in points)


def _free(point: tuple[int, int], linked: Linked) -> int:
    """Return how many of the two words of a point have no link."""
    return (point[0] not in linked[0]) + (point[1] not in linked[1])


def _link(point: tuple[int, int], linked: Linked) -> None:
    linked[0].add(point[0])
    linked[1].add(point[1])


def _grow(
    points: list[tuple[int, int]],
    union: set[tuple[int, int]],
    linked: Linked,
    steps: Iterable[tuple[int, int]],
) -> None:
    """Add neighbours of points that link a word without one, until there are none.

    `points` is sorted and modified in place. A point added after the current one is still
    visited in this round, one added before it only in the next, as in symal's ordered set.
    """
    grown = True
    while grown:
        grown = False
        at = 0
        while at < len(points):
            target, source = points[at]
            for down, right in steps:
                near = (target + down, source + right)
                if near in union and _free(near, linked):
                    place = bisect_left(points, near)
                    points.insert(place, near)
                    at += place <= at
                    _link(near, linked)
                    grown = True
            at += 1


def _finish(
    points: list[tuple[int, int]], remaining: set[tuple[int, int]], linked: Linked, *, both: bool
) -> None:
    """Add what links a word without a link, or (`both`) two words without one."""
    for point in sorted(remaining):
        if _free(point, linked) > both:
            points.append(point)  # the order no longer matters
            _link(point, linked)
