"""Makes tests/data/invented/quality: invented translations, two model scores, a quality score.

`python -m tests.support.quality_lists` writes them again. A hypothesis is a reference of the
demo's language with words dropped, replaced or moved. The two model scores know of these faults,
with noise of their own, and like short output; the quality score, a stand-in for that of a model
that needs no reference, knows of them with other noise.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from tests.support.languages.grammar import generate
from tests.support.places import INVENTED

FOLDER = INVENTED / "quality"
SEGMENTS = {"dev": 150, "test": 150}
SIZE = 8
PIECE = 4
"""Letters of a word before it is cut, as subwords are."""


def faulty(
    words: list[str], lexicon: list[str], rng: np.random.Generator
) -> tuple[list[str], int]:
    """Return a translation with up to five faults, and how many."""
    translation, faults = list(words), int(rng.integers(0, 6))
    for _ in range(faults):
        place = int(rng.integers(0, len(translation)))
        kind = rng.choice(["drop", "replace", "move"], p=[0.4, 0.4, 0.2])
        if kind == "replace":
            translation[place] = lexicon[int(rng.integers(0, len(lexicon)))]
        elif len(translation) > 2:
            word = translation.pop(place)
            if kind == "move":
                translation.insert(int(rng.integers(0, len(translation) + 1)), word)
    return translation, faults


def pieces(word: str) -> str:
    """Return a word, cut where it is long."""
    return f"{word[:PIECE]}@@ {word[PIECE:]}" if len(word) > PIECE else word


def files() -> dict[str, bytes]:
    """Return name -> content of all files."""
    rng = np.random.default_rng(11)
    pairs = generate(sum(SEGMENTS.values()), seed=11)
    lexicon = sorted({word for pair in pairs for word in pair.target})
    contents: dict[str, bytes] = {}
    start = 0
    for name, segments in SEGMENTS.items():
        references, lists, scores = [], [], []
        for segment, pair in enumerate(pairs[start : start + segments]):
            words = list(pair.target)
            references.append(" ".join(words))
            outputs = {}
            for _ in range(SIZE):
                text, faults = faulty(words, lexicon, rng)
                models = -0.6 * len(text) - 0.9 * faults + rng.normal(0, (1.3, 1.8))
                quality = 0.9 - 0.6 * faults / len(words) + rng.normal(0, 0.2)
                outputs.setdefault(tuple(text), (models.round(4), round(float(quality), 4)))
            for text, (models, quality) in sorted(outputs.items(), key=lambda h: -sum(h[1][0])):
                line = " ".join(map(pieces, text))
                values = " ".join(f"F{k}= {value}" for k, value in enumerate(models))
                total = round(float(models.sum()) / 2, 4)
                lists.append(f"{segment} ||| {line} ||| {values} ||| {total}")
                scores.append(str(quality))
        start += segments
        contents[f"{name}.ref"] = as_lines(references)
        contents[f"{name}.nbest.gz"] = gzip.compress(as_lines(lists), mtime=0)
        contents[f"{name}.comet"] = as_lines(scores)
    return contents


def as_lines(lines: list[str]) -> bytes:
    """Return a text, a line each."""
    return "".join(f"{line}\n" for line in lines).encode()


if __name__ == "__main__":
    Path(FOLDER).mkdir(exist_ok=True)
    for file, content in files().items():
        (FOLDER / file).write_bytes(content)
