"""Tune on given lists with several seeds, average the weights, and rerank a test set.

The folder is like that of a run of `tune` with replicas, but without iterations, so that `compare`
reads it. A replica is finished if all its files are as they were written; others are searched.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np

import portmert
from portmert.aligners._base import format_links
from portmert.metrics._base import FloatArray, IntArray, Metric

from ..base import arguments, streams
from ..base.context import Progress, current, using
from ..base.errors import ConfigError, InputError
from ..base.files import text_digest, write_text
from ..base.threads import Team
from ..base.warn import collected_notices, left_out_so_far, notice, warn, warn_of, warnings_so_far
from ..components import registry
from ..components.external import Outcome, scores_in
from ..components.features import Feature
from ..components.registry import MetricLike
from ..evaluation.comparison.choices import EQUAL, SINGLE, START
from ..nbest.findings import overlap_finding, range_findings
from ..nbest.model import NBest, digest, taken, without_texts, write_nbest
from ..runs.config import ListsData, content_of
from ..runs.folder import RunFolder, open_run
from ..runs.inputs import write_inputs
from ..runs.records import (
    ReplicaResult,
    Scored,
    finish,
    has_digest,
    is_finished,
    read_file,
    write_json,
)
from ..runs.replicas import SCORES, Chosen, Replicas, write_result
from ..search.averaging import averaged, spread_size
from ..search.contributions import contributions
from ..search.length_penalty import penalised
from ..search.oracle import oracle
from ..search.results import Optimized
from ..search.stat_table import StatTable
from ..search.weight_search import Setup, find_weights
from ..weights.feature_weights import FeatureWeights
from ..weights.weights_file import WeightsFile, read_weights_file
from .lists import Lists, ListsLike, as_lists
from .optimizing import (
    PreparedLists,
    Search,
    SearchOptions,
    read_dev_lists,
    warn_if_worse,
    with_graph_strings,
)
from .reranking import Reranked
from .rivals import Rivals
from .texts import PathLike

MoreChoices = Callable[[PreparedLists, PreparedLists, FeatureWeights], dict[str, IntArray]]
"""Takes the lists tuned on, those of the test set, and the averaged weights. Returns name -> (S,)
rows of the test lists."""


@arguments.checked
def replicate(
    lists: ListsLike,
    metric: MetricLike,
    *,
    replicas: int,
    out_dir: PathLike,
    test: ListsLike | None = None,
    fresh: bool = False,
    baselines: bool | MoreChoices = False,
    progress: Progress | None = None,
    **search: Unpack[SearchOptions],
) -> Replicas:
    r"""Optimize several times with different seeds, average the weights, and score a test set.

    After an interruption the same call continues. `compare` reads the folder.

    Parameters
    ----------
    lists
        The n-best lists to tune on, with references: `Lists`, or the names of files.
    metric
        The metric to tune on, as in `optimize`.
    replicas
        The number of searches. The first one has the given seed and the same result as `optimize`.
    out_dir
        The folder for results: `weights.json` is the average, `replica-N` has the result of each
        search and its output on the test set, if there is one.
    test
        The lists of a test set. Without references they are reranked but not scored. They must
        have the same features. Text steps, and features that need no file, are taken from `lists`.
    fresh
        Whether to remove the files of an earlier call and start over.
    baselines
        Whether to write other choices from the test lists too: the first hypothesis of each
        segment, those under the start weights if any are given, under equal weights (each feature
        divided by its spread within segments) and by each dense feature alone (with the sign that
        scores better on `lists`), and the oracle, which scores about as high as any choice can.
        A function that returns more choices by name; see `MoreChoices`.
    progress, **search
        As in `optimize`, but a length penalty must be one number. On a cluster each search uses
        one processor.

    Raises
    ------
    PortmertError
        Lists, references and metric do not fit, or the folder is of another call.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import portmert
    >>> two = "{0} ||| a b c x ||| LM= -1 ||| -1\n{0} ||| a b c d ||| LM= -2 ||| -2\n"
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     _ = (folder / "dev").write_text("".join(map(two.format, range(8))))
    ...     _ = (folder / "dev.ref").write_text("a b c d\n" * 8)
    ...     lists = portmert.Lists.read(folder / "dev", refs=folder / "dev.ref")
    ...     tuned = portmert.replicate(
    ...         lists, "bleu", replicas=2, out_dir=folder / "out", optimizer="mert:restarts=1"
    ...     )
    >>> list(tuned.weights.values)
    ['LM']
    """
    dev_lists = as_lists(lists)
    metric = registry.metric(dev_lists.metric_of(metric))
    dev_lists = dev_lists.scored_by([metric])
    tests = None if test is None else as_lists(test).like(dev_lists)
    data = _data(dev_lists, tests)
    annotator = None if dev_lists.annotator is None else registry.annotator(dev_lists.annotator)
    how = Search.of(search)
    with using(progress=progress):
        dev_lists = with_graph_strings(dev_lists, metric, how)
    prepared = read_dev_lists(dev_lists, [metric], how)
    with using(progress=progress), prepared as dev:
        if how.penalty and how.penalty.low != how.penalty.high:
            raise ConfigError(
                f"length penalty '{search.get('length_penalty')}' is a range, and weights of "
                f"several searches are averaged under one number; `portmert optimize "
                f"--length-penalty {search.get('length_penalty')}` finds it, then give it here"
            )
        prints = _fingerprint(dev, data, dev_lists, tests)
        of_graphs = tests if tests is not None and tests.strings is not None else None
        test_set = read_test_lists(dev, None if of_graphs else tests)
        if of_graphs:
            _check_same_features(dev.nbest, of_graphs.nbest)
        _check_unseen(dev, None if tests is None else tests.nbest, prints)
        texts = _texts_in_order(dev_lists, tests)
        for key, contents in texts.items():
            digests = [text_digest(text) for text in contents]
            prints[f"data.{key}"] = json.dumps(digests[0] if key.endswith("source") else digests)
        with open_run(
            Path(out_dir), prints, origin="what is asked for now", fresh=fresh
        ) as folder:
            if texts:
                data = with_texts(data, texts, folder.path / "texts")
            write_inputs(folder.path, data, annotator)
            run = ReplicaRun(folder, dev, test_set)
            numbers = range(1, replicas + 1)
            run.search_missing(numbers)
            if of_graphs:
                choosing = [run.averaged(numbers), *run.of_replicas(numbers).values()]
                choosing += [weights for weights, _ in run.rivals.values()]
                run.test = read_test_lists(dev, of_graphs.under(choosing))
            return run.finish(numbers, baselines=baselines)


def _check_unseen(dev: PreparedLists, test: NBest | None, prints: Mapping[str, str]) -> None:
    """Warn of a test set of which a part was tuned on."""
    if test is not None:
        warn_of(range_findings(dev.tuned_on.ranges, test, where="the test set"))
    if prints["data.references"] == prints["data.test_references"] != "[]":
        warn(
            "the references of the test set are those tuned on: the scores of the test set say "
            "nothing of unseen text"
        )
    elif test is not None and (line := overlap_finding(dev.nbest, test)):
        warn(line)


def _texts_in_order(lists: Lists, test: Lists | None) -> dict[str, tuple[str, ...]]:
    """Return texts that were joined by ids in the order of the lists, without the ids.

    Returns
    -------
    dict
        Key of `data` -> the text of each of its files.
    """
    by_key: dict[str, tuple[str, ...]] = {}
    for kind, side in (("", lists), ("test_", test)):
        if side is None or not side.is_joined:
            continue
        references, source = side.references, side.source_lines
        if source is not None:
            by_key[f"{kind}source"] = (as_lines(source),)
        if references is None:
            continue
        counts = np.diff(references.offsets)
        # A segment with fewer alternatives has its last one again: the best one counts.
        texts = [
            references.texts.take(references.offsets[:-1] + np.minimum(k, counts - 1))
            for k in range(counts.max())
        ]
        by_key[f"{kind}references"] = tuple(
            as_lines([" ".join(text.words(row)) for row in range(len(text))]) for text in texts
        )
        if references.texts.links is not None:
            by_key[f"{kind}reference_links"] = tuple(
                as_lines([format_links(text.links.row(row).tolist()) for row in range(len(text))])
                for text in texts
                if text.links is not None
            )
    return by_key


def _data(lists: Lists, test: Lists | None) -> ListsData:
    """Return the files of both sets of lists.

    Raises
    ------
    ConfigError
        Some lists or texts are not files.
    """

    def paths(name: str, value: Any) -> tuple[Path, ...]:
        values = (value,) if isinstance(value, Path | str) else tuple(value or ())
        if not all(isinstance(path, Path | str) for path in values):
            raise ConfigError(f"{name}: lists of files have {name} in files; give files")
        return tuple(map(Path, values))

    by_name: dict[str, Any] = {}
    for prefix, side in (("", lists), ("test_", test)):
        if side is None:
            continue
        if side.is_in_memory:  # `with_texts` names the texts that it writes
            continue
        files = side.paths if side.strings is None else side.strings.files
        source = paths("the source", () if side.source is None else (side.source,))
        by_name |= {
            f"{prefix}lists": paths("lists", files),
            f"{prefix}references": paths("references", side.refs),
            f"{prefix}source": source[0] if source else None,
            f"{prefix}reference_links": paths("links of references", side.ref_links),
        }
    steps = tuple(map(str, lists.pipeline.steps))
    return ListsData(**by_name, text=steps, text_model=lists.pipeline.model)


def _fingerprint(
    dev: PreparedLists, data: ListsData, lists: Lists, test: Lists | None
) -> dict[str, str]:
    """Return everything that the result depends on but the number of replicas: key -> value."""
    setup = dev.search.setup
    formats = [item.format for item in (lists, test) if item is not None]
    prints = {
        "command": "optimize",
        "portmert": portmert.__version__,
        "metric.name": dev.metric.name(),
        "optimizer": repr(setup.optimizer),
        "constraints": repr(setup.constraints),
        "prior": str(setup.prior),
        "seed": str(setup.seed),
        "length_penalty": str(dev.search.alpha),
        "nbest_format": " ".join(
            item if isinstance(item, str) else repr(item) for item in dict.fromkeys(formats)
        ),
    }
    if lists.systems:
        prints["systems"] = " ".join(lists.systems)
    if dev.preparation.annotator is not None:
        prints["annotator"] = dev.preparation.annotator.fingerprint
    for key, item in (("features", lists), ("test_features", test)):
        parsed = [content_of(Feature.parse(spec)) for spec in (item.features if item else ())]
        prints[f"data.{key}"] = json.dumps(parsed, sort_keys=True)
    reader_files = [
        Path(path) for item in (lists, test) if item is not None for path in item.reader.files
    ]
    contents: dict[str, Any] = {
        "nbest_files": reader_files,
        "metric": dev.metric,
        "start": [dict(item.values) for item in setup.starts],
        **{f"data.{item.name}": getattr(data, item.name) for item in fields(data)},
    }
    made_of = [item.strings for item in (lists, test) if item is not None and item.strings]
    if made_of:
        contents["graphs"] = [strings.content for strings in made_of]
    for key, value in contents.items():
        prints[key] = json.dumps(content_of(value), sort_keys=True)
    for key, item in (("lists", lists), ("test_lists", test)):
        if item is not None and item.is_in_memory:
            prints[f"data.{key}"] = digest(item.nbest)
    return prints


@dataclass(eq=False)
class ReplicaRun:
    """The searches of all replicas in one folder; finished ones are read from there."""

    folder: RunFolder
    dev: PreparedLists
    test: PreparedLists | None

    def search_missing(self, numbers: Iterable[int]) -> None:
        """Search with the seeds of the replicas that are not finished."""
        missing = [
            number
            for number in numbers
            if not is_finished(self.folder.replica(number) / "result.json")
        ]
        dev, setup, workers, phase = self.dev, self.dev.search.setup, current().cluster, ""
        setups = [replace(setup, seed=streams.replica(setup.seed, number)) for number in missing]
        nbest, stats = penalised(dev.nbest, dev.search.alpha), dev.stats
        if workers is not None:
            stats.complete()
            nbest, stats = workers.shared(without_texts(nbest)), workers.shared(stats)
            phase = "replicas"
        tasks = [(nbest, stats, dev.metric, setup) for setup in setups]
        ended = (workers or Team(1)).run(_weights_and_notices, tasks, phase=phase)
        for place, (optimized, lines) in ended:
            if missing[place] == 1:  # the first replica speaks for all
                for line in lines:
                    notice(line)
            self._write(self.folder.replica(missing[place]), setups[place].seed, optimized)

    def _write(self, folder: Path, seed: int, optimized: Optimized) -> None:
        folder.mkdir(exist_ok=True)
        if self.test is None:  # an output there is of weights found before
            shutil.rmtree(folder / "test", ignore_errors=True)
        self._write_weights(folder / "weights.json", optimized.weights)
        test = self._test(optimized.weights, folder / "test")  # of graphs it comes at the end
        finish(
            folder / "result.json",
            ReplicaResult(
                metric=self.dev.signature(self.dev.metric),
                seed=seed,
                dev_score=self._dev(optimized.weights, self.dev.search.alpha).score,
                unseen_score=optimized.unseen_score,
                unseen_error=optimized.unseen_error,
                test_score=None if test is None else test.score,
                warnings=optimized.warnings,
            ),
        )

    def _row(self, number: int, weights: FeatureWeights) -> dict[str, Any]:
        """Return what result.json says of a replica; write and score its choice."""
        folder = self.folder.replica(number)
        path = folder / "result.json"
        result = read_file(path, ReplicaResult)
        if self.test is not None and not has_digest(folder, "test/output.txt"):
            test = self._test(weights, folder / "test")
            result = replace(result, test_score=None if test is None else test.score)
            finish(path, result)
        warn_of(result.warnings)
        keys = ("seed", "dev_score", "unseen_score", "unseen_error", "test_score")
        return {"folder": folder.name, **{key: getattr(result, key) for key in keys}}

    def of_replicas(self, numbers: Iterable[int]) -> dict[str, FeatureWeights]:
        """Return the weights of each replica, by the name of its folder."""
        folders = map(self.folder.replica, numbers)
        return {
            folder.name: read_weights_file(folder / "weights.json").weights for folder in folders
        }

    def averaged(self, numbers: Iterable[int]) -> FeatureWeights:
        """Return the average of the replicas' weights."""
        by_name = self.of_replicas(numbers)
        searched = penalised(self.dev.nbest, self.dev.search.alpha)
        # With one hypothesis everywhere nothing is chosen, and all weights are of one size.
        sizes = [1.0] * len(by_name)
        if len(searched.texts) > len(searched):
            sizes = [
                spread_size(weights, searched, origin=name) or 1.0
                for name, weights in by_name.items()
            ]
        return averaged([*by_name.values()], sizes, constraints=self.dev.search.setup.constraints)

    def finish(self, numbers: Sequence[int], *, baselines: bool | MoreChoices) -> Replicas:
        """Average the weights of the replicas, score them, and write all."""
        all_weights, weights = list(self.of_replicas(numbers).values()), self.averaged(numbers)
        self._write_weights(self.folder.path / "weights.json", weights)
        rows = [self._row(*pair) for pair in zip(numbers, all_weights, strict=True)]
        searched = penalised(self.dev.nbest, self.dev.search.alpha)
        shares = contributions(searched, weights)
        before, dev_score = self._before(), self._dev(weights, self.dev.search.alpha)
        warn_if_worse(self.dev.metric, before["first"]["dev_score"], dev_score.score)
        self.dev.warn_of_negative(weights, self.dev.search.alpha)
        document = write_result(
            self.folder.path,
            self.dev.metric,
            rows,
            all_weights,
            (
                dev_score,
                None,
                self._test(weights, self.folder.path / "test"),
            ),
            scores=SCORES,
            warnings=warnings_so_far(),
            left_out=left_out_so_far(),
            before=before,
            shares=shares,
        )
        more_choices = baselines if callable(baselines) else None
        files = self._baselines(numbers, weights, more_choices) if baselines else {}
        path, metric = self.folder.path, self.dev.metric
        return Replicas(weights, document, metric, path, baselines=files, contributions=shares)

    def _before(self) -> dict[str, dict[str, Any]]:
        """Return the scores of the first hypotheses, and under the start weights."""
        dev, test = self.dev, self.test
        start = self._test(self.dev.start, None)
        first = self._score(dev.stats, dev.nbest.offsets[:-1])
        unseen = None
        if test is not None and test.metrics:
            unseen = self._score(test.stats, test.nbest.offsets[:-1]).score
        return {
            "first": {"dev_score": first.score, "test_score": unseen},
            "start": {
                "dev_score": self._dev(self.dev.start, dev.search.start.length_penalty).score,
                "test_score": None if start is None else start.score,
            },
        }

    def _write_weights(self, path: Path, weights: FeatureWeights) -> None:
        form = WeightsFile(
            weights, length_penalty=self.dev.search.alpha, tuned_on=self.dev.tuned_on
        )
        form.written(weights, path)

    def _dev(self, weights: FeatureWeights, alpha: float) -> Scored:
        return self._scored(self.dev.total(weights, alpha))

    def _score(self, stats: StatTable, rows: IntArray) -> Scored:
        return self._scored(stats.total(rows))

    def _scored(self, total: FloatArray) -> Scored:
        return Scored.of(self.dev.metric, total)

    def _test(self, weights: FeatureWeights, folder: Path | None) -> Scored | None:
        """Choose from the lists of the test set, if there is one; write and score the choice."""
        if self.test is None:
            return None
        read = self.test
        rows = read.best(weights, self.dev.search.alpha)
        scored = self._score(read.stats, rows) if read.metrics else None
        if folder is not None:
            folder.mkdir(exist_ok=True)
            write_text(folder / "output.txt", as_lines(Reranked.of(read.nbest.texts, rows).lines))
            if read.nbest.texts.links is not None:
                best = taken(read.nbest, rows, np.arange(len(rows) + 1))
                write_nbest(replace(best, sparse=None), folder / "nbest.gz", weights)
            if scored is not None:
                content = {"metric": self.dev.signature(self.dev.metric), **asdict(scored)}
                write_json(folder / "scores.json", content)
        return scored

    def _baselines(
        self, numbers: Sequence[int], average: FeatureWeights, more_choices: MoreChoices | None
    ) -> dict[str, Chosen]:
        """Write other choices from the test lists, and the links of the replicas' choices.

        The names are `replica-N`, `averaged`, `first`, `oracle`, and of `rivals` and
        `more_choices`.
        """
        if self.test is None:
            return {}
        read = self.test
        weights = self.of_replicas(numbers) | {"averaged": average}
        choices = {
            name: read.best(vector, self.dev.search.alpha) for name, vector in weights.items()
        }
        if self.dev.lists.strings is None:  # graphs have no order
            choices["first"] = read.nbest.offsets[:-1]
        for name, (vector, alpha) in self.rivals.items():
            choices[name] = read.best(vector, alpha)
        if more_choices is not None:
            choices |= more_choices(self.dev, read, average)
        if read.metrics:
            stats = read.stats
            stats.need(np.arange(len(stats.rows)))
            offsets, metric = read.nbest.offsets, self.dev.metric
            choices["oracle"] = oracle(stats.rows, offsets, metric, choices["averaged"])[1]
        return {
            name: _written(read.nbest, rows, self.folder.path / "test" / f"choice-{number}.txt")
            for number, (name, rows) in enumerate(choices.items(), 1)
        }

    @cached_property
    def rivals(self) -> dict[str, tuple[FeatureWeights, float]]:
        """What tuned weights must beat: name -> weights and their length penalty.

        The feature that scores best on the lists tuned on is `best single: FEATURE`, others are
        `only FEATURE`, each with its sign.
        """
        start, equal, alone = Rivals(self.dev).on()
        by_name = {START: start} if start else {}
        by_name |= {EQUAL: equal} if equal else {}
        for place, rival in enumerate(alone):
            kind = "only" if place else f"{SINGLE}:"
            by_name[f"{kind} {rival.sign}{rival.feature}"] = (rival.weights, 0.0)
        return by_name


def _written(nbest: NBest, rows: IntArray, path: Path) -> Chosen:
    """Write one hypothesis of each segment, and its links where the lists have them."""
    reranked = Reranked.of(nbest.texts, rows)
    write_text(path, as_lines(reranked.lines))
    if reranked.links is None:
        return Chosen(path, rows)
    write_text(path.with_suffix(".links"), as_lines(reranked.links))
    return Chosen(path, rows, path.with_suffix(".links"))


def as_lines(lines: Iterable[str]) -> str:
    """Return a text, a line each."""
    return "".join(f"{line}\n" for line in lines)


def read_test_lists(dev: PreparedLists, lists: Lists | None) -> PreparedLists | None:
    """Read the lists of the test set, if there are any; without a metric if it cannot score."""
    if lists is None:
        return None
    metric = dev.metric
    scorable = not metric.of_lists and (bool(lists.refs) or not metric.reads_references)
    scorable |= lists.nbest.statistics is not None and not scores_in([metric])
    scorable |= isinstance(metric, Outcome) and metric.key in lists.nbest.outcomes
    read = PreparedLists.of(lists, [metric] if scorable else [], dev.preparation, dev.search)
    _check_same_features(dev.nbest, read.nbest)
    if scorable:
        _ = read.stats
    elif lists.refs:
        notice(f"{metric.name()} has no scores of the test lists: they are not scored")
    return read


def with_texts(data: ListsData, texts: Mapping[str, tuple[str, ...]], folder: Path) -> ListsData:
    """Write texts into a folder, and name them in place of those that they were made from."""
    folder.mkdir(exist_ok=True)
    by_key: dict[str, Any] = {}
    for key, contents in texts.items():
        paths = tuple(folder / f"{key}-{number}" for number in range(1, len(contents) + 1))
        for path, text in zip(paths, contents, strict=True):
            write_text(path, text)
        by_key[key] = paths if isinstance(getattr(data, key), tuple) else paths[0]
    return replace(data, **by_key)


def _check_same_features(dev: NBest, test: NBest) -> None:
    """Raise `InputError` where the lists of the test set have other dense features."""
    ours, theirs = dict(dev.feature_names), dict(test.feature_names)
    for lists, missing in (
        ("the lists of the test set", sorted(ours.keys() - theirs)),
        ("the lists tuned on", sorted(theirs.keys() - ours)),
    ):
        if missing:
            raise InputError(
                f"{lists} lack {', '.join(missing)}, which the others have; give both the same "
                f"features (--feature NAME=FILE for the lists tuned on, --test-feature NAME=FILE "
                f"for those of the test set)"
            )


def _weights_and_notices(
    nbest: NBest, stats: StatTable, metric: Metric, setup: Setup
) -> tuple[Optimized, list[str]]:
    """Search; return the result and the notices."""
    with collected_notices() as lines:
        optimized = find_weights(nbest, stats, metric, setup)
    return optimized, lines
