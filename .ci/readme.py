"""Makes the page of the package index from README.md, whose links lead to files beside it.

With an address `Source` in `[project.urls]` they lead there; without one their words stay alone.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?://|#)([^)\s]+)\)")


class Readme(MetadataHookInterface):
    """Sets the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put the text in."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source", "")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": for_index(text, source.removesuffix("/")),
        }


def for_index(text: str, source: str) -> str:
    """Return Markdown without relative links: absolute ones below `source`, or words."""

    def absolute(match: re.Match[str]) -> str:
        mark, words, target = match.groups()
        if not source:
            return "" if mark else words
        return f"{mark}[{words}]({source}/{'raw' if mark else 'blob'}/HEAD/{target})"

    return LINK.sub(absolute, text)
