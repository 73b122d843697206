"""Tunes on given lists with several seeds, and says what each is worth on a test set.

The folder has the form of a run of `tune` with replicas, as far as there are no iterations: what
compares runs takes it. A replica whose `result.json` is there is finished; started again, only
the others are searched.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tuner
from tuner import streams
from tuner.api.lists import read_lists
from tuner.api.searching import as_weights, list_problem, setup_of
from tuner.api.texts import log_notice, pipeline_of
from tuner.components import registry
from tuner.errors import ConfigError
from tuner.files import write_text
from tuner.nbest.model import best_hypotheses, model_scores
from tuner.nbest.write import write_nbest
from tuner.runs.config import ListsData, content_of
from tuner.runs.folder import open_run
from tuner.runs.inputs import write_list_inputs
from tuner.runs.scorer import NUMBER, Scored, read_json, write_json
from tuner.search import DEFAULT_OPTIMIZER
from tuner.search.averaging import averaged, deviation, spread_size, weight_spreads
from tuner.search.length_penalty import penalised
from tuner.search.optimization import equal_weights
from tuner.search.stat_tables import statistics_table
from tuner.tables import Table
from tuner.weights.weights_file import WeightsFile, read_weights_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metrics._base import IntArray, Metric
    from tuner.annotation.annotators._base import Annotator
    from tuner.api.lists import Lists
    from tuner.api.searching import ConstraintsLike, ListProblem, WeightsLike
    from tuner.api.texts import Notice, PathLike, Progress
    from tuner.nbest.model import NBest
    from tuner.runs.folder import RunFolder
    from tuner.search.optimization import Setup
    from tuner.search.optimizers._base import Optimizer
    from tuner.search.problem import StatTable
    from tuner.weights.feature_weights import FeatureWeights


@dataclass(frozen=True, eq=False)
class Replicas:
    """Holds what several searches found; `str()` of it is what `optimize --replicas` prints.

    Parameters
    ----------
    weights : FeatureWeights
        The average: each replica's scaled to model scores that spread alike on the lists.
    document
        Everything as plain data: what result.json holds.
    metric : Metric
    """

    weights: FeatureWeights
    document: dict[str, Any] = field(repr=False)
    metric: Metric = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return what `portmert optimize --replicas N --json` prints."""
        return self.document

    def __str__(self) -> str:
        found, scores = self.document, ("dev_score", "unseen_score", "test_score")
        average = {"dev_score": found["average"]["dev_score"]}
        average["test_score"] = (found["average"]["test"] or {}).get("score")
        rows: list[tuple[str, Mapping[str, Any]]] = [
            *((one["folder"], one) for one in found["replicas"]),
            *(
                (kind, {key: found[key] and found[key][kind] for key in scores})
                for kind in ("mean", "sd")
            ),
            ("averaged weights", average),
            ("start weights", found["start"]),
        ]
        known = [key for key in scores if any(row.get(key) is not None for _, row in rows)]
        unseen = " unseen: the search's own estimate for other text." * ("unseen_score" in known)
        return Table(
            f"{found['metric']}: {len(found['replicas'])} replicas",
            ["", *(key.removesuffix("_score") for key in known)],
            [[name, *(self._shown(row, key) for key in known)] for name, row in rows],
            note=f"dev: on the lists tuned on.{unseen} sd: standard deviation over replicas.",
        ).text()

    def _shown(self, row: Mapping[str, Any], key: str) -> str:
        if row.get(key) is None:
            return ""
        error = row.get("unseen_error") if key == "unseen_score" else None
        return self.metric.shown(row[key]) + (f" ± {self.metric.shown(error)}" if error else "")


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
    nbest_format: str = "auto",
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
    fresh: bool = False,
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
        Files of the test set: its n-best lists, decoded under whatever weights.
    fresh
        Remove what an earlier call left and start over.

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
    start = as_weights(weights)
    setup = setup_of(start, optimizer, options, constraints, seed, threads, prior)
    named = None if annotator is None else registry.annotator(annotator)
    with list_problem(
        data.lists,
        data.references,
        metric=metric,
        source=data.source,
        ref_links=data.reference_links,
        nbest_format=nbest_format,
        text=pipeline_of(text, text_model),
        text_model=None,
        annotator=named,
        annotation_cache=annotation_cache,
        start=start,
        length_penalty=length_penalty,
        threads=setup.threads,
        notice=notice,
        progress=progress,
    ) as problem:
        if problem.penalty.low != problem.penalty.high:
            raise ConfigError(
                f"length penalty '{length_penalty}': replicas are averaged under one; give one "
                f"number, as `portmert optimize` finds it in a range"
            )
        prints = _fingerprint(problem, setup, data, nbest_format, named)
        with open_run(
            Path(out_dir), prints, origin="what is asked for now", fresh=fresh
        ) as folder:
            write_list_inputs(folder.path, data, named)
            run = _Run(
                folder,
                problem,
                setup,
                _test_of(problem, data, nbest_format, setup.threads, notice),
                notice,
            )
            return run.finish([run.replica(n, searching) for n in range(1, replicas + 1)])


@dataclass(frozen=True, eq=False)
class _Test:
    """Holds the lists of a test set and their statistics."""

    read: Lists
    stats: StatTable


@dataclass(frozen=True, eq=False)
class _Run:
    """Makes what belongs into the folder; what is finished is read from there."""

    folder: RunFolder
    problem: ListProblem
    setup: Setup
    test_set: _Test | None
    notice: Notice

    @property
    def _alpha(self) -> float:
        return self.problem.penalty.low

    @property
    def _start(self) -> FeatureWeights:
        starts = self.setup.starts
        return starts[0] if starts else equal_weights(self.problem.read.nbest.feature_names)

    def replica(self, number: int, searching: Progress | None) -> dict[str, Any]:
        """Search with the seed of a replica; return what its result.json holds."""
        folder = self.folder.replica(number)
        result = folder / "result.json"
        if not result.is_file():
            setup = replace(self.setup, seed=streams.replica(self.setup.seed, number))
            ended = self.problem.search(setup, self.notice if number == 1 else _ignore, searching)
            found = ended.found
            self._write_weights(folder / "weights.json", found.weights)
            test = self._test(found.weights, lambda: folder / "test")
            write_json(
                result,
                {
                    "metric": self.problem.signature,
                    "seed": setup.seed,
                    "dev_score": found.final_score,
                    "unseen_score": found.unseen_score,
                    "unseen_error": found.unseen_error,
                    "test_score": None if test is None else test.score,
                },
            )
        kept = read_json(
            result,
            seed=int,
            dev_score=NUMBER,
            unseen_score=NUMBER | None,
            unseen_error=NUMBER | None,
            test_score=NUMBER | None,
        )
        del kept["metric"]
        return {"folder": folder.name, **kept}

    def finish(self, replicas: list[dict[str, Any]]) -> Replicas:
        """Average the weights, score them, and write what was found."""
        paths = [self.folder.path / one["folder"] / "weights.json" for one in replicas]
        found = [read_weights_file(path).weights for path in paths]
        searched = penalised(
            self.problem.read.scored, self._alpha, lengths=self.problem.read.lengths
        )
        sizes = [
            spread_size(one, searched, origin=str(path))
            for one, path in zip(found, paths, strict=True)
        ]
        weights = averaged(found, sizes)
        self._write_weights(self.folder.path / "weights.json", weights)
        test = self._test(weights, lambda: self.folder.test)
        start = self._test(self._start, None)
        document = {
            "metric": self.problem.metric.signature,
            "start": {
                "dev_score": self._dev(self._start, self.problem.start_alpha),
                "test_score": None if start is None else start.score,
            },
            **{
                key: _mean([one[key] for one in replicas])
                for key in ("dev_score", "unseen_score", "test_score")
            },
            "average": {
                "dev_score": self._dev(weights, self._alpha),
                "held_out_score": None,
                "test": None if test is None else asdict(test),
            },
            "replicas": replicas,
            "weights": weight_spreads(found),
        }
        write_json(self.folder.path / "result.json", document)
        return Replicas(weights, document, self.problem.metric)

    def _write_weights(self, path: Path, weights: FeatureWeights) -> None:
        WeightsFile(weights, length_penalty=self._alpha).written(weights, path)

    def _dev(self, weights: FeatureWeights, alpha: float) -> float:
        read = self.problem.read
        return self._score(self.problem.stats, _best(read, weights, alpha)).score

    def _score(self, stats: StatTable, rows: IntArray) -> Scored:
        metric, total = self.problem.metric, stats.total(rows)
        return Scored(float(metric.score(total)), metric.parts(total))

    def _test(self, weights: FeatureWeights, folder: Callable[[], Path] | None) -> Scored | None:
        """Score the test set, if there is one, and write what was chosen into a folder."""
        if self.test_set is None:
            return None
        read = self.test_set.read
        rows = _best(read, weights, self._alpha)
        scored = self._score(self.test_set.stats, rows)
        if folder is not None:
            out = folder()
            out.mkdir(exist_ok=True)
            chosen = _chosen(read.nbest, rows)
            texts = chosen.texts
            lines = (" ".join(texts.words(row)) + "\n" for row in range(len(texts)))
            write_text(out / "output.txt", "".join(lines))
            if texts.links is not None:
                write_nbest(chosen, out / "nbest.gz", weights)
            content = {"metric": self.problem.signature, **asdict(scored)}
            write_json(out / "scores.json", content)
        return scored


def _paths(given: PathLike | Sequence[PathLike]) -> tuple[Path, ...]:
    several = (given,) if isinstance(given, Path | str) else given
    return tuple(map(Path, several))


def _best(read: Lists, weights: FeatureWeights, alpha: float) -> IntArray:
    nbest = penalised(read.nbest, alpha, lengths=read.lengths)
    return best_hypotheses(nbest, model_scores(nbest, weights))


def _chosen(nbest: NBest, rows: IntArray) -> NBest:
    """Return one hypothesis of each segment as a list of its own."""
    return replace(
        nbest,
        texts=nbest.texts.take(rows),
        offsets=np.arange(len(rows) + 1),
        features=nbest.features[rows],
        model_scores=nbest.model_scores[rows],
        sparse=None,
        lines=None,
    )


def _mean(scores: Sequence[float | None]) -> dict[str, float] | None:
    """Return mean and standard deviation; None where there are no scores."""
    known = np.array([score for score in scores if score is not None])
    if known.size < len(scores):
        return None
    return {"mean": float(known.mean()), "sd": deviation(known)}


def _test_of(
    problem: ListProblem, data: ListsData, nbest_format: str, threads: int, notice: Notice
) -> _Test | None:
    """Read the lists of the test set, if there are any, and count."""
    if not data.test_lists:
        return None
    metric = problem.metric
    read = read_lists(
        data.test_lists,
        data.test_references,
        ready=problem.ready,
        metrics=[metric],
        source=data.test_source,
        ref_links=data.test_reference_links,
        nbest_format=nbest_format,
        notice=notice,
    )
    stats = statistics_table(
        read.scored,
        read.references,
        metric,
        threads=threads,
        notice=notice,
        annotate=read.annotate,
    )
    return _Test(read, stats)


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
        "portmert": tuner.__version__,
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


def _ignore(_: str) -> None:
    """Say nothing: the first search has said it."""
