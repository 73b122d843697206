"""Reads outputs of systems that people judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from metrics._base import Batch
    from tuner.evaluation.human_scores import HumanScores
    from tuner.texts.prepare import Preparation


def read_outputs(
    human: HumanScores,
    folder: Path,
    refs: tuple[Path, ...],
    source: Path | None,
    links: Path | None,
    ref_links: tuple[Path, ...],
    ready: Preparation,
    *,
    others: bool,
) -> tuple[HumanScores, Batch]:
    """Return the scores, as long as the test set, and all outputs of each segment."""
    from metrics._base import Vocabulary  # noqa: PLC0415
    from tuner.evaluation.human_scores import find_outputs  # noqa: PLC0415
    from tuner.texts import corpus  # noqa: PLC0415
    from tuner.texts.prepare import read_output  # noqa: PLC0415

    read = corpus.read_references(refs, vocabulary=Vocabulary(), source=source, links=ref_links)
    human = human.of_length(len(read), origin=refs[0])
    found = find_outputs(folder, human.systems, others=others)
    found_links = {} if links is None else find_outputs(links, human.systems, others=True)
    outputs = [
        read_output(path, read, beside=refs[0], links=found_links.get(system))
        for system, path in found.items()
    ]
    texts = corpus.interleaved(corpus.concatenate(outputs), len(outputs))
    return human, ready.batch(texts, ready.references(read))
