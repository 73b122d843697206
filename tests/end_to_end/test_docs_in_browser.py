"""The site in a real browser: nothing is hidden, and everything can be read."""

import pytest

from tests.end_to_end.test_docs_site import site  # noqa: F401  a fixture
from tests.support.browser import browser

PAGES = ("index", "tutorial", "how-to/rerank", "how-to/moses", "how-to/tune", "reference/commands",
         "reference/python-tune", "metrics/port")  # fmt: skip
HIDDEN = """
return [...document.querySelectorAll('pre > code')]
    .filter(code => code.scrollWidth > code.clientWidth + 1)
    .map(code => code.textContent.slice(0, 80))
"""
PALE = """
const light = text => {
    const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map(value => {
        const share = value / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const found = [];
for (const span of document.querySelectorAll('pre > code, pre .go, pre .c1, pre .gp, pre .c')) {
    const ground = getComputedStyle(span.closest('code')).backgroundColor;
    const ink = getComputedStyle(span).color;
    const [high, low] = [light(ink), light(ground)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) found.push(`${span.className}: ${ink} on ${ground}`);
}
return [...new Set(found)]
"""
PLAIN_LINKS = """
return [...document.querySelectorAll('.md-content p a:not(.headerlink), .md-content td a')]
    .filter(link => link.textContent)
    .filter(link => getComputedStyle(link).textDecorationLine !== 'underline')
    .map(link => link.textContent)
"""
NAMELESS = """
const unnamed = 'img:not([alt]), svg:not(:has(title)), button:not([aria-label]):not([title])';
return [...document.querySelectorAll('.md-content :is(' + unnamed + ')')]
    .map(one => one.outerHTML.slice(0, 80))
"""


@pytest.mark.parametrize("dark", [False, True])
def test_pages_can_be_read(site, dark):  # noqa: F811  the fixture
    with browser(1280, 900, dark=dark) as session:
        for page in PAGES:
            session.get((site / f"{page}.html").as_uri())
            assert session.execute_script(HIDDEN) == [], page
            assert session.execute_script(PALE) == [], page
            assert session.execute_script(PLAIN_LINKS) == [], page
            assert session.execute_script(NAMELESS) == [], page


def test_no_page_is_wider_than_a_phone(site):  # noqa: F811  the fixture
    with browser(500, 900) as session:  # the smallest window of Chromium
        for page in PAGES:
            session.get((site / f"{page}.html").as_uri())
            wide = "return document.scrollingElement.scrollWidth - window.innerWidth"
            assert session.execute_script(wide) <= 0, page
