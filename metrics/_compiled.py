"""Compiles kernels: one place says how.

A kernel is called from Python, a helper from kernels only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import njit, version_info
from numba.core import types
from numba.core.types.misc import unliteral

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KNOWN = (0, 68)
"""The last version of numba whose inside is known: a later one compiles as it always does."""

_KERNELS: set[Any] = set()
"""Whose compilation is spared work, where numba's inside is known: dispatchers."""

_PIPELINE: dict[str, Any] = {}
"""Options of `njit` there."""

if version_info.short <= KNOWN:
    # These take from numba what another may not have.
    from metrics._compiler import spare
    from metrics._pipeline import Pipeline

    spare(_KERNELS)
    _PIPELINE["pipeline_class"] = Pipeline


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function when it is first called, and keep it on disk."""
    return _compiled(function, cache=True)


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Do so for a function that only kernels call: it is kept as a part of them.

    A way in from Python would take as long again.
    """
    return _compiled(function, no_cpython_wrapper=True)


def _compiled(function: Callable[..., Any], **options: bool) -> Callable[..., Any]:
    """Return a function compiled without the way in for C, which nothing takes."""
    dispatcher = njit(nogil=True, no_cfunc_wrapper=True, **_PIPELINE, **options)(function)
    if dispatcher is not function:  # where NUMBA_DISABLE_JIT is set it is the function itself
        resolve = dispatcher.get_call_template

        def without_numbers(args: Sequence[Any], keywords: dict[str, Any]) -> Any:
            """Compile for int where a caller says 0: not once more for each constant.

            True and False stay what they are: they choose between two kinds of a function.
            """
            return resolve(
                [_general(each) for each in args],
                {name: _general(each) for name, each in keywords.items()},
            )

        dispatcher.get_call_template = without_numbers
        _KERNELS.add(dispatcher)
    compiled: Callable[..., Any] = dispatcher
    return compiled


def _general(kind: types.Type) -> types.Type:
    """Return the type of all numbers for that of one number."""
    return unliteral(kind) if isinstance(kind, types.IntegerLiteral) else kind
