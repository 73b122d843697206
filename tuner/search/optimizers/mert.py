"""Searches for the highest score on the lists: annealed local search with exact lines."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt
from pydantic.dataclasses import dataclass

from portmert.tuner.search.climb import Climb
from portmert.tuner.search.optimizers._exact import ExactSearch

REACH_OF_KICKS = 2.4
"""Radius of the region searched at once, in kicks: wide enough for a kick from its middle and the
climb after it, narrow enough to leave few hypotheses (on Moses' lists 5 % of them)."""

RETURN = 0.7
"""Share of the effort after which the search goes back to the best weights seen."""


@dataclass(frozen=True)
class Mert(ExactSearch):
    """Climbs, then kicks the weights and climbs again, many times, accepting less and less loss.

    After a first climb over the whole lists, weights are kicked in a random direction and improved
    by line searches along features and random directions. Where that ends not much lower it is
    the new stand; how much is "not much" is drawn around the usual loss of a kick and falls to
    nothing (a threshold-accepting form of annealing, Dueck & Scheuer 1990). The last part goes on
    from the best weights seen. As kicks are short, the lists are first rid of all hypotheses that
    cannot win near the stand, which loses nothing and makes a line search some ten times cheaper.
    `docs/explanation/optimizer.md` compares it with the others on real lists.

    Parameters
    ----------
    restarts : int
        See `Optimizer`. The second one is there for the few seeds whose first ends low; more cost
        as much again each, and run at once where there are processors.
    effort : int
        Line searches of one restart, in multiples of the number of features.
    kick : float
        Length of a kick, in units of the weights' length.
    temperature : float
        Loss accepted at first, in multiples of the median loss of a kick.
    """

    restarts: Annotated[int, Ge(1)] = 2
    effort: Annotated[int, Ge(1)] = 600
    kick: Annotated[float, Gt(0)] = 0.05
    temperature: Annotated[float, Ge(0)] = 3.0

    def climb(self, climb: Climb, rng: np.random.Generator) -> None:
        """Improve `climb` until the effort is spent."""
        budget = self.effort * climb.features
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
                climb.focus(REACH_OF_KICKS * self.kick * length)
            stand = climb.stand()
            direction = rng.normal(size=climb.features)
            direction *= self.kick * length / np.linalg.norm(direction)
            kicked = climb.bounds.clip(climb.weights + direction / climb.whole.spread)
            if not climb.inside(kicked, share=0.95):
                climb.focus(REACH_OF_KICKS * self.kick * length)
                stand = climb.stand()
            climb.go(kicked)
            for _ in range(climb.features):
                self._step(climb, rng)
            climb.keep()
            losses.append(stand.value - climb.value)
            usual = max(float(np.median(losses)), 0.0)
            accepted = self.temperature * usual * (1 - spent) * rng.exponential()
            if losses[-1] > accepted:
                climb.return_to(stand)

    @staticmethod
    def _step(climb: Climb, rng: np.random.Generator) -> None:
        """Search a line, along a feature or in a random direction, as often one as the other."""
        if rng.random() < 0.5:
            climb.move_along(int(rng.integers(climb.features)))
        else:
            climb.move_randomly(rng)
