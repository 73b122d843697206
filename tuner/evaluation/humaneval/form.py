"""Renders a judge's sheet as one HTML file that works without a network."""

from __future__ import annotations

import json
from importlib import resources

from portmert.tuner.evaluation.humaneval.evaluation import FORM, Evaluation


def as_html(evaluation: Evaluation, judge: str) -> bytes:
    """Return the form; it knows neither systems nor segments."""
    import jinja2  # noqa: PLC0415  start-up time

    folder = resources.files("portmert.tuner.evaluation.humaneval")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    # Sorted and in ASCII: the same bytes wherever it is made.
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "ensure_ascii": True}
    environment.policies["json.dumps_function"] = json.dumps
    template = environment.from_string((folder / "form.html.jinja").read_text(encoding="utf-8"))
    page = template.render(
        judge=judge,
        style=(folder / "form.css").read_text(encoding="utf-8"),
        script=(folder / "form.js").read_text(encoding="utf-8"),
        sheet={
            "form": FORM,
            "evaluation": evaluation.id,
            "judge": judge,
            "items": [
                {"item": placed.item, **evaluation.row(placed)}
                for placed in evaluation.sheets[judge]
            ],
        },
    )
    return page.encode("utf-8")
