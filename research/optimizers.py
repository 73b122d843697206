"""Compare optimizers on the same lists: the table of research/optimizers.md.

python -m research.optimizers [--seeds N] [NAME:OPTION=VALUE,... ...]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import click
from tabulate import tabulate

from portmert.extensions.mert_moses.dat_files import read_dat
from portmert.tuner.base.warn import notices_to
from portmert.tuner.components import registry
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.search.weight_search import Setup, find_weights
from portmert.tuner.weights.feature_weights import read_weights
from tests.bench.lists import moses_or_generated
from tests.bench.measure import unit_seconds

DEFAULT = (
    "coordinate",
    "coordinate:spread=2",
    "powell",
    "random-directions",
    "mert:temperature=0",
    "mert:perturbation=0.02",
    "mert",
    "mert:perturbation=0.1",
    "mert:restarts=1,searches_per_feature=1200",
    "mert:restarts=4,searches_per_feature=300",
    "mert:restarts=4,searches_per_feature=1200",
)


def main() -> None:
    """Print one row for each optimizer named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("optimizers", nargs="*", default=DEFAULT)
    arguments = parser.parse_args()
    metric = registry.metric("bleu")
    with tempfile.TemporaryDirectory() as folder:
        lists = moses_or_generated(Path(folder))
        dat = read_dat(lists.features, lists.scores)
        start = read_weights(lists.weights)
    stats = StatTable(dat.counted.rows)
    rows = []
    for text in arguments.optimizers:
        optimizer = registry.optimizer(text)
        quick = Setup(registry.optimizer("mert:searches_per_feature=1"))
        find_weights(dat, stats, metric, quick)  # compile
        scores, units, searches = [], [], []
        for seed in range(arguments.seeds):
            before, begin = unit_seconds(), time.process_time()
            with notices_to(say):
                found = find_weights(dat, stats, metric, Setup(optimizer, (start,), seed=seed))
            seconds = time.process_time() - begin
            units.append(seconds / ((before + unit_seconds()) / 2))
            scores.append(found.score)
            searches.append(found.line_searches)
        rows.append(
            [
                text,
                f"{statistics.median(units):.1f}",
                f"{statistics.median(searches):.0f}",
                *(f"{f(scores):.5f}" for f in (min, statistics.median, max)),
            ]
        )
        click.echo(rows[-1], err=True)
    headers = ["optimizer", "units", "line searches", "lowest", "median", "highest"]
    click.echo(tabulate(rows, headers=headers, disable_numparse=True, tablefmt="pipe"))


def say(line: str) -> None:
    """Show a notice."""
    click.echo(line, err=True)


if __name__ == "__main__":
    main()
