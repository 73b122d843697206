"""Let the copy button copy commands without prompts and outputs."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_BLOCK = re.compile(r'<div class="language-(console|pycon) highlight">(.*?)</div>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_PROMPTS = {"console": ("$ ",), "pycon": (">>> ", "... ")}


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Give each block with prompts the text that the copy button of mkdocs-material takes."""
    return _BLOCK.sub(_with_commands, content)


def _with_commands(match: re.Match[str]) -> str:
    language, block = match.groups()
    typed = commands(html.unescape(_TAG.sub("", block)), _PROMPTS[language])
    copied = html.escape(typed).replace("\n", "&#10;")
    return f'<div class="language-{language} highlight" data-copy="{copied}">{block}</div>'


def commands(shown: str, prompts: tuple[str, ...]) -> str:
    """Return the lines after a prompt, without it, and the lines they continue on."""
    found: list[str] = []
    continued = False
    for line in shown.splitlines():
        prompt = next((prompt for prompt in prompts if line.startswith(prompt)), None)
        if continued or prompt:
            found.append(line if continued else line.removeprefix(prompt or ""))
            continued = line.endswith("\\")
    return "\n".join(found)
