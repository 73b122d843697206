"""Times the steps of a run on a few of its segments, by what the run itself would use."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from portmert.aligners._base import tokens
from portmert.metrics._base import IntArray, Texts, Vocabulary
from portmert.tuner.annotation.annotators._workers import close_all
from portmert.tuner.ground import streams
from portmert.tuner.ground.errors import InputError, counted
from portmert.tuner.ground.files import read_bytes, read_lines, write_text
from portmert.tuner.ground.processes import available_processors
from portmert.tuner.nbest.model import NBest
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.runs.config import Experiment
from portmert.tuner.runs.experiment import start_weights
from portmert.tuner.runs.meter import Cost, Meter, peak_bytes
from portmert.tuner.runs.scorer import Evaluator
from portmert.tuner.search.optimization import Optimization, Setup, optimize_lists

FEW = 2
"""Segments of a first decoding: what another takes longer is due to its segments."""
TILES = (2, 8)
"""How many times the sample is searched at once, so that a search is seen to grow."""
ONE_PROCESS = {"processes": 1, "jobs": 1, "threads": 1}
"""How a decoder is measured, so that its time is that of one worker."""


@dataclass(frozen=True)
class Sample:
    """Holds what a sample took; sizes of a run are in segments like those of the sample.

    Parameters
    ----------
    segments
        Decoded, annotated, counted and searched.
    dev, held_out, test
        How many such segments the sets of the run are worth, by their tokens.
    loading
        Of libraries and kernels.
    training
        Of the decoder's models, where they were not there.
    linking
        Of the aligner's model and the references' links.
    start, segment
        Of one decoder process before its first segment; of a segment.
    hypotheses
        Of the lists of a segment.
    reading, counting
        Of one hypothesis: read and linked; its statistics.
    annotated, sentence
        Share of hypotheses that a search asks the parses of; the cost of one sentence.
    search, search_hypothesis
        Of a search over no hypothesis, and of one hypothesis more.
    shared
        Share of a search that threads can do at once.
    decoder_bytes, other_bytes
        The most memory of one process, of the decoder and of aligner or annotator; None where
        there is none, or the system does not tell.
    command_bytes, hypothesis_bytes
        What this process held at most, and what the arrays of one hypothesis take.
    list_bytes, scratch_bytes, link_bytes, cache_bytes, kept_bytes
        On disk: the list of a segment, the same unpacked, links of a hypothesis, annotation of a
        sentence, and what there is once.
    busy
        Seconds on the clock for each of a processor, in this process: above 1 where others work.
    took
        Seconds that the sample took in all.
    """

    segments: int
    dev: float
    held_out: float
    test: float
    loading: Cost
    training: Cost
    linking: Cost
    start: Cost
    segment: Cost
    hypotheses: float
    reading: Cost
    counting: Cost
    annotated: float
    sentence: Cost
    search: Cost
    search_hypothesis: Cost
    shared: float
    decoder_bytes: int | None
    other_bytes: int | None
    command_bytes: int
    hypothesis_bytes: float
    list_bytes: float
    scratch_bytes: float
    link_bytes: float
    cache_bytes: float
    kept_bytes: float
    busy: float
    took: float = 0.0


def take_sample(experiment: Experiment, segments: int, note: Callable[[str], None]) -> Sample:
    """Time the steps of a run; what it leaves is the trained models that a decoder keeps.

    Parameters
    ----------
    segments
        How many to take; all there are where there are fewer, or where the decoder reads all.

    Raises
    ------
    PortmertError
        What the run would raise at these steps.
    """
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="portmert-plan-") as name:
        taken = _Taking(experiment, segments, Path(name), note)
        with closing(taken.evaluator):
            sample = taken.sample()
        close_all()
    return replace(sample, took=time.perf_counter() - begin)


@dataclass
class _Annotating:
    """Counts what is annotated within a search, and how long it takes."""

    annotate: Callable[[IntArray], Texts]
    cost: Cost = field(default_factory=Cost)
    sentences: int = 0

    def __call__(self, chosen: IntArray) -> Texts:
        begin = time.perf_counter()
        found = self.annotate(chosen)
        took = time.perf_counter() - begin
        self.cost = self.cost.plus(Cost(took, took))  # its processes are not asked while they run
        self.sentences += len(chosen)
        return found


class _Taking:
    """Takes one sample, in a folder of its own."""

    def __init__(
        self, experiment: Experiment, segments: int, folder: Path, note: Callable[[str], None]
    ) -> None:
        self.given = experiment
        self.begun = Cost(time.process_time(), time.process_time())
        self.folder = folder
        self.meter = Meter()
        self.lines = read_lines(experiment.data.source)
        if not self.lines:
            raise InputError(
                f"{experiment.data.source}: the file is empty; there is nothing to do"
            )
        whole = experiment.decoder.reads_whole
        self.chosen = chosen(self.lines, len(self.lines) if whole else segments)
        self.experiment = self._smaller()
        self.note = note
        self.evaluator = Evaluator(
            self.experiment,
            annotations=self._made("annotations"),
            scratch=self._made("scratch"),
            split_seed=experiment.tune.seed,
            note=_silent,
            progress=lambda _done, _total: None,
        )

    def _made(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    def _smaller(self) -> Experiment:
        """Return the experiment with the sample as its dev set, in one process and thread."""
        given = self.given
        data = given.data

        def part(name: str, path: Path) -> Path:
            lines = read_lines(path)
            if len(lines) != len(self.lines):
                raise InputError(
                    f"{path}: {counted(len(lines), 'line')}, {data.source} has {len(self.lines)}; "
                    f"they must be of the same segments"
                )
            out = self.folder / name
            write_text(out, "".join(f"{lines[n]}\n" for n in self.chosen))
            return out

        def parts(name: str, paths: Sequence[Path]) -> tuple[Path, ...]:
            return tuple(part(f"{name}{n}", path) for n, path in enumerate(paths))

        source = part("source", data.source)
        smaller = replace(
            data,
            source=source,
            references=parts("reference", data.references),
            reference_links=parts("links", data.reference_links),
        )
        own = {item.name for item in fields(given.decoder)} & ONE_PROCESS.keys()
        aligner: Any = given.aligner
        saved = getattr(aligner, "saved", None)
        if saved is not None and not saved.exists():  # trained on the sample, it is of no use
            aligner = replace(aligner, saved=None)
        return replace(
            given,
            data=smaller,
            tune=replace(
                given.tune, threads=1, held_out=0.0, annotation_cache=self._made("cache")
            ),
            decoder=replace(given.decoder, **{name: ONE_PROCESS[name] for name in own}),
            aligner=aligner,
        )

    # The steps of a run.

    def sample(self) -> Sample:
        """Do all steps once, and return what they took."""
        decoder, evaluator, meter = self.experiment.decoder, self.evaluator, self.meter
        with meter.measured():
            decoder.train()
        training = meter.cost
        weights = start_weights(self.experiment)
        self.note(f"decoding {len(self.chosen)} of {counted(len(self.lines), 'dev segment')}")
        start, segment, decoder_bytes = self._decoded(weights)
        with meter.measured():
            _ = evaluator.references
        linking, other_bytes = meter.cost, meter.child_bytes
        with meter.measured():
            read_nbest([self.folder / "nbest.gz"], Vocabulary())  # loads what reads
        loading = meter.cost
        with meter.measured():
            nbest = evaluator.read(self.folder / "nbest.gz")
        reading = meter.cost
        loading = self.begun.plus(loading.less(reading))
        hypotheses = len(nbest.texts)
        with meter.measured():
            evaluator.dev(nbest)
        other_bytes = max(other_bytes or 0, meter.child_bytes or 0)
        pool, annotate = evaluator.for_metric(nbest)
        annotating = None if annotate is None else _Annotating(annotate)

        def search(segments: int | None, threads: int = 1) -> tuple[Optimization, Cost]:
            return self._search(pool, weights, segments, threads, annotating)

        self.note(f"searching over their {counted(hypotheses, 'hypothesis')}")
        with meter.measured():
            first, cost = search(None)  # loads kernels, and annotates
        other_bytes = max(other_bytes, meter.child_bytes or 0)
        small, large = (min(len(self.lines), n * len(self.chosen)) for n in TILES)
        each = hypotheses / len(self.chosen)
        found, less = search(small)
        more, fixed, single = less, Cost(), less.times(1 / (small * each))
        if large > small:
            found, more = search(large)
            single = more.less(less).times(1 / ((large - small) * each))
            fixed = less.less(single.times(small * each))
        shared, processors = 0.0, available_processors()
        if processors > 1:
            _, both = search(small, processors)
            shared = (1 - both.wall / max(less.wall, 1e-9)) / (1 - 1 / processors)
            shared = min(1.0, max(0.0, shared))
        sentences = 0 if annotating is None else annotating.sentences
        loading = loading.plus(cost.less(fixed.plus(single.times(hypotheses))))
        sizes = self._sizes()
        kept = self._disk("annotations")
        link_bytes = self._disk("annotations", "links.sqlite3")
        counting = found.seconds.get("statistics", 0.0) / hypotheses
        data = self.given.data
        return Sample(
            segments=len(self.chosen),
            dev=sizes(data.source),
            held_out=sizes(data.held_out_source),
            test=sizes(data.test_source),
            loading=loading,
            training=training,
            linking=linking,
            start=start,
            segment=segment,
            hypotheses=each,
            reading=reading.times(1 / hypotheses),
            counting=Cost(counting, counting),
            annotated=0.0 if annotating is None else first.known / first.hypotheses,
            sentence=annotating.cost.times(1 / max(sentences, 1)) if annotating else Cost(),
            search=fixed,
            search_hypothesis=single,
            shared=shared,
            decoder_bytes=decoder_bytes,
            other_bytes=other_bytes or None,
            command_bytes=peak_bytes(),
            hypothesis_bytes=_bytes_of(pool, len(self.experiment.metric.stat_names)) / hypotheses,
            list_bytes=(self.folder / "nbest.gz").stat().st_size / len(self.chosen),
            scratch_bytes=len(read_bytes(self.folder / "nbest.gz")) / len(self.chosen),
            link_bytes=link_bytes / hypotheses,
            cache_bytes=self._disk("cache") / max(sentences, 1) if annotating else 0.0,
            kept_bytes=kept - link_bytes,
            busy=max(1.0, more.wall / max(more.cpu, 1e-9)),
        )

    def _decoded(self, weights: Any) -> tuple[Cost, Cost, int | None]:
        """Decode a few and all of the sample; return the costs of starting and of a segment."""
        few = self.folder / "few"
        source = self.experiment.data.source
        count = len(self.chosen)
        write_text(few, "".join(f"{line}\n" for line in read_lines(source)[:FEW]))
        size = self.experiment.tune.nbest
        less = Cost()
        if count > FEW and not self.experiment.decoder.reads_whole:
            with self.meter.measured():
                self.evaluator.decode(weights, self.folder / "few.gz", source=few, size=size)
            less = self.meter.cost
        with self.meter.measured():
            self.evaluator.decode(weights, self.folder / "nbest.gz", source=source, size=size)
        more, held = self.meter.cost, self.meter.child_bytes
        if less == Cost():
            return Cost(), more.times(1 / count), held
        segment = more.less(less).times(1 / (count - FEW))
        return less.less(segment.times(FEW)), segment, held

    def _search(
        self,
        pool: NBest,
        weights: Any,
        segments: int | None,
        threads: int,
        annotating: _Annotating | None,
    ) -> tuple[Optimization, Cost]:
        """Search over so many segments, the sample's again and again, and return the cost."""
        experiment = self.experiment
        setup = Setup(
            experiment.optimizer,
            (weights,),
            experiment.constraints,
            streams.iteration(experiment.tune.seed, 1),
            threads,
            experiment.tune.prior,
            weights,
        )
        before = Cost() if annotating is None else annotating.cost
        begin, used = time.perf_counter(), time.process_time()
        found = optimize_lists(
            pool,
            self.evaluator.references,
            experiment.metric,
            setup,
            notice=_silent,
            annotate=annotating,
            segments=None if segments is None else np.arange(segments) % len(self.chosen),
        )
        cost = Cost(time.perf_counter() - begin, time.process_time() - used)
        if annotating is not None:
            cost = cost.less(Cost(annotating.cost.wall - before.wall, 0.0))
        counting = found.seconds.get("statistics", 0.0)
        return found, cost.less(Cost(counting, counting))

    # What they leave.

    def _sizes(self) -> Callable[[Path | None], float]:
        each = sum(len(tokens(self.lines[n])) + 1 for n in self.chosen) / len(self.chosen)

        def size(path: Path | None) -> float:
            lines = [] if path is None else read_lines(path)
            return sum(len(tokens(line)) + 1 for line in lines) / each

        return size

    def _disk(self, name: str, pattern: str = "*") -> int:
        found = (self.folder / name).rglob(pattern)
        return sum(path.stat().st_size for path in found if path.is_file())


def chosen(lines: Sequence[str], count: int) -> list[int]:
    """Return the numbers of so many lines, of all lengths as there are, in order."""
    order = sorted(range(len(lines)), key=lambda n: (len(tokens(lines[n])), n))
    count = min(count, len(order))
    places = {(2 * n + 1) * len(order) // (2 * count) for n in range(count)}
    return sorted(order[place] for place in places)


def _bytes_of(pool: NBest, width: int) -> int:
    """Return the bytes of the arrays that a search holds, with statistics of that width."""
    texts = pool.texts
    arrays: list[Any] = [pool.features, texts.tokens.values, texts.tokens.offsets]
    if texts.links is not None:
        arrays += [texts.links.values, texts.links.offsets]
    if pool.sparse is not None:
        arrays += [pool.sparse.offsets, pool.sparse.columns, pool.sparse.values]
    return sum(int(array.nbytes) for array in arrays) + 8 * width * len(texts)


def _silent(_: str) -> None:
    """Say nothing: the sample's notes are not the run's."""
