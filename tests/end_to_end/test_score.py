"""`portmert score` and `portmert metrics` as a user runs them."""

import json
import re

import pytest
from click.testing import CliRunner

import portmert
from portmert.metrics._base import Arcs
from portmert.tuner import families
from portmert.tuner.cli import main
from portmert.tuner.components import registry
from portmert.tuner.texts.statistics import needs_of
from tests.support.annotation_models import write_meanings
from tests.support.bracketed import write_trees
from tests.support.cli import fault, run
from tests.support.places import MOSES, needs

# Example 3.7 F of the specification with the first reference of each segment.
FILES = {
    "hyp": "i visited paris recently\nhe reads books\n",
    "ref": "recently i visited paris\nhe reads a book\n",
    "src": "recently i visited paris\nhe reads a book\n",
    "hyp.links": "0-3 1-0 2-1 3-2\n0-0 1-1 3-2\n",
    "ref.links": "0-0 1-1 2-2 3-3\n0-0 1-1 3-2 3-3\n",
}
PLAIN = ["--hyp", "hyp", "--ref", "ref"]
LINKED = [*PLAIN, "--source", "src", "--hyp-links", "hyp.links", "--ref-links", "ref.links"]
SCORED = [
    name
    for name in families.names("metric")
    if Arcs(0, 0.25) not in registry.metric(name).needs  # no file has edge marginals
]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)


def test_json_holds_what_the_contract_says():
    result = run("score", "--metric", "bleu", "--metric", "port", *LINKED, "--json")
    document = json.loads(result.stdout)
    assert document["segments"] == 2
    bleu, port = document["scores"]
    assert (bleu["metric"], bleu["score"]) == ("bleu", 0.0)
    # Matches 6 3 1 0 of 7 5 3 1 and 8 6 4 2: Pa = 0.447619, Ra = 0.375; SBP = exp(-1 / 7).
    assert port["parts"]["Qmean"] == pytest.approx(0.381571, abs=1e-6)
    # That and 0.75 to the power 0.25, harmonic mean.
    assert port["score"] == pytest.approx(0.541226, abs=1e-6)
    assert port["parts"]["v"] == 0.75
    assert bleu["signature"] == (
        f"bleu:max_order=4,reflen=closest,smooth=none|refs:1|case:mixed|portmert:{portmert.__version__}"
    )


def test_text_is_a_table_in_percent():
    result = run("score", "--metric", "port", *LINKED)
    row = next(line for line in result.stdout.splitlines() if line.startswith("port "))
    assert row.split()[1] == "54.12"
    assert result.stderr == ""


def test_counts_are_no_shares():
    shown = run("score", "--metric", "chrf++", *PLAIN).stdout
    assert shown.split("\n")[0].split() == ["metric", "score", "precision", "recall"]


def test_segments_adds_a_line_a_segment():
    plain = run("score", "--metric", "port", *LINKED).stdout
    detailed = run("score", "--metric", "port", *LINKED, "--segments").stdout
    assert detailed.startswith(plain.rstrip())
    assert detailed.splitlines()[-2].split() == ["0", "65.89"]
    document = json.loads(run("score", "--metric", "v", *LINKED, "--segments", "--json").stdout)
    assert [e["scores"][0]["score"] for e in document["segment_scores"]] == [0.5, 1.0]


def parsing(tmp_path, monkeypatch, lines, names):
    """--annotator for the metrics that compare syntax or meaning, none for others."""
    needs = needs_of([registry.metric(name) for name in names])
    monkeypatch.setenv("PORTMERT_CACHE", str(tmp_path / "cache"))
    if needs & {"roles", "drs"}:
        sentences = [line.split() for line in lines if line.split()]
        file = write_meanings(tmp_path / "meanings.jsonl", sentences)
        return ["--annotator", f"semantics:files={file}"]
    return ["--annotator", write_trees(tmp_path / "trees.mrg", lines)] if needs else []


@pytest.mark.parametrize("name", SCORED)
def test_every_metric_scores(tmp_path, monkeypatch, name):
    lines = (FILES["hyp"] + FILES["ref"]).splitlines()
    parsed = parsing(tmp_path, monkeypatch, lines, [name])
    result = run("score", "--metric", name, *LINKED, *parsed, "--json")
    score = json.loads(result.stdout)["scores"][0]["score"]
    lowest = -5 if name == "learned" else 0  # without a model TERp, negated
    assert lowest <= score <= (1 if families.component("metric", name).in_percent else 5)


def test_several_references(tmp_path):
    (tmp_path / "ref2").write_text("i visited paris recently\nhe reads books\n")
    result = run("score", "--metric", "bleu:smooth=mteval", *PLAIN, "--ref", "ref2", "--json")
    entry = json.loads(result.stdout)["scores"][0]
    assert entry["score"] == 1.0
    assert "|refs:2|" in entry["signature"]


def test_lowercase(tmp_path):
    (tmp_path / "hyp").write_text(FILES["ref"].upper())
    mixed = run("score", "--metric", "bleu", *PLAIN, "--json")
    lower = run("score", "--metric", "bleu", *PLAIN, "--lowercase", "--json")
    assert json.loads(mixed.stdout)["scores"][0]["score"] == 0.0
    assert json.loads(lower.stdout)["scores"][0]["score"] == 1.0
    assert "|case:lc|" in lower.stdout


def test_empty_hypothesis_is_valid(tmp_path):
    (tmp_path / "hyp").write_text("i visited paris recently\n\n")
    (tmp_path / "hyp.links").write_text("0-3 1-0 2-1 3-2\n\n")
    result = run("score", "--metric", "port", *LINKED, "--json")
    assert json.loads(result.stdout)["scores"][0]["parts"]["v"] == 0.25
    assert result.stderr == ""


def test_texts_without_links_are_noted_once(tmp_path):
    (tmp_path / "hyp.links").write_text("0-3 1-0 2-1 3-2\n\n")
    result = run("score", "--metric", "port", "--metric", "v", *LINKED)
    assert result.stderr == (
        "portmert: warning: 1 of 2 hypotheses have no links: their words count as being in source "
        "order\n"
    )


def test_missing_links_are_an_error():
    message = fault("score", "--metric", "port", *PLAIN)
    assert message.startswith(
        "portmert: error: metric port compares word orders and needs word alignments; give "
        "--source and --hyp-links and --ref-links too"
    )
    message = fault("score", "--metric", "port", *LINKED[:-2])
    assert "give --ref-links too" in message


def test_an_aligner_makes_the_links_that_are_not_given(tmp_path):
    """`precomputed` links every pair in hand: references first, then hypotheses."""

    def score_of(result):
        (score,) = json.loads(result.stdout)["scores"]
        return score["score"]

    a3 = "".join(
        f"# Sentence pair ({n}) source length 4 target length 4 alignment score : 1\n{target}\n"
        f"NULL ({{ }}) {links}\n"
        for n, (target, links) in enumerate(
            (
                (
                    "recently i visited paris",
                    "recently ({ 1 }) i ({ 2 }) visited ({ 3 }) paris ({ 4 })",
                ),
                ("he reads a book", "he ({ 1 }) reads ({ 2 }) a ({ }) book ({ 3 4 })"),
            ),
            1,
        )
    )
    (tmp_path / "ref.A3.final").write_text(a3)
    as_given = [*PLAIN, "--source", "src", "--hyp-links", "hyp.links"]
    with_a3 = run("score", "--metric", "port", *as_given, "--ref-links", "ref.A3.final", "--json")
    (tmp_path / "same.links").write_text("0-0 1-1 2-2 3-3\n0-0 1-1 3-2 3-3\n")
    with_links = run("score", "--metric", "port", *as_given, "--ref-links", "same.links", "--json")
    assert with_a3.stdout == with_links.stdout
    made = ["--aligner", "precomputed", "--set", "links=same.links"]
    aligned = run("score", "--metric", "port", *as_given, *made, "--json")
    assert score_of(aligned) == score_of(with_links)
    api = portmert.score(
        (tmp_path / "hyp"), tmp_path / "ref", metric="port", source=tmp_path / "src",
        hyp_links=tmp_path / "hyp.links",
        aligner=registry.aligner("precomputed", {"links": tmp_path / "same.links"}),
    )  # fmt: skip
    assert api.score == score_of(aligned)
    no_source = fault("score", "--metric", "port", *PLAIN, *made)
    assert "word alignments need the source text; give --source" in no_source
    wrong = fault("score", "--metric", "port", *PLAIN, *made[2:], status=2)
    assert "--set needs --aligner" in wrong
    (tmp_path / "ref.A3.final").write_text(a3.rpartition("NULL")[0])
    cut = fault("score", "--metric", "port", *as_given, "--ref-links", "ref.A3.final")
    assert "ref.A3.final:4: expected pair 2 of GIZA++" in cut


def test_links_without_source_are_wrong_usage():
    message = fault("score", "--metric", "bleu", *PLAIN, "--hyp-links", "hyp.links", status=2)
    assert "--hyp-links and --ref-links need --source" in message


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("bleau", "unknown metric 'bleau'; did you mean 'bleu'?"),
        ("port:alhpa=1", "metric port has no option 'alhpa'; did you mean 'alpha'?"),
        (
            "port:alpha=-1",
            "metric port: alpha: Input should be greater than or equal to 0, found '-1'",
        ),
        ("port:alpha", "'alpha' is not option=value; write it as port:option=value"),
        (
            "bleu,TER",
            "several names in one; repeat the option, or combine them in a formula, as 0.5*bleu",
        ),
        ("comet", "metric comet: write it as comet:MODEL"),
        ("Scores", "metric Scores: write it as scores:FILE"),
        ("port:tau_lr=true", "metric port: tau_lr is for order=tau, found order=v"),
    ],
)
def test_a_wrong_metric_is_an_error(metric, message):
    assert message in fault("score", "--metric", metric, *LINKED)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("hyp", b"a\n", "hyp: 1 line, but ref has 2; every file must have one line a segment"),
        ("ref", b"", "ref: the file is empty; expected one segment a line"),
        ("hyp", b"a\nb \xff\n", "hyp:2: byte 0xff in column 3 is not UTF-8"),
        ("src", b"a\nb\nc\n", "src: 3 lines, but ref has 2"),
        ("hyp.links", b"0-0\n", "hyp.links: 1 line, expected 2"),
        ("hyp.links", b"\n4-0\n", "hyp.links:2: link 4-0: the source has 4 tokens, so positions"),
        ("ref.links", b"0-4\n\n", "ref.links:1: link 0-4: the target has 4 tokens, so positions"),
    ],
)
def test_a_wrong_file_is_an_error_that_says_where(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    assert message in fault("score", "--metric", "port", *LINKED)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\n", "stdin: 1 line, but ref has 2; every file must have one line a segment"),
        (b"", "stdin: the file is empty; expected one segment a line"),
        (b"a\nb \xff\n", "stdin:2: byte 0xff in column 3 is not UTF-8"),
    ],
)
def test_messages_call_stdin_by_its_name(content, message):
    words = ["score", "--metric", "bleu", "--hyp", "-", "--ref", "ref"]
    result = CliRunner().invoke(main, words, input=content)
    assert result.stderr.startswith(f"portmert: error: {message}")


def test_metrics_lists_all_with_needs_options_and_source():
    result = run("metrics")
    for name in families.names("metric"):
        assert any(line.split()[:1] == [name] for line in result.stdout.splitlines()), name
    # Columns that are narrower than their text go on in the lines below.
    port = re.search(r"^port .*\n( .*\n)*", result.stdout, re.MULTILINE)[0]
    assert "links" in port
    assert "alpha=0.25" in port
    assert "PORT" in port


@pytest.mark.parametrize(
    ("name", "needs", "form"),
    [
        ("comet", "model, source", "as comet:MODEL"),
        ("command", "program", "as command:PROGRAM ARGUMENTS"),
        ("command+links", "program, links", "as command+links:PROGRAM ARGUMENTS"),
        ("m2", "file", "as m2:FILE"),
        ("scores", "file", "as scores:FILE"),
    ],
)
def test_metrics_lists_those_from_outside_with_what_they_need(name, needs, form):
    lines = run("metrics").stdout.splitlines()
    (line,) = (line for line in lines if line.split()[:1] == [name])
    assert re.split(r"\s{2,}", line)[1:3] == [needs, form]
    names = [one["name"] for one in json.loads(run("metrics", "--json").stdout)]
    assert name in names
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("m2", "Write it as m2:FILE, or as m2 if --ref names the M2 file."),
        ("M2:gold.m2", "statistics: correct, edits, edits_gold"),
        ("scores", "Write it as scores:FILE."),
        ("command", "Write it as command:PROGRAM ARGUMENTS."),
        ("command+links", "needs:      links: word alignments with the source"),
        ("comet", "needs:      source: the source text"),
    ],
)
def test_metrics_describes_a_metric_that_takes_an_argument(name, expected):
    described = run("metrics", name).stdout
    assert described == run("components", "metric", name).stdout
    assert expected in described
    assert described.endswith("\n\nIt has no other options.\n")


@needs(MOSES)
def test_real_outputs_have_the_published_scores():
    for output, expected in (("mert-bleu/test.out", 34.6), ("test.untuned.out", 27.9)):
        result = run(
            "score", "--metric", "bleu", "--json",
            "--hyp", str(MOSES / output), "--ref", str(MOSES / "test.en"),
        )  # fmt: skip
        assert round(100 * json.loads(result.stdout)["scores"][0]["score"], 1) == expected


def test_confusions_are_shown_of_wer_alone(tmp_path):
    (tmp_path / "hyp").write_text("a cat sat the mat\n")
    (tmp_path / "ref").write_text("the cat sat on the mat\n")
    files = ("--hyp", tmp_path / "hyp", "--ref", tmp_path / "ref", "--confusions", 9)
    shown = run("score", "--metric", "wer", *files).stdout.splitlines()[-2:]
    assert [line.split() for line in shown] == [["1", "on", "\u2013"], ["1", "the", "a"]]
    run("score", "--metric", "wer", *files, "--json", tmp_path / "j")
    assert json.loads((tmp_path / "j").read_text())["scores"][0]["confusions"] == [
        ["on", "", 1], ["the", "a", 1],
    ]  # fmt: skip
    said = fault("score", "--metric", "bleu", *files, status=2)
    assert "--confusions shows the edits of words of --metric wer" in said
