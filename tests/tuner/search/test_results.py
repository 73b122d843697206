"""What the result of a search says, in JSON and as text."""

from dataclasses import replace

import numpy as np

from portmert.metrics._display import NOTHING
from portmert.tuner.components import registry
from portmert.tuner.nbest.model import featured
from portmert.tuner.search.results import PERCENTILES, Confidence
from portmert.tuner.search.stat_table import StatTable
from portmert.tuner.search.weight_search import Setup, find_weights
from portmert.tuner.weights.feature_weights import FeatureWeights


def found():
    features = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 2.0], [2.0, 0.0]])
    nbest = featured(features, np.array([0, 2, 4]), (("x", 1), ("y", 1)))
    stats = StatTable(np.array([[1.0, 2.0], [0.0, 2.0], [2.0, 2.0], [1.0, 2.0]]))
    start = FeatureWeights({"x": (1.0,), "y": (0.5,)})
    setup = Setup(optimizer=registry.optimizer("mert"), starts=(start,))
    return find_weights(nbest, stats, registry.metric("wer"), setup)


def test_what_a_result_lacks_is_not_in_its_json():
    result = replace(found(), warnings=(), first_score=0.5)
    shown = result.as_json()
    assert not {"warnings", "length_penalty", "bootstrap", "also"} & shown.keys()
    more = replace(result, warnings=("few segments",), length_penalty=0.5).as_json()
    assert more == {**shown, "warnings": ["few segments"], "length_penalty": 0.5}


def test_a_weight_that_is_the_same_in_all_samples_has_dashes():
    percentiles = [float(n) for n in range(len(PERCENTILES))]
    text = Confidence(5, {"lm": [percentiles], "tm": [None, percentiles]}).as_text()
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines()[2:]}
    assert rows["tm[1]"] == [NOTHING] * len(PERCENTILES)
    assert rows["lm"] == rows["tm[2]"] == [f"{value:.4f}" for value in percentiles]
