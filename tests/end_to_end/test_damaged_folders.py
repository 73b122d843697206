"""Damaged folders of runs and caches are named, and what can be made again is."""

import json
import re
import shutil
import sqlite3

import pytest

from portmert.tuner.annotation.cache import FILE, AnnotationCache, line_key
from portmert.tuner.base.warn import collected_warnings
from tests.support.cli import fault, run
from tests.support.places import INVENTED
from tests.support.run_folders import (
    LITTLE,
    REFERENCE,
    products,
    renew_digest,
    write_corpus,
    write_lines,
    write_run,
)

CONFIG = INVENTED / "recorded.toml"


DATA = INVENTED / "recorded"
TEST_SET = [
    f"data.test_source={DATA / 'dev.src'}", f'data.test_references=["{DATA / "dev.tgt"}"]',
    f'data.test_reference_links=["{DATA / "dev.links"}"]',
]  # fmt: skip


def tune(folder, *settings):
    """The words of a tuning into a folder."""
    return ["tune", CONFIG, *(f"--set={each}" for each in (f"tune.output={folder}", *settings))]


TWO = ("tune.iterations=2", "tune.nbest=5", *LITTLE)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "run"
    run(*tune(folder, *TWO))
    return folder


@pytest.fixture
def copy(finished, tmp_path):
    """A copy of a finished run."""
    return shutil.copytree(finished, tmp_path / "run")


DAMAGE = {
    "not UTF-8": lambda data: b"\xff" + data,
    "nothing": lambda _: b"",
    "half": lambda data: data[: len(data) // 2],
    "no object": lambda _: b"[]",
    "no key": lambda _: b"{}",
    "nested": lambda _: b'{"a":' * 900 + b"1" + b"}" * 900,
    "too deep": lambda _: b"[" * 100_000,
    "values of a wrong type": lambda data: json.dumps(
        {key: {"x": []} for key in json.loads(data)}
    ).encode(),
}


def test_a_damaged_state_of_a_run_is_named(copy):
    damaged = copy / "state.json"
    whole = damaged.read_bytes()
    for damage in DAMAGE.values():
        damaged.write_bytes(damage(whole))
        before = damaged.read_bytes()
        said = fault(*tune(copy, *TWO)).splitlines()[-1]
        assert said.startswith(f"portmert: error: {damaged}"), said
        assert damaged.read_bytes() == before


@pytest.mark.parametrize(
    "name",
    ["log.txt", "digests.json", "decoder.config", "iteration-02", "iteration-03", "scratch"],
)
def test_a_file_in_the_place_of_a_folder_is_named_and_so_is_the_reverse(copy, name):
    misplaced = copy / name
    found, expected = ("file", "folder") if misplaced.is_dir() else ("folder", "file")
    if misplaced.is_dir():
        shutil.rmtree(misplaced)
        misplaced.write_text("")
    else:
        misplaced.unlink()
        misplaced.mkdir()
    again = tune(copy, *TWO)
    for words in (again, ["compare", copy, f"other={CONFIG}"]):
        assert (
            f"{misplaced}: there is a {found} in the place of the {expected}; remove it, and the "
            f"command that made the run makes the {expected} again"
        ) in fault(*words)
    misplaced.rmdir() if misplaced.is_dir() else misplaced.unlink()
    run(*again)


@pytest.mark.parametrize("name", ["nbest.gz", "scores.json"])
def test_a_folder_in_the_place_of_a_file_of_an_iteration_is_named(copy, name):
    misplaced = copy / "iteration-01" / name
    misplaced.unlink()
    misplaced.mkdir()
    said = fault(*tune(copy, *TWO))
    assert f"{misplaced.parent / 'digests.json'}: '{name}' is not a file in this" in said
    (misplaced.parent / "digests.json").unlink()
    assert re.search(f"{misplaced}: .*a folder.* expected a file", fault(*tune(copy, *TWO)))


@pytest.fixture(scope="module")
def tested(tmp_path_factory):
    """A run with a test set, and its words."""
    folder = tmp_path_factory.mktemp("tested")
    words = tune(folder, "tune.iterations=1", "tune.nbest=3", "optimizer.name=mert",
                 "optimizer.searches_per_feature=1", *TEST_SET)  # fmt: skip
    run(*words)
    return folder, words


@pytest.mark.parametrize("name", ["nbest.gz", "output.txt", "scores.json", "digests.json"])
@pytest.mark.parametrize("kind", ["gone", "half"])
def test_the_test_output_of_a_run_is_made_again(tested, name, kind):
    folder, words = tested
    damaged = folder / "test" / name
    before = {path: path.read_bytes() for path in (folder / "test").iterdir()}
    if kind == "gone":
        damaged.unlink()
    else:
        damaged.write_bytes(before[damaged][: len(before[damaged]) // 2])
    if (name, kind) == ("digests.json", "half"):
        assert f"{damaged}: " in fault(*words)
        damaged.write_bytes(before[damaged])
    said = run(*words).stderr
    if name != "digests.json" and (name, kind) != ("scores.json", "gone"):  # as after a kill
        assert f"{name}: changed or gone since it was written; it is made again" in said
    if (name, kind) == ("digests.json", "gone"):
        assert "scores.json: changed or gone since it was written; it is made again" in said
    assert {path: path.read_bytes() for path in (folder / "test").iterdir()} == before


@pytest.mark.parametrize("name", ["../../precious", "/precious", "", ".", "a\0b"])
def test_digests_name_only_files_of_their_folder(copy, tmp_path, name):
    precious = tmp_path / "precious"
    precious.write_text("of the user\n")
    name = str(precious) if name == "/precious" else name
    digests = copy / "iteration-01" / "digests.json"
    digests.write_text(json.dumps({name: "", **json.loads(digests.read_text())}))
    said = fault(*tune(copy, *TWO))
    # A long message cuts what it quotes, so a long temporary path ends in "...".
    shown = "".join(char if char.isprintable() else "\ufffd" for char in name)
    assert f"{digests}: '{shown[:20]}" in said
    assert "' is not a file in this folder" in said
    assert precious.read_text() == "of the user\n"


PARTS = ["nbest.gz", "weights.json", "scores.json", "optimized.json"]


@pytest.mark.parametrize("part", [*PARTS, ""])
def test_a_file_that_is_gone_from_a_finished_run_is_made_again(copy, part):
    gone, before = copy / "iteration-02" / part, products(copy)
    gone.unlink() if part else shutil.rmtree(gone)
    run(*tune(copy, *TWO))
    assert products(copy) == before


@pytest.mark.parametrize("name", [f"iteration-01/{part}" for part in PARTS] + ["result.json"])
def test_changed_files_of_a_run_are_made_again(copy, name):
    damaged, before = copy / name, products(copy)
    data = damaged.read_bytes()
    for content in (data[: len(data) // 2], data.replace(b"0", b"1")):
        damaged.write_bytes(content)
        said = run(*tune(copy, *TWO)).stderr
        if name != "result.json":  # which each run writes
            assert f"{damaged}: changed or gone since it was written; it is made again" in said
        assert products(copy) == before


def test_changed_files_of_an_average_are_made_again(tmp_path):
    words = tune(tmp_path, "tune.iterations=1", "tune.nbest=3", "tune.replicas=2",
                 "optimizer.name=coordinate", *TEST_SET)  # fmt: skip
    run(*words)
    before = products(tmp_path)
    other = f"other={tmp_path / 'test' / 'output.txt'}"
    for name in ("average/nbest.gz", "average/scores.json", "replica-1/test/output.txt"):
        damaged = tmp_path / name
        damaged.write_bytes(before[name] + b"\n")
        if name == "replica-1/test/output.txt":
            said = fault("compare", tmp_path, other)
            assert f"{damaged}: changed since it was written; " in said
        assert f"{damaged}: changed or gone since it was written; it is" in run(*words).stderr
        assert products(tmp_path) == before
    digests = tmp_path / "average" / "digests.json"
    held = json.loads(digests.read_text())
    digests.write_text(json.dumps({**held, "weights.json": held["nbest.gz"]}))
    run(*words)
    assert products(tmp_path) == before
    (tmp_path / "average" / "weights.json").write_bytes(b"\xff\xfe\x00junk\n")
    run(*words)
    assert products(tmp_path) == before
    # A count that no machine can hold ends at once too, without growing.
    state = tmp_path / "state.json"
    content = json.loads(state.read_text())
    content["fingerprint"]["tune.replicas"] = "99999999999999999999999"
    state.write_text(json.dumps(content))
    run("compare", tmp_path, other, "--samples", 10)


def test_a_single_key_that_is_gone_is_named(copy):
    damaged = copy / "iteration-01" / "scores.json"
    whole = json.loads(damaged.read_text())
    for key in ("dev_score", "unseen_score", "held_out", "hypotheses", "new"):
        damaged.write_text(json.dumps({name: whole[name] for name in whole if name != key}))
        renew_digest(damaged)
        assert f"{damaged}: {key} is not what portmert writes there" in fault(*tune(copy, *TWO))


def test_what_a_run_was_made_from_is_written_anew_by_the_same_run(copy):
    damaged = copy / "inputs.json"
    whole = damaged.read_bytes()
    for damage in DAMAGE.values():
        damaged.write_bytes(damage(whole))
        said = fault("compare", copy)
        assert f"{damaged}: not what portmert writes" in said
        assert "delete it, and start the run again" in said
    damaged.unlink()
    run(*tune(copy, *TWO))
    assert json.loads(damaged.read_text())["data"].keys() == json.loads(whole)["data"].keys()


def test_damaged_files_of_compared_runs_are_named(tmp_path):
    write_corpus(tmp_path)
    folders = [write_run(tmp_path, name, [REFERENCE]) for name in ("one", "two")]
    for name in ("state.json", "inputs.json", "result.json"):
        damaged = folders[0] / name
        whole = damaged.read_bytes()
        for damage in DAMAGE.values():
            damaged.write_bytes(damage(whole))
            said = fault("compare", *folders, "--samples", "10")
            assert str(damaged) in said or name not in said
        damaged.write_bytes(whole)


SCHEMAS = [
    "UPDATE sqlite_master SET sql = 'nonsense' WHERE name = 'records'",
    "UPDATE sqlite_master SET rootpage = 99999 WHERE name = 'kinds'",
    "UPDATE sqlite_master SET sql = NULL WHERE name = 'records'",
    "UPDATE sqlite_master SET sql = cast(x'ff' AS TEXT) || sql WHERE name = 'records'",
]


@pytest.mark.parametrize("statement", SCHEMAS)
def test_a_cache_with_a_damaged_schema_is_named_and_made_anew(tmp_path, statement):
    cache = AnnotationCache(tmp_path, "x 1")
    cache.put([(line_key("a"), {"tags": b"tags"})])
    cache.close()
    database = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    database.execute("PRAGMA writable_schema = 1")
    database.execute(statement)
    database.close()
    with collected_warnings() as warnings:
        cache = AnnotationCache(tmp_path, "x 1")
    assert cache.get(["tags"], [line_key("a")]) == {"tags": [None]}
    cache.close()
    assert len(warnings) == 1
    with collected_warnings() as warnings:
        AnnotationCache(tmp_path, "x 1").close()
    assert not warnings


def test_compare_reads_the_output_that_it_requires(tmp_path):
    write_corpus(tmp_path)
    folders = [write_run(tmp_path, name, [REFERENCE]) for name in ("one", "two")]
    output = folders[1] / "test" / "output.txt"
    lines = output.read_text().splitlines()
    write_lines(output, [*lines[:2], "other words", *lines[3:]])
    assert f"{output}:3: not the first hypothesis of the segment in" in fault(
        "compare", *folders, "--samples", "10"
    )
