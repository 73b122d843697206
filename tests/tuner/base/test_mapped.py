import mmap
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.tuner.base import mapped
from portmert.tuner.base.errors import PortmertError
from portmert.tuner.base.mapped import empty_beside, gather, is_mapped, release, segment_blocks
from portmert.tuner.search.problem import within_segment_spread
from tests.support.mapped import in_file


def test_a_view_of_a_mapped_array_is_mapped(tmp_path):
    array = in_file(np.arange(12.0).reshape(3, 4), tmp_path / "a")
    assert is_mapped(array)
    assert is_mapped(array.T[1:, 2])
    assert not is_mapped(array[:, [1, 2]])
    assert not is_mapped(np.zeros(3))


def test_what_is_released_is_there_again(tmp_path):
    array = in_file(np.arange(100_000.0), tmp_path / "a")
    assert array.sum() == 4999950000.0
    release(array, array[3:], np.zeros(2))
    assert array.sum() == 4999950000.0


def test_writing_to_a_mapped_array_changes_no_file(tmp_path):
    array = in_file(np.arange(5.0), tmp_path / "a")
    array[0] = 7.0
    assert np.fromfile(tmp_path / "a").tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_blocks_end_between_segments(tmp_path, monkeypatch):
    # Two rows of float64 are 16 bytes a hypothesis: a block of 80 bytes has room for 5.
    monkeypatch.setattr(mapped, "BLOCK_BYTES", 80)
    offsets = np.array([0, 2, 4, 5, 11, 12])
    array = in_file(np.zeros((2, 12)), tmp_path / "a")
    assert list(segment_blocks(offsets, array)) == [(0, 3), (3, 4), (4, 5)]
    assert list(segment_blocks(offsets, np.zeros((2, 12)))) == [(0, 5)]


def test_gather_takes_rows_in_any_order(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "GATHERED", 2)
    table = np.arange(20, dtype=np.uint8).reshape(10, 2)
    rows = np.array([3, 3, 0, 9, 1])
    for given_table in (table.astype(float), in_file(table, tmp_path / "a")):
        found = gather(given_table, rows)
        assert found.dtype == np.float64
        assert found.tolist() == [[6, 7], [6, 7], [0, 1], [18, 19], [2, 3]]


def test_only_a_large_array_beside_a_mapped_one_is_in_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "BLOCK_BYTES", 800)
    array = in_file(np.zeros((2, 12)), tmp_path / "a")
    small, large = empty_beside(array, (4, 25)), empty_beside(array, (4, 26))
    assert not is_mapped(small)
    assert is_mapped(large)
    assert not is_mapped(empty_beside(np.zeros(3), (4, 26)))
    large[:] = 3.0
    release(large)
    assert (large == 3.0).all()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]  # its file has no name


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    array = in_file(np.zeros((2, 12)), tmp_path / "a")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(PortmertError, match=r"no room for 134217728 bytes .* No space left"):
        empty_beside(array, (1 << 24,))


def test_memory_of_a_pass_over_a_mapped_array_is_bounded(tmp_path):
    size = 1 << 25  # 256 MiB of float64
    path = tmp_path / "a"
    with path.open("wb") as file:
        file.truncate(8 * size)
    array = mapped.map_array(path, np.dtype(np.float64), (1, size), begin=0)
    offsets = np.arange(0, size + 1, 1 << 10)
    most = 0
    for first, last in segment_blocks(offsets, array):
        assert array[0, offsets[first] : offsets[last]].sum() == 0.0
        most = max(most, resident_file_bytes())
    before = resident_file_bytes()
    assert most - before < 1.5 * mapped.BLOCK_BYTES
    assert within_segment_spread(array, offsets, if_constant=5.0).tolist() == [5.0]
    assert resident_file_bytes() - before < mapped.BLOCK_BYTES


def resident_file_bytes():
    status = Path("/proc/self/status")
    if not status.exists() or not hasattr(mmap, "MADV_DONTNEED"):
        pytest.skip("platform: no /proc/self/status")
    line = next(line for line in status.read_text().splitlines() if line.startswith("RssFile"))
    return int(line.split()[1]) * 1024


@given(st.lists(st.integers(1, 300), min_size=1, max_size=12), st.integers(0, 2**32 - 1))
def test_spread_is_that_of_all_deviations_at_once(tmp_path_factory, sizes, seed):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    column = rng.normal(size=offsets[-1]) * 10.0
    means = np.array([column[a:b].sum() / (b - a) for a, b in pairwise(offsets)])
    expected = np.sqrt(np.mean((column - np.repeat(means, sizes)) ** 2))
    whole = within_segment_spread(column[np.newaxis], offsets)
    path = tmp_path_factory.mktemp("column") / "a"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapped, "BLOCK_BYTES", 1024)  # 128 values
        cut = within_segment_spread(in_file(column[np.newaxis], path), offsets)
    assert cut.tobytes() == whole.tobytes()
    assert whole[0] == pytest.approx(expected, rel=1e-12) or len(column) == len(sizes)
