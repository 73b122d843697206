"""What is said where a decoder's scores are not weights . features."""

import numpy as np
import pytest

from portmert.metrics._base import Vocabulary
from portmert.tuner.nbest.check import order_of_firsts, score_fault
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.nbest.records import ListFile
from portmert.tuner.weights.feature_weights import FeatureWeights

WEIGHTS = FeatureWeights.of({"am": 1.0, "lm": 0.5, "pen": -0.2})


def lists(score, *, digits=6, segments=10):
    rng, lines = np.random.default_rng(1), []
    for segment in range(segments):
        for _ in range(20):
            words = int(rng.integers(1, 12))
            am, lm, pen = rng.normal(-20, 5), rng.normal(-30, 4), rng.normal()
            features = f"am= {am:.6f} lm= {lm:.6f} pen= {pen:.6f}"
            found = score(am, lm, pen, words) + 10 * segment
            lines.append(f"{segment} ||| {'w ' * words} ||| {features} ||| {found:.{digits}f}")
    return read_nbest([ListFile("x", "\n".join(lines).encode())], Vocabulary())


def right(am, lm, pen, _words):
    return am + 0.5 * lm - 0.2 * pen


@pytest.mark.parametrize("digits", [1, 3, 8])
def test_scores_that_are_right_but_for_rounding_a_factor_and_a_constant(digits):
    assert score_fault(lists(right, digits=digits), WEIGHTS) == ("", False)
    assert score_fault(lists(lambda *row: 3 * right(*row), digits=digits), WEIGHTS) == ("", False)


@pytest.mark.parametrize(
    ("score", "why"),
    [
        (
            lambda *row: right(*row) + 0.31 * row[3],
            "the score contains 0.31 for each word that no feature counts",
        ),
        (
            lambda am, lm, pen, _: am - 0.5 * lm - 0.2 * pen,
            "the score fits a weight of -0.5 of lm, which was given 0.5",
        ),
        (
            lambda am, lm, pen, _: am + 0.5 * np.log(10) * lm - 0.2 * pen,
            "lm, which was given 0.5 (natural logarithms against those to base 10)",
        ),
        (
            lambda *row: right(*row) / row[3],
            "the score is divided by the number of words, the features are not",
        ),
        (
            lambda am, lm, pen, _: 0.9 * am + 0.1 * lm + 0.2 * pen,
            "the score fits the weights am 0.9, lm 0.1, pen 0.2",
        ),
        (
            lambda am, lm, pen, words: 0.9 * am + 0.1 * lm + 0.2 * pen - words,
            "the score fits the weights am 0.9, lm 0.1, pen 0.2, and -1 for each word",
        ),
        (
            lambda *row: right(*row) + 5 * np.sin(100 * row[0]),
            "a feature is missing (does the decoder hide those that are not tuned?)",
        ),
    ],
)
def test_what_explains_the_scores(score, why):
    # A constant of each segment would hide a division.
    found, is_unlisted = score_fault(lists(score, segments=1 if "divided" in why else 10), WEIGHTS)
    assert found.endswith(why), found
    # Where the weights were used, the rest comes from what is not in the lists.
    assert is_unlisted == ("no feature counts" in why or "is missing" in why)
    assert "model scores" in found
    assert "(first: segment 0, hypothesis" in found


def test_a_decoder_that_hides_features_explains_any_difference():
    # 0.9 is the weight of a feature, were it not for what the decoder says.
    nbest = lists(lambda am, lm, pen, _: 0.9 * am + 0.1 * lm + 0.2 * pen)
    assert not score_fault(nbest, WEIGHTS).is_unlisted
    found, is_unlisted = score_fault(nbest, WEIGHTS, is_hiding=True)
    assert is_unlisted
    assert found.endswith("the decoder hides features that are not tuned")
    assert score_fault(lists(right), WEIGHTS, is_hiding=True) == ("", False)


@pytest.mark.parametrize(("order", "is_told"), [(-1, False), (0, True), (1, True)])
def test_first_hypotheses_that_no_score_puts_first_are_told(order, is_told):
    rng, lines = np.random.default_rng(1), []
    for segment in range(40):
        scores = rng.normal(size=5)
        scores = np.sort(scores)[::order] if order else scores
        lines += [f"{segment} ||| {n} ||| am= {am:.6f} ||| 0" for n, am in enumerate(scores)]
    nbest = read_nbest([ListFile("x", "\n".join(lines).encode())], Vocabulary())
    line = order_of_firsts(nbest, FeatureWeights.of({"am": 0.5}))
    assert ("`first` is an arbitrary choice" in line) == is_told
