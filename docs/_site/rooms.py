"""Draw the rooms of the program and their imports, from the imports themselves."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

from tests.support.imports import MODULES, imported_modules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

Graph = dict[str, set[str]]

FLOOR = "tuner/*.py"
"""The modules below all rooms."""

DOOR = "tuner/cli"
BOX, GAP, STEP = (112, 26), 14, 66
"""Width and height of a box, the gap between two, and from row to row, in points."""

TEXT = """# Architecture

An arrow leads from a room to a room that it imports. The drawing leaves out arrows that follow
from others; the table has all. Imports run downwards only: a test derives them as this page does,
and fails on a circle. Public files in the folders `metrics/`, `aligners/`, `tuner/decoders/`,
`tuner/search/optimizers/`, `tuner/nbest/readers/` and `tuner/annotation/annotators/` are
components; files that begin with an underscore are machinery.

{drawing}

| room | contents | imports |
| --- | --- | --- |
{rows}
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of the architecture."""
    graph = rooms()
    rows = "\n".join(
        f"| `{room}` | {summary(room)} | {', '.join(f'`{n}`' for n in sorted(below)) or '-'} |"
        for room, below in sorted(graph.items())
    )
    text = TEXT.format(drawing=drawing(graph), rows=rows)
    files.append(File.generated(config, "reference/architecture.md", content=text))
    return files


def room_of(module: str) -> str:
    """Return the room that a module stands in."""
    top, *rest = module.removeprefix("portmert.").split(".")
    if top != "tuner":
        return top
    if rest[:1] in (["cli"], ["__main__"]):
        return DOOR
    is_folder = rest and (len(rest) > 1 or MODULES[module].name == "__init__.py")
    return f"tuner/{rest[0]}" if is_folder else FLOOR


def rooms() -> Graph:
    """Return the rooms that each room imports."""
    graph: Graph = {}
    for module, path in MODULES.items():
        below = graph.setdefault(room_of(module), set())
        below |= {room_of(imported) for imported in imported_modules(path)} - {room_of(module)}
    return graph


def summary(room: str) -> str:
    """Return the first line of a room's docstring."""
    if room == FLOOR:
        floor = sorted(name for name in MODULES if room_of(name) == FLOOR)
        return ", ".join(
            f"`{name.removeprefix('portmert.tuner.')}`" for name in floor if "." in name
        )
    name = room.replace("/", ".")
    path = MODULES[name if name == "portmert" else f"portmert.{name}"]
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def reduced(graph: Mapping[str, set[str]]) -> Graph:
    """Return the arrows that do not follow from others."""
    reach: Graph = {}
    for room in TopologicalSorter(graph).static_order():
        reach[room] = graph[room].union(*(reach[below] for below in graph[room]))
    return {
        room: below - set().union(*(reach[other] for other in below))
        for room, below in graph.items()
    }


def drawing(graph: Graph) -> str:
    """Return an SVG of the rooms in rows, each above all that it imports."""
    arrows = reduced(graph)
    rows: list[list[str]] = []
    height: dict[str, int] = {}
    for room in TopologicalSorter(graph).static_order():
        height[room] = 1 + max((height[below] for below in graph[room]), default=-1)
        rows += [[]] * (height[room] + 1 - len(rows))
        rows[height[room]] = [*rows[height[room]], room]
    width = max(len(row) for row in rows) * (BOX[0] + GAP)
    centre: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):  # from the floor up, each room above those it imports

        def wish(room: str) -> float:
            below = [centre[name][0] for name in arrows[room]]
            return sum(below) / len(below) if below else width / 2

        for place, room in enumerate(sorted(row, key=lambda room: (wish(room), room))):
            x = width / 2 + (place - (len(row) - 1) / 2) * (BOX[0] + GAP)
            centre[room] = (x, (len(rows) - 1 - number) * STEP + BOX[1])
    parts = [f'<svg class="rooms" viewBox="0 0 {width} {len(rows) * STEP - BOX[1]}" role="img">']
    for room, below in arrows.items():
        parts += [_arrow(centre[room], centre[other]) for other in sorted(below)]
    for room, (x, y) in centre.items():
        box = f'x="{x - BOX[0] / 2:g}" y="{y - BOX[1] / 2:g}" width="{BOX[0]}" height="{BOX[1]}"'
        label = room.removeprefix("tuner/") if room != FLOOR else FLOOR
        label = label.replace("_", "&#95;")  # to Markdown, which reads it first, __x__ is bold
        parts.append(f'<rect {box} rx="4"/><text x="{x:g}" y="{y + 4:g}">{label}</text>')
    return "".join([*parts, "</svg>"])


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x, y), (u, v) = start, end
    y, v = y + BOX[1] / 2, v - BOX[1] / 2
    middle = (y + v) / 2
    curve = f"M{x:g} {y:g}C{x:g} {middle:g} {u:g} {middle:g} {u:g} {v - 4:g}"
    return f'<path d="{curve}"/><path class="tip" d="M{u - 3:g} {v - 6:g}h6l-3 6z"/>'
