from collections import Counter

from tests.support.bracketed import to_brackets
from tests.support.languages.bitext import TREEBANK, write_bitext
from tests.support.languages.derivation import Leaf, Phrase, pair
from tests.support.languages.grammar import generate
from tests.support.languages.treebank import RELATIONS, parse, to_conllu

PAIRS = generate(500, seed=5)


def small():
    """Source `ko no lo`, target `la no va pas .`: subject, verb with negation, end."""
    noun = Phrase(
        "NP",
        (Leaf("NOUN", ("no",), ("no",), 1, ("Number=Sing",)), Leaf("DET", (), ("la",))),
        (0,),
        (1, 0),
        0,
        ("noun", "article"),
    )
    clause = Phrase(
        "S",
        (
            noun,
            Leaf("CASE", ("ko",)),
            Leaf("VERB", ("lo",), ("va",), 2),
            Leaf("NEG", (), ("pas",)),
        ),
        (0, 1, 2),
        (0, 1, 2, 3),
        2,
        ("subject", "subject case", "verb", "negation"),
    )
    end = Leaf("PUNCT", (), (".",))
    return pair(Phrase("S", (clause, end), (0, 1), (0, 1), 0, ("clause", "end")))


def test_a_parse_by_hand():
    assert [(token.form, token.head, token.relation) for token in parse(small())] == [
        ("la", 2, "det"),
        ("no", 3, "nsubj"),
        ("va", 0, "root"),
        ("pas", 3, "advmod:neg"),
        (".", 3, "punct"),
    ]


def test_conllu_by_hand():
    lines = to_conllu([small()], "t").split("\n")
    assert lines[:2] == ["# sent_id = t-1", "# text = la no va pas ."]
    assert lines[2] == "1\tla\t_\tDET\tDET\t_\t2\tdet\t_\t_"
    assert lines[3] == "2\tno\t_\tNOUN\tNOUN-Sing\tNumber=Sing\t3\tnsubj\t_\t_"
    assert lines[5].split("\t")[3:5] == ["PART", "NEG"]
    assert lines[7:] == ["", ""]


def test_brackets_by_hand_leave_out_what_has_no_word():
    assert to_brackets(small()) == (
        "(S1 (S (S (NP (DET la) (NOUN no)) (VERB va) (NEG pas)) (. .)))"
    )


def test_every_sentence_is_one_tree_over_its_words():
    for made in PAIRS:
        tokens = parse(made)
        assert tuple(token.form for token in tokens) == made.target
        assert [token.relation for token in tokens].count("root") == 1
        for place in range(1, len(tokens) + 1):
            seen = set()
            while place:
                assert place not in seen
                seen.add(place)
                place = tokens[place - 1].head  # noqa: PLW2901  up to the root


def test_every_role_of_the_grammar_has_a_label_that_is_used():
    found = Counter(token.relation for made in generate(3000, seed=1) for token in parse(made))
    assert set(found) == set(RELATIONS.values()) | {"root"}


def test_brackets_hold_the_words_in_order():
    for made in PAIRS:
        text = to_brackets(made)
        assert text.count("(") == text.count(")")
        words = [part.rstrip(")") for part in text.split() if not part.startswith("(")]
        assert words == list(made.target)


def test_the_treebank_is_of_training_sentences(tmp_path):
    write_bitext(tmp_path, train=30, dev=5, test=5, seed=1, treebank=10)
    text = (tmp_path / TREEBANK).read_text()
    sentences = [line[9:] for line in text.splitlines() if line.startswith("# text = ")]
    assert sentences == (tmp_path / "train.tgt").read_text().splitlines()[:10]
