"""mert: how far perturbations go, and that no loss is kept at temperature 0."""

import numpy as np
import pytest

from portmert.tuner.components import registry
from portmert.tuner.search.optimizers._exact import Climb
from tests.contracts.test_optimizer_contract import random_problem


def test_perturbations_have_their_length_and_cold_ones_lose_nothing(monkeypatch):
    go, lengths, values = Climb.go, [], []

    def spy(climb, weights):
        if hasattr(climb, "weights"):
            lengths.append(climb.length(weights - climb.weights) / climb.length(climb.weights))
            values.append(climb.value)
        go(climb, weights)

    monkeypatch.setattr(Climb, "go", spy)
    options = {"restarts": 1, "searches_per_feature": 60, "perturbation": 0.2, "temperature": 0}
    problem = random_problem(3, features=8)
    registry.optimizer("mert", options).optimize(problem, [np.ones(8)], seed=3)
    assert len(lengths) > 20
    assert np.median(lengths) == pytest.approx(0.2)
    assert (np.diff(values) >= 0).all()
    assert values[len(values) // 2] > values[1]  # the search goes back to the best later
