"""`portmert metaeval` as a user runs it."""

import json
import re

import pytest

from portmert.metrics._display import NOTHING
from tests.support.cli import fault, run
from tests.support.places import ROOT, SHARED, needs

REAL = SHARED / "data" / "mqm-ted-zh-en"
REFERENCES = ["a b c d e f", "g h i j k", "l m n o p q r", "s t u v"]
OUTPUTS = {
    "good": REFERENCES,
    "fair": ["a b c d e x", "g h i j x", "l m n o p q x", "s t u x"],
    "poor": ["a b x x c d", "g x x h i", "x l m x n o x", "s x t x"],
}
ALL = ["--human", "human.tsv", "--outputs", "out", "--ref", "ref", "--samples", "40"]


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
        "--all",
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
    _, tables = result.stdout.split("Correlations with human judgment")
    row = next(line for line in tables.splitlines() if line.startswith("ter "))
    assert row.split() == ["ter", "1.000", "1.000"]
    latex = (tmp_path / "m.tex").read_text()
    assert latex.count(r"\begin{tabular}") == latex.count(r"\bottomrule") == 9
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


def test_an_aligner_links_the_texts_of_a_set():
    """All outputs of a segment have the same links here, as `precomputed` needs it."""
    command = ("metaeval", *ALL, "--metric", "v", "--source", "src")
    given = run(*command, "--links", "links", "--ref-links", "ref.links", "--json").stdout
    made = ("--aligner", "precomputed", "--set", "links=ref.links")
    half = run(*command, "--links", "links", *made, "--json").stdout
    assert json.loads(half)["metrics"] == json.loads(given)["metrics"]
    message = fault("metaeval", *ALL, "--metric", "v", *made)
    assert "word alignments need the source text" in message


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
    result = run("metaeval", *ALL, "--metric", "ter", "--metric", "chrf", "--system", "poor")
    assert "note: one system: there are no correlations of systems" in result.stderr
    assert result.stdout.startswith("1 system, 4 segments, 2 documents\n")


def test_segments_without_all_scores_are_noted(tmp_path):
    path = tmp_path / "human.tsv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    result = run("metaeval", *ALL, "--metric", "ter")
    assert result.stdout.startswith("3 systems, 3 segments, 2 documents\n")
    assert "note: 1 of 4 segments are left out" in result.stderr


def test_segments_that_count_from_1_are_told(tmp_path):
    path = tmp_path / "human.tsv"
    head, *rows = path.read_text().splitlines()
    cells = [row.split("\t") for row in rows]
    moved = [[system, str(int(n) + 1), *more] for system, n, *more in cells if n != "3"]
    path.write_text("\n".join([head, *map("\t".join, moved)]) + "\n")
    result = run("metaeval", *ALL, "--metric", "ter", "--quiet")
    assert "human.tsv: no score of segment 0, one of segment 1" in result.stderr


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
            "out/good.en: 1 line, but ref has 4",
        ),
        (
            lambda path: (path / "human.tsv").write_text("system\tsegment\tscore\ngood\t0\tnan\n"),
            "human.tsv:2: score is 'nan'; expected a number, finite, none beyond 1e+30",
        ),
        (
            lambda path: (path / "human.tsv").write_text(
                (path / "human.tsv").read_text() + "good\t9\t1\t0\n"
            ),
            "human.tsv: a score of segment 9 (counted from 0), but ref has 4 lines",
        ),
    ],
)
def test_a_wrong_file_is_an_error_that_says_where(tmp_path, change, message):
    change(tmp_path)
    assert message in fault("metaeval", *ALL, "--metric", "ter")


def test_wrong_usage():
    unreadable = fault("metaeval", *ALL, "--metric", "ter", "--system", "\udced", status=2)
    assert "Invalid value for '--system': '\\udced' is not UTF-8." in unreadable
    empty = fault("metaeval", *ALL, "--metric", "ter", "--system", "", status=2)
    assert "Invalid value for '--system': a name is empty." in empty
    assert "names one metric twice" in fault(
        "metaeval", *ALL, "--metric", "ter", "--metric", "ter", status=2
    )
    message = fault("metaeval", *ALL, "--metric", "ter", "--json", "x", "--latex", "x", status=2)
    assert "two outputs are to be written to x" in message
    message = fault("metaeval", *ALL, "--metric", "ter", "--json", "none/x")
    assert "none/x: cannot write: there is no folder none" in message


def test_the_summary_is_a_screen_and_all_is_more(tmp_path):
    metrics = [part for name in ("bleu", "ter", "chrf", "wer") for part in ("--metric", name)]
    short = run("metaeval", *ALL, *metrics, "--html", "m.html").stdout
    assert len(short.splitlines()) < 25
    assert "Beyond chance, segments, acc_eq: " in short
    whole = run("metaeval", *ALL, *metrics, "--all").stdout
    assert whole.startswith(short.removesuffix("\n"))
    assert "Two-sided p of exchanges" in whole
    page = (tmp_path / "m.html").read_text()
    for name in ("agreement", "scatter"):
        assert f'id="chart-{name}"' in page


def test_several_test_sets_in_one_call(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "sets.toml").write_text(
        """
        [[set]]
        name = "one"
        group = "x"
        scenario = "clean"
        human = "../human.tsv"
        outputs = "../out"
        refs = ["../ref"]
        [[set]]
        name = "two"
        group = "x"
        scenario = "noisy"
        human = "../human.tsv"
        outputs = "../out"
        refs = ["../src"]
        systems = ["fair", "poor"]
        penalties = true
        """
    )
    given = ["--sets", "more/sets.toml", "--samples", "30", "--metric", "ter", "--metric", "chrf"]
    result = run("metaeval", *given, "--json", "m.json", "--html", "m.html")
    assert result.stdout.startswith(
        "one: 3 systems, 4 segments, 2 documents\ntwo: 2 systems, 4 segments, 2 documents\n"
    )
    assert "note: two: two systems: their correlation is always" in result.stderr
    assert "means over 2 test sets" in result.stdout
    assert "over scenarios, and what it drops from one to the next" in result.stdout
    document = json.loads((tmp_path / "m.json").read_text())
    assert [one["name"] for one in document["sets"]] == ["one", "two"]
    rho = [
        one["metrics"][0]["correlations"]["system.spearman"]["value"] for one in document["sets"]
    ]
    assert rho == [1.0, -1.0]
    mean = document["columns"][0]
    assert (mean["name"], mean["kind"], mean["sets"]) == ("x", "mean", ["one", "two"])
    assert mean["metrics"][0]["correlations"]["system.spearman"]["value"] == 0
    drop = document["scenarios"][1]["drops"][0]["correlations"]["system.spearman"]
    assert drop["value"] == 2
    assert "chart-scenarios" in (tmp_path / "m.html").read_text()
    whole = run("metaeval", *given, "--all", "--latex", "m.tex").stdout
    assert "Share of test sets on which" in whole
    assert "one: Scores of systems" in whole
    # The first test set is what it is alone.
    alone = json.loads(run("metaeval", *ALL, *given[4:], "--samples", "30", "--json").stdout)
    first = document["sets"][0]
    del first["name"]
    assert first == alone


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n[[set]]\n", "expected tables [[set]], one of each test set, nothing else"),
        ("[[set]]\n", "sets.toml: test set 1: human must be given"),
        ("[[set]", "sets.toml: not TOML"),
        ('[[set]]\nhuman="h"\noutputs="o"\nrefs=["r"]\n', "test set 1 has no name"),
        ('[[set]]\nname="a"\nhuman="h"\noutputs="o"\nrefs=[]\n', "refs: expected at least 1"),
        ('[[set]]\nname="a"\nhuman="h"\noutputs="o"\nrefs="r"\n', "refs: expected a list"),
        (
            '[[set]]\nname=7\nhuman="h"\noutputs="o"\nrefs=["r"]\n',
            "name: expected text in quotes, found 7",
        ),
        (
            '[[set]]\nname="a"\nhumans="h"\n',
            "test set 1: no key 'humans'; did you mean 'human'?",
        ),
        (
            ('[[set]]\nname="a"\nhuman="human.tsv"\noutputs="out"\nrefs=["ref"]\nlinks="links"\n'),
            "good.links: links need the source text to be checked; give it too",
        ),
        (
            2 * '[[set]]\nname="a"\nhuman="human.tsv"\noutputs="out"\nrefs=["ref"]\n',
            "two test sets are named 'a'",
        ),
        (
            '[[set]]\nname="a"\nhuman="human.tsv"\noutputs="out"\nrefs=["ref","no"]\n',
            "sets.toml: test set 1: refs: there is no file no",
        ),
        (
            '[[set]]\nname="a"\nhuman="human.tsv"\noutputs="ref"\nrefs=["ref"]\n',
            "sets.toml: test set 1: outputs: there is no folder ref",
        ),
        (
            '[[set]]\nname="a"\nhuman="human.tsv"\noutputs="out"\nrefs=["ref"]\nsystems=["god"]\n',
            "human.tsv: no score of system 'god'; did you mean 'good'?",
        ),
        (
            (
                '[[set]]\nname="a"\nhuman="human.tsv"\noutputs="links"\nrefs=["ref"]\n'
                'systems=["bad"]\n'
            ),
            "no score of system 'bad'",
        ),
    ],
)
def test_a_wrong_file_of_test_sets_is_an_error_that_says_where(tmp_path, text, message):
    (tmp_path / "sets.toml").write_text(text)
    assert message in fault("metaeval", "--sets", "sets.toml", "--metric", "ter")


def test_a_system_that_one_test_set_lacks_is_an_error(tmp_path):
    (tmp_path / "sets.toml").write_text(
        '[[set]]\nname="a"\nhuman="human.tsv"\noutputs="out"\nrefs=["ref"]\n'
        '[[set]]\nname="b"\nhuman="human.tsv"\noutputs="fewer"\nrefs=["ref"]\n'
    )
    (tmp_path / "fewer").mkdir()
    (tmp_path / "fewer" / "good.en").write_text((tmp_path / "ref").read_text())
    message = fault("metaeval", "--sets", "sets.toml", "--metric", "ter", "--samples", "5")
    assert "fewer: no output of system 'fair', which has human scores" in message


def test_a_test_set_is_described_here_or_in_the_file():
    message = fault("metaeval", "--metric", "ter", status=2)
    assert "Missing option '--human', or '--sets'." in message
    for option in (["--ref", "ref"], ["--penalties"], ["--judgments", "each"]):
        message = fault("metaeval", "--sets", "sets.toml", "--metric", "ter", *option, status=2)
        assert f"{option[0]} goes into the file of --sets, for each test set" in message


def test_several_judgments_are_refused_averaged_or_taken_one_by_one(tmp_path):
    path = tmp_path / "human.tsv"
    rows = path.read_text().splitlines()
    path.write_text("\n".join([*rows, "good\t0\td0\t-9"]) + "\n")
    message = fault("metaeval", *ALL, "--metric", "ter")
    assert "human.tsv:14: system 'good' has a score of segment 0 in line 2 already" in message
    assert "several judgments of one output are taken with --judgments" in message
    found = [
        json.loads(run("metaeval", *ALL, "--metric", "ter", "--judgments", how, "--json").stdout)
        for how in ("mean", "each")
    ]
    # Of segment 0: 0 and -9, of others -1, -2, -3.
    assert found[0]["human"][0] == pytest.approx((-4.5 - 1 - 2 - 3) / 4)
    assert found[1]["human"][0] == pytest.approx((0 - 9 - 1 - 2 - 3) / 5)
    assert found[1]["judgments"] == 13
    result = run("metaeval", *ALL, "--metric", "ter", "--judgments", "each")
    assert result.stdout.startswith("3 systems, 4 segments, 2 documents, 13 judgments\n")


def test_a_judge_judges_an_output_once(tmp_path):
    path = tmp_path / "human.tsv"
    head, *rows = path.read_text().splitlines()
    named = [f"{row}\t<b>é; rm -rf\u202e" for row in rows]
    path.write_text("\n".join([f"{head}\tjudge", *named, f"{rows[0]}\tann"]) + "\n")
    run("metaeval", *ALL, "--metric", "ter", "--judgments", "each")
    path.write_text(path.read_text() + f"{rows[0]}\tann\n")
    message = fault("metaeval", *ALL, "--metric", "ter", "--judgments", "each")
    assert "human.tsv:15: judge 'ann' has judged system 'good' in segment 0 in line 14" in message


def test_a_system_of_odd_characters_harms_nothing(tmp_path):
    odd = "<script>é\u202e 'x' & $(y)"
    (tmp_path / "out" / "good.en").rename(tmp_path / "out" / f"{odd}.en")
    text = (tmp_path / "human.tsv").read_text().replace("good\t", f"{odd}\t")
    (tmp_path / "human.tsv").write_text(text)
    result = run(
        "metaeval", *ALL, "--metric", "ter", "--all", "--html", "m.html", "--latex", "m.tex"
    )
    assert "\u202e" not in result.stdout
    assert "<script>é" not in (tmp_path / "m.html").read_text()


def test_ties_everywhere_are_no_fault(tmp_path):
    for system in OUTPUTS:
        (tmp_path / "out" / f"{system}.en").write_text("x\n" * 4)
    result = run(
        "metaeval", *ALL, "--metric", "ter", "--metric", "chrf", "--all", "--json", "m.json"
    )
    assert "ter: all segments of all systems have one score" in result.stderr
    row = json.loads((tmp_path / "m.json").read_text())["differences"][0]["correlations"]
    assert {one["p_corrected"] for one in row.values()} == {1.0}
    assert "system.pearson" not in row


def test_human_likeness_needs_two_references(tmp_path):
    message = fault("metaeval", *ALL, "--metric", "ter", "--likeness")
    assert "every segment needs at least two references, here it has 1; repeat --ref" in message
    (tmp_path / "ref2").write_text((tmp_path / "out" / "fair.en").read_text())
    result = run("metaeval", *ALL, "--ref", "ref2", "--metric", "ter", "--likeness", "--json")
    found = json.loads(result.stdout)["metrics"][0]["correlations"]
    # Each reference held out is an output of a system that the other one does not prefer.
    assert found["likeness.king"]["value"] == 0
    assert found["likeness.orange"]["value"] == pytest.approx(2 / 3)


@needs(REAL)
def test_the_real_scores():
    result = run("metaeval",
        "--human", str(REAL / "human.tsv"), "--outputs", str(REAL / "outputs"),
        "--ref", str(REAL / "ref.en"), "--metric", "chrf", "--text", "13a",
        "--samples", "50", "--json", "-",
    )  # fmt: skip
    document = json.loads(result.stdout)
    (chrf,) = document["metrics"]
    assert (len(document["systems"]), document["segments"]) == (13, 529)
    assert chrf["correlations"]["segment.pearson"]["value"] == pytest.approx(0.1113, abs=1e-4)
    assert chrf["correlations"]["segment.wmt14"]["value"] == pytest.approx(0.0507, abs=1e-4)


@needs(REAL)
def test_documents_of_real_scores_are_scored_as_a_whole():
    """Means of segments' BLEU give -0.0532."""
    result = run("metaeval",
        "--human", str(REAL / "human.tsv"), "--outputs", str(REAL / "outputs"),
        "--ref", str(REAL / "ref.en"), "--metric", "bleu", "--metric", "edpm:of=1g+2g",
        "--text", "13a", "--samples", "2", "--json", "-",
    )  # fmt: skip
    for metric, removed in zip(
        json.loads(result.stdout)["metrics"], (-0.0863, -0.0355), strict=True
    ):
        for name in ("pearson_mean_removed", "pearson_deltas"):  # every document has all systems
            value = metric["correlations"][f"document.{name}"]["value"]
            assert value == pytest.approx(removed, abs=5e-5)


WMT = (
    "srclang,trglang,srcIndex,documentId,segmentId,judgeId,system1Number,system1Id,system2Number,"
    "system2Id,system3Number,system3Id,system1rank,system2rank,system3rank"
)
"""The columns of WMT's files, for three systems instead of five."""
RANKINGS = [
    "Czech,English,1,doc,1,ann,1,good,2,fair,3,poor,1,2,3",
    "Czech,English,1,doc,1,ann,1,poor,2,fair,3,good,3,1,1",  # a judge ranks again
    "Czech,English,2,doc,2,bob,0,_ref,2,fair,3,good,1,2,2",
    "Czech,English,4,doc,4,ann,1,good,2,fair,3,poor,-1,4,5",
]


def test_rankings_of_wmt_are_read(tmp_path):
    (tmp_path / "ranks.csv").write_text("\n".join([WMT, *RANKINGS]) + "\n")
    of_set = ["--human", "ranks.csv", *ALL[2:], "--metric", "ter"]
    won = {}
    for how in ("mean", "better", "better-or-equal"):
        result = run("metaeval", *of_set, "--system-scores", how, "--json")
        document = json.loads(result.stdout)
        won[how] = dict(zip(document["systems"], document["human"], strict=True))
    assert document["judgments"] == 3 + 3 + 2 + 2
    assert won["mean"]["good"] == pytest.approx(-(1 + 1 + 2) / 3)
    # good: beats fair and poor; ties fair, beats poor; ties fair.
    assert won["better"]["good"] == pytest.approx(3 / 5)
    assert won["better-or-equal"]["good"] == pytest.approx(5 / 5)
    assert won["better"]["poor"] == 0.0
    # Pairs in one ranking alone: 3 + 2 + 0 + 1 are no ties, and TER orders all of them right
    # but fair and poor of segment 3, which it orders right too.
    tau = document["metrics"][0]["correlations"]["segment.wmt10"]["value"]
    assert tau == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("Czech,English,4", "German,English,4"), "ranks.csv:5: a ranking of German-English"),
        (("English,2,doc", "English,0,doc"), "ranks.csv:4: srcIndex is '0', expected"),
        (("fair,3,poor,1,2,3", "fair,3,poor,1,2,x"), "ranks.csv:2: system3rank is 'x'; expected"),
        (
            ("system3rank", "sytem3rank"),
            "ranks.csv:1: rankings of WMT, but 0 columns 'system3rank'",
        ),
        (("system2Number,system2Id", "system2Number,name"), "0 columns 'system2Id'"),
        (("1,good,2,fair,3,poor,1,2,3", "1,good,2,fair"), "ranks.csv:2: 10 columns, the first"),
    ],
)
def test_wrong_rankings_are_an_error_that_says_where(tmp_path, change, message):
    (tmp_path / "ranks.csv").write_text("\n".join([WMT, *RANKINGS]).replace(*change) + "\n")
    assert message in fault("metaeval", "--human", "ranks.csv", *ALL[2:], "--metric", "ter")


def test_ranks_are_penalties_and_systems_need_comparisons(tmp_path):
    (tmp_path / "ranks.csv").write_text("\n".join([WMT, RANKINGS[2]]) + "\n")
    of_set = ["--human", "ranks.csv", *ALL[2:], "--metric", "ter"]
    (tmp_path / "out" / "poor.en").unlink()
    assert "leave out --penalties" in fault("metaeval", *of_set, "--penalties")
    (tmp_path / "out" / "fair.en").unlink()
    (tmp_path / "ranks.csv").write_text(f"{WMT}\n{RANKINGS[2].replace('2,2', '-1,2')}\n")
    message = fault("metaeval", *of_set, "--system-scores", "better")
    assert "nobody has compared 'good' with another system" in message


def published(tmp_path, **changes):
    table = {
        "number": "2", "caption": '"a claim"', "headers": '["metric", "paper"]',
        "rows": '[["BLEU", "0.5"], ["TER", "-0.4"], ["XYZ", "0.1"]]',
        "measures": '["system.spearman", "segment.pearson"]', **changes,
    }  # fmt: skip
    lines = "".join(f"{key} = {value}\n" for key, value in table.items() if value)
    (tmp_path / "published.toml").write_text(f'citation = "A paper"\n[[table]]\n{lines}')


def test_tables_of_a_paper_stand_beside_ours(tmp_path):
    published(tmp_path)
    command = ("metaeval", *ALL, "--metric", "ter", "--metric", "bleu:smooth=add-k", "--metric",
               "bleu", "--published", "published.toml")  # fmt: skip
    document = json.loads(run(*command, "--json", "-").stdout)
    printed = run(*command).stdout
    table = printed[printed.index("Table 2 of A paper: a claim") :].splitlines()
    assert re.split(r"  +", table[2]) == [
        "metric", "paper", "here", "ours: Spearman", "p", "ours: Pearson", "p",
    ]  # fmt: skip
    rows = {row[0]: row[1:] for row in (re.split(r"  +", line) for line in table[4:7])}
    of_metric = {metric["label"]: metric["correlations"] for metric in document["metrics"]}
    for name, label, reported in (("BLEU", "bleu", "0.5"), ("TER", "ter", "-0.4")):
        cells = rows[name]
        assert cells[:2] == [reported, label]
        of_systems, of_segments = (
            of_metric[label][measure]["value"]
            for measure in ("system.spearman", "segment.pearson")
        )
        assert cells[2].startswith(f"{of_systems:.3f}")
        assert any(cell.startswith(f"{of_segments:.3f}") for cell in cells[3:])
    # The first row of the paper is what TER is tested against.
    (difference,) = (
        row["correlations"]["segment.pearson"]
        for row in document["differences"]
        if (row["metric"], row["other"]) == ("ter", "bleu")
    )
    assert f"{difference['p_corrected']:.3f}"[:4] in rows["TER"][-1]
    assert rows["XYZ"][1:4] == [NOTHING, NOTHING, NOTHING]
    # A plain name fits the only metric of that name, whatever its options; of two it fits none.
    one = run("metaeval", *ALL, "--metric", "bleu:smooth=add-k", "--published", "published.toml")
    assert re.search(r"^BLEU +0.5 +bleu:smooth=add-k ", one.stdout, re.MULTILINE)
    two = fault("metaeval", *ALL, "--metric", "bleu:smooth=add-k", "--metric", "bleu:max_order=2",
                "--published", "published.toml")  # fmt: skip
    assert "no table has one of --metric" in two


@needs(SHARED / "published")
@pytest.mark.parametrize(("paper", "tables"), [("edpm", [1, 4, 5]), ("port", [2]), ("pos", [1])])
def test_tables_that_name_no_measure_stand_beside_the_usual_ones(paper, tables):
    command = ("metaeval", *ALL, "--metric", "BLEU", "--metric", "TER", "--published")
    printed = run(*command, SHARED / "published" / f"{paper}.toml").stdout
    numbers = re.findall("^Table ([0-9]+) of", printed, re.MULTILINE)
    assert list(map(int, numbers)) == tables
    assert printed.count("ours: Systems, Spearman") == len(tables)
    assert printed.count("ours: Documents, mean removed") == len(tables)
    said = re.sub(r"\s+", " ", printed)
    assert said.count("does not say which correlation the table has") == len(tables)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"measures": "", "headers": '["task", "x"]'}, "A paper: no table of metrics, with"),
        ({"measures": '["system.spaerman"]'}, "no measure 'system.spaerman'; did you mean"),
        ({"rows": '[["XYZ", "0.1"]]'}, "no table has one of --metric, only XYZ"),
        ({"rows": '[["BLEU"]]'}, "the row of 'BLEU' has 1 cell, the headers are 2"),
    ],
)
def test_a_wrong_file_of_a_paper_is_one_line(tmp_path, changes, message):
    published(tmp_path, **changes)
    said = fault("metaeval", *ALL, "--metric", "bleu", "--published", "published.toml")
    assert message in said


@needs(REAL)
def test_the_page_of_the_docs_shows_what_is_printed(monkeypatch):
    monkeypatch.chdir(REAL)
    page = (ROOT / "docs" / "how-to" / "people.md").read_text()
    words = "metaeval --human human.tsv --outputs outputs --ref ref.en --ref refB.en --text 13a"
    metrics = [word for name in ("bleu", "chrf", "ter") for word in ("--metric", name)]
    result = run(*words.split(), *metrics, "--likeness", "--all")
    for table in re.findall(r"```text\n(.*?)\n```", page, re.DOTALL)[:2]:
        assert table in result.stdout


def test_groups_come_from_a_column_a_file_or_records(tmp_path):
    """A group has the score of its statistics; people's is weighted by length."""
    (tmp_path / "domains").write_text("law\nnews\nnews\nlaw\n")
    (tmp_path / "records.tsv").write_text("id\tdomain\n0\tlaw\n1\tnews\n2\tnews\n3\tlaw\n")
    speakers = "".join(
        f"f 1 {name} {n}.0 {n}.5 x\n" for n, name in enumerate(("law", "news", "news", "law"))
    )
    (tmp_path / "talks.stm").write_text(f";; a comment\n{speakers}")
    rows = (tmp_path / "human.tsv").read_text().splitlines()
    groups = ["group", *["law", "news", "news", "law"] * 3]
    (tmp_path / "column.tsv").write_text(
        "".join(f"{row}\t{group}\n" for row, group in zip(rows, groups, strict=True))
    )
    metrics = ["--metric", "bleu:smooth=add1", "--metric", "ter", "--json", "--"]
    command = ["metaeval", "--human", "column.tsv", *ALL[2:], *metrics]
    of_column = json.loads(run(*command[:-1]).stdout)
    assert of_column["groups"] == ["law", "news"]
    assert set(of_column["metrics"][0]["group_spearman"]) == {1.0}
    assert len(of_column["groups_better"]) == 2
    (differences,) = of_column["differences"]
    for level in ("document", "group"):
        assert 0 < differences["correlations"][f"{level}.pearson_deltas"]["p"] <= 1
    for groups in ("domains", "records.tsv#domain", "talks.stm"):
        of_file = json.loads(run("metaeval", *ALL, *metrics[:-1], "--groups", groups).stdout)
        assert of_file == of_column
    shown = run("metaeval", *ALL, "--metric", "ter", "--groups", "domains", "--all").stdout
    assert shown.startswith("3 systems, 4 segments, 2 documents, 2 groups\n")
    assert "Groups, Pearson: plain, weighted by length" in shown


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("law\nlaw\n", "domains: groups of 2 segments, the texts have 4; give one for each"),
        ("law\n\nnews\nnews\n", "domains: segment 2 has an empty group; expected a name"),
    ],
)
def test_groups_that_do_not_fit_are_one_line(tmp_path, content, message):
    (tmp_path / "domains").write_text(content)
    assert message in fault("metaeval", *ALL, "--metric", "ter", "--groups", "domains")


def test_a_set_has_its_groups_and_two_sources_of_groups_are_refused(tmp_path):
    (tmp_path / "domains").write_text("law\nnews\nnews\nlaw\n")
    (tmp_path / "records.tsv").write_text("id\tdomain\n0\tlaw\n1\tnews\n2\tnews\n3\tlaw\n")
    tables = "".join(
        f'[[set]]\nname = "{name}"\nhuman = "human.tsv"\noutputs = "out"\nrefs = ["ref"]\n'
        f'groups = "{groups}"\n'
        for name, groups in (("one", "records.tsv#domain"), ("two", "domains"))
    )
    (tmp_path / "sets.toml").write_text(tables)
    shown = run("metaeval", "--sets", "sets.toml", "--metric", "ter", "--metric", "chrf", "--all")
    assert "Groups, Pearson, with 95 % intervals" in shown.stdout
    assert "Share of groups of all sets" in shown.stdout
    (tmp_path / "sets.toml").write_text(tables.replace('"domains"', '"domain"'))
    message = fault("metaeval", "--sets", "sets.toml", "--metric", "ter")
    assert "test set 2: groups: there is no file" in message
    rows = (tmp_path / "human.tsv").read_text().splitlines()
    rows = [rows[0] + "\tgroup", *(f"{row}\tlaw" for row in rows[1:])]
    (tmp_path / "human.tsv").write_text("".join(f"{row}\n" for row in rows))
    message = fault("metaeval", *ALL, "--metric", "ter", "--groups", "domains")
    assert "human.tsv: has a column group; take it out, or leave out domains" in message


def test_a_system_is_scored_by_its_words():
    """References have 6, 5, 7 and 4 words; people's scores are -rank - segment."""
    result = run("metaeval", *ALL, "--metric", "ter", "--system-scores", "weighted", "--json")
    mean = (0 * 6 + 1 * 5 + 2 * 7 + 3 * 4) / 22
    assert json.loads(result.stdout)["human"] == pytest.approx([-r - mean for r in range(3)])


def test_scores_computed_elsewhere_agree_as_those_of_the_metric(tmp_path):
    """chrF of every output, as mt-metrics-eval's file and as records in another order."""
    lines, records = [], []
    for system in OUTPUTS:
        call = ("score", "--hyp", f"out/{system}.en", "--ref", "ref", "--metric", "chrf")
        scores = json.loads(run(*call, "--segments", "--json").stdout)["segment_scores"]
        for row in scores:
            value = row["scores"][0]["score"]
            lines.append(f"{system}\t{value}\n")
            record = {"id": row["segment"], "system": system, "chrf": value}
            records.insert(0, json.dumps(record) + "\n")
    (tmp_path / "chrf.seg.score").write_text("".join(lines))
    (tmp_path / "all.jsonl").write_text("".join(records))
    metrics = ["--metric", "chrf", "--metric", "scores:chrf.seg.score"]
    metrics += ["--metric", "scores:all.jsonl#chrf"]
    document = json.loads(run("metaeval", *ALL, *metrics, "--json").stdout)
    (line,) = (line for line in document["warnings"] if "Holm" in line)
    assert line.startswith("with 40 samples and 3 comparisons ")
    assert line.endswith("; take --samples 60")
    of_metric, *of_files = (row["correlations"] for row in document["metrics"])
    for name in ("segment.pearson", "segment.wmt10", "segment.acc_eq"):
        for row in of_files:
            assert row[name]["value"] == pytest.approx(of_metric[name]["value"])
    (tmp_path / "few.jsonl").write_text("".join(records[:-1]))
    assert "'0' not in few.jsonl" in fault("metaeval", *ALL, "--metric", "scores:few.jsonl#chrf")
    (tmp_path / "odd.jsonl").write_text("".join(records).replace("chrf", "x"))
    assert "give --better" in fault("metaeval", *ALL, "--metric", "scores:odd.jsonl#x")
