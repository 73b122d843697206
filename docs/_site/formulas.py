"""Turn the formulas of ```math blocks into MathML when the site is built: no script is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from latex2mathml.converter import convert

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let superfences give each block to `mathml`."""
    fences = [{"name": "math", "class": "math", "format": mathml}]
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = fences
    return config


def mathml(source: str, *_: Any, **__: Any) -> str:
    """Return a block of LaTeX as MathML that scrolls by itself."""
    return f'<div class="math">{convert(source.strip(), display="block")}</div>'
