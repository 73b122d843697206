"""Reads the texts of a comparison as metrics see them: outputs, references, links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from portmert.metrics._base import Batch, IntArray, Texts, Vocabulary
from portmert.tuner.evaluation.comparison.linking import Linking, LinkSet, linked
from portmert.tuner.evaluation.comparison.similarity import identical_segments
from portmert.tuner.evaluation.comparison.systems import NamedSystem, Output, TestSet
from portmert.tuner.ground.errors import InputError
from portmert.tuner.ground.files import read_lines
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.texts.corpus import (
    References,
    concatenate,
    interleaved,
    make_batch,
    read_references,
)
from portmert.tuner.texts.prepare import Preparation, read_output


@dataclass(frozen=True, eq=False)
class Material:
    """Holds all texts of a comparison under one set of links, as they are scored.

    Parameters
    ----------
    systems
        Of each output the number of its system, rising.
    texts : Texts
        N * S rows: all segments of the first output, then all of the second and so on.
    references
        Of the same vocabulary.
    sources
        S lines; None where there is no source.
    links
        Name of the set of links; None where there are none.
    """

    systems: IntArray
    texts: Texts
    references: References
    sources: tuple[str, ...] | None = None
    links: str | None = None

    def __len__(self) -> int:
        return len(self.references)

    @property
    def outputs(self) -> tuple[Texts, ...]:
        """The N outputs, S rows each."""
        size = len(self)
        return tuple(self.texts.rows(n * size, (n + 1) * size) for n in range(len(self.systems)))

    @property
    def replicas(self) -> list[int]:
        """Number of outputs of each system."""
        counts: list[int] = np.bincount(self.systems).tolist()
        return counts

    def members(self, system: int) -> list[int]:
        """Return the numbers of the outputs of a system."""
        return np.flatnonzero(self.systems == system).tolist()

    def batch(self, output: int) -> Batch:
        """Return one output against the references."""
        return make_batch(self.outputs[output], np.arange(len(self) + 1), self.references)

    def batch_of_all(self) -> Batch:
        """Return all outputs against the references: N hypotheses a segment."""
        count = len(self.systems)
        offsets = np.arange(len(self) + 1, dtype=np.int64) * count
        return make_batch(interleaved(self.texts, count), offsets, self.references)


def read_material(
    systems: Sequence[NamedSystem],
    test: TestSet,
    linking: Linking,
    ready: Preparation,
) -> list[Material]:
    """Read everything: one material for each set of links, or one without links.

    Raises
    ------
    InputError
        Files that are not what they should be, or of different lengths.
    """
    vocabulary = Vocabulary()
    references = read_references(test.references, vocabulary=vocabulary, source=test.source)
    texts, owners = [], []
    for number, system in enumerate(systems):
        for output in system.outputs:
            texts.append(_read_output(output, references, test.references[0]))
            owners.append(number)
    _note_mixed_links([systems[owner].name for owner in owners], texts, linking)
    sources = tuple(read_lines(test.source)) if test.source is not None else None
    found: list[tuple[list[Texts], References, str | None]] = []
    for links in linking.sets:
        with_links = _with_links(texts, links, linking, test, sources or ())
        if with_links is None:
            continue
        of_set = read_references(
            test.references, vocabulary=vocabulary, source=test.source, links=links.references
        )
        found.append((with_links, of_set, links.name))
    if not found:
        found = [([replace(text, links=None) for text in texts], references, None)]
    return [
        Material(
            np.array(owners),
            ready.hypotheses(concatenate(some)),
            ready.references(of_set),
            sources,
            name,
        )
        for some, of_set, name in found
    ]


def _note_mixed_links(names: Sequence[str], texts: Sequence[Texts], linking: Linking) -> None:
    """Say whose links are an aligner's where other outputs have their decoder's own."""
    linker = linking.linker
    without = [name for name, text in zip(names, texts, strict=True) if text.links is None]
    if linker is None or len(without) in (0, len(texts)):
        return
    if any(not links.hypotheses for links in linking.sets):
        linker.notice(
            f"links of {', '.join(dict.fromkeys(without))} are an aligner's, those of the others "
            f"their decoder's: scores of word order compare these too"
        )


def _with_links(
    texts: Sequence[Texts],
    links: LinkSet,
    linking: Linking,
    test: TestSet,
    sources: Sequence[str],
) -> list[Texts] | None:
    assert test.source is not None  # noqa: S101  without a source there are no sets of links
    lengths = np.array([len(line.encode().split()) for line in sources], dtype=np.int32)
    return linked(
        texts,
        links,
        linking,
        source=test.source,
        source_lengths=lengths,
        sources=sources,
        offsets=np.arange(len(sources) + 1),
    )


def _read_output(output: Output, references: References, beside: Path) -> Texts:
    text = read_output(output.text, references, beside=beside)
    if output.nbest is None:
        return text
    vocabulary = references.texts.vocabulary
    nbest = read_nbest([output.nbest], vocabulary, segments=len(references))
    best = nbest.texts.take(nbest.offsets[:-1])
    other = np.flatnonzero(~identical_segments(best, text)) if len(best) == len(text) else [0]
    if len(other):
        raise InputError(
            f"{output.text}:{other[0] + 1}: not the first hypothesis of the segment in "
            f"{output.nbest}; one of the two was changed: copy the run's folder again"
        )
    return text if best.links is None else best
