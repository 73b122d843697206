from __future__ import annotations

import gzip
import lzma

import pytest

from portmert.aligners._training import digest, read_bitext
from portmert.tuner.base.errors import PortmertError
from portmert.tuner.base.files import read_lines


def test_read_lines_reads_plain_gz_and_xz_alike(tmp_path):
    content = b"eins zwei\r\n\ndrei"
    (tmp_path / "a").write_bytes(content)
    (tmp_path / "a.gz").write_bytes(gzip.compress(content))
    (tmp_path / "a.xz").write_bytes(lzma.compress(content))
    for name in ("a", "a.gz", "a.xz"):
        assert read_lines(tmp_path / name) == ["eins zwei", "", "drei"]


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_read_lines_says_that_a_stream_is_cut_off(tmp_path, suffix, pack):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(pack(b"eins zwei drei\n" * 99)[:-9])
    with pytest.raises(PortmertError, match="stream is damaged or cut off; copy or make the file"):
        read_lines(path)


def test_read_lines_says_where_a_byte_is_not_utf8(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"ja\nne\xffin\n")
    with pytest.raises(PortmertError, match=r"a:2: byte 0xff in column 3 is not UTF-8; convert"):
        read_lines(path)


def test_read_lines_of_a_missing_file_names_it(tmp_path):
    with pytest.raises(PortmertError, match="none: No such file or directory"):
        read_lines(tmp_path / "none")


def test_read_bitext_gives_both_numbers_when_the_sides_differ(tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("a\n")
    with pytest.raises(PortmertError, match=r"t: 1 line, .*s has 2; line n of one must be"):
        read_bitext(tmp_path / "s", tmp_path / "t")


def test_digest_sees_line_ends():
    assert digest(["a b"]) != digest(["a", "b"])
