"""What looks wrong about texts, tried on real ones: clean, and spoilt in each way."""

import csv
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from portmert.metrics._base import Batch, Texts, Vocabulary
from portmert.metrics.bleu import Bleu
from portmert.metrics.edits import Cer
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.texts import text_checks
from portmert.tuner.texts.corpus import read_texts
from portmert.tuner.texts.statistics import notices
from portmert.tuner.texts.text_pipeline import STEPS
from tests.support.places import ROOT

cut = Tokenizer13a()
DATA = ROOT.parent / "shared" / "data"
SLICES, SEGMENTS = 300, 100
MOST_FALSE = 3

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def real_pairs() -> dict[str, tuple[list[str], list[str], list[str] | None]]:
    """Return name -> hypotheses, references and source, all as they are."""
    fisher, ted, docs = DATA / "fisher-es-en", DATA / "mqm-ted-zh-en", DATA / "pydocs-zh-en"
    moses = DATA / "moses-ja-en"
    with (DATA / "hter-et-en" / "segments.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    columns = {name: [row[name] for row in rows] for name in ("source", "mt", "post_edit")}
    pairs = {
        "moses": (lines(moses / "test.untuned.out"), lines(moses / "test.en"), None),
        "moses tuned": (lines(moses / "mert-bleu" / "test.out"), lines(moses / "test.en"), None),
        "recogniser": (lines(fisher / "dev.asr.es"), lines(fisher / "dev.es"), None),
        "fisher": (lines(fisher / "dev.en1"), lines(fisher / "dev.en0"), lines(fisher / "dev.es")),
        "hter": (columns["mt"], columns["post_edit"], columns["source"]),
        "ted refB": (lines(ted / "refB.en"), lines(ted / "ref.en"), None),
        "pydocs": (lines(docs / "dev.en"), lines(docs / "dev.en"), lines(docs / "dev.zh")),
    }
    for output in sorted((ted / "outputs").iterdir()):
        pairs[f"ted {output.stem}"] = (lines(output), lines(ted / "ref.en"), None)
    return pairs


def batch(hypotheses, references, source=None) -> Batch:
    vocabulary = Vocabulary()
    texts = [Texts.from_lines(rows, vocabulary) for rows in (hypotheses, references)]
    offsets = np.arange(len(hypotheses) + 1)
    lengths = None if source is None else np.array([len(line.split()) for line in source])
    return Batch(
        texts[0], offsets, texts[1], offsets, lengths,
        source=None if source is None else tuple(source),
    )  # fmt: skip


def doubts(hypotheses, references, source=None, *, words=True):
    return text_checks.doubts(
        batch(hypotheses, references, source), compares_words=words, reads_order=True
    )


@needs_data
def test_clean_slices_raise_at_most_three_false_alarms():
    rng = np.random.default_rng(1)
    pairs = real_pairs()
    names = list(pairs)
    false = []
    for number in range(SLICES):
        name = names[number % len(names)]
        hyp, ref, source = pairs[name]
        begin = int(rng.integers(len(hyp) - SEGMENTS + 1))
        part = slice(begin, begin + SEGMENTS)
        said = doubts(hyp[part], ref[part], source and source[part])
        said += [line for line in notices(Bleu(), batch(hyp[part], ref[part])) if line not in said]
        said = [line for line in said if "the text is not tokenised" not in line]
        false += [f"{name} {begin}: {line}" for line in said]
    assert len(false) <= MOST_FALSE, "\n".join(false)


def _commas(line):
    return re.sub(r"(\d)\.(\d)", r"\1,\2", line)


def _tokenised(line):
    return re.sub(r"([.,!?;:])(?=\s|$)", r" \1", line)


def _pieces(line, mark):
    return " ".join(mark(word) if len(word) > 5 else word for word in line.split())


SPOILT = {
    "JSON": lambda line: f'{{"id": "x", "text": "{line}"}}',
    "in lower case": str.lower,
    "in capitals": str.upper,
    "are tokenised": _tokenised,
    "are in subwords": lambda line: _pieces(line, lambda word: f"{word[:4]}@@ {word[4:]}"),
    "in subwords": lambda line: " ".join(f"▁{word}" for word in line.split()),
    "subwords": lambda line: _pieces(line, lambda word: f"{word[:4]} ##{word[4:]}"),
    "full-width": lambda line: line.replace(",", "\uff0c").replace(".", "\uff0e"),
    "typographic": lambda line: line.replace("'", "\u2019"),
    "were encoded twice": lambda line: line.replace("e", "\u00c3\u00a4"),
    "encoded twice": lambda line: line.replace("e", "\u00e9").encode().decode("latin-1"),
    "read as Latin-1": lambda line: f"{line} \u00e2\u20ac\u2122",
    "subwords of bytes": lambda line: " ".join(f"\u0120{word}" for word in line.split()),
    "are fields of CSV": lambda line: f'{len(line)},"{line}"',
    "begin with numbers": lambda line: f"{len(line)}\t{line}",
    "are within tags": lambda line: f"<s> {line} </s>",
    "within tags": lambda line: f'<seg id="{len(line)}">{line}</seg>',
    "begin with ids": lambda line: f"utt-{len(line):03} {line}",
    "begin with numbers (": lambda line: f"{len(line)}. {line}",
    "begin with ids (": lambda line: f"2005_{len(line)}_A_fsh {line}",
    "end with ids": lambda line: f"{line} (spk-{len(line):03})",
    "are within quotes": lambda line: f'"{line}"',
    "have no punctuation": lambda line: re.sub(r"[^\w\s]", "", line),
    "are empty": lambda line: line if len(line) % 3 == 0 else "",
    "XML escapes": lambda line: line.replace("'", "&apos;").replace('"', "&quot;"),
}


@needs_data
@pytest.mark.parametrize("kind", SPOILT)
@pytest.mark.parametrize("side", ["hypotheses", "references"])
def test_each_way_of_spoiling_a_clean_slice_is_found(kind, side):
    hyp, ref, _ = real_pairs()["ted NiuTrans"]
    for begin in (0, 150, 300, 429):
        sides = {"hypotheses": hyp[begin : begin + 100], "references": ref[begin : begin + 100]}
        sides[side] = [SPOILT[kind](line) for line in sides[side]]
        said = "\n".join(doubts(*sides.values()))
        assert kind in said, begin
        if "encoded" in kind or "subwords" in kind:
            assert "lower case" not in said
            assert "tokenised" not in said


SHARED = {
    "begin with times": "[00:01.000 --> 00:02.000] {}",
    "begin with times (": "00:00:01,000 {}",
    "begin with the name of their side": "hyp: {}",
    "begin with the name of their side (": "|T|: {}",
    "are fields of CSV": '7,"{}"',
    "marks that are no words (`<en>`)": "<en> {} </s>",
    "marks that are no words (`[NOISE]`)": "[NOISE] {}",
    "marks that are no words (`<|en|>`)": "<|en|> {}",
    "begin with ids": "u-7: {}",
    "end with ids": "{} (u_7)",
}


@needs_data
@pytest.mark.parametrize("kind", SHARED)
def test_markup_on_both_sides_is_found(kind):
    for begin in (0, 300):
        sides = [side[begin : begin + 100] for side in real_pairs()["ted NiuTrans"][:2]]
        said = "\n".join(doubts(*([SHARED[kind].format(line) for line in side] for side in sides)))
        assert kind in said
        assert "the hypotheses and the references" in said


def test_blanks_that_one_side_has_are_told_to_a_metric_of_characters():
    spaced = ["\u6211 \u4eec \u5728 \u8fd9 \u91cc \u4f4f \u7740 \u5427"] * 20
    whole = [line.replace(" ", "") for line in spaced]
    both = batch(spaced, whole)
    said = "the hypotheses are segmented into words, the references are not: cer:spaces=false"
    assert said in "\n".join(notices(Cer(), both))
    assert "segmented" not in "\n".join(notices(Cer(spaces=False), both))
    assert "the references are not: segment both" in "\n".join(notices(Bleu(), both))


def test_comments_and_alternatives_are_found():
    plain = ["the cat sat on the mat"] * 5
    said = "\n".join(doubts([*plain, ";; a note"], [*plain, "a note"]))
    assert "the hypotheses have comments (`;;`)" in said
    said = "\n".join(doubts([*plain, "the { cat / dog }"], [*plain, "the cat"]))
    assert "the hypotheses have alternatives" in said
    code = "as f ' { expr = } ' or { key : a/b } , { } / { x }"
    assert "alternatives" not in "\n".join(
        doubts([*plain, code, "read / write"], [*plain, *plain[:2]])
    )


@needs_data
def test_markup_is_found_behind_a_tokeniser():
    hyp, ref, _ = real_pairs()["ted NiuTrans"]
    for kind in ("are within tags", "within tags", "XML escapes"):
        said = "\n".join(
            doubts(*([cut(line) for line in side] for side in (map(SPOILT[kind], hyp), ref)))
        )
        assert kind in said


def test_what_is_no_case_is_not_called_one():
    english = [
        "The cat sat on the mat in Rome",
        "It is a big house here now",
        "A dog ran off",
    ] * 40
    chinese = ["\u6211 \u4eec NASA \u5728 \u8fd9 \u91cc \u3002"] * 120
    assert "in capitals" not in "\n".join(doubts(english, chinese))
    titles = [line.title() for line in english]
    assert "in lower case" not in "\n".join(doubts(titles, english))


def test_columns_that_are_read_as_text_are_told(tmp_path):
    for name, line in (("t", "a source\ta text"), ("one", "a\ttab"), ("plain", "a text")):
        first = "no tab" if name == "one" else line
        (tmp_path / name).write_text(f"{first}\n{line}\n{line}\n")
        with collected_warnings() as told:
            read_texts(tmp_path / name, Vocabulary())
        assert ["2 columns, separated by tabs" in warning for warning in told] == [True] * (
            name == "t"
        )


@needs_data
@pytest.mark.parametrize("form", ["NFD", "NFKD"])
def test_unicode_forms_that_differ_are_found(form):
    hyp, ref, _ = real_pairs()["recogniser"]
    for begin in (0, 500, 1400):
        spoilt = [unicodedata.normalize(form, line) for line in hyp[begin : begin + 100]]
        said = "\n".join(doubts(spoilt, ref[begin : begin + 100]))
        assert "decomposed (NFD) in the hypotheses" in said


@needs_data
def test_numbers_written_otherwise_are_found():
    hyp, ref, _ = real_pairs()["hter"]
    numbers = [n for n, line in enumerate(ref) if re.search(r"\d\.\d", line)][:100]
    some = [*numbers, *range(100 - len(numbers))]
    hyp, ref = [hyp[n] for n in some], [ref[n] for n in some]
    assert "decimal commas" in "\n".join(doubts(hyp, [_commas(line) for line in ref]))
    arabic = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
    assert "other digits" in "\n".join(doubts([line.translate(arabic) for line in hyp], ref))


@needs_data
def test_a_source_without_blanks_or_as_json_is_found():
    ted = DATA / "mqm-ted-zh-en"
    hyp, ref, _ = real_pairs()["ted NiuTrans"]
    source = lines(ted / "source.zh")
    for begin in (0, 200, 429):
        part = slice(begin, begin + 100)
        said = "\n".join(doubts(hyp[part], ref[part], source[part]))
        assert "no blanks between words" in said
        assert "Segment its file" in said
        characters = [" ".join(line.replace(" ", "")) for line in source[part]]
        assert "the source" not in "\n".join(doubts(hyp[part], ref[part], characters))
        # Links count the words of the file: a text step for the source changes nothing.
        stepped = replace(batch(hyp[part], ref[part], source[part]), source=tuple(characters))
        assert "the source" in "\n".join(
            text_checks.doubts(stepped, compares_words=True, reads_order=True)
        )
    both = [[SPOILT["JSON"](line) for line in side] for side in (hyp, ref)]
    assert "the hypotheses and references look like JSON" in "\n".join(doubts(*both))
    spoilt = [f'{{"src": "{line}"}}' for line in source]
    assert "the source look like JSON" in "\n".join(doubts(hyp, ref, spoilt))
    docs = real_pairs()["pydocs"]
    joined = ["".join(line.split()) for line in docs[2]]
    assert "the source has" in "\n".join(doubts(docs[0], docs[1], joined))


def test_thousands_written_otherwise_are_found():
    hyp = [f"it costs {n}.250 crowns" for n in range(1, 9)]
    said = doubts(hyp, [line.replace(".", ",") for line in hyp])
    assert "numbers of the references have thousands commas (`1,250`)" in said[0]


def test_text_steps_that_warnings_and_their_page_name_exist():
    page = (ROOT / "docs/how-to/warnings.md").read_text(encoding="utf-8")
    advice = Path(text_checks.__file__).read_text(encoding="utf-8") + page
    named = set(re.findall(r"--text ([\w:-]+)", advice))
    assert {"debpe", "nfc", "unescape"} <= named <= set(STEPS)


def test_escapes_of_moses_are_no_alarm_where_the_other_side_has_no_such_words():
    plain = ["the cat sat on the mat near the old house"] * 100
    escaped = [*plain[:90], *(["the cat &apos;s mat was on the old house"] * 10)]
    assert not [line for line in doubts(plain, escaped) if "escapes" in line]
    raw = [*plain[:90], *(["the cat 's mat was on the old house"] * 10)]
    assert [line for line in doubts(raw, escaped) if "escapes" in line]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda line: " |0-1| ".join(line.split()) + " |3-3|", "without -t"),
        (lambda line: " ".join(f"{word}|NN" for word in line.split()), "-report-all-factors"),
    ],
)
def test_marks_of_moses_are_named(change, said):
    plain = ["the cat sat on the mat near the old house"] * 40
    assert said in "\n".join(doubts([change(line) for line in plain], plain))
