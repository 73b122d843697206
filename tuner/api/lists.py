"""Reads n-best lists, and what they are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from portmert.metrics._base import IntArray, Metric, Vocabulary
from portmert.tuner.api.texts import (
    ById,
    Notice,
    PathLike,
    TextLike,
    log_notice,
    text_file,
    text_files,
)
from portmert.tuner.components import registry
from portmert.tuner.components.features import with_features
from portmert.tuner.ground.errors import InputError, counted
from portmert.tuner.nbest import read as files
from portmert.tuner.nbest.check import check_links
from portmert.tuner.nbest.model import NBest, best_hypotheses, model_scores
from portmert.tuner.nbest.readers._base import Reader
from portmert.tuner.nbest.segment_names import SegmentNames, positions
from portmert.tuner.search.length_penalty import penalised
from portmert.tuner.search.problem import StatTable
from portmert.tuner.search.stat_tables import Annotate, statistics_table
from portmert.tuner.texts import corpus
from portmert.tuner.texts.by_id import LinesById, read_by_id
from portmert.tuner.texts.corpus import References
from portmert.tuner.texts.prepare import Preparation
from portmert.tuner.texts.statistics import needs_of
from portmert.tuner.weights.feature_weights import FeatureWeights

ListsLike = NBest | PathLike | Sequence[PathLike]
"""N-best lists: read before, or the names of files."""


def read_nbest(
    paths: PathLike | Sequence[PathLike],
    *,
    nbest_format: str | Reader = "auto",
    extra_features: Sequence[str] = (),
    notice: Notice = log_notice,
) -> NBest:
    r"""Read n-best lists and merge them: of equal hypotheses of a segment the first stays.

    Parameters
    ----------
    paths
        One or more files: plain, .gz, .xz or .zst; `-` is stdin.
    nbest_format
        Format of the lists, as on the command line: `auto` finds it out.
    extra_features
        Features to add, as `"qe=FILE"` with a number for each hypothesis, `"length"`, or
        `"other=chrf@FILE"`, a metric's score against another output; see
        docs/how-to/rerank.md. Lists read so have no text steps and no source.
    notice
        Called with one line for what is worth knowing. Default: the log `portmert`.

    Raises
    ------
    PortmertError
        A file is not what it should be; the message says where.

    Examples
    --------
    >>> import portmert, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "lists.moses")
    >>> _ = path.write_text(
    ...     "0 ||| a b ||| LM= -2 TM= -1 ||| -3\n"
    ...     "0 ||| b a ||| LM= -1 TM= -3 ||| -4\n"
    ... )
    >>> lists = portmert.read_nbest(path, notice=lambda line: None)
    >>> lists.features.shape, lists.feature_names
    ((2, 2), (('LM', 1), ('TM', 1)))
    >>> lists
    NBest(segments=1, hypotheses=2, features=LM TM)
    """
    given = [paths] if isinstance(paths, Path | str) else list(paths)
    nbest = _read(given, nbest_format, Vocabulary(), None, notice)
    return with_features(nbest, extra_features, notice=notice)


@dataclass(frozen=True, eq=False)
class Lists:
    """Holds n-best lists as they are searched.

    Parameters
    ----------
    nbest : NBest
        Texts as they stand in the lists.
    scored : NBest
        The same with texts as they are scored.
    references : References
        As they are scored; none for a metric that reads none.
    annotate : callable or None
        See `portmert.tuner.search.stat_tables.statistics_table`.
    """

    nbest: NBest
    scored: NBest
    references: References
    annotate: Annotate | None = None

    @property
    def lengths(self) -> IntArray:
        """(H,) tokens of each hypothesis as it stands in the lists."""
        return self.nbest.texts.tokens.lengths

    def penalised(self, alpha: float) -> NBest:
        """Return the lists as they are scored, with a length penalty."""
        return penalised(self.scored, alpha, lengths=self.lengths)

    def best(self, weights: FeatureWeights, alpha: float) -> IntArray:
        """Return (S,) the best hypothesis of each segment under weights and a length penalty."""
        nbest = self.penalised(alpha)
        return best_hypotheses(nbest, model_scores(nbest, weights))

    def statistics(
        self, metric: Metric, *, threads: int, notice: Notice, lazily: bool = False
    ) -> StatTable:
        """Return the statistics of all hypotheses; `lazily` or annotated ones when asked for."""
        annotate = self.annotate if needs_of([metric]) else None
        if lazily and annotate is None:
            annotate = self.scored.texts.take
        return statistics_table(
            self.scored, self.references, metric, threads=threads, notice=notice, annotate=annotate
        )


def read_lists(
    lists: ListsLike,
    refs: Sequence[TextLike] | PathLike,
    *,
    ready: Preparation,
    metrics: Sequence[Metric] = (),
    source: TextLike | None = None,
    ref_links: Sequence[TextLike] | PathLike = (),
    ids: bool = False,
    nbest_format: str | Reader = "auto",
    extra_features: Sequence[str] = (),
    notice: Notice = log_notice,
) -> Lists:
    """Read lists and references, check that they fit, and make the texts ready.

    References are annotated at once, hypotheses when they are asked for. Segments stand in the
    order of the lists; texts whose lines begin with `ids` are brought into it.
    """
    known = None
    if ids and (refs or source is None):
        by_id = ById.of(refs)
        refs, source = by_id.all(refs, "references"), by_id.one(source, "the source")
        ref_links = by_id.all(ref_links, "links of references")
        known = by_id.names
    vocabulary = lists.texts.vocabulary if isinstance(lists, NBest) else Vocabulary()
    references = None
    if refs:
        references = ready.references(
            corpus.read_references(
                text_files(refs, "references"),
                vocabulary=vocabulary,
                source=None if source is None else text_file(source, "the source"),
                links=text_files(ref_links, "links of references"),
            )
        )
    elif reading := [metric for metric in metrics if metric.reads_references]:
        raise InputError(f"metric {reading[0].name()} compares with references; give them too")
    if isinstance(lists, NBest):
        nbest = lists
    else:
        paths = [lists] if isinstance(lists, Path | str) else list(lists)
        segments = None if references is None or known else len(references)
        nbest = _read(paths, nbest_format, vocabulary, segments, notice, known)
        for metric in metrics:
            metric.check_lists(paths, nbest.list_sizes)
    if references is not None:
        references = _in_order(nbest, references, known, notice)
    lines = _source_lines(nbest, references, source, ids=ids)
    lengths = None if lines is None else corpus.token_counts(lines)
    nbest = with_features(
        nbest, extra_features, ready=ready, source_lengths=lengths, notice=notice
    )
    if references is None:
        references = corpus.no_references(vocabulary, len(nbest), lines)
    elif references.source_lengths is not None:
        check_links(nbest, references.source_lengths)
    scored, annotate = ready.lazily(nbest.texts)
    return Lists(nbest, replace(nbest, texts=scored), references, annotate)


def _source_lines(
    nbest: NBest, references: References | None, source: TextLike | None, *, ids: bool
) -> tuple[str, ...] | None:
    """Return the source text of each segment, where it is known."""
    if references is not None or source is None:
        return None if references is None else references.source
    text = in_order(nbest, source, "the source") if ids else text_file(source, "the source")
    lines = corpus.read_source(text)
    if len(lines) != len(nbest):
        raise InputError(
            f"the source has {counted(len(lines), 'line')}, the lists "
            f"{counted(len(nbest), 'segment')}"
        )
    return lines


def in_order(nbest: NBest, text: TextLike, name: str) -> LinesById:
    """Return a text whose lines begin with ids in the order of the lists' segments, without ids.

    Raises
    ------
    InputError
        An id is on one side only.
    """
    return read_by_id(text_file(text, name), LinesById("the n-best lists", (), _ids(nbest)))


def _ids(nbest: NBest) -> tuple[str, ...]:
    """Return what the lists call their segments; numbers from 0 where they have no names."""
    return nbest.ids or tuple(str(n) for n in range(len(nbest)))


def _in_order(
    nbest: NBest, references: References, known: SegmentNames | None, notice: Notice
) -> References:
    """Return references in the order of the lists' segments."""
    if known is not None and known.known is not None:
        return references.take(
            positions(_ids(nbest), known.known, lists="the n-best lists", where=known.where)
        )
    if nbest.ids is not None:
        first = [references.texts.words(int(row))[:1] for row in references.offsets[:-1]]
        if {name for words in first for name in words} == set(nbest.ids):
            raise InputError(
                "the references begin with the ids of the lists' segments; give --ids"
            )
        notice(
            f"line n of the references is taken for the n-th segment of the lists (the first is "
            f"{nbest.ids[0]}); references whose lines begin with ids: --ids"
        )
    return references


def _read(
    paths: Sequence[PathLike],
    nbest_format: str | Reader,
    vocabulary: Vocabulary,
    segments: int | None,
    notice: Notice,
    names: SegmentNames | None = None,
) -> NBest:
    reader = registry.reader(nbest_format) if isinstance(nbest_format, str) else nbest_format
    return files.read_nbest(
        paths, vocabulary, segments=segments, notice=notice, reader=reader, names=names
    )
