"""Makes numba compile kernels in less time: same code, same numbers.

Only while a kernel compiles: what others compile in the same process is left alone.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from llvmlite.binding import ffi
from numba.core import errors, event, ssa, types
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler_machinery import PassManager
from numba.core.environment import lookup_environment
from numba.core.postproc import PostProcessor
from numba.core.registry import cpu_target
from numba.core.runtime.context import NRTContext
from numba.core.transforms import canonicalize_cfg

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
    - Types of calls are found anew each time that numba goes over a function, and once more when
      it writes the call, although the same call always has the same type.
    - Helpers are optimized for themselves (see `_Library`).
    - Numbers inside of a value are taken out of it when its arrays are counted.
    - Who times LLVM is told of each call.
    - Most messages of errors, all in colour, are of attempts that numba makes, and never seen.
    - Each step is checked and timed, and variables' lives are found anew after it, although only
      the last steps ask for them.
    """

    def __init__(self, kernels: set[Any]) -> None:
        self._kernels = kernels
        self._depth = 0
        self._collected = False
        self._types: dict[Any, Any] = {}
        self._replaced: list[tuple[Any, str, Any]] = []

    def on_start(self, begun: event.Event) -> None:
        """Begin with the outermost function; it compiles what it calls."""
        if self._depth == 0 and begun.data["dispatcher"] in self._kernels:
            self._collected = gc.isenabled()
            gc.disable()
            context = cpu_target.typing_context
            for owner, name, value in (
                (cpu_target.target_context.codegen(), "_library_class", _Library),
                (
                    context,
                    "resolve_function_type",
                    self._remembering(context.resolve_function_type),
                ),
                (types.Function, "get_call_type", self._remembering_method()),
                (NRTContext, "get_meminfos", _meminfos),
                (type(errors.termcolor()), "_markup", _plain),
                (ffi.lib._lock, "_cblist", []),  # noqa: SLF001  each call of LLVM tells them
                (ssa._logger, "debug", _silent),  # noqa: SLF001  nobody listens
                (PassManager, "_runPass", _take),
                (PostProcessor, "run", _process),
            ):
                self._replaced.append((owner, name, vars(owner).get(name)))  # else inherited
                setattr(owner, name, value)
        self._depth += 1

    def on_end(self, _: event.Event) -> None:
        """Put everything back."""
        self._depth -= 1
        if self._depth == 0 and self._replaced:
            while self._replaced:
                owner, name, value = self._replaced.pop()
                if value is None:
                    delattr(owner, name)
                else:
                    setattr(owner, name, value)
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

    def _remembering_method(self) -> Callable[..., Any]:
        """Return `_remembering` for a method of numba's own functions."""
        resolve = types.Function.get_call_type

        def get_call_type(function: Any, context: Any, args: Any, keywords: Any) -> Any:
            return self._remembering(lambda *call: resolve(call[0], context, *call[1:]))(
                function, args, keywords
            )

        return get_call_type


def _meminfos(nrt: Any, builder: Any, kind: types.Type, value: Any) -> list[tuple[Any, Any]]:
    """Return what counts the uses of arrays in a value, and their types."""
    models = nrt._context.data_model_manager  # noqa: SLF001  as in the method it stands for
    model = models[kind]
    found = []
    if model.has_nrt_meminfo():
        found.append((kind, model.get_nrt_meminfo(builder, value)))
    for inner, part in model.traverse(builder):
        if models[inner].contains_nrt_meminfo():
            found += _meminfos(nrt, builder, inner, part(value))
    return found


def _plain(_: Any, message: str, *__: Any, **___: Any) -> str:
    """Return a message of numba without colours."""
    return message


def _silent(*_: Any) -> None:
    """Log nothing."""


def _take(manager: Any, _: int, step: Any, state: Any) -> None:
    """Take a step."""
    step.analysis = manager._analysis  # noqa: SLF001  as in the method it stands for
    step.run_pass(state)


def _process(processor: Any, emit_dels: bool = False, **options: Any) -> None:
    """Find variables' lives, if their ends are to be written down."""
    if emit_dels or processor.func_ir.is_generator:
        _find_lives(processor, emit_dels, **options)
    else:
        processor.func_ir.blocks = canonicalize_cfg(processor.func_ir.blocks)
        processor.func_ir.generator_info = None


_find_lives = PostProcessor.run


def spare(kernels: set[Any]) -> None:
    """Spare the compiler work from now on while it compiles one of these."""
    event.register("numba:compile", Quick(kernels))
