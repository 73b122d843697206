"""mert: how far perturbations go, that no loss is kept at temperature 0; Powell's directions."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from portmert.tuner.components import registry
from portmert.tuner.search.optimizers._climb import Climb
from portmert.tuner.search.optimizers.powell import Powell
from tests.contracts.test_optimizer_contract import random_problem


def test_perturbations_have_their_length_and_cold_ones_lose_nothing(monkeypatch):
    go, lengths, values = Climb.go, [], []

    def spy(climb, weights):
        if hasattr(climb, "objective"):
            lengths.append(climb.length(weights - climb.weights) / climb.length(climb.weights))
            values.append(climb.objective)
        go(climb, weights)

    monkeypatch.setattr(Climb, "go", spy)
    options = {"restarts": 1, "searches_per_feature": 60, "perturbation": 0.2, "temperature": 0}
    problem = random_problem(3, features=8)
    registry.optimizer("mert", options).optimize(problem, [np.ones(8)], seed=3)
    assert len(lengths) > 20
    assert np.median(lengths) == pytest.approx(0.2)
    assert (np.diff(values) >= 0).all()
    assert values[len(values) // 2] > values[1]  # the search goes back to the best later


def test_warm_perturbations_keep_some_losses_and_end_higher(monkeypatch):
    go, values = Climb.go, []

    def spy(climb, weights):
        if hasattr(climb, "objective"):
            values.append(climb.objective)
        go(climb, weights)

    monkeypatch.setattr(Climb, "go", spy)
    options = {"restarts": 1, "searches_per_feature": 60, "perturbation": 0.2}
    problem = random_problem(3, features=8)
    found = registry.optimizer("mert", options).optimize(problem, [np.ones(8)], seed=3)
    assert (np.diff(values) < 0).any()
    assert found.objective >= max(values)


class ScriptedClimb:
    """A climb whose moves gain what they are told, two steps along their direction."""

    def __init__(self, spread, gains):
        self.whole = SimpleNamespace(spread=np.array(spread), all_columns=np.arange(len(spread)))
        self.weights = np.zeros(len(spread))
        self.gains, self.directions, self.kept = list(gains), [], 0

    def move(self, columns, direction):
        assert columns.tolist() == self.whole.all_columns.tolist()
        self.directions.append(direction.tolist())
        gain = self.gains.pop(0)
        self.weights = self.weights + (2 * direction if gain else 0.0)
        return gain

    def length(self, change):
        return math.hypot(*change * self.whole.spread)

    def keep(self):
        self.kept += 1


def test_powell_puts_the_whole_step_of_a_round_in_the_place_of_the_direction_that_gained_most():
    first, second = [1.0, 0.0], [0.0, 0.5]
    climb = ScriptedClimb([1, 2], [1, 3, 1, 0, 2, 0, 0, 0])
    Powell().climb(climb, None)
    step = [2.0 / math.sqrt(8), 1.0 / math.sqrt(8)]  # (2, 1), of length 1 with spreads 1 and 2
    whole = [2 * number for number in step]  # of the second round, whose other line gained nothing
    assert np.array(climb.directions) == pytest.approx(
        np.array([first, second, [2.0, 1.0], first, step, whole, first, step])
    )
    assert (climb.gains, climb.kept) == ([], 1)
