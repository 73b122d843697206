"""Constraints: what users write, and which numbers are searched."""

import math

import numpy as np
import pytest

import portmert
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.base.warn import collected_notices
from portmert.tuner.search import variables
from portmert.tuner.search.constraints import Bounds, Constraints, columns_of
from portmert.tuner.search.variables import choose_variables
from portmert.tuner.weights.feature_weights import FeatureWeights
from tests.support.places import INVENTED

NAMES = (("LM0", 1), ("TM0", 2), ("WP0", 1))


def test_table_is_read_whole():
    table = {
        "fixed": ["LM0"],
        "tied": [["TM0_0", "TM0_1"]],
        "bounds": {"WP0": [-2, ""]},
        "signs": {"TM0": "+"},
    }
    assert Constraints.from_table(table, "c.toml") == Constraints(
        ("LM0",), (("TM0_0", "TM0_1"),), {"WP0": (-2.0, math.inf), "TM0": (0.0, math.inf)}
    )


def test_options_say_the_same_as_a_table():
    found = Constraints.from_options(
        fixed=["LM0"], tied=["TM0_0,TM0_1"], bounds=["WP0=-2:"], signs=["TM0=+"]
    )
    assert found.fixed == ("LM0",)
    assert found.tied == (("TM0_0", "TM0_1"),)
    assert found.bounds == {"WP0": (-2.0, math.inf), "TM0": (0.0, math.inf)}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"fixd": []}, "c.toml has no key 'fixd'; did you mean 'fixed'?"),
        ({"fixed": "LM0"}, "c.toml fixed: 'LM0' is not a list"),
        ({"fixed": [3]}, "c.toml fixed: 3 is not a feature's name"),
        ({"bounds": {"LM0": 3}}, "LM0 = 3, expected [lowest, highest]"),
        ({"bounds": {"LM0": [2, 1]}}, "the lowest weight 2.0 is not below the highest 1.0"),
        ({"bounds": {"LM0": ["a", 1]}}, "'a' is not a number"),
        ({"bounds": {"LM0": ["1_0", 20]}}, "'1_0' is not a number"),
        ({"bounds": {"LM0": ["1e155", ""]}}, "weight inf is not below the highest inf"),
        ({"bounds": [1]}, "[1] is not a table"),
        ({"signs": {"LM0": "positive"}}, 'LM0 = \'positive\', expected "+" or "-"'),
        ({"signs": {"LM0": {"bounds": []}}}, "LM0 = {'bounds': []}, expected"),
        ({"signs": {"LM0": "+"}, "bounds": {"LM0": [0, 1]}}, "LM0 has bounds and a sign"),
    ],
)
def test_table_errors_say_what_to_write(table, message):
    with pytest.raises(ConfigError) as error:
        Constraints.from_table(table, "c.toml")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": ["LM0"]}, "--bound LM0: expected NAME=LOW:HIGH"),
        ({"signs": ["LM0"]}, "--sign LM0: expected NAME=+ or NAME=-"),
        ({"signs": ["LM0=+"], "bounds": ["LM0=0:1"]}, "LM0 has bounds and a sign"),
    ],
)
def test_option_errors_say_what_to_write(options, message):
    with pytest.raises(ConfigError) as error:
        Constraints.from_options(**options)
    assert message in str(error.value)


def test_a_name_means_all_values_or_one():
    assert columns_of("TM0", NAMES) == [1, 2]
    assert columns_of("TM0_1", NAMES) == [2]
    with pytest.raises(ConfigError, match="unknown feature 'TMO'; did you mean 'TM0'"):
        columns_of("TMO", NAMES)
    with pytest.raises(ConfigError, match="unknown feature 'TM0_2'"):
        columns_of("TM0_2", NAMES)


def test_only_bounds_at_zero_survive_scaling():
    assert Bounds.none(2).allow_scaling
    assert Bounds(np.array([0.0]), np.array([np.inf])).allow_scaling
    assert not Bounds(np.array([0.0]), np.array([1.0])).allow_scaling
    assert not Bounds(np.array([-1.0]), np.array([np.inf])).allow_scaling


OFFSETS = np.array([0, 3, 6])
RANDOM = np.random.default_rng(3).normal(size=(4, 6))


@pytest.mark.parametrize(
    ("constraints", "said"),
    [
        ({"signs": ["am=+"]}, "constraints signs: ['am=+'] is not a table"),
        ({"signs": {"am": "0"}}, "constraints signs: am = '0', expected"),
        ({"sign": {"am": "+"}}, "constraints has no key 'sign'; did you mean 'signs'?"),
    ],
)
def test_in_python_a_message_names_the_argument(tmp_path, constraints, said):
    lists = portmert.Lists.from_arrays([[[1.0], [2.0]]], scores=[[0.1, 0.9]], feature_names=["am"])
    with pytest.raises(ConfigError) as fault:
        portmert.optimize(lists, constraints=constraints)
    assert str(fault.value).startswith(said)
    for decoder, texts in (
        (lambda *_: [], {"sources": ["a"], "refs": ["a"], "start": {"am": 1}, "folder": tmp_path}),
        (INVENTED / "recorded.toml", {}),
    ):
        with pytest.raises(ConfigError) as fault:
            portmert.tune(decoder, **texts, constraints=constraints)
        assert str(fault.value).startswith(said)
        assert "--" not in str(fault.value)


@pytest.mark.parametrize(
    "constraints", [{"fixed": ["am"], "signs": {"lm": "-"}}, {"bounds": {"am": [1, 2]}}, None]
)
def test_a_table_and_constraints_are_one(tmp_path, constraints):
    lists = [{"text": t, "features": {"am": a, "lm": b}} for t, a, b in (("a", 0, 1), ("b", 1, 0))]
    forms, found = (constraints, Constraints.of(constraints)), []
    for number, form in enumerate(forms):
        tuned = portmert.tune(
            lambda _weights, sources, _size: [lists for _ in sources], ["s"], ["a"],
            start={"am": 1, "lm": 1}, folder=tmp_path / f"{number}", decodings=1, constraints=form,
            optimizer="coordinate" )  # fmt: skip
        records = [{"id": 0} | one for one in lists]
        best = portmert.optimize(
            portmert.Lists.from_records(records, refs=[["a"]]), "bleu", weights={"am": 1, "lm": 1},
            constraints=form, optimizer="coordinate",
        )  # fmt: skip
        found.append((tuned.weights, best.weights.values))
    assert found[0] == found[1]


def choose(features, constraints=None, start=None):
    start = np.array([1.0, 2.0, 4.0, -1.0]) if start is None else start
    with collected_notices() as said:
        weights = FeatureWeights.from_vector(NAMES, start)
        variables = choose_variables(
            features, OFFSETS, NAMES, weights, constraints or Constraints()
        )
    return variables, said


def test_free_features_are_searched_as_they_are():
    variables, said = choose(RANDOM)
    assert [c.tolist() for c in variables.columns] == [[0], [1], [2], [3]]
    assert variables.features(RANDOM) is RANDOM
    assert said == []
    assert variables.fixed(RANDOM).size == 0


def test_a_feature_constant_in_every_segment_is_left_and_reported():
    features = RANDOM.copy()
    features[0] = [0.1, 0.1, 0.1, 7, 7, 7]
    variables, said = choose(features)
    assert [c.tolist() for c in variables.columns] == [[1], [2], [3]]
    assert "LM0: constant within every segment" in said[0]
    assert variables.expand(np.array([5.0, 6.0, 7.0])).vector(NAMES).tolist() == [
        1.0,
        5.0,
        6.0,
        7.0,
    ]
    assert variables.fixed(features).size == 0


def test_a_duplicate_feature_is_left_but_counts():
    features = RANDOM.copy()
    features[3] = features[0] + [1, 1, 1, 2, 2, 2]
    variables, said = choose(features)
    assert [c.tolist() for c in variables.columns] == [[0], [1], [2]]
    assert "WP0: equal to LM0" in said[0]
    assert variables.fixed(features) == pytest.approx(-features[3])


def test_equal_features_are_found_among_thousands_of_equal_spread(monkeypatch):
    """Each feature is 1 in one hypothesis of one segment; pairs would take minutes."""
    segments, size = 120, 10
    features = np.eye(segments * size)
    features[700] = features[20] + np.repeat(np.arange(segments), size)
    features[900] = features[701] * 3
    features[901] = features[900] - 1e6
    names = tuple((f"F{n}", 1) for n in range(segments * size))
    compared = []

    def spied(*given):
        compared.append(given[-2:])
        return equal(*given)

    equal = variables._equal
    monkeypatch.setattr(variables, "_equal", spied)
    offsets = np.arange(segments + 1) * size
    with collected_notices() as said:
        start = FeatureWeights.from_vector(names, np.ones(len(names)))
        found = choose_variables(features, offsets, names, start, Constraints())
    assert len(found) == len(names) - 2
    assert [line.partition(" in every")[0] for line in said] == [
        "left at its start value: F700: equal to F20",
        "left at its start value: F901: equal to F900",
    ]
    assert len(compared) < 10


def test_tied_features_keep_their_ratio():
    variables, _ = choose(RANDOM, Constraints(tied=(("TM0",),)))
    assert [c.tolist() for c in variables.columns] == [[0], [1, 2], [3]]
    assert variables.expand(np.array([1.0, 0.5, 1.0])).vector(NAMES).tolist() == [
        1.0,
        1.0,
        2.0,
        1.0,
    ]
    assert variables.reduce(variables.start).tolist() == [1.0, 1.0, -1.0]
    assert variables.features(RANDOM)[1] == pytest.approx(2 * RANDOM[1] + 4 * RANDOM[2])


def test_bounds_of_tied_features_meet():
    # w1 = 2 x in 0..6 and w2 = 4 x in 4..8 leave x in 1..2.
    constraints = Constraints(tied=(("TM0",),), bounds={"TM0_0": (0.0, 6.0), "TM0_1": (4.0, 8.0)})
    variables, _ = choose(RANDOM, constraints)
    assert (variables.bounds.lower[1], variables.bounds.upper[1]) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("constraints", "start", "message"),
    [
        (Constraints(tied=(("TM0",), ("TM0_1", "LM0"))), None, "TM0_1 is tied twice"),
        (Constraints(tied=(("TM0",),), fixed=("TM0_0",)), None, "TM0_0 is fixed and tied"),
        (Constraints(tied=(("LM0", "WP0"),)), np.array([1.0, 1, 1, 0]), "WP0 is tied, but its"),
        (
            Constraints(tied=(("TM0",),), bounds={"TM0_0": (0.0, 1.0), "TM0_1": (4.0, 8.0)}),
            None,
            "the bounds leave no weight for TM0_0, TM0_1",
        ),
    ],
)
def test_contradictions_are_errors(constraints, start, message):
    with pytest.raises(ConfigError) as error:
        choose(RANDOM, constraints, start)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "constraints",
    [
        Constraints(fixed=("LM0", "TM1")),
        Constraints(tied=(("LM0", "TM0"), ("TM0_0", "TM0_2"))),
        Constraints(bounds={"LM0_1": (0.0, 1.0)}),
    ],
)
def test_what_no_feature_has_is_found_before_any_list(constraints):
    names = (("LM0", 1), ("TM0", 2))
    with pytest.raises(ConfigError, match="constraint on unknown feature"):
        constraints.check(names)
    Constraints(fixed=("TM0_1",), tied=(("LM0", "TM0"),)).check(names)
