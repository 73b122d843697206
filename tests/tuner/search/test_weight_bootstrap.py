"""Samples of segments, and what is said about weights over them."""

import threading

import numpy as np
import pytest

from portmert.tuner.base.context import using
from portmert.tuner.components import registry
from portmert.tuner.search import weight_bootstrap
from portmert.tuner.search.list_statistics import statistics_table
from portmert.tuner.search.weight_bootstrap import bootstrap, confidence, found_on, resampled
from portmert.tuner.search.weight_search import Setup, find_weights
from portmert.tuner.weights.feature_weights import FeatureWeights
from tests.tuner.search.test_weight_search import LIST, read

START = FeatureWeights({"LM0": (0.5, 0.4), "WP0": (0.1,)})


def test_confidence_by_hand():
    # A is 0, .25, .5, .75, 1 of the whole.
    samples = [FeatureWeights({"A": (float(i),), "B": (4.0 - i,)}) for i in range(5)]
    sure = confidence(samples)
    assert sure.samples == 5
    assert sure.weights["A"] == [[pytest.approx(0.025), 0.5, pytest.approx(0.975)]]
    assert sure.as_json()["percentiles"] == [2.5, 50.0, 97.5]


def test_samples_are_drawn_with_replacement_and_each_is_its_own():
    drawn, seed = resampled(50, seed=3, sample=0)
    assert len(drawn) == 50
    assert (np.diff(drawn) >= 0).all()
    assert len(set(drawn.tolist())) < 45  # 50 (1 - 1/e) = 31.6 are expected
    again, same = resampled(50, seed=3, sample=0)
    other, another = resampled(50, seed=3, sample=1)
    assert (again == drawn).all()
    assert same == seed
    assert (other != drawn).any()
    assert another != seed


@pytest.mark.parametrize("segments", [[0], [1], [1, 1, 0]])
def test_segments_named_are_those_that_count(tmp_path, segments):
    nbest, references = read(tmp_path, LIST)
    metric = registry.metric("bleu:max_order=2")
    stats = statistics_table(nbest, references, metric)
    optimizer = registry.optimizer("mert", {"searches_per_feature": 30})
    found = find_weights(
        nbest, stats, metric, Setup(optimizer, (START,)), segments=np.array(segments),
    )  # fmt: skip
    # Under the start weights hypothesis 1 wins in either segment (rows 1 and 4).
    rows = stats.rows[[1, 4]][segments].sum(axis=0)
    assert found.start_score == pytest.approx(float(metric.score(rows)))
    assert found.score == pytest.approx(1.0)
    assert found.hypotheses == 3 * len(segments)


def test_a_sample_is_searched_from_the_weights_found(tmp_path):
    nbest, references = read(tmp_path, LIST)
    metric = registry.metric("port")
    stats = statistics_table(nbest, references, metric)
    setup = Setup(
        registry.optimizer("mert", {"searches_per_feature": 30, "restarts": 9}), (START,), seed=2
    )
    seen = []
    with using(progress=lambda _, *at: seen.append(at)):
        found = dict(bootstrap(nbest, stats, metric, setup, range(4)))
    assert seen == [(done, 4) for done in range(1, 5)]
    assert found_on(nbest, stats, metric, setup, 2) == found[2]
    assert len({str(one.values) for one in found.values()}) > 1
    assert confidence(list(found.values())).samples == 4


def test_threads_search_samples_at_once_and_find_the_same(tmp_path, monkeypatch):
    nbest, references = read(tmp_path, LIST)
    metric = registry.metric("bleu:max_order=2")
    stats = statistics_table(nbest, references, metric)
    setup = Setup(registry.optimizer("mert", {"searches_per_feature": 30}), (START,))

    def searched():
        return dict(bootstrap(nbest, stats, metric, setup, range(4)))

    alone = searched()
    together = threading.Barrier(2, timeout=600)  # passed by two samples at once, or by none

    def drawn(*arguments, **named):
        together.wait()
        return resampled(*arguments, **named)

    monkeypatch.setattr(weight_bootstrap, "resampled", drawn)
    with using(threads=2):
        assert searched() == alone
