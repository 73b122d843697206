"""Posteriors of a recogniser that there is not, and a language model: data for recipes of speech.

The sentences are those of the demo's invented language. A letter is one frame; a blank stands
between equal letters. Logits are normal with deviation 1; the letter has 4.8 more, the next three
of the alphabet 4.5 more, so that they are often taken for it.
"""

from __future__ import annotations

import itertools
import lzma
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from portmert.tuner import demo

LABELS = ["", " ", *"abcdefghijklmnopqrstuvwxyz"]
"""Of a frame; the first is the blank."""


def sentences(count: int, *, first: int = 0) -> list[str]:
    """Return sentences of the invented language without punctuation."""
    bitext = Path(demo.__file__).parent / "bitext.tsv.xz"
    rows = lzma.decompress(bitext.read_bytes()).decode().splitlines()
    return [row.split("\t")[1].rstrip(" .?") for row in rows[first : first + count]]


def posteriors(text: str, rng: np.random.Generator) -> np.ndarray:
    """Return (frames, labels) natural logarithms of the probabilities of labels."""
    frames: list[int] = []
    for letter in text:
        label = LABELS.index(letter)
        frames += [0, label] if frames and frames[-1] == label else [label]
    scores = rng.normal(size=(len(frames), len(LABELS)))
    for row, label in zip(scores, frames, strict=True):
        row[label] += 4.8
        if label > 1:
            row[[2 + (label - 2 + step) % 26 for step in (1, 2, 3)]] += 4.5
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def write_bigrams(texts: list[str], path: Path) -> None:
    """Write a bigram model with absolute discounting as an ARPA file."""
    words: Counter[str] = Counter()
    followers: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        line = ["<s>", *text.split(), "</s>"]
        words.update(line[1:])
        for one, other in itertools.pairwise(line):
            followers[one][other] += 1
    discount, total = 0.7, sum(words.values()) + 1
    unigrams = [f"{np.log10(1 / total):.5f}\t<unk>"]
    bigrams = []
    for word in ["<s>", *words]:
        count = sum(followers[word].values())
        left = discount * len(followers[word]) / count if count else 1.0
        share = -99.0 if word == "<s>" else np.log10(words[word] / total)
        unigrams.append(f"{share:.5f}\t{word}\t{np.log10(left):.5f}")
        for other, seen in followers[word].items():
            value = (seen - discount) / count + left * words[other] / total
            bigrams.append(f"{np.log10(value):.5f}\t{word} {other}")
    path.write_text(
        f"\\data\\\nngram 1={len(unigrams)}\nngram 2={len(bigrams)}\n\n\\1-grams:\n"
        + "\n".join(unigrams) + "\n\n\\2-grams:\n" + "\n".join(bigrams) + "\n\n\\end\\\n"
    )  # fmt: skip
