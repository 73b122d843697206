"""The imports of this repository's modules, read from their files."""

import ast
import functools
from collections import defaultdict

from tests.support.places import ROOT

PACKAGES = ("portmert", "tuner", "metrics", "aligners", "extensions")


def modules(package):
    return sorted((ROOT / package).rglob("*.py"))


def dotted(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "portmert" else ("portmert", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for package in PACKAGES for path in modules(package)}


@functools.cache
def imports(path):
    """Every module a file imports, wherever in it, but not those for type checking only."""
    return tuple(_imports(path))


def origin(node, path):
    """The module that a statement `from MODULE import ...` in a file names, written in full."""
    if not node.level:
        return node.module
    package = dotted(path).split(".")
    above = node.level - (path.name == "__init__.py")
    return ".".join([*package[: len(package) - above], *filter(None, [node.module])])


@functools.cache
def parsed(path):
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def _imports(path):
    below = [parsed(path)]
    while below:
        node = below.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            below += node.orelse
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{origin(node, path)}.{name.name}" for name in node.names)
        elif not isinstance(node, ast.expr):  # an import is a statement, and in no expression
            below += ast.iter_child_nodes(node)


def imported_modules(path):
    """Those of the imports that are files of this repository."""
    for name in imports(path):
        parts = name.split(".")
        heads = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
        module = next((head for head in heads if head in MODULES), None)
        if module:
            yield module


def placed(module):
    """Return the folders that lead to a module; tuner/base is below all packages."""
    return module.replace("portmert.tuner.base", "portmert.base").split(".")


def arrows():
    """Say for each folder what in it imports what: {folder: {child: {child: why}}}."""
    folders = defaultdict(lambda: defaultdict(dict))
    for importer, path in MODULES.items():
        for imported in imported_modules(path):
            here, there = placed(importer), placed(imported)
            depth = next(
                (n for n, (a, b) in enumerate(zip(here, there, strict=False)) if a != b),
                min(len(here), len(there)),
            )
            if depth == len(here) or depth == len(there):
                continue  # a folder and what stands in it
            folder = ".".join(here[:depth])
            folders[folder][here[depth]].setdefault(there[depth], f"{importer} imports {imported}")
    return folders
