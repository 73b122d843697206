"""What the README and the docs show is what users see."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import prose
from tests.support.readme import BLOCK, PAGES, ROOT, in_a_copy, runnable, shell, without_times

RESEARCH = sorted((ROOT / "research").glob("*.md"))


LONG = {"crossval.md", "moses.md", "graphs.md", "cluster.md", "optimizer.md"}
"""Pages whose commands take half of the time of all."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=str(page.relative_to(ROOT)),
                  marks=[pytest.mark.slow] if page.name in LONG else []) for page in PAGES],
)  # fmt: skip
def test_commands_print_what_the_page_shows(page):
    text, first = (one.read_text(encoding="utf-8") for one in (page, PAGES[0]))
    if page != PAGES[0] and set(BLOCK.findall(text)) <= set(BLOCK.findall(first)):
        return  # all of it is in the README too
    assert without_times(in_a_copy([page])[page]) == without_times(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if shell(page.read_text(encoding="utf-8"))],
    ids=lambda page: page.name,
)
def test_commands_run_whose_output_a_page_does_not_show(page, tmp_path):
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    programs = [Path(sys.executable).parent, *os.environ["PATH"].split(os.pathsep)]
    subprocess.run(
        ["bash", "-e", "-c", f"pip() {{ :; }}\n{shell(page.read_text(encoding='utf-8'))}"],
        cwd=tmp_path,
        env=os.environ | {"PATH": os.pathsep.join(map(str, programs))},
        check=True,
    )


def test_the_readme_has_commands_to_run():
    blocks = BLOCK.findall(PAGES[0].read_text(encoding="utf-8"))
    commands = re.findall(r"^\$ (portmert .*)$", "".join(blocks), re.MULTILINE)
    assert any(runnable(command.replace("$T", "configs/")) for command in commands)


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/python.md"])
def test_the_python_examples_run(page, tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    exec(compile(code, page, "exec"), {})  # noqa: S102  our own page
    searches = re.findall(r"([\d.]+) -> ([\d.]+)", capsys.readouterr().out)
    assert searches
    assert all(0 < float(start) < float(found) for start, found in searches)


def test_links_between_pages_lead_somewhere():
    # Links inside docs/, some to pages that are made, are checked when the site is built.
    pages = [*ROOT.glob("*.md"), *(ROOT / "configs").rglob("*.md"), *RESEARCH]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert Path(page.parent / target).exists(), f"{page.name}: {target}"


def linked_from(pages):
    """Return the pages that one of them links to."""
    return {
        (page.parent / target).resolve()
        for page in pages
        for target in re.findall(
            r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")
        )
        if (page.parent / target).resolve() != page
    }


def test_every_page_is_linked_from_another():
    first = {ROOT / "README.md", ROOT / "docs" / "index.md"}
    made = {ROOT / "docs/explanation/design.md"}  # from the page of the reference
    assert {page for page in PAGES if page not in linked_from(PAGES) | first | made} == set()
    assert set(RESEARCH) <= linked_from(RESEARCH) | {ROOT / "research/README.md"}


def words(pages):
    """Return the number of words, as `wc -w` counts them."""
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def test_the_readme_has_the_two_commands_that_ci_runs():
    calls = re.findall(
        r"^(make (?:demo|test))$", (ROOT / ".ci/run").read_text("utf-8"), re.MULTILINE
    )
    assert calls == ["make demo", "make test"]
    assert all(f"`{call}`" in PAGES[0].read_text(encoding="utf-8") for call in calls)


def test_the_readme_and_the_guide_are_short():
    assert PAGES[0].read_text(encoding="utf-8").count("\n") <= 100
    assert (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").count("\n") <= 60
    # Tables of other programs' options and of the papers' names; for who changes the program.
    left_out = {"reference-implementations.md", "moses-options.md", "papers.md", "design.md"}
    guide = [page for page in PAGES[1:] if page.name not in left_out]
    assert words(guide) <= 34_000


def test_the_prose_is_plain():
    together = prose.Hits()
    for page in PAGES:
        skipped = prose.DEFINITIONS if page.parent.name == "metrics" else frozenset()
        hits = prose.hits(page.read_text(encoding="utf-8"), skipped)
        assert hits.rate <= 12, f"{page.name}: {hits}"
        together += hits
    assert together.rate <= 6, str(together)
    notes = sum((prose.hits(page.read_text(encoding="utf-8")) for page in RESEARCH), prose.Hits())
    assert notes.rate <= 12, str(notes)
