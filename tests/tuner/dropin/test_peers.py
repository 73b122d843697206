"""Moses' own regression tests of its tuning programs, run on ours."""

import gzip
import re

import pytest

from portmert.tuner.dropin import extractor, mert
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
    "seed", [1000, 7, *(pytest.param(n, marks=pytest.mark.slow) for n in range(9))]
)
def test_mert_finds_the_best_known_weights_of_a_small_list(tmp_path, monkeypatch, capsys, seed):
    monkeypatch.chdir(tmp_path)
    data = PEERS / "mert.basic" / "data"
    words = ["--scfile", data / "SCORESTAT.txt", "--ffile", data / "FEATSTAT.txt"]
    words += ["--ifile", data / "INIT", "-d", 14, "-n", 20, "-r", seed]
    assert mert.main([str(word) for word in words]) == 0
    score = float(re.search(r"Best point: .* => (\S+)", capsys.readouterr().err)[1])
    assert score >= BEST_KNOWN > MOSES_SCORE
