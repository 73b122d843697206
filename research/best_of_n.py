"""Measure on RewardMATH what judges are worth together.

python -m research.best_of_n FOLDER [--splits N] [--steps max|mean|min|last] [--scaled]
                                [--optimizer NAME ...] [--choose]

RewardMATH has 483 problems of MATH with ten answers each, of which one is right, and the scores of
22 judges. FOLDER is a clone of kimsh0507/RewardMATH_official. Answers are shuffled; 241 problems
are tuned on and 242 judge. Judges that score steps count by one of the steps, or by the mean.
--scaled divides judges by their spread, to see whether the default needs a common scale.
--choose chooses the way to count steps and the optimizer on two splits of the 241 problems alone,
and judges that choice on the 242.

Standard errors count that splits share problems (Nadeau & Bengio 2003).
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

import portmert

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OPTIMIZERS = ("bagged", "bagged:likelihood=false", "min-risk", "kbmira", "mert")
"""The others are compared with the first."""
OF_STEPS = {"max": max, "min": min, "mean": statistics.mean, "last": lambda steps: steps[-1]}


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--steps", choices=sorted(OF_STEPS), default="max")
    parser.add_argument("--scaled", action="store_true")
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--optimizer", action="append", help=f"Default: {OPTIMIZERS}.")
    given = parser.parse_args()
    optimizers = given.optimizer or OPTIMIZERS
    ways = sorted(OF_STEPS) if given.choose else [given.steps]
    judges = {way: read_rewardmath(given.folder, OF_STEPS[way]) for way in ways}
    halves = [np.random.default_rng(seed).permutation(483) for seed in range(given.splits)]
    splits = []
    for order in halves:
        seen, unseen = order[:241], order[241:]
        if given.choose:
            splits.append(chosen(judges, optimizers, seen, unseen))
        else:
            features, right = judges[given.steps]
            splits.append(measure(features, right, optimizers, seen, unseen, scaled=given.scaled))
    scores = {name: 100 * np.array([one[name] for one in splits]) for name in splits[0]}
    first = next(iter(scores.values()))
    for name, found in scores.items():
        change = found - first
        click.echo(
            f"{name:28} {found.mean():6.2f} ± {error(found):.2f}   "
            f"{change.mean():+6.2f} ± {error(change):.2f}"
        )


def error(found: np.ndarray) -> float:
    """Return the standard error of a mean over splits in halves."""
    return float(found.std(ddof=1) * (1 / len(found) + 1) ** 0.5)


def chosen(
    judges: dict[str, tuple[np.ndarray, np.ndarray]],
    optimizers: Sequence[str],
    seen: np.ndarray,
    unseen: np.ndarray,
) -> dict[str, float]:
    """Return the share of right choices of what is best on splits of the problems seen."""
    means: dict[tuple[str, str], float] = {}
    for way, (features, right) in judges.items():
        inner = []
        for seed in range(2):
            order = np.random.default_rng(seed).permutation(seen)
            inner.append(measure(features, right, optimizers, order[:120], order[120:]))
        for name in optimizers:
            means[way, name] = statistics.mean(one[name] for one in inner)
    way, name = max(means, key=means.__getitem__)
    click.echo(f"chosen: {way}, {name}", err=True)
    found = measure(*judges[way], optimizers, seen, unseen)
    others = {f"chosen steps, {one}": found[one] for one in optimizers}
    alone = ("best judge alone", "equal weights", "equal weights, raw scales")
    return {"chosen": found[name]} | others | {one: found[one] for one in alone}


def read_rewardmath(
    folder: Path, of_steps: Callable[[list[float]], float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return (P, 10, 22) scores of the judges, and (P, 10) which answer is right."""
    judges, problems = [], None
    for path in sorted((folder / "results" / "RewardMATH").glob("*_reward.json")):
        if "pairwise" in path.name:
            continue
        found = json.loads(path.read_text(encoding="utf-8"))
        problems = problems or [one["problem"] for one in found]
        if [one["problem"] for one in found[: len(problems)]] != problems:
            raise ValueError(f"{path} has other problems")
        judges.append(
            [
                [float(of_steps(x) if isinstance(x, list) else x) for x in one["score"]]
                for one in found[: len(problems)]
            ]
        )
    scores = np.array(judges).transpose(1, 2, 0)
    order = np.random.default_rng(0).permuted(
        np.tile(np.arange(scores.shape[1]), (len(scores), 1)), axis=1
    )
    return np.take_along_axis(scores, order[:, :, np.newaxis], axis=1), order == 0


def measure(
    features: np.ndarray,
    right: np.ndarray,
    optimizers: Sequence[str],
    seen: np.ndarray,
    unseen: np.ndarray,
    *,
    scaled: bool = False,
) -> dict[str, float]:
    """Return the share of right choices on unseen problems, learnt on those seen."""
    deviations = features[seen] - features[seen].mean(axis=1, keepdims=True)
    spread = np.sqrt((deviations**2).mean(axis=(0, 1)))

    def judged(weights: np.ndarray, by: np.ndarray = unseen) -> float:
        chosen = np.argmax(features[by] @ weights, axis=1)
        return float(right[by, chosen].mean())

    alone = np.eye(len(spread))
    best = alone[np.argmax([judged(one, seen) for one in alone])]
    scale = spread if scaled else np.ones_like(spread)
    lists = portmert.Lists.from_arrays(features[seen] / scale, scores=right[seen])
    found = {
        optimizer: judged(portmert.optimize(lists, optimizer=optimizer).vector / scale)
        for optimizer in optimizers
    }
    return found | {
        "best judge alone": judged(best),
        "equal weights": judged(1 / spread),
        "equal weights, raw scales": judged(np.ones_like(spread)),
    }


if __name__ == "__main__":
    main()
