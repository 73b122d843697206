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


def test_an_edited_helper_of_another_file_is_noticed_and_uncompiled_kernels_run(tmp_path):
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
    environment["NUMBA_DISABLE_JIT"] = "1"
    result = subprocess.run(
        [sys.executable, "-m", "kernels_of_test"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(result.stdout) == 75


ARGUMENTS = """from typing import NamedTuple
from portmert.metrics.kernels.compiled import kernel


class {name}(NamedTuple):
    x: int


@kernel
def doubled(given):
    return 2 * given.x


print(doubled({name}(3)))
"""


def test_a_kept_kernel_of_an_argument_type_that_is_gone_is_compiled_again(tmp_path):
    """An upgrade renames classes, and leaves the old kernels on disk."""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("Old", "New"):
        (tmp_path / "arguments_of_test.py").write_text(ARGUMENTS.format(name=name))
        program = "import arguments_of_test"  # a module, so that its class can be unpickled
        result = subprocess.run(
            [sys.executable, "-c", program],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert result.stdout == "6\n"
