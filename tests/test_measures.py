"""What a reader must know is bounded: vague names, repeated parameters; see test_layers too."""

import pytest

from tests.support.measures import AMBIENT, declared, vague_names

VAGUE_PERCENT = 1.0
DECLARED = 60
"""How often functions declare parameters that are handed on."""


@pytest.mark.parametrize("folder", ["tuner", "metrics", "aligners", "extensions", "tests/support"])
def test_names_say_what_they_hold(folder):
    total, vague = vague_names(folder)
    share = 100 * vague.total() / total
    assert share <= VAGUE_PERCENT, vague.most_common(12)


def test_few_parameters_are_handed_on():
    counts = declared(AMBIENT)
    assert counts.total() <= DECLARED, counts
