"""Texts with markup around them: what is read, under which options, and what is refused."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

import portmert
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.texts.forms import alternatives, read_form
from tests.support.forms import CTM, PAGE, PLAIN, SEGMENTS, STM, WITH_IDS, page, write_all


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_all(tmp_path)
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


LISTS = {"list": PLAIN, "list-of-ids": WITH_IDS}


@pytest.mark.usefixtures("folder")
def test_every_form_is_read_beside_lists():
    for name, forms in LISTS.items():
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


@pytest.mark.usefixtures("folder")
def test_features_and_scores_read_the_same_forms():
    for name, forms in LISTS.items():
        for form in forms:
            numbers_read(name, f"n-{form}")


def test_the_page_has_the_table_of_the_forms():
    """After a change: python -m tests.support.forms."""
    assert page() == PAGE.read_text(encoding="utf-8")


@pytest.mark.usefixtures("folder")
def test_words_with_times_are_cut_into_the_segments_of_stm(folder):
    for hyp in ("stm", "ctm"):
        assert errors(hyp, "stm") == (0.0, [])
    (folder / "late").write_text(CTM + "show 1 9.0 0.1 late\n")
    assert errors("late", "stm") == (
        0.0,
        ["late: 1 word outside of all segments of stm, left out"],
    )
    (folder / "more").write_text(CTM.replace(" 0.9\n", " NA lex ann \n"))
    assert errors("more", "stm") == (0.0, [])
    (folder / "whole").write_text("a 1 ann 0 2 x y\na 1 bob 1 3 z\n")
    (folder / "words").write_text("a 1 0.2 0.2 x\na 1 0.5 0.2 y\na 1 2.1 0.1 z\n")
    rate, (line,) = errors("words", "whole")
    assert (rate, line[:46]) == (0.0, "whole: 1 segment of one channel that overlap: ")
    (folder / "either").write_text(CTM + "show 1 * * <ALT_BEGIN>\n")
    with pytest.raises(InputError, match="either:8: CTM with alternatives is not read; keep one"):
        errors("either", "stm")
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


def test_texts_of_alternatives():
    assert alternatives("a { b / c d / @ } e", "x") == ["a b e", "a c d e", "a e"]
    assert alternatives("{ a / b }", "x") == ["a", "b"]
    assert alternatives("a {b/c} { no }", "x") == ["a {b/c} { no }"]
    for json in ('{"answer": "yes / no"}', "{ 'a': 1 / 2 } x", "{ [1] / [2] }"):
        assert alternatives(json, "x") == [json]
    nested = ["a c", "b", "a d e"]
    assert alternatives("{ a { c / d e } / b }", "x") == nested
    assert alternatives("{a {c / d e} /b }", "x") == nested
    assert alternatives("a { b / c } { d / 1/2 }", "x") == ["a b d", "a b 1/2", "a c d", "a c 1/2"]
    with pytest.raises(InputError, match="x: alternatives make more than 256 texts of a seg"):
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


def test_captions_that_scroll_are_told(folder):
    times = "00:00:0{0}.000 --> 00:00:0{0}.900\n"
    lines = ["oh", "yeah", "what", "this", "will"]
    cues = [f"{times.format(n)}{lines[n - 1]}\n{lines[n]}\n\n" for n in range(1, 5)]
    (folder / "a.vtt").write_text("WEBVTT\n\n" + "".join(cues))
    with collected_warnings() as told:
        texts = list(read_form(Path("a.vtt")))
    assert texts == ["oh yeah", "yeah what", "what this", "this will"]
    (line,) = told
    assert line.startswith("a.vtt: 3 cues of 4 begin with the last line of the cue before, ")


def test_a_word_a_line_of_conllu_is_refused(folder):
    (folder / "x").write_text("# sent_id = 1\n1\tA\ta\tX" + "\t_" * 6 + "\n")
    with pytest.raises(InputError, match="x: CoNLL-U has a word a line; write the words of a sen"):
        errors("x", "plain")
