"""Kappa, the filter of judges, and the sign test."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.extensions.people.answers import Answers
from portmert.extensions.people.results import evaluate, fleiss_kappa, outliers, sign_test, tables
from portmert.tuner.base.errors import InputError
from tests.oracles import metaeval as oracle
from tests.support.evaluations import evaluation

# Fleiss 1971 as often reprinted: 10 items, 14 judges, 5 categories.
FLEISS = np.array(
    [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]
)  # fmt: skip


def answers_of(one, vote):
    return [
        Answers(
            Path(judge), one, judge, {row.item: vote(judge, row.item) for row in one.sheets[judge]}
        )
        for judge in one.sheets
    ]


def common_items(one):
    return [item for item, what in one.items.items() if what.common]


def test_kappa_of_a_published_table():
    assert fleiss_kappa(FLEISS) == pytest.approx(0.210, abs=5e-4)


def test_kappa_by_hand():
    # P = 1, 1/3; p = 4/6, 2/6: kappa = (2/3 - 5/9) / (4/9) = 1/4.
    assert fleiss_kappa(np.array([[3, 0, 0], [1, 2, 0]])) == pytest.approx(0.25)


def test_judgments_of_one_category_have_no_kappa():
    assert fleiss_kappa(np.array([[0, 3, 0], [0, 3, 0]])) is None


@given(st.integers(2, 5).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=1, max_size=6)
))  # fmt: skip
def test_kappa_is_the_twins(ratings):
    counts = np.array([[item.count(c) for c in range(3)] for item in ratings])
    if np.count_nonzero(counts.sum(axis=0)) > 1:
        assert fleiss_kappa(counts) == pytest.approx(oracle.fleiss_kappa(ratings))


def test_the_sign_test_of_the_paper():
    one, two = sign_test(136, 98)
    assert one == pytest.approx(0.0077, abs=5e-5)
    assert two == pytest.approx(0.0154, abs=1e-4)
    assert sign_test(0, 0) == (None, None)


@given(st.integers(0, 30), st.integers(0, 30))
def test_the_sign_test_is_the_twins(wins, losses):
    if wins + losses:
        assert sign_test(wins, losses) == pytest.approx(oracle.sign_test(wins, losses))


def test_the_filter_drops_who_disagrees_and_literally_who_agrees():
    without = np.array([0.5, 0.9, 0.4, 0.9])
    assert outliers(0.6, without, count=1, literal=False) == [1]  # of equals the first
    assert outliers(0.6, without, count=2, literal=False) == [1, 3]
    assert outliers(0.6, without, count=1, literal=True) == [2]


def test_an_outlier_is_left_out_of_all_counts():
    one = evaluation(judges=("ada", "bob", "eve", "joe"), per_judge=6, common=4)
    common = common_items(one)

    def vote(judge, item):
        return 1 if judge == "joe" else (0 if item in common[:2] else 2)

    everyone = evaluate(answers_of(one, vote))
    kept = evaluate(answers_of(one, vote), drop=1)
    (agreement,) = kept["agreement"]
    assert agreement["dropped"] == ("joe",)
    assert agreement["items"] == 4
    assert agreement["kappa_kept"] == 1.0 == agreement["without"]["joe"]
    assert agreement["kappa"] < agreement["without"]["joe"]
    # Joe's own two items were the only ones the second system won.
    assert [one["losses"] for one in everyone["preferences"]] == [2]
    assert [(one["wins"], one["losses"], one["ties"]) for one in kept["preferences"]] == [
        (2, 0, 8)
    ]
    literal = evaluate(answers_of(one, vote), drop=1, literal=True)
    assert literal["agreement"][0]["dropped"] == ("ada",)


def test_common_items_may_measure_agreement_alone():
    """Four judges, ten items each, four of them common: 4 x 6, as the PORT paper counts."""
    one = evaluation(judges=("ada", "bob", "eve", "joe"), per_judge=10, common=4)
    answers = answers_of(one, lambda _, item: 0 if one.items[item].common else 1)
    for how, wins, losses in (("majority", 4, 24), ("agreement-only", 0, 24)):
        result = evaluate(answers, common=how)
        (row,) = result["preferences"]
        assert (row["wins"], row["losses"], row["ties"]) == (wins, losses, 0)
        assert result["agreement"][0]["items"] == 4
        assert result["common"] == how
    every = evaluation(per_judge=3, common=3)
    with pytest.raises(InputError, match="all items are common, and --common agreement-only"):
        evaluate(answers_of(every, lambda *_: 0), common="agreement-only")


def test_a_common_item_counts_once_as_most_say():
    one = evaluation(per_judge=3, common=3)
    first, second, third = common_items(one)
    votes = {
        "ada": {first: 0, second: 0, third: 1},
        "bob": {first: 0, second: 1, third: 1},
        "eve": {first: 2, second: 2, third: 0},
    }
    (found,) = evaluate(answers_of(one, lambda judge, item: votes[judge][item]))["preferences"]
    assert (found["wins"], found["losses"], found["ties"]) == (1, 1, 1)


def test_evaluations_with_the_same_judges_are_filtered_together():
    ours = [evaluation(condition=name, seed=seed) for name, seed in (("x", 1), ("y", 2))]
    other = evaluation(condition="z", judges=("max", "may"), seed=3)
    answers = [a for one in (*ours, other) for a in answers_of(one, lambda _, item: int(item) % 3)]
    found = evaluate(answers)
    assert [(a["conditions"], a["items"]) for a in found["agreement"]] == [
        (("x", "y"), 4),
        (("z",), 2),
    ]
    assert found["agreement"][1]["without"] == {"max": None, "may": None}
    assert [one["condition"] for one in found["preferences"]] == ["x", "y", "z"]
    assert found["total"]["wins"] == sum(one["wins"] for one in found["preferences"])
    assert found["total"]["systems"] == ("A", "B")
    assert len(tables(found)[0].rows) == 4
    assert found["total"]["condition"] == "total"


def test_one_judge_has_nobody_to_agree_with():
    one = evaluation(judges=("ada",))
    found = evaluate(answers_of(one, lambda *_: 0))
    (agreement,) = found["agreement"]
    assert (agreement["kappa"], agreement["kappa_kept"]) == (None, None)
    assert found["preferences"][0]["wins"] == 4
    assert "\N{EN DASH}" in tables(found)[1].rows[0]


@pytest.mark.parametrize(("judges", "common"), [(("ada", "bob"), 2), (("ada", "bob", "eve"), 0)])
def test_leaving_out_needs_judges_and_common_items(judges, common):
    one = evaluation(judges=judges, common=common)
    with pytest.raises(InputError, match="leaving out 1 needs 3 judges or more, and common items"):
        evaluate(answers_of(one, lambda *_: 0), drop=1)


def test_the_table_is_that_of_the_paper():
    one = evaluation(judges=("ada",), per_judge=10, common=0)
    items = [row.item for row in one.sheets["ada"]]
    found = evaluate(
        answers_of(one, lambda _, item: 0 if item in items[:6] else 1 + (item in items[8:]))
    )
    table = tables(found)[0]
    assert table.headers == [
        "condition", "A wins", "B wins", "equal", "total", "p one-sided", "p two-sided",
    ]  # fmt: skip
    assert table.rows[0][:5] == ["A against B", "6 (60.0 %)", "2 (20.0 %)", "2 (20.0 %)", "10"]
