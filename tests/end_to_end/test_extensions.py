"""Components of other packages: one of each family is installed and used from the command line."""

from __future__ import annotations

import json
import signal

import pytest

from portmert.tuner.families import families
from tests.support.extensions import TINY_POINTS, install, tiny_wheel, wheel
from tests.support.forks import forks

LIST = "0;a b c;-1\n0;a b;-2\n1;d;-1\n1;d e;-3\n"
NAMES = {group: next(iter(entries)) for group, entries in TINY_POINTS.items()}
CONFIG = """
[tune]
output = "run"
iterations = 2
nbest = 2
[data]
source = "src"
references = ["ref"]
[metric]
name = "share"
slack = 1
[optimizer]
name = "still"
[decoder]
name = "echo"
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    with forks(install(folder / "installed", tiny_wheel(folder))) as process:
        yield process


def portmert(process, folder, *arguments, status=0):
    """Run the command in a folder, with what is installed."""
    done = process.run(*arguments, folder=folder)
    assert done.status == status, done.stderr
    return done


@pytest.fixture
def run(tiny, tmp_path):
    (tmp_path / "list").write_text(LIST)
    (tmp_path / "src").write_text("x y z\nv w\n")
    (tmp_path / "ref").write_text("a b\nd e\n")
    (tmp_path / "hyp").write_text("a b c\nd e\n")
    return lambda *arguments, status=0: portmert(tiny, tmp_path, *arguments, status=status)


def test_a_metric_scores_and_is_described(run):
    arguments = ("score", "--hyp", "hyp", "--ref", "ref", "--metric")
    assert "50.00" in run(*arguments, "share").stdout
    found = run(*arguments, "0.5*SHARE:slack=1 + 0.5*bleu", "--json").stdout
    assert "share:slack=1" in found
    described = run("metrics", "share:slack=2").stdout
    assert "package:    tiny 1.0" in described
    assert "slack: integer, at least 0 (default: 0; here: 2)" in described
    line = next(line for line in run("metrics").stdout.splitlines() if line.startswith("share "))
    assert "slack=0" in line
    assert "nobody (package tiny 1.0)" in line
    fault = run(*arguments, "share:slack=-1", status=1).stderr
    assert "metric share: slack: Input should be greater than or equal to 0" in fault


def test_a_reader_and_an_optimizer_tune(run):
    helped = " ".join(run("optimize", "--help").stdout.split())
    assert "opennmt, semicolons, tgi, travatar" in helped
    for name in ("semicolons", "auto"):
        lists = ("--nbest", "list", "--nbest-format", name, "--ref", "ref")
        search = ("--metric", "share", "--optimizer", "still", "--set", "restarts=2")
        run("optimize", *lists, *search, "--out", f"{name}.json")
    picked = run("rerank", "--nbest", "list", "--weights", "semicolons.json").stdout
    assert picked.splitlines() == ["a b c", "d"]


def test_an_aligner_aligns(run, tmp_path):
    run("align", "--aligner", "diagonal", "--set", "shift=1", "--source", "src", "--target", "ref",
        "--out", "links")  # fmt: skip
    assert (tmp_path / "links").read_text() == "1-0 2-1\n1-0\n"


def test_an_annotator_annotates(run, tmp_path):
    run("annotate", "--annotator", "nouns:tag=X", "--in", "ref", "--out", "out.conllu",
        "--annotation-cache", "cache")  # fmt: skip
    words = [line.split("\t") for line in (tmp_path / "out.conllu").read_text().splitlines()]
    assert [word[4] for word in words if len(word) == 10] == ["X"] * 4


def test_a_command_runs_and_is_listed(run):
    assert run("segments", "list").stdout == "2\n"
    shown = " ".join(run("--help").stdout.split())
    assert "Others: segments Print the number of segments in the n-best lists LISTS." in shown


def test_a_decoder_decodes(run, tmp_path):
    (tmp_path / "config.toml").write_text(CONFIG)
    run("tune", "config.toml")
    weights = json.loads((tmp_path / "run" / "weights.json").read_text())
    assert set(weights["weights"]) == {"Whole0", "Cut0"}


@pytest.mark.parametrize(("family", "place"), families().items(), ids=[*families()])
def test_every_family_lists_it_and_describes_it(run, family, place):
    name = NAMES[place.group]
    lines = run("components", family).stdout.splitlines()
    assert any(line.startswith(f"{name} ") for line in lines)
    assert json.loads(run("components", family, name, "--json").stdout)["package"] == "tiny 1.0"


BROKEN = {
    "no-module": ("broken.nowhere:X", "No module named 'broken.nowhere'"),
    "no-name": ("broken.module:Nothing", "has no attribute 'Nothing'"),
    "raises": ("broken.raises:X", "division by zero"),
    "no-class": ("broken.module:VALUE", "is not a class derived from portmert.metrics._base"),
    "other-class": ("broken.module:Other", "is not a class derived from portmert.metrics._base"),
    "plain": ("broken.module:Plain", "is not a class decorated with @pydantic.dataclasses.data"),
    "other-name": ("broken.module:Checked", "is not called so after its class, 'checked'"),
    "checked": ("broken.module:Checked", "TypeError: Can't instantiate abstract class Checked"),
    "made": ("broken.module:Made", "KeyError: 'a'"),
    "bleu": ("broken.module:Checked", "is in portmert itself and in broken 1.0; uninstall one"),
}
MODULE = """
import numpy as np
from dataclasses import dataclass
from pydantic.dataclasses import dataclass as checked
from portmert.metrics._base import Metric

VALUE = 1

class Other: ...

@dataclass(frozen=True)
class Plain(Metric): ...

@checked(frozen=True)
class Checked(Metric): ...

@checked(frozen=True)
class Made(Metric):
    stat_names = ("length",)

    def __post_init__(self):
        {}["a"]

    def stats(self, batch):
        return np.ones((len(batch.hypotheses), 1))

    def score(self, stats):
        return stats[..., 0]
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    files = {
        "broken/__init__.py": "",
        "broken/module.py": MODULE,
        "broken/raises.py": "1 / 0\n",
    }
    metrics = {name: value for name, (value, _) in BROKEN.items()}
    points = {
        "portmert.metrics": metrics,
        "portmert.readers": {"raises": "broken.raises:X"},
        "portmert.commands": {"fails": "broken.raises:X", "compile": "broken.module:VALUE"},
    }
    with forks(install(folder / "installed", wheel(folder, "broken", files, points))) as process:
        yield process


def test_broken_components_are_listed_as_such(broken, tmp_path):
    listed = json.loads(portmert(broken, tmp_path, "metrics", "--json").stdout)
    faults = {one["name"]: one["fault"] for one in listed if "fault" in one}
    assert faults.keys() == BROKEN.keys()
    for name, (_, message) in BROKEN.items():
        assert message in faults[name]
        assert (
            "broken 1.0" in next(one["package"] for one in listed if one["name"] == name)
            or name == "bleu"
        )
    table = portmert(broken, tmp_path, "metrics").stdout
    assert any(line.startswith("plain ") and "broken: " in line for line in table.splitlines())


@pytest.mark.parametrize("name", ["plain", "bleu", "other-name"])
def test_an_entry_point_that_names_no_component_is_one_line(broken, tmp_path, name):
    (tmp_path / "text").write_text("a\n")
    said = portmert(broken, tmp_path, "score", "--hyp", "text", "--ref", "text", "--metric", name,
                    status=1).stderr  # fmt: skip
    [line] = said.splitlines()
    assert line.startswith("portmert: error: metric ")
    assert BROKEN[name][1] in line


def test_a_module_that_fails_is_shown_with_its_traceback_and_its_package(broken, tmp_path):
    said = portmert(broken, tmp_path, "metrics", "raises", status=1).stderr.splitlines()
    assert any('raises.py", line 1' in line for line in said)
    assert said[-1] == (
        "portmert: error: broken.raises.<module> of package broken 1.0 ended in "
        "ZeroDivisionError: division by zero"
    )


@pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="a job in the background ignores it"
)
def test_an_interrupt_of_the_user_while_a_component_is_loaded_ends_the_command(tmp_path):
    code = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nsignal.pause()\n"
    points = {"portmert.metrics": {"slow": "slow:X"}}
    installed = install(tmp_path / "installed", wheel(tmp_path, "slow", {"slow.py": code}, points))
    with forks(installed) as process:
        done = portmert(process, tmp_path, "metrics", status=130)
    assert done.stderr == "portmert: interrupted\n"


def test_a_command_that_cannot_be_loaded_is_one_line(broken, tmp_path):
    fault = "command 'fails' of broken 1.0 cannot be loaded: ZeroDivisionError: division by zero"
    assert fault in portmert(broken, tmp_path, "fails", status=2).stderr
    shown = " ".join(portmert(broken, tmp_path, "--help").stdout.split())
    assert f"fails broken: {fault}" in shown
    said = portmert(broken, tmp_path, "compile", status=2).stderr
    assert "command 'compile' is in portmert itself and in broken 1.0; uninstall one" in said


def test_what_is_not_used_does_no_harm(broken, tmp_path):
    (tmp_path / "text").write_text("a b c d\n")
    scored = portmert(
        broken, tmp_path, "score", "--hyp", "text", "--ref", "text", "--metric", "ter"
    )
    assert "0.00" in scored.stdout
    assert "raises" in portmert(broken, tmp_path, "optimize", "--help").stdout


def test_a_list_of_no_known_format_names_the_reader_that_is_broken(broken, tmp_path):
    (tmp_path / "list").write_text("what is this\n")
    (tmp_path / "ref").write_text("a\n")
    said = portmert(broken, tmp_path, "optimize", "--nbest", "list", "--ref", "ref", "--metric",
                    "ter", "--out", "w.json", status=1).stderr  # fmt: skip
    assert "fit no format of n-best lists" in said
    assert "broken.raises.<module> of package broken 1.0 ended in ZeroDivisionError" in said
