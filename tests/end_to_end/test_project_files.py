"""What CONTRIBUTING, CITATION, SECURITY, workflows and templates say is so."""

import re
import runpy
import shlex
import subprocess
import sys
import tomllib

import pytest

from tests.support.extras import modules_without, running
from tests.support.places import ROOT

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
yaml = pytest.importorskip("yaml", reason="PyYAML, which MkDocs brings, is not installed")


def test_every_path_in_contributing_exists():
    tops = "metrics|aligners|tuner|extensions|tests|configs|docs"
    paths = re.findall(rf"`((?:{tops})/[^`\s]*)`", CONTRIBUTING)
    named = [path for path in paths if "NAME" not in path]
    assert len(named) > 25
    missing = [path for path in named if not (ROOT / path).exists()]
    assert not missing
    folders = [path.rpartition("/")[0] for path in paths if "NAME" in path]
    assert len(folders) == 7


def test_what_contributing_says_a_file_holds_is_there():
    answers = re.findall(r"`([\w/]+\.py)` \(`(\w+)`\)", CONTRIBUTING)
    assert len(answers) > 10
    for path, name in answers:
        assert re.search(
            rf"^ *(def|class) {name}\b", (ROOT / path).read_text("utf-8"), re.MULTILINE
        ), f"{path}: {name}"


def test_contributing_answers_where_things_are():
    for what in (
        "PORT's word order", "the envelope", "how Moses is called", "random streams",
        "where a TOML key is checked", "grow-diag-final-and", "where `port:alpha=0.5` is parsed",
        "the cache's file format", "list merging", "Holm's correction", "the stop rule",
        'where "configuration changed" is decided',
    ):  # fmt: skip
        assert re.search(rf"^\|[^|]*{re.escape(what)}[^|]*\| `", CONTRIBUTING, re.MULTILINE), what


def test_the_citation_names_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == PROJECT["project"]["version"]
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["title"] == PROJECT["project"]["name"]
    assert citation["authors"]


@pytest.mark.parametrize("name", ["checks.yml", "release.yml"])
def test_workflows_run_targets_and_extras_that_exist(name):
    workflow = yaml.safe_load((ROOT / ".github/workflows" / name).read_text(encoding="utf-8"))
    jobs = workflow["jobs"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    ran = "\n".join(step["run"] for job in jobs.values() for step in job["steps"] if "run" in step)
    targets = re.findall(r"^make (.*)$", ran, re.MULTILINE)
    assert targets
    for target in " ".join(targets).split():
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for extra in re.findall(r"'\.\[(\w+)\]'", ran):
        assert extra in PROJECT["project"]["optional-dependencies"]
    for file in re.findall(r"configs/[\w./-]+", ran):
        assert (ROOT / file).exists(), file
    assert {job["needs"] for job in jobs.values() if "needs" in job} <= set(jobs)
    (versions,) = (
        job["strategy"]["matrix"]["python"] for job in jobs.values() if "resolution" in str(job)
    )
    label = "Programming Language :: Python :: "
    classifiers = [entry.removeprefix(label) for entry in PROJECT["project"]["classifiers"]]
    assert versions == [entry for entry in classifiers if re.fullmatch(r"3\.\d+", entry)]
    assert PROJECT["project"]["requires-python"] == f">={versions[0]}"


def steps(name):
    """Yield each line of a workflow that calls portmert, with the job it is of."""
    workflow = yaml.safe_load((ROOT / ".github/workflows" / name).read_text(encoding="utf-8"))
    for job, content in workflow["jobs"].items():
        ran = "\n".join(step["run"] for step in content["steps"] if "run" in step)
        ran = ran.replace("\\\n", " ").replace(" && ", "\n")
        yield from ((job, line.strip()) for line in ran.splitlines() if "portmert " in line[:18])


@pytest.mark.slow  # a demo, and compiling
@pytest.mark.parametrize("name", ["checks.yml", "release.yml"])
def test_jobs_that_try_the_wheel_need_no_extra(name, tmp_path):
    lines = [line for job, line in steps(name) if job in ("wheel", "try")]
    assert len(lines) >= 3
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "portmert"
        done = subprocess.run(
            [sys.executable, "-c", running("portmert", words)],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


def test_libraries_of_other_extras_are_not_there_for_a_job():
    assert {"pytest", "mkdocs", "selenium"} <= set(modules_without())
    assert "mkdocs" not in modules_without("docs")
    assert {"pytest", "matplotlib", "distributed"} & set(modules_without("docs"))
    assert not {"numpy", "click", "pydantic", "numba"} & set(modules_without())


def test_the_page_of_the_index_has_no_relative_link():
    made = runpy.run_path(str(ROOT / ".ci/readme.py"))["for_index"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(re.findall(r"\]\((?!http)", readme)) > 10
    assert not re.findall(r"\]\((?!http)", made(readme, ""))
    assert not re.findall(r"\]\((?!http)", made(readme, "https://host/one"))
    there = made("![a](b.svg) [`c`](d/e.md#f) [g](https://h)", "https://host/one")
    assert there == (
        "![a](https://host/one/raw/HEAD/b.svg) [`c`](https://host/one/blob/HEAD/d/e.md#f) "
        "[g](https://h)"
    )
    assert made("![a](b.svg) [`c`](d.md)", "") == " `c`"


def test_pre_commit_checks_with_the_ruff_of_the_project():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    wanted = [hook["additional_dependencies"] for hook in hooks["repos"][0]["hooks"]]
    pinned = [
        each for each in PROJECT["project"]["optional-dependencies"]["dev"] if "ruff" in each
    ]
    assert wanted == [pinned, pinned]


@pytest.mark.parametrize("name", ["fault.yml", "wish.yml"])
def test_issue_forms_are_whole(name):
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE" / name).read_text(encoding="utf-8"))
    assert form["name"]
    assert form["description"]
    ids = [part["id"] for part in form["body"]]
    assert len(ids) == len(set(ids))
    assert all(part["attributes"]["label"] for part in form["body"])
