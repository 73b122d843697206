"""Run batch MIRA over features.dat and scores.dat, as Moses' `kbmira` does."""

import numpy as np

from portmert.metrics._base import FloatArray

from ..base import errors, files
from ..base.numbers import parse_number
from ..components import registry
from ..weights.feature_weights import FeatureNames, FeatureWeights, read_weights
from ..weights.weights_file import read_sparse
from . import _program, _scorer, mert
from ._program import Flag

SMALLEST = 1e-8
"""Weights of sparse features below this are not written, as in Moses."""

OPTIONS = (
    *_scorer.OPTIONS,
    Flag("type", "t", help="nbest; hypergraph is refused"),
    Flag("hgdir", "H", help="refused: hypergraphs are not read, only n-best lists"),
    Flag("reference", "R", help="refused: it is for hypergraphs, which are not read"),
    Flag("output-file", "o", help="where the weights go (default: stdout)"),
    Flag("cparam", "C", help="the largest step (default 0.01)"),
    Flag("decay", "D", help="what is left of the background after a segment (default 0.999)"),
    Flag("iters", "J", help="passes over the lists"),
    Flag("dense-init", "d", help="start weights: `name= value` lines, or init.opt"),
    Flag("sparse-init", "s", help="start weights of sparse features"),
    Flag("streaming", takes_value=False, help="ignored: lists are in memory, compactly"),
    Flag("streaming-out", takes_value=False, help="refused: weights are written at the end"),
    Flag("no-shuffle", takes_value=False, help="ignored: the order follows from the seed"),
    Flag("model-bg", takes_value=False,
         help="refused: not supported, the background is made of hope hypotheses"),
    Flag("verbose", takes_value=False, help="ignored: there is no more to say"),
    Flag("safe-hope", takes_value=False, help="ignored: both scores are in one unit"),
    Flag("hg-prune", help="refused: it is for hypergraphs, which are not read"),
    Flag("set", help="KEY=VALUE, an option of the optimizer kbmira"),
)  # fmt: skip

NAMES = {"cparam": "c", "decay": "decay", "iters": "epochs"}


@_program.program("kbmira", OPTIONS)
def main(values: _program.OptionValues) -> int:
    """Run the program; return its exit status."""
    if values.last("type", "nbest") != "nbest":
        raise _program.UsageError("--type hypergraph: hypergraphs are not read, only n-best lists")
    lists, scorer = _scorer.scored_lists(values)
    options = {ours: values.last(name) for name, ours in NAMES.items() if name in values}
    start = dense_start(values.last("dense-init"), lists.feature_names)
    sparse = read_sparse(values.last("sparse-init")) if "sparse-init" in values else {}
    weights, score = mert.find_weights_as_mert(
        lists,
        scorer.metric,
        registry.optimizer("kbmira", options | values.settings()),
        mert.Starts((start,), np.zeros(len(start)), np.ones(len(start))),
        sparse=FeatureWeights(sparse),
        seed=values.integer("random-seed", 0),
    )
    # mert-moses.pl looks for these words, whatever the metric.
    printed = f"Best BLEU = {_program.printed_score(scorer.metric, score):.6f}"
    with files.writing(values.last("output-file", "-")) as out:
        out.write(weights_text(weights, lists.feature_names).encode())
    _program.say(f"{printed} (the metric is {scorer.name})")
    return 0


def dense_start(path: str, names: FeatureNames) -> FloatArray:
    """Return the (F,) start weights: of a runN.dense, or of the first line of an init.opt.

    Raises
    ------
    InputError
        The file has other features or too few numbers.
    """
    width = sum(size for _, size in names)
    if not path:
        return np.full(width, 1.0 / width)
    lines = files.read_lines(path)
    numbers = [parse_number(token) for token in (lines[0].split() if lines else [])]
    if not numbers or any(value is None for value in numbers):
        return read_weights(path).vector(names, origin=path)
    weights = np.array(numbers, dtype=np.float64)
    if len(weights) != width or not np.isfinite(weights).all():
        raise errors.InputError(
            f"{path}:1: {errors.counted(len(weights), 'weight')}, the feature files have "
            f"{errors.counted(width, 'feature')}"
        )
    return weights


def weights_text(weights: FeatureWeights, names: FeatureNames) -> str:
    """Return weights as mert-moses.pl reads them: `F0 0.1`, and sparse ones by name."""
    vector = weights.vector(names)
    lines = [f"F{k} {_program.number(value)}\n" for k, value in enumerate(vector)]
    dense = {name for name, _ in names}
    lines += [
        f"{name} {_program.number(values[0])}\n"
        for name, values in weights.values.items()
        if name not in dense and abs(values[0]) > SMALLEST
    ]
    return "".join(lines)
