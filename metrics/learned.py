"""A combination of features with weights learnt from human scores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003  the type of options, read when they are checked
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from metrics._base import Metric
from metrics._learned import RESOURCES, TERP_ALONE, Model, check_resources, read_model
from metrics._ngrams import reference_lengths
from metrics._orders import weighted_mean

if TYPE_CHECKING:
    from metrics._base import Batch, FloatArray, Need
    from metrics._lexicon import Lexicon


@dataclass(frozen=True)
class Learned(Metric):
    """Mean over segments of a weighted sum of features, segments weighted by their length.

    Features and weights are those of a file that `portmert metric-train` wrote: expected
    precision and recall of dependency links, TERp's edits and paraphrases, precision and recall
    of words and word pairs, differences of length. The scale is that of the human scores, up to a
    constant. Of several references the cheapest one for TERp counts.

    Parameters
    ----------
    model
        The file; unset, TERp's costs of edits and paraphrases (`terpa`), negated.
    synonyms
        The dict folder of WordNet; the one the weights were learnt with.
    paraphrases
        The table of paraphrases the weights were learnt with.
    stop_words
        The list of words, not to be moved by themselves, the weights were learnt with.
    """

    model: Path | None = None
    synonyms: Path | None = None
    paraphrases: Path | None = None
    stop_words: Path | None = None

    in_percent: ClassVar[bool] = False
    source: ClassVar[str] = (
        "Kahn, Snover & Ostendorf, Machine Translation 23 (2009); Snover et al., WMT 2009"
    )
    examples: ClassVar[dict[str, tuple[str, ...]]] = {"model": (), **dict.fromkeys(RESOURCES, ())}

    def __post_init__(self) -> None:
        """Read the model, and what it needs.

        Raises
        ------
        ValueError
            A file is not what it should be, or not what the weights were learnt with.
        """
        super().__post_init__()
        model = TERP_ALONE if self.model is None else read_model(self.model)
        files = {name: getattr(self, name) for name in RESOURCES}
        check_resources(model, self.model, files)
        need = model.features.need
        needs: frozenset[Need] = frozenset() if need is None else frozenset({need})
        object.__setattr__(self, "needs", needs)
        object.__setattr__(self, "_model", model)
        object.__setattr__(self, "_lexicon", model.features.lexicon(files))

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The segment's score times its length, and its length."""
        return ("learned", "ref_len")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        model: Model = self._model  # type: ignore[attr-defined]  # set when checked
        lexicon: Lexicon = self._lexicon  # type: ignore[attr-defined]
        length = reference_lengths(batch, "average")
        return np.column_stack(
            [length * model.scores(model.features.values(batch, lexicon)), length]
        )

    def score(self, stats: FloatArray) -> FloatArray:
        """Return the mean for stats (..., 2), of any sign; higher is better."""
        return weighted_mean(stats)

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the reference length of stats (2,)."""
        return {"ref_len": float(stats[1])}
