"""Makes numba compile kernels in less time: same code, same numbers.

Only while a kernel compiles: what others compile in the same process is left alone.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from numba import version_info
from numba.core import event, types
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.environment import lookup_environment
from numba.core.registry import cpu_target

if TYPE_CHECKING:
    from collections.abc import Callable


class _Library(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
    """Holds compiled code, and makes machine code of it when that is asked for.

    Numba optimizes every function for itself and makes machine code of it, and does so again in
    each of its callers, which have a copy of it. A helper's machine code is never called: here it
    is optimized as a part of its callers, and only there.
    """

    _linking = False
    _made = False

    @property
    def codegen(self) -> Any:
        """What can be told where the environment of a function is, if there is such a place."""
        return self._codegen if self._made else _Nowhere

    @property
    def has_dynamic_globals(self) -> bool:
        """Whether machine code may not go to the cache: asked of all that goes there."""
        self._ensure_finalized()
        self._make()
        return bool(self._dynamic_globals)

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave functions as they are: the module's optimization begins with each."""
        ll_module.data_layout = self._codegen._data_layout  # noqa: SLF001  as in the base class

    def finalize(self) -> None:
        """Link what is called, and no more."""
        self._linking = True
        super().finalize()
        self._linking = False
        self._finalized = True
        if any(
            variable.name.startswith(RuntimeLinker.PREFIX)
            for variable in self._final_module.global_variables
        ):
            self._make()  # what calls itself does so by its address

    def _make(self) -> None:
        """Optimize the code and make machine code."""
        if not self._made:
            self._optimize_final_module()
            self._final_module.verify()
            self._finalize_final_module()

    def _optimize_final_module(self) -> None:
        """Optimize the code, unless it is only linked."""
        if not self._linking:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        """Make machine code, also of what comes from the cache; tell it its environments."""
        if self._linking:
            return
        self._made = True
        super()._finalize_final_module()
        for variable in self._final_module.global_variables:
            if (environment := lookup_environment(variable.name)) is not None:
                self._codegen.set_env(variable.name, environment)

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function, 0 if it is not in here."""
        self._ensure_finalized()
        if any(
            function.name == name and not function.is_declaration
            for function in self._final_module.functions
        ):
            self._make()
        pointer: int = super().get_pointer_to_function(name)
        return pointer


class _Nowhere:
    """Stands for the machine code that there is none of."""

    @staticmethod
    def set_env(_name: str, _environment: Any) -> None:
        """Set nothing: the callers' machine code is told."""


class Quick(event.Listener):  # type: ignore[misc]  # numba has no types
    """Spares the compiler work while it compiles a kernel.

    - The garbage collector looks again and again for cycles among millions of objects that live
      until the compiler ends.
    - Types of calls are found anew each time that numba goes over a function, until all types are
      known, although the same call always has the same type.
    - Helpers are optimized for themselves (see `_Library`).
    """

    def __init__(self) -> None:
        self.kernels: set[Any] = set()
        """Whose compilation is spared work: dispatchers."""
        self._depth = 0
        self._within: Any = None
        self._collected = False
        self._types: dict[Any, Any] = {}

    def on_start(self, begun: event.Event) -> None:
        """Begin with the outermost function; it compiles what it calls."""
        if self._depth == 0 and begun.data["dispatcher"] in self.kernels:
            self._within = begun.data["dispatcher"]
            self._collected = gc.isenabled()
            gc.disable()
            cpu_target.target_context.codegen()._library_class = _Library  # noqa: SLF001  its hook
            context = cpu_target.typing_context
            context.resolve_function_type = self._remembering(context.resolve_function_type)
        self._depth += 1

    def on_end(self, _: event.Event) -> None:
        """Put everything back."""
        self._depth -= 1
        if self._depth == 0 and self._within is not None:
            self._within = None
            del cpu_target.target_context.codegen()._library_class  # noqa: SLF001  its hook
            del cpu_target.typing_context.resolve_function_type
            if self._collected:
                gc.enable()

    def _remembering(self, resolve: Callable[..., Any]) -> Callable[..., Any]:
        def remembered(function: Any, args: Any, keywords: Any) -> Any:
            if not all(isinstance(each, types.Type) for each in args):
                return resolve(function, args, keywords)  # a constant index, say a slice
            key = function, tuple(args), tuple(keywords.items()) if keywords else ()
            if (found := self._types.get(key)) is None:
                found = resolve(function, args, keywords)
                if found is not None:
                    self._types[key] = found
            return found

        return remembered


KNOWN = (0, 68)
"""The last version of numba whose inside is known: a later one compiles as it always does."""

quick = Quick()
if version_info.short <= KNOWN:
    event.register("numba:compile", quick)
