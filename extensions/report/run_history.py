"""Reads how a run of `portmert tune` came to its weights, also while it is still running.

A history is read from the run's files. Each file appears whole when its step is finished, so a
history may be read at any moment; it ends where the run is. It is plain data:

run
    `name` of its system in a comparison; `metric`, the name of the metric tuned on, and its
    `signature`; `state`: `finished`, `running`, or `interrupted`; `features`, names in the order
    of all weights; `replicas`; `weights`; `result`, the scores `dev` and `test` of the weights it
    ended with, and `start_test` of those it began with (None before the end; the scores of the
    test set are None without one).
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
"""

import contextlib
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from portmert.metrics._display import Display
from portmert.tuner.base import json_toml
from portmert.tuner.base.errors import InputError, StateError, counted
from portmert.tuner.base.samples import deviation
from portmert.tuner.components import registry
from portmert.tuner.runs.folder import FINGERPRINT_FILE, is_at_work, refuse_misplaced
from portmert.tuner.runs.records import (
    IterationScores,
    IterationSearch,
    read_file,
    read_json,
    refuse_changed,
)
from portmert.tuner.runs.result import RunResult
from portmert.tuner.search import averaging
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights, value_labels

PASS = (
    "number",  # counted from 1
    "weights",  # in the order of features; absolute values add to 1
    "hypotheses",  # number of distinct ones of all lists so far
    "new",  # of these, how many this list added
    "dev_score",  # of the decoder's own best output under these weights, on the metric tuned on
    "held_out_score",  # the same on segments that were not tuned on
    "unseen_score",  # an estimate of that score on unseen text
    "start_score",  # over all lists so far, of the best hypotheses under these weights
    "optimized_score",  # of the best ones under the next iteration's weights: projected score
    "oracle_score",  # of hypotheses chosen by score alone
    "change",  # distance of the next weights from these, 0..2
)
"""Keys of a pass."""


def read_history(folder: Path, *, name: str) -> dict[str, Any]:
    """Read the folder of a run, finished or not.

    Parameters
    ----------
    name
        Name of its system.

    Raises
    ------
    StateError
        The folder is not one of a run, or its files are not what portmert writes.
    """
    fingerprint, signature = _fingerprint(folder), _signature(folder)
    tuned_on = None
    with contextlib.suppress(InputError):  # then only how its scores are shown is not known
        tuned_on = None if signature is None else registry.metric_of(signature)
    metric_name = fingerprint.get("metric.name", "?")
    if metric_name == "formula" and signature:
        metric_name = signature.partition("|")[0]
    higher = True if tuned_on is None else tuned_on.higher_is_better
    at_work = is_at_work(folder)
    read = [
        _replica(part, label, at_work=at_work, higher=higher)
        for part, label in _parts(folder, fingerprint, name)
    ]
    features = _scaled(read)
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
            "result": _result(folder),
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


class _Read(NamedTuple):
    """One replica as read from its folder. Its passes get their weights by `_scaled`."""

    folder: Path
    history: dict[str, Any]
    weights: list[FeatureWeights]


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
) -> _Read:
    weights: list[FeatureWeights] = []
    passes = []
    number, result = 1, folder / "result.json"
    while (part := folder / f"iteration-{number:02d}").is_dir():
        refuse_changed(part, whole=result.is_file())
        if not (part / "weights.json").is_file():
            break
        weights.append(read_weights(part / "weights.json"))
        passes.append(_pass(part, number))
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
    return _Read(folder, history, weights)


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
