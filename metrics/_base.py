"""Defines what a metric is, and the flat arrays it reads.

To add a metric, write a frozen pydantic dataclass that derives from `Metric` into a public file of
this folder, alone or beside its relatives: its fields are its options, `stats` and `score` its
definition. The registry, the command line, tuning and the contract tests find it by the name of
its class (`BleuSbp` is metric `bleu-sbp`).
"""

from __future__ import annotations

import dataclasses
import re
import threading
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass as component_dataclass

from ._display import Display

if TYPE_CHECKING:
    from ._pairs import WeightedLists

T = TypeVar("T")
Value = TypeVar("Value", bound="float | FloatArray")
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
TokenArray = NDArray[np.int32]


@dataclass(frozen=True, order=True)
class Arcs:
    """A need: expected dependency links of each text.

    Parse k with log score z_k has the weight exp(gamma * z_k), divided by the sum of all weights
    (Kahn, Snover and Ostendorf 2009; docs/metrics/dependencies.md).

    Parameters
    ----------
    parses
        Number of best parses; 0 is all trees of an arc-factored parser.
    gamma
        1 keeps the parser's probabilities; 0 gives all parses the same weight.
    """

    parses: int
    gamma: float

    def __str__(self) -> str:
        return "arcs"


Need = Literal["links", "source", "tags", "heads", "trees", "roles", "drs"] | Arcs
"""An analysis of hypotheses and references that a metric reads besides tokens.

`links`: word alignments; `source`: the text that was translated; `tags`: parts of speech; `heads`:
the best dependency parse; `trees`: the best constituency parse; `roles`: predicates and their
arguments; `drs`: the discourse representation; `Arcs`: expected dependency links.
"""

SYNTAX: frozenset[str] = frozenset({"tags", "heads", "trees", "roles", "drs", "arcs"})
"""Needs, as text, that an annotator makes from a text. This is slow, so it is done lazily."""


class Vocabulary:
    """The distinct tokens of texts; each has an id, numbered from 0 as they are added."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        self.words: list[str] = []
        self._ids: dict[str, int] = {}
        for word in words:
            self.add(word)

    def __len__(self) -> int:
        return len(self.words)

    def add(self, word: str) -> int:
        """Return the id of `word`, making one if it is new."""
        index = self._ids.get(word)
        if index is None:
            index = self._ids[word] = len(self.words)
            self.words.append(word)
        return index

    def find(self, word: str) -> int:
        """Return the id of `word`, -1 if it is not here."""
        return self._ids.get(word, -1)


def offsets_of(lengths: ArrayLike) -> IntArray:
    """Return the (N + 1,) offsets of rows of these lengths, one after the other."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def spans(begins: IntArray, lengths: IntArray) -> tuple[IntArray, IntArray]:
    """Return the positions of rows that begin anywhere, and the offsets of these rows alone."""
    offsets = offsets_of(lengths)
    return np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], lengths), offsets


def rows_taken(offsets: IntArray, indices: IntArray) -> tuple[IntArray, IntArray]:
    """Return the positions of the rows `indices`, and the offsets of these rows alone."""
    return spans(offsets[:-1][indices], np.diff(offsets)[indices])


@dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of unequal length in one flat array.

    Parameters
    ----------
    values : (V,) or (V, C) int32
        All rows one after the other.
    offsets : (N + 1,) int64
        Row i is `values[offsets[i]:offsets[i + 1]]`. `offsets[0]` need not be 0: a view on some
        of the rows shares `values` with the whole.
    """

    values: NDArray[np.int32]
    offsets: IntArray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> IntArray:
        """(N,) number of values in each row."""
        return np.diff(self.offsets)

    def row(self, index: int) -> NDArray[np.int32]:
        """Return row `index`, a view."""
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    def rows(self, start: int, stop: int) -> Ragged:
        """Return rows start..stop-1, a view."""
        return Ragged(self.values, self.offsets[start : stop + 1])

    def take(self, indices: IntArray) -> Ragged:
        """Return the rows `indices` in that order, a copy."""
        positions, offsets = rows_taken(self.offsets, indices)
        return Ragged(self.values[positions], offsets)

    def alone(self) -> Ragged:
        """Return the same rows, `values` having no others: offsets begin at 0. A view."""
        first, last = self.offsets[0], self.offsets[-1]
        return Ragged(self.values[first:last], self.offsets - first)

    @classmethod
    def joined(cls, parts: Sequence[Ragged]) -> Ragged:
        """Return the rows of several, one after the other, a copy."""
        values = np.concatenate([part.alone().values for part in parts])
        return cls(values, offsets_of(np.concatenate([part.lengths for part in parts])))

    @classmethod
    def from_rows(
        cls, rows: Sequence[Iterable[int] | Iterable[tuple[int, ...]]], columns: int = 0
    ) -> Ragged:
        """Flatten lists of ints, or lists of tuples: then `values` is (V, C).

        `columns` is C, for lists that may all be empty.
        """
        lists = [list(row) for row in rows]
        values = np.asarray([value for row in lists for value in row], dtype=np.int32)
        offsets = offsets_of([len(row) for row in lists])
        return cls(values.reshape(-1, columns) if columns else values, offsets)


@dataclass(frozen=True, eq=False)
class ExpectedArcs:
    """The expected dependency links of N texts.

    Parameters
    ----------
    links : Ragged
        N rows, `values` (V, 3) int32: dependent (position from 0), head (position from 1, 0 is
        the root), label id. No link stands twice in a row; a text without a parse has no link.
    weights : (V,) float64
        The expected count of each link of `links.values`, in (0, 1]; those of one dependent add
        to 1.
    """

    links: Ragged
    weights: FloatArray

    def rows(self, start: int, stop: int) -> ExpectedArcs:
        """Return those of texts start..stop-1, a view."""
        return ExpectedArcs(self.links.rows(start, stop), self.weights)

    def take(self, indices: IntArray) -> ExpectedArcs:
        """Return those of the texts `indices` in that order, a copy."""
        weights = Ragged(self.weights, self.links.offsets).take(indices)  # type: ignore[arg-type]
        return ExpectedArcs(self.links.take(indices), weights.values)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Structures:
    """Analyses of the meaning of N texts: a tree each, with words at its nodes.

    In semantic roles, the children of the root are predicates. Their children are arguments, with
    the roles as labels. In a discourse representation, nodes are boxes and conditions.

    Parameters
    ----------
    nodes : Ragged
        N rows in preorder, `values` (V, 3) int32: the id of the label, the place of the parent in
        the row (-1: the root), the id of the type. No row for a text without an analysis.
    words : Ragged
        N rows, `values` (W, 3) int32: place of a node in its row, rising; a kind, see
        `WORD_KINDS`; the position of a token, of a date the id of what it is.
    """

    nodes: Ragged
    words: Ragged

    def rows(self, start: int, stop: int) -> Structures:
        """Return those of texts start..stop-1, a view."""
        return Structures(self.nodes.rows(start, stop), self.words.rows(start, stop))

    def take(self, indices: IntArray) -> Structures:
        """Return those of the texts `indices` in that order, a copy."""
        return Structures(self.nodes.take(indices), self.words.take(indices))


WORD_KINDS = ("word", "arg", "arg1", "arg2", "date", "referent")
"""How a word belongs to a node of `Structures`: its own, an argument's, or that of a referent that
the box brings in; a date is none."""


@dataclass(frozen=True, eq=False)
class Texts:
    """N token sequences, with their analyses.

    Parameters
    ----------
    vocabulary : Vocabulary
        The words behind the ids.
    tokens : Ragged
        N rows of token ids; a row may be empty.
    links : Ragged or None
        N rows of (source position, target position), from 0; the target is this text.
    tags : Ragged or None
        N rows of ids of part-of-speech tags, one for each token; a row of an untagged text is
        empty.
    heads : Ragged or None
        The best dependency parse of each text. `values` is (V, 2): for each token the position of
        its head (from 1, 0 is the root) and the id of its label; no row for a text without a
        parse. A parse is a forest: no cycle, no head out of range.
    trees : Ragged or None
        The best constituency parse of each text, `values` (V, 2): its nodes in preorder, each the
        id of its label (of a leaf: the token) and the place of its parent in the row, -1 for the
        root. Leaves are the tokens, above each stands its part of speech; wrappers (TOP, S1,
        empty label) are removed. No row for a text without a parse.
    arcs : dict
        Need `Arcs` -> the expected dependency links.
    roles, drs : Structures or None
        Predicates and their arguments; discourse representations.

    Words, tags and labels share the vocabulary.
    """

    vocabulary: Vocabulary
    tokens: Ragged
    links: Ragged | None = None
    tags: Ragged | None = None
    heads: Ragged | None = None
    trees: Ragged | None = None
    arcs: Mapping[Arcs, ExpectedArcs] = field(default_factory=dict)
    roles: Structures | None = None
    drs: Structures | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    def rows(self, start: int, stop: int) -> Texts:
        """Return texts start..stop-1, a view."""
        return self._each(lambda part: part.rows(start, stop))

    def take(self, indices: IntArray) -> Texts:
        """Return the texts `indices` in that order, a copy."""
        return self._each(lambda part: part.take(indices))

    def has(self, need: Need) -> bool:
        """Return whether these texts have the analysis that a metric needs."""
        return need in self.arcs if isinstance(need, Arcs) else getattr(self, need) is not None

    def _each(self, change: Callable[[Any], Any]) -> Texts:
        """Return the texts with every array of rows changed."""
        tokens: Ragged = change(self.tokens)
        links, tags, heads, trees, roles, drs = (
            None if part is None else change(part)
            for part in (self.links, self.tags, self.heads, self.trees, self.roles, self.drs)
        )
        arcs = {need: change(part) for need, part in self.arcs.items()}
        return Texts(self.vocabulary, tokens, links, tags, heads, trees, arcs, roles, drs)

    def words(self, index: int) -> list[str]:
        """Return text `index` as strings."""
        return [self.vocabulary.words[token] for token in self.tokens.row(index)]

    @classmethod
    def from_lines(
        cls,
        lines: Iterable[str],
        vocabulary: Vocabulary,
        links: Sequence[Iterable[tuple[int, int]]] | None = None,
    ) -> Texts:
        """Return the texts of lines of tokens, separated by spaces or tabs."""
        # Only ASCII white space ends a token, as in Moses: an ideographic or a no-break space
        # inside a token must not shift the positions that links count.
        tokens, ends = array("i"), array("q", [0])
        for line in lines:
            tokens.extend([vocabulary.add(word.decode()) for word in line.encode().split()])
            ends.append(len(tokens))
        return cls(
            vocabulary,
            Ragged(
                np.asarray(memoryview(tokens), dtype=np.int32),
                np.asarray(memoryview(ends), dtype=np.int64),
            ),
            None if links is None else Ragged.from_rows(links, 2),
        )


@dataclass(frozen=True, eq=False)
class Batch:
    """The hypotheses of S segments, and the references with which they are compared.

    Hypotheses and references share one vocabulary: equal tokens have equal ids.

    Parameters
    ----------
    hypotheses : Texts
        H rows; those of segment s are `offsets[s]:offsets[s + 1]`.
    offsets : (S + 1,) int64
    references : Texts
        The references of segment s are rows `reference_offsets[s]:reference_offsets[s + 1]`.
    reference_offsets : (S + 1,) int64
    source_lengths : (S,) int32 or None
        Number of source tokens of each segment; needed with `links`.
    whole : Batch or None
        The batch of the whole test set if this one is a part of it, see `once`.
    outcomes : mapping
        (H,) float64 by name: what others say of each hypothesis, as the scores of a file.
    source : tuple of str or None
        The source text of each segment, if it is known.
    """

    hypotheses: Texts
    offsets: IntArray
    references: Texts
    reference_offsets: IntArray
    source_lengths: NDArray[np.int32] | None = None
    whole: Batch | None = None
    outcomes: Mapping[str, FloatArray] = field(default_factory=dict)
    source: tuple[str, ...] | None = None
    _known: dict[Hashable, Any] = field(init=False, repr=False, default_factory=dict)
    _lock: threading.RLock = field(init=False, repr=False, default_factory=threading.RLock)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def corpus(self) -> Batch:
        """The whole test set: the batch that this one was cut from, or itself."""
        return self if self.whole is None else self.whole

    def words(self) -> Iterator[tuple[list[str], list[list[str]]]]:
        """Yield for each hypothesis its words, and the words of each of its references."""
        for segment in range(len(self)):
            first, last = self.reference_offsets[segment : segment + 2]
            references = [self.references.words(row) for row in range(first, last)]
            for row in range(*self.offsets[segment : segment + 2]):
                yield self.hypotheses.words(row), references

    def once(self, compute: Callable[[Batch], T]) -> T:
        """Return compute(corpus), computed once for the whole test set and all parts of it.

        Some metrics need the whole test set (the frequency of an n-gram in all references) or
        something that all segments share (the spelling of words). With this method their
        statistics do not depend on how callers split a batch. `compute` must be a function of a
        module, because the result is stored under it. Several threads may call this at once.
        """
        corpus = self.corpus
        with corpus._lock:  # noqa: SLF001  one of our own
            if compute not in corpus._known:  # noqa: SLF001
                corpus._known[compute] = compute(corpus)  # noqa: SLF001
            result: T = corpus._known[compute]  # noqa: SLF001
            return result

    def changed(self, change: Callable[[Texts], Texts]) -> Self:
        """Return the batch with changed texts; it stays a part of the same test set."""
        return dataclasses.replace(
            self,
            hypotheses=change(self.hypotheses),
            references=change(self.references),
            whole=self.corpus,
        )

    def segments(self, start: int, stop: int) -> Batch:
        """Return the batch of segments start..stop-1, a view and a part of the same test set."""
        offsets = self.offsets[start : stop + 1]
        reference_offsets = self.reference_offsets[start : stop + 1]
        return Batch(
            self.hypotheses.rows(int(offsets[0]), int(offsets[-1])),
            offsets - offsets[0],
            self.references.rows(int(reference_offsets[0]), int(reference_offsets[-1])),
            reference_offsets - reference_offsets[0],
            None if self.source_lengths is None else self.source_lengths[start:stop],
            self.corpus,
            {k: v[int(offsets[0]) : int(offsets[-1])] for k, v in self.outcomes.items()},
            None if self.source is None else self.source[start:stop],
        )

    def take(self, indices: IntArray) -> Batch:
        """Return some hypotheses with all segments and references, a part of the same test set.

        Parameters
        ----------
        indices : (n,) int64
            Rows of the hypotheses, ascending, each once.
        """
        return Batch(
            self.hypotheses.take(indices),
            np.searchsorted(indices, self.offsets).astype(np.int64),
            self.references,
            self.reference_offsets,
            self.source_lengths,
            self.corpus,
            {name: values[indices] for name, values in self.outcomes.items()},
            self.source,
        )


WORDS = "(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
"""Where a word begins in the name of a class."""


with suppress(TypeError, UnicodeDecodeError):
    # pydantic reads entry_points.txt of all packages, once; a damaged one must do no harm.
    TypeAdapter(int)


@component_dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Metric(ABC):
    """Scores translations by sufficient statistics: numbers that add over segments.

    A subclass is a frozen pydantic dataclass with the name of the metric. Its fields are the
    options, and their types are the values allowed.
    """

    needs: ClassVar[frozenset[Need]] = frozenset()
    higher_is_better: ClassVar[bool] = True
    reads_references: ClassVar[bool] = True
    """Whether hypotheses are compared with references."""
    reads_gold: ClassVar[bool] = False
    """Whether references are not texts but gold edits, from an M2 file."""
    own_references: ClassVar[Path | None] = None
    """A file of references that an option names, for lists and outputs without others."""
    of_lists: ClassVar[bool] = False
    """Whether it has scores only for the hypotheses of given n-best lists."""
    compares_words: ClassVar[bool] = True
    """Whether tokens should be words, without the punctuation of running text."""
    most_tokens: ClassVar[int | None] = None
    """The longest text, if time and memory grow with its square; otherwise None."""
    in_percent: ClassVar[bool] = True
    """Whether the score is a share and so printed in percent."""
    is_error_rate: ClassVar[bool] = False
    """Whether it is an error rate, or 1 minus one if higher is better: outputs show the rate."""
    is_smooth: ClassVar[bool] = True
    """Whether the score changes little with its statistics, as no rank does."""
    signed_if_changed: ClassVar[frozenset[str]] = frozenset()
    """Options that the signature names only where they differ from their defaults."""
    source: ClassVar[str] = ""
    """The paper, with the numbers of its equations if it has any."""
    _package: ClassVar[str] = ""
    """Name and version of the other package that it was loaded from."""

    @property
    @abstractmethod
    def stat_names(self) -> tuple[str, ...]:
        """Names of the K statistics, in order."""

    @abstractmethod
    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, K) float64: one row of sufficient statistics for each hypothesis.

        Kernels release the interpreter lock, so callers may split a batch over threads with
        `Batch.segments`. Get everything that depends on the whole test set from `Batch.once`.
        """

    @abstractmethod
    def score(self, stats: FloatArray) -> FloatArray:
        """Return (...): the score of each row of summed statistics (..., K), any leading axes.

        Scores should be finite. In a search, a score that is not finite (0 / 0 is NaN) counts as
        the worst. Elsewhere it is an error.
        """

    def segment_scores(self, stats: FloatArray, total: FloatArray) -> FloatArray:  # noqa: ARG002
        """Return (...): the score of each segment of a corpus.

        It may depend on the corpus: where an analysis is missing, a metric may fall back to
        another score and bring it to the level of the segments that have one.

        Parameters
        ----------
        stats : (..., K) float64
            Statistics of single segments.
        total : (..., K) float64
            Sums over the corpus of each, or one for all.
        """
        return self.score(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:  # noqa: ARG002  some have none
        """Return the quantities that papers tabulate, for one row (K,) of summed statistics.

        Shares in 0..1 are shown in percent; counts have names that begin as those of
        `texts.scoring.COUNTS`, such as `matched_` or `total_`.
        """
        return {}

    def mean_stats(self, lists: WeightedLists) -> FloatArray | None:  # noqa: ARG002  most cannot
        """Return (H, K): the mean statistics of each text against all texts of its list.

        The time grows with the number of texts, not of pairs. None if the metric cannot do this.
        """
        return None

    def details(self, batch: Batch) -> dict[str, float]:  # noqa: ARG002  most have none
        """Return more figures for tables, which are not part of the score.

        `batch` has one hypothesis for each segment.
        """
        return {}

    def load(self) -> None:  # noqa: B027  most have no files
        """Read the files that options name now, not when they are first needed.

        Raises
        ------
        ValueError
            A file has the wrong content, or an option names a file that does not exist.
        """

    @classmethod
    def of_package(cls) -> str:
        """Return ` of package NAME VERSION` for messages; nothing for ours and a program's own."""
        return f" of package {cls._package}" if cls._package else ""

    def oriented(self, scores: Value) -> Value:
        """Return scores, or differences of scores, negated if lower is better.

        So a higher result is better. Applied twice, it returns the score.
        """
        return scores if self.higher_is_better else -scores  # type: ignore[return-value]

    @classmethod
    def name(cls) -> str:
        """Return the name used in configurations: `BleuSbp` is `bleu-sbp`, `MyBLEU` is `my-bleu`.

        `Metric` may be appended: `ShareMetric` is `share`.
        """
        return re.sub(WORDS, "-", cls.__name__.removesuffix("Metric") or "Metric").lower()

    @property
    def best(self) -> float:
        """The score that none surpasses: 1 or 0 of a share, otherwise infinite."""
        if self.in_percent:
            return 1.0 if self.higher_is_better else 0.0
        return self.oriented(np.inf)

    @property
    def display(self) -> Display:
        """How values are shown: all outputs print them by its methods."""
        return Display(self.in_percent, self.higher_is_better, self.is_error_rate)

    def shown(self, score: float) -> str:
        """Return a score as it is printed, see `Display`."""
        return self.display.shown(score)

    @property
    def signature(self) -> str:
        """The name and all options on which a score depends, as `port:alpha=0.25,order=v,...`.

        An option that is None is left out, and so are the defaults of `signed_if_changed`. A file
        is shown by its name without the folder.
        """
        options = ",".join(
            f"{field.name}={_plain(value)}"
            for field in dataclasses.fields(self)
            if (value := getattr(self, field.name)) is not None
            and not (field.name in self.signed_if_changed and value == field.default)
        )
        return f"{self.name()}:{options}" if options else self.name()


def _plain(value: object) -> str:
    """Return the value of an option as the signature of a metric has it."""
    if isinstance(value, Path):
        return value.name  # the score does not depend on the folder
    return str(value).lower() if isinstance(value, bool) else str(value)
