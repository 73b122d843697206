"""Finds links for comparisons: the sets of word alignments that outputs are scored under."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from portmert.aligners._base import Aligner
from portmert.metrics._base import IntArray, Texts
from portmert.tuner.evaluation.comparison.systems import NamedSystem, TestSet
from portmert.tuner.ground.errors import InputError, counted
from portmert.tuner.texts.corpus import read_links
from portmert.tuner.texts.links import Linker


@dataclass(frozen=True)
class LinkSet:
    """Holds one set of links.

    Parameters
    ----------
    references
        A file of links for each reference.
    hypotheses
        A file for each output of all systems, in their order; none: the decoder's own links, or
        else the aligner's.
    required
        Whether it is an error if links of an output are not known.
    """

    name: str
    references: tuple[Path, ...]
    hypotheses: tuple[Path, ...] = ()
    required: bool = False


@dataclass(frozen=True, eq=False)
class Linking:
    """Says where links come from.

    Parameters
    ----------
    sets
        The first one is what scores are shown with; none: links are not known.
    linker
        Aligns outputs without links; None where nothing can.
    """

    sets: tuple[LinkSet, ...]
    linker: Linker | None


def parse_link_set(text: str, *, references: int, outputs: int = 0) -> LinkSet:
    """Return the set written `name=FILE[,FILE...]`: links of references, then maybe of outputs.

    Raises
    ------
    InputError
        Another form, or another number of files.
    """
    name, equals, rest = text.partition("=")
    files = tuple(Path(part) for part in rest.split(",") if part)
    if not equals or not name or not files:
        raise InputError(f"--links {text}: expected NAME=FILE[,FILE...]")
    if len(files) not in (references, references + outputs):
        more = f", or {references + outputs} (then those of each output)" if outputs else ""
        raise InputError(
            f"--links {text}: {counted(len(files), 'file')}; expected {references} (links of each "
            f"reference){more}"
        )
    return LinkSet(name, files[:references], files[references:], required=True)


def find_links(
    systems: Sequence[NamedSystem],
    test: TestSet,
    given: Sequence[LinkSet],
    aligner: tuple[str, Aligner] | None,
    *,
    folder: Path,
    notice: Callable[[str], None],
) -> Linking:
    """Return all sets of links there are.

    In this order: those given; that of `aligner`, if there is one; if there is none yet, that of
    the first run that has links of the test set or an aligner to make them.

    Parameters
    ----------
    folder
        Where the work of `aligner` may lie.
    """
    sets, linker = list(given), None
    names = [one.name for one in sets]
    if test.source is None:
        return Linking((), None)
    if aligner is not None:
        name, component = aligner
        linker = Linker(component, folder, test.source, test.references, notice, "test")
        sets.append(LinkSet(_free(name, names), linker.dev_links()))
    for system in systems:
        if system.inputs is None or system.folder is None:
            continue
        data, own = system.inputs.data, system.inputs.components.get("aligner")
        run = Linker(
            own, system.folder / "annotations", data.source, tuple(data.references), notice
        )
        if own is not None and linker is None:
            linker = run
        if sets:
            continue
        if data.test_reference_links:
            sets.append(LinkSet("given", tuple(data.test_reference_links)))
        elif own is not None:
            name = own.name()
            sets.append(LinkSet(name, run.reference_links("test", test.source, test.references)))
    return Linking(tuple(sets), linker)


def linked(
    texts: Sequence[Texts],
    links: LinkSet,
    linking: Linking,
    *,
    source: Path,
    source_lengths: NDArray[np.int32],
    sources: Sequence[str],
    offsets: IntArray,
) -> list[Texts] | None:
    """Return all outputs with the links of one set; None if some have none and nothing aligns.

    Parameters
    ----------
    texts
        Outputs with the decoder's own links where it gave some.
    source, sources, source_lengths
        The source text, its lines and their lengths.
    offsets : (S + 1,) int64
        One hypothesis a segment.
    """
    if links.hypotheses:
        return [
            replace(
                text,
                links=read_links(
                    path, source_lengths=source_lengths, target_lengths=text.tokens.lengths
                ),
            )
            for text, path in zip(texts, links.hypotheses, strict=True)
        ]
    unlinked = sum(text.links is None for text in texts)
    if unlinked and linking.linker is None:
        if links.required:
            raise InputError(
                f"--links {links.name}: {unlinked} of {len(texts)} outputs have no links; add a "
                f"file for each output after those of the references, or give --aligner"
            )
        return None
    found = []
    for text in texts:
        if text.links is None and linking.linker is not None:
            found.append(linking.linker.hypothesis_links(text, offsets=offsets, sources=sources))
        else:
            found.append(text)
    _check_decoders(found, source, source_lengths)
    return found


def _check_decoders(
    texts: Sequence[Texts], source: Path, source_lengths: NDArray[np.int32]
) -> None:
    for text in texts:
        if text.links is None or not len(text.links.values):
            continue
        rows = source_lengths.repeat(text.links.lengths)
        values = text.links.values[text.links.offsets[0] : text.links.offsets[-1]]
        outside = (values[:, 0] >= rows).nonzero()[0]
        if outside.size:
            segment = int(text.links.offsets.searchsorted(outside[0], side="right")) - 1
            raise InputError(
                f"{source}:{segment + 1}: the source has "
                f"{counted(source_lengths[segment], 'token')}, but an output links position "
                f"{values[outside[0], 0]}; is it the source of this test set?"
            )


def _free(name: str, taken: Sequence[str]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free
