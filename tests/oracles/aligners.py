"""Slow twins of aligners/: written from the papers and from the descriptions of the tools."""

import numpy as np


def symmetrize(heuristic, by_source, by_target, size):
    """Koehn's pseudo-code of grow-diag-final on whole matrices, target by target.

    Each round of `grow` scans the matrix, points added in it included.
    """
    direct, inverse = (matrix(links, size) for links in (by_source, by_target))
    simple = {"srctotgt": direct, "tgttosrc": inverse, "union": direct | inverse}
    if heuristic in simple:
        return as_links(simple[heuristic])
    linked = direct & inverse
    parts = heuristic.split("-")
    if parts[0] == "grow":
        before = ~linked
        while (before != linked).any():
            before = linked.copy()
            for t, s in np.ndindex(linked.shape):
                if linked[t, s]:
                    look_around(linked, direct | inverse, t, s, diagonal="diag" in parts)
    if "final" in parts:
        enough = all if "and" in parts else any
        for side in (inverse, direct):
            for t, s in np.ndindex(linked.shape):
                if side[t, s] and enough([not linked[t].any(), not linked[:, s].any()]):
                    linked[t, s] = True
    return as_links(linked)


def matrix(links, size):
    linked = np.zeros(size[::-1], bool)
    for s, t in links:
        linked[t, s] = True
    return linked


def look_around(linked, union, t, s, *, diagonal):
    around = [(-1, 0), (0, -1), (1, 0), (0, 1)]
    if diagonal:
        around += [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    for down, right in around:
        y, x = t + down, s + right
        if not (0 <= y < linked.shape[0] and 0 <= x < linked.shape[1]) or not union[y, x]:
            continue
        if not linked[y].any() or not linked[:, x].any():
            linked[y, x] = True


def as_links(matrix):
    return sorted((int(s), int(t)) for t, s in zip(*matrix.nonzero(), strict=True))


def error_rate(links, sure, possible):
    """AER of one corpus given as lists of sets (Och and Ney 2003)."""
    number = sum(len(a & s) + len(a & p) for a, s, p in zip(links, sure, possible, strict=True))
    total = sum(len(a) + len(s) for a, s in zip(links, sure, strict=True))
    return 1 - number / total if total else None
