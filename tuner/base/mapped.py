"""Map arrays from files, and keep only the part in memory that is being read.

A mapped array is used like any other. A pass over a whole one goes block by block and gives the
pages of each block back: the system keeps them as long as it has room, and they are not this
process's memory. For arrays in memory all of this does nothing.
"""

import errno
import math
import mmap
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import FloatArray, IntArray

from .errors import PortmertError

BLOCK_BYTES = 1 << 26
"""Bytes of mapped arrays that are read at once."""

GATHERED = 1 << 11
"""Rows taken at once: the system may map 64 KiB around each."""


class _Mapping(mmap.mmap):
    """A mapping with the folder of its file."""

    folder: Path


def map_array(
    path: Path, dtype: np.dtype[Any], shape: tuple[int, ...], *, begin: int
) -> NDArray[Any]:
    """Return the content of a file from byte `begin` on, in C order.

    Writing to it changes no file. (Kernels would be compiled a second time for a mapping that
    cannot be written to.)
    """
    with path.open("rb") as file:
        mapping = _Mapping(file.fileno(), 0, access=mmap.ACCESS_COPY)
    mapping.folder = path.parent
    return np.ndarray(shape, dtype, buffer=mapping, offset=begin)


def is_mapped(array: NDArray[Any]) -> bool:
    """Whether an array, or what it is a view of, is mapped from a file."""
    return _mapping(array) is not None


def release(*arrays: NDArray[Any]) -> None:
    """Give back the memory of arrays that are mapped; it is read again when it is needed."""
    for array in arrays:
        mapping = _mapping(array)
        if mapping is not None:
            mapping.madvise(mmap.MADV_DONTNEED)


def segment_blocks(offsets: IntArray, *arrays: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield ranges first..last-1 that cover all segments, and release the arrays after each.

    One range where no array is mapped.

    Parameters
    ----------
    offsets : (S + 1,) int64
        Hypotheses of segment s are `offsets[s]:offsets[s + 1]`.
    arrays
        The arrays that are read; each has one column or row for each hypothesis.
    """
    mapped = [array for array in arrays if is_mapped(array)]
    first, segments = 0, len(offsets) - 1
    if segments and not mapped:
        yield 0, segments
        return
    width = sum(array.nbytes for array in mapped) / max(int(offsets[-1]), 1)
    most = int(BLOCK_BYTES / max(width, 1.0))
    while first < segments:
        last = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        last = min(max(last, first + 1), segments)
        yield first, last
        release(*mapped)
        first = last


def gather(table: NDArray[Any], rows: IntArray) -> FloatArray:
    """Return the (n, K) float64 rows of a table, in any order, repeated or not."""
    if not is_mapped(table):
        return np.asarray(np.take(table, rows, axis=0), dtype=np.float64)
    found = np.empty((len(rows), *table.shape[1:]))
    for begin in range(0, len(rows), GATHERED):
        found[begin : begin + GATHERED] = table[rows[begin : begin + GATHERED]]
        release(table)
    return found


def empty_beside(array: NDArray[Any], shape: tuple[int, ...]) -> FloatArray:
    """Return a float64 array of any content; a large one beside a mapped one is mapped, too.

    Its file has no name and is gone with the array, or with the process.

    Raises
    ------
    PortmertError
        There is no room for it.
    """
    mapping, size = _mapping(array), 8 * math.prod(shape)
    if mapping is None or size <= BLOCK_BYTES:
        return np.empty(shape)
    try:
        with tempfile.TemporaryFile(dir=mapping.folder) as file:
            if sys.platform == "darwin":
                os.truncate(file.fileno(), size)
            else:  # a full disk now, not when it is written to
                os.posix_fallocate(file.fileno(), 0, size)
            new = _Mapping(file.fileno(), size)
    except OSError as error:
        raise PortmertError(
            f"{mapping.folder}: no room for {size} bytes that the search writes there: "
            f"{error.strerror or errno.errorcode.get(error.errno or 0)}"
        ) from None
    new.folder = mapping.folder
    return np.ndarray(shape, np.float64, buffer=new)


def _mapping(array: Any) -> _Mapping | None:
    """Return the mapping whose memory an array is in."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, _Mapping) else None
