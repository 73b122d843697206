"""COMET's networks as metrics: real classes and checkpoints, of a few random numbers."""

from __future__ import annotations

import importlib.metadata
import pickle
import shutil
import warnings

import numpy as np
import pytest

import portmert
from portmert.extensions.neural import comet as comet_of
from portmert.tuner.annotation import cache
from portmert.tuner.base.errors import PortmertError
from portmert.tuner.base.warn import notices_to
from portmert.tuner.components import registry
from tests.support.optional_models import models

LIST = """0 ||| the house ||| F= 1 G= 0 ||| 0
0 ||| house a ||| F= 0 G= 1 ||| 0
0 ||| b b b ||| F= -9 G= -9 ||| 0
1 ||| c d ||| F= 1 G= 0 ||| 0
1 |||  ||| F= 3 G= 1 ||| 0
"""
SOURCE = ["das haus", "a b"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(tmp_path / "cache"))
    return models("comet")


@pytest.fixture
def model(folder):
    return folder / "regression_metric"


@pytest.fixture
def reference_free(folder):
    return folder / "referenceless_regression_metric"


def by_comet(folder, samples):
    """What comet itself predicts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from comet import load_from_checkpoint

        network = load_from_checkpoint(str(folder / "checkpoints" / "model.ckpt"))
        return network.predict(samples, gpus=0, progress_bar=False, num_workers=0)["scores"]


def score(folder, hypotheses, references=(), **more):
    return portmert.score(
        hypotheses, references, metric=f"comet:{folder}", source=SOURCE, **more
    ).segment_scores


def test_scores_are_comets_own(model):
    samples = [
        {"src": "das haus", "mt": "the house", "ref": "house the"},
        {"src": "a b", "mt": "c d", "ref": "d"},
    ]
    found = score(model, ["the house", "c d"], [["house the", "d"]])
    assert found == pytest.approx(by_comet(model, samples), abs=1e-5)
    # Of several references the one that scores best counts.
    other = score(model, ["the house", "c d"], [["the", "d"]])
    both = score(model, ["the house", "c d"], [["house the", "d"], ["the", "d"]])
    assert both.tolist() == np.maximum(found, other).tolist()


def test_a_model_without_references(reference_free):
    metric = registry.metric(f"comet:{reference_free},batch=1,device=cpu")
    assert not metric.reads_references
    samples = [{"src": "das haus", "mt": "the house"}, {"src": "a b", "mt": "c d"}]
    found = score(reference_free, ["the house", "c d"], [["x", "y"]])
    assert found == pytest.approx(by_comet(reference_free, samples), abs=1e-5)


def test_a_text_is_scored_once(model, monkeypatch):
    first = score(model, ["the house", "c d"], [["house the", "d"]])

    def refuse(*_: object) -> None:
        raise AssertionError("the network is asked again")

    monkeypatch.setattr(comet_of, "_network", refuse)
    assert score(model, ["the house", "c d"], [["house the", "d"]]).tolist() == first.tolist()
    with pytest.raises(AssertionError, match="asked again"):
        score(model, ["the house", "c a"], [["house the", "d"]])


def test_only_hypotheses_that_the_search_asks_for_are_scored(model, tmp_path, monkeypatch):
    (tmp_path / "list").write_text(LIST)
    asked = []
    network = comet_of._network(model / "checkpoints" / "model.ckpt", "auto")

    def counted(samples):
        asked.extend(sample[1] for sample in samples)
        return network(samples)

    monkeypatch.setattr(comet_of, "_network", lambda *_: counted)
    done, notes = [], []
    with notices_to(notes.append):
        lists = portmert.Lists.read(tmp_path / "list", refs=[["the house", "c d"]], source=SOURCE)
        found = portmert.optimize(
            lists,
            f"comet:{model}",
            also=["chrf", "bleu:smooth=add1"],
            optimizer="mert",
            constraints={"signs": {"F": "+", "G": "+"}},
            progress=lambda phase, *come: phase == "annotating" and done.append(come),
        )
    # With weights above 0 neither b b b nor, beside an empty one, c d is ever the best.
    assert sorted(asked) == ["", "house a", "the house"]
    assert done[-1][0] == done[-1][1]
    assert found.score >= found.start_score
    assert [other.metric.name() for other in found.also] == ["chrf", "bleu"]
    assert not [note for note in notes if "report other metrics" in note]
    assert f"comet:{model},of=" in found.signature
    signature = found.signature.split("|")[0]
    assert registry.metric(signature).signature == signature


def test_pickled_objects_are_not_loaded(model, tmp_path):
    import torch

    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    folder = tmp_path / "trapped"
    shutil.copytree(model, folder)
    path = folder / "checkpoints" / "model.ckpt"
    state = torch.load(path, weights_only=True)
    torch.save({**state, "callbacks": Trap()}, path)
    with pytest.raises(PortmertError, match="cannot be loaded: Weights only load failed"):
        score(folder, ["the house", "c d"], [["house the", "d"]])
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(PortmertError, match="cannot be loaded"):
        score(folder, ["the house", "c d"], [["house the", "d"]])
    assert not (tmp_path / "sprung").exists()


def test_models_that_are_none(model, tmp_path):
    folder = tmp_path / "broken"
    shutil.copytree(model, folder)
    settings = folder / "hparams.yaml"
    for content, message in (
        ("!!python/object/apply:os.getcwd []", "no YAML of plain values"),
        ("- 1", "no table of settings"),
        ("a: 1", "no class_identifier"),
        ("class_identifier: unified_metric\ninput_segments: 7", "input_segments is 7, expected a"),
    ):
        settings.write_text(content)
        with pytest.raises(PortmertError, match=message):
            registry.metric(f"comet:{folder}")
    settings.unlink()
    with pytest.raises(PortmertError, match=r"hparams.yaml: No such file or directory; COMET"):
        registry.metric(f"comet:{folder}")
    with pytest.raises(PortmertError, match="of=00 is asked for, found"):
        registry.metric(f"comet:{model},of=00")
    with pytest.raises(PortmertError, match="nothing is downloaded here; fetch it with: hugging"):
        registry.metric("comet:nobody/nothing")


def test_the_source_is_needed(model):
    with pytest.raises(PortmertError, match="metric comet reads the source text: give --source"):
        portmert.score(["a"], [["b"]], metric=f"comet:{model}")
    with pytest.raises(PortmertError, match="metric comet reads source; minimum Bayes risk"):
        portmert.rerank(portmert.Lists.read(_list(model)).nbest, mbr=f"comet:{model}")


def test_it_travels_to_other_processes():
    metric = comet_of.Comet("model", batch=2)
    metric.use()
    again = pickle.loads(pickle.dumps(metric))  # noqa: S301  our own
    assert again == metric
    assert not again._state


def _list(model):
    path = model.parent / "list"
    path.write_text(LIST)
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("comet:", "name a model, as comet:Unbabel/wmt22-comet-da"),
        ("comet:gone.ckpt", "gone.ckpt: no checkpoint there; expected a .ckpt, a folder with"),
        ("comet:x,batches=2", "'batches=2': write comet:MODEL,batch=16,device=cpu"),
        ("comet:x,batch=0", "batch: Input should be greater than 0"),
        ("comet:x,device=tpu", "device: Input should be 'auto', 'cpu' or 'cuda'"),
        ("comet:x,batch=2,batch=3", "each option once"),
    ],
)
def test_forms(text, message):
    with pytest.raises(PortmertError, match=message):
        registry.metric(text)


def test_without_the_extra_one_line_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "model.ckpt").write_bytes(b"x")
    (tmp_path / "hparams.yaml").write_text("class_identifier: regression_metric\n")

    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    with pytest.raises(PortmertError, match=r"install it with: pip install 'portmert\[comet\]'"):
        registry.metric(f"comet:{tmp_path}")
