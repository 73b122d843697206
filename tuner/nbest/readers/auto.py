"""Whatever the first lines show it is."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import tuner.nbest.readers
from tuner.errors import InputError
from tuner.nbest.readers._base import ListFile, Reader, shown
from tuner.nbest.readers.moses import MosesReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metrics._base import Vocabulary
    from tuner.nbest.arrived import ArrivedList


@dataclass(frozen=True)
class AutoReader(Reader):
    """The format that the first lines show; plain hypotheses (`flat`) show none."""

    title: ClassVar[str] = "automatic"

    @classmethod
    def recognises(cls, head: Sequence[str]) -> bool:  # noqa: ARG003  it is none itself
        """Never."""
        return False

    def detect(self, file: ListFile) -> Reader:
        """Return the reader of this file.

        Raises
        ------
        InputError
            No format, or more than one, fits the first lines.
        """
        if not file.head:
            raise InputError(f"{file.where}: blank lines only, expected an n-best list")
        found = [cls for cls in _readers() if cls.recognises(file.head)]
        if len(found) == 1:
            return found[0]()
        names = [cls.__module__.rpartition(".")[2] for cls in found]
        if found:
            raise InputError(
                f"{file.where}: the first lines fit the formats {' and '.join(names)}; name one "
                f"by --nbest-format"
            )
        if "|||" in file.head[0]:
            return MosesReader()  # whose messages say what is wrong
        raise InputError(
            f"{file.where}: the first lines (`{shown(file.head[0])}`) fit no format of n-best "
            f"lists that is recognised; name it by --nbest-format (plain hypotheses are flat:n=N)"
        )

    def read(
        self,
        file: ListFile,
        vocabulary: Vocabulary,
        segments: int | None,
        notice: Callable[[str], None],
    ) -> ArrivedList:
        """Parse a whole file."""
        return self.detect(file).read(file, vocabulary, segments, notice)


def _readers() -> list[type[Reader]]:
    """Return the readers of all formats, by name."""
    classes = []
    for info in sorted(
        pkgutil.iter_modules(tuner.nbest.readers.__path__), key=lambda info: info.name
    ):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"tuner.nbest.readers.{info.name}")
        classes += [
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and value.__module__ == module.__name__
            and dataclasses.is_dataclass(value)
            and issubclass(value, Reader)
        ]
    return classes
