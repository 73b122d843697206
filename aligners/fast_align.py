"""Aligns words with the program fast_align."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Gt, Lt
from pydantic.dataclasses import dataclass

from portmert.aligners._base import Aligner, Links, parse_links
from portmert.aligners._escape import escape
from portmert.aligners._symmetrize import (
    Heuristic,
    symmetrize,
)
from portmert.aligners._training import Rows, align_full, align_with, training_of
from portmert.tuner.ground.errors import AlignerError, counted
from portmert.tuner.ground.model_folders import read_record
from portmert.tuner.ground.programs import (
    PATIENCE_SECONDS,
    Command,
    failure,
    find_program,
    run_programs,
    scratch,
    write_lines,
)

FORMAT = 1
"""Of the saved models; a change makes older ones refused instead of misread."""

DIRECTIONS: dict[str, list[str]] = {"forward": [], "reverse": ["-r"]}
"""forward: every target word has at most one link; reverse: every source word."""

ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""With more, sums come in another order, and links differ from machine to machine."""


@dataclass(frozen=True)
class FastAlign(Aligner):
    """Runs the original fast_align, a reparameterised IBM model 2.

    Trained on the training bitext and the pairs of the first call together. Every call, the first
    one too, aligns with the finished tables (fast_align's -f): the links of a pair are the same
    whatever was aligned before or with it. Of several aligners here of that name, `thot` with
    `model = "fast_align"` needs no program.

    Parameters
    ----------
    iterations : int
        EM iterations, at least 1.
    favor_diagonal : bool
        Prefer links near the diagonal, and learn how much (-d -o).
    p_null : float
        Probability that a word has no link (-q).
    symmetrization : str
        "grow-diag-final-and" and the other heuristics of Moses' symal: "srctotgt", "tgttosrc",
        "union", "intersection", "grow", "grow-diag", "grow-final", "grow-diag-final",
        "grow-final-and".
    threads : int
        2 or more run the two directions side by side; results do not depend on it.
    bin_dir : Path or None
        Folder of the program; None looks for it on PATH.
    timeout_seconds : float
        A program that prints nothing for so long is ended, with one line of error; a day by
        default, 0: no limit.
    train_source, train_target : Path or None
        The training bitext, plain, .gz or .xz. Without one the pairs to align are all there is.
    saved : Path or None
        Folder of the trained tables: used if they are there, else trained and kept there. None
        keeps them in the working folder.
    subword : Path or None
        A sentencepiece model: align pieces of words; two words are linked if any of their pieces
        are.
    vocab_size : int or None
        Train such a model of this size on both sides of the bitext.

    References
    ----------
    Dyer, Chahuneau and Smith, "A Simple, Fast, and Effective Reparameterization of IBM Model 2",
    NAACL 2013.
    """

    iterations: Annotated[int, Ge(1)] = 5
    favor_diagonal: bool = True
    p_null: Annotated[float, Gt(0), Lt(1)] = 0.08
    symmetrization: Heuristic = "grow-diag-final-and"
    threads: Annotated[int, Ge(1)] = 2
    bin_dir: Path | None = None
    timeout_seconds: Annotated[float, Ge(0)] = PATIENCE_SECONDS
    train_source: Path | None = None
    train_target: Path | None = None
    saved: Path | None = None
    subword: Path | None = None
    vocab_size: Annotated[int, Ge(1)] | None = None

    def __post_init__(self) -> None:
        training_of(self).check()

    def align(self, *, source: Sequence[str], target: Sequence[str], workdir: Path) -> list[Links]:
        """Align line n of `source` with line n of `target`.

        Raises
        ------
        AlignerError
            The program is missing or fails, or the training bitext or a saved model cannot be
            read or does not fit.
        ValueError
            `source` and `target` differ in length.
        """
        settings = {
            "format": FORMAT,
            "model": "fast_align original",
            "iterations": self.iterations,
            "favor_diagonal": self.favor_diagonal,
            "p_null": self.p_null,
        }
        folder = training_of(self).folder(
            "fast-align", settings, self._train, source=source, target=target, workdir=workdir
        )
        record = read_record(folder) or {}

        def again(left: Rows, right: Rows) -> list[Links]:
            with scratch(workdir, "fast-align") as room:
                return self._again(room, folder, record, left, right)

        return align_with(
            folder, source, target, lambda left, right: align_full(left, right, again)
        )

    def _program(self) -> Path:
        return find_program("fast_align", self.bin_dir, package="fast_align")

    def _train(self, folder: Path, source: Rows, target: Rows) -> dict[str, Any]:
        full = [(s, t) for s, t in zip(source, target, strict=True) if s and t]
        if not full:
            raise AlignerError(
                f"fast_align: no pair to train on: {counted(len(source), 'pair')}, all with an "
                f"empty side"
            )
        _write_pairs(folder / "pairs", [s for s, _ in full], [t for _, t in full])
        diagonal = ["-d", "-o"] if self.favor_diagonal else []
        program: list[str | Path] = [self._program(), "-i", "pairs"]
        commands = [
            Command(
                [
                    *(*program, *diagonal, "-v"),
                    *("-I", str(self.iterations), "-q", str(self.p_null)),
                    *("-p", f"{way}.params", *flags),
                ],
                log=f"{way}.log",
                out=f"{way}.links",
                environment=ONE_THREAD,
            )
            for way, flags in DIRECTIONS.items()
        ]
        run_programs(
            commands, folder, at_once=min(2, self.threads), timeout_seconds=self.timeout_seconds
        )
        notes: dict[str, Any] = {"pairs": len(full), "pairs_left_out": len(source) - len(full)}
        for way in DIRECTIONS:
            log = (folder / f"{way}.log").read_text(encoding="utf-8", errors="replace")
            ratio = re.findall(r"expected target length = source length \* (\S+)", log)
            tension = re.findall(r"final tension: (\S+)", log)
            if not ratio or not (folder / f"{way}.params").is_file():
                raise failure("fast_align", "wrote no parameters", folder / f"{way}.log")
            # Without a diagonal, or with too few iterations, no tension is learned.
            notes[way] = {"ratio": ratio[-1], "tension": tension[-1] if tension else None}
            (folder / f"{way}.links").unlink()
        (folder / "pairs").unlink()
        return notes

    def _again(
        self, room: Path, folder: Path, record: dict[str, Any], left: Rows, right: Rows
    ) -> list[Links]:
        _write_pairs(room / "pairs", left, right)
        made = record["fingerprint"]
        program: list[str | Path] = [self._program(), "-i", "pairs"]
        commands = []
        for way, flags in DIRECTIONS.items():
            learned = record["notes"][way]
            diagonal = ["-d"] if made["favor_diagonal"] else []
            if learned["tension"] is not None:
                diagonal += ["-T", learned["tension"]]
            commands.append(
                Command(
                    [
                        *(*program, *diagonal, "-m", str(learned["ratio"])),
                        *("-q", str(made["p_null"])),
                        *("-f", str(folder.absolute() / f"{way}.params"), *flags),
                    ],
                    log=f"{way}.log",
                    out=f"{way}.links",
                    environment=ONE_THREAD,
                )
            )
        run_programs(
            commands, room, at_once=min(2, self.threads), timeout_seconds=self.timeout_seconds
        )
        found = {way: _read_links(room, way, len(left)) for way in DIRECTIONS}
        return [
            symmetrize(self.symmetrization, by_source=by_source, by_target=by_target)
            for by_source, by_target in zip(found["reverse"], found["forward"], strict=True)
        ]


def _write_pairs(path: Path, source: Rows, target: Rows) -> None:
    write_lines(
        path,
        [[*map(escape, s), "|||", *map(escape, t)] for s, t in zip(source, target, strict=True)],
    )


def _read_links(room: Path, way: str, expected: int) -> list[Links]:
    """Read `source ||| target ||| links ||| score` lines."""
    path = room / f"{way}.links"
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    if len(lines) != expected:
        raise failure(
            "fast_align",
            f"aligned {len(lines)} of {counted(expected, 'pair')}",
            room / f"{way}.log",
        )
    rows = []
    for number, line in enumerate(lines, 1):
        words = line.split(" ")
        bars = [index for index, word in enumerate(words) if word == "|||"]
        if len(bars) != 3:
            raise failure(
                "fast_align", f"wrote a damaged {path.name}:{number}", room / f"{way}.log"
            )
        entries = " ".join(words[bars[1] + 1 : bars[2]])
        rows.append(parse_links(entries, origin=f"{path}:{number}"))
    return rows
