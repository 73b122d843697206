"""Batches of a service: shuffled, with estimates and references beside them, and failures."""

import json
import os
import random
import threading

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
    assert (folder / "2.json").read_bytes() == (folder / "1.json").read_bytes()
    whole = ("batch.shuffled.jsonl", "ref.jsonl#ref", "qe.shuffled.jsonl")
    assert optimized("3.json", *whole).exit_code == 0
    assert (folder / "3.json").read_bytes() == (folder / "1.json").read_bytes()


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
    assert "not in best.jsonl" in result.stderr


def lacking(path, numbers, key):
    """Write the records again: some of them lack their answer."""
    rows = read(path)
    for number in numbers:
        rows[number][key] = None
    write(f"lacking.{path}", rows)
    return [row for number, row in enumerate(rows) if number not in numbers]


def test_compare_and_score_drop_and_count_what_is_missing(folder):
    write("some.jsonl", lacking("ref.shuffled.jsonl", (3, 9), "ref"))
    write("worse.jsonl", [{**row, "ref": row["ref"][::-1]} for row in read("ref.shuffled.jsonl")])
    call = ("compare", "a=worse.jsonl#ref", "--metric", "chrf", "--samples", 50, "--no-timing")
    lacks = (*call, "b=ref.txt", "--ref", "lacking.ref.shuffled.jsonl#ref", "--json", "l.json")
    result = portmert(*lacks)
    assert result.exit_code == 1
    assert result.stderr.rstrip().endswith("--drop-missing leaves such segments out")
    lacks = (*call, "b=ref.jsonl#ref", "--ref", "lacking.ref.shuffled.jsonl#ref")
    assert portmert(*lacks, "--json", "l.json", "--drop-missing").exit_code == 0
    assert portmert(*lacks, "--drop-missing").stdout.endswith("segments left out: 2\n")
    less = (*call, "b=some.jsonl#ref", "--ref", "some.jsonl#ref", "--drop-missing")
    assert portmert(*less, "--json", "s.json").exit_code == 0
    found, expected = (json.loads((folder / name).read_text()) for name in ("l.json", "s.json"))
    assert found["left_out"] == expected["left_out"] == 2
    assert found["scores"] == expected["scores"]
    call = ("score", "--metric", "chrf", "--hyp", "ref.txt", "--ref", "ref.jsonl#ref")
    source = ("--source", "lacking.ref.shuffled.jsonl#ref", "--drop-missing")
    assert portmert(*call, *source).stdout.endswith("segments left out: 2\n")
    assert json.loads(portmert(*call, *source, "--json").stdout)["left_out"] == 2


def test_metaeval_drops_and_counts_what_is_missing(folder):
    names = ("a", "b", "c")
    for kept in (range(SEGMENTS), [n for n in range(SEGMENTS) if n not in (2, 11)]):
        part = folder / f"outputs-{len(kept)}"
        part.mkdir()
        rows = read("ref.jsonl")
        for system, name in enumerate(names):
            lines = [" ".join([*rows[n]["ref"].split()[system:], "x"]) for n in kept]
            (part / name).write_text("".join(f"{line}\n" for line in lines))
        table = [
            f"{name}\t{place}\t{(n * 7 + system) % 11}\n"
            for place, n in enumerate(kept)
            for system, name in enumerate(names)
        ]
        head = "system\tsegment\tscore\n"
        (folder / f"human-{len(kept)}").write_text(head + "".join(table))
        write(f"refs-{len(kept)}.jsonl", [rows[n] for n in kept])
    rows[2]["ref"], rows[11]["ref"] = None, None
    write("lacking.jsonl", rows)
    call = ("metaeval", "--metric", "chrf", "--samples", 20)
    whole = ("--human", "human-30", "--outputs", "outputs-30", "--ref", "lacking.jsonl#ref")
    result = portmert(*call, *whole)
    assert "--drop-missing leaves such segments out" in result.stderr
    found = portmert(*call, *whole, "--drop-missing", "--json")
    assert found.exit_code == 0, found.output
    less = ("--human", "human-28", "--outputs", "outputs-28", "--ref", "refs-28.jsonl#ref")
    expected = json.loads(portmert(*call, *less, "--json").stdout)
    document = json.loads(found.stdout)
    assert document.pop("left_out") == 2
    assert "2 segments left out; the first is 'seg-0002'" in document["warnings"][0]
    assert document["metrics"] == expected["metrics"]


@pytest.mark.usefixtures("folder")
def test_segments_without_a_score_from_outside_may_be_dropped():
    rows = read("qe.shuffled.jsonl")
    rows[5]["kiwi"] = None
    name = rows[5]["custom_id"]
    write("bad.jsonl", rows)
    search = ("--optimizer", "mert:searches_per_feature=10,restarts=1", "--threads", 1)
    call = ("optimize", "--nbest", "batch.jsonl", "--feature", "k=qe.jsonl#kiwi", *search)
    metric = ("--metric", "scores:bad.jsonl#kiwi", "--json")
    result = portmert(*call, *metric, "--out", "w")
    assert result.exit_code == 1
    assert f"'kiwi' is null for id '{name}'; --drop-missing leaves" in result.stderr
    result = portmert(*call, *metric, "--drop-missing", "--out", "w")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["left_out"] == 1
    write("less.jsonl", [row for row in read("batch.jsonl") if row["custom_id"] != name])
    call = ("optimize", "--nbest", "less.jsonl", "--feature", "k=qe.jsonl#kiwi", *search)
    assert portmert(*call, *metric, "--drop-missing", "--out", "l").exit_code == 0
    with open("w") as one, open("l") as other:  # noqa: PTH123
        assert one.read() == other.read()


@pytest.mark.parametrize("how", ["stdin", "pipe"])
@pytest.mark.parametrize(("name", "column"), [("ref.txt", ""), ("ref.jsonl", "#ref")])
def test_compare_takes_references_that_can_be_read_only_once(folder, how, name, column):
    text = (folder / "ref.txt").read_text()
    (folder / "other.txt").write_text(text.replace("a", "b"))
    call = ["compare", "x=other.txt", "y=ref.txt", "--metric", "chrf", "--samples", "20"]
    call += ["--no-timing", "--json", "--ref"]
    expected = CliRunner().invoke(main, [*call, name + column])
    content = (folder / name).read_text()
    if how == "stdin":
        result = CliRunner().invoke(main, [*call, f"-{column}"], input=content)
    else:
        os.mkfifo(folder / "pipe")
        writer = threading.Thread(target=(folder / "pipe").write_text, args=[content])
        writer.start()
        result = CliRunner().invoke(main, [*call, f"pipe{column}"])
        writer.join()
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["scores"] == json.loads(expected.stdout)["scores"]


@pytest.mark.usefixtures("folder")
def test_answers_that_were_held_back_are_counted():
    records = read("batch.jsonl")
    for number in (3, 5):
        records[number]["response"]["body"]["choices"][1]["finish_reason"] = "content_filter"
    write("cut.jsonl", records)
    result = optimized("w", "cut.jsonl", "ref.txt", "qe.jsonl", "--drop-missing", "--json", "r")
    said = "cut.jsonl: 2 hypotheses of 2 segments left out; the first is of 'seg-0003': an answer"
    assert said in result.stderr
    with open("r") as file:  # noqa: PTH123
        assert any(said in line for line in json.load(file)["warnings"])
