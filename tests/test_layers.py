"""Imports lead one way, and not from the core to an extension; derived from the files."""

import ast
import functools
import itertools
import re
import sys
import tomllib
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

import pytest

from portmert.tuner import families
from portmert.tuner.families import component, own_names
from tests.support.imports import (
    MODULES,
    PACKAGES,
    arrows,
    imported_modules,
    imports,
    modules,
    origin,
    parsed,
)
from tests.support.packages import DESIGN, design
from tests.support.places import ROOT

CHECKED = ("pydantic", "annotated_types")
"""What checks the options of components."""
ALLOWED = {
    # METEOR and TERp stem by Stemmer, TER has sacrebleu's tokeniser
    "metrics": {
        "portmert.metrics",
        "numpy",
        "numba",
        "Stemmer",
        "sacrebleu.tokenizers.tokenizer_ter",
        *CHECKED,
    },
    "aligners": {
        "portmert",
        "portmert.aligners",
        "portmert.tuner.base",
        "numpy",
        "thot",
        "sentencepiece",
        *CHECKED,
    },
}


def test_packages_import_one_way():
    graphs = arrows()
    assert {"portmert", "portmert.tuner", "portmert.tuner.search"} <= graphs.keys()
    for folder, graph in graphs.items():
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle = error.args[1]
            pairs = zip(cycle[1:], cycle, strict=False)
            why = [graph[a][b] for a, b in pairs if b in graph.get(a, {})]
            pytest.fail(f"{folder}: {' -> '.join(reversed(cycle))}: {'; '.join(why)}")


def extension_of(module):
    """Return the folder in extensions/ that a module is in; None for the core."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["portmert", "extensions"] and parts[2:] else None


NEEDED = {("learned", "metaeval")} | {
    (name, "processes") for name in ("demo", "parsers", "programs")
}
"""Extensions that need another one: `metric-train` learns from what metaeval reads, decoders,
metrics and parsers run in processes."""


def test_nothing_imports_an_extension_but_itself():
    across = {
        (extension_of(importer), extension_of(imported))
        for importer, path in MODULES.items()
        for imported in imported_modules(path)
        if extension_of(imported) not in (None, extension_of(importer))
    }
    assert across == NEEDED


def test_what_is_installed_registers_what_pyproject_names():
    """After a change of the table of entry points: make install, or pip install -e ."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for group, entries in project["entry-points"].items():
        installed = {
            name: [entry.value for entry in points if families.is_ours(entry)]
            for name, points in families.extensions(group).items()
        }
        assert {name: [value] for name, value in entries.items()} == {
            name: values for name, values in installed.items() if values
        }, "pyproject.toml has changed since the install: run .venv/bin/pip install -e ."


def test_the_map_in_the_design_is_that_of_the_files():
    """After a change: python -m tests.support.packages."""
    assert DESIGN.read_text(encoding="utf-8") == design()


def test_every_extension_names_its_page_of_the_guide():
    for path in (ROOT / "extensions").glob("*/__init__.py"):
        (page,) = re.findall(r"docs/[a-z0-9/-]+\.md", ast.get_docstring(parsed(path)))
        assert (ROOT / page).is_file(), path


@pytest.mark.parametrize("package", ALLOWED)
def test_lower_packages_import_only_what_they_may(package):
    for path in modules(package):
        for name in imports(path):
            if name.split(".")[0] not in sys.stdlib_module_names:
                assert any(
                    name == one or name.startswith(f"{one}.") for one in ALLOWED[package]
                ), f"{path} imports {name}"


def test_no_import_comes_from_the_tests():
    for path in MODULES.values():
        assert not [name for name in imports(path) if name.split(".")[0] == "tests"]


def test_kernels_stand_in_kernel_files_only():
    for path in MODULES.values():
        found = set(imports(path))
        assert "numba.njit" not in found or path.stem == "compiled", path
        if {f"portmert.metrics.kernels.compiled.{name}" for name in ("kernel", "helper")} & found:
            assert holds_kernels(path), path


def holds_kernels(path):
    return path.stem.endswith("_kernels") or path.parent.name == "kernels"


def test_kernel_files_import_at_their_top_and_only_types_from_other_files():
    """Else an edit of what a kernel uses could stay unnoticed: see `_read` of compiled.py."""
    for path in filter(holds_kernels, MODULES.values()):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert node.col_offset == 0 or path.name == "compiled.py", path
                found = [one.name for one in node.names]
                module = "" if isinstance(node, ast.Import) else origin(node, path)
                if module.startswith("portmert.") and "kernels" not in module:
                    assert all(name.endswith("Array") for name in found), (path, found)


def test_python_calls_no_helper_of_kernels():
    """There is no way in: a call would end the process."""
    helpers = set()
    for name, path in MODULES.items():
        for node in parsed(path).body:
            marks = getattr(node, "decorator_list", ())
            if any(isinstance(mark, ast.Name) and mark.id == "helper" for mark in marks):
                helpers.add(f"{name}.{node.name}")
    assert helpers
    mentioned = re.compile("|".join(rf"\b{name.rpartition('.')[2]}\b" for name in helpers))
    for path in (*MODULES.values(), *(ROOT / "tests").rglob("*.py")):
        if not holds_kernels(path) and path.name != "test_compiled.py":  # calls what is plain
            assert not helpers & reached(path, mentioned), path


def reached(path, mentioned):
    """Return the helpers that a file imports, and attributes of what it imports."""
    if not mentioned.search(path.read_text(encoding="utf-8")):
        return set()
    nodes, names = list(ast.walk(parsed(path))), {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                names[each.asname or each.name] = f"{origin(node, path)}.{each.name}"
    return set(names.values()) | {
        f"{names.get(node.value.id)}.{node.attr}"
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }


def test_every_package_says_what_is_in_it():
    for name, path in MODULES.items():
        if path.name == "__init__.py":
            assert ast.get_docstring(parsed(path)), name


def test_tests_stand_in_folders_of_the_same_names():
    for package in PACKAGES:
        for path in (ROOT / "tests" / package).rglob("test_*.py"):
            folder = ROOT / path.parent.relative_to(ROOT / "tests")
            assert (folder / "__init__.py").is_file(), f"{path} tests no package"


def test_numba_is_used_from_outside():
    for path in MODULES.values():
        inside = {name for name in imports(path) if name.startswith(("numba.", "llvmlite"))}
        allowed = {"numba.njit", "numba.prange", "numba.core.event", "numba.extending.typeof_impl"}
        assert inside <= allowed, path


@functools.cache
def functions():
    """Of every function but kernels: file, name, lines, arguments."""
    found = []
    for path in MODULES.values():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = (node.args.posonlyargs, node.args.args, node.args.kwonlyargs)
                body = node.body[bool(ast.get_docstring(node)) :] or node.body
                length = node.end_lineno - body[0].lineno + 1
                found.append((path, node.name, length, sum(map(len, given))))
    assert found
    return [one for one in found if "kernels" not in str(one[0])]


def test_functions_are_short():
    """Without docstring and arguments. Kernels apart: a kernel is one loop nest."""
    for path, name, length, _ in functions():
        assert length <= 60, f"{path}: {name} has {length} lines"


def test_public_functions_take_few_arguments():
    for path, name, _, taken in functions():
        assert name.startswith("_") or taken <= 15, f"{path}: {name} takes {taken} arguments"


def test_public_classes_have_names_of_their_own():
    """Components apart: Moses is a decoder, and a format of lists."""
    places = defaultdict(list)
    for name, path in MODULES.items():
        for node in parsed(path).body if not path.name.startswith("_") else ():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    components = {
        component(family, name).__name__
        for family in families.families()
        for name in own_names(family)
    }
    twice = {
        name: found for name, found in places.items() if len(found) > 1 and name not in components
    }
    assert not twice


OF_THE_PROCESSOR = {
    "cbrt", "cos", "dot", "exp", "exp2", "expm1", "inner", "linalg", "log", "log10", "log1p",
    "log2", "matmul", "power", "sin", "tan", "tanh", "tensordot", "vdot",
}  # fmt: skip
"""NumPy's functions whose last digits depend on the processor."""


def test_scores_and_searches_do_not_depend_on_the_processor():
    """`metrics/_elementary.py` has what they need; kernels compile the system's own."""
    folders = ("metrics", "tuner/search", "tuner/decoders", "extensions/mert_moses", "tuner/runs",
               "tuner/texts", "tuner/weights")  # fmt: skip
    for path in itertools.chain(*map(modules, folders)):
        if holds_kernels(path):
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "np":
                assert node.attr not in OF_THE_PROCESSOR, f"{path}:{node.lineno}: np.{node.attr}"
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                # SciPy's sparse matrices add in one order.
                left = ast.unparse(node.left)
                is_sparse = "sparse" in left or left.removesuffix(".T") in (
                    "some",
                    "scaled",
                    "is_counted",
                )
                assert is_sparse, f"{path}:{node.lineno}: {left} @"


def test_messages_name_pages_of_the_guide_by_titles_that_they_have():
    titles = {
        path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        for path in (ROOT / "docs").rglob("*.md")
    }
    named = set()
    for path in MODULES.values():
        tree = parsed(path)
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
        docstrings = {
            ast.get_docstring(node, clean=False)
            for node in ast.walk(tree)
            if isinstance(node, documented)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named.update(re.findall(r"the guide's page '([^']+)'", node.value))
                is_file = re.search(r"docs/[\w-]+/[\w-]+\.md", node.value)
                assert not is_file or node.value in docstrings, f"{path}:{node.lineno}"
    assert named
    assert named <= titles
