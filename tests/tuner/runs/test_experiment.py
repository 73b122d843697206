import re
from dataclasses import replace
from pathlib import Path

import pytest

from portmert.metrics.bleu import Bleu
from portmert.metrics.terp import Ter
from portmert.tuner.base.errors import StateError
from portmert.tuner.runs.config import Tune
from portmert.tuner.runs.folder import today
from portmert.tuner.runs.records import Scored, read_file, write_json
from portmert.tuner.runs.result import Iteration, best_iteration
from portmert.tuner.runs.stopping import enough, stop_reason
from portmert.tuner.search.steps import Steps

TUNE = Tune(Path("run"), iterations=5, patience=2, min_weight_change=0.01, min_gain=1.0)
RULES = {"tune": TUNE, "metric": Bleu()}


def iterations(*scores, new=10, change=None):
    made = [Iteration(n, 10 * n, 10, score, change=0.5) for n, score in enumerate(scores, 1)]
    last = made.pop()
    return [*made, Iteration(last.number, last.hypotheses, new, last.dev_score, change=change)]


def test_the_loop_goes_on_while_the_score_rises():
    assert stop_reason(iterations(0.1, 0.2, 0.3, change=0.5), **RULES) is None


def test_the_first_iteration_always_goes_on():
    assert stop_reason(iterations(0.1), **RULES) is None


def test_nothing_new_stops():
    said = stop_reason(iterations(0.1, 0.2, new=0), **RULES)
    assert said == "the decoder found no new hypothesis"


def test_a_score_that_does_not_rise_stops_after_patience_iterations():
    assert stop_reason(iterations(0.2, 0.1), **RULES) is None
    said = stop_reason(iterations(0.2, 0.1, 0.2), **RULES)  # equal is not risen
    assert said == "the dev score has not improved for 2 iterations"


def test_lower_is_better_where_the_metric_says_so():
    assert stop_reason(iterations(0.3, 0.2, 0.1), **(RULES | {"metric": Ter()})) is None
    said = stop_reason(iterations(0.1, 0.2, 0.3), **(RULES | {"metric": Ter()}))
    assert said == "the dev score has not improved for 2 iterations"
    assert best_iteration(iterations(0.2, 0.1, 0.1), Ter()).number == 2


def test_the_limit_counts_optimizations_and_the_last_weights_are_still_decoded():
    rising = (0.1, 0.2, 0.3, 0.4, 0.5)
    assert stop_reason(iterations(*rising, change=0.5), **RULES) is None
    said = stop_reason(iterations(*rising, 0.6), **RULES)
    assert said == "the limit of 5 searches is reached"


def test_weights_that_stand_still_stop():
    assert stop_reason(iterations(0.1, 0.2, change=0.01), **RULES) is None
    said = stop_reason(iterations(0.1, 0.2, change=0.009), **RULES)
    assert said == "the weights stand still (change 0.009)"


def stepped(number, gain, error, **more):
    return Iteration(number, 10, 10, 0.1, gain=gain, gain_error=error, **more)


def test_a_gain_within_its_error_is_not_worth_a_decoding():
    assert stop_reason([stepped(3, 0.011, 0.01)], **RULES) is None
    said = stop_reason([stepped(3, 0.01, 0.01)], **RULES)
    assert said == "the next weights gain 1.00 ± 1.00 on all lists"
    assert stop_reason([stepped(4, -0.2, 0.01, held_out_score=0.1)], **RULES)
    # The first lists show too little.
    assert stop_reason([stepped(2, -0.2, 0.01)], **RULES) is None
    assert stop_reason([stepped(3, None, None)], **RULES) is None  # nothing is held out
    never = RULES | {"tune": replace(TUNE, min_gain=0.0)}
    assert stop_reason([stepped(3, -1.0, 0.1)], **never) is None


def test_no_rule_but_a_limit_ends_a_run_behind_a_step_that_was_cut_short():
    small = stepped(3, -0.2, 0.01, change=0.001)
    assert stop_reason([small], **RULES, steps=Steps((1, 1 / 2, 1 / 3)))
    for cut in ((1, 0.1, 1 / 3), (1, 1 / 2, 0.1)):
        assert stop_reason([small], **RULES, steps=Steps(cut)) is None


def test_the_limit_of_decodings_leaves_the_last_weights_undecoded():
    rules = RULES | {"tune": replace(TUNE, decodings=2, min_gain=0.0)}
    assert enough(stepped(1, None, None), rules["tune"]) is None
    assert enough(stepped(2, None, None), rules["tune"]) == "the limit of 2 decodings is reached"
    # A held-out set judges every result, so it must be decoded.
    held = stepped(2, None, None, held_out_score=0.3)
    assert enough(held, rules["tune"]) is None
    assert stop_reason([stepped(1, 0, 0), held], **rules) == "the limit of 2 decodings is reached"


def test_the_best_is_judged_by_held_out_text_or_else_by_the_estimate_for_unseen_text():
    start = Iteration(1, 10, 10, 0.30, unseen_score=0.30)
    tuned = Iteration(2, 20, 10, 0.33, unseen_score=0.29)  # found on segments it is 0.04 better on
    assert best_iteration([start, tuned], Bleu()) is start
    assert best_iteration([start, tuned], Ter()) is tuned
    start, tuned = replace(start, held_out_score=0.2), replace(tuned, held_out_score=0.21)
    assert best_iteration([start, tuned], Bleu()) is tuned
    assert [one.judged_by for one in iterations(0.1)] == ["the dev score"]
    said = stop_reason(
        [start, *[replace(tuned, held_out_score=0.1)] * 2],
        **RULES | {"tune": replace(TUNE, patience=1)},
    )
    assert said == "the held-out score has not improved for 1 iteration"


def test_best_iteration_is_the_earliest_of_equal_scores():
    assert best_iteration(iterations(0.1, 0.3, 0.3, 0.2), Bleu()).number == 2


def test_the_date_of_a_header_can_be_set(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1340000000")
    assert today() == "2012-06-18"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "9" * 13)  # of no year that there is
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", today())
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", today())


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ({"score": "1"}, "score"),
        ({"score": True}, "score"),
        ({}, "score"),
        ({"parts": [1]}, "parts"),
    ],
)
def test_a_key_of_a_run_file_that_is_damaged_is_named(tmp_path, content, key):
    path, whole = tmp_path / "scores.json", {"score": 1, "parts": {"bp": 0.5}}
    write_json(path, whole)
    assert read_file(path, Scored) == Scored(**whole)
    write_json(path, content if not content else whole | content)
    with pytest.raises(StateError, match=f"{key} is not what portmert writes there; is the"):
        read_file(path, Scored)
