"""Pools on disk: what is written is what is read, whole or not at all."""

import json
import zlib

import numpy as np
import pytest

from portmert.tuner.base.errors import InputError, PortmertError
from portmert.tuner.nbest.pool_files import PoolWriter, locked, open_pool

FEATURES = np.arange(12.0).reshape(6, 2) / 8
OFFSETS = np.array([0, 4, 6])
NAMES = (("LM", 1), ("TM", 1))


def write(folder, stats, inputs=None):
    with locked(folder), PoolWriter(folder) as writer:
        writer.add(np.asfortranarray(FEATURES[:4]), stats[:4])
        writer.add(np.asfortranarray(FEATURES[4:]), stats[4:])
        assert not (folder / "pool.json").exists()
        writer.finish(
            OFFSETS, inputs=inputs or {"lists": "a"}, feature_names=NAMES, notices=["said"]
        )


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        (255.0, np.uint8),
        (256.0, np.uint16),
        (65536.0, np.uint32),
        (2.0**32, np.float64),
        (0.5, np.float64),
        (-1.0, np.float64),
        (-0.0, np.float64),
    ],
)
def test_what_is_written_is_read_in_the_smallest_type(tmp_path, last, kind):
    stats = np.ones((6, 3))
    stats[-1, -1] = last
    write(tmp_path / "pool", stats)
    pool = open_pool(tmp_path / "pool", {"lists": "a"})
    assert pool.stats.dtype == kind
    assert pool.stats.astype(float).tobytes() == stats.tobytes()
    assert pool.features.tobytes() == np.ascontiguousarray(FEATURES.T).tobytes()
    assert pool.features.flags.c_contiguous
    assert pool.offsets.tolist() == OFFSETS.tolist()
    assert pool.feature_names == NAMES
    assert pool.notices == ("said",)
    for name, array in (("features", pool.features), ("stats", pool.stats)):
        assert np.load(tmp_path / "pool" / f"{name}.npy").tobytes() == array.tobytes()


def test_a_pool_of_other_inputs_is_not_used(tmp_path):
    folder = tmp_path / "pool"
    assert open_pool(folder, {"lists": "a"}) is None
    write(folder, np.ones((6, 3)), {"lists": "a", "refs": "b"})
    assert "made with other refs" in open_pool(folder, {"lists": "a", "refs": "c"})
    path = folder / "pool.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    assert "version 2 of the format" in open_pool(folder, {"lists": "a", "refs": "b"})


def opened(folder):
    with pytest.raises(InputError) as caught:
        open_pool(folder, {"lists": "a"})
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["features.npy", "stats.npy", "offsets.npy"])
def test_a_damaged_pool_is_named(tmp_path, name):
    folder = tmp_path / "pool"
    write(folder, np.ones((6, 3)))
    path = folder / name
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert f"{path}: the pool is damaged" in opened(folder)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert "its check sum is another" in opened(folder)
    for wrong, said in (
        (b"x" * len(whole), "its head is none"),
        (whole.replace(b"'shape'", b"[shape:"), "its head is none"),
        (whole.replace(whole[16:40], whole[16:40].replace(b"<", b">")), "its numbers are "),
    ):
        path.write_bytes(wrong)
        assert "its check sum is another" in opened(folder)
        fits = json.loads((folder / "pool.json").read_text())
        fits["crc32"][name] = zlib.crc32(wrong)  # by somebody who knows how
        (folder / "pool.json").write_text(json.dumps(fits))
        if wrong != whole:  # statistics of one byte have no order
            assert said in opened(folder)
    path.unlink()
    assert "No such file" in opened(folder)


def test_files_of_another_pool_are_named(tmp_path):
    for name in ("one", "other"):
        write(tmp_path / name, np.ones((6, 3)))
    path = tmp_path / "one" / "pool.json"
    content = json.loads(path.read_text())
    content["features"] = [["LM", 3]]
    path.write_text(json.dumps(content))
    assert "the pool is damaged: its files are of (2, 6) features" in opened(tmp_path / "one")
    for wrong in ("{", "[]", '{"version": 1}', '{"version": 1, "inputs": 3}'):
        path.write_text(wrong)
        assert f"{path}: not what portmert writes" in opened(tmp_path / "one")


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    assert f"{tmp_path}: holds thesis.tex and no pool" in opened(tmp_path)


def test_a_full_disk_leaves_the_pool_that_was_there_or_none(tmp_path, monkeypatch):
    folder = tmp_path / "pool"
    write(folder, np.ones((6, 3)))

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tempfile.TemporaryFile", full)
        with pytest.raises(PortmertError, match="cannot write: No space left"):
            write_again(folder)
    assert open_pool(folder, {"lists": "a"}) is not None
    with monkeypatch.context() as patch:
        patch.setattr(PoolWriter, "_write", full)
        with pytest.raises(PortmertError, match="cannot write: No space left"):
            write_again(folder)
    assert open_pool(folder, {"lists": "a"}) is None
    write_again(folder)
    assert open_pool(folder, {"lists": "a"}) is not None


def write_again(folder):
    with locked(folder), PoolWriter(folder) as writer:
        writer.add(np.asfortranarray(FEATURES), np.ones((6, 3)))
        writer.finish(OFFSETS, inputs={"lists": "a"}, feature_names=NAMES, notices=[])


def test_one_process_at_a_time_makes_a_pool(tmp_path):
    with (
        locked(tmp_path),
        pytest.raises(PortmertError, match="another process"),
        locked(tmp_path),
    ):
        pass
    with locked(tmp_path):
        pass
