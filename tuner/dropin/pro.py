"""Write pairs of hypotheses for a classifier to learn from, as Moses' `pro` does."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import numpy as np

from portmert.metrics._base import IntArray
from portmert.tuner.components import registry
from portmert.tuner.dropin._program import Flag, Given, number, program, say
from portmert.tuner.dropin._scorer import scored_lists
from portmert.tuner.ground import streams
from portmert.tuner.ground.errors import counted
from portmert.tuner.ground.files import writing
from portmert.tuner.nbest.moses_dat import DatLists
from portmert.tuner.search.constraints import Bounds
from portmert.tuner.search.optimizers._linear import Linear
from portmert.tuner.search.optimizers.pro import Pro
from portmert.tuner.search.problem import StatTable, TuningProblem
from portmert.tuner.search.stat_tables import moses_stats

SMALLEST = 1e-5
"""Differences of features below this are not written, as in Moses."""

OPTIONS = (
    Flag("scfile", "S", help="scorer data file, repeatable"),
    Flag("ffile", "F", help="feature data file, repeatable"),
    Flag("random-seed", "r", help="the random seed (default 0: every run is the same)"),
    Flag("output-file", "o", help="where the pairs go (default: stdout)"),
    Flag("smooth-brevity-penalty", "b", takes_value=False,
           help="not needed: length counts as in the corpus score"),
    Flag("sctype", help="the scorer type (default: that of the score files)"),
    Flag("scconfig", "c", help="configuration of the scorer"),
    Flag("set", help="KEY=VALUE, an option of the optimizer pro, as samples=1000"),
    Flag("help", "h", takes_value=False, help="print this message and exit"),
)  # fmt: skip


@program("pro", OPTIONS)
def main(given: Given) -> int:
    """Run the program; return its exit status."""
    lists, scorer = scored_lists(given)
    stats = moses_stats(replace(lists, score_name=scorer.metric.name()), scorer.metric)
    pro = cast("Pro", registry.optimizer("pro", given.settings()))
    problem = TuningProblem(lists.features.T, lists.offsets, StatTable(stats), scorer.metric)
    # The first background: the decoder's own output of the first list, as there are no weights.
    total = stats[lists.offsets[:-1]].sum(axis=0) * (pro.background / len(lists))
    linear = Linear(problem, np.ones(problem.width), Bounds.none(problem.width))
    rng = streams.whole(given.integer("random-seed", 0))
    rounds = [
        (problem.goal(weights), better, worse)
        for weights, better, worse in pro.rounds_on(linear, total, rng)
    ]
    nothing: IntArray = np.empty(0, dtype=np.int64)
    _, better, worse = max(rounds, key=lambda one: one[0], default=(0.0, nothing, nothing))
    with writing(given.last("output-file", "-")) as out:
        for line in differences(lists, better, worse):
            out.write(line.encode())
    say(f"{counted(len(better), 'pair')} of {counted(len(lists.features), 'hypothesis')}")
    return 0


def differences(lists: DatLists, better: IntArray, worse: IntArray) -> Iterator[str]:
    """Yield two lines for each pair: `1 F0 0.5 name -1`, and the same the other way round."""
    for first, second in zip(better.tolist(), worse.tolist(), strict=True):
        dense = lists.features[first] - lists.features[second]
        found = {f"F{k}": float(dense[k]) for k in np.flatnonzero(np.abs(dense) > SMALLEST)}
        if lists.sparse is not None:
            sparse = lists.sparse
            for row, sign in ((first, 1.0), (second, -1.0)):
                for entry in range(int(sparse.offsets[row]), int(sparse.offsets[row + 1])):
                    name = sparse.names[sparse.columns[entry]]
                    found[name] = found.get(name, 0.0) + sign * float(sparse.values[entry])
        for label, sign in (("1", 1.0), ("0", -1.0)):
            parts = (f" {n} {number(sign * v)}" for n, v in found.items() if abs(v) > SMALLEST)
            yield f"{label}{''.join(parts)}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
