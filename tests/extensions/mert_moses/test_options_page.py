"""The table of options in docs/how-to/moses-options.md says what happens."""

import re
import shlex

import pytest

from portmert.extensions.mert_moses._mert_moses_options import OPTIONS, read_request
from portmert.extensions.mert_moses._scorer import read_scorer
from portmert.tuner.base.errors import PortmertError
from portmert.tuner.base.warn import collected_notices
from portmert.tuner.components.catalogue import catalogue
from tests.support.places import PROGRAMS, ROOT

PAGE = (ROOT / "docs" / "how-to" / "moses-options.md").read_text()
ROWS = dict(re.findall(r"\| `(--[^`]+)` \| (.+) \|", PAGE))


def name_of(option):
    name = option.partition("=")[0].removeprefix("--")
    return "filter-phrase-table" if name == "no-filter-phrase-table" else name


def test_the_table_has_every_option_of_the_script():
    script = PROGRAMS.parent / "scripts" / "training" / "mert-moses.pl"
    if not script.exists():
        pytest.skip("shared data: tools/moses/scripts")
    options = script.read_text(errors="replace").partition("GetOptions(")[2].partition(") or")[0]
    names = re.findall(r'^\s*"([\w-]+)[^"]*" =>', options, re.MULTILINE)
    assert len(names) > 50
    assert {name_of(option) for option in ROWS} == set(names)
    assert set(names) <= OPTIONS.keys()


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("dev.src", "dev.ref", "moses.ini"):
        (tmp_path / name).write_text("a\n")
    (tmp_path / "scripts" / "training").mkdir(parents=True)
    for name in ("moses", "filter.pl", "scripts/training/filter-model-given-input.pl"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)


@pytest.mark.parametrize("option", ROWS)
@pytest.mark.usefixtures("files")
def test_an_option_does_what_the_table_says(option):
    name, verdict = name_of(option), ROWS[option]
    words = shlex.split(option)
    four = {"input": "dev.src", "refs": "dev.ref", "decoder": "moses", "config": "moses.ini"}
    words += [f"--{key}={value}" for key, value in four.items() if key != name]
    if "filter" not in name and name != "rootdir":
        words.append("--no-filter-phrase-table")
    if name == "batch-mira-args":
        words.append("--batch-mira")
    if name == "proargs":
        words.append("--pairwise-ranked")
    said = ""
    with collected_notices() as notes:
        try:
            request = read_request(words)
        except Exception as error:  # noqa: BLE001  the verdict says which
            said = str(error)
    ignored = [note for note in notes if f"--{name} is ignored: " in note]
    if verdict.startswith("refused: "):
        assert f"--{name} cannot be honoured: " in said
    elif verdict.startswith("ignored: "):
        assert not said
        assert ignored
    else:
        assert verdict.startswith("the same")
        assert not said
        assert not ignored
        assert (request is None) == (name == "help")


def test_any_metric_of_the_list_can_be_tuned_on_or_says_why():
    names = [metric["name"] for metric in catalogue("metric")]
    assert len(names) > 40
    assert "m2" in names
    for name in names:
        said = ""
        try:
            read_scorer(name.upper(), "")
        except PortmertError as error:
            said = str(error)
        assert not said or re.search(r"write it as [a-z+]+:[A-Z]+|model", said), (name, said)
    assert (
        read_scorer("M2SCORER", "beta:1,max_unchanged_words:2").metric.signature == "m2:beta=1.0"
    )
