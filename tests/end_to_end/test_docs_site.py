"""The site that `make docs` builds: whole, and nothing in it comes from another host."""

import html
import json
import os
import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser

import portalocker
import pytest

import portmert
from docs._site import drawings, figures
from portmert.tuner.cli import AllCommands, main
from portmert.tuner.families import families, own_names
from tests.support.extras import running
from tests.support.places import ROOT
from tests.support.readme import BLOCK, entries

pytest.importorskip("mkdocs", reason="the extra docs is not installed")
yaml = pytest.importorskip("yaml", reason="comes with mkdocs")


class Loaded(HTMLParser):
    """Collects what a browser fetches, the targets of a page, and what its buttons copy."""

    def __init__(self):
        super().__init__()
        self.fetched, self.targets, self.copied = [], set(), []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.targets.add(attrs["id"])
        if "data-copy" in attrs:
            self.copied.append(attrs["data-copy"])
        if tag in {"script", "img", "iframe", "source", "video", "audio"} and attrs.get("src"):
            self.fetched.append(attrs["src"])
        if tag == "link" and attrs.get("rel") != "canonical":
            self.fetched.append(attrs["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built with what the extra `docs` installs: a release has this extra alone.

    All workers of a test run use one.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    with portalocker.Lock(folder.with_suffix(".lock"), timeout=600):
        if not (folder / "sitemap.xml").exists():
            options = ["build", "--quiet", "--site-dir", str(folder)]
            done = subprocess.run(
                [sys.executable, "-c", running("mkdocs", options, "docs")],
                cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
    return folder


def parsed(page):
    reader = Loaded()
    reader.feed(page.read_text(encoding="utf-8"))
    return reader


def test_pages_fetch_nothing_from_other_hosts(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        for address in parsed(page).fetched:
            assert not re.match(r"(https?:)?//", address), f"{page.name}: {address}"
            if not address.startswith(("data:", "/")):
                assert (page.parent / address.split("?")[0]).exists(), f"{page.name}: {address}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", sheet.read_text("utf-8"))


def test_the_copy_button_copies_commands_without_prompts_and_outputs(site):
    shown = (ROOT / "docs/how-to/rerank.md").read_text(encoding="utf-8")
    blocks = [
        "\n".join(command.removeprefix("$ ").rstrip("\n") for command, _ in entries(block))
        for block in BLOCK.findall(shown)
    ]
    assert len(blocks) > 1
    assert parsed(site / "how-to/rerank.html").copied == blocks
    for page in site.rglob("*.html"):
        blocks = page.read_text(encoding="utf-8").count('<span class="gp">')
        copied = "\n".join(parsed(page).copied)
        assert bool(blocks) == bool(copied), page.name
        assert not re.search(r"^(\$ |>>> |portmert: )", copied, re.MULTILINE), page.name


def test_the_navigation_is_in_few_sections_and_has_every_page(site):
    """Sections are collapsed, so a reader sees their titles and the pages of one of them."""
    home = (site / "index.html").read_text(encoding="utf-8")
    titles = ("Home", "Start", "Tune", "Metrics", "Evaluate", "Results and reasons", "Definitions",
              "Reference")  # fmt: skip
    top = re.findall(r'<li class="md-nav__item md-nav__item--(?:active|pruned|nested)', home)
    assert len(top) <= 9
    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    listed = set(re.findall(r"'([\w/-]+)\.md'", str(menu)))
    built = {str(path.relative_to(site).with_suffix("")) for path in site.rglob("*.html")}
    assert built - listed == {"404"}
    linked = {"index.html", *re.findall(r'<a href="([\w/.-]+)" class="md-nav__link', home)}
    order = [re.search(rf">\s*{title}\s*<", home).start() for title in titles]
    assert order == sorted(order)
    reached, ahead = set(), {site / page for page in (*linked, "index.html")}
    while ahead:
        page = ahead.pop()
        reached.add(page)
        targets = re.findall(r'<a [^>]*href="([^"#:]+\.html)', page.read_text(encoding="utf-8"))
        ahead |= {(page.parent / target).resolve() for target in targets} - reached
    assert {page.resolve() for page in site.rglob("*.html")} - reached <= {site / "404.html"}


def test_the_search_finds_what_users_look_for(site):
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    for words in ("latency", "insertion penalty", "openai batch"):
        assert any(
            all(word in f"{one['title']} {one['text']}".lower() for word in words.split())
            for one in index["docs"]
        ), words
    for words in ("significance", "word error rate", "GPU", "resume"):  # titles come first
        assert any(words.lower() in one["title"].lower() for one in index["docs"]), words


def test_formulas_are_mathml(site):
    page = (site / "metrics/port.html").read_text(encoding="utf-8")
    assert page.count("<math ") > 3
    for path in (site / "metrics").glob(
        "*.html"
    ):  # an environment that is not known leaves its signs
        assert "<mi>&" not in path.read_text(encoding="utf-8").replace("<mi>&#", ""), path.name


@pytest.mark.parametrize("family", families())
def test_the_reference_has_every_component(site, family):
    assert set(own_names(family)) <= parsed(site / "reference" / f"{family}s.html").targets


def test_the_reference_has_all_of_the_python_api(site):
    pages = list((site / "reference").glob("python-*.html"))
    assert len(pages) == 5
    targets = {page: parsed(page).targets for page in pages}
    for name in set(portmert.__all__) - {"__version__"}:
        assert sum(f"portmert.{name}" in of_page for of_page in targets.values()) == 1, name


def test_types_of_the_python_reference_are_those_of_python_and_defined(site):
    index = (site / "reference/python.html").read_text(encoding="utf-8")
    defined = set(re.findall(r"<td><code>(\w+)</code></td>", index))
    assert {"ListsLike", "Natural", "Progress", "TextLike", "WeightsLike"} <= defined
    for page in (site / "reference").glob("python-*.html"):
        text = re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))
        kinds = re.findall(r"^\s*\w+\s*\(\s*([^()]*?)\s*(?:, default: .*)?\)", text, re.MULTILINE)
        assert not [kind for kind in kinds if re.search(r"=VALUE|^(FILE|NAME)\b", kind)], page


def test_every_metric_leads_to_its_formulas(site):
    text = (site / "reference/metrics.html").read_text(encoding="utf-8")
    parts = re.split(r'<h2 id="([\w-]+)">', text)
    pages = {
        name: re.findall(r'formula: <a href="../metrics/([\w-]+.html)"', part)
        for name, part in zip(parts[1::2], parts[2::2], strict=True)
    }
    assert [name for name in own_names("metric") if len(pages[name]) != 1] == []


def test_the_reference_has_every_command_and_table(site):
    assert isinstance(main, AllCommands)
    commands = {
        name for name in main.list_commands(None) if not main.get_command(None, name).hidden
    }
    assert commands <= parsed(site / "reference/commands.html").targets
    tables = {"tune", "data", "metric", "optimizer", "decoder", "aligner", "annotator"}
    assert {*tables, "constraints"} <= parsed(site / "reference/configuration.html").targets


def test_the_architecture_is_drawn_with_every_package(site):
    text = (site / "reference/architecture.html").read_text(encoding="utf-8")
    drawing = text.split('<svg class="packages"')[1].split("</svg>")[0]
    packages = {path.parent.name for path in (ROOT / "tuner").glob("*/__init__.py")}
    labels = {html.unescape(label) for label in re.findall(r"<text[^>]*>([^<]*)", drawing)}
    assert packages | {"metrics", "aligners", "cli", "__main__"} <= labels
    assert "<strong>" not in text.split('<svg class="packages"')[1].split("<table")[0]


def test_every_box_of_the_architecture_has_its_label_before_the_site_is_built():
    """Markdown reads the drawing first, in which `__main__` would be bold."""
    from markdown import markdown

    site = runpy.run_path(str(ROOT / "docs" / "_site" / "packages.py"))
    drawing = markdown(site["drawing"](site["packages"]()))
    labels = re.findall(r"<rect [^>]*/><text[^>]*>([^<]+)</text>", drawing)
    assert len(labels) == len(site["packages"]()) == drawing.count("<rect")
    assert "__main__" in map(html.unescape, labels)
    assert "<strong>" not in drawing


def test_parameters_that_are_documented_together_have_types_of_their_own(site):
    pages = sorted((site / "reference").glob("python-*.html"))
    page = "".join(path.read_text(encoding="utf-8") for path in pages)
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))
    # `notice, progress` and `source, hyp_links`: the second is not what the first is.
    assert "progress (Progress | None, default: None )" in words
    assert "hyp_links (TextLike | None, default: None )" in words
    assert "progress (Notice" not in words
    assert "progress (Progress | None, default: log_notice" not in words


def test_figures_show_the_committed_results():
    for path, charts in figures.drawn():
        drawn = path.read_text(encoding="utf-8")
        choices = [chart.choices[0] for chart in charts]
        names = [chart.title for chart in charts]
        names += [name for choice in choices for name in choice.categories]
        assert [name for name in names if f"<!-- {name} -->" not in drawn] == [], path
    for path, content in drawings.drawn():
        assert path.read_text(encoding="utf-8") == content, f"{path.name}: make figures"
    assert (ROOT / "docs/figures/comparison.png").stat().st_size < 200_000
    rows = drawings.results()
    assert len(rows) >= 8
    for row in rows:
        gain, low, high = row.gain
        assert 0 < low < gain < high, row.task  # what is claimed as a gain is one
        assert gain == pytest.approx(round(abs(row.tuned - row.before), 2))
    assert sum(row.rival_score is not None for row in rows) >= 3


@pytest.mark.slow
def test_drawings_of_the_example_data_are_the_committed_ones():
    for path, content in drawings.measured():
        assert path.read_text(encoding="utf-8") == content, f"{path.name}: make figures"


def test_drawings_say_what_they_show_to_readers_of_screens():
    names = ("results", "choice", "loop", "links", "crossval", "lattice", "language")
    for path in (ROOT / f"docs/figures/{name}.svg" for name in names):
        content = path.read_text(encoding="utf-8")
        assert re.search(r"<title [^>]*>[^<]{20,}</title>\n<desc [^>]*>[^<]{40,}</desc>", content)
        assert "prefers-color-scheme:dark" in content, path
        sizes = [int(size) for size in re.findall(r"font:(\d+)px", content)]
        assert min(sizes) * 390 / drawings.WIDTH >= 11, path  # on a phone
