"""Cross-validation: tune on half of the segments, choose on the other, compare all choices."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

import portmert
from portmert.metrics._base import IntArray, Metric
from portmert.tuner.api import optimizing
from portmert.tuner.api.lists import ListsLike, as_lists
from portmert.tuner.api.rivals import Rivals
from portmert.tuner.api.texts import PathLike, TextLike
from portmert.tuner.base import arguments, files, json_toml, streams
from portmert.tuner.base.context import Progress, using
from portmert.tuner.base.errors import ConfigError, InputError, counted, suggest
from portmert.tuner.base.numbers import NonNegative, Positive
from portmert.tuner.base.threads import team
from portmert.tuner.base.warn import (
    collected_notices,
    notice,
    warn_of,
    with_warnings,
)
from portmert.tuner.components import registry
from portmert.tuner.components.registry import MetricLike
from portmert.tuner.evaluation.comparison import choices as planned
from portmert.tuner.evaluation.comparison.report import blocks_of
from portmert.tuner.evaluation.comparison.scores import Counted
from portmert.tuner.evaluation.comparison.systems import TestSet, find_groups
from portmert.tuner.evaluation.comparison.without_texts import compared_by_scores
from portmert.tuner.evaluation.document import Document, Paragraph, on_page
from portmert.tuner.evaluation.report import Report
from portmert.tuner.evaluation.significance import Resampling
from portmert.tuner.nbest.model import NBest, best_hypotheses, digest, without_texts
from portmert.tuner.runs.records import is_kept, keep
from portmert.tuner.search import DEFAULT_OPTIMIZER, weight_search
from portmert.tuner.search.constraints import columns_of
from portmert.tuner.search.length_penalty import penalised
from portmert.tuner.search.optimizers._base import Optimizer
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.texts.groups import Groups
from portmert.tuner.weights.feature_weights import FeatureWeights

OptimizerLike = str | Optimizer
SAMPLES = 1000
"""Samples of resampling: with several splits the verdict is of a t-test, which needs no more."""


class OfSplits(Resampling):
    """Resampling of outputs by splits. Two halves share half of their segments on average."""

    common = 0.5


@arguments.checked
def crossval(
    lists: ListsLike,
    metric: MetricLike | Sequence[MetricLike] = (),
    *,
    optimizer: OptimizerLike | Sequence[OptimizerLike] = DEFAULT_OPTIMIZER,
    without: Sequence[str | Sequence[str]] = (),
    prior: NonNegative | Sequence[NonNegative] = 0.0,
    splits: Positive = 5,
    seeds: Positive = 1,
    size: Positive | None = None,
    groups: TextLike | None = None,
    out_dir: PathLike | None = None,
    progress: Progress | None = None,
    **search: Unpack[optimizing.CommonOptions],
) -> Report:
    """Tune on half of the segments and choose on the other half, for every choice given.

    A choice is a metric, an optimizer, a prior and a set of features to leave out. Each split
    halves the segments at random. Weights tuned on one half choose on the other, so a split makes
    one output of all segments. The outputs are replicas, compared with those of the first choice
    as `compare` does; the rows that need no tuning are those of `rerank_tune`.

    Parameters
    ----------
    lists
        The n-best lists with their references, `Lists`; or the names of files.
    metric : NAME[:OPTION=VALUE,...]
        Metric to tune on. Every metric scores each result. Left out for the only outcome.
    optimizer : NAME[:OPTION=VALUE,...]
        Optimizer, for example mert:searches_per_feature=400.
    without : NAME[,NAME...]
        Also leave out this feature, or these together.
    prior
        How strongly the weights are drawn towards the start weights; 0: not at all.
    splits
        Number of random splits into two halves. Each half is tuned on, the other one scored.
    seeds
        Number of searches on each half, each with its own seed.
    size
        Tune on only this many segments of the half. Default: on all.
    groups : FILE[#KEY]
        The group of each segment, as in `compare`. A half has whole groups.
    out_dir : DIR
        Keep the result of each search in this folder. A killed command then continues, and one
        with more choices, splits or seeds runs only the searches that are missing.
    progress, **search
        As in `optimize`, with phases `"annotating"` and `"tuning"` and options `weights` (the
        start, also scored untuned), `constraints`, `seed`, `threads` and `executor`.

    Raises
    ------
    PortmertError
        Lists, references and metrics do not fit, or an option is wrong.
    ValueError
        There is no metric or optimizer, or `splits`, `seeds` or `size` is below 1.

    Examples
    --------
    >>> import portmert
    >>> records = [
    ...     {"id": n, "text": f"a b c {word}", "features": {"LM": lm, "TM": tm}}
    ...     for n in range(8) for word, lm, tm in (("x", -1, -2), ("d", -2, -1))
    ... ]
    >>> lists = portmert.Lists.from_records(records, refs=[["a b c d"] * 8])
    >>> report = portmert.crossval(lists, "bleu", splits=2)
    >>> {row["system"]: row["score"] for row in report.document["scores"][:3]}
    {'bagged': 1.0, 'first': 0.0, 'equal weights': 1.0}
    """
    how = optimizing.Search.of(search, optimizing.CommonOptions)
    dev_lists = as_lists(lists)
    if min(splits, seeds, 1 if size is None else size) < 1:
        raise ValueError("splits, seeds and size are above 0")
    is_one = isinstance(metric, str) or not isinstance(metric, Sequence)
    several: Any = [metric] if is_one else metric or [None]
    metrics = registry.labelled([dev_lists.metric_of(each) for each in several])
    choices = _choices(list(metrics), _as_list(optimizer), without, _as_list(prior))
    folder = None if out_dir is None else Path(out_dir)
    with (
        using(progress=progress),
        optimizing.read_dev_lists(dev_lists, list(metrics.values()), how) as dev,
    ):
        stats = {
            x: dev.stats if y is dev.metric else dev.statistics(y) for x, y in metrics.items()
        }
        test = TestSet(groups=groups)
        grouped = find_groups(test, (), len(dev.nbest), dev.nbest.ids, "the lists")
        nbest = penalised(dev.nbest, how.start.length_penalty)
        plan = CrossPlan(nbest, metrics, stats, dev.search.setup, splits, seeds, size, grouped)
        document = _compared(dev, plan, choices, folder)
    if folder is not None:
        text = json_toml.to_json(with_warnings(document), ensure_ascii=False) + "\n"
        files.write_text(folder / "result.json", text)
    return Report(_document(document), document)


@dataclass(frozen=True)
class Choice:
    """One way to find weights: `without` are features left out."""

    tuned_on: str
    optimizer: Optimizer
    without: tuple[str, ...] = ()
    prior: float = 0.0


class Cell(NamedTuple):
    """The result of one search."""

    weights: FeatureWeights
    warnings: Sequence[str]


@dataclass(frozen=True, eq=False)
class CrossPlan:
    """What is searched; `stats` are those of all hypotheses. See `crossval`."""

    nbest: NBest
    metrics: Mapping[str, Metric]
    stats: Mapping[str, StatTable]
    setup: weight_search.Setup
    splits: int = 5
    seeds: int = 1
    size: int | None = None
    groups: Groups | None = None

    def __post_init__(self) -> None:
        unit = "segment" if self.groups is None else "group"
        if len(self.nbest if self.groups is None else self.groups) < 2:
            raise InputError(f"cross-validation halves the {unit}s; the lists have only one")
        half = min(len(self.parts(0, side)[1]) for side in (0, 1))
        if self.size is not None and self.size > half:
            raise InputError(
                f"{counted(self.size, 'segment')} to learn from, but half of the "
                f"{len(self.nbest)} segments are {half}; the others are judged"
            )

    def parts(self, split: int, side: int) -> tuple[IntArray, IntArray]:
        """Return the segments learnt from and those judged, both rising; splits count from 0."""
        of_segment = np.arange(len(self.nbest)) if self.groups is None else self.groups.of_segment
        units = int(of_segment.max()) + 1
        place = streams.split(self.setup.seed, split + 1).permutation(units)[of_segment]
        order = np.argsort(place, kind="stable")
        halves = np.split(order, [np.count_nonzero(place < units // 2)])
        return np.sort(halves[side][: self.size]), np.sort(halves[1 - side])

    def put(self, rows: IntArray, best: IntArray, split: int, side: int) -> None:
        """Set (2, S) rows of a split: those of the half learnt from, and of the other one."""
        for own, half in enumerate((self.parts(split, 1 - side)[1], self.parts(split, side)[1])):
            rows[own, half] = best[half]

    def searched(self, choice: Choice, split: int, repeat: int, side: int) -> tuple[Cell, Any]:
        """Search on a half; return the cell and the notices."""
        seed = streams.split_search(self.setup.seed, split + 1, 2 * repeat + side + 1)
        setup = replace(self.setup, optimizer=choice.optimizer, seed=seed, prior=choice.prior)
        with collected_notices() as lines:
            found = weight_search.find_weights(
                leave_out(self.nbest, choice.without), self.stats[choice.tuned_on],
                self.metrics[choice.tuned_on], setup, segments=self.parts(split, side)[0],
            )  # fmt: skip
        return Cell(found.weights, found.warnings), lines


def leave_out(nbest: NBest, names: Sequence[str]) -> NBest:
    """Return the lists with some features, dense or sparse, set to 0 in all hypotheses."""
    if not names:
        return nbest
    features, sparse = nbest.features.copy(order="F"), nbest.sparse
    sparse_names = () if sparse is None else sparse.names
    for name in set(names) - set(sparse_names):
        try:
            features[:, columns_of(name, nbest.feature_names)] = 0.0
        except ConfigError:
            every = (*(dense for dense, _ in nbest.feature_names), *sparse_names)
            fault = f"--without {name}: the lists have no such feature{suggest(name, every)}"
            raise ConfigError(fault) from None
    if sparse is not None:
        stays = ~np.isin(sparse.names, names)[sparse.columns]
        sparse = replace(sparse, values=sparse.values * stays)
    return replace(nbest, features=features, sparse=sparse)


def tuned(
    plan: CrossPlan, choices: Mapping[str, Choice], folder: Path | None, data: str
) -> dict[str, IntArray]:
    """Tune every choice on every half; return what each chooses: (2, R, S) rows of the lists.

    First by weights that learnt from a segment's half, then by those of the other half; R are
    splits and seeds. In a folder the weights of each search are kept, in a file that is named
    after all that they depend on (`data` are the lists). A later call reads them there.
    """
    workers, shared_plan = team(), plan
    if workers.is_remote:
        for stats in plan.stats.values():
            stats.complete()
        shared_plan = replace(plan, nbest=without_texts(plan.nbest))
    if folder is not None:
        files.make_folder(folder / "cells")
        files.clear_parts(folder / "cells")
    cells = list(product(choices, range(plan.splits), range(plan.seeds), (0, 1)))
    tasks = [(choices[name], *numbers) for name, *numbers in cells]
    hashes = [files.text_digest(repr((data, plan.size, plan.setup, task))) for task in tasks]
    paths = [folder and folder / "cells" / f"{hashed[7:31]}.json" for hashed in hashes]
    kept = {number: cell for number, path in enumerate(paths) if (cell := _read(path))}
    missing = [number for number in range(len(cells)) if number not in kept]
    shared, notices = workers.shared(shared_plan), dict[int, Sequence[str]]()
    shared_tasks = [(shared, *tasks[number]) for number in missing]
    for place, (cell, lines) in workers.run(CrossPlan.searched, shared_tasks, phase="tuning"):
        number = missing[place]
        kept[number], notices[number] = cell, lines
        if (path := paths[number]) is not None:
            content = {"weights": dict(cell.weights.values), "warnings": cell.warnings}
            keep(path, json_toml.to_json(content) + "\n")
    shape = (2, plan.splits * plan.seeds, len(plan.nbest))
    rows = {name: np.empty(shape, dtype=np.int64) for name in choices}
    lists = {name: leave_out(plan.nbest, choice.without) for name, choice in choices.items()}
    for number, (name, split, repeat, side) in enumerate(cells):
        best = best_hypotheses(lists[name], kept[number].weights)
        plan.put(rows[name][:, split * plan.seeds + repeat], best, split, side)
        if split == repeat == side == 0 and not choices[name].without:
            for line in notices.get(number, ()):
                notice(f"first split: {line}")
            warn_of(f"first split: {line}" for line in kept[number].warnings)
    return rows


def _read(path: Path | None) -> Cell | None:
    """Return an earlier result; None if there is none, or if the file has changed."""
    if path is None or not is_kept(path):
        return None
    content = json_toml.parse_json(files.read_bytes(path))
    return Cell(FeatureWeights.of(content["weights"]), content["warnings"])


def _rivals(dev: optimizing.PreparedLists, plan: CrossPlan) -> dict[str, IntArray]:
    """Return what needs no search, as `tuned`; signs and the best single feature are learnt."""
    rivals, shape = Rivals(dev), (2, plan.splits, len(plan.nbest))
    rows = {planned.FIRST: np.broadcast_to(plan.nbest.offsets[:-1], shape)}
    for split, side in product(range(plan.splits), (0, 1)):
        start, equal, alone = rivals.on(plan.parts(split, side)[0])
        weights = {planned.START: start, planned.EQUAL: equal}
        best = {name: dev.best(*pair) for name, pair in weights.items() if pair is not None}
        if alone:
            best[planned.SINGLE] = alone[0].choices
        best |= {f"only {x.feature}": x.choices for x in alone}
        for name, choices in best.items():
            of_name = rows.setdefault(name, np.empty(shape, dtype=np.int64))
            plan.put(of_name[:, split], choices, split, side)
    return {name: np.repeat(x, plan.seeds, axis=1) for name, x in rows.items()}


def _compared(
    dev: optimizing.PreparedLists,
    plan: CrossPlan,
    choices: Mapping[str, Choice],
    folder: Path | None,
) -> dict[str, Any]:
    """Tune every choice on every half, and compare what all choose on the others."""
    signatures = {label: dev.signature(metric) for label, metric in plan.metrics.items()}
    of_stats = [x.rows.tobytes() for x in plan.stats.values() if folder and not x.is_lazy]
    tokens = dev.references.texts.tokens.values.tobytes()
    data = repr((portmert.__version__, signatures, folder and digest(dev.nbest)))
    data += hashlib.sha256(b"|".join([tokens, *of_stats])).hexdigest()
    rows = tuned(plan, choices, folder, data) | _rivals(dev, plan)

    def counts(half: int) -> list[Counted]:
        """Return the statistics of what is chosen on the half learnt from (0) or the other (1)."""
        by_name = [rows_of_choice[half] for rows_of_choice in rows.values()]
        return [
            Counted(
                label, metric, [table.rows_of(x.ravel()).reshape(*x.shape, -1) for x in by_name]
            )
            for (label, metric), table in zip(
                plan.metrics.items(), plan.stats.values(), strict=True
            )
        ]

    once = "one search on each half: how much tuning varies is not tested"
    document = compared_by_scores(
        counts(1),
        dict.fromkeys(rows, plan.splits * plan.seeds),
        resampling=OfSplits(SAMPLES, plan.setup.seed),
        groups=plan.groups,
        notes=[once] if plan.splits * plan.seeds == 1 else [],
    )
    _, *others = choices
    plain = {planned.FIRST, planned.START, planned.EQUAL, planned.SINGLE}
    document = planned.answered(document, [*others, *(plain & rows.keys())])
    for described in document["metrics"]:
        described["signature"] = signatures[described["label"]]
    seen = {x.label: dict(zip(rows, x.corpus_scores(), strict=True)) for x in counts(0)}
    sizes = {"splits": plan.splits, "seeds": plan.seeds, "learnt_from": len(plan.parts(0, 0)[0])}
    return {**document, "kind": "crossval", **sizes, "seen": seen}


def _document(results: Mapping[str, Any]) -> Document:
    splits, seeds, learnt = results["splits"], results["seeds"], results["learnt_from"]
    title = (
        f"Learnt from {counted(learnt, 'segment')}, chosen on the others; "
        f"{counted(splits, 'split')}, {counted(seeds, 'seed')}"
    )
    note = (
        "seen: score on the half learnt from; unseen: on the other half, mean over splits and "
        "seeds ± standard deviation; "
    )
    blocks = [
        *(Paragraph(line, "headline") for line in results["answers"]),
        *(Paragraph(line, "note") for line in results["notes"]),
        planned.choices_table(results, title, "unseen", note),
        *(Paragraph(x["signature"], "signature").only("text") for x in results["metrics"]),
        *on_page(blocks_of(results)),
    ]
    return Document("Cross-validation", blocks, about=f"portmert {results['portmert']}")


def _choices(
    labels: Sequence[str],
    optimizers: Sequence[OptimizerLike],
    without: Sequence[str | Sequence[str]],
    priors: Sequence[float],
) -> dict[str, Choice]:
    """Return every combination by its name: the optimizer, and all else that differs."""
    by_name = {x if isinstance(x, str) else _as_text(x): registry.optimizer(x) for x in optimizers}
    if not labels or not by_name:
        raise ValueError("give a metric and an optimizer")
    if not priors:
        raise ValueError("give a prior; 0 is none")
    left_out = [(), *((item,) if isinstance(item, str) else tuple(item) for item in without)]
    choices = {}
    for label, names, prior, by in product(labels, left_out, priors, by_name):
        name = by + (f" on {label}" if len(labels) > 1 else "")
        name += f", prior {prior:g}" if len(priors) > 1 else ""
        name += f", without {', '.join(names)}" if names else ""
        choices[name] = Choice(label, by_name[by], names, prior)
    return choices


def _as_text(optimizer: Optimizer) -> str:
    """Return an optimizer as on the command line, with the options that are not the default."""
    values = ((x.name, getattr(optimizer, x.name), x.default) for x in fields(optimizer))
    options = [f"{name}={value}" for name, value, default in values if value != default]
    return ":".join(filter(None, [optimizer.name(), ",".join(options)]))


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
