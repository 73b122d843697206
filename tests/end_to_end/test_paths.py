"""Any path goes into any option that names a file, and every such option takes stdin and pipes.

Each option is given a file that nothing can read. It must say the same of it under any name.
"""

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import get_args, get_origin, get_type_hints

import click
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import portmert
from portmert.extensions.neural import comet
from portmert.tuner import families
from portmert.tuner.base.options import quoted
from portmert.tuner.cli import main
from portmert.tuner.components import registry
from tests.end_to_end.test_nothing_is_ignored import CALLS, TEST, R
from tests.support.cli import commands, fault, run

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
    "score --groups": ["--interval"],
    "crossval --ref-links": SOURCE,
    "optimize --test-nbest": REPLICAS,
    "optimize --test-nbest-format": REPLICAS,
    "optimize --test-ref": REPLICAS,
    "optimize --test-source": REPLICAS,
    "optimize --test-ref-links": [*REPLICAS, *SOURCE, "--test-source", R / "dev.src"],
    "optimize --test-feature": [*REPLICAS, "--feature", "x=numbers"],
}
"""What else an option needs, that it may be read."""
IN_PLACE = {"humaneval make --conditions": ["--out", "sheets"]}
"""Calls with an option that stands in place of what the command is called with elsewhere."""
NOT_READ = re.compile(
    # Metrics of lists and of gold edits have calls of their own, in tests/tuner/components.
    r"(scores|m2):|--text-model|--annotator|--test-answers"
    # Files that others must make first, see the tests of these commands.
    r"|^(report|reproduce|optimize-dat|humaneval read|metric-train --published)"
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
    at = option.opts[-1]
    call = [str(word) for word in IN_PLACE.get(f"{name} {at}", CALLS[name])]
    if isinstance(option, click.Argument):
        number = 1 if option.name == "second" else 0
        call[number] = text
    elif at in call:
        call[call.index(at) + 1] = text
    elif "graphs" in at:  # in place of lists
        call += map(str, REPLICAS if f"{name} {at}" == "optimize --test-graphs" else ())
        for part in {at, "--graphs"} | ({"--test-graphs"} if "--test-nbest" in call else set()):
            nbest = part.replace("graphs", "nbest")
            begin = call.index(nbest) if nbest in call else len(call)
            call[begin : begin + 2] = [part, text if part == at else "graphs.plf"]
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
    Path("graphs.plf").write_text("((('a',1.0,1),('b',2.0,1),),)\n" * len(lines))
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
def test_option_reads_any_path_stdin_and_pipes(name, option, form):
    expected = expected_of(name, option, form)
    Path(ODD).parent.mkdir()
    Path(ODD).write_bytes(GARBAGE)
    for path in (ODD,) if isinstance(option.type, click.Path) else (ODD, quoted(ODD)):
        assert said(name, option, form.format(path)) == renamed(expected, ODD)
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


def named_options():
    """Yield family, component and option of all that have a file."""
    for family in ("metric", "aligner", "reader", "annotator", "optimizer"):
        for name in families.own_names(family):
            for option, hint in get_type_hints(families.component(family, name)).items():
                if Path in (hint, *get_args(hint)):
                    yield family, name, option


def test_options_with_files_are_discovered():
    assert {("metric", "meteor"), ("annotator", "udpipe")} <= {
        (f, n) for f, n, _ in named_options()
    }


@pytest.mark.parametrize(("family", "name", "option"), list(named_options()))
@given(path=st.text(min_size=1))
@settings(max_examples=10)
def test_any_path_goes_into_any_component(family, name, option, path):
    text = f"{name}:{option}={quoted(path)}"
    is_repeatable = get_origin(get_type_hints(families.component(family, name))[option]) is tuple
    value = [path] if is_repeatable else path
    assert registry.written(family, text) == (name, {option: value})
    assert registry.written(family, f"{text},x=1") == (name, {option: value, "x": "1"})


@given(first=st.text(min_size=1), second=st.text(min_size=1))
def test_any_path_goes_into_named_files(first, second):
    text = f"kaldi:ac={quoted(first)}+{quoted(second)},lm={quoted(second)}"
    assert registry.reader(text).pairs_of_files() == [
        ("ac", first),
        ("ac", second),
        ("lm", second),
    ]


@pytest.fixture
def two_systems():
    for name in ("lr=0.1", "ws@2"):
        Path(name).mkdir()
        shutil.copy(R / "dev.tgt", f"{name}/h,1.txt")
    return ["--ref", R / "dev.tgt", "--metric", "chrf", "--samples", 10]


def test_compare_reads_folders_of_hydra_and_jenkins(two_systems):
    result = run("compare", "a=lr=0.1/h,1.txt", "b=ws@2/h,1.txt", *two_systems)
    assert "a and b have the same output" in result.stdout.replace("b and a", "a and b")
    paths = {"a": "lr=0.1/h,1.txt", "b": [Path("ws@2/h,1.txt")]}
    found = portmert.compare(
        paths, R / "dev.tgt", metric="chrf", resampling=portmert.Resampling(10)
    )
    assert [one["name"] for one in found.document["systems"]] == ["a", "b"]


def test_compare_reads_pipes_and_stdin_as_files(two_systems):
    call = ["compare", "--no-timing", *map(str, two_systems)]
    expected = run(*call, "a=lr=0.1/h,1.txt", f"b={R / 'dev.src'}").stdout
    reading, writing = os.pipe()
    os.write(writing, (R / "dev.src").read_bytes())
    os.close(writing)
    words = [*call, "a=-", f"b=/dev/fd/{reading}"]
    result = CliRunner().invoke(main, words, input=(R / "dev.tgt").read_bytes())
    os.close(reading)
    assert result.stdout == expected


@pytest.mark.parametrize("name", ["it's/g", 'say "x/g', "a,b'c@2/g", "lr=0.1, x+y (b)*/it's"])
def test_existing_file_wins_in_metrics_from_outside(name, monkeypatch):
    monkeypatch.setattr(comet.Comet, "load", lambda _: None)
    Path(name).parent.mkdir()
    Path(name).write_text("S a b\nA 0 1|||X|||c|||REQUIRED|||-NONE-|||0\n\n")
    for text in (f"m2:{name}", f"m2:{name},beta=1", f"m2:beta=1,{name}"):
        assert registry.metric(text).gold == Path(name)
    assert registry.metric(f"scores:{name},{name}").files == (Path(name), Path(name))
    for text in (f"comet:{name}", f"comet:{name},device=cpu"):
        assert registry.metric(text).model == name
    for prefix in ("command", "command+links"):
        found = registry.metric(f"{prefix}:{name}")
        assert shlex.split(found.command) == [name]
        assert registry.metric(found.signature) == found


def test_unknown_metric_may_be_a_file_that_is_not_there():
    said = fault("rerank", "--nbest", R / "1.nbest.gz", "--weights", R / "start.json",
                 "--feature", "q=ws@2/s.txt")  # fmt: skip
    assert "unknown metric 'ws'" in said
    assert "nor is there a file 'ws@2/s.txt'" in said


def test_own_metric_comes_from_a_package():
    said = fault(
        "score", "--metric", "own.py:Prefix", "--hyp", R / "dev.tgt", "--ref", R / "dev.tgt"
    )
    assert "your own metric comes from an installed package (the guide's page 'Extend')" in said


def test_stdin_is_read_once():
    call = ["score", "--metric=bleu", "--hyp=-", "--ref=-"]
    assert "--hyp and --ref: both are stdin" in fault(*call, status=2)
    assert "A B [C ...] and A B [C ...]: both" in fault("compare", "a=-", "b=/dev/stdin", status=2)
