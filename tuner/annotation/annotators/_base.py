"""Defines what an annotator is: text in, tags and parses out.

To add one, write one public file in this folder with one frozen pydantic dataclass that derives
from `Annotator`: its fields are the keys of its [annotator] table. What is derived from its
answers (heads from trees, expected links from weighted parses) and the cache are not its business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as component_dataclass

Layer = Literal["tags", "heads", "tree", "parses", "marginals", "roles", "drs"]
"""What a backend can give of a sentence; see `Annotation`."""

Heads = tuple[tuple[int, str], ...]
"""For each token the position of its head (from 1, 0 is the root) and its label."""

WeightedArc = tuple[int, int, str, float]
"""Dependent (position from 0), head (from 1, 0 is the root), label, expected count."""


@dataclass(frozen=True)
class Structure:
    """Holds an analysis of the meaning of one sentence: a tree with words at its nodes.

    Parameters
    ----------
    nodes
        In preorder: label, place of the parent (-1: the root), type.
    words
        Place of the node, rising; one of `metrics._base.WORD_KINDS`; the position of a token, or
        of a `date` what it is.
    """

    nodes: tuple[tuple[str, int, str], ...]
    words: tuple[tuple[int, str, int | str], ...] = ()


@dataclass(frozen=True)
class Request:
    """Says what is wanted of each sentence.

    Parameters
    ----------
    layers
        What to give; never more than the backend's `gives`.
    parses
        Most parses of the layer `parses`.
    gammas
        For the layer `marginals`: the factors that scores are multiplied by.
    """

    layers: frozenset[Layer]
    parses: int = 1
    gammas: tuple[float, ...] = ()


@dataclass(frozen=True)
class Annotation:
    """Holds what a backend says about one sentence of n tokens; what was not asked for is empty.

    Parameters
    ----------
    tags
        n parts of speech.
    heads
        The best dependency parse, n tokens, no cycle.
    tree
        The best constituency parse in brackets, its leaves being the n tokens, escaped as in the
        Penn Treebank.
    parses
        Natural-log score and dependency parse, best first.
    marginals
        Gamma -> expected links over all trees.
    roles
        Predicates and their arguments, see `_meaning.roles_tree`.
    drs
        The discourse representation, see `_meaning.discourse_tree`.
    """

    tags: tuple[str, ...] = ()
    heads: Heads = ()
    tree: str = ""
    parses: tuple[tuple[float, Heads], ...] = ()
    marginals: Mapping[float, tuple[WeightedArc, ...]] = field(default_factory=dict)
    roles: Structure | None = None
    drs: Structure | None = None


@component_dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Annotator(ABC):
    """Tags or parses tokenised sentences; its fields are its options."""

    gives: ClassVar[frozenset[Layer]]
    """All it can give (a model may give less; it then raises `AnnotatorError`)."""
    looks_up: ClassVar[bool] = False
    """Whether it looks up parses in files: that is quick, and done where the files are."""

    @classmethod
    def name(cls) -> str:
        """Return the name used in configurations: the file's, with hyphens."""
        return cls.__module__.rpartition(".")[2].replace("_", "-")

    @abstractmethod
    def fingerprint(self) -> str:
        """Return all that answers depend on: backend, its version, the model's hash, options.

        Raises
        ------
        AnnotatorError
            The library or the model is missing; the message has the exact command that gets it.
        """

    def has(self) -> frozenset[Layer]:
        """Return what it gives of every sentence that it knows; less than `gives` of some files.

        Raises
        ------
        AnnotatorError, InputError
            There are no such files, or a line of one is wrong.
        """
        return self.gives

    @abstractmethod
    def annotate(
        self,
        sentences: Sequence[Sequence[str]],
        request: Request,
        *,
        processes: int = 1,
        progress: Callable[[int, int], None] | None = None,
    ) -> Iterator[Annotation | None]:
        """Yield one answer a sentence, in order; None where the parser fails on it.

        Parameters
        ----------
        sentences
            Distinct, none empty; any token, also what the parser would write in another way.
        request
            What is wanted.
        processes
            Worker processes, where the backend has any; never changes an answer.
        progress
            Called as progress(sentences done, sentences in all).

        Raises
        ------
        AnnotatorError
            The backend cannot work at all.
        """
