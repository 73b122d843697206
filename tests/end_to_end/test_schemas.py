"""Results are as their published schemas say."""

import json

import pytest

import portmert
from docs._site.schemas import RESULTS, schema
from portmert import Questions, Resampling, TestSet
from portmert.tuner.texts.scoring import as_json
from tests.support.cli import fault, run

KINDS = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list,
    "object": dict, "null": type(None),
}  # fmt: skip
GOOD, BAD = ["a b c d", "e f g h", "i j k l"] * 3, ["a b c x", "e f x h", "i x k l"] * 3


def check(value, rule, whole, where="result"):
    """Check a value by the keywords of JSON schema that pydantic writes for these classes."""
    unknown = {*rule} - {
        "$ref", "anyOf", "type", "items", "properties", "required", "additionalProperties",
        "title", "default", "$defs",
    }  # fmt: skip
    assert not unknown, unknown
    if "$ref" in rule:
        check(value, whole["$defs"][rule["$ref"].rpartition("/")[2]], whole, where)
        return
    if "anyOf" in rule:
        kinds = [x for x in rule["anyOf"] if x.get("type", "object") != "null" or value is None]
        check(value, kinds[-1], whole, where)
        return
    if "type" in rule:
        is_flag = isinstance(value, bool) and rule["type"] != "boolean"
        assert isinstance(value, KINDS[rule["type"]]), (where, value)
        assert not is_flag, where
    if isinstance(value, list):
        for place, item in enumerate(value):
            check(item, rule.get("items", {}), whole, f"{where}[{place}]")
    if isinstance(value, dict):
        columns, others = rule.get("properties", {}), rule.get("additionalProperties", True)
        assert not {*rule.get("required", ())} - {*value}, where
        for key, item in value.items():
            assert key in columns or others, (where, key)
            column = columns.get(key, others if isinstance(others, dict) else {})
            check(item, column, whole, f"{where}.{key}")


def as_said(command, document):
    content = json.loads(json.dumps(document))
    check(content, schema(command), schema(command))
    return content


def test_a_comparison_with_all_questions(tmp_path):
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text("".join(f"{line}\n" for line in GOOD))
    bad.write_text("".join(f"{line}\n" for line in BAD))
    found = portmert.compare(
        {"good": good, "bad": bad, "twice": [bad, good]},
        TestSet(references=[good], groups=["x", "y", "z"] * 3),
        metric=["bleu", "wer"],
        resampling=Resampling(samples=20),
        questions=Questions(all_pairs=True, subset=["m", "m", "n"] * 3, margin=0.3, plan=[1.0]),
        timing=False,
    )
    document = as_said("compare", found.as_json())
    assert {"pairs", "subsets", "margins", "plan", "warnings"} <= {*document}
    for key in ("margin", "systems", "scores"):
        broken = {**document, key: "x"}
        with pytest.raises(AssertionError):
            check(broken, schema("compare"), schema("compare"))


def test_scores_and_their_intervals_are_those_of_compare(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, lines in (("hyp", BAD), ("ref", GOOD)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    texts = ["--ref", "ref", "--metric", "wer", "--metric", "chrf", "--json"]
    document = json.loads(run("score", "--hyp", "hyp", "--interval", "--segments", *texts).stdout)
    as_said("score", document)
    compared = json.loads(run("compare", "a=hyp", *texts, "--no-timing").stdout)
    for score, row in zip(document["scores"], compared["scores"], strict=True):
        assert (score["low"], score["high"]) == (row["low"], row["high"])
    shown = run("score", "--hyp", "hyp", "--interval", *texts[:-1]).stdout
    assert "95 % interval" in shown.splitlines()[0]
    as_said("score", as_json([portmert.score(BAD, [GOOD])], by_segment=False))


def test_numbers_are_scored_as_compare_shows_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"id": n, "acc": n % 3 > 0, "doc": n // 4, "x": n} for n in range(80)]
    (tmp_path / "run.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    named = ["--interval", "--groups", "run.jsonl#doc", "--json"]
    (score,) = json.loads(run("score", "--metric", "scores:run.jsonl#acc", *named).stdout)[
        "scores"
    ]
    assert score["metric"] == "acc"
    groups = ["--groups", "run.jsonl#doc", "--json"]
    (row,) = json.loads(run("compare", "a=run.jsonl#acc", *groups).stdout)["scores"]
    assert [score[x] for x in ("score", "low", "high")] == [
        row[x] for x in ("score", "low", "high")
    ]
    call = ("score", "--metric", "scores:run.jsonl#x")
    assert "give --better higher or --better lower" in fault(*call)
    assert "--ref goes with --hyp" in fault(*call, "--ref", "run.jsonl", status=2)


def lists():
    records = [
        {"id": n, "text": f"a b c {word}", "features": {"LM": lm, "TM": tm}}
        for n in range(8) for word, lm, tm in (("x", -1, -2), ("d", -2, -1))
    ]  # fmt: skip
    return portmert.Lists.from_records(records, refs=[["a b c d"] * 8])


def test_cross_validation_and_tuned_lists(tmp_path):
    report = portmert.crossval(lists(), "wer", optimizer="mert", splits=2)
    as_said("crossval", report.as_json())
    tuned = portmert.rerank_tune(
        lists(), "wer", test=lists(), replicas=2, out_dir=tmp_path / "out", optimizer="mert"
    )
    as_said("rerank-tune", tuned.as_json())
    assert {*RESULTS} == {"compare", "crossval", "rerank-tune", "score"}
