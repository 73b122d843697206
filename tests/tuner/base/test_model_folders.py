from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from pathlib import Path

import pytest

from portmert.tuner.base.errors import PortmertError
from portmert.tuner.base.model_folders import RECORD, make_folder, read_record


def make(folder):
    (folder / "file").write_text("made")
    return {"pairs": 3}


def never(folder):
    raise AssertionError(folder)


def test_make_folder_makes_once_and_then_uses_it(tmp_path):
    folder = tmp_path / "deep" / "model"
    first = make_folder(folder, {"model": "hmm"}, make)
    second = make_folder(folder, {"model": "hmm"}, never)
    digest = hashlib.blake2b(b"made", digest_size=16).hexdigest()
    assert first == second
    assert first == {
        "fingerprint": {"model": "hmm"},
        "notes": {"pairs": 3},
        "files": {"file": digest},
    }
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_make_folder_takes_an_empty_folder(tmp_path):
    make_folder(tmp_path, {}, make)
    assert (tmp_path / "file").read_text() == "made"


def test_make_folder_leaves_nothing_when_making_fails(tmp_path):
    def fail(folder):
        make(folder)
        raise PortmertError("no")

    with pytest.raises(PortmertError, match="no"):
        make_folder(tmp_path / "model", {}, fail)
    assert list(tmp_path.iterdir()) == []


def test_make_folder_names_what_changed(tmp_path):
    make_folder(tmp_path / "model", {"model": "hmm", "iterations": 5}, make)
    with pytest.raises(PortmertError, match="was trained with another iterations; remove it"):
        make_folder(tmp_path / "model", {"model": "hmm", "iterations": 6}, never)


def test_make_folder_refuses_a_folder_of_something_else(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(PortmertError, match=f"holds no {RECORD}, so it is not a trained model"):
        make_folder(tmp_path, {}, never)
    assert (tmp_path / "thesis.tex").exists()


def test_read_record_refuses_a_damaged_one(tmp_path):
    (tmp_path / RECORD).write_text('{"finger')
    with pytest.raises(PortmertError, match="not readable"):
        read_record(tmp_path)
    (tmp_path / RECORD).write_text("{}")
    with pytest.raises(PortmertError, match="has no fingerprint"):
        read_record(tmp_path)


def test_a_damaged_file_of_a_model_is_named_before_a_library_reads_it(tmp_path):
    folder = tmp_path / "model"
    make_folder(folder, {}, make)
    (folder / "file").write_text("mad")
    with pytest.raises(
        PortmertError, match=r"model/file: is damaged, .*; remove .*model and train"
    ):
        make_folder(folder, {}, never)
    (folder / "file").unlink()
    with pytest.raises(PortmertError, match="model/file: is not there or not readable"):
        read_record(folder)
    (folder / RECORD).write_text('{"fingerprint": {}, "files": []}')
    with pytest.raises(PortmertError, match=r"model.json: `files` is no table"):
        read_record(folder)


@pytest.mark.parametrize("name", ["/dev/zero", "../outside", "model.json/x", "link"])
def test_only_files_of_the_folder_are_read(tmp_path, name):
    folder = tmp_path / "model"
    record = make_folder(folder, {}, make)
    (tmp_path / "outside").write_bytes(b"made")
    (folder / "link").symlink_to("/dev/zero")
    record["files"] = {name: record["files"]["file"]}
    (folder / RECORD).write_text(json.dumps(record))
    with pytest.raises(PortmertError, match="is not there or not readable"):
        make_folder(folder, {}, never)


def test_a_model_of_an_earlier_version_says_nothing_of_its_files(tmp_path):
    folder = tmp_path / "model"
    record = make_folder(folder, {}, make)
    del record["files"]
    (folder / RECORD).write_text(json.dumps(record))
    assert make_folder(folder, {}, never) == record


def test_make_folder_takes_what_another_process_made_meanwhile(tmp_path):
    folder = tmp_path / "model"

    def slow(aside):
        make_folder(folder, {"model": "hmm"}, make)  # the other one is faster
        return make(aside)

    assert make_folder(folder, {"model": "hmm"}, slow)["notes"] == {"pairs": 3}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(("number", "refused"), [(errno.ENOSPC, True), (errno.EOPNOTSUPP, False)])
def test_a_model_behind_which_there_is_no_room_may_be_cut_off(
    tmp_path, monkeypatch, number, refused
):
    asked = []

    def full(_, begin, size):
        asked.append(size - begin)
        raise OSError(number, os.strerror(number))

    def make(folder):
        (folder / "table").write_bytes(bytes(100_000))
        return {}

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    folder = tmp_path / "model"
    if refused:
        with pytest.raises(PortmertError, match="model: cannot write: No space left on device"):
            make_folder(folder, {}, make)
        assert not list(tmp_path.iterdir())
    else:
        make_folder(folder, {}, make)
        assert (folder / "table").stat().st_size == 100_000
    assert asked[0] > 100_000


@pytest.mark.parametrize("moment", ["open", "flock"])
def test_a_folder_that_another_process_clears_before_it_is_locked_is_made_again(
    tmp_path, monkeypatch, moment
):
    module = {"open": os, "flock": fcntl}[moment]
    original = getattr(module, moment)
    calls = []

    def cleared_before(target, flags, *mode, **folder):
        part = target if moment == "open" else Path(f"/proc/self/fd/{target}").readlink()
        if str(part).endswith(".part") and not calls:
            calls.append(part)
            Path(part).rmdir()
        return original(target, flags, *mode, **folder)

    monkeypatch.setattr(module, moment, cleared_before)
    record = make_folder(tmp_path / "model", {"seed": 1}, make)
    assert calls
    assert read_record(tmp_path / "model") == record
    assert not list(tmp_path.glob(".*"))
