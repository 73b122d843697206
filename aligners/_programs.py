"""The base of aligners that run outside programs."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from pydantic.dataclasses import dataclass

from portmert.tuner.base import model_folders, programs

from ._base import Links
from ._symmetrize import Heuristic, symmetrize
from ._training import Rows, TrainedAligner, check_lengths

SPECIAL = frozenset(
    {
        *("NULL", "UNK", "({", "})"),  # MGIZA++: the empty word, and fields of its A3 files
        *("$", "1$", "2$", "3$", "4$"),  # mkcls: ends of sentences
        "mkcls-mapped-dollar-symbol-$",
    }
)
ESCAPE = "@escaped:"

Directions = tuple[Sequence[Links], Sequence[Links]]
"""Links of each pair in which a source word has at most one, and in which a target word has."""


@dataclass(frozen=True)
class ProgramAligner(TrainedAligner):
    """A trained aligner that runs outside programs.

    Parameters
    ----------
    symmetrization : str
        How the two directions are combined, as by Moses' symal: "srctotgt", "tgttosrc",
        "union", "intersection", "grow", "grow-diag", "grow-final", "grow-diag-final",
        "grow-final-and".
    bin_dir : Path or None
        Folder of the programs. None: they are on PATH.
    """

    symmetrization: Heuristic = "grow-diag-final-and"
    bin_dir: Path | None = None

    package: ClassVar[str]
    most_tokens: ClassVar[int] = 1 << 30

    @abstractmethod
    def _link(
        self, room: Path, folder: Path, record: Mapping[str, Any], source: Rows, target: Rows
    ) -> Directions:
        """Align pairs that have tokens on both sides, in the scratch folder `room`."""

    def _align(self, folder: Path, source: Rows, target: Rows, workdir: Path) -> list[Links]:
        check_lengths(source, target, most=self.most_tokens, program=self.package)
        full = [index for index, (s, t) in enumerate(zip(source, target, strict=True)) if s and t]
        aligned: list[Links] = [[] for _ in source]
        if full:
            record = model_folders.read_record(folder) or {}
            with programs.scratch(workdir, self.name()) as room:
                directions = self._link(
                    room,
                    folder,
                    record,
                    [source[index] for index in full],
                    [target[index] for index in full],
                )
            for index, s, t in zip(full, *directions, strict=True):
                aligned[index] = symmetrize(self.symmetrization, by_source=s, by_target=t)
        return aligned

    def _program(self, name: str) -> Path:
        return programs.find_program(name, self.bin_dir, package=self.package)

    def _command(
        self,
        folder: Path,
        arguments: Sequence[str | Path],
        *,
        log: str,
        out: str = "",
        **options: Any,
    ) -> programs.Command:
        """Return a command that runs in a folder of scratch, where its log and output lie."""
        bounds = {}
        if out:
            input_size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
            bounds[folder / out] = programs.Bound(
                programs.MOST_LOGGED + programs.TIMES_INPUT * input_size
            )
        return programs.Command(
            arguments,
            folder / f"{log}.log",
            folder / out if out else None,
            folder=folder,
            bounds=bounds,
            timeout_seconds=self.timeout_seconds,
            is_scratch=True,
            **options,
        )


def escape(token: str) -> str:
    """Return a token that means nothing special to any program; different tokens stay different.

    White space of other scripts and control characters are escaped too: each program has its own
    idea of where a token ends.
    """
    if token in SPECIAL or token.startswith(ESCAPE) or not token.isprintable():
        return ESCAPE + quote(token, safe="")
    return token


def write_rows(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Write rows of tokens, separated by spaces."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{' '.join(row)}\n" for row in rows)
