from __future__ import annotations

import pytest

from portmert.aligners.precomputed import Precomputed
from portmert.tuner.base.errors import PortmertError


def align(tmp_path, links, source=("a b", ""), target=("x y z", "")):
    (tmp_path / "links").write_text(links)
    aligner = Precomputed(links=tmp_path / "links")
    return aligner.align(source=source, target=target, workdir=tmp_path)


def test_align_returns_the_lines_of_the_file(tmp_path):
    assert align(tmp_path, "1-2 0-0\n\n") == [[(0, 0), (1, 2)], []]


def test_align_refuses_a_file_of_another_bitext(tmp_path):
    with pytest.raises(PortmertError, match="links: 1 line, the bitext has 2 pairs"):
        align(tmp_path, "0-0\n")


@pytest.mark.parametrize("link", ["2-0", "0-3"])
def test_align_refuses_a_link_past_the_end(tmp_path, link):
    with pytest.raises(PortmertError) as error:
        align(tmp_path, f"0-0 {link}\n\n")
    assert str(error.value) == (
        f"{tmp_path}/links:1: link {link} is out of range, "
        f"the pair has 2 source and 3 target tokens"
    )


def test_links_that_count_from_one_are_told(tmp_path, caplog):
    links, texts = "1-1 2-2\n2-1\n1-2\n", ("a b c",) * 3
    align(tmp_path, links, texts, texts)
    assert "links: no link has a 0: do its positions count from 1?" in caplog.text
    with pytest.raises(PortmertError, match=r"2 target tokens \(portmert counts words from 0"):
        align(tmp_path, links, texts, ("x y",) * 3)


@pytest.mark.parametrize(
    ("symmetrization", "first"),
    [
        ("intersection", [(0, 0)]),
        ("union", [(0, 0), (1, 1), (1, 2)]),
        ("grow-diag-final-and", [(0, 0), (1, 1)]),
    ],
)
def test_links_of_two_directions_are_joined(tmp_path, symmetrization, first):
    texts = {"source": ("a b", ""), "target": ("x y z", ""), "workdir": tmp_path}
    (tmp_path / "links").write_text("0-0 1-1\n\n")
    (tmp_path / "reverse").write_text("0-0 1-2\n\n")
    (tmp_path / "a3").write_text(
        "# Sentence pair (1) source length 3 target length 2 alignment score : 1\na b\n"
        "NULL ({ }) x ({ 1 }) y ({ }) z ({ 2 })\n"
        "# Sentence pair (2) source length 0 target length 0 alignment score : 1\n\nNULL ({ })\n"
    )
    for name in ("reverse", "a3"):
        both = {"links": tmp_path / "links", "reverse": tmp_path / name}
        found = Precomputed(**both, symmetrization=symmetrization).align(**texts)
        assert found[1] == []
        assert set(first) <= set(found[0])
        assert symmetrization == "grow-diag-final-and" or found[0] == first
    (tmp_path / "reverse").write_text("0-0\n")
    with pytest.raises(PortmertError, match="reverse: 1 line, the bitext has 2 pairs"):
        Precomputed(**{**both, "reverse": tmp_path / "reverse"}).align(**texts)
