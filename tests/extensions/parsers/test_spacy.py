from __future__ import annotations

import importlib.metadata
import json
import math
import shutil

import pytest

from portmert.extensions.parsers.spacy import _ranked_parses
from portmert.tuner.base.errors import AnnotatorError, ProgramError
from portmert.tuner.components import registry
from portmert.tuner.texts.annotator import AnnotationRequest
from portmert.tuner.texts.annotator import heads_fault as fault
from tests.support.annotation_models import SENTENCES
from tests.support.optional_models import models

ALL = AnnotationRequest(frozenset({"tags", "heads", "parses"}), parses=3)
ODD = [["one"], ["."], ["don", "'t", "(", "&quot;"], ["\u00a0", "a\u2028b"], ["x"] * 200]


def build(model, **options):
    return registry.build("annotator", "spacy", {"model": str(model), **options})


def run(annotator, sentences, request=ALL, **how):
    return list(annotator.annotate(sentences, request, **how))


@pytest.fixture(scope="module")
def pipeline():
    return models("spacy") / "pipeline"


def test_every_token_gets_a_tag_and_a_head(pipeline):
    sentences = [*SENTENCES[:5], *ODD]
    for words, answer in zip(sentences, run(build(pipeline), sentences), strict=True):
        assert len(answer.tags) == len(words)
        assert all(answer.tags)
        parses = [answer.heads, *(heads for _, heads in answer.parses)]
        for heads in parses:
            assert len(heads) == len(words)
            assert fault(heads) == ""
            assert sum(head == 0 for head, _ in heads) == 1
            assert all((head == 0) == (label == "root") for head, label in heads)


def test_parses_come_best_first_with_log_probabilities(pipeline):
    request = AnnotationRequest(frozenset({"parses"}), parses=99)
    for answer in run(build(pipeline, beam_width=4), SENTENCES[:5], request):
        scores = [score for score, _ in answer.parses]
        assert scores == sorted(scores, reverse=True)
        assert 1 < len(scores) <= 4
        assert math.fsum(map(math.exp, scores)) == pytest.approx(1)
        assert answer.tags == answer.heads == ()


def test_no_more_parses_than_asked_for(pipeline):
    assert all(len(answer.parses) <= 3 for answer in run(build(pipeline), SENTENCES[:5]))


def test_tagsets(pipeline):
    words = [SENTENCES[0]]
    xpos, upos, feats = (
        run(build(pipeline, tagset=tagset), words, AnnotationRequest(frozenset({"tags"})))[0].tags
        for tagset in ("xpos", "upos", "upos+feats")
    )
    assert set(upos) <= {"NOUN", "X"}
    assert "DET" in xpos
    assert [tag.partition("|")[0] for tag in feats] == list(upos)
    assert any("=" in tag for tag in feats)


def test_contractions_are_given_as_the_parser_knows_them(pipeline):
    with_, without = (
        run(build(pipeline, contractions=on), [["don", "'t"]])[0] for on in (True, False)
    )
    (as_known,) = run(build(pipeline), [["do", "n't"]])
    assert with_ == as_known
    assert len(without.tags) == 2


def test_a_pipeline_without_a_component_is_an_error(pipeline):
    taggers, parser = build(pipeline.parent / "taggers"), build(pipeline.parent / "parser")
    assert run(taggers, [["a"]], AnnotationRequest(frozenset({"tags"})))[0].tags
    with pytest.raises(AnnotatorError, match="has no parser, only tagger, morphologizer"):
        run(taggers, [["a"]])
    assert run(parser, [["a"]], AnnotationRequest(frozenset({"heads"})))[0].heads
    with pytest.raises(AnnotatorError, match=r"gives no part of speech of 'a'; it has parser"):
        run(parser, [["a"]])


def test_a_pipeline_for_another_version_is_an_error_unless_wanted(pipeline, tmp_path):
    old = shutil.copytree(pipeline, tmp_path / "old")
    meta = json.loads((old / "meta.json").read_text())
    meta["spacy_version"] = ">=2.3,<2.4"
    (old / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(AnnotatorError, match=r"made for spaCy >=2.3,<2.4, this is 3"):
        run(build(old), [["a"]])
    assert run(build(old, any_version=True), [["a"]])[0].tags


def test_a_damaged_pipeline_is_an_error(pipeline, tmp_path):
    cut = shutil.copytree(pipeline, tmp_path / "cut")
    (cut / "parser" / "model").write_bytes(b"nothing")
    with pytest.raises(AnnotatorError, match="cannot load the model: "):
        run(build(cut), [["a"]])


def test_the_fingerprint_knows_the_model_and_the_options(pipeline):
    name = build(pipeline).fingerprint()
    assert name.startswith(f"spacy {importlib.metadata.version('spacy')} ")
    assert name != build(pipeline, beam_width=8).fingerprint()
    assert name != build(pipeline.parent / "taggers").fingerprint()
    assert str(pipeline) not in name


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "no_such_pipeline",
            "no spaCy pipeline 'no_such_pipeline': neither a folder nor installed",
        ),
        ("no/such", "python -m spacy download en_core_web_sm"),
        (".", r"\.: no config.cfg; expected the folder of a spaCy pipeline"),
        ("numpy", "no spaCy pipeline 'numpy'"),
    ],
)
def test_a_model_that_is_none_is_an_error(monkeypatch, tmp_path, model, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "3.8.0")
    for work in (build(model).fingerprint, lambda: run(build(model), [["a"]])):
        with pytest.raises(AnnotatorError, match=message):
            work()


def test_without_the_library_the_command_is_named(monkeypatch):
    def nothing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", nothing)
    with pytest.raises(ProgramError, match=r"pip install 'portmert\[spacy\]'"):
        build("x").fingerprint()
    with pytest.raises(ProgramError, match=r"pip install 'portmert\[spacy\]'"):
        run(build("x"), [["a"]])


def test_beam_states_become_normalised_parses():
    # Two parses of two words; weights e^1 : e^0, so that the first has 1 / (1 + e^-1). The state
    # between them is not finished.
    beam = [(0.2, [(0, 1, "obj")]), (0.0, [(1, 0, "det")])]
    best, second = _ranked_parses(beam, [(0.2, 0.0), (0.8, 9.0), (0.0, 1.0)], 2)
    assert best[0] == pytest.approx(-math.log(1 + math.exp(-1)))
    assert best[1] == ((2, "det"), (0, "root"))
    assert second[0] == pytest.approx(best[0] - 1)
    assert second[1] == ((0, "root"), (1, "obj"))


def test_one_word_is_the_root_and_needs_no_finished_parse():
    assert _ranked_parses([], [(1.0, 3.0)], 1) == ((0.0, ((0, "root"),)),)
    assert _ranked_parses([], [(1.0, 3.0)], 2) == ()


def test_scores_that_do_not_fit_the_parses_are_an_error():
    with pytest.raises(AnnotatorError, match="beam and its parses do not fit"):
        _ranked_parses([(0.5, []), (0.5, [])], [(0.5, 1.0)], 2)
