"""The aligner fast_align, a program."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Lt
from pydantic.dataclasses import dataclass

from portmert.tuner.base.errors import counted
from portmert.tuner.base.programs import Command, run

from ._base import Links, parse_links
from ._programs import Directions, ProgramAligner, escape, write_rows
from ._training import Rows, usable

DIRECTIONS: dict[str, list[str]] = {"forward": [], "reverse": ["-r"]}
"""In `forward` every target word has at most one link, in `reverse` every source word."""


@dataclass(frozen=True)
class FastAlign(ProgramAligner):
    """Runs the original fast_align, a reparameterised IBM model 2.

    Every call, including the first, aligns with the trained tables (fast_align's -f). So the links
    of a pair do not depend on the pairs aligned before it or with it. The aligner `thot` with
    `model = "fast_align"` has the same model and needs no program.

    Parameters
    ----------
    iterations : int
        Number of EM iterations, at least 1.
    favor_diagonal : bool
        Prefer links near the diagonal, and learn how much (-d -o).
    p_null : float
        Probability that a word has no link (-q).
    threads : int
        2 or more run the two directions at the same time. The number changes no result.

    References
    ----------
    Dyer, Chahuneau and Smith, "A Simple, Fast, and Effective Reparameterization of IBM Model 2",
    NAACL 2013.
    """

    iterations: Annotated[int, Ge(1)] = 5
    favor_diagonal: bool = True
    p_null: Annotated[float, Gt(0), Lt(1)] = 0.08
    threads: Annotated[int, Ge(1)] = 2

    package: ClassVar[str] = "fast_align"
    settings: ClassVar[tuple[str, ...]] = ("iterations", "favor_diagonal", "p_null")
    models: ClassVar[str] = "fast_align original"

    def _run(
        self, folder: Path, source: Rows, target: Rows, options_of: Mapping[str, Sequence[str]]
    ) -> list[Command]:
        """Write the pairs and run the program with the options of each direction."""
        pairs = zip(source, target, strict=True)
        write_rows(folder / "pairs", [[*map(escape, s), "|||", *map(escape, t)] for s, t in pairs])
        commands = [
            self._command(
                folder,
                [self._program("fast_align"), "-i", "pairs", *options, *DIRECTIONS[direction]],
                log=direction,
                out=f"{direction}.links",
                # With more threads sums come in another order, and links differ from machine to
                # machine.
                environment={"OMP_NUM_THREADS": "1"},
            )
            for direction, options in options_of.items()
        ]
        run(*commands, at_once=min(2, self.threads))
        return commands

    def _train(self, folder: Path, source: Rows, target: Rows) -> dict[str, Any]:
        used, notes = usable("fast_align", source, target)
        learning = [
            *(["-d", "-o"] if self.favor_diagonal else []),
            *("-v", "-I", str(self.iterations), "-q", str(self.p_null)),
        ]
        options_of = {name: [*learning, "-p", f"{name}.params"] for name in DIRECTIONS}
        sides = [[side[row] for row in used] for side in (source, target)]
        commands = self._run(folder, sides[0], sides[1], options_of)
        learned: dict[str, Any] = {}
        for direction, command in zip(DIRECTIONS, commands, strict=True):
            log = command.log.read_text(encoding="utf-8", errors="replace")
            ratio = re.findall(r"expected target length = source length \* (\S+)", log)
            tension = re.findall(r"final tension: (\S+)", log)
            if not ratio or not (folder / f"{direction}.params").is_file():
                raise command.failure("wrote no parameters")
            # Without a diagonal, or with too few iterations, no tension is learned.
            learned[direction] = {"ratio": ratio[-1], "tension": tension[-1] if tension else None}
            (folder / f"{direction}.links").unlink()
        (folder / "pairs").unlink()
        return notes | learned

    def _link(
        self, room: Path, folder: Path, record: Mapping[str, Any], source: Rows, target: Rows
    ) -> Directions:
        settings, options_of = record["fingerprint"], {}
        for direction in DIRECTIONS:
            learned = record["notes"][direction]
            options = ["-d"] if settings["favor_diagonal"] else []
            if learned["tension"] is not None:
                options += ["-T", learned["tension"]]
            options += ["-m", str(learned["ratio"]), "-q", str(settings["p_null"])]
            table = folder.absolute() / f"{direction}.params"
            options_of[direction] = [*options, "-f", str(table)]
        commands = self._run(room, source, target, options_of)
        by_target, by_source = (_read_links(command, len(source)) for command in commands)
        return by_source, by_target


def _read_links(command: Command, expected: int) -> list[Links]:
    """Read `source ||| target ||| links ||| score` lines."""
    path = command.out or command.log
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    if len(lines) != expected:
        raise command.failure(f"aligned {len(lines)} of {counted(expected, 'pair')}")
    rows = []
    for number, line in enumerate(lines, 1):
        words = line.split(" ")
        bars = [index for index, word in enumerate(words) if word == "|||"]
        if len(bars) != 3:
            raise command.failure(f"wrote a damaged {path.name}:{number}")
        entries = " ".join(words[bars[1] + 1 : bars[2]])
        rows.append(parse_links(entries, origin=f"{path}:{number}"))
    return rows
