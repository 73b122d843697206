"""Measure what tuning is worth on segments that it has not seen.

python -m tests.bench.unseen [--metric NAME ...] [--splits N] [--seeds N] [--sizes N,N,...]
                             [--run FOLDER | --made] [OPTIMIZER:OPTION=VALUE,... ...]

The segments of a fixed pool of n-best lists are split at random into halves A and B. Weights are
tuned on A (with --sizes: on so many segments of A) and scored on B by the best hypotheses of the
pool. Differences are paired over the splits, +- is their standard error. The pool is
../shared/data/moses-ja-en, the run of `portmert tune` in --run, or one that is made with the
embedded decoder.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
from tabulate import tabulate

from metrics._base import Vocabulary
from tests.bench.lists import REAL
from tests.bench.optimizers import parse
from tuner.components import registry
from tuner.demo.bitext import write_bitext
from tuner.errors import InputError
from tuner.nbest.read import read_nbest
from tuner.runs.config import load_config
from tuner.runs.experiment import run
from tuner.search.problem import StatTable, TuningProblem, within_segment_spread
from tuner.texts.corpus import make_batch, read_references
from tuner.texts.statistics import compute_stats
from tuner.weights.feature_weights import read_weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metrics._base import Batch, FloatArray, IntArray
    from tuner.search.optimizers._base import Optimizer

METRICS = ("bleu", "port", "ter", "chrf", "meteor")
BASE = "mert"
"""What the others are compared with."""

OPTIMIZERS = ("shrunk", BASE, "coordinate", "kbmira", "expected")
MADE = {"train": 4000, "dev": 400}
"""Sentence pairs of a pool that is made."""


@dataclass(eq=False)
class Pool:
    """Holds n-best lists, and the statistics of all hypotheses once a metric asks for them.

    Features that are constant within every segment are left out.
    """

    name: str
    features: FloatArray
    batch: Batch
    start: FloatArray
    stats: dict[str, FloatArray] = field(default_factory=dict)

    def whole(self, metric: str) -> TuningProblem:
        """Return the problem of all segments."""
        if metric not in self.stats:
            self.stats[metric] = compute_stats(registry.metric(metric), self.batch)
        stats = StatTable(self.stats[metric])
        return TuningProblem(self.features, self.batch.offsets, stats, registry.metric(metric))


def read_pool(
    name: str,
    *,
    lists: Sequence[Path],
    references: Sequence[Path],
    source: Path,
    links: Sequence[Path],
    weights: Path,
) -> Pool:
    """Read n-best lists and the untuned weights."""
    vocabulary = Vocabulary()
    texts = read_references(references, vocabulary=vocabulary, source=source, links=links)
    nbest = read_nbest(lists, vocabulary, segments=len(texts))
    start = read_weights(weights).vector(nbest.feature_names)
    features = nbest.features.T
    moving = within_segment_spread(features, nbest.offsets, if_constant=0.0) > 0
    batch = make_batch(nbest.texts, nbest.offsets, texts, lines=nbest.lines)
    return Pool(name, np.ascontiguousarray(features[moving]), batch, start[moving])


def moses_pool() -> Pool:
    """Read the lists of seven iterations of mert-moses.pl."""
    return read_pool(
        "moses ja-en",
        lists=[REAL / "mert-bleu" / f"run{n}.best100.out.gz" for n in range(1, 8)],
        references=[REAL / "dev.en"],
        source=REAL / "dev.ja",
        links=[REAL / "dev.ja-en.giza"],
        weights=REAL / "mert-bleu" / "run1.dense",
    )


def run_pool(folder: Path) -> Pool:
    """Read the lists of a run of `portmert tune`, with the links of the dev set if it has any."""
    data = json.loads((folder / "inputs.json").read_text())["data"]
    lists = sorted(folder.glob("iteration-*/nbest.gz"))
    given = [folder / link["path"] for link in data["reference_links"]]
    return read_pool(
        str(folder),
        lists=lists,
        references=[folder / reference["path"] for reference in data["references"]],
        source=folder / data["source"]["path"],
        links=given or sorted((folder / "annotations").glob("dev-*.links")),
        weights=lists[0].with_name("weights.json"),
    )


def made_pool(folder: Path) -> Pool:
    """Make lists with the embedded decoder, tuned for three iterations on an artificial bitext."""
    write_bitext(folder, test=10, seed=5, **MADE)
    config = folder / "made.toml"
    config.write_text(
        '[tune]\noutput = "made"\niterations = 3\nnbest = 100\npatience = 3\n'
        '[data]\nsource = "dev.src"\nreferences = ["dev.tgt"]\nreference_links = ["dev.links"]\n'
        '[metric]\nname = "bleu"\n[optimizer]\nname = "kbmira"\n[decoder]\nname = "thot"\n'
        'train_source = "train.src"\ntrain_target = "train.tgt"\nmodel = "model"\n'
    )
    run(load_config(config), log=say, progress=lambda *_: None)
    return run_pool(folder / "made")


def of_segments(problem: TuningProblem, segments: IntArray) -> TuningProblem:
    """Return the problem of some segments, rising; with a spread of its own."""
    lengths = np.diff(problem.offsets)[segments]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = np.arange(offsets[-1]) + np.repeat(problem.offsets[segments] - offsets[:-1], lengths)
    features = np.ascontiguousarray(problem.features[:, rows])
    return TuningProblem(features, offsets, problem.stats, problem.metric, rows=rows)


def score(problem: TuningProblem, winners: IntArray, segments: IntArray) -> float:
    """Return the metric's score, in percent, of the winners of some segments."""
    return 100 * float(problem.metric.score(problem.total(winners[segments])))


@dataclass(eq=False)
class Measured:
    """Holds what was measured of one choice: (splits, seeds) arrays, scores in percent."""

    seen: FloatArray
    unseen: FloatArray
    estimate: FloatArray
    seconds: FloatArray


def measure(
    whole: TuningProblem,
    start: FloatArray,
    optimizer: Optimizer | None,
    *,
    splits: int,
    seeds: int,
    size: int | None,
) -> Measured:
    """Tune on A and score on B, for every split and seed; without an optimizer the start."""
    shape = (splits, seeds)
    found = Measured(*(np.full(shape, np.nan) for _ in range(4)))
    for split in range(splits):
        order = np.random.default_rng((7, split)).permutation(len(whole.offsets) - 1)
        half = len(order) // 2
        a, b = np.sort(order[: size or half]), np.sort(order[half:])
        problem = of_segments(whole, a)
        for seed in range(seeds):
            weights, begin, at = start, time.process_time(), (split, seed)
            if optimizer is not None:
                outcome = optimizer.optimize(problem, [start], seed=1000 * split + seed)
                weights = outcome.weights
                if outcome.unseen is not None:
                    sign = 1 if whole.metric.higher_is_better else -1
                    found.estimate[at] = 100 * sign * outcome.unseen.value
            found.seconds[at] = time.process_time() - begin
            winners = whole.winners(weights)
            found.seen[at], found.unseen[at] = (score(whole, winners, part) for part in (a, b))
    return found


def table(pool: Pool, metric: str, names: Sequence[str], **options: int | None) -> list[list[str]]:
    """Return one row for each choice; the first is the untuned weights."""
    whole = pool.whole(metric)
    measured = {"untuned": measure(whole, pool.start, None, **options)}
    for name in dict.fromkeys([*names, BASE]):
        parse(name).optimize(of_segments(whole, np.arange(2)), [pool.start])  # compile
        measured[name] = measure(whole, pool.start, parse(name), **options)
        say(f"{pool.name}, {metric}, {options['size'] or 'half'}: {name} done")
    base = measured[BASE].unseen.mean(axis=1)
    sign = 1 if whole.metric.higher_is_better else -1
    rows = []
    for name, found in measured.items():
        gains = sign * (found.unseen.mean(axis=1) - base)
        error = gains.std(ddof=1) / len(gains) ** 0.5 if len(gains) > 1 else np.nan
        spread = found.unseen.std(axis=1, ddof=1).mean() if found.unseen.shape[1] > 1 else np.nan
        off = found.estimate - found.unseen
        off_error = off.mean(axis=1).std(ddof=1) / len(off) ** 0.5 if len(off) > 1 else np.nan
        rows.append(
            [
                name,
                f"{found.seen.mean():.2f}",
                f"{found.unseen.mean():.2f}",
                "" if name == BASE else f"{gains.mean():+.2f} +- {error:.2f}",
                "" if np.isnan(spread) else f"{spread:.2f}",
                "" if np.isnan(off).any() else f"{off.mean():+.2f} +- {off_error:.2f}",
                f"{found.seconds.mean():.2f}",
            ]
        )
    return rows


HEADERS = [
    "tuned by", "seen", "unseen", f"better than {BASE}", "seed spread", "estimate - unseen",
    "CPU s",
]  # fmt: skip


def main() -> None:
    """Print a table for each metric and size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--metric", action="append")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--run", type=Path)
    parser.add_argument("--made", action="store_true", help="Make a pool in any case.")
    parser.add_argument("optimizers", nargs="*", default=OPTIMIZERS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.run is not None:
            pool = run_pool(arguments.run)
        else:
            pool = (
                moses_pool() if REAL.is_dir() and not arguments.made else made_pool(Path(folder))
            )
        for metric in arguments.metric or METRICS:
            for size in arguments.sizes or [None]:
                try:
                    rows = table(
                        pool,
                        metric,
                        arguments.optimizers,
                        splits=arguments.splits,
                        seeds=arguments.seeds,
                        size=size,
                    )
                except InputError as error:
                    say(f"{metric}: {error}")
                    break
                segments = size or (len(pool.batch.offsets) - 1) // 2
                click.echo(
                    f"\n{pool.name}, {metric}, tuned on {segments} segments, "
                    f"{arguments.splits} splits\n"
                )
                click.echo(tabulate(rows, HEADERS, disable_numparse=True, tablefmt="pipe"))


def say(line: str) -> None:
    """Show how far it is."""
    click.echo(line, err=True)


if __name__ == "__main__":
    main()
