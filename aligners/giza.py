"""Aligns words with MGIZA++, through its programs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from portmert.aligners import _giza
from portmert.aligners._base import Aligner, Links
from portmert.aligners._symmetrize import Heuristic
from portmert.aligners._training import Rows, align_full, align_with, check_lengths, training_of
from portmert.tuner.ground.model_folders import read_record
from portmert.tuner.ground.programs import PATIENCE_SECONDS, scratch

FORMAT = 1
"""Of the saved models; a change makes older ones refused instead of misread."""


@dataclass(frozen=True)
class Giza(Aligner):
    """Aligns by IBM models 1, 3, 4 and the HMM as MGIZA++ trains them, the aligner of Moses.

    The programs mkcls, plain2snt, snt2cooc and mgiza are needed. They train on the training
    bitext and the pairs of the first call together. Every call, the first one too, aligns with
    the finished tables, as MGIZA++'s force-align does: the links of a pair are the same whatever
    was aligned before or with it. (The links that mgiza leaves behind when it trains, those that
    Moses uses, come from the tables of one iteration earlier.)

    A line of more than 100 tokens, which mgiza would cut off, is an error.

    Parameters
    ----------
    ibm1, hmm, ibm3, ibm4 : int
        Iterations of each model; the last one with any makes the links. The defaults are those of
        Moses' train-model.perl.
    options : str
        More options of mgiza, name and value in turn; train-model.perl's by default.
    classes : int
        Word classes a side that mkcls makes for the HMM and model 4.
    class_runs : int
        How often mkcls tries; it keeps its best.
    symmetrization : str
        "grow-diag-final-and" and the other heuristics of Moses' symal: "srctotgt", "tgttosrc",
        "union", "intersection", "grow", "grow-diag", "grow-final", "grow-diag-final",
        "grow-final-and".
    training_threads : int
        mgiza's -ncpus in training. With more than 1 its sums come in any order: its tables, and
        now and then a link, differ from run to run.
    threads : int
        How many programs or threads at once elsewhere. The two directions run side by side;
        results do not depend on it.
    bin_dir : Path or None
        Folder of the programs; None looks for them on PATH.
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
    Gao and Vogel, "Parallel Implementations of Word Alignment Tool", SETQA-NLP 2008; Och and Ney,
    "A Systematic Comparison of Various Statistical Alignment Models", CL 2003.
    """

    ibm1: Annotated[int, Ge(0)] = 5
    hmm: Annotated[int, Ge(0)] = 5
    ibm3: Annotated[int, Ge(0)] = 3
    ibm4: Annotated[int, Ge(0)] = 3
    options: str = "-p0 0.999 -nsmooth 4 -model4smoothfactor 0.4"
    classes: Annotated[int, Ge(1)] = 50
    class_runs: Annotated[int, Ge(1)] = 2
    symmetrization: Heuristic = "grow-diag-final-and"
    training_threads: Annotated[int, Ge(1)] = 1
    threads: Annotated[int, Ge(1)] = 2
    bin_dir: Path | None = None
    timeout_seconds: Annotated[float, Ge(0)] = PATIENCE_SECONDS
    train_source: Path | None = None
    train_target: Path | None = None
    saved: Path | None = None
    subword: Path | None = None
    vocab_size: Annotated[int, Ge(1)] | None = None

    def __post_init__(self) -> None:
        _giza.Schedule(self.ibm1, self.hmm, self.ibm3, self.ibm4).check()
        _giza.check_options(self._options())
        training_of(self).check()

    def align(self, *, source: Sequence[str], target: Sequence[str], workdir: Path) -> list[Links]:
        """Align line n of `source` with line n of `target`.

        Raises
        ------
        AlignerError
            A program is missing or fails, the training bitext or a saved model cannot be read or
            does not fit, or a line has more than 100 tokens.
        ValueError
            `source` and `target` differ in length.
        """
        settings = {
            "format": FORMAT,
            "model": "giza",
            **{name: getattr(self, name) for name in ("ibm1", "hmm", "ibm3", "ibm4")},
            **{name: getattr(self, name) for name in ("options", "classes", "class_runs")},
            "training_threads": self.training_threads,
        }
        folder = training_of(self).folder(
            "giza", settings, self._train, source=source, target=target, workdir=workdir
        )
        made = (read_record(folder) or {})["fingerprint"]  # these tables, however they were made
        schedule = _giza.Schedule(*(made[name] for name in ("ibm1", "hmm", "ibm3", "ibm4")))

        def align(left: Rows, right: Rows) -> list[Links]:
            check_lengths(left, right, limit=_giza.MAX_TOKENS, program="mgiza")
            return align_full(left, right, again)

        def again(left: Rows, right: Rows) -> list[Links]:
            programs = _giza.find(self.bin_dir, ("snt2cooc", "mgiza"))
            with scratch(workdir, "giza") as room:
                return _giza.align(
                    room,
                    folder,
                    left,
                    right,
                    programs=programs,
                    schedule=schedule,
                    options=shlex.split(made["options"]),
                    heuristic=self.symmetrization,
                    threads=self.threads,
                    timeout_seconds=self.timeout_seconds,
                )

        return align_with(folder, source, target, align)

    def _options(self) -> list[str]:
        return shlex.split(self.options)

    def _train(self, folder: Path, source: Rows, target: Rows) -> dict[str, Any]:
        return _giza.train(
            folder,
            source,
            target,
            programs=_giza.find(self.bin_dir),
            schedule=_giza.Schedule(self.ibm1, self.hmm, self.ibm3, self.ibm4),
            options=self._options(),
            classes=self.classes,
            class_runs=self.class_runs,
            training_threads=self.training_threads,
            at_once=min(2, self.threads),
            timeout_seconds=self.timeout_seconds,
        )
