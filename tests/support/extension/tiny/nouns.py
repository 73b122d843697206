"""An annotator: every token is a noun that depends on the one before."""

from __future__ import annotations

from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.tuner.texts.annotator import Annotation, Annotator


@dataclass(frozen=True)
class Nouns(Annotator):
    """Tags every token alike.

    Parameters
    ----------
    tag
        The tag.
    """

    tag: str = "NN"

    gives: ClassVar = frozenset({"tags", "heads"})

    def fingerprint(self):
        return f"nouns 1 {self.tag}"

    def annotate(self, sentences, request, *, processes=1):  # noqa: ARG002
        for words in sentences:
            yield Annotation(
                tags=(self.tag,) * len(words),
                heads=tuple((i, "dep" if i else "root") for i in range(len(words))),
            )
