"""The same data give the same result through every door, in any order of segments and rows."""

import json
import random

import numpy as np
import pytest

import portmert
from portmert.extensions.mert_moses.dat_files import with_statistics, write_features, write_scores
from portmert.tuner.base.errors import InputError

SEGMENTS, SIZE = 45, 4
IDS = [f"q{n}" for n in range(1, SEGMENTS + 1)]


def records_of(seed=1):
    rng = np.random.default_rng(seed)
    return [
        {
            "id": name,
            "index": k,
            "text": f"t{name} {k}",
            "features": {"a": float(rng.integers(9)), "b": float(rng.integers(7))},
        }
        for name in IDS
        for k in range(SIZE)
    ]


def with_right(records):
    for record in records:
        a, b = record["features"].values()
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


DOORS = {"file": of_file, "records": of_records, "arrays": of_arrays, "frame": of_frame}


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
    optimized = portmert.optimize(lists, metric, optimizer="mert:restarts=1")
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


def test_moses_files_in_any_order_give_the_same_and_take_no_outcomes(tmp_path, outcomes):
    by_file = {name: [r for r in RECORDS if r["id"] == name] for name in IDS}
    lists = of_records(tmp_path, RECORDS).nbest
    stats = np.column_stack([[r["right"] for r in RECORDS], np.ones(len(RECORDS))])
    dat = with_statistics(lists, stats, "mean")
    write_features(dat, tmp_path / "features.dat")
    write_scores(dat, tmp_path / "scores.dat")
    assert len(by_file) == SEGMENTS
    for kind in ("features", "scores"):
        text = (tmp_path / f"{kind}.dat").read_text()
        blocks = text.split(f"{kind.upper()}_TXT_END_0\n")[:-1]
        random.Random(1).shuffle(blocks)
        again = "".join(f"{block}{kind.upper()}_TXT_END_0\n" for block in blocks)
        (tmp_path / f"{kind}-2.dat").write_text(again)
    pairs = [
        portmert.Lists.read_dat([tmp_path / f"features{n}.dat"], [tmp_path / f"scores{n}.dat"])
        for n in ("", "-2")
    ]
    assert np.array_equal(pairs[0].nbest.features, pairs[1].nbest.features)
    assert np.array_equal(pairs[0].nbest.counted.rows, pairs[1].nbest.counted.rows)
    with pytest.raises(InputError, match="2 statistics of mean, metric scores"):
        portmert.optimize(pairs[0], outcomes(RECORDS))


def test_a_metric_serves_several_lists_and_is_never_changed(tmp_path, outcomes, expected):
    metric = portmert.tuner.components.registry.metric(outcomes(shuffled(RECORDS, 3)))
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
@pytest.mark.parametrize("door", DOORS)
def test_copies_and_leaks_are_told_through_every_door(tmp_path, outcomes, door, seed):
    records = with_features(
        shuffled(RECORDS, seed),
        copy=lambda r: 3 * r["features"]["a"] + 1,
        leak=lambda r: 2 * r["right"] - 1,
        flat=lambda r: float(r["id"][1:]),
    )
    lists = DOORS[door](tmp_path, records)
    found = portmert.optimize(lists, outcomes(RECORDS), optimizer="mert:restarts=1")
    said = "\n".join(found.warnings)
    assert "feature copy is a copy of a" in said
    assert "feature leak orders 100.0 % of pairs of hypotheses as scores does" in said
    assert "feature flat is equal for all hypotheses of a segment" in said
    assert "is a copy of" in "\n".join(lists.findings)


@pytest.mark.parametrize("door", DOORS)
def test_another_sign_or_scale_in_use_is_told_through_every_door(tmp_path, outcomes, door):
    found = portmert.optimize(of_records(tmp_path, RECORDS), outcomes(RECORDS))
    assert not portmert.rerank(DOORS[door](tmp_path, RECORDS), found).warnings
    changed = [
        {**r, "features": {"a": -r["features"]["a"], "b": r["features"]["b"] / 2.3}}
        for r in RECORDS
    ]
    said = "\n".join(portmert.rerank(DOORS[door](tmp_path, changed), found).warnings)
    assert "feature a has another sign than in tuning" in said
    assert "feature b varies 0.435 times as much as in tuning" in said


@pytest.mark.parametrize("test_door", [name for name in DOORS if name != "arrays"])
def test_segments_tuned_on_are_told_whatever_the_doors(tmp_path, outcomes, test_door):
    renamed = [{**r, "id": f"x{r['id']}"} for r in RECORDS]
    other = [{**r, "id": f"y{r['id']}", "text": f"other {r['text']}"} for r in records_of(seed=2)]
    tests = DOORS[test_door](tmp_path, shuffled([*renamed[: 9 * SIZE], *other], 1))
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
