"""Texts of a list against each other: the same statistics as of a batch that repeats them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portmert.metrics._base import Batch, Texts, Vocabulary
from portmert.metrics._pairs import PairBatch, WeightedLists
from portmert.metrics.kernels.pairs import first_equals, mean_matches, pair_matches
from portmert.tuner import families
from portmert.tuner.components import registry
from tests.oracles.mbr import clipped

# Compiled, products of words wrap around in silence.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

TOKENS = [
    name
    for name in families.own_names("metric")
    if not registry.metric(name).needs and registry.metric(name).reads_references
]
LISTS = st.lists(
    st.lists(st.lists(st.sampled_from("ab."), max_size=6), min_size=1, max_size=4),
    min_size=1,
    max_size=3,
)


def texts_of(lists):
    vocabulary = Vocabulary()
    texts = Texts.from_lines([" ".join(words) for one in lists for words in one], vocabulary)
    return texts, np.cumsum([0, *map(len, lists)]).astype(np.int64)


def all_pairs(texts, offsets, chosen=None):
    sizes = np.diff(offsets)
    firsts, lasts = (np.repeat(ends, sizes) for ends in (offsets[:-1], offsets[1:]))
    chosen = np.arange(len(texts)) if chosen is None else chosen
    return PairBatch.of(texts, firsts[chosen], lasts[chosen], chosen)


def copied(pairs):
    """The same as a plain batch, its texts copied."""
    texts = pairs.single
    rows = np.concatenate(
        [np.arange(a, b) for a, b in zip(pairs.firsts, pairs.lasts, strict=True)]
    )
    return Batch(
        texts.take(rows),
        pairs.offsets,
        texts.take(pairs.reference_of),
        pairs.reference_offsets,
        whole=pairs.corpus,
    )


def test_by_hand():
    texts, offsets = texts_of([[["a", "a", "b"], ["a", "b"], ["b", "a", "a", "a"]]])
    tokens = texts.tokens
    found = pair_matches(
        tokens.values, tokens.offsets, np.array([0, 0]), np.array([3, 3]), np.array([0, 2]), 2
    )
    # Against "a a b": itself 3 words and 2 pairs; "a b" 2 and 1; "b a a a" 3 and "a a".
    assert found.T.tolist() == [[3, 2], [2, 1], [3, 1], [3, 1], [2, 0], [4, 3]]
    means = mean_matches(tokens.values, tokens.offsets, offsets, np.array([0.5, 0, 0.5]), 2)
    assert means.tolist() == [[3, 1.5], [2, 0.5], [3.5, 2]]


def test_more_than_a_word_of_bits_and_a_table_that_grows():
    rng = np.random.default_rng(3)
    rows = [[f"w{k}" for k in rng.integers(0, 60, size=300)] for _ in range(5)]
    texts, offsets = texts_of([rows])
    tokens, every = texts.tokens, np.arange(5)
    found = pair_matches(tokens.values, tokens.offsets, np.zeros(5, int), np.full(5, 5), every, 3)
    for pair, (r, h) in enumerate(np.ndindex(5, 5)):
        assert found[:, pair].tolist() == [clipped(rows[h], rows[r], n) for n in (1, 2, 3)]
    means = mean_matches(tokens.values, tokens.offsets, offsets, np.full(5, 0.2), 3)
    assert pytest.approx(found.reshape(3, 5, 5).mean(axis=1)) == means.T


@given(LISTS, st.integers(1, 4), st.randoms(use_true_random=False))
def test_matches_are_those_of_the_definition(lists, order, random):
    texts, offsets = texts_of(lists)
    chosen = np.array([r for r in range(len(texts)) if random.random() < 0.7] or [0])
    pairs = all_pairs(texts, offsets, chosen)
    tokens = texts.tokens
    found = pair_matches(
        tokens.values, tokens.offsets, pairs.firsts, pairs.lasts, pairs.reference_of, order
    )
    rows = [words for one in lists for words in one]
    expected = [
        [clipped(rows[h], rows[r], n) for n in range(1, order + 1)]
        for a, b, r in zip(pairs.firsts, pairs.lasts, chosen, strict=True)
        for h in range(a, b)
    ]
    assert found.T.tolist() == expected


@pytest.mark.parametrize("name", [*TOKENS, "chrf:word_order=2", "bleu:smooth=exp"])
@settings(max_examples=15)
@given(lists=LISTS)
def test_statistics_are_those_of_a_batch_that_repeats_the_texts(name, lists):
    metric = registry.metric(name)
    pairs = all_pairs(*texts_of(lists))
    np.testing.assert_array_equal(metric.stats(pairs), metric.stats(copied(pairs)))


@pytest.mark.parametrize("name", [*TOKENS, "chrf:word_order=2", "chrf:max_order=2"])
@settings(max_examples=20)
@given(lists=LISTS, random=st.randoms(use_true_random=False))
def test_mean_statistics_are_means_of_those_of_pairs(name, lists, random):
    metric = registry.metric(name)
    texts, offsets = texts_of(lists)
    weights = np.array([random.random() + 0.1 for _ in range(len(texts))])
    weights /= np.repeat(np.add.reduceat(weights, offsets[:-1]), np.diff(offsets))
    mean = metric.mean_stats(WeightedLists.of(texts, offsets, weights))
    assert (mean is not None) == (name.partition(":")[0] in ("bleu", "chrf"))
    if mean is None:
        return
    pairs = all_pairs(texts, offsets)
    stats = metric.stats(pairs)
    expected = np.zeros_like(mean)
    for q, (a, b) in enumerate(zip(pairs.firsts, pairs.lasts, strict=True)):
        expected[a:b] += weights[q] * stats[pairs.offsets[q] : pairs.offsets[q + 1]]
    assert mean == pytest.approx(expected, abs=1e-12)


@given(LISTS)
def test_the_first_of_equal_texts_of_a_list(lists):
    texts, offsets = texts_of(lists)
    found = first_equals(texts.tokens.values, texts.tokens.offsets, offsets)
    expected = [
        start + one.index(words)
        for start, one in zip(offsets, lists, strict=False)
        for words in one
    ]
    assert found.tolist() == expected


def test_texts_are_not_equal_because_they_share_a_slot_of_the_table():
    tokens = np.arange(500, 0, -1).astype(np.int32) * 4096
    found = first_equals(tokens, np.arange(501), np.array([0, 200, 500]))
    assert found.tolist() == list(range(500))
