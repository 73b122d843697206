"""`portmert compile`: nothing is left to compile after it."""

import os
import subprocess
import sys

import pytest

from portmert.extensions.compile import warm_up
from tests.support.places import ROOT

NOTICE = "compiling kernels that this command needs"


def portmert(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "portmert", *map(str, arguments)],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(folder / "cache")},
    )


@pytest.mark.slow
def test_compile_leaves_nothing_to_compile(tmp_path):
    for name, content in (
        ("list", warm_up.LIST.replace("a b", "x y z")),
        ("ref", "a b c d\nc d e f g\n"),
        ("src", "p q r s t\np q r\n"),
        ("links", "0-0 1-1 4-2\n0-0 1-1 2-2\n"),
    ):
        (tmp_path / name).write_text(content)
    plain = ("--ref", "ref", "--source", "src", "--ref-links", "links", "--metric", "port-tau")
    optimize = ("optimize", *plain, "--nbest", "list", "--out", "w.json")
    first = portmert(
        tmp_path, *optimize, "--optimizer", "mert", "--set", "searches_per_feature=40"
    )
    assert NOTICE in first.stderr
    (tmp_path / "cache").rename(tmp_path / "old")
    (tmp_path / "outputs").mkdir()
    rows = ["system\tsegment\tscore"]
    for number, system in enumerate("AB"):
        (tmp_path / "outputs" / f"{system}.en").write_text("a b c\nc d x\n")
        rows += [f"{system}\t{segment}\t{segment - number}" for segment in range(2)]
    (tmp_path / "human.tsv").write_text("".join(f"{row}\n" for row in rows))
    judged = (
        "--human",
        "human.tsv",
        "--outputs",
        "outputs",
        "--metric",
        "ter",
        "--metric",
        "bleu",
    )
    portmert(tmp_path, "compile", "--for", "tune")
    for metric in ("bleu", "port"):
        tuning = ("optimize", *plain[:-1], metric, "--nbest", "list", "--out", "w2.json")
        assert NOTICE not in portmert(tmp_path, *tuning).stderr
    assert portmert(tmp_path, "compile").stdout.startswith("kernels are compiled (")
    for command in (
        optimize,
        ("rerank", "--nbest", "list", "--weights", "w.json", "--links-out", "bl", "--out", "best"),
        ("rerank", "--nbest", "list", "--mbr", "chrf", "--out", "best2"),
        ("metaeval", *judged, "--ref", "ref"),
        ("score", *plain, "--metric", "kendall", "--hyp", "best", "--hyp-links", "bl"),
        ("score", "--ref", "ref", "--metric", "wer", "--hyp", "best"),
    ):
        assert NOTICE not in portmert(tmp_path, *command).stderr
