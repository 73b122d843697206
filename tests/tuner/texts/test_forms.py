"""Texts with markup around them: what is read, under which options, and what is refused."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest

import portmert
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.texts.forms import FORMS, alternatives
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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    contents = {**PLAIN, **WITH_IDS, "stm": STM, "ctm": CTM}
    for begin, segments in (("l-", LINKS), ("n-", NUMBERS)):
        for forms in written(segments):
            contents |= {f"{begin}{name}": content for name, content in forms.items()}
    for name, content in contents.items():
        (tmp_path / name.partition("#")[0]).write_text(content)
    return tmp_path


def errors(hyp, ref, **options):
    """The word error rate, which is 0 if both sides are the same texts, and what is warned of."""
    with collected_warnings() as told:
        score = portmert.score(Path(hyp), [Path(ref)], metric="wer", **options)
    assert len(score.segment_scores) == 2
    return 1.0 - score.score, [line for line in told if "column" not in line]


@pytest.mark.usefixtures("folder")
def test_every_form_is_read_under_every_option_of_texts():
    for forms in (PLAIN, WITH_IDS):
        for hyp, ref in product(forms, forms):
            assert errors(hyp, ref) == (0.0, []), (hyp, ref)
    for source in PLAIN:
        assert errors("plain", "plain", source=Path(source)) == (0.0, []), source
    for source in WITH_IDS:
        assert errors("kaldi", "trn", source=Path(source)) == (0.0, []), source


@pytest.mark.usefixtures("folder")
def test_every_form_is_read_under_every_option_of_links():
    for forms, text in ((PLAIN, "plain"), (WITH_IDS, "kaldi")):
        for name in forms:
            one, other = Path(f"l-{name}"), Path(f"l-{text}")
            for links in ((one, other), (other, one)):
                given = {"source": Path(text), "hyp_links": links[0], "ref_links": [links[1]]}
                assert portmert.score(Path(text), [Path(text)], metric="v", **given).score == 1.0
                assert portmert.check_links(*links).error_rate == 0.0
            if "#" in name:
                made = portmert.align(
                    ["a b c"] * 2, ["x y"] * 2, aligner="precomputed", options={"links": one}
                )
                assert made == [[(0, 0), (1, 1)], [(0, 0), (2, 1)]]


@pytest.fixture
def lists(folder):
    for ids, name in ((False, "list"), (True, "list-of-ids")):
        rows = (
            {"nbest": [{"text": text, "features": {"f": 1.0}}], **({"id": key} if ids else {})}
            for key, text in SEGMENTS.items()
        )
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"list": PLAIN, "list-of-ids": WITH_IDS}


def test_every_form_is_read_beside_lists(lists):
    for name, forms in lists.items():
        for form in forms:
            read = portmert.Lists.read(name, refs=[form], source=form, features=[f"q=chrf@{form}"])
            texts = read.references
            assert [" ".join(texts.texts.words(row)) for row in range(2)] == [*SEGMENTS.values()]
            assert texts.source == tuple(SEGMENTS.values())
            assert read.nbest.features[:, -1].tolist() == [1.0, 1.0]


def numbers_read(name, form):
    """The forms of numbers that features and scores read, both alike."""
    try:
        read = portmert.Lists.read(name, features=[f"q={form}"]).nbest.features[:, -1].tolist()
    except InputError as error:
        with pytest.raises(InputError, match=re.escape(str(error))):
            portmert.optimize(portmert.Lists.read(name), f"scores:{form}")
        return False
    assert read == [1.5, -2.25]
    tuned = portmert.optimize(portmert.Lists.read(name), f"scores:{form}", optimizer="mert")
    assert tuned.score == pytest.approx(-0.375)
    return True


ROWS = {
    "`FILE.jsonl#KEY`": ("a.jsonl#t", "a.json#t", "b.jsonl#t", "c.jsonl#c.0.t"),
    "`FILE.tsv#COLUMN`": ("a.tsv#t", "a.csv#t", "b.tsv#t"),
    "as in Kaldi's `text`": ("kaldi",),
    "as in sclite's `text (spk-utt)`": ("trn",),
    "icefall's results": ("recogs", "both#hyp"),
    "SGML, SRT, VTT": ("sgml", "set.sgm", "a.vtt", "a.srt"),
}
"""Rows of the table of the page on formats, and forms that stand for them."""


@pytest.mark.usefixtures("lists")
def test_the_page_tells_which_forms_numbers_have(folder):
    (folder / "n-kaldi").write_text("u-1-1 1.5\nu-2-1 -2.25\n")
    page = (ROOT / "docs/how-to/formats.md").read_text(encoding="utf-8")
    for row, forms in ROWS.items():
        (cells,) = (line.split(" | ") for line in page.splitlines() if row in line.split(" | ")[0])
        for form in forms:
            name = "list-of-ids" if form in WITH_IDS else "list"
            assert numbers_read(name, f"n-{form}") == ("yes" in cells[2]), form


@pytest.mark.usefixtures("folder")
def test_words_with_times_are_cut_into_the_segments_of_stm(folder):
    for hyp in ("stm", "ctm"):
        assert errors(hyp, "stm") == (0.0, [])
    (folder / "late").write_text(CTM + "show 1 9.0 0.1 late\n")
    assert errors("late", "stm") == (
        0.0,
        ["late: 1 word outside of all segments of stm, left out"],
    )
    with pytest.raises(InputError, match="CTM has words with times and no segments; give"):
        errors("ctm", "plain")
    (folder / "bad").write_text(f"{STM * 20}show 1 x\n")
    with pytest.raises(InputError, match=r"bad:61: 'show 1 x' is no line of STM, `FILE CH"):
        errors("bad", "stm")


@pytest.mark.usefixtures("folder")
def test_a_word_in_brackets_that_few_lines_begin_with_is_no_label(folder):
    times = "show 1 spk {0}.0 {0}.50 {1}\n"
    lines = ["<unk> the old ship left", "we saw birds", "it <unk>"]
    (folder / "plain").write_text("".join(f"{line}\n" for line in lines))
    (folder / "odd").write_text("".join(times.format(*pair) for pair in enumerate(lines)))
    (folder / "labelled").write_text(
        "".join(times.format(n, f"<o,f> {line}") for n, line in enumerate(lines))
    )
    for name in ("odd", "labelled"):
        assert portmert.score("plain", [name], metric="wer").score == 1.0


@pytest.mark.usefixtures("folder")
def test_alternatives_of_references_are_alternatives(folder):
    (folder / "alt").write_text("the { old / new } ship { left / @ }\nwe saw birds\n")
    said = ["1 reference with alternatives `{ a / b }`, of which the best counts"]
    assert errors("plain", "alt") == (0.0, said)
    (folder / "other").write_text("the ship\nwe saw birds\n")
    # `the old ship`: one deletion; three words there and three in the other segment.
    assert errors("other", "alt")[0] == pytest.approx(1 / 6)


def test_the_page_of_formats_has_every_form():
    page = (ROOT / "docs/how-to/formats.md").read_text(encoding="utf-8")
    assert [form.name for form in FORMS if form.name not in page] == []


def test_texts_of_alternatives():
    assert alternatives("a { b / c d / @ } e", "x") == ["a b e", "a c d e", "a e"]
    assert alternatives("{ a / b }", "x") == ["a", "b"]
    assert alternatives("a {b/c} { no }", "x") == ["a {b/c} { no }"]
    with pytest.raises(InputError, match="x: alternatives make 512 texts of one segment, at most"):
        alternatives("{ a / b } " * 9, "x")


@pytest.mark.usefixtures("folder")
def test_ids_in_other_case_are_joined_and_told(folder):
    (folder / "capitals").write_text(WITH_IDS["trn"].replace("u-", "U-"))
    score, (told,) = errors("capitals", "kaldi")
    assert score == 0.0
    assert told == "capitals: 2 ids joined without regard to case ('U-1' with 'u-1' of kaldi)"


@pytest.mark.usefixtures("folder")
def test_results_with_both_sides_must_be_named():
    with pytest.raises(InputError, match="name these by both#ref, those by both#hyp"):
        errors("both", "kaldi")
