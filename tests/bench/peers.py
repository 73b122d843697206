"""What users have today, beside portmert: CPU seconds of whole commands, taken in turn.

python -m tests.bench.peers

`make bench` puts sacreBLEU, jiwer, compare-mt and fastchrf (which mbrs calls for chrF) into an
environment of their own. Moses' program is that of ../shared. A row says so if its peer is absent.
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

from tests.bench.drop_in import LAST, mert_arguments, prepared
from tests.bench.lists import Lists, moses_or_generated
from tests.bench.measure import in_turn, median_ratio
from tests.bench.significance import corpus
from tests.support.places import PROGRAMS, ROOT

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
    return [_row(race, folder) for race in (*_judging(folder), _searching(folder, lists))]


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
    script.write_text(FAST_CHRF)

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


def _searching(folder: Path, lists: Lists) -> Race:
    """Step 7 of mert-moses.pl: lists of 500 segments x 100, seven of them for the search."""
    work = prepared(folder, lists)
    files = [
        part
        for step in range(1, LAST + 1)
        for part in ("--features-dat", f"run{step}.features.dat",
                     "--scores-dat", f"run{step}.scores.dat")
    ]  # fmt: skip
    ours = ["portmert", "optimize-dat", "--metric", "bleu", *files, "--optimizer", "mert",
            "--out", folder / "weights.json"]  # fmt: skip
    return Race("mert, seven lists: Moses", ours, PROGRAMS / "mert", mert_arguments(),
                FIRST_KERNEL, work, rounds=1)  # fmt: skip


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        rows = peers(Path(name), moses_or_generated(Path(name)))
    click.echo(tabulate(rows, headers=HEADERS))


if __name__ == "__main__":
    main()
