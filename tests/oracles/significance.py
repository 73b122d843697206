"""Slow twins of the resampling tests: every swap enumerated, every sample summed in a loop."""

import itertools
import statistics

import numpy as np
from scipy.stats import t as student


def exact_randomization(metric, first, second):
    """p of all 2^S swaps of two systems' (S, K) statistics, two-sided, with >=."""
    observed = abs(float(metric.score(second.sum(0)) - metric.score(first.sum(0))))
    extreme = 0
    for swaps in itertools.product([False, True], repeat=len(first)):
        swap = np.array(swaps)[:, np.newaxis]
        sums = np.where(swap, second, first).sum(0)
        swapped = np.where(swap, first, second).sum(0)
        extreme += abs(float(metric.score(swapped) - metric.score(sums))) >= observed - 1e-12
    return extreme / 2 ** len(first)


def exact_stratified(metric, first, second):
    """The same for (R, S, K) of equal R: all ways to permute the second's runs and to swap."""
    runs, segments = first.shape[:2]
    observed = abs(float(metric.score(second.sum((0, 1))) - metric.score(first.sum((0, 1)))))
    orders = list(itertools.permutations(range(runs)))
    ways = list(itertools.product(orders, itertools.product([False, True], repeat=runs)))
    extreme, total = 0, first.sum((0, 1)) + second.sum((0, 1))
    choices = itertools.product(ways, repeat=segments)
    count = 0
    for choice in choices:
        sums = np.zeros(first.shape[2])
        for s, (order, swaps) in enumerate(choice):
            for run in range(runs):
                sums += second[order[run], s] if swaps[run] else first[run, s]
        change = float(metric.score(total - sums) - metric.score(sums))
        extreme += abs(change) >= observed - 1e-12
        count += 1
    return extreme / count


def exact_paired_bootstrap(metric, first, second):
    """Share of all S^S samples of the test set in which the second is not better."""
    not_better = 0
    for sample in itertools.product(range(len(first)), repeat=len(first)):
        rows = list(sample)
        change = float(metric.score(second[rows].sum(0)) - metric.score(first[rows].sum(0)))
        not_better += (change if metric.higher_is_better else -change) <= 1e-12
    return not_better / len(first) ** len(first)


def exact_bootstrap_scores(metric, stats):
    """Scores of all S^S samples of (S, K)."""
    samples = itertools.product(range(len(stats)), repeat=len(stats))
    return np.array([float(metric.score(stats[list(sample)].sum(0))) for sample in samples])


def exact_both_kinds(metric, first, second):
    """p of Student's t of two systems' (R, S, K) statistics, over all S^S samples."""
    segments = first.shape[1]
    scores = [[float(metric.score(run.sum(0))) for run in system] for system in (first, second)]
    sampled = [[exact_bootstrap_scores(metric, run) for run in s] for s in (first, second)]
    count = len(sampled[0][0])
    means = [[sum(run[b] for run in s) / len(s) for b in range(count)] for s in sampled]
    of_segments = statistics.pvariance([y - x for x, y in zip(*means, strict=True)])
    parts, of_outputs = [], of_segments
    for system, (run_scores, mean) in enumerate(zip(scores, means, strict=True)):
        runs = len(run_scores)
        if runs == 1:
            continue
        parts.append((statistics.variance(run_scores) / runs, runs - 1))
        for run in sampled[system]:
            drift = statistics.pvariance([x - y for x, y in zip(run, mean, strict=True)])
            of_segments -= drift / (runs - 1) / runs
    parts.append((max(of_segments, 0), segments - 1))
    if sum(part for part, _ in parts) < of_outputs:
        parts = [(of_outputs, segments - 1)]
    variance = sum(part for part, _ in parts)
    free = variance**2 / sum(part**2 / n for part, n in parts)
    t = (statistics.mean(scores[1]) - statistics.mean(scores[0])) / variance**0.5
    return 2 * float(student.sf(abs(t), free))
