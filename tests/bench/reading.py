"""Reading lists: Moses lists against `zcat | wc`, JSON lines, and a million hypotheses.

python -m tests.bench.reading
"""

from __future__ import annotations

import gzip
import json
import subprocess
import tempfile
from pathlib import Path

import click
from tabulate import tabulate

from portmert.metrics._base import Vocabulary
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import read_nbest
from tests.bench.lists import Lists, moses_or_generated
from tests.bench.measure import in_turn, run
from tests.bench.memory import ARRAYS, PER_SEGMENT, generate

COPIES = 4
"""How often the list of 50,000 hypotheses stands in the file, under other ids."""
MILLION = 1_000_000
LOADED = """
import sys
import portmert
from portmert.tuner.texts.corpus import make_batch
from portmert.tuner.texts.statistics import compute_stats
lists = portmert.Lists.read(sys.argv[1], refs=sys.argv[2], format="moses")
batch = make_batch(lists.nbest.texts, lists.nbest.offsets, lists.references)
compute_stats(portmert.metric("bleu"), batch)
"""


def reading(folder: Path, lists: Lists) -> list[list[str]]:
    """Return rows of the table: what, measured, goal."""
    moses, records = folder / "copies.nbest.gz", folder / "copies.jsonl"
    _write(lists.nbest, moses, records)
    size = int(subprocess.check_output(f"zcat {moses} | wc -c", shell=True))  # noqa: S602
    zcat, of_moses, of_json = in_turn(
        lambda: subprocess.run(f"zcat {moses} | wc > {folder}/counts", shell=True, check=True),  # noqa: S602
        lambda: _read(moses),
        lambda: _read(records),
        rounds=5,
    )
    rates = size / min(of_moses) / 1e6, records.stat().st_size / min(of_json) / 1e6
    return [
        [
            "read a Moses list (.gz): MB/s; CPU / CPU of zcat | wc",
            f"{rates[0]:.0f}; {min(of_moses) / min(zcat):.2f}",
            ">= 60; <= 2",
        ],
        ["read JSON lines: MB/s", f"{rates[1]:.0f}", ">= 40"],
        *_million(folder),
    ]


def _read(path: Path) -> None:
    read_nbest([path], Vocabulary(), reader=registry.reader("auto"))


def _write(nbest: Path, moses: Path, records: Path) -> None:
    """Write copies of a list of Moses, and one of them as JSON lines."""
    lines = gzip.decompress(nbest.read_bytes()).decode().splitlines()
    with gzip.open(moses, "wt", compresslevel=1) as out:
        for copy in range(COPIES):
            for line in lines:
                number, _, remainder = line.partition(" ")
                out.write(f"{int(number) + copy * 500} {remainder}\n")
    with records.open("w") as out:
        for line in lines:
            number, text, features, score, *_ = line.split(" ||| ")
            by_name: dict[str, list[float]] = {}
            for token in features.split():
                if token.endswith("="):
                    values = by_name.setdefault(token.removesuffix("="), [])
                else:
                    values.append(float(token))
            record = {"id": int(number), "text": text, "features": by_name}
            out.write(json.dumps({**record, "model_score": float(score)}) + "\n")


def _million(folder: Path) -> list[list[str]]:
    """Return what it takes until a million hypotheses are ready to search, above a few of them."""
    lists, reference = generate(folder, 1)
    few = folder / "few.nbest", folder / "few.ref"
    with lists.open() as lines, reference.open() as references:
        few[0].write_text("".join(next(lines) for _ in range(2 * PER_SEGMENT)))
        few[1].write_text("".join(next(references) for _ in range(2)))
    script = folder / "loaded_lists.py"
    script.write_text(LOADED)
    small = [run(few, module="loaded_lists", folder=folder) for _ in range(2)][-1]
    large = [run((lists, reference), module="loaded_lists", folder=folder) for _ in range(3)]
    lists.unlink()
    seconds = min(process.cpu for process in large) - small.cpu
    memory = min(process.memory for process in large) - small.memory
    peak = memory / ((MILLION - 2 * PER_SEGMENT) * ARRAYS)
    return [["a million hypotheses with BLEU's statistics: CPU seconds; peak / arrays",
             f"{seconds:.1f}; {peak:.2f}", "<= 12; <= 2.2"]]  # fmt: skip


def main() -> None:
    """Print the rows."""
    with tempfile.TemporaryDirectory() as name:
        rows = reading(Path(name), moses_or_generated(Path(name)))
    click.echo(tabulate(rows, headers=["what", "measured", "goal"]))


if __name__ == "__main__":
    main()
