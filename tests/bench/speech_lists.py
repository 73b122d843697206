"""Make the n-best lists of configs/speech with a real recogniser, from spoken digits.

python tests/bench/speech_lists.py RECORDINGS FOLDER [--utterances N] [--size N]

RECORDINGS is the folder of that name in the GitHub repository
Jakobovski/free-spoken-digit-dataset (CC BY-SA 4.0). Needs `pip install pocketsphinx numpy`, whose
wheel has an acoustic model of English, and nothing of portmert.

Digits of one speaker are joined to strings, each recording used once. The recogniser knows the
digits and words that sound like them, all equally likely, so that its lattices hold many paths.
Hypotheses are the best paths under acoustic score and a bigram model of digit strings; written
are, as Kaldi does, the words and the two costs of each hypothesis, and the references. Utterances
without a path are left out; every second one is of the dev set, the others are of the test set.
"""

from __future__ import annotations

import argparse
import gzip
import heapq
import itertools
import math
import random
import re
import tempfile
import wave
from collections import defaultdict
from pathlib import Path

import numpy as np
import pocketsphinx

DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
ALIKE = "oh sex sever nigh find heaven free tree sick wine fine the a and of"
WORDS = DIGITS + ALIKE.split()
LINK = re.compile(r"J=\d+\tS=(\d+)\tE=(\d+)\ta=(-?[\d.]+)")
NODE = re.compile(r"I=(\d+)\tt=([\d.]+)\tW=(\S+)")
NO_PATH = -10_000.0
"""Links of which the recogniser writes that they cannot be passed are far below."""
WEIGHTS = (12.0, 0.0)
"""Of the language model and of a word, the acoustic score has 1: for what gets into the lists."""
KEPT = 60
"""Partial hypotheses of each node of a lattice."""


def main() -> None:
    """Make strings, recognise them, write lists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recordings", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--utterances", type=int, default=500)
    parser.add_argument("--size", type=int, default=25)
    given = parser.parse_args()
    rng = random.Random(7)
    chain = [[rng.random() ** 4 for _ in DIGITS] for _ in DIGITS]
    strings = spoken(given.recordings, chain, rng)[: given.utterances]
    model = Bigrams([drawn(chain, rng) for _ in range(300)])
    with tempfile.TemporaryDirectory() as name:
        recogniser = open_recogniser(Path(name))
        rows = []
        for digits, paths in strings:
            speaker = paths[0].stem.split("_")[1]
            utterance = f"{speaker}-{len(rows):03d}"
            lattice = recognised(recogniser, paths, Path(name, "lattice"))
            found = best_paths(lattice, model, given.size)
            rows.append((utterance, [DIGITS[n] for n in digits], found))
    rows = sorted(row for row in rows if row[2])
    write(given.folder / "dev", rows[::2])
    write(given.folder / "test", rows[1::2])


def drawn(chain: list[list[float]], rng: random.Random) -> list[int]:
    """Return a string of five to seven digits from a Markov chain."""
    digits = [rng.randrange(10)]
    while len(digits) < rng.choice((5, 6, 7)):
        digits += rng.choices(range(10), chain[digits[-1]])
    return digits


def spoken(
    recordings: Path, chain: list[list[float]], rng: random.Random
) -> list[tuple[list[int], list[Path]]]:
    """Return strings of digits with their recordings, of each speaker as many as there are."""
    left: dict[str, dict[int, list[Path]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(recordings.glob("*.wav")):
        digit, speaker, _ = path.stem.split("_")
        left[speaker][int(digit)].append(path)
    found = []
    for own in left.values():
        for paths in own.values():
            rng.shuffle(paths)
        while True:
            digits = drawn(chain, rng)
            if any(digits.count(n) > len(own[n]) for n in set(digits)):
                # What the chain likes is used up: any string of what is left.
                rest = [n for n in own for _ in own[n]]
                if len(rest) < 7:
                    break
                digits = rng.sample(rest, 6)
            found.append((digits, [own[n].pop() for n in digits]))
    rng.shuffle(found)
    return found


class Bigrams:
    """Knows how likely a word is behind another: counts of digits, and any word now and then."""

    def __init__(self, strings: list[list[int]]) -> None:
        self.counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for digits in strings:
            words = ["<s>", *(DIGITS[n] for n in digits), "</s>"]
            for first, second in itertools.pairwise(words):
                self.counts[first][second] += 1

    def log(self, first: str, second: str) -> float:
        """Return a natural logarithm."""
        seen = self.counts[first]
        total = sum(seen.values())
        share = (seen[second] + 0.5) / (total + 0.5 * 11) if second in (*DIGITS, "</s>") else 0.0
        return math.log(0.95 * share + 0.05 / (len(WORDS) + 1))


def open_recogniser(folder: Path) -> pocketsphinx.Decoder:
    """Return a decoder for which all words are equally likely."""
    lines = [f"{math.log10(0.9 / len(WORDS)):.4f} {word}" for word in WORDS]
    (folder / "words.arpa").write_text(
        f"\\data\\\nngram 1={len(WORDS) + 2}\n\n\\1-grams:\n" + "\n".join(lines)
        + "\n-1.0 </s>\n-99 <s>\n\n\\end\\\n"
    )  # fmt: skip
    own = pocketsphinx.get_model_path()
    return pocketsphinx.Decoder(
        hmm=f"{own}/en-us/en-us", dict=f"{own}/en-us/cmudict-en-us.dict",
        lm=str(folder / "words.arpa"), loglevel="FATAL",
    )  # fmt: skip


def recognised(recogniser: pocketsphinx.Decoder, paths: list[Path], lattice: Path) -> str:
    """Return the lattice of recordings said one after the other."""
    parts = [np.zeros(800)]
    for path in paths:
        with wave.open(str(path)) as recording:
            assert recording.getframerate() == 8000
            data = recording.readframes(recording.getnframes())
        parts += [np.frombuffer(data, dtype="<i2").astype(float), np.zeros(400)]
    sound = np.concatenate([*parts, np.zeros(800)])
    sound = (
        np.fft.irfft(np.pad(np.fft.rfft(sound), (0, (len(sound) + 1) // 2)), 2 * len(sound)) * 2
    )
    sound += np.random.default_rng(1).normal(0.0, 20.0, len(sound))  # silence is never all zeros
    recogniser.start_utt()
    recogniser.process_raw(np.clip(sound, -32767, 32767).astype("<i2").tobytes(), full_utt=True)
    recogniser.end_utt()
    recogniser.get_lattice().write_htk(str(lattice))
    return lattice.read_text()


def best_paths(
    lattice: str, model: Bigrams, size: int
) -> list[tuple[tuple[str, ...], float, float]]:
    """Return the words, acoustic and language model scores of the best paths, best first.

    Of paths with the same words the one with the best acoustic score stands for all.
    """
    nodes = {int(n): (float(t), word) for n, t, word in NODE.findall(lattice)}
    start = int(re.search(r"start=(\d+)", lattice)[1])
    end = int(re.search(r"end=(\d+)", lattice)[1])
    links = defaultdict(list)
    for first, second, acoustic in LINK.findall(lattice):
        if float(acoustic) > NO_PATH:
            links[int(first)].append((int(second), float(acoustic)))
    partial: dict[int, dict[tuple[str, ...], tuple[float, float]]] = defaultdict(dict)
    partial[start] = {(): (0.0, 0.0)}

    def value(item: tuple[tuple[str, ...], tuple[float, float]]) -> float:
        words, (acoustic, language) = item
        return acoustic + WEIGHTS[0] * language + WEIGHTS[1] * len(words)

    for node in sorted(nodes, key=lambda n: (nodes[n][0], -n)):
        kept = heapq.nlargest(KEPT if node != end else size, partial.pop(node, {}).items(), value)
        if node == end:
            return [(words, *scores) for words, scores in kept]
        for words, (acoustic, language) in kept:
            for target, passed in links[node]:
                word = nodes[target][1]
                longer, log = words, language
                if word in WORDS or target == end:
                    log += model.log(
                        words[-1] if words else "<s>", "</s>" if target == end else word
                    )
                    longer = words if target == end else (*words, word)
                known = partial[target].get(longer)
                if known is None or known[0] < acoustic + passed:
                    partial[target][longer] = (acoustic + passed, log)
    return []


def write(folder: Path, rows: list) -> None:
    """Write words and costs by hypothesis, references by utterance."""
    named = [
        (f"{utterance}-{n}", words, acoustic, language)
        for utterance, _, found in rows
        for n, (words, acoustic, language) in enumerate(found, 1)
    ]
    files = {
        "words": "".join(f"{key} {' '.join(words)}\n" for key, words, _, _ in named),
        "ac_cost": "".join(f"{key} {-acoustic:.2f}\n" for key, _, acoustic, _ in named),
        "lm_cost": "".join(f"{key} {-language:.3f}\n" for key, _, _, language in named),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (folder / "text").write_text("".join(f"{key} {' '.join(ref)}\n" for key, ref, _ in rows))


if __name__ == "__main__":
    main()
