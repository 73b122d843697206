"""Tests of the language of texts with several parts."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from portmert.tuner.base import options
from portmert.tuner.base.errors import ConfigError

TEXTS = st.text("ab=,@+:#'\"~ -ü()*/.\\", min_size=1, max_size=8)
NAMES = TEXTS.filter(lambda text: not text.startswith("/") and not options.exists(text))


@given(st.text())
@example("it's")
@example("")
@example("'\"'")
def test_quoted_text_comes_back(text):
    written = options.quoted(text)
    if not options.exists(written):
        assert options.unquoted(written) == text


@pytest.mark.parametrize("separator", list(",+:"))
@given(parts=st.lists(NAMES, min_size=1, max_size=4))
def test_split_returns_quoted_parts(parts, separator):
    text = separator.join(map(options.quoted, parts))
    assert [options.unquoted(part) for part in options.split(text, separator)] == parts


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=3))
def test_names_and_values_come_back(pairs):
    text = ",".join("=".join(map(options.quoted, pair)) for pair in pairs)
    items = [options.name_value(item) for item in options.split(text, ",", named=True)]
    assert [(name, options.unquoted(value)) for name, _, value in items] == pairs


@given(NAMES, NAMES)
def test_file_and_key_come_back(file, key):
    text = f"{options.quoted(file)}#{options.quoted(key)}"
    assert options.file_key(text) == (file, key)


def test_name_ends_at_the_first_equals_sign():
    assert options.name_value("a=lr=0.1/h.txt") == ("a", "=", "lr=0.1/h.txt")
    assert options.name_value("'a=b'=c") == ("a=b", "=", "c")
    assert options.name_value("a") == ("a", "", "")


def test_existing_file_wins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a,b", "ws@2/s.txt", "it's #1", "x#y.jsonl"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    assert options.files("a,b", where="") == (Path("a,b"),)
    assert options.files("c,a,b,d", where="") == (Path("c"), Path("a,b"), Path("d"))
    assert options.files("a,b#k,c", where="") == (Path("a,b#k"), Path("c"))
    assert options.split("n=a,b,m=c", ",", named=True) == ["n=a,b", "m=c"]
    assert options.metric_file("ws@2/s.txt") == ("", "", "ws@2/s.txt")
    assert options.metric_file("ws@2/s.txt,c") == ("", "", "ws@2/s.txt,c")
    assert options.metric_file("ws@2/s.txt#k") == ("", "", "ws@2/s.txt#k")
    assert options.metric_file("chrf@ws@2/s.txt") == ("chrf", "@", "ws@2/s.txt")
    assert options.unquoted("it's #1") == "it's #1"
    assert options.file_key("it's #1") == ("it's #1", None)
    assert options.file_key("it's #1#k") == ("it's #1", "k")
    assert options.file_key("x#y.jsonl#k#2") == ("x#y.jsonl", "k#2")


def test_file_wins_in_the_folder_of_a_configuration(tmp_path):
    (tmp_path / "a,b").touch()
    assert options.files("a,b", where="", folder=tmp_path) == (Path("a,b"),)
    assert options.files("a,b", where="") == (Path("a"), Path("b"))


def test_key_begins_behind_the_last_sign():
    assert options.file_key("a#b#c") == ("a#b", "c")
    assert options.file_key("a") == ("a", None)
    assert options.file_key("'a#b'") == ("a#b", None)


def test_unclosed_quote_names_the_part():
    with pytest.raises(ConfigError, match=r"--x: '\"b': the quote \" before 'b' is not closed"):
        options.files('a,"b', where="--x")


@pytest.mark.parametrize("text", ["", "a,", ",a", "a,,b", "''"])
def test_empty_name_of_a_file_is_refused(text):
    with pytest.raises(ConfigError, match="--x: a name is empty"):
        options.files(text, where="--x")


def test_tilde_is_a_folder_without_quotes(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert options.files("~/a,'~/b'", where="") == (Path("/home/me/a"), Path("~/b"))


def test_names_are_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a,b").touch()
    assert options.names("a,b,,'c,d'") == ["a", "b", "c,d"]
    assert options.names("") == []
