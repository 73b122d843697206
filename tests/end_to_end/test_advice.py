"""Advice that messages give is followed, and the message does not come again."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner

import portmert
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.cli import main
from portmert.tuner.nbest.readers import auto, jsonl
from portmert.tuner.texts import text_checks
from tests.support.places import ROOT

LINES = (ROOT / "configs/tanaka/dev.ref").read_text(encoding="utf-8").splitlines()[:200]


def glued(line):
    return re.sub(r" ([.,?!])", r"\1", line)


def in_pieces(line, mark):
    return " ".join(mark(word) if len(word) > 4 else word for word in line.split())


# Advice -> a text that it is given for, and the other side, from a line of each.
TEXTS = {
    "--lowercase": (str.upper, str),
    "--text no-brackets": (lambda line: f"[NOISE] {line}",) * 2,
    "--text drop=WORD+WORD": (lambda line: f"<en> {line} !SIL",) * 2,
    "--text debpe": (lambda line: in_pieces(line, lambda word: f"{word[:3]}@@ {word[3:]}"), str),
    "--text hyp:spm-decode": (
        lambda line: " ".join(f"\u2581{word}" for word in line.split()),
        str,
    ),
    "--text nfkc": (lambda line: line.replace(".", "\uff0e").replace(",", "\uff0c"), str),
    "--text plain-punct": (lambda line: line.replace("'", "\u2019"), str),
    "--text nfc": (
        lambda line: unicodedata.normalize("NFD", line.replace("e", "\u00e9")),
        lambda line: line.replace("e", "\u00e9"),
    ),
    "--text unescape": (lambda line: line.replace("'", "&apos;"), str),
    "--text no-punct": (lambda line: re.sub(r"[^\w\s]", "", line), str),
    "--text 13a": (glued, str),
}
STEPS = {"--lowercase": "lowercase", "--text drop=WORD+WORD": "drop=<en>+!SIL"}


def doubts(advice, hyp, ref, text=""):
    """The warnings that give some advice, without figures and examples."""
    with collected_warnings() as told:
        portmert.score(hyp, [ref], metric="wer", text=text)
    return {re.sub(r"`[^`]*`|\d+", "", line) for line in told if advice in line}


@pytest.mark.parametrize("advice", TEXTS)
def test_advice_on_texts_ends_its_warning(advice):
    hyp, ref = ([form(line) for line in LINES] for form in TEXTS[advice])
    assert doubts(advice, hyp, ref)
    assert not doubts(advice, hyp, ref, STEPS.get(advice, advice.removeprefix("--text ")))


def test_all_advice_on_texts_is_tried():
    code = Path(text_checks.__file__).read_text(encoding="utf-8")
    named = set(re.findall(r"--(?:text[\s\"]+[\w=+:{}-]+|lowercase)", code))
    named = {re.sub(r"[\s\"]+", " ", advice).replace("{side}", "hyp") for advice in named}
    assert named == {*TEXTS}


JOSHUA = "tm_pt_0=-1.5 lm_0=-2"
LISTS = {
    "Joshua, score first": f"-3.5 ||| a b ||| {JOSHUA}\n-2.5 ||| b ||| {JOSHUA}\n",
    "Joshua, text first": f"a b ||| {JOSHUA} ||| -3.5\nb ||| {JOSHUA} ||| -2.5\n",
    "Phrasal": "0 ||| a b ||| LM: -1.5 TM: -2\n1 ||| b ||| LM: -1 TM: -2.5\n",
    "OpenNMT-tf, links": "-1.5 ||| a b ||| 0-0 1-1\n-2.5 ||| b ||| 0-0\n",
    "OpenNMT-tf": "-1.5 ||| a b\n-2.5 ||| b\n",
    "OpenNMT-py, links": "a b ||| 0-0 1-1\t-1.5\nb ||| 0-0\t-2.5\n",
    "OpenNMT-py, links alone": "a b ||| 0-0 1-1\nb ||| 0-0\n",
    "Sockeye": "-1.5\t-\ta b\n-2.5\t-\tb\n",
    "Sockeye, score": "-1.5\ta b\n-2.5\tb\n",
    "NeMo": "a b\t-1.5\nb\t-2.5\n",
    "plain": "a b\nb\n",
    "Vosk": '{"id": 0, "alternatives": [{"text": "a b", "confidence": 1.5}]}\n' * 1,
    "Azure": '{"id": 0, "NBest": [{"Lexical": "a b", "Confidence": 0.5}]}\n',
    "ids that may count from 1": "".join(
        json.dumps({"sentence_id": n, "text": "a b", "score": -1.5}) + "\n" for n in (1, 3)
    ),
    "another key of texts": '{"id": 0, "answer": "a b", "score": 1}\n',
    "another key of ids": '{"line": 0, "text": "a b", "score": 1}\n',
    "a place in a list": '{"id": 0, "hypotheses": [{"text": ["a b", "c d"], "score": 1}]}\n',
    "turns": '{"question_id": 0, "choices": [{"turns": ["a b", "c d"]}]}\n',
}
# What stands for the names that advice leaves open.
OPEN = {
    "another key of texts": ("text=KEY", "text=answer"),
    "another key of ids": ("id=KEY", "id=line"),
    "a place in a list": ("text.0", "jsonl:text=text.0"),
}


def listed(*options):
    called = ("rerank", "--nbest", "list", *options, "--mbr", "chrf", "--out", "best")
    return CliRunner().invoke(main, called)


@pytest.mark.parametrize("name", LISTS)
def test_advice_on_lists_is_a_format_that_reads_them(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("list").write_text(LISTS[name])
    refused = listed()
    assert refused.exit_code == 1, refused.stderr
    said = refused.stderr.splitlines()[-1]
    left_open, answer = OPEN.get(name, ("flat:n=N", "flat:n=1"))
    advice = re.search(
        r"(?:name one: )(\S+)|([\w-]+:[\w.]+=[\w.,=+-]+)", said.replace(left_open, answer)
    )
    assert advice, said
    part = ["--drop-missing"] if "sentence_id" in said else []  # what is read is not whole
    taken = listed("--nbest-format", (advice[2] or advice[1]).rstrip(".,)"), *part)
    assert taken.exit_code == 0, (said, taken.stderr)


def test_every_advice_on_lists_is_tried():
    """Each writer that is recognised by its fields, or by its keys, with a format to give."""
    formats = {todo for _, todo in auto._ADVICE.values() if "--nbest-format" in todo}
    tried = {said for text in LISTS.values() if (said := auto._advice(text.splitlines()))}
    assert all(any(todo in said for said in tried) for todo in formats)
    by_key = {key for key, said in jsonl._WRITERS.items() if "--nbest-format" in said}
    assert all(any(f'"{key}"' in text for text in LISTS.values()) for key in by_key)
