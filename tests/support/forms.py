"""Texts, links and numbers in every form of file, and the table of forms in the guide.

`python -m tests.support.forms` puts the present table into docs/how-to/formats.md.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import chdir
from pathlib import Path

import portmert
from portmert.tuner.base.columns import ID_KEYS
from portmert.tuner.base.errors import InputError
from portmert.tuner.texts.forms import FORMS
from tests.support.places import ROOT

SEGMENTS = {"u-1": "the old ship left", "u-2": "we saw birds"}


LINKS = {"u-1": "0-0 1-1", "u-2": "0-0 2-1"}
NUMBERS = {"u-1": "1.5", "u-2": "-2.25"}


def written(segments: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the forms of texts without ids, and with ids."""

    def lines(form, between=""):
        rows = (form.format(id=name, text=text) + "\n" for name, text in segments.items())
        return between.join(rows)

    def timed(form):
        return "".join(
            form.format(n=n, time=f"00:00:0{n}{{}}000", text=text, next=f"00:00:0{n + 1}{{}}000")
            for n, text in enumerate(segments.values())
        )

    quoted = "{text}" if segments is NUMBERS else '"{text}"'
    record = '{{"t": ' + quoted + "}}"
    plain = {
        "plain": lines("{text}"),
        "a.jsonl#t": lines(record),
        "a.json#t": "[" + lines(record, ",") + "]",
        "a.tsv#t": "n\tt\n" + lines("0\t{text}"),
        "a.csv#t": "n,t\n" + lines('0,"{text}"'),
        "c.jsonl#c.0.t": lines('{{"c": [' + record + ', {{"t": "no"}}]}}'),
        "sgml": lines('<seg id="1">{text}</seg>'),
        "set.sgm": f'<refset>\n<doc docid="d">\n{lines("<seg>{text}</seg>")}</doc>\n</refset>\n',
        "a.vtt": "WEBVTT\n\n" + timed("{time} --> {next}\n<b>{text}</b>\n\n").replace("{}", "."),
        "a.srt": timed("{n}\n{time} --> {next}\n{text}\n\n").replace("{}", ","),
    }
    with_ids = {
        "kaldi": lines("{id} {text}"),
        "trn": ";; a note\n" + lines("{text} ({id})") + ";; another\n",
        "b.jsonl#t": lines('{{"id": "{id}", "t": ' + quoted + "}}"),
        "b.tsv#t": "id\tt\n" + lines("{id}\t{text}"),
        "recogs": "".join(f"{name}:\tref={text.split()}\n" for name, text in segments.items()),
        "both#hyp": "".join(
            f"{name}:\tref=['x']\n{name}:\thyp={text.split()}\n" for name, text in segments.items()
        ),
    }
    return plain, with_ids


PLAIN, WITH_IDS = written(SEGMENTS)
STM = ";; a note\n" + "".join(
    f"show 1 spk {n}.0 {n}.50 <o,f> {text}\n" for n, text in enumerate(SEGMENTS.values())
)
CTM = "".join(
    f"show 1 {n + place / 20:.2f} 0.05 {word} 0.9\n"
    for n, text in enumerate(SEGMENTS.values())
    for place, word in enumerate(text.split(), 1)
)


def write_all(folder: Path) -> None:
    """Write texts, links (`l-`), numbers (`n-`) and the lists beside them into a folder."""
    contents = {**PLAIN, **WITH_IDS, "stm": STM, "ctm": CTM}
    for begin, segments in (("l-", LINKS), ("n-", NUMBERS)):
        for forms in written(segments):
            contents |= {f"{begin}{name}": content for name, content in forms.items()}
    contents["n-kaldi"] = "".join(f"{name}-1 {value}\n" for name, value in NUMBERS.items())
    for ids, name in ((False, "list"), (True, "list-of-ids")):
        rows = (
            {"nbest": [{"text": text, "features": {"f": 1.0}}], **({"id": key} if ids else {})}
            for key, text in SEGMENTS.items()
        )
        contents[name] = "".join(json.dumps(row) + "\n" for row in rows)
    for name, content in contents.items():
        (folder / name.partition("#")[0]).write_text(content, encoding="utf-8")


PAGE = ROOT / "docs/how-to/formats.md"
BEGIN, END = "<!-- made by python -m tests.support.forms -->\n\n", "\n<!-- end -->"
FIRST, *KEYS = (f"`{key}`" for key in ID_KEYS)
KEYS, LAST = KEYS[:-1], KEYS[-1]
ROWS = {
    "`FILE.jsonl#KEY`": (
        f"under {', '.join([FIRST, *KEYS])} or {LAST}; another key: `manifest.json#text:name`",
        ("a.jsonl#t", "a.json#t", "b.jsonl#t", "c.jsonl#c.0.t"),
    ),
    "`FILE.tsv#COLUMN`": ("in the column of such a name", ("a.tsv#t", "a.csv#t", "b.tsv#t")),
    "as in Kaldi's `text`": (
        "before the first blank: say `--ids` (numbers: `utt-1 -1.5`)", ("kaldi",)
    ),
    "as in sclite's `text (spk-utt)`": ("in the brackets at the end: say `--ids`", ("trn",)),
}  # fmt: skip
"""Forms that no mark in the file tells: where their ids are, and examples of them."""
EXAMPLES = {
    "SGML": ("sgml", "set.sgm"), "VTT": ("a.vtt",), "SRT": ("a.srt",),
    "icefall's results": ("recogs", "both#hyp"),
}  # fmt: skip


def are_numbers_read(form: str) -> bool:
    """Whether features may have a form."""
    try:
        portmert.Lists.read(
            "list-of-ids" if form in WITH_IDS else "list", features=[f"q=n-{form}"]
        )
    except InputError:
        return False
    return True


def table() -> str:
    """Return the table of forms, by the forms that the program has."""
    rows = dict(ROWS)
    for form in FORMS:
        rows[form.name] = (form.ids, EXAMPLES.get(form.name, ()))
    lines = ["| file | where the ids are | numbers |", "| --- | --- | --- |"]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        write_all(Path(folder))
        for name, (ids, examples) in rows.items():
            numbers = {are_numbers_read(form) for form in examples}
            assert len(numbers) < 2, f"some examples of {name} only"
            lines.append(f"| {name} | {ids} | {'yes' if True in numbers else ''} |")
    return "".join(f"{line}\n" for line in lines)


def page() -> str:
    """Return the page with the table of forms."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}{table()}{end}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
