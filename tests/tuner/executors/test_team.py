"""Tasks in threads: what comes back, in what order, and which fault is told."""

import threading
import time

import pytest

from portmert.tuner.base.context import using
from portmert.tuner.base.programs import Cancelled
from portmert.tuner.base.threads import Team, each


def test_each_keeps_the_order_whatever_ends_first():
    gates = [threading.Event() for _ in range(4)]

    def work(number):
        if number < 3:
            assert gates[number + 1].wait(600)  # the last one ends first
        gates[number].set()
        return number * number

    with using(threads=4):
        assert each(work, 4) == [0, 1, 4, 9]
    with using(threads=3):
        assert each(lambda n: n, 0) == []


def test_progress_counts_all_threads():
    seen = []
    with using(threads=3, progress=lambda *step: seen.append(step)):
        each(lambda n: n, 5, phase="counting")
    assert seen == [("counting", n, 5) for n in range(1, 6)]


def test_the_first_fault_is_told_and_what_was_done_before_it_is_kept():
    kept, late = {}, threading.Event()

    def work(number):
        if number == 0:
            assert late.wait(600)  # done after the faults
            return "zero"
        if number == 3:
            raise ValueError("third")
        if number == 2:
            late.set()
            raise ValueError("second")
        return number

    with pytest.raises(ValueError, match="second"):
        kept.update(Team(4).run(work, [(n,) for n in range(4)]))
    assert kept == {0: "zero", 1: 1}


def test_nothing_begins_after_a_fault():
    begun = []

    def work(number):
        begun.append(number)
        raise KeyError(number)

    with pytest.raises(KeyError):
        list(Team(1).run(work, [(n,) for n in range(50)]))
    assert len(begun) <= 2


def test_leaving_early_begins_no_more():
    begun, go = [], threading.Event()

    def work(number):
        begun.append(number)
        assert number == 0 or go.wait(600)

    tasks = Team(1).run(work, [(n,) for n in range(50)])
    assert next(tasks) == (0, None)
    threading.Timer(0.1, go.set).start()
    tasks.close()
    assert len(begun) <= 3


def test_long_tasks_end_at_their_next_step_when_another_fails():
    ended, begun = [], threading.Event()

    def work(number):
        if number == 0:
            begun.set()
            try:
                while True:
                    Team.step("counting", 0, 1)
                    time.sleep(0.01)
            except Cancelled:
                ended.append(number)
                raise
        assert begun.wait(600)
        raise ValueError("one")

    with pytest.raises(ValueError, match="one"):
        list(Team(2).run(work, [(1,), (0,)]))
    assert ended == [0]
