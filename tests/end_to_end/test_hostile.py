"""Hostile and damaged input ends with one line that names it; nothing hangs, nothing is lost."""

import gzip
import importlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from aligners._folders import make_folder
from aligners._python import module_path
from metrics._base import Vocabulary
from tests.support.annotation_models import udpipe
from tests.support.cli import fault, run
from tests.support.places import ROOT
from tests.support.run_folders import REFERENCE, write_corpus, write_lines, write_run
from tuner import commands as tuner_commands
from tuner.annotation.cache import FILE, AnnotationCache, line_key
from tuner.cli import main
from tuner.components import registry
from tuner.errors import InputError
from tuner.evaluation.human_scores import read_human_scores
from tuner.evaluation.humaneval.sheets import read_xlsx
from tuner.nbest.read import read_nbest

PORTMERT = [sys.executable, "-m", "portmert"]
CONFIG = ROOT / "configs" / "recorded.toml"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


# Statistics and numbers.

FEATURES = "FEATURES_TXT_BEGIN_0 0 2 1 LM_0\n1 \n2 \nFEATURES_TXT_END_0\n"
SCORES = "SCORES_TXT_BEGIN_0 0 2 9 BLEU\n3 5 2 4 2 3 1 2 5 \n{row}\nSCORES_TXT_END_0\n"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("-1 5 2 4 2 3 1 2 5", "hypothesis 2: matched_1 is -1, which is negative"),
        ("3 5 2 4 4 3 1 2 5", "hypothesis 2: matched_3 is 4, which is above total_3"),
        ("2.5 5 2 4 2 3 1 2 5", "hypothesis 2: matched_1 is 2.5, which is no whole number"),
        ("3 1e18 2 4 2 3 1 2 5", "hypothesis 2: total_1 is 1e+18, which is larger than any count"),
        ("3 5 2 4 2 3 1 2 -5", "hypothesis 2: ref_len is -5, which is negative"),
    ],
)
def test_impossible_statistics_are_refused(tmp_path, row, said):
    features = write(tmp_path / "features.dat", FEATURES)
    scores = write(tmp_path / "scores.dat", SCORES.format(row=row))
    out = tmp_path / "weights.json"
    assert said in fault(
        "optimize", "--features", features, "--scores", scores, "--metric", "bleu", "--out", out
    )
    assert not out.exists()


@pytest.mark.parametrize("value", ["1e31", "-1e155", "1e999", "9" * 40])
def test_features_too_large_to_calculate_with_are_refused(tmp_path, value):
    nbest = write(tmp_path / "nbest", f"0 ||| a ||| LM= 1 ||| 0\n0 ||| b ||| LM= {value} ||| 0\n")
    reference = write(tmp_path / "ref", "a\n")
    out = tmp_path / "weights.json"
    said = fault(
        "optimize", "--nbest", nbest, "--ref", reference, "--metric", "bleu", "--out", out
    )
    assert "nbest:2: feature LM is " in said
    assert "values must be finite, none beyond 1e+30" in said


def test_weights_too_large_to_calculate_with_are_refused(tmp_path):
    nbest = write(tmp_path / "nbest", "0 ||| a ||| LM= 10 ||| 0\n0 ||| b ||| LM= 1 ||| 0\n")
    weights = write(tmp_path / "weights.json", '{"weights": {"LM": 1e308}}')
    assert "weight of LM is 1e+308; weights must be finite" in fault(
        "rerank", "--nbest", nbest, "--weights", weights
    )


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("1e999*bleu", "the number is 1e999, expected one that is finite"),
        ("*".join(["1e30"] * 20) + "*bleu", "its numbers multiply beyond all bounds"),
        pytest.param("+".join(["1*bleu"] * 3000), "more than 400 numbers, metrics", id="terms"),
    ],
)
def test_formulas_beyond_all_bounds_are_refused(tmp_path, formula, said):
    text = write(tmp_path / "text", "a\n")
    shown = run("score", "--metric", formula, "--hyp", text, "--ref", text, status=1).stderr
    assert said in shown
    assert len(shown) < 500


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("tune.prior=inf", "is inf, expected a finite number"),
        ("tune.nbest=1000000000000000000000", "expected a number of at most 9223372036854775807"),
        pytest.param("tune.nbest=" + "1" * 5000, "a number has thousands of digits", id="digits"),
        ('tune.output="a\\u0000b"', "has a NUL character"),
        pytest.param("x" + ".x" * 100_000 + "=1", "there is no table [x]", id="dots"),
        ("optimizer.effort=1e99", "is 1e+99, expected a finite number"),
        pytest.param(f'decoder.lists=["{"a" * 300}"]', "[decoder] lists: there is no", id="lists"),
        pytest.param(f'data.source="{"a" * 300}"', "[data] source: there is no", id="source"),
    ],
)
def test_settings_no_machine_can_hold_are_refused(override, said):
    shown = fault("tune", CONFIG, "--set", override)
    assert said in shown
    assert len(shown) < 500


@pytest.mark.parametrize(
    "words",
    [["compare", "{}", "b"], ["report", "{}"], ["tune", "{}"],
     ["score", "--metric", "bleu", "--hyp", "{}", "--ref", "b"]],
    ids=lambda words: words[0],
)  # fmt: skip
def test_names_no_disk_can_hold_are_refused(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    name = "/".join(["a" * 300, "b"])
    result = CliRunner().invoke(main, [word.replace("{}", name) for word in words])
    assert result.exit_code in (1, 2), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert len(result.stderr) < 2000


def test_options_no_machine_can_hold_are_refused(tmp_path):
    text = write(tmp_path / "text", "a\n")
    said = fault("compare", f"a={text}", f"b={text}", "--ref", text, "--samples", 10**21, status=2)
    assert "--samples" in said
    nbest = write(tmp_path / "nbest", "0 ||| a ||| LM= 10 ||| 0\n")
    given = ("--metric", "bleu", "--out", tmp_path / "out", "--set", f"restarts={10**21}")
    assert f"restarts is {10**21}, at most" in fault(
        "optimize", "--nbest", nbest, "--ref", text, *given
    )


# What ended in a traceback.


def test_toml_with_brackets_nested_deep_is_refused(tmp_path):
    config = write(tmp_path / "deep.toml", "a = " + "[" * 1200 + "]" * 1200)
    assert "deep.toml: not TOML: brackets are nested too deep" in fault("tune", config)


def test_half_a_surrogate_pair_is_refused(tmp_path):
    nbest = write(tmp_path / "l.jsonl", '{"id": 0, "text": "a \\ud800", "features": {"LM": 1}}\n')
    weights = write(tmp_path / "weights.json", '{"weights": {"LM": 1}}')
    assert "l.jsonl:1: not JSON: \\ud800 is half of a surrogate pair" in fault(
        "rerank", "--nbest", nbest, "--nbest-format", "jsonl", "--weights", weights
    )


def test_names_that_are_not_utf8_are_shown_and_written(tmp_path):
    text = write_lines(tmp_path / os.fsdecode(b"\xff.txt"), REFERENCE)
    outputs = [tmp_path / "out.html", tmp_path / "out.json", tmp_path / "out.tex"]
    given = ["--ref", text, "--samples", "10", "--html", outputs[0]]
    given += ["--json", outputs[1], "--latex", outputs[2]]
    done = subprocess.run(
        [*PORTMERT, "compare", f"{text.stem}={text}", f"b={text}", *given],
        capture_output=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert b"\xff" in done.stdout
    assert all(path.read_text(encoding="utf-8") for path in outputs)
    assert '"name": "?"' in outputs[1].read_text(encoding="utf-8")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")  # noqa: PTH110
@pytest.mark.parametrize("words", [["--version"], ["components"], ["components", "--json"]])
def test_a_full_disk_behind_stdout_is_one_line(words):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [*PORTMERT, *words],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == (
        "portmert: error: standard output or a temporary file: cannot write: No space left on "
        "device\n"
    )


@pytest.mark.parametrize("fault_of", [MemoryError("Unable to allocate 9 TiB"), RecursionError()])
def test_what_the_machine_lacks_is_one_line(tmp_path, monkeypatch, fault_of):
    from tuner.texts import corpus

    def exhausted(*_, **__):
        raise fault_of

    monkeypatch.setattr(corpus, "read_lines", exhausted)
    text = write(tmp_path / "text", "a\n")
    said = fault("score", "--metric", "bleu", "--hyp", text, "--ref", text)
    assert "(in tuner.texts.corpus." in said
    assert len(said.splitlines()) == 1


# Damaged folders of runs, and caches.


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "run"
    few = ["tune.iterations=2", "tune.nbest=5", f"tune.output={folder}"]
    run("tune", CONFIG, *[word for setting in few for word in ("--set", setting)])
    return folder, few


DAMAGE = {
    "not UTF-8": lambda data: b"\xff" + data,
    "nothing": lambda _: b"",
    "half": lambda data: data[: len(data) // 2],
    "no object": lambda _: b"[]",
    "no key": lambda _: b"{}",
    "nested": lambda _: b'{"a":' * 900 + b"1" + b"}" * 900,
    "too deep": lambda _: b"[" * 100_000,
    "values of a wrong type": lambda data: json.dumps(
        {key: {"x": []} for key in json.loads(data)}
    ).encode(),
}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("state.json", ["tune", "report"]),
        ("result.json", ["report"]),
        ("iteration-01/scores.json", ["tune", "report"]),
        ("iteration-01/optimized.json", ["tune", "report"]),
        ("iteration-01/weights.json", ["report"]),
    ],
)
def test_damaged_files_of_a_run_are_named(finished, tmp_path, kind, name, commands):
    folder, few = finished
    run_folder = tmp_path / "run"
    shutil.copytree(folder, run_folder)
    damaged = run_folder / name
    damaged.write_bytes(DAMAGE[kind](damaged.read_bytes()))
    before = damaged.read_bytes()
    given = [*few[:-1], f"tune.output={run_folder}"]
    words = {
        "tune": ["tune", CONFIG, *[word for setting in given for word in ("--set", setting)]],
        "report": ["report", run_folder],
    }
    for command in commands:
        if (command, name, kind) == ("report", "state.json", "values of a wrong type"):
            continue  # its texts are compared only where the run goes on
        said = run(*words[command], status=1).stderr.splitlines()[-1]
        assert said.startswith(f"portmert: error: {damaged}"), said
    assert damaged.read_bytes() == before


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_report_without_what_the_run_read_says_why(finished, tmp_path, kind):
    shutil.copytree(finished[0], tmp_path / "run")
    damaged = tmp_path / "run" / "inputs.json"
    damaged.write_bytes(DAMAGE[kind](damaged.read_bytes()))
    said = run("report", tmp_path / "run").stdout
    assert f"no further dev scores and no error surface: {damaged}: not what portmert" in said


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_files_of_compared_runs_are_named(tmp_path, kind):
    write_corpus(tmp_path)
    folders = [write_run(tmp_path, name, [REFERENCE]) for name in ("one", "two")]
    for name in ("state.json", "inputs.json", "result.json"):
        damaged = folders[0] / name
        whole = damaged.read_bytes()
        damaged.write_bytes(DAMAGE[kind](whole))
        said = fault("compare", *folders, "--samples", "10")
        assert str(damaged) in said or name not in said
        damaged.write_bytes(whole)


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_results_that_are_kept_are_made_again(finished, tmp_path, kind):
    shutil.copytree(finished[0], tmp_path / "run")
    first = run("report", tmp_path / "run", "--html", tmp_path / "1.html").stdout
    kept = sorted((tmp_path / "run" / "history").iterdir())
    assert kept
    whole = [path.read_bytes() for path in kept]
    for path, data in zip(kept, whole, strict=True):
        path.write_bytes(DAMAGE[kind](data))
    assert run("report", tmp_path / "run", "--html", tmp_path / "2.html").stdout == first
    assert [path.read_bytes() for path in kept] == whole
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()


SCHEMAS = [
    "UPDATE sqlite_master SET sql = 'nonsense' WHERE name = 'words'",
    "UPDATE sqlite_master SET rootpage = 99999 WHERE name = 'kinds'",
    "UPDATE sqlite_master SET sql = NULL WHERE name = 'lists'",
    "UPDATE sqlite_master SET sql = cast(x'ff' AS TEXT) || sql WHERE name = 'words'",
]


@pytest.mark.parametrize("statement", SCHEMAS)
def test_a_cache_with_a_damaged_schema_is_named_and_made_anew(tmp_path, statement):
    cache = AnnotationCache(tmp_path, "x 1", notice=lambda _: None)
    cache.put([(line_key("a"), {"tags": b"tags"})])
    cache.close()
    database = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    database.execute("PRAGMA writable_schema = 1")
    database.execute(statement)
    database.close()
    damaged = (tmp_path / FILE).read_bytes()
    said = fault("cache", "info", "--annotation-cache", tmp_path)
    assert str(tmp_path / FILE) in said
    assert "`portmert cache clear` deletes it" in said
    notices = []
    cache = AnnotationCache(tmp_path, "x 1", notice=notices.append)
    assert cache.get(["tags"], [line_key("a")]) == {"tags": [None]}
    cache.close()
    assert len(notices) == 1
    (tmp_path / FILE).write_bytes(damaged)
    run("cache", "clear", "--annotation-cache", tmp_path)
    run("cache", "info", "--annotation-cache", tmp_path)


# Memory and time far beyond the input.


def test_a_small_file_of_much_content_is_refused(tmp_path):
    text = tmp_path / "bomb.gz"
    text.write_bytes(gzip.compress(bytes(200 << 20)))
    assert "bomb.gz: the compressed content is more than 200 times the file" in fault(
        "score", "--metric", "bleu", "--hyp", text, "--ref", text
    )


@pytest.mark.parametrize("cell", ["XFD2", "A1048576", "XFD1048576"])
def test_a_far_cell_of_a_spreadsheet_costs_nothing(tmp_path, cell):
    from openpyxl import Workbook

    path = tmp_path / "far.xlsx"
    book = Workbook()
    sheet = book.worksheets[0]
    for column, name in enumerate(("item", "answer", "judge"), 1):
        sheet.cell(1, column).value = name
    sheet[cell] = "x"
    book.save(path)
    begin = time.process_time()
    assert [row for _, row in read_xlsx(path, path.read_bytes())] == (
        [{"item": "x", "answer": "", "judge": ""}] if cell == "A1048576" else
        [{"item": "", "answer": "", "judge": ""}]
    )  # fmt: skip
    assert time.process_time() - begin < 20


def test_a_spreadsheet_that_unpacks_to_far_more_is_refused(tmp_path):
    path = tmp_path / "large.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", bytes(40 << 20))
    with pytest.raises(InputError, match="unpacks to 41943040 bytes"):
        list(read_xlsx(path, path.read_bytes()))


def test_a_slip_in_a_segment_does_not_ask_for_all_memory(tmp_path):
    rows = [f"s{n}\t0\t1" for n in range(3000)] + ["s0\t9999999\t1"]
    path = write_lines(tmp_path / "human.tsv", ["system\tsegment\tscore", *rows])
    with pytest.raises(InputError, match="one is of segment 9999999; is that number a slip"):
        read_human_scores(path)


def test_a_metric_program_that_never_ends_a_line_is_stopped(tmp_path):
    text = write(tmp_path / "text", "a\n")
    said = fault("score", "--metric", "command:cat /dev/zero", "--hyp", text, "--ref", text)
    assert "wrote a line of more than 1048576 bytes" in said or "nobody asked for" in said


def test_what_a_metric_program_says_stays_one_line(tmp_path):
    code = "import sys; input(); sys.exit('one\\r\\n\\x1b[2Jtwo\\u2028three\\x85four')"
    program = write(tmp_path / "program.py", code)
    text = write(tmp_path / "text", "a\n")
    command = f"command:{sys.executable} {program}"
    said = fault("score", "--metric", command, "--hyp", text, "--ref", text)
    assert len(said.splitlines()) == 1
    assert "\x1b" not in said


def test_time_grows_with_sparse_features_and_not_with_their_square(tmp_path):
    def seconds(count):
        sparse = " ".join(f"s_{number}= 1" for number in range(count))
        lines = [f"0 ||| a ||| LM= 1 {sparse} ||| 0", "0 ||| b ||| LM= 2 ||| 0"]
        path = write_lines(tmp_path / "nbest", lines)
        begin = time.process_time()
        read = read_nbest([path], Vocabulary(), notice=lambda _: None)
        assert len(read.sparse.names) == count
        return time.process_time() - begin

    seconds(10)
    assert seconds(200_000) < 20 * seconds(20_000) + 2


@pytest.mark.parametrize("metric", ["meteor", "ribes", "ter", "terp", "1 - 0.5*ter"])
@pytest.mark.parametrize("side", ["hypothesis", "reference"])
def test_a_line_longer_than_a_metric_can_compare_is_named(tmp_path, metric, side):
    short = write(tmp_path / "short", "a\na\n")
    long = write(tmp_path / "long", "a\n" + "a " * 20_000 + "\n")
    texts = (long, short) if side == "hypothesis" else (short, long)
    said = fault("score", "--metric", metric, "--hyp", texts[0], "--ref", texts[1])
    assert f"segment 1 (counted from 0): a {side} of 20000 tokens" in said


@pytest.mark.parametrize("kind", ["a" * 10**6, "'" + "b" * 10**5, "/" + "c" * 10**5])
def test_long_tokens_are_cut_in_messages(tmp_path, kind):
    nbest = write(tmp_path / "nbest", f"0 ||| a ||| LM= {kind} ||| 0\n")
    links = write(tmp_path / "links", f"{kind}\n")
    text = write(tmp_path / "text", "a\n")
    out = tmp_path / "out"
    for said in (
        fault("rerank", "--nbest", nbest, "--weights", nbest),
        fault("optimize", "--nbest", nbest, "--ref", text, "--metric", "bleu", "--out", out),
        run("score", "--metric", kind, "--hyp", text, "--ref", text, status=1).stderr,
        fault("score", "--metric", "port", "--hyp", text, "--ref", text, "--source", text,
              "--hyp-links", links, "--ref-links", links),
        fault("tune", CONFIG, "--set", f"tune.seed={kind}"),
        fault("tune", CONFIG, "--set", f"decoder.{kind}=1"),
    ):  # fmt: skip
        assert len(said) < 2000, said[:300]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tsv", "id\t" + "a " * 3000 + "\n0\tx\n"),
        ("jsonl", '{"id": 0, "text": "a", "features": {"' + "a " * 3000 + '": 1}}\n'),
    ],
)
def test_long_names_of_columns_are_cut_in_messages(tmp_path, name, text):
    nbest = write(tmp_path / "list", text)
    weights = write(tmp_path / "weights.json", '{"weights": {"LM": 1}}')
    said = fault("rerank", "--nbest", nbest, "--nbest-format", name, "--weights", weights)
    assert len(said) < 2000
    assert "list" in said


@pytest.mark.parametrize("side", ["links", "gold"])
def test_links_of_thousands_of_digits_are_refused(tmp_path, side):
    texts = {name: write(tmp_path / name, "0-0\n") for name in ("links", "gold")}
    write(texts[side], f"0-{'1' * 5000}\n")
    said = fault("align", "--check", texts["links"], "--gold", texts["gold"])
    assert f"{side}:1: found '0-111" in said
    assert len(said) < 500


def test_a_constraint_on_a_value_of_thousands_of_digits_is_refused(tmp_path):
    nbest = write(tmp_path / "nbest", "0 ||| a ||| LM= 10 ||| 0\n0 ||| b ||| LM= 1 ||| 0\n")
    text = write(tmp_path / "text", "a\n")
    given = ("--nbest", nbest, "--ref", text, "--metric", "bleu", "--out", tmp_path / "out")
    said = fault("optimize", *given, "--fix", f"LM_{'1' * 5000}")
    assert "constraint on unknown feature 'LM_111" in said
    assert len(said) < 500


@pytest.mark.parametrize("space", [" ", "\r", "\x0b", "  "])
def test_white_space_before_a_hypothesis_is_no_token(tmp_path, space):
    nbest = write(tmp_path / "list", f"hyp\tid\tLM\n{space}a b\t0\t1\n{space}\t0\t2\n")
    read = read_nbest([nbest], Vocabulary(), reader=registry.reader("tsv"))
    assert [read.texts.words(row) for row in range(2)] == [["a", "b"], []]


# Nothing hijacked, nothing ignored.


def test_rerank_does_not_overwrite_what_it_reads(tmp_path):
    nbest = write(tmp_path / "nbest", "0 ||| a ||| LM= 1 ||| 0\n")
    weights = write(tmp_path / "weights.json", '{"weights": {"LM": 1}}')
    given = ("rerank", "--nbest", nbest, "--weights", weights)
    before = nbest.read_bytes()
    other = tmp_path / "link"
    other.symlink_to(nbest)
    for words in (["--out", nbest], ["--out", other], ["--links-out", nbest], ["--out", weights]):
        assert "which it would overwrite" in fault(*given, *words, status=2)
    assert nbest.read_bytes() == before


def test_compare_reads_the_output_that_it_requires(tmp_path):
    write_corpus(tmp_path)
    folders = [write_run(tmp_path, name, [REFERENCE]) for name in ("one", "two")]
    output = folders[1] / "test" / "output.txt"
    lines = output.read_text().splitlines()
    write_lines(output, [*lines[:2], "other words", *lines[3:]])
    assert f"{output}:3: not the first hypothesis of the segment in" in fault(
        "compare", *folders, "--samples", "10"
    )


def test_a_list_that_was_damaged_since_shows_no_old_numbers(finished, tmp_path):
    shutil.copytree(finished[0], tmp_path / "run")
    run("report", tmp_path / "run")
    nbest = tmp_path / "run" / "iteration-01" / "nbest.gz"
    nbest.write_bytes(nbest.read_bytes()[:-20])
    assert f"{nbest}: the compressed stream is damaged or cut off" in fault(
        "report", tmp_path / "run"
    )


def test_score_tells_of_tokens_that_no_reference_has(tmp_path):
    output = write_lines(tmp_path / "output", [f"x{n} y{n} z{n}" for n in range(100)])
    reference = write_lines(tmp_path / "reference", ["a b c"] * 100)
    said = run("score", "--metric", "bleu", "--hyp", output, "--ref", reference).stderr
    assert "100 % of the hypotheses' tokens stand in no reference" in said


def test_keys_that_stand_twice_are_refused(tmp_path):
    nbest = write(tmp_path / "l.jsonl", '{"id": 0, "text": "a", "text": "b", "features": {}}\n')
    weights = write(tmp_path / "weights.json", '{"weights": {"LM": 1}}')
    given = ("--nbest", nbest, "--nbest-format", "jsonl", "--weights", weights)
    assert "l.jsonl:1: not JSON: the key 'text' stands twice" in fault("rerank", *given)


SHADOWS = ["json", "re", "os", "sys", "subprocess", "numpy", "thot", "ufal", "tuner", "aligners",
           "metrics", "portmert", "numba", "sitecustomize", "sqlite3", "gzip"]  # fmt: skip


@pytest.fixture
def hostile_folder(tmp_path):
    """Make a folder of modules that tell when they are run."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in SHADOWS:
        write(folder / f"{name}.py", f"open({str(tmp_path / 'hijacked')!r}, 'a').write('{name} ')")
    source = [f"{a} {b} c" for a, b in zip("abcdefghij", "klmnopqrst", strict=True)] * 3
    write_lines(folder / "source", source)
    write_lines(folder / "target", [line.upper() for line in source])
    return folder


def commands():
    folder = Path(tuner_commands.__file__).parent
    return sorted(path.stem.replace("_", "-") for path in folder.glob("[!_]*.py"))


def test_no_command_runs_a_module_of_the_current_folder(hostile_folder, tmp_path):
    programs = Path(sys.executable).parent
    script = [sys.executable, "-P", "-m", "portmert"]
    environment = {
        **os.environ,
        "PORTMERT_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(ROOT),
        "PATH": f"{programs}:{os.environ['PATH']}",
    }
    text = ["--in", "source", "--out", "trees.conllu", "--annotator", f"udpipe:model={udpipe()}"]
    few = [
        "tune.iterations=1",
        "tune.nbest=5",
        "optimizer.name=mert",
        "optimizer.effort=1",
        f"tune.output={tmp_path / 'run'}",
    ]
    few += ["data.reference_links=[]", "aligner.name=thot", "aligner.model=ibm1"]
    calls = [[name, "--help"] for name in commands()]
    calls += [
        ["align", "--source", "source", "--target", "target", "--out", "links",
         "--set", "model=ibm1"],
        ["annotate", *text, "--processes", "2"],
        ["score", "--metric", "bleu", "--hyp", "source", "--ref", "target"],
        ["tune", str(CONFIG), *[word for setting in few for word in ("--set", setting)]],
    ]  # fmt: skip
    for words in calls:
        done = subprocess.run(
            [*script, *words], cwd=hostile_folder, env=environment, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (words, done.stderr)
        assert not (tmp_path / "hijacked").exists(), words


def test_processes_do_not_get_the_current_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), "", *sys.path, str(tmp_path / "kept")])
    found = module_path().split(os.pathsep)
    assert str(tmp_path) not in found
    assert "" not in found
    assert str(tmp_path / "kept") in found
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [str(ROOT)])
    assert module_path() == str(ROOT)


# What is left behind, and what takes a process along.


def test_what_a_killed_training_left_is_removed_and_what_runs_is_not(tmp_path):
    folder = tmp_path / "model"
    code = (
        "import sys, time, pathlib; from aligners._folders import make_folder\n"
        "def make(folder): print(folder, flush=True); time.sleep(60)\n"
        f"make_folder(pathlib.Path({str(folder)!r}), {{}}, make)\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(2)
    ]
    parts = [Path(process.stdout.readline().strip()) for process in processes]
    processes[0].kill()
    processes[0].wait()
    assert all(part.is_dir() for part in parts)
    other = tmp_path / ".models.01234567.part"
    other.mkdir()
    make_folder(folder, {}, lambda _: {})
    assert not parts[0].exists()
    assert parts[1].is_dir()
    assert other.is_dir()
    processes[1].kill()
    for process in processes:
        process.wait()
        process.stdout.close()


def test_a_model_that_ends_the_library_does_not_end_the_command(tmp_path, monkeypatch):
    model = write(tmp_path / "bad.udpipe", "no model")
    text = write(tmp_path / "text", "a b\n")
    package = tmp_path / "modules" / "ufal"
    package.mkdir(parents=True)
    write(package / "__init__.py", "")
    write(package / "udpipe.py", "import os\nclass Model:\n    load = lambda path: os.abort()\n")
    importlib.import_module("ufal.udpipe")  # the real one, in this process
    monkeypatch.setattr(sys, "path", [str(tmp_path / "modules"), *sys.path])
    out = tmp_path / "out.conllu"
    said = fault(
        "annotate", "--annotator", f"udpipe:model={model}", "--in", text, "--out", out,
        "--processes", "1", "--annotation-cache", tmp_path / "cache",
    )  # fmt: skip
    assert f"its process does not start with {model}: it ended with signal 6" in said
    assert sorted(path.name for path in tmp_path.glob("*out*")) == []
    assert not list(tmp_path.glob(".*.part"))
