from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.aligner_programs import install
from tests.support.cli import run
from tests.support.languages.bitext import write_bitext


@pytest.fixture
def bitext(tmp_path):
    write_bitext(tmp_path, train=60, dev=10, test=0, seed=1)
    return tmp_path


def align(bitext, *options, out="links", status=0):
    texts = ("--source", bitext / "dev.src", "--target", bitext / "dev.tgt")
    return run("align", *texts, "--out", bitext / out, *options, status=status)


def test_align_with_thot_keeps_and_uses_a_model(bitext):
    train = ("--train-source", bitext / "train.src", "--train-target", bitext / "train.tgt")
    common = ("--aligner", "thot", "--set", "model=ibm1", "--model", bitext / "model")
    made = align(bitext, *common, *train)
    assert (bitext / "model" / "model.json").exists()
    align(bitext, *common, out="again")
    links = (bitext / "links").read_text()
    assert links == (bitext / "again").read_text()
    assert len(links.splitlines()) == 10
    assert "10 pairs, " in made.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--aligner", "thut"], "unknown aligner 'thut'; did you mean 'thot'?"),
        (["--set", "modell=hmm"], "aligner thot has no option 'modell'; did you mean 'model'?"),
        (["--set", "model"], "--set: 'model' is not option=value"),
        (["--set", "model=hmm", "--set", "model=ibm1"], "--set: option 'model' is given twice"),
        (["--model", "none"], "none: no trained model there; name a training bitext"),
        (["--aligner", "precomputed", "--set", "links=gone"], "gone: No such file or directory"),
        (["--aligner", "precomputed", "--set", "links=-"], "stdin: 0 lines, the bitext has 10 pa"),
    ],
)
def test_faults_end_as_one_line(bitext, monkeypatch, options, message):
    monkeypatch.chdir(bitext)
    done = align(bitext, *options, status=1)
    [line] = done.stderr.splitlines()
    assert line.startswith("portmert: error: ")
    assert message in line
    assert not (bitext / "links").exists()


def test_align_with_outside_programs_keeps_and_uses_a_model(bitext):
    train = ("--train-source", bitext / "train.src", "--train-target", bitext / "train.tgt")
    common = ("--aligner", "giza", "--set", f"bin_dir={install(bitext / 'bin')}")
    common += ("--model", bitext / "model")
    align(bitext, *common, *train)
    align(bitext, *common, out="again")
    assert (bitext / "links").read_text() == (bitext / "again").read_text()
    checked = run("align", "--check", bitext / "links", "--gold", bitext / "dev.links")
    assert float(checked.stdout.split()[-1]) < 0.6


def test_a_failing_program_leaves_a_log_to_read(bitext, monkeypatch):
    monkeypatch.setenv("RECORDED_ALIGNER_FAULT", "mgiza:exit")
    monkeypatch.setenv("TMPDIR", str(bitext))
    monkeypatch.setattr("tempfile.tempdir", None)
    done = align(
        bitext, "--aligner", "giza", "--set", f"bin_dir={install(bitext / 'bin')}", status=1
    )
    [line] = done.stderr.splitlines()
    assert line.startswith("portmert: error: mgiza ended with status 3: mgiza is reading / no mem")
    log = Path(line.partition("its log is ")[2])
    assert log.read_text().endswith("no memory left\n")
    assert {path.suffix for path in log.parent.iterdir()} == {".log"}  # scratch is gone
    monkeypatch.delenv("RECORDED_ALIGNER_FAULT")
    before = set(bitext.iterdir())
    done = align(bitext, "--aligner", "giza", "--set", f"bin_dir={bitext / 'bin'}")
    assert set(bitext.iterdir()) - before == {bitext / "links"}


def test_check_prints_precision_recall_and_error_rate(tmp_path):
    # A = {0-0, 1-1, 2-2} and {}, S = {0-0, 1-1} and {3-3}, P = S + {2-1}:
    # precision 2/3, recall 2/3, AER 1 - (2 + 2) / (3 + 3).
    (tmp_path / "links").write_text("0-0 1-1 2-2\n\n")
    (tmp_path / "gold").write_text("0-0 1-1 2?1\n3-3\n")
    done = run("align", "--check", tmp_path / "links", "--gold", tmp_path / "gold")
    assert done.stdout == "precision 0.6667\nrecall    0.6667\nAER       0.3333\n"
    assert done.stderr == "2 pairs, 3 links; gold: 3 sure, 1 only possible\n"


@pytest.mark.parametrize(
    ("links", "gold", "base"),
    [
        ("7\t0-0 1-1\n9\t0-0\n8\t\n", "7\t1-1 2p2\n8\t1-2\n9\t1-1\n", 1),  # SimAlign's
        ("0-0 1-1\n\n0-0\n", "0001 1 1\n0001 2 2 P\n2 1 2 S 0.9\n0003 1 1 S\n2 0 1 S\n", 0),
        ("0-0 1-1\n\n0-0\n", "0001 1 1\n0001 2 2 P\n2 1 2 S 0.9\n0003 1 1 S\n2 0 1 S\n", 1),
        ("1 1 1\n1 2 2\n3 1 1\n", "0-0 1?1\n0-1\n0-0\n", 0),
    ],
)
def test_check_reads_gold_links_of_simalign_and_of_wpt(tmp_path, links, gold, base):
    # A = {0-0, 1-1}, {}, {0-0}; S = {0-0}, {0-1}, {0-0}, P = S + {1-1}: AER 1 - (2 + 3) / (3 + 3).
    (tmp_path / "links").write_text(links)
    (tmp_path / "gold").write_text(gold)
    files = ("--check", tmp_path / "links", "--gold", tmp_path / "gold", "--gold-base", base)
    assert run("align", *files).stdout == "precision 1.0000\nrecall    0.6667\nAER       0.1667\n"


@pytest.mark.parametrize(
    ("links", "gold", "rates"),
    [
        ("", "0?0", "\u2013\u2013\u2013"),
        ("", "0-0", "\u201301"),
        ("0-0", "", "0\u20131"),
        ("", "", "\u2013\u2013\u2013"),
    ],
)
def test_check_shows_a_dash_for_a_quotient_of_no_links(tmp_path, links, gold, rates):
    (tmp_path / "links").write_text(f"{links}\n")
    (tmp_path / "gold").write_text(f"{gold}\n")
    done = run("align", "--check", tmp_path / "links", "--gold", tmp_path / "gold")
    shown = [line.split()[1].removesuffix(".0000") for line in done.stdout.splitlines()]
    assert "".join(shown) == rates


@pytest.mark.parametrize(
    ("links", "gold", "message"),
    [
        ("0-0\n", "0-0\n\n", "links: 1 line, {0}/gold has 2"),
        ("0-0\n0_0\n", "\n\n", "links:2: found '0_0', expected source-target positions"),
        ("", "", "links and {0}/gold: no line; expected one of links for each pair"),
        ("0-0\n", "0:0\n", "gold:1: found '0:0', expected 0-0 (a sure link), 0?0 or 0p0"),
    ],
)
def test_check_ends_on_a_fault_in_one_line(tmp_path, links, gold, message):
    (tmp_path / "links").write_text(links)
    (tmp_path / "gold").write_text(gold)
    done = run("align", "--check", tmp_path / "links", "--gold", tmp_path / "gold", status=1)
    [line] = done.stderr.splitlines()
    assert message.format(tmp_path) in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--source, --target, --out missing (or --check and --gold)"),
        (["--check", "FILE"], "--check LINKS and --gold GOLD go together"),
        (["--gold", "FILE"], "--check LINKS and --gold GOLD go together"),
        (["--check", "FILE", "--gold", "FILE", "--out", "x"], "--out does not go with --check"),
        (["--check", "FILE", "--gold", "FILE", "--set", "a=b"], "--set does not go with --check"),
    ],
)
def test_wrong_usage_of_align(tmp_path, options, message):
    (tmp_path / "file").write_text("")
    done = run(
        "align",
        *(str(tmp_path / "file") if word == "FILE" else word for word in options),
        status=2,
    )
    assert message in done.stderr


def test_gold_links_that_count_from_one_are_told_and_read(tmp_path):
    (tmp_path / "links").write_text("0-0 1-1\n0-1 1-0\n0-0\n")
    (tmp_path / "gold").write_text("1-1 2-2\n1-2 2-1\n1-1\n")
    given = ("align", "--check", tmp_path / "links", "--gold", tmp_path / "gold")
    told = run(*given)
    assert "gold: no link has a 0: do its positions count from 1? --gold-base 1" in told.stderr
    right = run(*given, "--gold-base", 1)
    assert "AER       0.0000" in right.stdout
    assert "warning" not in right.stderr
    fault = run("align", "--check", tmp_path / "links", "--gold", tmp_path / "links",
                "--gold-base", 1, status=1)  # fmt: skip
    assert "found '0-0', but gold links are to count from 1" in fault.stderr
