"""Weights keep their constraints in every iteration and result, whatever the start weights are."""

import itertools

import pytest

import portmert
from portmert.extensions.mert_moses import mert
from portmert.tuner import families
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.search.constraints import Constraints, moves
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights
from tests.contracts.test_optimizer_contract import SMALL
from tests.end_to_end.test_whole_way import QUICK, RULES, Everything

START = {"good": 1.0, "noise": 2.0}
LIMITS = (
    {"signs": {"good": "-"}},
    {"bounds": {"good": [0, 0.5], "noise": ["", 0.3]}},
    {"signs": {"noise": "-"}, "fixed": ["good"]},
    {"signs": {"noise": "-"}, "tied": [["good", "noise"]]},
)
MOVED = "start weights outside of their bounds were moved to the nearest allowed"


def written(name):
    options = {"restarts": 2, **SMALL.get(name, {})}
    return f"{name}:" + ",".join(f"{key}={value}" for key, value in options.items())


OPTIMIZERS = [written(name) for name in families.own_names("optimizer")]
CASES = [*itertools.product(OPTIMIZERS, LIMITS, ({"iterations": 2},))]
CASES += itertools.product((QUICK,), LIMITS, RULES)


def breaks(weights, table):
    """Return the names of the weights that break constraints; START had them."""
    limits = Constraints.of(table).bounds
    outside = [name for name, (low, high) in limits.items() if not low <= weights[name] <= high]
    outside += [name for name in table.get("fixed", ()) if weights[name] != START[name]]
    for first, second in table.get("tied", ()):
        if weights[second] / weights[first] != pytest.approx(START[second] / START[first]):
            outside.append(first)
    return outside


@pytest.mark.parametrize(("optimizer", "table", "rules"), CASES, ids=str)
def test_tune_keeps_constraints_that_the_start_weights_break(tmp_path, optimizer, table, rules):
    tuned = Everything().tuned(tmp_path, START, optimizer=optimizer, constraints=table, **rules)
    assert breaks(tuned.weights, table) == []
    files = sorted(tmp_path.glob("iteration-*/weights.json"))
    assert files
    assert [breaks(read_weights(file).plain(), table) for file in files] == [[]] * len(files)
    assert any(line.startswith(MOVED) for line in tuned.warnings)
    assert MOVED in (tmp_path / "result.json").read_text()


@pytest.mark.parametrize("table", LIMITS, ids=str)
def test_averages_of_replicas_keep_them(tmp_path, table):
    decoder = Everything()
    settings = {"constraints": table, "replicas": 2, "iterations": 2}
    tuned = decoder.tuned(tmp_path / "tune", START, **settings)
    assert breaks(tuned.weights, table) == []
    assert any(line.startswith(MOVED) for line in tuned.warnings)
    first = tmp_path / "tune" / "replica-1" / "iteration-01" / "nbest.gz"
    (tmp_path / "ref").write_text("".join(f"{line}\n" for line in decoder.references))
    lists = portmert.Lists.read([first], refs=[tmp_path / "ref"])
    options = {"weights": START, "optimizer": QUICK, "constraints": table}
    several = portmert.replicate(
        lists, "chrf", replicas=2, out_dir=tmp_path / "replicate", **options
    )
    assert breaks(several.weights.plain(), table) == []
    alone = portmert.optimize(lists, "chrf", **options)
    assert breaks(alone.weights.plain(), table) == []


def test_weights_that_are_not_searched_are_moved_too():
    """No weight of a constant feature changes anything; it has a sign all the same."""
    rows = [
        {"id": n, "text": text, "features": {"good": good, "constant": 1.0}}
        for n in range(4)
        for text, good in (("a b", 1.0), ("a c", 0.0))
    ]
    lists = portmert.Lists.from_records(rows, refs=[["a b"] * 4])
    found = portmert.optimize(
        lists, "wer", weights={"good": 1, "constant": 1}, constraints={"signs": {"constant": "-"}},
        optimizer="mert:restarts=1" )  # fmt: skip
    assert found.weights.values["constant"] == (0.0,)
    assert f"{MOVED}: constant 1 -> 0" in found.warnings


def test_allowed_weights_stay_as_they_are():
    weights = FeatureWeights({"good": (1.0, -2.0), "noise": (0.1,)})
    limits = Constraints.of({"signs": {"good_1": "-"}, "bounds": {"noise": [0, 0.1]}})
    assert limits.allowed(weights, weights.names) is weights
    assert moves(weights, weights) == ""
    other = Constraints.of({"signs": {"good_1": "+"}})
    line = moves(weights, other.allowed(weights, weights.names))
    assert line == f"{MOVED}: good_1 -2 -> 0"


def test_a_fixed_weight_outside_of_its_bounds_is_an_error(tmp_path):
    table = {"fixed": ["good"], "bounds": {"good": [2, 3]}}
    message = r"good is fixed at 1, outside of its bounds 2 to 3; give a start weight within them"
    with pytest.raises(ConfigError, match=message):
        Everything().tuned(tmp_path, START, constraints=table)


def test_positive_columns_of_the_drop_in_are_signs():
    names = (("LM0", 2), ("WP0", 1))
    limits = mert.constraints_of(names, (), ("LM0_1",))
    weights = FeatureWeights({"LM0": (-1.0, -1.0), "WP0": (-1.0,)})
    assert limits.allowed(weights, names).values == {"LM0": (-1.0, 0.0), "WP0": (-1.0,)}
    assert not mert.constraints_of(names, ("LM0_0",), ("LM0_1",)).bounds  # it is fixed
