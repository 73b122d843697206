"""Any path goes into any option that names a file, and every such option takes stdin and pipes.

Each option is given a file that nothing can read. It must say the same of it under any name.
"""

import os
import re
import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from portmert.tuner.cli import main
from portmert.tuner.ground.options import quoted
from tests.end_to_end.test_nothing_is_ignored import CALLS, TEST, R, commands
from tests.support.cli import fault

ODD = 'lr=0.1, ws@2+x:y#/it\'s #1 "ü" (b)*.txt'
GARBAGE = b"a\n\xff\n"
FORMS = {
    "NAME=FILE[,FILE...]": ["x={0},{0},{0}"],
    "NAME=FILE|NAME=METRIC@FILE|length|ratio|mbr:METRIC": ["x={}", "x=chrf@{}"],
    "NAME=FILE|...": ["x={}", "x=chrf@{}"],
    "NAME=FILE[#KEY]": ["x={}", "x={}#key"],
    "FILE[#KEY]": ["{}", "{}#key"],
    "A B [C ...]": ["a={}"],
    "A": ["a={}"],
    "B": ["b={}"],
    "METRIC": ["scores:{}", "m2:{}"],
    "NAME[:OPTION=VALUE,...]": {
        "metric": ["scores:{}", "m2:{}"],
        "format": ["kaldi:ac={}"],
        "test_format": ["kaldi:ac={}"],
        "annotator": ["conllu:files={}"],
    },
}
"""How a path is written into options that are texts, by the metavar."""
SOURCE = ["--source", R / "dev.src"]
REPLICAS = ["--replicas", 1, "--out-dir", "tuned", *TEST]
BESIDE = {
    "compare --links": SOURCE,
    "score --ref-links": SOURCE,
    "score --hyp-links": SOURCE,
    "metaeval --ref-links": SOURCE,
    "rerank --ref": ["--oracle", "bleu"],
    "rerank --source": ["--oracle", "bleu", "--ref", R / "dev.tgt"],
    "rerank --ref-links": ["--oracle", "bleu", "--ref", R / "dev.tgt", *SOURCE],
    "rerank-tune --ref-links": SOURCE,
    "rerank-tune --test-ref-links": [*SOURCE, "--test-source", R / "dev.src"],
    "optimize --ref-links": SOURCE,
    "crossval --ref-links": SOURCE,
    "optimize --test-nbest": REPLICAS,
    "optimize --test-nbest-format": REPLICAS,
    "optimize --test-ref": REPLICAS,
    "optimize --test-source": REPLICAS,
    "optimize --test-ref-links": [*REPLICAS, *SOURCE, "--test-source", R / "dev.src"],
    "optimize --test-feature": [*REPLICAS, "--feature", "x=numbers"],
}
"""What else an option needs, that it may be read."""
NOT_READ = re.compile(
    # Metrics of lists and of gold edits have calls of their own, in tests/tuner/components.
    r"(scores|m2):|--text-model|--annotator|--test-answers"
    # Files that others must make first, see the tests of these commands.
    r"|^(report|reproduce|optimize-dat|humaneval read|annotate train|metric-train --published)"
    r"|^align --(train|check|gold)|^metaeval --sets|^average --nbest"
)


def is_input(option):
    is_file = isinstance(option.type, click.Path) and option.type.file_okay
    return is_file and not re.search(r"out$|^folder$", option.name)


def cases():
    """Yield command, option and the form of its text."""
    for name, command in commands():
        for option in command.params if name in CALLS else ():
            forms = ["{}"] if is_input(option) else FORMS.get(option.metavar, ())
            if isinstance(forms, dict):
                forms = forms.get(option.name, ())
            for form in forms:
                yield pytest.param(name, option, form, id=f"{name} {option.opts[-1]} {form}")


def said(name, option, text, **rest):
    """Return what a command says of this value of an option."""
    call = [str(word) for word in CALLS[name]]
    at = option.opts[-1]
    if isinstance(option, click.Argument):
        number = 1 if option.name == "second" else 0
        call[number] = text
    elif at in call:
        call[call.index(at) + 1] = text
    else:
        call += [at, text]
    call += map(str, BESIDE.get(f"{name} {at}", ()))
    if "--replicas" in call and "--out" in call:
        del call[call.index("--out") : call.index("--out") + 2]
    made = f"tune.output={Path.cwd() / 'run'}"  # else it is relative to the configuration's folder
    words = [made if word == "tune.output=run" else word for word in [*name.split(), *call]]
    result = CliRunner().invoke(main, words, prog_name="portmert", catch_exceptions=False, **rest)
    return result.exit_code, "\n".join(
        line for line in result.stderr.splitlines() if "error: " in line.lower()
    )


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("garbage").write_bytes(GARBAGE)
    for name in ("first.json", "second.json"):
        shutil.copy(R / "start.json", name)
    lines = (R / "dev.tgt").read_text().splitlines()
    Path("numbers").write_text("".join(f"{n}\n" for n in range(2178)))
    Path("outputs").mkdir()
    rows = ["system\tsegment\tdocument\tscore\n"]
    for rank, system in enumerate("xyz"):
        shutil.copy(R / "dev.tgt", f"outputs/{system}.en")
        rows += [f"{system}\t{s}\td{s // 2}\t{-rank - s}\n" for s in range(len(lines))]
    Path("human").write_text("".join(rows))


def expected_of(name, option, form):
    """Return what is said of a file that nothing can read."""
    if NOT_READ.search(f"{name} {option.opts[-1]} {form}"):
        pytest.skip("the option needs other files to be read")
    expected = said(name, option, form.format("garbage"))
    assert "garbage" in expected[1], expected
    return expected


def renamed(expected, path):
    return expected[0], expected[1].replace("garbage", path)


def plain(result):
    """Return a result without the folder of a copy, which programs of others may name."""
    return result[0], re.sub(r"/\S*/portmert-[^/]+/[0-9]+/|/dev/fd/", "", result[1])


@pytest.mark.parametrize(("name", "option", "form"), list(cases()))
def test_option_reads_stdin_and_pipes(name, option, form):
    expected = expected_of(name, option, form)
    reading, writing = os.pipe()
    os.write(writing, GARBAGE)
    os.close(writing)
    pipe = f"/dev/fd/{reading}"
    try:
        assert plain(said(name, option, form.format(pipe))) == plain(renamed(expected, pipe))
    finally:
        os.close(reading)
    if form.count("{") == 1:
        found = plain(said(name, option, form.format("-"), input=GARBAGE))
        assert found in (renamed(expected, "stdin"), renamed(expected, "-"))


@pytest.mark.parametrize(("name", "option", "form"), list(cases()))
def test_any_path_goes_into_any_option(name, option, form):
    expected = renamed(expected_of(name, option, form), ODD)
    Path(ODD).parent.mkdir()
    Path(ODD).write_bytes(GARBAGE)
    assert said(name, option, form.format(ODD)) == expected
    if not isinstance(option.type, click.Path):
        assert said(name, option, form.format(quoted(ODD))) == expected


def test_stdin_is_read_once():
    call = ["score", "--metric=bleu", "--hyp=-", "--ref=-"]
    assert "--hyp and --ref: both are stdin" in fault(*call, status=2)
    assert "A B [C ...] and A B [C ...]: both" in fault("compare", "a=-", "b=/dev/stdin", status=2)
