"""A short run of `make fuzz` with a fixed seed; and that it sees what it looks for."""

from pathlib import Path

import pytest

from tests.fuzz.__main__ import fuzz
from tests.fuzz.judging import Ended, faults
from tests.fuzz.targets import Target

TARGET = Target("lists", (), ("list",), out=("out.json",))
LINUX = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="system: no /proc")


@LINUX
def test_damaged_input_ends_with_one_line_and_harms_nothing(tmp_path):
    statuses, found = fuzz(1, range(300), tmp_path, tmp_path / "findings", seconds=600)
    assert found == []
    assert statuses.total() == 300
    assert statuses[0] > 30  # what is accepted is tried too
    assert statuses[1] > 150


GOOD = "portmert: error: list:1: not this\n"


@pytest.mark.parametrize(
    ("ended", "files", "said"),
    [
        (Ended(0, "", ""), {"list": "a", "out.json": "{}"}, None),
        (Ended(1, "", GOOD), {"list": "a"}, None),
        (Ended(-9, "", ""), {"list": "a"}, "ended by SIGKILL"),
        (Ended(-14, "", ""), {"list": "a"}, "ended by SIGALRM"),
        (Ended(70, "", "Traceback"), {"list": "a"}, "exit status 70; 'Traceback' on stderr"),
        (Ended(1, "", GOOD + GOOD), {"list": "a"}, "not one line of error"),
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
