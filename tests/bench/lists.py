"""Lists of the shape of ../shared/data/moses-ja-en, generated where that is absent."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tests.support.places import SHARED

if TYPE_CHECKING:
    from pathlib import Path

REAL = SHARED / "data" / "moses-ja-en"
FEATURES = (
    ("LexicalReordering0", 6),
    ("Distortion0", 1),
    ("LM0", 1),
    ("WordPenalty0", 1),
    ("PhrasePenalty0", 1),
    ("TranslationModel0", 4),
)
SEGMENTS, PER_SEGMENT, ITERATIONS, WORDS = 500, 100, 7, 2000


@dataclass(frozen=True)
class Lists:
    """Paths of one set of lists; `real` where they come from Moses."""

    real: bool
    features: list[Path]
    scores: list[Path]
    weights: Path
    nbest: Path
    source: Path
    reference: Path
    links: Path


def moses_or_generated(folder: Path) -> Lists:
    """Return the real lists, or write some like them into `folder`."""
    if REAL.is_dir():
        runs = range(1, 8)
        return Lists(
            real=True,
            features=[REAL / "mert-bleu" / f"run{n}.features.dat.gz" for n in runs],
            scores=[REAL / "mert-bleu" / f"run{n}.scores.dat.gz" for n in runs],
            weights=REAL / "mert-bleu" / "run1.dense",
            nbest=REAL / "mert-bleu" / "run1.best100.out.gz",
            source=REAL / "dev.ja",
            reference=REAL / "dev.en",
            links=REAL / "dev.ja-en.giza",
        )
    return generate(folder)


def generate(folder: Path) -> Lists:
    """Write references, seven pairs of dat files and one n-best list."""
    rng = np.random.default_rng(20)
    references = [rng.integers(0, WORDS, size=rng.integers(6, 13)) for _ in range(SEGMENTS)]
    names = {"reference": "dev.trg", "source": "dev.src", "links": "dev.links"}
    paths = {key: folder / name for key, name in names.items()}
    for key, prefix in (("reference", "w"), ("source", "s")):
        lines = (" ".join(f"{prefix}{t}" for t in tokens) for tokens in references)
        paths[key].write_text("\n".join(lines) + "\n")
    straight = (" ".join(f"{i}-{i}" for i in range(len(tokens))) for tokens in references)
    paths["links"].write_text("\n".join(straight) + "\n")
    weights = folder / "start.dense"
    weights.write_text("".join(f"{name}= 0.3\n" for name, size in FEATURES for _ in range(size)))
    features, scores = [], []
    nbest = folder / "run1.best100.out.gz"
    for iteration in range(ITERATIONS):
        features.append(folder / f"run{iteration + 1}.features.dat.gz")
        scores.append(folder / f"run{iteration + 1}.scores.dat.gz")
        with (
            gzip.open(features[-1], "wt") as f,
            gzip.open(scores[-1], "wt") as s,
            gzip.open(nbest if iteration == 0 else "/dev/null", "wt") as n,
        ):
            for segment, reference in enumerate(references):
                _write_segment(rng, segment, reference, f, s, n)
    return Lists(
        real=False, features=features, scores=scores, weights=weights, nbest=nbest, **paths
    )


def _write_segment(rng, segment, reference, features, scores, nbest) -> None:
    columns = [f"{name}_{i}" for name, size in FEATURES for i in range(size)]
    features.write(
        f"FEATURES_TXT_BEGIN_0 {segment} {PER_SEGMENT} {len(columns)} {' '.join(columns)} \n"
    )
    scores.write(f"SCORES_TXT_BEGIN_0 {segment} {PER_SEGMENT} 9 BLEU\n")
    for _ in range(PER_SEGMENT):
        wrong = rng.random(len(reference)) < rng.uniform(0.1, 0.7)
        tokens = np.where(wrong, rng.integers(0, WORDS, size=len(reference)), reference)
        right = tokens == reference
        counts = []
        for order in range(1, 5):
            runs = (
                np.convolve(right, np.ones(order), "valid") if len(right) >= order else right[:0]
            )
            counts += [int((runs == order).sum()), max(0, len(right) - order + 1)]
        values = rng.normal(size=len(columns)) * 3 + rng.normal(size=len(columns)) * wrong.sum()
        features.write(" ".join(f"{v:.6g}" for v in values) + " \n")
        scores.write(" ".join(map(str, [*counts, len(reference)])) + " \n")
        parts, start = [], 0
        for name, size in FEATURES:
            parts.append(f"{name}= " + " ".join(f"{v:.6g}" for v in values[start : start + size]))
            start += size
        text = " ".join(f"w{t}" for t in tokens)
        links = " ".join(f"{i}-{i}" for i in range(len(reference)))
        nbest.write(f"{segment} ||| {text} ||| {' '.join(parts)} ||| 0 ||| {links} \n")
    features.write("FEATURES_TXT_END_0\n")
    scores.write("SCORES_TXT_END_0\n")
