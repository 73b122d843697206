"""Meta-evaluation of many metrics: correlations, intervals, tests of all differences."""

from __future__ import annotations

import numpy as np

from tests.bench.measure import run

METRICS, SYSTEMS, SEGMENTS, SAMPLES = 60, 20, 2000, 1000


def metaeval() -> list[list[str]]:
    """A process that evaluates all, its scores random."""
    found = run([METRICS, SYSTEMS, SEGMENTS, SAMPLES], module="tests.bench.metaeval")
    what = f"metaeval, {METRICS} metrics, {SYSTEMS} systems, {SEGMENTS:,} segments, {SAMPLES:,}"
    return [
        [f"{what} samples: seconds (CPU)", f"{found.wall:.0f} ({found.cpu:.0f})", "<= 120"],
        [f"{what} samples: peak memory", f"{found.memory / 2**20:.0f} MiB", "<= 2048 MiB"],
    ]


def work(metrics: int, systems: int, segments: int, samples: int) -> None:
    """Evaluate metrics that are people's scores and more and more noise."""
    from portmert.extensions.metaeval.data import Judged
    from portmert.extensions.metaeval.evaluation import evaluate
    from portmert.tuner.evaluation.significance import Resampling
    from portmert.tuner.texts.groups import Groups
    from tests.support.agreements import given_scores

    rng = np.random.default_rng(1)
    human = rng.integers(-25, 1, size=(segments, systems)).astype(np.float64)
    documents = np.arange(segments) // 20
    names = tuple(map(str, range(int(documents.max()) + 1)))
    lengths = rng.integers(5, 40, segments).astype(np.float64)
    partitions = {"document": Groups(names, documents, "")}
    judged = Judged(tuple(map(str, range(systems))), human, lengths, partitions)
    scores = [
        given_scores(human / 10 + rng.normal(size=human.shape) * (1 + n / 10), str(n))
        for n in range(metrics)
    ]
    evaluate(judged, scores, Resampling(samples=samples))


if __name__ == "__main__":
    import sys

    work(*map(int, sys.argv[1:]))
