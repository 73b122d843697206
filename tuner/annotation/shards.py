"""Annotation of sentences by processes here or, in shards, by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from portmert.tuner.annotation.annotators._base import Annotation, AnnotationRequest, Annotator
from portmert.tuner.executors.team import Team
from portmert.tuner.ground.errors import AnnotatorError
from portmert.tuner.ground.files import with_absolute_paths

SHARD = 64
"""Sentences that a worker gets at a time."""


def annotated(
    annotator: Annotator,
    sentences: Sequence[Sequence[str]],
    request: AnnotationRequest,
    processes: int,
    progress: Callable[[int, int], None] | None,
    team: Team | None,
) -> Iterator[tuple[int, Annotation | None]]:
    """Yield the number of each sentence and its annotation, in any order.

    Parameters
    ----------
    processes, progress
        See `Annotator.annotate`.
    team
        The workers that annotate in place of processes here, if they are a cluster. Parses in
        files are looked up here, where the files are.
    """
    if team is None or not team.is_remote or annotator.looks_up:
        yield from enumerate(
            annotator.annotate(sentences, request, processes=processes, progress=progress)
        )
        return
    count = len(sentences)

    def shown(shards: int, _: int) -> None:
        if progress is not None:
            progress(min(shards * SHARD, count), count)

    there, fingerprint = with_absolute_paths(annotator), annotator.fingerprint()
    tasks = [
        (there, fingerprint, sentences[begin : begin + SHARD], request, team.step)
        for begin in range(0, count, SHARD)
    ]

    def named(shard: int) -> str:
        return f"sentences {shard * SHARD + 1} to {min((shard + 1) * SHARD, count)}"

    for shard, answers in team.run(annotated_shard, tasks, progress=shown, named=named):
        yield from enumerate(answers, shard * SHARD)


def annotated_shard(
    annotator: Annotator,
    fingerprint: str,
    sentences: Sequence[Sequence[str]],
    request: AnnotationRequest,
    step: Callable[[int, int], None],
) -> list[Annotation | None]:
    """Return the annotations of some sentences.

    Parameters
    ----------
    fingerprint
        The fingerprint of the annotator on the machine that asks.
    step
        Called now and then; it may raise an exception to end the work.

    Raises
    ------
    AnnotatorError
        The library or the model is missing here, or differs.
    """
    here = annotator.fingerprint()
    if here != fingerprint:
        raise AnnotatorError(
            f"the library or the model is not the same on all machines: '{here}', expected "
            f"'{fingerprint}'"
        )
    return list(annotator.annotate(sentences, request, processes=1, progress=step))
