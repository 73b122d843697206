"""Print the tables of `make bench`: what, measured, goal. Each is shown when it is measured."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
from tabulate import tabulate

from portmert.metrics._base import Vocabulary
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.search import DEFAULT_OPTIMIZER
from portmert.tuner.search.line_search import LineSearch
from portmert.tuner.search.problem import TuningProblem
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.texts.corpus import make_batch, read_references
from portmert.tuner.texts.statistics import compute_stats
from research.growth import growing
from tests.bench.bayes import bayes
from tests.bench.compiling import compiling
from tests.bench.drop_in import drop_in
from tests.bench.lexical import lexical
from tests.bench.lists import Lists, moses_or_generated
from tests.bench.measure import in_turn, median_ratio, run, unit_seconds
from tests.bench.memory import memory, of_frame
from tests.bench.metaeval import metaeval
from tests.bench.peers import HEADERS, peers
from tests.bench.reading import reading
from tests.bench.significance import significance
from tests.bench.syntax import syntax

MIB = 2**20


def main() -> None:
    """Measure everything, half an hour."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lists = moses_or_generated(folder)
        click.echo(f"lists: {'Moses, ja-en' if lists.real else 'generated'}; {seeds} seeds")
        parts: list[Callable[[], list[list[str]]]] = [
            lambda: compiling(folder),
            lambda: commands(lists),
            lambda: counting(lists),
            lambda: lexical(folder, lists),
            bayes,
            line_search,
            lambda: growth(folder),
            growing,
            lambda: [*memory(folder), *of_frame()],
            lambda: reading(folder, lists),
            lambda: optimizing(folder, lists, seeds),
            lambda: drop_in(folder, lists),
            lambda: significance(folder),
            metaeval,
            lambda: syntax(folder, lists),
        ]
        for measure in parts:
            click.echo(f"\n{tabulate(measure(), headers=['what', 'measured', 'goal'])}")
        click.echo(f"\n{tabulate(peers(folder, lists), headers=HEADERS)}")


def optimizing(folder: Path, lists: Lists, seeds: int) -> list[list[str]]:
    """`portmert optimize` on seven iterations, from the start of the process to its end."""
    small = [run([*tiny(folder), "--out", folder / "tiny.json"]) for _ in range(2)][1]
    given = dat_arguments(lists, folder / "weights.json")
    rows = []
    for name, units_goal, goals in (
        (DEFAULT_OPTIMIZER, "<= 15", ("", "")),
        ("mert", "<= 40", (">= 0.3768 (Moses lists)", ">= 0.3785 (Moses lists)")),
    ):
        arguments = [*given, "--optimizer", name]
        run(arguments)  # compile
        units, processes, scores = [], [], []
        for seed in range(seeds):
            before = unit_seconds()
            processes.append(run([*arguments, "--seed", seed]))
            scores.append(json.loads(processes[-1].output)["final_score"])
            units.append(processes[-1].cpu / ((before + unit_seconds()) / 2))
        arrays = 350_000 * (14 + 9) * 8
        memory = max(process.memory for process in processes) - small.memory
        wall = statistics.median(process.wall for process in processes)
        units_found = f"{statistics.median(units):.1f} (max {max(units):.1f})"
        of_arrays = f"{memory / MIB:.0f} MiB, {memory / arrays:.2f} x arrays"
        what = f"optimize, {name}:"
        rows += [
            [f"{what} units of CPU", units_found, units_goal],
            [f"{what} wall seconds", f"{wall:.1f}", ""],
            [f"{what} lowest score", f"{min(scores):.5f}", goals[0]],
            [f"{what} median score", f"{statistics.median(scores):.5f}", goals[1]],
            [f"{what} highest score", f"{max(scores):.5f}", ""],
            [f"{what} peak memory above a run on 4 hypotheses", of_arrays, "<= 2 x arrays"],
            [f"{what} peak memory of the process", f"{processes[0].memory / MIB:.0f} MiB", ""],
        ]
    return rows


def dat_arguments(lists: Lists, out: Path) -> list[object]:
    """Return the arguments of an optimization over all dat files."""
    pairs = [
        part
        for features, scores in zip(lists.features, lists.scores, strict=True)
        for part in ("--features-dat", features, "--scores-dat", scores)
    ]
    return [
        "optimize-dat", "--metric", "bleu", *pairs, "--weights", lists.weights, "--out", out,
        "--json",
    ]  # fmt: skip


def tiny(folder: Path) -> list[object]:
    """Return the arguments of an optimization over four hypotheses, all code used."""
    features, scores = folder / "tiny.features", folder / "tiny.scores"
    values = ("1 2", "2 1", "3 5", "0 4")
    counts = ("4 4 3 3 2 2 1 1 4", "1 4 1 3 1 2 1 1 4") * 2
    feature_lines, score_lines = [], []
    for segment in range(2):
        rows = slice(2 * segment, 2 * segment + 2)
        feature_lines += [f"FEATURES_TXT_BEGIN_0 {segment} 2 2 A_0 B_0", *values[rows]]
        feature_lines.append("FEATURES_TXT_END_0")
        score_lines += [f"SCORES_TXT_BEGIN_0 {segment} 2 9 BLEU", *counts[rows]]
        score_lines.append("SCORES_TXT_END_0")
    features.write_text("\n".join(feature_lines) + "\n")
    scores.write_text("\n".join(score_lines) + "\n")
    dat = ("--features-dat", features, "--scores-dat", scores)
    return ["optimize-dat", "--metric", "bleu", *dat]


def line_search() -> list[list[str]]:
    """One exact line search over 200,000 hypotheses and the product it needs."""
    problem = random_problem(200_000)
    rows = np.ascontiguousarray(problem.features.T)
    rng = np.random.default_rng(6)
    weights, direction = rng.normal(size=14), rng.normal(size=14)
    line = LineSearch(problem, np.full(14, -np.inf), np.full(14, np.inf))
    scores = problem.model_scores(weights)
    columns = np.arange(14)
    product, random, single = in_turn(
        lambda: rows @ direction,
        lambda: line.best_point(weights, scores, columns, direction),
        lambda: line.best_point(weights, scores, columns[:1], direction[:1]),
        rounds=60,
    )
    return [
        [
            "line search, any direction / product, 200,000 x 14",
            f"{median_ratio(random, product):.2f}",
            "<= 3",
        ],
        ["line search, one feature / product", f"{median_ratio(single, product):.2f}", ""],
    ]


def random_problem(hypotheses: int, segments: int = 500) -> TuningProblem:
    """Return a problem of the shape of merged Moses lists, with BLEU statistics."""
    rng = np.random.default_rng(hypotheses)
    offsets = np.linspace(0, hypotheses, segments + 1).astype(np.int64)
    quality = rng.normal(size=hypotheses)
    features = rng.normal(size=(14, hypotheses)) * 3 + rng.normal(size=(14, 1)) * quality
    totals = rng.integers(6, 12, size=(hypotheses, 1)) - np.arange(4)
    share = 1 / (1 + np.exp(-quality))[:, np.newaxis] * np.array([0.7, 0.4, 0.25, 0.15])
    stats = np.empty((hypotheses, 9))
    stats[:, 1:8:2], stats[:, 0:8:2], stats[:, 8] = totals, rng.binomial(totals, share), 8
    return TuningProblem(features, offsets, StatTable(stats), registry.metric("bleu"))


def counting(lists: Lists) -> list[list[str]]:
    """Reading, interning and counting an n-best list of 50,000 hypotheses, all code warm."""

    def work(name: str) -> None:
        vocabulary = Vocabulary()
        references = read_references(
            [lists.reference], vocabulary=vocabulary, source=lists.source, links=[lists.links]
        )
        nbest = read_nbest([lists.nbest], vocabulary, segments=len(references))
        batch = make_batch(nbest.texts, nbest.offsets, references)
        compute_stats(registry.metric(name), batch)

    def products() -> None:
        unit_seconds()

    unit, bleu, port, ter = in_turn(
        products, lambda: work("bleu"), lambda: work("port"), lambda: work("ter"), rounds=9
    )
    return [
        [
            "read + count BLEU, 50,000 hypotheses: units",
            f"{median_ratio(bleu, unit):.2f}",
            "<= 1.6",
        ],
        ["read + count PORT / BLEU", f"{median_ratio(port, bleu):.2f}", "<= 1.5"],
        ["read + count TER / BLEU", f"{median_ratio(ter, bleu):.2f}", "<= 10"],
    ]


def growth(folder: Path) -> list[list[str]]:
    """Twice the hypotheses: time and memory of `optimize` on n-best lists."""
    processes = []
    references = folder / "growth.ref"
    references.write_text("".join(f"a b c d e f {s}\n" for s in range(500)))
    for size in (200, 400):
        path = folder / f"growth{size}.nbest"
        rng = np.random.default_rng(4)
        with path.open("w") as out:
            for segment in range(500):
                for values in rng.normal(size=(size, 14)):
                    kept = [w for w in "abcdef" if rng.random() < 0.8]
                    numbers = " ".join(f"{v:.5f}" for v in values)
                    out.write(
                        f"{segment} ||| {' '.join(kept)} {segment} ||| F0= {numbers} ||| 0\n"
                    )
        arguments = [
            "optimize", "--metric", "bleu", "--nbest", path, "--ref", references,
            "--optimizer", "mert", "--set", "searches_per_feature=60", "--restarts", 1,
            "--threads", 1,
            "--out", folder / "g.json",
        ]  # fmt: skip
        processes.append([run(arguments) for _ in range(4)][1:])
    small, large = processes
    time_ratio = median_ratio([p.cpu for p in large], [p.cpu for p in small])
    memory_ratio = median_ratio([p.memory for p in large], [p.memory for p in small])
    return [
        ["twice the hypotheses (100,000 to 200,000): time", f"x {time_ratio:.2f}", "<= 2.2"],
        ["twice the hypotheses: memory", f"x {memory_ratio:.2f}", "<= 2.2"],
    ]


def commands(lists: Lists) -> list[list[str]]:
    """Start-up: help, and scoring 500 segments with compiled code from the cache."""
    score = [
        "score", "--metric", "bleu", "--metric", "port", "--hyp", lists.reference,
        "--ref", lists.reference, "--source", lists.source, "--hyp-links", lists.links,
        "--ref-links", lists.links,
    ]  # fmt: skip
    run(score)
    help_seconds = min(run(["--help"]).wall for _ in range(5))
    score_seconds = min(run(score).wall for _ in range(5))
    return [
        ["portmert --help: seconds", f"{help_seconds:.2f}", "<= 0.4"],
        ["portmert score, second run, 500 segments: seconds", f"{score_seconds:.2f}", "<= 1.5"],
    ]


if __name__ == "__main__":
    main()
