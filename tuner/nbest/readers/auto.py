"""Find the format that the first lines of a list show."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from portmert.metrics._base import Vocabulary
from portmert.tuner.families import component, fault_of, names
from portmert.tuner.ground.errors import ConfigError, InputError, shown
from portmert.tuner.nbest.pool import ArrivedList
from portmert.tuner.nbest.readers._base import ListFile, Reader
from portmert.tuner.nbest.readers.moses import MosesReader


@dataclass(frozen=True)
class Auto(Reader):
    """Guess the format from the first lines and read it; `flat` cannot be guessed."""

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
        found: list[type[Reader]] = []
        unusable = ""
        for name in names("reader"):
            try:
                cls = component("reader", name)
                if cls.recognises(file.head):
                    found.append(cls)
            except Exception as error:
                said = str(error) if isinstance(error, ConfigError) else fault_of(error)
                if said is None:  # not of another package
                    raise
                unusable += f"; {said}"
        if len(found) == 1:
            return found[0]()
        if found:
            formats = " and ".join(cls.name() for cls in found)
            raise InputError(
                f"{file.where}: the first lines fit the formats {formats}; name one by "
                f"--nbest-format"
            )
        if "|||" in file.head[0]:
            return MosesReader()  # whose messages say what is wrong
        raise InputError(
            f"{file.where}: the first lines (`{shown(file.head[0])}`) fit no format of n-best "
            f"lists that is recognised; name it by --nbest-format (plain hypotheses are flat:n=N)"
            f"{unusable}"
        )

    def read(self, file: ListFile, vocabulary: Vocabulary) -> ArrivedList:
        """Parse a whole file."""
        return self.detect(file).read(file, vocabulary)
