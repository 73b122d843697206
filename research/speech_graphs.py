"""Compare lattices with lists and grids: recorded digits, weights found on halves of the strings.

python -m research.speech_graphs FOLDER RESULTS [--halves N]

FOLDER is what `speech_lists.py --beam 200` makes. All utterances are halved at random, many times.
Weights of acoustic score, language model and words are found on one half, by the grid of Kaldi's
score.sh and a wider one over lattices, by portmert on the 100 best strings of each lattice and on
the lattices. They are judged on the other half by the word error rate of the best path or, for
lists, of the best string of the list. RESULTS gets a JSON line for each half; halves that it has
are not made again.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np

import portmert
from portmert.extensions.graphs.collection import Graphs, read_graphs
from portmert.extensions.graphs.strings import BestStrings
from portmert.tuner.base.tables import aligned
from portmert.tuner.texts.joining import read_by_id
from portmert.tuner.weights.feature_weights import FeatureWeights

STARTS = {"good start": (1.0, 12.0, 0.0), "poor start": (1.0, 1.0, 0.0)}
"""Weights of acoustic score, language model and words: the recogniser's, and without a scale."""
GRIDS = {"grid, 11 x 3": range(7, 18), "grid, 31 x 3": range(7, 38)}
PENALTIES = (0.0, 0.5, 1.0)
SIZE = 100


def main() -> None:
    """Add halves to the results, and print a row for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--halves", type=int, default=20)
    given = parser.parse_args()
    lines = given.results.read_text().splitlines() if given.results.exists() else []
    known = [json.loads(line) for line in lines]
    missing = [n for n in range(1, given.halves + 1) if n not in {row["half"] for row in known}]
    data = Data.read(given.folder) if missing else None
    for half in missing:
        assert data is not None
        rates = data.compared(half).items()
        known.append({"half": half, **{way: [round(x, 6) for x in pair] for way, pair in rates}})
        with given.results.open("a") as out:
            out.write(json.dumps(known[-1]) + "\n")
    click.echo(table(known))


def weights_of(acoustic: float, language: float, length: float) -> FeatureWeights:
    """Return weights by name."""
    values = {"acoustic": acoustic, "language": language, "length": length}
    return FeatureWeights.of(values)


@dataclass(frozen=True)
class Held(BestStrings):
    """Strings of graphs in memory."""

    held: Graphs | None = None

    @property
    def graphs(self) -> Graphs:
        """The graphs."""
        assert self.held is not None
        return self.held


@dataclass(frozen=True)
class Data:
    """The lattices of all utterances, what was said, and the edits of strings found so far."""

    graphs: Graphs
    said: dict[str, list[str]]
    edits: dict[tuple[str, str], int]

    @classmethod
    def read(cls, folder: Path) -> Data:
        """Read both sets."""
        texts = [read_by_id(folder / name / "text") for name in ("dev", "test")]
        said = {
            name: line.split() for text in texts for name, line in zip(text.ids, text, strict=True)
        }
        return cls(read_graphs([folder / name / "lattices" for name in ("dev", "test")]), said, {})

    def rate(
        self, weights: FeatureWeights, part: np.ndarray, lists: portmert.Lists | None
    ) -> float:
        """Return the word error rate of utterances under weights, of lists if given."""
        if lists is None:
            best = self.part(part).nbest([weights], [1])
            names, lines = (
                self.part(part).segments,
                [" ".join(best.texts.words(row)) for row in range(len(part))],
            )
        else:
            chosen = portmert.rerank(lists, weights)
            names, lines = chosen.ids, list(chosen.lines)
        edits = sum(self.distance(*pair) for pair in zip(names, lines, strict=True))
        return edits / sum(len(self.said[name]) for name in names)

    def distance(self, name: str, line: str) -> int:
        """Return the edits between a string and what was said."""
        if (name, line) not in self.edits:
            row = list(range(len(self.said[name]) + 1))
            for i, word in enumerate(line.split(), 1):
                above, row = row, [i]
                for j, other in enumerate(self.said[name], 1):
                    row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (word != other)))
            self.edits[name, line] = row[-1]
        return self.edits[name, line]

    def part(self, part: np.ndarray) -> Graphs:
        """Return the graphs of some utterances."""
        files, segments, graphs = self.graphs.files, self.graphs.segments, self.graphs.graphs
        return replace(
            self.graphs,
            files=tuple(files[n] for n in part),
            segments=tuple(segments[n] for n in part),
            graphs=tuple(graphs[n] for n in part),
        )

    def lists(
        self, part: np.ndarray, start: FeatureWeights, folder: Path, *, around: bool
    ) -> portmert.Lists:
        """Return the best strings of some utterances, with references."""
        graphs = self.part(part)
        text = folder / "text"
        text.write_text(
            "".join(f"{name} {' '.join(self.said[name])}\n" for name in graphs.segments)
        )
        strings = Held((), None, (start,), SIZE, around, graphs)
        return portmert.Lists(in_memory=strings, refs=[text], ids=True)

    def compared(self, half: int) -> dict[str, list[float]]:
        """Return way -> the rates on the half seen, and on the other one."""
        order = np.random.default_rng(half).permutation(len(self.graphs.segments))
        seen, unseen = (np.sort(part) for part in np.array_split(order, 2))
        rates = {}
        for name, language in GRIDS.items():
            points = [weights_of(1.0, w, -w * p) for w in language for p in PENALTIES]
            of_seen = [self.rate(point, seen, None) for point in points]
            best = points[int(np.argmin(of_seen))]
            rates[name] = [min(of_seen), self.rate(best, unseen, None)]
        for name, numbers in STARTS.items():
            start = weights_of(*numbers)
            rates[f"recogniser, {name}"] = [self.rate(start, p, None) for p in (seen, unseen)]
            for kind, around in (("lists", False), ("lattices", True)):
                with tempfile.TemporaryDirectory() as folder:
                    lists = self.lists(seen, start, Path(folder), around=around)
                    how = {"weights": start, "seed": half, "threads": 1}
                    found = portmert.optimize(lists, "wer", **how).weights
                    of_lists = None
                    if kind == "lists":
                        of_lists = self.lists(unseen, start, Path(folder), around=False)
                        rates[f"{name}, lists, then lattices"] = [
                            self.rate(found, part, None) for part in (seen, unseen)
                        ]
                    rates[f"{name}, {kind}"] = [
                        self.rate(found, seen, lists if of_lists else None),
                        self.rate(found, unseen, of_lists),
                    ]
        return rates


def table(halves: list[dict[str, list[float]]]) -> str:
    """Return the mean rates, and how much better each way is than the narrow grid."""
    names = [name for name in halves[0] if name != "half"]
    rates = np.array([[half[name] for name in names] for half in halves]) * 100
    rows = []
    for name, (seen, unseen), better in zip(
        names, rates.mean(axis=0), (rates[:, :1, 1] - rates[:, :, 1]).T, strict=True
    ):
        # Halves share utterances: Nadeau and Bengio (2003).
        error = better.std(ddof=1) * math.sqrt(1 / len(better) + 1)
        gain = f"{better.mean():.2f} ± {1.96 * error:.2f}" if better.any() else ""
        rows.append([name, f"{seen:.2f}", f"{unseen:.2f}", gain])
    return aligned([f"{len(halves)} halves", "WER seen", "unseen", "gain, 95 %"], rows)


if __name__ == "__main__":
    main()
