"""Search for the highest score on the lists by exact line searches, annealed."""

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
            if spent > RETURN and not returned:  # from here on near the best weights
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
            # Jump, climb from there, and go back if that loses more than chance allows.
            before = climb.objective
            position = climb.weights, climb.scores, before
            climb.go(perturbed)
            for _ in range(climb.features):
                self._step(climb, rng)
            climb.keep()
            loss = before - climb.objective if climb.objective != before else 0.0
            if np.isfinite(loss):
                losses.append(loss)
            usual = max(float(np.median(losses)), 0.0) if losses else 0.0
            accepted = self.temperature * usual * (1 - spent) * rng.exponential()
            if loss > accepted:
                climb.weights, climb.scores, climb.objective = position

    @staticmethod
    def _step(climb: Climb, rng: np.random.Generator) -> None:
        """Search a line: along a feature or in a random direction, with equal probability."""
        if rng.random() < 0.5:
            climb.move_along(int(rng.integers(climb.features)))
        else:
            climb.move_randomly(rng)
