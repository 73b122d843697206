"""Search features.dat and scores.dat for the best weights, as Moses' `mert` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from portmert.metrics._base import FloatArray, Metric

from ..base import errors, numbers, streams
from ..base.context import using
from ..base.files import read_lines, write_text
from ..base.warn import warn_of
from ..components import registry
from ..nbest import model, moses_dat
from ..search import constraints, weight_search
from ..search.list_statistics import moses_stats
from ..search.optimizers._base import Optimizer
from ..search.optimizers.mert import Mert
from ..search.problem import TuningProblem
from ..search.stat_table import StatTable
from ..weights.feature_weights import FeatureNames, FeatureWeights
from ..weights.weights_file import read_sparse
from ._program import Flag, OptionValues, UsageError, number, printed_score, program, say
from ._scorer import scorer_of

NO_STARTS = 3
"""Exit status where starting points are at fault, as Moses' mert has it."""

OPTIONS = (
    Flag("pdim", "d", help="number of weights (mandatory)"),
    Flag("ntry", "n", help="ignored: the search restarts by itself"),
    Flag("nrandom", "m", help="ignored: the search chooses its directions by itself"),
    Flag("rseed", "r", help="the random seed (default 0: every run is the same)"),
    Flag("optimize", "o", help="comma separated features to optimize, as LM0_0 (default all)"),
    Flag("type", "t", help="powell (default: our search), random-direction, or an optimizer of "
         "portmert"),
    Flag("sctype", "s", help="the scorer type (default: that of the score files)"),
    Flag("scconfig", "c", help="configuration of the scorer"),
    Flag("scfile", "S", help="comma separated list of scorer data files"),
    Flag("ffile", "F", help="comma separated list of feature data files"),
    Flag("ifile", "i", help="comma separated starting point files (default init.opt)"),
    Flag("sparse-weights", "p", help="weights that sparse features are merged with into one"),
    Flag("positive", "P", help="comma separated features whose weights must not be negative"),
    Flag("threads", "T", help="restarts that run at once"),
    *(Flag(name, help="refused: averages of shards are not made here; portmert tune has replicas")
      for name in ("shard-count", "shard-size")),
    Flag("set", help="KEY=VALUE, an option of our search, as searches_per_feature=1600"),
    Flag("verbose", "v", help="ignored: there is no more to say"),
)  # fmt: skip


@program("mert", OPTIONS)
def main(values: OptionValues) -> int:
    """Run the program; return its exit status."""
    width = values.integer("pdim", -1)
    if width < 0:
        raise UsageError("-d is missing: the number of weights")
    merged = values.last("sparse-weights")
    files = values.items_of("ifile", "init.opt")
    try:
        starts = read_starts(files, width + bool(merged))
    except errors.PortmertError as error:
        say(f"mert: error: {error}")
        return NO_STARTS
    lists = moses_dat.read_dat(
        values.items_of("ffile", "features.data"), values.items_of("scfile", "statscore.data")
    )
    if merged:
        lists = merge_sparse(lists, Path(merged))
    features = sum(size for _, size in lists.feature_names)
    if features != width + bool(merged):
        raise errors.InputError(
            f"-d {width}, but the feature files have {errors.counted(features, 'feature')}: "
            f"{' '.join(column_names(lists.feature_names))}"
        )
    if (starts.lowest > starts.highest).any():
        say(f"mert: error: {files[0]}: a lowest weight is above the highest one")
        return NO_STARTS
    scorer = scorer_of(lists, values)
    for name, reason in (
        ("ntry", "our search restarts by itself (--set restarts=N for more)"),
        ("nrandom", "our search draws random directions by itself"),
    ):
        if name in values:
            say(f"mert: note: --{name} {values.last(name)} is not used: {reason}")
    with using(threads=max(1, values.integer("threads", 1))):
        weights, score = find_weights_as_mert(
            lists,
            scorer.metric,
            _optimizer(values, len(lists.features)),
            starts,
            active=values.last("optimize").replace(",", " ").split(),
            positive=values.items_of("positive"),
            seed=values.integer("rseed", 0),
        )
    point = weights.vector(lists.feature_names)
    say(best_point(point, printed_score(scorer.metric, score)))
    write_text("weights.txt", "".join(f"{number(value)} " for value in point) + "\n")
    return 0


def _optimizer(values: OptionValues, hypotheses: int) -> Optimizer:
    """Return the optimizer asked for; on small lists with more restarts, which cost little there.

    With 16 restarts each of twelve seeds found the best known weights of Moses' test `mert.basic`,
    which has 1000 hypotheses; with two restarts seven did. On ten segments with 4,912 hypotheses
    one of six seeds ended below Moses' mert with four restarts, none of three with eight.
    """
    options = values.settings()
    optimizer = optimizer_of_type(values.last("type", "powell"), options)
    # All restarts together search 40,000 hypotheses; larger lists get the usual restarts.
    restarts = min(16, 40_000 // max(hypotheses, 1))
    if "restarts" in options or not isinstance(optimizer, Mert) or restarts <= optimizer.restarts:
        return optimizer
    return replace(optimizer, restarts=restarts)


def best_point(point: FloatArray, score: float) -> str:
    """Return the line that mert-moses.pl looks for."""
    return f"Best point: {''.join(f'{number(value)} ' for value in point)} => {score:.6f}"


def read_starts(paths: Sequence[str | Path], width: int) -> Starts:
    """Read init.opt files: a line of weights, in the first also lowest and highest ones.

    Raises
    ------
    InputError
        A file cannot be read, has too few numbers or others than numbers.
    """
    points: list[FloatArray] = []
    ranges = np.empty((2, width))
    for path in paths:
        tokens = " ".join(read_lines(path)).split()
        count = 3 * width if not points else width
        if len(tokens) < count:
            content = "weights, lowest and highest ones" if not points else "weights"
            raise errors.InputError(
                f"{path}: {errors.counted(len(tokens), 'number')}, expected {count}: {content}"
            )
        values = np.array([_finite(token, path) for token in tokens[:count]])
        if not points:
            ranges = values[width:].reshape(2, width)
        points.append(values[:width])
    if not points:
        raise errors.InputError("no starting point given: --ifile")
    return Starts(tuple(points), ranges[0], ranges[1])


def _finite(token: str, path: str | Path) -> float:
    value = numbers.parse_finite(token)
    if value is None:
        raise errors.InputError(f"{path}: '{token}' is not a number")
    return value


def merge_sparse(lists: moses_dat.DatLists, path: Path) -> moses_dat.DatLists:
    """Return the lists with one feature more: weights times sparse features.

    Raises
    ------
    InputError
        The weights cannot be read.
    """
    column: FloatArray = np.zeros(len(lists.features))
    if lists.sparse is not None:
        column = model.sparse_scores(lists.sparse, FeatureWeights(read_sparse(path)))
    names: FeatureNames = (*lists.feature_names, ("SparseMerged", 1))
    features = np.asfortranarray(np.column_stack([lists.features, column]))
    return replace(lists, features=features, feature_names=names, sparse=None)


# The search, which others call too.

DEFAULT_RANGE = (0.0, 1.0)


@dataclass(frozen=True)
class Starts:
    """Where a search begins.

    Parameters
    ----------
    points : tuple of (F,) float64
        The first is the weights that the last list was made with.
    lowest, highest : (F,) float64
        Range of random starting weights.
    """

    points: tuple[FloatArray, ...]
    lowest: FloatArray
    highest: FloatArray


def optimizer_of_type(kind: str, options: Mapping[str, str]) -> Optimizer:
    """Return the optimizer of a value of --type, which is Moses' name or ours.

    Raises
    ------
    ConfigError
        There is none.
    """
    try:
        ours = {"powell": "mert", "random-direction": "random-directions"}.get(kind, kind)
        return registry.optimizer(ours, options)
    except errors.ConfigError as error:
        raise errors.ConfigError(f"--type {errors.shown(kind)}: {error}") from None


def column_names(names: FeatureNames) -> list[str]:
    """Return the name of each column as mert-moses.pl counts them: `TM0_0`, `TM0_1`, `LM0_0`."""
    return [f"{name}_{k}" for name, size in names for k in range(size)]


def check_columns(searched: Sequence[str], names: FeatureNames) -> None:
    """Raise `InputError` if one of these columns is none of the features'."""
    columns = column_names(names)
    for name in searched:
        if name not in columns:
            raise errors.InputError(f"there is no feature {name}{errors.suggest(name, columns)}")


def find_weights_as_mert(
    lists: moses_dat.DatLists,
    metric: Metric,
    optimizer: Optimizer,
    starts: Starts,
    *,
    active: Sequence[str] = (),
    positive: Sequence[str] = (),
    sparse: FeatureWeights | None = None,
    seed: int = 0,
) -> tuple[FeatureWeights, float]:
    """Search for weights; return them as mert prints them, and their score on the metric's scale.

    Parameters: see `setup_as_mert`. If all columns are searched, the absolute values of the dense
    weights add to 1.
    """
    lists = replace(lists, score_name=metric.name())  # what it is called was looked at before
    setup = setup_as_mert(
        lists,
        metric,
        optimizer,
        starts,
        active=active,
        positive=positive,
        sparse=sparse,
        seed=seed,
    )
    stats = StatTable(moses_stats(lists, metric))
    optimum = weight_search.find_weights(lists, stats, metric, setup)
    warn_of(optimum.warnings)
    return sized(optimum.weights, () if active else lists.feature_names), optimum.score


def setup_as_mert(
    lists: moses_dat.DatLists,
    metric: Metric,
    optimizer: Optimizer,
    starts: Starts,
    *,
    active: Sequence[str] = (),
    positive: Sequence[str] = (),
    sparse: FeatureWeights | None = None,
    seed: int = 0,
) -> weight_search.Setup:
    """Return how to search as mert does.

    Parameters
    ----------
    active
        Columns that are searched; empty: all. The others keep the weights of the first start.
    positive
        Columns whose weights must not be negative.
    sparse
        Weights of sparse features; those that it does not name are 0.

    Raises
    ------
    InputError
        The lists have other features than is said.
    """
    names = lists.feature_names
    check_columns((*active, *positive), names)
    extra = {} if sparse is None else dict(sparse.values)
    return weight_search.Setup(
        optimizer=optimizer,
        starts=tuple(
            FeatureWeights({**FeatureWeights.from_vector(names, point).values, **extra})
            for point in _points(lists, metric, starts, optimizer.restarts, seed)
        ),
        constraints=constraints_of(names, active, positive),
        seed=seed,
    )


def constraints_of(
    names: FeatureNames, active: Sequence[str], positive: Sequence[str]
) -> constraints.Constraints:
    """Return the constraints of the options: other columns than the active ones are fixed."""
    fixed = tuple(name for name in column_names(names) if active and name not in active)
    signed = (name for name in positive if name not in fixed)
    return constraints.Constraints(fixed, bounds=dict.fromkeys(signed, constraints.SIGNS["+"]))


def sized(weights: FeatureWeights, names: FeatureNames) -> FeatureWeights:
    """Return weights of which those of the names have absolute values that add to 1."""
    size = float(np.abs(weights.vector(names)).sum()) if names else 1.0
    rows = weights.values.items()
    return FeatureWeights({name: tuple(v / (size or 1.0) for v in row) for name, row in rows})


def _points(
    lists: moses_dat.DatLists, metric: Metric, starts: Starts, restarts: int, seed: int
) -> list[FloatArray]:
    """Return where restarts begin: the first start, the best of the others, random ones."""
    first, *later_starts = starts.points
    points = [first]
    if later_starts:
        problem = TuningProblem(lists.features.T, lists.offsets, StatTable(lists.stats), metric)
        values = [problem.objective(point) for point in later_starts]
        order = np.argsort(-np.array(values), kind="stable")[: max(restarts - 1, 0)]
        points += [later_starts[k] for k in sorted(order.tolist())]
    (low, high), count = DEFAULT_RANGE, restarts - len(points)
    if count > 0 and ((starts.lowest != low) | (starts.highest != high)).any():
        rng = streams.whole(seed)
        points += list(rng.uniform(starts.lowest, starts.highest, size=(count, len(first))))
    return points
