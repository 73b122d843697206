"""`portmert tune` with any program: the whole loop, killed and gone on with, and Moses by it."""

import json
import re
import shutil
import threading
from itertools import chain

import pytest

import portmert
from portmert.tuner.components import registry
from tests.support.cli import fault, run
from tests.support.clusters import NEEDS_DASK, cluster
from tests.support.places import ROOT, TESTS, programs
from tests.support.real_moses import real_system
from tests.tuner.api.test_tuning import SOURCES, START, Toy

TOY = TESTS / "programs" / "toy_decoder"
TEXT = ["alpha beta gamma", "delta epsilon", "zeta eta theta iota", "kappa lambda mu"] * 4
CONFIG = """
[tune]
output = "run"
nbest = 8
iterations = 2
[data]
source = "dev.src"
references = ["dev.ref"]
[metric]
name = "wer"
[decoder]
name = "command"
program = ["{toy}", {arguments}]
{more}
[weights]
am = 1
lm = -0.5
words = 0.1
"""
BY_FILES = '"--weights", "{weights}", "--size", "{size}", "--nbest", "{nbest}"'


def config(folder, arguments=BY_FILES, more=""):
    (folder / "dev.src").write_text("".join(f"{line}\n" for line in TEXT))
    (folder / "dev.ref").write_text("".join(f"{line}\n" for line in TEXT))
    (folder / "my.toml").write_text(CONFIG.format(toy=TOY, arguments=arguments, more=more))
    return folder / "my.toml"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("command")
    shown = run("tune", config(folder))
    return folder / "run", shown.stdout


def test_a_program_is_tuned(finished):
    folder, shown = finished
    result = json.loads((folder / "result.json").read_text())
    assert result["dev_score"] > result["start_dev_score"] + 0.05
    assert (folder / "decoder.config").read_text().startswith("am ")
    assert f"decoder: {folder / 'decoder.config'}" in shown


@pytest.mark.parametrize("more", ['protocol = "lines"', "jobs = 2"])
def test_the_way_to_the_program_changes_no_weight(finished, tmp_path, more):
    path = config(tmp_path, '"--lines"' if "lines" in more else BY_FILES, more)
    run("tune", path)
    weights = (tmp_path / "run" / "weights.json").read_bytes()
    assert weights == (finished[0] / "weights.json").read_bytes()


def test_a_program_that_dies_ends_the_run_which_goes_on_later(finished, tmp_path, monkeypatch):
    path = config(tmp_path)
    monkeypatch.setenv("TOY_FAULT", "dies-later")
    assert "toy_decoder ended with status 3: models are damaged" in fault("tune", path)
    monkeypatch.delenv("TOY_FAULT")
    shown = run("tune", path).stderr
    assert "iteration 1: decoding" not in shown
    for name in ("weights.json", "result.json", "iteration-02/nbest.gz"):
        assert (tmp_path / "run" / name).read_bytes() == (finished[0] / name).read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("words = 0.1", "words = 0.1\nam = 2"), "not TOML: Cannot overwrite a value"),
        (("words = 0.1", ""), "feature words has no start weight (weights: am, lm)"),
        (("words = 0.1", "words = 0.1\noov = 1"), "no feature oov, which has a weight"),
        (("{weights}", "{weight}"), "program has {weight}; did you mean 'weights'?"),
        (('name = "command"', 'name = "moses"'), "decoder moses has no option 'program"),
    ],
)
def test_a_wrong_configuration_is_one_line(tmp_path, change, message):
    path = config(tmp_path)
    path.write_text(path.read_text().replace(*change))
    if "moses" in change[1]:
        path.write_text(path.read_text().replace("program =", "programs ="))
    assert message in fault("tune", path)


def test_scores_that_are_wrong_are_told_before_anything_is_tuned(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_FAULT", "other-weights")
    shown = fault("tune", config(tmp_path))
    assert "the score fits the weights am 0.9, lm 0.1, words -0.2" in shown
    assert "optimizing" not in shown
    assert not (tmp_path / "run" / "iteration-01" / "nbest.gz").exists()


def test_moses_by_command_gives_the_bytes_of_the_adapter(tmp_path):
    programs("moses")
    decoder, source = real_system(tmp_path)
    weights = decoder.read_weights()
    overwrite = " ".join(f"{name}= {{weight:{name}}}" for name in weights.values)
    other = registry.decoder(
        "command",
        {
            "program": [
                *(str(decoder.program), "-config", str(decoder.config)),
                *("-weight-overwrite", overwrite, "-input-file", "{source}"),
                *("-print-alignment-info-in-n-best", "true"),
                *("-include-segmentation-in-n-best", "true"),
                *("-n-best-list", "{nbest}", "{size}", "distinct"),
            ],
            "start": decoder.config,
        },
    )
    for name, one in (("moses", decoder), ("command", other)):
        one.decode(
            weights, source=source, size=20, out=tmp_path / name,
            workdir=tmp_path / f"{name}-work" )  # fmt: skip
    assert (tmp_path / "command").read_bytes() == (tmp_path / "moses").read_bytes()


@NEEDS_DASK
def test_a_function_travels_to_a_cluster(tmp_path):
    given = {"start": START, "metric": "wer", "nbest": 8, "iterations": 1}
    toy = Toy()

    def decode(weights, sources, size):  # cloudpickle takes it by its content
        return [toy.hypotheses(weights, source, size) for source in sources]

    here = portmert.tune(decode, SOURCES, SOURCES, folder=tmp_path / "here", **given)
    lock = threading.Lock()

    def locked(weights, sources, size):
        with lock:
            return decode(weights, sources, size)

    with cluster(2) as started:
        given["executor"] = f"dask:{started.scheduler_address}"
        there = portmert.tune(decode, SOURCES, SOURCES, folder=tmp_path / "there", **given)
        with pytest.raises(portmert.PortmertError, match="decode cannot travel to the workers"):
            portmert.tune(locked, SOURCES, SOURCES, folder=tmp_path / "locked", **given)
    assert there.weights == here.weights
    lists = "iteration-01/nbest.gz"
    assert (there.folder / lists).read_bytes() == (here.folder / lists).read_bytes()


def test_the_page_shows_the_program_and_what_it_prints(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "how-to" / "tune.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w*)\n(.*?)```\n", page, re.DOTALL)
    python = [code for kind, code in blocks if kind == "python"]
    assert (ROOT / "configs" / "segment.toml").read_text().strip() in page
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    monkeypatch.chdir(tmp_path)
    exec(compile(python[0] + python[1], "page", "exec"), {})  # noqa: S102  our own page
    (console,) = (text for kind, text in blocks if kind == "console")
    printed = capsys.readouterr().out
    assert printed.count("\n") > 5
    assert printed in console
    lines = 'decoder.program=["python3","configs/segment/segmenter.py","lines"]'
    run("tune", "configs/segment.toml", "--set", "decoder.protocol=lines", "--set", lines)
    by_lines, by_function = (
        json.loads((tmp_path / name / "weights.json").read_text())["weights"]
        for name in ("segment-run", "run")
    )
    assert by_lines == by_function


def in_columns(folder):
    """Write source and references as columns with ids, the references in another order."""
    rows = [{"id": f"s-{n}", "text": line} for n, line in enumerate(TEXT)]
    for name, some in (("src", rows), ("ref", rows[::-1])):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in some))
    table = [f"{row['id']}\t{row['text']}\n" for row in rows[::-1]]
    (folder / "ref.tsv").write_text("id\ttext\n" + "".join(table))
    return rows


@pytest.mark.parametrize("ref", ["ref.jsonl#text", "ref.tsv#text", "dev.ref"])
def test_source_and_references_may_be_columns_joined_by_ids(finished, tmp_path, ref):
    in_columns(tmp_path)
    run("tune", config(tmp_path), "--set", "data.source=src.jsonl#text",
        "--set", f'data.references=["{ref}"]')  # fmt: skip
    for name in ("result.json", "weights.json"):
        expected = (finished[0] / name).read_text()
        assert (tmp_path / "run" / name).read_text() == expected
    assert (tmp_path / "run" / "texts" / "source-0").read_text() == "".join(
        f"{line}\n" for line in TEXT
    )
    run("tune", config(tmp_path), "--set", "data.source=src.jsonl#text",
        "--set", f'data.references=["{ref}"]')  # fmt: skip
    if ref == "dev.ref":
        return
    changed = (tmp_path / ref.partition("#")[0]).read_text().replace("alpha", "omega")
    (tmp_path / ref.partition("#")[0]).write_text(changed)
    said = fault("tune", config(tmp_path), "--set", "data.source=src.jsonl#text",
        "--set", f'data.references=["{ref}"]')  # fmt: skip
    assert "the content of data.references changed" in said


@pytest.mark.parametrize("replicas", [1, 2])
def test_segments_that_lack_a_text_are_left_out_and_counted(tmp_path, replicas):
    rows = in_columns(tmp_path)
    (tmp_path / "some.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for n, row in enumerate(rows) if n not in (1, 2))
    )
    path = config(tmp_path)
    (tmp_path / "less").mkdir()
    config(tmp_path / "less")
    for name in ("dev.src", "dev.ref"):
        lines = [f"{line}\n" for n, line in enumerate(TEXT) if n not in (1, 2)]
        (tmp_path / "less" / name).write_text("".join(lines))
    more = ("--set", f"tune.replicas={replicas}")
    texts = ("--set", "data.source=src.jsonl#text", "--set", 'data.references=["some.jsonl#text"]')
    said = fault("tune", path, *more, *texts)
    assert "'s-1'" in said
    assert said.rstrip().endswith("([data] drop_missing = true leaves such segments out)")
    shown = run("tune", path, *more, *texts, "--set", "data.drop_missing=true")
    assert "segments left out: 2\n" in shown.stdout
    assert "2 segments left out; the first is 's-1': nothing in a text" in shown.stderr
    run("tune", tmp_path / "less" / "my.toml", *more)
    document, expected = (
        json.loads((folder / "run" / "result.json").read_text())
        for folder in (tmp_path, tmp_path / "less")
    )
    assert document.pop("left_out") == 2
    for one in (document, expected):
        one.pop("warnings", None)
    assert document == expected


def test_a_test_set_in_columns_is_compared(tmp_path):
    in_columns(tmp_path)
    texts = [
        f"data.{prefix}{key}"
        for prefix in ("", "test_")
        for key in ('source="src.jsonl#text"', 'references=["ref.jsonl#text"]')
    ]
    run("tune", config(tmp_path), *chain(*(("--set", text) for text in texts)))
    call = ("compare", tmp_path / "run", f"b={tmp_path / 'dev.ref'}", "--metric", "wer")
    found = run(*call, "--samples", 20, "--no-timing").stdout
    assert (
        run(*call, "--ref", tmp_path / "dev.ref", "--samples", 20, "--no-timing").stdout == found
    )
