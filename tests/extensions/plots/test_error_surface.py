import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from portmert.extensions.plots.error_surface import pieces
from tests.support.examples import examples


def value_at(steps, values, point):
    """Of the last piece that starts at or before a point, from the definition."""
    return [v for start, v in zip(steps[:-1], values, strict=True) if start <= point][-1]


@st.composite
def step_functions(draw):
    inner = draw(st.lists(st.integers(-20, 20), max_size=15))  # equal ends make empty pieces
    steps = np.array([-50.0, *sorted(inner), 50.0])
    values = draw(st.lists(st.integers(0, 3), min_size=len(steps) - 1, max_size=len(steps) - 1))
    return steps, np.array(values, dtype=float) / 3


@given(step_functions(), st.floats(0.5, 30), st.integers(2, 12))
@examples(300)
def test_pieces_are_the_function_itself_within_the_window(function, reach, most):
    steps, values = function
    ends, scores = pieces(steps, values, reach, most)
    assert len(ends) == len(scores) + 1 <= most + 1
    assert (np.diff(ends) > 0).all()
    assert -ends[0] == ends[-1] <= reach
    assert (scores[1:] != scores[:-1]).all()
    for point in (ends[:-1] + ends[1:]) / 2:
        assert value_at(ends, scores, point) == value_at(steps, values, point)


def test_pieces_keep_the_whole_window_if_they_are_few():
    ends, scores = pieces(np.array([-9.0, -1, 2, 9]), np.array([0.1, 0.2, 0.1]), 5.0, 3)
    assert ends.tolist() == [-5, -1, 2, 5]
    assert scores.tolist() == [0.1, 0.2, 0.1]


def test_pieces_narrow_the_window_to_both_sides_if_they_are_many():
    steps, values = np.array([-9.0, -4, -1, 2, 3, 9]), np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    ends, scores = pieces(steps, values, 5.0, 3)
    assert ends.tolist() == [-3, -1, 2, 3]  # four changes, at 1, 2, 3 and 4; two are kept
    assert scores.tolist() == [0.2, 0.3, 0.4]


def test_a_window_is_not_empty_though_the_score_changes_where_the_weight_stands():
    ends, _ = pieces(np.array([-9.0, 0, 2, 9]), np.array([0.1, 0.2, 0.3]), 5.0, 2)
    assert ends[0] < ends[-1]
