"""What a journal keeps of interrupted work."""

import errno
import io
from pathlib import Path

import pytest

from portmert.tuner.decoders._shards import Journal, packed


def kept(path, *depends):
    with Journal(path, depends) as journal:
        return list(journal.answers())


def test_answers_are_found_again_in_the_order_of_segments(tmp_path):
    with Journal(tmp_path / "new" / "j", [b"a", b"b"]) as journal:
        journal.add(7, packed(b"seven\n"))
        journal.add(0, packed(b"\x00\xff\t\n\n"))
        assert sorted(journal.packed_answers) == [0, 7]
    assert kept(tmp_path / "new" / "j", b"a", b"b") == [b"\x00\xff\t\n\n", b"seven\n"]


def test_a_line_that_a_kill_cut_off_is_forgotten(tmp_path):
    with Journal(tmp_path / "j", [b"a"]) as journal:
        journal.add(0, packed(b"first"))
        journal.add(1, packed(b"second"))
    for cut in range(1, 20):
        (tmp_path / "cut").write_bytes((tmp_path / "j").read_bytes()[:-cut])
        assert kept(tmp_path / "cut", b"a") == [b"first"]
    (tmp_path / "cut").write_bytes(b"")
    assert kept(tmp_path / "cut", b"a") == []


def test_answers_of_other_work_are_forgotten(tmp_path):
    with Journal(tmp_path / "j", [b"a", b"b"]) as journal:
        journal.add(0, packed(b"first"))
    assert kept(tmp_path / "j", b"b", b"a") == []
    assert kept(tmp_path / "j", b"a", b"b") == []
    journal.remove()
    assert not (tmp_path / "j").exists()


def test_a_journal_that_cannot_be_written_is_closed(tmp_path, monkeypatch):
    opened = []

    class Full(io.BytesIO):
        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    def full(*_):
        opened.append(Full())
        return opened[-1]

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OSError, match="No space"), Journal(tmp_path / "journal", [b"x"]):
        pass
    assert opened[0].closed
