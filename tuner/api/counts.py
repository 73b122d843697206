"""Lists whose statistics are known without texts: arrays, Moses' .dat files, pools on disk."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

import portmert
from portmert.metrics._base import Batch, FloatArray, IntArray, Metric, Vocabulary, offsets_of

from ..base.errors import ConfigError, InputError, counted, faults_at
from ..base.files import Lines, TextFile
from ..base.warn import warn
from ..components import external, registry
from ..nbest import check, moses_dat, parts, pool, pool_files
from ..nbest.model import NBest, without_texts
from ..nbest.readers._base import Reader
from ..runs.config import content_of
from ..search import problem, stat_tables
from ..texts import corpus, statistics, text_pipeline
from ..texts.prepare import Preparation, signature
from ..weights.feature_weights import FeatureNames
from .texts import Notice


class CountedLists(NamedTuple):
    """Hypotheses without texts, with their statistics.

    Parameters
    ----------
    nbest
    stats
        Statistics of all hypotheses.
    metric
        The metric of the statistics.
    signature
        The metric and all else that scores depend on.
    seconds
        The time of each phase.
    """

    nbest: NBest
    stats: problem.StatTable
    metric: Metric
    signature: str
    seconds: dict[str, float]


@dataclass(frozen=True)
class Mean(external.MeanOfScores):
    """The mean of given scores, one for each hypothesis."""

    source: ClassVar[str] = "whatever made the numbers"
    reads_references: ClassVar[bool] = False

    @classmethod
    def name(cls) -> str:
        """Return its name in signatures."""
        return "mean"

    def stats(self, batch: Batch) -> FloatArray:  # noqa: ARG002  the base's signature
        """Refuse texts: the scores are given."""
        raise TypeError("scores are given, texts are not scored")


@dataclass(frozen=True, eq=False)
class Arrays:
    """Features from arrays, with a table of scores or statistics.

    Parameters
    ----------
    nbest
    table : (H, K) float64 or None
        The statistics; of scores the score and 1.
    of_scores
        Whether the table was made of scores.
    """

    name: ClassVar[str] = "arrays"
    nbest: NBest
    table: FloatArray | None
    of_scores: bool

    @classmethod
    def of(
        cls, features: Any, offsets: Any, names: Sequence[str] | None, scores: Any, stats: Any
    ) -> Arrays:
        """Check the shapes; parameters are those of `Lists.from_arrays`."""
        if scores is not None and stats is not None:
            raise ValueError("give scores or stats, not both")
        values, bounds, shape = _flat_features(features, offsets)
        rows, width = values.shape
        table = None
        if scores is not None:
            numbers = _finite("scores", scores)
            _check_shape("scores", numbers.shape, shape, "one score for each hypothesis")
            table = np.column_stack([numbers.reshape(-1), np.ones(rows)])
        elif stats is not None:
            numbers = _finite("stats", stats)
            _check_shape("stats", numbers.shape[:-1], shape, "a row for each hypothesis")
            table = np.ascontiguousarray(numbers.reshape(rows, -1))
        called = [f"f{n}" for n in range(width)] if names is None else list(names)
        if len(called) != width or len(set(called)) != width:
            raise ValueError(f"{len(set(called))} different names for {counted(width, 'feature')}")
        nbest = without_texts(values, bounds, tuple((name, 1) for name in called), None)
        return cls(nbest, table, scores is not None)

    def counted(self, metric: Metric | None, **_: object) -> CountedLists:
        """Return the statistics, and the metric that they are of."""
        if self.table is None:
            raise ValueError("give Lists.from_arrays scores, or stats and optimize their metric")
        if self.of_scores:
            if metric is not None:
                raise ValueError("the arrays have scores: give no metric, or stats of the metric")
            metric = Mean()
        elif metric is None:
            raise ValueError("stats need the metric that they are of")
        elif self.table.shape[1] != len(metric.stat_names):
            raise ValueError(
                f"stats with {counted(self.table.shape[1], 'number')} for each hypothesis; "
                f"{metric.name()} has {len(metric.stat_names)}: {', '.join(metric.stat_names)}"
            )
        table = problem.StatTable(self.table)
        return CountedLists(self.nbest, table, metric, signature(metric, "arrays"), {})


def _flat_features(features: Any, offsets: Any) -> tuple[FloatArray, IntArray, tuple[int, ...]]:
    """Return (H, F) features, (S + 1,) offsets, and the shape that scores must have."""
    values = _finite("features", features)
    expected = "(S, N, F), or (H, F) and offsets" if offsets is None else "(H, F) with offsets"
    if values.ndim != (3 if offsets is None else 2):
        raise ValueError(f"features of shape {values.shape}; expected {expected}")
    shape = values.shape[:-1]
    if not values.shape[-1]:
        raise ValueError(f"features of shape {values.shape}; a hypothesis has no feature")
    if offsets is None:
        segments, each, width = values.shape
        values = values.reshape(-1, width)
        bounds = np.arange(segments + 1, dtype=np.int64) * each
    else:
        bounds = np.asarray(offsets, dtype=np.int64)
    is_row = bounds.ndim == 1 and bounds.size > 1
    if not is_row or bounds[0] or bounds[-1] != len(values) or (np.diff(bounds) < 1).any():
        raise ValueError(
            f"offsets must rise from 0 to the {len(values)} hypotheses: each segment has one"
        )
    return np.asfortranarray(values), bounds, shape


def _check_shape(
    name: str, found: tuple[int, ...], expected: tuple[int, ...], meaning: str
) -> None:
    """Raise ValueError if an array does not belong to the features."""
    if found != expected:
        hint = ""
        if found == expected[::-1]:
            hint = "; it is transposed"
        elif int(np.prod(found)) == int(np.prod(expected)):
            hint = "; it is flattened"
        raise ValueError(f"{name} of shape {found}; the features want {expected}, {meaning}{hint}")


def _finite(name: str, given: Any) -> FloatArray:
    values = np.asarray(given, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite")
    return values


@dataclass(frozen=True, eq=False)
class DatFiles:
    """Moses' features.dat and scores.dat.

    Parameters
    ----------
    dat
        The content of the files.
    nbest
        The features among it.
    seconds
        The time that reading took.
    """

    name: ClassVar[str] = "features.dat and scores.dat"
    dat: moses_dat.DatLists
    nbest: NBest
    seconds: float

    def counted(self, metric: Metric | None, **_: object) -> CountedLists:
        """Return the statistics, if they can be those of the metric."""
        if metric is None:
            raise ValueError("scores.dat needs the metric that it is of")
        table = problem.StatTable(stat_tables.moses_stats(self.dat, metric))
        described = signature(metric, "stats:moses")
        return CountedLists(self.nbest, table, metric, described, {"reading": self.seconds})


def pool_cannot(what: str) -> ConfigError:
    """Return the error for something that lists in a pool on disk do not have, or do."""
    return ConfigError(f"lists in a pool on disk {what}; leave out the pool to read them anew")


@dataclass(frozen=True, eq=False)
class Pooled:
    """A pool on disk of n-best lists; it is made where it is not there.

    Parameters
    ----------
    folder : Path
        Where the pool is, or will be.
    lists
        Files; `-` cannot be read again and is none.
    refs, source, ref_links, nbest_format
        As in `Lists`.
    pipeline : TextPipeline
        The text steps.
    """

    name: ClassVar[str] = "a pool on disk"
    folder: Path
    lists: tuple[Path, ...]
    refs: tuple[TextFile, ...]
    source: TextFile | None
    ref_links: tuple[TextFile, ...]
    nbest_format: str | Reader
    pipeline: text_pipeline.TextPipeline

    def __post_init__(self) -> None:
        """Refuse lists that are no files, and lists without references."""
        if not self.lists or Path("-") in self.lists:
            raise InputError("a pool on disk is made of lists in files, which are read again")
        if not self.refs:
            raise InputError(
                "a pool on disk needs references: they say how many segments there are"
            )

    def counted(self, metric: Metric | None, *, threads: int, notice: Notice) -> CountedLists:
        """Open the pool, or make it.

        Raises
        ------
        PortmertError
            Lists, references and metric do not fit, or the folder holds something else or a
            damaged pool, or cannot be written.
        """
        if metric is None:
            raise ValueError("a pool on disk needs the metric to tune on")
        stat_tables.check_pooled(metric)
        begin = time.perf_counter()
        vocabulary = Vocabulary()
        ready = Preparation(self.pipeline)
        references = ready.references(
            corpus.read_references(
                self.refs, vocabulary=vocabulary, source=self.source, links=self.ref_links
            )
        )
        for path in self.lists:
            with faults_at(path, OSError, InputError):
                path.stat()  # before a folder is made
        inputs = self._inputs(metric)
        found = pool_files.open_pool(self.folder, inputs)
        if found is None or isinstance(found, str):
            why = "" if found is None else f" anew: {found}"
            notice(f"the pool in {self.folder} is made{why}")
            with pool_files.locked(self.folder):
                self._make(inputs, metric, references, vocabulary, threads)
            found = pool_files.open_pool(self.folder, inputs)
            if found is None or isinstance(found, str):
                raise InputError(f"{self.folder}: the pool is gone; another process changed it")
        for line in found.notices:
            notice(line)
        for line in found.warnings:
            warn(line)
        nbest = without_texts(found.features.T, found.offsets, found.feature_names, None)
        described = ready.signature(metric, references.offsets)
        seconds = {"pool": time.perf_counter() - begin}
        return CountedLists(nbest, problem.StatTable(found.stats), metric, described, seconds)

    def _inputs(self, metric: Metric) -> dict[str, object]:
        """Return what tells this pool from another, as JSON holds it."""
        reader = self.nbest_format
        return {
            "portmert": portmert.__version__,
            "metric": content_of(metric),
            "lists": content_of(self.lists),
            "format": reader if isinstance(reader, str) else repr(reader),
            "refs": _contents(self.refs),
            "source": _contents(() if self.source is None else (self.source,)),
            "ref_links": _contents(self.ref_links),
            "text": [str(self.pipeline), content_of(self.pipeline.model)],
        }

    def _make(
        self,
        inputs: dict[str, object],
        metric: Metric,
        references: corpus.References,
        vocabulary: Vocabulary,
        threads: int,
    ) -> None:
        """Read the lists part by part, and write the pool."""
        said: list[str] = []
        segments = len(references)
        sizes = np.zeros(segments, dtype=np.int64)
        seen = statistics.Seen(metric)
        form = self.nbest_format
        lists = [
            parts.PartedList(
                path,
                registry.reader(form) if isinstance(form, str) else form,
                vocabulary,
                segments,
                said.append,
            )
            for path in self.lists
        ]
        feature_names: FeatureNames = ()
        with pool_files.PoolWriter(self.folder) as writer:
            for present, merged in parts.merged_parts(lists, said.append):
                feature_names = merged.feature_names
                sizes[present] = np.diff(merged.offsets)
                lengths = np.zeros(segments, dtype=np.int64)
                lengths[present] = sizes[present]
                nbest = replace(merged, offsets=offsets_of(lengths))  # all segments, some empty
                if references.source_lengths is not None:
                    check.check_links(nbest, references.source_lengths)
                # A pipeline remembers all texts that it has seen: each part gets its own.
                steps = text_pipeline.TextPipeline(self.pipeline.steps, self.pipeline.model)
                texts = steps.applied(nbest.texts, "hyp")
                batch = corpus.make_batch(texts, nbest.offsets, references)
                statistics.check_texts(metric, batch)
                part = batch.segments(int(present[0]), int(present[-1]) + 1)
                stats = statistics.compute_stats(metric, part, threads=threads)
                seen.add(batch)
                writer.add(nbest.features, stats)
            where = str(self.lists[0]) if len(lists) == 1 else "the n-best lists together"
            pool.segment_sizes(np.flatnonzero(sizes), segments, where)
            several = len(lists) > 1
            described = [f"{one.path}: " * several + one.describe() for one in lists]
            writer.finish(
                offsets_of(sizes),
                inputs=inputs,
                feature_names=feature_names,
                notices=[*described, *dict.fromkeys(said)],
                warnings=seen.lines(batch),
            )


def _contents(texts: Sequence[TextFile]) -> list[str]:
    """Return a hash of each text, from a file or not."""
    return [
        hashlib.sha256("\n".join(text).encode()).hexdigest()
        if isinstance(text, Lines)
        else corpus.content_digest(Path(text))
        for text in texts
    ]


Counts = Arrays | DatFiles | Pooled
"""Lists that have statistics and no texts."""
