"""CoNLL-U: reading with every fault at its line, writing, and the annotator that looks up."""

import gzip
import json
import random
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.extensions.parsers import annotating
from portmert.tuner.annotation.annotators import _conllu
from portmert.tuner.base.errors import AnnotatorError, ConfigError, InputError
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.components import registry
from portmert.tuner.texts.annotator import AnnotationRequest, heads_fault
from tests.oracles import annotators as oracle
from tests.support.cli import run
from tests.support.strategies_metrics import heads

ALL = frozenset({"tags", "heads", "tree", "parses"})
ROW = "{}\t{}\t_\tNOUN\tNN\tNumber=Sing\t{}\t{}\t_\t_\n"
FILE = (
    "# sent_id = 1\n# text = the cat\n"
    "1-2\tthecat\t_\t_\t_\t_\t_\t_\t_\t_\n1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n"
    "1.1\tghost\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "2\tcat\tcat\tNOUN\tNN\tNumber=Sing\t0\troot\t_\t_\n\n" + ROW.format(1, "go", 0, "root")
)


@pytest.fixture
def files(tmp_path):
    def write(*texts):
        paths = [tmp_path / f"{number}.conllu" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        return paths

    return write


def look_up(paths, sentences, layers=ALL - {"tree"}, parses=9, **options):
    annotator = registry.build("annotator", "conllu", {"files": paths, **options})
    return list(annotator.annotate(sentences, AnnotationRequest(frozenset(layers), parses)))


@given(st.data())
def test_what_is_written_is_read(data):
    name = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1)
    tokens = data.draw(st.lists(name, min_size=1, max_size=5))
    tags = data.draw(
        st.lists(name.filter(lambda tag: tag != "_"), min_size=len(tokens), max_size=len(tokens))
    )
    parse = data.draw(heads(len(tokens)))
    text = annotating.conllu(tokens, tags, parse, ["sent_id = x", "parse_logprob = -1.5"])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x.conllu"
        path.write_text(text * 2, encoding="utf-8")
        first, second = _conllu.read(path)
    assert first.tokens == second.tokens == tuple(tokens)
    assert first.heads == parse
    assert [_conllu.tag(word, "xpos") for word in first.words] == tags
    assert (first.sent_id, first.logprob, first.line) == ("x", -1.5, 1)


@given(
    st.integers(1, 6).flatmap(lambda n: st.lists(st.integers(-1, n + 1), min_size=n, max_size=n))
)
def test_heads_make_a_forest_or_their_fault_is_found(numbers):
    parse = tuple((head, "x") for head in numbers)
    assert (heads_fault(parse) == "") == oracle.is_forest(parse)


def test_words_are_looked_up_by_their_tokens(files):
    found = look_up(files(FILE), [("go",), ("the", "cat")])
    assert found[0].tags == ("NN",)
    assert found[0].heads == ((0, "root"),)
    assert found[1].tags == ("DT", "NN")
    assert found[1].heads == ((2, "det"), (0, "root"))
    assert found[1].parses == ((0.0, found[1].heads),)


def test_compressed_files_and_windows_line_ends(tmp_path):
    path = tmp_path / "x.conllu.gz"
    path.write_bytes(gzip.compress(FILE.replace("\n", "\r\n").encode()))
    assert look_up([path], [("the", "cat")])[0].tags == ("DT", "NN")


@pytest.mark.parametrize(
    ("tagset", "tags"),
    [
        ("upos", ("DET", "NOUN")),
        ("upos+feats", ("DET", "NOUN|Number=Sing")),
        ("xpos", ("DT", "NN")),
        ("xpos+feats", ("DT", "NN|Number=Sing")),
    ],
)
def test_tags_are_the_columns_asked_for(files, tagset, tags):
    assert look_up(files(FILE), [("the", "cat")], tagset=tagset)[0].tags == tags


def test_an_empty_column_stands_back_for_the_other(files):
    text = "1\tgo\t_\tVERB\t_\tMood=Imp\t0\troot\t_\t_\n2\tx\t_\t_\tFW\t_\t1\tobj\t_\t_\n"
    for tagset, tags in (("xpos", ("VERB", "FW")), ("upos+feats", ("VERB|Mood=Imp", "FW"))):
        assert look_up(files(text), [("go", "x")], tagset=tagset)[0].tags == tags


def test_the_parser_s_spelling_of_a_sentence_is_found_too(files):
    text = "".join(
        ROW.format(place, word, 0, "root") for place, word in enumerate(["do", "n't", "``"], 1)
    )
    assert look_up(files(text), [("don", "'t", '"')])[0].tags == ("NN",) * 3


def test_of_equal_sentences_the_first_counts(files):
    other = ROW.format(1, "go", 0, "other")
    with collected_warnings() as warnings:
        assert look_up(files(FILE, other), [("go",)])[0].heads == ((0, "root"),)
    (line,) = warnings
    assert "1 sentence with the words of an earlier one, but other annotations, as" in line
    with collected_warnings() as warnings:
        look_up(files(FILE, FILE), [("go",)])
    assert not warnings


def test_the_order_of_sentences_in_a_file_changes_no_score(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words, draw = "abcdefgh", random.Random(5)
    texts = [draw.choices(words, k=draw.randint(2, 6)) for _ in range(40)]
    texts += [draw.sample(text, len(text)) for text in texts]
    trees = {}
    for number, text in enumerate(texts):
        rows = [ROW.format(n, w, n - 1, f"d{draw.randint(0, 3)}") for n, w in enumerate(text, 1)]
        trees.setdefault(" ".join(text), f"# sent_id = s-{number}\n{''.join(rows)}\n")
    for name, lines in (("ref", texts[:40]), ("hyp", texts[40:])):
        Path(name).write_text("".join(f"{' '.join(line)}\n" for line in lines))
    shown = []
    for blocks in (list(trees.values()), draw.sample(list(trees.values()), len(trees))):
        Path("trees.conllu").write_text("".join(blocks))
        call = ("score", "--metric", "edpm", "--hyp", "hyp", "--ref", "ref", "--segments")
        found = run(*call, "--annotator", "conllu:files=trees.conllu", "--json")
        shown.append(re.sub(r"(:conllu 2) \w+", r"\1", found.stdout))  # the file's hash
    assert json.loads(shown[0])
    assert shown[0] == shown[1]


def trees(*scores, sent_id="7"):
    return "".join(
        f"# sent_id = {sent_id}\n"
        + (f"# parse_logprob = {score}\n" if score is not None else "")
        + ROW.format(1, "a", 2, f"l{number}")
        + ROW.format(2, "b", 0, "root")
        + "\n"
        for number, score in enumerate(scores)
    )


def test_several_trees_of_a_sentence_are_its_weighted_parses_best_first(files):
    found = look_up(files(trees("-3", "-1.25", "-2")), [("a", "b")])[0]
    assert [score for score, _ in found.parses] == [-1.25, -2, -3]
    assert found.heads == found.parses[0][1] == ((2, "l1"), (0, "root"))
    assert len(look_up(files(trees("-3", "-1")), [("a", "b")], parses=1)[0].parses) == 1


def test_trees_in_brackets_and_sentences_without_a_parse(files):
    text = (
        "# tree = (S1 (S (NN a) (VB b)))\n"
        "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n2\tb\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
        "# unparsed\n1\tc\t_\t_\t_\t_\t_\t_\t_\t_\n"
    )
    found = look_up(files(text), [("a", "b"), ("c",)], {"tree", "heads"})
    assert found[0].tree == "(S (NN a) (VB b))"
    assert found[0].heads == ((0, "root"), (1, "S/VB"))  # by the head rules
    assert found[1] is None


def listed(*brackets):
    """Return parses of the sentence `a b` without HEAD, one for each tree; '' has no tree."""
    words = "".join(ROW.format(1 + place, word, "_", "_") for place, word in enumerate("ab"))
    return "".join(
        f"# sent_id = 1\n# parse_logprob = -{rank}\n"
        + (tree and f"# tree = {tree}\n")
        + words
        + "\n"
        for rank, tree in enumerate(brackets)
    )


def test_each_of_several_trees_has_heads_of_its_own(files):
    text = listed("(S (NN a) (NN b))", "(PP (NN a) (IN b))")
    found = look_up(files(text), [("a", "b")], ALL)[0]
    assert found.tree == "(S (NN a) (NN b))"
    assert found.parses == ((0, ((0, "root"), (1, "S/NN"))), (-1, ((2, "PP/NN"), (0, "root"))))
    assert found.heads == found.parses[0][1]


@pytest.mark.parametrize(
    ("brackets", "line"), [(("(S (NN a) (NN b))", ""), 7), (("", "(S (NN a) (NN b))"), 1)]
)
def test_a_tree_of_several_with_neither_heads_nor_constituents_is_named(files, brackets, line):
    with pytest.raises(InputError, match=rf"0.conllu:{line}: neither HEAD nor '# tree = '"):
        look_up(files(listed(*brackets)), [("a", "b")])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("1\ta\t_\n", 1, "3 columns, expected 10"),
        (FILE.replace("2\tcat", "3\tcat"), 6, "ID '3' is another number, expected 2"),
        (FILE.replace("\tthe\tthe\t", "\t\tthe\t"), 4, "FORM is empty"),
        (FILE.replace("\t2\tdet", "\t-2\tdet"), 4, "HEAD '-2' is no number"),
        (FILE.replace("\t2\tdet", "\t3\tdet"), 4, "word 1 has head 3, expected 0..2"),
        (FILE.replace("\t0\troot\t_\t_\n\n", "\t1\troot\t_\t_\n\n"), 4, "(a cycle)"),
        (FILE.replace("\tdet", "\t_"), 4, "DEPREL is missing"),
        (FILE.replace("\tdet", "\t\rdet"), 4, "a carriage return within the line"),
        (FILE.replace("\t2\tdet", "\t_\t_"), 6, "HEAD is '0', the words before have '_'"),
        (FILE.replace("\n\n", "\n"), 7, "ID '1' is another number, expected 3 (a blank line"),
        (trees("-1", None), 6, "no '# parse_logprob = '"),
        (trees("-1", "-inf"), 7, "parse_logprob is -inf, expected a finite number"),
        (trees("x"), 2, "parse_logprob is 'x', expected a number"),
        (
            trees("1").replace("\tb\t", "\tc\t") + trees("2"),
            6,
            "other words than the tree of line 1",
        ),
        (
            trees("1") + trees("2", sent_id="8") + trees("3"),
            11,
            "sent_id '7' stands in line 1 already",
        ),
        ("# tree = (S (NN go)\n" + ROW.format(1, "go", 0, "x"), 1, "1 brackets are not closed"),
        (
            "# tree = (S (NN a) (NN b))\n" + ROW.format(1, "go", 0, "x"),
            1,
            "the tree has 2 tokens, the sentence 1",
        ),
        (
            "# tree = (S (VB do) (RB n't) (VB run))\n"
            + ROW.format(1, "do", 3, "x")
            + ROW.format(2, "n't", 3, "x")
            + ROW.format(3, "go", 0, "x"),
            1,
            "token 3 of the tree is 'run', that of the sentence 'go'",
        ),
    ],
)
def test_faults_are_named_with_their_line(files, text, line, message):
    paths = files(text)
    with pytest.raises(InputError, match=re.escape(f"{paths[0]}:{line}: ")) as raised:
        look_up(paths, [("go",)])
    assert message in str(raised.value)


@pytest.mark.parametrize("text", ["", "\n\n", "# sent_id = 1\n"])
def test_a_file_without_a_sentence_is_refused(files, text):
    with pytest.raises(InputError, match=r"0.conllu: no sentence; expected CoNLL-U"):
        look_up(files(text), [("go",)])


def test_a_byte_that_is_no_utf8_is_named(tmp_path):
    path = tmp_path / "x.conllu"
    path.write_bytes(ROW.format(1, "caf\u00e9", 0, "root").encode("latin-1"))
    with pytest.raises(InputError, match=r"x.conllu:1: byte 0xe9 in column 6 is not UTF-8"):
        look_up([path], [("go",)])


@pytest.mark.parametrize(
    ("columns", "layers", "message"),
    [
        (("_", "_", "0", "root"), {"tags"}, "a word has neither UPOS nor XPOS"),
        (("_", "NN", "_", "_"), {"heads"}, "HEAD is '_' and parses are needed"),
        (("_", "NN", "0", "root"), {"tree"}, "no line '# tree = (S ...)'"),
    ],
)
def test_what_a_file_does_not_say_is_an_error_only_if_asked_for(files, columns, layers, message):
    upos, xpos, head, label = columns
    paths = files(f"\n1\tgo\t_\t{upos}\t{xpos}\t_\t{head}\t{label}\t_\t_\n")
    with pytest.raises(InputError, match=re.escape(f"{paths[0]}:2: {message}")):
        look_up(paths, [("go",)], layers)
    others = {"tags", "heads"} - layers - ({"heads"} if head == "_" else set())
    assert others
    assert look_up(paths, [("go",)], others)[0] is not None


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        (FILE, ALL - {"tree"}),
        ("# tree = (S (NN go))\n1\tgo\t_\tX\tX\t_\t_\t_\t_\t_\n", ALL),
        ("1\tgo\t_\tX\tX\t_\t_\t_\t_\t_\n", {"tags"}),
        (FILE + "\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n", {"heads", "parses"}),
        (FILE + "\n# unparsed\n1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", ALL - {"tree"}),
        ("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", set()),
    ],
)
def test_what_files_have_is_what_they_say_of_all_sentences(files, text, layers):
    assert registry.build("annotator", "conllu", {"files": files(text)}).has() == layers


def test_a_missing_sentence_is_named_or_unparsed(files):
    paths = files(FILE)
    with pytest.raises(
        AnnotatorError, match=r"'a cat' \(2 tokens\) is not in .*0.conllu; parse it"
    ):
        look_up(paths, [("a", "cat")])
    assert look_up(paths, [("a", "cat"), ("go",)], missing="unparsed")[0] is None


def test_a_token_that_is_several_words_in_the_file_is_told(files):
    blank = "_\t_\t_\t_\t_\t_\t_\t_\n"
    text = (
        ROW.format(1, "vers", 3, "case")
        + f"2-3\tdu\t{blank}"
        + ROW.format(2, "de", 4, "case")
        + ROW.format(3, "le", 4, "det")
        + ROW.format(4, "chat", 0, "root")
        + f"4.1\tx\t{blank}"
    )
    paths = files(FILE + "\n" + text)
    with pytest.raises(
        InputError, match=r"0.conllu:10: 'du' is several words here and one token in the text"
    ):
        look_up(paths, [("vers", "du", "chat")])
    found = look_up(paths, [("vers", "du", "chat"), ("go",)], missing="unparsed")
    assert [answer is None for answer in found] == [True, False]
    assert len(look_up(paths, [("vers", "de", "le", "chat")])[0].heads) == 4


@pytest.mark.parametrize(
    ("before", "between", "message"),
    [
        ("2-3", "", r"1: ID '2-3' is no range that begins at the next word, 1"),
        ("1-3", "", r"1: ID '1-3' goes beyond the last word, 2"),
        ("2-1", "", r"1: ID '2-1' is no range"),
        ("", "1-2", r"2: ID '1-2' is no range that begins at the next word, 2"),
        ("1-2", "2-2", r"3: ID '2-2' is no range that begins at the next word, 3"),
    ],
)
def test_a_range_that_is_none_is_told(files, before, between, message):
    blank = "\tx" + "\t_" * 8 + "\n"
    text = (
        (before and before + blank)
        + ROW.format(1, "a", 2, "det")
        + (between and between + blank)
        + ROW.format(2, "b", 0, "root")
    )
    with pytest.raises(InputError, match=rf"0.conllu:{message}"):
        list(_conllu.read(files(text)[0]))


def test_no_file_and_wrong_options(tmp_path):
    annotator = registry.build("annotator", "conllu", {"files": [tmp_path / "none"]})
    with pytest.raises(AnnotatorError, match="none: No such file"):
        annotator.fingerprint()
    with pytest.raises(AnnotatorError, match="no file is given"):
        registry.build("annotator", "conllu", {"files": []}).fingerprint()
    with pytest.raises(ConfigError, match="tagset"):
        registry.build("annotator", "conllu", {"files": [], "tagset": "penn"})


def test_the_fingerprint_is_that_of_the_content(files):
    one, two = files(FILE, FILE)

    def fingerprint(path, **options):
        return registry.build("annotator", "conllu", {"files": [path], **options}).fingerprint()

    assert fingerprint(one) == fingerprint(two) != fingerprint(one, tagset="upos")
    two.write_text(FILE.replace("det", "x"))
    assert fingerprint(one) != fingerprint(two)


def test_a_label_that_the_format_cannot_say_is_refused():
    with pytest.raises(ValueError, match="cannot be written"):
        annotating.conllu(["a"], ["N\tN"], (), [])


TAGGED = {
    "TreeTagger": (
        "The\tDT\tthe\ncat\tNN\tcat\n.\tSENT\t.\n#\tSYM\t#\n1\tCD\t@card@\n.\tSENT\t.\n",
        [("The cat .", "DT NN SENT", 1), ("# 1 .", "SYM CD SENT", 4)],
    ),
    "TreeTagger, marked": (
        "<s>\nHi\tUH\thi\n.\tSENT\t.\nYou\tPP\tyou\n</s>\n<s>\nGo\tVV\tgo\n</s>\n",
        [("Hi . You", "UH SENT PP", 2), ("Go", "VV", 7)],
    ),
    "TnT": (
        "%% TnT -- Part-of-Speech Tagging\n%%\n\nThe\t\t\tDT\ncat\t\t\tNN\n\nhe\t\t\tPRP\n",
        [("The cat", "DT NN", 4), ("he", "PRP", 7)],
    ),
    "FreeLing": (
        "El el DA0MS0 1\ngato gato NCMS000 0.998047\n. . Fp 1\n\nhola hola I 1\n\n",
        [("El gato .", "DA0MS0 NCMS000 Fp", 1), ("hola", "I", 5)],
    ),
}
"""Written here, in the forms that the tools' manuals show."""


@pytest.mark.parametrize("name", TAGGED)
def test_columns_of_taggers_are_tags_of_words(files, name):
    text, expected = TAGGED[name]
    (path,) = files(text)
    read = [
        (" ".join(tree.tokens), " ".join(word.xpos for word in tree.words), tree.line)
        for tree in _conllu.read(path)
    ]
    assert read == expected
    annotator = registry.build("annotator", "conllu", {"files": [path]})
    sentences = [words.split() for words, _, _ in expected]
    request = AnnotationRequest(layers=frozenset({"tags"}))
    tags = [annotation.tags for annotation in annotator.annotate(sentences, request)]
    assert tags == [tuple(tags_of.split()) for _, tags_of, _ in expected]
    with pytest.raises(InputError, match="parses are needed"):
        list(annotator.annotate(sentences, AnnotationRequest(layers=frozenset({"heads"}))))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tDT\ta\nb\tNN\n", ":2: 2 columns, expected those of TreeTagger: word, tag, lemma"),
        ("a\tDT\nb\n", ":2: 1 column, expected those of TnT: word, tag"),
        ("a a DT 1\nb b NN\n", ":2: 3 columns, expected those of FreeLing: word, lemma, tag"),
        ("a b c d\n", ":1: 1 column, expected 10"),
    ],
)
def test_a_line_that_no_tagger_writes_is_told(files, text, message):
    (path,) = files(text)
    with pytest.raises(InputError, match=re.escape(message)):
        list(_conllu.read(path))
