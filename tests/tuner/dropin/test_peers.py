"""Moses' own regression tests of its tuning programs, run on ours."""

import gzip
import itertools
import re

import numpy as np
import pytest
from scipy.spatial import cKDTree

from portmert.tuner.dropin import extractor, mert, pro
from tests.support.places import SHARED, needs

PEERS = SHARED / "data" / "peers" / "moses-mert"
pytestmark = needs(PEERS)
MOSES_SCORE, BEST_KNOWN = 0.304339, 0.304563


def lines_of_truth(path):
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = text.decode().splitlines()
    return [line.partition("=")[2] for line in lines if line.startswith("STDOUT_")]


@pytest.fixture
def extract(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def extract(test, nbest, *more, name="run"):
        data = PEERS / test / "data"
        files = ("--ffile", f"{name}.features", "--scfile", f"{name}.scores")
        words = ("--nbest", data / nbest, "--reference", data / "reference", *files, *more)
        assert extractor.main([str(word) for word in words]) == 0
        return [
            line
            for kind in ("features", "scores")
            for line in (tmp_path / f"{name}.{kind}").read_text().splitlines()
        ]

    return extract


def test_extractor_keeps_or_omits_duplicates_as_moses(extract):
    """The list has ids without a blank behind them, as old versions of Moses wrote them."""
    test = "mert.extractor-dups"
    found = extract(test, "nbest.gz") + extract(test, "nbest.gz", "--allow-duplicates")
    assert found == lines_of_truth(PEERS / test / "truth" / "results.txt")


def test_extractor_writes_the_lines_of_five_runs_in_the_order_of_moses(extract):
    test, found = "mert.extractor-txt", []
    for run in range(1, 6):
        before = (
            ("--prev-ffile", f"{run - 1}.features", "--prev-scfile", f"{run - 1}.scores")
            if run > 1
            else ()
        )
        found += extract(test, f"nbest.{run}.gz", *before, name=f"{run}")
    assert found == lines_of_truth(PEERS / test / "truth" / "results.txt.gz")


@pytest.mark.parametrize(
    ("seed", "more"),
    [
        (1000, ("--set", "restarts=8")),  # half of the usual number
        *(pytest.param(n, (), marks=pytest.mark.slow) for n in (*range(9), 1000)),
    ],
)
def test_mert_finds_the_best_known_weights_of_a_small_list(
    tmp_path, monkeypatch, capsys, seed, more
):
    monkeypatch.chdir(tmp_path)
    data = PEERS / "mert.basic" / "data"
    words = ["--scfile", data / "SCORESTAT.txt", "--ffile", data / "FEATSTAT.txt"]
    words += ["--ifile", data / "INIT", "-d", 14, "-n", 20, "-r", seed, *more]
    assert mert.main([str(word) for word in words]) == 0
    score = float(re.search(r"Best point: .* => (\S+)", capsys.readouterr().err)[1])
    assert score >= BEST_KNOWN > MOSES_SCORE


def rows(path):
    """Return the rows of numbers of each segment of a .dat file."""
    segments = re.split(r"_TXT_BEGIN_0 .*\n", path.read_text())[1:]
    return [np.array([row.split() for row in re.findall(r"^[-\d].*", one, re.MULTILINE)], float)
            for one in segments]  # fmt: skip


def changes_of(lines):
    """Return (n, 14): the differences of features of the lines that begin with 1."""
    found = np.zeros((len(lines), 14))
    for row, line in enumerate(lines):
        for name, value in re.findall(r" F(\d+) (\S+)", line):
            found[row, int(name)] = value
    return found[[line[0] == "1" for line in lines]]


@pytest.mark.parametrize(("test", "more"), [("mert.pro", []), ("mert.pro-bp-smooth", ["-b"])])
def test_pro_keeps_pairs_like_those_of_moses(tmp_path, monkeypatch, test, more):
    """Its random numbers are its own: no run is the same, but all keep the best of 5000 pairs."""
    monkeypatch.chdir(tmp_path)
    data = PEERS / test / "data"
    words = ["--scfile", data / "SCORESTAT.txt", "--ffile", data / "FEATSTAT.txt", *more]
    assert pro.main([*map(str, words), "-r", "1", "-o", "pairs"]) == 0
    ours = (tmp_path / "pairs").read_text().splitlines()
    theirs = lines_of_truth(PEERS / test / "truth" / "results.txt.gz")
    assert len(ours) == len(theirs) == 700
    # What all pairs of all segments gain, by the formula: where do the pairs of either stand?
    changes, gains = [], []
    files = zip(rows(data / "SCORESTAT.txt"), rows(data / "FEATSTAT.txt"), strict=True)
    for scores, features in files:
        hits, counts = scores[:, 0:8:2] + 1, scores[:, 1:8:2] + 1
        short = 1 - (scores[:, 8] + len(more)) / scores[:, 1]
        worth = np.exp(np.log(hits / counts).sum(axis=1) / 4 + np.minimum(short, 0))
        first, second = np.array(list(itertools.permutations(range(len(worth)), 2))).T
        changes.append(features[first] - features[second])
        gains.append(worth[first] - worth[second])
    tree, gained = cKDTree(np.concatenate(changes)), []
    for lines in (theirs, ours):
        far, place = tree.query(changes_of(lines))
        assert far.max() < 1e-3
        gained.append(np.concatenate(gains)[place])
        assert gained[-1].min() >= 0.05
    theirs, ours = (np.sort(one) for one in gained)
    assert np.abs(theirs - ours).mean() < 0.002
    assert ours == pytest.approx(theirs, abs=0.05)
