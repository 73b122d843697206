"""Aligns words with the programs of eflomal."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, Lt
from pydantic.dataclasses import dataclass

from portmert.aligners._base import Aligner, Links, format_links, parse_links
from portmert.aligners._bitext import digest, read_lines
from portmert.aligners._escape import escape
from portmert.aligners._symmetrize import (
    Heuristic,
    symmetrize,
)
from portmert.aligners._training import Rows, align_full, align_with, check_lengths, training_of
from portmert.tuner.ground.errors import AlignerError, counted
from portmert.tuner.ground.model_folders import read_record
from portmert.tuner.ground.programs import (
    PATIENCE_SECONDS,
    Command,
    failure,
    find_program,
    run_program,
    scratch,
    write_lines,
)

FORMAT = 1
"""Of the saved models; a change makes older ones refused instead of misread."""

MAX_TOKENS = 1023
"""Of a line; eflomal reads a longer one as empty (write_text, eflomal.pyx)."""

PRIORS = "priors"


@dataclass(frozen=True)
class Eflomal(Aligner):
    """Runs the original eflomal: a Bayesian HMM with fertilities, by Gibbs sampling.

    It draws its random numbers from the system and has no seed: two trainings give different
    links, and so do two alignments of one pair. Here the links of a call are kept in the working
    folder, so that the same pairs get the same links again; runs that must repeat from scratch
    use `thot` with `model = "eflomal"`, which is deterministic and needs no program.

    Trained on the training bitext and the pairs of the first call together: their links are
    counted as priors (eflomal-makepriors), with which every call aligns.

    Parameters
    ----------
    model : int
        1 is IBM model 1, 2 adds the HMM, 3 fertilities.
    length : float
        How many sampling iterations, relative to eflomal's own plan.
    samplers : int
        Independent samplers whose links are averaged.
    null_prior : float
        Prior probability that a word has no link.
    symmetrization : str
        "grow-diag-final-and" and the other heuristics of Moses' symal: "srctotgt", "tgttosrc",
        "union", "intersection", "grow", "grow-diag", "grow-final", "grow-diag-final",
        "grow-final-and".
    bin_dir : Path or None
        Folder of eflomal-align and eflomal-makepriors; None looks for them on PATH.
    timeout_seconds : float
        A program that prints nothing for so long is ended, with one line of error; a day by
        default, 0: no limit.
    train_source, train_target : Path or None
        The training bitext, plain, .gz or .xz. Without one the pairs to align are all there is.
    saved : Path or None
        Folder of the priors: used if they are there, else made and kept there. None keeps them in
        the working folder.
    subword : Path or None
        A sentencepiece model: align pieces of words; two words are linked if any of their pieces
        are.
    vocab_size : int or None
        Train such a model of this size on both sides of the bitext.

    References
    ----------
    Ostling and Tiedemann, "Efficient Word Alignment with Markov Chain Monte Carlo", PBML 2016.
    """

    model: Annotated[int, Ge(1), Le(3)] = 3
    length: Annotated[float, Gt(0)] = 1.0
    samplers: Annotated[int, Ge(1)] = 3
    null_prior: Annotated[float, Ge(0), Lt(1)] = 0.2
    symmetrization: Heuristic = "grow-diag-final-and"
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
            A program is missing or fails, the training bitext or the priors cannot be read or do
            not fit, or a line has more than 1,023 tokens.
        ValueError
            `source` and `target` differ in length.
        """
        settings = {
            "format": FORMAT,
            "model": f"eflomal original {self.model}",
            "length": self.length,
            "samplers": self.samplers,
            "null_prior": self.null_prior,
        }
        folder = training_of(self).folder(
            "eflomal", settings, self._train, source=source, target=target, workdir=workdir
        )
        made = (read_record(folder) or {})["notes"][PRIORS]
        key = digest([made, self.symmetrization, str(settings), *source, *target])
        known = workdir / f"eflomal-{key}.links"
        if known.exists():
            return _read(known)

        def again(left: Rows, right: Rows) -> list[Links]:
            with scratch(workdir, "eflomal") as room:
                by_source, by_target = self._link(room, left, right, priors=folder / PRIORS)
                return [
                    symmetrize(self.symmetrization, by_source=s, by_target=t)
                    for s, t in zip(by_source, by_target, strict=True)
                ]

        def align(left: Rows, right: Rows) -> list[Links]:
            check_lengths(left, right, limit=MAX_TOKENS, program="eflomal")
            return align_full(left, right, again)

        links = align_with(folder, source, target, align)
        _keep(known, links)
        return links

    def _train(self, folder: Path, source: Rows, target: Rows) -> dict[str, Any]:
        used = [
            (s, t)
            for s, t in zip(source, target, strict=True)
            if s and t and max(len(s), len(t)) <= MAX_TOKENS
        ]
        if not used:
            raise AlignerError(
                f"eflomal: no pair to train on: {counted(len(source), 'pair')}, none with 1 to "
                f"{MAX_TOKENS} tokens on both sides"
            )
        self._link(folder, [s for s, _ in used], [t for _, t in used], priors=None)
        program = find_program("eflomal-makepriors", self.bin_dir, package="eflomal")
        run_program(
            Command(
                [
                    *(program, "-s", "source", "-t", "target"),
                    *("-f", "forward", "-r", "reverse", "-p", PRIORS),
                ],
                log="eflomal-makepriors.log",
            ),
            folder,
            timeout_seconds=self.timeout_seconds,
        )
        for name in ("source", "target", "forward", "reverse"):
            (folder / name).unlink()
        return {
            "pairs": len(used),
            "pairs_left_out": len(source) - len(used),
            PRIORS: digest(read_lines(folder / PRIORS)),
        }

    def _link(
        self, room: Path, left: Rows, right: Rows, *, priors: Path | None
    ) -> tuple[list[Links], list[Links]]:
        """Return the links in which a source word, and in which a target word, has at most one."""
        for name, rows in (("source", left), ("target", right)):
            write_lines(room / name, [[escape(token) for token in row] for row in rows])
        program = find_program("eflomal-align", self.bin_dir, package="eflomal")
        run_program(
            Command(
                [
                    *(program, "-s", "source", "-t", "target", "-f", "forward", "-r", "reverse"),
                    *("-m", str(self.model), "-l", str(self.length)),
                    *("--n-samplers", str(self.samplers), "--null-prior", str(self.null_prior)),
                    *(("-p", priors.absolute()) if priors is not None else ()),
                ],
                log="eflomal-align.log",
            ),
            room,
            timeout_seconds=self.timeout_seconds,
        )
        found = []
        for name in ("reverse", "forward"):
            links = _read(room / name)
            if len(links) != len(left):
                raise failure(
                    "eflomal-align",
                    f"aligned {len(links)} of {counted(len(left), 'pair')}",
                    room / "eflomal-align.log",
                )
            found.append(links)
        return found[0], found[1]


def _read(path: Path) -> list[Links]:
    return [
        parse_links(line, origin=f"{path}:{number}")
        for number, line in enumerate(read_lines(path), 1)
    ]


def _keep(path: Path, links: Sequence[Links]) -> None:
    """Write links whole or not at all; the first of two concurrent runs need not win."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(
            "".join(f"{format_links(row)}\n" for row in links), encoding="utf-8", newline="\n"
        )
        aside.replace(path)
    except OSError as error:
        raise AlignerError(f"{path}: cannot write: {error.strerror or error}") from None
    finally:
        aside.unlink(missing_ok=True)
