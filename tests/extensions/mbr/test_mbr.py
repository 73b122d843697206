"""Expected scores over lists: against the definition, pair by pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import CHRF

from portmert.extensions.mbr import mbr
from portmert.extensions.mbr.mbr import expected_scores
from portmert.metrics._base import Batch, Texts, Vocabulary
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import InputError
from portmert.tuner.components import registry
from portmert.tuner.nbest.votes import by_model, uniform
from tests.oracles import mbr as oracle

LISTS = st.lists(
    st.lists(st.text("ab .", max_size=8), min_size=1, max_size=5), min_size=1, max_size=3
)


def arrays(lists):
    texts = Texts.from_lines([line for one in lists for line in one], Vocabulary())
    return texts, np.cumsum([0, *map(len, lists)]).astype(np.int64)


def pair_stats(metric):
    def stats(hypothesis, reference):
        vocabulary = Vocabulary()
        one, other = (Texts.from_lines([line], vocabulary) for line in (hypothesis, reference))
        return metric.stats(Batch(one, np.array([0, 1]), other, np.array([0, 1])))[0]

    return stats


def test_by_hand():
    # WER: 1 - edits over the length of the reference.
    texts, offsets = arrays([["a b", "a c", "a b c d"], ["x"]])
    found = expected_scores(registry.metric("wer"), texts, offsets, uniform(offsets))
    third = 1 / 3
    assert found == pytest.approx(
        [third * (1 + 0.5 + 0.5), third * (0.5 + 1 + 0.5), third * (0 + 0 + 1), 1]
    )


def test_the_weights_are_those_of_the_definition():
    scores = np.array([-1.0, -3.0, -1.0, -2.0, 5.0])
    offsets = np.array([0, 4, 5])
    assert by_model(offsets, scores).tolist() == [0.25] * 4 + [1]
    assert by_model(offsets, scores, size=1).tolist() == [1, 0, 0, 0, 1]
    assert by_model(offsets, scores, size=3).tolist() == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3, 1])
    for temperature, size in ((1.0, None), (0.5, 3), (0.0, 2), (1e6, None)):
        found = by_model(offsets, scores, temperature=temperature, size=size)
        assert found[:4] == pytest.approx(oracle.truths(scores[:4].tolist(), temperature, size))
    assert by_model(offsets, scores, temperature=1e308).tolist() == [0.5, 0, 0.5, 0, 1]


@given(LISTS, st.sampled_from(["chrf", "bleu:smooth=add1", "ter"]), st.integers(1, 20))
def test_expected_scores_are_those_of_the_definition(lists, name, block):
    metric = registry.metric(name)
    texts, offsets = arrays(lists)
    weights = by_model(offsets, np.arange(len(texts)) * 0.1, temperature=1.0)
    stats = pair_stats(metric)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mbr, "PAIRS_PER_BLOCK", block)
        patch.setattr(mbr, "REFERENCES_PER_BLOCK", 1 + block % 3)
        found = expected_scores(metric, texts, offsets, weights)
        means = expected_scores(metric, texts, offsets, weights, average="statistics")
    for one, begin, end in zip(lists, offsets, offsets[1:], strict=False):
        expected = oracle.expected_scores(
            one, weights[begin:end], lambda h, r: float(metric.score(stats(h, r)))
        )
        assert found[begin:end] == pytest.approx(expected, abs=1e-12)
        expected = oracle.score_of_means(
            one, weights[begin:end], stats, lambda row: float(metric.score(np.array(row)))
        )
        assert means[begin:end] == pytest.approx(expected, abs=1e-12)


@given(LISTS)
def test_chrf_is_what_sacrebleu_averages(lists):
    texts, offsets = arrays(lists)
    found = expected_scores(registry.metric("chrf"), texts, offsets, uniform(offsets))
    sacre = CHRF()
    for one, begin, end in zip(lists, offsets, offsets[1:], strict=False):
        expected = oracle.expected_scores(
            one, [1 / len(one)] * len(one), lambda h, r: sacre.sentence_score(h, [r]).score / 100
        )
        assert found[begin:end] == pytest.approx(expected, abs=1e-9)


def test_equal_texts_score_alike_and_weigh_together():
    texts, offsets = arrays([["a b", "c", "a b", "c d", "a b"]])
    metric = registry.metric("chrf")
    found = expected_scores(metric, texts, offsets, uniform(offsets))
    assert found[0] == found[2] == found[4]
    once, of_once = arrays([["a b", "c", "c d"]])
    weights = np.array([0.6, 0.2, 0.2])
    assert found[[0, 1, 3]] == pytest.approx(expected_scores(metric, once, of_once, weights))


@pytest.mark.parametrize("name", ["bleu", "chrf", "nist", "meteor", "0.5*bleu + 0.5*chrf"])
def test_threads_and_blocks_change_nothing(name, monkeypatch):
    rng = np.random.default_rng(4)
    lists = [[" ".join(rng.choice(list("abcd"), size=6)) for _ in range(7)] for _ in range(5)]
    texts, offsets = arrays(lists)
    metric, weights = registry.metric(name), uniform(offsets)
    whole = expected_scores(metric, texts, offsets, weights)
    monkeypatch.setattr(mbr, "PAIRS_PER_BLOCK", 60)
    with using(threads=3):
        assert expected_scores(metric, texts, offsets, weights).tolist() == whole.tolist()


def test_what_needs_more_than_tokens_is_refused():
    texts, offsets = arrays([["a b"]])
    with pytest.raises(InputError, match="metric port reads links; minimum Bayes risk compares"):
        expected_scores(registry.metric("port"), texts, offsets, uniform(offsets))
    long, offsets = arrays([["a " * 20_001]])
    with pytest.raises(InputError, match="20001 tokens; ter compares at most 20000"):
        expected_scores(registry.metric("ter"), long, offsets, uniform(offsets))
