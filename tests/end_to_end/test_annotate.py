"""portmert annotate and cache."""

import pytest

import portmert
from portmert.tuner.texts.annotator import Annotation
from tests.support.annotation_models import SENTENCES, brackets, udpipe
from tests.support.cli import run
from tests.support.known_annotator import Known

LINES = [" ".join(words) for words in SENTENCES[:12]]
LINES[2:2] = ["", LINES[0]]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PORTMERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def udpipe_on(text, out, *more):
    model = ("--annotator", "udpipe", "--model", udpipe())
    return ("annotate", *model, "--in", text, "--out", out, *more)


def test_what_is_written_is_what_the_annotator_said_and_can_be_looked_up(text, tmp_path):
    first = run(*udpipe_on(text, "one.conllu", "--processes", 1))
    assert (
        "14 lines, 12 different sentences: 0 from the cache, 12 annotated, 0 without a parse"
        in (first.stderr)
    )
    written = (tmp_path / "one.conllu").read_bytes()
    assert written.count(b"\n\n") == len(LINES) - 1
    assert written.startswith(b"# generator = portmert annotate, udpipe ")
    assert b"# sent_id = 3\n" not in written  # the empty line
    again = run(*udpipe_on(text, "two.conllu", "--processes", 2))
    assert "12 from the cache, 0 annotated" in again.stderr
    assert (tmp_path / "two.conllu").read_bytes() == written
    run(
        "annotate", "--annotator", "conllu", "--model", "one.conllu", "--in", text,
        "--out", "three.conllu",
    )  # fmt: skip
    third = (tmp_path / "three.conllu").read_bytes()
    assert third.partition(b"\n")[2] == written.partition(b"\n")[2]


def test_weighted_parses_and_trees_survive(tmp_path):
    (tmp_path / "nbest").write_text(
        "2 0\n-3.5\n(S1 (S (NP (NN a)) (VP (VB b))))\n-4\n(S1 (NP (NN a) (NN b)))\n", "utf-8"
    )
    (tmp_path / "text").write_text("a b\n")
    for annotator, model, out in (("ptb:log_base=10", "nbest", "x"), ("conllu", "x.conllu", "y")):
        done = run(
            "annotate", "--annotator", annotator, "--model", model, "--in", "text",
            "--out", f"{out}.conllu", "--parses", 5,
        )  # fmt: skip
        assert "1 line, 1 different sentence: " in done.stderr
    first, second = ((tmp_path / f"{out}.conllu").read_text().partition("\n")[2] for out in "xy")
    assert first == second
    assert first.count("# sent_id = 1\n# parse_logprob = -") == 2
    assert "# tree = (S (NP (NN a)) (VP (VB b)))\n" in first
    assert "1\ta\t_\t_\tNN\t_\t2\tNP/NN\t_\t_\n" in first


def test_a_sentence_without_a_parse_is_marked_and_read_so(tmp_path):
    (tmp_path / "text").write_text("a\nb\n")
    (tmp_path / "a.mrg").write_text("(S (NN a))\n")
    run(
        "annotate", "--annotator", "ptb:missing=unparsed", "--model", "a.mrg", "--in", "text",
        "--out", "x.conllu",
    )  # fmt: skip
    assert (
        "# sent_id = 2\n# unparsed\n1\tb\t_\t_\t_\t_\t_\t_\t_\t_\n"
        in (tmp_path / "x.conllu").read_text()
    )
    found = run(
        "annotate", "--annotator", "conllu", "--model", "x.conllu", "--in", "text", "--out", "-",
    )  # fmt: skip
    assert "1 without a parse" in found.stderr
    assert "1 of 2 sentences have no parse and count as unparsed" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ("", 2, "Missing option '--annotator'"),
        ("--annotator udpipe --in text --out x", 1, "model must be given"),
        (
            "--annotator udpipe --model no --in text --out x",
            1,
            "annotator udpipe: no: no such model; give one of UDPipe 1",
        ),
        ("--annotator udpipe --model MODEL --in nothing --out x", 1, "nothing: No such file"),
        (
            "--annotator udpipe --model MODEL --in text --out x --parses 3",
            1,
            "annotator udpipe gives one parse of a sentence only",
        ),
        (
            "--annotator udpipe --model MODEL --in text --out x --layer trees",
            1,
            "gives no constituency parses",
        ),
        (
            "--annotator ptb --model TREES --in text --out x",
            1,
            "'some other words' (3 tokens) is not in",
        ),
    ],
)
def test_wrong_input_is_one_line(tmp_path, arguments, status, message):
    (tmp_path / "text").write_text("some other words\n")
    given = {"MODEL": udpipe(), "TREES": brackets()}
    words = [given.get(word, word) for word in arguments.split()]
    result = run("annotate", *words, status=status)
    assert message in result.stderr
    if status == 1:
        assert result.stderr.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_python_writes_what_the_command_writes(text, tmp_path):
    run(*udpipe_on(text, "one.conllu"))
    steps = []
    done = portmert.annotate(
        LINES,
        tmp_path / "two.conllu",
        annotator=f"udpipe:model={udpipe()}",
        annotation_cache=tmp_path / "other",
        progress=lambda *step: steps.append(step),
    )
    assert (done.lines, done.cached, done.annotated, done.failed) == (14, 0, 12, 0)
    assert steps[-1] == ("annotating", 14, 14)
    assert (tmp_path / "two.conllu").read_bytes() == (tmp_path / "one.conllu").read_bytes()
    with pytest.raises(portmert.PortmertError, match="unknown annotator 'udpip'; did"):
        portmert.annotate(LINES, tmp_path / "three.conllu", annotator="udpip")


def test_a_tag_that_cannot_be_written_is_told_with_the_line_of_the_text(tmp_path):
    known = Known({("a", "b"): Annotation(tags=("X", "Y")), ("c",): Annotation(tags=("\tZ",))})
    (tmp_path / "text").write_text("a b\n\nc\n")
    with pytest.raises(portmert.PortmertError, match=r"text:3: tag '\\tZ' or label"):
        portmert.annotate("text", "out", annotator=known, layers=["tags"], processes=1)
    assert not (tmp_path / "out").exists()
