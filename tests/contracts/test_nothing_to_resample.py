"""Where nothing can be resampled or correlated: null in JSON, a dash in all that people read."""

import json
import re

import pytest

from portmert.tuner.ground.tables import NOTHING
from tests.support.cli import run

UNCERTAIN = re.compile(
    r"(p|p_.*|low|high|difference_(low|high)|s_sel|error|unseen_error|.*kappa.*)"
)
"""Keys of what only samples, splits or several judges can tell."""
GOOD, BAD = ["a b c d e", "f g h i j", "k l m n o"], ["a b x d e", "f g h", "x x x x x"]
CASES = {
    "one segment": {"good": GOOD[:1], "bad": BAD[:1]},
    "two segments": {"good": GOOD[:2], "bad": BAD[:2]},
    "equal systems": {"good": GOOD, "bad": GOOD},
    "equal segments": {"good": GOOD[:1] * 3, "bad": BAD[:1] * 3},
    "no reference word": {"good": GOOD, "bad": BAD},
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(path, lines):
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))


def checked(path):
    """Return the JSON document of a file; no number in it is not finite."""

    def refused(word):
        raise AssertionError(f"{word} in {path}")

    return json.loads(path.read_text(), parse_constant=refused)


def uncertain(value, path=()):
    """Yield the path and the value of every key that `UNCERTAIN` matches."""
    if isinstance(value, dict):
        for key, item in value.items():
            if UNCERTAIN.fullmatch(key) and not isinstance(item, dict | list):
                yield (*path, key), item
            yield from uncertain(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from uncertain(item, (*path, place))


def readable(*texts):
    for text in texts:
        assert not re.search(r"(?<![\w-])-?(nan|inf)(?![\w-])", text.lower()), text


@pytest.mark.parametrize("case", CASES)
def test_compare(here, case):
    for name, lines in CASES[case].items():
        written(here / name, lines)
    count = len(CASES[case]["good"])
    written(here / "ref", [""] * count if case == "no reference word" else CASES[case]["good"])
    result = run("compare", *(f"{name}={name}" for name in CASES[case]), "--ref", "ref",
                 "--metric", "wer", "--metric", "ter", "--metric", "bleu", "--samples", "50",
                 "--json", "c.json", "--latex", "c.tex", "--html", "c.html")  # fmt: skip
    readable(result.stdout, (here / "c.tex").read_text())
    document = checked(here / "c.json")
    scores = document["scores"]
    if case == "one segment":
        assert {value for _, value in uncertain(scores)} == {None}
        assert f" {NOTHING}" in result.stdout
        assert NOTHING in (here / "c.tex").read_text()
        assert not document["headlines"]
    if case == "equal systems":
        assert {row["p"] for row in scores if row["difference"] is not None} == {1.0}
    if case in ("equal systems", "equal segments", "no reference word"):
        for row in scores:
            ends = row["difference_low"], row["difference_high"]
            assert None in ends or ends[0] < ends[1], row
            assert row["low"] is None or row["low"] < row["high"], row
    if case == "no reference word":
        assert max(row["score"] for row in scores if row["metric"] in ("wer", "bleu")) <= 0.0


HUMAN = {
    "one segment": [[3.0], [2.0], [1.0]],
    "two segments": [[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]],
    "one system": [[3.0, 2.0, 1.0]],
    "two systems": [[3.0, 2.0, 1.0], [2.0, 1.0, 1.0]],
    "constant human scores": [[1.0] * 3] * 3,
    "constant metric": [[3.0, 2.0, 1.0], [1.0, 2.0, 2.0], [2.0, 3.0, 1.0]],
    "equal systems": [[3.0, 2.0, 1.0]] * 3,
}


@pytest.mark.parametrize("case", HUMAN)
def test_metaeval(here, case):
    human = HUMAN[case]
    count = len(human[0])
    outputs = [GOOD, BAD, GOOD[::-1]] if case != "equal systems" else [BAD] * 3
    if case == "constant metric":
        outputs = [["z"] * 3] * 3
    rows = ["system\tsegment\tscore"]
    for number, scores in enumerate(human):
        written(here / "out" / f"s{number}.en", outputs[number][:count])
        rows += [f"s{number}\t{segment}\t{score}" for segment, score in enumerate(scores)]
    written(here / "human.tsv", rows)
    written(here / "ref", GOOD[:count])
    result = run("metaeval", "--human", "human.tsv", "--outputs", "out", "--ref", "ref", "--all",
                 "--metric", "wer", "--metric", "chrf", "--samples", "50",
                 "--json", "m.json", "--latex", "m.tex", "--html", "m.html")  # fmt: skip
    readable(result.stdout, (here / "m.tex").read_text())
    document = checked(here / "m.json")
    for metric in document["metrics"]:
        for name, one in metric["correlations"].items():
            assert (one["low"] is None) == (one["high"] is None), name
            assert one["low"] is None or one["low"] < one["high"], (name, one)
            if case == "one segment":
                assert one["low"] is None, name
            if case.startswith("constant") and "pearson" in name:
                assert one["value"] is None, name
            if case == "two systems" and name in ("system.pearson", "system.spearman"):
                assert one["low"] is None, name
    if case == "one segment":
        assert document["differences"] == []
    if case.startswith("constant"):
        assert NOTHING in result.stdout
