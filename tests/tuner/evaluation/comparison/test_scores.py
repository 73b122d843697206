"""What is said of scores and their spread."""

import pytest

from portmert.tuner.evaluation.comparison.sentences import against, headlines

BLEU = {"label": "bleu", "higher_is_better": True, "in_percent": True}
WER = {**BLEU, "label": "wer", "is_error_rate": True}


def score(system, replicas, difference=None, p=None, p_holm=None):
    return {
        "metric": "bleu", "system": system, "replica_scores": [0.3] * replicas,
        "family": "planned", "difference": difference, "p": p,
        "p_holm": p if p_holm is None else p_holm,
    }  # fmt: skip


def said_of(*scores):
    """The headlines of systems of these scores."""
    systems = [
        {"name": one["system"], "tuned_on": None, "replicas": len(one["replica_scores"])}
        for one in scores
    ]
    known = {"systems": systems, "metrics": [BLEU], "scores": scores, "confidence": 0.95}
    return headlines(known | {"tuning_luck_untested": luck_untested(systems)})


def luck_untested(systems):
    return [one["name"] for one in systems if one["replicas"] == 1]


@pytest.mark.parametrize(
    ("metric", "change", "p", "said"),
    [
        (BLEU, -0.0301, 0.0004, "tuned beats first by 3.01 bleu, p = 0.0004"),
        (BLEU, 0.0301, 0.0004, "first beats tuned by 3.01 bleu, p = 0.0004"),
        (
            BLEU,
            -0.0301,
            0.3,
            "no difference shown between tuned and first (+3.01 bleu, p = 0.3000)",
        ),
        (WER, -0.0301, 0.0004, "tuned beats first: it lowers wer by 3.01, p = 0.0004"),
        (WER, 0.0301, 0.0004, "first beats tuned: it lowers wer by 3.01, p = 0.0004"),
        (
            WER,
            -0.0301,
            0.3,
            "no difference shown between tuned and first (-3.01 wer ↓, p = 0.3000)",
        ),
    ],
)
def test_the_answer_names_the_winner(metric, change, p, said):
    scores = [score("tuned", 3), score("first", 1, change, p)]
    scores = [{**row, "metric": metric["label"]} for row in scores]
    known = {
        "systems": [{"name": "tuned", "tuned_on": None}],
        "metrics": [metric],
        "scores": scores,
    }
    assert against(known | {"confidence": 0.95}, "first") == [said]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (1, 1, "; chance in tuning untested"),
        (1, 3, "; chance in tuning of a untested"),
        (3, 1, "; chance in tuning of b untested"),
        (3, 2, ""),
    ],
)
def test_the_heading_says_whose_luck_of_tuning_is_untested(first, second, said):
    (line,) = said_of(score("a", first), score("b", second, 0.02, 0.01))
    assert line == f"bleu: b is better than a (+2.00, p = 0.0100{said})"


def test_the_verdict_is_that_of_both_kinds_of_chance():
    lines = [said_of(score("a", 3), score("b", 3, -0.02, p)) for p in (0.06, 0.00001)]
    assert lines == [
        ("bleu: no difference shown between b and a (-2.00, p = 0.0600)",),
        ("bleu: b is worse than a (-2.00, p < 0.0001)",),
    ]


def test_a_corrected_p_is_said_where_it_differs_and_never_as_nothing():
    found = []
    for p, corrected in ((0.00001, 0.00004), (0.00001, 0.0123), (0.01, 0.02)):
        second = score("b", 3, 0.02, p, corrected)
        (line,) = said_of(score("a", 3), second)
        found.append(line.removeprefix("bleu: b is better than a (+2.00, "))
    assert found == [
        "p < 0.0001)",
        "p < 0.0001, 0.0123 corrected)",
        "p = 0.0100, 0.0200 corrected)",
    ]
