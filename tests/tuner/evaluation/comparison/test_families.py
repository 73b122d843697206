"""A planned comparison has the same p-value whatever else is reported."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from portmert.tuner.components import registry
from portmert.tuner.evaluation.comparison.scores import (
    Counted,
    described,
    in_families,
    score_systems,
)
from portmert.tuner.evaluation.comparison.sentences import headlines
from portmert.tuner.evaluation.significance import Resampling, holm

SEGMENTS = 12
METRICS = ("wer", "ter", "cder")


def compared(stats, systems, metrics, replicas):
    """The scores of some systems by some metrics; `stats` is (metrics, outputs, S, 2)."""
    counted = [
        Counted(name, registry.metric(name), [table[:replicas], *table[replicas:, np.newaxis]])
        for name, table in zip(METRICS[:metrics], stats[:, : replicas + systems - 1], strict=False)
    ]
    names = [f"s{number}" for number in range(systems)]
    rows = score_systems(names, counted, Resampling(50))
    return names, counted, rows


@given(
    st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 3), st.sampled_from([1, 3])
)  # fmt: skip
def test_what_is_reported_beside_it_changes_no_planned_comparison(seed, systems, metrics, runs):
    edits = np.random.default_rng(seed).integers(0, 9, (len(METRICS), 8, SEGMENTS, 1))
    stats = np.concatenate([edits, np.full_like(edits, 9)], axis=3).astype(float)
    found = []
    for rows_of, judges in ((2, 1), (systems, metrics)):
        names, counted, rows = compared(stats, rows_of, judges, runs)
        rows = in_families(rows, [("wer", "s1")])
        document = {
            "systems": [{"name": name, "tuned_on": None} for name in names],
            "metrics": [described(one, one.label) for one in counted],
            "scores": rows, "confidence": 0.95, "tuning_luck_untested": [],
        }  # fmt: skip
        (planned,) = (row for row in rows if row["family"] == "planned")
        assert planned["p_holm"] == planned["p"]
        found.append((planned, headlines(document)[0]))
    assert found[0] == found[1]


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(2, 3))
def test_systems_on_the_first_metric_are_planned_and_further_metrics_change_nothing(seed, judges):
    edits = np.random.default_rng(seed).integers(0, 9, (len(METRICS), 4, SEGMENTS, 1))
    stats = np.concatenate([edits, np.full_like(edits, 9)], axis=3).astype(float)
    alone, beside = (compared(stats, 4, count, 1)[2] for count in (1, judges))
    assert alone == beside[:4]
    assert [row["family"] for row in alone] == [None, *["planned"] * 3]
    further = beside[4:]
    assert {row["family"] for row in further} == {None, "further"}
    ps = [row["p"] for row in further if row["p"] is not None]
    assert [row["p_holm"] for row in further if row["p"] is not None] == holm(ps)
