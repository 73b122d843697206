"""Checks p-values, intervals and estimates by many draws where the truth is known.

`python -m research.calibration` prints the tables of research/calibration.md, in some
minutes. tests/tuner/evaluation/test_calibration.py judges smaller ones.
"""

import sys
from functools import partial
from itertools import product

import click
import numpy as np
from scipy.stats import kstest
from tabulate import tabulate

from portmert.extensions.crossval.operation import OfSplits
from portmert.extensions.metaeval.data import Judged
from portmert.extensions.metaeval.evaluation import evaluate
from portmert.metrics._base import Metric
from portmert.tuner.evaluation.significance import Resampling, systems_tested
from portmert.tuner.search.optimizers.bagged import Bagged
from portmert.tuner.search.problem import TuningProblem
from portmert.tuner.search.stat_table import StatTable
from tests.support.agreements import given_scores

SEGMENTS, SAMPLES, RUNS = 100, 999, 200
TUNING, SYSTEM, OWN = 0.01, 0.02, 0.05
"""Deviations: of tunings, of the segments of a system, of the segments of a replica."""


class Mean(Metric):
    """The mean over segments of one number each."""

    source = "a simulation"
    stat_names = ("sum", "segments")

    def stats(self, batch):
        raise NotImplementedError

    def score(self, stats):
        return stats[..., 0] / stats[..., 1]

    def parts(self, stats):
        raise NotImplementedError


def compared(rng, replicas):
    """Test two systems without a true difference; return p and whether the interval has 0.

    A system of one replica is compared as it is: it has no luck of tuning.
    """
    alike, tables = rng.normal(0, 0.1, (1, SEGMENTS)), []
    for count in replicas:
        luck = rng.normal(0, TUNING, (count, 1)) if max(replicas) > 1 < count else 0.0
        of_system = rng.normal(0, SYSTEM, (1, SEGMENTS))
        scores = alike + of_system + luck + rng.normal(0, OWN, (count, SEGMENTS))
        tables.append([np.stack([scores, np.ones(scores.shape)], axis=-1)])
    _, ((found,),) = systems_tested([Mean()], tables, Resampling(SAMPLES))
    return found.p, found.difference_low <= 0 <= found.difference_high


def judged(human, scores, *resampling):
    """Evaluate metrics by people's scores."""
    people = Judged(tuple(map(str, range(human.shape[1]))), human, np.ones(len(human)))
    return evaluate(people, [given_scores(x) for x in scores], *resampling)


def metaevaluated(rng):
    """Test two metrics that agree equally well with people by Pearson's r of segments.

    The interval is of the first metric's r, over samples of segments; in truth r is 0.5 ** 0.5.
    """
    human = rng.normal(size=(SEGMENTS, 5))
    scores = [human + rng.normal(size=human.shape) for _ in range(2)]
    found = judged(human, scores, Resampling(SAMPLES), "segments")
    r = found.agreements[0].correlations["segment.pearson"]
    return found.differences[0, 1]["segment.pearson"].p, r.low <= 0.5**0.5 <= r.high


def agreed(rng, systems, own):
    """Correlate a metric with people, on systems that differ as much as their segments.

    What the metric adds to all segments of a system has the deviation `own`. Return whether the
    intervals of r of systems and of segments have the truth, for other systems and segments.
    """
    human = rng.normal(size=(SEGMENTS, systems)) + rng.normal(size=systems)
    scores = human + rng.normal(size=human.shape) + own * rng.normal(size=systems)
    correlations = judged(human, [scores], Resampling(300)).agreements[0].correlations
    covered = []
    for name, luck in (("system.pearson", 1 / SEGMENTS), ("segment.pearson", 1)):
        truth = ((1 + luck) / (1 + own**2 + 2 * luck)) ** 0.5
        covered.append(correlations[name].low <= truth <= correlations[name].high)
    return covered


def covering(systems, own, runs=RUNS):
    """Return the shares of intervals of `agreed` that have the truth: of systems, of segments."""
    rng = np.random.default_rng(1)
    return np.mean([agreed(rng, systems, own) for _ in range(runs)], axis=0)


def cross_validated(rng, *, segments=SEGMENTS, features=10, splits=5, own=1.0):
    """Test two regressions by splits in halves; each has as many features that tell as much.

    The score of a segment is its squared error, by the weights that learnt from the other half.
    """
    sides = rng.normal(size=(2, segments, features))
    target = sides.sum(axis=(0, 2)) * 0.3 / features**0.5 + own * rng.normal(size=segments)
    scores = np.empty((2, splits, segments))
    for split in range(splits):
        first, second = np.split(rng.permutation(segments), 2)
        for (place, side), (learnt, judged) in product(
            enumerate(sides), ((first, second), (second, first))
        ):
            weights = np.linalg.lstsq(side[learnt], target[learnt])[0]
            scores[place, split, judged] = -((target[judged] - side[judged] @ weights) ** 2)
    tables = [[np.stack([x, np.ones(x.shape)], axis=-1)] for x in scores]
    _, ((found,),) = systems_tested([Mean()], tables, OfSplits(SAMPLES))
    return found.p, found.difference_low <= 0 <= found.difference_high


TESTS = {
    "`compare`, one replica each": lambda rng: compared(rng, (1, 1)),
    "`compare`, three replicas each": lambda rng: compared(rng, (3, 3)),
    "`compare`, five and three replicas": lambda rng: compared(rng, (5, 3)),
    "`rerank-tune`, one output against five replicas": lambda rng: compared(rng, (1, 5)),
    "`metaeval`, Pearson's r of segments": metaevaluated,
    "`crossval`, five splits": cross_validated,
    "`crossval`, 30 features": partial(cross_validated, features=30),
    "`crossval`, 60 segments, 3 features": partial(cross_validated, segments=60, features=3),
    "`crossval`, 200 segments, 40 features, ten splits": partial(
        cross_validated, segments=200, features=40, splits=10, own=0.5
    ),
}


ESTIMATES = (
    (0, 30, 4), (0, 30, 10), (0, 60, 10), (0, 120, 10), (0, 240, 10), (0.05, 60, 10),
    (0.15, 30, 10), (0.15, 60, 10), (0.15, 120, 10), (0.5, 30, 10), (0.5, 120, 10),
)  # fmt: skip
"""Signal, segments and folds of the rows of the second table."""


def calibrated(name):
    """Return the p-values of all runs of a test, and the share of intervals with the truth."""
    rng = np.random.default_rng(1)
    found = [TESTS[name](rng) for _ in range(RUNS)]
    covered = [has for _, has in found if has is not None]
    return np.array([p for p, _ in found]), np.mean(covered) if covered else None


def problem_of(rng, segments, signal):
    """Return lists of twelve hypotheses; `signal` of the deviation of a score is in features."""
    size = segments * 12
    features, scores = rng.normal(size=(3, size)), rng.normal(size=size)
    scores += signal * (features[0] - 0.5 * features[1])
    stats = StatTable(np.column_stack([scores, np.ones(size)]))
    return TuningProblem(features, np.arange(0, size + 1, 12), stats, Mean())


def estimated(segments, *, folds=10, seeds=RUNS, signal=0.0, **options):
    """Return estimates for unseen text less the truth, and the errors told."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 7, segments] if signal else [seed, 7])
        problem = problem_of(rng, segments, signal)
        result = Bagged(folds=folds, **options).optimize(problem, [np.ones(3)], seed=seed)
        truth = 0.0
        if signal:
            unseen_text = problem_of(np.random.default_rng([seed, 99]), 20_000, signal)
            truth = unseen_text.objective(result.weights)
        found.append((result.unseen.oriented_score - truth, result.unseen.error))
    return np.array(found).T


def main(seeds):
    """Print the three tables."""
    rows = []
    for name in TESTS:
        p, covered = calibrated(name)
        level = f"{100 * np.mean(p <= 0.05):.1f} %"
        shown = "" if covered is None else f"{100 * covered:.1f} %"
        rows.append([name, f"{kstest(p, 'uniform').pvalue:.2f}", level, shown])
    headers = ["test, without a true difference", "uniform: p of K.-S.", "p below 0.05", "covered"]
    click.echo(tabulate(rows, headers, tablefmt="github", disable_numparse=True))
    rows = []
    for systems in (5, 8, 15, 30):
        shares = np.concatenate([covering(systems, own) for own in (1, 0)])
        rows.append([systems, *(f"{100 * share:.1f} %" for share in shares)])
    headers = ["systems", "r of systems", "of segments", "r of systems, no own", "of segments"]
    click.echo(tabulate(rows, headers, tablefmt="github", disable_numparse=True))
    rows = []
    for signal, segments, folds in ESTIMATES:
        values, errors = estimated(segments, folds=folds, seeds=seeds, signal=signal)
        bias, error = np.mean(values), np.std(values, ddof=1) / len(values) ** 0.5
        covered = np.mean(np.abs(values) <= 1.96 * errors)
        chance = (covered * (1 - covered) / len(values)) ** 0.5
        rows.append([signal, segments, folds, f"{bias:+.3f} ± {error:.3f}",
                     f"{np.std(values):.3f}", f"{np.mean(errors):.3f}",
                     f"{100 * covered:.1f} ± {100 * chance:.1f} %"])  # fmt: skip
        click.echo(str(rows[-1]), err=True)
    headers = ["signal", "segments", "folds", "estimate - truth", "deviation", "error told",
               "covered"]  # fmt: skip
    click.echo(tabulate(rows, headers, tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else RUNS)
