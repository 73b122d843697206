"""Compiles kernels, and holds what the kernels of several files share."""

import functools
import gc
import hashlib
import importlib.util
import re
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from .._base import IntArray, TokenArray

_IMPORT = re.compile(rb"^(?:from|import)\s+([\w.]+)", re.MULTILINE)
_KERNEL_FILE = re.compile(rb"^(?:from|import)\s.*\bkernels\b.*\bcompiled\b", re.MULTILINE)
_read = functools.cache(Path.read_bytes)
_NO_KERNELS = {"numba", "numpy", *sys.stdlib_module_names}


class Compiled:
    """A function that numba compiles when it is first called; numba is imported then.

    To import numba and to load the first kernel take longer than to count a short text.

    Parameters
    ----------
    plain
        The function, uncompiled.
    **options
        Options of numba's `njit`.
    """

    def __init__(self, plain: Any, **options: bool) -> None:
        self.plain: Callable[..., Any] = plain
        self._options = options
        self._dispatcher: Any = None

    @property
    def dispatcher(self) -> Any:
        """The function as numba knows it."""
        if self._dispatcher is None:
            with _LOCK:
                if self._dispatcher is None:
                    self._dispatcher = self._dispatch()
        return self._dispatcher

    def _dispatch(self) -> Any:
        """Return the function as numba knows it; remove what the disk has of earlier versions."""
        compile_later = _engine()(**self._options)
        if not self._options.get("cache"):
            return compile_later(self.plain)
        code: Any = self.plain
        file = Path(code.__code__.co_filename)
        digest = _digest(file, code.__module__.rpartition(".")[0])
        code.__qualname__ += f".{digest}"  # numba names what it keeps after it
        dispatcher = compile_later(code)
        if dispatcher is not code:  # it is with NUMBA_DISABLE_JIT
            pattern = f"{file.stem}.{code.__name__}[.-]*.nb?"
            for old in Path(dispatcher.stats.cache_path).glob(pattern):
                if digest not in old.name:
                    with suppress(OSError):  # another process removed it, or may do so alone
                        old.unlink()
        return dispatcher

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        return self.dispatcher(*arguments)


_LOCK = threading.RLock()


def is_loaded() -> bool:
    """Return whether a kernel was called: to call further ones costs little then."""
    return _engine.cache_info().currsize > 0


@functools.cache
def _engine() -> Callable[..., Any]:
    """Return numba's `njit`, which then knows `Compiled` functions."""
    from numba import njit  # noqa: PLC0415  start-up time
    from numba.core import event  # noqa: PLC0415
    from numba.extending import typeof_impl  # noqa: PLC0415

    class Listener(event.Listener):  # type: ignore[misc]  # numba has no types
        """Passes events on."""

        def on_start(self, event: Any) -> None:
            WATCH.on_start(event.data["dispatcher"].py_func.__module__)

        def on_end(self, event: Any) -> None:  # noqa: ARG002  numba's name
            WATCH.on_end()

    def type_of(function: Compiled, context: Any) -> Any:
        return typeof_impl(function.dispatcher, context)

    typeof_impl.register(Compiled, type_of)
    event.register("numba:compile", Listener())
    engine: Any = njit
    return functools.partial(engine, nogil=True, no_cfunc_wrapper=True)


def kernel(function: Any) -> Compiled:
    """Compile a function when it is first called, and keep it on disk.

    It is compiled again when its own file, or a kernel file that this imports, directly or not,
    holds something else. Numba notices only the first, and only by its time and size.
    """
    return Compiled(function, cache=True)


def helper(function: Any) -> Compiled:
    """Compile a function that only kernels call, as a part of each kernel that calls it.

    A wrapper for calls from Python would double the time that this takes.
    """
    return Compiled(function, no_cpython_wrapper=True)


def borrower(function: Any) -> Compiled:
    """Compile a helper that makes no array and returns none.

    It does not count the references to the arrays that it is given. Counting takes longer than the
    work on a short text, above all of arrays in a named tuple.
    """
    return Compiled(function, no_cpython_wrapper=True, _nrt=False)


@functools.cache
def _digest(file: Path, package: str) -> str:
    """Return a hash of what a kernel file and all kernel files that it imports hold."""
    files = {(Path(__file__), ""), (file, package)}
    while added := {imported for pair in files for imported in _imported(*pair)} - files:
        files |= added
    contents = sorted({_read(path) for path, _ in files})
    return hashlib.sha256(b"\n".join(contents)).hexdigest()[:16]


@functools.cache
def _imported(file: Path, package: str) -> set[tuple[Path, str]]:
    """Return the kernel files that a file imports, and their packages; of a package, all in it."""
    files = set()
    for name in {name.decode() for name in _IMPORT.findall(_read(file))}:
        if name.partition(".")[0] not in _NO_KERNELS:
            with suppress(ImportError, ValueError, AttributeError):  # left to the import itself
                spec: Any = importlib.util.find_spec(name, package)
                place = Path(spec.origin)
                in_all = spec.submodule_search_locations and place.parent.glob("*.py")
                files |= {(path, spec.parent) for path in in_all or [place]}
    return {
        (path, package)
        for path, package in files
        if path.parent == file.parent or _KERNEL_FILE.search(_read(path))
    }


class Watch:
    """Watches numba compile, and keeps the garbage collector off: it finds nothing to free there.

    Attributes
    ----------
    begun
        Called when the first kernel begins to compile.
    seconds : float
        The time of compiling so far.
    files : dict
        Where the kernels stand that were compiled, as keys.
    """

    def __init__(self) -> None:
        self.begun: Callable[[], None] = lambda: None
        self.seconds = 0.0
        self.files: dict[str, None] = {}
        self._depth = 0
        self._was_on = False
        self._start = 0.0

    def on_start(self, module: str) -> None:
        """Begin with a function of a module; only the outermost one counts."""
        if self._depth == 0:
            self._was_on = gc.isenabled()
            gc.disable()
            self._start = time.perf_counter()
            if not self.files:
                self.begun()
            folder, file = module.split(".")[-2:][0], module.rpartition(".")[2]
            self.files[folder if "kernels" in file else file] = None
        self._depth += 1

    def on_end(self) -> None:
        """End a function."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._start
            if self._was_on:
                gc.enable()


WATCH = Watch()


class Segments(NamedTuple):
    """The hypotheses and references of S segments, as kernels read them.

    Parameters
    ----------
    tokens, token_offsets
        Hypothesis h is `tokens[token_offsets[h]:token_offsets[h + 1]]`. A token is a number, or
        in a forest a row of numbers.
    offsets : (S + 1,) int64
        The hypotheses of segment s are `offsets[s]:offsets[s + 1]`.
    reference_tokens, reference_token_offsets, reference_offsets
        The same for the references. A kernel that takes one reference a segment reads only the
        first two: reference s is that of segment s.
    """

    tokens: TokenArray
    token_offsets: IntArray
    offsets: IntArray
    reference_tokens: TokenArray
    reference_token_offsets: IntArray
    reference_offsets: IntArray


@helper
def mixed(first: int, second: int) -> int:
    """Return a number below 2**31 whose last bits depend on both numbers: a hash.

    The first is below 2**31, the second below 2**32: nothing overflows.
    """
    product = second * 0x2545F491 + first * 0x1B873593
    return (product ^ (product >> 17)) & 0x7FFFFFFF


@helper
def find(keys: IntArray, mask: int, node: int, token: int) -> tuple[Any, bool]:
    """Look up the sequence `node` extended by `token` in a hash table.

    The node of a sequence is its slot plus one; 0 is the empty sequence. Equal slots mean equal
    sequences, because keys are compared in full. A table has 2**k slots, -1 where one is free, and
    at most half of them are taken, so that the search ends.

    Returns
    -------
    slot, found
        Where the extended sequence is, or the free slot where it belongs; `key` is what to write
        there.
    """
    key = (node << 32) | token
    slot = mixed(node, token) & mask
    while keys[slot] != key:
        if keys[slot] < 0:
            return slot, False
        slot = (slot + 1) & mask
    return slot, True


@helper
def table_size(entries: int) -> int:
    """Return the size of a hash table of which so many entries take at most half.

    A kernel that sizes a table for each segment has this loop itself: the compiler then knows that
    the size is above 0, which makes the look-ups faster.
    """
    size = 16
    while size < 2 * entries:
        size *= 2
    return size


@helper
def longest_row(offsets: IntArray) -> int:
    """Return the length of the longest row, 0 if there is none."""
    longest = 0
    for k in range(offsets.size - 1):
        longest = max(longest, offsets[k + 1] - offsets[k])
    return longest


@helper
def most_in_segment(offsets: IntArray, token_offsets: IntArray) -> int:
    """Return the most tokens that all texts of one segment have together."""
    most = 0
    for s in range(offsets.size - 1):
        most = max(most, token_offsets[offsets[s + 1]] - token_offsets[offsets[s]])
    return int(most)
