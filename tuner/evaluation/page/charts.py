"""Collects the charts of a report as plain data, which charts.js draws.

A chart has one or more choices (metrics, features), each with series of numbers. Colours are
numbers of systems: the page knows what they look like in either theme.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tuner.evaluation.page._comparison_charts import difference_chart, group_charts
from tuner.evaluation.page._run_charts import run_charts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuner.evaluation.page._chart import Chart


def charts_of(document: Mapping[str, Any]) -> list[Chart]:
    """Return all charts that a document has the numbers for.

    Each has `id`, `place` (the section it stands in), `title`, `caption`, `kind` (`intervals` and
    `bars` lie, `columns` stand, `lines`, `steps`), names of its axes and `choices`.
    """
    made = [
        difference_chart(document),
        *group_charts(document),
        *run_charts(document),
    ]
    return [chart for chart in made if chart is not None and chart["choices"]]
