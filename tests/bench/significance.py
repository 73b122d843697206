"""Resampling tests beside sacrebleu's, and the whole of `portmert compare`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison.material import read_material
from portmert.tuner.evaluation.comparison.scores import count
from portmert.tuner.evaluation.comparison.systems import SystemFiles, TestFiles, find_systems
from portmert.tuner.evaluation.significance import Resampling, systems_tested
from portmert.tuner.texts.prepare import Preparation
from tests.bench.measure import in_turn, median_ratio, run

if TYPE_CHECKING:
    from pathlib import Path

SEGMENTS = 1000
SYSTEMS = 10
SAMPLES = 10_000
METRICS = ("bleu", "bleu-sbp", "qmean", "ter", "chrf")
ROUNDS = 3


class _Counted(BLEU):
    """BLEU that counts an output once: on both sides the tests are measured, not the counting."""

    def _extract_corpus_statistics(self, hypotheses, references):
        kept = self.__dict__.setdefault("kept", {})
        key = id(hypotheses)
        if key not in kept:
            kept[key] = super()._extract_corpus_statistics(hypotheses, references)
        return kept[key]


def significance(folder: Path) -> list[list[str]]:
    """Return the rows: tests of ten systems against sacrebleu's of two, and the command."""
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    reference, outputs = corpus(folder)
    systems = find_systems([SystemFiles(path.stem, (path,)) for path in outputs])
    test = TestFiles(None, (reference,))
    (material,) = read_material(systems, test, (), None, Preparation())
    counted = count(material, {name: registry.metric(name) for name in METRICS})
    stats = list(zip(*(one.stats for one in counted), strict=True))
    metrics = [one.metric for one in counted]

    def ours() -> None:
        systems_tested(metrics, stats, Resampling(SAMPLES))

    lines = [path.read_text().splitlines() for path in (reference, *outputs[:2])]
    bleu = _Counted(references=[lines[0]], tokenize="none", force=True)

    def theirs(kind: str) -> None:
        named = [("one", lines[1]), ("other", lines[2])]
        PairedTest(named, {"BLEU": bleu}, None, test_type=kind, n_samples=SAMPLES)()

    tested, randomized, bootstrapped = in_turn(
        ours, lambda: theirs("ar"), lambda: theirs("bs"), rounds=ROUNDS
    )
    compare = [
        "compare", f"one={outputs[0]}", f"other={outputs[1]}", "--ref", reference,
    ]  # fmt: skip
    run(compare)
    processes = [run(compare) for _ in range(ROUNDS)]
    what = f"both tests, {SYSTEMS} systems, {len(METRICS)} metrics / sacrebleu, 2 and BLEU alone"
    return [
        [f"{what}: randomization", f"{median_ratio(tested, randomized):.2f}", "<= 1"],
        [f"{what}: bootstrap", f"{median_ratio(tested, bootstrapped):.2f}", "<= 1"],
        ["both tests: seconds", f"{np.median(tested):.1f}", ""],
        [
            f"portmert compare, 2 outputs of {SEGMENTS}: seconds (CPU)",
            f"{min(p.wall for p in processes):.1f} ({min(p.cpu for p in processes):.1f})",
            "<= 5",
        ],
    ]


def corpus(folder: Path) -> tuple[Path, list[Path]]:
    """Write a reference and outputs that have about two thirds of its words."""
    rng = np.random.default_rng(3)
    words = np.array([f"w{number}" for number in range(4000)])
    frequent = 1 / (np.arange(len(words)) + 5)
    frequent /= frequent.sum()
    lengths = rng.integers(8, 40, size=SEGMENTS)
    lines = [rng.choice(words, size=length, p=frequent) for length in lengths]
    reference = folder / "significance.ref"
    reference.write_text("".join(" ".join(line) + "\n" for line in lines))
    outputs = []
    for system in range(SYSTEMS):
        path = folder / f"significance{system}.txt"
        noisy = (
            np.where(rng.random(len(line)) < 0.65, line, rng.choice(words, len(line), p=frequent))
            for line in lines
        )
        path.write_text("".join(" ".join(line) + "\n" for line in noisy))
        outputs.append(path)
    return reference, outputs
