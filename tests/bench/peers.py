"""What users have today, beside portmert: CPU seconds of whole commands, taken in turn.

python -m tests.bench.peers

Each piece of work has a small input and a large one. `make bench` puts sacreBLEU, jiwer,
kaldialign, compare-mt, SciPy and fastchrf (which mbrs calls for chrF) into an environment of their
own. Moses' programs are those of ../shared. A row says so if its peer is absent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from tabulate import tabulate

from portmert.tuner.base.errors import counted
from tests.bench.drop_in import LAST, mert_arguments, prepared
from tests.bench.lists import Lists, moses_or_generated
from tests.bench.measure import in_turn, median_ratio
from tests.bench.significance import corpus
from tests.support.places import MOSES, PROGRAMS, ROOT

PEERS = ROOT / ".venv" / "peers" / "bin"
PER_SEGMENT, SAMPLED = 50, 100
"""Samples of a segment, and segments, for minimum Bayes risk."""
HEADERS = ("what", "portmert, CPU s", "peer, CPU s", "portmert / peer", "floor, CPU s")
FAST_CHRF = """
import json, sys
from fastchrf import pairwise_chrf
lists = {}
for line in open(sys.argv[1]):
    record = json.loads(line)
    lists.setdefault(record["id"], []).append(record["text"])
samples = list(lists.values())
for texts, scores in zip(samples, pairwise_chrf(samples, samples)):
    means = [sum(row) for row in scores]
    print(texts[means.index(max(means))])
"""
KALDIALIGN = """
import sys
from kaldialign import edit_distance
ref, hyp = ([line.split() for line in open(path)] for path in sys.argv[1:])
counts = [edit_distance(r, h) for r, h in zip(ref, hyp)]
print(sum(c["total"] for c in counts) / sum(map(len, ref)))
"""
SOFTMAX = """
import sys
import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax
scores, gains = np.load(sys.argv[1]), np.load(sys.argv[2])
def loss(weights):
    shares = np.exp(log_softmax(scores @ weights, axis=1))
    expected = (shares * gains).sum(axis=1, keepdims=True)
    slopes = np.einsum("sn,snf->f", shares * (gains - expected), scores)
    return -expected.mean(), -slopes / len(scores)
print(minimize(loss, np.full(scores.shape[2], 0.1), jac=True, method="L-BFGS-B").x)
"""
LARGE = 50_000
"""Segments of large inputs."""
START = "import numpy, pydantic.dataclasses, click"
FIRST_KERNEL = "import numba; numba.njit(cache=True)(lambda x: x)(1)"


@dataclass(frozen=True)
class Race:
    """A piece of work that both can do.

    Parameters
    ----------
    peer
        Its program; the name is its file's.
    floor
        Python code that our command cannot do without.
    """

    what: str
    ours: list[object]
    peer: Path
    theirs: list[object]
    floor: str = START
    folder: Path | None = None
    rounds: int = 3


def peers(folder: Path, lists: Lists) -> list[list[str]]:
    """Return a row for each piece of work."""
    folder = folder / "peers"
    folder.mkdir()
    for name, code in (
        ("fast_chrf.py", FAST_CHRF), ("by_kaldialign.py", KALDIALIGN), ("by_softmax.py", SOFTMAX)
    ):  # fmt: skip
        (folder / name).write_text(code)
    races = [
        *_judging(folder),
        *_scoring(folder),
        *_choosing(folder),
        *_moses(folder, lists),
    ]
    return [_row(race, folder) for race in races]


def _row(race: Race, folder: Path) -> list[str]:
    if not race.peer.exists():
        return [race.what, "", f"{race.peer.name} is not there", "", ""]
    script = folder / "floor.py"
    script.write_text(race.floor + "\n")
    ours, theirs, floor = in_turn(
        lambda: _run([sys.executable, "-m", *race.ours], race.folder),
        lambda: _run([race.peer, *race.theirs], race.folder),
        lambda: _run([sys.executable, script], race.folder),
        rounds=race.rounds,
    )
    ratio = f"{median_ratio(ours, theirs):.2f}"
    return [race.what, *(f"{min(x):.2f}" for x in (ours, theirs)), ratio, f"{min(floor):.2f}"]


def _run(command: list[object], folder: Path | None) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    result = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, capture_output=True, check=False
    )
    if result.returncode:
        raise RuntimeError(f"{command[:3]}: {result.stderr.decode()[-500:]}")


def _judging(folder: Path) -> list[Race]:
    """Scores and comparisons of outputs of 1,000 segments, and minimum Bayes risk."""
    reference, (first, second, *_) = corpus(folder)
    samples = folder / "samples.jsonl"
    _write_samples(samples, reference)
    script = folder / "fast_chrf.py"

    def score(metric: str) -> list[object]:
        return ["portmert", "score", "--metric", metric, "--hyp", first, "--ref", reference]

    sacrebleu = [reference, "-i", first, "--tokenize", "none", "-m"]
    return [
        Race("score, BLEU: sacreBLEU", score("bleu"), PEERS / "sacrebleu", [*sacrebleu, "bleu"]),
        Race("score, chrF: sacreBLEU", score("chrf"), PEERS / "sacrebleu", [*sacrebleu, "chrf"],
             FIRST_KERNEL),
        Race("score, TER: sacreBLEU", score("ter"), PEERS / "sacrebleu", [*sacrebleu, "ter"],
             FIRST_KERNEL),
        Race("score, WER: jiwer", score("wer"), PEERS / "jiwer", ["-r", reference, "-h", first],
             FIRST_KERNEL),
        Race("score, BLEU: Moses' evaluator", score("bleu"), PROGRAMS / "evaluator",
             ["--sctype", "BLEU", "-R", reference, "-C", first]),
        Race("score, WER: kaldialign", score("wer"), PEERS / "python",
             [folder / "by_kaldialign.py", reference, first], FIRST_KERNEL),
        Race("compare two outputs, with a page: compare-mt",
             ["portmert", "compare", f"a={first}", f"b={second}", "--ref", reference,
              "--html", folder / "page.html"],
             PEERS / "compare-mt",
             [reference, first, second, "--output_directory", folder / "compare-mt"],
             FIRST_KERNEL),
        Race("compare two outputs, BLEU, 10,000 samples: sacreBLEU --paired-bs",
             ["portmert", "compare", f"a={first}", f"b={second}", "--ref", reference,
              "--metric", "bleu", "--samples", 10000],
             PEERS / "sacrebleu",
             [reference, "-i", first, second, "--tokenize", "none", "-m", "bleu", "--paired-bs",
              "--paired-bs-n", 10000],
             FIRST_KERNEL),
        Race(f"MBR chrF, {SAMPLED} lists of {PER_SEGMENT}: fastchrf",
             ["portmert", "rerank", "--nbest", samples, "--mbr", "chrf", "--out", folder / "mbr"],
             PEERS / "python", [script, samples], FIRST_KERNEL),
    ]  # fmt: skip


def _write_samples(samples: Path, reference: Path) -> None:
    rng = np.random.default_rng(8)
    lines = [line.split() for line in reference.read_text().splitlines()]
    vocabulary = sorted({word for words in lines for word in words})
    with samples.open("w") as out:
        for number, words in enumerate(lines[:SAMPLED]):
            for _ in range(PER_SEGMENT):
                others = rng.choice(vocabulary, len(words))
                text = np.where(rng.random(len(words)) < 0.8, words, others)
                out.write(json.dumps({"id": number, "text": " ".join(text)}) + "\n")


def _scoring(folder: Path) -> list[Race]:
    """Scores of large outputs: lines of 8 to 30 words, three of ten wrong."""
    rng = np.random.default_rng(LARGE)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    words = np.array(["".join(rng.choice(letters, n)) for n in rng.integers(2, 10, 5000)])
    outputs, reference = folder / "large.out", folder / "large.ref"
    with outputs.open("w") as out, reference.open("w") as refs:
        for length in rng.integers(8, 31, LARGE):
            right, wrong = (words[rng.integers(0, len(words), length)] for _ in range(2))
            refs.write(" ".join(right) + "\n")
            out.write(" ".join(np.where(rng.random(length) < 0.3, wrong, right)) + "\n")
    sacrebleu = [reference, "-i", outputs, "--tokenize", "none", "-m"]
    python, jiwer, evaluator = PEERS / "python", PEERS / "jiwer", PROGRAMS / "evaluator"
    kaldialign = [folder / "by_kaldialign.py", reference, outputs]
    bleu_of_moses = ["--sctype", "BLEU", "-R", reference, "-C", outputs]
    return [
        Race(f"score, {metric}, {LARGE:,} segments: {name}",
             ["portmert", "score", "--metric", metric, "--hyp", outputs, "--ref", reference],
             peer, theirs, FIRST_KERNEL, rounds=1)
        for metric, name, peer, theirs in (
            ("bleu", "sacreBLEU", PEERS / "sacrebleu", [*sacrebleu, "bleu"]),
            ("bleu", "Moses' evaluator", evaluator, bleu_of_moses),
            ("chrf", "sacreBLEU", PEERS / "sacrebleu", [*sacrebleu, "chrf"]),
            ("ter", "sacreBLEU", PEERS / "sacrebleu", [*sacrebleu, "ter"]),
            ("wer", "jiwer", jiwer, ["-r", reference, "-h", outputs]),
            ("wer", "kaldialign", python, kaldialign),
        )
    ]  # fmt: skip


def _choosing(folder: Path) -> list[Race]:
    """Weights on lists of 16 with six features and outcomes, beside SciPy's softmax."""
    races = []
    for segments in (1000, LARGE):
        rng = np.random.default_rng(segments)
        features = rng.normal(size=(segments, 16, 6))
        utilities = features @ rng.normal(size=6) / 2 + rng.gumbel(size=(segments, 16))
        files = [folder / f"{segments}.{kind}.npy" for kind in ("features", "gains")]
        np.save(files[0], features)
        np.save(files[1], (utilities == utilities.max(axis=1, keepdims=True)).astype(float))
        races += [
            Race(f"{optimizer}, {segments:,} lists of 16: SciPy's softmax",
                 ["tests.bench.choosing", *files, optimizer],
                 PEERS / "python", [folder / "by_softmax.py", *files], FIRST_KERNEL, rounds=1)
            for optimizer in ("bagged", "min-risk")
        ]  # fmt: skip
    return races


def _moses(folder: Path, lists: Lists) -> list[Race]:
    """Step 7 of mert-moses.pl: lists of 500 segments x 100, seven of them for the search."""
    work = prepared(folder, lists)
    if MOSES.is_dir():
        dense = (MOSES / "mert-bleu" / "run1.dense").read_bytes()
        (work / "run1.dense").write_bytes(dense)
    races = []
    for steps in (1, LAST):
        pairs = [[f"run{step}.{kind}.dat" for kind in ("features", "scores")]
                 for step in range(1, steps + 1)]  # fmt: skip
        ours = [part for features, scores in pairs
                for part in ("--features-dat", features, "--scores-dat", scores)]  # fmt: skip
        theirs = [part for features, scores in pairs
                  for part in ("--ffile", features, "--scfile", scores)]  # fmt: skip
        command = ["portmert", "optimize-dat", "--metric", "bleu", *ours,
                   "--out", folder / "weights.json", "--optimizer"]  # fmt: skip
        what = f"{counted(steps, 'list')} of 50,000 hypotheses: Moses"
        kbmira = ["--dense-init", "run1.dense", *theirs, "-o", folder / "mira.out"]
        races.append(Race(f"kbmira, {what}", [*command, "kbmira"], PROGRAMS / "kbmira", kbmira,
                          FIRST_KERNEL, work, rounds=1))  # fmt: skip
    races.append(Race(f"mert, {what}", [*command, "mert"], PROGRAMS / "mert", mert_arguments(),
                      FIRST_KERNEL, work, rounds=1))  # fmt: skip
    return races


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        rows = peers(Path(name), moses_or_generated(Path(name)))
    click.echo(tabulate(rows, headers=HEADERS))


if __name__ == "__main__":
    main()
