from __future__ import annotations

import pytest

from portmert.aligners._training import Subwords, project, train_subwords
from portmert.tuner.base.errors import PortmertError

LINES = [f"{a}{b} {b}{a}" for a in ("under", "over", "out") for b in ("stand", "look", "come")] * 9


def test_project_links_words_if_any_of_their_pieces_are_linked():
    # Pieces a1 a2 b | x y1 y2: words a=0 b=1 | x=0 y=1.
    assert project([(0, 1), (1, 2), (2, 0)], [0, 0, 1], [0, 1, 1]) == [(0, 1), (1, 0)]


def test_project_of_no_links_is_none():
    assert project([], [0], [0]) == []


def test_split_owns_each_piece_to_its_word(tmp_path):
    train_subwords(tmp_path / "m", LINES, vocabulary_size=40)
    pieces, owners = Subwords(tmp_path / "m").split(["understand", "overcome"])
    for index, word in enumerate(["understand", "overcome"]):
        mine = [piece for piece, owner in zip(pieces, owners, strict=True) if owner == index]
        assert "".join(mine) == f"\u2581{word}"
    assert len(pieces) > 2


def test_split_leaves_no_word_without_a_piece(tmp_path):
    train_subwords(tmp_path / "m", LINES, vocabulary_size=40)
    _, owners = Subwords(tmp_path / "m").split(["\u200b", "日本", "\u2581", "stand"])
    assert sorted(set(owners)) == [0, 1, 2, 3]


def test_training_is_deterministic(tmp_path):
    for name in ("a", "b"):
        train_subwords(tmp_path / name, LINES, vocabulary_size=40)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("size", [3, 2**31])
def test_training_with_too_small_or_large_a_vocabulary_says_so(tmp_path, size):
    with pytest.raises(
        PortmertError, match=rf"sentencepiece with vocab_size {size}: .*choose another size"
    ):
        train_subwords(tmp_path / "m", LINES, vocabulary_size=size)


def test_a_file_that_is_no_model_is_named(tmp_path):
    (tmp_path / "m").write_text("nothing")
    with pytest.raises(PortmertError, match="m: is not a sentencepiece model"):
        Subwords(tmp_path / "m")
