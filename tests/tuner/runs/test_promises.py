"""What lists promised, beside what the decoder made of it."""

import numpy as np
import pytest

from portmert.metrics.bleu import Bleu
from portmert.metrics.terp import Ter
from portmert.tuner.runs.promises import Promise, cause, promise_of


def test_the_error_of_a_promise_is_of_the_difference():
    # differences without a fold: 0.1, 0.1, 0.4; mean 0.2; (3 - 1) / 3 * 0.06
    predicted, decoded = (0.5, np.array([0.5, 0.4, 0.3])), (0.3, np.array([0.6, 0.5, 0.7]))
    promise = promise_of(predicted, decoded)
    assert promise.error == pytest.approx(0.2)
    assert not Promise(0.5, 0.25, promise.error).is_kept
    assert Promise(0.5, 0.35, promise.error).is_kept


def test_without_an_error_nothing_shows_that_a_promise_was_broken():
    of_one_fold = promise_of((0.5, np.array([0.5])), (0.3, np.array([0.4])))
    of_equal_folds = promise_of((0.5, np.array([0.5, 0.5])), (0.25, np.array([0.25, 0.25])))
    for promise in (of_one_fold, of_equal_folds):
        assert promise.error is None
        assert promise.is_kept


def test_a_promise_is_exceeded_by_more_than_1_645_errors():
    assert Promise(0.40, 0.42, 0.01).is_exceeded(Bleu())
    assert not Promise(0.40, 0.416, 0.01).is_exceeded(Bleu())
    assert not Promise(0.40, 0.38, 0.01).is_exceeded(Bleu())
    assert Promise(0.40, 0.38, 0.01).is_exceeded(Ter())
    assert not Promise(0.40, 0.42, None).is_exceeded(Bleu())


def test_a_promise_as_one_reads_it():
    assert Promise(0.41, 0.352, 0.01).text(Bleu()) == "predicted 41.00, decoded 35.20 ± 1.00"
    assert Promise(0.41, 0.352, None).text(Bleu()) == "predicted 41.00, decoded 35.20"


@pytest.mark.parametrize(("new_share", "is_same", "said"), [
    (0.5, True, "the output did not change with the weights"),
    (0.25, False, "25% of the output was in no list before, and is worse"),
    (0.0, False, "features that its lists do not have"),
])  # fmt: skip
def test_a_broken_promise_has_a_likely_cause(new_share, is_same, said):
    promise = Promise(0.41, 0.35, 0.01)
    assert said in cause(promise, Bleu(), new_share=new_share, is_same=is_same)


def test_a_lower_error_rate_is_better_than_was_promised():
    others = {"new_share": 0.25, "is_same": False}
    assert "and is better" in cause(Promise(0.5, 0.4, 0.01), Ter(), **others)
    assert "and is worse" in cause(Promise(0.5, 0.6, 0.01), Ter(), **others)
