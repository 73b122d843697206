"""Finds weights on half of the segments, once for each choice, split and seed.

A cell is one search. Its weights and warnings are kept in a file that is named after all that they
depend on: a later call, after a kill or with more choices, splits or seeds, reads them from there.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

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
from portmert.tuner.weights.feature_weights import FeatureWeights

FIRST, START = "first", "start weights"
"""Names of rows without a search."""


@dataclass(frozen=True)
class Choice:
    """One way to find weights: a metric and an optimizer as the user wrote them, and more.

    Parameters
    ----------
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


@dataclass(frozen=True, eq=False)
class CrossPlan:
    """The lists and metrics of a cross-validation, and how segments are split.

    Parameters
    ----------
    metrics, stats
        Name, as the user wrote it -> metric, and the statistics of all hypotheses.
    splits, seeds
        Each split halves the segments at random. There is a search for each split and seed.
    size
        How many segments of the half to learn from; None: all.
    """

    nbest: NBest
    metrics: Mapping[str, Metric]
    stats: Mapping[str, StatTable]
    start: FeatureWeights | None = None
    constraints: Constraints = field(default_factory=Constraints)
    splits: int = 10
    seeds: int = 1
    size: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        half = len(self.nbest) // 2
        if half == 0:
            raise InputError("cross-validation halves the segments; the lists have only one")
        if self.size is not None and self.size > half:
            raise InputError(
                f"{counted(self.size, 'segment')} to learn from, but half of the "
                f"{len(self.nbest)} segments are {half}; the others are judged"
            )

    def parts(self, split: int) -> tuple[IntArray, IntArray]:
        """Return the segments learnt from and those judged, both rising; splits count from 0."""
        order = streams.split(self.seed, split + 1).permutation(len(self.nbest))
        half = len(order) // 2
        return np.sort(order[: self.size or half]), np.sort(order[half:])

    def scores(self, label: str, best: IntArray, split: int) -> tuple[float, float]:
        """Return the score of (S,) hypotheses on both parts of a split."""
        seen, unseen = (
            self.stats[label].score(self.metrics[label], best[part]) for part in self.parts(split)
        )
        return seen, unseen


class Cell(NamedTuple):
    """The result of one search."""

    weights: FeatureWeights
    warnings: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Row:
    """Scores of one choice, or of what needs no search: `choice` is then None.

    Parameters
    ----------
    scores
        Metric -> (2, splits, seeds) scores on the segments learnt from, and on the others.
    """

    name: str
    choice: Choice | None
    scores: dict[str, FloatArray]


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


def measure(
    plan: CrossPlan, choices: Sequence[Choice], *, folder: Path | None, data: str
) -> list[Row]:
    """Tune and judge; return a row for each choice, then those without a search, see `_plain`.

    Parameters
    ----------
    folder
        For the weights and warnings of each search; None: they are not kept.
    data
        Hash of the lists and of what they are scored with.
    """
    lists = [leave_out(plan.nbest, choice.without) for choice in choices]
    workers, shared_plan = team(), plan
    if workers.is_remote:
        for stats in plan.stats.values():
            stats.complete()
        shared_plan = replace(plan, nbest=without_texts(plan.nbest))
    if folder is not None:
        files.make_folder(folder / "cells")
        files.clear_parts(folder / "cells")
    shared = workers.shared(shared_plan)
    cells = list(product(range(len(choices)), range(plan.splits), range(plan.seeds)))
    paths, tasks = [], []
    for place, *numbers in cells:
        choice = choices[place]
        inputs = {
            "data": data,
            "choice": [choice.tuned_on, sorted(choice.without), choice.prior],
            "optimizer": repr(choice.optimizer),
            "cell": [*numbers, plan.size, plan.seed],
            "start": repr(plan.start),
            "constraints": repr(plan.constraints),
            "portmert": portmert.__version__,
        }
        key = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:24]
        paths.append(None if folder is None else folder / "cells" / f"{key}.json")
        tasks.append((shared, choice, *numbers, _read(paths[-1])))
    scores = {
        label: np.empty((len(choices), 2, plan.splits, plan.seeds)) for label in plan.metrics
    }
    notices: set[str] = set()
    warnings: dict[int, Sequence[str]] = {}
    for number, (cell, lines) in workers.run(_search, tasks, phase="tuning"):
        place, split, repeat = cells[number]
        path = paths[number]
        if path is not None and tasks[number][-1] is None:
            _write(path, cell)
        best = best_hypotheses(lists[place], cell.weights)
        for label, table in scores.items():
            table[place, :, split, repeat] = plan.scores(label, best, split)
        if split == repeat == 0 and not choices[place].without:
            notices.update(lines)
            warnings[number] = cell.warnings
    for line in sorted(notices):
        notice(f"first split: {line}")
    warn_of(f"first split: {line}" for number in sorted(warnings) for line in warnings[number])
    rows = [
        Row(name, choice, {label: table[place] for label, table in scores.items()})
        for place, (name, choice) in enumerate(zip(_names(choices), choices, strict=True))
    ]
    return [*rows, *_plain(plan, choices[0].tuned_on)]


def _search(
    plan: CrossPlan, choice: Choice, split: int, repeat: int, earlier: Cell | None
) -> tuple[Cell, Sequence[str]]:
    """Return a cell and the notices of its search; one that was kept is not searched again."""
    if earlier is not None:
        return earlier, ()
    setup = weight_search.Setup(
        choice.optimizer,
        starts=() if plan.start is None else (plan.start,),
        seed=streams.split_search(plan.seed, split + 1, repeat + 1),
        prior=choice.prior,
        constraints=plan.constraints,
    )
    with collected_notices() as lines:
        optimized = weight_search.find_weights(
            leave_out(plan.nbest, choice.without), plan.stats[choice.tuned_on],
            plan.metrics[choice.tuned_on], setup, segments=plan.parts(split)[0],
        )  # fmt: skip
    return Cell(optimized.weights, tuple(optimized.warnings)), lines


def _plain(plan: CrossPlan, metric: str) -> list[Row]:
    """Judge what needs no search: first hypotheses, each dense feature alone, start weights.

    A feature alone chooses its highest or its lowest value, whichever scores better by the metric
    on the segments learnt from; of equal ones the highest.
    """
    names, offsets = plan.nbest.feature_names, plan.nbest.offsets
    by_name = {FIRST: [offsets[:-1]]}
    labels = [f"{name}_{k}" if size > 1 else name for name, size in names for k in range(size)]
    for label, column in zip(labels, plan.nbest.features.T, strict=True):
        by_name[f"only {label}"] = [highest(values, offsets) for values in (column, -column)]
    by_name[START] = [
        best_hypotheses(plan.nbest, plan.start or weight_search.equal_weights(names))
    ]
    rows, oriented = [], plan.metrics[metric].oriented
    for name, ways in by_name.items():
        scores = {label: np.empty((2, plan.splits, plan.seeds)) for label in plan.metrics}
        for split in range(plan.splits):
            seen = [oriented(plan.scores(metric, best, split)[0]) for best in ways]
            best = ways[max(range(len(ways)), key=seen.__getitem__)]
            for label, table in scores.items():
                table[:, split] = np.array(plan.scores(label, best, split))[:, np.newaxis]
        rows.append(Row(name, None, scores))
    return rows


def _names(choices: Sequence[Choice]) -> list[str]:
    """Name each choice: by the optimizer, and by all else that differs between them."""
    priors, metrics = (len({getattr(x, key) for x in choices}) for key in ("prior", "tuned_on"))
    return [
        choice.by
        + (f" on {choice.tuned_on}" if metrics > 1 else "")
        + (f", prior {choice.prior:g}" if priors > 1 else "")
        + (f", without {', '.join(choice.without)}" if choice.without else "")
        for choice in choices
    ]


def _write(path: Path, cell: Cell) -> None:
    warned = {"warnings": list(cell.warnings)} if cell.warnings else {}
    content: dict[str, Any] = {"weights": dict(cell.weights.values), **warned}
    digest = files.text_digest(to_json(content))
    files.write_text(path, to_json(content | {"digest": digest}) + "\n")


def _read(path: Path | None) -> Cell | None:
    if path is None or not path.is_file():
        return None
    try:
        content = dict(parse_json(files.read_bytes(path)))
        if content.pop("digest") == files.text_digest(to_json(content)):
            weights = {name: tuple(numbers) for name, numbers in content["weights"].items()}
            return Cell(FeatureWeights(weights), tuple(content.get("warnings", ())))
    except (ValueError, TypeError, KeyError):
        pass  # no JSON, no object, not all of it
    raise StateError(f"{path}: not what portmert writes; delete it, it is then made again")
