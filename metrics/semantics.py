"""Metrics of meaning: what semantic roles or discourse representations share.

Gimenez and Marquez 2009; formulas in docs/metrics/semantics.md.
"""

from abc import abstractmethod
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from . import _base, _shared
from ._base import Batch, FloatArray, IntArray, Need, Texts
from .kernels import semantics as kernels
from .kernels import trees
from .kernels.semantics import Items

BoolArray = NDArray[np.bool_]

Form = Literal["plain", "back-off", "interpolation"]
Denominator = Literal["all", "available"]

ALL_TYPES = "*"
NO_NAME = "names"
MOST_WORDS = kernels.REFERENTS
"""Items hold ids of words in 31 bits, kinds in three of them."""

PAPER = "Gimenez and Marquez, WMT 2009; Asiya"


def _lexical_overlap(single: Batch) -> FloatArray:
    """Return (H,) float64, of a batch with one reference a segment: O of lowercased words."""
    lowered = single.once(_lowered)
    words, references = (
        _words(texts, lowered) for texts in (single.hypotheses, single.references)
    )
    return _overlap(words, references, single.offsets, average=False)


def _lowered(corpus: Batch) -> IntArray:
    """Return of each word of the vocabulary a number of its lowercased form."""
    vocabulary = _base.Vocabulary()
    words = corpus.references.vocabulary.words
    return np.fromiter((vocabulary.add(word.lower()) for word in words), np.int64, len(words))


def _words(texts: Texts, lowered: IntArray) -> Items:
    tokens = _shared.flat(texts.tokens)
    return lowered[tokens.values], np.arange(len(tokens.values) + 1), tokens.offsets


def _overlap(items: Items, references: Items, offsets: IntArray, *, average: bool) -> FloatArray:
    """Return (H,) float64: shared items over all, or the mean of that over types."""
    types = other_types = np.empty(0, dtype=np.int64)
    if average:
        firsts = [side[0][side[1][:-1]] for side in (items, references)]
        _, numbers = np.unique(np.concatenate(firsts), return_inverse=True)
        types, other_types = np.split(numbers.astype(np.int64), [len(firsts[0])])
    matches, means = kernels.shared_items(
        items, references, np.ascontiguousarray(offsets, dtype=np.int64), types, other_types
    )
    if average:
        return np.asarray(means)
    sizes = np.diff(items[2]) + np.repeat(np.diff(references[2]), np.diff(offsets))
    return np.asarray(matches / np.maximum(sizes - matches, 1.0))


@dataclass(frozen=True)
class Ol(_shared.WeightedMean):
    """Averages over segments the share of words that hypothesis and reference have in common.

    Words are lowercased. The share is the sum over words of the smaller number of occurrences,
    divided by the sum of the larger number. With several references, the best value counts.
    Metrics of meaning can use this share where an analysis is missing.
    """

    source: ClassVar[str] = PAPER

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The overlap, and 1."""
        return ("overlap", "segments")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        overlaps = np.max(
            [_lexical_overlap(single) for single in _shared.each_reference(batch)], axis=0
        )
        return np.column_stack([overlaps, np.ones(len(overlaps))])


@dataclass(frozen=True)
class _SegmentMean(_base.Metric):
    """Averages an overlap of hypothesis and reference; lexical overlap may stand in for it.

    A subclass computes the overlap (`_overlaps`). With several references, the best value counts.
    A value is missing if the hypothesis or all references lack an analysis, or if neither side has
    an item.

    Parameters
    ----------
    form
        The score of a segment. Its value may be missing; l is its lexical overlap, see `ol`.
        `plain`: the value, or 0 if it is missing;
        `back-off`: the value, or if it is missing l times the mean of all values present;
        `interpolation`: the mean of the value and l, or if the value is missing l / 2.
    denominator
        The segments of the mean: `all`, or only those that have a value (`available`).
    """

    form: Form = "plain"
    denominator: Denominator = "all"

    source: ClassVar[str] = PAPER

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The value, whether it is there, l where it is missing and where not, and 1."""
        return ("value", "present", "lexical_missing", "lexical_present", "segments")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 5) float64 in the order of `stat_names`."""
        values = np.full(len(batch.hypotheses), -1.0)
        lexical = np.zeros(len(values))
        for single in _shared.each_reference(batch):
            values = np.maximum(values, np.where(*self._overlaps(single), -1.0))
            lexical = np.maximum(lexical, _lexical_overlap(single))
        present = values >= 0.0
        return np.column_stack(
            [
                np.where(present, values, 0.0),
                present.astype(np.float64),
                np.where(present, 0.0, lexical),
                np.where(present, lexical, 0.0),
                np.ones(len(values)),
            ]
        )

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the mean in 0..1 for stats (..., 5)."""
        value, present, missing, lexical = (stats[..., k] for k in range(4))
        everywhere = self.denominator == "all"
        count = stats[..., 4] if everywhere else present
        if self.form == "interpolation":
            total = value + (missing if everywhere else 0.0) + lexical
            return _shared.quotient(total, 2.0 * count)
        if self.form == "back-off" and everywhere:
            value = value + _shared.quotient(value, present) * missing
        return _shared.quotient(value, count)

    def segment_scores(self, stats: FloatArray, total: FloatArray) -> FloatArray:
        """Return (...): the scores whose mean is `score`.

        A missing value is the lexical overlap times the mean of all values in the corpus.
        """
        if self.form != "back-off":
            return self.score(stats)
        mean = _shared.quotient(total[..., 0], total[..., 1])
        return np.asarray(stats[..., 0] + mean * stats[..., 2])

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return means of what is there, of lexical overlaps, the share present, of stats (5,)."""
        value, present, missing, lexical, segments = (float(number) for number in stats)
        return {
            "available": value / present if present else 0.0,
            "lexical": (missing + lexical) / segments if segments else 0.0,
            "present": present / segments if segments else 0.0,
            "segments": segments,
        }

    @abstractmethod
    def _overlaps(self, single: Batch) -> tuple[BoolArray, FloatArray]:
        """Return what hypotheses share with the one reference of their segment.

        Returns
        -------
        present : (H,) bool
            Whether both have an analysis, and one of them an item.
        values : (H,) float64
            O, in 0..1.
        """


@dataclass(frozen=True)
class _TypedOverlap(_SegmentMean):
    """Measures which items of one type, or of all types, are shared.

    A subclass lists the items (`_items`) of what it compares (`layer`).

    Parameters
    ----------
    type
        Type of the items; `*` takes all types together.
    average
        With `*`: average the shares of the types that either side has, as the paper does, instead
        of one share of all items.
    """

    type: str = ALL_TYPES
    average: bool = False

    layer: ClassVar[Literal["roles", "drs"]]

    def __post_init__(self) -> None:
        """Check the type."""
        if not self.type or self.type != "".join(self.type.split()):
            raise ValueError(
                f"type is '{self.type}', expected a name without spaces, or {ALL_TYPES}"
            )

    def _overlaps(self, single: Batch) -> tuple[BoolArray, FloatArray]:
        items, sizes = self._items(single.hypotheses, "hypothesis")
        references, other_sizes = self._items(single.references, "reference")
        values = _overlap(items, references, single.offsets, average=self.average)
        has_items = (sizes > 0) | np.repeat(other_sizes > 0, np.diff(single.offsets))
        return _present(single, self.layer) & has_items, values

    @abstractmethod
    def _items(self, texts: Texts, side: str) -> tuple[Items, IntArray]:
        """Return the items of N texts, and (N,) how many of any type each has."""


@dataclass(frozen=True)
class _RoleOverlap(_TypedOverlap):
    """Measures what arguments of predicates share.

    A subclass says whether an item is a word of an argument or all its words (`items`), and
    whether it is one with the verb (`with_verb`).

    Parameters
    ----------
    type
        A role, for example A0; `*` takes all roles together.
    average
        With `*`: average the shares of the roles, instead of one share of all items.
    """

    items: ClassVar[int] = kernels.WORDS
    with_verb: ClassVar[bool] = False
    layer: ClassVar[Literal["roles", "drs"]] = "roles"
    needs: ClassVar[frozenset[Need]] = frozenset({"roles"})

    def _items(self, texts: Texts, side: str) -> tuple[Items, IntArray]:
        names = self.type == NO_NAME and self.items == kernels.WORDS and not self.with_verb
        items: tuple[Items, IntArray] = kernels.role_items(
            _analysed(texts, texts.roles, f"the semantic roles of each {side}"),
            kernels.NAMES if names else self.items,
            self.with_verb,
            kernels.ANY if names else _type_number(texts.vocabulary, self.type),
        )
        return items


@dataclass(frozen=True)
class SrOr(_RoleOverlap):
    """Averages over segments the share of words that arguments of the same role have in common.

    With several references, the best value counts. `type=names` compares only the names of the
    roles, one for each argument.
    """

    items: ClassVar[int] = kernels.WORDS


@dataclass(frozen=True)
class SrMr(_RoleOverlap):
    """Averages over segments the share of arguments with the same words and the same role.

    With several references, the best value counts.
    """

    items: ClassVar[int] = kernels.STRINGS


@dataclass(frozen=True)
class SrOrv(_RoleOverlap):
    """Averages over segments the share of words that arguments have in common, by role and verb.

    As `sr-or`, but only arguments of the same verb, in the same spelling, are compared.
    """

    items: ClassVar[int] = kernels.WORDS
    with_verb: ClassVar[bool] = True


@dataclass(frozen=True)
class SrMrv(_RoleOverlap):
    """Averages over segments the share of arguments with the same words, by role and verb.

    As `sr-mr`, but only arguments of the same verb, in the same spelling, are compared.
    """

    items: ClassVar[int] = kernels.STRINGS
    with_verb: ClassVar[bool] = True


@dataclass(frozen=True)
class _DiscourseOverlap(_TypedOverlap):
    """Measures what the words at the nodes of discourse representations share.

    A subclass says whether tags stand for words (`of_tags`).

    Parameters
    ----------
    type
        A label of nodes, for example `pred` or `drs-1`; `dr` takes the words of referents; `*`
        takes all labels together.
    """

    of_tags: ClassVar[bool] = False
    layer: ClassVar[Literal["roles", "drs"]] = "drs"

    def _overlaps(self, single: Batch) -> tuple[BoolArray, FloatArray]:
        if self.of_tags:
            single = single.changed(_tagged_only)
        return super()._overlaps(single)

    def _items(self, texts: Texts, side: str) -> tuple[Items, IntArray]:
        if self.of_tags and texts.tags is None:
            raise ValueError(f"the metric needs the tags of each {side}")
        name = f"the discourse representation of each {side}"
        items: tuple[Items, IntArray] = kernels.discourse_items(
            _analysed(texts, texts.drs, name, texts.tags if self.of_tags else None),
            not self.of_tags,
            kernels.REFERENTS if self.type == "dr" else _type_number(texts.vocabulary, self.type),
        )
        return items


@dataclass(frozen=True)
class DrOr(_DiscourseOverlap):
    """Averages over segments the share of words that nodes of the same type have in common.

    Nodes are those of the discourse representations. The words of a node are those at it and below
    it. With several references, the best value counts.
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"drs"})


@dataclass(frozen=True)
class DrOrp(_DiscourseOverlap):
    """Averages over segments the share of tags that nodes of the same type have in common.

    As `dr-or`, but with the tags of the words instead of the words, and without dates.
    """

    of_tags: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({"drs", "tags"})


@dataclass(frozen=True)
class DrStm(_SegmentMean):
    """Averages over segments the share of paths that discourse representations have in common.

    A path of length n goes down from a node to a child, n nodes in all, and is compared by their
    labels. With several references, the best value counts.

    Parameters
    ----------
    length
        The longest path.
    average
        Average the shares of the lengths, as the paper does, instead of one share of all paths. A
        length of which neither side has a path is left out.
    """

    length: Annotated[int, Ge(1), Le(9)] = 4
    average: bool = False

    needs: ClassVar[frozenset[Need]] = frozenset({"drs"})

    def _overlaps(self, single: Batch) -> tuple[BoolArray, FloatArray]:
        """Return what discourse representations share of downward paths of 1..length labels."""
        forests = []
        for texts, side in ((single.hypotheses, "hypothesis"), (single.references, "reference")):
            name = f"the discourse representation of each {side}"
            nodes, ends, *_ = _analysed(texts, texts.drs, name)
            forests.append(_base.Ragged(nodes[:, :2], ends).alone())
        matches, totals, other_totals = trees.item_matches(
            _shared.segments_of(single, *forests),
            self.length,
            True,  # noqa: FBT003  chains
        )
        unions = totals + np.repeat(other_totals, np.diff(single.offsets), axis=0) - matches
        if self.average:
            values = _shared.mean_of_orders(
                list(_shared.quotient(matches, unions).T), list(unions.T)
            )
        else:
            values = matches.sum(axis=1) / np.maximum(unions.sum(axis=1), 1.0)
        return _present(single, "drs"), np.asarray(values)


def _tagged_only(texts: Texts) -> Texts:
    """Return texts without the discourse representations of those that have no tags."""
    if texts.tags is None or texts.drs is None:
        return texts
    untagged = (texts.tags.lengths == 0) & (texts.tokens.lengths > 0)
    if not untagged.any():
        return texts
    tagged = np.flatnonzero(~untagged)
    nodes, words = (
        _base.Ragged(
            rows.take(tagged).values, _base.offsets_of(np.where(untagged, 0, rows.lengths))
        )
        for rows in (texts.drs.nodes, texts.drs.words)
    )
    return replace(texts, drs=_base.Structures(nodes, words))


def _type_number(vocabulary: _base.Vocabulary, name: str) -> int:
    if name == ALL_TYPES:
        return kernels.ANY
    number = vocabulary.find(name)
    return kernels.NO_TYPE if number < 0 else number


def _present(single: Batch, layer: str) -> BoolArray:
    """Return (H,) whether the hypothesis and the reference have an analysis."""
    hypothesis, reference = (
        getattr(texts, layer).nodes.lengths > 0 for texts in (single.hypotheses, single.references)
    )
    return np.asarray(hypothesis & np.repeat(reference, np.diff(single.offsets)))


def _analysed(
    texts: Texts, structures: _base.Structures | None, name: str, tags: _base.Ragged | None = None
) -> kernels.Analysed:
    """Return analyses as kernels take them.

    Raises
    ------
    ValueError
        There are none, or one is not of its text.
    """
    if structures is None:
        raise ValueError(f"the metric needs {name}")
    if len(texts.vocabulary) >= MOST_WORDS:
        raise ValueError(f"{len(texts.vocabulary)} different words, at most {MOST_WORDS} can be")
    nodes, words = _shared.flat(structures.nodes), _shared.flat(structures.words)
    tokens = _shared.flat(texts.tokens if tags is None else tags)
    fault = kernels.fault(nodes.values, nodes.offsets, words.values, words.offsets, tokens.lengths)
    if fault >= 0:
        raise ValueError(
            f"{name}: that of text {fault} is not of its {tokens.lengths[fault]} tokens"
        )
    return nodes.values, nodes.offsets, words.values, words.offsets, tokens.values, tokens.offsets
