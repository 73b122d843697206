"""Measure what tuning is worth on segments that it has not seen.

python -m research.unseen [--metric NAME ...] [--splits N] [--seeds N] [--sizes N,N,...]
                             [--run FOLDER ... | --made] [--out-dir FOLDER]
                             [OPTIMIZER:OPTION=VALUE,... ...]

`portmert crossval` over fixed pools of n-best lists, a table for each pool, metric and number of
segments tuned on; the first row is what the others are compared with. The pools are the runs of
`portmert tune` in --run, or else ../shared/data/moses-ja-en or one that is made with the embedded
decoder. At the end what was attainable: the best of each table, and what each choice lost to it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import portmert
from portmert.tuner.base.tables import aligned
from portmert.tuner.base.warn import notices_to
from portmert.tuner.evaluation.formatting import ShownMetric
from portmert.tuner.runs.config import load_config
from portmert.tuner.runs.experiment import run
from portmert.tuner.search import DEFAULT_OPTIMIZER
from tests.bench.lists import REAL
from tests.support.languages.bitext import write_bitext

if TYPE_CHECKING:
    from collections.abc import Mapping

METRICS = ("bleu", "port", "ter", "chrf", "meteor")
OPTIMIZERS = (DEFAULT_OPTIMIZER, "mert", "coordinate", "kbmira", "min-risk")
"""The others are compared with the first."""
MADE = {"train": 4000, "dev": 400}
"""Sentence pairs of a pool that is made."""

Pool = dict[str, Any]
"""Arguments of `portmert.crossval`: lists and untuned weights."""


def moses_pool() -> Pool:
    """Return the lists of seven iterations of mert-moses.pl."""
    return {
        "lists": portmert.Lists.read(
            [REAL / "mert-bleu" / f"run{n}.best100.out.gz" for n in range(1, 8)],
            refs=[REAL / "dev.en"],
            source=REAL / "dev.ja",
            ref_links=[REAL / "dev.ja-en.giza"],
        ),
        "weights": REAL / "mert-bleu" / "run1.dense",
    }


def run_pool(folder: Path) -> Pool:
    """Return the lists of a run of `portmert tune`, with links of the dev set if it has any."""
    data = json.loads((folder / "inputs.json").read_text())["data"]
    lists = sorted(folder.glob("iteration-*/nbest.gz"))
    given = [folder / link["path"] for link in data["reference_links"]]
    return {
        "lists": portmert.Lists.read(
            lists,
            refs=[folder / reference["path"] for reference in data["references"]],
            source=folder / data["source"]["path"],
            ref_links=given or sorted((folder / "annotations").glob("dev-*.links")),
        ),
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
    with notices_to(say):
        run(load_config(config))
    return run_pool(folder / "made")


def main() -> None:
    """Print a table for each metric and size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--metric", action="append")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--run", type=Path, action="append")
    parser.add_argument("--made", action="store_true", help="Make a pool in any case.")
    parser.add_argument("--out-dir", type=Path, help="Keep what each search found.")
    parser.add_argument("optimizers", nargs="*", default=OPTIMIZERS)
    arguments = parser.parse_args()
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        if arguments.run:
            pools = [run_pool(one) for one in arguments.run]
        elif REAL.is_dir() and not arguments.made:
            pools = [moses_pool()]
        else:
            pools = [made_pool(Path(folder))]
        for pool, metric, size in product(
            pools, arguments.metric or METRICS, arguments.sizes or [None]
        ):
            try:
                with notices_to(say):
                    found = portmert.crossval(
                        **pool,
                        metric=metric,
                        optimizer=list(arguments.optimizers),
                        splits=arguments.splits,
                        seeds=arguments.seeds,
                        size=size,
                        threads=1,
                        out_dir=arguments.out_dir,
                        progress=lambda phase, done, of: (
                            done % 20 or say(f"{phase}: {done} of {of}")
                        ),
                    )
            except portmert.PortmertError as error:
                say(f"{metric}: {error}")
                continue
            table = found.tables[0]
            title = f"{Path(pool['weights']).parent}, {table.title}"
            click.echo(f"\n{title}\n\n{aligned(table.headers, table.rows, style='pipe')}")
            measured[title] = found.document
    if measured:
        click.echo("\nUnseen scores; the first against the best of all.\n")
        click.echo(attainable(measured))


def attainable(documents: Mapping[str, Mapping[str, Any]]) -> str:
    """Return tables of what the best choice reached, and of what each loses to it."""
    rows, losses = [], {}
    for title, document in documents.items():
        metric = ShownMetric.of(document["metrics"][0])
        sign = 1 if metric.higher_is_better else -1
        unseen = {x["system"]: x for x in document["scores"] if x["metric"] == metric.label}
        best = max(unseen, key=lambda name: sign * unseen[name]["score"])
        gain = unseen[best]["difference"]
        regret = ""
        if gain is not None:
            regret = metric.signed(-sign * gain)
            if error := unseen[best]["error"]:
                regret += f" ± {metric.shown_spread(error)}"
        rows.append([title, *(metric.shown(x["score"]) for x in unseen.values()), best, regret])
        for name, row in unseen.items():
            loss = sign * (unseen[best]["score"] - row["score"])
            losses.setdefault(name, []).append(loss)
    first = [
        [name, metric.signed(-statistics.mean(lost)), metric.signed(-max(lost))]
        for name, lost in losses.items()
    ]
    return "\n\n".join(
        [
            aligned(["", *losses, "best", "first"], rows, style="pipe"),
            aligned(["", "mean", "worst"], first, style="pipe"),
        ]
    )


def say(line: str) -> None:
    """Show how far it is."""
    click.echo(line, err=True)


if __name__ == "__main__":
    main()
