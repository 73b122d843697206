"""Makes weights that a decoder can use of what an optimizer found."""

from __future__ import annotations

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.tuner.search.problem import TuningProblem
from portmert.tuner.search.searched import Searched
from portmert.tuner.search.variables import Variables
from portmert.tuner.weights.feature_weights import FeatureWeights


def found_weights(
    found: FloatArray,
    start: FeatureWeights,
    problem: TuningProblem,
    variables: Variables,
    lists: Searched,
) -> FeatureWeights:
    """Return the weights of all features after a search.

    Parameters
    ----------
    found : (n,) float64
        What the optimizer found: the variables, then sparse features.
    start : FeatureWeights
        Where the search began; what was not searched keeps its weight of here.
    """
    if not problem.fixed.size and variables.bounds.allow_scaling:
        numbers = variables.bounds.clip(variables.reduce(start.vector(lists.names)))
        found = _as_long_as(found, np.concatenate([numbers, lists.sparse_vector(start)]))
    found = _without_zeros(found, problem, variables)
    dense = FeatureWeights.from_vector(lists.names, variables.expand(found[: len(variables)]))
    sparse = {  # one of 0 only takes the place of another
        name: (float(number),)
        for name, number in zip(lists.sparse_names, found[len(variables) :], strict=True)
        if number != 0 or name in start.values or name in dense.values
    }
    return FeatureWeights({**start.values, **dense.values, **sparse})


def _as_long_as(found: FloatArray, start: FloatArray) -> FloatArray:
    """Scale weights so that their absolute values add to what those of the start do.

    Model scores only rank, so that any positive factor will do; this one keeps the searched
    weights as they were beside the ones that the decoder has and nobody searches.
    """
    size, found_size = float(np.abs(start).sum()), float(np.abs(found).sum())
    return found * ((size or 1.0) / (found_size or 1.0))


def _without_zeros(found: FloatArray, problem: TuningProblem, variables: Variables) -> FloatArray:
    """Replace each weight of exactly 0 by a very small one of the sign that scores better."""
    found = found.copy()
    tiny = 1e-9 * max(float(np.abs(found).max()), 1e-9)
    for v in np.flatnonzero(found[: len(variables)] == 0):  # sparse ones may be 0
        options = []
        for value in (tiny, -tiny):
            if variables.bounds.lower[v] <= value <= variables.bounds.upper[v]:
                changed = found.copy()
                changed[v] = value
                options.append((problem.value(problem.model_scores(changed)), value))
        found[v] = max(options)[1] if options else 0.0
    return found
