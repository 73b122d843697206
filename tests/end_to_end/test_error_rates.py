"""An error rate is shown as the rate by every command, and JSON keeps the sign of the score."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

import portmert
from portmert.tuner.base.warn import notices_to
from tests.support.cli import run

SEGMENTS = 24
MOST = 50.0
"""All rates of these lists are below it, so 1 minus a rate is above."""


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    """Lists of three hypotheses, with none, one or two of eight words wrong."""
    folder, rng = tmp_path_factory.mktemp("rates"), random.Random(1)
    for name in ("dev", "test"):
        references, lines, firsts, best = [], [], [], []
        for number in range(SEGMENTS):
            words = [f"w{rng.randrange(50)}" for _ in range(8)]
            references.append(" ".join(words))
            texts = []
            for wrong in rng.sample([0, 1, 2], 3):
                text = ["x"] * wrong + words[wrong:]
                texts.append(" ".join(text))
                features = {"am": -wrong + rng.gauss(0, 1.5), "lm": -wrong + rng.gauss(0, 1.5)}
                lines.append({"id": str(number), "text": texts[-1], "features": features})
            firsts.append(texts[0])
            best.append(references[-1])
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(x)}\n" for x in lines))
        for kind, rows in (("ref", references), ("first", firsts), ("best", best)):
            (folder / f"{name}.{kind}").write_text("".join(f"{row}\n" for row in rows))
    return folder


@pytest.fixture(autouse=True)
def _here(lists, monkeypatch):
    monkeypatch.chdir(lists)


def first_rate(name):
    return portmert.score(f"{name}.first", [f"{name}.ref"], metric="wer").rate


def values(text):
    """All numbers that are printed as scores are: with two decimals."""
    return [float(x) for x in re.findall(r"(?<![\d.])\d+\.\d\d(?!\d)", text)]


def shown(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


DEV = ("--nbest", "dev.jsonl", "--ref", "dev.ref", "-q")


def test_rerank_tune_crossval_and_their_pages():
    text = shown("rerank-tune", *DEV, "--metric", "wer", "--also", "ter", "--test-nbest",
                 "test.jsonl", "--test-ref", "test.ref", "--replicas", 2, "--out-dir", "tuned",
                 "--optimizer", "mert:restarts=1")  # fmt: skip
    (row,) = [line for line in text.splitlines() if re.match(r"first +wer ↓", line)]
    assert float(row.split()[3]) == pytest.approx(100 * first_rate("test"), abs=0.006)
    assert max(values(text)) < MOST
    document = json.loads(Path("tuned/comparison.json").read_text())
    for row in document["scores"]:
        wanted = row["score"] if row["metric"] == "ter" else 1 - row["score"]
        assert row["rate"] == pytest.approx(wanted)
    page = Path("tuned/comparison.html").read_text()
    table = page.partition('data-label="scores"')[2].partition("</table>")[0]
    assert "wer ↓" in table
    assert f"{100 * first_rate('test'):.2f}" in table
    assert max(values(table)) < MOST
    text = shown("crossval", *DEV, "--metric", "wer", "--splits", 2,
                 "--optimizer", "mert:restarts=1")  # fmt: skip
    assert "wer ↓" in text
    rows = [line for line in text.splitlines() if line.startswith(("mert", "first", "only"))]
    assert rows
    assert max(values("\n".join(rows))) < MOST


def test_tuning_with_a_function():
    records = [json.loads(line) for line in Path("dev.jsonl").read_text().splitlines()]

    def decode(_weights, sources, size):
        for source in sources:
            rows = [row for row in records if row["id"] == source]
            yield [{"text": row["text"], "features": row["features"]} for row in rows][:size]

    lines = []
    with notices_to(lines.append):
        tuned = portmert.tune(
            decode, [str(n) for n in range(SEGMENTS)], "dev.ref", start={"am": 1.0, "lm": 0.0},
            metric="wer", folder="run", iterations=2 )  # fmt: skip
    assert str(tuned).startswith("wer ↓ ")
    assert max(values(str(tuned).partition("weights")[0])) < MOST
    steps = [line.partition("weights change")[0] for line in lines if " new, dev ↓" in line]
    assert steps
    assert max(values("\n".join(steps))) < MOST
