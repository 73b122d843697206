import random
from dataclasses import replace

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics.chrf import Chrf
from tests.oracles import edits as oracle
from tests.oracles.metrics import Segment, Text
from tests.support.strategies_metrics import batch_of, corpora, text

# Words of several letters, one beyond the basic plane, one with white space of another script.
SPELLING = {"a": "a", "b": "ab", "c": "b\u3000a", "d": "\U0001f600b"}


def spelled(corpus):
    def respell(text):
        return Text(tuple(SPELLING[word] for word in text.words))

    return [
        replace(s, hypothesis=respell(s.hypothesis), references=tuple(map(respell, s.references)))
        for s in corpus
    ]


def score_of(metric, hypothesis, *references):
    segment = Segment(0, text(hypothesis), tuple(map(text, references)))
    return float(metric.score(metric.stats(batch_of([segment]))[0]))


def test_stats_and_score_are_those_of_the_specification():
    segment = Segment(0, text("abcd"), (text("abce"),))
    stats = Chrf().stats(batch_of([segment]))
    assert stats.tolist() == [[4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0]]
    assert float(Chrf().score(stats[0])) == pytest.approx(0.479167, abs=1e-6)


def test_hypothesis_ngrams_count_only_where_the_reference_has_that_order():
    segment = Segment(0, text("abcd"), (text("ab"),))
    stats = Chrf(max_order=3).stats(batch_of([segment]))
    assert stats.tolist() == [[4, 2, 2, 3, 1, 1, 0, 0, 0]]


@given(corpora(max_segments=6), st.integers(1, 8), st.sampled_from([0, 1, 2, 3]))
def test_segment_scores_equal_their_slow_twin(corpus, max_order, beta):
    corpus = spelled(corpus)
    metric = Chrf(max_order=max_order, beta=beta)
    scores = metric.score(metric.stats(batch_of(corpus)))
    expected = [float(oracle.chrf(s, max_order=max_order, beta=beta)) for s in corpus]
    assert scores == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize(
    ("max_order", "beta", "word_order"), [(6, 2, 0), (4, 1, 0), (2, 3, 1), (6, 2, 2)]
)
def test_corpus_score_equals_sacrebleu(max_order, beta, word_order):
    rng = random.Random(9)
    chrf = sacrebleu.CHRF(char_order=max_order, beta=beta, word_order=word_order)
    metric = Chrf(max_order=max_order, beta=beta, word_order=word_order)
    words = ["the", "a", "cat", "cats", "at", "hat", "\u732b", "it\u00a0is", "hat.", "(a)", "."]
    for case in range(150):

        def line():
            return " ".join(rng.choice(words) for _ in range(rng.randint(0, 6)))

        hypotheses = [line() for _ in range(3)]
        streams = [[line() for _ in range(3)] for _ in range(rng.randint(1, 3))]
        corpus = [
            Segment(0, text_of(hypotheses[i]), tuple(text_of(stream[i]) for stream in streams))
            for i in range(3)
        ]
        expected = chrf.corpus_score(hypotheses, streams).score / 100
        score = float(metric.score(metric.stats(batch_of(corpus)).sum(axis=0)))
        assert score == pytest.approx(expected, abs=1e-12), case


def text_of(line):
    return Text(tuple(filter(None, line.split(" "))))


def test_empty_texts_score_0():
    assert score_of(Chrf(), "", "") == 0.0
    assert score_of(Chrf(), "", "a") == 0.0
    assert score_of(Chrf(), "a", "") == 0.0
    assert score_of(Chrf(), "a", "a") == 1.0


def test_word_boundaries_do_not_count():
    assert score_of(Chrf(), "ab cd", "a bcd") == 1.0


def test_the_reference_with_the_higher_score_counts():
    assert score_of(Chrf(), "abcd", "xyz", "abce") == pytest.approx(0.479167, abs=1e-6)
    assert score_of(Chrf(), "abcd", "abce", "xyz") == pytest.approx(0.479167, abs=1e-6)


def test_parts_hold_means_and_counts():
    segment = Segment(0, text("ab"), (text("abc"),))
    metric = Chrf(max_order=2)
    parts = metric.parts(metric.stats(batch_of([segment]))[0])
    # 2/2 and 1/1 of the hypothesis, 2/3 and 1/2 of the reference.
    assert parts["precision"] == 1.0
    assert parts["recall"] == pytest.approx(7 / 12)
    assert (parts["total_2"], parts["ref_total_2"], parts["matched_2"]) == (1, 2, 1)


def test_words_count_without_punctuation_beside_characters():
    segment = Segment(0, text("a (b. c"), (text("a b c"),))
    metric = Chrf(max_order=1, word_order=2)
    assert metric.stat_names[3:] == tuple(
        f"word_{kind}_{n}" for n in (1, 2) for kind in ("total", "ref_total", "matched")
    )
    # Words: a, (b, the full stop, c; only a and c are found, no pair of words is.
    assert metric.stats(batch_of([segment])).tolist() == [[5, 3, 3, 4, 3, 2, 3, 2, 0]]


def test_wrong_options_are_refused():
    with pytest.raises(
        ValueError, match=r"max_order\s+Input should be greater than or equal to 1"
    ):
        Chrf(max_order=0)
    with pytest.raises(ValueError, match=r"beta\s+Input should be greater than or equal to 0"):
        Chrf(beta=-1)
