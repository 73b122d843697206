"""Frames in, frames out: lists of columns by name, tuned, tested and applied without a file."""

import numpy as np
import pytest

import portmert
from portmert.tuner.base.errors import ConfigError, InputError
from portmert.tuner.base.warn import collected_warnings

SEGMENTS, SIZE = 120, 4
FEATURES = ["judge", "-ppl"]
COLUMNS = {"segment": "q", "index": "k", "text": "answer", "features": FEATURES}
MAKERS = [("polars", "DataFrame"), ("pandas", "DataFrame"), ("pyarrow", "table"), ("", "")]


def columns_of(seed=1, segments=SEGMENTS):
    rng = np.random.default_rng(seed)
    count = segments * SIZE
    judge, ppl = rng.standard_normal(count), rng.gamma(2.0, size=count)
    noise = rng.standard_normal(count)
    return {
        "q": [f"s{seed}-{n}" for n in range(segments) for _ in range(SIZE)],
        "k": [k for _ in range(segments) for k in range(SIZE)],
        "answer": [f"{word}" for word in rng.integers(10**6, size=count)],
        "judge": judge.tolist(),
        "ppl": ppl.tolist(),
        "right": (judge - ppl + noise > 0).astype(int).tolist(),
    }


def shuffled(columns, seed):
    order = np.random.default_rng(seed).permutation(len(columns["q"]))
    return {name: [values[k] for k in order] for name, values in columns.items()}


@pytest.fixture(params=MAKERS, ids=[name or "dict" for name, _ in MAKERS])
def make(request):
    library, name = request.param
    if not library:
        return dict
    pytest.importorskip("narwhals")
    return getattr(pytest.importorskip(library), name)


def lists_of(frame, **changes):
    return portmert.Lists.from_frame(frame, **{**COLUMNS, "outcomes": ["right"], **changes})


def tuned(lists, metric="right"):
    found = portmert.optimize(lists, metric, optimizer="mert:restarts=1")
    return found.score, found.weights.values


def test_frames_give_what_records_give_in_any_order(tmp_path, make):
    columns = columns_of()
    rows = list(zip(*columns.values(), strict=True))
    records = [
        {"id": q, "index": k, "text": a, "features": {"judge": j, "-ppl": -p}, "right": r}
        for q, k, a, j, p, r in rows
    ]
    path = tmp_path / "right.jsonl"
    import json

    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    expected = tuned(
        portmert.Lists.from_records(records, format="jsonl:features=features"),
        f"scores:{path}#right",
    )
    ours = [tuned(lists_of(make(shuffled(columns, seed)))) for seed in (1, 2)]
    assert ours == [ours[0]] * 2
    assert ours[0][0] == expected[0]
    assert ours[0][1].keys() == expected[1].keys() == {"judge", "-ppl"}


def test_a_hyphen_says_that_less_is_better():
    columns = columns_of()
    columns["err"] = [1 - right for right in columns.pop("right")]
    lists = lists_of(columns, outcomes=["err"])
    with collected_warnings() as said:
        wrong, _ = tuned(lists, "err")
    assert any("sounds as if lower were better" in line for line in said)
    with collected_warnings() as said:
        score, weights = tuned(lists, "-err")
    assert not any("less" in line for line in said)
    assert score < np.mean(columns["err"]) < wrong
    assert weights["judge"][0] > 0
    assert 1 - score == pytest.approx(tuned(lists_of(columns_of()))[0])


def test_a_gain_is_tested_without_a_file(make):
    dev, test = make(columns_of(1)), make(columns_of(2))
    run = portmert.rerank_tune(
        lists_of(dev), "right", test=lists_of(test), replicas=2, optimizer="mert:restarts=1"
    )
    rows = {row["system"]: row for row in run.compared.document["scores"]}
    assert rows["averaged"]["score"] > rows["first"]["score"] + 0.1
    assert rows["averaged"]["metric"] == "right"
    assert 0 < rows["oracle"]["score"] <= 1
    text = str(run)
    assert "right" in text
    # The frame that comes out is of the kind that came in.
    scored, chosen = run.score(test), run.choose(test)
    assert type(scored) is type(chosen) is type(test)
    names = (
        list(getattr(scored, "column_names", None) or scored.columns)
        if make is not dict
        else [*scored]
    )
    assert names == [*columns_of(2), "pm_score", "pm_rank"]
    ranks, right = (np.asarray(scored[name]) for name in ("pm_rank", "right"))
    assert sorted(set(ranks.tolist())) == [1, 2, 3, 4]
    best = right[ranks == 1]
    assert best.mean() == pytest.approx(rows["averaged"]["score"])
    assert np.asarray(chosen["right"]).tolist() == best.tolist()
    with pytest.raises(InputError, match="has a column 'pm_score'"):
        run.score(scored)


def test_segments_of_dev_in_the_test_set_are_told():
    dev, other = columns_of(1), columns_of(2)
    test = {name: [*other[name], *dev[name][: 40 * SIZE]] for name in dev}
    test["q"] = [f"renamed-{name}" for name in test["q"]]
    with collected_warnings() as said:
        portmert.rerank_tune(
            lists_of(dev), "right", test=lists_of(test), replicas=1, optimizer="mert:restarts=1"
        )
    assert any(line.startswith("40 of 160 segments of the test set (25 %)") for line in said)


def test_a_feature_made_of_the_outcome_is_told():
    columns = columns_of()
    columns["leak"] = [2 * right + 1 for right in columns["right"]]
    with collected_warnings() as said:
        tuned(lists_of(columns, features=[*FEATURES, "leak"]))
    assert any("feature leak orders 100.0 % of pairs of hypotheses as right" in x for x in said)


def test_equal_candidates_with_other_outcomes_are_told():
    columns = {name: [*values[:SIZE], *values] for name, values in columns_of().items()}
    del columns["k"]
    columns["right"][:SIZE] = [1 - right for right in columns["right"][:SIZE]]
    with collected_warnings() as said:
        lists = lists_of(columns, index=None)
    assert len(lists.nbest.features) == SEGMENTS * SIZE
    assert any(
        "4 hypotheses equal to an earlier one of the segment but for right" in x for x in said
    )


def test_the_first_of_equal_candidates_is_that_of_the_lowest_index():
    columns = {name: [*values, *values[:SIZE]] for name, values in columns_of().items()}
    columns["k"][-SIZE:] = range(SIZE)
    columns["k"][:SIZE] = range(SIZE, 2 * SIZE)
    columns["right"][-SIZE:] = [1 - right for right in columns["right"][:SIZE]]
    columns = {name: [*values, values[0]] for name, values in columns.items()}
    columns["k"][-1] = 2 * SIZE
    with collected_warnings() as said:
        lists = lists_of(columns)
    assert lists.nbest.outcomes["right"][:SIZE].tolist() == columns["right"][-SIZE - 1 : -1]
    assert any("5 hypotheses equal to an earlier one" in line for line in said)


def test_missing_values_by_each_rule(make):
    columns = columns_of()
    columns["judge"][5] = columns["judge"][6] = None
    columns["right"][9] = None
    frame = make(columns)
    with pytest.raises(InputError, match=r"column 'judge', row 5: no number .*missing drop"):
        lists_of(frame)
    with collected_warnings() as said:
        drop = lists_of(frame, missing="drop").nbest
    assert len(drop.features) == SEGMENTS * SIZE - 3
    assert any("3 hypotheses left out" in line for line in said)
    segment = lists_of(frame, missing="segment").nbest
    assert len(segment) == SEGMENTS - 2
    with collected_warnings() as said:
        imputed = lists_of(frame, missing="impute")
    assert any("2 values of judge imputed" in line for line in said)
    nbest = imputed.nbest
    assert [name for name, _ in nbest.feature_names] == ["judge", "-ppl", "judge.missing"]
    mean = (columns["judge"][4] + columns["judge"][7]) / 2
    assert nbest.features[4:8, 0].tolist() == [
        columns["judge"][4],
        mean,
        mean,
        columns["judge"][7],
    ]
    assert nbest.features[:, 2].sum() == 2
    assert len(nbest.features) == SEGMENTS * SIZE - 1


def test_a_request_that_lacks_a_judge_is_ranked():
    columns, test = columns_of(), columns_of(2)
    columns["judge"][5] = None
    dev = lists_of(columns, missing="impute")
    run = portmert.rerank_tune(
        dev, "right", test=lists_of(test, missing="impute"), replicas=1,
        optimizer="mert:restarts=1",
    )  # fmt: skip
    assert "judge.missing" in run.replicas.weights.values
    request = {name: values[:SIZE] for name, values in test.items() if name != "right"}
    request["judge"] = [None, None, None, None]
    with collected_warnings() as said:
        ranks = run.score(request)["pm_rank"]
    assert sorted(ranks.tolist()) == [1, 2, 3, 4]
    assert any("4 values of judge imputed" in line for line in said)
    best = int(np.argmin(request["ppl"]))
    assert ranks[best] == 1


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            {"judge": lambda x: ["8/10", *x[1:]]},
            "column 'judge', row 0: '8/10', expected a number",
        ),
        ({"judge": lambda x: [*x[:-1], float("inf")]}, "column 'judge', row 479: inf"),
        ({"right": lambda x: [*x[:-1], float("nan")]}, "column 'right', row 479: no number"),
        ({"k": lambda x: [1, *x[1:]]}, "hypothesis 1 of 's1-0' stands twice, first in row 0"),
        ({"k": lambda x: [0.5, *x[1:]]}, "column 'k', row 0: 0.5, expected 0, 1, 2"),
        ({"q": lambda x: [None, *x[1:]]}, "column 'q', row 0: the id is missing"),
        ({"q": lambda x: ["a b", *x[1:]]}, "column 'q', row 0: the id 'a b' is not one word"),
        ({"q": lambda x: [1.5, *x[1:]]}, "column 'q', row 0: the id is 1.5"),
        ({"answer": lambda x: [3, *x[1:]]}, "column 'answer', row 0: 3, expected a text"),
        ({"answer": lambda x: [None, *x[1:]]}, "column 'answer', row 0: no text is there"),
        ({"judge": lambda x: [[1], *x[1:]]}, r"column 'judge', row 0: \[1\], expected a number"),
        ({"judge": lambda x: [[1]] * len(x)}, r"column 'judge', row 0: \[1\], expected a number"),
        ({"q": lambda x: [["a"]] * len(x)}, r"column 'q', row 0: the id is \['a'\]"),
        ({"judge": lambda x: x[1:]}, "columns of different lengths"),
    ],
)
def test_bad_columns_are_refused_with_column_and_row(change, fault):
    columns = columns_of()
    for name, function in change.items():
        columns[name] = function(columns[name])
    with pytest.raises(InputError, match=fault):
        lists_of(columns)


def test_bad_frames_are_refused(make):
    columns = columns_of()
    with pytest.raises(InputError, match="no column 'jugde'; did you mean 'judge'"):
        lists_of(make(columns), features=["jugde"])
    with pytest.raises(InputError, match="no row"):
        lists_of(make({name: values[:0] for name, values in columns.items()}))
    with pytest.raises(InputError, match=r"is str; .*polars.read_parquet"):
        lists_of("dev.parquet")
    columns["bleu"] = columns.pop("right")
    with pytest.raises(ConfigError, match="'bleu' is an outcome of the lists and a metric"):
        portmert.optimize(lists_of(make(columns), outcomes=["bleu"]), "bleu")


def test_dates_are_no_numbers():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns_of())
    frame["judge"] = pandas.Timestamp("2020-01-01")
    with pytest.raises(InputError, match="column 'judge', row 0: Timestamp"):
        lists_of(frame)


def test_categories_and_nullable_numbers_are_taken():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns_of())
    expected = lists_of(frame).nbest
    frame["q"] = frame["q"].astype("category")
    frame["right"] = frame["right"].astype("Int64")
    frame["judge"] = frame["judge"].astype("Float64")
    ours = lists_of(frame.set_index(pandas.Index([7] * len(frame)))).nbest
    assert np.array_equal(ours.features, expected.features)
    assert ours.ids == expected.ids


def test_records_are_read_without_json_text_and_keep_what_they_say():
    records = [
        {
            "id": "a",
            "text": "x\ny",
            "features": {"F": np.float64(1.5), "G": 2},
            "tags": ["u", None],
        },
        {"id": "a", "text": "z", "features": {"F": 0.5, "G": 1}, "tags": []},
    ]
    lists = portmert.Lists.from_records(records)
    assert lists.nbest.features.tolist() == [[1.5, 2.0], [0.5, 1.0]]
    chosen = portmert.rerank(lists, {"F": 1.0, "G": 0.0})
    assert chosen.given == ("x\ny",)
    assert chosen.records == (records[0],)
    records[1]["features"]["G"] = float("inf")
    with pytest.raises(InputError, match="records:2: 'G' is inf; values must be finite"):
        _ = portmert.Lists.from_records(records).nbest


def test_results_are_short_in_a_notebook():
    records = [{"id": n, "text": f"<b>{n}", "features": {"F": 1.0}} for n in range(400)]
    chosen = portmert.rerank(portmert.Lists.from_records(records), {"F": 1.0})
    assert repr(chosen) == "Reranked(segments=400, first='<b>0')"
    found = portmert.optimize(lists_of(columns_of()), "right", optimizer="mert:restarts=1")
    assert found._repr_html_().startswith("<pre")
    assert "-&gt;" in found._repr_html_()


def test_outcomes_are_metrics_of_crossval():
    document = portmert.crossval(
        lists_of(columns_of()), "right", splits=1, optimizer="mert:restarts=1"
    ).document
    unseen = {row["system"]: row["score"] for row in document["scores"]}
    assert unseen["mert:restarts=1"] > unseen["first"]


def test_results_are_frames_of_the_kind_that_came_in(make):
    dev, test = make(columns_of(1)), make(columns_of(2))
    run = portmert.rerank_tune(
        lists_of(dev), "right", test=lists_of(test), replicas=1, optimizer="mert:restarts=1"
    )
    compared = run.to_frame()
    assert type(compared) is type(dev)
    systems = np.asarray(compared["system"]).tolist()
    assert {"tuned", "averaged", "first", "oracle"} <= set(systems)
    scores = np.asarray(compared["score"], dtype=float)
    assert scores[systems.index("oracle")] == max(scores)
    weights = run.replicas.to_frame(dev)
    assert np.asarray(weights["name"]).tolist() == ["judge", "-ppl"]
    values = np.asarray(weights["weight"], dtype=float).tolist()
    assert [[value] for value in values] == [
        [*row] for row in run.replicas.weights.values.values()
    ]


def test_frames_of_other_results_and_long_results_are_short():
    records = [
        {"id": n, "text": f"w{n} {k}", "features": {f"F{j}": float(j * k) for j in range(40)}}
        for n in range(9)
        for k in range(2)
    ]
    lists = portmert.Lists.from_records(records)
    weights = portmert.FeatureWeights.of({f"F{j}": float(j) for j in range(40)})
    chosen = portmert.rerank(lists, weights)
    rows = chosen.to_frame("dict")
    assert rows["text"] == [f"w{n} 1" for n in range(9)]
    assert weights.to_frame("dict")["weight"] == [float(j) for j in range(40)]
    shown = (lists, lists.nbest, weights, chosen)
    assert max(len(repr(each)) for each in shown) < 160
    assert "32 more" in repr(weights)
    assert "9 segments, the first 8" in chosen._repr_html_()


def exclamations(text):
    return text.count("!")


def test_functions_are_metrics_and_features():
    records = [
        {"id": n, "text": f"a{n} {mark}\n", "features": {"F": float(k)}}
        for n in range(30)
        for k, mark in enumerate(("!", "? !!", "c"))
    ]
    lists = portmert.Lists.from_records(records, refs=[["? !!"] * 30])

    def matches(text, references):
        return float(text.endswith(references[0]))

    featured = lists.with_feature("marks", exclamations)
    assert featured.nbest.features[:3].tolist() == [[0.0, 1.0], [1.0, 2.0], [2.0, 0.0]]
    found = portmert.optimize(featured, matches, optimizer="mert:restarts=1")
    assert found.score == 1.0
    assert "matches" in found.signature
    with pytest.raises(InputError, match="is nan for hypothesis 1 of a segment"):
        portmert.optimize(featured, lambda *_: float("nan"))
    with pytest.raises(TypeError, match="metric is 3"):
        portmert.optimize(featured, 3)


def test_a_matrix_of_utilities_chooses_and_one_feature_needs_no_weights_of_others():
    records = [
        {"id": n, "text": f"{n} {k}", "features": {"F": float(k == 1), "G": 1.0 * k}}
        for n in range(2)
        for k in range(3)
    ]
    lists = portmert.Lists.from_records(records)
    # The rows' means are 1/3, 2, 1; then 3, 0, 0.
    utilities = [[[1, 0, 0], [2, 2, 2], [1, 1, 1]], [[3, 3, 3], [0, 0, 0], [0, 0, 0]]]
    assert portmert.rerank(lists, mbr=utilities).lines == ("0 1", "1 0")
    assert portmert.rerank(lists, mbr=np.array(utilities)).lines == ("0 1", "1 0")
    with pytest.raises(ValueError, match=r"1 matrix of utilities for 2 segments"):
        portmert.rerank(lists, mbr=utilities[:1])
    with pytest.raises(ValueError, match=r"segment 0: utilities of shape \(2, 2\); .* \(3, 3\)"):
        portmert.rerank(lists, mbr=[np.eye(2), np.eye(3)])
    assert portmert.rerank(lists, by="G").lines == ("0 2", "1 2")
    assert portmert.rerank(lists, by="-G").lines == ("0 0", "1 0")
    assert portmert.rerank(lists, by="F").lines == ("0 1", "1 1")
    with pytest.raises(InputError, match="no feature 'H' of one value"):
        portmert.rerank(lists, by="H")


def test_lists_say_what_looks_wrong_and_results_repeat_it():
    columns = columns_of()
    columns["copy"] = [3 * value for value in columns["judge"]]
    columns["judge"][5] = None
    columns["err"] = columns.pop("right")
    lists = lists_of(columns, features=[*FEATURES, "copy"], outcomes=["err"], missing="drop")
    said = "\n".join(lists.findings)
    assert "1 hypothesis left out, where values are missing: judge (1)" in said
    assert "feature copy is a copy of judge" in said
    assert "err sounds as if lower were better" in said
    warnings = portmert.optimize(lists, "-err", optimizer="mert:restarts=1").warnings
    assert "1 hypothesis left out, where values are missing: judge (1)" in warnings
