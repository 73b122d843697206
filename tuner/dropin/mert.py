"""Searches features.dat and scores.dat for `Best point: ... => ...`, as Moses' `mert` does."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from portmert.metrics._base import FloatArray
from portmert.tuner.dropin._program import (
    FAILURE,
    SUCCESS,
    Option,
    UsageError,
    comma_list,
    integer,
    last,
    number,
    printed_score,
    run,
    say,
    settings,
)
from portmert.tuner.dropin._scorer import scorer_of
from portmert.tuner.dropin._search import Starts, column_names, optimizer_of_type, search
from portmert.tuner.ground.errors import InputError, PortmertError, counted
from portmert.tuner.ground.files import read_lines, write_text
from portmert.tuner.ground.numbers import parse_number
from portmert.tuner.nbest.moses_dat import DatLists, read_dat
from portmert.tuner.search.optimizers._base import Optimizer
from portmert.tuner.search.optimizers.mert import Mert
from portmert.tuner.weights.feature_weights import FeatureNames
from portmert.tuner.weights.weights_file import read_sparse

NO_STARTS = 3
"""Exit status where starting points are at fault, as Moses' mert has it."""

WEIGHTS = "weights.txt"

MOST_RESTARTS = 16
SHARED_BY_RESTARTS = 20_000
"""Hypotheses that all restarts together may search; larger lists get the usual restarts."""

OPTIONS = (
    Option("pdim", "d", help="number of weights (mandatory)"),
    Option("ntry", "n", help="ignored: the search restarts by itself"),
    Option("nrandom", "m", help="ignored: the search chooses its directions by itself"),
    Option("rseed", "r", help="the random seed (default 0: every run is the same)"),
    Option("optimize", "o", help="comma separated features to optimize, as LM0_0 (default all)"),
    Option("type", "t", help="powell (default: our search), random-direction, or an optimizer of "
           "portmert"),
    Option("sctype", "s", help="the scorer type (default: that of the score files)"),
    Option("scconfig", "c", help="configuration of the scorer"),
    Option("scfile", "S", help="comma separated list of scorer data files"),
    Option("ffile", "F", help="comma separated list of feature data files"),
    Option("ifile", "i", help="comma separated starting point files (default init.opt)"),
    Option("sparse-weights", "p", help="weights that sparse features are merged with into one"),
    Option("positive", "P", help="comma separated features whose weights must not be negative"),
    Option("threads", "T", help="restarts that run at once"),
    Option("shard-count", help="refused"),
    Option("shard-size", help="refused"),
    Option("set", help="KEY=VALUE, an option of our search, as searches_per_feature=1600"),
    Option("verbose", "v", help="ignored"),
    Option("help", "h", takes_value=False, help="print this message and exit"),
)  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Run the program; return its exit status."""
    return run("mert", OPTIONS, _work, arguments)


def _work(given: dict[str, list[str]]) -> int:
    width = integer(given, "pdim", -1)
    if width < 0:
        raise UsageError("-d is missing: the number of weights")
    if float(last(given, "shard-count", "0")):
        raise UsageError(
            "--shard-count: averages of shards are not made here; portmert tune has replicas"
        )
    merged = last(given, "sparse-weights", "")
    files = comma_list(last(given, "ifile", "init.opt"))
    try:
        starts = read_starts(files, width + bool(merged))
    except PortmertError as error:
        say(f"mert: error: {error}")
        return NO_STARTS
    lists = read_dat(
        comma_list(last(given, "ffile", "features.data")),
        comma_list(last(given, "scfile", "statscore.data")),
    )
    if merged:
        lists = merge_sparse(lists, Path(merged))
    found = sum(size for _, size in lists.feature_names)
    if found != width + bool(merged):
        raise InputError(
            f"-d {width}, but the feature files have {counted(found, 'feature')}: "
            f"{' '.join(column_names(lists.feature_names))}"
        )
    if (starts.lowest > starts.highest).any():
        say(f"mert: error: {files[0]}: a lowest weight is above the highest one")
        return NO_STARTS
    scorer = scorer_of(lists, given)
    ignored(given)
    weights, score = search(
        lists,
        scorer.metric,
        _optimizer(given, len(lists.features)),
        starts,
        active=last(given, "optimize", "").replace(",", " ").split(),
        positive=comma_list(last(given, "positive", "")),
        seed=integer(given, "rseed", 0),
        threads=max(1, integer(given, "threads", 1)),
        notice=say,
    )
    point = weights.vector(lists.feature_names)
    if not math.isfinite(score):
        say(f"mert: error: {scorer.metric.name()} is {score} under the weights found")
        return FAILURE
    say(best_point(point, printed_score(scorer.metric, score)))
    write_text(WEIGHTS, "".join(f"{number(value)} " for value in point) + "\n")
    return SUCCESS


def _optimizer(given: dict[str, list[str]], hypotheses: int) -> Optimizer:
    """Return the optimizer asked for; on small lists with more restarts, which cost little there.

    With 16 restarts each of twelve seeds found the best known weights of Moses' test `mert.basic`,
    which has 1000 hypotheses; with two restarts seven did.
    """
    options = settings(given)
    found = optimizer_of_type(last(given, "type", "powell"), options)
    restarts = min(MOST_RESTARTS, SHARED_BY_RESTARTS // max(hypotheses, 1))
    if "restarts" in options or not isinstance(found, Mert) or restarts <= found.restarts:
        return found
    return replace(found, restarts=restarts)


def best_point(point: FloatArray, score: float) -> str:
    """Return the line that mert-moses.pl looks for."""
    return f"Best point: {''.join(f'{number(value)} ' for value in point)} => {score:.6f}"


def ignored(given: dict[str, list[str]]) -> None:
    """Say which options change nothing."""
    for name, reason in (
        ("ntry", "our search restarts by itself (--set restarts=N for more)"),
        ("nrandom", "our search draws random directions by itself"),
    ):
        if name in given:
            say(f"mert: note: --{name} {last(given, name, '')} is not used: {reason}")


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
        wanted = 3 * width if not points else width
        if len(tokens) < wanted:
            what = "weights, lowest and highest ones" if not points else "weights"
            raise InputError(
                f"{path}: {counted(len(tokens), 'number')}, expected {wanted}: {what}"
            )
        values = np.array([_finite(token, path) for token in tokens[:wanted]])
        if not points:
            ranges = values[width:].reshape(2, width)
        points.append(values[:width])
    if not points:
        raise InputError("no starting point given: --ifile")
    return Starts(tuple(points), ranges[0], ranges[1])


def _finite(token: str, path: str | Path) -> float:
    value = parse_number(token)
    if value is None or not math.isfinite(value):
        raise InputError(f"{path}: '{token}' is not a number")
    return value


def merge_sparse(lists: DatLists, path: Path) -> DatLists:
    """Return the lists with one feature more: weights times sparse features.

    Raises
    ------
    InputError
        The weights cannot be read.
    """
    column: FloatArray = np.zeros(len(lists.features))
    if lists.sparse is not None:
        given = read_sparse(path)
        by_name = np.array([given.get(name, (0.0,))[0] for name in lists.sparse.names])
        rows = np.repeat(np.arange(len(column)), np.diff(lists.sparse.offsets))
        products = by_name[lists.sparse.columns] * lists.sparse.values
        column += np.bincount(rows, products, minlength=len(column))
    names: FeatureNames = (*lists.feature_names, ("SparseMerged", 1))
    features = np.asfortranarray(np.column_stack([lists.features, column]))
    return replace(lists, features=features, feature_names=names, sparse=None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
