"""Measure what tuning is worth on segments that it has not seen.

python -m tests.bench.unseen [--metric NAME ...] [--splits N] [--seeds N] [--sizes N,N,...]
                             [--run FOLDER | --made] [--out-dir FOLDER]
                             [OPTIMIZER:OPTION=VALUE,... ...]

`portmert crossval` over a fixed pool of n-best lists, a table for each metric and number of
segments tuned on; the first row is what the others are compared with. The pool is
../shared/data/moses-ja-en, the run of `portmert tune` in --run, or one that is made with the
embedded decoder.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import click

import portmert
from tests.bench.lists import REAL
from tuner.demo.bitext import write_bitext
from tuner.evaluation.crossval.report import tables_of
from tuner.runs.config import load_config
from tuner.runs.experiment import run
from tuner.tables import aligned

METRICS = ("bleu", "port", "ter", "chrf", "meteor")
BASE = "mert"
"""What the others are compared with."""

OPTIMIZERS = ("shrunk", "coordinate", "kbmira", "expected")
MADE = {"train": 4000, "dev": 400}
"""Sentence pairs of a pool that is made."""

Pool = dict[str, Any]
"""What `portmert.crossval` takes: lists, references, links, untuned weights."""


def moses_pool() -> Pool:
    """Return the lists of seven iterations of mert-moses.pl."""
    return {
        "lists": [REAL / "mert-bleu" / f"run{n}.best100.out.gz" for n in range(1, 8)],
        "refs": [REAL / "dev.en"],
        "source": REAL / "dev.ja",
        "ref_links": [REAL / "dev.ja-en.giza"],
        "weights": REAL / "mert-bleu" / "run1.dense",
    }


def run_pool(folder: Path) -> Pool:
    """Return the lists of a run of `portmert tune`, with links of the dev set if it has any."""
    data = json.loads((folder / "inputs.json").read_text())["data"]
    lists = sorted(folder.glob("iteration-*/nbest.gz"))
    given = [folder / link["path"] for link in data["reference_links"]]
    return {
        "lists": lists,
        "refs": [folder / reference["path"] for reference in data["references"]],
        "source": folder / data["source"]["path"],
        "ref_links": given or sorted((folder / "annotations").glob("dev-*.links")),
        "weights": lists[0].with_name("weights.json"),
    }


def made_pool(folder: Path) -> Pool:
    """Make lists with the embedded decoder, tuned for three iterations on an artificial bitext."""
    write_bitext(folder, test=10, seed=5, **MADE)
    config = folder / "made.toml"
    config.write_text(
        '[tune]\noutput = "made"\niterations = 3\nnbest = 100\npatience = 3\n'
        '[data]\nsource = "dev.src"\nreferences = ["dev.tgt"]\nreference_links = ["dev.links"]\n'
        '[metric]\nname = "bleu"\n[optimizer]\nname = "kbmira"\n[decoder]\nname = "thot"\n'
        'train_source = "train.src"\ntrain_target = "train.tgt"\nmodel = "model"\n'
    )
    run(load_config(config), log=say, progress=lambda *_: None)
    return run_pool(folder / "made")


def main() -> None:
    """Print a table for each metric and size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--metric", action="append")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--run", type=Path)
    parser.add_argument("--made", action="store_true", help="Make a pool in any case.")
    parser.add_argument("--out-dir", type=Path, help="Keep what each search found.")
    parser.add_argument("optimizers", nargs="*", default=OPTIMIZERS)
    arguments = parser.parse_args()
    optimizers = list(dict.fromkeys([BASE, *arguments.optimizers]))
    with tempfile.TemporaryDirectory() as folder:
        if arguments.run is not None:
            pool = run_pool(arguments.run)
        else:
            pool = (
                moses_pool() if REAL.is_dir() and not arguments.made else made_pool(Path(folder))
            )
        for metric in arguments.metric or METRICS:
            for size in arguments.sizes or [None]:
                try:
                    found = portmert.crossval(
                        **pool,
                        metric=metric,
                        optimizer=optimizers,
                        splits=arguments.splits,
                        seeds=arguments.seeds,
                        size=size,
                        threads=1,
                        out_dir=arguments.out_dir,
                        notice=say,
                        progress=lambda done, of: done % 20 or say(f"{done} of {of}"),
                    )
                except portmert.PortmertError as error:
                    say(f"{metric}: {error}")
                    break
                (table,) = tables_of(found.document)
                click.echo(f"\n{pool['lists'][0].parent}, {table.title}\n")
                click.echo(aligned(table.headers, table.rows, style="pipe"))


def say(line: str) -> None:
    """Show how far it is."""
    click.echo(line, err=True)


if __name__ == "__main__":
    main()
