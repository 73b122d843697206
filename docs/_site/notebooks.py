"""Show the notebooks of docs/notebooks as pages: text, code and outputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook, with a link to the notebook itself."""
    for path in sorted((Path(config.docs_dir) / "notebooks").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        text = "\n\n".join(part for cell in notebook["cells"] for part in shown(cell))
        text += f"\n\nThis page is the notebook [{path.name}]({path.name})."
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
    return files


def shown(cell: dict[str, Any]) -> list[str]:
    """Return a cell, and its outputs, as Markdown."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    parts = [f"```python\n{source}\n```"]
    for output in cell["outputs"]:
        text = output.get("text") or output["data"]["text/plain"]
        parts.append(f"```text\n{''.join(text).rstrip()}\n```")
    return parts
