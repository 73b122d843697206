"""Measures a sample of a run, and estimates its time, memory and disk.

A few dev segments are decoded, scored and searched as in the run itself. The costs measured are
scaled to the whole run: decoding by tokens, searches by hypotheses. Each figure is a range between
two cases. In one the run ends as early as possible and no iteration finds a new hypothesis. In the
other it has all its iterations, and each finds a full list of new hypotheses.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any, NamedTuple

import numpy as np

from portmert.aligners._base import tokens
from portmert.metrics._base import FloatArray, IntArray, Texts, Vocabulary
from portmert.tuner.annotation.annotators._workers import close_all
from portmert.tuner.ground import files, streams
from portmert.tuner.ground.errors import InputError, counted
from portmert.tuner.nbest.model import NBest
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.runs.config import Experiment
from portmert.tuner.runs.experiment import start_weights
from portmert.tuner.runs.scorer import Evaluator
from portmert.tuner.search.optimization import Setup, optimize_lists

MARGIN = 1.2
"""The ends of a range are this factor further out: a sample is small, and decoding under other
weights takes another time."""
FEW = 2
"""Segments of a first decoding: they tell the start of the decoder from its work."""
ONE_PROCESS = {"processes": 1, "jobs": 1, "threads": 1}
"""The options of a decoder with which the time is that of one worker."""

STEPS = {
    "loading": "loading libraries and kernels",
    "training": "training the decoder's models, kept",
    "references": "references, with the aligner's model",
    "start": "starting a decoder process",
    "segment": "decoding a segment",
    "reading": "reading and scoring a hypothesis",
    "annotation": "annotation, for a hypothesis of the pool",
    "search": "a search, for a hypothesis of the pool",
}
"""The measured steps: key -> label in the table."""


class Range(NamedTuple):
    """The lowest and the highest value that is expected."""

    low: float
    high: float


@dataclass(frozen=True)
class Needs:
    """The time of runs with a number of workers.

    Parameters
    ----------
    workers
        Number of processes that decode and annotate, each a segment or a chunk at a time.
    wall, cpu
        Seconds on the clock, and seconds of all processors together.
    """

    workers: int
    wall: Range
    cpu: Range


@dataclass(frozen=True)
class Sample:
    """The costs of a sample. Sizes of sets are in segments as long as those of the sample.

    Parameters
    ----------
    segments, hypotheses
        Sizes of the sample: its segments, and the hypotheses of one segment.
    dev, held_out, test
        Sizes of the run's sets.
    costs
        Step, a key of `STEPS` -> (2,) seconds on the clock and of processors.
    command_bytes, decoder_bytes, other_bytes
        The most memory of this process, of a process of the decoder, and of a process of the
        aligner or annotator; 0 where there is none or the system does not tell.
    hypothesis_bytes
        Size of the arrays of one hypothesis in memory.
    list_bytes, kept_bytes
        On disk: the list of a segment; links and annotation of a hypothesis.
    took
        Seconds on the clock of the whole sample.
    """

    segments: int
    hypotheses: float
    dev: float
    held_out: float
    test: float
    costs: dict[str, FloatArray]
    command_bytes: int
    decoder_bytes: int
    other_bytes: int
    hypothesis_bytes: float
    list_bytes: float
    kept_bytes: float
    took: float


@dataclass(frozen=True)
class Planned:
    """The plan of one experiment.

    Parameters
    ----------
    metric
        Signature of the metric tuned on.
    experiment, sample
        The planned experiment and the measured sample.
    searches
        Number of searches in one tuning, which decodes once more than it searches.
    hypotheses
        Number of hypotheses in the last search.
    needs
        The time, for each number of workers.
    command_bytes, folder_bytes
        Memory of the command; disk space for the run's folder and the annotation cache.
    """

    metric: str
    experiment: Experiment
    sample: Sample
    searches: Range
    hypotheses: Range
    needs: tuple[Needs, ...]
    command_bytes: Range
    folder_bytes: Range


def planned(experiment: Experiment, sample: Sample, workers: Sequence[int]) -> Planned:
    """Say what the whole of an experiment will need, from a sample that has been taken."""
    tune = experiment.tune
    limit = min(tune.iterations, tune.decodings or tune.iterations)
    low = _figures(experiment, sample, min(tune.patience, limit), workers, grows=False)
    high = _figures(experiment, sample, limit, workers, grows=True)

    def span(low: float, high: float) -> Range:
        return Range(low / MARGIN, high * MARGIN)

    return Planned(
        metric=experiment.metric.signature,
        experiment=experiment,
        sample=sample,
        searches=Range(min(tune.patience, limit), limit),
        hypotheses=Range(low[0], high[0]),
        needs=tuple(
            Needs(n, *map(span, *ends)) for n, *ends in zip(workers, low[3], high[3], strict=True)
        ),
        command_bytes=span(low[1], high[1]),
        folder_bytes=span(low[2], high[2]),
    )


def _figures(
    experiment: Experiment, sample: Sample, searches: int, workers: Sequence[int], *, grows: bool
) -> tuple[float, float, float, list[FloatArray]]:
    """Return one end of the ranges: for a number of searches, whose lists grow the pool or not.

    They are the hypotheses of the last search, bytes of memory, bytes on disk, and the seconds on
    the clock and of processors for each number of workers.
    """
    costs, tune = sample.costs, experiment.tune
    copies = 3 if grows else 1  # of a pool in memory at most, while lists are merged or searched
    longest = max(tune.nbest, sample.hypotheses)  # list of a segment
    later = longest if grows else sample.hypotheses
    new = longest if grows else 0.0
    pools = [sample.dev * (sample.hypotheses + new * search) for search in range(searches)]
    held = sample.dev * later if tune.pool else pools[-1]  # one list, or all
    listed = sample.dev * (sample.hypotheses + later * searches)
    lists = sample.list_bytes / sample.hypotheses * listed
    if tune.pool:
        lists += sample.hypothesis_bytes * pools[-1] * copies
    average = int(tune.replicas > 1)
    decodings = 1 + tune.replicas * searches + average  # all replicas share the first list
    searched = (sum(pools) + tune.bootstrap * pools[-1]) * (1 - tune.held_out)
    read = sample.dev * sample.hypotheses * (searches + 1)
    spent = []
    for count in workers:
        seconds = costs["loading"] + costs["training"] + costs["references"]
        for segments, times in (
            (sample.dev, decodings),
            (sample.held_out, decodings),
            (sample.test, tune.replicas + average),
        ):
            if segments:
                busy = min(count, max(segments, 1.0))
                start = costs["start"] * [1.0, busy]
                seconds = seconds + times * (start + costs["segment"] * segments * [1 / busy, 1.0])
        one = costs["search"] * searched + costs["reading"] * read
        one = one + costs["annotation"] * pools[-1] * [1 / count, 1.0]
        spent.append(seconds + tune.replicas * one)
    memory = sample.command_bytes + sample.hypothesis_bytes * held * copies
    disk = tune.replicas * (lists + sample.kept_bytes * pools[-1])
    return pools[-1], memory, disk, spent


# The sample.


class _Clock:
    """The costs of steps, and the most memory of a process that they started."""

    def __init__(self) -> None:
        self.costs: dict[str, FloatArray] = {}
        self.bytes: dict[str, int] = {}
        self._now = ""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add what is done within to the costs of a step."""
        before, self._now = self._now, name
        begin = _seconds()
        try:
            yield
        finally:
            self.costs[name] = self.costs.get(name, np.zeros(2)) + _seconds() - begin
            self._now = before

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Read the memory of all started processes, while it is done."""
        ended = threading.Event()

        def watch() -> None:
            ours = Path("/proc/self/task")
            while not ended.wait(0.05):
                most = max((peak_bytes(process) for process in _started(ours)), default=0)
                self.bytes[self._now] = max(self.bytes.get(self._now, 0), most)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


def _seconds() -> FloatArray:
    """Return (2,) seconds: on the clock; of processors, with those of ended processes."""
    used = [getrusage(whose) for whose in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return np.array([time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in used)])


def _started(tasks: Path) -> Iterator[int]:
    """Yield the processes that a process has started, and those that they have."""
    try:
        for task in tasks.iterdir():
            for process in (task / "children").read_text().split():
                yield int(process)
                yield from _started(Path("/proc", process, "task"))
    except OSError:  # it has ended, or the system tells nothing
        return


def peak_bytes(process: int | str = "self") -> int:
    """Return the most memory that a process has held; 0 where the system does not tell."""
    try:
        for line in Path("/proc", str(process), "status").read_text().splitlines():
            key, _, value = line.partition(":")
            if key == "VmHWM":
                return 1024 * int(value.split()[0])
    except (OSError, ValueError):
        pass
    return 0


def take_sample(experiment: Experiment, segments: int, note: Callable[[str], None]) -> Sample:
    """Do the steps of a run on some dev segments, in a temporary folder; models trained stay.

    Parameters
    ----------
    segments
        How many; all, where there are fewer or where the decoder reads whole sets only.
    """
    begin, clock, source = time.perf_counter(), _Clock(), experiment.data.source
    lines = files.read_lines(source)
    if not lines:
        raise InputError(f"{source}: the file is empty; there is nothing to do")
    picked = chosen(lines, len(lines) if experiment.decoder.reads_whole else segments)
    each = sum(len(tokens(lines[n])) + 1 for n in picked) / len(picked)

    def size(path: Path | None) -> float:
        texts = [] if path is None else files.read_lines(path)
        return sum(len(tokens(line)) + 1 for line in texts) / each

    with tempfile.TemporaryDirectory(prefix="portmert-plan-") as name, clock.watching():
        folder = Path(name)
        for part in ("annotations", "scratch", "cache"):
            (folder / part).mkdir()
        evaluator = Evaluator(
            _smaller(experiment, picked, len(lines), folder),
            annotations=folder / "annotations",
            scratch=folder / "scratch",
            split_seed=experiment.tune.seed,
            note=lambda _: None,  # the sample's notes are not the run's
            progress=lambda _done, _total: None,
        )
        with closing(evaluator):
            note(f"decoding {len(picked)} of {counted(len(lines), 'dev segment')}")
            nbest = _decoded(evaluator, clock, folder, len(picked))
            note(f"searching over their {counted(len(nbest.texts), 'hypothesis')}")
            # The timed search is over 8 copies of the sample at most, since real pools are large.
            pool = _searched(evaluator, clock, nbest, min(len(lines), 8 * len(picked)))
        close_all()
        kept = [*(folder / "annotations").rglob("*"), *(folder / "cache").rglob("*")]
        kept_bytes = sum(path.stat().st_size for path in kept if path.is_file())
        list_bytes = (folder / "nbest.gz").stat().st_size
    hypotheses, others = len(nbest.texts), clock.bytes.keys() - {"decoding"}
    return Sample(
        segments=len(picked),
        hypotheses=hypotheses / len(picked),
        dev=size(source),
        held_out=size(experiment.data.held_out_source),
        test=size(experiment.data.test_source),
        costs={key: clock.costs.get(key, np.zeros(2)) for key in STEPS},
        command_bytes=peak_bytes(),
        decoder_bytes=clock.bytes.get("decoding", 0),
        other_bytes=max((clock.bytes[key] for key in others), default=0),
        hypothesis_bytes=_bytes_of(pool, len(experiment.metric.stat_names)) / hypotheses,
        list_bytes=list_bytes / len(picked),
        kept_bytes=kept_bytes / hypotheses,
        took=time.perf_counter() - begin,
    )


def _decoded(evaluator: Evaluator, clock: _Clock, folder: Path, count: int) -> NBest:
    """Decode, read and score the sample; the costs are those of one segment or hypothesis."""
    experiment = evaluator.experiment
    source, size = experiment.data.source, experiment.tune.nbest
    with clock.step("training"):
        experiment.decoder.train()
    weights = start_weights(experiment)
    few, costs = folder / "few", clock.costs
    if not experiment.decoder.reads_whole and count > FEW:
        files.write_text(few, "".join(f"{line}\n" for line in files.read_lines(source)[:FEW]))
        with clock.step("decoding"):
            evaluator.decode(weights, folder / "few.gz", source=few, size=size)
    less = costs.pop("decoding", None)
    with clock.step("decoding"):
        evaluator.decode(weights, folder / "nbest.gz", source=source, size=size)
    more = costs.pop("decoding")
    costs["segment"] = more / count
    if less is not None:
        costs["segment"] = np.maximum(more - less, 0.0) / (count - FEW)
        costs["start"] = np.maximum(less - FEW * costs["segment"], 0.0)
    with clock.step("references"):
        _ = evaluator.references
    with clock.step("loading"):
        read_nbest([folder / "nbest.gz"], Vocabulary())
    with clock.step("reading"):
        nbest = evaluator.read(folder / "nbest.gz")
        evaluator.dev(nbest)
    costs["reading"] = costs["reading"] / len(nbest.texts)
    return nbest


def _searched(evaluator: Evaluator, clock: _Clock, nbest: NBest, segments: int) -> NBest:
    """Search the sample, then so many segments of copies of it; return the searched lists."""
    experiment, costs, hypotheses = evaluator.experiment, clock.costs, len(nbest.texts)
    pool, ask = evaluator.for_metric(nbest)
    weights = start_weights(experiment)
    setup = Setup(
        experiment.optimizer,
        (weights,),
        experiment.constraints,
        streams.iteration(experiment.tune.seed, 1),
        experiment.threads,
        experiment.tune.prior,
        weights,
    )

    def annotate(rows: IntArray) -> Texts:
        assert ask is not None  # noqa: S101  else it is not called
        with clock.step("annotation"):
            return ask(rows)

    def search(count: int) -> FloatArray:
        """Return the cost of one hypothesis more; statistics are those of the sample alone."""
        with clock.step("searching"):
            found = optimize_lists(
                pool,
                evaluator.references,
                experiment.metric,
                setup,
                notice=lambda _: None,
                annotate=None if ask is None else annotate,
                segments=np.arange(count) % len(pool),
            )
        counting = found.seconds.get("statistics", 0.0)
        rest = np.maximum(costs.pop("searching") - counting, 0.0)
        return np.asarray(rest * len(pool) / count + counting) / hypotheses

    first = search(len(pool)) * hypotheses
    annotation = costs.get("annotation", np.zeros(2))
    # Processes of annotators work on: their processor time is not known before they end.
    costs["annotation"] = np.full(2, annotation[0]) / hypotheses
    costs["search"] = search(segments)
    rest = first - annotation - costs["search"] * hypotheses
    costs["loading"] = costs["loading"] + np.maximum(rest, 0.0)
    return pool


def _smaller(given: Experiment, picked: Sequence[int], count: int, folder: Path) -> Experiment:
    """Return the experiment with the sample as its dev set, decoded in one process."""
    data = given.data

    def part(name: str, path: Path) -> Path:
        lines = files.read_lines(path)
        if len(lines) != count:
            raise InputError(
                f"{path}: {counted(len(lines), 'line')}, {data.source} has {count}; they must be "
                f"of the same segments"
            )
        files.write_text(folder / name, "".join(f"{lines[n]}\n" for n in picked))
        return folder / name

    def parts(name: str, paths: Sequence[Path]) -> tuple[Path, ...]:
        return tuple(part(f"{name}{n}", path) for n, path in enumerate(paths))

    smaller = replace(
        data,
        source=part("source", data.source),
        references=parts("reference", data.references),
        reference_links=parts("links", data.reference_links),
    )
    own = {item.name for item in fields(given.decoder)} & ONE_PROCESS.keys()
    aligner: Any = given.aligner
    saved = getattr(aligner, "saved", None)
    if saved is not None and not saved.exists():  # a model of the sample alone must not stay
        aligner = replace(aligner, saved=None)
    return replace(
        given,
        data=smaller,
        tune=replace(given.tune, held_out=0.0, annotation_cache=folder / "cache"),
        decoder=replace(given.decoder, **{name: ONE_PROCESS[name] for name in own}),
        aligner=aligner,
    )


def chosen(lines: Sequence[str], count: int) -> list[int]:
    """Return the numbers of so many lines, in order: short and long ones as there are."""
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
