"""The house's arrows point down: who may import whom."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = {
    "metrics": {"metrics", "numpy", "numba", "Stemmer"},  # Snowball's stemmers, METEOR and TERp
    "aligners": {"aligners", "numpy", "thot", "sentencepiece"},
}
TUNER_LAYERS = [
    {"cli", "__main__", "commands", "demo", "dropin", "reproduction", "warm_up"},
    {"replicas", "comparison"},
    {"experiment"},
    {
        "evaluation",
        "humaneval",
        "metaeval",
        "metaeval_report",
        "metric_training",
        "length_penalty",
        "run_inputs",
    },
    {"bootstrap", "config", "links", "optimization", "syntax"},
    {"annotating"},
    {"annotation_layers"},
    {"annotation_records", "annotation_cache"},
    {"annotation_file"},
    {
        "annotators",
        "optimizers",
        "decoders",
        "variables",
        "scoring",
        "catalogue",
        "registry",
        "run_folder",
    },
    {"formula", "search"},
    {"line_search", "nbest", "moses_dat"},
    {"metric_server", "readers"},
    {"problem", "significance", "statistics", "external", "_nbest_reader", "_hypothesis_pool"},
    {
        "corpus",
        "human_scores",
        "constraints",
        "text_pipeline",
        "prior",
        "weights",
        "moses_weights",
    },
    {"files", "moses_ini", "_kernels", "_nbest_kernels"},
    {"errors", "correlation", "processors", "tables"},
]


def modules(package):
    return sorted((ROOT / package).rglob("*.py"))


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


@pytest.mark.parametrize("package", ALLOWED)
def test_lower_packages_import_only_what_they_may(package):
    for path in modules(package):
        for name in imports(path):
            top = name.split(".")[0]
            if top not in sys.stdlib_module_names:
                assert top in ALLOWED[package], f"{path.relative_to(ROOT)} imports {name}"


def layer_of(part):
    found = [number for number, layer in enumerate(TUNER_LAYERS) if part in layer]
    assert len(found) == 1, f"tuner.{part} has no layer in {Path(__file__).name}"
    return found[0]


def test_no_import_in_tuner_points_up():
    for path in modules("tuner"):
        part = path.relative_to(ROOT / "tuner").with_suffix("").parts[0]
        if part == "__init__":
            continue
        for name in imports(path):
            names = name.split(".")
            if names[0] != "tuner" or len(names) < 2 or names[1] == "__version__":
                continue
            assert layer_of(names[1]) >= layer_of(part), f"tuner/{part} imports {name}"


def test_no_import_comes_from_the_tests():
    for package in ("tuner", "metrics", "aligners"):
        for path in modules(package):
            assert not [name for name in imports(path) if name.split(".")[0] == "tests"]


def test_kernels_stand_in_kernel_files_only():
    for package in ("tuner", "metrics", "aligners"):
        for path in modules(package):
            if "numba.njit" in set(imports(path)):
                assert path.stem.endswith("_kernels"), path
