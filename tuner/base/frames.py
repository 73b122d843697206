"""Columns of data frames (pandas, polars, Arrow) and of mappings of columns, by name."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, suggest
from .numbers import FINITE, LARGEST

FloatArray = NDArray[np.float64]
ADVICE = "say what to do: --missing drop, segment or impute"
"""Ends messages about values that are missing."""
BLOCK = 1 << 16
"""Rows whose values are objects of Python at once."""
_LIBRARIES = ("pandas", "polars", "pyarrow", "modin", "cudf")


def is_frame(value: Any) -> bool:
    """Whether a value is a data frame, or a mapping of columns."""
    if isinstance(value, Mapping):
        return bool(value) and all(_is_column(column) for column in value.values())
    library = type(value).__module__.partition(".")[0]
    return library in _LIBRARIES and library in sys.modules and hasattr(value, "columns")


def frame_of(rows: Sequence[Mapping[str, Any]], like: Any = None) -> Any:
    """Return a data frame with these rows; lists and mappings within them are left out.

    Parameters
    ----------
    like
        A frame of the kind to return, or the name of its library: polars, pandas, pyarrow, dict.
        Default: the library that is loaded; a dict of columns if there is none.
    """
    names = dict.fromkeys(key for row in rows for key in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    nested = (list, tuple, Mapping)
    columns = {
        name: values
        for name, values in columns.items()
        if not any(isinstance(value, nested) for value in values)
    }
    if like is None:
        like = next((library for library in _LIBRARIES[:3] if library in sys.modules), "dict")
    if isinstance(like, Mapping) or (isinstance(like, str) and like == "dict"):
        return columns
    import narwhals  # noqa: PLC0415  start-up time

    backend: Any = like
    if not isinstance(like, str):
        backend = narwhals.from_native(like, eager_only=True).implementation
    return narwhals.from_dict(columns, backend=backend).to_native()


class Framed:
    """A result that is a data frame too."""

    @property
    def frame_rows(self) -> Sequence[Mapping[str, Any]]:
        """The rows of the frame."""
        raise NotImplementedError

    def to_frame(self, like: Any = None) -> Any:
        """Return a data frame of the result.

        Parameters
        ----------
        like
            A frame of the kind to return, or the name of its library: `"polars"`, `"pandas"`,
            `"pyarrow"`, `"dict"`. Default: the library that is loaded, else a dict of columns.
        """
        return frame_of(self.frame_rows, like)


def _is_column(value: Any) -> bool:
    return isinstance(value, list | tuple) or getattr(value, "ndim", 0) == 1


@dataclass(frozen=True, eq=False)
class Frame:
    """A data frame, or a mapping of columns, whose columns are taken by name.

    Parameters
    ----------
    columns
        A frame of narwhals, or a mapping of columns.
    where : str
        What messages call it.
    """

    columns: Any
    where: str

    @classmethod
    def of(cls, value: Any, where: str = "the frame") -> Frame:
        """Take a frame of any library.

        Raises
        ------
        InputError
            It is none, or two columns have different lengths.
        """
        if isinstance(value, Mapping) and is_frame(value):
            sizes = {name: len(column) for name, column in value.items()}
            if len(set(sizes.values())) > 1:
                listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
                raise InputError(f"{where}: columns of different lengths: {listed}")
            return cls(value, where)
        if not is_frame(value):
            raise InputError(
                f"{where} is {type(value).__name__}; expected a data frame of pandas, polars or "
                f"Arrow, or a dict of columns; files of CSV or Parquet are read by these "
                f"libraries, as polars.read_parquet(FILE)"
            )
        import narwhals  # noqa: PLC0415  start-up time

        native: Any = value
        return cls(narwhals.from_native(native, eager_only=True), where)

    @property
    def library(self) -> str:
        """The name of its library, or `dict`."""
        is_plain = isinstance(self.columns, Mapping)
        return "dict" if is_plain else str(self.columns.implementation.value)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        if isinstance(self.columns, Mapping):
            return list(self.columns)
        return list(self.columns.columns)

    def __len__(self) -> int:
        if isinstance(self.columns, Mapping):
            return len(next(iter(self.columns.values())))
        return len(self.columns)

    def column(self, name: str) -> Any:
        """Return a column.

        Raises
        ------
        InputError
            There is none of this name; says which there are.
        """
        if name not in self.names:
            raise InputError(f"{self.where}: no column '{name}'{suggest(name, self.names)}")
        return self.columns[name]

    def fail(self, name: str, row: int, fault: str) -> NoReturn:
        """Raise the error of a value."""
        raise InputError(f"{self.where}: column '{name}', row {row}: {fault}")

    def numbers(self, name: str, *, missing: bool = False) -> FloatArray:
        """Return (n,) a column of numbers; true is 1.

        Parameters
        ----------
        missing
            Whether values may be missing, and are NaN then.

        Raises
        ------
        InputError
            A value is no number, not finite, or missing; says which.
        """
        column = self.column(name)
        if not isinstance(self.columns, Mapping):
            import narwhals  # noqa: PLC0415  start-up time

            is_number = column.dtype.is_numeric() or column.dtype == narwhals.Boolean
            column = column.cast(narwhals.Float64).to_numpy() if is_number else column.to_list()
        values = _plain_array(column)
        if values.dtype.kind not in "biuf":
            values = self._from_objects(name, values)
        numbers: FloatArray = values.astype(np.float64)
        numbers += 0.0  # no -0.0
        if numbers.min(initial=0) >= -LARGEST and numbers.max(initial=0) <= LARGEST:
            return numbers
        wrong = ~(np.abs(numbers) <= LARGEST) & ~np.isnan(numbers)
        for row in np.flatnonzero(wrong)[:1].tolist():
            self.fail(name, row, f"{numbers[row]}; values must be {FINITE}")
        for row in np.flatnonzero(np.isnan(numbers))[:1].tolist() if not missing else ():
            self.fail(name, row, f"no number is there; {ADVICE}")
        return numbers

    def _from_objects(self, name: str, values: NDArray[Any]) -> FloatArray:
        numbers = np.empty(len(values))
        for row, value in enumerate(values.tolist()):
            if value is None or type(value).__name__ in ("NAType", "NaTType"):
                numbers[row] = np.nan
            elif isinstance(value, Real):
                numbers[row] = float(value)
            else:
                self.fail(name, row, f"{value!r:.60}, expected a number")
        return numbers

    def values(self, name: str) -> Iterator[list[Any]]:
        """Yield a column in blocks of Python's values; None where one is missing."""
        column = self.column(name)
        for begin in range(0, len(self), BLOCK):
            part = column[begin : begin + BLOCK]
            if isinstance(part, list | tuple):
                yield list(part)
            else:
                yield part.to_list() if hasattr(part, "to_list") else part.tolist()

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the values of each row by the names of the columns."""
        columns = [itertools.chain.from_iterable(self.values(name)) for name in self.names]
        for row in zip(*columns, strict=True):
            yield dict(zip(self.names, row, strict=True))

    def texts(self, name: str) -> list[str | None]:
        """Return a column of texts; None where one is missing."""
        texts = [text for block in self.values(name) for text in block]
        for row, text in enumerate(texts):
            if not (text is None or isinstance(text, str)):
                if _is_nan(text):  # what pandas has for no text
                    texts[row] = None
                else:
                    self.fail(name, row, f"{text!r:.60}, expected a text")
        return texts

    def ids(self, name: str) -> tuple[list[str], NDArray[np.int64]]:
        """Return the ids of segments in order of arrival, and (n,) the number of each row's."""
        numbers: dict[str, int] = {}
        codes = np.empty(len(self), dtype=np.int64)
        begin = 0
        for block in self.values(name):
            values = np.empty(len(block), dtype=object)
            values[:] = block
            heads = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
            names = [str(value) for value in values[heads]]
            for row, text in zip(heads.tolist(), names, strict=True):
                if text not in numbers or not isinstance(values[row], str | int):
                    self._check_id(name, begin + row, values[row])
            of_heads = [numbers.setdefault(text, len(numbers)) for text in names]
            sizes = np.diff(heads, append=len(values))
            codes[begin : begin + len(block)] = np.repeat(of_heads, sizes)
            begin += len(block)
        return list(numbers), codes

    def _check_id(self, name: str, row: int, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, str | int):
            text = "missing" if value is None or _is_nan(value) else f"{value!r:.60}"
            self.fail(name, row, f"the id is {text}; expected a text or a whole number")
        if len(str(value).split()) != 1:
            self.fail(name, row, f"the id {value!r:.60} is not one word")

    def rows(self, rows: Sequence[int]) -> Any:
        """Return some rows, as a frame of the kind that came in."""
        if isinstance(self.columns, Mapping):
            return {name: [column[k] for k in rows] for name, column in self.columns.items()}
        return self.columns[list(rows)].to_native()

    def with_columns(self, columns: Mapping[str, NDArray[Any]]) -> Any:
        """Return the frame with more columns, as one of the kind that came in.

        Raises
        ------
        InputError
            It has a column of such a name.
        """
        for name in columns:
            if name in self.names:
                raise InputError(f"{self.where} has a column '{name}'; rename it")
        if isinstance(self.columns, Mapping):
            return {**self.columns, **columns}
        backend = self.columns.implementation
        if backend.is_pandas_like():  # rows may have an index of their own
            return self.columns.to_native().assign(**columns)
        import narwhals  # noqa: PLC0415  start-up time

        series = [
            narwhals.new_series(name, values.tolist(), backend=backend)
            for name, values in columns.items()
        ]
        return self.columns.with_columns(*series).to_native()


def _plain_array(column: Any) -> NDArray[Any]:
    """Return a column of a mapping as numbers if all are, else as objects of Python."""
    with suppress(ValueError):  # of lists within lists
        values = np.asarray(column)
        if values.dtype.kind in "biuf" and values.ndim == 1:
            return values
    return np.fromiter(column, dtype=object, count=len(column))


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)
