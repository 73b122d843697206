"""Peak memory of `optimize` on large lists, as a multiple of the arrays that it searches.

python -m tests.bench.memory [--millions 2 5 20] [--optimizer NAME] [--folder DIR]
python -m tests.bench.memory --frame SEGMENTS   searches a frame of 16 candidates a segment

Lists of 1,000 hypotheses a segment with 14 features are generated in a stream; 20 million of them
take 4 GB of disk.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import click
import numpy as np
from tabulate import tabulate

import portmert
from tests.bench.measure import run
from tests.support.places import ROOT

PER_SEGMENT, FEATURES, STATISTICS, WORDS, LENGTH = 1000, 14, 10, 5000, 12
ARRAYS = 8 * (FEATURES + STATISTICS)
"""Bytes of a hypothesis: its features and statistics of BLEU as float64."""
VALUES = 10_000
DIFFERENT = 1000
"""Segments that are made; longer lists repeat them under other ids."""


OF_FRAME = 6
"""Features of a data frame; beside them it has ids, and an outcome."""


def of_frame() -> list[list[str]]:
    """Return a row of the table for a data frame of 800,000 candidates."""
    small, large = (
        run(["--frame", segments], module="tests.bench.memory", folder=ROOT)
        for segments in (150, 50_000)
    )
    column = 8 * 16 * (50_000 - 150)
    peak = (large.memory - small.memory) / column
    beyond = (peak - (OF_FRAME + 2)) / (OF_FRAME + 1)
    what = "optimize, a frame of 800,000 candidates with 6 features and an outcome: peak memory"
    return [[f"{what} above a run on 2,400 and the frame", f"{beyond:.2f} x arrays", "<= 2.7"]]


def optimize_frame(segments: int) -> None:
    """Search weights on a data frame that is made at random."""
    rng = np.random.default_rng(segments)
    columns = rng.normal(size=(OF_FRAME, 16 * segments))
    utilities = columns[:2].sum(axis=0) + rng.gumbel(size=16 * segments)
    lists = utilities.reshape(segments, 16)
    frame = {f"f{place}": column.copy() for place, column in enumerate(columns)}
    features = list(frame)
    frame["segment"] = np.repeat(np.arange(segments), 16)
    frame["right"] = (lists == lists.max(axis=1, keepdims=True)).reshape(-1).astype(float)
    del columns, utilities, lists
    read = portmert.Lists.from_frame(
        frame, segment="segment", features=features, outcomes=["right"]
    )
    portmert.optimize(read, "right", threads=2)


def memory(folder: Path, millions: int = 2, optimizer: str = "bagged") -> list[list[str]]:
    """Return rows of the table: what, measured, goal."""
    lists, reference = generate(folder, millions)
    few = folder / "few.nbest", folder / "few.ref"
    with lists.open() as lines:
        few[0].write_text("".join(next(lines) for _ in range(2 * PER_SEGMENT)))
    with reference.open() as lines:
        few[1].write_text("".join(next(lines) for _ in range(2)))
    small, large = (
        run(
            [
                "optimize", "--metric", "bleu", "--optimizer", optimizer, "--nbest", nbest,
                "--ref", refs, "--out", folder / "weights.json",
            ]
        )
        for nbest, refs in (few, (lists, reference))
    )  # fmt: skip
    lists.unlink()
    size = millions * 1_000_000 - 2 * PER_SEGMENT
    peak = (large.memory - small.memory) / (size * ARRAYS)
    what = f"optimize, {optimizer}, {millions} million hypotheses in text: peak memory above a "
    return [[f"{what}run on 2,000", f"{large.memory / 1e9:.2f} GB, {peak:.2f} x arrays", "<= 2.2"]]


def generate(folder: Path, millions: int) -> tuple[Path, Path]:
    """Write an n-best list and its reference."""
    rng = np.random.default_rng(millions)
    lists, reference = folder / f"{millions}.nbest", folder / f"{millions}.ref"
    different = [segment(rng) for _ in range(DIFFERENT)]
    with lists.open("w") as out, reference.open("w") as refs:
        for number in range(millions * 1_000_000 // PER_SEGMENT):
            right, hypotheses = different[number % DIFFERENT]
            refs.write(right)
            out.writelines([f"{number} {hypothesis}" for hypothesis in hypotheses])
    return lists, reference


def segment(rng: np.random.Generator) -> tuple[str, list[str]]:
    """Return the reference of a segment, and what stands behind the ids of its list."""
    words = [f"w{n}" for n in range(WORDS)]
    numbers = [f"{(n - VALUES // 2) / 1000:.3f}" for n in range(VALUES)]
    right = rng.integers(0, WORDS, size=LENGTH)
    share = rng.uniform(0.1, 0.6, size=(PER_SEGMENT, 1))
    wrong = rng.random((PER_SEGMENT, LENGTH)) < share
    tokens = np.where(wrong, rng.integers(0, WORDS, size=wrong.shape), right).tolist()
    # Half of the features say something of how much is wrong, the more the earlier.
    told = np.linspace(1.5, -0.5, FEATURES).clip(0) * wrong.sum(axis=1, keepdims=True)
    values = rng.normal(size=(PER_SEGMENT, FEATURES)) - told / LENGTH * 4
    rows = (values * 1000 + VALUES // 2).clip(0, VALUES - 1).astype(np.int64).tolist()
    hypotheses = []
    for hypothesis, row in zip(tokens, rows, strict=True):
        text = " ".join([words[token] for token in hypothesis])
        shown = " ".join([numbers[value] for value in row])
        hypotheses.append(f"||| {text} ||| F= {shown} ||| 0\n")
    return " ".join(words[token] for token in right) + "\n", hypotheses


def main() -> None:
    """Print one row for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, nargs="+", default=[2, 5, 20])
    parser.add_argument("--optimizer", default="bagged")
    parser.add_argument("--folder", type=Path, help="Where the lists go; default: temporary.")
    parser.add_argument("--frame", type=int)
    options = parser.parse_args()
    if options.frame is not None:
        optimize_frame(options.frame)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = [memory(Path(folder), size, options.optimizer)[0] for size in options.millions]
        rows += of_frame()
    click.echo(tabulate(rows, headers=["what", "measured", "goal"]))


if __name__ == "__main__":
    main()
