"""Compiling with less work: what is compiled does the same, and others' code is left alone."""

import gc

import numpy as np
import pytest
from numba import njit, version_info
from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

from metrics import _compiled
from metrics._compiler import KNOWN, _Library

pytestmark = [
    pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled"),
    pytest.mark.skipif(version_info.short > KNOWN, reason="a numba whose inside is not known"),
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
    assert gc.isenabled()

    @kernel
    def minus(n):
        return plus(n) - 2

    assert minus(1) == 0
    assert type(library(minus)) is _Library
