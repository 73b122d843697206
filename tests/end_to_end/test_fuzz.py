"""A short run of `make fuzz` with a fixed seed; and that it sees what it looks for."""

from pathlib import Path

import pytest

from tests.fuzz.__main__ import judge_of
from tests.fuzz.judging import Ended, faults
from tests.fuzz.targets import Target
from tests.support.cases import Judged, tried

TARGET = Target("lists", (), ("list",), out=("out.json",))
LINUX = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="system: no /proc")


@LINUX
def test_damaged_input_ends_with_one_line_and_harms_nothing(tmp_path):
    judge = judge_of(1, "*", tmp_path)
    counts, found = tried(range(70), judge, tmp_path / "findings", seconds=600)
    assert found == []
    assert counts.total() == 70
    assert counts["with status 0"] > 3  # what is accepted is tried too
    assert counts["with status 1"] > 35


def test_what_is_found_is_kept(tmp_path):
    files = tmp_path / "case"
    files.mkdir()

    def judge(case):
        (files / "list").write_text(str(case))
        return Judged("lists", "ends", ["litter"] * (case == 2), files, ("it said this",))

    counts, found = tried(range(4), judge, tmp_path / "kept", seconds=600)
    kept = tmp_path / "kept" / "case-2"
    assert (counts, found) == ({"ends": 4}, [f"case 2 (lists): litter; see {kept}"])
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["case-2"]
    assert (kept / "list").read_text() == "2"
    assert (kept / "judged.txt").read_text() == "litter\nit said this"
    assert tried([3], judge, tmp_path / "kept", seconds=600, keep_all=True)[1] == []
    assert (tmp_path / "kept" / "case-3" / "judged.txt").read_text() == "it said this"
    assert tried(range(4), judge, tmp_path / "late", seconds=-1) == ({}, [])


GOOD = "portmert: error: list:1: not this\n"


@pytest.mark.parametrize(
    ("ended", "files", "said"),
    [
        (Ended(0, "", ""), {"list": "a", "out.json": "{}"}, None),
        (Ended(1, "", GOOD), {"list": "a"}, None),
        (Ended(-9, "", ""), {"list": "a"}, "ended by SIGKILL"),
        (Ended(-14, "", ""), {"list": "a"}, "ended by SIGALRM"),
        (Ended(70, "", "Traceback"), {"list": "a"}, "exit status 70; 'Traceback' on stderr"),
        (Ended(1, "", f"{GOOD}    bleu +\n        ^\n"), {"list": "a"}, None),
        (Ended(1, "", f"own.py:3: DeprecationWarning: a\n{GOOD}"), {"list": "a"}, "'Warning:' on"),
        (Ended(1, "", GOOD + GOOD), {"list": "a"}, "not one line of error"),
        (Ended(1, "", f"{GOOD}    bleu\n"), {"list": "a"}, "not one line of error"),
        (Ended(1, "", "portmert: error: no\n"), {"list": "a"}, "names no file"),
        (Ended(1, "", GOOD[:-1] + "\x1b\n"), {"list": "a"}, "control characters"),
        (Ended(1, "", GOOD[:-1] + "a" * 3000), {"list": "a"}, "a message of 3"),
        (Ended(1, "", GOOD), {"list": "b"}, "list was changed"),
        (Ended(1, "", GOOD), {}, "list was changed"),
        (Ended(1, "", GOOD), {"list": "a", ".x.part": ""}, "litter"),
        (Ended(1, "", GOOD), {"list": "a", "out.json": "{}"}, "failed, but wrote"),
        (Ended(0, "", ""), {"list": "a"}, "is missing"),
        (Ended(0, "", ""), {"list": "a", "out.json": "{}", "new": ""}, "nobody asked for"),
        (Ended(0, "", ""), {"list": "a", "out.json": "[NaN]"}, "NaN is no JSON"),
        (Ended(0, "", "not enough memory"), {"list": "a", "out.json": "{}"}, "not enough memory"),
    ],
)
def test_faults_are_seen(tmp_path, ended, files, said):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    found = "; ".join(faults(TARGET, ended, {"list": b"a"}, tmp_path))
    assert found == "" if said is None else said in found
