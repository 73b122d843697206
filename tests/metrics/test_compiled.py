"""Kernels are compiled again when a file that they call into has changed."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import warnings

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


def printed(folder, module):
    """Return what a module of a folder prints when it is imported in a child."""
    path = folder / "printed"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which wait
        child = os.fork()  # it has numba already
    if child == 0:
        status = 1
        try:
            sys.dont_write_bytecode = True
            sys.path.insert(0, str(folder))
            with path.open("w") as out, contextlib.redirect_stdout(out):
                importlib.import_module(module)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    return path.read_text()


def test_an_edited_helper_of_another_file_is_noticed_and_uncompiled_kernels_run(tmp_path):
    (tmp_path / "kernels_of_test.py").write_text(KERNELS)
    found = []
    for factor in (2, 2, 5):
        (tmp_path / "helpers_of_test.py").write_text(HELPERS.format(factor=factor))
        found.append(int(printed(tmp_path, "kernels_of_test")))
    assert found == [12, 12, 75]
    result = subprocess.run(
        [sys.executable, "-m", "kernels_of_test"], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"},
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
    for name in ("Old", "New"):
        (tmp_path / "arguments_of_test.py").write_text(ARGUMENTS.format(name=name))
        # A module, so that its class can be unpickled.
        assert printed(tmp_path, "arguments_of_test") == "6\n"
