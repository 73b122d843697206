"""Some of `make crash` with a fixed seed; and that it sees what it looks for."""

import random
import signal
import time
from pathlib import Path

import pytest

from portmert.tuner.annotation.cache import AnnotationCache, line_key
from tests.crash import trials
from tests.crash.__main__ import prepared
from tests.crash.children import Child, Ended
from tests.crash.jobs import make_jobs
from tests.crash.trials import Alone, Trial, can_mount, content, full_disk

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="system: no /proc")
CASES = {
    "tune": ("killed", "no_room", "full_disk", "two_at_once", "read_only", "little_memory"),
    "tune-moses": ("misbehaving",),
    "moses": ("killed", "misbehaving", "full_disk"),
    "replicas": ("killed", "two_at_once"),
    "crossval": ("killed", "no_room", "read_only"),
    "optimize": ("killed", "full_disk"),
    "metric": ("misbehaving",),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("crash")


@pytest.fixture(scope="module")
def jobs(place):
    found = {job.name: job for job in make_jobs(place / "seeds", CASES)}
    assert set(found) == set(CASES)
    return found


@pytest.mark.parametrize("name", CASES)
def test_what_happens_to_a_job_costs_nothing(place, jobs, name):
    setting = prepared(jobs[name], place)
    for kind in CASES[name]:
        trial = getattr(trials, kind)
        if trial is not full_disk or can_mount(place):
            assert list(trial(setting, random.Random(f"{name} {kind}"))) == [], kind


GOOD = "portmert: error: no room\n"


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (Ended(1, "", GOOD), []),
        (Ended(-9, "", GOOD), ["ended by SIGKILL"]),
        (Ended(0, "", ""), ["exit status 0, expected 1"]),
        (Ended(1, "", "Traceback (most\n" + GOOD), ["Traceback (most on stderr"]),
        (Ended(1, "", GOOD + "more\n"), ["not one line of error, the last"]),
        (Ended(1, "", GOOD[:-1] + "a" * 3000), ["a message of 3"]),
    ],
)
def test_how_a_fault_is_told_is_judged(ended, said):
    found = list(Trial(None, None, None, None).refused(ended))
    assert len(found) == len(said)
    assert all(text in one.replace("'", "") for text, one in zip(said, found, strict=True))


def test_a_child_can_be_killed_with_its_group_at_once(tmp_path):
    for number in range(20):
        child = Child(tmp_path, (), prepare=lambda: time.sleep(600), name=number)
        child.signal(signal.SIGKILL, group=True)
        assert child.finish().status == -signal.SIGKILL


def test_what_a_job_leaves_is_judged(place, jobs):
    alone = Alone("", {"run/a.json": b"1", "run/b.json": b"2"}, 1.0, 1)
    trial = Trial(jobs["tune"], place / "seeds", place / "judged", alone)
    folder = place / "left"
    (folder / "run").mkdir(parents=True)
    for name, text in (("a.json", "1"), ("b.json", "3"), (".c.json.01234567.part", "")):
        (folder / "run" / name).write_text(text)
    (folder / "run" / "log.txt").write_text("the time")
    assert list(trial.same(folder, Ended(0, "x", ""))) == [
        "run/.c.json.01234567.part is left behind", "run/b.json differs",
        "prints other results: x",
    ]  # fmt: skip
    assert "litter: run/.c.json.01234567.part" in list(trial.unharmed(folder))
    assert "tune.toml was changed" in list(trial.unharmed(folder))


def test_caches_are_compared_by_what_they_answer(tmp_path):
    def made(name, layers, record=b"record"):
        for layer in layers:  # a process each
            cache = AnnotationCache(tmp_path / name, "x 1")
            cache.put([(line_key(line), {layer: record}) for line in ("a", "b")])
            cache.close()
        return content(tmp_path / name)

    whole = made("whole", ("tags", "heads"))
    assert made("other-order", ("heads", "tags")) == whole
    assert made("with-gap", ("tags", "tags", "heads")) == whole
    assert made("other-record", ("tags", "heads"), b"other") != whole
    assert made("other-layer", ("tags", "tree")) != whole
    assert made("missing", ("tags",)) != whole
