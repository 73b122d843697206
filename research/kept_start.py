"""Is the search too careful? How often it keeps the start weights, and what other rules gain.

python -m research.kept_start run POOLS.toml RECORDS.jsonl [--pools NAME ...]
    [--metrics NAME ...] [--sizes N ...] [--starts own poor random near] [--splits FROM TO]
    [--options KEY=N,KEY=N ...]
python -m research.kept_start rules RECORDS.jsonl ... [--pools NAME ...]
python -m research.kept_start options RECORDS.jsonl ...

`run` writes a record of each case: a pool of lists, a metric, a number of dev segments, start
weights, a split of the segments, options of the search. It does not repeat cases that RECORDS has.
POOLS.toml has a table for each pool: lists, refs, source, ref_links and features as `Lists.read`
takes them, and the start weights own and poor (a file, or a table).

A case learns from the dev segments once. Its record holds what each rule needs: for the start
weights and each share of learnt weights the score on held-out segments, the errors of their
differences, and the score on the test segments. These were neither tuned on nor used for the start
weights `near`. So `rules` compares rules without another search. `options` compares options of the
search, paired by split; 0 dev segments means half of them.
"""

import argparse
import gzip
import json
import time
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy.stats import t as student

import portmert
from portmert.tuner.base import streams
from portmert.tuner.base.context import using
from portmert.tuner.base.tables import aligned
from portmert.tuner.components import registry
from portmert.tuner.nbest.model import best_hypotheses
from portmert.tuner.search import unseen, weight_search
from portmert.tuner.search.list_statistics import statistics_table
from portmert.tuner.search.optimizers import _mixtures, bagged
from portmert.tuner.search.problem import finite, oriented_scores
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights

NEAR = 4
"""The start weights `near` are learnt from one NEARth of the segments, apart from all others."""
FEWEST = 100
"""Test segments of a case."""
SHARES = (0.0, *_mixtures.SHARES)


class Pool:
    """Lists and the statistics of a metric."""

    def __init__(self, table: Mapping[str, Any], metric: str) -> None:
        paths = {
            key: table[key] for key in ("refs", "source", "ref_links", "features") if key in table
        }
        lists = portmert.Lists.read(table["lists"], **paths)
        self.table, self.nbest, self.metric = table, lists.nbest, registry.metric(metric)
        assert lists.references is not None
        self.stats = statistics_table(lists.nbest, lists.references, self.metric)
        self.near = cache(self.learnt_elsewhere)

    def parts(self, size: int, split: int) -> tuple[Any, Any, Any]:
        """Return dev segments, test segments and those to learn the start weights `near` from."""
        segments = len(self.nbest)
        size = size or segments // 2
        order = np.random.default_rng(split).permutation(segments)
        others = segments // NEAR
        if segments - size - others < FEWEST:
            others = 0
        dev, near, test = np.split(order, [size, size + others])
        return np.sort(dev), np.sort(test), np.sort(near)

    def start(self, name: str, split: int, size: int) -> FeatureWeights | None:
        """Return start weights; None if there are no segments to learn them from."""
        if name == "near":
            segments = self.parts(size, split)[2]
            return self.near(tuple(segments.tolist()), split) if len(segments) else None
        if name == "random":
            own = self.filled("own")
            vector = own.vector(self.nbest.feature_names)
            spread = np.sqrt(np.mean(self.nbest.features**2, axis=0)) + 1e-9
            drawn = np.random.default_rng(split).normal(size=len(vector)) / spread
            return FeatureWeights.from_vector(self.nbest.feature_names, drawn)
        return self.filled(name)

    def filled(self, name: str) -> FeatureWeights:
        """Return weights of the table; features that it does not name have weight 0."""
        given = self.table[name]
        values = dict(read_weights(Path(given)).values) if isinstance(given, str) else given
        return FeatureWeights(
            {
                feature: tuple(np.broadcast_to(values.get(feature, 0.0), count).tolist())
                for feature, count in self.nbest.feature_names
            }
        )

    def learnt_elsewhere(self, segments: tuple[int, ...], split: int) -> FeatureWeights:
        """Return what the default learns from other segments."""
        setup = weight_search.Setup(bagged.Bagged(), starts=(self.filled("own"),), seed=split + 1)
        return weight_search.find_weights(
            self.nbest, self.stats, self.metric, setup, segments=np.array(segments)
        ).weights

    def score(self, weights: FeatureWeights, segments: Any) -> float:
        """Return the score of weights on some segments, as `rerank` chooses."""
        return self.stats.score(self.metric, best_hypotheses(self.nbest, weights)[segments])


def case(
    pool: Pool, size: int, split: int, start: FeatureWeights, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Learn once, as the default does, and return what rules need and what they would get."""
    dev, test, _ = pool.parts(size, split)
    optimizer = bagged.Bagged(**options)
    setup = weight_search.Setup(optimizer, starts=(start,), seed=split + 1)
    space = weight_search._search_space(pool.nbest, pool.stats, pool.metric, setup, segments=dev)
    problem, bounds = space.searched, space.variables.bounds
    vector = bounds.clip(space.variables.reduce(space.starts[0]))
    begin = time.process_time()
    rng = streams.restart(setup.seed, 0)
    fold_of = rng.permutation(len(dev)) % optimizer.folds
    seed = int(rng.integers(2**63))
    deal = bagged._Split(problem, vector, bounds, fold_of, seed)
    blends, folds = optimizer._learn_folds(deal, rng)
    _, by_others = bagged._choose_mixture(deal, blends, folds, keeps_start=True)
    learnt = np.stack([fold.weights for fold in folds])
    held_out = deal.problem.rows_of(bagged._held_out(deal, by_others, learnt))
    judged = unseen.held_out_estimate(problem.stats, pool.metric, held_out, fold_of, seed)
    seconds = time.process_time() - begin

    curve, parts = held_out_curve(deal, blends, folds)
    averaging, ends = [0.0], [(problem.objective(vector), pool.score(start, test))]
    for share in SHARES[1:]:
        weights = bounds.clip(deal.mixed(share * parts, learnt.mean(axis=0)))
        value = problem.objective(weights)
        singles = [problem.objective(deal.mixed(share * parts, one)) for one in learnt]
        averaging.append(value - float(np.mean(singles)))
        ends.append((value, pool.score(space.weights(weights), test)))
    return {
        "held": curve[0].tolist(),
        "errors": np.std(curve[1:, :, None] - curve[1:, None], axis=0, ddof=1).tolist(),
        "averaging": averaging, "dev": [on_dev for on_dev, _ in ends],
        "test": [on_test for _, on_test in ends],
        "judged": judged.oriented_score, "error": judged.error, "seconds": seconds,
    }  # fmt: skip


def held_out_curve(deal: bagged._Split, blends: Any, folds: Sequence[Any]) -> tuple[Any, Any]:
    """Return (1 + samples, 5) objectives of the start and of each share, and the searches' parts.

    The share is of the best mixture; the parts add to 1. Both are as in `choose_mixture`.
    """
    problem, metric = deal.problem, deal.problem.metric
    count = len(_mixtures.SHARES) * len(blends)
    hypotheses = np.tile(problem.winners(deal.start), (1 + count, 1))
    for is_out, fold in zip(deal.is_out, folds, strict=True):
        hypotheses[1:, is_out] = fold.hypotheses
    rows = deal.problem.rows_of(hypotheses)
    table = problem.stats.take(rows.ravel()).reshape(*rows.shape, -1)
    counts = unseen.segment_samples(rows.shape[1], deal.seed)
    scores = finite(oriented_scores(metric, np.einsum("ns,rsk->nrk", counts, table)))
    shared = scores[:, 1:].reshape(len(scores), len(_mixtures.SHARES), -1)
    whole = shared[:, 0]
    best = int(np.argmax(whole[0]))
    errors = np.std(whole[1:, [best]] - whole[1:], axis=0, ddof=1)
    belief = np.exp((whole[0] - whole[0, best]) / np.maximum(errors, 1e-12))
    return np.column_stack([scores[:, 0], shared[..., best]]), belief @ blends / belief.sum()


@dataclass(frozen=True)
class Rule:
    """Says how much of the learnt weights to take.

    Parameters
    ----------
    name
    k
        A share is taken if its gain on held-out segments is above -k of its standard errors.
    corrected
        Whether what the mean of the folds' weights scores more than they do is added to it.
    estimate
        As in `tune`, the start is kept too if the estimate for unseen text is not above its score
        less so many errors.
    """

    name: str
    k: float = 0.0
    corrected: bool = False
    estimate: float = np.inf

    def place(self, record: Mapping[str, Any]) -> int:
        """Return the place in `SHARES` of the share that is taken."""
        held, errors = np.array(record["held"]), np.array(record["errors"])
        if self.corrected:
            held = held + record["averaging"]
        top = 1 + int(np.argmax(held[1:]))
        is_good = held[1:] - held[0] > -self.k * errors[0, 1:]
        is_good &= held[top] - held[1:] <= errors[top, 1:]
        place = 1 + int(np.argmax(is_good)) if is_good.any() else 0
        promised = record["judged"] - record["held"][0]
        is_kept = record["dev"][place] <= record["dev"][0]
        is_kept |= self.estimate < np.inf and promised <= -self.estimate * errors[0, place]
        return 0 if is_kept else place


DEFAULT = Rule("gain > 1.645 errors: the default", -unseen.CLEARLY_BETTER)
RULES = (
    *(Rule(f"gain > {-k:g} errors", k) for k in (-3, -2.5, -2)),
    DEFAULT,
    *(Rule(f"gain > {-k:g} errors", k) for k in (-1.5, -1, -0.5, 0, 0.5, 1, 2)),
    *(Rule(f"corrected gain > {-k:g} errors", k, corrected=True) for k in (0, 0.5, 1, 2)),
    *(Rule(f"gain > 0, estimate > {-k:g} errors", estimate=k) for k in (0, 0.5, 1, 2)),
)


def rules(arguments: argparse.Namespace) -> None:
    """Print what each rule gains, in percent: over all cases, and by start weights."""
    records = [record for record in _records(arguments.records) if not record["options"]]
    records = [one for one in records if not arguments.pools or one["pool"] in arguments.pools]
    for start in (*dict.fromkeys(record["start"] for record in records), None):
        some = [record for record in records if start in (record["start"], None)]
        gains = {rule: 100 * gains_of(rule, some) for rule in (*RULES, None)}
        click.echo(
            f"\nstart weights: {start or 'all'}; {len(some)} cases, "
            f"the best share of each would have gained {gains.pop(None).mean():.2f}\n"
        )
        conditions = [(one["pool"], one["metric"], one["size"], one["start"]) for one in some]
        rows = []
        for rule, gain in gains.items():
            change = gain - gains[DEFAULT]
            kept = np.mean([rule.place(record) == 0 for record in some])
            by_split = means_by([record["split"] for record in some], change)
            error = np.std(by_split, ddof=1) / len(by_split) ** 0.5 if len(by_split) > 1 else 0.0
            rows.append([
                rule.name, f"{100 * kept:.0f} %", f"{100 * np.mean(gain < 0):.1f} %",
                f"{gain.mean():.2f}",
                f"{change.mean():+.3f} ± {error:.3f}", f"{min(means_by(conditions, change)):+.2f}",
                f"{min(means_by(conditions, gain)):+.2f}", f"{gain.min():+.2f}",
            ])  # fmt: skip
        head = ["rule", "start kept", "below the start", "gain", "less the default",
                "worst condition",
                "lowest gain of a condition", "of a case"]  # fmt: skip
        click.echo(aligned(head, rows, style="pipe"))
    click.echo("\nBy start weights and number of dev segments\n")
    rows = []
    for group, some in sorted(
        grouped([(one["start"], one["size"]) for one in records], records), key=itemgetter(0)
    ):
        is_kept = np.array([DEFAULT.place(one) == 0 for one in some])
        gain, best = (100 * gains_of(rule, some) for rule in (DEFAULT, None))
        low = 100 * np.array([one["judged"] - one["held"][0] for one in some]) - gain
        rows.append([
            *map(str, group), str(len(some)), f"{100 * is_kept.mean():.0f} %",
            f"{gain.mean():+.2f}",
            f"{best.mean():+.2f}", f"{best[is_kept].mean():+.2f}" if is_kept.any() else "",
            f"{low.mean():+.2f} ± {np.std(low) / len(low) ** 0.5:.2f}",
        ])  # fmt: skip
    head = ["start", "segments", "cases", "start kept", "gain", "of the best share",
            "of it where kept", "estimate less gain"]  # fmt: skip
    click.echo(aligned(head, rows, style="pipe"))


def gains_of(rule: Rule | None, records: Sequence[Mapping[str, Any]]) -> Any:
    """Return the test score of each record by a rule, or by its best share, less the start's."""
    tests = np.array([record["test"] for record in records])
    if rule is None:
        return tests.max(axis=1) - tests[:, 0]
    return tests[np.arange(len(tests)), [rule.place(one) for one in records]] - tests[:, 0]


def grouped(groups: Sequence[Any], values: Iterable[Any]) -> list[tuple[Any, list[Any]]]:
    """Return each group with its values."""
    members = defaultdict(list)
    for group, value in zip(groups, values, strict=True):
        members[group].append(value)
    return list(members.items())


def means_by(groups: Sequence[Any], values: Iterable[float]) -> list[float]:
    """Return the mean of the values of each group."""
    return [float(np.mean(some)) for _, some in grouped(groups, values)]


def compare_options(arguments: argparse.Namespace) -> None:
    """Print test scores and CPU seconds by options of the search, paired by split."""
    pairs = defaultdict(list)
    records = {_key(record): record for record in _records(arguments.records)}
    for (*condition, split, options), record in records.items():
        if options and (plain := records.get((*condition, split, ""))):
            pairs[(*condition, options)].append((plain, record))
    rows = []
    for condition, both in sorted(pairs.items()):
        plain, changed = ([one[side] for one in both] for side in (0, 1))
        scores = [np.array([100 * one["test"][DEFAULT.place(one)] for one in side])
                  for side in (plain, changed)]  # fmt: skip
        change = scores[1] - scores[0]
        half = student.ppf(0.975, len(change) - 1) * change.std(ddof=1) / len(change) ** 0.5
        seconds = [float(np.median([one["seconds"] for one in side])) for side in (plain, changed)]
        rows.append([
            *map(str, condition), str(len(change)), f"{scores[0].mean():.2f}",
            f"{change.mean():+.2f} ± {half:.2f}", f"{seconds[0]:.2f}",
            f"{seconds[1] / seconds[0]:.2f}",
        ])  # fmt: skip
    head = ["lists", "metric", "segments", "start", "options", "splits", "default",
            "difference, 95 %", "CPU s", "ratio"]  # fmt: skip
    click.echo(aligned(head, rows, style="pipe"))


def run(arguments: argparse.Namespace) -> None:
    """Run the cases that are missing, the splits one after the other."""
    tables = tomllib.loads(arguments.pools_file.read_text())
    names = arguments.pools or list(tables)
    done = {_key(record) for record in _records([arguments.records])}
    pools = cache(lambda name, metric: Pool(tables[name], metric))
    low, high = arguments.splits
    with using(threads=1), arguments.records.open("a") as file:
        for split, name, metric, size, start, options in product(
            range(low, high), names, arguments.metrics, arguments.sizes, arguments.starts,
            arguments.options,
        ):  # fmt: skip
            record: dict[str, Any] = {
                "pool": name, "metric": metric, "split": split, "size": size, "start": start,
                "options": options,
            }  # fmt: skip
            if _key(record) in done or metric not in tables[name].get("metrics", ["bleu", "port"]):
                continue
            pool = pools(name, metric)
            weights = pool.start(start, split, size)
            if weights is None or len(pool.parts(size, split)[1]) < FEWEST:
                continue
            found = case(pool, size, split, weights, _options(options))
            file.write(json.dumps({**record, **found}) + "\n")
            file.flush()


def _options(text: str) -> dict[str, int]:
    pairs = [pair.split("=") for pair in text.split(",") if pair]
    return {key: int(value) for key, value in pairs}


def _key(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(record[key] for key in ("pool", "metric", "size", "start", "split", "options"))


def _records(paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        if path.exists():
            opened = gzip.open if path.suffix == ".gz" else open
            with opened(path, "rt") as lines:
                yield from map(json.loads, lines)


def main() -> None:
    """Run cases, or print tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.set_defaults(call=run)
    running.add_argument("pools_file", type=Path)
    running.add_argument("records", type=Path)
    running.add_argument("--metrics", nargs="+", default=["bleu"])
    running.add_argument("--sizes", nargs="+", type=int, default=[50, 100, 200, 400])
    running.add_argument("--starts", nargs="+", default=["own", "poor", "random", "near"])
    running.add_argument("--splits", nargs=2, type=int, default=[0, 10], metavar=("FROM", "TO"))
    running.add_argument("--options", nargs="+", default=[""])
    for name, call in (("rules", rules), ("options", compare_options)):
        printing = commands.add_parser(name)
        printing.set_defaults(call=call)
        printing.add_argument("records", nargs="+", type=Path)
    for command in commands.choices.values():
        command.add_argument("--pools", nargs="+")
    arguments = parser.parse_args()
    arguments.call(arguments)


if __name__ == "__main__":
    main()
