"""Options that messages advise are given, and the message does not come again."""

from __future__ import annotations

import ast
import json
import re
from itertools import chain
from pathlib import Path

import pytest
from click.testing import CliRunner

from portmert.tuner.cli import main
from tests.support.places import ROOT

# What a message says -> a command that makes it say so.
CASES = {
    "word orders and needs word alignments; give {} too": "score --hyp a --ref ref --metric port",
    "word orders and needs word alignments; give {}--aligner": "compare a=a b=b --ref ref "
    "--metric port",
    "word alignments need the source text": "compare a=a b=b --ref ref "
    "--links x=links,links,links",
    "word alignments are not known": "compare a=a b=b --ref ref --source src",
    "outputs have no links": "compare a=a b=b --ref ref --source src --links x=links",
    "no system says what its references are; give --ref": "compare a=a b=b --source src",
    "no system says what its references are; give --ref, or scores": "compare a=a b=b",
    "is a higher or a lower": "compare a=s.jsonl#mark b=s.jsonl#mark",
    "scores have no texts": "compare a=one b=one --metric bleu",
    "; to compare texts, give --ref": "compare a=s.jsonl#said b=s.jsonl#said",
    "votes are on answers": "compare a=s.jsonl#acc b=s.jsonl#acc --metric maj@1",
    "no corrected p (Holm)": "compare a=a b=b --ref ref --metric bleu --samples 9",
    "leaves such segments out": "compare a=s.jsonl#acc b=few.jsonl#acc",
    "metric {} compares with references": "optimize --nbest list --metric bleu --out o.json",
    "the hypotheses have no scores": "optimize --nbest bare --ref ref --metric bleu --out o.json",
    "which the lists lack": "rerank --nbest list --weights other.json --out o",
    "outputs are compared with references of the test set": "rerank-tune --nbest list --ref ref "
    "--metric bleu --test-nbest list --also chrf --out-dir out",
    "has no scores of the test lists: give them": "rerank-tune --nbest list --metric scores:marks "
    "--test-nbest list --test-ref ref --out-dir out",
    "nothing judges the votes": "rerank-tune --nbest list --ref ref --metric bleu "
    "--test-nbest list --test-answers answers --out-dir out",
    "compares word orders; give --test-source": "rerank-tune --nbest list --ref ref --source src "
    "--ref-links links --metric port --test-nbest list --test-ref ref --out-dir out",
    "gold edits: give an M2 file": "score --hyp a --ref ref --metric m2",
    "several judgments of one output are taken": "metaeval --human twice.tsv --outputs out "
    "--ref ref --metric chrf --samples 9",
    "no segment has scores of all": "metaeval --human holes.tsv --outputs out --ref ref "
    "--metric chrf --samples 9",
    "which has human scores": "metaeval --human three.tsv --outputs out --ref ref --metric chrf "
    "--samples 9",
    "has no human scores": "metaeval --human one.tsv --outputs out --ref ref --metric chrf "
    "--samples 9",
    "ranks are penalties already": "metaeval --human ranks.csv --outputs out --ref ref "
    "--metric chrf --penalties --samples 9",
    "hold out one reference": "metaeval --human both.tsv --outputs out --ref ref --metric chrf "
    "--likeness --samples 9",
    "scores computed elsewhere are of the outputs": "metaeval --human both.tsv --outputs out "
    "--ref ref --metric scores:m.seg.score --likeness --better higher --samples 9",
}  # fmt: skip
VALUES = {
    "--aligner": "precomputed --set links=links", "--answers": "said", "--feature": "q=q",
    "--hyp-links": "links",
    "--judgments": "mean", "--links": "x=links,links,links",
    "--ref": "ref", "--ref-links": "links", "--source": "src", "--system": "a",
    "--test-ref": "ref", "--test-ref-links": "links", "--test-scores": "marks=marks",
    "--test-source": "src",
}  # fmt: skip
"""What stands for the values that advice leaves open."""
LITERALS = {"FILE.m2": "gold.m2", "chrf": "chrf", "each": "each", "leaves": ""}
UNTRIED = {
    "give --annotator, as ": "needs a parser",
    "nobody has compared": "see test_metaeval.py",
    "and no ids: which are missing cannot be known": "see test_segments.py",
    "lack {}, which the others have": "needs several lists of several systems",
}
"""Advice without a case, and why."""
PACKAGES = ("tuner/api", "tuner/evaluation", "extensions/outside_scores", "extensions/metaeval")
ADVICE = re.compile(
    r"\b(?:give|take|taken|name|leave|leaves|repeat|count|add) .*?(--[a-z][\w-]+)", re.DOTALL
)


def constants(node, *, inside=True):
    """Yield the texts of a syntax tree, `{}` for what is put into them."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(x.value if isinstance(x, ast.Constant) else "{}" for x in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and inside:
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from constants(child, inside=not isinstance(node, ast.Expr))


def test_every_advice_has_a_case():
    """The messages are found in the source; docstrings and help are none."""
    paths = chain(*((ROOT / package).rglob("*.py") for package in PACKAGES))
    trees = (ast.parse(path.read_text("utf-8")) for path in paths if path.name != "command.py")
    advice = {text for tree in trees for text in constants(tree) if ADVICE.search(text)}
    assert len(advice) > 25
    assert {
        text for text in advice if not any(part in text for part in (*CASES, *UNTRIED))
    } == set()
    assert {part for part in UNTRIED if not any(part in text for text in advice)} == set()


def json_lines(path, rows):
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = {
        "a": "the cat sat\non a mat", "b": "the cat sits\non some mats", "one": "1\n0",
        "ref": "a cat sat\non a mat", "src": "x y z\nu v w", "q": "1\n0\n0\n1",
        "links": "0-0 1-1 2-2\n0-0 1-1 2-2", "marks": "1\n0\n1\n0", "answers": "x\ny\nx\ny",
    }  # fmt: skip
    for name, text in lines.items():
        Path(name).write_text(f"{text}\n")
    Path("gold.m2").write_text("S the cat sat\nA 0 1|||R|||a|||R|||-|||0\n\nS on a mat\n\n")
    Path("other.json").write_text(json.dumps({"weights": {"f": [1.0], "g": [1.0], "h": [1.0]}}))
    marks = [{"id": n, "acc": n % 2, "mark": n / 7, "said": "xy"[n % 2]} for n in range(2)]
    json_lines("s.jsonl", marks)
    json_lines("few.jsonl", marks[1:])
    for name, features in (("list", "fg"), ("bare", "")):
        json_lines(name, (
            {"segment": n, "nbest": [
                {"text": text, "links": "0-0 1-1 2-2", "features": dict.fromkeys(features, k - n)}
                for k, text in enumerate(("the cat sat", "a cat sits"))
            ]}
            for n in range(2)
        ))  # fmt: skip
    Path("out").mkdir()
    for name in "ab":
        Path(f"out/{name}").write_text(Path(name).read_text())
    rows = ["a\t0\t1", "b\t0\t2", "a\t1\t1", "b\t1\t3"]
    tables = {"both": rows, "twice": [*rows, rows[0]], "holes": [rows[0], rows[3]],
              "three": [*rows, "c\t0\t1", "c\t1\t1"], "one": ["a\t0\t1", "a\t1\t2"]}  # fmt: skip
    for name, table in tables.items():
        Path(f"{name}.tsv").write_text("\n".join(("system\tsegment\tscore", *table, "")))
    Path("m.seg.score").write_text("a\t1\na\t2\nb\t1\nb\t3\n")
    head = "srclang,trglang,srcIndex,system1Id,system1rank,system2Id,system2rank\n"
    Path("ranks.csv").write_text(f"{head}x,y,1,a,1,b,2\nx,y,2,a,2,b,1\n")


def said(command):
    """Run a command; return its exit status, and the lines of its messages and notes."""
    result = CliRunner().invoke(main, command, prog_name="portmert")
    assert not result.exception or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, (result.stderr + result.stdout).splitlines()


def given(alternative, command):
    """Return a command with the options of one piece of advice, or without them."""
    words = list(command)
    for option, literal in re.findall(r"(--[a-z][\w-]+)(?: ([\w@:.]+))?", alternative):
        at = words.index(option) if option in words else None
        if at is not None and "repeat" not in alternative:
            has_value = at + 1 < len(words) and not words[at + 1].startswith("--")
            del words[at : at + 1 + has_value]
        if "leave out" not in alternative:
            value = LITERALS.get(literal, VALUES.get(option, literal))
            words += [option, *value.split()]
    return words


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("part", CASES)
def test_advice_ends_its_message(part):
    command = CASES[part].split()
    start = part.partition("{}")[0].strip("; ")
    _, lines = said(command)
    (line,) = (line for line in lines if start in line)
    found = ADVICE.search(line)
    advice = line[found.start() :] if found else re.split(r"[;(]", line)[-1]
    whole = "leave out" in advice or "for the test set" in advice or " too" in advice
    shared, _, last = ("", "", advice) if whole else advice.rpartition(" and ")
    for alternative in [last] if whole else re.split(r",? or (?=.*--)", last):
        if "--" in alternative:
            followed = given(f"{shared} {alternative}", command)
            status, lines = said(followed)
            assert not [line for line in lines if start in line], followed
            assert status == 0, (followed, lines)
