import numpy as np
import pytest
from hypothesis import given

from portmert.metrics.nist import Nist
from portmert.tuner.base.context import using
from portmert.tuner.texts import statistics
from portmert.tuner.texts.statistics import compute_stats
from tests.metrics.test_bleu import EXAMPLE
from tests.oracles import edits as oracle
from tests.oracles.metrics import Segment
from tests.support.strategies_metrics import batch_of, corpora, text


def score_of(corpus):
    return float(Nist().score(Nist().stats(batch_of(corpus)).sum(axis=0)))


def test_score_is_that_of_the_specification():
    assert score_of(EXAMPLE) == pytest.approx(3.675680, abs=1e-6)


def test_stats_by_hand():
    segments = [
        Segment(0, text("a b"), (text("a b"), text("a c d"))),
        Segment(0, text("d d"), (text("d"),)),
    ]
    # Six reference words: a 2, b 1, c 1, d 2. "a b" follows one of two "a".
    a, b, d = np.log2(6 / 2), np.log2(6 / 1), np.log2(6 / 2)
    empty = [0, 0] * 3
    assert Nist().stats(batch_of(segments)) == pytest.approx(
        np.array([[a + b, 2, 1, 1, *empty, 2, 2.5], [d, 2, 0, 1, *empty, 2, 1]])
    )


def test_penalty_is_a_half_where_references_are_one_and_a_half_times_as_long():
    # Hypothesis 2 of 3 words, each of the three words worth log2(3).
    assert score_of([Segment(0, text("a b"), (text("a b c"),))]) == pytest.approx(np.log2(3) / 2)


@given(corpora(max_segments=6))
def test_scores_equal_their_slow_twin(corpus):
    stats = Nist().stats(batch_of(corpus))
    expected = [oracle.nist(corpus), *(oracle.nist([s], corpus) for s in corpus)]
    scores = Nist().score(np.vstack([stats.sum(axis=0), stats]))
    assert scores == pytest.approx(np.array(expected), abs=1e-9)


def test_empty_texts_score_0():
    for hypothesis, reference in (("", ""), ("", "a"), ("a", "")):
        assert score_of([Segment(0, text(hypothesis), (text(reference),))]) == 0.0


def test_one_token_alone_has_no_information():
    assert score_of([Segment(0, text("a"), (text("a"),))]) == 0.0


def test_parts_hold_information_penalty_and_lengths():
    parts = Nist().parts(Nist().stats(batch_of(EXAMPLE)).sum(axis=0))
    total = sum(parts[f"info_{n}"] for n in range(1, 6))
    assert total * parts["BP"] == pytest.approx(3.675680, abs=1e-6)
    # Mean lengths (6 + 6) / 2 and (4 + 5) / 2.
    assert (parts["hyp_len"], parts["ref_len"]) == (9, 10.5)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_information_is_that_of_the_whole_test_set_however_it_is_split(threads, monkeypatch):
    monkeypatch.setattr(statistics, "HYPOTHESES_PER_CHUNK", 1)
    corpus = [*EXAMPLE, Segment(0, text("a cat"), (text("the cat"),))]
    whole = Nist().stats(batch_of(corpus))
    with using(threads=threads):
        assert compute_stats(Nist(), batch_of(corpus)).tobytes() == whole.tobytes()
    alone = Nist().stats(batch_of(corpus[-1:]))
    assert not np.array_equal(alone[0], whole[-1])
