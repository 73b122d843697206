"""Draw the packages of the program and their imports, from the imports themselves."""

from __future__ import annotations

from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

from tests.support.packages import SINGLE, Graph, packages, summary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

BOX, GAP, STEP = (112, 26), 14, 66
"""Width and height of a box, the gap between two, and from row to row, in points."""

TEXT = """# Architecture

An arrow leads from a package to a package that it imports. The drawing leaves out arrows that
follow from others; the table has all. Imports run downwards only: a test derives them as this page
does, and fails on a circle. [The design](../explanation/design.md) says what
each layer is for. Public files in the folders `metrics/`, `aligners/`, `tuner/decoders/`,
`tuner/search/optimizers/`, `tuner/nbest/readers/` and
`tuner/annotation/annotators/` are components; files that begin with an underscore are machinery.

{drawing}

| package | contents | imports |
| --- | --- | --- |
{rows}
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of the architecture."""
    graph = packages()
    rows = "\n".join(
        f"| `{package}` | {summary(package)} "
        f"| {', '.join(f'`{name}`' for name in sorted(below)) or '-'} |"
        for package, below in sorted(graph.items())
    )
    text = TEXT.format(drawing=drawing(graph), rows=rows)
    files.append(File.generated(config, "reference/architecture.md", content=text))
    return files


def reduced(graph: Mapping[str, set[str]]) -> Graph:
    """Return the arrows that do not follow from others."""
    reach: Graph = {}
    for package in TopologicalSorter(graph).static_order():
        reach[package] = graph[package].union(*(reach[below] for below in graph[package]))
    return {
        package: below - set().union(*(reach[other] for other in below))
        for package, below in graph.items()
    }


def drawing(graph: Graph) -> str:
    """Return an SVG of the packages in rows, each above all that it imports."""
    arrows = reduced(graph)
    rows: list[list[str]] = []
    height: dict[str, int] = {}
    for package in TopologicalSorter(graph).static_order():
        height[package] = 1 + max((height[below] for below in graph[package]), default=-1)
        rows += [[]] * (height[package] + 1 - len(rows))
        rows[height[package]] = [*rows[height[package]], package]
    width = max(len(row) for row in rows) * (BOX[0] + GAP)
    centre: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):  # from below, each package above those it imports

        def wish(package: str) -> float:
            below = [centre[name][0] for name in arrows[package]]
            return sum(below) / len(below) if below else width / 2

        for place, package in enumerate(sorted(row, key=lambda package: (wish(package), package))):
            x = width / 2 + (place - (len(row) - 1) / 2) * (BOX[0] + GAP)
            centre[package] = (x, (len(rows) - 1 - number) * STEP + BOX[1])
    parts = [
        f'<svg class="packages" viewBox="0 0 {width} {len(rows) * STEP - BOX[1]}" role="img">'
    ]
    for package, below in arrows.items():
        parts += [_arrow(centre[package], centre[other]) for other in sorted(below)]
    for package, (x, y) in centre.items():
        box = f'x="{x - BOX[0] / 2:g}" y="{y - BOX[1] / 2:g}" width="{BOX[0]}" height="{BOX[1]}"'
        label = package.removeprefix("tuner/") if package != SINGLE else SINGLE
        label = label.replace("_", "&#95;")  # to Markdown, which reads it first, __x__ is bold
        parts.append(f'<rect {box} rx="4"/><text x="{x:g}" y="{y + 4:g}">{label}</text>')
    return "".join([*parts, "</svg>"])


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x, y), (u, v) = start, end
    y, v = y + BOX[1] / 2, v - BOX[1] / 2
    middle = (y + v) / 2
    curve = f"M{x:g} {y:g}C{x:g} {middle:g} {u:g} {middle:g} {u:g} {v - 4:g}"
    return f'<path d="{curve}"/><path class="tip" d="M{u - 3:g} {v - 6:g}h6l-3 6z"/>'
