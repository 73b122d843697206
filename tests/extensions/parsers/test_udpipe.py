"""UDPipe: tags, trees, tokens, models."""

import re

import pytest
import ufal.udpipe

from portmert.extensions.parsers import udpipe as udpipe_module
from portmert.tuner.base.errors import AnnotatorError, ConfigError
from portmert.tuner.components import registry
from portmert.tuner.texts.annotator import AnnotationRequest
from tests.support.annotation_models import SENTENCES, treebank, udpipe
from tests.support.places import SHARED

REAL = SHARED / "data/parsers"
BOTH = AnnotationRequest(frozenset({"tags", "heads"}))


def annotator(**options):
    return registry.build("annotator", "udpipe", {"model": udpipe(), **options})


def said(sentences, **options):
    return list(annotator(**options).annotate(sentences, BOTH))


def test_a_model_knows_the_treebank_it_was_trained_on():
    gold = registry.build("annotator", "conllu", {"files": [treebank()]})
    pairs = list(zip(said(SENTENCES), gold.annotate(SENTENCES, BOTH), strict=True))
    words = sum(map(len, SENTENCES))

    def share(layer, of=lambda value: value):
        rows = [(getattr(one, layer), getattr(other, layer)) for one, other in pairs]
        return sum(of(a) == of(b) for row in rows for a, b in zip(*row, strict=True)) / words

    assert share("tags") > 0.9
    assert 1 > share("heads", lambda link: link[0]) >= share("heads") > 0.6


@pytest.mark.parametrize("tagset", ["upos", "xpos", "upos+feats", "xpos+feats"])
def test_tags_are_those_of_the_tagset(tagset):
    tags = {tag for answer in said(SENTENCES[:20], tagset=tagset) for tag in answer.tags}
    assert any("|" in tag or "=" in tag for tag in tags) == ("feats" in tagset)
    assert ("NOUN" in {tag.partition("|")[0] for tag in tags}) == tagset.startswith("upos")


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({}, "DO N'T & Tre"),
        ({"lowercase": True}, "do n't & tre"),
        ({"contractions": False}, "DON 'T &amp; Tre"),
    ],
)
def test_what_the_parser_sees_follows_the_options(monkeypatch, options, seen):
    words = []

    class Sentence(ufal.udpipe.Sentence):
        def addWord(self, word):  # noqa: N802  the library's
            words.append(word)
            return super().addWord(word)

    monkeypatch.setattr(ufal.udpipe, "Sentence", Sentence)
    given = {"tagset": "xpos", "beam": 5, "contractions": True, "lowercase": False, **options}
    parse = udpipe_module.load({"model": str(udpipe()), **given})  # as in a worker
    (answer,) = parse([("DON", "'T", "&amp;", "Tre")], BOTH)
    assert words == seen.split()
    assert len(answer.tags) == len(answer.heads) == 4


@pytest.mark.parametrize("beam", [0, 1025])
def test_the_beam_is_checked(beam):
    with pytest.raises(
        ConfigError,
        match=rf"beam: Input should be (greater|less) than or equal to 1(024)?, found {beam}",
    ):
        annotator(beam=beam)


def test_a_missing_model_is_named(tmp_path):
    with pytest.raises(
        AnnotatorError,
        match=re.escape(f"{tmp_path / 'none.udpipe'}: no such model; give one of UDPipe 1"),
    ):
        annotator(model=tmp_path / "none.udpipe").fingerprint()


NO_MODEL = r"x.udpipe: no model of UDPipe 1, or a damaged one$"


@pytest.mark.parametrize("content", [b"", b"rubbish" * 50, None])
@pytest.mark.parametrize("processes", [1, 2])
def test_a_file_that_is_no_model_is_named(tmp_path, content, processes):
    path = tmp_path / "x.udpipe"
    path.write_bytes(udpipe().read_bytes()[:9000] if content is None else content)
    with pytest.raises(AnnotatorError, match=NO_MODEL):
        list(annotator(model=path).annotate([("a",)], BOTH, processes=processes))


def test_the_fingerprint_changes_with_model_and_options(tmp_path):
    other = tmp_path / "other"
    other.write_bytes(udpipe().read_bytes() + b"\0")
    copy = tmp_path / "copy"
    copy.write_bytes(udpipe().read_bytes())
    first = annotator().fingerprint()
    assert annotator(model=copy).fingerprint() == first
    changed = [
        annotator(model=other),
        annotator(tagset="upos"),
        annotator(beam=1),
        annotator(contractions=False),
        annotator(lowercase=True),
    ]
    assert len({first, *(one.fingerprint() for one in changed)}) == len(changed) + 1
