"""Says from a timed sample how long runs will take, and how much memory and disk they need."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from portmert.tuner.executors.team import Team
from portmert.tuner.ground.processes import available_processors
from portmert.tuner.runs.config import Experiment
from portmert.tuner.runs.folder import holds_work
from portmert.tuner.runs.meter import Cost
from portmert.tuner.runs.sample import Sample, take_sample
from portmert.tuner.runs.scorer import read_json

COPIES = 3
"""How often the arrays of a pool are held at most: while lists are merged, and while one is
searched. Once is the least. Each bootstrap sample that is searched holds them once more."""
VECTORS = 8
"""Numbers of each hypothesis of a pool on disk that a search holds in memory at most."""
LINES, SENTENCES, PARTS = 32, 64, 8
"""Tasks of a cluster: of a text so many lines at most, and so many parts a worker at least where
it has the lines (fewer with Moses); of annotation so many sentences."""
TASKS = 200
"""Tasks that do nothing, from which it is told what one costs."""
STEPS = 10**7
"""Steps of a loop that tells how fast a worker is while all of them are at work."""
MARGIN = 1.2
"""The most is a fifth more than what it adds up to, the least is as much less: a sample is small,
and decoding under other weights takes another time."""


class Range(NamedTuple):
    """Holds the least and the most that is expected."""

    low: float
    high: float

    def plus(self, other: Range) -> Range:
        """Return the range of both together."""
        return Range(self.low + other.low, self.high + other.high)


@dataclass(frozen=True)
class Needs:
    """Says what runs need with some workers.

    Parameters
    ----------
    workers
        Processes that decode and annotate, one segment or chunk of sentences each at a time.
    wall, cpu
        Seconds on the clock, and of all processors.
    """

    workers: int
    wall: Range
    cpu: Range


@dataclass(frozen=True)
class Elsewhere:
    """Says what is known of workers of a cluster.

    Parameters
    ----------
    task
        What the command, and its clock, need for one task besides its work; None where that was
        not measured.
    pace
        Seconds that a worker takes, while all are at work, for what takes one here.
    """

    task: Cost | None = None
    pace: float = 1.0


def measure_tasks(team: Team) -> Elsewhere:
    """Say what tasks cost, by those that do nothing."""
    tasks: list[tuple[()]] = [()] * TASKS
    for _ in team.run(_nothing, tasks[: 2 * team.size]):  # connects
        pass
    begin, used = time.perf_counter(), time.process_time()
    for _ in team.run(_nothing, tasks):
        pass
    cost = Cost(time.perf_counter() - begin, time.process_time() - used)
    there = [seconds for _, seconds in team.run(_stepping, [()] * team.size)]
    return Elsewhere(cost.times(1 / TASKS), sum(there) / len(there) / _stepping())


def _nothing() -> None:
    """Do nothing, at a worker."""


def _stepping() -> float:
    """Return how many seconds a loop takes."""
    begin = time.perf_counter()
    for _ in range(STEPS):
        pass
    return time.perf_counter() - begin


def pools_before(experiment: Experiment) -> tuple[int, ...]:
    """Return how many hypotheses there were in each search that its run folder holds."""
    tune = experiment.tune
    if tune.replicas > 1 or not holds_work(tune.output, experiment.fingerprint):
        return ()
    pools: list[int] = []
    while True:
        folder = tune.output / f"iteration-{len(pools) + 1:02d}"
        if not all((folder / name).is_file() for name in ("scores.json", "optimized.json")):
            return tuple(pools)
        pools.append(read_json(folder / "scores.json", hypotheses=int)["hypotheses"])


@dataclass(frozen=True)
class Planned:
    """Holds the plan of one experiment.

    Parameters
    ----------
    metric
        Signature of the metric tuned on.
    experiment, sample
        What is planned, and what was measured.
    before
        Hypotheses in each search that the run's folder already holds; they are not planned again.
    elsewhere
        Where workers are those of a cluster.
    searches
        Fewest and most of a tuning, with those before; there is one decoding more.
    hypotheses
        In the pool of the last search.
    needs
        By number of workers.
    command_bytes
        Memory of the command itself.
    folder_bytes, scratch_bytes, cache_bytes
        Disk: what stays in the run's folder, what is there besides while a decoder works, and
        what the cache of annotations gets.
    """

    metric: str
    experiment: Experiment
    sample: Sample
    before: tuple[int, ...]
    elsewhere: Elsewhere | None
    searches: Range
    hypotheses: Range
    needs: tuple[Needs, ...]
    command_bytes: Range
    folder_bytes: Range
    scratch_bytes: float
    cache_bytes: Range


@dataclass(frozen=True)
class _Case:
    """Holds one end of the range: how many searches, what each list adds, how busy machines are.

    Parameters
    ----------
    searches
        Of each tuning.
    is_new
        Whether later lists are as long as asked for and bring only new hypotheses, or none.
    is_busy
        Whether work takes as long on the clock as it did in the sample, and not only its
        processor time.
    """

    searches: int
    is_new: bool
    is_busy: bool


def plan(
    experiment: Experiment,
    workers: Sequence[int],
    *,
    segments: int,
    note: Callable[[str], None],
    elsewhere: Elsewhere | None = None,
) -> Planned:
    """Take a sample of an experiment and say what the whole will need.

    Parameters
    ----------
    elsewhere
        Where the workers are not processes of this machine.

    Raises
    ------
    PortmertError
        What the run would raise at the steps of the sample.
    """
    before = pools_before(experiment)
    sample = take_sample(experiment, segments, note)
    return planned(experiment, sample, workers, before=before, elsewhere=elsewhere)


def planned(
    experiment: Experiment,
    sample: Sample,
    workers: Sequence[int],
    *,
    before: tuple[int, ...] = (),
    elsewhere: Elsewhere | None = None,
) -> Planned:
    """Say what the whole will need, from a sample that has been taken."""
    tune, done = experiment.tune, len(before)
    fewest = max(done, min(tune.patience, tune.iterations))
    least = _Case(fewest, is_new=False, is_busy=False)
    most = _Case(max(done, tune.iterations), is_new=True, is_busy=True)
    ends = [_Arithmetic(experiment, sample, case, before, elsewhere) for case in (least, most)]
    pools = Range(*(end.pool(end.case.searches) for end in ends))
    needs = []
    for count in workers:
        low, high = (end.total(count) for end in ends)
        wall, cpu = (_range(low[n], high[n]) for n in range(2))
        needs.append(Needs(count, wall, cpu))
    return Planned(
        metric=experiment.metric.signature,
        experiment=experiment,
        sample=sample,
        before=before,
        elsewhere=elsewhere,
        searches=Range(least.searches, most.searches),
        hypotheses=pools,
        needs=tuple(needs),
        command_bytes=_range(*(sample.command_bytes + end.held_bytes() for end in ends)),
        folder_bytes=_range(*(end.folder_bytes() for end in ends)),
        scratch_bytes=sample.scratch_bytes * sample.dev,
        cache_bytes=_range(*(sample.cache_bytes * end.sentences() for end in ends)),
    )


def _range(low: float, high: float) -> Range:
    return Range(low / MARGIN, high * MARGIN)


@dataclass(frozen=True)
class _Arithmetic:
    """Adds up one case."""

    experiment: Experiment
    sample: Sample
    case: _Case
    before: tuple[int, ...]
    elsewhere: Elsewhere | None

    def pool(self, search: int) -> float:
        """Return the hypotheses of the pool of the n-th search."""
        before = self.before
        if search <= len(before):
            return before[search - 1]
        each = self.sample.dev * self.experiment.tune.nbest
        if len(before) > 1:
            each = min(each, before[-1] - before[-2])
        later = (search - max(len(before), 1)) * each if self.case.is_new else 0
        return later + (before[-1] if before else self.sample.dev * self.sample.hypotheses)

    def held_bytes(self) -> float:
        """Return what the command holds of hypotheses: all lists, or one of those on disk."""
        most = max(COPIES, 1 + self._samples(available_processors()))
        copies = most if self.case.is_new else 1
        pool = self.pool(self.case.searches)
        if not self.experiment.tune.pool:
            return self.sample.hypothesis_bytes * pool * copies
        vectors = 8 * VECTORS * pool if self.case.is_new else 0
        return self.sample.hypothesis_bytes * self._list() * copies + vectors

    def _list(self) -> float:
        """Return the hypotheses of a later list."""
        sample = self.sample
        longest = max(self.experiment.tune.nbest, sample.hypotheses)
        return sample.dev * (longest if self.case.is_new else sample.hypotheses)

    def _tasks(self, count: float) -> Cost:
        """Return what a cluster costs besides, where that was measured."""
        task = None if self.elsewhere is None else self.elsewhere.task
        return Cost() if task is None else task.times(count)

    def sentences(self) -> float:
        """Return how many sentences one tuning annotates."""
        sample = self.sample
        if not sample.annotated:
            return 0.0
        data = self.experiment.data
        given = sample.dev * (1 + len(data.references))  # references, and the first best ones
        given += (sample.held_out + sample.test) * 2
        later = sample.dev * self.case.searches if self.case.is_new else 0
        return given + later + sample.annotated * self.pool(self.case.searches)

    def _decoding(self, segments: float, workers: int) -> Cost:
        """Return the cost of decoding a set once."""
        sample = self.sample
        if not segments:
            return Cost()
        single = self._timed(sample.segment)
        start = self._timed(sample.start)
        at_once = min(self._at_work(workers), max(segments, 1))
        tasks = min(segments, max(segments / LINES, PARTS * workers))
        return self._tasks(tasks).plus(
            Cost(
                start.wall + single.wall * segments / at_once,
                start.cpu * workers + single.cpu * segments,
            )
        )

    def _at_work(self, workers: int) -> float:
        """Return how many workers' work is done at once.

        Where others work, too, those of this machine may share what one of them had.
        """
        if self.elsewhere is not None:
            limit = max if self.case.is_busy else min
            return workers / limit(1.0, self.elsewhere.pace)
        if not self.case.is_busy:
            return workers
        return workers / min(self.sample.busy, workers, available_processors())

    def _timed(self, cost: Cost) -> Cost:
        """Return a cost as it is on machines as busy as in the sample, or on idle ones.

        What waits for another machine takes its time anyhow.
        """
        is_remote = bool(getattr(self.experiment.decoder, "command", ""))
        return cost if self.case.is_busy or is_remote else Cost(min(cost), cost.cpu)

    def _threaded(self, cost: Cost, workers: int) -> Cost:
        """Return the cost of a search in as many threads as this machine has processors for."""
        threads, share = self._threads(workers), self.sample.shared
        wall = self._timed(cost).wall * (1 - share + share / threads)
        return Cost(wall, cost.cpu)

    def _threads(self, workers: int) -> int:
        """Return how many threads search and count; they are here, wherever workers are."""
        here = available_processors()
        return here if self.elsewhere is not None else min(workers, here)

    def _search(self, number: int) -> Cost:
        hypotheses = self.pool(number) * (1 - self.experiment.tune.held_out)
        sample = self.sample
        return sample.search.plus(sample.search_hypothesis.times(hypotheses))

    def _tuning(self, workers: int) -> Cost:
        """Return the cost of one tuning, without its first decoding."""
        sample, case = self.sample, self.case
        each = sample.hypotheses * sample.dev
        total = self._decoding(sample.test, workers)
        for number in range(len(self.before) + 1, case.searches + 1):
            total = total.plus(self._decoding(sample.dev, workers))
            total = total.plus(self._decoding(sample.held_out, workers))
            total = total.plus(self._threaded(self._search(number), workers))
            counting = self._timed(sample.counting).times(self.pool(number))
            total = total.plus(Cost(counting.wall / self._threads(workers), counting.cpu))
        total = total.plus(self._timed(sample.reading).times(each * (case.searches + 1)))
        total = total.plus(self._sampling(workers))
        total = total.plus(self._tasks(self.sentences() / SENTENCES))
        annotating = self._timed(sample.sentence).times(self.sentences())
        return total.plus(Cost(annotating.wall / self._at_work(workers), annotating.cpu))

    def _samples(self, workers: int) -> int:
        """Return how many bootstrap samples are searched here at once; 0 where they travel."""
        tune = self.experiment.tune
        if self.elsewhere is not None and not (tune.pool or self.sample.annotated):
            return 0
        return min(1 if tune.pool else self._threads(workers), tune.bootstrap)

    def _sampling(self, workers: int) -> Cost:
        """Return the cost of the bootstrap samples."""
        tune, search = self.experiment.tune, self._search(self.case.searches)
        cost = self._timed(search).times(tune.bootstrap)
        here = self._samples(workers)
        if here:
            return Cost(cost.wall / here, cost.cpu)
        at_once = min(self._at_work(workers), max(tune.bootstrap, 1))
        return self._tasks(tune.bootstrap).plus(Cost(cost.wall / at_once, cost.cpu))

    def total(self, workers: int) -> Cost:
        """Return the cost of all tunings, and of what is done once."""
        sample, replicas = self.sample, self.experiment.tune.replicas
        once = self._timed(sample.loading).plus(self._timed(sample.training))
        once = once.plus(self._timed(sample.linking))
        once = once.plus(self._decoding(sample.dev + sample.held_out, workers))  # shared
        if replicas > 1:  # the average
            once = once.plus(self._decoding(sample.dev + sample.held_out + sample.test, workers))
        return once.plus(self._tuning(workers).times(replicas))

    def folder_bytes(self) -> float:
        """Return what stays in the run's folder."""
        sample, replicas = self.sample, self.experiment.tune.replicas
        single = sample.list_bytes / sample.hypotheses
        searches = self.case.searches
        listed = sample.dev * sample.hypotheses + self._list() * searches
        lists = single * (listed + sample.held_out * (searches + 1) + sample.test)
        pool = self.pool(searches)
        on_disk = 0.0
        if self.experiment.tune.pool:  # the last one, what is written, the new one
            on_disk = sample.hypothesis_bytes * pool * (COPIES if self.case.is_new else 1)
        links = sample.link_bytes * pool
        return (lists + on_disk) * replicas + links + sample.kept_bytes
