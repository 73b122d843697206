"""The page as a reader meets it: in a real browser, from disk."""

import pytest

from portmert.extensions.metaeval.combined import combine
from portmert.extensions.metaeval.report import document_of as document_of_metaeval
from portmert.tuner.evaluation.comparison.report import document_of
from portmert.tuner.evaluation.page.html import html
from tests.support.agreements import two_sets
from tests.support.browser import browser, console
from tests.support.documents import document

HOSTILE = "<script>document.title='taken'</script><img src=x onerror=document.title='taken'>"


@pytest.fixture(scope="module")
def session():
    with browser() as driver:
        yield driver


@pytest.fixture(scope="module")
def shown(session, tmp_path_factory):
    """Show a document; checks that nothing is wrong with it."""

    def show(content):
        path = tmp_path_factory.mktemp("page") / "page.html"
        page = html(document_of(content) if isinstance(content, dict) else content)
        path.write_text(page, encoding="utf-8")
        session.get(path.as_uri())
        assert console(session) == []
        return session

    return show


def rows(driver, selector, kind="tr"):
    return driver.execute_script(
        "return [...document.querySelectorAll(arguments[0] + ' tbody ' + arguments[1])]"
        ".filter(row => !row.hidden).map(row => [...row.cells].map(cell => cell.textContent))",
        selector,
        kind,
    )


def number(text):
    return float(text.replace("\N{MINUS SIGN}", "-"))


def click(driver, selector):
    driver.execute_script("document.querySelector(arguments[0]).click()", selector)


def write(driver, selector, text):
    driver.execute_script(
        "const box = document.querySelector(arguments[0]); box.value = arguments[1];"
        "box.dispatchEvent(new Event('input'))",
        selector,
        text,
    )


def test_tables_sort_by_number_and_say_how(shown):
    driver = shown(document())
    table = 'table[data-label="ngram-differences"]'
    click(driver, f"{table} th:nth-child(3) button")
    falling = [number(row[2]) for row in rows(driver, table)]
    assert falling == sorted(falling, reverse=True)
    assert len(set(falling)) > 3
    sort = f"return document.querySelector('{table} th:nth-child(3)').ariaSort"
    assert driver.execute_script(sort) == "descending"
    click(driver, f"{table} th:nth-child(3) button")
    assert [number(row[2]) for row in rows(driver, table)] == sorted(falling)
    assert driver.execute_script(sort) == "ascending"


def test_a_long_table_scrolls_within_the_page_and_is_reached_by_key(shown):
    driver = shown(document(1, systems=("base", *"abcdefgh")))
    table = 'table[data-label="tests"]'
    box = f"document.querySelector('{table}').parentElement"
    assert driver.execute_script(f"return {box}.scrollHeight > {box}.clientHeight + 100")
    assert driver.execute_script(f"return {box}.tabIndex") == 0
    name = driver.execute_script(f"return document.querySelector('{table}').dataset.filter")
    write(driver, f"#{name}", "nist")
    assert len(rows(driver, table)) == 8
    count = f"return document.getElementById('{name}-count').textContent"
    assert driver.execute_script(count) == "8 of 32"


def test_segments_come_by_difference_then_as_asked(shown):
    given = document(100)
    driver = shown(given)
    everything = rows(driver, "#segment-browser")
    assert [len(row) for row in everything[:6]] == [6, 1] * 3  # three are open
    found = rows(driver, "#segment-browser", "tr.row")
    assert len(found) == 12
    sizes = [abs(number(row[-1])) for row in found]
    assert sizes == sorted(sizes, reverse=True)
    click(driver, '#segment-browser th[data-key="number"] button')
    assert [row[0] for row in rows(driver, "#segment-browser", "tr.row")] == [
        str(n) for n in range(1, 41)
    ]
    click(driver, '[data-field="more"]')
    assert len(rows(driver, "#segment-browser", "tr.row")) == 80
    wanted = given["segments"][98]["outputs"][1]["text"]
    write(driver, '[data-field="text"]', wanted.upper())
    assert "99" in {row[0] for row in rows(driver, "#segment-browser", "tr.row")}
    assert len(rows(driver, "#segment-browser", "tr.row")) < 40


def test_a_segment_opens_with_words_marked_and_links_drawn(shown):
    given = document(1)
    given["segments"][0] = {
        "source": "a b c",
        "references": [{"text": "x y y z", "links": "0-0 1-1 2-3", "order": "0 1 2"}],
        "outputs": [
            {"text": "y x y y", "links": "0-1 1-0 2-3", "order": "1 0 2"},
            {"text": "x z", "links": "0-0 2-1", "order": "0 1 2"},
        ],
        "scores": {"port": [0.1, 0.4]},
        "reordering": 0.0,
    }
    driver = shown(given)
    words = driver.execute_script(
        "return [...document.querySelectorAll('.texts dd')].slice(2).map(line =>"
        "[...line.querySelectorAll('.word')].map(word => [word.textContent, word.className]))"
    )
    # The reference has two y: the first output's third is too much; x is right in both.
    only, hit = "word only", "word hit"
    assert words == [
        [["y", only], ["x", hit], ["y", only], ["y", "word "]],
        [["x", hit], ["z", only]],
    ]
    drawings = driver.execute_script(
        "return [...document.querySelectorAll('.drawing')].map(drawing =>"
        "[drawing.ariaLabel, drawing.querySelectorAll('.link').length,"
        " drawing.querySelectorAll('.cross').length])"
    )
    assert drawings == [
        ["Source words in the order of bleu, reference, port", 6, 2],
        ["Source and reference", 3, 0],
        ["Source and bleu", 3, 2],
        ["Source and port", 2, 0],
    ]
    click(driver, "#segment-browser .open")
    assert driver.execute_script("return document.querySelectorAll('.drawing').length") == 0


def test_hostile_texts_stay_text(shown):
    given = document(2, systems=(HOSTILE, "\u202eport\x00"))
    long = "x" * 5000
    texts = (
        HOSTILE,
        "\u202eright \u2066to left",
        "nul\x00 esc\x1b",
        long,
        "constructor __proto__",
    )
    for segment, (a, b) in zip(given["segments"], (texts[:2], texts[2:4]), strict=True):
        segment["source"] = f"{a} {b} {texts[4]}"
        places = range(len(segment["source"].split(" ")))
        whole = {
            "text": f"{b} {a} {texts[4]}",
            "links": " ".join(f"{i}-{i}" for i in places),
            "order": " ".join(str(i) for i in reversed(places)),
        }
        segment["references"] = [whole]
        segment["outputs"] = [whole, whole | {"text": f"{a} {texts[4]} {b}"}]
    given["headlines"] = given["notes"] = [HOSTILE]
    given["systems"][0]["tuned_on"] = None
    given["differences"]["ngrams"][0]["ngram"] = HOSTILE
    driver = shown(given)
    for button in driver.execute_script("return [...document.querySelectorAll('.open')]"):
        driver.execute_script("arguments[0].click()", button)
    driver.execute_script(
        "document.querySelectorAll('details').forEach(details => { details.open = true; })"
    )
    driver.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 50))")
    assert console(driver) == []
    assert driver.title.startswith(HOSTILE[:20])
    assert driver.execute_script("return document.images.length") == 0
    lead = driver.execute_script("return document.querySelector('.lead').textContent")
    assert HOSTILE in lead
    note = driver.execute_script("return document.querySelector('.note').textContent")
    assert note == HOSTILE
    wide = driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0


def test_the_theme_follows_the_switch_and_stays(shown):
    driver = shown(document(1))
    paper = "return getComputedStyle(document.body).backgroundColor"
    light = driver.execute_script(paper)
    click(driver, "#theme")
    dark = driver.execute_script(paper)
    assert dark != light
    driver.refresh()
    assert driver.execute_script(paper) == dark
    ink = "return getComputedStyle(document.body).color"
    on_screen = driver.execute_script(ink)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert driver.execute_script(ink) != on_screen  # paper is white
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    click(driver, "#theme")
    assert driver.execute_script(paper) == light
    assert console(driver) == []


def test_a_chart_changes_walks_by_keys_and_hides_its_series(shown):
    driver = shown(document(1))
    figure = "#chart-by-length"
    chart = f"Chart.getChart(document.querySelector('{figure} canvas'))"

    def of_chart(value):
        return driver.execute_script(f"return {chart}.{value}")

    first_value = "data.datasets[0].data[0]"
    before = of_chart(first_value)
    driver.execute_script(
        f"const select = document.querySelector('{figure} select');"
        "select.value = 1; select.dispatchEvent(new Event('change'))"
    )
    assert of_chart(first_value) != before

    def press(key):
        """Return the series and the place that a key leads to."""
        driver.execute_script(
            f"document.querySelector('{figure} canvas').dispatchEvent("
            "new KeyboardEvent('keydown', { key: arguments[0] }))",
            key,
        )
        return of_chart("getActiveElements().map(e => [e.datasetIndex, e.index])")

    walk = [press(key) for key in ("ArrowDown",) * 4 + ("ArrowUp",)]
    assert walk == [[[0, 0]], [[0, 1]], [[0, 2]], [[1, 0]], [[0, 2]]]
    assert of_chart("tooltip.opacity") > 0

    names = f"[...document.querySelectorAll('{figure} .legend button')]"
    texts = driver.execute_script(f"return {names}.map(button => button.textContent)")
    assert texts == ["bleu", "port"]
    for pressed, visible in (("false", 1), ("true", 2)):
        click(driver, f"{figure} .legend button:nth-child(2)")
        assert of_chart("getVisibleDatasetCount()") == visible
        assert driver.execute_script(f"return {names}[1].ariaPressed") == pressed
        if visible == 1:  # keys pass over what is hidden
            assert press("ArrowDown") == [[0, 0]]


def test_everything_that_acts_is_reached_by_the_keyboard(shown):
    driver = shown(document(3))
    outside = driver.execute_script(
        "return [...document.querySelectorAll('th[aria-sort]')].filter(head =>"
        "head.querySelector('button')?.tabIndex !== 0).length"
    )
    assert outside == 0
    names = driver.execute_script(
        "return [...document.querySelectorAll('input, select, button')].filter(part =>"
        "!part.hidden && !(part.labels?.length || part.ariaLabel || part.textContent.trim()))"
        ".length"
    )
    assert names == 0


def test_a_phone_shows_no_sideways_scroll_bar(shown):
    driver = shown(document(3))
    metrics = {"width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        driver.refresh()
        click(driver, "#segment-browser .open")
        wide = driver.execute_script("return document.documentElement.scrollWidth")
        assert wide <= 390
        # Each table that is cut says so.
        cut = driver.execute_script(
            "return [...document.querySelectorAll('.scroll')].filter(box =>"
            "box.scrollWidth > box.clientWidth + 1).map(box =>"
            "getComputedStyle(box, '::before').content)"
        )
        assert cut
        assert all("scroll sideways" in hint for hint in cut)
        widths = "[...document.querySelectorAll('.caption')].map(one => one.offsetWidth)"
        captions = driver.execute_script(f"return {widths}")
        assert captions
        assert max(captions) <= 390
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_agreement_with_people_is_charted(shown):
    measured = two_sets()
    together = combine(measured, groups=["x", "y"], scenarios=["clean", HOSTILE])
    page = shown(document_of_metaeval(together.parts, together, [HOSTILE]))
    assert page.title.startswith("Metrics against people")
    assert len(rows(page, "#agreement table")) >= 3
    titles = page.execute_script(
        "return [...document.querySelectorAll('#agreement figure')].map(one => one.id)"
    )
    assert titles == ["chart-agreement", "chart-scatter", "chart-scenarios"]
    # All systems of both sets are drawn, within the axes.
    inside = page.execute_script(
        "const plot = Chart.getChart(document.querySelector('#chart-scatter canvas'));"
        "const area = plot.chartArea;"
        "return plot.data.datasets.map((_, i) => plot.getDatasetMeta(i).data.filter("
        "({x, y}) => x >= area.left - 1 && x <= area.right + 1 && y >= area.top - 1"
        " && y <= area.bottom + 1).length)"
    )
    assert inside == [3, 4]


def test_agreement_on_one_test_set_is_charted(shown):
    (one, _) = two_sets()
    page = shown(document_of_metaeval([one], None, ["m"]))
    assert "chart-scenarios" not in page.page_source
    assert len(rows(page, "#agreement table")) >= 3
