"""Tunes on given lists with several seeds, and says what each is worth on a test set.

The folder has the form of a run of `tune` with replicas, as far as there are no iterations: what
compares runs takes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import portmert
from portmert.metrics._base import Metric
from portmert.tuner.annotation.annotators._base import Annotator
from portmert.tuner.api.replica_runs import (
    ReplicaRun,
    in_order_of_lists,
    read_test_lists,
    with_texts,
)
from portmert.tuner.api.searching import (
    ConstraintsLike,
    ListProblem,
    WeightsLike,
    as_weights,
    list_problem,
    setup_of,
)
from portmert.tuner.api.texts import Notice, PathLike, Progress, log_notice, pipeline_of
from portmert.tuner.components import registry
from portmert.tuner.components.features import Feature
from portmert.tuner.executors.opening import opened
from portmert.tuner.ground.errors import ConfigError
from portmert.tuner.ground.files import text_digest
from portmert.tuner.runs.config import ListsData
from portmert.tuner.runs.contents import content_of
from portmert.tuner.runs.folder import open_run
from portmert.tuner.runs.inputs import write_list_inputs
from portmert.tuner.runs.replicas import Replicas
from portmert.tuner.search import DEFAULT_OPTIMIZER
from portmert.tuner.search.optimization import Setup
from portmert.tuner.search.optimizers._base import Optimizer


def replicate(
    lists: PathLike | Sequence[PathLike],
    refs: PathLike | Sequence[PathLike] = (),
    *,
    metric: str | Metric,
    replicas: int,
    out_dir: PathLike,
    test_lists: PathLike | Sequence[PathLike] = (),
    test_refs: PathLike | Sequence[PathLike] = (),
    test_source: PathLike | None = None,
    test_ref_links: PathLike | Sequence[PathLike] = (),
    source: PathLike | None = None,
    ref_links: PathLike | Sequence[PathLike] = (),
    ids: bool = False,
    nbest_format: str = "auto",
    extra_features: Sequence[str] = (),
    test_features: Sequence[str] = (),
    text: str = "",
    text_model: PathLike | None = None,
    annotator: str | None = None,
    annotation_cache: PathLike | None = None,
    weights: WeightsLike | None = None,
    optimizer: str | Optimizer = DEFAULT_OPTIMIZER,
    options: Mapping[str, object] | None = None,
    constraints: ConstraintsLike | None = None,
    length_penalty: str | float | None = None,
    prior: float = 0.0,
    seed: int = 1,
    threads: int = 0,
    executor: str = "local",
    fresh: bool = False,
    baselines: bool = False,
    notice: Notice = log_notice,
    progress: Progress | None = None,
    searching: Progress | None = None,
) -> Replicas:
    """Optimize several times with different seeds, average the weights, and score a test set.

    Called again it goes on where it was interrupted. `compare` takes the folder like that of a
    run of `tune`.

    Parameters
    ----------
    lists, refs, source, ref_links
        Files of the dev set, as of `optimize`.
    replicas
        How many searches; the first has the seed given and finds what `optimize` finds.
    out_dir
        The folder: `weights.json` has the average, `replica-N` what each search found and, with a
        test set, the output it chose there.
    test_lists, test_refs, test_source, test_ref_links
        Files of the test set: its n-best lists, decoded under whatever weights. Without
        references outputs are chosen, but not scored.
    ids
        As of `optimize`, of the files of either set.
    extra_features, test_features
        As of `read_nbest`; the lists of the test set must have the same ones. What is computed
        without a file need not be said again.
    executor
        Where searches run, as of `crossval`; on a cluster each takes one processor.
    fresh
        Remove what an earlier call left and start over.
    baselines
        Write, of the test set, what else can be chosen: the first hypothesis of each list, the
        best by each dense feature alone (with most of it or least, whichever scores better on the
        lists tuned on), and what scores high by the metric itself (the oracle).

    Other parameters are those of `optimize`; a length penalty must be one number.

    Raises
    ------
    PortmertError
        Lists, references and metric do not fit, or the folder holds other work.
    """
    data = ListsData(
        lists=_paths(lists),
        references=_paths(refs),
        source=None if source is None else Path(source),
        reference_links=_paths(ref_links),
        test_lists=_paths(test_lists),
        test_references=_paths(test_refs),
        test_source=None if test_source is None else Path(test_source),
        test_reference_links=_paths(test_ref_links),
        text=tuple(step for step in text.split(",") if step.strip()),
        text_model=None if text_model is None else Path(text_model),
    )
    # What names no file is the same for all lists.
    computed = [one for one in extra_features if not Feature.parse(one).files]
    of_test = [*test_features, *(one for one in computed if one not in test_features)]
    start = as_weights(weights)
    setup = setup_of(start, optimizer, options, constraints, seed, threads, prior)
    named = None if annotator is None else registry.annotator(annotator)
    with (
        opened(executor, threads=1, notice=notice) as team,
        list_problem(
            data.lists,
            data.references,
            metric=metric,
            source=data.source,
            ref_links=data.reference_links,
            ids=ids,
            nbest_format=nbest_format,
            extra_features=extra_features,
            text=pipeline_of(text, text_model),
            text_model=None,
            annotator=named,
            annotation_cache=annotation_cache,
            start=start,
            length_penalty=length_penalty,
            threads=setup.threads,
            notice=notice,
            progress=progress,
            team=team,
        ) as problem,
    ):
        if problem.penalty.low != problem.penalty.high:
            raise ConfigError(
                f"length penalty '{length_penalty}': replicas are averaged under one; give one "
                f"number, as `portmert optimize` finds it in a range"
            )
        prints = _fingerprint(problem, setup, data, nbest_format, named)
        for key in ("lists", "references"):
            if prints[f"data.{key}"] == prints[f"data.test_{key}"] != "[]":
                notice(
                    f"the {key} of the test set are those tuned on: the scores of the test set "
                    f"say nothing of unseen text"
                )
                break
        for key, specs in (("features", extra_features), ("test_features", of_test)):
            contents = [content_of(Feature.parse(spec)) for spec in specs]
            prints[f"data.{key}"] = json.dumps(contents, sort_keys=True)
        test = read_test_lists(
            problem, data, nbest_format, of_test, setup.threads, notice, ids=ids
        )
        texts = in_order_of_lists(data, problem.read, test) if ids else {}
        for key, several in texts.items():
            held = [text_digest(text) for text in several]
            prints[f"data.{key}"] = json.dumps(held[0] if key.endswith("source") else held)
        with open_run(
            Path(out_dir), prints, origin="what is asked for now", fresh=fresh
        ) as folder:
            if texts:
                data = with_texts(data, texts, folder.path / "texts")
            write_list_inputs(folder.path, data, named)
            run = ReplicaRun(folder, problem, setup, test, notice)
            numbers = range(1, replicas + 1)
            run.search(numbers, team, searching)
            return run.finish(numbers, baselines=baselines)


def _paths(given: PathLike | Sequence[PathLike]) -> tuple[Path, ...]:
    several = (given,) if isinstance(given, Path | str) else given
    return tuple(map(Path, several))


def _fingerprint(
    problem: ListProblem,
    setup: Setup,
    data: ListsData,
    nbest_format: str,
    annotator: Annotator | None,
) -> dict[str, str]:
    """Return all that what is found depends on but the number of replicas: key -> value."""
    prints = {
        "command": "optimize",
        "portmert": portmert.__version__,
        "metric.name": problem.metric.name(),
        "optimizer": repr(setup.optimizer),
        "constraints": repr(setup.constraints),
        "prior": str(setup.prior),
        "seed": str(setup.seed),
        "length_penalty": str(problem.penalty.low),
        "nbest_format": nbest_format,
    }
    if problem.ready.annotator is not None and annotator is not None:
        prints["annotator"] = annotator.fingerprint()
    contents: dict[str, Any] = {
        "metric": problem.metric,
        "start": [dict(one.values) for one in setup.starts],
        **{f"data.{item.name}": getattr(data, item.name) for item in fields(data)},
    }
    for key, value in contents.items():
        prints[key] = json.dumps(content_of(value), sort_keys=True)
    return prints
