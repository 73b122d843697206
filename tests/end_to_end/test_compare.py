"""`portmert compare` as users call it."""

import json
import re

import pytest

from portmert.tuner.evaluation.comparison.report import document_of
from portmert.tuner.evaluation.latex import latex_table
from portmert.tuner.evaluation.page.html import html
from tests.support.cli import run
from tests.support.documents import document as made_up
from tests.support.run_folders import (
    BAD,
    GOOD,
    LINKS,
    REFERENCE,
    SOURCE,
    write_corpus,
    write_lines,
    write_run,
)

QUICK = ("--samples=200",)


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """A folder with a test set, two outputs and links of everything."""
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path)
    write_lines(tmp_path / "good", GOOD)
    write_lines(tmp_path / "bad", BAD)
    for name, lines in (("good", GOOD), ("bad", BAD)):
        short = [min(len(a.split()), len(b.split())) for a, b in zip(lines, SOURCE, strict=True)]
        write_lines(
            tmp_path / f"{name}.links", [" ".join(f"{i}-{i}" for i in range(n)) for n in short]
        )
    return tmp_path


def compare(*arguments, status=0):
    return run("compare", *arguments, *QUICK, status=status)


def document(*arguments):
    result = compare(*arguments, "--json", "out.json")
    with open("out.json", encoding="utf-8") as file:  # noqa: PTH123
        return json.load(file), result


def error_of(*arguments):
    result = compare(*arguments, status=1)
    assert result.stdout == ""
    (line,) = [line for line in result.stderr.splitlines() if "error" in line]
    return line


FILES = ("bad=bad", "good=good")
LINKED = ("--source=test.src", "--ref=test.ref", "--links=gold=test.links,bad.links,good.links")


@pytest.mark.usefixtures("corpus")
def test_plain_files_without_links_leave_word_order_out():
    found, result = document(*FILES, "--ref=test.ref")
    assert [metric["label"] for metric in found["metrics"]] == ["bleu", "qmean", "ter"]
    assert found["ordering"] == []
    assert found["reference_links"] is None
    assert any("word alignments are not known" in note for note in found["notes"])
    assert not any("s_opt" in note for note in found["notes"])  # nobody tuned these files
    ter = {s["system"]: s["score"] for s in found["scores"] if s["metric"] == "ter"}
    # bad: 3 edits (a shift, a shift, an insertion), a shift... by hand: 3 + 2 + 0 + 1 of 12.
    assert ter["good"] == pytest.approx(1 / 12)
    assert ter["bad"] > ter["good"]
    assert "ter ↓: no difference shown between good and bad" in result.stdout


@pytest.mark.usefixtures("corpus")
def test_scores_are_those_of_score():
    found, _ = document(*FILES, *LINKED)
    for name in ("bad", "good"):
        result = run(
            "score", "--hyp", name, "--ref", "test.ref", "--source", "test.src", "--hyp-links",
            f"{name}.links", "--ref-links", "test.links", "--json",
            *(f"--metric={m['label']}" for m in found["metrics"]),
        )  # fmt: skip
        scored = {one["metric"]: one for one in json.loads(result.stdout)["scores"]}
        for one in found["scores"]:
            if one["system"] == name:
                assert one["score"] == pytest.approx(scored[one["metric"]]["score"])
        signatures = {one["label"]: one["signature"] for one in found["metrics"]}
        assert signatures == {label: one["signature"] for label, one in scored.items()}


def test_runs_bring_their_test_set_and_links(corpus):
    write_run(corpus, "old", [BAD])
    write_run(corpus, "new", [GOOD, GOOD, BAD], metric="port")
    compare("old", "new", "--json=out.json", "--no-timing")
    found = json.loads((corpus / "out.json").read_text())
    assert [s["replicas"] for s in found["systems"]] == [1, 3]
    assert found["systems"][1]["tuned_on"].startswith("port:")
    assert found["reference_links"] == "given"
    assert {"v", "rho", "tau", "port", "port-rho", "port-tau", "qmean"} == set(
        found["ordering"][0]["scores"]
    )
    new = next(s for s in found["scores"] if s["system"] == "new")
    assert len(new["replica_scores"]) == 3
    assert new["s_opt"] > 0
    assert any("different numbers of replicas" in note for note in found["notes"])


def test_runs_tuned_on_different_metrics_stand_in_a_matrix_first(corpus):
    write_run(corpus, "old", [BAD, GOOD])
    write_run(corpus, "new", [GOOD, GOOD, BAD], metric="port")
    result = compare(
        "old",
        "new",
        "--metric=ter",
        "--no-timing",
        "--latex=t.tex",
        "--latex-all",
        "--html=t.html",
    )
    before, after = result.stdout.split("Tuned on, and judged by\n\n")
    assert "----" not in before
    assert after.split("\n")[0].split() == ["system", "tuned", "on", "replicas", "ter", "↓"]
    rows = re.findall(r"^(old|new) +(\w+) +(\d) +[\d.]+ ± [\d.]+", result.stdout, re.MULTILINE)
    assert rows == [("old", "bleu", "2"), ("new", "port", "3")]
    tex, page = (corpus / "t.tex").read_text(), (corpus / "t.html").read_text()
    assert tex.index("Tuned on, and judged by") < tex.index("Differences from")
    assert page.index('data-label="matrix"') < page.index('data-label="tests"')
    assert "PORT paper" not in result.stdout + tex + page.split("<script")[0]


def test_several_sets_of_links(corpus):
    write_lines(corpus / "other.links", ["0-3 1-2 2-1 3-0", *LINKS[1:]])
    found, result = document(
        *FILES, *LINKED, "--links=other=other.links,bad.links,good.links", "--metric=port",
        "--metric=bleu",
    )  # fmt: skip
    table = found["alignments"]
    assert table["sets"] == ["gold", "other"]
    assert len(table["scores"]) == 4  # of BLEU none: links do not change it
    # 7 of the 11 links of each are the other's too: 1 - 2 * 7 / 22.
    assert table["agreement"] == [
        {"first": "gold", "second": "other", "aer": pytest.approx(1 - 14 / 22)}
    ]
    by_set = {(s["links"], s["system"]): s["score"] for s in table["scores"]}
    main_scores = {s["system"]: s["score"] for s in found["scores"] if s["metric"] == "port"}
    assert by_set["gold", "good"] == main_scores["good"]
    assert by_set["other", "good"] != by_set["gold", "good"]
    assert "Scores under several word alignments" in result.stdout


def test_same_call_same_bytes_for_any_number_of_threads(corpus):
    contents = []
    for threads in (1, 3):
        result = compare(
            *FILES, *LINKED, f"--threads={threads}", "--no-timing", "--json=a.json",
            "--latex=a.tex",
        )  # fmt: skip
        contents.append(
            (result.stdout, (corpus / "a.json").read_text(), (corpus / "a.tex").read_text())
        )
    assert contents[0] == contents[1]
    assert json.loads(contents[0][1])["timing"] == []


@pytest.mark.usefixtures("corpus")
def test_examples_show_all_references():
    result = compare(*FILES, "--ref=test.ref", "--ref=bad", "--metric=ter")
    examples = result.stdout.split("Segments with the largest differences")[1]
    kinds = [line[18:].split("  ")[0] for line in examples.splitlines()[4:8]]
    assert kinds == ["reference 1", "reference 2", "bad", "good"], examples


@pytest.mark.usefixtures("corpus")
def test_many_systems_stand_in_rows():
    systems = [f"s{n}={'good' if n % 2 else 'bad'}" for n in range(6)]
    result = compare(*systems, "--ref=test.ref", "--metric=ter", "--no-timing")
    verdict = "s1, s2, s3, s4 and s5 against s0: no difference shown on ter"
    assert result.stdout.splitlines()[0] == verdict
    (line,) = [x for x in result.stdout.splitlines() if x.startswith("metric    system      1-10")]
    assert line.split() == ["metric", "system", "1-10", "(4)"]
    assert max(map(len, result.stdout.splitlines())) <= 99


@pytest.mark.parametrize(("level", "word"), [("0.5", "better"), ("0.99", "no difference")])
@pytest.mark.usefixtures("corpus")
def test_sentences_call_a_difference_shown_at_the_level_asked_for(level, word):
    # Of 4 segments 3 differ, all to the better: p is 2 / 8.
    result = compare(*FILES, "--ref=test.ref", "--metric=ter", f"--confidence={level}")
    assert word in result.stdout.splitlines()[0]


@pytest.mark.usefixtures("corpus")
def test_identical_systems_have_p_1_and_a_note():
    found, _ = document("one=good", "two=good", "--ref=test.ref")
    assert {s["p_randomization"] for s in found["scores"][1::2]} == {1.0}
    assert {s["p_bootstrap_holm"] for s in found["scores"][1::2]} == {1.0}
    assert "two and one have the same output" in found["notes"]
    assert found["similarity"][0]["identical"] == 1.0


def test_latex_escapes_everything(corpus):
    write_lines(corpus / "evil", [r"\input{x} $a_b^c$ & 50% #~{}", *GOOD[1:]])
    compare("evil_1=evil", "good=good", "--ref=test.ref", "--latex=out.tex", "--latex-all")
    text = (corpus / "out.tex").read_text()
    assert "evil\\_1" in text
    assert r"\textbackslash{}input\{x\} \$a\_b\textasciicircum{}c\$ \& 50\% \#" in text
    # What is left after all escapes is ours: no bare special character in a cell.
    cells = re.sub(r"\\(textbackslash|textasciicircum|textasciitilde)\{\}|\\[&%$#_{}]", "", text)
    assert "$a" not in cells
    assert "50%" not in cells
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") > 5


def test_latex_is_one_table_for_a_paper(corpus):
    options = ("--ref=test.ref", "--metric=bleu", "--metric=ter", "--latex=t.tex")
    found, _ = document("bad=bad", "good=good", "same=bad", *options)
    text = (corpus / "t.tex").read_text()
    assert text.count(r"\begin{table}") == 1
    rows = [
        [cell.strip() for cell in line.removesuffix(r"\\").split(" & ")]
        for line in text.splitlines()
    ]
    table = {row[0]: row[1:] for row in rows if len(row) == 3}
    assert table.pop("system") == [r"BLEU $\uparrow$", r"TER $\downarrow$"]
    for row in found["scores"]:
        cell = table[row["system"]][["bleu", "ter"].index(row["metric"])]
        assert f"{100 * row['score']:.2f}" in cell
        assert cell.startswith(r"\textbf{") == (row["system"] == "good")
        significant = row["p_holm"] is not None and row["p_holm"] < 0.05
        assert (r"$^\dagger$" in cell) == significant
    for metric in found["metrics"]:
        assert f"{metric['label']}\\" in text.replace(":", "\\").partition(r"\label")[0]


@pytest.mark.usefixtures("corpus")
def test_latex_all_needs_latex():
    result = compare("bad=bad", "good=good", "--ref=test.ref", "--latex-all", status=2)
    assert "--latex-all needs --latex" in result.stderr


def test_text_does_not_steer_the_terminal(corpus):
    write_lines(corpus / "evil", ["\x1b[31m red \u202e right", *GOOD[1:]])
    result = compare("evil=evil", "good=good", "--ref=test.ref")
    assert "\x1b" not in result.stdout
    assert "\u202e" not in result.stdout
    assert "\\u001b[31m red" in result.stdout


WRONG = {
    "no such file": (
        ("a=nowhere", "good=good", "--ref=test.ref"),
        "nowhere: there is no such file or folder; a system is the folder of a run",
    ),
    "a file without a name": (
        ("good", "bad=bad", "--ref=test.ref"),
        "good: a file needs a name; write it as name=good",
    ),
    "a comma too many": (
        ("x=good,", "bad=bad", "--ref=test.ref"),
        "system 'x=good,': a name is empty in 'good,', expected FILE or FILE,FILE",
    ),
    "two of one name": (
        ("x=good", "x=bad", "--ref=test.ref"),
        "two systems are called 'x'; name them, as in first=good",
    ),
    "no references": (FILES, "no system says what its references are; give --ref"),
    "another length": (
        ("good=good", "short=short", "--ref=test.ref"),
        "short: 2 lines, but test.ref has 4",
    ),
    "a metric that needs links": (
        (*FILES, "--ref=test.ref", "--metric=port"),
        "needs word alignments; give --source, the source text, and --aligner NAME or --links",
    ),
    "wrong number of link files": (
        (*FILES, "--source=test.src", "--ref=test.ref", "--links=g=test.links,bad.links"),
        "2 files; expected 1 (links of each reference), or 3 (then those of each output)",
    ),
    "links of no output": (
        (*FILES, "--source=test.src", "--ref=test.ref", "--links=g=test.links"),
        "--links g: 2 of 2 outputs have no links; add a file for each output",
    ),
    "links without a source": (
        (*FILES, "--ref=test.ref", "--links=g=test.links"),
        "word alignments need the source text; give --source",
    ),
    "links of another form": (
        (*FILES, "--source=test.src", "--ref=test.ref", "--links=test.links"),
        "--links test.links: expected NAME=FILE[,FILE...]",
    ),
    "an unfinished run": (("open", "good=good"), "open: the run is not finished"),
    "no folder of a run": (("empty", "good=good"), "empty: not the folder of a run"),
    "no test output": (("silent", "good=good"), "silent: the run has no output of a test set"),
    "another test set": (
        ("run", "good=good", "--source=test.src", "--ref=good"),
        "run: the run is of another test set: its test_references did not hold what good holds",
    ),
}


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.replace(" ", "-"))
def test_wrong_input_ends_with_one_line(corpus, case):
    arguments, message = WRONG[case]
    write_lines(corpus / "short", GOOD[:2])
    (corpus / "empty").mkdir()
    write_run(corpus, "run", [GOOD])
    (write_run(corpus, "open", [GOOD]) / "result.json").unlink()
    (write_run(corpus, "silent", [GOOD]) / "test" / "output.txt").unlink()
    assert message in error_of(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a system, or several to compare"),
        ((*FILES, "--ref=test.ref", "--json=x", "--latex=x"), "two outputs are to be written"),
        ((*FILES, "--set=a=b"), "--set needs --aligner"),
    ],
)
@pytest.mark.usefixtures("corpus")
def test_wrong_usage_has_status_2(arguments, message):
    result = compare(*arguments, status=2)
    assert message in result.stderr


def test_an_aligner_links_what_has_no_links(corpus):
    aligner = ("--aligner=thot", "--set=model=ibm1", "--set=iterations=2")
    found, result = document(*FILES, "--source=test.src", "--ref=test.ref", *aligner)
    assert found["reference_links"] == "thot"
    assert [metric["label"] for metric in found["metrics"]] == ["bleu", "port", "qmean", "ter"]
    assert [0 < row["scores"]["v"] <= 1 for row in found["ordering"]] == [True, True]
    linked = [bool(segment["references"][0]["links"]) for segment in found["segments"]]
    assert linked == [True] * len(REFERENCE)
    assert "aligning the test references" in result.stderr
    assert not (corpus / "annotations").exists()


def test_links_of_several_origins_are_said(corpus):
    write_run(corpus, "run", [GOOD])
    aligner = ("--aligner=thot", "--set=model=ibm1", "--set=iterations=2")
    result = compare("run", "bad=bad", *aligner)
    assert "links of bad are an aligner's, those of the others their decoder's" in result.stderr
    assert "aligner's" not in compare("run", "again=run", *aligner).stderr


def test_one_system_in_subwords_is_noticed_among_others(corpus):
    words = [f"{a}{b}" for a in "bcdfg" for b in "aeiou"]
    lines = [" ".join(words) for _ in range(8)]
    write_lines(corpus / "refs", lines)
    write_lines(corpus / "pieces", [re.sub(r"(\w)(\w)", r"\1@@ \2", line) for line in lines])
    names = ("pieces", *(f"s{n}=refs" for n in range(9)))
    result = compare("p=pieces", *names[1:], "--ref=refs", "--metric=ter", "--no-timing")
    (line,) = [x for x in result.stderr.splitlines() if "are both tokenised alike?" in x]
    # `score` says the same of that output alone.
    alone = run("score", "--hyp=pieces", "--ref=refs", "--metric=ter").stderr
    assert line.partition("p: ")[2] in alone
    assert "p: 100 % of the hypotheses' tokens stand in no reference" in line


def test_a_tiny_p_is_never_printed_as_nothing():
    given = made_up(2)
    for row in given["scores"]:
        if row["difference"] is not None:
            row.update(dict.fromkeys((key for key in row if key.startswith("p")), 1e-9))
    (table,) = [one for one in document_of(given).tables() if one.label == "tests"]
    assert {cell for row in table.rows for cell in row[4:]} == {"<0.0001"}
    assert r"\textless{}0.0001" in latex_table(table)
    assert ">&lt;0.0001" in html(document_of(given))


def test_run_folders_are_not_changed(corpus):
    write_run(corpus, "old", [BAD])
    write_run(corpus, "new", [GOOD])
    before = {path: path.read_bytes() for path in corpus.rglob("*") if path.is_file()}
    compare("old", "new")
    assert {path: path.read_bytes() for path in corpus.rglob("*") if path.is_file()} == before


def test_replicas_that_no_tuning_changed_are_named_and_counted(corpus):
    tuned = write_run(corpus, "tuned", [GOOD, BAD, GOOD])
    single = write_run(corpus, "single", [BAD])
    path = tuned / "result.json"
    document_of_run = json.loads(path.read_text())
    document_of_run["replicas"][1]["equals_start"] = True
    path.write_text(json.dumps(document_of_run))
    path = single / "result.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"equals_start": True}))
    notes = document("tuned", "single")[0]["notes"]
    said = "equal to the start weights: no gain shown"
    assert f"tuned: 1 of 3 replicas {said}: replica-2" in notes
    assert f"single: 1 of 1 replica {said}: single" in notes
    assert "tuned 2, single have the same output, as of a tuning that changed nothing" in notes


@pytest.mark.usefixtures("corpus")
def test_outputs_that_are_one_text_are_named():
    """As of two tunings, on two metrics, of which one each changed nothing."""
    notes = document("a=good,bad", "b=bad,good", "--ref=test.ref")[0]["notes"]
    assert "a 1, b 2 have the same output, as of a tuning that changed nothing" in notes
    assert "a 2, b 1 have the same output, as of a tuning that changed nothing" in notes


@pytest.mark.usefixtures("corpus")
def test_groups_are_drawn_as_a_whole_and_said(corpus):
    write_lines(corpus / "documents", ["d1", "d1", *["d2"] * (len(GOOD) - 2)])
    found, result = document(*FILES, "--ref=test.ref", "--metric=bleu", "--groups=documents")
    assert found["groups"] == {
        "of": "documents", "count": 2, "smallest": 2, "largest": len(GOOD) - 2,
    }  # fmt: skip
    assert "warning: 2 groups only, of documents: p-values are coarse" in result.stderr
    assert "stratified over 2 groups of 2 to" in result.stdout.replace("\n", " ")
    assert "groups needed" in result.stdout
    plain, _ = document(*FILES, "--ref=test.ref", "--metric=bleu")
    assert plain["groups"] is None
    assert [x["difference"] for x in plain["scores"]] == [x["difference"] for x in found["scores"]]
    write_lines(corpus / "documents", ["d1"] * (len(GOOD) - 1))
    assert error_of(*FILES, "--ref=test.ref", "--groups=documents").endswith(
        f"the texts have {len(GOOD)}; give one for each segment"
    )
