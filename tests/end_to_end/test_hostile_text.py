"""Hostile text, names and nesting end with one line that names them, never with a traceback."""

import os
import subprocess
import sys

import pytest

from portmert.metrics._base import Vocabulary
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import read_nbest
from tests.support.cli import fault, run
from tests.support.places import INVENTED, ROOT
from tests.support.run_folders import REFERENCE, write, write_lines

PORTMERT = [sys.executable, "-m", "portmert"]
CONFIG = INVENTED / "recorded.toml"


def test_toml_with_brackets_nested_deep_is_refused(tmp_path):
    config = write(tmp_path / "deep.toml", "a = " + "[" * 1200 + "]" * 1200)
    assert "deep.toml: not TOML: brackets are nested too deep" in fault("tune", config)


def test_half_a_surrogate_pair_is_refused(tmp_path):
    nbest = write(tmp_path / "l.jsonl", '{"id": 0, "text": "a \\ud800", "features": {"LM": 1}}\n')
    weights = write(tmp_path / "weights.json", '{"weights": {"LM": 1}}')
    assert "l.jsonl:1: not JSON: \\ud800 is half of a surrogate pair" in fault(
        "rerank", "--nbest", nbest, "--nbest-format", "jsonl", "--weights", weights
    )


def test_names_that_are_not_utf8_are_shown_and_written(tmp_path):
    text = write_lines(tmp_path / os.fsdecode(b"\xff.txt"), REFERENCE)
    outputs = [tmp_path / "out.html", tmp_path / "out.json", tmp_path / "out.tex"]
    given = ["--ref", text, "--samples", "10", "--html", outputs[0]]
    given += ["--json", outputs[1], "--latex", outputs[2]]
    done = subprocess.run(
        [*PORTMERT, "compare", f"{text.stem}={text}", f"b={text}", *given],
        capture_output=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert b"\xff" in done.stdout
    assert all(path.read_text(encoding="utf-8") for path in outputs)
    assert '"name": "?"' in outputs[1].read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["a" * 10**6, "'" + "b" * 10**5, "/" + "c" * 10**5])
def test_long_tokens_are_cut_in_messages(tmp_path, kind):
    nbest = write(tmp_path / "nbest", f"0 ||| a ||| LM= {kind} ||| 0\n")
    links = write(tmp_path / "links", f"{kind}\n")
    text = write(tmp_path / "text", "a\n")
    out = tmp_path / "out"
    for said in (
        fault("rerank", "--nbest", nbest, "--weights", nbest),
        fault("optimize", "--nbest", nbest, "--ref", text, "--metric", "bleu", "--out", out),
        run("score", "--metric", kind, "--hyp", text, "--ref", text, status=1).stderr,
        fault("score", "--metric", "port", "--hyp", text, "--ref", text, "--source", text,
              "--hyp-links", links, "--ref-links", links),
        fault("tune", CONFIG, "--set", f"tune.seed={kind}"),
        fault("tune", CONFIG, "--set", f"decoder.{kind}=1"),
    ):  # fmt: skip
        assert len(said) < 2000, said[:300]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tsv", "id\t" + "a " * 3000 + "\n0\tx\n"),
        ("jsonl", '{"id": 0, "text": "a", "features": {"' + "a " * 3000 + '": 1}}\n'),
    ],
)
def test_long_names_of_columns_are_cut_in_messages(tmp_path, name, text):
    nbest = write(tmp_path / "list", text)
    weights = write(tmp_path / "weights.json", '{"weights": {"LM": 1}}')
    said = fault("rerank", "--nbest", nbest, "--nbest-format", name, "--weights", weights)
    assert len(said) < 2000
    assert "list" in said


@pytest.mark.parametrize("space", [" ", "\r", "\x0b", "  "])
def test_white_space_before_a_hypothesis_is_no_token(tmp_path, space):
    nbest = write(tmp_path / "list", f"hyp\tid\tLM\n{space}a b\t0\t1\n{space}\t0\t2\n")
    read = read_nbest([nbest], Vocabulary(), reader=registry.reader("tsv"))
    assert [read.texts.words(row) for row in range(2)] == [["a", "b"], []]


def test_rerank_does_not_overwrite_what_it_reads(tmp_path):
    nbest = write(tmp_path / "nbest", "0 ||| a ||| LM= 1 ||| 0\n")
    weights = write(tmp_path / "weights.json", '{"weights": {"LM": 1}}')
    given = ("rerank", "--nbest", nbest, "--weights", weights)
    before = nbest.read_bytes()
    other = tmp_path / "link"
    other.symlink_to(nbest)
    for words in (["--out", nbest], ["--out", other], ["--links-out", nbest], ["--out", weights]):
        assert "which it would overwrite" in fault(*given, *words, status=2)
    assert nbest.read_bytes() == before


@pytest.mark.parametrize("words", [("--out", "loop"), ("--out", "x", "--links-out", "loop")])
def test_rerank_tells_of_links_that_form_a_loop(tmp_path, words):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    words = [{"loop": loop, "x": tmp_path / "x"}.get(word, word) for word in words]
    nbest = write(tmp_path / "nbest", "0 ||| a ||| LM= 1 ||| 0\n")
    weights = write(tmp_path / "weights.json", '{"weights": {"LM": 1}}')
    said = fault("rerank", "--nbest", nbest, "--weights", weights, *words)
    assert "loop: cannot write: its symbolic links form a loop; remove one of them" in said
    said = fault("rerank", "--nbest", loop, "--weights", loop, "--out", tmp_path / "x")
    assert "loop: its symbolic links form a loop; remove one of them, or give another" in said


def test_score_tells_of_tokens_that_no_reference_has(tmp_path):
    output = write_lines(tmp_path / "output", [f"x{n} y{n} z{n}" for n in range(100)])
    reference = write_lines(tmp_path / "reference", ["a b c"] * 100)
    said = run("score", "--metric", "bleu", "--hyp", output, "--ref", reference).stderr
    assert "100 % of the hypotheses' tokens stand in no reference" in said


def test_keys_that_stand_twice_are_refused(tmp_path):
    nbest = write(tmp_path / "l.jsonl", '{"id": 0, "text": "a", "text": "b", "features": {}}\n')
    weights = write(tmp_path / "weights.json", '{"weights": {"LM": 1}}')
    given = ("--nbest", nbest, "--nbest-format", "jsonl", "--weights", weights)
    assert "l.jsonl:1: not JSON: the key 'text' stands twice" in fault("rerank", *given)
