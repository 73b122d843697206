"""Draws the figures of README, guide and research from committed results: `make figures`."""

import dataclasses
import itertools
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
import numpy as np

import portmert
from docs._site import drawings
from portmert.extensions.plots import drawing as plots
from portmert.tuner.evaluation.document import Chart, ChartChoice, Heading, SegmentBrowser, Series
from portmert.tuner.evaluation.page.html import html
from research import replication
from research.decodings import RESULTS, chart

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs/figures"


def dots(rows: Mapping[str, Mapping[str, Sequence[float]]], names: Sequence[str]) -> list[Series]:
    """Return a dot for each tuning: category -> name -> values."""
    series = []
    for colour, name in enumerate(names):
        values = itertools.zip_longest(
            *(of_category.get(name, ()) for of_category in rows.values())
        )
        series += [
            Series("" if number else name, row, colour=colour) for number, row in enumerate(values)
        ]
    return series


def seeds() -> list[Chart]:
    """Return the test BLEU of each tuning by portmert and by mert-moses.pl."""
    rows = {}
    for condition, found in replication.load().items():
        scores = {
            x["system"]: x["replica_scores"] for x in found["scores"] if x["metric"] == "bleu"
        }
        middle = np.mean(scores[replication.MOSES])
        rows[condition] = {
            name: (100 * (np.array(scores[system]) - middle)).tolist()
            for system, name in replication.NAMES.items()
        }
    series = dots(rows, list(replication.NAMES.values()))
    choice = ChartChoice("", series, categories=list(rows), marker=0.0)
    axis = "BLEU of the test set, minus the mean of mert-moses.pl"
    return [
        Chart(
            "seeds", "intervals", "Each dot is a tuning with a seed of its own", [choice], x=axis
        )
    ]


def weights() -> list[Chart]:
    """Return the weights of each tuning, a panel for each condition."""
    panels = []
    for condition, found in replication.load().items():
        rows: dict[str, dict[str, list[float]]] = {name: {} for name in replication.WEIGHTS}
        for system in ("bleu", "port", "mean"):
            for name, column in zip(
                rows, zip(*replication.weights_of(found, system), strict=True), strict=True
            ):
                rows[name][system] = [abs(weight) for weight in column]
        choice = ChartChoice("", dots(rows, ("bleu", "port", "mean")), categories=list(rows))
        axis = "share of all weights, in percent"
        panels.append(Chart("weights", "intervals", condition, [choice], x=axis))
    return panels


def decodings() -> list[Chart]:
    """Return the test BLEU by decodings of the dev set, a panel for each condition.

    Lines are means over tunings, bands reach from the lowest to the highest tuning.
    """
    panels = []
    for condition, found in replication.load().items():
        lines = replication.by_decodings(found)
        series = []
        for colour, (system, name) in enumerate(replication.NAMES.items()):
            own = [line for (owner, _), line in lines.items() if owner == system]
            if own:
                rows = np.array(own)
                ends = [reduced(rows, axis=0) for reduced in (np.mean, np.min, np.max)]
                known = ~np.isnan(ends[0])
                mean, low, high = (end[known].tolist() for end in ends)
                x = (1.0 + np.flatnonzero(known)).tolist()
                series.append(Series(name, mean, x, low=low, high=high, colour=colour))
        if series:
            choice = ChartChoice("", series)
            title = f"{condition}: BLEU of the test set"
            panels.append(
                Chart("decodings", "lines", title, [choice], x="decodings of the dev set")
            )
    return panels


TANAKA = "configs/tanaka"


def lists(part: str) -> portmert.Lists:
    """Return the lists of the README."""
    folder = ROOT / TANAKA
    return portmert.Lists.read(
        folder / f"l2r.{part}.jsonl.gz", refs=folder / f"{part}.ref",
        features=[f"qe={folder}/l2r.{part}.qe.gz"],
    )  # fmt: skip


def shortened_page() -> str:
    """Return the comparison page of `rerank-tune` with its verdict and its segments alone."""
    with tempfile.TemporaryDirectory() as folder:
        tuned = portmert.rerank_tune(
            lists("dev"), "bleu", test=lists("test"), replicas=3, out_dir=Path(folder) / "out"
        )
        assert tuned.compared is not None  # noqa: S101  there are references
        layout = tuned.compared.layout
        browser = (block for block in layout.blocks if isinstance(block, SegmentBrowser))
        blocks = [layout.blocks[0], Heading("Segments"), *browser]
        return html(dataclasses.replace(layout, blocks=blocks))


def screenshot(path: Path, width: int, height: int) -> None:
    """Take a picture of the comparison page, if Chromium is there."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        click.echo(f"{path.name} stays as it is: there is no Chromium")
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(shortened_page(), encoding="utf-8")
        options = [
            "--headless=new", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=3000",
            f"--window-size={width},{height}", f"--screenshot={path}",
        ]  # fmt: skip
        subprocess.run([program, *options, page.as_uri()], check=True, capture_output=True)  # noqa: S603


def drawn() -> Iterator[tuple[Path, list[Chart]]]:
    """Yield each figure that needs committed results only."""
    yield FIGURES / "seeds.svg", seeds()
    yield (
        RESULTS.with_suffix(".svg"),
        [chart(one) for one in json.loads(RESULTS.read_text()).values()],
    )
    yield ROOT / "research/replication-weights.svg", weights()
    yield ROOT / "research/replication-decodings.svg", decodings()


if __name__ == "__main__":
    for figure, panels in drawn():
        plots.draw(panels, figure)
    for figure, content in itertools.chain(drawings.drawn(), drawings.measured()):
        figure.write_text(content, encoding="utf-8")
    portmert.optimize(lists("dev"), "bleu", plot=FIGURES / "search.svg")
    screenshot(FIGURES / "comparison.png", 1000, 930)
