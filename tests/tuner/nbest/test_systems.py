"""Lists of several systems with different features, joined."""

import itertools
import json
import random
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import portmert
from portmert.tuner.base.errors import ConfigError, InputError
from portmert.tuner.base.warn import notices_to
from portmert.tuner.cli import main

A = (
    "0 ||| x y ||| F0= 1 F1= 2 ||| 5\n0 ||| z ||| F0= 3 F1= 4 ||| 6\n"
    "0 ||| x y ||| F0= 9 F1= 9 ||| 7\n1 ||| w ||| F0= 5 F1= 6 ||| 8\n"
)
B = (
    '{"id": 0, "text": "z", "features": {"F0": -1, "-p": -2}}\n'
    '{"id": 1, "text": "v", "features": {"F0": -3, "-p": -4}}\n'
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text(A)
    (tmp_path / "b").write_text(B)
    (tmp_path / "ref").write_text("z\nv\n")
    return tmp_path


def lists(*paths, **options):
    return portmert.Lists.read(paths, **options)


@pytest.mark.usefixtures("folder")
def test_two_systems_by_hand():
    said = []
    with notices_to(said.append):
        found = lists("a", "b", systems=["a", "b"]).nbest
    assert [found.texts.words(row) for row in range(4)] == [["x", "y"], ["z"], ["w"], ["v"]]
    assert found.offsets.tolist() == [0, 2, 4]
    assert [name for name, _ in found.feature_names] == [
        *("a.F0", "a.F1", "a"),
        *("-b.p", "b.F0", "b"),
    ]
    assert found.features.tolist() == [
        [1, 2, 1, 0, 0, 0],
        [3, 4, 1, -2, -1, 1],
        [5, 6, 1, 0, 0, 0],
        [0, 0, 0, -4, -3, 1],
    ]
    assert found.features.flags.f_contiguous
    assert found.model_scores.tolist()[:3] == [5, 6, 8]
    assert found.lines.tolist() == [0, 1, 3, 5]
    assert found.list_sizes == (4, 2)
    assert said[0].startswith("a: Marian n-best, 2 models, ")
    assert said[-1] == "a 4, b 2: 4 different hypotheses together"


@pytest.mark.usefixtures("folder")
def test_without_names_of_systems_other_features_are_refused():
    with pytest.raises(InputError, match="lists that are merged must come from one model"):
        lists("a", "b")


def test_files_of_numbers_belong_to_the_lists(folder):
    (folder / "qa").write_text("1\n2\n3\n4\n")
    (folder / "qb").write_text("0-1 5\n1-1 6\n")
    (folder / "qa2").write_text("0-1 1\n0-2 2\n0-3 3\n1-1 4\n")
    for files in ("qa2,qb",):
        found = lists("a", "b", systems=["a", "b"], features=[f"q={files}"]).nbest
        assert found.features[:, -1].tolist() == [1, 2, 4, 6]
    found = lists("a", "a", "b", systems=["a", "a", "b"]).nbest
    assert found.list_sizes == (4, 4, 2)
    assert found.features.tolist() == lists("a", "b", systems=["a", "b"]).nbest.features.tolist()


@pytest.mark.parametrize(
    ("paths", "systems", "message"),
    [
        ("ab", ["a"], "systems a: 1 name for 2 n-best lists; give the name of the system of each"),
        ("aba", ["a", "b", "a"], "put the lists of a one behind the other"),
        ("ab", ["a", "b c"], "'b c' is not a word without = and hyphen"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_wrong_names_are_refused(paths, systems, message):
    with pytest.raises(ConfigError, match=message):
        lists(*paths, systems=systems)


def test_other_segments_and_sparse_features_are_refused(folder):
    (folder / "c").write_text("0 ||| z ||| F0= 1 ||| 0\n")
    with pytest.raises(InputError, match="system c has 1 segment, a 2; each system needs"):
        lists("a", "c", systems=["a", "c"])
    (folder / "c").write_text("0 ||| z ||| L= 1 s_x= 1 ||| 0\n1 ||| z ||| L= 1 ||| 0\n")
    with pytest.raises(InputError, match="system c: some hypotheses lack the feature s_x; lists"):
        lists("a", "c", systems=["a", "c"])


def test_a_slow_join_of_random_lists_is_the_same(tmp_path):
    rng = random.Random(5)
    systems, rows = ["a", "b", "c"], {}
    for number, name in enumerate(systems):
        rows[name] = [
            (segment, " ".join(rng.choices("xyz", k=rng.randint(0, 2))), rng.random() + number)
            for segment in range(9)
            for _ in range(rng.randint(1, 6))
        ]
        text = "".join(f"{n} ||| {text} ||| F0= {value} ||| 0\n" for n, text, value in rows[name])
        (tmp_path / name).write_text(text)
    found = lists(*(str(tmp_path / name) for name in systems), systems=systems).nbest
    expected = {}
    for number, name in enumerate(systems):
        for segment, text, value in rows[name]:
            row = expected.setdefault((segment, text), [0.0] * 6)
            if not row[2 * number + 1]:
                row[2 * number : 2 * number + 2] = value, 1.0
    flat = sorted(expected.items(), key=lambda item: item[0][0])
    assert found.features.tolist() == [row for _, row in flat]
    assert [" ".join(found.texts.words(n)) for n in range(len(flat))] == [k[1] for k, _ in flat]
    sizes = [len(list(g)) for _, g in itertools.groupby(flat, key=lambda item: item[0][0])]
    assert np.diff(found.offsets).tolist() == sizes


@pytest.mark.usefixtures("folder")
def test_systems_from_the_command_line():
    def run(*words):
        return CliRunner().invoke(main, list(map(str, words)))

    both = ("--nbest", "a", "--nbest", "b", "--systems", "a,b")
    search = ("--optimizer", "mert", "--restarts", 1, "--threads", 1)
    test = ("--test-nbest", "a", "--test-nbest", "b", "--test-ref", "ref", "--replicas", 2)
    call = ("rerank-tune", "--metric", "wer", *both, "--ref", "ref", *test, *search)
    result = run(*call, "--out-dir", "out")
    assert result.exit_code == 0, result.stderr
    assert Path("out/output.txt").read_text() == "z\nv\n"
    weights = json.loads(Path("out/weights.json").read_text())["weights"]
    assert set(weights) == {"a.F0", "a.F1", "a", "-b.p", "b.F0", "b"}
    assert run("rerank", *both, "--weights", "out/weights.json").stdout == "z\nv\n"
    refused = run("rerank", *both[:-2], "--weights", "out/weights.json")
    assert refused.exit_code == 1
    assert "must come from one model" in refused.stderr
