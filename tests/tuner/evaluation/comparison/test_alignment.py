"""Disagreement of alignments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics._base import Ragged
from portmert.tuner.evaluation.comparison.scores import alignments, error_rate
from tests.oracles.comparison import agreement_error
from tests.support.strategies_comparison import material_of

LINKS = st.lists(st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3))), min_size=1)


def ragged(rows):
    return Ragged.from_rows([sorted(row) for row in rows], 2)


def test_example_by_hand():
    # {0-0, 1-1, 2-2} against {0-0, 1-1}: 1 - 2 * 2 / (3 + 2).
    first, second = [{(0, 0), (1, 1), (2, 2)}], [{(0, 0), (1, 1)}]
    assert error_rate(ragged(first), ragged(second)) == pytest.approx(0.2)


@given(LINKS, st.randoms(use_true_random=False))
def test_error_rate_agrees_with_sets(first, random):
    second = [frozenset(pair for pair in row if random.random() < 0.5) for row in first]
    found = error_rate(ragged(first), ragged(second))
    assert found == pytest.approx(agreement_error(first, second))
    assert found == error_rate(ragged(second), ragged(first))
    assert error_rate(ragged(first), ragged(first)) == 0.0


def test_one_set_of_links_has_nothing_to_agree_with():
    material = material_of(
        [[("a",)]], [[("a",)]], systems=1, source_lengths=[1], links=[[{(0, 0)}]],
        gold_links=[[{(0, 0)}]],
    )  # fmt: skip
    assert alignments([material], []) is None
    both = alignments([material, material], [])
    assert both is not None
    assert [pair["aer"] for pair in both["agreement"]] == [0.0]
