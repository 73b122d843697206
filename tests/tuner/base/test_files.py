"""Files: compression by suffix, UTF-8, outputs whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from hypothesis import assume, given
from hypothesis import strategies as st

from portmert.tuner.base.compressed import suffix_of
from portmert.tuner.base.errors import InputError, PortmertError
from portmert.tuner.base.files import (
    check_writable,
    each_line,
    make_folder,
    read_bytes,
    read_lines,
    write_text,
    writing,
)

PACK = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.compress,
    "": bytes,
}


@pytest.mark.parametrize("suffix", PACK)
@given(content=st.binary())
def test_written_then_read_is_identity_and_the_same_bytes(tmp_path_factory, suffix, content):
    assume(suffix or not suffix_of(content))
    folder = tmp_path_factory.mktemp("files")
    for name in ("one", "two"):
        with writing(folder / f"{name}{suffix}") as out:
            out.write(content)
    assert read_bytes(folder / f"one{suffix}") == content
    assert (folder / f"one{suffix}").read_bytes() == (folder / f"two{suffix}").read_bytes()
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize(
    "damage", [lambda data: data[:-5], lambda data: b"text" + data, lambda data: data[:3]]
)
def test_damaged_stream_is_named(tmp_path, suffix, damage):
    path = tmp_path / f"file{suffix}"
    path.write_bytes(damage(PACK[suffix](b"some text " * 50)))
    with pytest.raises(
        InputError, match=rf"file\{suffix}: the compressed stream is damaged or cut"
    ):
        read_bytes(path)


@pytest.mark.parametrize("suffix", PACK)
def test_stdin_is_decompressed_by_how_it_begins(monkeypatch, suffix):
    given_bytes = PACK[suffix]("ein Text ä\nnoch einer\n".encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given_bytes)))
    assert read_lines("-") == ["ein Text ä", "noch einer"]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("read", [read_bytes, read_lines])
def test_a_compressed_file_must_be_called_so(tmp_path, suffix, read):
    path = tmp_path / "list.txt"
    path.write_bytes(PACK[suffix](b"some text"))
    with pytest.raises(
        InputError, match=rf"list.txt: is compressed; give it a name that ends in \{suffix}$"
    ):
        read(path)


@pytest.mark.parametrize("suffix", PACK)
def test_lines_end_in_either_way(tmp_path, suffix):
    for text, lines in (
        ("a\r\n\nb é\u2028c", ["a", "", "b é\u2028c"]),
        ("a\n", ["a"]),
        ("\n\n", ["", ""]),
        ("", []),
        # Longer than what is expanded at once.
        (f"{'é' * 10**6}\nb\n{'c' * 10**6}", ["é" * 10**6, "b", "c" * 10**6]),
    ):
        path = tmp_path / f"file{suffix}"
        path.write_bytes(PACK[suffix](text.encode()))
        assert read_lines(path) == lines


@pytest.mark.parametrize("suffix", [".gz", ".zst", ""])  # xz itself holds 8 MB
def test_a_text_is_read_line_by_line_without_holding_it(tmp_path, suffix):
    path = tmp_path / f"file{suffix}"
    rest = "x" * 110
    path.write_bytes(PACK[suffix]("".join(f"line {n} {rest}\n" for n in range(10**5)).encode()))
    tracemalloc.start()
    try:
        last = max(enumerate(each_line(path)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert last == (10**5 - 1, f"line 99999 {rest}")
    assert peak < 6 << 20  # 12 MB of text, read a MB at once


def test_wrong_byte_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"a\nbc\xff\n")
    with pytest.raises(InputError, match="file:2: byte 0xff in column 3 is not UTF-8; convert"):
        read_lines(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"PK\3\4\0\xff\n")
    with pytest.raises(InputError, match="is not UTF-8; give a text, not a binary file"):
        read_lines(tmp_path / "file")


def test_failure_leaves_what_was_there(tmp_path):
    (tmp_path / "file").write_text("old")

    def fail():
        with writing(tmp_path / "file") as out:
            out.write(b"new")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert (tmp_path / "file").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_folder_missing(tmp_path):
    with pytest.raises(PortmertError, match="cannot write: No such file or directory"):
        write_text(tmp_path / "none" / "file", "x")


def test_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_folder_is_not_a_file(tmp_path):
    with pytest.raises(InputError, match="there is a folder of this name, expected a file"):
        read_bytes(tmp_path)


@pytest.fixture
def pipe(tmp_path):
    """A named pipe, and its end to read from, which waits for nothing."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe", os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)


@pytest.mark.parametrize("name", ["pipe", "link.gz"])
def test_a_pipe_is_written_to_and_stays(pipe, name):
    path, end = pipe[0].with_name(name), pipe[1]
    if path != pipe[0]:
        path.symlink_to(pipe[0])
    check_writable(path)
    with writing(path) as out:
        out.write(b"whole")
    content = os.read(end, 100)
    os.close(end)
    assert (gzip.decompress(content) if name == "link.gz" else content) == b"whole"
    assert pipe[0].is_fifo()
    assert {found.name for found in path.parent.iterdir()} == {"pipe", name}


def test_a_pipe_that_nobody_reads_is_told(pipe):
    def write():
        with writing(pipe[0]) as out:
            os.close(pipe[1])
            out.write(b"x")

    with pytest.raises(PortmertError, match=r"pipe: cannot write: Broken pipe"):
        write()


@pytest.mark.parametrize("python", [3.11, 3.13])
@pytest.mark.parametrize("name", ["loop", "loop/file"])
def test_links_that_form_a_loop_are_one_line(tmp_path, monkeypatch, name, python):
    (tmp_path / "loop").symlink_to("back")
    (tmp_path / "back").symlink_to("loop")
    if python == 3.13:  # which resolves a loop to itself
        monkeypatch.setattr(Path, "resolve", lambda self: Path(os.path.realpath(self)))
    with pytest.raises(PortmertError, match="cannot write: its symbolic links form a loop"):
        check_writable(tmp_path / name)
    with pytest.raises(PortmertError, match="cannot write"):
        write_text(tmp_path / name, "text")
    with pytest.raises(PortmertError, match="its symbolic links form a loop"):
        make_folder(tmp_path / name)
