"""Weights of speech recognisers: of acoustics, language model and words, in each one's terms."""

import itertools
import math
from typing import Any

from ..base.errors import InputError
from .feature_weights import FeatureWeights

_NAMES = (
    {"acoustic", "-acoustic", "ac", "-ac", "am", "-am"},
    {"language", "-graph", "lm", "-lm"},
    {"length", "words"},
)
"""Names of the three features, one of each."""


def _three(weights: FeatureWeights) -> list[tuple[str, float]]:
    """Return name and weight of acoustics, language model and words; nothing without all three."""
    single = {name: row[0] for name, row in weights.values.items() if len(row) == 1}
    groups = [single.keys() & names for names in _NAMES]
    if any(len(group) != 1 for group in groups):
        return []
    three = [(name, single[name]) for (name,) in groups]
    return three if min(three[0][1], three[1][1]) > 0.0 else []


def in_recognisers_terms(weights: FeatureWeights) -> dict[str, Any]:
    """Return the weights as recognisers take them; nothing where features are not theirs.

    `lm_weight` and `word_bonus` are divided by the weight of acoustics; Kaldi's
    `insertion_penalty` is a cost, divided by the weight of the language model.
    """
    if not (three := _three(weights)):
        return {}
    acoustic, language, words = (weight for _, weight in three)
    scale, bonus, penalty = language / acoustic, words / acoustic, 0.0 - words / language
    return {
        "lm_weight": scale,
        "word_bonus": bonus,
        "insertion_penalty": penalty,
        "kaldi": {"lmwt": scale, "acwt": acoustic / language, "word-ins-penalty": penalty},
        "slf": {"acscale": 1.0, "lmscale": scale, "wdpenalty": bonus},
        "espnet": {"lm_weight": scale, "penalty": bonus},
    }


def written_terms(weights: FeatureWeights) -> dict[str, Any]:
    """Return what a file of weights says of a recogniser: nothing, or the key `recogniser`."""
    terms = in_recognisers_terms(weights)
    return {"recogniser": terms} if terms else {}


def in_steps(weights: FeatureWeights, step: float) -> list[FeatureWeights]:
    """Return the nearest weights with a whole LMWT, and a multiple of a step as Kaldi's penalty.

    Raises
    ------
    InputError
        The features are not those of a recogniser, or the step is 0 or below.
    """
    three = _three(weights)
    if not three or step <= 0.0:
        raise InputError(
            f"--penalty-step needs a step above 0 ({step:g}), and weights above 0 of acoustics "
            f"(ac) and language model (lm) beside one of words (length); the lists have "
            f"{', '.join(weights.values)}"
        )
    (_, acoustic), (lm, language), (length, words) = three
    scale, penalty = language / acoustic, -words / language
    scales = {max(1, math.floor(scale)), math.ceil(scale)}
    steps = {math.floor(penalty / step), math.ceil(penalty / step)}
    return [
        FeatureWeights(
            {**weights.values, lm: (n * acoustic,), length: (0.0 - k * step * n * acoustic,)}
        )
        for n, k in itertools.product(sorted(scales), sorted(steps))
    ]
