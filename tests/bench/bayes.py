"""Minimum Bayes risk: all pairs of long lists against the same lists with one reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from portmert.extensions.mbr.mbr import expected_scores
from portmert.metrics._base import Texts, Vocabulary
from portmert.tuner.components import registry
from portmert.tuner.nbest.votes import uniform
from portmert.tuner.texts.corpus import References, make_batch
from portmert.tuner.texts.statistics import compute_stats
from tests.bench.measure import in_turn, median_ratio

if TYPE_CHECKING:
    from portmert.metrics._base import Metric

SEGMENTS, PER_SEGMENT, WORDS = 1000, 100, 8000


def bayes() -> list[list[str]]:
    """Scores of 1,000 x 100 hypotheses against one reference, and against each other."""
    texts, offsets = samples(np.random.default_rng(5))
    references = References(texts.take(offsets[:-1]), np.arange(SEGMENTS + 1))
    batch = make_batch(texts, offsets, references)
    weights = uniform(offsets)

    def once(metric: Metric) -> None:
        metric.score(compute_stats(metric, batch))

    def pairs(metric: Metric, average: str = "scores") -> None:
        expected_scores(metric, texts, offsets, weights, average=average)

    rows = []
    for name, rounds, goal in (
        ("chrf", 3, "<= 20"),
        ("bleu", 5, "<= 20"),
        ("bleu:smooth=exp", 3, ""),  # its scores take more time than its statistics
    ):
        metric = registry.metric(name)
        single, scores, statistics = in_turn(
            lambda metric=metric: once(metric),
            lambda metric=metric: pairs(metric),
            lambda metric=metric: pairs(metric, "statistics"),
            rounds=rounds,
        )
        rows += [
            [
                f"MBR {name}, 1,000 x 100 x 100 pairs / one reference",
                f"{median_ratio(scores, single):.1f} ({np.median(scores):.1f} s)",
                goal,
            ],
            [
                f"MBR {name}, mean statistics / one reference",
                f"{median_ratio(statistics, single):.1f}",
                "",
            ],
        ]
    return rows


def samples(rng: np.random.Generator) -> tuple[Texts, np.ndarray]:
    """Return lists of 8 to 40 words, about one in six another one than in most hypotheses."""
    letters = list("etaoinshrdlucmfwypvbgkjqxz")
    words = ["".join(rng.choice(letters, size=rng.integers(1, 10))) for _ in range(WORDS)]
    chances = 1 / np.arange(1, WORDS + 1)
    chances /= chances.sum()
    lines = []
    for _ in range(SEGMENTS):
        length = int(rng.integers(8, 41))
        others = rng.choice(WORDS, size=(length, 3), p=chances)
        for _ in range(PER_SEGMENT):
            pick = np.where(rng.random(length) < 0.85, 0, rng.integers(1, 3, length))
            kept = rng.random(length) > 0.03
            lines.append(" ".join(words[k] for k in others[np.arange(length), pick][kept]))
    return Texts.from_lines(lines, Vocabulary()), np.arange(SEGMENTS + 1) * PER_SEGMENT
