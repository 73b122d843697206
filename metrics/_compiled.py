"""Say in one place how kernels are compiled.

Python calls a kernel; only kernels call a helper.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function when it is first called, and keep it on disk."""
    compiled: Callable[..., Any] = njit(nogil=True, no_cfunc_wrapper=True, cache=True)(function)
    return compiled


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that only kernels call, as a part of each kernel that calls it.

    A wrapper for calls from Python would double the time that this takes.
    """
    compiled: Callable[..., Any] = njit(
        nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True
    )(function)
    return compiled


class _Uncollected(event.Listener):  # type: ignore[misc]  # numba has no types
    """Turns the garbage collector off while the compiler runs: it finds nothing to free there."""

    def __init__(self) -> None:
        self._depth = 0
        self._was_on = False

    def on_start(self, _: event.Event) -> None:
        """Turn the collector off with the outermost function."""
        if self._depth == 0:
            self._was_on = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, _: event.Event) -> None:
        """Turn it on again after the outermost function."""
        self._depth -= 1
        if self._depth == 0 and self._was_on:
            gc.enable()


event.register("numba:compile", _Uncollected())
