import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from portmert.metrics._base import Ragged, Texts, Vocabulary
from portmert.metrics._word_orders import word_orders
from portmert.metrics.kernels import word_orders as _kernels
from portmert.metrics.orders import V1, V2, Hamming, Kendall, LrHamming, LrKendall, Rho, Tau, V
from tests.metrics.test_port import EXAMPLE
from tests.oracles import metrics as oracle
from tests.oracles.metrics import Segment
from tests.support.strategies_metrics import batch_of, corpora, text


def order_of(n, links, *, null="inherit", encoding="order", target=10):
    """Counted from 1, as the specification prints it."""
    pairs = text("", links).links
    line = Texts.from_lines([" ".join("x" * target)], Vocabulary(), [pairs])
    return (word_orders(line, np.array([n]), null=null, encoding=encoding) + 1).tolist()


def compare(a, b, measure):
    n = len(a)
    offsets = np.array([0, 1])
    pair = [np.array(p, dtype=np.int32) - 1 for p in (a, b)]
    return _kernels.compare_orders(pair[0], offsets, pair[1], offsets, np.array([n]), measure)[0]


def segment_score(metric, segment):
    return float(metric.score(metric.stats(batch_of([segment]))[0]))


def one(n, hypothesis, reference, words=9):
    line = " ".join("x" * words)
    return Segment(n, text(line, hypothesis), (text(line, reference),))


def identity(n):
    return " ".join(f"{i}-{i}" for i in range(n))


def test_example_a_recently():
    assert order_of(4, "0-3 1-0 2-1 3-2") == [2, 3, 4, 1]
    segment = one(4, "0-3 1-0 2-1 3-2", identity(4))
    assert segment_score(V(), segment) == pytest.approx(0.5, abs=1e-12)
    assert segment_score(Rho(), segment) == pytest.approx(0.4, abs=1e-12)
    assert segment_score(Tau(), segment) == pytest.approx(0.5, abs=1e-12)
    assert compare([1, 2, 3, 4], [2, 3, 4, 1], _kernels.RHO) == pytest.approx(-0.2)


def test_example_b_in_the_winter():
    links = "0-3 1-4 2-5 3-6 4-7 5-0 6-1 7-2"
    assert order_of(8, links) == [6, 7, 8, 1, 2, 3, 4, 5]
    assert segment_score(V(), one(8, links, identity(8))) == pytest.approx(0.275482, abs=1e-6)


def test_example_b_with_the_comma():
    # Source word 6 (the comma) has no link in the hypothesis and follows "2010".
    links = "0-3 1-4 2-5 3-6 4-7 6-0 7-1 8-2"
    assert order_of(9, links) == [7, 8, 9, 1, 2, 3, 4, 5, 6]
    assert segment_score(V(), one(9, links, identity(9))) == pytest.approx(0.320988, abs=1e-6)


def test_example_c_all_normalisation_rules():
    links = "1-4 1-2 2-2 4-0 4-1 5-0"
    assert order_of(7, links) == [1, 5, 6, 7, 2, 3, 4]
    assert order_of(7, links, encoding="rank") == [1, 5, 6, 7, 2, 3, 4]
    assert segment_score(V(), one(7, links, identity(7))) == pytest.approx(0.496183, abs=1e-6)


def test_example_d_reordered_reference():
    reference, hypothesis = "0-0 2-1 1-2 3-3", "2-0 1-1 3-2 0-3"
    assert order_of(4, reference) == [1, 3, 2, 4]
    assert order_of(4, hypothesis) == [3, 2, 4, 1]
    segment = one(4, hypothesis, reference)
    assert segment_score(V(), segment) == pytest.approx(0.16, abs=1e-6)
    # Kendall depends on the encoding: 3 of 6 pairs by rank, 5 of 6 by order.
    assert segment_score(Kendall(), segment) == pytest.approx(0.292893, abs=1e-6)
    by_order = segment_score(Kendall(encoding="order"), segment)
    assert by_order == pytest.approx(1 - (5 / 6) ** 0.5, abs=1e-12)


def test_example_e_null_rule():
    assert order_of(3, "0-1 1-0") == [2, 3, 1]
    assert order_of(3, "0-1 1-0", null="plus_one") == [2, 1, 3]


def test_plus_one_keeps_leading_unaligned_words_first():
    assert order_of(4, "2-0 3-1", null="plus_one") == [1, 2, 3, 4]


def test_plus_one_may_pass_the_end_of_the_target():
    # Two words: a = 1, 2, 3, 0; positions 2 and 3 do not exist.
    assert order_of(4, "0-1 3-0", null="plus_one", target=2) == [4, 1, 2, 3]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (Kendall(), 0.504712),
        (Hamming(), 0.358266),
        (LrKendall(), 0.252356),
        (LrHamming(), 0.179133),
        (V(), 0.75),
        (Rho(), 0.7),
        (Tau(), 0.75),
    ],
)
def test_example_of_section_4(metric, expected):
    total = metric.stats(batch_of(EXAMPLE)).sum(axis=0)
    assert float(metric.score(total)) == pytest.approx(expected, abs=1e-6)


ALL = (V, Rho, Tau, Hamming, Kendall)


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize("n", [0, 1])
def test_one_source_word_or_none_is_in_order(metric, n):
    segment = Segment(n, text("a b"), (text("a b"),))
    assert segment_score(metric(), segment) == 1.0


@pytest.mark.parametrize("metric", ALL)
def test_empty_hypothesis_scores_0(metric):
    segment = Segment(3, text(""), (text("a b c", "0-0 1-1"),))
    assert segment_score(metric(), segment) == 0.0


def test_v_of_all_pairs_of_three_words():
    # The largest DIST2 over all pairs is n * n - 1: v2 and v are 0 there.
    pairs = list(itertools.product(itertools.permutations((1, 2, 3)), repeat=2))
    values = [compare(a, b, _kernels.V) for a, b in pairs]
    assert values == pytest.approx([float(oracle.v(a, b)) for a, b in pairs])
    assert min(values) == 0.0


@given(corpora())
def test_metrics_equal_their_slow_twins(corpus):
    batch = batch_of(corpus)

    def check(metric, expected):
        score = float(metric.score(metric.stats(batch).sum(axis=0)))
        assert score == pytest.approx(expected, abs=1e-12), metric.signature

    for null in ("inherit", "plus_one"):
        for encoding in ("order", "rank"):
            shared = {"null": null, "encoding": encoding}
            for metric in (V, V1, V2):
                expected = oracle.ordering(corpus, order=metric.name(), **shared)
                check(metric(**shared), expected)
            for scale in ("linear", "clip"):
                options = {**shared, "scale": scale}
                check(Rho(**options), oracle.ordering(corpus, order="rho", **options))
                check(Tau(**options), oracle.ordering(corpus, order="tau", **options))
            lr = {**shared, "tau_lr": True}
            check(Tau(**lr), oracle.ordering(corpus, order="tau", **lr))
            for choice in ("closest", "average"):
                options = {**shared, "refchoice": choice}
                check(Kendall(**options), oracle.damped(corpus, measure="kendall", **options))
                check(
                    LrKendall(alpha=0.3, **options),
                    oracle.lr(corpus, alpha=0.3, measure="kendall", **options),
                )
        for choice in ("closest", "average"):
            options = {"null": null, "refchoice": choice}
            # Hamming does not depend on the encoding: the twin takes the other one.
            twin = {"measure": "hamming", "encoding": "order", **options}
            check(Hamming(**options), oracle.damped(corpus, **twin))
            check(LrHamming(alpha=0.9, **options), oracle.lr(corpus, alpha=0.9, **twin))


@given(st.integers(0, 40).flatmap(lambda n: st.permutations(range(1, n + 1))), st.randoms())
def test_kernels_equal_their_slow_twins_on_long_permutations(a, random):
    b = list(a)
    random.shuffle(b)
    for measure, twin in (
        (_kernels.V, oracle.v),
        (_kernels.V1, oracle.v1),
        (_kernels.V2, oracle.v2),
        (_kernels.RHO, oracle.rho),
        (_kernels.DISCORDANCE, oracle.discordance),
        (_kernels.AGREEMENT, oracle.agreement),
    ):
        assert compare(a, b, measure) == pytest.approx(float(twin(a, b)), abs=1e-12)


@given(st.integers(2, 30).flatmap(lambda n: st.permutations(range(1, n + 1))))
def test_rho_and_tau_are_those_of_scipy(b):
    a = list(range(1, len(b) + 1))
    rho = compare(a, b, _kernels.RHO)
    tau = 1 - 2 * compare(a, b, _kernels.DISCORDANCE)
    assert rho == pytest.approx(scipy_stats.spearmanr(a, b).statistic, abs=1e-9)
    assert tau == pytest.approx(scipy_stats.kendalltau(a, b).statistic, abs=1e-9)


@st.composite
def linked_texts(draw):
    n, m = draw(st.integers(0, 12)), draw(st.integers(0, 12))
    if n == 0 or m == 0:
        return n, m, []
    return n, m, draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, m - 1))))


@given(st.lists(linked_texts(), min_size=1, max_size=4))
def test_permutations_equal_their_slow_twin(rows):
    texts = Texts(
        Vocabulary("x"),
        Ragged.from_rows([[0] * m for _, m, _ in rows]),
        Ragged.from_rows([links for _, _, links in rows], 2),
    )
    lengths = np.array([n for n, _, _ in rows])
    for null in ("inherit", "plus_one"):
        for encoding in ("order", "rank"):
            found = word_orders(texts, lengths, null=null, encoding=encoding) + 1
            expected = [
                position
                for n, _, links in rows
                for position in oracle.permutation(n, set(links), null=null, encoding=encoding)
            ]
            assert found.tolist() == expected


@pytest.mark.parametrize("link", ["3-0", "0-2", "-1"])
def test_a_link_outside_its_sentence_is_refused(link):
    pair = (-1, 0) if link == "-1" else tuple(map(int, link.split("-")))
    texts = Texts.from_lines(["a b", "a b"], Vocabulary(), [[(0, 0)], [(1, 1), pair]])
    message = f"text 1: link {pair[0]}-{pair[1]}: the source has 3 tokens and the target 2"
    with pytest.raises(ValueError, match=message):
        word_orders(texts, np.array([1, 3]), null="inherit", encoding="order")


def test_texts_without_links_are_refused():
    with pytest.raises(ValueError, match="word order needs links"):
        word_orders(
            Texts.from_lines(["a"], Vocabulary()), np.array([1]), null="inherit", encoding="order"
        )
