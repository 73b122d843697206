"""Measure the default on many segments, beside a softmax by SciPy.

python -m research.many_segments [--sizes N,N,...] [--draws N]

Each prompt has 16 candidates with six normal scores, of which two correlate 0.8. One candidate is
right, drawn by a softmax of the true weights. Learnt weights choose for 200,000 new prompts. Shown
is the percentage right less that of the true weights, and processor time.
"""

import argparse
import time

import click
import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

import portmert
from portmert.tuner.base.tables import aligned

CANDIDATES, SCORES = 16, 6
TRUTH = np.random.default_rng(7).normal(size=SCORES)


def drawn(prompts: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (prompts, 16, 6) scores, and (prompts, 16) 1 for the right candidate, else 0."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(prompts, CANDIDATES, SCORES))
    scores[..., 1] = 0.8 * scores[..., 0] + 0.6 * scores[..., 1]
    utilities = scores @ TRUTH / 2 + rng.gumbel(size=(prompts, CANDIDATES))
    return scores, (utilities == utilities.max(axis=1, keepdims=True)).astype(float)


def percentage(weights: np.ndarray, scores: np.ndarray, right: np.ndarray) -> float:
    """Return how often the candidate of the highest model score is right."""
    return 100 * float(right[np.arange(len(right)), np.argmax(scores @ weights, axis=1)].mean())


def best_expected(scores: np.ndarray, gains: np.ndarray, *starts: np.ndarray) -> np.ndarray:
    """Return weights with the highest expected gain (S, N) under a softmax of scores (S, N, F)."""

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        shares = np.exp(log_softmax(scores @ weights, axis=1))
        expected = (shares * gains).sum(axis=1, keepdims=True)
        slopes = np.einsum("sn,snf->f", shares * (gains - expected), scores)
        return -float(expected.mean()), -slopes / len(scores)

    ends = (minimize(loss, start, jac=True, method="L-BFGS-B") for start in starts)
    return min(ends, key=lambda end: end.fun).x


def softmax(scores: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return weights with the highest expected percentage."""
    return best_expected(scores, right, np.full(SCORES, 0.1))


def default(scores: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return what `optimize` learns."""
    return portmert.optimize(portmert.Lists.from_arrays(scores, scores=right)).vector


def main() -> None:
    """Print a row for each size and draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sizes", default="3000,10000,20000,50000")
    parser.add_argument("--draws", type=int, default=2)
    arguments = parser.parse_args()
    unseen = drawn(200_000, 999)
    truth = percentage(TRUTH, *unseen)
    default(*drawn(150, 1))  # compiles
    rows = []
    for size in map(int, arguments.sizes.split(",")):
        for seed in range(arguments.draws):
            row: list[object] = [size, seed]
            for learn in (default, softmax):
                data = drawn(size, seed)
                begin = time.process_time()
                weights = learn(*data)
                seconds = time.process_time() - begin
                row += [f"{percentage(weights, *unseen) - truth:+.2f}", f"{seconds:.1f}"]
            rows.append(row)
    headers = ["prompts", "draw", "default", "CPU s", "softmax", "CPU s"]
    click.echo(aligned(headers, rows, style="pipe"))


if __name__ == "__main__":
    main()
