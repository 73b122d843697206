"""The base class of annotators: text in, tags and parses out.

To add an annotator, write one public file in `tuner/annotation/annotators/` with one frozen
pydantic dataclass that derives from `Annotator`. Its fields are the keys of its [annotator] table.
An annotator need not care about the cache, nor about what follows from its answers: heads from
trees, expected links from weighted parses.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, Literal, Protocol, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as component_dataclass

from portmert.metrics._base import Need, Texts

from ..base.components import Check, Component, Refuse, described
from ..base.errors import counted, shown

Layer = Literal["tags", "heads", "tree", "parses", "marginals", "roles", "drs"]
"""The parts of a sentence's annotation; see `Annotation`."""

Heads = tuple[tuple[int, str], ...]
"""For each token the position of its head (from 1, 0 is the root) and its label."""

WeightedArc = tuple[int, int, str, float]
"""Dependent (position from 0), head (from 1, 0 is the root), label, expected count."""


@dataclass(frozen=True)
class Structure:
    """An analysis of the meaning of one sentence: a tree with words at its nodes.

    Parameters
    ----------
    nodes
        Label, place of the parent (-1 for the root) and type of each node, in preorder.
    words
        For each word: the place of its node, rising; one of `metrics._base.WORD_KINDS`; and the
        position of the token, or the date itself if the kind is `date`.
    """

    nodes: tuple[tuple[str, int, str], ...]
    words: tuple[tuple[int, str, int | str], ...] = ()


@dataclass(frozen=True)
class AnnotationRequest:
    """The annotations to make for each sentence.

    Parameters
    ----------
    layers
        The layers to give; never more than the backend's `gives`.
    parses
        The greatest number of parses in the layer `parses`.
    gammas
        For the layer `marginals`: the factors by which scores are multiplied.
    """

    layers: frozenset[Layer]
    parses: int = 1
    gammas: tuple[float, ...] = ()


@dataclass(frozen=True)
class Annotation:
    """The answer of a backend for one sentence of n tokens; layers not asked for are empty.

    Parameters
    ----------
    tags
        n parts of speech.
    heads
        The best dependency parse, n tokens, no cycle.
    tree
        The best constituency parse in brackets. Its leaves are the n tokens, escaped as in the
        Penn Treebank.
    parses
        Weighted dependency parses, best first: the natural logarithm of the score, and the heads.
    marginals
        The expected links over all trees, for each gamma.
    roles
        Predicates and their arguments; see `_meaning.roles_tree`.
    drs
        The discourse representation; see `_meaning.discourse_tree`.
    """

    tags: tuple[str, ...] = ()
    heads: Heads = ()
    tree: str = ""
    parses: tuple[tuple[float, Heads], ...] = ()
    marginals: Mapping[float, tuple[WeightedArc, ...]] = field(default_factory=dict)
    roles: Structure | None = None
    drs: Structure | None = None

    # As JSON, between processes: scores may be infinite. What others made is checked.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        ser_json_inf_nan="constants", revalidate_instances="always"
    )


def heads_fault(heads: Heads) -> str:
    """Return why heads are not a forest, or an empty text if they are.

    Several roots are allowed. A head out of range and a cycle are not allowed, and so neither is a
    sentence without a root.
    """
    bad = faulty_word(heads)
    if not bad:
        return ""
    head = heads[bad - 1][0]
    if not 0 <= head <= len(heads):
        return f"word {bad} has head {head}, expected 0..{len(heads)}"
    return f"word {bad} is its own head or its head's head (a cycle)"


def faulty_word(heads: Heads) -> int:
    """Return a word, from 1, whose head is out of range or that is in a cycle; 0 if none is."""
    count = len(heads)
    for word, (head, _) in enumerate(heads, 1):
        if not 0 <= head <= count:
            return word
    # The walk that first came by each word; 0 if none has yet.
    walk_of = [-1] + [0] * count
    for start in range(1, count + 1):
        word = start
        while not walk_of[word]:
            walk_of[word] = start
            word = heads[word - 1][0]
        if walk_of[word] == start:
            return word
    return 0


def _checked_print(refuse: Refuse, answer: object) -> str:
    return answer if isinstance(answer, str) else refuse(described(answer), "text")


def _checked_layers(refuse: Refuse, answer: Any) -> frozenset[Layer]:
    if not (isinstance(answer, set | frozenset) and answer <= {*get_args(Layer)}):
        refuse(described(answer), f"a set of {', '.join(get_args(Layer))}")
    return frozenset(answer)


def _checked_answers(
    refuse: Refuse, answers: object, sentences: Sequence[Sequence[str]], request: object, **_: Any
) -> Iterator[Annotation | None]:
    """Yield one checked answer for each sentence."""
    del request
    expected = f"an Annotation or None for each of {counted(len(sentences), 'sentence')}"
    if not isinstance(answers, Iterable):
        refuse(described(answers), expected)
    count, typed = 0, TypeAdapter(Annotation)
    for count, answer in enumerate(answers, 1):
        if count > len(sentences):
            refuse("more answers", expected)
        place = f"for {shown(' '.join(sentences[count - 1]))}"
        if not (answer is None or isinstance(answer, Annotation)):
            refuse(f"{described(answer)} {place}", expected)
        try:
            yield answer and typed.validate_python(answer)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"]))
            refuse(f"{key} {first['input']!r:.60} {place}", f"another: {first['msg']}")
    if count < len(sentences):
        refuse(counted(count, "answer"), expected)


@component_dataclass(frozen=True, config=ConfigDict(extra="forbid", allow_inf_nan=False))
class Annotator(Component):
    """Tags or parses tokenised sentences; its fields are its options."""

    gives: ClassVar[frozenset[Layer]]
    """All layers it can give. If a model gives fewer, it raises `AnnotatorError`."""
    _family: ClassVar[str] = "annotator"
    _checks: ClassVar[Mapping[str, Check]] = {
        "fingerprint": _checked_print,
        "has": _checked_layers,
        "annotate": _checked_answers,
    }
    looks_up: ClassVar[bool] = False
    """Whether it looks up parses in files. That is quick, and is done where the files are."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return all that answers depend on: backend, version, hash of the model, options.

        Raises
        ------
        AnnotatorError
            The library or the model is missing. The message has the exact command that gets it.
        """

    def has(self) -> frozenset[Layer]:
        """Return the layers it gives for every sentence; files may have fewer than `gives`.

        Raises
        ------
        AnnotatorError, InputError
            There are no such files, or a line of one is wrong.
        """
        return self.gives

    @abstractmethod
    def annotate(
        self, sentences: Sequence[Sequence[str]], request: AnnotationRequest, *, processes: int = 1
    ) -> Iterator[Annotation | None]:
        """Yield one answer for each sentence, in order; None if the parser fails on it.

        Parameters
        ----------
        sentences
            Distinct sentences, none empty. Tokens may be any text, also a text that the parser
            would write in another way.
        request
            The layers that are wanted.
        processes
            Worker processes, if the backend has any. The number never changes an answer.

        Raises
        ------
        AnnotatorError
            The backend cannot work at all.
        """


class TextAnnotator(Protocol):
    """Annotates texts with one annotator, each distinct sentence once; kept in the cache.

    Attributes
    ----------
    fingerprint
        All that answers depend on.
    name
        The name of the annotator.
    seconds
        Wall-clock time for the answers that were not in the cache.
    depths
        For each number of parses that was asked for: the size of the longest list.
    counts
        Distinct sentences since the last `reset`: from the cache, new, and without a parse.
    """

    fingerprint: str
    name: str
    seconds: float
    depths: dict[int, int]

    @property
    def counts(self) -> dict[str, int]: ...  # noqa: D102  see above

    def annotate(self, texts: Texts, needs: Iterable[Need]) -> Texts:
        """Return the texts with the tags and parses that metrics need; links are ignored.

        A text on which the parser fails has no tags and no parse, as an empty text.

        Raises
        ------
        InputError
            The annotator cannot give what is needed, or its files lack it.
        ProgramError
            The annotator does not work, or fails on too many sentences.
        """
        ...

    def reset(self) -> None:
        """Count from 0 again."""

    def close(self) -> None:
        """Close the cache."""


def open_annotator(annotator: Annotator, *, processes: int) -> TextAnnotator:
    """Open the cache in front of an annotator.

    Parameters
    ----------
    processes
        Worker processes.
    """
    annotating = import_module("portmert.tuner.annotation.annotating")  # above this package
    opened: TextAnnotator = annotating.opened(annotator, processes=processes)
    return opened
