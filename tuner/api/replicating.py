"""Tunes on given lists with several seeds, and says what each is worth on a test set.

The folder has the form of a run of `tune` with replicas, as far as there are no iterations: what
compares runs takes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Unpack

import portmert
from portmert.metrics._base import Metric
from portmert.tuner.api.lists import Lists, ListsLike, as_lists
from portmert.tuner.api.optimizing import ListProblem, SearchOptions, list_problem
from portmert.tuner.api.replica_runs import (
    ReplicaRun,
    TestLists,
    in_order_of_lists,
    read_test_lists,
    with_texts,
)
from portmert.tuner.api.texts import Notice, PathLike, Phases, log_notice, phase
from portmert.tuner.components import registry
from portmert.tuner.components.features import Feature
from portmert.tuner.ground.errors import ConfigError
from portmert.tuner.ground.files import text_digest
from portmert.tuner.runs.config import ListsData, content_of
from portmert.tuner.runs.folder import open_run
from portmert.tuner.runs.inputs import write_list_inputs
from portmert.tuner.runs.replicas import Replicas
from portmert.tuner.search.optimization import Setup


def replicate(
    lists: ListsLike,
    metric: str | Metric,
    *,
    replicas: int,
    out_dir: PathLike,
    test: ListsLike | None = None,
    fresh: bool = False,
    baselines: bool = False,
    notice: Notice = log_notice,
    progress: Phases | None = None,
    **search: Unpack[SearchOptions],
) -> Replicas:
    """Optimize several times with different seeds, average the weights, and score a test set.

    A later call with the same arguments goes on where this one was interrupted. `compare` takes
    the folder like that of a run of `tune`.

    Parameters
    ----------
    lists
        The lists to tune on with their references, `Lists` of files; or the names of files.
    metric
        The metric to tune on, as of `optimize`.
    replicas
        The number of searches; the first has the seed given and finds what `optimize` finds.
    out_dir
        The folder: `weights.json` has the average, `replica-N` the result of each search and, with
        a test set, its output there.
    test
        The lists of a test set. Without references outputs are chosen, but not scored. They must
        have the same features; those computed without a file, and the text steps, are taken from
        `lists`.
    fresh
        Remove what an earlier call left and start over.
    baselines
        Also write other choices from the test lists: the first hypothesis of each list, the best
        by each dense feature alone (by the most or the least of it, whichever scores better on the
        lists tuned on), and hypotheses that score high by the metric itself (the oracle).
    notice
        Called with one line for each thing worth knowing. Default: the log `portmert`.
    progress
        Called with a phase, how much is done, and of how much, as of `optimize`.
    **search
        As of `optimize`; a length penalty must be one number. On a cluster each search takes one
        processor.

    Raises
    ------
    PortmertError
        Lists, references and metric do not fit, or the folder holds other work.
    """
    given = as_lists(lists, notice)
    tests = None if test is None else as_lists(test, notice).like(given)
    data = _data(given, tests)
    named = given.annotator
    named = registry.annotator(named) if isinstance(named, str) else named
    shown = phase(progress, "annotating")
    with list_problem(given, registry.metric(metric), search, notice=notice, progress=shown) as (
        problem,
        setup,
        team,
    ):
        if problem.penalty.low != problem.penalty.high:
            raise ConfigError(
                f"length penalty '{search.get('length_penalty')}': replicas are averaged under "
                f"one; give one number, as `portmert optimize` finds it in a range"
            )
        prints = _fingerprint(problem, setup, data, given, tests)
        _check_unseen(prints, notice)
        test_set = read_test_lists(problem, tests, setup.threads, notice)
        texts = _texts_by_id(data, given, tests, problem, test_set)
        for key, several in texts.items():
            held = [text_digest(text) for text in several]
            prints[f"data.{key}"] = json.dumps(held[0] if key.endswith("source") else held)
        with open_run(
            Path(out_dir), prints, origin="what is asked for now", fresh=fresh
        ) as folder:
            if texts:
                data = with_texts(data, texts, folder.path / "texts")
            write_list_inputs(folder.path, data, named)
            run = ReplicaRun(folder, problem, setup, test_set, notice)
            numbers = range(1, replicas + 1)
            run.search(numbers, team, phase(progress, "searching"))
            return run.finish(numbers, baselines=baselines)


def _check_unseen(prints: Mapping[str, str], notice: Notice) -> None:
    """Notice a test set that is the one tuned on."""
    for key in ("lists", "references"):
        if prints[f"data.{key}"] == prints[f"data.test_{key}"] != "[]":
            notice(
                f"the {key} of the test set are those tuned on: the scores of the test set "
                f"say nothing of unseen text"
            )
            break


def _texts_by_id(
    data: ListsData,
    lists: Lists,
    test: Lists | None,
    problem: ListProblem,
    test_set: TestLists | None,
) -> dict[str, tuple[str, ...]]:
    """Return texts whose lines begin with ids in the order of the lists, see `ListsData`."""
    ordered = {}
    if lists.ids:
        ordered[""] = problem.read
    if test is not None and test.ids and test_set is not None:
        ordered["test_"] = test_set.read
    return in_order_of_lists(data, ordered)


def _data(lists: Lists, test: Lists | None) -> ListsData:
    """Return the files of both sets of lists.

    Raises
    ------
    ConfigError
        There are lists or texts that are no files.
    """

    def paths(name: str, given: Any) -> tuple[Path, ...]:
        several = (given,) if isinstance(given, Path | str) else tuple(given or ())
        if not all(isinstance(one, Path | str) for one in several):
            raise ConfigError(f"{name}: replicas lie in a folder and name files; give files")
        return tuple(map(Path, several))

    named: dict[str, Any] = {}
    for prefix, one in (("", lists), ("test_", test)):
        if one is None:
            continue
        if not one.paths or one.counts is not None:
            raise ConfigError("replicas lie in a folder and name files: give lists in files")
        source = paths("the source", () if one.source is None else (one.source,))
        named |= {
            f"{prefix}lists": paths("lists", one.paths),
            f"{prefix}references": paths("references", one.refs),
            f"{prefix}source": source[0] if source else None,
            f"{prefix}reference_links": paths("links of references", one.ref_links),
        }
    steps = tuple(map(str, lists.pipeline.steps))
    return ListsData(**named, text=steps, text_model=lists.pipeline.model)


def _fingerprint(
    problem: ListProblem, setup: Setup, data: ListsData, lists: Lists, test: Lists | None
) -> dict[str, str]:
    """Return everything that the result depends on but the number of replicas: key -> value."""
    formats = [one.format for one in (lists, test) if one is not None]
    prints = {
        "command": "optimize",
        "portmert": portmert.__version__,
        "metric.name": problem.metric.name(),
        "optimizer": repr(setup.optimizer),
        "constraints": repr(setup.constraints),
        "prior": str(setup.prior),
        "seed": str(setup.seed),
        "length_penalty": str(problem.penalty.low),
        "nbest_format": " ".join(
            one if isinstance(one, str) else repr(one) for one in dict.fromkeys(formats)
        ),
    }
    if problem.ready.annotator is not None:
        prints["annotator"] = problem.ready.annotator.fingerprint
    for key, one in (("features", lists), ("test_features", test)):
        parsed = [content_of(Feature.parse(spec)) for spec in (one.features if one else ())]
        prints[f"data.{key}"] = json.dumps(parsed, sort_keys=True)
    contents: dict[str, Any] = {
        "metric": problem.metric,
        "start": [dict(one.values) for one in setup.starts],
        **{f"data.{item.name}": getattr(data, item.name) for item in fields(data)},
    }
    for key, value in contents.items():
        prints[key] = json.dumps(content_of(value), sort_keys=True)
    return prints
