"""Whatever a user names and is not there ends in one line and status 1 or 2: for all options."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from portmert.extensions.mert_moses._mert_moses_options import OPTIONS
from portmert.tuner import families
from portmert.tuner.cli import main
from tests.support.cli import commands
from tests.support.places import INVENTED
from tests.support.run_folders import FEWER

R = INVENTED / "recorded"
LISTS = ["--nbest", R / "1.nbest.gz", "--ref", R / "dev.tgt", "--metric", "bleu"]
QUICK = ["--optimizer", "coordinate"]
TEST = ["--test-nbest", R / "2.nbest.gz", "--test-ref", R / "dev.tgt"]
JUDGED = ["--human", "human", "--outputs", "outputs", "--ref", R / "dev.tgt"]
CALLS = {
    "align": ["--aligner", "giza", "--source", R / "dev.src", "--target", R / "dev.tgt",
              "--out", "links"],
    "compare": [f"a={R / 'dev.tgt'}", f"b={R / 'dev.src'}", "--ref", R / "dev.tgt",
                "--samples", 10],
    "components": ["metric", "bleu"],
    "crossval": [*LISTS, *QUICK, "--splits", 2],
    "demo": ["--out", "demo"],
    "humaneval make": [f"a={R / 'dev.tgt'}", f"b={R / 'dev.src'}", "--ref", R / "dev.tgt", "--out",
                       "sheets", "--source", R / "dev.src"],
    "humaneval read": ["sheet.tsv", "--key", "key"],
    "metaeval": [*JUDGED, "--metric", "bleu", "--samples", 10],
    "metric-train": [*JUDGED, "--out", "model"],
    "metrics": ["bleu"],
    "optimize": [*LISTS, *QUICK, "--out", "w.json"],
    "optimize-dat": ["--metric", "bleu", *QUICK, "--features-dat", "f.dat", "--scores-dat",
                     "s.dat", "--out", "w.json"],
    "reproduce": [INVENTED / "recorded.toml", "--out", "paper", "--set", "tune.output=run"],
    "rerank": ["--nbest", R / "1.nbest.gz", "--weights", R / "start.json"],
    "rerank-tune": [*LISTS, *QUICK, *TEST, "--replicas", 1, "--out-dir", "tuned"],
    "score": ["--hyp", R / "dev.tgt", "--ref", R / "dev.tgt", "--metric", "bleu"],
    "tune": [INVENTED / "recorded.toml", "--set", "tune.output=run", "--set", "tune.iterations=1"],
}  # fmt: skip
WITHOUT = {"compile", "examples", "mert-moses", "annotate"}
"""These name nothing but a folder to make, or have an option parser of their own."""
FREE = {("humaneval make", "--condition")} | {
    (name, "--annotation-cache") for name in ("tune", "reproduce", "compare")
}
FREE |= {(name, "--systems") for name in ("optimize", "crossval", "rerank-tune")}
"""Free text, and systems, which may have any name; the place of a cache for an annotator that a
configuration or a run may name."""
NOTHING = "file/nonesuch"
"""Nothing is there and nothing can be put there: `file` is a file. No component is called so."""


def cases():
    for name, command in commands():
        for option in command.params if name in CALLS else ():
            kind = option.type
            if (name, option.opts[-1]) in FREE:
                continue
            is_choice = isinstance(kind, (click.IntRange, click.FloatRange, click.Choice))
            if isinstance(option, click.Argument):
                yield name, option.name, True
            elif not (option.is_flag or option.count or is_choice or kind is click.INT):
                yield name, option.opts[-1], False


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    for name in ("first.json", "second.json"):
        (tmp_path / name).write_bytes((R / "start.json").read_bytes())


def test_all_commands_are_called():
    assert {name for name, _ in commands()} == set(CALLS) | (WITHOUT & {n for n, _ in commands()})


@pytest.mark.parametrize(("name", "option", "is_argument"), list(cases()))
def test_nothing_that_a_user_names_is_ignored(name, option, is_argument):
    call = CALLS[name]
    if is_argument:
        words = [NOTHING if n == 0 else word for n, word in enumerate(call)]
    elif option in call and option != "--set":
        words = [NOTHING if n and call[n - 1] == option else word for n, word in enumerate(call)]
    else:
        words = [*call, option, NOTHING]
    made = f"tune.output={Path.cwd() / 'run'}"  # else it is relative to the configuration's folder
    words = [made if word == "tune.output=run" else str(word) for word in [*name.split(), *words]]
    result = CliRunner().invoke(main, words, prog_name="portmert", catch_exceptions=False)
    assert result.exit_code in (1, 2), result.output
    begins = "portmert: error: "
    (said,) = (line for line in result.stderr.splitlines() if line.startswith(begins))
    assert said.removeprefix(begins), result.stderr


@pytest.mark.parametrize(
    "option", [name for name, kind in OPTIONS.items() if kind in "sif" and kind]
)
def test_no_option_of_mert_moses_is_ignored(option):
    """A switch that has no effect is named in `IGNORED` or refused, see test_mert_moses.py."""
    given = {
        "input": R / "dev.src", "refs": R / "dev.tgt", "config": R / "moses.ini",
        "decoder": INVENTED / "recorded" / "recorded_moses", "working-dir": "work",
        "nbest": 5, "maximum-iterations": 1, "mertargs": FEWER,
        option: NOTHING if OPTIONS[option] == "s" else -7,
    }  # fmt: skip
    words = ["mert-moses", "--no-filter-phrase-table", *(f"--{k}={v}" for k, v in given.items())]
    result = CliRunner().invoke(main, words, prog_name="portmert", catch_exceptions=False)
    if result.exit_code == 0:
        assert f"--{option} is ignored: " in result.stderr
    else:
        assert result.stderr.splitlines()[-1].startswith("portmert: error: ")


FILES_OF_ANNOTATORS = {
    "bllip": "model=nonesuch", "conllu": "files=nonesuch", "ptb": "files=nonesuch",
    "semantics": "files=nonesuch", "spacy": "model=nonesuch", "stanza": "model=nonesuch",
    "udpipe": "model=nonesuch",
}  # fmt: skip
ANNOTATING = [name for name, option, _ in cases() if option == "--annotator"]


def test_all_annotators_are_tried():
    assert set(FILES_OF_ANNOTATORS) == set(families.own_names("annotator"))


@pytest.mark.parametrize(
    ("command", "annotator"),
    [(name, "conllu") for name in ANNOTATING]
    + [("score", name) for name in FILES_OF_ANNOTATORS if name != "conllu"],
)
def test_files_of_an_annotator_are_looked_at_where_no_metric_needs_it(command, annotator):
    for folder in ("outputs", "run"):
        Path(folder).mkdir()
    for system in "ab":
        Path("outputs", f"{system}.txt").write_bytes((R / "dev.tgt").read_bytes())
    Path("human").write_text("a 1\nb 2\n")
    words = [*command.split(), *CALLS[command]]
    words = [f"tune.output={Path.cwd() / 'run'}" if w == "tune.output=run" else w for w in words]
    words += ["--annotator", f"{annotator}:{FILES_OF_ANNOTATORS[annotator]}"]
    words += ["--oracle", "bleu", "--ref", R / "dev.tgt"] if command == "rerank" else []
    result = CliRunner().invoke(main, [*map(str, words)], prog_name="portmert")
    assert result.exit_code == 1, result.output
    last = result.stderr.splitlines()[-1]
    missing = f"is not installed; install it with: pip install 'portmert[{annotator}]'"
    if not last.endswith(missing):
        assert last.startswith(f"portmert: error: annotator {annotator}: "), result.stderr
        assert "nonesuch" in last


@pytest.mark.parametrize(
    ("command", "option", "said"),
    [
        ("compare", ["--annotation-cache", "cache"], "--annotation-cache goes with --annotator"),
        ("rerank", ["--mbr-average", "scores"], "--mbr-average goes with --mbr"),
        ("align", ["--aligner", "precomputed", "--model", "m"],
         "--model does not go with --aligner precomputed"),
    ],
)  # fmt: skip
def test_an_option_that_another_option_needs(command, option, said):
    words = [*map(str, [command, *CALLS[command], *option])]
    result = CliRunner().invoke(main, words, prog_name="portmert")
    assert result.exit_code == 2, result.output
    assert result.stderr.splitlines()[-1].startswith(f"portmert: error: {said}")
