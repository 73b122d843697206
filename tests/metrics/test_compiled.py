"""Kernels are compiled again when a file that they call into has changed."""

from __future__ import annotations

import os
import subprocess
import sys

HELPERS = """from portmert.metrics.kernels.compiled import helper


@helper
def twice(x):
    return {factor} * x
"""
KERNELS = """from helpers_of_test import twice
from portmert.metrics.kernels.compiled import kernel


@kernel
def four_times(x):
    return twice(twice(x))


print(four_times(3))
"""


def test_an_edited_helper_of_another_file_is_noticed(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    (tmp_path / "kernels_of_test.py").write_text(KERNELS)
    found = []
    for factor in (2, 2, 5):
        (tmp_path / "helpers_of_test.py").write_text(HELPERS.format(factor=factor))
        result = subprocess.run(
            [sys.executable, "-m", "kernels_of_test"],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        found.append(int(result.stdout))
    assert found == [12, 12, 75]
