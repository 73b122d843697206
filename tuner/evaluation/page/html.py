"""Renders a report as one HTML file that needs no network and runs only its own scripts.

Any text in a comparison may be hostile. Texts enter the page in two ways: through templates that
escape, and through a block of JSON that no browser takes for markup. Scripts turn the latter into
text nodes. The page's policy allows only scripts whose hash it names.
"""

import base64
import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from ...base.tables import Table, as_latex
from ...base.warn import left_out_so_far, warnings_so_far
from .. import documents
from ..comparison import report as comparison
from ..crossval import report as crossval
from ..history import report as history
from ..metaeval import page as metaeval

SCRIPTS = ("theme.js", "tables.js", "charts.js", "drawing.js", "segments.js", "start.js")

MOST_BYTES = 5_000_000
"""Limit of a page's size: mail and trackers refuse much larger ones."""

MOST_ZEROS = 0.5
"""Share of segments with score 0 above which a metric does not sort the segments at first."""

_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_BIDI = range(0x202A, 0x206A)
_DELETE = 0x7F


@dataclass(frozen=True, eq=False)
class Report:
    """The result of a command, in every form. The command prints its `str()`.

    Parameters
    ----------
    text
        The text for a terminal.
    tables
        All tables.
    document
        All results as plain data.
    warnings
        What looks wrong with the data, one line each.
    left_out
        The number of segments that lack an answer and were left out.
    """

    text: str
    tables: Sequence[Table] = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)
    warnings: Sequence[str] = field(default_factory=warnings_so_far, repr=False, kw_only=True)
    left_out: int = field(default_factory=left_out_so_far, repr=False, kw_only=True)

    def __str__(self) -> str:
        return f"{self.text}\n\nsegments left out: {self.left_out}" if self.left_out else self.text

    def as_json(self) -> Mapping[str, Any]:
        """Return all results as plain data."""
        warned = {"warnings": list(self.warnings)} if self.warnings else {}
        counted = {"left_out": self.left_out} if self.left_out else {}
        return {**self.document, **warned, **counted} if warned or counted else self.document

    def as_latex(self) -> str:
        """Return the tables for LaTeX (booktabs), with the warnings as comments."""
        lines = "".join(f"% warning: {' '.join(line.split())}\n" for line in self.warnings)
        return lines + as_latex(self.tables)

    def as_html(self) -> str:
        """Return a page that needs no network."""
        return render(self.as_json())


def render(document: Mapping[str, Any]) -> str:
    """Return the page of a comparison, a run, a cross-validation or a meta-evaluation.

    Parameters
    ----------
    document
        `compare_request()`, or a part of it: of a run, `runs` alone; of a cross-validation,
        its document as `crossval`, with its `metrics` and `headlines`; of a meta-evaluation,
        `agreement`. Each may have `warnings`.

    Returns
    -------
    str
        Shorter than `MOST_BYTES` in UTF-8. A very large comparison keeps the links of the most
        different segments only, and if that is not enough, these segments only. The page says so.
    """
    clean = _visible(dict(document))
    for keep_links, keep_segments in ((True, True), (False, True), (False, False)):
        page = _page(clean, keep_links=keep_links, keep_segments=keep_segments)
        if len(page.encode()) < MOST_BYTES:
            break
    return page


def _page(document: Mapping[str, Any], *, keep_links: bool, keep_segments: bool) -> str:
    data = {
        "systems": [system["name"] for system in document.get("systems", ())],
        "metrics": [
            {"label": documents.directed(metric), "percent": metric["in_percent"]}
            for metric in document.get("metrics", ())
        ],
        "charts": charts_of(document),
        "segments": _segments(document, keep_links=keep_links, keep_segments=keep_segments),
    }
    script, chart_library, style = _own_script(), _chart_library(), _text("page.css")
    dark = _text("dark.css")  # of screens: paper is white
    style += f"@media screen{{:root[data-theme=dark]{{{dark}}}}}"
    style += f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme]){{{dark}}}}}"
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src {_source(chart_library)} {_source(script)}; style-src {_source(style)}"
    )
    several = len(data["systems"]) > 1
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            document,
            title=_title(document),
            policy=policy,
            style=Markup(style),  # noqa: S704  our own files
            chart_library=Markup(chart_library),  # noqa: S704
            script=Markup(script),  # noqa: S704
            data=_json_block(data),
            leads=[
                *document.get("answers", ()),
                *(comparison.summaries(document) or list(document.get("headlines") or ())[:1]),
            ],
            others=[] if several else list(document.get("headlines") or ())[1:],
            charts=data["charts"],
            tables=_tables(document),
            colours=history.run_colours(document),
            opening=_opening(document),
            matrix=comparison.tuned_apart(document),
            correction=comparison.correction(document) if document.get("scores") else "",
            links_left_out=not keep_links,
            segments_left_out=not keep_segments,
        )
    )


def _title(document: Mapping[str, Any]) -> str:
    names = [system["name"] for system in document.get("systems", ())]
    names = names or [run["name"] for run in document.get("runs", ())]
    other = "Metrics against people" if document.get("agreement") else "Cross-validation"
    return " / ".join(names) or other


def _opening(document: Mapping[str, Any]) -> int:
    """Return the index of the metric that segments are sorted by at first.

    That is the metric that all systems were tuned on, or the first. If most segments score 0 under
    it, as BLEU does without four matching words in a row, it is PORT or chrF, or else the metric
    with the fewest zeros.
    """
    labels = [metric["label"] for metric in document.get("metrics", ())]
    shapes = [metric["signature"].partition("|")[0] for metric in document.get("metrics", ())]
    tuned_on = {
        (system["tuned_on"] or "").partition("|")[0] for system in document.get("systems", ())
    }
    segments = document.get("segments", ())
    wanted = [place for place, shape in enumerate(shapes) if tuned_on == {shape}]
    order = sorted(range(len(labels)), key=lambda place: place not in wanted)
    if not order or not segments:
        return 0

    def zeros(place: int) -> float:
        scores = [segment["scores"].get(labels[place]) or [None] for segment in segments]
        return sum(not any(row) for row in scores) / len(segments)

    if zeros(order[0]) <= MOST_ZEROS:
        return order[0]
    telling = [place for place in order if labels[place].partition(":")[0] in {"port", "chrf"}]
    return next((place for place in telling if zeros(place) <= MOST_ZEROS), min(order, key=zeros))


def _segments(
    document: Mapping[str, Any], *, keep_links: bool, keep_segments: bool
) -> list[dict[str, Any]]:
    """Return the segments in few letters, see segments.js."""
    metrics = document.get("metrics", ())
    listed = {
        difference["segment"] for difference in document.get("differences", {}).get("segments", ())
    }
    found = []
    for number, segment in enumerate(document.get("segments", ())):
        if not keep_segments and number not in listed:
            continue
        links = keep_links or number in listed

        def short(text: Mapping[str, Any], links: bool = links) -> list[Any]:
            drawn = ("links", "order", "v")
            return [
                text["text"],
                *(_rounded(text.get(key) if links else None, 4) for key in drawn),
            ]

        scores = [
            [_rounded(documents.charted(score, metric), 5) for score in row]
            for metric in metrics
            for row in [segment["scores"].get(metric["label"]) or ()]
        ]
        found.append(
            {
                "n": number + 1,
                "s": segment["source"],
                "r": [short(text) for text in segment["references"]],
                "o": [short(text) for text in segment["outputs"]],
                "c": scores,
                "m": _rounded(segment["reordering"], 4),
            }
        )
    return found


def _rounded(value: Any, digits: int) -> Any:
    return round(value, digits) if isinstance(value, float) else value


def _visible(value: Any) -> Any:
    """Return a document in which every character of every text is visible or harmless.

    Control characters become their pictures. Characters that turn the direction of text become
    their numbers. Those that UTF-8 cannot encode become the replacement character.
    """
    if isinstance(value, str):
        return _CONTROL.sub(_picture, value)
    if isinstance(value, dict):
        return {_visible(key): _visible(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_visible(item) for item in value]
    return value


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code == _DELETE:
        return "\N{SYMBOL FOR DELETE}"
    if code in _BIDI:
        return (
            f"\N{MATHEMATICAL LEFT ANGLE BRACKET}U+{code:04X}\N{MATHEMATICAL RIGHT ANGLE BRACKET}"
        )
    return chr(0x2400 + code) if code < ord(" ") else "\N{REPLACEMENT CHARACTER}"


def _json_block(data: object) -> Markup:
    """Return JSON that is safe in a script element: it cannot end it, nor open a comment."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)  # noqa: S704  escaped above


def _source(text: str) -> str:
    """Return the hash by which the policy names an inline script or style."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@functools.cache
def _own_script() -> str:
    parts = "\n".join(_text(name) for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


@functools.cache
def _chart_library() -> str:
    """Return Chart.js, the pinned file in vendor/ with its licence beside it."""
    text = _text("chart.umd.min.js", "vendor")
    assert "</script" not in text.lower()  # noqa: S101  it would end the element
    return text


@functools.cache
def _text(name: str, folder: str = "templates") -> str:
    files = resources.files("portmert.tuner.evaluation.page")
    return (files / folder / name).read_text(encoding="utf-8")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_text),
        autoescape=True,
        undefined=jinja2.ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": documents.shown,
        "signed": documents.signed,
        "spread": documents.spread,
        "span": documents.span,
        "charted": documents.charted,
        "change_charted": documents.change_charted,
        "directed": documents.directed,
        "tuned_on": history.tuned_on,
        "signed_count": documents.signed_count,
        "fixed": documents.fixed,
        "p": documents.p_value,
        "whole": documents.whole,
        "percent": documents.percent,
    }
    return environment


def charts_of(document: Mapping[str, Any]) -> list[documents.Chart]:
    """Return all charts that a document has the numbers for."""
    made = (
        *metaeval.charts(document),
        *crossval.charts(document),
        *comparison.charts(document),
        *history.charts(document),
    )
    return [chart for chart in made if chart["choices"]]


def _tables(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables that the page shows as they are printed in text and LaTeX."""
    found: dict[str, Any] = {}
    if document.get("crossval"):
        found["crossval"] = crossval.tables_of(document["crossval"])
    if document.get("ordering"):
        found["ordering"] = comparison.ordering_table(document, "ordering", "Word order")
    if document.get("similarity"):
        found["similarity"] = comparison.similarity_table(document)
    if document.get("alignments"):
        found["agreement"] = comparison.agreement_table(document)
    if document.get("timing"):
        found["timing"] = comparison.timing_table(document)
    return found
