"""Word alignment with the models of sil-thot, trained in both directions and symmetrised."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003  read at run time, to check a config
from typing import TYPE_CHECKING, Any

from aligners import _thot
from aligners._base import Aligner, AlignerError, Links, tokens
from aligners._bitext import digest, read_bitext
from aligners._folders import make_folder, read_record
from aligners._subword import MODEL, Subwords, project, train_subwords

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMAT = 1
"""Of the saved models; a change makes older ones refused instead of misread."""


@dataclass(frozen=True)
class ThotAligner(Aligner):
    """The statistical word aligners of thot.

    The models are trained on the training bitext and the pairs of the first call together, and
    kept: every later call with the same folder aligns with the same models, so that links of
    references and of hypotheses are comparable, and a later pair never changes an earlier one's
    links.

    Parameters
    ----------
    model : {"ibm1", "ibm2", "hmm", "ibm3", "ibm4", "fast_align", "eflomal"}
        ibm2 to ibm4 and hmm are trained after the models below them.
    iterations : int
        EM iterations of each model in the chain, at least 1; eflomal plans its own.
    symmetrization : str
        How the two directions become one: "none" (source to target alone), "union",
        "intersection", "och", "grow", "grow-diag", "grow-diag-final", "grow-diag-final-and".
    train_source, train_target : Path or None
        The training bitext, plain, .gz or .xz. Without one the pairs to align are all there is.
    saved : Path or None
        Folder of the trained models: used if they are there, else trained and kept there. Models
        found there must be of this `model`, and of this bitext if one is named. None keeps them
        in the working folder.
    subword : Path or None
        A sentencepiece model: align pieces of words; two words are linked if any of their pieces
        are.
    vocab_size : int or None
        Train such a model of this size on both sides of the bitext.

    References
    ----------
    Brown et al., "The Mathematics of Statistical Machine Translation", CL 1993; Vogel, Ney and
    Tillmann, "HMM-Based Word Alignment in Statistical Translation", COLING 1996; Dyer, Chahuneau
    and Smith, "A Simple, Fast, and Effective Reparameterization of IBM Model 2", NAACL 2013;
    Ostling and Tiedemann, "Efficient Word Alignment with Markov Chain Monte Carlo", PBML 2016;
    Koehn, Och and Marcu, "Statistical Phrase-Based Translation", NAACL 2003 (grow-diag-final).
    """

    model: _thot.Kind = "hmm"
    iterations: int = 5
    symmetrization: _thot.Symmetrization = "grow-diag-final-and"
    train_source: Path | None = None
    train_target: Path | None = None
    saved: Path | None = None
    subword: Path | None = None
    vocab_size: int | None = None

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise ValueError(f"iterations is {self.iterations}, must be at least 1")
        if (self.train_source is None) != (self.train_target is None):
            raise ValueError("train_source and train_target go together, one of them is missing")
        if self.subword is not None and self.vocab_size is not None:
            raise ValueError("subword names a model and vocab_size trains one: give one of them")
        if self.vocab_size is not None and self.vocab_size < 1:
            raise ValueError(f"vocab_size is {self.vocab_size}, must be at least 1")

    def align(self, *, source: Sequence[str], target: Sequence[str], workdir: Path) -> list[Links]:
        """Align line n of `source` with line n of `target`.

        Raises
        ------
        AlignerError
            The training bitext or a saved model cannot be read or does not fit, training failed,
            or a line is longer than the model takes.
        ValueError
            `source` and `target` differ in length.
        """
        if len(source) != len(target):
            raise ValueError(f"{len(source)} source lines, {len(target)} target lines")
        folder = self._trained(source, target, workdir)
        models = _thot.SymmetrizedModels(folder, self.model, self.symmetrization)
        left, right = [tokens(line) for line in source], [tokens(line) for line in target]
        if not (folder / MODEL).exists():
            return models.align(_thot.escape_all(left), _thot.escape_all(right))
        subwords = Subwords(folder / MODEL)
        split = [[subwords.split(line) for line in side] for side in (left, right)]
        links = models.align(*(_thot.escape_all(pieces for pieces, _ in side) for side in split))
        return [
            project(row, source_owners, target_owners)
            for row, (_, source_owners), (_, target_owners) in zip(links, *split, strict=True)
        ]

    def _trained(self, source: Sequence[str], target: Sequence[str], workdir: Path) -> Path:
        """Return the folder of the trained models, after training them if they are not there."""
        bitext: tuple[Sequence[str], Sequence[str]] = ([], [])
        if self.train_source is not None and self.train_target is not None:
            bitext = read_bitext(self.train_source, self.train_target)
        elif self.saved is not None:
            return self._check_saved(self.saved)
        fingerprint = {
            "format": FORMAT,
            "model": self.model,
            "iterations": self.iterations,
            "training bitext": [digest(side) for side in bitext],
            "subword": self._subword_fingerprint(),
        }

        def make(aside: Path) -> dict[str, Any]:
            sides = [[*bitext[0], *source], [*bitext[1], *target]]
            rows = [[tokens(line) for line in side] for side in sides]
            if self.subword is not None:
                shutil.copyfile(self.subword, aside / MODEL)
            elif self.vocab_size is not None:
                train_subwords(
                    aside / MODEL,
                    [" ".join(row) for side in rows for row in side],
                    vocabulary_size=self.vocab_size,
                )
            if (aside / MODEL).exists():
                subwords = Subwords(aside / MODEL)
                rows = [[subwords.split(row)[0] for row in side] for side in rows]
            return _thot.train(
                aside,
                self.model,
                iterations=self.iterations,
                source=_thot.escape_all(rows[0]),
                target=_thot.escape_all(rows[1]),
            )

        if self.saved is not None:
            folder = self.saved
        else:
            key = hashlib.blake2b(json.dumps(fingerprint).encode(), digest_size=6).hexdigest()
            folder = workdir / f"thot-{self.model}-{key}"
        make_folder(folder, fingerprint, make)
        return folder

    def _subword_fingerprint(self) -> str | int | None:
        if self.subword is None:
            return self.vocab_size
        try:
            return hashlib.blake2b(self.subword.read_bytes(), digest_size=16).hexdigest()
        except OSError as error:
            raise AlignerError(f"{self.subword}: {error.strerror or error}") from None

    def _check_saved(self, folder: Path) -> Path:
        record = read_record(folder)
        if record is None:
            raise AlignerError(
                f"{folder}: no trained model there; name a training bitext to make one"
            )
        kind = record["fingerprint"].get("model")
        if kind != self.model or record["fingerprint"].get("format") != FORMAT:
            raise AlignerError(f"{folder}: holds a model {kind}, asked for is {self.model}")
        return folder
