"""What the README and the docs show is what users see."""

import re
import shutil
from pathlib import Path

import pytest

from tests.support.readme import BLOCK, PAGES, ROOT, in_a_copy, runnable, without_times


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_print_what_the_page_shows(page):
    text, first = (one.read_text(encoding="utf-8") for one in (page, PAGES[0]))
    if page != PAGES[0] and set(BLOCK.findall(text)) <= set(BLOCK.findall(first)):
        return  # all of it is in the README too
    assert without_times(in_a_copy([page])[page]) == without_times(text)


def test_the_readme_has_commands_to_run():
    blocks = BLOCK.findall(PAGES[0].read_text(encoding="utf-8"))
    commands = re.findall(r"^\$ (portmert .*)$", "".join(blocks), re.MULTILINE)
    assert any(runnable(command.replace("$R", "configs/")) for command in commands)


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/python.md", "docs/how-to/rerank.md"])
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
    for page in [*ROOT.glob("*.md"), *(ROOT / "configs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert Path(page.parent / target).exists(), f"{page.name}: {target}"


def test_every_page_is_linked_from_another():
    linked = {
        (page.parent / target).resolve()
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+\.md)", page.read_text(encoding="utf-8"))
        if (page.parent / target).resolve() != page
    }
    first = {ROOT / "README.md", ROOT / "docs" / "index.md"}
    assert {page for page in PAGES if page not in linked | first} == set()


def test_the_comparison_in_the_tutorial_is_that_of_its_page():
    tutorial = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    section = tutorial.split("## Is the difference real?")[1]
    blocks = re.findall(r"^```\w*\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    shown = next(block for block in blocks if block.startswith("bleu: "))
    whole = (ROOT / "docs/how-to/compare.md").read_text(encoding="utf-8")
    for part in shown.split("\n\n"):
        assert part.strip() in whole


def test_the_readme_is_short_and_its_result_is_what_was_measured():
    text = PAGES[0].read_text(encoding="utf-8")
    assert text.count("\n") <= 200
    page = (ROOT / "docs/explanation/moses-results.md").read_text(encoding="utf-8")
    tests = (ROOT / "docs/explanation/moses-tests.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\w+) \| ([^|]+) \| (mert-moses[^|]+|portmert) \| (\d+) \| (.*) \|$",
        text,
        re.MULTILINE,
    )
    assert len(rows) >= 4
    for language, tuned_on, by, tunings, cells in rows:
        assert f"| {language} | {tuned_on} | {by} | {tunings} | {cells} |" in page
        # What `compare` printed: a system, then for each metric its score, s_sel and, of several
        # tunings, s_opt.
        block = tests.split(f"### {language}, 200 dev segments")[1].split("```")[1]
        system = "mix" if "*" in tuned_on else tuned_on.lower()
        system = "moses" if "mert-moses.pl" in by else system
        printed = re.search(rf"^{system} +(.*)$", block, re.MULTILINE)[1].split()
        scores = printed[::2]
        if tunings != "1":
            pairs = zip(printed[::3], printed[2::3], strict=True)
            scores = [f"{score} ± {s_opt}" for score, s_opt in pairs]
        assert cells.split(" | ") == scores
