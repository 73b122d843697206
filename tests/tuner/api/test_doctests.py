"""The examples in the docstrings of the Python API give what they say."""

import doctest
import importlib
import pkgutil

import pytest

import portmert
from portmert.tuner import api

MODULES = [f"portmert.tuner.api.{module.name}" for module in pkgutil.iter_modules(api.__path__)]
MODULES.append("portmert.tuner.components.registry")
MODULES.append("portmert.extensions.crossval.operation")
FUNCTIONS = (
    "Lists", "Reranker", "align", "average", "compare", "crossval", "metric",
    "optimize", "replicate", "rerank", "rerank_tune", "score", "tune",
)  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_right(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert not list(tmp_path.iterdir())  # an example leaves no file where it was tried


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_has_an_example(name):
    assert ">>> " in getattr(portmert, name).__doc__
