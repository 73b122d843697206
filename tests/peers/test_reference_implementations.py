"""Equal figures on random and on real texts, option by option, and the page that lists options.

docs/metrics/reference-implementations.md (sacrebleu, jiwer) and the page of this name in research/
say for each option what it is here. jiwer and NLTK are compared where they are installed.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import logging
import random
import re
import signal
import subprocess
import sys

import numpy as np
import pytest
import sacrebleu

import portmert
from portmert.metrics._base import Vocabulary
from portmert.tuner.components import registry
from portmert.tuner.texts.corpus import References, make_batch
from portmert.tuner.texts.prepare import Preparation
from portmert.tuner.texts.text_pipeline import STEPS, TextPipeline
from tests.support.places import ROOT, SHARED, needs

PAGE = ROOT / "docs" / "metrics" / "reference-implementations.md"
OTHERS = ROOT / "research" / "reference-implementations.md"
TED = SHARED / "data" / "mqm-ted-zh-en"
TOKENS = (
    "the The a cat cats. cat's 1,000 3.5 it's can't we'll (hat) a-b 5-6 ! x.y &quot;x&quot; "
    "A&amp;B say: [b] <unk> \u732b\u3067\u3059 \u3002 \u65e5\u672c \u30ab\u30ca \uff0c "
    "\u201cso\u201d caf\u00e9 cafe\u0301 \uff21 it\u00a0is"
)
WORDS = TOKENS.split(" ")


def random_texts(seed, *, number=400, references=1):
    """Hypotheses and their references, some of them empty."""
    rng = random.Random(seed)

    def line():
        return " ".join(rng.choice(WORDS) for _ in range(rng.randint(0, 8)))

    def near(text):
        some = [w if rng.random() < 0.7 else rng.choice(WORDS) for w in text.split(" ")]
        return line() if rng.random() < 0.3 else " ".join(some)

    hypotheses = [line() for _ in range(number)]
    return hypotheses, [[near(text) for text in hypotheses] for _ in range(references)]


def real_texts():
    """60 segments of a system's output, with their reference."""
    output = min((TED / "outputs").iterdir())
    hypotheses, reference = (
        path.read_text(encoding="utf-8").splitlines()[:60] for path in (output, TED / "ref.en")
    )
    return hypotheses, [reference]


TEXTS = [
    pytest.param(lambda: random_texts(1), id="random"),
    pytest.param(lambda: random_texts(2, number=100, references=3), id="references"),
    pytest.param(real_texts, id="real", marks=needs(TED)),
]
SINGLE = [TEXTS[0], TEXTS[2]]


def scores(metric, hypotheses, streams, steps=""):
    """The score of every segment, then of the whole."""
    metric, vocabulary = registry.metric(metric), Vocabulary()
    ready = Preparation(TextPipeline.parse(steps))
    rows = [line for lines in zip(*streams, strict=True) for line in lines]
    references = References(
        portmert.Texts.from_lines(rows, vocabulary),
        np.arange(len(hypotheses) + 1) * len(streams),
    )
    texts = portmert.Texts.from_lines(hypotheses, vocabulary)
    batch = make_batch(
        ready.prepared(texts), np.arange(len(hypotheses) + 1), ready.references(references)
    )
    stats = metric.stats(batch)
    return [*metric.score(stats).tolist(), float(metric.score(stats.sum(axis=0)))]


def assert_sacrebleu(metric, theirs, texts, steps=""):
    hypotheses, streams = texts
    columns = zip(hypotheses, zip(*streams, strict=True), strict=True)
    expected = [theirs.sentence_score(text, list(rows)).score / 100 for text, rows in columns]
    expected.append(theirs.corpus_score(hypotheses, streams).score / 100)
    assert scores(metric, hypotheses, streams, steps) == pytest.approx(expected, abs=1e-12)


@pytest.fixture(autouse=True)
def _silent(caplog):
    """sacrebleu advises to switch effective_order on."""
    caplog.set_level(logging.CRITICAL, logger="sacrebleu")


# sacrebleu


@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("smooth", ["none", "exp", "floor", "add-k"])
@pytest.mark.parametrize(("effective", "order"), [(True, 4), (True, 2), (False, 4)])
def test_bleu_of_sacrebleu(texts, smooth, effective, order):
    theirs = sacrebleu.BLEU(
        smooth_method=smooth, effective_order=effective, max_ngram_order=order, tokenize="13a"
    )
    options = f"smooth={smooth},effective_order={str(effective).lower()},max_order={order}"
    assert_sacrebleu(f"bleu:{options}", theirs, texts(), "13a")


@pytest.mark.parametrize("texts", TEXTS)
def test_lowercase_and_smooth_value_of_sacrebleu(texts):
    theirs = sacrebleu.BLEU(lowercase=True, smooth_method="floor", smooth_value=0.3)
    assert_sacrebleu("bleu:smooth=floor,smooth_value=0.3", theirs, texts(), "lowercase,13a")
    assert_sacrebleu("chrf", sacrebleu.CHRF(lowercase=True), texts(), "lowercase")


@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("tokenize", ["intl", "char", "zh"])
def test_tokenisers_of_sacrebleu(texts, tokenize):
    assert_sacrebleu("bleu:smooth=exp", sacrebleu.BLEU(tokenize=tokenize), texts(), tokenize)


@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize(
    "options",
    [
        {"word_order": 0},
        {"eps_smoothing": True},
        {"eps_smoothing": True, "word_order": 2},
        {"whitespace": True},
        {"whitespace": True, "eps_smoothing": True, "word_order": 1, "beta": 3},
    ],
)
def test_chrf_of_sacrebleu(texts, options):
    ours = ",".join(f"{name}={str(value).lower()}" for name, value in options.items())
    assert_sacrebleu(f"chrf:{ours}", sacrebleu.CHRF(**options), texts())


TER_OPTIONS = ("normalized", "no_punct", "asian_support", "case_sensitive")


@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize(
    "values", [v for v in itertools.product((False, True), repeat=4) if v[0] or v[1] or not v[2]]
)
def test_ter_of_sacrebleu(texts, values):
    options = dict(zip(TER_OPTIONS, values, strict=True))
    if not any(values[:2]) and options["case_sensitive"]:
        pytest.skip("this is plain ter, which takes tokens as they are")
    ours = ",".join(f"{name}={str(value).lower()}" for name, value in options.items())
    assert_sacrebleu(f"ter:{ours}", sacrebleu.TER(**options), texts())


def test_ter_with_options_in_parts_of_a_batch_and_among_pairs():
    hypotheses, streams = random_texts(4)
    metric, vocabulary = registry.metric("ter:no_punct=true"), Vocabulary()
    texts = [portmert.Texts.from_lines(rows, vocabulary) for rows in (hypotheses, streams[0])]
    batch = portmert.Batch(texts[0], np.arange(401), texts[1], np.arange(401))
    parts = [metric.stats(batch.segments(k, k + 100)) for k in range(0, 400, 100)]
    assert (np.concatenate(parts) == metric.stats(batch)).all()


def test_ter_that_takes_punctuation_off_needs_no_tokenised_text():
    found = [registry.metric(f"ter{o}").compares_words for o in ("", ":no_punct=true")]
    assert found == [True, False]


def test_asian_support_alone_is_refused():
    with pytest.raises(portmert.PortmertError, match="changes nothing without normalized or no_p"):
        registry.metric("ter:asian_support=true")


# jiwer


def jiwer_words(hypotheses, reference, metric):
    import jiwer

    counted = [jiwer.process_words(r, h) for h, r in zip(hypotheses, reference, strict=True)]
    whole = jiwer.process_words(reference, hypotheses)
    return [getattr(row, metric) for row in (*counted, whole)]


@pytest.mark.parametrize("texts", SINGLE)
@pytest.mark.parametrize("metric", ["mer", "wil", "wip"])
def test_measures_of_jiwer(texts, metric):
    pytest.importorskip("jiwer", reason="package: jiwer is not installed")
    hypotheses, (reference,) = texts()
    found = scores(metric, hypotheses, [reference])
    assert found == pytest.approx(jiwer_words(hypotheses, reference, metric), abs=1e-12)


@pytest.mark.parametrize("texts", SINGLE)
def test_wer_and_cer_of_jiwer(texts):
    jiwer = pytest.importorskip("jiwer", reason="package: jiwer is not installed")
    hypotheses, (reference,) = texts()
    whole = 1 - scores("wer", hypotheses, [reference])[-1]
    assert whole == pytest.approx(jiwer.wer(reference, hypotheses), abs=1e-12)
    whole = 1 - scores("cer", hypotheses, [reference])[-1]
    assert whole == pytest.approx(jiwer.cer(reference, hypotheses), abs=1e-12)


def test_wer_of_meeteval_in_stm(tmp_path):
    meeteval = pytest.importorskip("meeteval", reason="package: meeteval is not installed")
    hypotheses, (reference,) = random_texts(6)
    for name, lines in (("hyp", hypotheses), ("ref", reference)):
        words = (" ".join(line.split()) for line in lines)  # meeteval cuts at every blank
        rows = (f"s{n} 1 x {n}.25 {n}.75 {line}\n" for n, line in enumerate(words))
        (tmp_path / name).write_text(";; made\n" + "".join(rows))
    found = portmert.score(tmp_path / "hyp", [tmp_path / "ref"], metric="wer")
    sides = (meeteval.io.STM.load(tmp_path / name) for name in ("ref", "hyp"))
    rates = meeteval.wer.sisower(*sides)
    assert 1 - found.score == meeteval.wer.combine_error_rates(rates).error_rate
    for n, score in enumerate(found.segment_scores):
        if reference[n].split():  # no rate there
            assert 1 - score == pytest.approx(rates[f"s{n}"].error_rate)


@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL"])
def test_rouge_of_the_recipe(name):
    rouge = pytest.importorskip("rouge_score.rouge_scorer", reason="package: rouge-score is not")
    hypotheses, references = random_texts(6)
    program = ROOT / "configs/recipes/rouge.py"
    metric = f"command:{sys.executable} {program} {name}"
    found = portmert.score(hypotheses, references, metric=metric)
    scorer = rouge.RougeScorer([name])
    best = [
        max(scorer.score(text, hypothesis)[name].fmeasure for text in texts)
        for hypothesis, *texts in zip(hypotheses, *references, strict=True)
    ]
    assert found.segment_scores.tolist() == pytest.approx(best, abs=1e-12)
    assert found.score == pytest.approx(sum(best) / len(best), abs=1e-12)


STEPS_OF_JIWER = {
    "lowercase": "ToLowerCase",
    "no-punct": "RemovePunctuation",
    "no-brackets": "RemoveKaldiNonWords",
    "contractions": "ExpandCommonEnglishContractions",
}


@pytest.mark.parametrize("texts", SINGLE)
@pytest.mark.parametrize("step", STEPS_OF_JIWER)
def test_text_steps_of_jiwer(texts, step):
    jiwer = pytest.importorskip("jiwer", reason="package: jiwer is not installed")
    lines, _ = texts()
    expected = getattr(jiwer, STEPS_OF_JIWER[step])()(lines)
    found = TextPipeline.parse(step).applied(portmert.Texts.from_lines(lines, Vocabulary()), "hyp")
    words = [[w for w in re.split(r"[ \t\n\r\v\f]+", line) if w] for line in expected]
    assert [found.words(row) for row in range(len(found))] == words


@pytest.mark.parametrize("texts", SINGLE)
def test_standardised_wer_of_jiwer(texts):
    jiwer = pytest.importorskip("jiwer", reason="package: jiwer is not installed")
    hypotheses, (reference,) = texts()
    expected = jiwer.wer(
        reference,
        hypotheses,
        reference_transform=jiwer.transformations.wer_standardize,
        hypothesis_transform=jiwer.transformations.wer_standardize,
    )
    found = scores("wer", hypotheses, [reference], "lowercase,contractions,no-brackets")[-1]
    assert 1 - found == pytest.approx(expected, abs=1e-12)


# NLTK


@pytest.mark.filterwarnings("ignore:\\nThe hypothesis contains 0 counts")
def test_figures_of_nltk():
    translate = pytest.importorskip("nltk.translate", reason="package: nltk is not installed")
    hypotheses, (reference,) = random_texts(6)
    # A text that is shorter than an order has one n-gram of it in NLTK.
    rows = [row for row in zip(hypotheses, reference, strict=True) if min(map(words_of, row)) > 3]
    hypotheses, reference = map(list, zip(*rows, strict=True))
    own, others = [h.split() for h in hypotheses], [[r.split()] for r in reference]
    texts = [" ".join(words) for words in own], [[" ".join(words) for (words,) in others]]
    smoothing = translate.bleu_score.SmoothingFunction()
    for metric, method in (
        ("bleu", "method0"), ("bleu:smooth=floor", "method1"), ("bleu:smooth=add1", "method2"),
        ("bleu:smooth=exp", "method3"),
    ):  # fmt: skip
        function = getattr(smoothing, method)
        expected = [
            translate.bleu_score.sentence_bleu(r, h, smoothing_function=function)
            for r, h in zip(others, own, strict=True)
        ]
        expected.append(translate.bleu_score.corpus_bleu(others, own, smoothing_function=function))
        assert scores(metric, *texts) == pytest.approx(expected, abs=1e-12), method
    chrf = translate.chrf_score.sentence_chrf
    expected = [chrf(r, h) for r, h in zip(texts[1][0], texts[0], strict=True)]
    assert scores("chrf:eps_smoothing=true,beta=3", *texts)[:-1] == pytest.approx(expected)
    nist = translate.nist_score.corpus_nist(others, own)
    assert scores("nist", *texts)[-1] == pytest.approx(nist, abs=1e-9)


def words_of(text):
    return len(text.split())


# The page


def section(name):
    """The names in backquotes of a section of the page, with those of its parts."""
    text = PAGE.read_text(encoding="utf-8")
    (part,) = re.findall(rf"^(#+) {name}\n(.*?)(?=^\1 |\Z)", text, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"`([^`]+)`", part[1]))


@pytest.mark.parametrize("metric", ["BLEU", "CHRF", "TER"])
def test_the_page_names_every_option_of_sacrebleu(metric):
    options = set(inspect.signature(getattr(sacrebleu, metric)).parameters)
    assert options <= section({"CHRF": "chrF"}.get(metric, metric))


def test_the_page_names_every_option_of_the_command_sacrebleu(monkeypatch):
    class ParsedError(Exception):
        pass

    def stop(parser, *_):
        raise ParsedError(parser)

    handler = signal.getsignal(signal.SIGPIPE)
    command = importlib.import_module("sacrebleu.sacrebleu")
    signal.signal(signal.SIGPIPE, handler)  # else who writes to a dead program would end
    monkeypatch.setattr("argparse.ArgumentParser.parse_args", stop)
    with pytest.raises(ParsedError) as caught:
        command.parse_args()
    (parser,) = caught.value.args
    options = {
        max([*action.option_strings] or [action.dest], key=len) for action in parser._actions
    }
    options = {"--citation" if option == "--cite" else option for option in options}
    assert len(options) > 40
    assert options <= section("sacrebleu")


def test_sentences_of_the_command_sacrebleu(tmp_path):
    """The page's row of `-m bleu --sentence-level`, also for texts of fewer than four words."""
    (name,) = re.findall(
        r"`-m bleu --sentence-level` \| `--metric (\S+) --text 13a", PAGE.read_text()
    )
    hyp, ref = ["A dog.", "a b c d e", "yes"], ["A cat.", "a b c d f", "yes"]
    for file, lines in (("hyp", hyp), ("ref", ref)):
        (tmp_path / file).write_text("".join(f"{line}\n" for line in lines))
    program = [sys.executable, "-m", "sacrebleu", "ref", "-i", "hyp", "-m", "bleu"]
    said = subprocess.run(
        [*program, "--sentence-level", "-b", "-w", "9"],
        cwd=tmp_path, capture_output=True, check=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    theirs = [float(line) / 100 for line in said.stdout.split()]
    ours = portmert.score(hyp, [ref], metric=name, text="13a").segment_scores
    assert ours == pytest.approx(theirs, abs=1e-9)
    assert min(ours) > 0


def test_the_page_names_every_tokeniser_of_sacrebleu():
    tokenisers = set(importlib.import_module("sacrebleu.metrics.bleu")._TOKENIZERS)
    assert tokenisers <= section("BLEU")
    assert tokenisers - {"none", "spm"} <= set(STEPS)


def test_the_page_names_every_measure_and_transform_of_jiwer():
    jiwer = pytest.importorskip("jiwer", reason="package: jiwer is not installed")
    parts = (jiwer.measures, jiwer.transforms, jiwer.transformations)
    names = {name for part in parts for name in part.__all__}
    assert {name.removesuffix("_contiguous") for name in names} <= section("jiwer")


@pytest.mark.parametrize(
    ("name", "program"),
    [("bleu", sacrebleu.BLEU), ("chrf", sacrebleu.CHRF), ("ter", sacrebleu.TER)],
)
def test_every_default_of_sacrebleu_may_be_written(name, program):
    for option, parameter in inspect.signature(program).parameters.items():
        if hasattr(registry.metric(name), option) and parameter.default is not None:
            registry.metric(f"{name}:{option}={str(parameter.default).lower()}")


def test_chrf_without_words_has_one_signature():
    assert registry.metric("chrf:word_order=0") == registry.metric("chrf")
    assert registry.metric("chrf:word_order=0").signature == "chrf:max_order=6,beta=2.0"
    assert registry.metric("chrf++").signature == "chrf:max_order=6,beta=2.0,word_order=2"


OPTIONS_OF = {
    "METEOR 1.5": (
        "l t p m w r x e s d a f q new ch norm lower noPunct sgml stdio mira vOut ssOut "
        "writeAlignments"
    ),
    "tercom": "N s P A K r h a b S o n d M D B I T",
    "mt-metrics-eval": (
        "download list echo echosys scores test_set language_pair input output matrix_save "
        "compare gold avg replace_nans_with_zeros k k_block early_min early_max matrix "
        "matrix_perm_test thresh use_outliers add_systems matrix_parallel matrix_level "
        "matrix_domain matrix_refs matrix_close_refs matrix_human matrix_primary matrix_pval "
        "matrix_corr matrix_corr_args primary_metrics add_metrics_from_dir"
    ),
}
"""The options in each program's source; they have not changed for years."""


@pytest.mark.parametrize("program", OPTIONS_OF)
def test_the_page_names_the_options_of_programs_and_no_others(program):
    rows = OTHERS.read_text("utf-8").split(f"## {program}\n")[1].split("\n## ")[0]
    first = " ".join(row.split("|")[1] for row in rows.splitlines() if row.startswith("| `-"))
    assert set(re.findall(r"`--?(\w+)", first)) == set(OPTIONS_OF[program].split())


def test_the_tasks_of_meteor_are_the_versions_that_the_page_names():
    page = OTHERS.read_text("utf-8")
    for task, version in (("rank", "1.5"), ("li", "1.5-any"), ("universal", "1.5-universal")):
        (row,) = (line for line in page.splitlines() if line.startswith(f"| `-t {task}`"))
        assert f"version={version}`" in row
    assert "1.5-" not in next(line for line in page.splitlines() if line.startswith("| `-t util`"))


def test_options_of_ours_that_the_page_names_exist():
    for name, option in re.findall(
        r"`(bleu|chrf|ter|ribes|meteor|m2):(\w+)",
        PAGE.read_text("utf-8") + OTHERS.read_text("utf-8"),
    ):
        metric = registry.metric(name)
        assert hasattr(metric, option), (name, option)
