"""Draws the charts of a report to a file, for papers, sites and notebooks, with Matplotlib."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from portmert.tuner.base.errors import ConfigError, InputError
from portmert.tuner.base.extras import require
from portmert.tuner.base.files import writing
from portmert.tuner.evaluation.document import Chart, ChartChoice, Series
from portmert.tuner.search.results import Optimized

FORMS = ("svg", "png", "pdf")
INK, SOFT, RULE = "#22242a", "#63666e", "#dcd9d1"
COLOURS = (
    ("#2b62c0", "#7aa7f0"), ("#c24e17", "#f0956a"), ("#04796a", "#4fc1a6"), ("#7a45bb", "#c29af0"),
    ("#846c00", "#d8c15a"), ("#b5306f", "#ef8fb5"), ("#27708f", "#8fc7e8"), ("#5d6a32", "#a9b38a"),
)  # fmt: skip
"""The page's colours of systems on white, and on black."""
TONES = {"better": "#1a7f37", "worse": "#c0282d", "neither": SOFT}
DARK = {
    INK: "#e8e6e1", SOFT: "#a3a6ad", RULE: "#31353d", **dict(COLOURS),
    TONES["better"]: "#5fc57a", TONES["worse"]: "#f58484",
}  # fmt: skip
WIDTH = 6.4
"""Inches. Panels stand below each other: a phone shows them as wide as its screen."""
MOST_IN_A_ROW = 6
"""More series share the height of so many."""
MOST_NAMED = 6
"""A chart with more lines has no names at their ends."""


def draw(charts: Sequence[Chart], path: Path) -> None:
    """Draw the first choice of each chart, below each other, and write them to a file.

    Equal charts give equal bytes under the same version of Matplotlib. An SVG has the colours that
    the reader's screen asks for, on white or on black.

    Raises
    ------
    PortmertError
        `form_of` refuses the file, or it cannot be written.
    """
    content = drawn(charts, form_of(path))
    with writing(path) as out:
        out.write(content)


def drawn(charts: Sequence[Chart], form: str) -> bytes:
    """Return the first choice of each chart as a file of the form svg, png or pdf."""
    picture, content = figure(charts), io.BytesIO()
    from matplotlib import rc_context  # noqa: PLC0415  an extra

    with rc_context({"svg.hashsalt": "portmert"}):
        dated = {"svg": "Date", "pdf": "CreationDate"}.get(form)
        metadata = {dated: None} if dated else {}
        is_clear = form == "svg"
        picture.savefig(content, format=form, dpi=160, metadata=metadata, transparent=is_clear)
    return _for_both_themes(content.getvalue()) if form == "svg" else content.getvalue()


def form_of(path: Path) -> str:
    """Return svg, png or pdf.

    Raises
    ------
    ConfigError
        The name of the file ends otherwise.
    ProgramError
        Matplotlib is not installed.
    """
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise ConfigError(f"{path}: a plot is a file that ends in .svg, .png or .pdf")
    require("matplotlib", extra="plots")
    return form


def figure(charts: Sequence[Chart]) -> Any:
    """Return a Matplotlib figure of the first choice of each chart; notebooks show it.

    Raises
    ------
    InputError
        No chart has anything to show.
    ProgramError
        Matplotlib is not installed.
    """
    require("matplotlib", extra="plots")
    from matplotlib.figure import Figure  # noqa: PLC0415  an extra

    panels = [(chart, chart.choices[0]) for chart in charts if chart.choices]
    if not panels:
        raise InputError("there is nothing to draw: these results have no chart")
    heights = [_height(*panel) for panel in panels]
    drawn = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    all_axes = drawn.subplots(
        len(panels), squeeze=False, gridspec_kw={"height_ratios": heights}
    ).ravel()
    for (chart, choice), axes in zip(panels, all_axes, strict=True):
        is_horizontal = chart.kind in ("bars", "intervals")
        (_draw_rows if is_horizontal else _draw_lines)(axes, chart, choice)
        _dress(axes, chart, choice, is_horizontal=is_horizontal)
    return drawn


def _height(chart: Chart, choice: ChartChoice) -> float:
    """Return the inches that a panel needs."""
    if chart.kind not in ("bars", "intervals"):
        return 3.0
    return 1.0 + 0.15 * len(choice.categories) * (1 + min(len(choice.series), MOST_IN_A_ROW))


def _colour(series: Series) -> str:
    return COLOURS[series.colour % len(COLOURS)][0]


def _draw_rows(axes: Any, chart: Chart, choice: ChartChoice) -> None:
    """Draw a row for each category: bars, or dots with intervals."""
    count, unit = len(choice.series), _unit(choice)
    room = 0.8 / max(1, count)
    for number, series in enumerate(choice.series):
        for row, value in enumerate(series.values):
            colour = TONES[series.tones[row]] if series.tones else _colour(series)
            place = row + (number - (count - 1) / 2) * room
            if value is not None and chart.kind == "bars":
                axes.barh(place, unit * value, 0.9 * room, color=colour)
            elif value is not None:
                axes.plot(unit * value, place, "o", markersize=5, color=colour)
            ends = [bound[row] for bound in (series.low, series.high) if row < len(bound)]
            span = [unit * end for end in ends if end is not None]
            if value is not None and len(span) == 2:
                ink = INK if chart.kind == "bars" else colour
                axes.hlines(place, *span, color=ink, linewidth=1.4)
        if count > 1 and series.name:
            axes.plot([], [], "o", color=_colour(series), label=series.name)
    axes.set_yticks(range(len(choice.categories)), choice.categories)
    axes.set_ylim(len(choice.categories) - 0.5, -0.5)
    if count > 1:
        axes.legend(frameon=False, labelcolor=INK, fontsize=8)


def _draw_lines(axes: Any, chart: Chart, choice: ChartChoice) -> None:
    """Draw lines or points, each with its name at the end."""
    unit, ends = _unit(choice), []
    for series in choice.series:
        points = [
            (x, unit * y) for x, y in zip(series.x, series.values, strict=True) if y is not None
        ]
        if not points:
            continue
        x, y = zip(*points, strict=True)
        colour = _colour(series)
        if chart.kind == "scatter":
            axes.plot(x, y, "o", color=colour, markersize=4)
        else:
            axes.plot(x, y, marker=".", linewidth=1.6, color=colour)
        if series.low and series.high and None not in (*series.low, *series.high):
            low, high = (
                [unit * end for end in bound if end is not None]
                for bound in (series.low, series.high)
            )
            axes.fill_between(series.x, low, high, color=colour, alpha=0.18, linewidth=0)
        ends.append((y[-1], x[-1], series))
    if 1 < len(ends) <= MOST_NAMED:
        ends.sort(key=lambda end: end[:2])
        heights = _apart([end[0] for end in ends], *axes.get_ylim())
        for (_, x_end, series), height in zip(ends, heights, strict=True):
            axes.annotate(
                f" {series.name}", (x_end, height), va="center", fontsize=8,
                color=_colour(series), annotation_clip=False,
            )  # fmt: skip


def _apart(heights: Sequence[float], low: float, high: float) -> list[float]:
    """Return rising heights of names that do not cover each other, below the upper end."""
    step = 0.08 * (high - low)
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + step) if placed else height)
    for number in reversed(range(len(placed))):
        most = placed[number + 1] - step if number + 1 < len(placed) else high
        placed[number] = min(placed[number], most)
    return placed


def _unit(choice: ChartChoice) -> float:
    return 100.0 if choice.in_percent else 1.0


def _dress(axes: Any, chart: Chart, choice: ChartChoice, *, is_horizontal: bool) -> None:
    """Add title, names, ticks and the marker."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  an extra

    label = f" ({choice.label})" if choice.label else ""
    axes.set_title(f"{chart.title}{label}", loc="left", fontsize=10, color=INK)
    axes.set_xlabel(chart.x, fontsize=8, color=SOFT)
    if not is_horizontal:
        axes.set_ylabel(chart.y, fontsize=8, color=SOFT)
        axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    x = [value for series in choice.series for value in series.x]
    is_counted = bool(x) and all(float(value).is_integer() for value in x)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=is_counted))
    axes.grid(axis="x" if is_horizontal else "both", color=RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(colors=SOFT, labelsize=8, length=0)
    if is_horizontal:
        axes.tick_params(axis="y", labelcolor=INK)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(RULE)
    if choice.marker is not None:
        axes.axvline(
            choice.marker * (_unit(choice) if is_horizontal else 1.0),
            color=INK,
            linestyle="--",
            linewidth=0.9,
        )


def _for_both_themes(svg: bytes) -> bytes:
    """Return an SVG that takes the colours of a dark screen where there is one."""
    rules = "".join(
        f'[style*="{name}: {light}"]{{{name}:{dark}!important}}'
        for light, dark in DARK.items()
        for name in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    head, tag, rest = svg.partition(b"<defs>")
    return head + style.encode() + tag + rest


def charts_of_search(optimized: Optimized) -> list[Chart]:
    """Return the scores and the weights of an optimization."""
    display, error = optimized.metric.display, optimized.unseen_error or 0.0
    label = display.labelled(optimized.metric.name())
    scores = {
        "first": optimized.first_score,
        "start weights": optimized.start_score,
        "tuned": optimized.score,
        "unseen": optimized.unseen_score,
        "oracle": optimized.oracle_score,
    }
    scored = {name: display.value(score) for name, score in scores.items() if score is not None}
    spans = {"unseen": 1.96 * error}
    ladder = Series(
        label,
        list(scored.values()),
        low=[score - spans.get(name, 0.0) for name, score in scored.items()],
        high=[score + spans.get(name, 0.0) for name, score in scored.items()],
    )
    rows = optimized.contributions
    shares = [0.0 if row.share is None else 100 * row.share for row in rows]
    weights = Series("", shares)
    of_scores = ChartChoice("", [ladder], display.in_percent, list(scored))
    of_weights = ChartChoice("", [weights], categories=[row.name for row in rows])
    title = "Scores of the lists, and on unseen text (95 % interval)"
    return [
        Chart("scores", "intervals", title, [of_scores], x=label),
        Chart("weights", "bars", "Shares of the weights", [of_weights], x="share, in percent"),
    ]
