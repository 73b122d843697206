"""Kernels are compiled again when a file that they call into has changed."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from portmert.metrics.kernels.compiled import Watch, mixed

HELPERS = """from portmert.metrics.kernels.compiled import helper


@helper
def twice(x):
    return {factor} * x
"""
KERNELS = """{imported}
from portmert.metrics.kernels.compiled import kernel


@kernel
def four_times(x):
    return {twice}({twice}(x))


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


def write_edit(path, old, new, *, keep_time=False):
    """Edit a file; keep the old time, as `cp -p`, `rsync -t` and `tar` do."""
    times = path.stat()
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    if keep_time:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize(
    ("imported", "twice"),
    [
        ("from helpers_of_test import twice", "twice"),
        ("import helpers_of_test", "helpers_of_test.twice"),
        ("from between_of_test import twice as double", "double"),
        ("from package_of_test import helpers_of_test as other", "other.twice"),
    ],
)
def test_an_edited_helper_is_noticed_however_it_is_reached_and_whatever_its_time(
    tmp_path, imported, twice
):
    inner = tmp_path / "package_of_test"
    inner.mkdir()
    (inner / "__init__.py").write_text("from . import helpers_of_test\n")
    (tmp_path / "between_of_test.py").write_text("from helpers_of_test import *\n")
    (tmp_path / "kernels_of_test.py").write_text(KERNELS.format(imported=imported, twice=twice))
    for file in (tmp_path / "helpers_of_test.py", inner / "helpers_of_test.py"):
        file.write_text(HELPERS.format(factor=2))
    found = []
    for factor in (2, 5):
        for file in (tmp_path / "helpers_of_test.py", inner / "helpers_of_test.py"):
            write_edit(file, "return 2", f"return {factor}", keep_time=True)
        found.append(int(printed(tmp_path, "kernels_of_test")))
    assert found == [12, 75]
    kept = (tmp_path / "__pycache__").glob("kernels_of_test.four_times*.nb?")
    assert len(list(kept)) == 2  # an index and a kernel


def test_an_edited_kernel_is_noticed_whatever_its_time_and_kernels_run_uncompiled(tmp_path):
    file = tmp_path / "kernels_of_test.py"
    file.write_text(KERNELS.format(imported="from helpers_of_test import twice", twice="twice"))
    (tmp_path / "helpers_of_test.py").write_text(HELPERS.format(factor=5))
    assert int(printed(tmp_path, "kernels_of_test")) == 75
    write_edit(file, "twice(twice(x))", "twice(twice(7))", keep_time=True)
    assert int(printed(tmp_path, "kernels_of_test")) == 175
    result = subprocess.run(
        [sys.executable, "-m", "kernels_of_test"], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    assert int(result.stdout) == 175


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


def test_garbage_is_not_collected_while_the_outermost_function_compiles():
    announced = []
    watch = Watch()
    watch.begun = lambda: announced.append(list(watch.files))
    try:
        for is_on in (True, False):
            (gc.enable if is_on else gc.disable)()
            for module in (
                "portmert.metrics.kernels.ngrams",
                "portmert.tuner.search._line_search_kernels",
            ):
                watch.on_start(module)
                assert not gc.isenabled()
            watch.on_end()
            assert not gc.isenabled()
            watch.on_end()
            assert gc.isenabled() == is_on
    finally:
        gc.enable()
    assert announced == [[]]
    assert list(watch.files) == ["ngrams"]
    assert watch.seconds > 0


@pytest.mark.parametrize(("step", "other_step"), [(1, 1), (7919, 1), (1, 2**16), (2**13, 1)])
@pytest.mark.parametrize("count", [1, 64, 4096])
def test_a_hash_spreads_pairs_over_a_table(step, other_step, count):
    """4,096 pairs take about as many of 8,192 slots as random numbers, which take 3,223."""
    firsts = np.arange(count, dtype=np.int64)[:, None] * step
    seconds = np.arange(4096 // count, dtype=np.int64) * other_step
    assert len(np.unique(mixed.plain(firsts, seconds) & 8191)) > 2800


def test_a_hash_of_the_largest_numbers_does_not_overflow():
    largest = 2**31 - 1, 2**32 - 1
    assert mixed.plain(*map(np.int64, largest)) == mixed.plain(*largest)
    assert 0 <= mixed.plain(*largest) < 2**31
