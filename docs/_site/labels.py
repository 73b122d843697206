"""Name the parts of a page for readers of screens."""

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page

_NAMES = (
    ('role="dialog"', 'role="dialog" aria-label="Search the guide"'),
    ('<nav class="md-path" aria-label="Navigation"', '<nav class="md-path" aria-label="Path"'),
    (
        '<nav class="md-search__options" aria-label="Search"',
        '<nav class="md-search__options" aria-label="Options of the search"',
    ),
)
_EMPTY = re.compile(r"<th([^>]*)></th>")


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001
    """Complete the page that the theme makes."""
    for made, named in _NAMES:
        output = output.replace(made, named)
    return _EMPTY.sub(r"<td\1></td>", output)  # a corner of a table is no heading
