"""`portmert optimize --pool`: the same bytes as in memory."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import portmert
from portmert.tuner.base import mapped
from portmert.tuner.base.errors import ConfigError, InputError
from portmert.tuner.nbest import parts
from portmert.tuner.texts import statistics
from tests.support.cli import fault, run
from tests.support.places import ROOT
from tests.support.run_folders import LITTLE

SEGMENTS = 12
LITTLE_BAGGED = f"bagged:{','.join(one.removeprefix('optimizer.') for one in LITTLE)}"


def lines(rng, references):
    for segment, reference in enumerate(references):
        for _ in range(int(rng.integers(3, 20))):
            wrong = rng.random(len(reference)) < rng.uniform(0.1, 0.6)
            tokens = [
                f"w{rng.integers(30)}" if w else t for w, t in zip(wrong, reference, strict=True)
            ]
            values = np.round(rng.normal(size=4) - wrong.sum() * np.array([1, 0.5, 0, -1]), 2)
            links = " ".join(f"{i}-{i}" for i in range(len(tokens)))
            shown = f"LM= {values[0]} TM= {values[1]} {values[2]} {values[3]} One= 1"
            row = f"{segment} ||| {' '.join(tokens)} ||| {shown} ||| 0 ||| {links}\n"
            yield from [row] * int(rng.integers(1, 3))  # equal ones are one hypothesis


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Two lists of the same segments, read in many parts and searched in many blocks."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    references = [[f"w{t}" for t in rng.integers(0, 30, 7)] for _ in range(SEGMENTS)]
    text = "\n".join(" ".join(tokens) for tokens in references) + "\n"
    Path("ref").write_text(text)
    Path("src").write_text(text)
    Path("links").write_text((" ".join(f"{i}-{i}" for i in range(7)) + "\n") * SEGMENTS)
    one = list(lines(rng, references))
    Path("one.nbest").write_text("".join(one))
    Path("two.nbest").write_text("".join(sorted([*lines(rng, references), *one[::3]], key=of)))
    monkeypatch.setattr("portmert.tuner.base.files._READ", 500)
    monkeypatch.setattr(parts, "PART_BYTES", 3000)
    monkeypatch.setattr(mapped, "BLOCK_BYTES", 1000)
    return tmp_path


def of(line):
    return int(line.split()[0])


LISTS = ("--nbest", "one.nbest", "--nbest", "two.nbest", "--ref", "ref")
LINKED = ("--source", "src", "--ref-links", "links")


def found(*options, metric="bleu", out="w.json"):
    result = run("optimize", "--metric", metric, *LISTS, *options, "--out", out)
    # The pool says what is odd of the lists when all of them are read: later than in memory.
    other = ("the pool in", "compiling kernels")
    said = sorted(x for x in result.stderr.splitlines() if not any(word in x for word in other))
    return Path(out).read_bytes(), said, result.stdout.rpartition(",")[0]


def same(*options, metric="bleu"):
    there = found(*options, metric=metric)
    assert found(*options, "--pool", "pool", metric=metric) == there
    return there


@pytest.mark.parametrize(
    "metric",
    ["bleu", "chrf", "nist", "ter", "port", "meteor", "0.5*bleu + 0.5*chrf", "bleu:smooth=add1"],
)
def test_statistics_on_disk_give_the_bytes_of_memory(metric):
    options = (*(LINKED if metric == "port" else ()), "--optimizer", LITTLE_BAGGED)
    there = same(*options, metric=metric)
    assert found(*options, "--pool", "pool", metric=metric) == there  # used again


@pytest.mark.parametrize(
    "options",
    [
        ("mert:searches_per_feature=30", "--threads", 2),
        ("coordinate:restarts=2",),
        ("powell:restarts=2",),
        ("random-directions:restarts=2",),
        ("bagged:longest=4",),
        ("pro:samples=50,pairs=20",),
        ("pro:samples=50,pairs=20", "--prior", 0.1),
        ("kbmira:epochs=4",),
        ("min-risk:iterations=5",),
        ("min-risk:iterations=5", "--fix", "LM"),
        ("bagged", "--prior", 0.1),
        ("mert:searches_per_feature=30", "--fix", "LM"),
        ("mert:searches_per_feature=30", "--tie", "TM", "--bound", "LM=-1:2"),
        ("mert:searches_per_feature=30", "--text", "lowercase"),
    ],
    ids=lambda options: " ".join(map(str, options)),
)
def test_searches_on_disk_give_the_bytes_of_memory(options):
    same("--optimizer", *options)


def test_a_pool_is_used_again_without_reading_the_lists(monkeypatch):
    found("--pool", "pool")
    times = {path: path.stat().st_mtime_ns for path in Path("pool").iterdir()}

    def never(*_):
        raise AssertionError("the lists are read again")

    monkeypatch.setattr(parts, "merged_parts", never)
    assert found("--pool", "pool")[0] == found()[0]
    assert {path: path.stat().st_mtime_ns for path in Path("pool").iterdir()} == times


def test_a_pool_of_other_lists_or_metric_is_made_anew():
    found("--pool", "pool")
    content = Path("one.nbest").read_text()
    Path("one.nbest").write_text(content.replace("LM= -", "LM= ", 5))
    there = found()
    note = "portmert: note: the pool in pool is made anew: it was made with other"
    given = (*LISTS, "--pool", "pool", "--out", "w.json")
    assert f"{note} lists" in run("optimize", "--metric", "bleu", *given).stderr
    assert Path("w.json").read_bytes() == there[0]
    assert f"{note} metric" in run("optimize", "--metric", "chrf", *given).stderr


def test_a_damaged_pool_is_one_line():
    found("--pool", "pool")
    path = Path("pool/stats.npy")
    path.write_bytes(path.read_bytes()[:-1])
    said = fault("optimize", "--metric", "bleu", *LISTS, "--pool", "pool", "--out", "w.json")
    assert "error: pool/stats.npy: the pool is damaged" in said


def test_what_goes_wrong_in_the_middle_leaves_no_pool(monkeypatch):
    real, calls = statistics.compute_stats, []

    def fails(*given, **options):
        calls.append(given)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(statistics, "compute_stats", fails)
        given = (*LISTS, "--pool", "pool", "--out", "w.json")
        run("optimize", "--metric", "bleu", *given, status=130)
    assert [path.name for path in Path("pool").iterdir()] == [".pool.lock"]
    assert found("--pool", "pool")[0] == found()[0]


def test_a_killed_process_leaves_no_pool_and_the_next_one_makes_it():
    there = found()[0]
    child = f"""
import sys, time
from portmert.tuner.base import files
from portmert.tuner.nbest import parts, pool_files
from portmert.tuner.cli import main
files._READ, parts.PART_BYTES = 500, 3000
real = pool_files.PoolWriter._write
def slow(self, name, *rest):
    done = real(self, name, *rest)
    if name == "stats.npy":
        print("written", flush=True)
        time.sleep(60)
    return done
pool_files.PoolWriter._write = slow
main({["optimize", "--metric", "bleu", *LISTS, "--pool", "pool", "--out", "x.json"]!r})
"""
    process = subprocess.Popen(
        [sys.executable, "-c", child],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout.readline() == b"written\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert not Path("pool/pool.json").exists()
    assert not Path("x.json").exists()
    (Path("pool") / ".stats.npy.0123abcd.part").write_text("half")
    assert found("--pool", "pool")[0] == there
    assert sorted(path.name for path in Path("pool").iterdir()) == [
        ".pool.lock",
        "features.npy",
        "offsets.npy",
        "pool.json",
        "stats.npy",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--also", "chrf"), "other metrics need n-best lists with texts, not a pool on disk"),
        (("--bootstrap", 2), "neither resampled nor sent to a cluster; leave out the pool"),
        (("--length-penalty", "0:2"), "a length penalty needs n-best lists with texts, not a po"),
        (("--feature", "length"), "in a pool on disk have no features; leave out"),
        (("--executor", "dask:x.json"), "nor sent to a cluster"),
        (("--ids",), "have no ids"),
    ],
)
def test_what_needs_the_texts_is_refused(options, message):
    given = (*LISTS, "--pool", "pool", *options, "--out", "w.json")
    assert message in fault("optimize", "--metric", "bleu", *given)
    given = (*LISTS, "--pool", "pool", "--replicas", 2, "--out-dir", "d")
    wrong = fault("optimize", "--metric", "bleu", *given, status=2)
    assert "--pool does not go with --replicas" in wrong


def test_lists_that_cannot_be_pooled_are_one_line():
    Path("scores").write_text("1\n" * 999)
    for metric, message in (
        ("scores:scores", "does not go with a pool on disk"),
        ("bleu", "a pool on disk is made of lists in files"),
    ):
        lists = ("--nbest", "-" if metric == "bleu" else "one.nbest", "--ref", "ref")
        given = (*lists, "--pool", "pool", "--out", "w.json")
        assert message in fault("optimize", "--metric", metric, *given)
    given = ("--nbest", "nowhere", "--ref", "ref", "--pool", "pool", "--out", "w.json")
    said = fault("optimize", "--metric", "bleu", *given)
    assert said.endswith("error: nowhere: No such file or directory\n")
    assert not Path("pool").exists()
    Path("one.nbest").write_text(Path("one.nbest").read_text().rpartition("\n11 |||")[0] + "\n")
    Path("ref").write_text("a\n" * 13)
    given = ("--nbest", "one.nbest", "--ref", "ref", "--pool", "pool", "--out", "w.json")
    said = fault("optimize", "--metric", "bleu", *given)
    assert "1 of 13 segments have no hypothesis (ids 12)" in said
    (Path("here") / "x").mkdir(parents=True)
    given = (*LISTS, "--pool", "here", "--out", "w.json")
    said = fault("optimize", "--metric", "bleu", *given)
    assert "the references have 13" in said or "holds x and no pool" in said


def test_python_has_pools_too():
    given = {"metric": "bleu", "optimizer": "mert:searches_per_feature=30"}
    paths = ["one.nbest", "two.nbest"]
    pool = portmert.Lists.on_disk("pool", paths, refs="ref")
    there = portmert.optimize(portmert.Lists.read(paths, refs="ref"), **given)
    here = portmert.optimize(pool, **given)
    assert here.to_json() == there.to_json()
    assert here.as_json()["restarts"] == there.as_json()["restarts"]
    text = [Path("ref").read_text().splitlines()]
    of_lines = portmert.Lists.on_disk("pool", paths, refs=text)
    assert portmert.optimize(of_lines, **given).to_json() == there.to_json()
    with pytest.raises(ConfigError, match="in a pool on disk are neither resampled"):
        portmert.optimize(pool, samples=2, **given)
    with pytest.raises(ConfigError, match="other metrics need n-best lists with texts, not a po"):
        portmert.optimize(pool, also=["chrf"], **given)
    with pytest.raises(InputError, match="is made of lists in files"):
        portmert.Lists.on_disk("pool", "-", refs="ref")
    start = {"weights": {"LM": 1.0, "TM": [1.0, 1.0, 1.0], "One": 1.0}}
    Path("start.json").write_text(str({**start, "length_penalty": 1.0}).replace("'", '"'))
    with pytest.raises(ConfigError, match=r"start.json: weights with a length penalty \(1\) need"):
        portmert.optimize(pool, weights="start.json", **given)
