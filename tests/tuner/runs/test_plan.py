"""The arithmetic of a plan, by hand, and what its clock and its sample take."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.tuner.runs.config import load_config
from portmert.tuner.runs.plan import STEPS, Sample, _Clock, chosen, planned
from tests.support.places import ROOT

COSTS = {
    "loading": (3.0, 2.0),
    "training": (20.0, 10.0),
    "start": (6.0, 4.0),
    "segment": (0.5, 0.25),
    "search": (0.01, 0.005),
}
SAMPLE = Sample(
    segments=10,
    hypotheses=8.0,
    dev=100.0,
    held_out=0.0,
    test=50.0,
    costs={key: np.array(COSTS.get(key, (0.0, 0.0))) for key in STEPS},
    command_bytes=1000,
    decoder_bytes=0,
    other_bytes=0,
    hypothesis_bytes=2.0,
    list_bytes=30.0,
    kept_bytes=1.0,
    took=0.0,
)


def experiment(**tune):
    found = load_config(ROOT / "configs" / "recorded.toml")
    given = {"iterations": 3, "patience": 2, "replicas": 1, **tune}
    return replace(found, tune=replace(found.tune, **given))


def test_a_plan_is_the_sum_of_its_steps():
    found = planned(experiment(nbest=10), SAMPLE, [1, 8])
    one, eight = found.needs
    # Two searches over 800: loading and training 23, three decodings of 100 at 6 + 50, the test
    # set 6 + 25, two searches of 8.
    assert one.wall.low == pytest.approx((23 + 3 * 56 + 31 + 2 * 8) / 1.2)
    assert one.cpu.low == pytest.approx((12 + 3 * 29 + 16.5 + 2 * 4) / 1.2)
    # Three searches over 800, 1800 and 2800: four decodings.
    assert one.wall.high == pytest.approx(1.2 * (23 + 4 * 56 + 31 + 54))
    assert one.cpu.high == pytest.approx(1.2 * (12 + 4 * 29 + 16.5 + 27))
    # Eight decode, and each of them is started.
    decoding = 23 + 3 * (6 + 50 / 8) + 6 + 25 / 8
    assert eight.wall.low == pytest.approx((decoding + 16) / 1.2)
    assert eight.cpu.low == pytest.approx((12 + 3 * (32 + 25) + 32 + 12.5 + 8) / 1.2)
    assert found.searches == (2, 3)
    assert found.hypotheses == (800, 2800)
    assert found.command_bytes == pytest.approx((2600 / 1.2, 1.2 * (1000 + 3 * 5600)))
    # Lists of 3 x 800, and of 800 + 3 x 1000 hypotheses; links of the pool.
    assert found.folder_bytes.low == pytest.approx((3 * 800 * 30 / 8 + 800) / 1.2)
    assert found.folder_bytes.high == pytest.approx(1.2 * (3800 * 30 / 8 + 2800))


def test_replicas_share_the_first_decoding_and_end_with_the_average():
    one = planned(experiment(), SAMPLE, [1]).needs[0].cpu
    five = planned(experiment(replicas=5), SAMPLE, [1]).needs[0].cpu
    average = 4 + 25 + 16.5
    once = 12 + 4 + 25
    rest = 1.2 * one.low - once
    assert 1.2 * five.low == pytest.approx(once + 5 * rest + average)


def test_annotation_is_shared_among_workers():
    costs = {**SAMPLE.costs, "annotation": np.array([0.1, 0.1])}
    parsed = replace(SAMPLE, costs=costs)
    alone, more = (planned(experiment(), one, [1, 4]) for one in (SAMPLE, parsed))
    for before, after in zip(alone.needs, more.needs, strict=True):
        each = 0.1 * 800 / after.workers
        assert 1.2 * (after.wall.low - before.wall.low) == pytest.approx(each)
        assert 1.2 * (after.cpu.low - before.cpu.low) == pytest.approx(0.1 * 800)


def test_bootstrap_samples_are_searches_of_the_last_pool():
    none, four = (planned(experiment(bootstrap=n), SAMPLE, [1]).needs[0] for n in (0, 4))
    assert 1.2 * (four.wall.low - none.wall.low) == pytest.approx(4 * 8)


def test_a_pool_on_disk_is_not_in_memory():
    found = planned(experiment(nbest=10, pool=True), SAMPLE, [1])
    assert found.command_bytes == pytest.approx((2600 / 1.2, 1.2 * (1000 + 3 * 2000)))
    less = planned(experiment(nbest=10), SAMPLE, [1])
    added = found.folder_bytes.high - less.folder_bytes.high
    assert added == pytest.approx(1.2 * 3 * 2 * 2800)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 40))
def test_segments_of_all_lengths_are_chosen(lengths, count):
    lines = [" ".join(["x"] * length) for length in lengths]
    found = chosen(lines, count)
    assert len(found) == min(count, len(lines))
    assert found == sorted(set(found))
    order = sorted(lengths)
    if count > 1 and len(lines) >= 2 * count:
        taken = sorted(lengths[n] for n in found)
        assert taken[0] <= order[len(order) // count]
        assert taken[-1] >= order[-1 - len(order) // count]


def test_the_clock_counts_processes_that_are_started():
    clock = _Clock()
    work = (
        "x = bytearray(50_000_000)\nfor _ in range(5_000_000): pass\nimport time; time.sleep(.3)"
    )
    with clock.watching():
        for _ in range(2):
            with clock.step("work"):
                subprocess.run([sys.executable, "-c", work], check=True)
    wall, cpu = clock.costs["work"]
    assert wall > 0.6
    assert cpu > 0.05
    if any(clock.bytes.values()):  # where the system tells
        assert clock.bytes["work"] > 50_000_000
