"""Renders a document as one HTML file that needs no network and runs only its own scripts.

Any text in a document may be hostile. Texts enter the page in two ways: through a template that
escapes, and through a block of JSON that no browser takes for markup. Scripts turn the latter into
text nodes. The page's policy allows only scripts whose hash it names.
"""

import base64
import functools
import hashlib
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

import portmert
from portmert.metrics._base import IntArray, Texts, Vocabulary

from ...base.context import current
from ...base.tables import Block, Table
from ...texts.corpus import References, make_batch
from ..document import Chart, Document, Heading, Paragraph, SegmentBrowser
from ..formatting import ShownMetric

SCRIPTS = ("theme.js", "tables.js", "charts.js", "drawing.js", "segments.js", "start.js")

MAX_BYTES = 5_000_000
"""Limit of a page's size: mail and trackers refuse much larger ones."""

_WITH_INTERVAL = re.compile(r"(.*\d\S*) (\(\S+ to \S+\)\S*)")
"""A value and its interval in a cell of a table."""
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_BIDI = range(0x202A, 0x206A)
_DELETE = 0x7F


def html(document: Document, warnings: Sequence[str] = ()) -> str:
    """Return the page of a document.

    Returns
    -------
    str
        Shorter than `MAX_BYTES` in UTF-8. A very large comparison keeps the links of the most
        different segments only, and if that is not enough, these segments only. The page says so.
    """
    page = ""
    for with_links, with_segments in ((True, True), (False, True), (False, False)):
        page = _page(document, warnings, with_links=with_links, with_segments=with_segments)
        if len(page.encode()) < MAX_BYTES:
            break
    return page


def _page(
    document: Document, warnings: Sequence[str], *, with_links: bool, with_segments: bool
) -> str:
    blocks = [block for block in document.blocks if "page" in block.forms]
    browser = {}
    for block in blocks:
        if isinstance(block, SegmentBrowser):
            browser = _browser(
                block.comparison, with_links=with_links, with_segments=with_segments
            )
    charts = [asdict(block) for block in blocks if isinstance(block, Chart)]
    script, chart_library, style = _own_script(), _chart_library(), _text("page.css")
    dark = _text("dark.css")  # of screens: paper is white
    style += f"@media screen{{:root[data-theme=dark]{{{dark}}}}}"
    style += f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme]){{{dark}}}}}"
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src {_source(chart_library)} {_source(script)}; style-src {_source(style)}"
    )
    head, sections = _sections(blocks)
    notes = [block for block in head if isinstance(block, Paragraph) and block.role == "note"]
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            document=document,
            version=portmert.__version__,
            policy=policy,
            style=Markup(style),  # noqa: S704  our own files
            chart_library=Markup(chart_library),  # noqa: S704
            script=Markup(script),  # noqa: S704
            data=_json_block(_visible({"charts": charts, **browser})),
            head=[block for block in head if block not in notes],
            notes=notes,
            warnings=warnings,
            command=current().command,
            sections=sections,
            browser=browser,
            links_left_out=not with_links,
            segments_left_out=not with_segments,
        )
    )


def _sections(blocks: Sequence[Block]) -> tuple[list[Block], list[Any]]:
    """Return the blocks above the first heading, and the sections that are not empty.

    A section is its heading and groups of neighbouring blocks of one type, with its name.
    """
    head: list[Block] = []
    sections: list[tuple[Heading, list[Block]]] = []
    for block in blocks:
        if isinstance(block, Heading):
            sections.append((block, []))
        else:
            (sections[-1][1] if sections else head).append(block)
    return head, [
        (heading, [(x.__name__, list(group)) for x, group in itertools.groupby(parts, type)])
        for heading, parts in sections
        if parts
    ]


def _browser(
    comparison: Mapping[str, Any], *, with_links: bool, with_segments: bool
) -> dict[str, Any]:
    """Return the data of the segment browser in few letters, see segments.js."""
    metrics = [ShownMetric.of(metric) for metric in comparison["metrics"]]
    names = [system["name"] for system in comparison["systems"]]
    scored: list[Sequence[Sequence[float | None]]] = [
        [list(map(x.charted, row["scores"].get(x.label) or ())) for row in comparison["segments"]]
        for x in metrics
    ]
    if all(x.label != "chrf" for x in metrics) and all(
        row["references"] for row in comparison["segments"]
    ):
        metrics.append(ShownMetric(label="chrf"))
        scored.append(_chrf(comparison["segments"]))
    labels = [x.label for x in metrics]
    different = {row["segment"] for row in comparison["differences"]["segments"]}
    segments = []
    for number, segment in enumerate(comparison["segments"]):
        is_different = number in different
        if not with_segments and not is_different:
            continue
        drawn = ("links", "order", "v") if with_links or is_different else ()
        texts = {
            letter: [
                [text["text"], *(_rounded(text.get(key), 4) for key in drawn or (None,) * 3)]
                for text in segment[key_of_texts]
            ]
            for letter, key_of_texts in (("r", "references"), ("o", "outputs"))
        }
        scores = [[_rounded(score, 5) for score in rows[number]] for rows in scored]
        row = {"n": number + 1, "s": segment["source"], **texts, "c": scores}
        segments.append({**row, "m": _rounded(segment["reordering"], 4)})
    planned = [x["system"] for x in comparison["scores"] if x.get("family") == "planned"]
    return {
        "systems": names,
        "other": names.index(planned[0] if planned else names[-1]),
        "turned": bool(comparison.get("answers")),  # from the first hypotheses to the tuned ones
        "metrics": [
            {"label": x.directed, "percent": x.in_percent, "lower": x.lower_is_better}
            for x in metrics
        ],
        "replicas": any(system["replicas"] > 1 for system in comparison["systems"]),
        "opening": labels.index("chrf") if "chrf" in labels else 0,
        "segments": segments,
    }


def _chrf(segments: Sequence[Mapping[str, Any]]) -> list[list[float]]:
    """Return the chrF of each output of each segment: it tells segments apart where BLEU is 0."""
    from portmert.metrics.chrf import Chrf  # noqa: PLC0415  start-up time

    vocabulary, chrf = Vocabulary(), Chrf()

    def texts(key: str) -> tuple[Texts, IntArray]:
        rows = [segment[key] for segment in segments]
        lines = [_visible(text["text"]) for row in rows for text in row]
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return Texts.from_lines(lines, vocabulary), offsets

    references, (outputs, offsets) = References(*texts("references")), texts("outputs")
    scores = chrf.score(chrf.stats(make_batch(outputs, offsets, references)))
    return scores.reshape(len(segments), -1).tolist()


def _rounded(value: Any, digits: int) -> Any:
    return round(value, digits) if isinstance(value, float) else value


def _visible(value: Any) -> Any:
    """Return a value in which every character of every text is visible or harmless.

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


def _in_parts(text: str) -> Sequence[str]:
    """Return the value of a cell and its interval, which may be empty."""
    match = _WITH_INTERVAL.fullmatch(text)
    return match.groups() if match else (text, "")


def _has_intervals(table: Table) -> bool:
    return any(_in_parts(text)[1] for row in table.rows for text in row)


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
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else _visible(value),
    )
    environment.globals.update(in_parts=_in_parts, has_intervals=_has_intervals)
    return environment
