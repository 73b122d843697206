from __future__ import annotations

import importlib.metadata
import itertools
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from portmert.extensions.parsers.stanza import _tables
from portmert.tuner.base.errors import AnnotatorError, ConfigError, ProgramError
from portmert.tuner.components import registry
from portmert.tuner.texts.annotator import AnnotationRequest
from portmert.tuner.texts.annotator import heads_fault as fault
from tests.support.annotation_models import SENTENCES
from tests.support.optional_models import models

ALL = AnnotationRequest(frozenset({"tags", "heads", "marginals"}), gammas=(0.25, 1.0))
ODD = [["one"], ["."], ["don", "'t", "(", "&quot;"], ["\u00a0", "a\u2028b"], ["x"] * 40]


def build(**options):
    return registry.build("annotator", "stanza", options)


def run(annotator, sentences, request=ALL, **how):
    return list(annotator.annotate(sentences, request, **how))


@pytest.fixture(scope="module")
def own():
    folder = models("stanza")
    return {"tagger": folder / "tagger.pt", "parser": folder / "parser.pt"}


def test_every_token_gets_a_tag_a_head_and_expected_links(own):
    sentences = [*SENTENCES[:5], *ODD]
    for words, answer in zip(sentences, run(build(**own), sentences), strict=True):
        assert len(answer.tags) == len(answer.heads) == len(words)
        assert fault(answer.heads) == ""
        assert sorted(answer.marginals) == [0.25, 1.0]
        for links in answer.marginals.values():
            total = np.zeros(len(words))
            for token, head, label, count in links:
                assert 0 <= head <= len(words)
                assert head != token + 1
                assert (head == 0) == (label == "root") or head
                total[token] += count
            np.testing.assert_allclose(total, 1.0)
            # One root a tree, but for the links that are left out.
            assert sum(arc[3] for arc in links if arc[1] == 0) == pytest.approx(1, abs=0.02)


OWN_SCORES = """
import json, sys, stanza
from pathlib import Path
tagger, parser, folder, *words = sys.argv[1:]
known = {"en": {"lang_name": "", "packages": {"default": {}}, "default_processors": {}}}
(Path(folder) / "resources.json").write_text(json.dumps(known))
run = stanza.Pipeline(
    "en", dir=folder, processors="tokenize,pos,depparse", download_method=None, use_gpu=False,
    tokenize_pretokenized=True, pos_model_path=tagger, depparse_model_path=parser,
    depparse_pretagged=True, verbose=False,
)
model = run.processors["depparse"].trainer.model
forward = model.forward
def kept(*arguments):
    loss, found = forward(*arguments)
    print(json.dumps(found[0][0, 1:].tolist()))
    return loss, found
model.forward = kept
run([words])
"""


def test_expected_links_are_those_of_stanzas_own_probabilities(own, tmp_path):
    """The contract with an internal interface, at gamma 1, by enumeration of all trees."""
    words = SENTENCES[0][:3]
    command = [sys.executable, "-W", "ignore", "-c", OWN_SCORES]
    command += [str(own["tagger"]), str(own["parser"]), str(tmp_path), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    logs = json.loads(done.stdout.splitlines()[-1])
    expected = np.zeros((3, 4))
    for heads in itertools.product(range(4), repeat=3):
        if heads.count(0) == 1 and not fault(tuple((head, "") for head in heads)):
            weight = math.exp(sum(logs[token][head] for token, head in enumerate(heads)))
            expected[range(3), heads] += weight
    expected /= expected.sum(axis=1, keepdims=True)
    (answer,) = run(build(**own, min_count=1e-12), [words])
    found = np.zeros((3, 4))
    for token, head, _, count in answer.marginals[1.0]:
        found[token, head] += count
    np.testing.assert_allclose(found, expected, atol=1e-5)  # Stanza's are float32


def test_the_fingerprint_knows_the_models_and_the_options(own):
    name = build(**own).fingerprint()
    assert name.startswith(f"stanza {importlib.metadata.version('stanza')} torch-")
    assert str(own["parser"]) not in name
    assert name != build(**own, tagset="upos").fingerprint()
    assert name != build(tagger=own["tagger"], parser=own["tagger"]).fingerprint()


def test_a_file_that_is_no_model_is_an_error(own, tmp_path):
    (tmp_path / "parser.pt").write_bytes(b"nothing")
    with pytest.raises(AnnotatorError, match="cannot load the model: "):
        run(build(tagger=own["tagger"], parser=tmp_path / "parser.pt"), [["a"]])


def test_what_is_given_twice_or_by_half_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="tagger and parser belong together"):
        build(tagger="x")
    with pytest.raises(ConfigError, match="give model, or tagger and parser"):
        build()
    with pytest.raises(ConfigError, match="give model, or tagger and parser"):
        build(model=tmp_path, tagger="x", parser="y")


def test_models_that_are_not_there_have_a_command(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1")
    message = r"no Stanza models of language 'de'; get them with: python -c .*download\('de', '"
    for work in (
        build(model=tmp_path, language="de").fingerprint,
        lambda: run(build(model=tmp_path, language="de"), [["a"]]),
    ):
        with pytest.raises(AnnotatorError, match=message):
            work()
    (tmp_path / "de").mkdir()
    (tmp_path / "de" / "model").write_text("")
    (tmp_path / "resources.json").write_text(json.dumps({"de": {"packages": {}}}))
    first = build(model=tmp_path, language="de").fingerprint()
    (tmp_path / "resources.json").write_text(json.dumps({"de": {"packages": {"new": {}}}}))
    assert build(model=tmp_path, language="de").fingerprint() != first


def test_without_the_library_the_command_is_named(monkeypatch, tmp_path):
    def nothing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", nothing)
    with pytest.raises(ProgramError, match=r"pip install 'portmert\[stanza\]'"):
        build(model=tmp_path).fingerprint()


class Table(np.ndarray):
    def detach(self):
        return self


def test_scores_of_other_shapes_than_known_are_an_error():
    arcs, labels = np.zeros((1, 3, 3)).view(Table), np.zeros((1, 3, 3, 5)).view(Table)
    assert [table.shape for table in _tables((arcs, labels), 2, 5)] == [(2, 3), (2, 3, 5)]
    for length, names in ((3, 5), (2, 4)):
        with pytest.raises(AnnotatorError, match=r"use stanza 1\.15"):
            _tables((arcs, labels), length, names)
