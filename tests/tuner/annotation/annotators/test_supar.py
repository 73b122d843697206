from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys

import numpy as np
import pytest

from portmert.tuner.annotation.annotators import _brackets
from portmert.tuner.annotation.annotators._base import Request
from portmert.tuner.annotation.annotators._forest import fault
from portmert.tuner.annotation.annotators._tokens import escaped
from portmert.tuner.components import registry
from portmert.tuner.ground.errors import AnnotatorError, ConfigError
from tests.support.annotation_models import SENTENCES
from tests.support.optional_models import models

LINKS = Request(frozenset({"heads", "marginals"}), gammas=(0.25, 1.0))
TREE = Request(frozenset({"tree"}))
ODD = [["one"], ["."], ["don", "'t", "(", "&quot;"], ["\u00a0", "a\u2028b"], ["x"] * 40]


def build(model, **options):
    return registry.build("annotator", "supar", {"model": model, "trust_model": True, **options})


def run(annotator, sentences, request=LINKS, **how):
    return list(annotator.annotate(sentences, request, **how))


@pytest.fixture(scope="module")
def folder():
    return models("supar")


@pytest.mark.parametrize("kind", ["biaffine", "crf", "projective"])
def test_dependency_parsers_give_heads_and_expected_links(folder, kind):
    sentences = [*SENTENCES[:5], *ODD]
    for words, answer in zip(sentences, run(build(folder / kind), sentences), strict=True):
        assert len(answer.heads) == len(words)
        assert fault(answer.heads) == ""
        assert sum(head == 0 for head, _ in answer.heads) == 1
        for links in answer.marginals.values():
            total = np.zeros(len(words))
            for token, head, label, count in links:
                assert 0 <= head <= len(words)
                assert (head == 0) == (label == "root") or head
                total[token] += count
            np.testing.assert_allclose(total, 1.0)
            assert sum(arc[3] for arc in links if arc[1] == 0) == pytest.approx(1, abs=0.05)


def test_expected_links_are_supars_own_probabilities(folder):
    """At gamma 1, against SuPar's own matrix-tree in another process."""
    script = """
import functools, json, sys, torch
torch.load = functools.partial(torch.load, weights_only=False)
from supar import Parser
parser = Parser.load(sys.argv[1])
words = sys.argv[2].split()
data = parser.predict([words], prob=True, mbr=True, tree=True, proj=False, verbose=False)
print(json.dumps(data.probs[0].tolist()))
"""
    words = SENTENCES[0]
    command = [sys.executable, "-W", "ignore", "-c", script, str(folder / "crf"), " ".join(words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = np.array(json.loads(done.stdout.splitlines()[-1]))
    (answer,) = run(build(folder / "crf", min_count=1e-12), [words])
    found = np.zeros_like(expected)
    for token, head, _, count in answer.marginals[1.0]:
        found[token, head] += count
    np.testing.assert_allclose(found, expected, atol=1e-4)  # SuPar's are float32


def test_a_constituency_parser_gives_trees_over_the_given_tokens(folder):
    sentences = [*SENTENCES[:5], *ODD]
    found = run(build(folder / "constituents"), sentences, TREE)
    for words, answer in zip(sentences, found, strict=True):
        tree = _brackets.parse(answer.tree)
        assert tree.tokens == [escaped(word) for word in words]
        assert set(tree.tags) == {"_"}


@pytest.mark.parametrize(
    ("kind", "request_"), [("crf", LINKS), ("projective", LINKS), ("constituents", TREE)]
)
def test_an_answer_depends_neither_on_neighbours_nor_on_processes(folder, kind, request_):
    annotator = build(folder / kind)
    whole = run(annotator, SENTENCES[:36], request_)
    assert run(annotator, SENTENCES[:36], request_, processes=2) == whole
    assert [run(annotator, [words], request_)[0] for words in SENTENCES[:3]] == whole[:3]


def test_what_a_model_does_not_give_is_an_error(folder):
    with pytest.raises(AnnotatorError, match="kind crf-constituency gives tree, not heads, marg"):
        run(build(folder / "constituents"), [["a"]])
    with pytest.raises(AnnotatorError, match="kind crf-dependency gives heads, marginals, not t"):
        run(build(folder / "crf"), [["a"]], TREE)


def test_a_file_that_is_no_model_is_an_error(folder, tmp_path):
    del folder
    (tmp_path / "model").write_bytes(b"nothing")
    with pytest.raises(AnnotatorError, match="cannot load the model: "):
        run(build(tmp_path / "model"), [["a"]])


def test_the_fingerprint_knows_the_model_and_the_options(folder):
    name = build(folder / "crf").fingerprint()
    assert name.startswith("supar 1.1.4 torch-")
    assert name != build(folder / "biaffine").fingerprint()
    assert name != build(folder / "crf", min_count=0.1).fingerprint()


def test_a_model_must_be_trusted_explicitly():
    with pytest.raises(ConfigError, match="set trust_model = true if you trust where it comes"):
        registry.build("annotator", "supar", {"model": "x"})


def test_a_name_is_no_reason_to_download_anything(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AnnotatorError, match="biaffine-dep-en: no such model"):
        run(build("biaffine-dep-en"), [["a"]])


def test_without_the_library_the_command_is_named(monkeypatch):
    def nothing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", nothing)
    with pytest.raises(AnnotatorError, match=r"pip install 'portmert\[supar\]'"):
        build("x").fingerprint()
