import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics.ribes import Ribes
from tests.oracles import edits as oracle
from tests.oracles.metrics import Segment
from tests.support.strategies_metrics import batch_of, corpora, text


def value_of(hypothesis, *references, **options):
    segment = Segment(0, text(hypothesis), tuple(map(text, references)))
    return Ribes(**options).stats(batch_of([segment]))[0, 0]


def test_recently_pair_is_that_of_the_specification():
    assert value_of("i visited paris recently", "recently i visited paris") == 0.5


def test_score_is_the_mean_over_segments():
    stats = Ribes().stats(
        batch_of(
            [
                Segment(0, text("i visited paris recently"), (text("recently i visited paris"),)),
                Segment(0, text("a b"), (text("a b"),)),
            ]
        )
    )
    assert stats.tolist() == [[0.5, 1], [1, 1]]
    assert float(Ribes().score(stats.sum(axis=0))) == 0.75
    assert Ribes().parts(stats.sum(axis=0)) == {"ribes": 0.75, "segments": 2}


def test_share_of_linked_words_and_length_count_by_their_powers():
    # Two of three words are linked, in order; the reference is one word longer.
    expected = (2 / 3) ** 0.5 * np.exp(1 - 4 / 3) ** 2
    assert value_of("a x b", "a b c d", alpha=0.5, beta=2.0) == pytest.approx(expected)


def test_words_that_repeat_are_linked_by_their_context():
    assert value_of("the cat sat on the mat", "the cat sat on the mat") == 1.0
    # "on the" and "the cat" tell which "the" is meant. Of the 15 pairs of the reference positions
    # 3 4 2 5 0 1 these rise: 34 35 45 25 01.
    moved = value_of("on the sat mat the cat", "the cat sat on the mat")
    assert moved == pytest.approx(5 / 15)


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        ("", "", 0.0),
        ("", "a", 0.0),
        ("a", "", 0.0),
        ("a", "a", 1.0),
        ("a b", "a", (1 / 2) ** 0.25),  # one link, and the reference is one word
        ("a", "a b", 0.0),  # one link has no order
        ("a a", "a a", 1.0),  # the first by its right, the second by its left neighbour
        ("a b", "c d", 0.0),
    ],
)
def test_short_texts(hypothesis, reference, expected):
    assert value_of(hypothesis, reference) == pytest.approx(expected)


@given(
    corpora(max_segments=6),
    st.sampled_from([0.0, 0.25, 2.0]),
    st.sampled_from([0.0, 0.1, 1]),
)
def test_values_equal_their_slow_twin(corpus, alpha, beta):
    values = Ribes(alpha=alpha, beta=beta).stats(batch_of(corpus))[:, 0]
    expected = [oracle.ribes(segment, alpha=alpha, beta=beta) for segment in corpus]
    assert values == pytest.approx(np.array(expected), abs=1e-12)


def test_the_reference_that_gives_most_counts():
    assert value_of("a b c", "c b a", "a b c", "a c b") == 1.0
