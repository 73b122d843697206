"""Mark the cells of numbers, which are not broken over lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_NUMBERS = re.compile(
    r"<td([^>]*)>((?:[-+\u2212\u2013±]?[\d.,]+ ?%?|to|[()<±*; ]|</?strong>)+)</td>"
)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Give cells such as `-0.41 (-0.79 to -0.02)` the class number."""
    return _NUMBERS.sub(r'<td\1 class="number">\2</td>', content)
