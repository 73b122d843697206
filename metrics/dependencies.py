"""The DPM family: expected counts of words, word pairs and dependency links that match.

Kahn, Snover and Ostendorf 2009; formulas in docs/metrics/dependencies.md.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from . import _shared
from ._base import Arcs, Batch, FloatArray, Metric, Need, Texts
from .kernels.dependencies import DH, DL, DLH, LH, Linked, link_matches

Combination = Literal["f", "mu-pr"]

PAPER = "Kahn, Snover & Ostendorf, Machine Translation 23 (2009)"

_KINDS = {"dlh": DLH, "dl": DL, "lh": LH, "dh": DH}
"""The parts of a link (dependent, label, head) that make an item of a decomposition."""


COUNTED = ("match", "hyp", "ref")
"""The expected counts of each decomposition: the sum over items of the smaller count, of that in
the hypothesis, of that in the reference."""


def decompositions(of: str) -> tuple[str, ...]:
    """Return the decompositions named by `1g+2g+dl+lh` and the like.

    Raises
    ------
    ValueError
        None, an unknown one, or one that is named twice.
    """
    names = tuple(of.split("+"))
    for number, name in enumerate(names):
        if name not in _KINDS and re.fullmatch(r"[1-9]g", name) is None:
            raise ValueError(
                f"of={of}: '{name}' is no decomposition; choose from 1g to 9g, dl, lh, dh, dlh, "
                f"joined by + without spaces"
            )
        if name in names[:number]:
            raise ValueError(f"of={of}: {name} is named twice")
    return names


@dataclass(frozen=True)
class _DependencyMatch(Metric):
    """Scores expected counts of words, word pairs and links: the DPM family.

    Parameters
    ----------
    of
        The decompositions, joined by `+`. `1g` to `9g` are n-grams of words. The others are parts
        of the link from each word to its head: `dlh` is word, label and head word, `dl` word and
        label, `lh` label and head word, `dh` word and head word. N-grams alone need no parse.
    parses
        Number of best parses to count, each by its weight; 1 is the best parse alone.
    gamma
        The weight of a parse is proportional to its probability to this power. 1: the parser's
        probabilities. 0: all parses count the same. With one parse it has no effect.
    combination
        `f`: add the counts of all decompositions; take the harmonic mean of their precision and
        recall.
        `mu-pr`: take the harmonic mean of the precisions and recalls of all decompositions; 0 if
        one of them is 0.
    """

    of: str = "1g+2g+dl+lh"
    parses: Annotated[int, Ge(1), Le(1000)] = 1
    gamma: Annotated[float, Ge(0), Le(1)] = 0.25
    combination: Combination = "f"

    source: ClassVar[str] = PAPER

    def __post_init__(self) -> None:
        """Check that `of` is a list of decompositions."""
        decompositions(self.of)

    @cached_property
    def needs(self) -> frozenset[Need]:  # type: ignore[override]  # others need it always
        """A parse, or links, unless all decompositions are n-grams."""
        if not any(name in _KINDS for name in decompositions(self.of)):
            return frozenset()
        # With one parse gamma has no effect: any best parse will do.
        return frozenset({"heads"} if self.parses == 1 else {Arcs(self.parses, self.gamma)})

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Expected counts that match, in the hypothesis, in the reference: `match_dl`, ..."""
        return tuple(f"{counted}_{name}" for name in self.of.split("+") for counted in COUNTED)

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 3C) in the order of `stat_names`, against the reference that scores best.

        Raises
        ------
        ValueError
            As `item_counts`.
        """
        names = decompositions(self.of)
        need = next(iter(self.needs), None)
        batch = batch.changed(lambda texts: _only(texts, need))  # less is cut per reference
        return _shared.best_reference(
            batch,
            lambda single: item_counts(single, need, names),
            self.score,
            rounding=_shared.ROUNDING,
        )

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the score in 0..1 (...) of stats (..., 3C)."""
        return combined(stats, self.combination)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return precision and recall of each decomposition, for stats (3C,)."""
        parts: dict[str, float] = {}
        for c, name in enumerate(self.of.split("+")):
            match, hyp, ref = (float(value) for value in stats[3 * c : 3 * c + 3])
            parts[f"p_{name}"] = match / hyp if hyp else 0.0
            parts[f"r_{name}"] = match / ref if ref else 0.0
        return parts


@dataclass(frozen=True)
class Dpm(_DependencyMatch):
    """Computes the F-score of words, word pairs and dependency links, from the best parses.

    With several references, the one with the highest score counts. A text without a parse has no
    links; its n-grams still count.
    """


@dataclass(frozen=True)
class Edpm(_DependencyMatch):
    """Computes the F-score of words, word pairs and links, expected over the best parses.

    With several references, the one with the highest score counts. A text without a parse has no
    links; its n-grams still count.
    """

    parses: Annotated[int, Ge(1), Le(1000)] = 50


@dataclass(frozen=True)
class EdpmExact(_DependencyMatch):
    """Computes the F-score of words, word pairs and links, expected over all trees.

    This is EDPM without a limit on the number of parses. The expectation over all trees follows
    from the probability of each link, so the parser must score single links.

    With several references, the one with the highest score counts. A text without a parse has no
    links; its n-grams still count.

    Parameters
    ----------
    gamma
        The weight of a tree is proportional to its probability to this power. 1: the parser's
        probabilities. 0: all trees count the same.
    """

    parses: ClassVar[int] = 0  # type: ignore[misc]  # all: no option here

    source: ClassVar[str] = f"{PAPER}, in the limit of all parses"


@dataclass(frozen=True)
class MuPr(_DependencyMatch):
    """Computes the harmonic mean of all precisions and recalls, from the best parses.

    Each decomposition has a precision and a recall. With several references, the one with the
    highest score counts. A text without a parse has no links; its n-grams still count.
    """

    combination: ClassVar[Combination] = "mu-pr"  # type: ignore[misc]  # no option here


def item_counts(batch: Batch, need: Need | None, of: Sequence[str]) -> FloatArray:
    """Return (H, 3C): `COUNTED` for each hypothesis and the one reference of its segment.

    A text without a parse has no links; its n-grams count all the same.

    Parameters
    ----------
    batch
        With one reference a segment, as `each_reference` yields.
    need
        Where links come from: `heads`, or `Arcs`; None where `of` has n-grams only.
    of
        C decompositions: `1g` to `9g`, `dl`, `lh`, `dh`, `dlh`.

    Raises
    ------
    ValueError
        A segment has not exactly one reference, or the batch lacks what is needed.
    """
    if (np.diff(batch.reference_offsets) != 1).any():
        raise ValueError("item counts are of one reference a segment; see each_reference")
    counts = np.empty((len(batch.hypotheses), 3 * len(of)))
    match, hyp, ref = (counts[:, k::3] for k in range(3))
    per_segment = np.diff(batch.offsets)
    orders = [(c, int(name[0]) - 1) for c, name in enumerate(of) if name not in _KINDS]
    if orders:
        columns, lengths = [c for c, _ in orders], [n for _, n in orders]
        longest = max(lengths) + 1
        references = batch.references.tokens.lengths.astype(np.float64)
        totals = _shared.totals(_shared.hypothesis_lengths(batch), longest)
        reference_totals = np.repeat(_shared.totals(references, longest), per_segment, axis=0)
        match[:, columns] = _shared.matched(batch, longest)[:, lengths]
        hyp[:, columns] = totals[:, lengths]
        ref[:, columns] = reference_totals[:, lengths]
    kinds = [(c, _KINDS[name]) for c, name in enumerate(of) if name in _KINDS]
    if kinds:
        columns = [c for c, _ in kinds]
        match[:, columns], sums, reference_sums = link_matches(
            _linked(batch.hypotheses, need),
            _linked(batch.references, need),
            np.ascontiguousarray(batch.offsets, dtype=np.int64),
            np.array([kind for _, kind in kinds]),
        )
        hyp[:, columns] = sums[:, np.newaxis]
        ref[:, columns] = np.repeat(reference_sums, per_segment)[:, np.newaxis]
    return counts


def combined(stats: FloatArray, how: Combination) -> FloatArray:
    """Return (...): the score of counts (..., 3C).

    `f`: the harmonic mean of precision and recall of all counts added up. `mu-pr`: the harmonic
    mean of the precision and the recall of every decomposition.
    """
    match, hyp, ref = (stats[..., k::3] for k in range(3))
    if how == "f":
        # 2PR / (P + R) with P = match / hyp and R = match / ref.
        return _shared.quotient(2.0 * _added(match), _added(hyp) + _added(ref))
    zero = (match <= 0).any(axis=-1)
    inverse = _added((hyp + ref) / np.where(match > 0, match, 1.0))
    return np.where(zero, 0.0, 2.0 * match.shape[-1] / np.where(zero, 1.0, inverse))


def _added(values: FloatArray) -> FloatArray:
    """Add up the last axis, in one order whatever the layout in memory is."""
    total = values[..., 0].copy()
    for c in range(1, values.shape[-1]):
        total += values[..., c]
    return total


def _only(texts: Texts, need: Need | None) -> Texts:
    """Return texts with nothing but tokens and, if it is there, what is needed."""
    heads = texts.heads if need == "heads" else None
    arcs = {key: value for key, value in texts.arcs.items() if key == need}
    return Texts(texts.vocabulary, texts.tokens, heads=heads, arcs=arcs)


def _linked(texts: Texts, need: Need | None) -> Linked:
    """Return tokens and links as the kernel takes them."""
    if need is None or not texts.has(need):
        analysis = "weighted dependency parses" if isinstance(need, Arcs) else "dependency parses"
        raise ValueError(f"the metric needs {analysis}")
    tokens = _shared.flat(texts.tokens)
    if isinstance(need, Arcs):
        links = texts.arcs[need].links
        weights = texts.arcs[need].weights[links.offsets[0] : links.offsets[-1]]
    else:
        assert texts.heads is not None  # noqa: S101  seen to
        links, weights = texts.heads, np.empty(0)  # all count 1
    links = _shared.flat(links)
    if not len(links.values):
        links = replace(links, values=np.empty((0, 3), dtype=np.int32))
    return (
        tokens.values,
        tokens.offsets,
        links.values,
        links.offsets,
        np.ascontiguousarray(weights, dtype=np.float64),
    )
