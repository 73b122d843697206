"""Compressed content: several streams are one, all damage is told, nothing is without bound."""

import bz2
import collections
import gzip
import lzma
import tracemalloc

import pytest
import zstandard

from portmert.tuner.base import compressed
from portmert.tuner.base.compressed import DamagedError, expanding
from tests.support.interrupts import must_end

PACK = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,
}


def expand(data, suffix):
    return b"".join(expanding([data], suffix, len(data)))


FIRST, SECOND = b"some text " * 30, b"and more of it " * 40


@pytest.mark.parametrize("suffix", PACK)
def test_streams_one_after_the_other_are_one_content(suffix):
    assert expand(PACK[suffix](FIRST) + PACK[suffix](SECOND), suffix) == FIRST + SECOND


@pytest.mark.parametrize("suffix", PACK)
def test_no_flipped_bit_of_any_stream_changes_the_text(suffix):
    whole = PACK[suffix](FIRST) + PACK[suffix](SECOND)
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        try:
            assert expand(bytes(damaged), suffix) == FIRST + SECOND  # of a header's date, say
        except DamagedError as error:
            assert "damaged or cut off" in str(error)  # noqa: PT017  either is right


@pytest.mark.parametrize("suffix", PACK)
def test_what_is_cut_off_or_has_a_tail_is_refused(suffix):
    first, second = PACK[suffix](FIRST), PACK[suffix](SECOND)
    for size in range(1, len(first + second)):
        if size != len(first):
            with pytest.raises(DamagedError, match="damaged or cut off"):
                expand((first + second)[:size], suffix)
    for tail in (b"x", b"garbage" * 10, first[:6], b"\0\0\0\0x"):
        with pytest.raises(DamagedError, match="damaged or cut off"):
            expand(first + tail, suffix)


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_padding_with_zeros_is_no_damage(suffix):
    assert expand(PACK[suffix](FIRST) + bytes(512), suffix) == FIRST


@pytest.mark.parametrize("suffix", PACK)
def test_content_far_larger_than_texts_are_is_refused(suffix, monkeypatch):
    monkeypatch.setattr(compressed, "FREE", 1 << 20)
    with pytest.raises(DamagedError, match="more than 200 times the file"):
        expand(PACK[suffix](bytes(50 << 20)), suffix)
    assert expand(PACK[suffix](bytes(1 << 20)), suffix) == bytes(1 << 20)


@pytest.mark.parametrize("suffix", [".bz2", ".xz"])
def test_the_first_bytes_of_a_bomb_take_little_memory(suffix):
    packed = PACK[suffix](bytes(100 << 20))  # 113 bytes of bz2
    tracemalloc.start()
    try:
        with pytest.raises(DamagedError, match="more than 200 times the file"):
            collections.deque(expanding([packed], suffix, len(packed)), maxlen=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 << 20


@pytest.mark.parametrize("suffix", PACK)
def test_many_empty_streams_take_time_in_proportion(suffix):
    content = PACK[suffix](b"") * 400_000
    with must_end():
        assert expand(content, suffix) == b""
