"""The cache of annotations: kept, shared, bounded, and never in the way."""

import hashlib
import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from portmert.tuner.annotation import cache as annotation_cache
from portmert.tuner.annotation.cache import (
    FILE,
    AnnotationCache,
    default_folder,
    size_limit,
)
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.base.warn import collected_warnings

KEYS = [annotation_cache.line_key(str(number)) for number in range(2000)]


@pytest.fixture
def said():
    with collected_warnings() as warnings:
        yield warnings


@pytest.fixture
def opened(tmp_path):
    caches = []

    def open_cache(annotator="udpipe 1", folder=tmp_path):
        caches.append(AnnotationCache(folder, annotator))
        return caches[-1]

    yield open_cache
    for cache in caches:
        cache.close()


def rows(keys, layer="tags", size=1):
    """Return records that cannot be compressed; with size 1 each is its key."""
    return [(key, {layer: long(key, size)}) for key in keys]


def long(key, size):
    return key if size == 1 else hashlib.shake_128(key).digest(len(key) * size)


def damage(folder):
    """Turn a bit of one record."""
    with closing(sqlite3.connect(folder / FILE)) as database, database:
        ((record,),) = database.execute("SELECT record FROM records LIMIT 1")
        damaged = record[:-1] + bytes([record[-1] ^ 1])
        database.execute("UPDATE records SET record = ? WHERE record = ?", (damaged, record))


def get(cache, keys, layer="tags"):
    return cache.get([layer], keys)[layer]


def test_a_closed_cache_does_not_set_its_file_aside(opened, said):
    cache = opened()
    cache.put(rows(KEYS[:5]))
    cache.close()  # as an interrupt does, while a search still annotates
    with pytest.raises(sqlite3.ProgrammingError):
        cache.put(rows(KEYS[5:]))
    assert get(opened(), KEYS[:6]) == [*KEYS[:5], None]
    assert not said


def test_what_was_put_is_there_for_the_next(opened, said):
    opened().put(rows(KEYS))
    kept = opened()
    assert get(kept, KEYS[::-1]) == KEYS[::-1]
    assert get(kept, KEYS[:2], "heads") == [None, None]
    assert get(kept, [b"other", KEYS[3]]) == [None, KEYS[3]]
    assert get(kept, []) == []
    assert get(opened("udpipe 2"), KEYS[:2]) == [None, None]
    assert not said


def test_what_is_forgotten_is_made_again(opened):
    cache = opened()
    cache.put(rows(KEYS[:3]))
    cache.forget(["tags"], KEYS[:2])
    assert get(cache, KEYS[:3]) == [None, None, KEYS[2]]


def test_without_a_folder_records_are_kept_in_memory(opened, said, tmp_path):
    cache = opened(folder=None)
    cache.put(rows(KEYS[:3]))
    assert get(cache, KEYS[:3]) == KEYS[:3]
    assert ([*said], list(tmp_path.iterdir())) == ([], [])


WRITER = """
import sys
from pathlib import Path
from portmert.tuner.annotation.cache import AnnotationCache, line_key
folder, first = Path(sys.argv[1]), int(sys.argv[2])
cache = AnnotationCache(folder, f"annotator {first % 2}")
for number in range(first, first + 60):
    key = line_key(str(number))
    cache.put([(key, {"heads": str(number).encode()})])
    found = cache.get(["heads"], [key])
    assert found == {"heads": [str(number).encode()]}, found
"""


def test_several_processes_share_a_new_file(tmp_path, opened, said):
    path = os.pathsep.join(sys.path)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, tmp_path, str(first)],
            env={**os.environ, "PYTHONPATH": path},
        )
        for first in (0, 1000, 2001)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    numbers = [*range(60), *range(1000, 1060)]
    keys = [annotation_cache.line_key(str(number)) for number in numbers]
    assert get(opened("annotator 0"), keys, "heads") == [str(n).encode() for n in numbers]
    assert not said


def test_layers_are_kept_apart_and_together(opened):
    cache = opened()
    one, two = KEYS[:2]
    cache.put([(one, {"tags": b"t", "parses 2": b"p"}), (two, {"heads": b"h"})])
    cache.put([(one, {"heads": b"", "parses 50": b"q"})])
    layers = ["parses 50", "heads", "tags", "trees", "parses 2"]
    assert cache.get(layers, [two, one]) == {
        "parses 50": [None, b"q"],
        "heads": [b"h", b""],
        "tags": [None, b"t"],
        "trees": [None, None],
        "parses 2": [None, b"p"],
    }
    cache.forget(["heads", "parses 2"], [one])
    assert cache.get(["heads", "tags", "parses 2"], [one]) == {
        "heads": [None],
        "tags": [b"t"],
        "parses 2": [None],
    }


def test_a_portion_is_kept_whole_or_not_at_all(opened):
    cache = opened()
    cache.put(rows(KEYS[:5]))
    with pytest.raises(AttributeError):
        cache.put([(KEYS[5], {"tags": b"x", "heads": b"y"}), (KEYS[6], None)])
    with pytest.raises(TypeError):
        cache.put([*rows(KEYS[5:8]), (KEYS[8], {"parses 2": object()})])
    assert get(cache, KEYS[:9]) == [*KEYS[:5], None, None, None, None]


@pytest.mark.parametrize("content", [b"no database at all" * 100, b""])
def test_a_file_that_is_no_database_is_set_aside(tmp_path, opened, said, content):
    (tmp_path / FILE).write_bytes(content)
    cache = opened()
    cache.put(rows(KEYS[:1]))
    assert get(opened(), KEYS[:1]) == KEYS[:1]
    if content:
        assert [*said] == [
            f"{tmp_path / FILE}: damaged, or no cache; it is now {FILE}.unusable, and is made anew"
        ]
        assert (tmp_path / f"{FILE}.unusable").read_bytes() == content
    else:
        assert not said  # SQLite's own beginning


@pytest.mark.parametrize("version", [0, annotation_cache.VERSION + 1])
def test_a_cache_of_another_version_is_set_aside(tmp_path, opened, said, version):
    opened().put(rows(KEYS[:1]))
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute(f"PRAGMA user_version = {version}")
    database.close()
    cache = opened()
    assert get(cache, KEYS[:1]) == [None]
    assert len(said) == 1
    assert "no cache of portmert, or of another version" in next(iter(said))


def test_a_cache_with_other_tables_is_set_aside_whatever_its_version(tmp_path, opened, said):
    opened().put(rows(KEYS[:1]))
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("ALTER TABLE records RENAME COLUMN record TO text")
    database.close()
    assert get(opened(), KEYS[:1]) == [None]
    assert len(said) == 1
    assert "another version" in next(iter(said))
    opened()
    assert len(said) == 1


def test_a_file_that_cannot_be_set_aside_gives_way_to_memory(tmp_path, opened, said):
    cache = opened()
    cache.put(rows(KEYS[:2]))
    (tmp_path / f"{FILE}.unusable").mkdir()
    damage(tmp_path)
    assert get(cache, KEYS[:2]) == [None, None]
    cache.put(rows(KEYS[:2]))
    assert get(cache, KEYS[:2]) == KEYS[:2]
    assert len(said) == 1
    assert next(iter(said)).endswith(
        "annotations are not kept (--annotation-cache or PORTMERT_CACHE names another folder)"
    )


def test_a_damaged_record_sets_the_file_aside(tmp_path, opened, said):
    cache = opened()
    cache.put(rows(KEYS[:2]))
    damage(tmp_path)
    assert get(cache, KEYS[:2]) == [None, None]
    assert "damaged or cut off" in next(iter(said))


def test_a_folder_without_permission_to_write_is_told(tmp_path, opened, said, monkeypatch):
    opened().put(rows(KEYS[:1]))
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (tmp_path, os.W_OK))
    cache = opened()
    cache.put(rows(KEYS[:2]))
    assert get(cache, KEYS[:2]) == KEYS[:2]
    assert len(said) == 1
    assert f"no permission to write in {tmp_path}; annotations are not kept" in next(iter(said))
    monkeypatch.undo()
    assert get(opened(), KEYS[:2]) == [KEYS[0], None]


def test_a_place_that_cannot_be_is_told(tmp_path, opened, said):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder" / FILE).mkdir(parents=True)
    opened(folder=tmp_path / "file")
    opened(folder=tmp_path / "folder")
    assert ["expected a f" in line for line in said] == [True, True]
    assert (tmp_path / "file").read_text() == "x"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_file_that_was_cut_off_is_set_aside(tmp_path, opened, said, share):
    first = opened()
    first.put(rows(KEYS, size=20))
    first.close()
    path = tmp_path / FILE
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    cache = opened()
    found = get(cache, KEYS)
    assert found == [None] * len(KEYS)
    cache.put(rows(KEYS))
    assert get(cache, KEYS) == KEYS
    assert len(said) == 1
    assert "damaged" in next(iter(said))


def test_a_file_that_another_process_has_locked_is_not_waited_for_forever(
    tmp_path, opened, said, monkeypatch
):
    monkeypatch.setattr(annotation_cache, "WAIT_SECONDS", 0)
    cache = opened()
    cache.put(rows(KEYS[:1]))
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    cache.put(rows(KEYS[1:2]))
    assert len(said) == 1
    assert "database is locked; annotations are not kept" in next(iter(said))
    cache.put(rows(KEYS[2:3]))  # in memory from now on
    assert get(cache, KEYS[2:3]) == KEYS[2:3]
    other.close()


def test_beyond_the_limit_the_oldest_go(tmp_path, opened, monkeypatch):
    limit = 400_000
    monkeypatch.setenv("PORTMERT_CACHE_SIZE", str(limit))
    cache = opened()
    for begin in range(0, 2000, 100):
        cache.put(rows(KEYS[begin : begin + 100], size=20))
    cache.close()
    assert (tmp_path / FILE).stat().st_size <= limit
    found = [record is not None for record in get(opened(), KEYS)]
    oldest = found.index(True)
    assert not any(found[:oldest])
    assert all(found[oldest:])
    assert sum(found) > 550


def test_the_folder_is_the_variable_s_or_the_user_s(monkeypatch, tmp_path):
    monkeypatch.setenv("PORTMERT_CACHE", str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.setenv("PORTMERT_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_folder().name == "portmert"
    if sys.platform == "linux":
        assert default_folder() == tmp_path / "xdg" / "portmert"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", 4 << 30),
        ("1000", 1000),
        ("500M", 500 << 20),
        ("2g", 2 << 30),
        ("3 KiB", None),
        ("3KiB", 3072),
    ],
)
def test_the_limit_is_the_variable_s(monkeypatch, text, size):
    monkeypatch.setenv("PORTMERT_CACHE_SIZE", text)
    if size is None:
        with pytest.raises(ConfigError, match="PORTMERT_CACHE_SIZE is '3 KiB', expected a size"):
            size_limit()
    else:
        assert size_limit() == size
