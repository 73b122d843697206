"""Values that are missing: one rule through every door, in tuning and in use."""

import dataclasses
import json
import random
import shutil
import subprocess
from itertools import pairwise

import numpy as np
import pytest

import portmert
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.components.external import Outcome
from tests.contracts.test_table_contract import of_graphs

SEGMENTS, SIZE = 40, 4
RULES = ("drop", "segment", "impute")
MERT = "mert:restarts=1"


def records_of(seed=1):
    rng = np.random.default_rng(seed)
    records = [
        {
            "id": f"q{n}",
            "index": k,
            "text": f"t{n} {k}",
            "features": {"judge": float(rng.normal()), "rm": float(rng.normal())},
        }
        for n in range(1, SEGMENTS + 1)
        for k in range(SIZE)
    ]
    for record in records:
        judge, rm = record["features"].values()
        record["right"] = float(judge + rm + rng.normal() > 0.5)
    for place, key in ((0, "judge"), (5, "judge"), (6, "judge"), (17, "rm")):
        records[place]["features"][key] = None
    records[30]["right"] = records[50]["text"] = None
    return records


RECORDS = records_of()


def of_records(_, records, **options):
    return portmert.Lists.from_records(records, **options)


def of_absent_keys(_, records, **options):
    without = [
        {**r, "features": {k: v for k, v in r["features"].items() if v is not None}}
        for r in records
    ]
    return portmert.Lists.from_records(without, **options)


def of_file(folder, records, **options):
    path = folder / "list.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return portmert.Lists(paths=(path,), **options)


def of_column(folder, records, **options):
    """The judge stands in a file of its own."""
    path = folder / "judge.jsonl"
    lines = [{**record, "judge": record["features"]["judge"]} for record in records[::-1]]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    rest = [{**record, "features": {"rm": record["features"]["rm"]}} for record in records]
    return portmert.Lists.from_records(rest, features=[f"judge={path}#judge"], **options)


def of_frame(_, records, **options):
    frame = {
        "q": [record["id"] for record in records],
        "k": [record["index"] for record in records],
        "text": [record["text"] for record in records],
        "judge": [record["features"]["judge"] for record in records],
        "rm": [record["features"]["rm"] for record in records],
    }
    return portmert.Lists.from_frame(
        frame, segment="q", index="k", text="text", features=["judge", "rm"], **options
    )


DOORS = [of_records, of_absent_keys, of_file, of_column, of_frame]


@pytest.fixture
def metric(tmp_path):
    path = tmp_path / "right.jsonl"
    keys = ("id", "index", "right")
    lines = [json.dumps({key: record[key] for key in keys}) for record in RECORDS]
    path.write_text("\n".join(lines) + "\n")
    return f"scores:{path}#right"


def tuned(lists, metric):
    return portmert.optimize(lists, metric, optimizer=MERT)


def table_of(lists):
    nbest = lists.in_order().nbest
    columns = dict(zip([name for name, _ in nbest.feature_names], nbest.features.T, strict=True))
    return nbest.names, {name: columns[name].tolist() for name in sorted(columns)}


@pytest.mark.parametrize("rule", RULES)
def test_every_door_does_the_same_by_each_rule_in_any_order(tmp_path, metric, rule):
    found = {}
    for number, door in enumerate(DOORS):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        shuffled = random.Random(number).sample(RECORDS, len(RECORDS))
        with collected_warnings() as said:
            lists = door(folder, shuffled, missing=rule)
            scored = lists.scored_by([portmert.tuner.components.registry.metric(metric)])
            found[door.__name__] = table_of(lists), table_of(scored)
        assert any("left out" in line and "a text (1)" in line for line in said)
        assert any("right.jsonl#right (1)" in line for line in said)
    assert all(tables == found["of_records"] for tables in found.values()), rule
    (names, columns), (_, scored) = found["of_records"]
    left = {"drop": 155, "segment": 160 - 4 * SIZE, "impute": 159}[rule]
    assert len(columns["judge"]) == left
    assert len(scored["judge"]) == left - (4 if rule == "segment" else 1)
    assert len(names) == (SEGMENTS - 4 if rule == "segment" else SEGMENTS)
    indicators = [name for name in columns if name.endswith(".missing")]
    assert indicators == (["judge.missing", "rm.missing"] if rule == "impute" else [])


def moses_files(folder, features, offsets, right):
    texts = {"FEATURES": "", "SCORES": ""}
    tables = (features, "2 judge rm"), (np.c_[right, right * 0 + 1], "2 right")
    for n, (begin, end) in enumerate(pairwise(offsets)):
        for kind, (table, head) in zip(texts, tables, strict=True):
            lines = "".join(f"{' '.join(map(repr, row))}\n" for row in table[begin:end].tolist())
            begin_line = f"{kind}_TXT_BEGIN_0 {n} {end - begin} {head}\n"
            texts[kind] += f"{begin_line}{lines}{kind}_TXT_END_0\n"
    paths = [folder / kind for kind in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text)
    return paths[:1], paths[1:]


@pytest.mark.parametrize("rule", RULES)
def test_arrays_and_files_of_moses_may_lack_values_too(tmp_path, rule):
    records = [{**record, "text": "t"} for record in RECORDS]
    nan = [[x if x is not None else np.nan for x in r["features"].values()] for r in records]
    features = np.array(nan)
    right = np.array([np.nan if r["right"] is None else r["right"] for r in records])
    offsets, names = np.arange(SEGMENTS + 1) * SIZE, ["judge", "rm"]
    arrays = {"feature_names": names, "ids": [f"q{n}" for n in range(1, SEGMENTS + 1)]}
    stats = np.column_stack([right, np.ones(len(right))])
    frame = {
        "q": [record["id"] for record in records],
        "right": [record["right"] for record in records],
        "judge": features[:, 0],
        "rm": features[:, 1],
    }
    files = moses_files(tmp_path, features, offsets, right)
    found = [
        portmert.Lists.from_frame(
            frame, segment="q", features=names, outcomes=["right"], missing=rule
        ),
        portmert.Lists.from_arrays(features, offsets, scores=right, missing=rule, **arrays),
        portmert.Lists.from_arrays(features, offsets, stats=stats, missing=rule, **arrays),
        portmert.Lists.read_dat(*files, missing=rule),
    ]
    (names, columns), *others = map(table_of, found)
    assert all(table == columns for _, table in others)
    assert others[0][0] == others[1][0] == names
    metrics = [None, None, Outcome("right"), Outcome("right")]
    scores = [tuned(*pair).score for pair in zip(found, metrics, strict=True)]
    assert len(set(scores)) == 1
    with pytest.raises(ValueError, match=r"must be finite; say what to do: .*missing drop"):
        portmert.Lists.from_arrays(features, offsets, scores=right)
    with pytest.raises(InputError, match=r"nan in the numbers.*missing drop"):
        portmert.Lists.read_dat(*files)


@pytest.mark.parametrize("rule", RULES)
def test_what_graphs_lack_in_files_follows_the_rule_too(tmp_path, metric, rule):
    """Graphs lack no text and no feature of their own."""
    whole = [{**record, "text": f"t {record['index']}"} for record in RECORDS]
    columns = tmp_path / "columns.jsonl"
    columns.write_text("".join(f"{json.dumps({**r, **r['features']})}\n" for r in whole[::-1]))
    bare = [{**record, "features": {"place": -record["index"]}} for record in whole]
    options = {"features": [f"{name}={columns}#{name}" for name in ("judge", "rm")]}
    found, weighted = [], []
    for lists in (of_graphs(tmp_path, bare), portmert.Lists.from_records(bare)):
        with collected_warnings() as said:
            lacking = dataclasses.replace(lists, missing=rule, **options)
            scored = lacking.scored_by([portmert.metric(metric)])
            found.append((table_of(lacking), table_of(scored)))
            names = [name for name, _ in lacking.nbest.feature_names]
            # Graphs begin at the weights that made their strings: a feature of a file had none.
            start = {name: float(name == "place") for name in names}
            weights = {} if lists.strings else {"weights": start}
            weighted.append(portmert.optimize(lacking, metric, optimizer=MERT, **weights))
        assert any("right.jsonl#right (1)" in line for line in said)
        with pytest.raises(InputError, match=r"columns.jsonl.*'judge' is null.*drop-missing"):
            _ = dataclasses.replace(lists, **options).nbest
    assert found[0] == found[1]
    assert len({each.to_json() for each in weighted}) == 1
    left = {"drop": 156, "segment": 160 - 3 * SIZE, "impute": 160}[rule]
    assert len(found[0][0][1]["judge"]) == left


@pytest.mark.parametrize("door", DOORS)
def test_without_a_rule_a_missing_value_names_the_option(tmp_path, door):
    with pytest.raises(InputError, match=r"missing (drop|=?'?segment)|missing='segment'"):
        _ = door(tmp_path, RECORDS).nbest


def test_weights_keep_the_rule_and_rank_requests_by_it(tmp_path, metric):
    found = tuned(portmert.Lists.from_records(RECORDS, missing="impute"), metric)
    path = tmp_path / "weights.json"
    path.write_text(found.to_json())
    content = json.loads(path.read_text())
    assert content["missing"] == "impute"
    assert content["portmert"] == portmert.__version__
    assert {"judge", "rm", "judge.missing", "rm.missing"} == content["weights"].keys()
    request = [{"judge": 0.3, "rm": None}, {"judge": 0.1}, {"judge": 0.9, "rm": float("nan")}]
    best = int(np.argmax([0.3, 0.1, 0.9])) if content["weights"]["judge"][0] > 0 else 1
    as_frame = {"judge": [0.3, 0.1, 0.9]}
    for weights in (path, found, found.weights):
        reranker = portmert.Reranker(weights)
        for candidates in (request, as_frame):
            with collected_warnings() as said:
                assert reranker.order(candidates)[0] == best
            assert "3 values of rm imputed by the segment's mean" in said
    of_test = [
        {"id": "x", "text": f"w{k}", "features": {"judge": c["judge"]}}
        for k, c in enumerate(request)
    ]
    with collected_warnings() as said:
        chosen = portmert.rerank(portmert.Lists.from_records(of_test), path)
    assert chosen.lines == (f"w{best}",)
    assert any("3 values of rm imputed" in line for line in chosen.warnings)
    with pytest.raises(InputError, match=r"weights of .*, which the lists lack"):
        portmert.rerank(portmert.Lists.from_records(of_test), {"judge": 1.0, "rm": 1.0})


def test_a_candidate_that_the_rule_drops_is_ranked_last():
    reranker = portmert.Reranker({"judge": 1.0})
    assert reranker.order([{"judge": 1.0}, {"judge": 2.0}]) == [1, 0]
    reranker._rule = "drop"
    with collected_warnings() as said:
        assert reranker.order([{"judge": None}, {"judge": 1.0}, {"judge": 2.0}]) == [2, 1, 0]
    assert "1 hypothesis ranked last, where features are missing" in said


IN_JAVASCRIPT = """const w = JSON.parse(require('fs').readFileSync(process.argv[1])).weights;
const score = f => Object.entries(w).reduce((sum, [name, [weight]]) => sum + weight * f[name], 0);
console.log(JSON.parse(process.argv[2]).map(score).join(' '));"""


def test_three_lines_of_javascript_read_the_weights(tmp_path, metric):
    found = tuned(portmert.Lists.from_records(RECORDS, missing="drop"), metric)
    path = tmp_path / "weights.json"
    path.write_text(found.to_json())
    content = json.loads(path.read_text())
    assert {"metric", "data", "missing", "ranges", "portmert"} <= content.keys()
    request = [{"judge": 1.0, "rm": 2.0}, {"judge": 3.5, "rm": -1.0}]
    ours = portmert.Reranker(path).scores(request).tolist()
    weights = content["weights"]
    assert ours == pytest.approx([sum(weights[n][0] * c[n] for n in weights) for c in request])
    if (node := shutil.which("node")) is None:
        pytest.skip("node is not installed; JSON alone was read")
    call = [node, "-e", IN_JAVASCRIPT, str(path), json.dumps(request)]
    printed = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    assert list(map(float, printed.split())) == pytest.approx(ours)
