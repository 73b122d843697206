"""The wheel, installed into an environment and used in a folder that know nothing of this tree."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.support.clusters import NEEDS_DASK
from tests.support.places import ROOT
from tests.support.readme import (
    COMPILING,
    PAGES,
    entries,
    first_code,
    without_times,
)

pytest.importorskip("hatchling", reason="hatchling, which builds the wheel, is not installed")


LIST = """0 ||| a b c ||| F0= -1 F1= 2 ||| -1
0 ||| a b ||| F0= -2 F1= 1 ||| -2
1 ||| d ||| F0= -1 F1= 1 ||| -1
1 ||| d e ||| F0= -3 F1= 2 ||| -3
"""


def called(*command, folder=None, environment=None):
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pip(*arguments):
    called(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments)


def hatchling(target, folder, of=ROOT):
    """Return what hatchling builds of a source tree."""
    made = folder / "made"
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", made]
    called(*command, folder=of)
    (built,) = made.iterdir()
    return built


def install(folder, wheel):
    """Install into a new environment that finds, besides, what portmert depends on."""
    venv.create(folder / "env", with_pip=False)
    pip(
        f"--python={folder / 'env/bin/python'}", "install", "--no-deps", "--no-index", wheel
    )  # fmt: skip
    (packages,) = folder.glob("env/lib/*/site-packages")
    # A path in a .pth is searched, the .pth files in it (that of this tree) are not read. It must
    # be the first .pth: that of an editable install imports one of these packages.
    (packages / "__others.pth").write_text(f"{Path(np.__file__).parents[1]}\n", encoding="utf-8")
    (folder / "elsewhere").mkdir()
    keep_kernels(packages / "portmert")
    return folder


def keep_kernels(package):
    """Take over the compiled kernels of this tree; to compile them takes most of the time."""
    folders = [ROOT / name for name in ("metrics", "tuner", "extensions")]
    for ours in [path for folder in folders for path in folder.rglob("*.py")]:
        installed = package / ours.relative_to(ROOT)
        if installed.is_file():  # there is none of an editable install
            shutil.copystat(ours, installed)  # numba looks at the time
    for kernel in [path for folder in folders for path in folder.rglob("*.nb[ic]")]:
        installed = package / kernel.relative_to(ROOT)
        if installed.parent.parent.is_dir():
            installed.parent.mkdir(exist_ok=True)
            shutil.copy2(kernel, installed)


ENVIRONMENT = {key: value for key, value in os.environ.items() if "PYTHON" not in key}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return hatchling("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def fresh(wheel, tmp_path_factory):
    """An environment that holds the wheel; beside it, what the wheel depends on."""
    return install(tmp_path_factory.mktemp("fresh"), wheel)


@pytest.fixture
def run(fresh):
    def run(program, *arguments):
        return called(
            fresh / "env/bin" / program, *arguments,
            folder=fresh / "elsewhere", environment=ENVIRONMENT,
        )  # fmt: skip

    return run


def names(wheel):
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_holds_one_package(wheel):
    top = {name.partition("/")[0] for name in names(wheel)}
    assert "portmert" in top
    assert all(name.endswith(".dist-info") for name in top - {"portmert"})


def test_the_source_archive_builds_the_same_wheel(wheel, tmp_path):
    with tarfile.open(hatchling("sdist", tmp_path)) as archive:
        archive.extractall(tmp_path / "archive", filter="data")
    (tree,) = (tmp_path / "archive").iterdir()
    (tmp_path / "again").mkdir()
    assert names(hatchling("wheel", tmp_path / "again", tree)) == names(wheel)


def test_an_editable_install_adds_one_name(tmp_path):
    folder = install(tmp_path, hatchling("wheel:editable", tmp_path))
    python, place = folder / "env/bin/python", folder / "elsewhere"
    code = (
        "import importlib.util, portmert; print(portmert.metric('bleu').name());"
        "names = ['tuner', 'metrics', 'aligners', 'extensions', 'tests'];"
        "print(*map(importlib.util.find_spec, names))"
    )
    said = called(python, "-c", code, folder=place, environment=ENVIRONMENT)
    assert said == "bleu\nNone None None None None\n"


@pytest.mark.parametrize("page", ["own-metric"])
def test_the_code_of_a_page_prints_what_the_page_shows(page, run, fresh):
    text = (ROOT / f"docs/how-to/{page}.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    (fresh / "elsewhere/page.py").write_text(code, encoding="utf-8")
    shutil.copytree(ROOT / "configs", fresh / "elsewhere/configs", dirs_exist_ok=True)
    shown = "".join(re.findall(r"```text\n(.*?)```", text, re.DOTALL))
    assert run("python", "page.py") == shown


GUIDE = [page for page in PAGES if page.name != "design.md"]  # is for who changes the program


@pytest.mark.slow
@pytest.mark.parametrize("page", GUIDE, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_begins_with_a_command_that_runs_as_it_stands(page, fresh, tmp_path):
    text = page.read_text(encoding="utf-8")
    begin = first_code(text)
    if begin is None or text[: begin.start()].count("\n## ") > 1:
        assert "\n![" in text.partition("\n## ")[0]  # a page of results begins with a plot
        return
    kind, code, output, recorded = begin.groups()
    if recorded:
        return
    called(fresh / "env/bin/portmert", "examples", "try", folder=tmp_path, environment=ENVIRONMENT)
    if kind == "console":
        lines, output = [], ""
        for command, shown in entries(code):
            lines.append(command.removeprefix("$ "))
            output += shown
            if command.startswith("$ portmert "):
                break
        command = ["sh", "-c", "".join(lines)]
    else:
        assert kind == "python"
        command = ["python", "-c", code]
    apart = " | head" in code  # which may be slower than what else is said
    done = subprocess.run(
        command, cwd=tmp_path / "try", stdout=subprocess.PIPE, text=True,
        stderr=subprocess.PIPE if apart else subprocess.STDOUT,
        env={**ENVIRONMENT, "COLUMNS": "100", "PATH": f"{fresh}/env/bin:{os.environ['PATH']}"},
        check=False,
    )  # fmt: skip
    printed = f"{done.stderr or ''}{done.stdout}"
    assert done.returncode == 0, printed
    if output is not None:
        said = re.sub(r"[ ]+\n", "\n", COMPILING.sub("", printed))
        assert without_times(said) == without_times(output)


LISTS_OF_USERS = """
import json, random
from pathlib import Path
import portmert

rng, search = random.Random(3), {"optimizer": "mert:restarts=1,searches_per_feature=2"}
search |= {"replicas": 1, "threads": 1}
for name in ("dev", "test"):
    said = {f"{name}{n}": rng.sample("abcd", 3) for n in range(12)}
    keys = [(key, text, rank) for key, text in said.items() for rank in (1, 2)]
    for file, line in {
        "words": lambda key, text, rank: f"{key}-{rank} {' '.join(text[:: 2 * rank - 3])}",
        "ac": lambda key, text, rank: f"{key}-{rank} {9 + rank + rng.random()}",
        "lm": lambda key, text, rank: f"{key}-{rank} {5 - rank}",
    }.items():
        Path(f"{name}.{file}").write_text("".join(line(*one) + "\\n" for one in keys))
    texts = "".join(f"{key} {' '.join(text)}\\n" for key, text in said.items())
    Path(f"{name}.text").write_text(texts)
    answers = [
        {"id": key, "text": f"if {rank}:\\n\\treturn", "right": rank == 2, "n": [rank],
         "features": {"judge": rank + rng.random(), "length": rng.random()}}
        for key, _, rank in keys
    ]
    Path(f"{name}.jsonl").write_text("".join(json.dumps(one) + "\\n" for one in answers))

dev, test = (
    portmert.Lists.read(f"{name}.words", refs=f"{name}.text", ids=True,
                        format=f"kaldi:ac={name}.ac,lm={name}.lm")
    for name in ("dev", "test")
)
print(portmert.rerank_tune(dev, "wer", test=test, out_dir="speech", **search))
dev, test = (portmert.Lists.read(f"{name}.jsonl")
             for name in ("dev", "test"))
print(portmert.rerank_tune(dev, "scores:dev.jsonl#right", test=test, out_dir="answers",
                           test_scores={"right": "test.jsonl#right"}, **search))
chosen = portmert.rerank(test, "answers/weights.json").as_json()
print(chosen[0]["index"], repr(chosen[0]["text"]), chosen[0]["record"]["n"])
"""


def test_lists_as_people_have_them_come_to_a_tested_result(run, fresh):
    (fresh / "elsewhere/users.py").write_text(LISTS_OF_USERS)
    said = run("python", "users.py")
    assert "no difference shown between tuned and equal weights (+0.00 wer" in said
    assert re.search(r"tuned beats first: it lowers wer by 66\.67, p = 0\.00\d\d", said)
    assert re.search(r"tuned beats first by 0\.9167 right, p = 0\.00\d\d", said)
    assert len(re.findall(r"^equal weights ", said, re.MULTILINE)) == 2
    assert said.endswith("1 'if 2:\\n\\treturn' [2]\n")


PROJECT = {
    "metrics.py": "VALUE = 1\ndef f1(a, b): return 2 * a * b / (a + b)\n",
    "aligners.py": "VALUE = 2\n",
    "tuner/__init__.py": "",
    "tuner/mine.py": "VALUE = 3\n",
    "work.py": """
import subprocess, sys
import aligners, metrics, tuner.mine
import portmert
import portmert.metrics.bleu, portmert.tuner.decoders.moses, portmert.extensions.giza.giza

def own():
    import aligners, metrics, tuner.mine
    return aligners.VALUE, metrics.VALUE, tuner.mine.VALUE

def main():
    assert own() == (2, 1, 3)
    assert metrics.f1(1, 1) == 1
    assert portmert.score(["a b"], [["a c"]], metric="ter").score == 0.5
    assert portmert.align(["a b"] * 9, ["c d"] * 9, options={"model": "ibm1"})
    if sys.argv[1:]:
        from distributed import Client, LocalCluster
        with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0",
                          silence_logs=60) as cluster:
            with Client(cluster) as client:
                assert list(client.run(own).values()) == [(2, 1, 3)]
            command = [*sys.argv[1:], "--executor", "dask:" + cluster.scheduler_address]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(own())

if __name__ == "__main__":
    main()
""",
}


@pytest.fixture
def project(tmp_path):
    (tmp_path / "tuner").mkdir()
    for name, content in PROJECT.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


def test_a_project_with_modules_of_our_names_uses_portmert(fresh, project):
    if find_spec("distributed") is None:  # the next test does this and more
        work = [fresh / "env/bin/python", "work.py"]
        assert called(*work, folder=project, environment=ENVIRONMENT) == "(2, 1, 3)\n"
    for program in (["portmert"], ["python", "-m", "portmert"]):
        words = [fresh / "env/bin" / program[0], *program[1:], "score", "--metric", "ter"]
        (project / "text").write_text("a b\n", encoding="utf-8")
        words += ["--hyp", "text", "--ref", "text"]
        assert "0.00" in called(*words, folder=project, environment=ENVIRONMENT)


@NEEDS_DASK
def test_a_project_with_modules_of_our_names_uses_a_dask_worker(fresh, project):
    (project / "list").write_text(LIST, encoding="utf-8")
    (project / "ref").write_text("a b\nd e\n", encoding="utf-8")
    command = [
        fresh / "env/bin/portmert", "optimize", "--nbest", "list", "--ref", "ref", "--metric",
        "bleu", "--optimizer", "mert:searches_per_feature=5,restarts=2", "--out", "weights.json",
    ]  # fmt: skip
    work = [fresh / "env/bin/python", "work.py", *command]
    assert called(*work, folder=project, environment=ENVIRONMENT) == "(2, 1, 3)\n"
    assert (project / "weights.json").is_file()


def test_the_wheel_runs_and_everything_comes_from_it(fresh, run):
    assert run("portmert", "--version").startswith("portmert, version ")
    packages = ["portmert", "portmert.tuner", "portmert.metrics", "portmert.aligners"]
    code = "".join(f"import {name}; print({name}.__file__);" for name in packages)
    for place in run("python", "-c", code).split():
        assert Path(place).is_relative_to(fresh / "env")


def test_the_wheel_scores(fresh, run):
    text = fresh / "elsewhere/text"
    text.write_text("a b c d e\nthe cat sat on the mat\n", encoding="utf-8")
    kernels = "env/lib/*/site-packages/portmert/metrics/kernels/__pycache__/terp.*.nbi"
    for kept in fresh.glob(kernels):
        kept.unlink()
    scored = run("portmert", "score", "--metric", "ter", "--hyp", "text", "--ref", "text")
    assert re.search(r"^ter ↓ +0\.00", scored, re.MULTILINE)
    assert list(fresh.glob(kernels))  # for later commands
    code = "import portmert; print(portmert.score(['a b'], [['a c']], metric='ter').score)"
    assert run("python", "-c", code) == "0.5\n"


def test_the_wheel_brings_examples_and_documentation(fresh, run):
    run("portmert", "examples", "here")
    here = fresh / "elsewhere/here"
    wanted = {
        path.relative_to(ROOT)
        for name in ("configs", "docs")
        for path in (ROOT / name).rglob("*")
        if path.is_file() and not any(part.startswith(("_", ".")) for part in path.parts)
    }
    sheets = {path for path in wanted if "humaneval" in path.parts}  # under another licence
    assert sheets
    assert not (here / "configs/paper-port/humaneval").exists()
    wanted -= sheets
    assert len(wanted) > 40
    for path in wanted:
        assert (here / path).read_bytes() == (ROOT / path).read_bytes(), path


def test_examples_replace_nothing(fresh, run):
    (fresh / "elsewhere/taken/docs").mkdir(parents=True)
    with pytest.raises(AssertionError, match="taken/docs: is there already; name another folder"):
        run("portmert", "examples", "taken")
    assert not (fresh / "elsewhere/taken/configs").exists()
