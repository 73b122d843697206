from __future__ import annotations

from tests.support.languages.bitext import write_bitext
from tests.support.languages.derivation import Leaf, Phrase, pair
from tests.support.languages.grammar import Grammar, generate
from tests.support.languages.lexicon import Chance, Spelling

PAIRS = generate(1000, seed=5)


def leaves(node):
    if isinstance(node, Leaf):
        return [node]
    return [leaf for child in node.children for leaf in leaves(child)]


def test_pair_reads_both_orders_and_the_links_off_a_tree():
    # Source `go lo no`, target `ne va pas la`; go = va, no = ne .. pas, lo and la unlinked.
    tree = Phrase(
        "S",
        (
            Leaf("V", ("go",), ("va",), 1),
            Leaf("P", ("lo",)),
            Leaf("N", ("no",), ("pas",), 2),
            Leaf("N", (), ("ne",), 2),
            Leaf("D", (), ("la",)),
        ),
        (0, 1, 2),
        (3, 0, 2, 4),
        0,
        ("verb", "p", "no", "ne", "la"),
    )
    made = pair(tree)
    assert made.source == ("go", "lo", "no")
    assert made.target == ("ne", "va", "pas", "la")
    assert made.links == ((0, 1), (2, 0), (2, 2))


def test_every_word_of_a_derivation_is_in_its_sentence():
    for made in PAIRS[:200]:
        found = leaves(made.tree)
        assert sorted(word for leaf in found for word in leaf.source) == sorted(made.source)
        assert sorted(word for leaf in found for word in leaf.target) == sorted(made.target)


def test_every_head_has_a_target_word():
    def heads(node):
        if isinstance(node, Phrase):
            yield node.children[node.head]
            for child in node.children:
                yield from heads(child)

    for made in PAIRS[:200]:
        assert all(leaf.target for leaf in heads(made.tree) if isinstance(leaf, Leaf))


def test_links_are_in_range_sorted_and_each_once():
    for made in PAIRS:
        assert list(made.links) == sorted(set(made.links))
        assert all(s < len(made.source) and t < len(made.target) for s, t in made.links)


def test_content_words_are_linked():
    unlinked = sum(len(made.target) - len({t for _, t in made.links}) for made in PAIRS)
    assert unlinked < 0.25 * sum(len(made.target) for made in PAIRS)  # definite articles, `who`


def test_the_source_verb_comes_last_and_the_target_verb_does_not():
    grammar = Grammar(7)
    verbs = {verb.source for verb in (*grammar.words.verbs, *grammar.words.saying)}
    after = {grammar.words.negation, grammar.words.past, grammar.words.question, "."}
    moved = 0
    for made in (grammar.sentence() for _ in range(200)):
        position = max(n for n, word in enumerate(made.source) if word in verbs)
        assert set(made.source[position + 1 :]) <= after
        moved += any(s > position - 3 and t < len(made.target) / 2 for s, t in made.links)
    assert moved > 100


def test_free_order_keeps_the_first_part_first_and_the_verb_second():
    def clauses(node):
        if isinstance(node, Phrase):
            if node.label == "S" and {"subject", "verb"} <= set(node.roles):
                yield node
            for child in node.children:
                yield from clauses(child)

    def parts(clause, order):
        names = [clause.roles[k] for k in getattr(clause, order)]
        return [name for name in names if name in {"subject", "object", "where", "adverb", "verb"}]

    orders = set()
    for made in generate(300, seed=5, free=1.0):
        for clause in clauses(made.tree):
            source, target = parts(clause, "source_order"), parts(clause, "target_order")
            assert source[-1] == target[1] == "verb"
            if "clause" not in clause.roles:  # with a reported one the order is fixed
                assert source[0] == target[0]
                orders.add((tuple(source), tuple(target)))
    objects_first = {target for source, target in orders if source[0] == "object"}
    assert ("object", "verb", "subject") in objects_first
    assert len(orders) > 20
    assert generate(50, seed=5, free=0.0) == PAIRS[:50]


def test_article_noun_and_adjective_agree_in_number():
    grammar = Grammar(7)
    plurals = {row[1] for row in grammar.words.definite}

    def noun_phrases(node):
        if isinstance(node, Phrase):
            if node.label == "NP":
                yield {leaf.tag: leaf for leaf in node.children if isinstance(leaf, Leaf)}
            for child in node.children:
                yield from noun_phrases(child)

    checked = 0
    for made in (grammar.sentence() for _ in range(200)):
        for parts in noun_phrases(made.tree):
            if "NOUN" in parts:
                plural = parts["DET"].target[0] in plurals
                assert parts["NOUN"].target[0].endswith("s") == plural
                assert "ADJ" not in parts or parts["ADJ"].target[0].endswith("s") == plural
                checked += plural
    assert checked > 30


def test_no_two_sentences_are_alike():
    assert len({made.source for made in PAIRS}) == len({made.target for made in PAIRS}) == 1000


def test_a_smaller_bitext_is_the_beginning_of_a_larger_one():
    assert generate(50, seed=5) == PAIRS[:50]


def test_write_bitext_writes_nine_files_of_new_sentences(tmp_path):
    write_bitext(tmp_path, train=60, dev=20, test=30, seed=1)
    sizes = {path.name: len(path.read_text().splitlines()) for path in tmp_path.iterdir()}
    assert sizes == {
        f"{part}.{side}": size
        for part, size in (("train", 60), ("dev", 20), ("test", 30))
        for side in ("src", "tgt", "links")
    }
    text = [set((tmp_path / f"{part}.src").read_text().splitlines()) for part in ("train", "test")]
    assert not text[0] & text[1]


def test_another_seed_gives_another_language():
    assert not {made.source for made in generate(50, seed=6)} & {made.source for made in PAIRS}


def test_spelling_goes_on_with_longer_words():
    spelling = Spelling(Chance(1), ["b", "d"], ["a"])
    words = [spelling.word(1) for _ in range(6)]
    assert len(set(words)) == 6
    assert set(words[:2]) == {"ba", "da"}
