"""Draws the figures of README and guide from the tables of their pages: `make figures`."""

import re
from pathlib import Path

from portmert.tuner.evaluation import plots
from portmert.tuner.evaluation.document import Chart, ChartChoice, Series

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "explanation/does-it-help.md"
ROW = re.compile(
    r"^\| (?P<task>[^|]+?) \| [^|]+ \| [^|]+ \| "
    r"(?P<gain>[-+][\d.]+) \((?P<low>-?[\d.]+) to (?P<high>-?[\d.]+)\) \|$",
    re.MULTILINE,
)
"""A result with its interval: `| task | before | tuned | +0.78 (0.52 to 1.04) |`."""


def results() -> list[tuple[str, float, float, float]]:
    """Return task, gain, and the ends of its interval; above 0 is better.

    The first table of the page has them. An error rate is turned.
    """
    table = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    rows = []
    for match in ROW.finditer(table):
        ends = [float(match[name]) for name in ("gain", "low", "high")]
        if "WER" in match["task"]:
            gain, low, high = (-end for end in ends)
            ends = [gain, high, low]
        rows.append((match["task"], ends[0], ends[1], ends[2]))
    return rows


def charts() -> list[Chart]:
    """Return the forest plots of all results: Moses beside its own tuner, and other lists."""
    panels = []
    for title, is_moses in (
        ("Moses: BLEU more than mert-moses.pl reaches", True),
        ("Other lists: points more than their own order, or than the best system", False),
    ):
        rows = [row for row in results() if row[0].startswith("Moses") == is_moses]
        names = [row[0].removeprefix("Moses ").partition(",")[0] for row in rows]
        series = Series(
            "", [row[1] for row in rows], low=[row[2] for row in rows],
            high=[row[3] for row in rows], colour=2,
        )  # fmt: skip
        choice = ChartChoice("", [series], categories=names, marker=0.0)
        axis = "points, with 95 % intervals"
        panels.append(Chart("results", "intervals", title, [choice], x=axis))
    return panels


if __name__ == "__main__":
    plots.draw(charts(), DOCS / "figures/results.svg")
