"""`portmert compare` of scores computed elsewhere, and its further questions."""

import json
import lzma

import numpy as np
import pytest

import portmert
from tests.support.cli import run
from tests.support.places import ROOT

QUICK = ("--samples=500",)


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """A folder with the outcomes of two systems on 60 problems of 30 topics, two repeats each."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    for name, rate in (("a", 0.5), ("b", 0.7)):
        lines = [
            {"id": f"p{n}", "topic": f"t{n // 2}", "half": "xy"[n % 2],
             "acc": int(rng.random() < rate), "said": str(rng.integers(3))}
            for n in rng.permutation(60) for _ in range(2)
        ]  # fmt: skip
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return tmp_path


SYSTEMS = ("a=a.jsonl#acc", "b=b.jsonl#acc")


def document(*arguments):
    run("compare", *arguments, *QUICK, "--json", "out.json")
    with open("out.json", encoding="utf-8") as file:  # noqa: PTH123
        return json.load(file)


def error_of(*arguments):
    result = run("compare", *arguments, *QUICK, status=1)
    assert result.stdout == ""
    return result.stderr.splitlines()[-1].removeprefix("portmert: error: ")


@pytest.mark.usefixtures("logs")
def test_two_logs_are_compared_in_one_command():
    found = document(*SYSTEMS, "--groups=a.jsonl#topic")
    first, second = found["scores"]
    assert (first["system"], second["system"]) == ("a", "b")
    assert found["groups"]["count"] == 30
    assert found["tested"] == 60
    means = []
    for name in "ab":
        with open(f"{name}.jsonl", encoding="utf-8") as file:  # noqa: PTH123
            means.append(np.mean([json.loads(line)["acc"] for line in file]))
    assert second["difference"] == pytest.approx(means[1] - means[0])
    assert 0 < second["p"] < 0.05
    assert second["difference_low"] < second["difference"] < second["difference_high"]
    assert second["smallest"] > 2 * second["error"]
    assert second["needed"] > 1
    assert "2 repeats of each segment" in found["notes"][0]


@pytest.mark.usefixtures("logs")
def test_every_door_says_the_same(logs):
    files = document(*SYSTEMS)
    records = {
        name: [json.loads(line) for line in (logs / f"{name}.jsonl").read_text().splitlines()]
        for name in "ab"
    }
    few = portmert.Resampling(500)
    frames = portmert.compare(
        {name: (rows, "acc") for name, rows in records.items()}, resampling=few
    )
    together = [{"system": name, **row} for name, rows in records.items() for row in rows]
    (logs / "all.json").write_text(json.dumps(together))
    long_file = document("all.json#acc")
    for other in (
        frames.document,
        long_file,
        document("b=all.json#acc", "--baseline=b", "a=all.json#acc"),
    ):
        by_name = {row["system"]: row["score"] for row in other["scores"]}
        assert by_name == {row["system"]: row["score"] for row in files["scores"]}
    assert frames.document["scores"] == files["scores"] == long_file["scores"]


def test_files_of_inspect_ai_and_comet_have_the_figures_of_those_programs():
    """The logs' own accuracy and standard error; the means that comet-score printed."""
    places = {name: ROOT / f"configs/scores/{name}.json.xz" for name in ("four", "judged")}
    compared = portmert.compare({n: f"{path}#right" for n, path in places.items()})
    for row in compared.document["scores"]:
        log = json.loads(lzma.decompress(places[row["system"]].read_bytes()))
        metrics = log["results"]["scores"][0]["metrics"]
        assert row["score"] == pytest.approx(metrics["accuracy"]["value"])
        assert row["s_sel"] == pytest.approx(metrics["stderr"]["value"], rel=0.03)
    comet = portmert.compare([f"{ROOT}/configs/scores/comet.json.xz#COMET"]).document
    printed = {row["system"]: round(row["score"], 4) for row in comet["scores"]}
    assert printed == {"moses": 0.5710, "neural": 0.6105}


@pytest.mark.usefixtures("logs")
def test_one_system_has_an_interval():
    result = run("compare", SYSTEMS[0], *QUICK)
    assert "95 % interval" in result.stdout
    (row,) = document(SYSTEMS[0])["scores"]
    assert row["low"] < row["score"] < row["high"]


@pytest.mark.usefixtures("logs")
def test_pairs_subsets_margins_and_plans():
    third = "c=b.jsonl#acc"
    found = document(
        *SYSTEMS, third, "--baseline=b", "--all-pairs", "--subset=a.jsonl#half", "--margin=20",
        "--plan=1", "--plan=5", "--metric=mean", "--metric=pass@2",
    )  # fmt: skip
    assert [x["name"] for x in found["systems"]] == ["b", "a", "c"]
    pairs = {(row["first"], row["system"]) for row in found["pairs"]}
    assert pairs == {("b", "a"), ("b", "c"), ("a", "c")}
    assert all(row["p_holm"] >= row["p"] for row in found["pairs"])
    subsets = [row for row in found["subsets"] if row["system"] == "a"]
    assert [row["subset"] for row in subsets] == ["x", "x", "y", "y"] or len(subsets) == 4
    assert sum(row["segments"] for row in subsets) == 120  # of two metrics
    same = next(row for row in found["margins"] if row["system"] == "c")
    assert same["p_equivalent"] is None  # nothing varies
    plan = {row["difference"]: row["needed"] for row in found["plan"] if row["system"] == "a"}
    assert plan[1.0] > plan[5.0] > 1
    assert any("c and b have the same scores" in note for note in found["notes"])


@pytest.mark.usefixtures("logs")
@pytest.mark.parametrize(
    ("arguments", "comparisons", "enough"),
    [((), "2 comparisons", 40), (("--all-pairs",), "3 comparisons", 60),
     (("--subset=a.jsonl#half",), "4 comparisons", 80)],
)  # fmt: skip
def test_samples_too_few_for_so_many_comparisons_are_told(arguments, comparisons, enough):
    compared = ("compare", *SYSTEMS, "c=b.jsonl#acc", *arguments, "--samples")
    line = f"with {enough - 1} samples and {comparisons} no corrected p (Holm) can be below 0.05"
    assert f"{line}; take --samples {enough}\n" in run(*compared, str(enough - 1)).stderr
    assert "Holm" not in run(*compared, str(enough)).stderr


@pytest.mark.usefixtures("logs")
def test_a_margin_has_its_sentence():
    lines = run("compare", *SYSTEMS, "--margin=5", *QUICK).stdout.splitlines()
    assert any("b is less than 5 worse than a" in line for line in lines[:3])


def test_all_forms_of_the_report_have_all_tables(logs):
    run(
        "compare", *SYSTEMS, "--all-pairs", "--margin=5", "--plan=1", "--groups=a.jsonl#topic",
        *QUICK, "--html=page.html", "--latex=t.tex", "--latex-all",
    )  # fmt: skip
    for name in ("page.html", "t.tex"):
        text = (logs / name).read_text(encoding="utf-8")
        for title in ("All pairs", "Equivalence with a", "Plan against a", "design effect"):
            assert title in text, name


def test_files_of_other_segments_are_refused(logs):
    (logs / "c.tsv").write_text("id\tacc\np0\t1\nq1\t0\n", encoding="utf-8")
    assert error_of("a=a.jsonl#acc", "c=c.tsv#acc").startswith("a.jsonl: id 'p")
    found = document("a=a.jsonl#acc", "c=c.tsv#acc", "--drop-missing")
    assert found["tested"] == 1
    assert found["left_out"] == 60
    assert found["scores"][1]["p"] is None  # one segment cannot be resampled
    (logs / "d.txt").write_text("1\n0\n", encoding="utf-8")
    assert error_of("a=a.jsonl#acc", "d=d.txt").startswith("d.txt has no ids, a.jsonl has ('p")
    (logs / "e.txt").write_text("1\n", encoding="utf-8")
    assert error_of("d=d.txt", "e=e.txt") == (
        "e.txt: 1 score, d.txt has 2; both must be of the same segments, in the same order"
    )
    assert error_of("d.txt").startswith("d.txt: a file needs a name")


def test_what_is_not_there_is_told_or_left_out(logs):
    (logs / "n.tsv").write_text("id\tacc\nx\t1\ny\tnan\nz\t0\n", encoding="utf-8")
    (logs / "o.tsv").write_text("id\tacc\nz\t0\nx\t0\ny\t1\n", encoding="utf-8")
    assert error_of("n=n.tsv#acc", "o=o.tsv#acc") == (
        "n.tsv:3: 'acc' is 'nan' for id 'y'; --drop-missing leaves such segments out"
    )
    assert document("n=n.tsv#acc", "o=o.tsv#acc", "--drop-missing")["tested"] == 2


def test_constant_outcomes_have_dashes_and_no_p_of_0(logs):
    (logs / "c.txt").write_text("1\n" * 30, encoding="utf-8")
    (logs / "d.txt").write_text("0\n" * 30, encoding="utf-8")
    found = document("c=c.txt", "d=d.txt", "--better=higher")["scores"][1]
    assert found["difference"] == -1.0
    assert 0 < found["p"] < 0.01
    assert (found["p_bootstrap"], found["error"], found["smallest"]) == (None, None, None)


def test_groups_beside_the_scores_are_used_and_said(logs):
    rows = [{"id": n, "speaker": f"s{n // 2}", "wer": n % 3} for n in range(60)]
    for name in "st":
        (logs / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    result = run("compare", "s=s.jsonl#wer", "t=t.jsonl#wer", *QUICK)
    assert "note: segments are in 30 groups, of s.jsonl#speaker" in result.stderr
    assert "wer ↓: no difference shown" in result.stdout


def test_the_same_seed_gives_the_same_bytes(logs):
    for name in ("1", "2"):
        run(
            "compare",
            *SYSTEMS,
            "--groups=a.jsonl#topic",
            *QUICK,
            f"--threads={name}",
            f"--json={name}.json",
        )
    assert (logs / "1.json").read_bytes() == (logs / "2.json").read_bytes()
