"""Roles and discourse representations from files: every form, real ones, and bad input."""

from __future__ import annotations

import json
import tarfile
from collections import Counter

import pytest

from portmert.extensions.meaning import boxer_prolog, columns, drs_files
from portmert.extensions.parsers import annotating
from portmert.extensions.parsers.annotating import propositions_of
from portmert.tuner.annotation.annotators import _meaning, semantics
from portmert.tuner.base.errors import AnnotatorError, InputError
from portmert.tuner.components import registry
from portmert.tuner.texts.annotator import AnnotationRequest
from tests.support.interrupts import must_end
from tests.support.places import SHARED

DATA = SHARED / "data/parsers"
real = pytest.mark.skipif(not DATA.exists(), reason=f"no real analyses in {DATA}")


def tabbed(*rows):
    return "\n".join("\t".join(row.split()) for row in rows) + "\n\n"


CONLL_2009 = tabbed(
    "1 Tom Tom Tom NNP NNP _ _ 2 2 SBJ SBJ _ _ A0 _",
    "2 gave give give VBD VBD _ _ 0 0 ROOT ROOT Y give.01 _ _",
    "3 the the the DT DT _ _ 4 4 NMOD NMOD _ _ _ _",
    "4 giver giver giver NN NN _ _ 2 2 OBJ OBJ Y giver.01 A2 A0",
    "5 books book book NNS NNS _ _ 2 2 OBJ OBJ _ _ C-A1 _",
)
UP = tabbed(
    "1 the the DET DT _ 2 det _ _ _ R-ARG1 _",
    "2 man man NOUN NN _ 4 nsubj _ _ _ ARG1 ARG0",
    "2.1 was be AUX VBD _ _ _ 4:x _",
    "3 seen see VERB VBN _ 2 acl _ _ see.01 V _",
    "4 laughs laugh VERB VBZ _ 0 root _ _ laugh.01 _ V",
)
CONLL_2012 = """#begin document (x); part 000
x 0 0 Tom NNP (TOP(S(NP*) - - - - (PERSON) (A0* (1)
x 0 1 gave VBD (VP* give 01 1 - * (V*) -
x 0 2 the DT (NP* - - - - * (A1* -
x 0 3 book NN *)))) book - 1 - * *) -

#end document
"""


def sentences(text, read=columns.read):
    return list(semantics.read_with(read, "file", text.split("\n")))


def said(found):
    return [
        {found.tokens[verb]: [(role, " ".join(found.tokens[i] for i in span))
                              for role, span in arguments]}
        for verb, arguments in propositions_of(found.roles)
    ]  # fmt: skip


def test_conll_2009_marks_heads_and_a_noun_may_be_its_own_argument():
    (found,) = sentences(CONLL_2009)
    assert found.tags == ("NNP", "VBD", "DT", "NN", "NNS")
    assert said(found) == [
        {"gave": [("A0", "Tom"), ("A2", "the giver"), ("A1", "books")]},
        {"giver": [("A0", "giver")]},
    ]


def test_universal_propositions_leave_the_predicate_out_of_an_argument_above_it():
    (found,) = sentences(UP)
    assert said(found) == [
        {"seen": [("ARG1", "the"), ("ARG1", "the man")]},
        {"laughs": [("ARG0", "the man seen")]},
    ]


def test_a_sentence_without_a_predicate_is_analysed_too():
    (found,) = sentences("1\thi\thi\tINTJ\tUH\t_\t0\troot\t_\t_\t_\t\n")
    assert found.roles.nodes == (("roles", -1, "roles"),)


def test_conll_2012_marks_spans():
    whole = CONLL_2012.replace("(A0* (1)", "(A0*) (1)")
    (found,) = sentences(whole)
    assert said(found) == [{"gave": [("A0", "Tom"), ("A1", "the book")]}]
    assert found.tags == ("NNP", "VBD", "DT", "NN")


OPEN = CONLL_2012
COLUMN_FAULTS = [
    (OPEN, "file:2: '(A0' at 'Tom' is not closed in this sentence"),
    (CONLL_2012.replace("(A0*", "*)"), "file:2: a bracket closes what is not open"),
    (CONLL_2012.replace("(A0*", "A0*"), "file:2: 'A0*', expected '*', '(A0*' or '*)'"),
    (
        CONLL_2012.replace("(A0*", "(A0*)").replace("(V*)", "*"),
        "file:2: 0 verbs '(V*)' in column 12, expected one in each column of arguments",
    ),
    (
        CONLL_2012.replace("(A0*", "(A0*").replace("(V*)", "(V*))"),
        "file:2: argument A0 of 'gave' holds 'gave' itself (a cycle)",
    ),
    (
        CONLL_2009.replace("\tA0\t_\n2", "\tA0\n2"),
        "file:2: 16 columns, line 1 has 15; is the file cut off?",
    ),
    (
        CONLL_2009.replace("giver.01", "_"),
        "file:1: 2 columns of arguments for 1 predicates, as CoNLL-2009 has one for each",
    ),
    (
        CONLL_2009.replace("_\t0\t0\tROOT", "_\t4\t4\tROOT"),
        "file:2: word 2 is its own head or its head's head (a cycle)",
    ),
    (CONLL_2009.replace("_\t4\t4\tNMOD", "_\t9\t4\tNMOD"), "file:3: word 3 has head 9"),
    (CONLL_2009.replace("_\t4\t4\tNMOD", "_\tx\t4\tNMOD"), "file:3: HEAD is 'x'"),
    (CONLL_2009.replace("_\t4\t4\tNMOD", "_\t²\t4\tNMOD"), "file:3: HEAD is '²', expected"),
    (CONLL_2009.replace("C-A1", "C-"), "file:1: the role 'C-', expected a name without spaces"),
    (CONLL_2009.replace("C-A1", "A 1"), "file:1: the role 'A 1', expected a name"),
    (CONLL_2009.replace("3\tthe", "3\t"), "file:3: the word is empty"),
    ("a b c\n", "file:1: these are not the columns of CoNLL-2005"),
]


@pytest.mark.parametrize(("text", "message"), COLUMN_FAULTS)
def test_faults_of_columns_are_named_with_their_line(text, message):
    with pytest.raises(InputError) as caught:
        sentences(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


CLAUSES = """%%% boxer
%%% if no man sleeps on Monday , 2 dogs do
b1 CONDITION b2      %
b1 REF x9            % dogs [30...34]
b2 CONSEQUENCE b3    % if [0...2]
b2 NEGATION b4       % no [3...5]
b4 REF x1            % man [6...9]
b4 man "n.01" x1     % man [6...9]
b4 Agent e1 x1       % sleeps [10...16]
b4 REF e1            % sleeps [10...16]
b4 DayOfWeek e1 "monday" % Monday [17...23]
b3 Quantity x9 "2"   % 2 [28...29]
b3 Name x9 "dogs"    % dogs [30...34]
b3 TPR e1 "now"      % do [35...37]
b3 EQU e1 x9         % do [35...37]
"""


def test_clauses_become_boxes():
    (found,) = sentences(CLAUSES, drs_files.read_clauses)
    assert found.tokens == ("if", "no", "man", "sleeps", "Monday", "2", "dogs", "do")
    assert [label for label, _, _ in found.drs.nodes] == [
        "drs", "imp", "drs-1", "not", "drs", "pred.man", "rel.Agent", "timex",
        "drs-2", "card.2", "named.dogs", "comp.TPR", "eq",
    ]  # fmt: skip
    words = {(found.drs.nodes[node][0], kind): value for node, kind, value in found.drs.words}
    assert words["timex", "date"] == "DayOfWeek monday"
    assert words["rel.Agent", "arg2"] == 2
    assert words["card.2", "arg"] == 6
    assert words["drs", "referent"] == 3


def test_presupposed_boxes_are_part_of_what_presupposes_them():
    text = (
        "b1 REF x1 % Tom [0...3]\nb1 PRESUPPOSITION b2 % Tom [0...3]\n"
        'b2 go "v.01" e1 % goes [4...8]\n'
    )
    (found,) = sentences(text, drs_files.read_clauses)
    assert [label for label, _, _ in found.drs.nodes] == ["drs", "pred.go"]
    assert found.drs.words[0] == (0, "referent", 0)


def test_boxes_beside_each_other_are_a_discourse():
    text = (
        'b1 go "v.01" e1 % go [0...2]\nb1 CONTRAST b2 % but [3...6]\n'
        'b2 eat "v.01" e2 % eat [7...10]\n'
    )
    (found,) = sentences(text, drs_files.read_clauses)
    assert [label for label, _, _ in found.drs.nodes] == [
        "sdrs", "drs", "pred.go", "drs", "pred.eat", "rel.CONTRAST",
    ]  # fmt: skip


CLAUSE_FAULTS = [
    ("b1 REF x1\n", "file:1: no clause says which tokens it is of"),
    ("b1 REF % Tom [0...3]\n", "file:1: 'b1 REF' is no clause"),
    ("Tom REF x1 % Tom [0...3]\n", "file:1: 'Tom REF x1' is no clause"),
    (
        "b1 FOO b2 % a [0...1]\nb1 BAR x1 % a [0...1]\nb1 FOO b3 % a [0...1]\n",
        "file:1: unknown operators: BAR (1), FOO (2)",
    ),
    ("b1 NEGATION b2 % not [0...3]\n", "file:1: box b2 has no clause: it is opened and nothing"),
    ("b1 NEGATION x1 % not [0...3]\n", "file:1: NEGATION of 'x1', expected a box, as b2"),
    ("b1 CONTRAST x1 % but [0...3]\n", "file:1: CONTRAST of 'x1', expected a box, as b2"),
    ("b1 PRESUPPOSITION x1 % a [0...1]\n", "file:1: PRESUPPOSITION of 'x1', expected a box"),
    (f"b1 REF x1 % a [0...{'9' * 5000}]\n", "file:1: 'a' has a place beyond all texts"),
    (
        "b1 NEGATION b2 % a [0...1]\nb2 NEGATION b1 % b [2...3]\n",
        "file:1: box b1, b2: boxes that are in one another (a cycle)",
    ),
    (
        "b1 PRESUPPOSITION b2 % a [0...1]\nb2 PRESUPPOSITION b1 % b [2...3]\n",
        "file:1: box b1 presupposes itself by way of b1, b2 (a cycle)",
    ),
]


@pytest.mark.parametrize(("text", "message"), CLAUSE_FAULTS)
def test_faults_of_clauses_are_named(text, message):
    with pytest.raises(InputError) as caught:
        sentences(text, drs_files.read_clauses)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_long_word_of_a_clause_costs_its_length():
    """Hours where each of its letters is a start."""
    with must_end():
        (found,) = sentences(f"{CLAUSES.rstrip()} {'long' * 500_000}\n", drs_files.read_clauses)
    assert found == sentences(CLAUSES, drs_files.read_clauses)[0]


def test_a_constant_may_hold_the_sign_of_a_comment():
    text = 'b1 REF x1 % 50% [0...3]\nb1 Quantity x1 "50%" % 50% [0...3] "so" [4...6]\n'
    (found,) = sentences(text, drs_files.read_clauses)
    assert found.tokens == ("50%", '"so"')
    assert found.drs.nodes[1] == ("card.50%", 0, "card")


OLD_BOXER = """<?xml version="1.0"?>
<!DOCTYPE xdrs-output SYSTEM "src/data/boxer/xdrs.dtd">
<xdrs-output version="boxer v1.00">
<xdrs xml:id="d0">
 <words><word xml:id="i1001">every</word><word xml:id="i1002">man</word>
  <word xml:id="i1003">came</word><word xml:id="i1004">in</word>
  <word xml:id="i1005">1999</word></words>
 <postags><postag index="i1001">DT</postag><postag index="i1002">NN</postag>
  <postag index="i1003">VBD</postag><postag index="i1004">IN</postag>
  <postag index="i1005">CD</postag></postags>
 <drs>
  <imp>
   <indexlist><index pos="1">i1001</index></indexlist>
   <drs><dr name="x0"><index pos="2">i1002</index></dr>
    <pred arg="x0" symbol="man" type="n" sense="0"><index pos="2">i1002</index></pred></drs>
   <alfa type="def">
    <drs><dr name="x1"><index pos="5">i1005</index></dr>
     <timex arg="x1"><date>+1999XXXX</date><index pos="5">i1005</index></timex></drs>
    <drs><pred arg="x2" symbol="come" type="v" sense="0"><index pos="3">i1003</index></pred>
     <rel arg1="x2" arg2="x0" symbol="agent" sense="0"></rel></drs>
   </alfa>
  </imp>
 </drs>
</xdrs>
</xdrs-output>
"""


def test_boxer_of_2009():
    (found,) = sentences(OLD_BOXER, drs_files.read_xml)
    assert found.tokens == ("every", "man", "came", "in", "1999")
    assert found.tags == ("DT", "NN", "VBD", "IN", "CD")
    assert [label for label, _, _ in found.drs.nodes] == [
        "drs", "imp", "drs-1", "pred.n.man", "alfa.def-2", "drs", "timex", "drs", "pred.v.come",
        "rel.agent",
    ]  # fmt: skip
    assert (6, "date", "+1999XXXX") in found.drs.words
    assert (3, "arg", 1) in found.drs.words
    assert (9, "arg2", 1) in found.drs.words


BOXER_FAULTS = [
    (OLD_BOXER.replace("</drs>\n</xdrs>", "</xdrs>"), "file:23: mismatched tag; <drs> of line 11"),
    (OLD_BOXER[:-60], "file:"),
    (
        OLD_BOXER.replace("<timex", "<when").replace("</timex", "</when").replace("rel", "foo"),
        "file:18: unknown tags of a discourse representation: foo (1), when (1); known are alfa",
    ),
    (OLD_BOXER.replace("i1003</index></pred>", "i9</index></pred>"), "file:19: no token is 'i9'"),
    ("<a></a>", "file:1: <a> without <xdrs>, expected Boxer's <xdrs-output>"),
    (
        '<!DOCTYPE x [<!ENTITY a "b">]><xdrs-output><xdrs>&a;</xdrs></xdrs-output>',
        "file:1: it declares entities of its own",
    ),
    ("<xdrs-output><xdrs><drs></drs></xdrs></xdrs-output>", "file:1: no tokens, expected"),
    ("<xdrs-output>" + "<drs>" * 2000, "file:1: elements are nested too deep"),
]


@pytest.mark.parametrize(("text", "message"), BOXER_FAULTS)
def test_faults_of_xml_are_named(text, message):
    with pytest.raises(InputError) as caught:
        sentences(text, drs_files.read_xml)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("number", ["²", "9" * 5000])
def test_places_of_letters_that_are_no_numbers_are_none(number):
    text = (
        '<xdrs-output><xdrs><taggedtokens><tagtoken><tags><tag type="tok">man</tag>'
        '<tag type="from">{}</tag><tag type="to">3</tag></tags></tagtoken></taggedtokens>'
        '<drs><pred symbol="man" from="0" to="3"/></drs></xdrs></xdrs-output>'
    )
    for begin, words in (("0", ((1, "word", 0),)), (number, ())):
        (found,) = sentences(text.format(begin), drs_files.read_xml)
        assert found.drs.words == words


def line(**found):
    return json.dumps({"words": ["he", "gave", "books"]} | found)


ROLES = [{"verb": 1, "arguments": [{"role": "A0", "words": [0]}, {"role": "A1", "words": [2]}]}]
DRS = {"tag": "drs", "referent": [0], "children": [
    {"tag": "or", "children": [{"tag": "drs"}, {"tag": "timex", "date": ["+1999"]}]},
    {"tag": "named", "type": "per", "symbol": "mary", "word": [2], "arg1": [0]}]}  # fmt: skip


def test_json_lines_and_back():
    (found,) = sentences(line(roles=ROLES, drs=DRS, tags=["P", "V", "N"]), _meaning.read)
    assert said(found) == [{"gave": [("A0", "he"), ("A1", "books")]}]
    assert [label for label, _, _ in found.drs.nodes] == [
        "drs", "or", "drs-1", "timex-2", "named.per.mary",
    ]  # fmt: skip
    (again,) = sentences(annotating.meaning_line(found.tokens, found), _meaning.read)
    assert (again.roles, again.drs, again.tags) == (found.roles, found.drs, found.tags)


def test_tags_of_verbs_stand_for_roles():
    verbs = [{"verb": "gave", "tags": ["B-ARG0", "B-V", "I-ARG1"]}]
    (found,) = sentences(line(verbs=verbs), _meaning.read)
    assert said(found) == [{"gave": [("ARG0", "he"), ("ARG1", "books")]}]


JSON_FAULTS = [
    ("{", "no JSON"),
    ('{"words": []}', "words are without spaces, and at least one"),
    ('{"words": "a"}', "'words' is not a list of strings"),
    (line(tags=["A"]), "1 tag for 3 words"),
    (line(roles=[{"verb": 3}]), "a verb is of word 3, the sentence has words 0 to 2"),
    (line(roles=[{"verb": True}]), "a verb is of word True"),
    (line(roles=[7]), "one of 'roles' is no object with verb and arguments"),
    (
        line(roles=[{"verb": 1, "arguments": [{"role": "A1", "words": [1, 2]}]}]),
        "argument A1 of 'gave' holds 'gave' itself (a cycle)",
    ),
    (
        line(roles=[{"verb": 1, "arguments": [{"role": "A1", "words": [9]}]}]),
        "argument A1 is of word 9, the sentence has words 0 to 2",
    ),
    (
        line(roles=[{"verb": 1, "arguments": [{"role": "", "words": [0]}]}]),
        "the role '', expected",
    ),
    (
        line(roles=[{"verb": 1, "arguments": [{"role": 7, "words": [0]}]}]),
        "role 7 of 'gave' is no",
    ),
    (
        line(roles=[{"verb": 1, "arguments": [{"role": "A0", "words": []}]}]),
        "argument A0 has no words, or one of them twice",
    ),
    (
        line(roles=[{"verb": 1, "arguments": [{"role": "A0", "words": [0, 0]}]}]),
        "argument A0 has no words, or one of them twice",
    ),
    (line(verbs=[{"tags": ["B", "B-V", "O"]}]), "the role '', expected a name without spaces"),
    (line(drs={"tag": ""}), "the tag '', expected a name without spaces, as pred"),
    (line(verbs=[{"tags": ["O", "O", "O"]}]), "0 spans V of a verb, expected one"),
    (line(verbs=[{"tags": ["O", "X", "O"]}]), "'X', expected B-ROLE, I-ROLE or O"),
    (line(verbs=[{"tags": ["O"]}]), "1 tag of a verb for 3 words"),
    (line(drs=[1]), "a box is an object with a tag, found list"),
    (line(drs={"tag": "drs", "boxes": []}), "a box has no key 'boxes'; known are tag, type"),
    (line(drs={"tag": "drs", "word": [-1]}), "word of 'drs' is of word -1"),
    (line(drs={"tag": "drs", "children": 3}), "type and symbol are strings, children a list"),
]


@pytest.mark.parametrize(("text", "message"), JSON_FAULTS)
def test_faults_of_json_are_named_with_their_line(text, message):
    with pytest.raises(InputError) as caught:
        sentences("\n" + text, _meaning.read)
    assert str(caught.value).startswith(f"file:2: {message}")
    assert "\n" not in str(caught.value)


def annotator(*files, **options):
    return registry.build("annotator", "semantics", {"files": list(files), **options})


def test_several_files_are_put_together(tmp_path):
    roles, drs = tmp_path / "a.conll", tmp_path / "b.jsonl"
    roles.write_text(CONLL_2009)
    words = ["Tom", "gave", "the", "giver", "books"]
    drs.write_text(json.dumps({"words": words, "drs": DRS}) + "\n")
    both = annotator(roles, drs)
    assert both.has() == {"tags", "roles", "drs"}
    (found,) = both.annotate([words], AnnotationRequest(frozenset({"roles", "drs"})))
    assert found.roles
    assert found.drs
    assert not found.tags
    with pytest.raises(InputError, match=r"b.jsonl:1: no semantic roles, which is needed"):
        list(annotator(drs).annotate([words], AnnotationRequest(frozenset({"roles"}))))
    unparsed = annotator(drs, missing="unparsed")
    assert list(unparsed.annotate([words], AnnotationRequest(frozenset({"roles"})))) == [None]


def test_analyses_of_other_tokens_are_not_found(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text(CONLL_2009)
    with pytest.raises(AnnotatorError, match=r"'Tom gave the giver book' \(5 tokens\) is not in"):
        list(
            annotator(path).annotate(
                [["Tom", "gave", "the", "giver", "book"]], AnnotationRequest(frozenset())
            )
        )


def test_an_empty_file_is_refused(tmp_path):
    path = tmp_path / "a"
    path.write_text("\n")
    with pytest.raises(InputError, match="no sentence; expected roles or discourse"):
        annotator(path).has()
    with pytest.raises(AnnotatorError, match="a folder; name the files in it"):
        annotator(tmp_path).fingerprint()


def test_a_word_of_several_tokens_is_named(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text(CONLL_2009.replace("\tTom\t", "\tTom Joad\t", 1))
    words = ["Tom", "Joad", "gave", "the", "giver", "books"]
    request = AnnotationRequest(frozenset({"roles"}))
    with pytest.raises(InputError, match=r"a.conll:1: 'Tom Joad' is one word here and several"):
        list(annotator(path).annotate([words], request))
    assert list(annotator(path, missing="unparsed").annotate([words], request)) == [None]


def test_only_ascii_white_space_parts_words_and_a_byte_order_mark_is_none(tmp_path):
    path = tmp_path / "a.jsonl"
    words = ["10\u00a0000", "books"]
    path.write_text("\ufeff" + json.dumps({"words": words, "drs": {"tag": "drs"}}) + "\n")
    (found,) = annotator(path).annotate([words], AnnotationRequest(frozenset({"drs"})))
    assert found.drs.nodes == (("drs", -1, "drs"),)


@real
def test_clauses_and_xml_of_the_parallel_meaning_bank_are_alike():
    """Seven documents of release 4: all labels but one comparison (`now` on the other side)."""
    with tarfile.open(DATA / "drs/pmb4-gold-boxer-cases.tar.xz") as archive:
        texts = {
            member.name: archive.extractfile(member).read().decode()
            for member in archive.getmembers()
            if member.name.endswith((".clf", ".xml"))
        }
    differing = Counter()
    names = [name.removesuffix(".clf") for name in texts if name.endswith(".clf")]
    assert len(names) == 7
    for name in names:
        (clauses,) = sentences(texts[f"{name}.clf"], drs_files.read_clauses)
        (boxes,) = sentences(texts[f"{name}.xml"], drs_files.read_xml)
        assert clauses.tokens == boxes.tokens
        one, other = (Counter(n[0] for n in found.drs.nodes) for found in (clauses, boxes))
        differing += (one - other) + (other - one)
    assert differing == {"comp.TPR": 1, "comp.TSU": 1}


@real
def test_real_files_are_read_whole():
    for name, count in (("train", 50), ("dev", 25)):
        found = list(annotator(DATA / f"drs/pmb3-sample-{name}.txt").has())
        assert found == ["drs"]
        text = (DATA / f"drs/pmb3-sample-{name}.txt").read_text()
        assert len(sentences(text, drs_files.read_clauses)) == count
    assert annotator(DATA / "srl/en_ewt-up-dev.conllu.xz").has() == {"tags", "roles"}


CONLL_2005 = """The DT (S(NP* * - (A0* *
cat NN *) * - *) (A0*)
sat VBD (VP* * sit (V*) *
and CC * * - * *
ate VBD (VP* * eat * (V*)
fish NN (NP*)) * - * (A1*)

Yes UH (S*) * -
"""
PROPS = """The  -  (A0*
cat  -  *)
sat  sit  (V*)
"""
SENNA = "".join(
    f"{word:>20}\t{tag:>8}\t{chunk:>10}\t{'O':>10}\t{verb:>20}\t{role:>10}\t{tree}\n"
    for word, tag, chunk, verb, role, tree in (
        ("The", "DT", "B-NP", "-", "B-A0", "(S1(S(NP*"),
        ("cat", "NN", "E-NP", "-", "E-A0", "*)"),
        ("sat", "VBD", "S-VP", "sat", "S-V", "(VP*"),
        ("there", "RB", "S-ADVP", "-", "S-AM-LOC", "(ADVP*))))"),
    )
)


def test_roles_in_brackets_of_conll_2005():
    first, second = sentences(CONLL_2005)
    assert said(first) == [
        {"sat": [("A0", "The cat")]}, {"ate": [("A0", "cat"), ("A1", "fish")]},
    ]  # fmt: skip
    assert first.tags == ("DT", "NN", "VBD", "CC", "VBD", "NN")
    assert (second.tokens, second.line, said(second)) == (("Yes",), 8, [])
    (words_and_props,) = sentences(PROPS)
    assert said(words_and_props) == [{"sat": [("A0", "The cat")]}]
    assert words_and_props.tags == ()


def test_roles_of_senna():
    (found,) = sentences(SENNA)
    assert said(found) == [{"sat": [("A0", "The cat"), ("AM-LOC", "there")]}]
    assert found.tags == ("DT", "NN", "VBD", "RB")
    without_tree = "".join(line.rpartition("\t")[0] + "\n" for line in SENNA.splitlines())
    assert sentences(without_tree)[0].roles == found.roles


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (CONLL_2005.replace("sit (V*) *", "- (V*) *"), 1, "these are not the columns of"),
        (CONLL_2005.replace("eat * (V*)", "eat * *"), 1, "0 verbs '(V*)' in column 7"),
        (SENNA.replace("E-A0", "X-A0"), 2, "'X-A0', expected B-A0"),
        ("a b c\n", 1, "these are not the columns of"),
    ],
)
def test_wrong_columns_of_spans_are_told(text, line, message):
    with pytest.raises(InputError, match=f"file:{line}: ") as fault:
        sentences(text)
    assert message in str(fault.value)


PROLOG = """%%% This output was generated by the following command:
:- multifile     sem/3, id/2.

id(1,1).
sem(1,[1001:[tok:'John',pos:'NNP',lemma:'John',namex:'I-PER'],1002:[tok: (is),pos:'VBZ',\
lemma:be,namex:'O'],1003:[tok:'Mary',pos:'NNP',lemma:'Mary',namex:'I-PER'],\
1004:[tok:'\\'s',pos:'.',lemma:'.',namex:'O']],
merge(b1:drs([[]:B,b1:[1001]:C],[[1003]:named(B,mary,per,0),[1001]:named(C,john,per,0)]),\
b2:drs([[]:D],[_G4379:rel(D,B,patient,0),b2:[1002]:pred(D,love,v,0),\
[]:not(drs([],[[1004]:timex(C,date([]:'+',[]:'XXXX',[1001]:'02'))]))]))).
""".replace("\\\n", "")
"""Boxer's answer to `John loves Mary.`, with parts of other real ones: labels, `(is)`."""
OLD_PROLOG = """id(rte,1).
sem(1,
    [word(1001, a), word(1002, red), word(1003, ".")],
    [pos(1001, "DT"), pos(1002, "JJ"), pos(1003, ".")],
    [],
    smerge(drs([[1001]:D], [[1002]:pred(D, red, a, 0)]), drs([], [[]:rel(D, D, of, 0)]))).
"""
XML = """<xdrs-output><xdrs xml:id="1"><words><word xml:id="w1">a</word>
<word xml:id="w2">red</word><word xml:id="w3">.</word></words>
<postags><postag index="w1">DT</postag><postag index="w2">JJ</postag>
<postag index="w3">.</postag></postags>
<smerge><drs><domain><dr name="D"><index>w1</index></dr></domain><conds>
<pred arg="D" symbol="red" type="a"><indexlist><index>w2</index></indexlist></pred></conds></drs>
<drs><domain/><conds><rel arg1="D" arg2="D" symbol="of"/></conds></drs></smerge></xdrs>
</xdrs-output>"""


def test_boxers_prolog_of_both_generations(tmp_path):
    (found,) = sentences(PROLOG, boxer_prolog.read)
    assert found.tokens == ("John", "is", "Mary", "'s")
    assert found.tags == ("NNP", "VBZ", "NNP", ".")
    labels = [(label, parent) for label, parent, _ in found.drs.nodes]
    assert labels == [
        ("merge", -1), ("drs", 0), ("named.per.mary", 1), ("named.per.john", 1), ("drs", 0),
        ("rel.patient", 4), ("pred.v.love", 4), ("not", 4), ("drs", 7), ("timex", 8),
    ]  # fmt: skip
    assert {(1, "referent", 0), (6, "word", 1), (9, "arg", 0), (9, "date", "+XXXX02")} <= {
        *found.drs.words
    }
    path = tmp_path / "boxer.drs"
    path.write_text(OLD_PROLOG)
    (old,) = semantics._sentences(path)
    (same,) = sentences(XML, drs_files.read_xml)
    assert (old.tokens, old.tags, old.drs) == (same.tokens, same.tags, same.drs)


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (("of, 0)])))", "of, 0)]))"), 2, "a bracket or comma of Prolog is amiss"),
        (("D, red", "D red"), 6, "no comma before 'red'"),
        (("pred(D", "prod(D"), 6, "unknown tags of a discourse representation: prod"),
        (("[1002]:pred", "[1009]:pred"), 6, "no token is '1009'"),
        (("of, 0)]))).", "of, 0)])))"), 2, "no full stop"),
        (('word(1003, ".")', 'word(1003, "x)'), 3, "no Prolog"),
        (("a, 0)])", "a, 0)]" + 500 * "," + ")"), 6, "amiss"),
        (("a, 0)]", "a, " + 300 * "f(" + "0" + 300 * ")" + ")]"), 6, "too deep"),
    ],
)
def test_wrong_prolog_is_told(change, line, message):
    assert change[0] in OLD_PROLOG
    with pytest.raises(InputError) as fault:
        sentences(OLD_PROLOG.replace(*change), boxer_prolog.read)
    assert message in str(fault.value)
    assert str(fault.value).startswith(f"file:{line}: ")
