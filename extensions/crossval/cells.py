"""Finds weights on part of the segments, once for each choice, split and seed.

A choice is one way to find weights. A cell is one search. Its result is kept in a file that is
named after all that it depends on: a later call, after a kill or with more choices, splits or
seeds, reads it from there.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import portmert
from portmert.metrics._base import FloatArray, IntArray, Metric
from portmert.tuner.base import files, streams
from portmert.tuner.base.errors import ConfigError, InputError, StateError, counted, suggest
from portmert.tuner.base.json_toml import parse_json, to_json
from portmert.tuner.base.threads import team
from portmert.tuner.base.warn import collected_notices, notice, warn_of
from portmert.tuner.nbest.model import NBest, best_hypotheses, highest, without_texts
from portmert.tuner.search import weight_search
from portmert.tuner.search.constraints import Constraints, columns_of
from portmert.tuner.search.optimizers._base import Optimizer
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights


@dataclass(frozen=True)
class Choice:
    """One way to find weights.

    Parameters
    ----------
    tuned_on
        The metric, as the user wrote it.
    by
        The optimizer, as the user wrote it.
    without
        Features left out.
    prior
        Strength of the pull towards the start weights; 0 for none.
    """

    tuned_on: str
    by: str
    optimizer: Optimizer = field(repr=False)
    without: tuple[str, ...] = ()
    prior: float = 0.0


def choices_of(
    metrics: Sequence[str],
    optimizers: Mapping[str, Optimizer],
    without: Sequence[tuple[str, ...]],
    priors: Sequence[float],
) -> list[Choice]:
    """Combine every metric with every optimizer, prior and set of features to leave out.

    The first choice leaves no feature out.
    """
    return [
        Choice(metric, by, optimizer, left_out, prior)
        for metric, left_out, prior, (by, optimizer) in product(
            metrics, ((), *without), priors, optimizers.items()
        )
    ]


def leave_out(nbest: NBest, names: Sequence[str]) -> NBest:
    """Return the lists with some features set to 0 in all hypotheses.

    Parameters
    ----------
    names
        Names of features, of one value of a feature (`TM0_1`), or of sparse features.

    Raises
    ------
    ConfigError
        The lists have no such feature.
    """
    if not names:
        return nbest
    features, sparse = nbest.features.copy(order="F"), nbest.sparse
    sparse_names = () if sparse is None else sparse.names
    for name in names:
        if name in sparse_names:
            continue
        try:
            features[:, columns_of(name, nbest.feature_names)] = 0.0
        except ConfigError:
            every = (*(dense for dense, _ in nbest.feature_names), *sparse_names)
            raise ConfigError(
                f"--without {name}: the lists have no such feature{suggest(name, every)}"
            ) from None
    if sparse is not None:
        is_kept = np.array([name not in names for name in sparse.names])
        sparse = replace(sparse, values=sparse.values * is_kept[sparse.columns])
    return replace(nbest, features=features, sparse=sparse)


@dataclass(frozen=True, eq=False)
class Judge:
    """A metric, and the statistics of all hypotheses.

    Parameters
    ----------
    signature
        The metric and all else that scores depend on.
    digest
        Hash of the data that the statistics are computed from.
    """

    metric: Metric
    stats: StatTable
    signature: str
    digest: str


@dataclass(frozen=True, eq=False)
class CrossPlan:
    """The lists and metrics of a cross-validation, and how segments are split.

    Parameters
    ----------
    nbest : NBest
        Its texts are not read.
    judges : dict
        The metrics, keyed as the user wrote them.
    splits, seeds : int
        Each split halves the segments at random: weights are learnt from one half and judged on
        the other. There is one search for each split and seed.
    size : int or None
        How many segments of the half to learn from; None: all.
    timing : bool
        Whether to measure times, the only values that differ from call to call.
    """

    nbest: NBest
    judges: Mapping[str, Judge]
    start: FeatureWeights | None = None
    constraints: Constraints = field(default_factory=Constraints)
    splits: int = 10
    seeds: int = 1
    size: int | None = None
    seed: int = 1
    timing: bool = True

    def __post_init__(self) -> None:
        half = len(self.nbest) // 2
        if half == 0:
            raise InputError("cross-validation halves the segments; the lists have only one")
        if self.size is not None and self.size > half:
            raise InputError(
                f"{counted(self.size, 'segment')} to learn from, but half of the "
                f"{len(self.nbest)} segments are {half}; the others are judged"
            )

    @property
    def untuned(self) -> FeatureWeights:
        """The weights that searches begin at."""
        return self.start or weight_search.equal_weights(self.nbest.feature_names)

    def parts(self, split: int) -> tuple[IntArray, IntArray]:
        """Return the segments learnt from and those judged, both rising; splits count from 0."""
        order = streams.split(self.seed, split + 1).permutation(len(self.nbest))
        half = len(order) // 2
        return np.sort(order[: self.size or half]), np.sort(order[half:])


@dataclass(frozen=True)
class Cell:
    """Result of one search.

    Parameters
    ----------
    estimate
        The search's own estimate for unseen text; None if it makes none.
    cpu_seconds
        CPU time of the search; None if it was not measured.
    warnings
        What looked wrong in the search.
    """

    weights: FeatureWeights
    estimate: float | None = None
    cpu_seconds: float | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class MeasuredChoice:
    """Scores of one choice: (splits, seeds) arrays on the metrics' own scales.

    Parameters
    ----------
    choice : Choice or None
        None: nothing was searched.
    name : str
        The name of the row if nothing was searched.
    seen, unseen : dict
        Metric -> scores on the segments learnt from, and on the others.
    estimate, cpu_seconds : (splits, seeds) float64
        NaN if unknown.
    """

    choice: Choice | None
    seen: dict[str, FloatArray]
    unseen: dict[str, FloatArray]
    estimate: FloatArray
    cpu_seconds: FloatArray
    name: str = ""


def measure(
    plan: CrossPlan, choices: list[Choice], *, folder: Path | None
) -> list[MeasuredChoice]:
    """Tune and judge. Return a record for each choice, then those without a search, see `_plain`.

    Parameters
    ----------
    folder
        For the result of each search; None: they are not stored.
    """
    for names in {choice.without for choice in choices}:
        leave_out(plan.nbest, names)  # an unknown name is found before the work
    workers = team()
    if workers.is_remote:
        for judged in plan.judges.values():
            judged.stats.complete()
        plan = replace(plan, nbest=without_texts(plan.nbest))
    cells = folder and folder / "cells"
    if cells is not None:
        files.make_folder(cells)
        files.clear_parts(cells)
    shape = (len(choices), plan.splits, plan.seeds)
    sparse, of_sparse = plan.nbest.sparse, list[Any]()
    if sparse is not None:
        of_sparse = [sparse.offsets, sparse.columns, sparse.values, "\n".join(sparse.names)]
    lists = digest(plan.nbest.features, plan.nbest.offsets, *of_sparse)
    shared = workers.shared(plan)
    keys, paths, tasks = [], [], []
    for place, split, repeat in np.ndindex(shape):
        key = _key(plan, choices[place], lists, split, repeat)
        path = cells and cells / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
        keys.append(key)
        paths.append(path)
        stored_cell = None if path is None else _read(path)
        tasks.append((shared, choices[place], split, repeat, stored_cell))
    results: dict[int, tuple[Cell, Scores, tuple[str, ...]]] = {}
    for number, result in workers.run(_search_cell, tasks, phase="tuning"):
        results[number], path = result, paths[number]
        if path is not None and tasks[number][4] is None:
            _write(path, keys[number], result[0])
    for line in sorted({line for *_, lines in results.values() for line in lines}):
        notice(f"first split: {line}")
    warn_of(
        f"first split: {line}"
        for number, (_, choice, split, repeat, *_) in enumerate(tasks)
        for line in results[number][0].warnings
        if split == repeat == 0 and not choice.without
    )
    rows = np.arange(math.prod(shape)).reshape(len(choices), -1).tolist()
    measured = [
        _measured(plan, choice, [results[number][:2] for number in row])
        for choice, row in zip(choices, rows, strict=True)
    ]
    return [*measured, *_plain(plan, choices[0].tuned_on)]


FIRST, START = "first", "start weights"
"""Names of rows without a search."""


def _plain(plan: CrossPlan, metric: str) -> Iterator[MeasuredChoice]:
    """Judge what needs no search: first hypotheses, each dense feature alone, start weights.

    A feature alone chooses its highest or its lowest value, whichever scores better by the metric
    on the segments learnt from; of equal ones the highest.
    """
    names, offsets = plan.nbest.feature_names, plan.nbest.offsets
    start = best_hypotheses(plan.nbest, plan.untuned)
    rows_by_name = {FIRST: [offsets[:-1]]}
    labels = [f"{name}_{k}" if size > 1 else name for name, size in names for k in range(size)]
    for label, column in zip(labels, plan.nbest.features.T, strict=True):
        rows_by_name[f"only {label}"] = [highest(values, offsets) for values in (column, -column)]
    oriented = plan.judges[metric].metric.oriented
    for name, rows in (rows_by_name | {START: [start]}).items():
        row = []
        for split in range(plan.splits):
            scores = [_scores(plan, best, split) for best in rows]
            better = max(scores, key=lambda x: oriented(x[metric][0]))
            row += [(Cell(plan.untuned), better)] * plan.seeds
        yield replace(_measured(plan, None, row), name=name)


Scores = dict[str, tuple[float, float]]
"""Metric -> score on the segments learnt from, and on the others."""


def _search_cell(
    plan: CrossPlan,
    choice: Choice,
    split: int,
    repeat: int,
    cell: Cell | None,
) -> tuple[Cell, Scores, tuple[str, ...]]:
    """Search one cell, unless it is known, and judge; return the messages of the search too."""
    nbest = leave_out(plan.nbest, choice.without)
    lines: list[str] = []
    if cell is None:
        judged = plan.judges[choice.tuned_on]
        setup = weight_search.Setup(
            choice.optimizer,
            starts=() if plan.start is None else (plan.start,),
            seed=streams.split_search(plan.seed, split + 1, repeat + 1),
            prior=choice.prior,
            constraints=plan.constraints,
        )
        with collected_notices() as lines:
            optimized = weight_search.find_weights(
                nbest,
                judged.stats,
                judged.metric,
                setup,
                segments=plan.parts(split)[0],
            )
        seconds = optimized.cpu_seconds if plan.timing else None
        cell = Cell(optimized.weights, optimized.unseen_score, seconds, optimized.warnings)
    is_reported = split == repeat == 0 and not choice.without
    best = best_hypotheses(nbest, cell.weights)
    scores = _scores(plan, best, split)
    return cell, scores, tuple(lines) if is_reported else ()


def _scores(plan: CrossPlan, best: IntArray, split: int) -> Scores:
    """Return the score by each metric of (S,) hypotheses on the two parts of a split."""
    seen, unseen = (best[part] for part in plan.parts(split))

    def score(judged: Judge, rows: IntArray) -> float:
        return judged.stats.score(judged.metric, rows)

    return {
        label: (score(judged, seen), score(judged, unseen))
        for label, judged in plan.judges.items()
    }


def _measured(
    plan: CrossPlan, choice: Choice | None, row: list[tuple[Cell, Scores]]
) -> MeasuredChoice:
    shape = (plan.splits, plan.seeds)

    def array(numbers: list[float] | list[float | None]) -> FloatArray:
        return np.array(numbers, dtype=np.float64).reshape(shape)  # None becomes NaN

    return MeasuredChoice(
        choice,
        {label: array([scores[label][0] for _, scores in row]) for label in plan.judges},
        {label: array([scores[label][1] for _, scores in row]) for label in plan.judges},
        array([cell.estimate for cell, _ in row]),
        array([cell.cpu_seconds for cell, _ in row]),
    )


def _key(plan: CrossPlan, choice: Choice, lists: str, split: int, repeat: int) -> str:
    """Return all that a cell depends on."""
    judged = plan.judges[choice.tuned_on]
    return json.dumps(
        {
            "portmert": portmert.__version__,
            "lists": lists,
            "features": plan.nbest.feature_names,
            "metric": judged.signature,
            "statistics": judged.digest,
            "optimizer": repr(choice.optimizer),
            "without": sorted(choice.without),
            "prior": choice.prior,
            "constraints": repr(plan.constraints),
            "start": {} if plan.start is None else dict(plan.start.values),
            "seed": plan.seed,
            "size": plan.size,
            "split": split + 1,
            "search": repeat + 1,
        }
    )


def _read(path: Path) -> Cell | None:
    if not path.is_file():
        return None
    with suppress(ValueError, TypeError, KeyError):  # no JSON, no object, not all of it
        content = dict(parse_json(files.read_bytes(path)))
        if content.pop("digest") == files.text_digest(to_json(content)):
            numbers = content["unseen_score"], content["cpu_seconds"]
            return Cell(read_weights(path), *numbers, tuple(content.get("warnings", ())))
    raise StateError(f"{path}: not what portmert writes; delete it, it is then made again")


def _write(path: Path, key: str, cell: Cell) -> None:
    content = {
        "weights": {name: list(numbers) for name, numbers in cell.weights.values.items()},
        "unseen_score": cell.estimate,
        "cpu_seconds": cell.cpu_seconds,
        **({"warnings": cell.warnings} if cell.warnings else {}),
        "of": json.loads(key),
    }
    files.write_text(
        path, to_json({**content, "digest": files.text_digest(to_json(content))}) + "\n"
    )


def digest(*parts: NDArray[Any] | str) -> str:
    """Return a digest of arrays and texts."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            data = part.encode("utf-8", "surrogatepass")
        else:
            data = np.ascontiguousarray(part).tobytes()
        digest.update(f"{len(data)} ".encode())
        digest.update(data)
    return digest.hexdigest()
