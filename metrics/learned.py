"""Defines a combination of features with weights learnt from human scores."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic.dataclasses import dataclass

from portmert.metrics._base import Batch, FloatArray, Need
from portmert.metrics._learned import RESOURCES, TERP_ALONE, Model, check_resources, read_model
from portmert.metrics._lexicon import Lexicon
from portmert.metrics._ngrams import reference_lengths
from portmert.metrics._orders import Averaged


@dataclass(frozen=True)
class Learned(Averaged):
    """Averages a weighted sum of features, segments weighted by their length.

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

    def load(self) -> None:
        """Read the model and the files that it was learnt with."""
        _ = self._lexicon

    @cached_property
    def needs(self) -> frozenset[Need]:  # type: ignore[override]  # the model says what
        """What the model's features read."""
        need = self._model.features.need
        return frozenset() if need is None else frozenset({need})

    @cached_property
    def _model(self) -> Model:
        model = TERP_ALONE if self.model is None else read_model(self.model)
        check_resources(model, self.model, self._files)
        return model

    @cached_property
    def _lexicon(self) -> Lexicon:
        return self._model.features.lexicon(self._files)

    @property
    def _files(self) -> dict[str, Path | None]:
        return {name: getattr(self, name) for name in RESOURCES}

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The segment's score times its length, and its length."""
        return ("learned", "ref_len")

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        model, length = self._model, reference_lengths(batch, "average")
        values = model.features.values(batch, self._lexicon)
        return np.column_stack([length * model.scores(values), length])

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the reference length of stats (2,)."""
        return {"ref_len": float(stats[1])}
