"""`portmert metaeval` as a user runs it."""

import json

import pytest

from tests.support.cli import fault, run
from tests.support.places import SHARED, needs

REAL = SHARED / "data" / "mqm-ted-zh-en"
REFERENCES = ["a b c d e f", "g h i j k", "l m n o p q r", "s t u v"]
OUTPUTS = {
    "good": REFERENCES,
    "fair": ["a b c d e x", "g h i j x", "l m n o p q x", "s t u x"],
    "poor": ["a b x x c d", "g x x h i", "x l m x n o x", "s x t x"],
}
ALL = ["--scores", "human.tsv", "--outputs", "out", "--ref", "ref", "--samples", "40"]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ref").write_text("".join(f"{line}\n" for line in REFERENCES))
    (tmp_path / "src").write_text("".join(f"{line}\n" for line in REFERENCES))
    rows = ["system\tsegment\tdocument\tscore\n"]
    for folder in ("out", "links"):
        (tmp_path / folder).mkdir()
    links = ["".join(f"{i}-{i} " for i in range(len(line.split()))) for line in REFERENCES]
    (tmp_path / "ref.links").write_text("".join(f"{line}\n" for line in links))
    for rank, (system, lines) in enumerate(OUTPUTS.items()):
        (tmp_path / "out" / f"{system}.en").write_text("".join(f"{line}\n" for line in lines))
        (tmp_path / "links" / f"{system}.links").write_text("".join(f"{line}\n" for line in links))
        rows += [f"{system}\t{s}\td{s // 2}\t{-rank - s}\n" for s in range(4)]
    (tmp_path / "human.tsv").write_text("".join(rows))


def test_tables_json_and_latex_say_the_same(tmp_path):
    result = run(
        "metaeval",
        *ALL,
        "--metric",
        "bleu",
        "--metric",
        "ter",
        "--json",
        "m.json",
        "--latex",
        "m.tex",
    )
    assert result.stdout.startswith("3 systems, 4 segments, 2 documents\n")
    document = json.loads((tmp_path / "m.json").read_text())
    bleu, ter = document["metrics"]
    assert document["systems"] == ["good", "fair", "poor"]
    assert document["human"] == [-1.5, -2.5, -3.5]
    # Systems are ranked as people do; of errors fewer are better.
    for one in (bleu, ter):
        assert one["correlations"]["system.spearman"]["value"] == 1.0
        assert one["document_spearman"] == [1.0, 1.0]
    assert ter["system_scores"][0] == 0.0 > ter["system_scores"][1]
    assert ter["correlations"]["segment.wmt10"]["value"] == 1.0
    row = next(line for line in result.stdout.splitlines() if line.startswith("ter "))
    assert row.split() == ["ter", "1.000", "1.000"]
    latex = (tmp_path / "m.tex").read_text()
    assert latex.count(r"\begin{tabular}") == latex.count(r"\bottomrule") == 8
    assert next(row.split() for row in latex.splitlines() if row.startswith(" ter")) == [
        "ter", "&", "1.000", "&", "1.000", r"\\",
    ]  # fmt: skip
    assert "|refs:1|case:mixed|portmert:" in result.stdout


def test_files_of_metrics_are_named_without_folders_where_that_is_clear(tmp_path):
    (tmp_path / "other").mkdir()
    for folder in (tmp_path, tmp_path / "other"):
        (folder / "stop").write_text("a\n")
    one, other = (
        f"terp:stop_words={folder / 'stop'}" for folder in (tmp_path, tmp_path / "other")
    )
    result = run("metaeval", *ALL, "--metric", one, "--metric", "ter", "--json", "m.json")
    assert "\nterp:stop_words=stop " in result.stdout
    labels = [
        metric["label"] for metric in json.loads((tmp_path / "m.json").read_text())["metrics"]
    ]
    assert labels == ["terp:stop_words=stop", "ter"]
    both = run("metaeval", *ALL, "--metric", one, "--metric", other).stdout
    assert f"\n{one} " in both
    assert f"\n{other} " in both


def test_the_same_seed_writes_the_same_bytes():
    arguments = [*ALL, "--metric", "chrf", "--metric", "ter", "--json", "-"]
    assert run("metaeval", *arguments).stdout == run("metaeval", *arguments).stdout
    assert run("metaeval", *arguments).stdout != run("metaeval", *arguments, "--seed", "2").stdout


def test_metrics_of_order_take_links():
    linked = ["--source", "src", "--links", "links", "--ref-links", "ref.links"]
    result = run("metaeval", *ALL, "--metric", "port", *linked, "--json", "-")
    (port,) = json.loads(result.stdout)["metrics"]
    assert port["correlations"]["system.spearman"]["value"] == 1.0
    assert "needs word alignments" in fault("metaeval", *ALL, "--metric", "port")
    assert "need --source" in fault("metaeval", *ALL, "--metric", "port", *linked[2:], status=2)


def test_penalties_are_negated():
    result = run("metaeval", *ALL, "--metric", "ter", "--penalties", "--json", "-")
    (ter,) = json.loads(result.stdout)["metrics"]
    assert ter["correlations"]["system.spearman"]["value"] == -1.0


def test_some_systems_may_be_named():
    result = run(
        "metaeval", *ALL, "--metric", "ter", "--system", "poor", "--system", "good", "--json", "-"
    )
    assert json.loads(result.stdout)["systems"] == ["poor", "good"]
    message = fault("metaeval", *ALL, "--metric", "ter", "--system", "god")
    assert "no score of system 'god'; did you mean 'good'?" in message
    message = fault("metaeval", *ALL, "--metric", "ter", "--system", "good")
    assert "human scores of one system, 'good'; a correlation needs at least two" in message


def test_segments_without_all_scores_are_noted(tmp_path):
    path = tmp_path / "human.tsv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    result = run("metaeval", *ALL, "--metric", "ter")
    assert result.stdout.startswith("3 systems, 3 segments, 2 documents\n")
    assert "note: 1 of 4 segments are left out" in result.stderr


def test_one_segment_is_enough_for_correlations(tmp_path):
    (tmp_path / "human.tsv").write_text(
        "system\tsegment\tscore\n" + "".join(f"{s}\t0\t{k}\n" for k, s in enumerate(OUTPUTS))
    )
    result = run("metaeval", *ALL, "--metric", "ter", "--json", "m.json")
    assert "one segment: nothing can be resampled" in result.stderr
    assert "document" not in result.stdout
    (ter,) = json.loads((tmp_path / "m.json").read_text())["metrics"]
    assert ter["correlations"]["system.spearman"] == {"value": -1.0, "low": None, "high": None}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: (path / "out" / "good.en").unlink(), "out: no output of system 'good'"),
        (
            lambda path: (path / "out" / "new.en").write_text("a\n"),
            "out/new.en: system 'new' has no human scores",
        ),
        (
            lambda path: (path / "out" / "good.en").write_text("a\n"),
            "out/good.en: 1 lines, but ref has 4",
        ),
        (
            lambda path: (path / "human.tsv").write_text("system\tsegment\tscore\ngood\t0\tnan\n"),
            "human.tsv:2: score is 'nan'; expected a number, finite, none beyond 1e+30",
        ),
        (
            lambda path: (path / "human.tsv").write_text("system\tsegment\tscore\ngood\t9\t1\n"),
            "human.tsv: a score of segment 9 (counted from 0), but ref has 4 lines",
        ),
    ],
)
def test_a_wrong_file_is_an_error_that_says_where(tmp_path, change, message):
    change(tmp_path)
    assert message in fault("metaeval", *ALL, "--metric", "ter")


def test_wrong_usage():
    assert "names one metric twice" in fault(
        "metaeval", *ALL, "--metric", "ter", "--metric", "ter", status=2
    )
    message = fault("metaeval", *ALL, "--metric", "ter", "--json", "x", "--latex", "x", status=2)
    assert "two outputs are to be written to x" in message
    message = fault("metaeval", *ALL, "--metric", "ter", "--json", "none/x")
    assert "none/x: cannot write: there is no folder none" in message


@needs(REAL)
def test_the_real_scores():
    result = run("metaeval",
        "--scores", str(REAL / "human.tsv"), "--outputs", str(REAL / "outputs"),
        "--ref", str(REAL / "ref.en"), "--metric", "chrf", "--text", "13a",
        "--samples", "50", "--json", "-",
    )  # fmt: skip
    document = json.loads(result.stdout)
    (chrf,) = document["metrics"]
    assert (len(document["systems"]), document["segments"]) == (13, 529)
    assert chrf["correlations"]["segment.pearson"]["value"] == pytest.approx(0.1113, abs=1e-4)
    assert chrf["correlations"]["segment.wmt14"]["value"] == pytest.approx(0.0507, abs=1e-4)
