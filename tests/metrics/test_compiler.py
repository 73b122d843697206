"""Compiling with less work: what is compiled does the same, and others' code is left alone."""

import gc
import subprocess
import sys

import numpy as np
import pytest
from numba import njit, version_info
from numba.core import config, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python, rtsys

from metrics import _compiled
from tests.support.places import ROOT

pytestmark = [
    pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled"),
    pytest.mark.skipif(
        version_info.short > _compiled.KNOWN, reason="a numba whose inside is not known"
    ),
]


def kernel(function):
    """Compile as a kernel, not kept on disk."""
    return _compiled._compiled(function)


def library(function):
    (compiled,) = function.overloads.values()
    return compiled.library


def test_a_helper_has_machine_code_in_its_kernel_only():
    @_compiled.helper
    def squares(n):
        out = np.zeros(n)
        for k in range(n):
            out[k] = k * k
        return out

    @kernel
    def total(n):
        return squares(n).sum() + squares(1).sum()

    assert total(4) == 14
    assert library(total)._made
    assert not library(squares)._made
    assert total(5) == 30


def test_a_kernel_that_another_calls_can_be_called():
    @kernel
    def twice(n):
        return 2 * n

    @kernel
    def more(n):
        return twice(n) + 1

    assert more(3) == 7
    assert twice(3) == 6


LATER = """
import sys
import numba
numba.version_info = numba.version_info._replace(short=(0, 1000))
sys.modules["metrics._compiler"] = sys.modules["metrics._pipeline"] = None  # as if they failed
from metrics import _compiled

@_compiled.helper
def twice(n):
    return 2 * n

more = _compiled._compiled(lambda n: twice(n) + 1)
print(more(3), more.signatures)
"""


def test_a_later_numba_is_left_as_it_is():
    done = subprocess.run(
        [sys.executable, "-c", LATER], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "7 [(int64,)]\n"


def test_a_helper_may_call_itself():
    @_compiled.helper
    def product(n):
        if n < 2:
            return 1
        return n * product(n - 1)

    @kernel
    def factorial(n):
        return product(n)

    assert factorial(5) == 120


def test_an_exception_with_a_value_leaves_a_helper():
    @_compiled.helper
    def checked(n):
        if n < 0:
            raise ValueError("below 0", n)
        return n

    @kernel
    def same(n):
        return checked(n)

    assert same(3) == 3
    with pytest.raises(ValueError, match="below 0") as raised:
        same(-2)
    assert raised.value.args == ("below 0", -2)


def test_what_others_compile_is_left_alone():
    codegen, context = cpu_target.target_context.codegen(), cpu_target.typing_context
    resolve = type(context).resolve_function_type

    @njit
    def plus(n):
        return n + 1

    @kernel
    def wrong(n):
        return n.nothing

    with pytest.raises(Exception, match="nothing"):
        wrong(1)
    assert plus(1) == 2
    assert type(library(plus)) is JITCodeLibrary
    assert codegen._library_class is JITCodeLibrary
    assert context.resolve_function_type.__func__ is resolve
    assert types.Function.get_call_type is types.functions.BaseFunction.get_call_type
    assert PassManager._runPass.__module__ == PassManager.__module__
    assert gc.isenabled()

    @kernel
    def minus(n):
        return plus(n) - 2

    assert minus(1) == 0
    assert type(library(minus)) is not JITCodeLibrary


@pytest.mark.parametrize("dtype", [np.int32, np.uint64, np.float32, np.float64, np.bool_])
def test_items_of_arrays_are_those_of_numpy(dtype):
    @kernel
    def fill(out, array, places, near):
        k = 0
        for i in range(array.shape[0]):
            for j in range(-array.shape[1], array.shape[1]):
                for near[0] in range(2):
                    out[k] = array[i, j, places[near[0]]]
                    array[i, j, -2] = array[0, 0, 0]
                    k += 1
        return out[-1], out[np.uint8(1)]

    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    same, want = array.copy(), []
    for i in range(2):
        for j in range(-3, 3):
            for place in (-1, 2):
                want.append(same[i, j, place])
                same[i, j, -2] = same[0, 0, 0]
    out = np.zeros(len(want), dtype)
    ends = fill(out, array, np.array([-1, 2], np.int32), np.zeros(1, np.int64))
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(array, same)
    assert ends == (want[-1], want[1])


def test_arrays_that_are_not_in_one_piece_are_read_as_they_lie():
    @kernel
    def at(array, i, j):
        return array[i, j]

    array = np.arange(12).reshape(3, 4)
    for each in (array.T, array[::2, 1:], np.asfortranarray(array)):
        assert [at(each, i, -1) for i in range(2)] == [each[i, -1] for i in range(2)]


@pytest.mark.parametrize("ends", [(0, 5), (2, 5), (5, 2), (-3, 1), (4, 4)])
def test_ranges_are_those_of_python(ends):
    @kernel
    def numbers(start, stop, out):
        count = 0
        for k in range(start, stop):
            out[count] = k
            count += 1
        for k in range(stop):
            out[count] = k
            count += 1
        for k in range(start, stop, 2):
            out[count] = k
            count += 1
        for k in range(stop, start, -1):
            if k == 3:
                break
            out[count] = k
            count += 1
        else:
            out[count] = 99
            count += 1
        return count

    start, stop = ends
    down = list(range(stop, start, -1))
    down = down[: down.index(3)] if 3 in down else [*down, 99]
    want = [*range(start, stop), *range(stop), *range(start, stop, 2), *down]
    out = np.zeros(50, np.int64)
    assert list(out[: numbers(start, stop, out)]) == want


def test_arrays_are_freed_once_whoever_made_them():
    @_compiled.helper
    def first(array):
        part = array[1:]  # counts no uses
        return part[0]

    @_compiled.helper
    def longer(array):
        out = np.empty(array.size + 1, array.dtype)
        out[0], out[1:] = array.size, array
        return out

    @_compiled.helper
    def same(array):
        return array[:]

    @kernel
    def total(n):
        array = np.ones(n)
        for _ in range(3):
            array = same(longer(array))
        return first(array) + array[array > 2].sum()

    @kernel
    def part(array):
        return array[1:]

    total(2)
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    assert total(2) == 3 + (4 + 3)  # of 4, 3, 2, 1, 1
    given = np.arange(4.0)
    uses = sys.getrefcount(given)
    kept = part(given)
    assert kept.base is not None
    np.testing.assert_array_equal(kept, given[1:])
    del kept
    assert sys.getrefcount(given) == uses
    after = rtsys.get_allocation_stats()
    assert after.alloc > before.alloc
    assert after.alloc - before.alloc == after.free - before.free
