from __future__ import annotations

import pytest

from portmert.aligners._training import digest, read_bitext
from portmert.tuner.base.errors import PortmertError


def test_read_bitext_gives_both_numbers_when_the_sides_differ(tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("a\n")
    with pytest.raises(PortmertError, match=r"t: 1 line, .*s has 2; line n of one must be"):
        read_bitext(tmp_path / "s", tmp_path / "t")


def test_digest_sees_line_ends():
    assert digest(["a b"]) != digest(["a", "b"])
