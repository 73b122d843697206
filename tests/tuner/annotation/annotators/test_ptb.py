"""Bracketed trees in files, and the n-best output of Charniak's parser."""

import math
import re

import pytest

from portmert.tuner.base.errors import AnnotatorError, ConfigError, InputError
from portmert.tuner.components import registry
from portmert.tuner.texts.annotator import AnnotationRequest

ALL = frozenset({"tags", "tree", "parses"})
ONE = "(S1 (NP (DT the) (NN cat)))"
NBEST = """\
2\tsent-1
-20.5
(S1 (NP (DT the) (NN cat)))
-19
(S1 (FRAG (NN the) (NN cat)))

0\tsent-2

1\t7
-3
(S1 (S (VP (VB go) (PRN (-LRB- -LRB-) (NN out) (-RRB- -RRB-)))))
"""


def look_up(path, sentences, layers=ALL, parses=9, **options):
    annotator = registry.build("annotator", "ptb", {"files": [path], **options})
    return list(annotator.annotate(sentences, AnnotationRequest(frozenset(layers), parses)))


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "trees.mrg"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_one_tree_a_line(file):
    found = look_up(file(f"\n{ONE}\n(S (VB go))\n"), [("go",), ("the", "cat")])
    assert found[0].tags == ("VB",)
    assert found[1].tags == ("DT", "NN")
    assert found[1].tree == "(NP (DT the) (NN cat))"
    assert found[1].parses == ((0.0, ((2, "NP/DT"), (0, "root"))),)


def test_a_tree_goes_on_in_lines_that_are_indented(file):
    text = (
        "( (NP\n    (DT the)\n\n\t(NN cat)) )\n(ROOT\n  (S (VP (VB go))))\n  (S (VB run))\n"
        "1 x\n-2\n(S1\n (NN end))\n"
    )
    found = look_up(file(text), [("go",), ("the", "cat"), ("run",), ("end",)])
    trees = ["(S (VP (VB go)))", "(NP (DT the) (NN cat))", "(S (VB run))", "(NN end)"]
    assert [answer.tree for answer in found] == trees
    assert found[3].parses[0][0] == -2 * math.log(2)


def test_nbest_lists_are_sorted_and_their_scores_are_logarithms_to_base_2(file):
    found = look_up(file(NBEST), [("the", "cat"), ("go", "(", "out", ")")])
    assert [score for score, _ in found[0].parses] == [-19 * math.log(2), -20.5 * math.log(2)]
    assert found[0].tree == "(FRAG (NN the) (NN cat))"
    assert found[0].tags == ("NN", "NN")
    assert found[0].parses[0][1] == ((2, "FRAG/NN"), (0, "root"))
    assert found[1].tree.count("-LRB-") == 2
    assert len(look_up(file(NBEST), [("the", "cat")], parses=1)[0].parses) == 1
    natural = look_up(file(NBEST), [("the", "cat")], log_base=math.e)[0]
    assert natural.parses[0][0] == -19


@pytest.mark.parametrize(
    "written",
    ["(X (`` ``) (NN a) ('' ''))", "(X (`` \") (NN a) ('' \"))", "(X (`` ``) (NN a) ('' \"))"],
)
def test_quotes_in_any_spelling_are_found(file, written):
    assert look_up(file(written), [('"', "a", '"')])[0].tags == ("``", "NN", "''")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "the file is empty"),
        (ONE[:-1], 1, "1 brackets are not closed; is the tree cut off? (a tree goes on only in"),
        (f"{ONE}\n{ONE[:-1]}\n{ONE}", 2, "1 brackets are not closed"),
        (f"{ONE[:-1]}\n  (NN x)\n", 1, "1 brackets are not closed"),
        (f"{ONE}\nrubbish\n", 2, "stands outside all brackets"),
        ("2 a\n-1\n(S (NN a))\n", 1, "2 parses announced, the file ends after 1"),
        ("1 a\n-inf\n(S (NN a))\n", 2, "the score of a parse is -inf, expected a finite number"),
        ("1 a\n(S (NN a))\n(S (NN a))\n", 2, "expected a number"),
        (
            "2 a\n-1\n(S (NN a))\n-2\n(S (NN b))\n",
            5,
            "other tokens than the first parse of the list of line 1",
        ),
    ],
)
def test_faults_are_named_with_their_line(file, text, line, message):
    path = file(text)
    where = f"{path}:{line}: " if line else f"{path}: "
    with pytest.raises(InputError, match=re.escape(where)) as raised:
        look_up(path, [("go",)])
    assert message in str(raised.value)


def test_a_missing_sentence_is_named_or_unparsed(file):
    with pytest.raises(AnnotatorError, match=r"'dogs' .* is not in"):
        look_up(file(NBEST), [("dogs",)])
    assert look_up(file(NBEST), [("dogs",)], missing="unparsed") == [None]


def test_the_base_of_logarithms_is_checked(file):
    with pytest.raises(ConfigError, match=r"log_base: Input should be greater than 1, found 1"):
        look_up(file(ONE), [("go",)], log_base=1)
    one, two = (
        registry.build("annotator", "ptb", {"files": [file(ONE)], "log_base": base}).fingerprint()
        for base in (2, 10)
    )
    assert one != two
