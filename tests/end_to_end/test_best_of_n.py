"""Best of n by several judges: the page from Python, and outcomes in JSON lines."""

import json
import lzma
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import portmert
from portmert.tuner.api.rerank_tuning import elected
from portmert.tuner.base.errors import InputError
from portmert.tuner.nbest.feature_files import answers_of, read_numbers
from research import gsm8k
from tests.support.cli import run
from tests.support.places import CONFIGS, ROOT

CANDIDATES = CONFIGS / "best-of-n" / "candidates.jsonl.xz"


def rows_of(name):
    """The lines of a file of the example."""
    with lzma.open(CANDIDATES.with_name(name), "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_judges_are_computed_from_questions_and_answers_alone():
    files = [rows_of("candidates.jsonl.xz"), rows_of("test.jsonl.xz")]
    ids = [{row["id"] for row in rows} for rows in files]
    assert [len(some) for some in ids] == [300, 300]
    assert not ids[0] & ids[1]
    for rows in files:
        for start in range(0, 1200, 4):
            texts = [row["text"] for row in rows[start : start + 4]]
            for number, row in enumerate(rows[start : start + 4]):
                judges = gsm8k.simple_judges(row["question"], texts, number)
                assert judges == pytest.approx(
                    {name: row["features"][name] for name in judges}, abs=6e-4
                )


def test_the_page_in_python(monkeypatch):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "how-to" / "best-of-n.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(code, names)  # noqa: S102  ours
    found, correct, chosen = names["found"], names["correct"], names["chosen"]
    assert found.score == pytest.approx(correct[np.arange(300), chosen].mean())
    assert str(names["unseen"]).startswith(
        "no difference shown between mert:searches_per_feature=100 and mert:"
    )
    same = portmert.optimize(
        CANDIDATES, f"scores:{CANDIDATES}#correct", optimizer="mert:restarts=1" )  # fmt: skip
    assert same.score == found.score


def test_cross_validation_of_arrays_is_that_of_lists():
    options = {
        "optimizer": "mert:searches_per_feature=20",
        "splits": 2,
    }
    lists = portmert.Lists.read(CANDIDATES).nbest
    of_lists = portmert.crossval(CANDIDATES, metric=f"scores:{CANDIDATES}#correct", **options)
    arrays = portmert.Lists.from_arrays(
        lists.features,
        lists.offsets,
        scores=read_numbers(f"{CANDIDATES}#correct")[lists.lines],
        feature_names=[name for name, _ in lists.feature_names],
    )
    of_arrays = portmert.crossval(arrays, **options)
    judged = [
        [row["score"] for row in found.document["scores"]] for found in (of_lists, of_arrays)
    ]
    assert judged[0] == judged[1]


def test_arrays_have_no_lengths_and_one_metric():
    lists = portmert.Lists.from_arrays(np.zeros((2, 2, 1)), stats=np.zeros((2, 2, 2)))
    with pytest.raises(portmert.PortmertError, match="other metrics need n-best lists with texts"):
        portmert.crossval(lists, ["wer", "per"])


@pytest.mark.parametrize(
    ("key", "lines", "expected"),
    [
        ("ok", [{"ok": True}, {"ok": 0.5}], [1.0, 0.5]),
        ("a.ok", [{"a": {"ok": 3}}], [3.0]),
        ("hypotheses.ok", [{"hypotheses": [{"ok": 1}, {"ok": False}]}], [1.0, 0.0]),
        ("ok", [{"ok": [1, 0]}, {"ok": [2]}], [1.0, 0.0, 2.0]),
    ],
)
def test_numbers_in_json_lines(tmp_path, key, lines, expected):
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_numbers(f"{path}#{key}").tolist() == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"id": 1, "fine": 2}', "x:1: 'ok' is missing (keys found: fine, id)"),
        ("3", "x:1: '3' is no JSON object"),
        ('{"ok": null}', "x:1: 'ok' is null; every hypothesis needs a number"),
        ('{"ok": "yes"}', "x:1: 'ok' is \"yes\", expected a finite number"),
        ('{"ok": 1e99}', "x:1: 'ok' is 1e+99, expected a finite number"),
        ('{"ok": NaN}', "x:1: not JSON: NaN is no number of JSON"),
    ],
)
def test_what_is_no_outcome_is_refused(tmp_path, line, expected):
    (tmp_path / "x").write_text(line + "\n")
    with pytest.raises(InputError) as caught:
        read_numbers(f"{tmp_path}/x#ok")
    assert str(caught.value).replace(f"{tmp_path}/", "") == expected


ANSWERS = [
    {"id": "p1", "text": "def f(x):\n    if x:\n\treturn 1\n", "features": {"a": 1.0}, "n": [0]},
    {"id": "p1", "text": "def f(x):\n    if x:\n\treturn 1\n", "features": {"a": 1.0}, "n": [1]},
    {"id": "p1", "text": '"\u2028é"\tx', "features": {"a": 3.0}, "n": None},
    {"id": "p2", "text": "  one", "features": {"a": 2.5}, "n": {"x": 2.50}},
    {"id": "p2", "text": "two", "features": {"a": 1.0}},
]
CHOSEN = [(ANSWERS[2], 2, 3.0), (ANSWERS[3], 0, 2.5)]
"""The highest `a` of each problem, its place (equal answers count), its score under weight 1."""


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """Answers over several lines, in JSON lines, and a weight."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in ANSWERS), encoding="utf-8")
    (tmp_path / "w.json").write_text('{"weights": {"a": 1}}')
    return path


def output(*arguments):
    """What a command that ends well prints on stdout."""
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def expected(record, index, score):
    return {
        "id": record["id"], "index": index, "score": score,
        "text": record["text"], "record": record,
    }  # fmt: skip


def test_answers_stay_answers_from_json_to_json(answers):
    wanted = [expected(*one) for one in CHOSEN]
    base = ("rerank", "--weights", "w.json", "--quiet")
    printed = output(*base, "--nbest", answers, "--json")
    assert json.loads(printed) == wanted
    printed = output(*base, "--nbest", answers, "--out", "o.jsonl", "--json", "o.json")
    assert printed == ""
    assert [json.loads(line) for line in Path("o.jsonl").read_bytes().split(b"\n")[:-1]] == wanted
    assert json.loads(Path("o.json").read_text(encoding="utf-8")) == wanted
    # Whole prompts have the candidates' own objects too.
    prompts = {name: [one for one in ANSWERS if one["id"] == name] for name in ("p1", "p2")}
    Path("prompts.jsonl").write_text(
        "".join(
            json.dumps({"id": name, "hypotheses": some}) + "\n" for name, some in prompts.items()
        )
    )
    assert json.loads(output(*base, "--nbest", "prompts.jsonl", "--json")) == wanted


def test_answers_stay_answers_in_python(answers):
    for lists in (
        portmert.Lists.read(answers),
        portmert.Lists.from_records(ANSWERS),
    ):
        more = lists.with_feature("none", np.zeros(4)).with_feature("length")
        for some, weights in ((lists, {"a": 1}), (more, {"a": 1, "none": 0, "length": 0})):
            found = portmert.rerank(some, weights)
            assert found.as_json() == [expected(*one) for one in CHOSEN]
            assert found.given == ('"\u2028é"\tx', "  one")
            assert found.records == (ANSWERS[2], ANSWERS[3])
            assert found.indices == (2, 0)
            assert found.scores.tolist() == [3.0, 2.5]


def test_lists_that_are_not_json_have_indices_and_scores(tmp_path):
    path = tmp_path / "list"
    path.write_text("0 ||| b ||| a= 1 ||| 0\n0 ||| b ||| a= 1 ||| 0\n0 ||| c  d ||| a= 2 ||| 0\n")
    found = portmert.rerank(path, {"a": 2.0})
    assert found.as_json() == [{"id": "0", "index": 2, "score": 4.0, "text": "c d"}]
    assert (found.given, found.records) == (None, None)
    # Places are those in the file.
    other = tmp_path / "other"
    other.write_text("1 ||| d ||| a= 1 ||| 0\n0 ||| e ||| a= 3 ||| 0\n")
    found = portmert.rerank([path, other], {"a": 2.0})
    assert (found.lines, found.indices) == (("e", "d"), (0, 0))
    assert portmert.rerank(path, oracle_metric=f"scores:{_scores(tmp_path)}").scores is None


def _scores(folder):
    path = folder / "scores"
    path.write_text("0\n0\n1\n")
    return path


# Scores in hand judge a test set.


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    """The example's problems in two halves, with final answers."""
    folder = tmp_path_factory.mktemp("halves")
    rows = rows_of(CANDIDATES.name)
    for name, some in (("dev", rows[:800]), ("test", rows[800:])):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in some))
    return folder, rows[800:]


JUDGES = ("calculator", "length", "lm", "numbers", "results", "verifier", "votes")
ONLY = ("calculator", "length", "-lm", "numbers", "results", "verifier", "votes")
"""Of one judge alone the lowest mark is taken where that is better on dev."""


def tuned(folder, *more, status=0):
    return run(
        "rerank-tune", "--nbest", folder / "dev", "--metric", f"scores:{folder}/dev#correct",
        "--test-nbest", folder / "test", "--nbest-format", "jsonl", "--replicas", 2,
        "--optimizer", "bagged:folds=3,epochs=5,iterations=3", *more, status=status,
    )  # fmt: skip


def test_all_choices_are_judged_by_scores_in_hand(halves, tmp_path):
    folder, rows = halves
    test_scores = f"right={folder}/test#correct"
    options = ("--test-scores", test_scores, "--test-answers", f"{folder}/test#answer")
    printed = tuned(folder, *options, "--out-dir", tmp_path / "o").stdout
    document = json.loads((tmp_path / "o" / "comparison.json").read_text())
    scores = {row["system"]: row for row in document["scores"]}
    best = next(name for name in scores if name.startswith("best single: "))

    def row(judge):
        return best if best.endswith(f" {judge}") else f"only {judge}"

    assert list(scores) == [
        "tuned", "averaged", "first", "equal weights", best,
        *(row(judge) for judge in ONLY if row(judge) != best), "votes", "weighted votes", "oracle",
    ]  # fmt: skip
    right = np.array([row["correct"] for row in rows]).reshape(-1, 4)
    features = np.array([[row["features"][judge] for judge in JUDGES] for row in rows])
    features = features.reshape(-1, 4, 7)
    for name, chosen in (
        ("first", np.zeros(100, dtype=int)),
        ("oracle", right.argmax(axis=1)),
        ("votes", features[:, :, 6].argmax(axis=1)),  # the share of votes, counted by the script
        *(
            (row(judge), (features[:, :, n] * (-1 if judge[0] == "-" else 1)).argmax(axis=1))
            for n, judge in enumerate(ONLY)
        ),
    ):
        expected = right[np.arange(100), chosen].mean()
        assert scores[name]["score"] == pytest.approx(expected), name
        assert f"{expected:.4f}" in printed
    assert scores["equal weights"]["score"] > scores["first"]["score"]
    assert scores["weighted votes"]["score"] > scores["votes"]["score"]
    assert 0.0 < scores["averaged"]["p_holm"] <= 1.0
    assert scores["first"]["p_holm"] < 0.001
    page = (tmp_path / "o" / "comparison.html").read_text(encoding="utf-8")
    assert "worse than tuned on right" in page
    assert "weighted votes" in page
    found = portmert.rerank_tune(
        portmert.Lists.read(folder / "dev", format="jsonl"),
        f"scores:{folder}/dev#correct",
        test=portmert.Lists.read(folder / "test", format="jsonl"),
        test_scores={"right": f"{folder}/test#correct"},
        test_answers=f"{folder}/test#answer",
        replicas=2,
        optimizer="bagged:folds=3,epochs=5,iterations=3",
        out_dir=tmp_path / "o",
    )
    assert "first hypotheses" in document.pop("warnings")[0]
    assert found.compared.document == document
    assert found.compared.as_latex().count("booktabs") == 1


def test_scores_in_hand_stand_beside_metrics_of_texts(halves, tmp_path):
    folder, rows = halves
    refs = tmp_path / "refs"
    refs.write_text("".join(" ".join(row["text"].split()) + "\n" for row in rows[::4]))
    options = ("--test-scores", f"right={folder}/test#correct", "--test-ref", refs)
    tuned(folder, *options, "--also", "chrf", "--out-dir", tmp_path / "o")
    document = json.loads((tmp_path / "o" / "comparison.json").read_text())
    assert [metric["label"] for metric in document["metrics"]] == ["chrf", "right"]
    scores = {(row["metric"], row["system"]): row["score"] for row in document["scores"]}
    assert scores["chrf", "first"] == 1.0
    assert scores["right", "first"] == np.mean([row["correct"] for row in rows[::4]])
    assert ("chrf", "equal weights") in scores


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--also", "chrf"), "--also chrf: outputs are compared with references of the test set"),
        (("--also", "scores:nothing#x"), "--also scores:nothing#x: outputs are compared with"),
        (("--test-ref", "refs", "--also", "scores:dev#correct"), "there is --test-scores"),
        (("--test-ref", "refs", "--also", "no-metric"), "unknown metric 'no-metric'"),
        (("--test-scores", "x=nothing#x"), "nothing: No such file"),
        (("--test-scores", "x=dev#right"), "dev:1: 'right' is missing (keys found:"),
        (("--test-scores", "x=short"), "short: 1 score, n-best list 1 has 400 hypotheses"),
        (("--test-scores", "x"), "--test-scores: 'x' is not option=value; write NAME=FILE"),
        (("--test-answers", "dev#answer"), "--test-answers: nothing judges the votes"),
        (
            ("--test-scores", "x=test#correct", "--test-answers", "test#features"),
            "test:1: 'features' is {",
        ),
    ],
)
def test_what_cannot_judge_is_an_error(halves, tmp_path, monkeypatch, options, message):
    folder, _ = halves
    monkeypatch.chdir(folder)
    (folder / "short").write_text("1\n")
    (folder / "refs").write_text("a\n" * 100)
    result = tuned(folder, *options, "--out-dir", tmp_path / "o", status=1)
    assert message in result.stderr.splitlines()[-1]
    assert not (tmp_path / "o").exists()


def test_votes_by_hand(tmp_path):
    lines = ["a ||| 1", "a ||| 1", "b ||| 2", "c ||| 2", "c ||| 2", "d ||| 2"]
    path = tmp_path / "list"
    path.write_text("".join(f"0 ||| {line.partition(' ')[0]} ||| x= 1 ||| 0\n" for line in lines))
    nbest = portmert.Lists.read(path).nbest
    assert len(nbest.texts) == 4
    elect = partial(elected, nbest)
    # a a | b | c c | d: equal hypotheses vote too.
    answers = np.array([0, 0, 1, 2, 2, 3])
    assert elect(answers, np.ones(4)).tolist() == [0]
    assert elect(answers, np.array([1.0, 1.0, 1.5, 1.0])).tolist() == [2]
    assert elect(np.array([0, 0, 1, 1, 1, 1]), np.array([0.9, 0.2, 0.3, 0.9])).tolist() == [3]
    assert elect(np.array([-1, -1, 0, -1, -1, -1]), np.ones(4)).tolist() == [1]
    assert elect(np.full(6, -1), np.array([1.0, 2.0, 0.0, 2.0])).tolist() == [1]


def test_answers_that_are_numbers_are_compared_as_numbers(tmp_path):
    path = tmp_path / "list"
    path.write_text("".join(f"0 ||| {n} ||| x= 1 ||| 0\n" for n in range(6)))
    nbest = portmert.Lists.read(path).nbest
    (tmp_path / "lines").write_text("12\n 12.0\nx y\n\nX y\n-0\n")
    (tmp_path / "json").write_text(
        "".join(json.dumps({"a": one}) + "\n" for one in (12, "12.0", "x y", None, "X y", 0))
    )
    for name in ("lines", "json#a"):
        found = answers_of(nbest, [tmp_path / name], where="")
        assert found.tolist() == [1, 1, 2, -1, 3, 4]
