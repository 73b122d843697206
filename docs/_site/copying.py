"""Lets the copy button copy what a reader types: commands without prompts and outputs."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_BLOCK = re.compile(r'<div class="language-console highlight">(.*?)</div>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Give each console block the text that the copy button of mkdocs-material takes."""
    return _BLOCK.sub(_with_commands, content)


def _with_commands(match: re.Match[str]) -> str:
    shown = html.unescape(_TAG.sub("", match[1]))
    copied = html.escape(commands(shown), quote=True).replace("\n", "&#10;")
    return f'<div class="language-console highlight" data-copy="{copied}">{match[1]}</div>'


def commands(shown: str) -> str:
    """Return the commands of a console block: lines after `$ `, with the lines they continue on."""
    found: list[str] = []
    continued = False
    for line in shown.splitlines():
        if continued:
            found.append(line)
        elif line.startswith("$ "):
            found.append(line.removeprefix("$ "))
        else:
            continue
        continued = line.endswith("\\")
    return "\n".join(found)
