"""Components of other packages: one of each family is installed and used from the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from portmert.tuner.families import FAMILIES
from tests.support.extensions import TINY_POINTS, install, tiny_wheel, wheel
from tests.support.forks import forks
from tests.support.places import ROOT

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
    assert "openai, opennmt, semicolons, travatar" in helped
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


def test_a_decoder_decodes(run, tmp_path):
    (tmp_path / "config.toml").write_text(CONFIG)
    run("tune", "config.toml")
    weights = json.loads((tmp_path / "run" / "weights.json").read_text())
    assert set(weights["weights"]) == {"Whole0", "Cut0"}


@pytest.mark.parametrize(("family", "place"), FAMILIES.items(), ids=[*FAMILIES])
def test_every_family_lists_it_and_describes_it(run, family, place):
    name = NAMES[place.group]
    lines = run("components", family).stdout.splitlines()
    assert any(line.startswith(f"{name} ") for line in lines)
    assert json.loads(run("components", family, name, "--json").stdout)["package"] == "tiny 1.0"


BROKEN = {
    "no-value": ("", "cannot be used: its entry point names no class;"),
    "no-module": ("broken.nowhere:X", "loading broken.nowhere:X ends in ModuleNotFoundError"),
    "no-name": ("broken.module:Nothing", "ends in AttributeError"),
    "raises": ("broken.raises:X", "ends in ZeroDivisionError: division by zero"),
    "prints": ("broken.prints:X", "ends in ZeroDivisionError"),
    "exits": ("broken.exits:X", "loading broken.exits:X ends in SystemExit: 3"),
    "own-base": ("broken.own:X", "loading broken.own:X ends in B: line1 line2"),
    "no-text": ("broken.no_text:X", "ends in N: (it does not say more: its text cannot be made)"),
    "interrupts": ("broken.interrupts:X", "broken.interrupts:X ends in KeyboardInterrupt"),
    "no-class": ("broken.module:VALUE", "is no class derived from portmert.metrics._base.Metric"),
    "other-class": (
        "broken.module:Other",
        "is no class derived from portmert.metrics._base.Metric",
    ),
    "plain": ("broken.module:Plain", "is not decorated with @pydantic.dataclasses.dataclass"),
    "other-name": ("broken.module:Checked", "is called 'checked' after its class"),
    "checked": (
        "broken.module:Checked",
        "broken.module:Checked does not define score; update or uninstall the package",
    ),
    "made": ("broken.module:Made", "broken.module.Made.__post_init__ of package broken 1.0 ended"),
    "named": (
        "broken.module:Named",
        "metric named of package broken 1.0: stat_names is 'length', expected a tuple",
    ),
    "typed": ("broken.module:Typed", "a type of broken.module:Typed cannot be evaluated: NameErr"),
    "property": ("broken.module:Property", "stats of broken.module:Property is no method"),
    "needy": ("broken.module:Needy", "needs is frozenset({'link'}), expected a frozenset"),
    "Capital": ("broken.module:Checked", "a name has lowercase letters"),
    "scores": ("broken.module:Checked", "no meaning of its own yet"),
    "bleu": ("broken.module:Checked", "is in portmert itself and in broken 1.0; uninstall one"),
}
MODULE = """
from sys import exit
import numpy as np
from dataclasses import dataclass
from pydantic.dataclasses import dataclass as checked
from portmert.metrics._base import Metric
from portmert.tuner.decoders._base import Decoder

VALUE = 1

class Other: ...

@dataclass(frozen=True)
class Plain(Metric): ...

@checked(frozen=True)
class Checked(Metric): ...

@checked(frozen=True)
class Exit(Metric):
    where: str = "stats"
    stat_names = ("length",)

    def stats(self, batch):
        if self.where == "stats":
            exit(3)
        return np.ones((len(batch.hypotheses), 1))

    def score(self, stats):
        exit(3)

@checked(frozen=True)
class Made(Exit):
    def __post_init__(self):
        {}["a"]

@checked(frozen=True)
class Property(Exit):
    stats = property(lambda self: 1)

@checked(frozen=True)
class Named(Exit):
    stat_names = ("length")

@checked(frozen=True)
class Needy(Exit):
    needs = frozenset({"link"})

@checked(frozen=True)
class Typed(Exit):
    most: "nowhere" = 1

class Whole(Decoder):
    def read_weights(self): ...
    def write_config(self, weights, path, *, header): ...

@checked(frozen=True)
class Alone(Whole):
    def decode(self, weights, *, source, size, out, workdir, progress): ...
    @classmethod
    def name(cls):
        return "alone"

@checked(frozen=True)
class Any(Whole):
    def decode(self, weights, **given): ...
    @classmethod
    def name(cls):
        return "any"
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken")
    files = {
        "broken/__init__.py": "",
        "broken/module.py": MODULE,
        "broken/raises.py": "1 / 0\n",
        "broken/prints.py": "print('a banner')\n1 / 0\n",
        "broken/exits.py": "import sys\nsys.exit(3)\n",
        "broken/own.py": 'class B(BaseException): pass\nraise B("line1\\nline2")\n',
        "broken/no_text.py": "class N(Exception):\n    def __str__(self): 1 / 0\nraise N\n",
        "broken/interrupts.py": "raise KeyboardInterrupt\n",
    }
    metrics = {"exit": "broken.module:Exit"} | {name: value for name, (value, _) in BROKEN.items()}
    points = {
        "portmert.metrics": metrics,
        "portmert.readers": {"raises": "broken.raises:X"},
        "portmert.decoders": {"alone": "broken.module:Alone", "any": "broken.module:Any"},
    }
    with forks(install(folder / "installed", wheel(folder, "broken", files, points))) as process:
        yield process


def test_broken_components_are_listed_as_such(broken, tmp_path):
    listed = json.loads(portmert(broken, tmp_path, "metrics", "--json").stdout)
    faults = {one["name"]: one["fault"] for one in listed if "fault" in one}
    assert faults.keys() == BROKEN.keys()
    for name, (_, message) in BROKEN.items():
        assert message in faults[name]
        assert "broken 1.0" in faults[name]
    table = portmert(broken, tmp_path, "metrics").stdout
    assert any(line.startswith("plain ") and "broken: " in line for line in table.splitlines())


def test_a_decoder_that_does_not_take_what_it_is_given_is_broken(broken, tmp_path):
    listed = json.loads(portmert(broken, tmp_path, "components", "decoder", "--json").stdout)
    faults = {one["name"]: one["fault"] for one in listed if "fault" in one}
    assert [*faults] == ["alone"]
    assert "decode() of broken.module:Alone does not take 'team'" in faults["alone"]


@pytest.mark.parametrize("name", ["raises", "exits", "plain", "bleu", "checked", "named", "typed"])
def test_a_broken_component_is_one_line_where_it_is_used(broken, tmp_path, name):
    (tmp_path / "text").write_text("a\n")
    said = portmert(broken, tmp_path, "score", "--hyp", "text", "--ref", "text", "--metric", name,
                    status=1).stderr  # fmt: skip
    [line] = said.splitlines()
    assert line.startswith("portmert: error: metric ")
    assert BROKEN[name][1] in line


@pytest.mark.parametrize("where", ["stats", "score"])
@pytest.mark.parametrize("command", ["score", "optimize"])
def test_a_metric_that_ends_the_program_is_one_line(broken, tmp_path, command, where):
    (tmp_path / "text").write_text("a\n")
    (tmp_path / "list").write_text("0 ||| a ||| F= -1 ||| -1\n0 ||| b ||| F= -2 ||| -2\n")
    of = {"score": ("--hyp", "text"), "optimize": ("--nbest", "list", "--out", "w.json")}[command]
    said = portmert(broken, tmp_path, command, *of, "--ref", "text", "--metric",
                    f"exit:where={where}", status=1).stderr  # fmt: skip
    assert said.endswith(
        f"portmert: error: broken.module.Exit.{where} of package broken 1.0 tried to end the "
        f"program: sys.exit(3)\n"
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
    assert "reader 'raises' of package broken 1.0 cannot be used" in said


@pytest.mark.parametrize(
    "content",
    ["[portmert.metrics]\ngröße = latin:X\n".encode("latin-1"), b"[portmert.metrics]\nshare\n"],
)
def test_entry_points_that_cannot_be_read_harm_only_who_asks_for_them(tmp_path, content):
    info = tmp_path / "installed" / "latin-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: latin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_bytes(content)
    (tmp_path / "text").write_text("a b c d\n")

    def done(*args):
        return subprocess.run(
            [sys.executable, "-m", "portmert", *args], cwd=tmp_path, capture_output=True,
            text=True, check=False,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{info.parent}"},
        )  # fmt: skip

    score = ["score", "--hyp", "text", "--ref", "text", "--metric"]
    fine = done(*score, "bleu")
    assert (fine.returncode, fine.stderr) == (0, "")
    for listing in (["components"], ["components", "metric", "--json"], ["metrics"]):
        listed = done(*listing)
        assert listed.returncode == 0
        [note] = listed.stderr.splitlines()
        assert note.startswith("portmert: note: entry_points.txt of package latin 1.0 cannot be")
    [line] = done(*score, "share").stderr.splitlines()
    assert line.startswith("portmert: error: unknown metric 'share'")
    assert "entry_points.txt of package latin 1.0 cannot be read" in line
    assert line.endswith("reinstall or uninstall the package")


@pytest.mark.parametrize("library", ["importlib.metadata", "importlib_metadata"])
def test_a_package_whose_damaged_metadata_have_no_name_is_listed(tmp_path, library):
    pytest.importorskip(library)  # the second takes the place of the first when it is imported
    for name, metadata in (("odd", b""), ("even", b"Name: \xff\n")):
        info = tmp_path / "installed" / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_bytes(metadata)
        (info / "entry_points.txt").write_text(f"[portmert.metrics]\n{name} = other:Odd\n")
    code = f"import {library}; from portmert.tuner.cli import main; main(['metrics'])"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{info.parent}"},
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (0, "")
    for name in ("odd", "even"):
        assert f"metric '{name}' of package without a name " in " ".join(found.stdout.split())
    (info.parent / "other.py").write_text("raise SystemExit\n")
    found = subprocess.run(
        [sys.executable, "-m", "portmert", "metrics", "odd"], cwd=tmp_path, capture_output=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{info.parent}"}, text=True,
        check=False,
    )  # fmt: skip
    assert found.stderr == (
        "portmert: error: metric 'odd' of package without a name cannot be used: loading "
        "other:Odd ends in SystemExit; update or uninstall the package\n"
    )


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("other:Share", "portmert: error: metric 'share' of package other 1.0 cannot be used"),
        ("other:Better", "portmert: error: metric 'share' is in other 1.0 twice; uninstall one"),
    ],
)
def test_a_component_that_a_package_names_a_hundred_times_is_one_line(tmp_path, second, said):
    info = tmp_path / "installed" / "other-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    named = 50 * f"share = other:Share\nshare = {second}\n"
    (info / "entry_points.txt").write_text(f"[portmert.metrics]\n{named}")
    line = subprocess.run(
        [sys.executable, "-m", "portmert", "components", "metric", "share"], cwd=tmp_path,
        capture_output=True, env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{info.parent}"},
        text=True, check=False,
    ).stderr  # fmt: skip
    assert line.startswith(said), line
    assert len(line) < 250
