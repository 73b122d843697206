"""UDPipe: tags, trees, tokens, models; and training one."""

import re

import pytest
import ufal.udpipe

from portmert.tuner.annotation.annotators import _udpipe_training as training
from portmert.tuner.annotation.annotators import udpipe as udpipe_module
from portmert.tuner.base.errors import (
    AnnotatorError,
    ConfigError,
    InputError,
    PortmertError,
    ProgramError,
)
from portmert.tuner.base.warn import notices_to
from portmert.tuner.components import registry
from portmert.tuner.texts.annotator import AnnotationRequest
from tests.support.annotation_models import PAIRS, SENTENCES, treebank, udpipe
from tests.support.languages.treebank import to_conllu
from tests.support.places import SHARED, needs

REAL = SHARED / "data/parsers"
BOTH = AnnotationRequest(frozenset({"tags", "heads"}))


def annotator(**options):
    return registry.build("annotator", "udpipe", {"model": udpipe(), **options})


def said(sentences, **options):
    return list(annotator(**options).annotate(sentences, BOTH))


def test_a_model_knows_the_treebank_it_was_trained_on():
    found = training.accuracy(annotator(), training.read_test(treebank()), "xpos")
    assert found.sentences == len(SENTENCES)
    assert found.words == sum(map(len, SENTENCES))
    assert found.tags > 0.9
    assert 1 > found.heads >= found.links > 0.6


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


def test_a_missing_model_is_named_with_the_command_that_makes_one(tmp_path):
    with pytest.raises(
        AnnotatorError,
        match=re.escape(
            "none.udpipe: no such model; train one with: portmert annotate train --treebank "
            f"TREEBANK.conllu --out {tmp_path / 'none.udpipe'}"
        ),
    ):
        annotator(model=tmp_path / "none.udpipe").fingerprint()


# What is there may be something else, and is not to be written over.
NO_MODEL = r"x.udpipe: no model of UDPipe 1, or a damaged one; train one .* --out MODEL$"


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


def test_training_twice_gives_the_same_bytes(tmp_path):
    small = tmp_path / "small.conllu"
    small.write_text(to_conllu(PAIRS[:12], "x"), encoding="utf-8")
    lines = []
    for name in "ab":
        with notices_to(lines.append):
            assert training.train(small, tmp_path / name, size="micro") == 12
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert lines[0].startswith("tagger, iteration 1:")
    assert any(line.startswith("parser, iteration 4:") for line in lines)


def test_training_on_lowercased_words(tmp_path):
    small = tmp_path / "small.conllu"
    small.write_text(to_conllu(PAIRS[:12], "x").replace("\ttre\t", "\tTRE\t"), encoding="utf-8")
    for case in ("keep", "lower", "both"):
        training.train(small, tmp_path / case, size="micro", case=case)
    sizes = {(tmp_path / case).read_bytes() for case in ("keep", "lower", "both")}
    assert len(sizes) == 3


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", InputError, "no sentence"),
        ("1\ta\t_\tX\tX\t_\t1\tx\t_\t_\n", InputError, "x.conllu:1: word 1 is its own head"),
        ("1\ta\t_\tX\tX\t_\t_\t_\t_\t_\n", InputError, "x.conllu:1: HEAD is '_'"),
        ("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n", InputError, "a word has neither UPOS nor XPOS"),
        ("# unparsed\n1\ta\t_\tX\tX\t_\t_\t_\t_\t_\n", InputError, "no sentence to train on"),
        (
            "1\ta\t_\tX\tX\t_\t0\tx\t_\t_\n",
            InputError,
            "x.conllu:1: HEAD is 0 of word 1, DEPREL is 'root' of no word; UDPipe learns",
        ),
        (
            "1\ta\t_\tX\tX\t_\t0\troot\t_\t_\n2\tb\t_\tX\tX\t_\t0\troot\t_\t_\n",
            InputError,
            "x.conllu:1: HEAD is 0 of words 1 and 2, DEPREL is 'root' of words 1 and 2;",
        ),
        (
            "1\ta\t_\tX\t\t_\t0\troot\t_\t_\n",
            ProgramError,
            "x.conllu: UDPipe cannot train on it (status 1): When single root is required, deprel",
        ),
    ],
)
def test_a_treebank_that_is_none_is_named(tmp_path, text, error, message):
    path = tmp_path / "x.conllu"
    path.write_text(text)
    with pytest.raises(error, match=re.escape(message)):
        training.train(path, tmp_path / "model", size="micro")
    assert not (tmp_path / "model").exists()


def test_where_the_model_goes_is_checked_before_the_work(tmp_path):
    with pytest.raises(PortmertError, match="there is no folder"):
        training.train(treebank(), tmp_path / "no" / "model", size="full")


@needs(REAL)
def test_accuracy_of_a_model_of_english_is_what_was_measured():
    model = REAL / "models/en_ewt_tiny.udpipe"
    test = training.read_test(REAL / "ewt/ewt-test-100.conllu")
    found = training.accuracy(annotator(model=model), test, "xpos")
    assert found.sentences == 100
    # 86.4, 72.2, 65.7 on the whole test set, of which these are some.
    assert (found.tags, found.heads, found.links) == pytest.approx((0.864, 0.722, 0.657), abs=0.06)
