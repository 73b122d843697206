"""Outputs of systems that people judged, as commands read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from metrics._base import Batch
    from tuner.annotation.syntax import Syntax
    from tuner.evaluation.human_scores import HumanScores
    from tuner.texts.text_pipeline import TextPipeline


def read_outputs(
    human: HumanScores,
    folder: Path,
    refs: tuple[Path, ...],
    source: Path | None,
    links: Path | None,
    ref_links: tuple[Path, ...],
    pipeline: TextPipeline,
    syntax: Syntax | None,
    *,
    others: bool,
) -> tuple[HumanScores, Batch]:
    """Return the scores, as long as the test set, and all outputs of each segment."""
    from dataclasses import replace  # noqa: PLC0415

    import numpy as np  # noqa: PLC0415

    from metrics._base import Vocabulary  # noqa: PLC0415
    from tuner.evaluation.human_scores import find_outputs  # noqa: PLC0415
    from tuner.texts import corpus  # noqa: PLC0415

    vocabulary = Vocabulary()
    references = corpus.read_references(
        refs, vocabulary=vocabulary, source=source, links=ref_links
    )
    human = human.of_length(len(references), origin=refs[0])
    found = find_outputs(folder, human.systems, others=others)
    found_links = {} if links is None else find_outputs(links, human.systems, others=True)
    outputs = []
    for system, path in found.items():
        texts = corpus.read_texts(path, vocabulary)
        corpus.check_lines(path, len(texts), refs[0], len(references))
        if references.source_lengths is not None and found_links:
            read = corpus.read_links(
                found_links[system],
                source_lengths=references.source_lengths,
                target_lengths=texts.tokens.lengths,
            )
            texts = replace(texts, links=read)
        outputs.append(texts)
    # Row m * S + s of the concatenation becomes row s * M + m.
    order = np.arange(len(outputs) * len(references)).reshape(len(outputs), -1).T.ravel()
    texts = corpus.concatenate(outputs).take(order)
    scored, scored_references = pipeline.hypotheses(texts), pipeline.references(references.texts)
    if syntax is not None:
        scored = syntax.whole(texts, scored, "hyp")
        scored_references = syntax.whole(references.texts, scored_references, "ref")
    references = replace(references, texts=scored_references)
    offsets = np.arange(len(references) + 1, dtype=np.int64) * len(outputs)
    return human, corpus.make_batch(scored, offsets, references)
