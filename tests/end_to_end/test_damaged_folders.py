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
from tests.support.run_folders import REFERENCE, renew_digest, write_corpus, write_lines, write_run

CONFIG = INVENTED / "recorded.toml"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "run"
    few = ["tune.iterations=2", "tune.nbest=5", f"tune.output={folder}"]
    run("tune", CONFIG, *[word for setting in few for word in ("--set", setting)])
    return folder, few


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


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("state.json", ["tune", "report"]),
        ("result.json", ["report"]),
        ("iteration-01/scores.json", ["report"]),
        ("iteration-01/optimized.json", ["report"]),
        ("iteration-01/weights.json", ["report"]),
    ],
)
def test_damaged_files_of_a_run_are_named(finished, tmp_path, kind, name, commands):
    folder, few = finished
    run_folder = tmp_path / "run"
    shutil.copytree(folder, run_folder)
    damaged = run_folder / name
    damaged.write_bytes(DAMAGE[kind](damaged.read_bytes()))
    before = damaged.read_bytes()
    given = [*few[:-1], f"tune.output={run_folder}"]
    words = {
        "tune": ["tune", CONFIG, *[word for setting in given for word in ("--set", setting)]],
        "report": ["report", run_folder],
    }
    for command in commands:
        if (command, name, kind) == ("report", "state.json", "values of a wrong type"):
            continue  # its texts are compared only where the run goes on
        said = run(*words[command], status=1).stderr.splitlines()[-1]
        assert said.startswith(f"portmert: error: {damaged}"), said
    assert damaged.read_bytes() == before


@pytest.mark.parametrize(
    "name",
    ["log.txt", "digests.json", "decoder.config", "iteration-02", "iteration-03", "scratch"],
)
def test_a_file_in_the_place_of_a_folder_is_named_and_so_is_the_reverse(finished, tmp_path, name):
    folder, few = finished
    run_folder = tmp_path / "run"
    shutil.copytree(folder, run_folder)
    misplaced = run_folder / name
    found, expected = ("file", "folder") if misplaced.is_dir() else ("folder", "file")
    if misplaced.is_dir():
        shutil.rmtree(misplaced)
        misplaced.write_text("")
    else:
        misplaced.unlink()
        misplaced.mkdir()
    given = [*few[:-1], f"tune.output={run_folder}"]
    tune = ["tune", CONFIG, *[word for setting in given for word in ("--set", setting)]]
    for words in (tune, ["report", run_folder], ["compare", run_folder, f"other={CONFIG}"]):
        assert (
            f"{misplaced}: there is a {found} in the place of the {expected}; remove it, and the "
            f"command that made the run makes the {expected} again"
        ) in fault(*words)
    misplaced.rmdir() if misplaced.is_dir() else misplaced.unlink()
    run(*tune)
    run("report", run_folder)


@pytest.mark.parametrize("name", ["nbest.gz", "scores.json"])
def test_a_folder_in_the_place_of_a_file_of_an_iteration_is_named(finished, tmp_path, name):
    folder, few = finished
    shutil.copytree(folder, tmp_path / "run")
    misplaced = tmp_path / "run" / "iteration-01" / name
    misplaced.unlink()
    misplaced.mkdir()
    given = [*few[:-1], f"tune.output={tmp_path / 'run'}"]
    tune = ["tune", CONFIG, *[word for setting in given for word in ("--set", setting)]]
    for words in (tune, ["report", tmp_path / "run"]):
        assert f"{misplaced.parent / 'digests.json'}: '{name}' is not a file in this" in fault(
            *words
        )
    (misplaced.parent / "digests.json").unlink()
    assert re.search(f"{misplaced}: .*a folder.* expected a file", fault(*tune))


def test_weights_of_another_length_are_named(finished, tmp_path):
    shutil.copytree(finished[0], tmp_path / "run")
    damaged = tmp_path / "run" / "iteration-02" / "weights.json"
    content = json.loads(damaged.read_text())
    name, values = next(iter(content["weights"].items()))
    content["weights"][name] = [*values, 1.0]
    damaged.write_text(json.dumps(content))
    (damaged.parent / "digests.json").unlink()
    said = fault("report", tmp_path / "run")
    assert f"{damaged}: 2 weights of feature {name}, but " in said


@pytest.mark.parametrize("name", ["nbest.gz", "output.txt", "scores.json", "digests.json"])
@pytest.mark.parametrize("kind", ["gone", "half"])
def test_the_test_output_of_a_run_is_made_again(tmp_path, name, kind):
    data = INVENTED / "recorded"
    given = [
        "tune.iterations=1", "tune.nbest=3", "optimizer.name=mert",
        "optimizer.searches_per_feature=1",
        f"tune.output={tmp_path}", f"data.test_source={data / 'dev.src'}",
        f'data.test_references=["{data / "dev.tgt"}"]',
        f'data.test_reference_links=["{data / "dev.links"}"]',
    ]  # fmt: skip
    words = ["tune", CONFIG, *[word for setting in given for word in ("--set", setting)]]
    run(*words)
    damaged = tmp_path / "test" / name
    whole = {path: path.read_bytes() for path in (tmp_path / "test").iterdir()}
    if kind == "gone":
        damaged.unlink()
    else:
        damaged.write_bytes(whole[damaged][: len(whole[damaged]) // 2])
    if (name, kind) == ("digests.json", "half"):
        assert f"{damaged}: " in fault(*words)
        return
    said = run(*words).stderr
    if (name, kind) != ("scores.json", "gone"):  # then it looks like a run that was killed
        again = "scores.json" if name == "digests.json" else name
        assert f"{again}: changed or gone since it was written; it is made again" in said
    assert {path: path.read_bytes() for path in (tmp_path / "test").iterdir()} == whole


@pytest.mark.parametrize("name", ["../../precious", "/precious", "", ".", "a\0b"])
def test_digests_name_only_files_of_their_folder(finished, tmp_path, name):
    folder, few = finished
    copy, precious = tmp_path / "run", tmp_path / "precious"
    shutil.copytree(folder, copy)
    precious.write_text("of the user\n")
    name = str(precious) if name == "/precious" else name
    digests = copy / "iteration-01" / "digests.json"
    digests.write_text(json.dumps({name: "", **json.loads(digests.read_text())}))
    given = [*few[:-1], f"tune.output={copy}"]
    words = ["tune", CONFIG, *[word for setting in given for word in ("--set", setting)]]
    for said in (fault("report", copy), fault(*words)):
        # A long message cuts what it quotes, so a long temporary path ends in "...".
        shown = "".join(char if char.isprintable() else "\ufffd" for char in name)
        assert f"{digests}: '{shown[:20]}" in said
        assert "' is not a file in this folder" in said
    assert precious.read_text() == "of the user\n"


def whole(folder):
    """Return the bytes of all files of a run but logs."""
    made = (".lock", "log.txt", "decoder.log")
    files = (path for path in folder.rglob("*") if path.is_file() and path.name not in made)
    return {path.relative_to(folder): path.read_bytes() for path in files}


PARTS = ["nbest.gz", "weights.json", "scores.json", "optimized.json"]


@pytest.mark.parametrize("part", [*PARTS, ""])
def test_a_file_that_is_gone_from_a_finished_run_is_named_and_made_again(finished, tmp_path, part):
    folder, few = finished
    copy = tmp_path / "run"
    shutil.copytree(folder, copy)
    gone, before = copy / "iteration-02" / part, whole(copy)
    gone.unlink() if part else shutil.rmtree(gone)
    assert fault("report", copy).startswith(f"portmert: error: {gone}: ")
    given = [*few[:-1], f"tune.output={copy}"]
    run("tune", CONFIG, *[word for setting in given for word in ("--set", setting)])
    assert whole(copy) == before
    run("report", copy)


@pytest.mark.parametrize("kind", ["half", "other"])
@pytest.mark.parametrize("name", [f"iteration-01/{part}" for part in PARTS] + ["result.json"])
def test_changed_files_of_a_run_are_refused_by_readers_and_made_again(
    finished, tmp_path, name, kind
):
    folder, few = finished
    copy = tmp_path / "run"
    shutil.copytree(folder, copy)
    damaged, before = copy / name, whole(copy)
    data = damaged.read_bytes()
    damaged.write_bytes(data[: len(data) // 2] if kind == "half" else data.replace(b"0", b"1"))
    said = fault("report", copy)
    assert said.startswith(f"portmert: error: {damaged}: ")
    given = [*few[:-1], f"tune.output={copy}"]
    said = run("tune", CONFIG, *[word for setting in given for word in ("--set", setting)]).stderr
    if name != "result.json":  # which each run writes
        assert f"{damaged}: changed or gone since it was written; it is made again" in said
    assert whole(copy) == before
    run("report", copy)


@pytest.mark.parametrize(
    "name", ["average/nbest.gz", "average/scores.json", "replica-1/test/output.txt"]
)
def test_changed_files_of_an_average_are_made_again(tmp_path, name):
    data = INVENTED / "recorded"
    given = [
        "tune.iterations=1", "tune.nbest=3", "tune.replicas=2", "optimizer.name=coordinate",
        f"tune.output={tmp_path}", f"data.test_source={data / 'dev.src'}",
        f'data.test_references=["{data / "dev.tgt"}"]',
        f'data.test_reference_links=["{data / "dev.links"}"]',
    ]  # fmt: skip
    words = ["tune", CONFIG, *[word for setting in given for word in ("--set", setting)]]
    run(*words)
    damaged, before = tmp_path / name, whole(tmp_path)
    damaged.write_bytes(before[damaged.relative_to(tmp_path)] + b"\n")
    other = f"other={tmp_path / 'test' / 'output.txt'}"
    if name == "replica-1/test/output.txt":
        said = fault("compare", tmp_path, other)
        assert f"{damaged}: changed since it was written; " in said
    assert f"{damaged}: changed or gone since it was written; it is" in run(*words).stderr
    assert whole(tmp_path) == before
    digests = tmp_path / "average" / "digests.json"
    held = json.loads(digests.read_text())
    digests.write_text(json.dumps({**held, "weights.json": held["nbest.gz"]}))
    run(*words)
    assert whole(tmp_path) == before
    (tmp_path / "average" / "weights.json").write_bytes(b"\xff\xfe\x00junk\n")
    run(*words)
    assert whole(tmp_path) == before
    # A count that no machine can hold ends at once too, without growing.
    state = tmp_path / "state.json"
    content = json.loads(state.read_text())
    content["fingerprint"]["tune.replicas"] = "99999999999999999999999"
    state.write_text(json.dumps(content))
    run("compare", tmp_path, other, "--samples", 10)
    run("report", tmp_path)


@pytest.mark.parametrize("key", ["dev_score", "unseen_score", "held_out", "hypotheses", "new"])
def test_a_single_key_that_is_gone_is_named(finished, tmp_path, key):
    folder, few = finished
    shutil.copytree(folder, tmp_path / "run")
    damaged = tmp_path / "run" / "iteration-01" / "scores.json"
    content = json.loads(damaged.read_text())
    del content[key]
    damaged.write_text(json.dumps(content))
    renew_digest(damaged)
    given = [*few[:-1], f"tune.output={tmp_path / 'run'}"]
    said = fault("tune", CONFIG, *[word for setting in given for word in ("--set", setting)])
    assert f"{damaged}: {key} is not what portmert writes there" in said


@pytest.mark.parametrize("kind", DAMAGE)
def test_what_a_run_was_made_from_is_written_anew_by_the_same_run(finished, tmp_path, kind):
    shutil.copytree(finished[0], tmp_path / "run")
    damaged = tmp_path / "run" / "inputs.json"
    whole = damaged.read_bytes()
    damaged.write_bytes(DAMAGE[kind](whole))
    written = ("--json", tmp_path / "report.json")
    said = run("report", tmp_path / "run", *written).stderr
    assert f"no scores of a test set: {damaged}: not what portmert writes" in said
    assert "delete it, and start the run again" in said
    damaged.unlink()
    given = [*finished[1][:-1], f"tune.output={tmp_path / 'run'}"]
    run("tune", CONFIG, *[word for setting in given for word in ("--set", setting)])
    restored = json.loads(damaged.read_text())
    assert restored["data"].keys() == json.loads(whole)["data"].keys()
    assert f"{damaged}: " not in run("report", tmp_path / "run", *written).stderr


def test_a_run_with_a_component_that_is_gone_is_reported(finished, tmp_path):
    shutil.copytree(finished[0], tmp_path / "run")
    path = tmp_path / "run" / "inputs.json"
    content = json.loads(path.read_text())
    content["annotator"] = {"name": "of-another-package", "options": {}}
    path.write_text(json.dumps(content))
    before = run("report", finished[0]).stdout
    assert run("report", tmp_path / "run").stdout.split()[1:] == before.split()[1:]


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_files_of_compared_runs_are_named(tmp_path, kind):
    write_corpus(tmp_path)
    folders = [write_run(tmp_path, name, [REFERENCE]) for name in ("one", "two")]
    for name in ("state.json", "inputs.json", "result.json"):
        damaged = folders[0] / name
        whole = damaged.read_bytes()
        damaged.write_bytes(DAMAGE[kind](whole))
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
    damaged = (tmp_path / FILE).read_bytes()
    said = fault("cache", "info", "--annotation-cache", tmp_path)
    assert str(tmp_path / FILE) in said
    assert "`portmert cache clear` deletes it" in said
    with collected_warnings() as warnings:
        cache = AnnotationCache(tmp_path, "x 1")
    assert cache.get(["tags"], [line_key("a")]) == {"tags": [None]}
    cache.close()
    assert len(warnings) == 1
    empty = f"{tmp_path / FILE}: 0.0 of 4096 MiB\n"
    assert run("cache", "info", "--annotation-cache", tmp_path).stdout == empty
    (tmp_path / FILE).write_bytes(damaged)
    shown = run("cache", "clear", "--annotation-cache", tmp_path).stdout
    assert shown == f"{tmp_path / FILE}: a file that cannot be read is deleted\n"
    assert list(tmp_path.iterdir()) == []  # as said
    said = fault("cache", "info", "--annotation-cache", tmp_path)
    assert f"{tmp_path}: no cache (no {FILE})" in said
    with collected_warnings() as warnings:
        AnnotationCache(tmp_path, "x 1").close()
    assert not warnings
    assert run("cache", "info", "--annotation-cache", tmp_path).stdout == empty


def test_compare_reads_the_output_that_it_requires(tmp_path):
    write_corpus(tmp_path)
    folders = [write_run(tmp_path, name, [REFERENCE]) for name in ("one", "two")]
    output = folders[1] / "test" / "output.txt"
    lines = output.read_text().splitlines()
    write_lines(output, [*lines[:2], "other words", *lines[3:]])
    assert f"{output}:3: not the first hypothesis of the segment in" in fault(
        "compare", *folders, "--samples", "10"
    )
