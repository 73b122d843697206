"""Where nothing can be resampled or correlated: null in JSON, a dash in all that people read.

Every command stands in `TRIED` or in `WITHOUT_CHANCE`, below.
"""

import html
import json
import re

import pytest

from portmert.metrics._display import NOTHING
from tests.support import evaluations
from tests.support.cli import commands, fault, run

UNCERTAIN = re.compile(
    r"(p|p_.*|low|high|.*_(low|high)|s_sel|s_opt|sd|seed_spread|error|.*_error|.*kappa.*)"
)
"""Keys of what only samples, splits, replicas or several judges can tell."""
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


def all_read(folder, *texts):
    """Check all that was printed, and written below a folder; return the JSON documents."""
    readable(*texts)
    for page in (*folder.rglob("*.html"), *folder.rglob("*.md"), *folder.rglob("*.tex")):
        source = page.read_text()
        assert not re.search(r"[:,\[]\s*(NaN|-?Infinity)\b", source), page
        source = re.sub(r"(?s)<(script|style)\b.*?</\1>", "", source)
        text = html.unescape(re.sub(r"<[^>]*>", " ", source))
        assert not re.search(r"±\s*0[.0]*(?![.\d])", text), page
        readable(text)
    for text in texts:
        assert not re.search(r"(±|\+-|deviation)\s*0[.0]*(?![.\d])|-0\.0+(?!\d)", text), text
    documents = {path.name: checked(path) for path in folder.rglob("*.json")}
    for name, document in documents.items():
        for path, value in uncertain(document):
            assert value is None or not isinstance(value, float) or value > 0.0 or (
                re.search("low|high|kappa", path[-1])
            ), (name, path, value)  # fmt: skip
    return documents


@pytest.mark.parametrize("case", CASES)
def test_compare(here, case):
    for name, lines in CASES[case].items():
        written(here / name, lines)
    count = len(CASES[case]["good"])
    written(here / "ref", [""] * count if case == "no reference word" else CASES[case]["good"])
    result = run("compare", *(f"{name}={name}" for name in CASES[case]), "--ref", "ref",
                 "--metric", "wer", "--metric", "ter", "--metric", "bleu", "--samples", "50",
                 "--json", "c.json", "--latex", "c.tex", "--latex-all",
                 "--html", "c.html")  # fmt: skip
    document = all_read(here, result.stdout)["c.json"]
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
    document = all_read(here, result.stdout)["m.json"]
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


SEGMENTS = [
    [("a b c d x", 0.1, 0.9), ("a x x d e", 0.5, 0.2), ("a b c d e", 0.3, 0.4)],
    [("f g h", 0.3, 0.2), ("f g h i j", 0.1, 0.8), ("x g h i j", 0.7, 0.1)],
    [("k l", 0.3, 0.2), ("k l m n o", 0.1, 0.8), ("x l m n o", 0.7, 0.1)],
]
"""Hypotheses and their two features."""
LISTS = {
    "one segment": SEGMENTS[:1],
    "two segments": SEGMENTS[:2],
    "equal hypotheses": [[("a x c", *two) for _, *two in segment] for segment in SEGMENTS],
    "one hypothesis each": [segment[:1] for segment in SEGMENTS],
}
QUICK = ("--metric", "chrf", "--optimizer", "mert:searches_per_feature=2,restarts=1")
DEV = ("--nbest", "dev.nbest", "--ref", "dev.ref")
TEST = ("--test-nbest", "dev.nbest", "--test-ref", "dev.ref")


@pytest.fixture(params=LISTS)
def case(here, request):
    """The name of degenerate lists, which are dev.nbest in the current folder."""
    segments = LISTS[request.param]
    rows = [
        f"{number} ||| {text} ||| A= {a} B= {b} ||| 0"
        for number, segment in enumerate(segments)
        for text, a, b in segment
    ]
    written(here / "dev.nbest", rows)
    written(here / "dev.ref", GOOD[: len(segments)])
    return request.param


def test_optimize(here, case):
    result = run("optimize", *DEV, "--metric", "chrf", "--bootstrap", "2", "--out", "w.json",
                 "--json", "o.json")  # fmt: skip
    document = all_read(here, result.stdout)["o.json"]
    if case in ("one segment", "one hypothesis each"):
        assert {value for _, value in uncertain(document)} == {None}
    nothing_held_out = case in ("one segment", "one hypothesis each")
    assert (document["unseen_score"] is None) == nothing_held_out
    if case != "two segments":
        assert set(map(str, document["bootstrap"]["weights"].values())) == {"[None]"}


@pytest.mark.parametrize("replicas", ["1", "2"])
def test_rerank_tune(here, case, replicas):
    if case == "equal hypotheses":
        lists = (here / "dev.nbest").read_text().replace("A= 0.5", "A= 1.5")
        (here / "dev.nbest").write_text(lists)  # the sum of both features must differ
    result = run("rerank-tune", *DEV, *TEST, *QUICK, "--replicas", replicas, "--also", "bleu",
                 "--out-dir", "run", "--json", "r.json")  # fmt: skip
    documents = all_read(here, result.stdout)
    if case != "two segments":
        assert {value for key, value in uncertain(documents["result.json"])} == {None}
    if case == "one segment":
        assert {value for key, value in uncertain(documents["comparison.json"])} == {None}


@pytest.mark.parametrize("repeats", ["1", "2"])
def test_crossval(here, case, repeats):
    options = (*DEV, *QUICK, "--metric", "wer", "--splits", repeats, "--seeds", repeats)
    if case == "one segment":
        assert "the lists have only one" in fault("crossval", *options)
        return
    result = run("crossval", *options, "--json", "c.json", "--html", "c.html")
    document = all_read(here, result.stdout)["c.json"]
    if case != "two segments":  # all choices choose alike
        for row in (row for row in document["scores"] if row["difference"] is not None):
            assert row["difference"] == 0
            assert row["difference_low"] is row["error"] is None
            assert row["p"] == 1


@pytest.mark.parametrize("replicas", [1, 2])
def test_tune_and_reproduce(here, case, replicas):
    (here / "c.toml").write_text(
        f'[tune]\noutput = "run"\nreplicas = {replicas}\niterations = 2\n'
        '[data]\nsource = "dev.ref"\nreferences = ["dev.ref"]\n'
        'test_source = "dev.ref"\ntest_references = ["dev.ref"]\n'
        '[metric]\nname = "chrf"\n[decoder]\nname = "recorded"\nlists = ["dev.nbest"]\n'
    )
    tuned = run("tune", "c.toml").stdout
    reproduced = run("reproduce", "c.toml", "--tune-on", "bleu", "--tune-on", "chrf",
                     "--metric", "bleu", "--set", "tune.output=paper").stdout  # fmt: skip
    all_read(here, tuned, reproduced)
    if replicas == 2:
        assert re.search(rf"^sd +{NOTHING}", tuned, re.MULTILINE)
    if case == "one segment":
        paper = (here / "paper" / "paper.md").read_text()
        assert re.search(rf"\| +chrf \|.*(\| +{NOTHING} ){{4}}\|\n", paper)


@pytest.mark.parametrize("segments", [1, 2])
def test_optimize_dat(here, segments):
    parts = {"features": ("2 A0_0 B0_0", "1 0\n0 1"), "scores": ("9 BLEU", "4 4 3 3 2 2 1 1 4")}
    for name, (head, rows) in parts.items():
        kind = name.upper()
        (here / name).write_text(
            "".join(f"{kind}_TXT_BEGIN_0 {n} 2 {head}\n{rows}\n{kind}_TXT_END_0\n"
                    for n in range(segments)).replace("1 4\nS", "1 4\n1 4 0 3 0 2 0 1 4\nS")
        )  # fmt: skip
    options = ("--metric", "bleu", "--features-dat", "features", "--scores-dat", "scores",
               "--bootstrap", "2", "--out", "w.json", "--json", "o.json")  # fmt: skip
    result = run("optimize-dat", *options)
    document = all_read(here, result.stdout)["o.json"]
    assert {value for _, value in uncertain(document)} == {None}


def test_metric_train(here):
    """One segment to learn from and one to test on, which both systems translate alike."""
    rows = ["system\tsegment\tdocument\tscore"]
    for score, system in enumerate(("s0", "s1")):
        written(here / "out" / f"{system}.en", BAD[:2])
        rows += [f"{system}\t{segment}\td{segment}\t{score}" for segment in range(2)]
    written(here / "human.tsv", rows)
    written(here / "ref", GOOD[:2])
    result = run("metric-train", "--human", "human.tsv", "--outputs", "out", "--ref", "ref",
                 "--samples", "20", "--table", "--json", "m.json", "--latex", "m.tex")  # fmt: skip
    document = all_read(here, result.stdout)["m.json"]
    assert {value for _, value in uncertain(document)} == {None}


JUDGEMENTS = {
    "one judge": (1, 2, 0, 0),
    "one item": (2, 1, 1, 0),
    "all of one kind": (3, 4, 2, 0),
    "ties only": (2, 3, 2, 2),
}
"""Judges, items of each, common items, and what they prefer."""


@pytest.mark.parametrize("case", JUDGEMENTS)
def test_humaneval(here, case):
    judges, items, common, vote = JUDGEMENTS[case]
    made = evaluations.evaluation(
        judges=("ada", "bob", "eve")[:judges], per_judge=items, common=common
    )
    sheets = evaluations.written(made, here / "kit", lambda *_: vote)
    result = run("humaneval", "read", *sheets, "--json", "h.json", "--latex", "h.tex")
    document = all_read(here, result.stdout)["h.json"]
    assert {value for path, value in uncertain(document["agreement"])} == {None}
    assert NOTHING in result.stdout
    assert NOTHING in (here / "h.tex").read_text()
    if case == "ties only":
        assert {value for path, value in uncertain(document["preferences"])} == {None}


TRIED = {
    "compare": test_compare,
    "crossval": test_crossval,
    "humaneval read": test_humaneval,
    "metaeval": test_metaeval,
    "metric-train": test_metric_train,
    "optimize": test_optimize,
    "optimize-dat": test_optimize_dat,
    "reproduce": test_tune_and_reproduce,
    "rerank-tune": test_rerank_tune,
    "tune": test_tune_and_reproduce,
}
WITHOUT_CHANCE = {
    "align", "annotate", "compile", "components",
    "demo", "examples", "humaneval make", "mert-moses", "metrics",
    "rerank", "score",
}  # fmt: skip
"""They print scores only; `demo` compares real outputs."""


def test_every_command_is_tried_or_leaves_nothing_to_chance():
    assert sorted(name for name, _ in commands()) == sorted([*TRIED, *WITHOUT_CHANCE])
