"""Batches of a service: shuffled, with estimates and references beside them, and failures."""

import json
import random

import pytest
from click.testing import CliRunner

from portmert.tuner.cli import main

SEGMENTS, CHOICES = 30, 4
WORDS = "abcdefgh"


def choice(index, text, draw):
    logprobs = [{"token": word, "logprob": -draw.random()} for word in text.split()]
    message = {"content": text}
    return {"index": index, "message": message, "logprobs": {"content": logprobs}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Write batch, estimates and references in the order of the source, and shuffled."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(3)
    records, estimates, references = [], [], []
    for number in range(SEGMENTS):
        name = f"seg-{number:04d}"
        words = draw.choices(WORDS, k=8)
        choices = []
        for index in range(CHOICES):
            text = " ".join(w if draw.random() < 0.6 else draw.choice(WORDS) for w in words)
            likeness = sum(a == b for a, b in zip(text.split(), words, strict=True))
            choices.append(choice(index, text, draw))
            estimates.append({"custom_id": name, "index": index, "kiwi": likeness + draw.random()})
        body = {"status_code": 200, "body": {"choices": choices}}
        records.append({"id": f"batch_{number}", "custom_id": name, "response": body})
        references.append({"custom_id": name, "ref": " ".join(words)})
    for name, rows in (("batch", records), ("qe", estimates), ("ref", references)):
        write(f"{name}.jsonl", rows)
        write(f"{name}.shuffled.jsonl", draw.sample(rows, len(rows)))
    (tmp_path / "ref.txt").write_text("".join(f"{row['ref']}\n" for row in references))
    return tmp_path


def write(path, rows):
    with open(path, "w") as file:  # noqa: PTH123
        file.writelines(json.dumps(row) + "\n" for row in rows)


def read(path):
    with open(path) as file:  # noqa: PTH123
        return list(map(json.loads, file))


def portmert(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def optimized(out, nbest, ref, kiwi, *rest):
    search = ("--optimizer", "mert:searches_per_feature=10,restarts=1", "--threads", 1)
    feature = ("--feature", f"kiwi={kiwi}#kiwi")
    texts = ("--nbest", nbest, "--ref", ref)
    return portmert("optimize", "--metric", "chrf", *texts, *feature, *search, "--out", out, *rest)


def test_estimates_and_references_of_a_batch_may_be_shuffled(folder):
    assert optimized("1.json", "batch.jsonl", "ref.txt", "qe.jsonl").exit_code == 0
    shuffled = optimized("2.json", "batch.jsonl", "ref.shuffled.jsonl#ref", "qe.shuffled.jsonl")
    assert shuffled.exit_code == 0, shuffled.output
    expected = json.loads((folder / "1.json").read_text())
    assert (folder / "2.json").read_bytes() == (folder / "1.json").read_bytes()
    whole = ("batch.shuffled.jsonl", "ref.jsonl#ref", "qe.shuffled.jsonl")
    assert optimized("3.json", *whole).exit_code == 0
    found = json.loads((folder / "3.json").read_text())
    assert found["score"] == pytest.approx(expected["score"])
    assert found["weights"].keys() == expected["weights"].keys()


@pytest.mark.usefixtures("folder")
def test_plain_references_of_a_shuffled_batch_are_refused_whatever_is_quiet():
    result = optimized("w", "batch.shuffled.jsonl", "ref.txt", "qe.jsonl", "--quiet")
    assert result.exit_code == 1
    assert "ref.txt has no ids, and those of the n-best lists are not in order" in result.stderr
    assert "--ids" in result.stderr
    assert "FILE.jsonl#KEY" in result.stderr


def failing(records):
    """Return the batch with a request of each kind that failed, and what is said of it."""
    limit = {"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}
    end = {"code": "batch_expired", "message": "the window is over"}
    cut = {"index": 0, "finish_reason": "content_filter", "message": {"content": None}}
    bodies = [
        ({"response": {"status_code": 429, "body": limit}}, "status 429, rate_limit_exceeded"),
        ({"response": None, "error": end}, "the request failed: batch_expired, the window is"),
        ({"error": "timeout"}, "the request failed: timeout"),
        ({"response": {"status_code": 503, "body": None}}, "the request failed: status 503"),
        (
            {"response": {"status_code": 200, "body": {"choices": [cut]}}},
            "an answer ended by content_filter",
        ),
    ]
    for number, (body, said) in enumerate(bodies, 3):
        yield number, {"custom_id": records[number]["custom_id"], **body}, said


@pytest.mark.usefixtures("folder")
def test_requests_that_failed_are_named_and_dropped():
    records = read("batch.jsonl")
    failed = list(failing(records))
    others = ("ref.shuffled.jsonl#ref", "qe.shuffled.jsonl")
    for number, record, said in failed:
        write("bad.jsonl", [*records[:number], record, *records[number + 1 :]])
        result = optimized("w", "bad.jsonl", *others)
        assert result.exit_code == 1
        line = result.stderr.splitlines()[-1]
        assert f"bad.jsonl:{number + 1}: id 'seg-{number:04d}': " in line
        assert said in line
        assert line.endswith("--drop-missing leaves such segments out")
    for number, record, _ in failed:
        records[number] = record
    write("bad.jsonl", records)
    for ref in ("ref.shuffled.jsonl#ref", "ref.txt"):
        result = optimized("w", "bad.jsonl", ref, "qe.shuffled.jsonl", "--drop-missing")
        assert result.exit_code == 0, result.output
        assert f"{SEGMENTS - 5} segments x {CHOICES}" in result.stderr
    left = [record for n, record in enumerate(read("batch.jsonl")) if n not in range(3, 8)]
    write("left.jsonl", left)
    result = optimized("l", "left.jsonl", others[0], others[1])
    assert result.exit_code == 1
    assert "id 'seg-0006' and 4 more not in the n-best lists" in result.stderr or (
        "and 4 more not in the n-best lists" in result.stderr
    )
    assert optimized("l", "left.jsonl", *others, "--drop-missing").exit_code == 0
    with open("w") as one, open("l") as other:  # noqa: PTH123
        assert one.read() == other.read()


@pytest.mark.usefixtures("folder")
def test_rerank_and_rerank_tune_drop_what_is_missing():
    records = read("batch.shuffled.jsonl")
    records[2] = {"custom_id": records[2]["custom_id"], "error": "timeout"}
    write("bad.jsonl", records)
    lists = ("--nbest", "bad.jsonl", "--feature", "kiwi=qe.shuffled.jsonl#kiwi", "--drop-missing")
    assert optimized("w", "batch.jsonl", "ref.txt", "qe.jsonl").exit_code == 0
    result = portmert("rerank", *lists, "--weights", "w", "--out", "best.jsonl")
    assert result.exit_code == 0, result.output
    chosen = read("best.jsonl")
    assert len(chosen) == SEGMENTS - 1
    texts = {row["custom_id"]: row["response"]["body"]["choices"] for row in read("batch.jsonl")}
    for row in chosen:
        assert row["text"] == texts[row["id"]][row["index"]]["message"]["content"]
    ref, test = ("--ref", "ref.shuffled.jsonl#ref"), ("--test-nbest", "bad.jsonl")
    features = ("--test-feature", "kiwi=qe.shuffled.jsonl#kiwi")
    result = portmert(
        "rerank-tune", "--metric", "chrf", *lists, *ref, *test, "--test-ref",
        "ref.jsonl#ref", *features, "--optimizer", "mert:searches_per_feature=10", "--replicas", 2,
        "--out-dir", "run",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    with open("run/output.txt") as file:  # noqa: PTH123
        assert len(file.readlines()) == SEGMENTS - 1
    result = portmert("score", "--metric", "chrf", "--hyp", "best.jsonl#text", *ref)
    assert result.exit_code == 1
    call = ("score", "--metric", "chrf", "--hyp", "best.jsonl#text", *ref, "--drop-missing")
    assert portmert(*call).exit_code == 0
    result = portmert(
        "compare", "x=best.jsonl#text", "y=ref.jsonl#ref", "--metric", "chrf",
        "--ref", "best.jsonl#text", "--samples", 100,
    )  # fmt: skip
    assert result.exit_code == 1
    assert "is not in best.jsonl" in result.stderr
