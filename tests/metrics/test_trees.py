import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics._base import Batch, Ragged, Vocabulary
from portmert.tuner import families
from portmert.tuner.components import registry
from tests.oracles import trees as oracle
from tests.oracles.metrics import Segment, Text, Tree
from tests.support.strategies_metrics import arrays, batch_of, corpora, texts

OVERLAPS = {
    "hwcm": (oracle.dependency_forest, oracle.chains, "precision"),
    "hwcm-f": (oracle.dependency_forest, oracle.chains, "F"),
    "stm": (oracle.constituency_forest, oracle.subtrees, "precision"),
    "stm-f": (oracle.constituency_forest, oracle.subtrees, "F"),
    "dstm": (oracle.dependency_forest, oracle.subtrees, "precision"),
    "dstm-f": (oracle.dependency_forest, oracle.subtrees, "F"),
}
KERNELS = {
    "tkm": oracle.constituency_forest,
    "tkm:lexical=true": lambda text: oracle.constituency_forest(text, lexical=True),
    "dtkm": oracle.dependency_forest,
}
ALL = (*OVERLAPS, *KERNELS)


def tree_of(brackets):
    """A tree from `(S (NP (PRON i)))`."""
    stack = [[]]
    for part in brackets.replace("(", " ( ").replace(")", " ) ").split():
        if part == "(":
            stack.append([])
        elif part == ")":
            label, *children = stack.pop()
            stack[-1].append(Tree(label, tuple(children)))
        else:
            stack[-1].append(Tree(part) if stack[-1] else part)
    return stack[0][0]


def parsed(brackets):
    """A text with a constituency parse."""
    tree = tree_of(brackets)

    def leaves(node):
        return [leaf for c in node.children for leaf in leaves(c)] if node.children else [node]

    return Text(tuple(leaf.label for leaf in leaves(tree)), tree=tree)


def linked(words, heads):
    """A text with a dependency parse."""
    return Text(tuple(words.split()), heads=tuple((int(h), "x") for h in heads.split()))


def stats_of(name, hypothesis, *references):
    metric = registry.metric(name)
    stats = metric.stats(batch_of([Segment(0, hypothesis, references)]))[0]
    return stats.tolist(), float(metric.score(stats))


SEE_HER = parsed("(S (NP (PRON i)) (VP (V see) (NP (PRON her))))")
SEE_DOG = parsed("(S (NP (PRON i)) (VP (V see) (NP (ART the) (N dog))))")
RED_PEN = linked("i have a red pen", "2 0 5 5 2")
PEN_RED = linked("i have a pen red", "2 0 4 2 2")


def test_stm_is_that_of_the_specification():
    counts, score = stats_of("stm", SEE_HER, SEE_DOG)
    assert counts == [6, 7, 8, 3, 4, 4, 1, 2, 2, 0, 1, 1]
    assert score == pytest.approx(0.526786, abs=1e-6)
    assert stats_of("stm:depth=3", SEE_HER, SEE_DOG)[1] == pytest.approx(0.702381, abs=1e-6)
    assert stats_of("stm-f:depth=3", SEE_HER, SEE_DOG)[1] == pytest.approx(0.684058, abs=1e-6)


def test_tkm_is_that_of_the_specification():
    assert stats_of("tkm", SEE_HER, SEE_DOG)[1] == pytest.approx(7 / math.sqrt(120), abs=1e-12)
    assert stats_of("tkm:lexical=true", SEE_HER, SEE_DOG)[1] == pytest.approx(0.366295, abs=1e-6)


def test_hwcm_is_that_of_the_specification():
    counts, score = stats_of("hwcm", PEN_RED, RED_PEN)
    assert counts == [5, 5, 5, 3, 4, 4, 1, 1, 2, 0, 0, 0]
    assert score == 0.6875
    assert stats_of("hwcm:depth=3", PEN_RED, RED_PEN)[1] == pytest.approx(0.916667, abs=1e-6)
    assert stats_of("hwcm-f", PEN_RED, RED_PEN)[1] == pytest.approx(0.618750, abs=1e-12)
    parts = registry.metric("hwcm").parts(np.array(counts))
    assert (parts["precision"], parts["p2"], parts["r2"], parts["r3"]) == (
        0.6875,
        3 / 4,
        3 / 4,
        1 / 2,
    )


def test_dstm_and_dtkm_are_those_of_the_specification():
    assert stats_of("dstm", PEN_RED, RED_PEN) == ([5, 5, 5, 0, 2, 2, 0, 1, 1, 0, 0, 0], 0.25)
    assert stats_of("dtkm", PEN_RED, RED_PEN)[1] == 0.0
    pen = linked("i have a pen", "2 0 4 2")
    assert stats_of("dtkm", pen, RED_PEN)[1] == pytest.approx(1 / 3, abs=1e-12)


def test_matches_are_clipped_by_the_reference_with_most():
    hypothesis = linked("a a a", "0 0 0")
    references = linked("a a b", "0 0 0"), linked("a c", "0 0")
    counts, _ = stats_of("hwcm:depth=1", hypothesis, *references)
    assert counts == [2, 3, 3]


def test_f_counts_of_each_order_the_closest_number_then_the_smaller():
    hypothesis = linked("a b c", "0 1 2")  # 3 words, 2 chains of two
    long, short, longest = (
        linked(*text)
        for text in (("a b c d", "0 1 2 3"), ("a b", "0 1"), ("a b c d e", "0 1 2 3 4"))
    )
    # Words: 4, 2 and 5, as close are 4 and 2. Chains of two: 3, 1 and 4, as close are 3 and 1.
    for references in ((long, short, longest), (longest, short, long)):
        assert stats_of("hwcm-f:depth=2", hypothesis, *references)[0] == [3, 3, 2, 2, 2, 1]
    # Words: 3 and 5. Chains of two: none and 2, of the reference that is farther off in words.
    flat, deep = linked("a b x", "0 0 0"), linked("a b c d e", "0 1 2 0 0")
    for references in ((flat, deep), (deep, flat)):
        counts, score = stats_of("hwcm-f:depth=2", hypothesis, *references)
        assert counts == [3, 3, 3, 2, 2, 2]
        assert score == 1.0


def test_matches_with_another_reference_than_the_closest_are_no_recall():
    pair, flat, long = linked("a b", "0 1"), linked("a c", "0 0"), linked("a b d", "0 1 2")
    # None and two chains of two are as close to one: the smaller number counts.
    counts, score = stats_of("hwcm-f:depth=2", pair, flat, long)
    assert counts == [2, 2, 2, 1, 1, 0]
    assert score == pytest.approx(2 * 1 * 0.5 / 1.5)


@pytest.mark.parametrize("empty", [Text(()), Text(("a", "b"))])
def test_hypothesis_without_a_parse_is_ignored_or_worst(empty):
    assert stats_of("hwcm:depth=2", empty, RED_PEN) == ([0, 0, 5, 0, 0, 4], 0.0)
    worst = [0, 5, 5, 0, 4, 4]
    assert stats_of("hwcm:depth=2,noparse=worst", empty, RED_PEN)[0] == worst
    for name, counted in (
        ("hwcm:average=segments", 0),
        ("hwcm:average=segments,noparse=worst", 1),
        ("hwcm-f:average=segments", 1),
    ):
        assert stats_of(name, empty, RED_PEN) == ([0, counted], 0.0)
    assert stats_of("tkm", empty, SEE_DOG) == ([0, 1], 0.0)


@pytest.mark.parametrize("name", ALL)
def test_references_without_a_parse_are_left_out(name):
    hypothesis = dataclasses.replace(SEE_HER, heads=((2, "x"), (0, "x"), (2, "x")))
    unparsed = Text(("b",))
    counts, score = stats_of(name, hypothesis, unparsed)
    assert not any(counts)
    assert score == 0.0
    alone = stats_of(name, hypothesis, hypothesis)
    assert alone[1] > 0.0
    assert stats_of(name, hypothesis, unparsed, hypothesis) == alone


def test_weight_is_the_length_of_the_closest_reference():
    assert stats_of("tkm:weight=reflen", SEE_HER, SEE_DOG)[0][1] == 4
    unparsed = Text(("a", "b", "c"))
    assert stats_of("tkm:weight=reflen", SEE_HER, SEE_DOG, unparsed)[0][1] == 3
    assert registry.metric("tkm:weight=reflen").parts(np.array([1.0, 4.0])) == {
        "tkm": 0.25,
        "ref_len": 4.0,
    }
    assert registry.metric("dtkm").stat_names == ("dtkm", "segments")


def test_forests_without_a_production_are_alike_if_they_are_equal():
    two = linked("a b", "0 0")
    assert stats_of("dtkm", two, two)[1] == 1.0
    assert stats_of("dtkm", two, linked("b a", "0 0"))[1] == 0.0
    assert stats_of("dtkm", two, linked("a", "0"))[1] == 0.0
    assert stats_of("dtkm", two, linked("a b", "0 1"))[1] == 0.0
    assert stats_of("tkm", parsed("(N a)"), parsed("(N b)"))[1] == 1.0  # words are dropped


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("hwcm", {"heads": [[(2, 0)]]}, "hypothesis 0 has heads: 1, tokens: 5; a text"),
        (
            "dstm",
            {"heads": [[(0, 0)] * 4 + [(6, 0)]]},
            "hypothesis 0 has a head outside 0..5",
        ),
        (
            "dtkm",
            {"heads": [[(0, 0)] * 4 + [(-1, 0)]]},
            "hypothesis 0 has a head outside 0..5",
        ),
        ("stm", {"trees": [[(0, -1), (0, 1)]]}, "the tree of hypothesis 0 is not in preorder"),
        ("stm", {"trees": [[(0, -1), (0, -1)]]}, "the tree of hypothesis 0 is not in preorder"),
        ("tkm", {"trees": [[(0, 0)]]}, "the tree of hypothesis 0 is not in preorder"),
        (
            "tkm:lexical=true",
            {"trees": [[(0, -1), (0, 0), (0, 0), (0, 1)]]},
            "the tree of hypothesis 0 is not in preorder",
        ),
    ],
)
def test_parse_that_is_none_names_the_text(name, change, message):
    both = dataclasses.replace(RED_PEN, tree=SEE_DOG.tree)
    batch = batch_of([Segment(0, both, (both,))])
    rows = {key: Ragged.from_rows(value, 2) for key, value in change.items()}
    broken = dataclasses.replace(batch, hypotheses=dataclasses.replace(batch.hypotheses, **rows))
    with pytest.raises(ValueError, match=message):
        registry.metric(name).stats(broken)


@given(
    corpora(max_segments=5, layers=("heads", "tree")),
    st.sampled_from(sorted(OVERLAPS)),
    st.integers(1, 6),
    st.sampled_from(["ignore", "worst"]),
    st.sampled_from(["corpus", "segments"]),
    st.booleans(),
)
def test_overlaps_equal_their_slow_twins(corpus, name, depth, noparse, average, effective):
    forest_of, items, kind = OVERLAPS[name]
    options = {"depth": depth, "noparse": noparse, "average": average}
    options |= {"effective_order": effective}
    metric = families.component("metric", name)(**options)
    score = float(metric.score(metric.stats(batch_of(corpus)).sum(axis=0)))
    expected = oracle.overlap(corpus, forest_of=forest_of, items=items, kind=kind, **options)
    assert score == pytest.approx(float(expected), abs=1e-12)


@given(
    corpora(max_segments=5, layers=("heads", "tree")),
    st.sampled_from(sorted(KERNELS)),
    st.booleans(),
)
def test_tree_kernels_equal_their_slow_twin(corpus, name, by_length):
    forest_of = KERNELS[name]
    metric = registry.metric(name)
    weight = "reflen" if by_length else "one"
    metric = dataclasses.replace(metric, weight=weight)
    score = float(metric.score(metric.stats(batch_of(corpus)).sum(axis=0)))
    expected = oracle.tree_kernel(corpus, forest_of=forest_of, weight=weight)
    assert score == pytest.approx(expected, abs=1e-12)


@given(st.lists(texts(0), min_size=2, max_size=8), st.lists(texts(0), min_size=1, max_size=3))
def test_hypotheses_of_one_segment_do_not_see_each_other(hypotheses, references):
    vocabulary = Vocabulary()
    rows, others = arrays(hypotheses, vocabulary), arrays(references, vocabulary)

    def batch(own):
        return Batch(own, np.array([0, len(own)]), others, np.array([0, len(references)]))

    for name in ALL:
        metric = registry.metric(name)
        together = metric.stats(batch(rows))
        alone = [metric.stats(batch(rows.rows(i, i + 1)))[0] for i in range(len(hypotheses))]
        assert np.array_equal(together, np.array(alone)), name


def chain(length, label="a"):
    return Text((label,) * length, heads=tuple((i, "x") for i in range(length)))


def test_deep_chain_has_as_many_chains_and_subtrees_as_its_length_says():
    for name in ("hwcm", "dstm"):
        counts, score = stats_of(name, chain(3000), chain(5000))
        assert counts == [n for k in range(4) for n in (3000 - k, 3000 - k, 5000 - k)]
        assert score == 1.0


def test_kernel_of_deep_chains_counts_all_fragments():
    # Node i of n productions above the last word begins min(i, j) fragments that node j has too.
    def kernel(n, m):
        return sum(min(i, j) for i in range(1, n + 1) for j in range(1, m + 1))

    expected = kernel(299, 149) / math.sqrt(kernel(299, 299) * kernel(149, 149))
    assert stats_of("dtkm", chain(150), chain(300))[1] == pytest.approx(expected, rel=1e-12)


def test_numbers_of_fragments_beyond_float64_still_have_a_cosine():
    # A root over 2000 phrases: 2**2000 fragments; with one phrase changed half of them match.
    phrases = [f"(P{i} (T{i} w))" for i in range(2000)]
    one = parsed(f"(S {' '.join(phrases)})")
    other = parsed(f"(S {' '.join(['(P0 (X w))', *phrases[1:]])})")
    assert stats_of("tkm", one, one)[1] == 1.0
    assert stats_of("tkm", one, other)[1] == pytest.approx(0.5, rel=1e-12)
    assert stats_of("tkm", one, SEE_HER)[1] == 0.0
