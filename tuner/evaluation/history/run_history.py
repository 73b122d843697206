"""Reads how a run of `portmert tune` came to its weights, also while it is still running.

A history is read from the run's files. Each file appears whole when its step is finished, so a
history may be read at any moment; it ends where the run is. It is plain data:

run
    `name` of its system in a comparison; `metric`, the name of the metric tuned on, and its
    `signature`; `state`: `finished`, `running`, or `interrupted`; `features`, names in the order
    of all weights; `replicas`; `weights`; `slices` for the replica with the best dev score, named
    in `sliced` (empty if its data are gone); `displays`: label of each metric in the scores of
    passes -> the fields of its `Display`; `result`, the scores `dev` and `test` of the weights it
    ended with, and `start_test` of those it began with (None before the end; the scores of the
    test set are None without one); `notes`: what could not be read or measured, and why.
replica
    One tuning: its `name` (`replica 2`, or the run's name) and `state`; `doing`, the last line of
    the log; `passes`; `best`, the iteration whose weights are the result, or would be so far, None
    before the first score; `stopped`, why the loop ended, None if it has not.
pass
    One iteration, as in `PASS`. Steps that are still to come are None.
weight
    One feature over replicas: its weight before tuning (`start`), the result of each replica, the
    best so far of running ones (`values`), their `mean` and standard deviation (`sd`, n - 1; None
    with one value). In each vector, absolute values add to 1.
slice
    The error surface along one feature's weight; the other weights are those of the result. `ends`
    are n + 1 weights at which the score changes, rising; the first and the last end the window.
    `scores` are the n scores between two neighbouring ends. A score is constant there, so this is
    the exact function, not a sample. `weight` is the feature's weight in the result.
"""

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from portmert.metrics._base import Metric, rows_taken
from portmert.metrics._display import Display

from ...base import files, json_toml
from ...base.errors import StateError, counted
from ...base.samples import deviation
from ...nbest.model import NBest, sparse_scores
from ...nbest.read import merge, read_nbest
from ...runs.folder import FINGERPRINT_FILE, is_at_work, refuse_misplaced
from ...runs.records import (
    IterationScores,
    IterationSearch,
    read_file,
    read_json,
    refuse_changed,
)
from ...runs.result import RunResult
from ...search import averaging
from ...search.error_surface import Surface, surfaces
from ...search.problem import TuningProblem
from ...weights.feature_weights import FeatureWeights, read_weights, value_labels
from . import dev_set
from .dev_set import DevSet

PASS = (
    "number",  # counted from 1
    "weights",  # in the order of features; absolute values add to 1
    "hypotheses",  # number of distinct ones of all lists so far
    "new",  # of these, how many this list added
    "dev_score",  # of the decoder's own best output under these weights, on the metric tuned on
    "held_out_score",  # the same on segments that were not tuned on
    "unseen_score",  # an estimate of that score on unseen text
    "scores",  # label -> dev score, for every other metric that was asked for
    "start_score",  # over all lists so far, of the best hypotheses under these weights
    "optimized_score",  # of the best ones under the next iteration's weights: projected score
    "oracle_score",  # of hypotheses chosen by score alone
    "change",  # distance of the next weights from these, 0..2
)
"""Keys of a pass."""


def read_history(
    folder: Path,
    *,
    name: str,
    metrics: Mapping[str, Metric],
    tools: dev_set.ScoringTools,
    surface: bool = True,
) -> dict[str, Any]:
    """Read the folder of a run, finished or not.

    Parameters
    ----------
    name
        Name of its system.
    metrics
        Label -> metric. The dev output of each iteration is scored with these too, if the run has
        recorded its dev set. The scores are stored in the folder.
    surface
        Whether to compute slices of the error surface: that takes reading all lists.

    Raises
    ------
    StateError
        The folder is not one of a run, or its files are not what portmert writes.
    """
    fingerprint, signature = _fingerprint(folder), _signature(folder)
    notes: list[str] = []
    dev = _or_note(
        lambda: DevSet.of_run(folder, fingerprint, tools),
        "no further dev scores and no error surface", notes,
    )  # fmt: skip
    tuned_on = None
    if signature is not None:
        tuned_on = _or_note(lambda: dev_set.metric_of(signature), "no error surface", notes)
    metric_name = fingerprint.get("metric.name", "?")
    if metric_name == "formula" and signature:
        metric_name = signature.partition("|")[0]
    higher = True if tuned_on is None else tuned_on.higher_is_better
    usable = {
        label: metric
        for label, metric in metrics.items()
        if dev is not None
        and _or_note(partial(dev.check, metric), f"no dev scores of {label}", notes) is not None
    }
    at_work = is_at_work(folder)
    read = [
        _replica(part, label, at_work=at_work, higher=higher, dev=dev, metrics=usable)
        for part, label in _parts(folder, fingerprint, name)
    ]
    features = _scaled(read)
    sliced, all_slices = _slices(read, dev, tuned_on, notes) if surface else (None, [])
    replicas = [replica.history for replica in read]
    run: dict[str, Any] = json_toml.plain(
        {
            "name": name,
            "metric": metric_name,
            "optimizer": fingerprint.get("optimizer.name", ""),
            "signature": signature or "",
            **asdict(Display() if tuned_on is None else tuned_on.display),
            "state": _state(folder, at_work=at_work),
            "features": features,
            "replicas": replicas,
            "weights": _spreads(features, replicas),
            "sliced": sliced,
            "slices": all_slices,
            "displays": {label: asdict(metric.display) for label, metric in usable.items()},
            "result": _result(folder),
            "notes": notes,
        }
    )
    return run


def _result(folder: Path) -> dict[str, float | None] | None:
    """Return the scores of a finished run; of the averaged weights if it has replicas."""
    path = folder / "result.json"
    if not path.is_file():
        return None
    document = read_json(path)
    average = document.get("average") if isinstance(document, dict) else None
    final = average if isinstance(average, dict) else document
    test = final.get("test") if isinstance(final, dict) else None
    scores = {"dev": (final, "dev_score"), "test": (test, "score")}
    if isinstance(start := document.get("start"), dict):
        scores["start_test"] = start, "test_score"
    else:
        scores["start_test"] = document, "start_test_score"
    values = {
        name: part.get(key) if isinstance(part, dict) else None
        for name, (part, key) in scores.items()
    }
    return {name: x if isinstance(x, float) else None for name, x in values.items()}


def _state(folder: Path, *, at_work: bool) -> str:
    if (folder / "result.json").is_file():
        return "finished"
    return "running" if at_work else "interrupted"


Result = TypeVar("Result")


def _or_note(make: Callable[[], Result], otherwise: str, notes: list[str]) -> Result | None:
    """Return what `make` returns; if it is not known, None and a note of the reason."""
    try:
        return make()
    except dev_set.UnknownDevSet as reason:
        notes.append(f"{otherwise}: {reason}")
        return None


class _Read(NamedTuple):
    """One replica as read from its folder. Its passes get their weights by `_scaled`."""

    folder: Path
    history: dict[str, Any]
    weights: list[FeatureWeights]
    lists: list[Path]


def _fingerprint(folder: Path) -> dict[str, str]:
    state = folder / FINGERPRINT_FILE
    if not state.is_file():
        raise StateError(
            f"{folder}: not the folder of a run (no {FINGERPRINT_FILE}); expected one of tune"
        )
    content: Any = read_json(state).get("fingerprint")
    if isinstance(content, dict) and content.get("command") == "optimize":
        raise StateError(
            f"{folder}: replicas of `portmert optimize` on given lists have no iterations to "
            f"report on; `portmert compare` takes them"
        )
    try:
        int(content["tune.replicas"])
        int(content["tune.seed"])
        float(content["tune.held_out"])
    except (KeyError, TypeError, ValueError):
        raise StateError(
            f"{state}: is not what portmert writes; is this the folder of a run?"
        ) from None
    refuse_misplaced(folder)
    fingerprint: dict[str, str] = content
    return fingerprint


def _signature(folder: Path) -> str | None:
    """Return the signature that the run's first scores were written with; None before them."""
    for part in (folder, folder / "replica-1"):
        path = part / "iteration-01" / "scores.json"
        if path.is_file():
            return str(read_json(path).get("metric", "")) or None
    return None


def _parts(folder: Path, fingerprint: Mapping[str, str], name: str) -> list[tuple[Path, str]]:
    """Return the folders of the tunings that have begun, and their names."""
    count = int(fingerprint["tune.replicas"])
    if count == 1:
        return [(folder, name)]
    # The folders that are there: the count may be damaged.
    folders = [
        (int(match[1]), part)
        for part in folder.glob("replica-*")
        if (match := re.fullmatch(r"replica-([1-9][0-9]{0,8})", part.name))
    ]
    return [
        (part, f"replica {number}")
        for number, part in sorted(folders)
        if number <= count and (part / FINGERPRINT_FILE).is_file()
    ]


def _replica(
    folder: Path,
    name: str,
    *,
    at_work: bool,
    higher: bool,
    dev: DevSet | None,
    metrics: Mapping[str, Metric],
) -> _Read:
    weights: list[FeatureWeights] = []
    passes, lists = [], []
    number, result = 1, folder / "result.json"
    while (part := folder / f"iteration-{number:02d}").is_dir():
        refuse_changed(part, whole=result.is_file())
        if not (part / "weights.json").is_file():
            break
        weights.append(read_weights(part / "weights.json"))
        iteration = _pass(part, number)
        if iteration["dev_score"] is not None:
            lists.append(part / "nbest.gz")
            if dev is not None and metrics:
                iteration["scores"] = dev.score_first(part / "nbest.gz", metrics)
        passes.append(iteration)
        number += 1
    refuse_changed(folder)
    finished: dict[str, Any] = {}
    if result.is_file():
        finished = vars(read_file(result, RunResult))
        recorded = finished["iterations"]
        if passes and len(passes) < len(recorded):
            raise StateError(f"{part}: is gone; the command that made the run makes it again")
        if passes and passes[-1]["dev_score"] is None and recorded:
            keys = ("hypotheses", "new", "dev_score", "unseen_score")  # it was not decoded
            passes[-1] |= {key: getattr(recorded[-1], key) for key in keys}
    scored = [iteration for iteration in passes if iteration["dev_score"] is not None]
    best = finished.get("best_iteration")
    if best is None and scored:
        sign = 1 if higher else -1
        best = max(scored, key=lambda x: sign * _deciding_score(x))["number"]
    history = {
        "name": name,
        "state": _state(folder, at_work=at_work),
        "doing": "" if finished else _last_line(folder / "log.txt"),
        "passes": passes,
        "best": best,
        "stopped": finished.get("stopped"),
    }
    return _Read(folder, history, weights, lists)


def _pass(folder: Path, number: int) -> dict[str, Any]:
    """Read one iteration as far as it has come."""
    iteration: dict[str, Any] = {**dict.fromkeys(PASS), "number": number}
    scores, optimized = folder / "scores.json", folder / "optimized.json"
    if scores.is_file():
        content = read_file(scores, IterationScores)
        held_out = content.held_out
        iteration["held_out_score"] = None if held_out is None else held_out.score
        for key in ("hypotheses", "new", "dev_score", "unseen_score"):
            iteration[key] = getattr(content, key)
    if optimized.is_file():
        search = read_file(optimized, IterationSearch)
        for key in ("start_score", "optimized_score", "oracle_score", "change"):
            iteration[key] = getattr(search, key)
    return iteration


def _deciding_score(iteration: Mapping[str, Any]) -> float:
    keys = ("held_out_score", "unseen_score", "dev_score")
    return next(float(iteration[key]) for key in keys if iteration[key] is not None)


def _last_line(log: Path) -> str:
    """Return the last line of the log, without the time."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return lines[-1].partition("Z ")[2] if lines else ""


def _scaled(read: Sequence[_Read]) -> list[str]:
    """Give all passes their weights, scaled; return the names of the weights."""
    weights = [x for replica in read for x in replica.weights]
    first_sizes: dict[str, tuple[int, Path]] = {}
    for replica in read:
        for number, weights_of_iteration in enumerate(replica.weights, 1):
            path = replica.folder / f"iteration-{number:02d}" / "weights.json"
            for name, size in weights_of_iteration.names:
                first, where = first_sizes.setdefault(name, (size, path))
                if size != first:
                    raise StateError(
                        f"{path}: {counted(size, 'weight')} of feature {name}, but {where} has "
                        f"{first}; is the disk damaged?"
                    )
    if not weights:
        return []
    sizes, rows = averaging.stacked(weights)
    passes = [x for replica in read for x in replica.history["passes"]]
    for iteration, row in zip(passes, rows.tolist(), strict=True):
        iteration["weights"] = row
    return value_labels(tuple(sizes.items()))


def _spreads(
    features: Sequence[str], replicas: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    scored = [replica for replica in replicas if replica["best"] is not None]
    rows = []
    for column, feature in enumerate(features if scored else ()):
        values = [x["passes"][(x["best"] or 1) - 1]["weights"][column] for x in scored]
        rows.append(
            {
                "feature": feature,
                "start": scored[0]["passes"][0]["weights"][column],
                "values": values,
                "mean": statistics.fmean(values),
                "sd": deviation(values),
            }
        )
    return rows


def _slices(
    read: Sequence[_Read], dev: DevSet | None, metric: Metric | None, notes: list[str]
) -> tuple[str | None, list[dict[str, Any]]]:
    """Return the error surface around the best replica's result, and which replica that is."""
    scored = [replica for replica in read if replica.history["best"] is not None]
    if dev is None or metric is None or not scored:
        return None, []
    if _or_note(lambda: dev.check(metric), "no error surface", notes) is None:
        return None, []

    def result(replica: _Read) -> int:
        return int(replica.history["best"] or 1) - 1

    best = max(
        scored, key=lambda x: metric.oriented(_deciding_score(x.history["passes"][result(x)]))
    )
    at = result(best)
    origin = best.lists[0].parents[1] / f"iteration-{at + 1:02d}" / "weights.json"
    sliced = slices(dev, metric, best.lists, best.weights[at], origin=origin)
    return best.history["name"], sliced


MOST_SLICES = 40
"""Features with a slice: those that move model scores most."""


def slices(
    dev: DevSet, metric: Metric, lists: Sequence[Path], weights: FeatureWeights, *, origin: Path
) -> list[dict[str, Any]]:
    """Return the surface along each dense feature around `weights`.

    The window reaches to both sides until the feature alone moves model scores as much as all
    features do at `weights`. A feature counts by how much it varies within a segment.

    Parameters
    ----------
    lists
        N-best lists of the iterations so far, in order.
    origin
        The file of the weights.
    """
    key = dev.key(metric)
    if key is not None:
        key += f"|{[files.file_digest(path) for path in lists]}|{weights.to_json()}"
    make = partial(_surfaces, dev, metric, lists, weights, origin)
    # Surfaces of fewer lists are of no more use.
    stored = dev_set.StoredResults(dev, "surface.json").get(key, make, alone=True)
    return [dict(zip(Surface._fields, row, strict=True)) for row in stored]


def _surfaces(
    dev: DevSet, metric: Metric, lists: Sequence[Path], weights: FeatureWeights, origin: Path
) -> list[Surface]:
    _ = dev.references  # their words come first in the vocabulary
    segments = len(dev.sources)
    pool = merge([read_nbest([path], dev.vocabulary, segments=segments) for path in lists])
    problem = _problem(dev, metric, pool, weights)
    vector = weights.vector(pool.feature_names, origin=str(origin))
    return surfaces(problem, value_labels(pool.feature_names), vector, MOST_SLICES)


def _problem(dev: DevSet, metric: Metric, pool: NBest, weights: FeatureWeights) -> TuningProblem:
    """Return the optimizer's problem on the segments tuned on; sparse weights stay fixed."""
    stats = dev.stats(metric, pool)
    fixed = sparse_scores(pool.sparse, weights)
    segments = dev_set.all_segments(dev)
    rows, offsets = rows_taken(pool.offsets, segments)
    return TuningProblem(
        np.ascontiguousarray(pool.features[rows].T),
        offsets,
        stats,
        metric,
        fixed[rows] if fixed.size else fixed,
        rows,
    )
