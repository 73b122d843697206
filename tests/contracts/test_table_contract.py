"""The same data give the same result through every door, in any order of segments and rows."""

import json
import random

import numpy as np
import pytest

import portmert
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.components import registry
from portmert.tuner.components.external import Outcome

SEGMENTS, SIZE = 45, 4
IDS = [f"q{n}" for n in range(1, SEGMENTS + 1)]


def records_of(seed=1):
    rng = np.random.default_rng(seed)
    return [
        {
            "id": name,
            "index": k,
            "text": f"t{name} {k}",
            "features": {
                "a": float(rng.integers(9)),
                "b": float(rng.integers(7)),
                "place": -float(k),
            },
        }
        for name in IDS
        for k in range(SIZE)
    ]  # fmt: skip


def with_right(records):
    for record in records:
        a, b, *_ = record["features"].values()
        record["right"] = float((2 * a - b > 8) ^ (record["index"] * a == 6))
    return records


RECORDS = with_right(records_of())


def shuffled(records, seed):
    """Return records with segments and rows in another order; 0: as they are."""
    return list(records) if not seed else random.Random(seed).sample(records, len(records))


def of_file(folder, records):
    path = folder / f"list{random.Random(str(records)).random()}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return portmert.Lists.read(path)


def of_records(_, records):
    return portmert.Lists.from_records(records)


def of_arrays(_, records):
    ids = list(dict.fromkeys(record["id"] for record in records))
    by_rank = sorted(records, key=lambda record: (ids.index(record["id"]), record["index"]))
    features = [list(record["features"].values()) for record in by_rank]
    offsets = np.concatenate([[0], np.cumsum([sum(r["id"] == i for r in records) for i in ids])])
    names = [*records[0]["features"]]
    return portmert.Lists.from_arrays(features, offsets, feature_names=names, ids=ids)


def of_frame(_, records):
    columns = {key: [record[key] for record in records] for key in ("id", "index", "text")}
    for name in records[0]["features"]:
        columns[name] = [record["features"][name] for record in records]
    return portmert.Lists.from_frame(
        columns, segment="id", index="index", text="text", features=[*records[0]["features"]]
    )


def of_graphs(folder, records):
    """Graphs whose best strings stand in the order of their numbers."""
    graphs = {}
    for record in records:
        graphs.setdefault(record["id"], []).append(record)
    names = [*records[0]["features"]]
    lines = []
    for name, arcs in graphs.items():
        rules = [x for n, r in enumerate(arcs, 1) for x in (n, f"[X] ||| x ||| {r['text']}")]
        edges = [
            {"rule": n, "feats": [x for pair in enumerate(r["features"].values()) for x in pair]}
            for n, r in enumerate(arcs, 1)
        ]
        node = {"in_edges": [*range(len(arcs))]}
        graph = {"rules": rules, "features": names, "edges": edges, "node": node}
        lines.append(f"{name}\n{json.dumps(graph)}\n\n")
    path = folder / f"graphs{random.Random(str(records)).random()}"
    path.write_text("".join(lines))
    return portmert.Lists.from_graphs(path, {**dict.fromkeys(names, 0.0), "place": 1.0})


def of_dat(folder, records):
    """Moses' files, whose segments are numbers, with the outcomes as statistics."""
    texts = {"FEATURES": "", "SCORES": ""}
    names = [*records[0]["features"]]
    for name in dict.fromkeys(record["id"] for record in records):
        rows = sorted((r for r in records if r["id"] == name), key=lambda r: r["index"])
        tables = [[*r["features"].values()] for r in rows], [[r["right"], 1.0] for r in rows]
        columns = f"{len(names)} {' '.join(names)}", "2 scores"
        for kind, table, head in zip(texts, tables, columns, strict=True):
            number = int("".join(filter(str.isdecimal, name))) - 1
            lines = "".join(f"{' '.join(map(repr, row))}\n" for row in table)
            begin = f"{kind}_TXT_BEGIN_0 {number} {len(rows)} {head}\n"
            texts[kind] += f"{begin}{lines}{kind}_TXT_END_0\n"
    paths = [folder / f"{kind}{random.Random(str(records)).random()}" for kind in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text)
    return portmert.Lists.read_dat(paths[:1], paths[1:])


DOORS = {
    "file": of_file, "records": of_records, "arrays": of_arrays, "frame": of_frame,
    "graphs": of_graphs,
}  # fmt: skip
ALL_DOORS = {**DOORS, "dat": of_dat}
KNOWN = Outcome("scores")
"""The metric of the statistics that Moses' files have."""


@pytest.fixture
def outcomes(tmp_path):
    def written(records, *, ids=True):
        path = tmp_path / "outcomes.jsonl"
        keys = ("id", "index", "right") if ids else ("right",)
        lines = [json.dumps({key: record[key] for key in keys}) for record in records]
        path.write_text("".join(f"{line}\n" for line in lines))
        return f"scores:{path}#right"

    return written


def tuned(lists, metric):
    """The score, and the file of weights without the name of the metric."""
    start = {name: 1.0 for name, _ in lists.nbest.feature_names}
    optimized = portmert.optimize(lists, metric, weights=start, optimizer="mert:restarts=1")
    content = json.loads(optimized.to_json())
    assert content.pop("metric")
    return optimized.score, json.dumps(content)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    (folder / "right").write_text("".join(f"{record['right']}\n" for record in RECORDS))
    result = tuned(of_file(folder, RECORDS), f"scores:{folder / 'right'}")
    assert result[0] > np.mean([record["right"] for record in RECORDS]) + 0.1
    return result


@pytest.mark.parametrize("seed", [0, 3])
def test_arrays_and_files_of_moses_in_any_order_give_the_same_weights(tmp_path, expected, seed):
    records = shuffled(RECORDS, seed)
    ids = list(dict.fromkeys(record["id"] for record in records))
    by_rank = sorted(records, key=lambda record: (ids.index(record["id"]), record["index"]))
    nbest = of_arrays(tmp_path, records).nbest
    options = {"feature_names": ["a", "b", "place"], "ids": ids}
    right = [record["right"] for record in by_rank]
    data = nbest.features, nbest.offsets
    of_scores = portmert.Lists.from_arrays(*data, scores=right, **options)
    stats = np.column_stack([right, np.ones(len(right))])
    of_stats = portmert.Lists.from_arrays(*data, stats=stats, **options)
    assert tuned(of_scores, None) == tuned(of_stats, KNOWN) == expected
    score, text = tuned(of_dat(tmp_path, records), KNOWN)
    assert score == expected[0]
    of_moses, others = json.loads(text), json.loads(expected[1])
    assert of_moses.pop("data") != others.pop("data")  # the ids are numbers
    assert of_moses == others


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("door", DOORS)
def test_outcomes_are_joined_by_id_through_every_door(tmp_path, outcomes, expected, door, seed):
    lists = DOORS[door](tmp_path, shuffled(RECORDS, seed))
    assert tuned(lists, outcomes(shuffled(RECORDS, 7 * seed))) == expected


@pytest.mark.parametrize("door", DOORS)
def test_outcomes_without_ids_are_joined_by_place_only_in_order(
    tmp_path, outcomes, expected, door, caplog
):
    caplog.set_level("INFO")
    plain = outcomes(RECORDS, ids=False)
    assert tuned(DOORS[door](tmp_path, RECORDS), plain) == expected
    assert caplog.text.count("taken in the order of the lists") == 1
    with pytest.raises(InputError, match="not in order"):
        tuned(DOORS[door](tmp_path, RECORDS[::-1]), plain)


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    "change",
    [lambda r: r[:-1], lambda r: [*r, r[0]], lambda r: [*r, {**r[0], "index": SIZE}]],
    ids=["too few", "twice", "too many"],
)
def test_other_numbers_of_outcomes_name_both_sides(tmp_path, outcomes, door, change, ids):
    lists = DOORS[door](tmp_path, RECORDS)
    with pytest.raises(InputError, match=r"outcomes.jsonl") as caught:
        portmert.optimize(lists, outcomes(change(RECORDS), ids=ids))
    assert "list" in str(caught.value) or "stands twice" in str(caught.value)


LATTICE = "((('{0}',-1.0,1),('{1}',-2.0,1),),)\n\n"


def lattices(folder, ids):
    path = folder / f"lattices-{len(ids)}-{ids[0]}"
    path.write_text("".join(f"{name}\n" + LATTICE.format("x" + name, "y") for name in ids))
    return portmert.Lists.from_graphs(path, {"LatticeCost": 1.0})


@pytest.mark.parametrize("seed", [1])
def test_outcomes_of_graphs_are_joined_by_id(tmp_path, outcomes, seed):
    ids = random.Random(seed).sample(IDS, SEGMENTS)
    # The better string is the second one of every third segment.
    right = [
        {"id": name, "index": k, "right": float(k == (n % 3 == 0))}
        for n, name in enumerate(IDS)
        for k in range(2)
    ]
    lists = lattices(tmp_path, ids)
    score = portmert.optimize(lists, outcomes(shuffled(right, seed)), optimizer="mert").score
    assert score == pytest.approx(2 / 3)
    for wrong in (
        right[:-1],
        [*right, {"id": "q1", "index": 2, "right": 1.0}],
        [*right, right[0]],
    ):
        with pytest.raises(InputError, match=r"outcomes.jsonl.*(list|twice)"):
            portmert.optimize(lists, outcomes(shuffled(wrong, seed)))


def test_three_outcomes_for_two_strings_are_refused(tmp_path):
    (tmp_path / "lattice").write_text(LATTICE.format("x", "y"))
    (tmp_path / "right").write_text("1\n0\n1\n")
    lists = portmert.Lists.from_graphs(tmp_path / "lattice", {"LatticeCost": 1.0})
    with pytest.raises(InputError, match=r"right: 3 scores, .*list 1 has 2 hypotheses"):
        portmert.optimize(lists, f"scores:{tmp_path / 'right'}")


def test_one_id_of_two_lattices_is_refused(tmp_path):
    with pytest.raises(InputError, match="stands twice"):
        _ = lattices(tmp_path, ["q1", "q2", "q1"]).nbest


def test_lists_without_texts_refuse_what_needs_some(tmp_path):
    lists = of_dat(tmp_path, RECORDS)
    for fault, call in {
        "2 statistics of scores, metric ter has 2": lambda: portmert.optimize(lists, "ter"),
        "need n-best lists with texts": lambda: portmert.optimize(lists, KNOWN, also=["chrf"]),
        "these lists have no texts": lambda: lists.with_feature("length"),
        "needs lists with texts": lambda: portmert.optimize(lists, KNOWN, length_penalty=1.0),
    }.items():
        with pytest.raises(portmert.PortmertError, match=fault):
            call()


def test_a_metric_serves_several_lists_and_is_never_changed(tmp_path, outcomes, expected):
    metric = registry.metric(outcomes(shuffled(RECORDS, 3)))
    before = dict(vars(metric))
    for seed in (0, 1, 2):
        assert tuned(of_records(tmp_path, shuffled(RECORDS, seed)), metric) == expected
    fewer = [record for record in RECORDS if record["id"] in IDS[:9]]
    assert 0 < tuned(portmert.Lists.from_records(fewer), metric)[0] <= 1
    assert dict(vars(metric)) == before


def with_features(records, **functions):
    return [
        {**r, "features": {**r["features"], **{n: f(r) for n, f in functions.items()}}}
        for r in records
    ]


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("door", ALL_DOORS)
def test_copies_and_leaks_are_told_through_every_door(tmp_path, outcomes, door, seed):
    records = with_features(
        shuffled(RECORDS, seed),
        copy=lambda r: 3 * r["features"]["a"] + 1,
        leak=lambda r: 2 * r["right"] - 1,
        flat=lambda r: float(r["id"][1:]),
    )
    lists = ALL_DOORS[door](tmp_path, records)
    metric = KNOWN if door == "dat" else outcomes(RECORDS)
    found = portmert.optimize(lists, metric, optimizer="mert:restarts=1")
    said = "\n".join(found.warnings)
    assert "feature copy is a copy of a" in said
    assert "feature leak orders 100.0 % of pairs of hypotheses as scores does" in said
    assert "feature flat is equal for all hypotheses of a segment" in said
    assert "is a copy of" in "\n".join(lists.findings)


@pytest.mark.parametrize("door", ALL_DOORS)
def test_another_sign_or_scale_in_use_is_told_through_every_door(tmp_path, outcomes, door):
    found = portmert.optimize(of_records(tmp_path, RECORDS), outcomes(RECORDS))
    assert not portmert.rerank(ALL_DOORS[door](tmp_path, RECORDS), found).warnings
    changed = with_features(
        RECORDS, a=lambda r: -r["features"]["a"], b=lambda r: r["features"]["b"] / 2.3
    )
    said = "\n".join(portmert.rerank(ALL_DOORS[door](tmp_path, changed), found).warnings)
    assert "feature a has another sign than in tuning" in said
    assert "feature b varies 0.435 times as much as in tuning" in said


@pytest.mark.parametrize("test_door", ALL_DOORS)
def test_segments_tuned_on_are_told_whatever_the_doors(tmp_path, outcomes, test_door):
    renamed = [{**r, "id": f"x{r['id']}"} for r in RECORDS]
    other = [
        {**r, "id": f"y{9 + int(r['id'][1:])}", "text": f"other {r['text']}"}
        for r in with_right(records_of(seed=2))
    ]
    tests = ALL_DOORS[test_door](tmp_path, shuffled([*renamed[: 9 * SIZE], *other], 1))
    run = portmert.rerank_tune(
        of_records(tmp_path, RECORDS), outcomes(RECORDS), test=tests, replicas=1,
        optimizer="mert:restarts=1",
    )  # fmt: skip
    assert any("9 of 54 segments of the test set (17 %)" in x for x in run.replicas.warnings)


def test_a_hypothesis_given_twice_is_refused_through_every_door(tmp_path):
    twice = [*RECORDS, RECORDS[0]]
    for door in (of_file, of_records, of_frame):
        with pytest.raises(InputError, match="stands twice"):
            _ = door(tmp_path, twice).nbest
    with pytest.raises(ValueError, match="different id"):
        portmert.Lists.from_arrays([[[1.0]], [[2.0]]], ids=["a", "a"])


def test_outcomes_of_several_systems_are_joined_by_id(tmp_path):
    """Each list has a file of outcomes; both in another order."""
    halves = [[r for r in RECORDS if r["index"] % 2 == half] for half in range(2)]
    results = []
    for seed in (0, 4):
        paths, scores = [], []
        for half, records in enumerate(halves):
            paths.append(tmp_path / f"list{half}-{seed}.jsonl")
            scores.append(f"{tmp_path / f'right{half}-{seed}.jsonl'}#right")
            paths[half].write_text("".join(f"{json.dumps(r)}\n" for r in shuffled(records, seed)))
            lines = [json.dumps(r) for r in shuffled(records, 3 * seed)]
            (tmp_path / f"right{half}-{seed}.jsonl").write_text("\n".join(lines) + "\n")
        lists = portmert.Lists.read(paths, systems=("u", "v"))
        results.append(tuned(lists, f"scores:{','.join(scores)}"))
    assert results[0] == results[1]


@pytest.mark.parametrize("door", ["file", "records", "frame"])
def test_equal_hypotheses_with_other_outcomes_are_told_through_every_door(
    tmp_path, outcomes, door
):
    twins = [{**r, "index": r["index"] + SIZE, "right": 1 - r["right"]} for r in RECORDS[:3]]
    with collected_warnings() as said:
        lists = DOORS[door](tmp_path, [*RECORDS, *twins])
        scored = lists.scored_by([registry.metric(outcomes([*RECORDS, *twins]))])
    assert len(scored.nbest.features) == len(RECORDS)
    assert any("3 hypotheses equal to an earlier one of the segment but" in x for x in said)
