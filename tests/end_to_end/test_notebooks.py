"""The notebooks run, and show what they show."""

import json

import pytest

from tests.support.notebooks import NOTEBOOKS, executed


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path):
    shown = path.read_text(encoding="utf-8")
    assert any(cell.get("outputs") for cell in json.loads(shown)["cells"])
    assert executed(path) == shown
