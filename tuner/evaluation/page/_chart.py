"""Makes a chart of the page as plain data, which charts.js draws.

It has one or more choices (metrics, features), each with series of numbers; `intervals` and `bars`
lie, `columns` stand, then there are `lines` and `steps`. Colours are numbers of systems: the page
knows what they look like in either theme.
"""

from __future__ import annotations

from typing import Any

Chart = dict[str, Any]


def chart(name: str, place: str, kind: str, title: str, **rest: Any) -> Chart:
    """Return a chart of this kind in this section of the page; `rest` has what is not usual."""
    return {
        "id": f"chart-{name}", "place": place, "kind": kind, "title": title,
        "caption": "", "x": "", "y": "", "whole": False, "wide": False, "tall": None, **rest,
    }  # fmt: skip
