"""Which segments are judged."""

import numpy as np
import pytest

from portmert.extensions.people.selection import Filters, read_and_select, select
from portmert.metrics._base import Texts, Vocabulary
from portmert.tuner.base.errors import InputError
from portmert.tuner.texts.corpus import References
from portmert.tuner.texts.text_pipeline import TextPipeline

REFERENCES = ["a", "a b", "a b c d", "a b c d", "a b c d", "a b c d e"]
FIRST = ["x", "a b", "a b c d", "a x x x", "x x x x", "a b c d e"]
SECOND = ["y", "a b", "a b c x", "a b x x", "y y y y", "a b c d x"]


def selected(**options):
    vocabulary = Vocabulary()
    references = References(Texts.from_lines(REFERENCES, vocabulary), np.arange(7))
    outputs = [Texts.from_lines(lines, vocabulary) for lines in (FIRST, SECOND)]
    return select(outputs, references, [FIRST, SECOND], Filters(**options))


def test_lengths_are_of_the_reference_and_both_ends_allowed():
    found = selected(min_length=2, max_length=4, differ=False, top_share=1)
    assert found[0].tolist() == [1, 2, 3, 4]
    assert found[1] == {"segments": 6, "reference length": 4, "TER": 4}


def test_equal_outputs_tell_nothing():
    found = selected(min_length=1, max_length=9, top_share=1)
    assert found[0].tolist() == [0, 2, 3, 4, 5]
    assert found[1]["outputs differ"] == 5


def test_the_top_of_either_system_is_kept():
    # Segments 2..4 have TER 0, 3/4, 1 and 1/4, 2/4, 1: a third is segment 2 for both systems.
    assert selected(min_length=4, max_length=4, top_share=1 / 3)[0].tolist() == [2]
    # Segment 5: 0 and 1/5. The best one of each: 2 for the first (as good, and before), 5.
    assert selected(min_length=4, max_length=5, top_share=0.25)[0].tolist() == [2, 5]
    assert selected(min_length=4, max_length=5, top_share=0.75)[0].tolist() == [2, 3, 5]


def test_nothing_may_be_left():
    found = selected(min_length=20, max_length=30)
    assert found[0].tolist() == []
    assert found[1]["TER"] == 0


def test_texts_are_cut_as_asked_before_they_are_counted(tmp_path):
    (tmp_path / "ref").write_text("a,b,c\nabc\n")
    (tmp_path / "one").write_text("a\nb\n")
    (tmp_path / "two").write_text("b\na\n")
    paths = [tmp_path / "one", tmp_path / "two"]
    shown = [["a", "b"], ["b", "a"]]
    for steps, expected in (("", []), ("13a", [0])):
        found = read_and_select(
            paths, [tmp_path / "ref"], TextPipeline.parse(steps), shown, Filters(3, 9, top_share=1)
        )
        assert found[0].tolist() == expected


def test_files_of_different_lengths_are_an_error(tmp_path):
    (tmp_path / "ref").write_text("a\nb\n")
    (tmp_path / "one").write_text("a\n")
    with pytest.raises(InputError, match=r"one: 1 line, but .*ref has 2"):
        read_and_select([tmp_path / "one"], [tmp_path / "ref"], TextPipeline(), [["a"]], Filters())
