"""The house's arrows point one way: derived from the imports, no list is kept here."""

import ast
import sys
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.support.places import ROOT

PACKAGES = ("portmert", "tuner", "metrics", "aligners")
CHECKED = ("pydantic", "annotated_types")
"""What checks the options of components."""
ALLOWED = {
    "metrics": {"metrics", "numpy", "numba", "Stemmer", *CHECKED},  # Stemmer: METEOR and TERp
    "aligners": {"aligners", "numpy", "thot", "sentencepiece", *CHECKED},
}


def modules(package):
    return sorted((ROOT / package).rglob("*.py"))


def dotted(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for package in PACKAGES for path in modules(package)}


def imports(path):
    """Every module a file imports, wherever in it, but not those for type checking only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for statement in block.body
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)


def imported_modules(path):
    """Those of the imports that are files of this repository."""
    for name in imports(path):
        parts = name.split(".")
        heads = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
        found = next((head for head in heads if head in MODULES), None)
        if found:
            yield found


def arrows():
    """Say for each folder what in it imports what: {folder: {child: {child: why}}}."""
    found = defaultdict(lambda: defaultdict(dict))
    for importer, path in MODULES.items():
        for imported in imported_modules(path):
            here, there = importer.split("."), imported.split(".")
            depth = next(
                (n for n, (a, b) in enumerate(zip(here, there, strict=False)) if a != b),
                min(len(here), len(there)),
            )
            if depth == len(here) or depth == len(there):
                continue  # a folder and what stands in it
            folder = ".".join(here[:depth])
            found[folder][here[depth]].setdefault(there[depth], f"{importer} imports {imported}")
    return found


ARROWS = arrows()


@pytest.mark.parametrize("folder", sorted(ARROWS), ids=lambda folder: folder or "(root)")
def test_rooms_import_one_way(folder):
    graph = ARROWS[folder]
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = error.args[1]
        pairs = zip(cycle[1:], cycle, strict=False)
        why = [graph[a][b] for a, b in pairs if b in graph.get(a, {})]
        pytest.fail(f"{folder}: {' -> '.join(reversed(cycle))}: {'; '.join(why)}")


@pytest.mark.parametrize("package", ALLOWED)
def test_lower_packages_import_only_what_they_may(package):
    for path in modules(package):
        for name in imports(path):
            top = name.split(".")[0]
            if top not in sys.stdlib_module_names:
                assert top in ALLOWED[package], f"{path.relative_to(ROOT)} imports {name}"


def test_no_import_comes_from_the_tests():
    for path in MODULES.values():
        assert not [name for name in imports(path) if name.split(".")[0] == "tests"]


def test_kernels_stand_in_kernel_files_only():
    for path in MODULES.values():
        if "numba.njit" in set(imports(path)):
            assert path.stem.endswith("_kernels"), path


def test_every_room_says_what_lives_there():
    for name, path in MODULES.items():
        if path.name == "__init__.py":
            assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), name


def test_tests_stand_in_folders_of_the_same_names():
    for package in PACKAGES:
        for path in (ROOT / "tests" / package).rglob("test_*.py"):
            room = ROOT / path.parent.relative_to(ROOT / "tests")
            assert (room / "__init__.py").is_file(), f"{path} tests no room"


def test_long_files_give_a_reason():
    for path in MODULES.values():
        text = path.read_text(encoding="utf-8")
        if text.count("\n") > 500:
            assert "# Long because" in text, f"{path} has over 500 lines and gives no reason"
