"""Cross-validation: tune on half of the segments and score the other half, for every choice."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Unpack

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

from . import cells
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
    timing: bool = True,
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
    timing
        Whether to report measured times, the only values that differ between equal calls.
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
    >>> found = portmert.crossval(lists, "bleu", splits=2, timing=False)
    >>> {one["name"]: one["judged"]["bleu"]["unseen"] for one in found.document["choices"]}
    {'bagged': 1.0, 'first': 0.0, 'only LM': 1.0, 'only TM': 1.0, 'start weights': 0.0}
    """
    how = optimizing.Search.of(search, optimizing.CommonOptions)
    dev_lists = as_lists(lists)
    if min(splits, seeds, 1 if size is None else size) < 1:
        raise ValueError("splits, seeds and size are above 0")
    metrics = registry.labelled(metric)
    dev_lists = dev_lists.scored_by(metrics.values())
    labels = list(metrics) or [Mean.name()] * (dev_lists.counted is not None)
    choices = _choices(labels, _as_list(optimizer), without, _as_list(prior))
    folder = None if out_dir is None else Path(out_dir)
    sizes: dict[str, Any] = {"splits": splits, "seeds": seeds, "size": size, "timing": timing}
    with using(progress=progress):
        document = _judged(dev_lists, metrics, choices, sizes, how, folder)
    return _written(document, folder)


def _judged(
    dev_lists: Lists,
    metrics: Mapping[str, Metric],
    choices: list[cells.Choice],
    sizes: Mapping[str, Any],
    search: optimizing.Search,
    folder: Path | None,
) -> dict[str, Any]:
    """Tune and judge every choice on every split."""
    with optimizing.read_dev_lists(
        dev_lists,
        next(iter(metrics.values()), None),
        search,
        also=list(metrics.values())[1:],
    ) as dev:
        setup = dev.setup
        judged = metrics or {choices[0].tuned_on: dev.metric}
        plan = cells.CrossPlan(
            penalised(dev.nbest, dev.start_alpha),
            {name: _judge(dev, judge) for name, judge in judged.items()},
            start=setup.starts[0] if setup.starts else None,
            constraints=setup.constraints,
            seed=setup.seed,
            **sizes,
        )
        measured = cells.measure(plan, choices, folder=folder)
    return as_json(plan, measured)


def _as_text(optimizer: Optimizer) -> str:
    """Return an optimizer as on the command line, with the options that are not the default."""
    options = [
        f"{field.name}={value}"
        for field in fields(optimizer)
        if (value := getattr(optimizer, field.name)) != field.default
    ]
    return ":".join(filter(None, [optimizer.name(), ",".join(options)]))


def _choices(
    labels: Sequence[str],
    algorithms: Sequence[OptimizerLike],
    without: Sequence[str | Sequence[str]],
    priors: Sequence[float],
) -> list[cells.Choice]:
    """Return every combination of a metric, an optimizer, features left out and a prior."""
    optimizers = {
        item if isinstance(item, str) else _as_text(item): registry.optimizer(item)
        for item in algorithms
    }
    if not labels or not optimizers:
        raise ValueError("give a metric and an optimizer")
    if not priors:
        raise ValueError("give a prior; 0 is none")
    left_out = [(item,) if isinstance(item, str) else tuple(item) for item in without]
    return cells.choices_of(labels, optimizers, left_out, priors)


def _written(document: dict[str, Any], folder: Path | None) -> Report:
    """Write the results into the folder, if there is one."""
    if folder is not None:
        text = json_toml.to_json(with_warnings(document), ensure_ascii=False) + "\n"
        files.write_text(folder / "result.json", text)
    return Report(document_of(document), document)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _judge(dev: optimizing.DevLists, metric: Metric) -> cells.Judge:
    """Return a metric with the statistics of all hypotheses."""
    if metric is dev.metric:
        table, signature = dev.stats, dev.name
    else:
        table, signature = dev.statistics(metric), dev.signature(metric)
    if not table.is_lazy:
        return cells.Judge(metric, table, signature, cells.digest(table.rows))
    # Statistics that come later follow from the texts.
    texts = (dev.scored.texts.tokens, dev.references.texts.tokens)
    parts = (part for tokens in texts for part in (tokens.values, tokens.offsets))
    words = "\n".join(dev.scored.texts.vocabulary.words)
    return cells.Judge(metric, table, signature, cells.digest(words, *parts))
