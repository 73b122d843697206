"""Aligns words with the models of sil-thot, trained both ways and symmetrised."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from portmert.aligners import _thot
from portmert.aligners._base import Aligner, Links
from portmert.aligners._training import Rows, align_with, training_of
from portmert.tuner.ground.programs import PATIENCE_SECONDS

FORMAT = 1
"""Of the saved models; a change makes older ones refused instead of misread."""


@dataclass(frozen=True)
class Thot(Aligner):
    """Aligns by the statistical word aligners of thot.

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
    timeout_seconds : float
        A training whose iteration takes longer is ended, with one line of error; a day by
        default, 0: no limit.
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
    iterations: Annotated[int, Ge(1)] = 5
    symmetrization: _thot.Symmetrization = "grow-diag-final-and"
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
            The training bitext or a saved model cannot be read or does not fit, training failed,
            or a line is longer than the model takes.
        ValueError
            `source` and `target` differ in length.
        """
        settings = {"format": FORMAT, "model": self.model, "iterations": self.iterations}
        folder = training_of(self).folder(
            f"thot-{self.model}",
            settings,
            self._train,
            source=source,
            target=target,
            workdir=workdir,
        )
        models = _thot.SymmetrizedModels(folder, self.model, self.symmetrization)

        def align(left: Rows, right: Rows) -> list[Links]:
            return models.align(_thot.escape_all(left), _thot.escape_all(right))

        return align_with(folder, source, target, align)

    def _train(self, folder: Path, source: Rows, target: Rows) -> dict[str, Any]:
        return _thot.train(
            folder,
            self.model,
            iterations=self.iterations,
            source=_thot.escape_all(source),
            target=_thot.escape_all(target),
            timeout_seconds=self.timeout_seconds,
        )
