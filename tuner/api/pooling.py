"""Makes pools on disk of n-best lists, and opens those that are there."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import portmert
from portmert.metrics._base import Metric, Vocabulary, offsets_of
from portmert.tuner.api.texts import Notice
from portmert.tuner.components import registry
from portmert.tuner.ground.errors import InputError
from portmert.tuner.ground.files import Lines, TextFile, file_digest
from portmert.tuner.nbest.check import check_links
from portmert.tuner.nbest.parts import PartedList, merged_parts
from portmert.tuner.nbest.pool import segment_sizes
from portmert.tuner.nbest.pool_files import Pool, PoolWriter, locked, open_pool
from portmert.tuner.nbest.readers._base import Reader
from portmert.tuner.runs.contents import content_of
from portmert.tuner.search.stat_tables import check_pooled
from portmert.tuner.texts.corpus import References, make_batch, read_references
from portmert.tuner.texts.prepare import Preparation
from portmert.tuner.texts.statistics import Seen, check_texts, compute_stats
from portmert.tuner.texts.text_pipeline import TextPipeline
from portmert.tuner.weights.feature_weights import FeatureNames


@dataclass(frozen=True, eq=False)
class Pooled:
    """Makes a pool on disk of n-best lists, or opens it where it is there.

    Parameters
    ----------
    folder : Path
        Where the pool is, or will be.
    lists
        Files; `-`, which cannot be read again, is none.
    refs, source, ref_links, nbest_format
        As of `optimize`.
    metric : Metric
        Whose statistics it holds.
    pipeline : TextPipeline
        What is done to the texts.
    threads : int
        That statistics are computed in.
    notice : callable
        Called with one line for what is worth knowing.
    """

    folder: Path
    lists: tuple[Path, ...]
    refs: tuple[TextFile, ...]
    source: TextFile | None
    ref_links: tuple[TextFile, ...]
    nbest_format: str | Reader
    metric: Metric
    pipeline: TextPipeline
    threads: int
    notice: Notice

    def __post_init__(self) -> None:
        """Refuse what is no file, no reference, and a metric that needs what a pool has not."""
        if not self.lists or Path("-") in self.lists:
            raise InputError("a pool on disk is made of lists in files, which are read again")
        if not self.refs:
            raise InputError(
                "a pool on disk needs references: they say how many segments there are"
            )
        check_pooled(self.metric)

    def open(self) -> tuple[Pool, str, dict[str, float]]:
        """Return the pool, what scores depend on, and the seconds it took.

        Raises
        ------
        PortmertError
            Lists, references and metric do not fit, or the folder holds something else or a
            damaged pool, or cannot be written.
        """
        begin = time.perf_counter()
        vocabulary = Vocabulary()
        ready = Preparation(self.pipeline)
        references = ready.references(
            read_references(
                self.refs, vocabulary=vocabulary, source=self.source, links=self.ref_links
            )
        )
        inputs = self._inputs()
        found = open_pool(self.folder, inputs)
        if found is None or isinstance(found, str):
            why = "" if found is None else f" anew: {found}"
            self.notice(f"the pool in {self.folder} is made{why}")
            with locked(self.folder):
                self._make(inputs, references, vocabulary)
            found = open_pool(self.folder, inputs)
            if found is None or isinstance(found, str):
                raise InputError(f"{self.folder}: the pool is gone; another process changed it")
        for line in found.notices:
            self.notice(line)
        seconds = {"pool": time.perf_counter() - begin}
        return found, ready.signature(self.metric, references.offsets), seconds

    def _inputs(self) -> dict[str, object]:
        """Return what tells this pool from another, as JSON holds it."""
        reader = self.nbest_format
        return {
            "portmert": portmert.__version__,
            "metric": content_of(self.metric),
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
        references: References,
        vocabulary: Vocabulary,
    ) -> None:
        """Read the lists part by part, and write the pool."""
        said: list[str] = []
        segments = len(references)
        sizes = np.zeros(segments, dtype=np.int64)
        seen = Seen(self.metric)
        form = self.nbest_format
        lists = [
            PartedList(
                path,
                registry.reader(form) if isinstance(form, str) else form,
                vocabulary,
                segments,
                said.append,
            )
            for path in self.lists
        ]
        feature_names: FeatureNames = ()
        with PoolWriter(self.folder) as writer:
            for present, merged in merged_parts(lists, said.append):
                feature_names = merged.feature_names
                sizes[present] = np.diff(merged.offsets)
                lengths = np.zeros(segments, dtype=np.int64)
                lengths[present] = sizes[present]
                nbest = replace(merged, offsets=offsets_of(lengths))  # all segments, some empty
                if references.source_lengths is not None:
                    check_links(nbest, references.source_lengths)
                # A pipeline remembers all texts that it has seen: each part gets its own.
                steps = TextPipeline(self.pipeline.steps, self.pipeline.model)
                texts = steps.applied(nbest.texts, "hyp")
                batch = make_batch(texts, nbest.offsets, references)
                check_texts(self.metric, batch)
                part = batch.segments(int(present[0]), int(present[-1]) + 1)
                stats = compute_stats(self.metric, part, threads=self.threads)
                seen.add(batch)
                writer.add(nbest.features, stats)
            where = str(self.lists[0]) if len(lists) == 1 else "the n-best lists together"
            segment_sizes(np.flatnonzero(sizes), segments, where)
            several = len(lists) > 1
            described = [f"{one.path}: " * several + one.describe() for one in lists]
            writer.finish(
                offsets_of(sizes),
                inputs=inputs,
                feature_names=feature_names,
                notices=[*described, *dict.fromkeys(said), *seen.lines(batch)],
            )


def _contents(texts: Sequence[TextFile]) -> list[str]:
    """Return a hash of each text, from a file or not."""
    return [
        hashlib.sha256("\n".join(text).encode()).hexdigest()
        if isinstance(text, Lines)
        else file_digest(Path(text))
        for text in texts
    ]
