"""Reads the texts of a comparison as metrics see them: outputs, references, links."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from portmert.aligners._base import Aligner
from portmert.metrics._base import Batch, Texts, Vocabulary

from ...base import options
from ...base.errors import ConfigError, InputError, counted, faults_at
from ...base.warn import warn
from ...families import provided
from ...nbest.check import check_links
from ...nbest.read import read_nbest
from ...texts import corpus, prepare
from ...texts.joining import has_gold
from ...texts.links import Linker
from .systems import NamedSystem, Output, TestFiles


@dataclass(frozen=True)
class LinkSet:
    """One set of links.

    Parameters
    ----------
    references
        A file of links for each reference.
    hypotheses
        A file for each output of all systems, in their order. If empty, the decoder's own links
        are taken, or else the aligner's.
    required
        Whether it is an error if an output has no links.
    """

    name: str
    references: tuple[Path, ...]
    hypotheses: tuple[Path, ...] = ()
    required: bool = False


def parse_link_set(text: str, *, references: int, outputs: int = 0) -> LinkSet:
    """Parse `name=FILE[,FILE...]`: links of references, then maybe of outputs.

    Raises
    ------
    InputError
        Another form, or another number of files.
    """
    where = f"--links {text}"
    with faults_at(where, ConfigError, ConfigError):
        name, _, value = options.name_value(text)
    if not name or not value:
        raise InputError(f"{where}: expected NAME=FILE[,FILE...]")
    files = options.files(value, where=where)
    if len(files) not in (references, references + outputs):
        alternative = f", or {references + outputs} (then those of each output)" if outputs else ""
        raise InputError(
            f"--links {text}: {counted(len(files), 'file')}; expected {references} (links of each "
            f"reference){alternative}"
        )
    return LinkSet(name, files[:references], files[references:], required=True)


def find_links(
    systems: Sequence[NamedSystem],
    test: TestFiles,
    link_sets: Sequence[LinkSet],
    aligner: tuple[str, Aligner] | None,
    *,
    folder: Path,
) -> tuple[list[LinkSet], Linker | None]:
    """Return all sets of links, and what aligns outputs without links, if there is an aligner.

    The order is: the given sets; that of `aligner`. If there is none yet, that of the first run
    that has links of the test set or an aligner to make them. Scores are shown with the first set.
    If there is none, links are not known.

    Parameters
    ----------
    folder
        For the files of `aligner`.
    """
    sets, linker = list(link_sets), None
    names = [links.name for links in sets]
    if test.source is None:
        return [], None
    if aligner is not None:
        name, component = aligner
        linker = Linker(component, folder, test.source, test.references, "test")
        free = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
        name = next(candidate for candidate in free if candidate not in names)
        sets.append(LinkSet(name, linker.dev_links()))
    for system in systems:
        if system.inputs is None or system.folder is None:
            continue
        data = system.inputs.data
        aligner_of_run = system.inputs.components.get("aligner")
        folder = system.folder / "annotations"
        run = Linker(aligner_of_run, folder, data.source, tuple(data.references))
        if aligner_of_run is not None and linker is None:
            linker = run
        if sets:
            continue
        if data.test_reference_links:
            sets.append(LinkSet("given", tuple(data.test_reference_links)))
        elif aligner_of_run is not None:
            name = aligner_of_run.name()
            sets.append(LinkSet(name, run.reference_links("test", test.source, test.references)))
    return sets, linker


@dataclass(frozen=True, eq=False)
class Material:
    """All texts of a comparison under one set of links, ready to be scored.

    Parameters
    ----------
    systems, replicas
        The name of each system, and the number of its outputs.
    texts : Texts
        N * S rows: all segments of the first output, then all of the second and so on.
    references
        With the same vocabulary.
    sources
        S lines; None if there is no source.
    links
        Name of the set of links; None if there is none.
    names
        The name of each output in messages.
    """

    systems: tuple[str, ...]
    replicas: tuple[int, ...]
    texts: Texts
    references: corpus.References
    sources: tuple[str, ...] | None = None
    links: str | None = None
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.references)

    def in_words(self) -> Self:
        """Return the material with texts as references; of gold edits, the corrected sources."""
        texts = self.references.texts
        if not has_gold(texts):
            return self
        corrected = provided("portmert.gold_edits", "corrected")
        lines = [corrected(texts.words(row)) for row in range(len(texts))]
        references = Texts.from_lines(lines, texts.vocabulary)
        return replace(self, references=replace(self.references, texts=references))

    @cached_property
    def outputs(self) -> list[list[Texts]]:
        """The outputs of each system, S rows each."""
        size, ends = len(self), itertools.accumulate(self.replicas)
        return [
            [self.texts.rows(n * size, (n + 1) * size) for n in range(end - count, end)]
            for count, end in zip(self.replicas, ends, strict=True)
        ]

    def batch(self, output: Texts) -> Batch:
        """Return one output against the references."""
        return corpus.make_batch(output, np.arange(len(self) + 1), self.references)


def read_material(
    systems: Sequence[NamedSystem],
    test: TestFiles,
    sets: Sequence[LinkSet],
    linker: Linker | None,
    preparation: prepare.Preparation,
) -> list[Material]:
    """Read everything: one material for each set of links, or one without links.

    `sets` and `linker` are those of `find_links`.

    Raises
    ------
    InputError
        A file is malformed, or files have different lengths.
    """
    vocabulary = Vocabulary()
    references = corpus.read_references(test.references, vocabulary=vocabulary, source=test.source)
    outputs = [(system.name, output) for system in systems for output in system.outputs]
    texts = [_read_output(output, references, test.references[0]) for _, output in outputs]
    unlinked = [name for (name, _), text in zip(outputs, texts, strict=True) if text.links is None]
    if (
        linker is not None
        and any(not links.hypotheses for links in sets)
        and 0 < len(unlinked) < len(texts)
    ):
        warn(
            f"links of {', '.join(dict.fromkeys(unlinked))} are an aligner's, those of the others "
            f"their decoder's: scores of word order compare these too"
        )
    sources = references.source
    linked: list[tuple[list[Texts], corpus.References, str | None]] = []
    for links in sets:
        with_links = _with_links(texts, links, linker, sources or ())
        if with_links is None:
            continue
        of_set = corpus.read_references(
            test.references, vocabulary=vocabulary, source=test.source, links=links.references
        )
        linked.append((with_links, of_set, links.name))
    if not linked:
        linked = [([replace(text, links=None) for text in texts], references, None)]
    return [
        Material(
            tuple(system.name for system in systems),
            tuple(len(system.outputs) for system in systems),
            preparation.prepared(corpus.concatenate(linked_texts)),
            preparation.references(of_set),
            sources,
            name,
            tuple(f"{system} ({output.text})" for system, output in outputs),
        )
        for linked_texts, of_set, name in linked
    ]


def _with_links(
    texts: Sequence[Texts], links: LinkSet, linker: Linker | None, sources: Sequence[str]
) -> list[Texts] | None:
    """Return all outputs with the links of one set; None if some have none and cannot get any."""
    if links.hypotheses:
        lengths = corpus.token_counts(sources)
        return [
            corpus.with_links(text, path, lengths)
            for text, path in zip(texts, links.hypotheses, strict=True)
        ]
    unlinked = sum(text.links is None for text in texts)
    if unlinked and linker is None:
        if links.required:
            raise InputError(
                f"--links {links.name}: {unlinked} of {len(texts)} outputs have no links; add a "
                f"file for each output after those of the references, or give --aligner"
            )
        return None
    offsets = np.arange(len(sources) + 1)
    return [
        text
        if text.links is not None or linker is None
        else linker.hypothesis_links(text, offsets=offsets, sources=sources)
        for text in texts
    ]


def _read_output(output: Output, references: corpus.References, reference: Path) -> Texts:
    text = prepare.read_output(output.text, references, beside=reference)
    if output.nbest is None:
        return text
    vocabulary = references.texts.vocabulary
    nbest = read_nbest([output.nbest], vocabulary, segments=len(references))
    if references.source_lengths is not None:
        check_links(nbest, references.source_lengths)
    best = nbest.texts.take(nbest.offsets[:-1])
    different = np.flatnonzero(~identical_segments(best, text)) if len(best) == len(text) else [0]
    if len(different):
        raise InputError(
            f"{output.text}:{different[0] + 1}: not the first hypothesis of the segment in "
            f"{output.nbest}; one of the two was changed: copy the run's folder again"
        )
    return text if best.links is None else best


def identical_segments(first: Texts, second: Texts) -> NDArray[np.bool_]:
    """Return (S,) bool: whether both texts have the same tokens."""
    same: NDArray[np.bool_] = first.tokens.lengths == second.tokens.lengths
    rows = np.flatnonzero(same)
    tokens, other_tokens = first.tokens.take(rows), second.tokens.take(rows)
    same[np.repeat(rows, tokens.lengths)[tokens.values != other_tokens.values]] = False
    return same
