"""Counts false alarms, coverage and power of `compare` on segments in groups, by simulation.

`python -m research.group_tests [RUNS]` prints the tables of research/group-tests.md and draws
their figure, in ten minutes of one processor; tests/tuner/evaluation/test_calibration.py judges a
few rows.

Two systems translate segments of documents. A document is hard for both. What is easy for one
system alone has the intraclass correlation `correlation` within a document; without a true
difference both systems are drawn from one law.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np
from tabulate import tabulate

from portmert.extensions.outside_scores.outcomes import OutcomeMetric
from portmert.tuner.components import registry
from portmert.tuner.evaluation.power import smallest_difference
from portmert.tuner.evaluation.significance import Resampling, systems_tested
from portmert.tuner.texts.groups import Groups

RUNS, SAMPLES, SEGMENTS = 400, 199, 6
"""Draws of a row, random samples of a test, mean segments of a group."""
METRICS = {
    "outcomes": OutcomeMetric("right", percent=True),
    **{name: registry.metric(name) for name in ("wer", "bleu", "port")},
}
OWN, COMMON = 0.6, 0.6
"""Deviations, on the scale of log odds: of what is easy for one system, and for both."""


@dataclass(frozen=True)
class Setting:
    """A row: what is drawn.

    Parameters
    ----------
    repeats
        Outputs of each segment that are one unit, as samples of a model.
    replicas
        Outputs of a system that were made apart, as from seeds; each has luck of its own.
    gain
        By how much the second system is better, in log odds.
    """

    metric: str
    groups: int
    correlation: float = 0.0
    uneven: bool = False
    repeats: int = 1
    replicas: int = 1
    gain: float = 0.0

    @property
    def row(self):
        """What the tables say of it."""
        sizes = "uneven" if self.uneven else "equal"
        return [self.metric, self.groups, sizes, self.correlation, self.repeats, self.replicas]


def drawn(setting, rng):
    """Return statistics of two systems, (R, S, K) each, and the groups of the segments."""
    count = setting.groups
    sizes = np.full(count, SEGMENTS)
    if setting.uneven:
        sizes = rng.geometric(1 / SEGMENTS, count)
    labels = np.repeat(np.arange(count), sizes)
    segments = len(labels)
    common = COMMON * (rng.normal(size=count)[labels] + rng.normal(size=segments))
    lengths = rng.poisson(15, segments) + 5
    tables = []
    for gain in (0.0, setting.gain):
        of_groups = rng.normal(size=count)[labels] * setting.correlation**0.5
        own = of_groups + rng.normal(size=segments) * (1 - setting.correlation) ** 0.5
        outputs = []
        for _ in range(setting.replicas):
            luck = 0.05 * rng.normal() if setting.replicas > 1 else 0.0
            quality = common + OWN * own + gain + luck
            outputs.append(STATISTICS[setting.metric](rng, quality, lengths, setting.repeats))
        tables.append([np.stack(outputs)])
    return tables, Groups.of(list(map(str, labels)), "simulated")


def odds(quality):
    """Return shares of log odds."""
    return 1 / (1 + np.exp(-quality))


def outcomes(rng, quality, _, repeats):
    """Right or wrong; the mean of the repeats of a segment."""
    return np.column_stack([rng.binomial(repeats, odds(quality)) / repeats, np.ones(len(quality))])


def errors(rng, quality, lengths, repeats):
    """Errors and words, as of recognisers with a word error rate of some 15 %."""
    share = odds(-1.9 - 0.7 * quality)
    return np.column_stack([rng.binomial(repeats * lengths, share), repeats * lengths])


def ngrams(rng, quality, lengths, repeats):
    """Matches of n-grams: a longer one matches if its beginning does and its last word does."""
    share, columns, words = odds(0.4 + 0.5 * quality), [], 0
    for _ in range(repeats):
        size = np.maximum(4, lengths + rng.integers(-2, 3, len(lengths)))
        words = words + size
        matched = rng.binomial(size, share)
        rows = []
        for n in range(4):
            total = size - n
            rows += [np.minimum(matched, total), total, lengths - n]
            matched = rng.binomial(np.minimum(matched, total), 0.35 + 0.5 * share)
        columns.append(np.stack(rows))
    return np.sum(columns, axis=0).astype(float), words


def bleu(rng, quality, lengths, repeats):
    """Statistics of BLEU."""
    counts, _ = ngrams(rng, quality, lengths, repeats)
    return np.column_stack([*counts[[0, 1, 3, 4, 6, 7, 9, 10]], repeats * lengths])


def port(rng, quality, lengths, repeats):
    """Statistics of PORT; the agreement of word orders rises with the quality."""
    counts, words = ngrams(rng, quality, lengths, repeats)
    of_references = repeats * lengths
    order = of_references * rng.beta(8 * odds(1 + quality), 8 * odds(-1 - quality))
    shorter, longer = np.minimum(words, of_references), np.maximum(words, of_references)
    return np.column_stack([*counts, of_references, shorter, longer, order])


STATISTICS = {"outcomes": outcomes, "wer": errors, "bleu": bleu, "port": port}


def simulated(setting, rng, samples=SAMPLES):
    """Return the test of the second system against the first, with groups."""
    tables, groups = drawn(setting, rng)
    _, ((test,),) = systems_tested([METRICS[setting.metric]], tables, Resampling(samples), groups)
    return test


def counted(setting, runs=RUNS, samples=SAMPLES, seed=1):
    """Return the shares of false alarms and of intervals that hold the truth, which is 0."""
    rng = np.random.default_rng([seed, setting.groups, setting.repeats])
    tests = [simulated(setting, rng, samples) for _ in range(runs)]
    alarms = np.mean([test.p <= 0.05 for test in tests])
    covered = np.mean([test.difference_low <= 0 <= test.difference_high for test in tests])
    return float(alarms), float(covered)


def powered(setting, runs=RUNS, samples=SAMPLES, seed=1):
    """Return how often a difference is shown that is as large as the smallest one of pilots.

    The gain of the second system is chosen so that its true difference, by draws of 20,000
    groups, is the mean smallest difference over 100 test sets.
    """
    rng = np.random.default_rng([seed, setting.groups])
    pilots = [vars(simulated(setting, rng, 99)) for _ in range(100)]
    smallest = np.mean([smallest_difference(pilot, 0.95) for pilot in pilots])
    low, high = 0.0, 4.0
    for _ in range(14):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if true_difference(setting, middle) < smallest else (low, middle)
        )
    better = replace(setting, gain=high)
    shown = [simulated(better, rng, samples).p <= 0.05 for _ in range(runs)]
    return float(smallest), float(np.mean(shown))


def true_difference(setting, gain):
    """Return the difference of two systems on 20,000 groups, by how much the second is better."""
    metric = METRICS[setting.metric]
    rng = np.random.default_rng(7)
    tables, _ = drawn(replace(setting, groups=20_000, gain=gain), rng)
    first, second = (float(metric.score(table[0].sum(axis=1)).mean()) for table in tables)
    none, _ = drawn(replace(setting, groups=20_000), np.random.default_rng(7))
    base = [float(metric.score(table[0].sum(axis=1)).mean()) for table in none]
    return metric.oriented(second - first) - metric.oriented(base[1] - base[0])


def settings():
    """Yield all rows of the first table."""
    for groups in (20, 50, 200, 1000):
        for metric in METRICS:
            yield Setting(metric, groups, 0.3, uneven=True)
            if groups == 20:
                yield Setting(metric, groups, 0.0)
                yield Setting(metric, groups, 0.3)
                yield Setting(metric, groups, 0.1, uneven=True, repeats=5)
                yield Setting(metric, groups, 0.1, uneven=True, replicas=3)


def main(runs):
    """Print both tables."""
    rows = []
    for setting in settings():
        alarms, covered = counted(setting, max(runs // (10 if setting.groups > 200 else 1), 1))
        rows.append([*setting.row, f"{100 * alarms:.1f}", f"{100 * covered:.1f}"])
        click.echo(str(rows[-1]), err=True)
    headers = [
        "metric",
        "groups",
        "sizes",
        "r",
        "repeats",
        "replicas",
        "p <= 0.05, %",
        "covered, %",
    ]
    click.echo(tabulate(rows, headers, tablefmt="github", disable_numparse=True))
    draw(rows)
    rows = []
    for metric in METRICS:
        for groups in (20, 100):
            setting = Setting(metric, groups, 0.1, uneven=True)
            smallest, shown = powered(setting, runs)
            rows.append([metric, groups, f"{100 * smallest:.2f}", f"{100 * shown:.1f}"])
            click.echo(str(rows[-1]), err=True)
    headers = ["metric", "groups", "smallest difference", "shown, %"]
    click.echo(tabulate(rows, headers, tablefmt="github", disable_numparse=True))


def draw(rows):
    """Draw the shares of all rows beside their goals."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True)
    for axis, column, goal, title in (
        (axes[0], -2, (3, 7), "false alarms, %"), (axes[1], -1, (93, 97), "coverage, %")
    ):  # fmt: skip
        axis.axvspan(*goal, color="0.9")
        for place, metric in enumerate(METRICS):
            values = [float(row[column]) for row in rows if row[0] == metric]
            axis.plot(values, np.linspace(place - 0.3, place + 0.3, len(values)), "o", ms=3)
        axis.set(title=title, yticks=range(len(METRICS)), yticklabels=list(METRICS))
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("group-tests.svg"))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else RUNS)
