"""Times how long each metric's statistics take, in this process: Table 6."""

from __future__ import annotations

import time
from collections.abc import Mapping

from portmert.metrics._base import Metric
from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison.material import Material
from portmert.tuner.evaluation.comparison.model import Timing
from portmert.tuner.texts.statistics import compute_stats

ROUNDS = 3
"""The fastest counts: what else the machine does only makes a round slower."""


def time_metrics(material: Material, metrics: Mapping[str, Metric]) -> tuple[Timing, ...]:
    """Time the statistics of the first output, on one thread.

    The metrics have been computed before: their code is compiled and loaded.
    """
    bleu = _seconds(material, registry.metric("bleu"))
    return tuple(
        Timing(label, seconds, seconds / bleu)
        for label, metric in metrics.items()
        for seconds in [bleu if label == "bleu" else _seconds(material, metric)]
    )


def _seconds(material: Material, metric: Metric) -> float:
    fastest = float("inf")
    for _ in range(ROUNDS):
        batch = material.batch(0)  # a new one: it keeps what it has computed once
        begin = time.perf_counter()
        compute_stats(metric, batch)
        fastest = min(fastest, time.perf_counter() - begin)
    return fastest
