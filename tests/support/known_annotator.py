"""An annotator that says what it is told, and a text annotator over it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from portmert.extensions.parsers.unpacking import annotations
from portmert.metrics._base import Texts, Vocabulary
from portmert.tuner.annotation.annotating import CachedAnnotator
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.texts.annotator import Annotation, AnnotationRequest, Annotator
from tests.oracles import annotators as oracle

if TYPE_CHECKING:
    from tests.oracles.metrics import Text

ONE = frozenset({"tags", "heads"})
FOUR = ONE | {"tree", "parses"}


@dataclass(frozen=True)
class Known(Annotator):
    """Returns the answers that it was given, and remembers the requests."""

    known: dict = field(default_factory=dict)
    requests: list = field(default_factory=list)
    version: str = "known 1"
    gives: ClassVar = FOUR | {"marginals"}

    def fingerprint(self) -> str:
        return self.version

    def annotate(self, sentences, request, *, processes=1):
        assert processes == 1
        self.requests.append((list(sentences), request))
        for words in sentences:
            assert words
            answer = self.known[tuple(words)]
            if isinstance(answer, BaseException):
                raise answer
            yield None if answer is None else self._cut(answer, request)

    @staticmethod
    def _cut(answer: Annotation, request: AnnotationRequest) -> Annotation:
        layers = request.layers
        return Annotation(
            answer.tags if "tags" in layers else (),
            answer.heads if "heads" in layers else (),
            answer.tree if "tree" in layers else "",
            answer.parses[: request.parses] if "parses" in layers else (),
            {gamma: answer.marginals[gamma] for gamma in request.gammas},
        )


@dataclass(frozen=True)
class OneTree(Known):
    gives: ClassVar = ONE


@dataclass(frozen=True)
class TreesOnly(Known):
    gives: ClassVar = frozenset({"tree"})


@dataclass(frozen=True)
class ParsesOnly(Known):
    gives: ClassVar = frozenset({"parses"})


def answer_of(text: Text) -> Annotation | None:
    if not text.tags:
        return None
    tree = "" if text.tree is None else f"(S1 {oracle.brackets(text.tree)})"
    return Annotation(text.tags, text.heads, tree, text.parses)


class Fixed:
    """An annotator that knows some texts, and what it says to the user."""

    def __init__(self, rows, cls=Known, *, cache=None, **options):
        self.backend = cls({row.words: answer_of(row) for row in rows if row.words})
        self.said = []
        options = {"processes": 1, "max_failed": 1.0} | options
        self.annotator = CachedAnnotator(self.backend, cache=cache, **options)

    def annotate(self, rows, needs):
        with collected_warnings() as warnings:
            found = self.annotator.annotate(texts_of(rows), needs)
        self.said += warnings
        return found

    def annotations(self, sentences, **options):
        with collected_warnings() as warnings:
            answers = list(annotations(self.annotator, sentences, **options))
        self.said += warnings
        return answers

    @property
    def counts(self):
        return tuple(self.annotator.counts.values())


def texts_of(rows):
    return Texts.from_lines((" ".join(row.words) for row in rows), Vocabulary())
