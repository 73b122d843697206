"""Annotation of texts for metrics that need tags or parses, each distinct sentence once.

Answers go through the cache: the next iteration, the next run and an interrupted run find them
there. Metrics always get the records of the cache, whether they are old or new, so the arrays are
the same, bit for bit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from portmert.metrics import _base
from portmert.metrics._shared import flat
from portmert.metrics.kernels.pairs import first_equals

from ..base.context import current
from ..base.errors import AnnotatorError, InputError, ProgramError, counted, faults_at
from ..base.files import with_absolute_paths
from ..base.threads import Team
from ..base.warn import warn_of_machine
from ..texts.annotator import Annotation, AnnotationRequest, Annotator
from ..texts.statistics import NEED_NAMES
from . import expectation, records
from . import layers as layers_of
from .annotators._lookup import excerpt
from .cache import AnnotationCache, Row, default_folder, line_key
from .layers import KeptLayer

Words = tuple[str, ...]

SHARD = 64
"""Sentences that a worker of a cluster gets at a time."""

KEPT_TOGETHER = 256
KEPT_AFTER_SECONDS = 5.0
"""Answers go to the cache in portions: after this many, or this long after the last portion."""

LEAST_SENTENCES = 20
"""With fewer sentences, a share of failures says little."""


@dataclass(frozen=True)
class Distinct:
    """The D different texts among N, without the empty text.

    Parameters
    ----------
    lines
        The words of each, joined by spaces, in the order in which they first appear.
    tokens : Ragged
        D + 1 rows, the last one empty.
    index : (N,) int64
        The place of each text among the D + 1.
    """

    lines: list[str]
    tokens: _base.Ragged
    index: _base.IntArray

    @classmethod
    def of(cls, texts: _base.Texts) -> Distinct:
        """Find the different texts."""
        tokens = flat(texts.tokens)
        everything = np.array([0, len(texts)], dtype=np.int64)
        firsts = first_equals(tokens.values, tokens.offsets, everything)
        filled = tokens.lengths > 0
        rows = np.flatnonzero(filled & (firsts == np.arange(len(firsts))))
        index = np.where(filled, np.searchsorted(rows, firsts), len(rows))
        lines = [" ".join(texts.words(row)) for row in rows.tolist()]
        distinct_tokens = tokens.take(rows)
        return cls(
            lines,
            _base.Ragged(
                distinct_tokens.values,
                np.append(distinct_tokens.offsets, distinct_tokens.offsets[-1]),
            ),
            index,
        )


@dataclass(frozen=True)
class _SentenceRecords:
    """Distinct sentences, their keys, and their records for each layer."""

    lines: Sequence[str]
    keys: Sequence[bytes]
    columns: dict[KeptLayer, list[bytes]]

    def add(self, place: int, new_records: Mapping[KeptLayer, bytes]) -> Row:
        """Add the new records of a sentence; return them as the cache takes them."""
        for layer, record in new_records.items():
            self.columns[layer][place] = record
        return self.keys[place], {str(layer): record for layer, record in new_records.items()}


def opened(annotator: Annotator, **options: Any) -> CachedAnnotator:
    """Return an annotator with the cache of the context."""
    return CachedAnnotator(
        annotator, cache=current().annotation_cache or default_folder(), **options
    )


class CachedAnnotator:
    """The `texts.annotator.TextAnnotator`; `open_annotator` explains the parameters.

    Parameters
    ----------
    cache
        The folder of the cache; None keeps answers in memory only.
    max_failed
        If a larger share of sentences fails, the work stops.
    """

    def __init__(
        self, annotator: Annotator, *, cache: Path | None, processes: int, max_failed: float = 0.5
    ) -> None:
        self._context = current()
        self._annotator = annotator
        self.name = annotator.name()
        self._name = f"{self.name}{annotator.of_package()}"
        self._processes = processes
        self._max_failed = max_failed
        with faults_at(f"annotator {self._name}", AnnotatorError, ProgramError):
            self.fingerprint = annotator.fingerprint()
        self._cache = AnnotationCache(cache, self.fingerprint)
        self._lock = threading.RLock()
        self._said: set[str] = set()
        # Keys of sentences since the last reset, and how many there were before.
        self._seen: set[bytes] = set()
        self._made: set[bytes] = set()
        self._unparsed: set[bytes] = set()
        self._seen_before = self._failed_before = 0
        self._failed_told = 0
        self.seconds = 0.0
        self.depths: dict[int, int] = {}

    def reset(self) -> None:
        """Count from 0 again."""
        self._seen_before += len(self._seen)
        self._failed_before += len(self._unparsed)
        self._seen.clear()
        self._made.clear()
        self._unparsed.clear()
        self._failed_told = 0

    @property
    def counts(self) -> dict[str, int]:
        """Distinct sentences since the last `reset`: from the cache, new, and without a parse."""
        seen, misses = len(self._seen), len(self._made)
        return {"hits": seen - misses, "misses": misses, "failed": len(self._unparsed)}

    def close(self) -> None:
        """Close the cache."""
        self._cache.close()

    def annotate(self, texts: _base.Texts, needs: Iterable[_base.Need]) -> _base.Texts:
        """Return the texts with the tags and parses that metrics need: see `TextAnnotator`."""
        lacking: set[_base.Need] = {
            need for need in needs if str(need) in _base.SYNTAX and not texts.has(need)
        }
        none = _base.Arcs(0, 0.0)
        missing_needs: list[_base.Need] = sorted(
            lacking, key=lambda n: (str(n), n if isinstance(n, _base.Arcs) else none)
        )
        if not missing_needs:
            return texts
        layers = sorted({self._layer(need) for need in missing_needs})
        distinct = Distinct.of(texts)
        with self._lock:
            return self._filled(
                texts, missing_needs, distinct, self._records(distinct.lines, layers)
            )

    @property
    def gives(self) -> layers_of.Gives:
        """The layers that the annotator gives."""
        return self._annotator.gives

    def records(
        self, lines: Sequence[str], needs: Iterable[_base.Need]
    ) -> dict[KeptLayer, list[bytes]]:
        """Return the records of distinct sentences by layer; raises errors as `annotate`."""
        layers = [self._layer(need) for need in needs]
        with self._lock:
            return self._records(lines, layers)

    def has(self) -> list[_base.Need]:
        """Return all needs that the annotator meets with one parse."""
        return layers_of.everything(self._annotator.has())

    def _layer(self, need: _base.Need) -> KeptLayer:
        """Return the layer to keep for a need."""
        gives = self._annotator.gives
        layer = layers_of.kept_for(need, gives)
        if layer is not None:
            return layer
        annotations = NEED_NAMES[str(need)]
        if isinstance(need, _base.Arcs) and not need.parses:
            annotations = "expected links over all trees (edge marginals)"
        raise InputError(
            f"annotator {self._name} gives no {annotations}; it gives "
            f"{', '.join(sorted(gives))}: use another annotator, or a metric that needs less"
        )

    def _records(
        self, lines: Sequence[str], layers: Sequence[KeptLayer]
    ) -> dict[KeptLayer, list[bytes]]:
        """Return the records of distinct sentences, none empty; make those that are not kept."""
        keys = [line_key(line) for line in lines]
        by_name = self._cache.get([str(layer) for layer in layers], keys)
        cached = {layer: by_name[str(layer)] for layer in layers}
        sentence_records = _SentenceRecords(
            lines,
            keys,
            {layer: [record or records.UNPARSED for record in cached[layer]] for layer in cached},
        )
        self._seen.update(keys)
        missing = places_of(None, cached.values())
        self._made.update(keys[place] for place in missing)
        if missing:
            self._make(list(cached), missing, sentence_records)
        failed = places_of(records.UNPARSED, sentence_records.columns.values())
        self._unparsed.update(keys[place] for place in failed)
        self._check_failures(failed, sentence_records)
        # A search asks many times for a few sentences: tell again when there are twice as many.
        if len(self._unparsed) >= max(1, 2 * self._failed_told):
            self._failed_told = len(self._unparsed)
            warn_of_machine(
                f"annotator {self._name}: {self._failed_told} of "
                f"{counted(len(self._seen), 'sentence')} have no parse and count as unparsed"
            )
        return sentence_records.columns

    def _make(
        self,
        asked_layers: Sequence[KeptLayer],
        missing: Sequence[int],
        sentence_records: _SentenceRecords,
    ) -> None:
        """Ask the annotator for the sentences at the places `missing`, and keep its answers."""
        gives = self._annotator.gives
        failed: list[int] = []
        begin = time.monotonic()
        sentences = [_words(sentence_records.lines[place]) for place in missing]
        for request, layers in layers_of.requests(asked_layers, gives):
            rows: list[Row] = []
            since = time.monotonic()
            try:
                for number, answer in self._answers(sentences, request):
                    words, place = sentences[number], missing[number]
                    try:
                        new_records = layers_of.pack(answer, layers, gives, len(words))
                    except ValueError as error:
                        raise ProgramError(
                            f"annotator {self._name}: {error} in its answer to {excerpt(words)}"
                        ) from None
                    rows.append(sentence_records.add(place, new_records))
                    if records.UNPARSED in new_records.values():
                        failed.append(place)
                    seconds = time.monotonic()
                    if len(rows) >= KEPT_TOGETHER or seconds - since > KEPT_AFTER_SECONDS:
                        self._cache.put(rows)
                        rows, since = [], seconds
                        # If too many fail, there is no need to wait for the end.
                        self._check_failures(failed, sentence_records)
            finally:
                self._cache.put(rows)
        self.seconds += time.monotonic() - begin

    def _answers(
        self, sentences: Sequence[Words], request: AnnotationRequest
    ) -> Iterator[tuple[int, Annotation | None]]:
        """Yield the number of each sentence and one answer, in any order.

        Parses in files are looked up here, where the files are, and never on a cluster.
        """
        cluster = self._context.cluster
        with faults_at(f"annotator {self._name}", AnnotatorError, ProgramError):
            if cluster is None or self._annotator.looks_up:
                yield from self._answers_here(sentences, request)
            else:
                yield from self._answers_of(cluster, sentences, request)

    def _answers_here(
        self, sentences: Sequence[Words], request: AnnotationRequest
    ) -> Iterator[tuple[int, Annotation | None]]:
        """Yield the answers of processes of this machine, in order."""
        answers = self._annotator.annotate(sentences, request, processes=self._processes)
        for number, answer in enumerate(answers):
            yield number, answer
            self._context.progress("annotating", number + 1, len(sentences))

    def _answers_of(
        self, cluster: Team, sentences: Sequence[Words], request: AnnotationRequest
    ) -> Iterator[tuple[int, Annotation | None]]:
        """Yield the answers of the workers of a cluster, which take `SHARD` sentences each."""
        count = len(sentences)

        def name_of(shard: int) -> str:
            return f"sentences {shard * SHARD + 1} to {min((shard + 1) * SHARD, count)}"

        annotator = with_absolute_paths(self._annotator)
        tasks = [
            (annotator, self.fingerprint, sentences[begin : begin + SHARD], request)
            for begin in range(0, count, SHARD)
        ]
        done = 0
        for shard, answers in cluster.run(annotated_shard, tasks, name_of=name_of):
            done += len(answers)
            self._context.progress("annotating", done, count)
            yield from enumerate(answers, shard * SHARD)

    def _check_failures(self, places: Sequence[int], sentence_records: _SentenceRecords) -> None:
        """Stop if too many fail; these are not kept, because the reason may go away."""
        keys = [sentence_records.keys[place] for place in places]
        failed = self._failed_before + len(self._unparsed.union(keys))
        seen = self._seen_before + len(self._seen)
        if seen < LEAST_SENTENCES or failed <= self._max_failed * seen:
            return
        self._cache.forget([str(layer) for layer in sentence_records.columns], keys)
        example = excerpt(_words(sentence_records.lines[places[0]]))
        raise ProgramError(
            f"annotator {self._name}: no parse of {failed} of {counted(seen, 'sentence')}, more "
            f"than the share of {self._max_failed:g} that may fail (one is {example}); is it "
            f"the right model for this language?"
        )

    def _filled(
        self,
        texts: _base.Texts,
        needs: Sequence[_base.Need],
        distinct: Distinct,
        columns: Mapping[KeptLayer, list[bytes]],
    ) -> _base.Texts:
        """Return the texts with the wanted layers, made of records."""
        vocabulary = texts.vocabulary
        parts: dict[str, Any] = {}
        arcs = dict(texts.arcs)
        for need in needs:
            layer = self._layer(need)
            rows = [*columns[layer], records.UNPARSED]  # the last one is for empty texts
            if isinstance(need, _base.Arcs):
                arcs[need] = self._expected(need, layer, rows, vocabulary).take(distinct.index)
                continue
            rows_of_need: _base.Ragged | _base.Structures
            if need == "tags":
                rows_of_need = records.unpack_tags(rows, vocabulary)
            elif need == "heads":
                rows_of_need = records.unpack_heads(rows, vocabulary)
            elif need == "trees":
                rows_of_need = records.unpack_trees(rows, distinct.tokens, vocabulary)
            else:
                rows_of_need = records.unpack_structures(rows, vocabulary)
            parts[need] = rows_of_need.take(distinct.index)
        return replace(texts, arcs=arcs, **parts)

    def _expected(
        self,
        need: _base.Arcs,
        layer: KeptLayer,
        rows: Sequence[bytes],
        vocabulary: _base.Vocabulary,
    ) -> _base.ExpectedArcs:
        if layer.name == "marginals":
            return records.unpack_marginals(rows, vocabulary)
        if layer.name == "heads":
            most, arcs = 1, expectation.certain(records.unpack_heads(rows, vocabulary))
        else:
            arcs, counts = records.unpack_parses(rows, vocabulary, need.gamma)
            most = int(counts.max(initial=0))
        self.depths[need.parses] = max(most, self.depths.get(need.parses, 0))
        if need.parses > 1 and most == 1:
            self._say_once(
                f"annotator {self._name} gives one parse of a sentence: expected links are those "
                f"of it, EDPM is then DPM"
            )
        elif most < need.parses and len(rows) > LEAST_SENTENCES:
            self._say_once(
                f"annotator {self._name} gives at most {most} parses of a sentence, "
                f"{need.parses} are asked for: expected links are those of {most}"
            )
        return arcs

    def _say_once(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            warn_of_machine(line)


def annotated_shard(
    annotator: Annotator,
    fingerprint: str,
    sentences: Sequence[Sequence[str]],
    request: AnnotationRequest,
) -> list[Annotation | None]:
    """Return the annotations of some sentences.

    Parameters
    ----------
    fingerprint
        The fingerprint of the annotator on the machine that asks.

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
    answers = []
    for answer in annotator.annotate(sentences, request, processes=1):
        answers.append(answer)
        current().progress("annotating", len(answers), len(sentences))
    return answers


def _words(line: str) -> Words:
    return tuple(line.split(" "))


def places_of(value: bytes | None, columns: Iterable[Sequence[bytes | None]]) -> list[int]:
    """Return the places at which at least one column has the value."""
    with_it = [column for column in columns if value in column]  # usually none
    return sorted(
        {place for column in with_it for place, record in enumerate(column) if record == value}
    )
