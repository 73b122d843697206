"""Texts with markup around them: what is read, under which options, and what is refused."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

import portmert
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.texts.forms import FORMS, alternatives
from tests.support.places import ROOT

SEGMENTS = {"u-1": "the old ship left", "u-2": "we saw birds"}


def of_lines(form):
    return "".join(form.format(id=name, text=text) + "\n" for name, text in SEGMENTS.items())


def timed(form):
    return "".join(
        form.format(
            id=name, n=n, time=f"00:00:0{n}{{}}000", text=text, next=f"00:00:0{n + 1}{{}}000"
        )
        for n, (name, text) in enumerate(SEGMENTS.items())
    )


PLAIN = {
    "plain": of_lines("{text}"),
    "a.jsonl#t": of_lines('{{"t": "{text}"}}'),
    "a.json#t": "[" + of_lines('{{"t": "{text}"}},').strip().removesuffix(",") + "]",
    "a.tsv#t": "n\tt\n" + of_lines("0\t{text}"),
    "a.csv#t": "n,t\n" + of_lines('0,"{text}"'),
    "c.jsonl#c.0.t": of_lines('{{"c": [{{"t": "{text}"}}, {{"t": "no"}}]}}'),
    "sgml": of_lines('<seg id="1">{text}</seg>'),
    "set.sgm": f'<refset>\n<doc docid="d">\n{of_lines("<seg>{text}</seg>")}</doc>\n</refset>\n',
    "a.vtt": "WEBVTT\n\n" + timed("{time} --> {next}\n<b>{text}</b>\n\n").replace("{}", "."),
    "a.srt": timed("{n}\n{time} --> {next}\n{text}\n\n").replace("{}", ","),
}
WITH_IDS = {
    "kaldi": of_lines("{id} {text}"),
    "trn": ";; a note\n" + of_lines("{text} ({id})") + ";; another\n",
    "b.jsonl#t": of_lines('{{"id": "{id}", "t": "{text}"}}'),
    "b.tsv#t": "id\tt\n" + of_lines("{id}\t{text}"),
    "recogs": "".join(f"{name}:\tref={text.split()}\n" for name, text in SEGMENTS.items()),
    "both#hyp": "".join(
        f"{name}:\tref=['x']\n{name}:\thyp={text.split()}\n" for name, text in SEGMENTS.items()
    ),
}
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
    for name, content in {**PLAIN, **WITH_IDS, "stm": STM, "ctm": CTM}.items():
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
