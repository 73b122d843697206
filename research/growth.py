"""How time and memory grow with candidates, features and metrics: slopes in a log-log plot.

python -m research.growth measure [--most N]   appends to research/growth.jsonl
python -m research.growth draw                 draws docs/figures/growth.svg, prints slopes

Lists are made at random: 16 candidates a segment, of 12 words, some of them wrong. A feature says
something of how many. Outcomes ("mean") come in arrays: nothing is read. Each point is a process
of its own, which first does the same with 100 candidates: loading and compiling are not measured.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
from tabulate import tabulate

from portmert.metrics._base import Vocabulary
from portmert.tuner.components import registry
from portmert.tuner.components.external import Scores
from portmert.tuner.evaluation.significance import Resampling, systems_tested
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.search.problem import TuningProblem
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.search.unseen import held_out_estimate
from portmert.tuner.texts.corpus import make_batch, read_references
from portmert.tuner.texts.statistics import compute_stats
from tests.bench.measure import run
from tests.support.places import ROOT

RECORD, FIGURE = ROOT / "research" / "growth.jsonl", ROOT / "docs" / "figures" / "growth.svg"
PER_SEGMENT, LENGTH, WORDS = 16, 12, 5000
PARTS = ("reading", "statistics", "search", "estimate", "test")
SIZES = (100, 1000, 10_000, 100_000, 1_000_000)
RUNS = [
    *((metric, 3, False) for metric in ("mean", "bleu", "port", "chrf", "wer")),
    *(("mean", width, is_sparse) for width in (30, 1000) for is_sparse in (False, True)),
]
LARGEST = 3e8
"""Bytes of dense features that are measured at most."""


def generate(folder: Path, size: int, width: int, *, is_linked: bool) -> None:
    """Write a list of Moses, its references, and links word by word."""
    rng, segments = np.random.default_rng(size), max(2, size // PER_SEGMENT)
    links = " ".join([f"{n}-{n}" for n in range(LENGTH)])
    (folder / "links").write_text(f"{links}\n" * segments)
    end = f" ||| 0 ||| {links}\n" if is_linked else " ||| 0\n"
    letters = str.maketrans("0123456789", "abcdefghij")  # first words with digits look like ids
    words = np.array([str(n).translate(letters) for n in range(WORDS)])
    with (
        gzip.open(folder / "list.gz", "wt", compresslevel=1) as out,
        (folder / "refs").open("w") as refs,
    ):
        for number in range(segments):
            right = rng.integers(0, WORDS, LENGTH)
            wrong = rng.random((PER_SEGMENT, LENGTH)) < rng.uniform(0.1, 0.6, (PER_SEGMENT, 1))
            tokens = words[np.where(wrong, rng.integers(0, WORDS, wrong.shape), right)]
            values = rng.normal(size=(PER_SEGMENT, width)) - wrong.mean(axis=1, keepdims=True)
            refs.write(" ".join(words[right]) + "\n")
            for text, row in zip(tokens.tolist(), values.tolist(), strict=True):
                features = " ".join([f"{value:.4f}" for value in row])
                out.write(f"{number} ||| {' '.join(text)} ||| F= {features}{end}")


def point(
    folder: Path, size: int, metric_name: str, width: int, *, is_sparse: bool
) -> dict[str, object]:
    """Measure one point."""
    from scipy.sparse import random_array

    sparse, seconds, peaks, rng = None, [], [], np.random.default_rng(size)

    def ended(begin: float) -> float:
        seconds.append(time.process_time() - begin)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        return time.process_time()

    if metric_name == "mean":
        begin, segments = time.process_time(), max(2, size // PER_SEGMENT)
        offsets = np.arange(segments + 1) * PER_SEGMENT
        features = rng.normal(size=(3 if is_sparse else width, offsets[-1]))
        utilities = features[:3].sum(axis=0) + rng.gumbel(size=offsets[-1])
        lists = utilities.reshape(segments, -1)
        right = (lists == lists.max(axis=1, keepdims=True)).reshape(-1)
        if is_sparse:
            sparse = random_array((len(right), width), density=10 / width, rng=rng, format="csr")
        begin = ended(begin)
        metric, stats = Scores((Path("none"),)), StatTable(np.column_stack([right, right >= 0]))
    else:
        metric, vocabulary = registry.metric(metric_name), Vocabulary()
        is_linked = "links" in metric.needs
        generate(folder, size, width, is_linked=is_linked)
        refs, links = folder / "refs", folder / "links"
        beside = {"source": refs, "links": [links]} if is_linked else {}
        begin = time.process_time()
        references = read_references([refs], vocabulary=vocabulary, **beside)
        nbest = read_nbest([folder / "list.gz"], vocabulary, segments=len(references))
        begin, offsets = ended(begin), nbest.offsets
        features = np.ascontiguousarray(nbest.features.T)
        stats = StatTable(compute_stats(metric, make_batch(nbest.texts, offsets, references)))
    begin = ended(begin)
    problem = TuningProblem(features, offsets, stats, metric, sparse=sparse)
    unseen = registry.optimizer("bagged").optimize(problem, [np.full(problem.width, 0.1)]).unseen
    begin = ended(begin)
    rows = np.vstack([unseen.rows, unseen.without])
    held_out_estimate(stats, metric, rows, unseen.folds, 1)
    begin = ended(begin)
    tables = [stats.take(rows)[np.newaxis] for rows in (offsets[:-1], unseen.rows)]
    systems_tested([metric], [[table] for table in tables], Resampling(1000))
    ended(begin)
    if metric_name == "mean":
        seconds[0] = 0.0
    return {
        "metric": metric_name, "features": width, "sparse": is_sparse,
        "candidates": int(offsets[-1]),
        "seconds": {part: round(value, 4) for part, value in zip(PARTS, seconds, strict=True)},
        "peaks": dict(zip(PARTS, peaks, strict=True)),
    }  # fmt: skip


def measure(most: int) -> None:
    """Append the points that the record does not have."""
    measured = {_key(point) for point in _points()}
    for metric, width, is_sparse in RUNS:
        for size in SIZES:
            dense = 8 * size * (3 if is_sparse else width)
            if size > most or (metric, width, is_sparse, size) in measured or dense > LARGEST:
                continue
            line = json.dumps(_measured(size, metric, width, is_sparse=is_sparse))
            with RECORD.open("a") as out:
                out.write(line + "\n")


def _measured(size: int, metric: str, width: int, *, is_sparse: bool) -> dict:
    arguments = ["point", size, metric, width, *(["--sparse"] if is_sparse else [])]
    done = run(arguments, module="research.growth", folder=ROOT)
    return json.loads(done.output.splitlines()[-1])


def growing() -> list[list[str]]:
    """Return a row for each series of small sizes: the slope of all parts' time together."""
    rows = []
    for metric, width, is_sparse in RUNS:
        small, large = (
            _measured(size, metric, width, is_sparse=is_sparse) for size in (1000, 10_000)
        )
        ratio = np.log(large["candidates"] / small["candidates"])
        first, last = (sum(point["seconds"].values()) for point in (small, large))
        what = f"1,000 to 10,000 candidates, {_name(metric, width, is_sparse)}: slope of time"
        rows.append([what, f"{np.log(last / first) / ratio:.2f}", "<= 1.1"])
    return rows


def _name(metric: str, width: int, is_sparse: bool) -> str:
    return f"{metric}, {width} {'sparse' if is_sparse else 'dense'}"


def _points() -> list[dict]:
    return [json.loads(line) for line in RECORD.read_text().splitlines()]


def _key(point: dict) -> tuple[str, int, bool, int]:
    size = min(SIZES, key=lambda size: abs(size - point["candidates"]))
    return point["metric"], point["features"], point["sparse"], size


def _series() -> Iterator[tuple[str, list[dict]]]:
    """Yield the name of each series, and its points by size."""
    points = sorted(_points(), key=lambda point: point["candidates"])
    for series in RUNS:
        yield _name(*series), [point for point in points if _key(point)[:3] == series]


def slopes() -> list[list[str]]:
    """Return a row for each series: the slopes of time between its two largest sizes, the peak."""
    rows = []
    for name, points in _series():
        if len(points) < 2:
            continue
        small, large = points[-2:]
        ratio = np.log(large["candidates"] / small["candidates"])
        cells = [
            f"{large['seconds'][part]:.2g} ({_slope(small, large, part, ratio)})" for part in PARTS
        ]
        memory = f"{max(large['peaks'].values()) / 2**20:.0f}"
        rows.append([name, f"{large['candidates']:,}", *cells, memory])
    return rows


def _slope(small: dict, large: dict, part: str, ratio: float) -> str:
    first, last = small["seconds"][part], large["seconds"][part]
    return f"{np.log(last / first) / ratio:.2f}" if first > 0.02 else "-"


def draw() -> None:
    """Draw seconds by candidates, a panel for each part, and print the slopes."""
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "growth"
    figure, axes = plt.subplots(1, len(PARTS), figsize=(13, 3.2), sharey=True, sharex=True)
    for part, axis in zip(PARTS, axes, strict=True):
        for name, points in _series():
            if points:
                sizes = [point["candidates"] for point in points]
                seconds = [max(point["seconds"][part], 1e-3) for point in points]
                axis.loglog(sizes, seconds, marker=".", label=name)
        axis.plot([1e4, 1e6], [1e-2, 1], color="grey", linestyle=":")
        axis.set(title=part, xlabel="candidates")
    axes[0].set_ylabel("CPU seconds (dotted: linear)")
    axes[0].legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(FIGURE, metadata={"Date": None})
    headers = ["metric, features", "candidates", *PARTS, "peak, MiB"]
    click.echo(tabulate(slopes(), headers=headers, tablefmt="pipe", disable_numparse=True))


def main() -> None:
    """Measure points, one point, or draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["measure", "point", "draw"])
    parser.add_argument("values", nargs="*")
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--sparse", action="store_true")
    arguments = parser.parse_args()
    if arguments.what == "point":
        size, metric, width = arguments.values
        for candidates in (100, int(size)):
            with tempfile.TemporaryDirectory() as folder:
                result = point(
                    Path(folder), candidates, metric, int(width), is_sparse=arguments.sparse
                )
        click.echo(json.dumps(result))
    elif arguments.what == "measure":
        measure(arguments.most)
    else:
        draw()


if __name__ == "__main__":
    main()
