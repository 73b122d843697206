"""The word aligners of sil-thot, trained both ways and symmetrised."""

from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from . import _thot
from ._base import Links
from ._training import Rows, TrainedAligner


@dataclass(frozen=True)
class Thot(TrainedAligner):
    """Aligns by the statistical word alignment models of thot; needs no other program.

    Models found in `saved` must be of this `model`, and of the training bitext if one is given.
    Training is ended if an iteration takes longer than `timeout_seconds`.

    Parameters
    ----------
    model : {"ibm1", "ibm2", "hmm", "ibm3", "ibm4", "fast_align", "eflomal"}
        The alignment model. ibm2 to ibm4 and hmm are trained after the simpler models.
    iterations : int
        Number of EM iterations of each model, at least 1; eflomal chooses its own.
    symmetrization : str
        How the two directions are combined: "none" (source to target alone), "union",
        "intersection", "och", "grow", "grow-diag", "grow-diag-final", "grow-diag-final-and".

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

    settings: ClassVar[tuple[str, ...]] = ("iterations",)
    models: ClassVar[str] = "{0.model}"

    def _folder_name(self) -> str:
        return f"thot-{self.model}"

    def _train(self, folder: Path, source: Rows, target: Rows) -> dict[str, Any]:
        return _thot.train(
            folder,
            self.model,
            iterations=self.iterations,
            source=_thot.escape_all(source),
            target=_thot.escape_all(target),
            timeout_seconds=self.timeout_seconds,
        )

    def _align(
        self,
        folder: Path,
        source: Rows,
        target: Rows,
        workdir: Path,  # noqa: ARG002  nothing to keep
    ) -> list[Links]:
        models = _thot.SymmetrizedModels(folder, self.model, self.symmetrization)
        return models.align(_thot.escape_all(source), _thot.escape_all(target))
