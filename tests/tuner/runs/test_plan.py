"""What a plan adds up, by hand, and what a sample takes."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.tuner.runs import plan as plans
from portmert.tuner.runs.config import load_config
from portmert.tuner.runs.meter import Cost, Meter
from portmert.tuner.runs.plan import Elsewhere, planned
from portmert.tuner.runs.sample import Sample, chosen
from tests.support.places import ROOT

NOTHING = Cost()
SAMPLE = Sample(
    segments=10,
    dev=100.0,
    held_out=0.0,
    test=50.0,
    loading=Cost(3.0, 2.0),
    training=Cost(20.0, 10.0),
    linking=NOTHING,
    start=Cost(6.0, 4.0),
    segment=Cost(0.5, 0.25),
    hypotheses=8.0,
    reading=NOTHING,
    counting=NOTHING,
    annotated=0.0,
    sentence=NOTHING,
    search=Cost(1.0, 1.0),
    search_hypothesis=Cost(0.01, 0.005),
    shared=0.5,
    decoder_bytes=None,
    other_bytes=None,
    command_bytes=1000,
    hypothesis_bytes=2.0,
    list_bytes=30.0,
    scratch_bytes=90.0,
    link_bytes=1.0,
    cache_bytes=0.0,
    kept_bytes=7.0,
    busy=2.0,
)


def experiment(**tune):
    found = load_config(ROOT / "configs" / "recorded.toml")
    given = {"iterations": 3, "patience": 2, "replicas": 1, **tune}
    return replace(found, tune=replace(found.tune, **given))


@pytest.fixture(autouse=True)
def _four_processors(monkeypatch):
    monkeypatch.setattr(plans, "available_processors", lambda: 4)


def test_a_plan_is_the_sum_of_its_steps():
    found = planned(experiment(nbest=10), SAMPLE, [1, 8])
    one, eight = found.needs
    # Idle, two searches over 800: loading and training 12, three decodings of 100 at 4 + 25, the
    # test set 4 + 12.5, two searches of 1 + 4.
    assert one.wall.low == one.cpu.low == pytest.approx((12 + 3 * 29 + 16.5 + 2 * 5) / 1.2)
    # Busy, three searches over 800, 1800 and 2800: four decodings at 6 + 50, 6 + 25, 3 + 54.
    assert one.wall.high == pytest.approx(1.2 * (23 + 4 * 56 + 31 + 57))
    assert one.cpu.high == pytest.approx(1.2 * (12 + 4 * 29 + 16.5 + 3 + 27))
    # Eight decode, four threads search half of it.
    decoding = 12 + 3 * (4 + 25 / 8) + 4 + 12.5 / 8
    assert eight.wall.low == pytest.approx((decoding + 10 * 0.625) / 1.2)
    # On a machine half of which is others', they do the work of four.
    decoding = 23 + 4 * (6 + 50 / 4) + 6 + 25 / 4
    assert eight.wall.high == pytest.approx(1.2 * (decoding + 57 * 0.625))
    assert eight.cpu.low == pytest.approx((12 + 3 * (32 + 25) + 32 + 12.5 + 10) / 1.2)
    assert found.searches == (2, 3)
    assert found.hypotheses == (800, 2800)
    assert found.command_bytes == pytest.approx((2600 / 1.2, 1.2 * (1000 + 3 * 5600)))
    listed = 30 / 8 * np.array([3 * 800 + 50, 800 + 3 * 1000 + 50])
    assert found.folder_bytes.low == pytest.approx((listed[0] + 800 + 7) / 1.2)
    assert found.folder_bytes.high == pytest.approx(1.2 * (listed[1] + 2800 + 7))
    assert found.scratch_bytes == 9000


def test_replicas_share_the_first_decoding_and_end_with_the_average():
    one = planned(experiment(), SAMPLE, [1]).needs[0].cpu
    five = planned(experiment(replicas=5), SAMPLE, [1]).needs[0].cpu
    average = 4 + 25 + 12.5
    once = 12 + 4 + 25
    rest = 1.2 * one.low - once
    assert 1.2 * five.low == pytest.approx(once + 5 * rest + average)


def test_what_waits_for_another_machine_is_not_taken_to_be_idle():
    away = experiment()
    object.__setattr__(away.decoder, "command", "ssh host")
    wall = planned(away, SAMPLE, [1]).needs[0].wall
    assert wall.low == pytest.approx((23 + 3 * 56 + 31 + 2 * (1 + 8)) / 1.2)


def test_annotation_is_shared_among_workers():
    parsed = replace(SAMPLE, annotated=0.25, sentence=Cost(0.1, 0.1), cache_bytes=10.0)
    alone, more = (planned(experiment(), one, [1, 4]) for one in (SAMPLE, parsed))
    # 100 references and 100 outputs, 100 of the test set, and a quarter of 800.
    sentences = 200 + 100 + 200
    assert more.cache_bytes.low == pytest.approx(10 * sentences / 1.2)
    for before, after in zip(alone.needs, more.needs, strict=True):
        each = 0.1 * sentences / after.workers
        assert 1.2 * (after.wall.low - before.wall.low) == pytest.approx(each)


def test_workers_of_a_cluster_decode_and_this_machine_searches():
    here = planned(experiment(nbest=10), SAMPLE, [8]).needs[0]
    far = planned(experiment(nbest=10), SAMPLE, [1, 8], elsewhere=Elsewhere())
    one, eight = far.needs
    # Four threads search half of it however many workers there are, and nobody shares with these.
    assert one.wall.low == pytest.approx((12 + 3 * 29 + 16.5 + 10 * 0.625) / 1.2)
    assert eight.wall.low == pytest.approx(here.wall.low)
    decoding = 23 + 4 * (6 + 50 / 8) + 6 + 25 / 8
    assert eight.wall.high == pytest.approx(1.2 * (decoding + 57 * 0.625))
    # Workers that take twice as long, or half.
    for pace, end, whole in ((2.0, "high", 1.2), (0.5, "low", 1 / 1.2)):
        other = planned(experiment(nbest=10), SAMPLE, [8], elsewhere=Elsewhere(None, pace))
        segments = 4 * 50 + 25 if end == "high" else 3 * 25 + 12.5
        more = getattr(other.needs[0].wall, end) - getattr(eight.wall, end)
        assert more == pytest.approx(whole * (pace - 1) * segments / 8)
    # Eight workers get 64 parts of 100 lines and 50 of 50, one of them 8 and 8.
    task = Cost(0.1, 0.03)
    asked = planned(experiment(nbest=10), SAMPLE, [1, 8], elsewhere=Elsewhere(task))
    for before, after, parts, others in zip(far.needs, asked.needs, (8, 64), (8, 50), strict=True):
        more = 1.2 * (after.wall.low - before.wall.low)
        assert more == pytest.approx(0.1 * (3 * parts + others))
        more = (after.cpu.high - before.cpu.high) / 1.2
        assert more == pytest.approx(0.03 * (4 * parts + others))


@pytest.mark.parametrize("stays", [{"pool": True}, {"annotated": 0.25}, {}])
def test_bootstrap_samples_go_to_workers_where_lists_can(stays):
    sample = replace(SAMPLE, annotated=stays.get("annotated", 0.0))
    few, many = (
        planned(
            experiment(bootstrap=samples, pool=stays.get("pool", False)), sample, [8],
            elsewhere=Elsewhere(Cost(0.1, 0.03)),
        ).needs[0]
        for samples in (0, 20)
    )  # fmt: skip
    more = 1.2 * (many.wall.low - few.wall.low)
    # Idle, each search is one of 1 + 4; here four at once, or one of lists on disk.
    at_once = {"pool": 1, "annotated": 4}
    here = [20 * 5 / at_once[kind] for kind in stays]
    assert more == pytest.approx(here[0] if here else 20 * 5 / 8 + 20 * 0.1)


@pytest.mark.parametrize(("samples", "copies"), [(1, 3), (3, 4), (20, 5)])
def test_each_bootstrap_sample_holds_a_copy_of_the_features(samples, copies):
    # 2 bytes of each of 2800 hypotheses; the lists once, and one a sample, four at once.
    found = planned(experiment(nbest=10, bootstrap=samples), SAMPLE, [1])
    assert found.command_bytes.high == pytest.approx(1.2 * (1000 + copies * 2 * 2800))
    far = planned(experiment(nbest=10, bootstrap=samples), SAMPLE, [1], elsewhere=Elsewhere())
    assert far.command_bytes.high == pytest.approx(1.2 * (1000 + 3 * 2 * 2800))


def test_what_is_done_is_not_planned_again_and_says_how_pools_grow():
    found = planned(experiment(nbest=10, iterations=4), SAMPLE, [1], before=(800, 1100))
    assert found.searches == (2, 4)
    # The last list brought 300; two more searches, of 1400 and 1700, or none.
    assert found.hypotheses == (1100, 1700)
    (one,) = found.needs
    assert one.wall.low == pytest.approx((12 + 29 + 16.5) / 1.2)
    assert one.cpu.high == pytest.approx(1.2 * (12 + 3 * 29 + 16.5 + 2 + 0.005 * 3100))
    all_done = planned(experiment(nbest=10, iterations=2), SAMPLE, [1], before=(800, 1100))
    assert all_done.searches == (2, 2)
    once = planned(experiment(nbest=10), SAMPLE, [1], before=(800,))
    assert once.hypotheses == (800, 2800)


def test_lists_on_disk_are_not_in_memory():
    memory = planned(experiment(nbest=10), SAMPLE, [1])
    disk = planned(experiment(nbest=10, pool=True), SAMPLE, [1])
    assert disk.command_bytes.low == memory.command_bytes.low
    # One list of 1000 three times, and 8 numbers of each of 2800.
    assert disk.command_bytes.high == pytest.approx(1.2 * (1000 + 3 * 2000 + 8 * 8 * 2800))
    assert disk.folder_bytes.low == pytest.approx(memory.folder_bytes.low + 1600 / 1.2)
    assert disk.folder_bytes.high == pytest.approx(memory.folder_bytes.high + 1.2 * 3 * 5600)


@given(
    st.lists(st.text("a ", max_size=12), min_size=1, max_size=40),
    st.integers(min_value=1, max_value=50),
)
def test_a_sample_has_lines_of_all_lengths(lines, count):
    found = chosen(lines, count)
    assert found == sorted(set(found))
    assert len(found) == min(count, len(lines))
    by_length = sorted(range(len(lines)), key=lambda n: (len(lines[n].split()), n))
    ranks = sorted(by_length.index(number) for number in found)
    gaps = np.diff([-1, *ranks, len(lines)])
    assert gaps.max() <= len(lines) // len(found) + 1
    if count >= len(lines):
        assert found == list(range(len(lines)))


def test_a_sample_of_one_is_the_line_of_middle_length():
    assert chosen(["a", "a b c d e f", "a b"], 1) == [2]


def test_a_meter_sees_time_and_memory_of_what_is_started():
    meter = Meter()
    code = "import time; held = bytearray(60_000_000); held[::4096] = b'1' * len(held[::4096])\n"
    code += "end = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
    with meter.measured():
        subprocess.run([sys.executable, "-S", "-c", code], check=True)
    assert meter.cost.cpu >= 0.4
    assert meter.cost.wall >= 0.4
    if meter.child_bytes is not None:
        assert 60_000_000 < meter.child_bytes < 200_000_000
    with meter.measured():
        pass
    assert meter.child_bytes is None
    assert meter.cost.cpu < 0.4
