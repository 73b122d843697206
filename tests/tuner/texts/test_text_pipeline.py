"""Texts made comparable: steps, links carried over, the warning of a mismatch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

import portmert
from portmert.metrics._base import Batch, Ragged, Texts, Vocabulary
from portmert.tuner.base.errors import ConfigError, InputError
from portmert.tuner.components import registry
from portmert.tuner.texts.statistics import notices
from portmert.tuner.texts.text_pipeline import (
    TextPipeline,
    shared_characters,
    unknown_tokens,
    untokenised,
)
from tests.support.examples import examples

SENTENCES = ["the cat sat on the mat .", "a dog ran home , fast", "cats and dogs ran"] * 40


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A small sentencepiece model that knows bytes."""
    import sentencepiece

    folder = tmp_path_factory.mktemp("spm")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_prefix=str(folder / "m"), vocab_size=300,
        hard_vocab_limit=False, byte_fallback=True, minloglevel=2,
    )  # fmt: skip
    return folder / "m.model"


def texts(*lines, links=None):
    return Texts.from_lines(lines, Vocabulary(), links)


def lines(found):
    return [" ".join(found.words(row)) for row in range(len(found))]


def applied(steps, *given_lines, model=None):
    return lines(TextPipeline.parse(steps, model).applied(texts(*given_lines), "hyp"))


# Steps


@pytest.mark.parametrize(
    ("steps", "before", "after"),
    [
        ("lowercase", "Ab É", "ab é"),
        ("debpe", "un@@ believ@@ able cat@@ s", "unbelievable cats"),
        ("debpe", "a@@ b@@", "ab"),
        ("debpe", "", ""),
        ("spm-decode", "▁the ▁cat s ▁", "the cats"),
        ("spm-decode", "▁a▁b c", "a bc"),
        ("13a", "Hello, you: 1,000.5 &quot;x&quot; end.", 'Hello , you : 1,000.5 " x " end .'),
        ("char", "ab c", "a b c"),
        ("zh", "我爱cats", "我 爱 cats"),
        ("nfc", "cafe\u0301", "caf\u00e9"),
        ("nfd", "caf\u00e9", "cafe\u0301"),
        ("nfkc", "\uff21\u00a0\ufb01", "A fi"),
        ("nfkd", "\u00bd", "1\u20442"),
        ("unescape", "&quot;a&quot; &#124;&bar; &amp;lt; &copy;", '"a" || &lt; &copy;'),
        ("plain-punct", "\u201ea\u201c \u2019s \u2013 \u2026", '"a" \'s - ...'),
        ("no-punct", "Hello, (you) - a.b \u3002 $1", "Hello you ab $1"),
        ("no-brackets", "yes [loud noise] <unk> a<b", "yes a<b"),
        ("drop=uh+!SIL", "uh !SIL huh yes uh", "huh yes"),
        ("lowercase,hyp:drop=a:b", "A:B c", "c"),
        ("contractions", "we won't , you'll", "we will not , you will"),
        ("lowercase", "A\u00a0B", "a\u00a0b"),
        ("debpe,lowercase,13a", "He@@ llo, You.", "hello , you ."),
    ],
)
def test_step(steps, before, after):
    assert applied(steps, before) == [after]


def test_steps_for_one_side():
    pipeline = TextPipeline.parse("hyp:debpe,ref:lowercase,13a")
    given_texts = texts("A@@ b,")
    assert lines(pipeline.applied(given_texts, "hyp")) == ["Ab ,"]
    assert lines(pipeline.applied(given_texts, "ref")) == ["a @ @ b ,"]
    assert str(pipeline) == "hyp:debpe,ref:lowercase,13a"


def test_steps_for_the_source():
    pipeline = TextPipeline.parse("src:debpe,src:lowercase,13a")
    assert pipeline.source(("A@@ b,", "")) == ("ab,", "")
    assert lines(pipeline.applied(texts("A@@ b,"), "hyp")) == ["A @ @ b ,"]
    assert pipeline.signature == "case:mixed|text:src:debpe,src:lowercase,13a"
    assert TextPipeline.parse("src:lowercase").signature == "case:mixed|text:src:lowercase"
    # Without a step of its own it stays as it was read, with all its spaces.
    assert TextPipeline.parse("13a").source(("A  b, ",)) == ("A  b, ",)
    assert TextPipeline.parse("src:debpe").source(None) is None
    with pytest.raises(InputError, match=r"no token of the source has the sign .* leave it out"):
        TextPipeline.parse("src:spm-decode").source(("a b",))


def test_sentencepiece_model_cuts_and_joins(model):
    before = ["the cat sat on the mat .", "", "日 cats"]
    pieces = applied("spm-encode", *before, model=model)
    assert pieces[0].split()[0].startswith("▁")
    assert "<0xE6>" in pieces[2]
    assert applied("spm-decode", *pieces, model=model) == before


@pytest.mark.parametrize("name", ["13a", "intl", "char", "zh"])
def test_tokenisers_are_those_of_sacrebleu(name):
    sample = [
        "Hello, you -- it's 3.14 (or 1,000)!",
        "«Ça va?»  <skipped>A-B &amp; C",
        "我爱 you。",
    ]
    tokenise = BLEU(tokenize=name).tokenizer
    assert applied(name, *sample) == [" ".join(tokenise(line).split()) for line in sample]


def test_signature_names_the_steps(tmp_path):
    assert TextPipeline().signature == "case:mixed"
    assert TextPipeline.parse("lowercase").signature == "case:lc"
    assert TextPipeline.parse("debpe,13a").signature == "case:mixed|text:debpe,13a"
    encode = TextPipeline.parse("lowercase,spm-encode", tmp_path / "m.model")
    assert encode.signature == "case:lc|text:lowercase,spm-encode(m.model)"


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("debp", "unknown text step 'debp'; did you mean 'debpe'"),
        ("tgt:debpe", "text step 'tgt:debpe': before the colon stands hyp, ref or src"),
        ("spm-encode", "spm-encode needs a sentencepiece model"),
        ("flores101,ref:flores200", "text steps flores101 and flores200: take one of them"),
    ],
)
def test_wrong_steps(steps, expected):
    with pytest.raises(ConfigError, match=expected):
        TextPipeline.parse(steps)


def test_model_for_nothing(tmp_path):
    with pytest.raises(ConfigError, match="no text step that takes one: spm-encode, "):
        TextPipeline.parse("13a", tmp_path / "m.model")


def test_file_that_is_no_model(tmp_path):
    (tmp_path / "m.model").write_text("no model")
    with pytest.raises(InputError, match=r"m\.model: no sentencepiece model"):
        applied("spm-encode", "a", model=tmp_path / "m.model")


@pytest.fixture
def sacrebleu_folder(tmp_path, monkeypatch):
    """A folder in which sacrebleu keeps its models; it fetches none."""
    import sacrebleu.utils
    from sacrebleu.tokenizers import tokenizer_spm

    for module in (sacrebleu.utils, tokenizer_spm):
        monkeypatch.setattr(module, "SACREBLEU_DIR", str(tmp_path))
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


@pytest.mark.parametrize(
    ("step", "file"),
    [("flores101", "sacrebleu_tokenizer_spm.model"), ("flores200", "flores200sacrebleuspm")],
)
def test_spbleu_is_that_of_sacrebleu(step, file, model, sacrebleu_folder):
    (sacrebleu_folder / file).write_bytes(model.read_bytes())
    hypotheses = ["The cat sat , on a mat", "dogs ran home fast é\u3000x", "a", "cats ran"]
    references = [
        "the cat sat on the mat .",
        "a dog ran home , fast é x",
        "a",
        "cats and dogs ran",
    ]
    theirs = BLEU(tokenize=step).corpus_score(hypotheses, [references]).score
    metric = "bleu:smooth=exp"
    for options in ({"text": step}, {"text": step, "text_model": model}):
        found = portmert.score(hypotheses, [references], metric=metric, **options)
        assert 100 * found.score == pytest.approx(theirs, abs=1e-9)
    assert 5 < theirs < 95
    other = {"text": "spm-encode", "text_model": model}
    found = portmert.score(hypotheses, [references], metric=metric, **other)
    assert 100 * found.score == pytest.approx(theirs, abs=1e-9)


def test_spbleu_of_a_list_in_other_pieces(model):
    pieces = ["\u2581th e\u2581c at \u2581sat", "\u2581the \u2581cat\u2581s at"]
    both = applied("spm-decode,flores200", *pieces, model=model)
    words = [piece.replace(" ", "").replace("\u2581", " ").strip() for piece in pieces]
    assert both == applied("flores200", *words, model=model)


def test_without_its_model_spbleu_says_where_it_would_be(sacrebleu_folder):
    with pytest.raises(InputError, match=r"flores200: there is no .*flores200sacrebleuspm; name"):
        applied("flores200", "a b")
    (sacrebleu_folder / "flores200sacrebleuspm").write_text("no model")
    with pytest.raises(InputError, match="flores200sacrebleuspm: no sentencepiece model"):
        applied("flores200", "a b")


def test_decoding_what_has_no_pieces_is_refused():
    with pytest.raises(InputError, match=r"no token of the references has the sign ▁ .*hyp:spm"):
        TextPipeline.parse("spm-decode").applied(texts("the cat"), "ref")


def test_tokeniser_that_is_not_installed(monkeypatch):
    import importlib

    def missing(name):
        raise ImportError(f"no {name}:\n install it")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InputError, match=r"text step ja-mecab: no sacrebleu.* install it"):
        applied("ja-mecab", "a")


def test_each_distinct_text_is_changed_once():
    calls = []
    pipeline = TextPipeline.parse("char")
    original = pipeline._function

    def counted(name):
        step = original(name)
        return step._replace(change=lambda words: calls.append(words) or step.change(words))

    object.__setattr__(pipeline, "_function", counted)
    given_texts = texts(*["ab", "cd", "ab", "ab"] * 5)
    assert lines(pipeline.applied(given_texts, "hyp")) == ["a b", "c d", "a b", "a b"] * 5
    assert len(calls) == 2
    pipeline.applied(given_texts.rows(1, 4), "hyp")
    assert len(calls) == 2


# Links


@pytest.mark.parametrize(
    ("steps", "line", "links", "after"),
    [
        # un@@ able cats -> unable cats: 0, 1 become 0, 2 becomes 1
        ("debpe", "un@@ able cats", [(5, 0), (6, 1), (6, 0), (7, 2)], [[5, 0], [6, 0], [7, 1]]),
        # Hi, you. -> Hi , you . : 0 becomes 0 and 1
        ("13a", "Hi, you.", [(0, 0), (1, 1)], [[0, 0], [0, 1], [1, 2], [1, 3]]),
        ("spm-decode", "▁c at ▁s", [(0, 1), (1, 2)], [[0, 0], [1, 1]]),
        ("lowercase", "A B", [(0, 1)], [[0, 1]]),
        # & a quot -> entities change characters; what stands in their place is linked
        ("13a", "a &quot; b", [(0, 0), (1, 1), (2, 2)], [[0, 0], [1, 1], [2, 2]]),
        ("debpe,13a", "Hel@@ lo, you", [(0, 0), (1, 1), (2, 2)], [[0, 0], [1, 0], [1, 1], [2, 2]]),
    ],
)
def test_links_follow_the_characters(steps, line, links, after):
    found = TextPipeline.parse(steps).applied(texts(line, links=[links]), "hyp")
    assert found.links.row(0).tolist() == after


def test_links_through_a_model(model):
    given_texts = texts("the cats ran", links=[[(0, 0), (1, 1), (2, 2)]])
    pieces = TextPipeline.parse("spm-encode", model).applied(given_texts, "hyp")
    back = TextPipeline.parse("spm-decode", model).applied(pieces, "hyp")
    assert len(pieces.words(0)) > 3
    assert set(pieces.links.row(0)[:, 0].tolist()) == {0, 1, 2}
    assert back.links.row(0).tolist() == [[0, 0], [1, 1], [2, 2]]


WORD = st.text("ab,.1é我", min_size=1, max_size=4)


@examples(200)
@given(st.lists(WORD, max_size=6), st.sampled_from(["13a", "intl", "char", "zh"]))
def test_links_to_every_token_stay_on_their_characters(words, step):
    """Each token linked to a source word of its own: new tokens in order carry the same order."""
    given_texts = texts(" ".join(words), links=[[(k, k) for k in range(len(words))]])
    found = TextPipeline.parse(step).applied(given_texts, "hyp")
    new = found.words(0)
    assert "".join(new) == "".join(words)
    for source, target in found.links.row(0).tolist():
        # the characters of the two overlap in the text without spaces
        old_begin = len("".join(words[:source]))
        new_begin = len("".join(new[:target]))
        assert old_begin < new_begin + len(new[target])
        assert new_begin < old_begin + len(words[source])
    assert {j for _, j in found.links.row(0).tolist()} == set(range(len(new)))


@st.composite
def linked_texts(draw):
    """Texts of which some change and some do not, with repeated links."""
    rows = draw(st.lists(st.lists(st.sampled_from(["a@@", "b", "c@@", "d"]), max_size=5),
                         max_size=5))  # fmt: skip
    links = [
        draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, len(row) - 1)), max_size=5))
        if row
        else []
        for row in rows
    ]
    return rows, links


@examples(200)
@given(linked_texts(), st.sampled_from(["debpe", "char", "debpe,char", "lowercase,debpe"]))
def test_links_of_many_texts_are_those_of_each(texts_and_links, steps):
    rows, links = texts_and_links
    found = TextPipeline.parse(steps).applied(texts(*map(" ".join, rows), links=links), "hyp")
    for row, (words, pairs) in enumerate(zip(rows, links, strict=True)):
        new = found.words(row)
        # Character by character: which new token each character of an old token went to.
        visible = [word.removesuffix("@@") if "debpe" in steps else word for word in words]
        owner = [k for k, word in enumerate(new) for _ in word]
        at = np.cumsum([0, *map(len, visible)])
        expected = {(i, owner[c]) for i, j in pairs for c in range(at[j], at[j + 1])}
        assert found.links.row(row).tolist() == [list(pair) for pair in sorted(expected)]


@examples(200)
@given(st.lists(WORD, max_size=5))
def test_shared_characters_of_the_same_words_is_the_diagonal(words):
    assert shared_characters(words, words) == [(k, k) for k in range(len(words))]


def test_rows_of_a_view_are_their_own():
    whole = texts("un@@ do", "a@@ b c", links=[[(0, 1)], [(1, 2)]])
    found = TextPipeline.parse("debpe").applied(whole.rows(1, 2), "hyp")
    assert lines(found) == ["ab c"]
    assert isinstance(found.links, Ragged)
    assert found.links.row(0).tolist() == [[1, 1]]


# The warning


def batch(hypotheses, references):
    vocabulary = Vocabulary()
    given_texts = Texts.from_lines(hypotheses, vocabulary)
    offsets = np.arange(len(hypotheses) + 1)
    return Batch(given_texts, offsets, Texts.from_lines(references, vocabulary), offsets)


def unknown(batch):
    return unknown_tokens(np.bincount(batch.hypotheses.tokens.values), batch.references)


def test_a_mismatch_is_warned_about_with_examples():
    hypotheses = ["▁the ▁cat s ▁the"] * 40
    line = unknown(batch(hypotheses, ["the cats"] * 40))
    assert line == (
        "100 % of the hypotheses' tokens stand in no reference (most often: ▁the ▁cat s); are "
        "both tokenised alike? --text joins subwords and tokenises"
    )


def test_no_warning_where_both_are_alike_or_there_is_little_text():
    assert unknown(batch(["the cat zzz yyy"] * 10, ["the cat"] * 10)) is None  # 40 tokens
    assert unknown(batch(["the cat a zzz"] * 40, ["the cat a"] * 40)) is None  # 25 %
    assert "50 %" in unknown(batch(["the cat yyy zzz"] * 40, ["the cat a"] * 40))
    assert unknown(batch(["a"] * 200, [""] * 200)) is None


def test_running_text_is_told_with_an_example():
    line = untokenised(texts(*["Wash your hands."] * 19, "no stop", ""))
    assert line == (
        "95 % of the references end in a token like `hands.`: the text is not tokenised, and "
        "tokens are compared; --text 13a (zh, ja-mecab, ...) tokenises"
    )
    assert "100 %" in untokenised(texts(*["我喜欢。"] * 20))


def test_tokenised_or_little_text_is_not_called_running():
    assert untokenised(texts(*["wash your hands ."] * 100)) is None
    assert untokenised(texts(*["at 5 p.m."] * 50, *["at five ."] * 50)) is None  # 50 %
    assert untokenised(texts(*["Wash your hands."] * 19)) is None
    assert untokenised(texts(*[""] * 100)) is None


def test_running_text_is_told_of_metrics_of_words_only():
    given_batch = batch(["a b."] * 30, ["a b."] * 30)
    told = {
        name: [line for line in notices(registry.metric(name), given_batch) if "tokenised" in line]
        for name in ("bleu", "chrf", "cer", "0.5*chrf + 0.5*cer", "0.5*chrf + 0.5*bleu")
    }
    assert [len(lines) for lines in told.values()] == [1, 0, 0, 0, 1]
