"""The examples in the docstrings of the Python API give what they say."""

import doctest
import importlib
import pkgutil

import pytest

import portmert
from portmert.tuner import api
from tests.support.places import ROOT

MODULES = [f"portmert.tuner.api.{module.name}" for module in pkgutil.iter_modules(api.__path__)]
MODULES.append("portmert.tuner.components.registry")
MODULES += [
    "portmert.tuner.runs.config", "portmert.extensions.parsers.annotating",
    "portmert.extensions.averaging.operation", "portmert.extensions.crossval.operation",
    "portmert.extensions.metaeval.operation", "portmert.extensions.service.reranker",
    "portmert.extensions.learned.operation", "portmert.extensions.people.operation",
    pytest.param("portmert.extensions.reproduce.operation", marks=pytest.mark.slow),
]  # fmt: skip
FUNCTIONS = (
    "Lists", "Reranker", "align", "annotate", "average", "compare", "crossval", "load_config",
    "make_sheets", "metaeval", "metric", "optimize", "read_sheets", "replicate", "reproduce",
    "rerank", "rerank_tune", "score", "train_metric", "tune",
)  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_right(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert [path.name for path in tmp_path.iterdir()] == [
        "configs"
    ]  # an example leaves no file where it was tried


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_an_example(name):
    assert ">>> " in getattr(portmert, name).__doc__
