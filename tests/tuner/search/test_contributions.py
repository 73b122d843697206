"""What each weight does: shares by hand, scores without a weight by an independent choice."""

import numpy as np
import pytest

import portmert
from portmert.tuner.base.errors import InputError
from portmert.tuner.search.contributions import Contribution, as_json, of_weights, table
from portmert.tuner.weights.feature_weights import FeatureWeights
from portmert.tuner.weights.recognisers import in_recognisers_terms, in_steps

FEATURES = [[[1.0, 0.0, 5.0], [0.0, 2.0, 5.0]], [[2.0, 0.0, 5.0], [0.0, 1.0, 5.0]]]
SCORES = [[0.1, 0.9], [0.2, 0.8]]


def optimized(**options):
    lists = portmert.Lists.from_arrays(FEATURES, scores=SCORES)
    return portmert.optimize(lists, optimizer="mert", **options)


def test_a_share_is_the_weight_times_the_spread_within_lists():
    result = optimized()
    # Deviations from the segment's mean: 0.5 and 1 in the two lists, so the root mean square of
    # f0 is sqrt((0.25 + 1) / 2); f1 has 1 and 0.5; f2 never differs.
    spread = np.array([np.sqrt(0.625), np.sqrt(0.625), 0.0])
    moved = np.abs(result.vector * spread)
    shares = [row.share for row in result.contributions]
    assert shares == pytest.approx((moved / moved.sum()).tolist())
    assert [row.weight for row in result.contributions] == result.vector.tolist()
    assert result.as_json()["contributions"]["f0"] == {
        "weight": result.contributions[0].weight,
        "share": shares[0],
    }


def test_without_a_weight_the_others_stay():
    result = optimized(contributions=True)
    weights = result.vector
    for place, row in enumerate(result.contributions):
        fewer = weights.copy()
        fewer[place] = 0.0
        best = [max(range(2), key=lambda k: (np.dot(rows[k], fewer), -k)) for rows in FEATURES]
        mean = np.mean([scores[k] for scores, k in zip(SCORES, best, strict=True)])
        assert row.without == pytest.approx(mean)


def test_a_table_names_values_and_shows_the_heaviest():
    weights = FeatureWeights({"TM": (0.5, -0.25), "LM": (1.0,)})
    text = table(of_weights(weights), portmert.metric("bleu")).text()
    assert [line.split() for line in text.splitlines()[4:]] == [
        ["TM[1]", "0.5"], ["TM[2]", "-0.25"], ["LM", "1"],
    ]  # fmt: skip
    many = [Contribution(f"f{n}", 1.0, n / 100) for n in range(40)]
    text = table(many, portmert.metric("bleu")).text()
    assert "f9 " not in text
    assert "f10 " in text
    assert "10 lighter weights are left out" in " ".join(text.split())
    assert len(as_json(many)["contributions"]) == 40
    assert len(table(many[:1] * 40, portmert.metric("bleu")).rows) == 30  # equal ones


def test_weights_of_a_recogniser_are_shown_in_its_terms():
    weights = FeatureWeights({"-ac": (0.5,), "-lm": (6.0,), "length": (-1.5,)})
    rows, metric = of_weights(weights), portmert.metric("wer")
    assert as_json(rows)["recogniser"] == {
        "lm_weight": 12.0, "word_bonus": -3.0, "insertion_penalty": 0.25,
        "kaldi": {"lmwt": 12.0, "acwt": 1 / 12, "word-ins-penalty": 0.25},
        "slf": {"acscale": 1.0, "lmscale": 12.0, "wdpenalty": -3.0},
        "espnet": {"lm_weight": 12.0, "penalty": -3.0},
    }  # fmt: skip
    line = table(rows, metric).text().splitlines()[-1]
    assert line.startswith(
        "LM weight (lw, alpha) 12; for each word -3 (beta, log of wip), as Kaldi"
    )
    assert "recogniser" not in as_json(rows[1:])


def test_steps_of_a_recogniser_are_the_nearest_pairs():
    weights = FeatureWeights({"-ac": (0.5,), "x": (7.0,), "-lm": (5.2,), "length": (-1.5,)})
    pairs = [
        (terms["lm_weight"], terms["insertion_penalty"])
        for terms in map(in_recognisers_terms, in_steps(weights, 0.25))
    ]
    assert pairs == [(10, 0.25), (10, 0.5), (11, 0.25), (11, 0.5)]
    assert all(each.values["x"] == (7.0,) for each in in_steps(weights, 0.25))
    for step, wrong in ((0.0, weights), (1.0, FeatureWeights({"lm": (1.0,), "length": (1.0,)}))):
        with pytest.raises(InputError, match="--penalty-step needs a step above 0"):
            in_steps(wrong, step)
