"""Write pairs of hypotheses for a classifier to learn from, as Moses' `pro` does.

For BLEU, without options of ours, pairs are drawn as by Moses: of 5000 random pairs of a segment
those 50 that differ most in smoothed sentence BLEU, by at least 0.05 (Hopkins & May, EMNLP 2011).
Otherwise the optimizer `pro` draws them, which judges hypotheses on a background corpus.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import cast

import numpy as np

from portmert.metrics._base import FloatArray, IntArray, Metric
from portmert.metrics._elementary import exp, log
from portmert.metrics.bleu import Bleu

from ..base import files, streams
from ..base.errors import counted
from ..components import registry
from ..nbest.moses_dat import DatLists
from ..search.constraints import Bounds
from ..search.list_statistics import moses_stats
from ..search.optimizers._linear import Linear
from ..search.optimizers.pro import Pro
from ..search.problem import TuningProblem
from ..search.stat_table import StatTable
from . import _scorer
from ._program import Flag, OptionValues, number, program, say

SAMPLES, PAIRS, LEAST = 5000, 50, 0.05
"""Pairs drawn and kept of each segment, and their least difference in BLEU, as in Moses."""
SMALLEST = 1e-5
"""Differences of features below this are not written, as in Moses."""

OPTIONS = (
    *_scorer.OPTIONS,
    Flag("output-file", "o", help="where the pairs go (default: stdout)"),
    Flag("smooth-brevity-penalty", "b", takes_value=False,
           help="sentence BLEU with reference lengths one longer (Nakov et al., COLING 2012); "
           "not needed for other metrics"),
    Flag("set", help="KEY=VALUE, an option of the optimizer pro, which then draws the pairs"),
)  # fmt: skip


@program("pro", OPTIONS)
def main(values: OptionValues) -> int:
    """Run the program; return its exit status."""
    lists, scorer = _scorer.scored_lists(values)
    metric, settings = scorer.metric, values.settings()
    stats = moses_stats(replace(lists, score_name=metric.name()), metric)
    rng = streams.whole(values.integer("random-seed", 0))
    if type(metric) is Bleu and not settings:
        scores = sentence_bleu(stats, longer=float("smooth-brevity-penalty" in values))
        better, worse = most_different(scores, lists.offsets, rng)
    else:
        better, worse = on_background(lists, stats, metric, settings, rng)
    with files.writing(values.last("output-file", "-")) as out:
        for line in differences(lists, better, worse):
            out.write(line.encode())
    say(f"{counted(len(better), 'pair')} of {counted(len(lists.features), 'hypothesis')}")
    return 0


def sentence_bleu(stats: FloatArray, *, longer: float) -> FloatArray:
    """Return the (H,) BLEU of (H, 2 N + 1) statistics, one added to all counts of n-grams.

    `longer` is added to the length of the reference.
    """
    matched, total, reference = stats[:, :-1:2], stats[:, 1:-1:2], stats[:, -1] + longer
    with np.errstate(divide="ignore", invalid="ignore"):  # one without a token scores 0
        brevity = np.minimum(0.0, 1.0 - reference / total[:, 0])
    scores: FloatArray = exp(log((matched + 1.0) / (total + 1.0)).mean(axis=1) + brevity)
    return scores


def most_different(
    scores: FloatArray, offsets: IntArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return the better and the worse hypotheses of the random pairs that differ most."""
    pairs_of_segments: list[IntArray] = []
    for begin, end in pairwise(offsets):
        pairs = rng.integers(begin, end, size=(2, SAMPLES))
        size = np.abs(scores[pairs[0]] - scores[pairs[1]])
        order = np.argsort(-size, kind="stable")[:PAIRS]
        pairs_of_segments.append(pairs[:, order[size[order] >= LEAST]])
    first, second = np.concatenate(pairs_of_segments, axis=1)
    rises = scores[first] > scores[second]
    return np.where(rises, first, second), np.where(rises, second, first)


def on_background(
    lists: DatLists,
    stats: FloatArray,
    metric: Metric,
    settings: dict[str, str],
    rng: np.random.Generator,
) -> tuple[IntArray, IntArray]:
    """Return the better and the worse hypotheses of the round of `pro` that learns most."""
    pro = cast("Pro", registry.optimizer("pro", settings))
    problem = TuningProblem(lists.features.T, lists.offsets, StatTable(stats), metric)
    # The first background: the decoder's own output of the first list, as there are no weights.
    total = stats[lists.offsets[:-1]].sum(axis=0) * (pro.background / len(lists))
    linear = Linear(problem, np.ones(problem.width), Bounds.none(problem.width))
    rounds = [
        (problem.objective(weights), better, worse)
        for weights, better, worse in pro.rounds_on(linear, total, rng)
    ]
    nothing: IntArray = np.empty(0, dtype=np.int64)
    _, better, worse = max(
        rounds, key=lambda scored_round: scored_round[0], default=(0.0, nothing, nothing)
    )
    return better, worse


def differences(lists: DatLists, better: IntArray, worse: IntArray) -> Iterator[str]:
    """Yield two lines for each pair: `1 F0 0.5 name -1`, and the same the other way round."""
    for first, second in zip(better.tolist(), worse.tolist(), strict=True):
        dense = lists.features[first] - lists.features[second]
        difference = {f"F{k}": float(dense[k]) for k in np.flatnonzero(np.abs(dense) > SMALLEST)}
        if lists.sparse is not None:
            sparse = lists.sparse
            for row, sign in ((first, 1.0), (second, -1.0)):
                for entry in range(int(sparse.offsets[row]), int(sparse.offsets[row + 1])):
                    name = sparse.names[sparse.columns[entry]]
                    difference[name] = difference.get(name, 0.0) + sign * float(
                        sparse.values[entry]
                    )
        for label, sign in (("1", 1.0), ("0", -1.0)):
            parts = (
                f" {n} {number(sign * v)}" for n, v in difference.items() if abs(v) > SMALLEST
            )
            yield f"{label}{''.join(parts)}\n"
