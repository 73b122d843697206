"""Learning weights: the objective, its best value, halves of documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from portmert.extensions.learned import metric_training as training
from portmert.extensions.learned.learned import feature_names
from portmert.tuner.base.errors import InputError

NAMES = feature_names("NB")


def examples(seed, *, segments=30, systems=4, names=NAMES):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(segments, systems, len(names)))
    human = values @ rng.normal(size=len(names)) + 2 * rng.normal(size=(segments, systems))
    return training.Examples(values, human, rng.integers(1, 30, segments).astype(float))


def objective(weights, data):
    return training.agreement(data.values @ weights, data)


def by_hand(scores, human, lengths):
    """Section 12.3, from its words."""
    points = []
    for ours, theirs, length in zip(scores, human, lengths, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            points.append((a - sum(ours) / len(ours), b - sum(theirs) / len(theirs), length))
    total = sum(w for *_, w in points)
    mx, my = (sum(w * point[k] for *point, w in points) / total for k in (0, 1))
    xy, xx, yy = (
        sum(w * (x - mx) ** a * (y - my) ** b for x, y, w in points)
        for a, b in ((1, 1), (2, 0), (0, 2))
    )
    return xy / (xx * yy) ** 0.5


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_agreement_is_the_weighted_mean_removed_correlation(seed):
    data = examples(seed, segments=4, systems=3)
    scores = data.values[:, :, 0]
    expected = by_hand(scores.tolist(), data.human.tolist(), data.lengths.tolist())
    assert training.agreement(scores, data) == pytest.approx(expected)


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_no_other_weights_agree_better(seed):
    data = examples(seed)
    weights = training.train(data, NAMES)
    best = objective(weights, data)
    assert best > 0
    rng = np.random.default_rng(seed)
    for size in (0.01, 0.1, 1.0):
        for other in weights + size * np.abs(weights).max() * rng.normal(size=(10, len(NAMES))):
            assert objective(other, data) <= best + 1e-6


@given(st.integers(0, 10**6))
@example(279)  # its solver ends 6e-18 above the bound
@settings(max_examples=20)
def test_edits_only_lower_a_score_and_matches_count_nothing(seed):
    names = feature_names("TB")
    data = examples(seed, names=names)
    weights = training.train(data, names)
    assert weights[0] == 0
    assert (weights[1:7] <= 0).all()
    best = objective(weights, data)
    rng = np.random.default_rng(seed)
    for other in weights + 0.1 * np.abs(weights).max() * rng.normal(size=(30, len(names))):
        other[0] = 0
        other[1:7] = np.minimum(other[1:7], 0)
        assert objective(other, data) <= best + 1e-6


def test_features_that_say_nothing_have_no_weight():
    data = examples(3)
    # The same for all systems of a segment, or never there: removing means leaves nothing.
    data.values[:, :, 1] = data.values[:, :1, 1]
    data.values[:, :, 2] = 0.0
    weights = training.train(data, NAMES)
    assert weights[[1, 2]].tolist() == [0, 0]
    assert np.count_nonzero(weights) == 4


def test_features_that_say_the_same_share_their_weight():
    data = examples(4)
    data.values[:, :, 1] = data.values[:, :, 0]
    weights = training.train(data, NAMES)
    assert weights[0] == pytest.approx(weights[1])
    assert weights[0] != 0


def test_weights_do_not_depend_on_the_scale_of_features():
    data = examples(5)
    scaled = training.Examples(data.values * 1000.0, data.human, data.lengths)
    assert training.train(data, NAMES) == pytest.approx(training.train(scaled, NAMES) * 1000.0)


def test_equal_human_scores_teach_nothing():
    data = examples(1)
    data.human[:] = data.human[:, :1]
    with pytest.raises(InputError, match="the same for all systems in every segment"):
        training.train(data, NAMES)


def test_halves_are_of_whole_documents_and_alike_in_length():
    documents = np.array([0, 0, 1, 1, 2, 3, 3, 3])
    lengths = np.array([5.0, 5, 6, 6, 30, 1, 1, 1])
    for seed in range(5):
        second = training.halves(documents, lengths, seed)
        assert 0 < second.sum() < len(second)
        for document in range(4):
            assert len(set(second[documents == document])) == 1
    chosen = [training.halves(documents, lengths, seed).tolist() for seed in range(8)]
    assert chosen[3] == training.halves(documents, lengths, 3).tolist()
    assert len({tuple(one) for one in chosen}) > 1


def test_one_document_has_no_halves():
    with pytest.raises(InputError, match="1 document; the halves to learn from"):
        training.halves(np.zeros(3, dtype=np.int64), np.ones(3), 1)


def test_two_fold_learns_on_one_half_and_tests_on_the_other():
    data = examples(7, segments=40)
    second = np.arange(40) % 2 == 1
    draws = training.draws_of(second, samples=200, seed=1)
    found = training.two_fold(data, second, groups="B", available="NB", draws=draws)
    part = data.of_features([4, 5])
    for k, half in enumerate((second, ~second)):
        weights = training.train(part.of_segments(~half), feature_names("B"))
        assert found.tested[k] == objective(weights, part.of_segments(half))
        assert found.trained[k] == objective(weights, part.of_segments(~half))
    assert found.mean == sum(found.tested) / 2
    low, high = np.quantile(found.samples, [0.025, 0.975])
    assert low < found.mean < high
    # Every segment once is the data itself.
    whole = (np.ones((1, second.sum())), np.ones((1, (~second).sum())))
    again = training.two_fold(data, second, groups="B", available="NB", draws=whole)
    assert again.samples[0] == pytest.approx(found.mean)


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_samples_are_agreements_of_segments_written_out(seed):
    data = examples(seed, segments=5, systems=3)
    scores = data.values[:, :, 0]
    times = np.random.default_rng(seed).multinomial(5, np.full(5, 0.2), size=1)
    kept = np.repeat(np.arange(5), times[0])
    expected = by_hand(scores[kept].tolist(), data.human[kept].tolist(), data.lengths[kept])
    found = training.agreements(scores, data, times.astype(float))
    assert found == pytest.approx([expected])


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=20)
def test_of_one_system_means_of_documents_are_removed(seed, known):
    data = examples(seed, segments=9, systems=1)
    documents = np.array([0, 0, 0, 3, 3, 3, 3, 5, 5]) if known else None
    data = replace(data, documents=documents)
    scores = data.values[:, :, 0]
    x, y = scores.ravel().copy(), data.human.ravel().copy()
    for document in set((documents if known else np.zeros(9, dtype=int)).tolist()):
        own = (documents if known else np.zeros(9, dtype=int)) == document
        for side in (x, y):
            side[own] -= np.average(side[own], weights=data.lengths[own])
    w = data.lengths
    expected = (w * x * y).sum() / np.sqrt((w * x * x).sum() * (w * y * y).sum())
    assert training.agreement(scores, data) == pytest.approx(expected)
    weights = training.train(data, NAMES)
    best = objective(weights, data)
    rng = np.random.default_rng(seed)
    for other in weights + 0.1 * np.abs(weights).max() * rng.normal(size=(20, len(NAMES))):
        assert objective(other, data) <= best + 1e-6


def test_halves_are_even_within_groups():
    # Eight documents of 10 words of one group, four of another.
    documents, lengths = np.arange(12), np.full(12, 10.0)
    groups = np.array([7] * 8 + [2] * 4)
    for seed in range(6):
        second = training.halves(documents, lengths, seed, groups=groups)
        assert (second[:8].sum(), second[8:].sum()) == (4, 2)
    uneven = {training.halves(documents, lengths, seed)[:8].sum() for seed in range(6)}
    assert len(uneven) > 1
    with pytest.raises(InputError, match="a document has segments of two groups"):
        training.halves(np.array([0, 0, 1]), np.ones(3), 1, groups=np.array([1, 2, 2]))


def test_conditions_are_all_sets_of_groups():
    assert training.all_conditions("ETB") == ["E", "T", "B", "ET", "EB", "TB", "ETB"]
