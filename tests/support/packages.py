"""The packages of the program, derived from its files: their imports, and the map in the design.

`python -m tests.support.packages` puts the present map into docs/explanation/design.md.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from graphlib import TopologicalSorter

from tests.support.imports import MODULES, imported_modules
from tests.support.places import ROOT

DESIGN = ROOT / "docs" / "explanation" / "design.md"
BEGIN, END = "<!-- made by python -m tests.support.packages -->\n\n", "\n<!-- end -->"
Graph = dict[str, set[str]]

SINGLE = "tuner/*.py"
"""The modules that are in no folder of tuner/."""

COMMAND_LINE = "tuner/cli"


def package_of(module: str) -> str:
    """Return the package of a module."""
    top, *rest = module.removeprefix("portmert.").split(".")
    if top == "extensions" and rest:
        return f"extensions/{rest[0]}"
    if top != "tuner":
        return top
    if rest[:1] in (["cli"], ["__main__"]):
        return COMMAND_LINE
    is_folder = rest and (len(rest) > 1 or MODULES[module].name == "__init__.py")
    return f"tuner/{rest[0]}" if is_folder else SINGLE


def packages() -> Graph:
    """Return the packages that each package imports."""
    graph: Graph = {}
    for module, path in MODULES.items():
        below = graph.setdefault(package_of(module), set())
        below |= {package_of(imported) for imported in imported_modules(path)} - {
            package_of(module)
        }
    return graph


def summary(package: str) -> str:
    """Return the first line of a package's docstring."""
    if package == SINGLE:
        single = sorted(name for name in MODULES if package_of(name) == SINGLE)
        return ", ".join(
            f"`{name.removeprefix('portmert.tuner.')}`" for name in single if "." in name
        )
    name = package.replace("/", ".")
    path = MODULES[name if name == "portmert" else f"portmert.{name}"]
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def core_map() -> str:
    """Return the packages of the core in a block, each above all that it imports."""
    graph = {
        package: {below for below in imported if is_core(below)}
        for package, imported in packages().items()
        if is_core(package)
    }
    height: dict[str, int] = {}
    for package in TopologicalSorter(graph).static_order():
        height[package] = 1 + max((height[below] for below in graph[package]), default=-1)
    rows = sorted(graph, key=lambda package: (-height[package], package))
    lines = [f"{height[row]:2}  {row:<17}{_cut(summary(row))}" for row in rows]
    return "\n".join(["```text", *lines, "```"])


def is_core(package: str) -> bool:
    """Return whether a package is of the core; the public names apart, which are above it."""
    return package.partition("/")[0] in {"aligners", "metrics", "tuner"}


def _cut(text: str) -> str:
    """Return a summary up to its first full stop, colon or semicolon."""
    return re.split(r"[.:;](?: |$)", text)[0]


def extensions_table() -> str:
    """Return what each extension registers, from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    registered: dict[str, list[str]] = defaultdict(list)
    for group, entries in sorted(project["entry-points"].items()):
        by_folder: dict[str, list[str]] = defaultdict(list)
        for name, value in entries.items():
            by_folder[value.split(".")[2]].append(f"`{name}`")
        for folder, names in by_folder.items():
            kind = group.removeprefix("portmert.").replace("_", " ")
            registered[folder].append(f"{kind} {', '.join(sorted(names))}")
    rows = ["| folder of `extensions/` | contents | registers |", "| --- | --- | --- |"]
    for path in sorted((ROOT / "extensions").glob("*/__init__.py")):
        folder = path.parent.name
        contents = re.sub(r"; (?=(?:see )?docs/).*", ".", summary(f"extensions/{folder}"))
        rows.append(f"| `{folder}` | {contents} | {'; '.join(registered[folder])} |")
    return "\n".join(rows)


def design() -> str:
    """Return the page of the design with the present map and table."""
    text = DESIGN.read_text(encoding="utf-8")
    parts = [core_map(), extensions_table()]
    made = re.compile(f"(?<={re.escape(BEGIN)}).*?(?={re.escape(END)})", re.DOTALL)
    return made.sub(lambda _: f"{parts.pop(0)}\n", text)


if __name__ == "__main__":
    DESIGN.write_text(design(), encoding="utf-8")
