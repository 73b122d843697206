"""The pages of recipes for decoders run, where their packages are installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.places import ROOT
from tests.support.posteriors import LABELS, posteriors, sentences, write_bigrams


def run(page: str, given: dict[str, Any]) -> Any:
    """Run the code of a page, and return what it tuned."""
    text = (ROOT / "docs/how-to" / page).read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    exec(compile(code, page, "exec"), given)  # noqa: S102  our own page
    return given["tuned"]


def test_pyctcdecode(tmp_path, monkeypatch):
    for package in ("kenlm", "pyctcdecode"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    texts = sentences(1000)
    write_bigrams(texts, Path("lm.arpa"))
    rng = np.random.default_rng(1)
    given: dict[str, Any] = {"training_texts": texts, "labels": LABELS}
    for name, first in (("dev", 4000), ("test", 4200)):
        given[f"{name}_texts"] = sentences(12, first=first)
        given[name] = [posteriors(text, rng) for text in given[f"{name}_texts"]]
    tuned = run("pyctcdecode.md", given)
    assert tuned.result.score > tuned.result.start_score + 0.05
    alpha = given["own"](tuned.weights)["alpha"]
    assert alpha == tuned.weights["lm"] / tuned.weights["am"] > 0


def test_an_ensemble_of_transformers(tmp_path, monkeypatch):
    for package in ("torch", "transformers"):
        pytest.importorskip(package)
    from tests.support import tiny_models as models

    monkeypatch.chdir(tmp_path)
    given: dict[str, Any] = {
        "first": models.trained(1, 500), "others": {"second": models.trained(2, 400)},
        "encode": models.encode, "spell": models.spell, "end": models.END,
    }  # fmt: skip
    for name, seed in (("dev", 5), ("test", 6)):
        given[name], given[f"{name}_refs"] = zip(*models.pairs(8, seed), strict=True)
    tuned = run("fusion.md", given)
    # The scores of the beams are weights . features, or tune would have refused them.
    assert tuned.result.score >= tuned.result.start_score
