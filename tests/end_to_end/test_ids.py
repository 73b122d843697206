"""Segments that are found by their ids, and references in another order than the lists."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from portmert.tuner.base.columns import DROP
from portmert.tuner.cli import main

LIST = "id\thyp\tF\tG\nu2\tb x\t1\t0\nu2\tb b\t0\t1\nu1\ta\t1\t0\nu1\ta a\t0\t1\nu3\tc\t0\t0\n"
TEXT = "u1 a a\nu2 b b\nu3 c\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list").write_text(LIST)
    (tmp_path / "text").write_text(TEXT)
    return tmp_path


def portmert(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def refused(*words):
    result = portmert(*words)
    assert result.exit_code == 1
    return result.stderr.splitlines()[-1].removeprefix("portmert: error: ")


def optimized(*words):
    call = ("optimize", "--metric", "wer", "--nbest", "list", "--out", "w.json", *words)
    return (*call, "--optimizer", "mert", "--restarts", 1)


@pytest.mark.usefixtures("folder")
def test_the_way_from_lists_with_names_to_their_outputs():
    result = portmert(*optimized("--ref", "text", "--ids"))
    said = "40.00 -> 0.00\nstart weights 40.00, oracle 0.00; 5 hypotheses"
    assert said in result.stdout
    call = ("rerank", "--nbest", "list", "--weights", "w.json", "--ids")
    result = portmert(*call, "--out", "best")
    assert Path("best").read_text() == "u2 b b\nu1 a a\nu3 c\n"
    result = portmert("score", "--metric", "wer", "--hyp", "best", "--ref", "text", "--ids")
    assert "0.00" in result.stdout
    oracle = portmert("rerank", "--nbest", "list", "--oracle", "wer", "--ref", "text", "--ids")
    assert oracle.stdout == "u2 b b\nu1 a a\nu3 c\n"


SEARCH = ("--optimizer", "mert", "--restarts", 1, "--threads", 1)


def test_replicas_find_segments_by_id_and_so_does_who_compares_them(folder):
    (folder / "plain").write_text("u3 c\nu1 a a\nu2 b b\n")
    call = ("optimize", "--metric", "wer", "--nbest", "list", "--test-nbest", "list", *SEARCH)
    found = []
    for ref, ids in (("text", ["--ids"]), ("plain", [])):
        given = ("--ref", ref, "--test-ref", ref, "--replicas", 2, *ids)
        result = portmert(*call, *given, "--out-dir", f"of-{ref}")
        assert result.exit_code == 0, result.stderr
        found.append(json.loads((folder / f"of-{ref}" / "result.json").read_text()))
    by_id, plain = found
    assert by_id == plain
    assert by_id["test_score"]["mean"] == 1
    compared = portmert("compare", "of-text", "of-plain", "--metric", "wer", "--json", "c.json")
    assert compared.exit_code == 0, compared.stderr
    (folder / "text").write_text(TEXT.replace("u3 c", "u3 d"))
    given = ("--ref", "text", "--test-ref", "text", "--replicas", 2, "--ids")
    said = refused(*call, *given, "--out-dir", "of-text")
    assert "holds work of another experiment" in said


def test_ids_of_the_source_are_no_words_of_it_where_there_are_no_references(folder):
    (folder / "src").write_text("u1 x x x x\nu2 y\nu3 z z z\n")
    call = ("rerank", "--nbest", "list", "--source", "src", "--ids", "--feature", "ratio")
    (folder / "w.json").write_text('{"weights": {"ratio": 1, "F": 0.4, "G": 0}}')
    # Of u1 the ratios are 1/4 and 1/2: 1/4 + 0.4 is more than 1/2; of u2 both are 2.
    assert portmert(*call, "--weights", "w.json").stdout == "u2 b x\nu1 a\nu3 c\n"
    (folder / "src").write_text("u1 x x\nu2 y\n")
    assert "id 'u3' is not in src" in refused(*call, "--weights", "w.json")


def test_numbers_are_ids_too(folder):
    (folder / "list").write_text("0 ||| a ||| F= 1 ||| 0\n1 ||| b ||| F= 1 ||| 0\n")
    (folder / "text").write_text("1 b\n0 a\n")
    said = portmert(*optimized("--ref", "text", "--ids")).stdout
    assert "0.00 -> 0.00\nstart weights 0.00" in said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("u1 a\nu2 b\n", "list:6: id 'u3' is not in text (ids there: u1, u2)"),
        (
            TEXT + "u4 d\n",
            "text: id 'u4' not in the n-best lists (ids there: u1, u2, u3); both must be of",
        ),
        (TEXT + "u1 d\n", "text:4: id 'u1' stands twice, first in line 1"),
        (TEXT + "\nu4 d\n", "text:4: a blank line, expected an id and a text"),
        ("", "text: the file is empty; expected an id and a text a line"),
    ],
)
def test_references_of_other_segments_are_refused(folder, text, expected):
    (folder / "text").write_text(text)
    assert refused(*optimized("--ref", "text", "--ids")).startswith(expected)


def test_the_nearest_id_is_named(folder):
    (folder / "text").write_text("utterance-17 a\nother b\n")
    (folder / "list").write_text("utterance-18-1 a\n")
    assert refused(*optimized("--ref", "text", "--ids")) == (
        "list:1: id 'utterance-18' is not in text (nearest: 'utterance-17'); " + DROP
    )


def test_files_beside_the_first_reference_have_the_same_ids(folder):
    (folder / "other").write_text("u1 a\nu3 c\n")
    both = f"both must be of the same segments ({DROP})"
    words = optimized("--ref", "text", "--ref", "other", "--ids")
    assert refused(*words) == f"text: id 'u2' not in other (ids there: u1, u3); {both}"
    (folder / "other").write_text("u1 a\nu3 c\nu2 b\nu5 b\n")
    assert refused(*words) == f"other: id 'u5' not in text (ids there: u1, u2, u3); {both}"


def test_ids_that_skip_one_beside_lines_without_ids_are_told(folder):
    names = [f"u{number}" for number in range(20) if number != 5]
    (folder / "list").write_text(
        "".join(
            json.dumps({"id": name, "text": text, "score": score, "lm": 1.5}) + "\n"
            for name in names
            for text, score in (("a b", 1.0), ("a", 0.5))
        )
    )
    (folder / "text").write_text("a b\n" * 19)
    said = portmert(*optimized("--ref", "text")).stderr
    assert "text: no ids, and those of the n-best lists skip some (after 'u4' stands 'u6')" in said
    # Numbers beside the score, and one feature alone, are told too.
    assert "not used: lm (--nbest-format jsonl:features=score+lm)" in said
    (folder / "text").write_text("".join(f"{name} a b\n" for name in names))
    assert "skip some" not in portmert(*optimized("--ref", "text", "--ids")).stderr
