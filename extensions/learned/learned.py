"""The learned metric: features, with weights that were learnt from human scores.

Formulas in docs/metrics/terp.md.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from portmert.metrics import _lexicon_files, _shared, dependencies
from portmert.metrics._base import Arcs, Batch, FloatArray, Need
from portmert.metrics._lexicon import Lexicon, check_language, read_lexicon
from portmert.metrics.terp import COUNTS, PRESETS, terp_counts

_LINKS = ("lh", "dl", "dlh", "dh")
_NGRAMS = ("1g", "2g")
GROUPS: dict[str, tuple[str, ...]] = {
    "E": tuple(f"{side}_{name}" for name in _LINKS for side in "pr"),
    "T": COUNTS[:7],
    "P": COUNTS[7:],
    "N": tuple(f"{side}_{name}" for name in _NGRAMS for side in "pr"),
    "B": ("excess", "shortfall"),
}
"""LearnedFeatures by group: precision and recall of dependency links, TERp's edits, its phrase
substitutions, precision and recall of n-grams, differences of length."""
RESOURCES = ("synonyms", "paraphrases", "stop_words")
"""The files that TERp reads; metrics that use TERp have them as options."""
HEAVIEST = 1e100
"""The largest weight that a file may have, so that sums of features times weights are finite."""


def feature_names(groups: str) -> tuple[str, ...]:
    """Return the names of the features of the groups `ET` and the like, in their order."""
    return tuple(name for group in groups for name in GROUPS[group])


def checked_groups(groups: str) -> str:
    """Return groups in the order E, T, P, N, B.

    Raises
    ------
    ValueError
        None, an unknown one, or one that is named twice.
    """
    for group in groups:
        if group not in GROUPS or groups.count(group) > 1:
            break
    else:
        if groups:
            return "".join(group for group in GROUPS if group in groups)
    raise ValueError(
        f"groups {groups!r}; expected some of the letters {''.join(GROUPS)}, each once"
    )


@dataclasses.dataclass(frozen=True)
class LearnedFeatures:
    """The features of a learned metric.

    Parameters
    ----------
    groups : LETTERS
        Features of the metric, by letter: E dependency links, T edits of TERp, P its paraphrases,
        N words and word pairs, B lengths. E needs an annotator, P a table of paraphrases.
        Default: all whose options are given.
    parses
        For E: number of parses of each text; 0 is all, if the parser can do that. See `edpm`.
    gamma
        For E: a parse counts by its probability to this power.
    costs
        For T and P: the costs of edits by which texts are aligned; see `terp`.
    language
        For T: the language of the stemmer.
    """

    groups: str
    parses: int = 50
    gamma: float = 0.25
    costs: str = "terpa"
    language: str = "english"

    @property
    def need(self) -> Need | None:
        """The analysis that E reads; None without E."""
        if "E" not in self.groups:
            return None
        return "heads" if self.parses == 1 else Arcs(self.parses, self.gamma)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the F features."""
        return feature_names(self.groups)

    def lexicon(self, files: Mapping[str, Path | None]) -> Lexicon:
        """Return the lexicon of TERp, from files by the names of `RESOURCES`."""
        return read_lexicon(
            language=self.language,
            stem=PRESETS[self.costs].relaxed,
            synonyms=files.get("synonyms"),
            paraphrases=files.get("paraphrases"),
            words=files.get("stop_words"),
            both_ways=False,
        )

    def values(self, batch: Batch, lexicon: Lexicon) -> FloatArray:
        """Return (H, F) float64, against the reference that is cheapest for TERp."""
        costs = PRESETS[self.costs]

        def rows(single: Batch) -> FloatArray:
            return np.column_stack([self._of_one(single), terp_counts(single, lexicon, costs)])

        best = _shared.best_reference(batch, rows, lambda stats: -stats[..., -1])
        length = _length(batch)[:, np.newaxis]
        counts, edits, phrases = np.split(best[:, :-1], [-len(COUNTS), -4], axis=1)
        columns: dict[str, FloatArray] = {"T": edits / length, "P": phrases / length}
        start = 0
        for group in "ENB":
            if group in self.groups:
                stop = start + len(GROUPS[group])
                columns[group] = counts[:, start:stop]
                start = stop
        return np.concatenate([columns[group] for group in self.groups], axis=1)

    def _of_one(self, single: Batch) -> FloatArray:
        """Return the features of E, N and B (H, ...) of a batch with one reference a segment."""
        parts = []
        groups: tuple[tuple[str, Sequence[str], Need | None], ...] = (
            ("E", _LINKS, self.need),
            ("N", _NGRAMS, None),
        )
        for group, of, need in groups:
            if group in self.groups:
                counts = dependencies.item_counts(single, need, of)
                shares = np.empty((len(counts), 2 * len(of)))
                for side in (0, 1):
                    shares[:, side::2] = _shared.quotient(
                        counts[:, 0::3], counts[:, side + 1 :: 3]
                    )
                parts.append(shares)
        if "B" in self.groups:
            length = _shared.one_length(single)
            excess = (_shared.hypothesis_lengths(single) - length) / np.maximum(length, 1.0)
            parts.append(np.column_stack([np.maximum(excess, 0.0), np.maximum(-excess, 0.0)]))
        return np.concatenate(parts, axis=1) if parts else np.empty((len(single.hypotheses), 0))


def _length(batch: Batch) -> FloatArray:
    """Return (H,) mean reference lengths; no word counts as one, so that insertions cost."""
    length = _shared.reference_lengths(batch, "average")
    return np.where(length > 0.0, length, 1.0)


@dataclasses.dataclass(frozen=True)
class LearnedModel:
    """Features of a metric, and their weights.

    Parameters
    ----------
    weights
        One for each feature; the score is higher for what people like better.
    resources
        Name in `RESOURCES` -> hash of the file that the weights were learnt with.
    trained
        On what, and how well: not read again.
    """

    features: LearnedFeatures
    weights: tuple[float, ...]
    resources: Mapping[str, str] = dataclasses.field(default_factory=dict)
    trained: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def scores(self, values: FloatArray) -> FloatArray:
        """Return (H,) weighted sums of features (H, F)."""
        total = np.zeros(len(values))
        for column, weight in enumerate(self.weights):  # in one order, however a batch is split
            total += weight * values[:, column]
        return total

    def text(self) -> str:
        """Return the model as JSON."""
        content = {
            "format": "portmert learned metric 1",
            **dataclasses.asdict(self.features),
            "resources": dict(self.resources),
            "weights": dict(zip(self.features.names, self.weights, strict=True)),
            "trained": dict(self.trained),
        }
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


TERP_ALONE = LearnedModel(
    LearnedFeatures("TP"),
    tuple(-cost + 0.0 for cost in (*PRESETS["terpa"].edits, *(PRESETS["terpa"].phrase or ()))),
)
"""Where there is no file: TERp's own costs, which are such weights."""


@dataclass(frozen=True, config=ConfigDict(strict=True, allow_inf_nan=False))
class _ModelFile:
    """What `LearnedModel.text` writes."""

    format: Literal["portmert learned metric 1"]
    groups: str
    parses: Annotated[int, Ge(0)]
    gamma: Annotated[float, Ge(0), Le(1)]
    costs: Literal["ter", "terpa", "terph"]
    language: str
    weights: dict[str, float]
    resources: dict[Literal["synonyms", "paraphrases", "stop_words"], str]
    trained: dict[str, Any] = dataclasses.field(default_factory=dict)

    def model(self) -> LearnedModel:
        """Return the model; raise ValueError for weights of other features than the groups'."""
        features = LearnedFeatures(
            checked_groups(self.groups), self.parses, self.gamma, self.costs, self.language
        )
        check_language(self.language)
        odd = sorted(self.weights.keys() ^ set(features.names))
        if odd:
            raise ValueError(f"weights of other features than groups {self.groups} has: {odd[0]}")
        for name, weight in self.weights.items():
            if abs(weight) > HEAVIEST:
                raise ValueError(
                    f"the weight of {name} is {weight:g}, at most {HEAVIEST:g} can be"
                )
        weights = tuple(self.weights[name] for name in features.names)
        return LearnedModel(features, weights, dict(self.resources.items()), self.trained)


def read_model(path: Path) -> LearnedModel:
    """Read a model as `LearnedModel.text` writes it.

    Raises
    ------
    ValueError
        The file cannot be read or is no such model; the message says what is wrong.
    """
    try:
        return TypeAdapter(_ModelFile).validate_json(path.read_bytes()).model()
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from None
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        message = ": ".join([*(str(key) for key in fault["loc"]), fault["msg"]])
        if fault["type"] not in {"missing", "json_invalid"}:
            message += f", found {fault['input']!r:.40}"
    except ValueError as error:
        message = str(error)
    raise ValueError(f"{path}: no model of portmert metric-train: {message}")


@dataclass(frozen=True)
class Learned(_shared.WeightedMean):
    """Averages a weighted sum of features; a segment counts by its length.

    The features and weights come from a file that `portmert metric-train` wrote. Features are the
    expected precision and recall of dependency links, TERp's edits and paraphrases, the precision
    and recall of words and word pairs, and differences of length. The scale is that of the human
    scores, up to a constant. With several references, the one with the lowest TERp cost counts.
    A segment without a reference word counts as one word.

    Parameters
    ----------
    model
        The file of features and weights. Default: TERp's costs (`terpa`), negated.
    synonyms
        The folder `dict` of WordNet with which the weights were learnt.
    paraphrases
        The table of paraphrases with which the weights were learnt.
    stop_words
        The list of stop words with which the weights were learnt. Shifts never move them alone.
    """

    model: Path | None = None
    synonyms: Path | None = None
    paraphrases: Path | None = None
    stop_words: Path | None = None

    in_percent: ClassVar[bool] = False
    source: ClassVar[str] = (
        "Kahn, Snover & Ostendorf, Machine Translation 23 (2009); Snover et al., WMT 2009"
    )

    @property
    def stat_names(self) -> tuple[str, ...]:
        """The segment's score times its length, and its length."""
        return ("learned", "ref_len")

    def load(self) -> None:
        """Read the model and the files that it was learnt with."""
        _ = self._lexicon

    @cached_property
    def needs(self) -> frozenset[Need]:  # type: ignore[override]  # the model says what
        """The analyses that the model's features read."""
        need = self._model.features.need
        return frozenset() if need is None else frozenset({need})

    @cached_property
    def _model(self) -> LearnedModel:
        if self.model is None:
            return TERP_ALONE
        model, path = read_model(self.model), self.model
        for name, file in self._files.items():  # are they those it was learnt with?
            expected = model.resources.get(name)
            if file is None and expected is not None:
                raise ValueError(f"{path} was learnt with {name}; give the same, {name}=...")
            if file is not None and expected is None:
                raise ValueError(f"{path} was learnt without {name}; leave {name} out")
            if file is not None and _lexicon_files.content_hash(file) != expected:
                raise ValueError(f"{file} is not what {path} was learnt with as {name}")
        return model

    @cached_property
    def _lexicon(self) -> Lexicon:
        return self._model.features.lexicon(self._files)

    @property
    def _files(self) -> dict[str, Path | None]:
        return {name: getattr(self, name) for name in RESOURCES}

    def stats(self, batch: Batch) -> FloatArray:
        """Return (H, 2) float64 in the order of `stat_names`."""
        model, length = self._model, _length(batch)
        values = model.features.values(batch, self._lexicon)
        return np.column_stack([length * model.scores(values), length])

    def parts(self, stats: FloatArray) -> dict[str, float]:
        """Return the reference length of stats (2,)."""
        return {"ref_len": float(stats[1])}
