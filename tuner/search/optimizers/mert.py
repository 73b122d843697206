"""Search for the highest score on the lists by exact lines: annealed, or climbing alone."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt
from pydantic.dataclasses import dataclass

from portmert.metrics._elementary import norm

from ._climb import Climb, Climber

REACH = 2.4
"""Radius of the region searched at once, in perturbations. It is wide enough for a perturbation
from its middle and the climb after it, and narrow enough to leave few hypotheses (5 % of them on
Moses' lists)."""

ENOUGH = 1e-4
"""The least gain of a round with a prior, as a share of the objective's size. Beside an edge of
the error surface, single features come nearer to the prior in thousands of ever smaller steps."""

RETURN = 0.7
"""Share of the line searches after which the search goes back to the best weights seen."""


@dataclass(frozen=True)
class Mert(Climber):
    """Climb, perturb the weights and climb again, accepting smaller and smaller losses.

    A first climb uses the whole lists. Then, many times, the weights are moved in a random
    direction and improved by line searches along features and random directions. The new weights
    are accepted if they score higher, or lower by at most a threshold. The threshold is drawn
    around the usual loss of a perturbation and falls to 0 (threshold accepting, a form of
    annealing, Dueck & Scheuer 1990). The last part continues from the best weights seen.
    Perturbations are short, so hypotheses that cannot win near the current weights are removed
    from the lists first. This changes no result and makes a line search about ten times cheaper.
    `research/optimizers.md` compares this optimizer with the others on real lists.

    Parameters
    ----------
    restarts : int
        See `Optimizer`. The second restart helps the few seeds whose first one ends low. Each
        restart costs the same; they run in parallel if there are processors.
    searches_per_feature : int
        Number of line searches of one restart for each feature.
    perturbation : float
        Length of a perturbation relative to that of the weights.
    temperature : float
        Largest loss accepted at first, in multiples of the median loss of a perturbation.
    """

    restarts: Annotated[int, Ge(1)] = 2
    searches_per_feature: Annotated[int, Ge(1)] = 600
    perturbation: Annotated[float, Gt(0)] = 0.05
    temperature: Annotated[float, Ge(0)] = 3.0

    def climb(self, climb: Climb, rng: np.random.Generator) -> None:
        """Improve `climb` until all line searches are made."""
        budget = self.searches_per_feature * climb.features
        for _ in range(min(10 * climb.features, budget)):
            self._step(climb, rng)
        climb.keep()
        losses: list[float] = []
        returned = False
        while climb.line_searches < budget:
            spent = climb.line_searches / budget
            if spent > RETURN and not returned:
                returned = True
                climb.widen()
                climb.go(climb.best_weights)
            length = climb.length(climb.weights)
            if not climb.inside(climb.weights, share=0.5):
                climb.focus(REACH * self.perturbation * length)
            direction = rng.normal(size=climb.features)
            direction *= self.perturbation * length / norm(direction)
            perturbed = climb.bounds.clip(climb.weights + direction / climb.whole.spread)
            if not climb.inside(perturbed, share=0.95):
                climb.focus(REACH * self.perturbation * length)
            snapshot, before = climb.snapshot(), climb.value
            climb.go(perturbed)
            for _ in range(climb.features):
                self._step(climb, rng)
            climb.keep()
            loss = before - climb.value if climb.value != before else 0.0
            if np.isfinite(loss):
                losses.append(loss)
            usual = max(float(np.median(losses)), 0.0) if losses else 0.0
            accepted = self.temperature * usual * (1 - spent) * rng.exponential()
            if loss > accepted:
                climb.restore(snapshot)

    @staticmethod
    def _step(climb: Climb, rng: np.random.Generator) -> None:
        """Search a line: along a feature or in a random direction, with equal probability."""
        if rng.random() < 0.5:
            climb.move_along(int(rng.integers(climb.features)))
        else:
            climb.move_randomly(rng)


@dataclass(frozen=True)
class Coordinate(Climber):
    """Search the line along each feature and take the best step, until none gains (Och 2003).

    A line along one feature needs only that feature's values, which are the slopes. Model scores
    are updated after each step, not computed anew. With a prior the climb also ends when as many
    steps as there are features gain less than 0.0001 of the objective's size together.
    """

    def climb(self, climb: Climb, rng: np.random.Generator) -> None:  # noqa: ARG002  draws nothing
        """Improve `climb` until no single feature's line gains."""
        steps, before = 0, climb.value
        while True:
            points = [climb.best_along(feature) for feature in range(climb.features)]
            values = [-np.inf if point is None else point.value for point in points]
            if not climb.move_along(int(np.argmax(values))):
                break
            steps += 1
            if climb.whole.prior is not None and steps % climb.features == 0:
                if climb.value - before < ENOUGH * climb.size():
                    break
                before = climb.value
        climb.keep()


@dataclass(frozen=True)
class Powell(Climber):
    """Search lines along a set of directions, and adapt the set to each round (Powell 1964).

    At first the set has one direction for each feature. After each round the line along the whole
    step of the round is searched too. If that gains, its direction replaces the one that gained
    most, because they are most alike. Otherwise the set stays as it is.
    """

    def climb(self, climb: Climb, rng: np.random.Generator) -> None:  # noqa: ARG002  draws nothing
        """Improve `climb` until a round gains nothing."""
        columns = climb.whole.all_columns
        directions = list(np.diag(1.0 / climb.whole.spread))
        while True:
            begin = climb.weights
            gains = [climb.move(columns, direction) for direction in directions]
            if not any(gains):
                break
            change = climb.weights - begin
            if change.any() and climb.move(columns, change):
                directions.pop(int(np.argmax(gains)))
                directions.append(change / climb.length(change))
        climb.keep()


@dataclass(frozen=True)
class RandomDirections(Climber):
    """Search along random directions until many in a row gain nothing (Cer et al. 2008).

    Directions are drawn from a normal distribution. Each feature is scaled by the spread of its
    values, so that no feature dominates because of its units.

    Parameters
    ----------
    patience : int
        The search stops after this many lines in a row without a gain, times the number of
        features.
    """

    patience: Annotated[int, Ge(1)] = 10

    def climb(self, climb: Climb, rng: np.random.Generator) -> None:
        """Improve `climb` until `patience` runs out."""
        idle = 0
        while idle < self.patience * climb.features:
            idle = 0 if climb.move_randomly(rng) else idle + 1
        climb.keep()
