"""Says from a timed sample how long runs will take, and how much memory and disk they need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tuner.processors import available_processors
from tuner.runs.meter import Cost
from tuner.runs.sample import Sample, take_sample

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuner.runs.config import Experiment

COPIES = 3
"""How often the arrays of a pool are held at most: while lists are merged, and while one is
searched. Once is the least."""
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
class Planned:
    """Holds the plan of one experiment.

    Parameters
    ----------
    metric
        Signature of the metric tuned on.
    experiment, sample
        What is planned, and what was measured.
    searches
        Fewest and most of a tuning; there is one decoding more.
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
) -> Planned:
    """Take a sample of an experiment and say what the whole will need.

    Raises
    ------
    PortmertError
        What the run would raise at the steps of the sample.
    """
    return planned(experiment, take_sample(experiment, segments, note), workers)


def planned(experiment: Experiment, sample: Sample, workers: Sequence[int]) -> Planned:
    """Say what the whole will need, from a sample that has been taken."""
    tune = experiment.tune
    least = _Case(min(tune.patience, tune.iterations), is_new=False, is_busy=False)
    most = _Case(tune.iterations, is_new=True, is_busy=True)
    ends = [_Arithmetic(experiment, sample, case) for case in (least, most)]
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
        searches=Range(least.searches, most.searches),
        hypotheses=pools,
        needs=tuple(needs),
        command_bytes=_range(
            sample.command_bytes + sample.hypothesis_bytes * pools.low,
            sample.command_bytes + sample.hypothesis_bytes * pools.high * COPIES,
        ),
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

    def pool(self, search: int) -> float:
        """Return the hypotheses of the pool of the n-th search."""
        later = (search - 1) * self.experiment.tune.nbest if self.case.is_new else 0
        return self.sample.dev * (self.sample.hypotheses + later)

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
        return Cost(
            start.wall + single.wall * segments / min(self._at_work(workers), max(segments, 1)),
            start.cpu * workers + single.cpu * segments,
        )

    def _at_work(self, workers: int) -> float:
        """Return how many workers' work is done at once.

        Where others work, too, those of this machine may share what one of them had.
        """
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
        threads = min(workers, available_processors())
        share = self.sample.shared
        wall = self._timed(cost).wall * (1 - share + share / threads)
        return Cost(wall, cost.cpu)

    def _search(self, number: int) -> Cost:
        hypotheses = self.pool(number) * (1 - self.experiment.tune.held_out)
        sample = self.sample
        return sample.search.plus(sample.search_hypothesis.times(hypotheses))

    def _tuning(self, workers: int) -> Cost:
        """Return the cost of one tuning, without its first decoding."""
        sample, case = self.sample, self.case
        each = sample.hypotheses * sample.dev
        total = self._decoding(sample.test, workers)
        for number in range(1, case.searches + 1):
            total = total.plus(self._decoding(sample.dev, workers))
            total = total.plus(self._decoding(sample.held_out, workers))
            total = total.plus(self._threaded(self._search(number), workers))
            counting = self._timed(sample.counting).times(self.pool(number))
            total = total.plus(
                Cost(counting.wall / min(workers, available_processors()), counting.cpu)
            )
        total = total.plus(self._timed(sample.reading).times(each * (case.searches + 1)))
        samples = self.experiment.tune.bootstrap
        again = self._threaded(self._search(case.searches), workers)
        total = total.plus(again.times(samples))
        annotating = self._timed(sample.sentence).times(self.sentences())
        return total.plus(Cost(annotating.wall / self._at_work(workers), annotating.cpu))

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
        searches, longest = self.case.searches, max(self.experiment.tune.nbest, sample.hypotheses)
        later = longest if self.case.is_new else sample.hypotheses
        listed = sample.dev * (sample.hypotheses + later * searches)
        lists = single * (listed + sample.held_out * (searches + 1) + sample.test)
        links = sample.link_bytes * self.pool(self.case.searches)
        return lists * replicas + links + sample.kept_bytes
