"""Markup around texts and in them."""

import pytest

from portmert.tuner.base.markup import SGML, sgml_segments, without_markup


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('das <n translation="big house">kleine</n> haus', "das kleine haus"),
        ('<ne translation="@num@" entity="3">@num@</ne>', "@num@"),
        ("<zone> das </zone> haus <wall/>", "das haus"),
        ("das<wall />haus", "das haus"),
        ('<n translation="a"/>', ""),
        # A tag that texts may have is none of Moses', unless one of Moses' is beside it.
        ('<a href="x"> das </a>', '<a href="x"> das </a>'),
        ("<unk>  haus", "<unk>  haus"),
        ("<b>das</b> <wall/> haus", "das haus"),
        ("a < b", "a < b"),
    ],
)
def test_a_source_has_the_words_that_moses_counts(line, words):
    assert without_markup(line) == words


def test_segments_of_sgml():
    lines = ['<?xml version="1.0"?>', '<refset><DOC docid="a">', '<seg id="1"> A &amp; B </seg>',
             '<p><seg id="2">', "two", "lines</seg></p></DOC>", '<doc docid="b">',
             '<seg id="1"></seg></doc></refset>']  # fmt: skip
    assert SGML.match(lines[0])
    assert SGML.match("<seg> a text")
    assert not SGML.match("<segment> a text")
    assert list(sgml_segments(lines)) == ["A & B", "two lines", ""]
    with pytest.raises(ValueError, match="document a stands twice"):
        list(sgml_segments(lines + lines))
    with pytest.raises(ValueError, match="without a <seg>"):
        list(sgml_segments(lines[:2]))
