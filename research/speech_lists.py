"""Make the n-best lists of configs/speech with a real recogniser, from spoken digits.

python research/speech_lists.py RECORDINGS FOLDER [--utterances N] [--size N] [--beam BEAM]

RECORDINGS is the folder of that name in the GitHub repository
Jakobovski/free-spoken-digit-dataset (CC BY-SA 4.0). Needs `pip install pocketsphinx numpy`, whose
wheel has an acoustic model of English, and nothing of portmert.

Digits of one speaker are joined to strings, each recording used once. The recogniser knows the
digits and words that sound like them, all equally likely, so that its lattices hold many paths.
Hypotheses are the best paths under acoustic score and a bigram model of digit strings; written
are, as Kaldi does, the words and the two costs of each hypothesis, and the references. Utterances
without a path are left out; every second one is of the dev set, the others are of the test set.

With --beam, lattices are written too: those of PocketSphinx with the scores of the bigram model on
their links, without links whose best path is further below the best one than BEAM.
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
    parser.add_argument("--beam", type=float)
    given = parser.parse_args()
    rng = random.Random(7)
    chain = [[rng.random() ** 4 for _ in DIGITS] for _ in DIGITS]
    strings = spoken(given.recordings, chain, rng)[: given.utterances]
    model = Bigrams([drawn(chain, rng) for _ in range(300)])
    with tempfile.TemporaryDirectory() as name:
        recogniser = open_recogniser(Path(name))
        rows, slfs = [], {}
        for digits, paths in strings:
            speaker = paths[0].stem.split("_")[1]
            utterance = f"{speaker}-{len(rows):03d}"
            lattice = recognised(recogniser, paths, Path(name, "lattice"))
            found = best_paths(lattice, model, given.size)
            rows.append((utterance, [DIGITS[n] for n in digits], found))
            if found and given.beam is not None:
                arcs = pruned(*with_bigrams(lattice, model), given.beam)
                slfs[utterance] = slf(utterance, arcs).encode()
    rows = sorted(row for row in rows if row[2])
    for name, part in (("dev", rows[::2]), ("test", rows[1::2])):
        write(given.folder / name, part)
        for utterance in [row[0] for row in part if row[0] in slfs]:
            file = given.folder / name / "lattices" / f"{utterance}.slf.gz"
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(gzip.compress(slfs[utterance], mtime=0))


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


def read_lattice(
    lattice: str,
) -> tuple[dict[int, tuple[float, str]], dict[int, list[tuple[int, float]]], int, int]:
    """Return times and words of nodes, links from each node, and the first and the last node."""
    nodes = {int(n): (float(t), word) for n, t, word in NODE.findall(lattice)}
    links = defaultdict(list)
    for first, second, acoustic in LINK.findall(lattice):
        if float(acoustic) > NO_PATH:
            links[int(first)].append((int(second), float(acoustic)))
    start, end = (int(re.search(rf"{key}=(\d+)", lattice)[1]) for key in ("start", "end"))
    return nodes, links, start, end


def best_paths(
    lattice: str, model: Bigrams, size: int
) -> list[tuple[tuple[str, ...], float, float]]:
    """Return the words, acoustic and language model scores of the best paths, best first.

    Of paths with the same words the one with the best acoustic score stands for all.
    """
    nodes, links, start, end = read_lattice(lattice)
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


State = tuple[int, str]
"""A node of a lattice, and the last word before it or in it."""
Arc = tuple[State, State, float, float]
"""The states it leads from and to, acoustic and language model score."""


def with_bigrams(lattice: str, model: Bigrams) -> tuple[list[Arc], State, State]:
    """Return the arcs of a lattice with scores of the model, the first and the last state."""
    nodes, links, start, end = read_lattice(lattice)
    words: dict[int, dict[str, None]] = defaultdict(dict)
    words[start]["<s>"] = None
    arcs = []
    for node in sorted(nodes, key=lambda n: (nodes[n][0], -n)):
        for last, (target, acoustic) in itertools.product(words[node], links[node]):
            word, log = nodes[target][1], 0.0
            if target == end:
                word, log = "", model.log(last, "</s>")
            elif word in WORDS:
                log = model.log(last, word)
            else:
                word = last
            words[target][word] = None
            arcs.append(((node, last), (target, word), acoustic, log))
    return arcs, (start, "<s>"), (end, "")


def pruned(arcs: list[Arc], start: State, end: State, beam: float) -> list[Arc]:
    """Return the arcs of which a path is at most `beam` below the best one."""
    scores = [acoustic + WEIGHTS[0] * language for *_, acoustic, language in arcs]
    before, behind = defaultdict(lambda: -math.inf, {start: 0.0}), defaultdict(lambda: -math.inf)
    behind[end] = 0.0
    for (tail, head, *_), score in zip(arcs, scores, strict=True):
        before[head] = max(before[head], before[tail] + score)
    for (tail, head, *_), score in zip(reversed(arcs), reversed(scores), strict=True):
        behind[tail] = max(behind[tail], behind[head] + score)
    return [
        arc for arc, score in zip(arcs, scores, strict=True)
        if before[arc[0]] + score + behind[arc[1]] >= before[end] - beam
    ]  # fmt: skip


def slf(utterance: str, arcs: list[Arc]) -> str:
    """Return a lattice in HTK's format, with words on its links."""
    numbers: dict[State, int] = {}
    for tail, head, *_ in arcs:
        numbers.setdefault(tail, len(numbers))
        numbers.setdefault(head, len(numbers))
    end = numbers[arcs[-1][1]]
    lines = ["VERSION=1.0", f"UTTERANCE={utterance}", f"lmscale={WEIGHTS[0]:g} wdpenalty=0"]
    lines += [f"start=0 end={end}", f"N={len(numbers)} L={len(arcs)}"]
    lines += [f"I={number}" for number in numbers.values()]
    for number, (tail, head, acoustic, language) in enumerate(arcs):
        word = head[1] if language and head[1] else "!NULL"
        lines.append(
            f"J={number} S={numbers[tail]} E={numbers[head]} W={word} a={acoustic:.2f} "
            f"l={language:.3f}"
        )
    return "\n".join(lines) + "\n"


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
