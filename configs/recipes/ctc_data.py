"""Makes posteriors and a language model for ctc_beams.py, without an acoustic model."""

import itertools
import lzma
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

TANAKA = Path("configs/tanaka")
labels = ["", " ", *"abcdefghijklmnopqrstuvwxyz"]  # the first is the blank
rng = np.random.default_rng(1)


def posteriors(text):  # a letter is a frame, often taken for one of the next three
    frames = []
    for letter in text:
        label = labels.index(letter)
        frames += [0, label] if frames and frames[-1] == label else [label]
    scores = rng.normal(size=(len(frames), len(labels)))
    for row, label in zip(scores, frames):
        row[label] += 4.8
        if label > 1:
            row[[2 + (label - 2 + step) % 26 for step in (1, 2, 3)]] += 4.5
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def write_bigrams(texts, path):  # a language model with absolute discounting
    words, followers, discount = Counter(), defaultdict(Counter), 0.7
    for text in texts:
        line = ["<s>", *text.split(), "</s>"]
        words.update(line[1:])
        for one, other in itertools.pairwise(line):
            followers[one][other] += 1
    total = sum(words.values()) + 1
    unigrams, bigrams = [f"{np.log10(1 / total):.5f}\t<unk>"], []
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


def sentences(name):  # of letters alone
    opened = lzma.open if name.endswith(".xz") else open
    with opened(TANAKA / name, "rt", encoding="utf-8") as file:
        lines = [line.rstrip(" .?!\n") for line in file]
    return [line for line in lines if set(line) <= set(labels)]


size = 40
training_texts = sentences("train.ref.xz")
write_bigrams(training_texts, Path("lm.arpa"))
dev_texts, test_texts = (sentences(f"{name}.ref")[:size] for name in ("dev", "test"))
dev, test = ([posteriors(text) for text in texts] for texts in (dev_texts, test_texts))
