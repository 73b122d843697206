"""Merge the n-best lists of a run's iterations, one after the other, in memory or on disk."""

import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

import portmert
from portmert.metrics._base import FloatArray, IntArray, offsets_of

from ..base.errors import InputError
from ..base.files import file_digest
from ..base.mapped import BLOCK_BYTES, release
from ..nbest._pool_kernels import Rows
from ..nbest.check import check_links
from ..nbest.model import NBest, without_texts
from ..nbest.pool import HypothesisPool, empty_rows
from ..nbest.pool_files import Pool, PoolWriter, open_pool, text_keys, word_hashes
from ..nbest.read import merge
from ..search.problem import StatTable
from ..search.stat_tables import check_pooled, statistics_table
from ..texts.statistics import check_texts, compute_stats
from .scorer import Evaluator


class ListMerger:
    """The lists of a run's iterations, counted from 1. Callers never go back to an earlier one.

    They are in memory, merged in order: a resumed run numbers words like an unbroken one.

    Parameters
    ----------
    evaluator : Evaluator
    files : callable
        Number of an iteration -> the file of its list.
    """

    def __init__(self, evaluator: Evaluator, files: Callable[[int], Path]) -> None:
        self.evaluator = evaluator
        self.files = files
        self._last: tuple[int, NBest] | None = None
        self._merged: NBest | None = None
        self._count = 0

    def last(self, number: int) -> NBest:
        """Return the list of one iteration; those before it are merged then."""
        while self._merged is None or self._count < number:
            self._count += 1
            last = self._read(self._count)
            self._merged = last if self._merged is None else merge([self._merged, last])
        return self._read(number)

    def _read(self, number: int) -> NBest:
        if self._last is None or self._last[0] != number:
            _ = self.evaluator.references  # come first, so that words get numbers
            self._last = number, self.evaluator.read(self.files(number))
        return self._last[1]

    def count(self, number: int) -> int:
        """Return how many hypotheses there are in iterations 1..number."""
        self.last(number)
        return 0 if self._merged is None else len(self._merged.texts)

    def searched(self, number: int) -> tuple[NBest, StatTable]:
        """Return the lists of iterations 1..number merged, and the statistics of all of it.

        The texts are those that the metric sees.
        """
        experiment = self.evaluator.experiment
        self.last(number)
        assert self._merged is not None  # noqa: S101  `last` has seen to it
        nbest, annotate = self.evaluator.for_metric(self._merged)
        stats = statistics_table(
            nbest,
            self.evaluator.references,
            experiment.metric,
            threads=experiment.threads,
            notice=lambda _: None,  # the first outputs are checked when they are scored
            annotate=annotate,
        )
        return nbest, stats


class PooledLists(ListMerger):
    """Lists on disk, merged into a pool without texts.

    Only the list of the iteration that is being added is in memory. The pool of each iteration is
    a folder of its own; it is written whole before the one before it is removed.

    Parameters
    ----------
    evaluator, files
        See `ListMerger`.
    folder : Path
        Where the pools are.

    Raises
    ------
    ConfigError
        The metric's statistics cannot be kept.
    """

    def __init__(self, evaluator: Evaluator, files: Callable[[int], Path], folder: Path) -> None:
        super().__init__(evaluator, files)
        check_pooled(evaluator.experiment.metric)
        self.folder = folder
        self._pool: tuple[int, Pool] | None = None

    def last(self, number: int) -> NBest:
        """Return the list of one iteration."""
        return self._read(number)

    def count(self, number: int) -> int:
        """Return the number of rows."""
        return int(self._up_to(number).offsets[-1])

    def searched(self, number: int) -> tuple[NBest, StatTable]:
        """Return the lists without their texts, mapped."""
        pool = self._up_to(number)
        self._last = None  # its memory
        nbest = without_texts(pool.features.T, pool.offsets, pool.feature_names, None)
        return nbest, StatTable(pool.stats)

    def _up_to(self, number: int) -> Pool:
        """Return the pool of iterations 1..number, opened where it is there."""
        if self._pool is None or self._pool[0] != number:
            found = self._opened(number)
            if found is None:
                self._add(self._up_to(number - 1) if number > 1 else None, number)
                found = self._opened(number)
            assert found is not None  # noqa: S101  it was just written
            self._pool = number, found
            for earlier in filter(Path.exists, map(self._of, range(1, number))):
                shutil.rmtree(earlier)
        return self._pool[1]

    def _of(self, number: int) -> Path:
        return self.folder / f"{number:02d}"

    def _opened(self, number: int) -> Pool | None:
        folder = self._of(number)
        if not folder.exists():
            return None
        pool = open_pool(folder, self._inputs(number))
        return pool if isinstance(pool, Pool) else None

    def _inputs(self, number: int) -> dict[str, object]:
        """Return the digests of the lists in a pool, and the version that wrote it."""
        lists = [file_digest(self.files(k)) for k in range(1, number + 1)]
        return {"portmert": portmert.__version__, "lists": lists}

    def _add(self, before: Pool | None, number: int) -> None:
        """Write the pool before, with the list of an iteration added."""
        nbest, path = self.last(number), self.files(number)
        evaluator, metric = self.evaluator, self.evaluator.experiment.metric
        references = evaluator.references
        if references.source_lengths is not None:
            check_links(nbest, references.source_lengths)
        linked = nbest.texts.links is not None
        if before is None:
            before = Pool(  # of the same segments and features, without hypotheses
                features=np.empty((nbest.features.shape[1], 0)),
                stats=np.empty((0, len(metric.stat_names))),
                offsets=np.zeros(len(nbest) + 1, dtype=np.int64),
                feature_names=nbest.feature_names,
                keys=np.empty(0, dtype=np.int64),
            )
        elif before.linked != linked:
            raise InputError(
                f"{path}: some of the lists have word alignments, others none; those of one pool "
                f"on disk have all or none: leave out [tune] pool"
            )
        assert before.keys is not None  # noqa: S101  written below
        if nbest.sparse is not None or nbest.feature_names != before.feature_names:
            raise InputError(
                f"{path}: sparse features, or others than in iteration 1; a pool on disk holds "
                f"features that all hypotheses have: leave out [tune] pool"
            )
        batch = evaluator.ready.batch(nbest.texts, references, offsets=nbest.offsets)
        check_texts(metric, batch)
        hashes = word_hashes(nbest.texts.vocabulary.words)
        self._of(number).mkdir(parents=True, exist_ok=True)
        counts = np.zeros(len(nbest), dtype=np.int64)
        with PoolWriter(self._of(number)) as writer:
            for first, last in _blocks(before, nbest):
                old = slice(before.offsets[first], before.offsets[last])
                begin, end = int(nbest.offsets[first]), int(nbest.offsets[last])
                keys = text_keys(nbest.texts.rows(begin, end), hashes)
                pool = HypothesisPool(features=len(before.features))
                pool.append(
                    _rows(
                        before.offsets[first : last + 1], before.features[:, old], before.keys[old]
                    )
                )
                is_new = pool.append(
                    _rows(nbest.offsets[first : last + 1], nbest.features[begin:end].T, keys)
                )
                rows, order = pool.finish()
                added = compute_stats(
                    metric,
                    batch.segments(first, last).take(np.flatnonzero(is_new)),
                    threads=evaluator.experiment.threads,
                )
                stats = np.concatenate([np.asarray(before.stats[old], dtype=np.float64), added])
                writer.add(rows.features, stats[order], rows.tokens.view(np.int64))
                counts[first:last] = np.bincount(rows.segments, minlength=last - first)
                release(before.features, before.stats, before.keys)
            writer.finish(
                offsets_of(counts),
                inputs=self._inputs(number),
                feature_names=nbest.feature_names,
                notices=(),
                linked=linked,
            )


def _blocks(pool: Pool, nbest: NBest) -> Iterator[tuple[int, int]]:
    """Yield ranges first..last-1 of segments that are merged at once."""
    both = pool.offsets + nbest.offsets
    most = max(1, BLOCK_BYTES // (8 * (len(pool.features) + pool.stats.shape[1] + 1)))
    cuts = np.searchsorted(both, np.arange(0, both[-1], most))
    yield from pairwise(np.unique([0, *cuts, len(nbest)]).tolist())


def _rows(offsets: IntArray, features: FloatArray, keys: IntArray) -> Rows:
    """Return hypotheses of whole segments, the keys in place of their texts."""
    rows = empty_rows(len(keys), features=0, stats=0)
    return rows._replace(
        segments=np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)),
        tokens=np.ascontiguousarray(keys).view(np.int32),
        token_offsets=2 * np.arange(len(keys) + 1),
        features=np.ascontiguousarray(features.T),
    )
