"""Compare the usual grid of speech recognition with the exact search.

python -m research.speech [--halves N] [--seed N] [FOLDER]

FOLDER (configs/speech) has lists as `speech_lists.py` makes them. Weights of acoustic score,
language model and words are found on the dev set and judged on the test set by their word error
rates. Then all utterances are halved at random, many times; weights are found on one half and
judged on both. The grid is that of Kaldi's score.sh: LM weights 7 to 17 and word insertion
penalties 0, 0.5 and 1; a wider one goes to LM weight 37.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

import portmert
from portmert.metrics.edits import Wer
from portmert.tuner.base.tables import aligned
from portmert.tuner.texts.joining import read_by_id
from tests.support.places import CONFIGS

if TYPE_CHECKING:
    from collections.abc import Callable

    Search = Callable[[np.ndarray, np.ndarray, np.ndarray, int], tuple[np.ndarray, int]]
    """From features, statistics, offsets and a seed to weights, and how many were tried."""

PENALTIES = (0.0, 0.5, 1.0)
START = {"-ac": 1.0, "-lm": 12.0, "length": 0.0}
"""The middle of the grid."""


def main() -> None:
    """Print a row for each way to search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=CONFIGS / "speech")
    parser.add_argument("--halves", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    features, stats, offsets = read(given.folder)
    segments = np.arange(len(offsets) - 1)
    dev, test = (part(features, stats, offsets, segments[k::2]) for k in (0, 1))
    ways: dict[str, Search] = {
        "grid, 11 x 3": grid(range(7, 18)),
        "grid, 31 x 3": grid(range(7, 38)),
        "exact, default": exact("bagged"),
        "exact, mert": exact("mert"),
    }
    firsts = float(np.divide(*test[1][test[2][:-1]].sum(axis=0)))
    of_test = [["first hypotheses", f"{100 * firsts:.2f}"]]
    for name, search in ways.items():
        weights, _ = search(*dev, given.seed)
        of_test.append([name, f"{100 * error_rate(*test, weights):.2f}"])
    click.echo(aligned(["", "WER of the test set"], of_test) + "\n")
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    seconds, tried = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0)
    rng = np.random.default_rng(given.seed)
    for n in range(given.halves):
        order = rng.permutation(len(offsets) - 1)
        halves = [
            part(features, stats, offsets, np.sort(half)) for half in np.array_split(order, 2)
        ]
        for name, search in ways.items():
            begin = time.perf_counter()
            weights, points = search(*halves[0], n + 1)
            seconds[name] += time.perf_counter() - begin
            tried[name] += points
            seen, unseen = (error_rate(*half, weights) for half in halves)
            rates[name].append((seen, unseen))
    first = np.array(rates["grid, 11 x 3"])[:, 1]
    rows = []
    for name, pairs in rates.items():
        seen, unseen = np.array(pairs).T
        better = first - unseen
        # Halves share utterances: Nadeau and Bengio (2003).
        error = better.std(ddof=1) * np.sqrt(1 / len(better) + 1)
        rows.append(
            [
                name,
                f"{tried[name] / given.halves:.0f}" if tried[name] else "",
                f"{seconds[name] / given.halves:.2f}",
                f"{100 * seen.mean():.2f}",
                f"{100 * unseen.mean():.2f}",
                f"{100 * unseen.std(ddof=1) / np.sqrt(len(unseen)):.2f}",
                f"{100 * better.mean():.2f} ± {100 * error:.2f}" if better.any() else "",
            ]
        )
    headers = ["", "points or lines", "seconds", "WER seen", "unseen", "error", "better"]
    click.echo(aligned(headers, rows))


def read(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (H, 3) features, (H, 2) statistics of WER and (S + 1,) offsets, by utterance."""
    sets = [folder / name for name in ("dev", "test")]
    ac, lm = ("+".join(f"{one / name}_cost.gz" for one in sets) for name in ("ac", "lm"))
    lists = portmert.Lists.read(
        [one / "words.gz" for one in sets],
        format=f"kaldi:ac={ac},lm={lm}",
        features=["length"],
    ).nbest
    texts = [read_by_id(one / "text") for one in sets]
    known = {name: line for text in texts for name, line in zip(text.ids, text, strict=True)}
    references = [known[name] for name in lists.ids or ()]
    batch = portmert.Batch(
        hypotheses=lists.texts,
        offsets=lists.offsets,
        references=portmert.Texts.from_lines(references, lists.texts.vocabulary),
        reference_offsets=np.arange(len(references) + 1),
    )
    order = np.array(sorted(range(len(references)), key=(lists.ids or ()).__getitem__))
    return part(lists.features, Wer().stats(batch), lists.offsets, order)


def part(
    features: np.ndarray, stats: np.ndarray, offsets: np.ndarray, segments: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the features, statistics and offsets of some segments."""
    rows = np.concatenate([np.arange(offsets[s], offsets[s + 1]) for s in segments])
    ends = np.concatenate([[0], np.cumsum(np.diff(offsets)[segments])])
    return features[rows], stats[rows], ends


def error_rate(
    features: np.ndarray, stats: np.ndarray, offsets: np.ndarray, weights: np.ndarray
) -> float:
    """Return the word error rate of the best hypotheses; of equal ones the first."""
    scores = features @ weights
    best = [a + int(np.argmax(scores[a:b])) for a, b in itertools.pairwise(offsets)]
    edits, length = stats[best].sum(axis=0)
    return float(edits / length)


def grid(language: range) -> Search:
    """Return the search of all points of a grid."""

    def search(
        features: np.ndarray, stats: np.ndarray, offsets: np.ndarray, _: int
    ) -> tuple[np.ndarray, int]:
        points = [np.array([1.0, w, -w * penalty]) for w in language for penalty in PENALTIES]
        rates = [error_rate(features, stats, offsets, point) for point in points]
        return points[int(np.argmin(rates))], len(points)

    return search


def exact(optimizer: str) -> Search:
    """Return the search of portmert."""

    def search(
        features: np.ndarray, stats: np.ndarray, offsets: np.ndarray, seed: int
    ) -> tuple[np.ndarray, int]:
        found = portmert.optimize(
            portmert.Lists.from_arrays(features, offsets, stats=stats, feature_names=list(START)),
            "wer",
            weights=START,
            optimizer=optimizer,
            seed=seed,
            threads=1,
        )
        return found.vector, found.line_searches

    return search


if __name__ == "__main__":
    main()
