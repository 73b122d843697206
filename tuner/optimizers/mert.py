"""The default optimizer: annealed local search with exact lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from annotated_types import Ge, Gt

from tuner.optimizers._base import Optimizer

if TYPE_CHECKING:
    from tuner.search import Climb

RADIUS = 0.12
CALIBRATION = 16
import os
RET=float(os.environ.get('RET','2'));SCALE=int(os.environ.get('SCALE','64'));LINES=float(os.environ.get('LINES','1'))


@dataclass(frozen=True)
class Mert(Optimizer):
    """Climb, then kick the weights and climb again, many times, while accepting less and less loss.

    After a first climb over the whole lists, weights are kicked in a random direction and improved
    by line searches along features and random directions. Where that ends not much lower it is
    the new stand; how much is "not much" falls from the usual loss of a kick to nothing
    (threshold accepting, Dueck & Scheuer 1990). As kicks are short, the lists are first rid of all
    hypotheses that cannot win near the stand, which loses nothing and makes a line search some
    ten times cheaper. `docs/optimizer.md` compares it with the others on real lists.

    Parameters
    ----------
    effort : int
        Line searches of one restart, in multiples of the number of features.
    kick : float
        Length of a kick, in units of the weights' length.
    temperature : float
        Loss accepted at first, in multiples of the median loss of a kick after climbing.
    """

    effort: Annotated[int, Ge(1)] = 400
    kick: Annotated[float, Gt(0)] = 0.05
    temperature: Annotated[float, Ge(0)] = 1.0

    def climb(self, climb: Climb, rng: np.random.Generator) -> None:
        """Improve `climb` until the effort is spent."""
        budget = self.effort * climb.features
        for _ in range(10 * climb.features):
            self._step(climb, rng)
        climb.keep()
        losses: list[float] = []
        stale = True
        returned = False
        while climb.line_searches < budget:
            if not returned and climb.line_searches > RET * budget:
                returned = True
                climb.widen()
                climb.go(climb.best_weights)
                stale = True
            if stale:
                climb.go(climb.weights / climb.length(climb.weights))
                center = climb.weights
                climb.focus(RADIUS)
                stale = False
            spent = climb.line_searches / budget
            stand = (climb.weights, climb.scores, climb.value)
            direction = rng.normal(size=climb.features)
            direction *= self.kick / np.linalg.norm(direction)
            kicked = climb.weights + direction / climb.whole.spread
            if climb.outside(kicked):
                stale = True
                continue
            climb.go(kicked)
            for _ in range(int(LINES*climb.features)):
                self._step(climb, rng)
            climb.keep()
            loss = stand[2] - climb.value
            losses.append(loss)
            scale = float(np.median(losses[-SCALE:]))
            if loss > self.temperature * max(scale,0) * (1 - spent) * rng.exponential():
                climb.restore(*stand)
            elif climb.length(climb.weights - center) > RADIUS / 2:
                stale = True

    def _step(self, climb: Climb, rng: np.random.Generator) -> None:
        if rng.random() < 0.5:
            climb.move_along(int(rng.integers(climb.features)))
        else:
            climb.move_randomly(rng)
