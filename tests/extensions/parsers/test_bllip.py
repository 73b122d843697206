from __future__ import annotations

import subprocess
import sys

import pytest

from portmert.extensions.parsers.bllip import _Parser
from portmert.tuner.annotation.annotators import _trees
from portmert.tuner.annotation.annotators._tokens import escaped
from portmert.tuner.base.errors import AnnotatorError
from portmert.tuner.components import registry
from portmert.tuner.texts.annotator import AnnotationRequest
from tests.support.optional_models import bllip

ALL = AnnotationRequest(frozenset({"tags", "heads", "tree", "parses"}), parses=5)


def build(model, **options):
    return registry.build("annotator", "bllip", {"model": model, **options})


def run(annotator, sentences, request=ALL, **how):
    return list(annotator.annotate(sentences, request, **how))


@pytest.fixture(scope="module")
def model():
    return bllip()


SENTENCES = [
    ["I", "have", "a", "red", "pen", "."],
    ["one"],
    ["he", "said", "&quot;", "don", "'t", "(", "&quot;", "."],
    ["a\u00a0b", "c(d", "are", "[", "``", "here", "''"],
]


def test_trees_have_the_given_tokens_and_parses_their_heads(model):
    for words, answer in zip(SENTENCES, run(build(model), SENTENCES), strict=True):
        tree = _trees.parse(answer.tree)
        assert tree.tokens == [escaped(word) for word in words]
        assert list(answer.tags) == tree.tags
        assert answer.heads == _trees.dependencies(tree)
        scores = [score for score, _ in answer.parses]
        assert scores == sorted(scores, reverse=True)
        assert len(scores) <= 5
        assert max(scores) < 0
        assert answer.parses[0][1] == answer.heads


def test_scores_are_natural_logarithms(model):
    """The parser writes logarithms to the base 2; its own answer is read in another process."""
    script = (
        "import sys; from bllipparser import RerankingParser as R; p = R();"
        "p.load_parser_model(sys.argv[1]); p.set_parser_options(nbest=5, overparsing=10);"
        "print(*[x.parser_score for x in p.parse('I have a red pen .'.split())])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(model)], capture_output=True, text=True, check=True
    )
    (answer,) = run(build(model), SENTENCES[:1])
    # 2^x = e^(x ln 2), ln 2 = 0.693147...
    expected = [float(score) * 0.6931471805599453 for score in done.stdout.split()]
    assert [score for score, _ in answer.parses] == pytest.approx(expected)


def test_what_cannot_be_parsed_costs_the_sentence_only(model):
    found = run(build(model, max_words=6), [["."], ["x"] * 7, SENTENCES[0]])
    assert found[:2] == [None, None]
    assert found[2].tree


def test_only_what_is_asked_for(model):
    (answer,) = run(build(model), SENTENCES[:1], AnnotationRequest(frozenset({"tree"})))
    assert answer.tree
    assert answer.tags == answer.heads == answer.parses == ()


def test_a_unified_model_is_taken_by_its_parser(model, tmp_path):
    (tmp_path / "unified").mkdir()
    (tmp_path / "unified" / "parser").symlink_to(model)
    unified = build(tmp_path / "unified")
    assert unified.fingerprint() == build(model).fingerprint()
    assert unified.fingerprint() != build(model, overparsing=21).fingerprint()


@pytest.mark.usefixtures("model")
def test_a_damaged_model_is_an_error_and_no_crash(tmp_path):
    for name in ("terms.txt", "pSgT.txt"):
        (tmp_path / name).write_text("")
    with pytest.raises(AnnotatorError, match="bllip"):
        run(build(tmp_path), SENTENCES[:1])


def test_a_model_that_is_none_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1")
    with pytest.raises(AnnotatorError, match=r"no terms.txt and pSgT.txt; expected the folder"):
        build(tmp_path).fingerprint()
    with pytest.raises(AnnotatorError, match=r"python -m bllipparser\.ModelFetcher -i WSJ"):
        run(build(tmp_path / "gone"), SENTENCES[:1])


class Parse:
    parser_score = -2.0

    def __init__(self, tree):
        self.ptb_parse = tree


OPTIONS = {"overparsing": 10, "language": "En", "case_insensitive": False}


class Fake:
    """Stands for the library's parser; remembers what it was given."""

    def __init__(self, *trees):
        self.given, self.options, self.trees = [], {}, trees

    def set_parser_options(self, **options):
        self.options = options

    def parse(self, words):
        self.given.append(words)
        return [Parse(tree) for tree in self.trees]


def parser(fake, *, straight_quotes=False, contractions=True):
    made = _Parser.__new__(_Parser)
    made._parser, made._straight_quotes = fake, straight_quotes
    made._options = {**OPTIONS, "max_words": 3, "contractions": contractions}
    return made


def test_no_words_and_too_many_never_reach_the_parser():
    fake = Fake()
    assert parser(fake).annotate([[], ["a"] * 4, ["a"]], ALL) == [None, None, None]
    assert fake.given == [["a"]]
    assert fake.options == {"nbest": 5, **OPTIONS}


@pytest.mark.parametrize(("straight", "quotes"), [(True, ['"', '"']), (False, ["``", "''"])])
def test_quotes_are_those_of_the_model(straight, quotes):
    made = parser(Fake(), straight_quotes=straight)
    assert made._tokens_of_parser(['"', "a(", '"']) == [quotes[0], "a-LRB-", quotes[1]]
    assert made._tokens_of_parser(["``", "''"]) == quotes


def test_a_tree_over_other_words_gets_the_given_ones():
    fake = Fake("(S1 (NP (NN do) (RB n't)))")
    (answer,) = parser(fake).annotate([["don", "'t"]], ALL)
    assert fake.given == [["do", "n't"]]
    assert answer.tree == "(NP (NN don) (RB 't))"
    assert answer.parses == ((-1.3862943611198906, answer.heads),)  # -2 ln 2
