"""`Reranker` orders the candidates of a request as `rerank` orders a list of them."""

import contextlib
import importlib
import json
import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import portmert

NUMBERS = st.sampled_from([-1.5, -0.1, 0.0, 0.1, 0.3, 1 / 3, 7.0])
WEIGHTS = {"LM": 0.3, "TM": (0.1, -0.7), "idle": 0.0}


def weights_file(folder, **more):
    path = folder / "weights.json"
    content = {"weights": {"LM": [0.3], "TM": [0.1]}, **more}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=8))
def test_the_first_is_what_rerank_chooses(rows):
    candidates = [{"TM": [tm, other], "LM": lm, "idle": 1.0} for lm, tm, other in rows]
    records = [
        {"id": 0, "text": f"w{n}", "features": features} for n, features in enumerate(candidates)
    ]
    chosen = portmert.rerank(portmert.Lists.from_records(records), WEIGHTS)
    reranker = portmert.Reranker(WEIGHTS)
    order = reranker.order(candidates)
    assert order[0] == chosen.indices[0]
    assert sorted(order) == list(range(len(rows)))
    scores = [0.3 * lm + 0.1 * tm - 0.7 * other for lm, tm, other in rows]
    assert np.array(scores)[order] == pytest.approx(sorted(scores)[::-1])
    by_column = [[lm, tm, other, 1.0] for lm, tm, other in rows]
    assert reranker.features == ("LM", "TM", "TM", "idle")
    assert np.array(scores)[reranker.order(by_column)] == pytest.approx(sorted(scores)[::-1])


def test_ties_stay_in_their_order_and_idle_features_may_be_missing():
    assert portmert.Reranker(WEIGHTS).order([{"LM": 1, "TM": (0, 0)}] * 3) == [0, 1, 2]


def test_a_length_penalty_divides_by_the_tokens(tmp_path):
    reranker = portmert.Reranker(weights_file(tmp_path, length_penalty=1.0))
    candidates = [{"LM": -4.0, "TM": 0.0}, {"LM": -3.0, "TM": 0.0}]
    assert reranker.order(candidates, ["a b c d", "a b"]) == [0, 1]
    with pytest.raises(portmert.PortmertError, match=r"length penalty \(1\).*give `texts`"):
        reranker.order(candidates)
    with pytest.raises(portmert.PortmertError, match="1 text for 2 candidates"):
        reranker.order(candidates, ["a"])


@pytest.mark.parametrize(
    ("candidates", "fault"),
    [
        ([{"LM": 1.0}], "candidate 0: feature TM is missing"),
        ([{"LM": 1.0, "TM": 1.0}, {"LM": float("nan"), "TM": 1.0}], "candidate 1: LM is nan"),
        ([{"LM": float("inf"), "TM": 1.0}], "candidate 0: LM is inf"),
        ([{"LM": 1.0, "TM": 1.0}, {"LM": "-2", "TM": 1.0}], "candidate 1: LM is '-2', expected a"),
        ([[1.0, None]], "candidate 0: TM is None, expected a number"),
        ([{"LM": [1.0, 2.0], "TM": 1.0}], "candidate 0: feature LM has 2 values, expected 1"),
        ([{"LM": 1.0, "MT": 1.0}], "feature TM is missing; did you mean 'LM'|known: LM, MT"),
        ([[1.0]], r"the features have the shape \(1, 1\), expected \(N, 2\): LM, TM"),
    ],
)
def test_unusable_candidates_are_told(tmp_path, candidates, fault):
    reranker = portmert.Reranker(weights_file(tmp_path))
    with pytest.raises(portmert.PortmertError, match=fault):
        reranker.order(candidates)


def test_a_request_writes_no_log(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    reranker = portmert.Reranker(weights_file(tmp_path))
    assert reranker.order([{"LM": 1.0, "TM": 0.0}, {"LM": 2.0, "TM": 0.0}]) == [1, 0]
    assert reranker.order([]) == []
    assert not caplog.records


def frames_of(columns):
    """Yield the columns as a dict and as a frame of each library that is there."""
    yield columns
    for name, make in (("polars", "DataFrame"), ("pandas", "DataFrame"), ("pyarrow", "table")):
        with contextlib.suppress(ImportError):
            yield getattr(importlib.import_module(name), make)(columns)


def test_columns_go_by_name_in_any_order():
    rng = np.random.default_rng(1)
    weights = {"a": 1.0, "b": -2.0, "c": 0.5}
    columns = {name: rng.standard_normal(9) for name in ("c", "text", "a", "b")}
    expected = portmert.Reranker(weights).scores(
        [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    )
    sums = sum(weight * columns[name] for name, weight in weights.items())
    assert expected == pytest.approx(sums)
    for frame in frames_of(columns):
        reranker = portmert.Reranker(weights)
        assert reranker.scores(frame).tolist() == expected.tolist()
        assert reranker.order(frame) == np.argsort(-expected, kind="stable").tolist()
        with pytest.raises(portmert.PortmertError, match="no column 'q'"):
            portmert.Reranker({"q": 1.0}).order(frame)
    for frame in frames_of({"a": [1.0, None], "b": [1.0, 2.0], "c": [1.0, 2.0]}):
        with pytest.raises(portmert.PortmertError, match="'a', row 1: no number is there"):
            portmert.Reranker(weights).order(frame)


def test_records_are_taken_as_they_are():
    records = [
        {"id": 3, "text": "x", "features": {"LM": 1.0, "TM": 0.0, "judge": 4}},
        {"id": 3, "text": "y", "features": {"LM": 2.0, "TM": 0.0, "judge": 5}},
    ]
    assert portmert.Reranker({"LM": 1.0, "TM": 1.0}).order(records) == [1, 0]


@pytest.mark.parametrize("rule", ["error", "impute"])
def test_negated_columns_are_known_in_use_too(rule):
    frame = {
        "q": [0, 0, 0, 1, 1, 1],
        "judge": [1.0, 2.0, 3.0, 3.0, 2.0, 1.0],
        "cost": [5.0, 1.0, 9.0, 2.0, 8.0, 4.0],
        "right": [0, 1, 0, 1, 0, 0],
    }
    names = {"segment": "q", "features": ["judge", "-cost"], "missing": rule}
    run = portmert.optimize(
        portmert.Lists.from_frame(frame, outcomes=["right"], **names), "right", optimizer="mert"
    )
    reranker = portmert.Reranker(run)
    columns = {name: frame[name][:3] for name in ("judge", "cost")}
    assert reranker.features == ("judge", "-cost")
    expected = reranker.scores([[1.0, -5.0], [2.0, -1.0], [3.0, -9.0]]).tolist()
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert reranker.scores(columns).tolist() == reranker.scores(records).tolist() == expected
