"""Cross-validation: tune on half of the segments and score the other half, for every choice."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from portmert.metrics._base import Metric
from portmert.tuner.api import optimizing
from portmert.tuner.api.known_statistics import Mean
from portmert.tuner.api.lists import Lists, ListsLike, as_lists
from portmert.tuner.api.texts import PathLike
from portmert.tuner.base import arguments, files, json_toml
from portmert.tuner.base.context import Progress, using
from portmert.tuner.base.numbers import NonNegative, Positive
from portmert.tuner.base.warn import notices_once, with_warnings
from portmert.tuner.components import registry
from portmert.tuner.evaluation.report import Report
from portmert.tuner.search import DEFAULT_OPTIMIZER
from portmert.tuner.search.length_penalty import penalised
from portmert.tuner.search.optimizers._base import Optimizer

from .cells import Choice, CrossPlan, measure
from .report import as_json, document_of

OptimizerLike = str | Optimizer


@arguments.checked
@notices_once()
def crossval(
    lists: ListsLike,
    metric: str | Metric | Sequence[str | Metric] = (),
    *,
    optimizer: OptimizerLike | Sequence[OptimizerLike] = DEFAULT_OPTIMIZER,
    without: Sequence[str | Sequence[str]] = (),
    prior: NonNegative | Sequence[NonNegative] = 0.0,
    splits: Positive = 10,
    seeds: Positive = 1,
    size: Positive | None = None,
    out_dir: PathLike | None = None,
    progress: Progress | None = None,
    **search: Unpack[optimizing.CommonOptions],
) -> Report:
    """Tune on half of the segments and score the other half, for every choice given.

    The segments are halved at random, `splits` times. A choice is a metric, an optimizer, a prior
    and a set of features to leave out. For each choice, weights are tuned on one half, and every
    metric scores them on the other half. Differences from the first choice are paired over splits.
    Rows that need no search follow: the first hypotheses as the system ranked them, the best by
    each dense feature alone, and the start weights.

    Parameters
    ----------
    lists
        The n-best lists with their references, `Lists`; or the names of files.
    metric : NAME[:OPTION=VALUE,...]
        Metric to tune on. All of them score the result of each choice. None for lists of scores.
    optimizer : NAME[:OPTION=VALUE,...]
        Optimizer, for example mert:searches_per_feature=400.
    without : NAME[,NAME...]
        Also try without this feature, or without these together.
    prior
        How strongly the weights are drawn towards the start weights; 0: not at all.
    splits
        Number of random splits into two halves: one to tune on, one to score. Halves replace the
        usual ten folds because the score of a tenth of the segments is too uncertain.
    seeds
        Number of searches on each half, each with its own seed.
    size
        Tune on only this many segments of the half. Default: on all.
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
    >>> {row["name"]: row["judged"]["bleu"]["unseen"] for row in report.document["choices"]}
    {'bagged': 1.0, 'first': 0.0, 'only LM': 1.0, 'only TM': 1.0, 'start weights': 0.0}
    """
    how = optimizing.Search.of(search, optimizing.CommonOptions)
    dev_lists = as_lists(lists)
    if min(splits, seeds, 1 if size is None else size) < 1:
        raise ValueError("splits, seeds and size are above 0")
    several = [metric] if isinstance(metric, str | Metric) else metric
    metrics = registry.labelled([dev_lists.metric_of(each) for each in several])
    dev_lists = dev_lists.scored_by(metrics.values())
    labels = list(metrics) or [Mean.name()] * (dev_lists.counted is not None)
    choices = _choices(labels, _as_list(optimizer), without, _as_list(prior))
    folder = None if out_dir is None else Path(out_dir)
    sizes: dict[str, Any] = {"splits": splits, "seeds": seeds, "size": size}
    with using(progress=progress):
        document = _judged(dev_lists, metrics, choices, sizes, how, folder)
    if folder is not None:
        text = json_toml.to_json(with_warnings(document), ensure_ascii=False) + "\n"
        files.write_text(folder / "result.json", text)
    return Report(document_of(document), document)


def _judged(
    dev_lists: Lists,
    metrics: Mapping[str, Metric],
    choices: Sequence[Choice],
    sizes: Mapping[str, Any],
    search: optimizing.Search,
    folder: Path | None,
) -> dict[str, Any]:
    """Tune and judge every choice on every split."""
    first, *further = metrics.values() or (None,)
    with optimizing.read_dev_lists(dev_lists, first, search, also=further) as dev:
        setup = dev.setup
        stats = {
            label: dev.stats if metric is dev.metric else dev.statistics(metric)
            for label, metric in (metrics or {choices[0].tuned_on: dev.metric}).items()
        }
        plan = CrossPlan(
            penalised(dev.nbest, dev.start_alpha),
            metrics or {choices[0].tuned_on: dev.metric},
            stats,
            start=setup.starts[0] if setup.starts else None,
            constraints=setup.constraints,
            seed=setup.seed,
            **sizes,
        )
        signatures = {
            label: dev.name if metric is dev.metric else dev.signature(metric)
            for label, metric in plan.metrics.items()
        }
        data = "" if folder is None else _digest(dev, plan, signatures)
        return as_json(plan, measure(plan, choices, folder=folder, data=data), signatures)


def _digest(dev: optimizing.DevLists, plan: CrossPlan, signatures: Mapping[str, str]) -> str:
    """Return a hash of all that searches on the lists depend on."""
    nbest = plan.nbest
    hashed = hashlib.sha256(repr((signatures, nbest.feature_names)).encode())
    arrays: list[NDArray[Any]] = [nbest.features, nbest.offsets]
    if nbest.sparse is not None:
        hashed.update("\n".join(nbest.sparse.names).encode("utf-8", "surrogatepass"))
        arrays += [nbest.sparse.offsets, nbest.sparse.columns, nbest.sparse.values]
    for table in plan.stats.values():
        if not table.is_lazy:
            arrays.append(table.rows)
            continue
        # What is counted later follows from the texts.
        for texts in (dev.scored.texts, dev.references.texts):
            arrays += [texts.tokens.values, texts.tokens.offsets]
            hashed.update("\n".join(texts.vocabulary.words).encode("utf-8", "surrogatepass"))
    for array in arrays:
        hashed.update(f"{array.shape}".encode())
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


def _choices(
    labels: Sequence[str],
    optimizers: Sequence[OptimizerLike],
    without: Sequence[str | Sequence[str]],
    priors: Sequence[float],
) -> list[Choice]:
    """Return every combination; the first leaves no feature out."""
    by_name = {
        item if isinstance(item, str) else _as_text(item): registry.optimizer(item)
        for item in optimizers
    }
    if not labels or not by_name:
        raise ValueError("give a metric and an optimizer")
    if not priors:
        raise ValueError("give a prior; 0 is none")
    left_out = [(), *((item,) if isinstance(item, str) else tuple(item) for item in without)]
    return [
        Choice(metric, by, optimizer, names, prior)
        for metric, names, prior, (by, optimizer) in product(
            labels, left_out, priors, by_name.items()
        )
    ]


def _as_text(optimizer: Optimizer) -> str:
    """Return an optimizer as on the command line, with the options that are not the default."""
    options = [
        f"{field.name}={value}"
        for field in fields(optimizer)
        if (value := getattr(optimizer, field.name)) != field.default
    ]
    return ":".join(filter(None, [optimizer.name(), ",".join(options)]))


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
