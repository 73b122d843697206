"""The recipes for decoders run, where their packages are installed."""

from __future__ import annotations

import re
import wave
from typing import Any

import numpy as np
import pytest

from portmert.metrics._base import Vocabulary
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.weights.weights_file import read_weights_file
from tests.support import cli
from tests.support.places import ROOT

RECIPES = ROOT / "configs" / "recipes"
CDEC = ROOT / "tests/data/cdec"


def run(recipe: str, given: dict[str, Any]) -> Any:
    """Run a recipe, and return what it tuned."""
    code = (RECIPES / recipe).read_text(encoding="utf-8").replace("size = 40", "size = 12")
    exec(compile(code, recipe, "exec"), given)  # noqa: S102  our own file
    return given.get("tuned")


def test_pyctcdecode(tmp_path, monkeypatch):
    for package in ("kenlm", "pyctcdecode"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    given: dict[str, Any] = {}
    run("ctc_data.py", given)
    tuned = run("ctc_beams.py", given)
    assert tuned.result.score > tuned.result.start_score + 0.03
    alpha = given["own"](tuned.weights)["alpha"]
    assert alpha == tuned.weights["lm"] / tuned.weights["am"] > 0


def test_cdec_tunes_as_its_recipe_says(tmp_path, monkeypatch):
    table = (RECIPES / "cdec.toml").read_text(encoding="utf-8")
    table = re.sub(r"(?m)^test_.*\n", "", table)
    table = table.replace('"cdec"', f'"{ROOT / "tests/programs/recorded_cdec"}"', 1)
    for name, given in (
        ("cdec.toml", table),
        ("weights.init", (CDEC / "weights.1").read_text()),
        *((name, (CDEC / name).read_text()) for name in ("dev.src", "dev.tgt")),
    ):
        (tmp_path / name).write_text(given)  # fmt: skip
    monkeypatch.chdir(tmp_path)
    shown = cli.run("tune", "cdec.toml", "--decodings=1").stderr
    assert "iteration 1:      64 hypotheses,     64 new, dev  31.10" in shown
    monkeypatch.setenv("CDEC_LIST", "2")
    shown = cli.run("tune", "cdec.toml", "--fresh", status=1).stderr
    assert "the score fits the weights LanguageModel 0.49" in shown


def test_lists_of_cdec_under_two_weights_are_one_search_space(tmp_path):
    program = [str(ROOT / "tests/programs/recorded_cdec"), "-w", "{weights}"]
    for number in (1, 2):
        path = CDEC / f"weights.{number}"
        decoder = registry.decoder("command", {"program": program, "start": path})
        decoder.decode(
            decoder.read_weights(), source=CDEC / "dev.src", size=8, out=tmp_path / str(number),
            workdir=tmp_path / f"work-{number}" )  # fmt: skip
    both = read_nbest([tmp_path / "1", tmp_path / "2"], Vocabulary())
    assert 64 < len(both.features) < 128  # some texts are in both, with the same features
    names = [name for name, _ in both.feature_names]
    assert names[:3] == ["LanguageModel", "Glue", "WordPenalty"]
    assert set(names) == set(read_weights_file(CDEC / "weights.1").weights.values)


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
    tuned = run("ensemble.py", given)
    # The scores of the beams are weights . features, or tune would have refused them.
    assert tuned.result.score >= tuned.result.start_score


def test_pocketsphinx_shows_the_same_acoustics_under_all_weights(tmp_path, monkeypatch):
    pytest.importorskip("pocketsphinx")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    time = np.arange(16000) / 16000
    for name in ("a", "b"):  # noise whose pitch and loudness change, as no recordings are at hand
        pitch = np.cumsum(100 + 40 * np.sin(2 * np.pi * rng.uniform(1, 4) * time)) / 16000
        sound = sum(np.sin(2 * np.pi * k * pitch) / k for k in range(1, 20))
        sound *= np.abs(np.sin(2 * np.pi * 3 * time)) + 0.1 * rng.normal(size=16000)
        with wave.open(f"{name}.wav", "wb") as out:
            out.setparams((1, 2, 16000, 0, "NONE", ""))
            out.writeframes((4000 * sound).astype("<i2").tobytes())
    given: dict[str, Any] = {"dev": ["a.wav", "b.wav"], "dev_texts": ["oh well", "no more"]}
    run("sphinx.py", given)
    first, second = (
        [
            {one["text"]: one["features"] for one in found}
            for found in given["decode"](weights, given["dev"], 50)
        ]
        for weights in (
            {"am": 1.0, "lm": 6.5, "words": -0.4},
            {"am": 1.0, "lm": 6.7, "words": -0.6},
        )
    )
    differences = [
        one[text]["am"] - other[text]["am"]
        for one, other in zip(first, second, strict=True)
        for text in one.keys() & other.keys()
    ]
    assert len(differences) > 5
    # pocketsphinx rounds every score to 0.1.
    assert np.abs(differences).max() < 2
