"""The length penalty: what it divides, and how alpha is searched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic.dataclasses import dataclass

import portmert
from portmert.metrics._base import Vocabulary
from portmert.tuner.base.errors import ConfigError, InputError, ScoreError
from portmert.tuner.base.warn import notices_to
from portmert.tuner.components import registry
from portmert.tuner.nbest.model import best_hypotheses
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.search.length_penalty import (
    GRID_POINTS,
    TOLERANCE,
    LengthPenalty,
    find_alpha,
    find_weights_and_alpha,
    penalised,
)
from portmert.tuner.search.list_statistics import statistics_table
from portmert.tuner.search.weight_search import Setup
from portmert.tuner.texts.corpus import read_references
from portmert.tuner.weights.feature_weights import (
    FeatureWeights,
    read_penalised_weights,
    read_weights,
)
from tests.support.examples import examples

# A model that adds log-probabilities prefers the short hypothesis: -2 > -3; per token the long one
# is better: -3 / 6 > -2 / 2. From alpha = log(3 / 2) / log(6 / 2) = 0.369 on it wins.
LIST = """\
0 ||| a b ||| F0= -2 ||| -2
0 ||| a b c d e f ||| F0= -3 ||| -3
1 ||| g ||| F0= -1 ||| -1
1 |||  ||| F0= -2 s_x= 4 ||| -1
"""
THRESHOLD = np.log(1.5) / np.log(3)


@pytest.fixture
def lists(tmp_path):
    (tmp_path / "list").write_text(LIST)
    (tmp_path / "ref").write_text("a b c d e f\ng\n")
    vocabulary = Vocabulary()
    references = read_references([tmp_path / "ref"], vocabulary=vocabulary)
    return read_nbest([tmp_path / "list"], vocabulary), references


def test_features_are_divided_by_powers_of_the_length(lists):
    nbest, _ = lists
    found = penalised(nbest, 2.0)
    assert found.features[:, 0].tolist() == [-2 / 4, -3 / 36, -1, -2]  # an empty one has length 1
    assert found.sparse.values.tolist() == [4.0]
    assert found.features.flags.f_contiguous
    assert penalised(nbest, 0.0) is nbest
    assert nbest.features[:, 0].tolist() == [-2, -3, -1, -2]
    negative = penalised(nbest, -1.0)
    assert negative.features[:, 0].tolist() == [-4, -18, -1, -2]


def optimized(lists, text, start_alpha=0.0):
    nbest, references = lists
    metric = registry.metric("bleu:smooth=add1")
    said = []
    stats = statistics_table(nbest, references, metric)
    with notices_to(said.append):
        found = find_weights_and_alpha(
            nbest, stats, metric,
            Setup(
                registry.optimizer("mert", {"searches_per_feature": 20, "restarts": 1}),
                starts=(FeatureWeights({"F0": (1.0,)}),),
            ),
            penalty=LengthPenalty.parse(text), start_alpha=start_alpha,
        )  # fmt: skip
    return found, found.length_penalty, said


def test_search_finds_the_alpha_under_which_the_long_hypothesis_wins(lists):
    found, alpha, said = optimized(lists, "0:2")
    # positive weights; the least alpha of the best score, up to the tolerance
    assert found.weights.values["F0"][0] > 0
    assert THRESHOLD < alpha <= THRESHOLD + TOLERANCE * 2
    assert found.score == pytest.approx(1.0)
    assert found.start_score < 1.0
    assert len(said) == len(set(said))
    assert found.seconds["search"] > 0
    nbest, references = lists
    metric = registry.metric("bleu:smooth=add1")
    stats = statistics_table(nbest, references, metric)
    again = penalised(nbest, alpha)
    best = best_hypotheses(again, found.weights)
    assert float(metric.score(stats.total(best))) == found.score


def test_fixed_alpha_is_taken_and_start_score_is_of_the_start(lists):
    found, alpha, _ = optimized(lists, "1", start_alpha=1.0)
    assert alpha == 1.0
    assert found.start_score == found.score == pytest.approx(1.0)


@examples(200)
@given(st.floats(-1, 3), st.floats(0.01, 2), st.floats(0.05, 1))
def test_search_of_a_hill_comes_near_its_top(top, low_width, high_width):
    penalty = LengthPenalty(top - low_width, top + high_width)
    calls = []

    def value(alpha):
        calls.append(alpha)
        return -abs(alpha - top), -abs(alpha)

    alpha = find_alpha(value, penalty)
    assert abs(alpha - top) <= TOLERANCE * (penalty.high - penalty.low)
    assert all(penalty.low <= call <= penalty.high for call in calls)
    assert len(set(calls)) <= GRID_POINTS + 10


@pytest.mark.parametrize(
    ("text", "expected"), [("0:2", 0.0), ("-1:1", 0.0), ("-2:-1", -1.0), ("1:3", 1.0)]
)
def test_of_equal_scores_the_alpha_nearest_0_is_taken(text, expected):
    assert find_alpha(lambda alpha: (1.0, -abs(alpha)), LengthPenalty.parse(text)) == expected


@pytest.mark.parametrize("text", ["", "a", "1:", "2:1", "0:1:2", "nan", "0:inf", "0:2147483648"])
def test_wrong_penalties_are_refused(text):
    with pytest.raises(ConfigError, match=r"expected a number, as 0\.6, or a range, as 0:2"):
        LengthPenalty.parse(text)


def test_penalty_stands_in_the_weights_file(tmp_path):
    path = tmp_path / "w.json"
    path.write_text('{"weights": {"F0": [1]}, "length_penalty": 0.5}')
    assert read_penalised_weights(path) == (FeatureWeights({"F0": (1.0,)}), 0.5)
    path.write_text('{"weights": {"F0": [1]}}')
    assert read_penalised_weights(path)[1] == 0.0
    path.write_text("F0= 1\n")
    assert read_penalised_weights(path)[1] == 0.0


def test_who_does_not_know_penalties_refuses_weights_with_one(tmp_path):
    path = tmp_path / "w.json"
    path.write_text('{"weights": {"F0": [1]}, "length_penalty": 0.5}')
    with pytest.raises(
        InputError, match=r"w\.json: these weights go with a length penalty \(0\.5"
    ):
        read_weights(path)
    path.write_text('{"weights": {"F0": [1]}, "length_penalty": 0}')
    assert read_weights(path) == FeatureWeights({"F0": (1.0,)})


@pytest.mark.parametrize("found", ['"1"', "true", "null", "NaN", "[1]", "1e400", "1" + "0" * 400])
def test_penalty_that_is_no_number_is_refused(tmp_path, found):
    path = tmp_path / "w.json"
    path.write_text(f'{{"weights": {{"F0": [1]}}, "length_penalty": {found}}}')
    with pytest.raises(InputError, match=r"w\.json: .*(expected a number|no number of JSON)"):
        read_penalised_weights(path)


@dataclass(frozen=True)
class EvenLength(portmert.Metric):
    """The share of matched words; no number for an odd number of words."""

    stat_names = ("matched", "words")

    def stats(self, batch):
        return np.array([[len({*w} & {*r[0]}), len(w)] for w, r in batch.words()], dtype=float)

    def score(self, stats):
        matched, words = np.moveaxis(stats, -1, 0)
        return np.where(words % 2 == 1, np.nan, matched / np.maximum(words, 1))


def odd_from(alphas):
    """Optimize where one weight stays, so that alpha decides: from 0.7 on, the odd text wins."""
    records = [
        {"id": 0, "text": "a b", "features": {"F": -2.0}},
        {"id": 0, "text": "a b c", "features": {"F": -2.7}},
    ]
    return portmert.optimize(
        portmert.Lists.from_records(records, refs=[["a b c"]]), EvenLength(), weights={"F": 1},
        constraints={"fixed": ["F"]}, length_penalty=alphas, optimizer="coordinate",
        )  # fmt: skip


def test_an_alpha_whose_score_is_no_number_is_the_worst():
    found = odd_from("0:1")
    assert found.score == 1.0
    assert found.length_penalty < 0.75


def test_a_range_without_a_score_is_an_error():
    with pytest.raises(ScoreError, match="even-length is nan for the sums"):
        odd_from("0.8:1")
