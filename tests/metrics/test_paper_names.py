"""The names of the papers: each is found, and scores what an independent twin says."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.lib_ter import translation_edit_rate

from portmert.metrics._paper_names import EXAMPLES, PAPER_NAMES
from portmert.tuner import families
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.components import registry
from tests.oracles import dependencies, lexical, metrics, semantics, trees
from tests.support.cli import run
from tests.support.examples import examples
from tests.support.places import ROOT
from tests.support.strategies_metrics import (
    LAYERS,
    batch_of,
    batch_of_pairs,
    drs,
    roles,
    segments,
)


def of_trees(forest_of, items, **options):
    return lambda corpus: float(
        trees.overlap(corpus, forest_of=forest_of, items=items, kind="precision", **options)
    )


def kernel(forest_of):
    return lambda corpus: trees.tree_kernel(corpus, forest_of=forest_of)


def pos(which, **options):
    return lambda corpus: trees.pos(corpus, which=which, **options)


def meaning(value, *, form="plain", **options):
    return lambda corpus: semantics.corpus(semantics.judged(corpus, value, **options), form=form)


def overlap_of_words(corpus):
    words = [semantics.lexical(s.hypothesis, s.references) for s in corpus]
    return float(sum(words) / len(words))


def dpm(of, **options):
    return lambda corpus: dependencies.dpm(corpus, of=of, **options)


CONSTITUENTS, WORDS = trees.constituency_forest, trees.dependency_forest
TWINS = {
    "BLEU": metrics.bleu,
    "smoothed BLEU": lambda corpus: metrics.bleu(corpus, smooth="mteval"),
    "BLEU-SBP": metrics.bleu_sbp,
    "Qmean": metrics.qmean,
    "Qmean({n})": lambda corpus: metrics.qmean(corpus, max_order=3),
    "v": metrics.ordering,
    "v1": lambda corpus: metrics.ordering(corpus, order="v1"),
    "v2": lambda corpus: metrics.ordering(corpus, order="v2"),
    "\u03c1": lambda corpus: metrics.ordering(corpus, order="rho"),
    "\u03c4": lambda corpus: metrics.ordering(corpus, order="tau"),
    "PORT": metrics.port,
    "PORT(v)": metrics.port,
    "PORT(\u03c1)": lambda corpus: metrics.port(corpus, order="rho"),
    "PORT(\u03c4)": lambda corpus: metrics.port(corpus, order="tau"),
    "LRscore": lambda corpus: metrics.lr(corpus, measure="kendall"),
    "STM": of_trees(CONSTITUENTS, trees.subtrees),
    "STM-{n}": of_trees(CONSTITUENTS, trees.subtrees, depth=3),
    "TKM": kernel(CONSTITUENTS),
    "HWCM": of_trees(WORDS, trees.chains),
    "HWCM-{n}": of_trees(WORDS, trees.chains, depth=3),
    "DSTM": of_trees(WORDS, trees.subtrees),
    "DSTM-{n}": of_trees(WORDS, trees.subtrees, depth=3),
    "DTKM": kernel(WORDS),
    "BLEU-{n}": lambda corpus: metrics.bleu(corpus, max_order=3),
    "POSBLEU": trees.posbleu,
    "POS-BLEU": trees.posbleu,
    "POSP gm": pos("P", mean="gm"),
    "POSP am": pos("P", mean="am"),
    "POSR gm": pos("R", mean="gm"),
    "POSR am": pos("R", mean="am"),
    "POSF gm": pos("F", mean="gm"),
    "POSF am": pos("F", mean="am"),
    "WPF": pos("F", pooled=True),
    "F[{of}]": dpm("dl+lh"),
    "F({of})": dpm("dl+lh"),
    "F[{of}],n={n}": dpm("dl+lh", parses=2, gamma=0.0),
    "F[{of}],n={n},gamma={gamma}": dpm("dl+lh", parses=2, gamma=0.5),
    "mu_PR[{of}]": dpm("dl+lh", combination="mu-pr"),
    "prmeans({of})": dpm("dl+lh", combination="mu-pr"),
    "EDPM": dpm("1g+2g+dl+lh", parses=50),
    "d": dpm("dlh"),
    "d_var": dpm("dl+lh"),
    "SParseval": dpm("dlh"),
    "BLEU{n}": lambda corpus: metrics.bleu(corpus, max_order=3),
    "BLEU_{n}": lambda corpus: metrics.bleu(corpus, max_order=3),
    "O_l": overlap_of_words,
    "DR-STM-{n}": meaning(semantics.dr_stm, length=3, average=True),
    "DR-Or-*": meaning(semantics.dr_or, average=True),
    "DR-Or-b": meaning(semantics.dr_or, average=True, form="back-off"),
    "DR-Or-i": meaning(semantics.dr_or, average=True, form="interpolation"),
    "DR-Or-{type}": meaning(semantics.dr_or, relation="pred"),
    "DR-Orp-*": meaning(semantics.dr_or, tags=True, average=True),
    "DR-Orp-b": meaning(semantics.dr_or, tags=True, average=True, form="back-off"),
    "DR-Orp-i": meaning(semantics.dr_or, tags=True, average=True, form="interpolation"),
    "DR-Orp-{type}": meaning(semantics.dr_or, tags=True, relation="pred"),
    "SR-Or-*": meaning(semantics.sr, kind="words"),
    "SR-Or-{type}": meaning(semantics.sr, kind="words", role="A0"),
    "SR-Mr-*": meaning(semantics.sr, kind="strings"),
    "SR-Mr-{type}": meaning(semantics.sr, kind="strings", role="A0"),
    "SR-Orv": meaning(semantics.sr, kind="words+verb"),
    "SR-Orv-*": meaning(semantics.sr, kind="words+verb"),
    "SR-Mrv-*": meaning(semantics.sr, kind="strings+verb"),
}
STEMS = replace(lexical.NOTHING, stems=lexical.STEMS)


def mapped_scores(pairs, score):
    """Scores of the texts that best alignments map the hypotheses to."""
    choices = [lexical.mapped(*pair, STEMS) for pair in pairs]
    references = [reference for _, reference in pairs]
    return [
        score(list(zip(hypotheses, references, strict=True)))
        for hypotheses in itertools.product(*choices)
    ]


def bleu_of(pairs):
    return metrics.bleu([
        metrics.Segment(0, metrics.Text(tuple(h)), (metrics.Text(tuple(r)),)) for h, r in pairs
    ])  # fmt: skip


def meteor(alpha, beta, gamma):
    """Stems of English and the parameters of a version; several references are not needed."""

    def score(pairs):
        totals = np.zeros(4)
        for hypothesis, reference in pairs:
            vectors = lexical.meteor_vectors(hypothesis, reference, STEMS, version15=False)
            ((matched, chunks),) = {(sum(v[:16:2]), v[16]) for v in vectors}
            totals += len(hypothesis), len(reference), matched, chunks
        lengths, (matched, chunks) = totals[:2], totals[2:]
        return lexical.meteor_2005(lengths, matched, chunks, alpha=alpha, beta=beta, gamma=gamma)

    return score


def ter(pairs):
    """Those of sacreBLEU, which counts as TER 0.7.25 does."""
    edits, length = np.sum([translation_edit_rate(*map(list, pair)) for pair in pairs], axis=0)
    return edits / length if length else float(edits > 0)


def terp(pairs):
    twin = lexical.Terp(STEMS, lexical.TERPA, lexical.TERPA_PHRASE)
    totals = [(twin.edits(*pair)[1], len(pair[1])) for pair in pairs]
    edits, length = map(sum, zip(*totals, strict=True))
    return min(edits / length, 1.0) if length else float(edits > 0)


OF_WORDS = {
    "METEOR v1.0": meteor(0.81, 0.83, 0.28),
    "MTR": meteor(0.81, 0.83, 0.28),
    "METEOR-r": meteor(0.95, 0.5, 0.45),
    "TER 0.7.25": ter,
    "1-TER": lambda pairs: 1 - ter(pairs),
    "TER-Plus": terp,
    "TERp": terp,
    "MBLEU": lambda pairs: mapped_scores(pairs, bleu_of),
    "MTER": lambda pairs: mapped_scores(pairs, ter),
}
"""Twins on pairs of a hypothesis and a reference, with words that share stems."""
NOTATION = {
    "qmean:mean=a": lambda corpus: metrics.qmean(corpus, mean="a"),
    "port:mean=h": lambda corpus: metrics.port(corpus, mean="h"),
    "port:max_order=3": lambda corpus: metrics.port(corpus, max_order=3),
    "port:alpha=0.25": metrics.port,
    "stm:depth=D": TWINS["STM-{n}"],
    "hwcm:depth=D": TWINS["HWCM-{n}"],
    "dstm:depth=D": TWINS["DSTM-{n}"],
    "dpm:of=1g+2g+dl+lh": dpm("1g+2g+dl+lh"),
    "edpm:of=dl+lh,parses=50,gamma=0.25": dpm("dl+lh", parses=50),
    "bleu:smooth=add1": lambda corpus: metrics.bleu(corpus, smooth="add1"),
    "dr-stm:length=l,average=true": TWINS["DR-STM-{n}"],
    "sr-or_b": meaning(semantics.sr, kind="words", form="back-off"),
    "sr-or_i": meaning(semantics.sr, kind="words", form="interpolation"),
}
"""Twins of what stands in the page's tables of notation and in no row of the list."""
PARTS = EXAMPLES | {"n": "3", "gamma": "0.5"}
"""Values that are not those by default."""


def parts_of(name):
    role = {"type": "A0"} if name.printed.startswith("SR-") else {}
    parses = {"n": "2"} if "n={n}" in name.printed else {}
    return PARTS | role | parses


def written(name):
    return name.printed.format(**parts_of(name))


def test_the_page_lists_every_name():
    page = (ROOT / "docs/metrics/papers.md").read_text(encoding="utf-8")
    for name in PAPER_NAMES[:-1]:  # the last is of another paper
        row = f"| {name.paper} | `{name.printed}` | `{name.here}` | {name.remark} |"
        assert row in page, f"the row is now:\n{row}"


def test_every_name_has_a_twin():
    printed = [name.printed for name in PAPER_NAMES]
    assert len(set(printed)) == len(printed)
    assert sorted([*TWINS, *OF_WORDS, "chrF++"]) == sorted(printed)  # chrF++: test_chrf.py


def test_every_metric_of_the_tables_of_notation_has_a_twin():
    page = (ROOT / "docs/metrics/papers.md").read_text(encoding="utf-8")
    tables, _ = page.split("## All names")
    cells = re.findall(r"^\| [^|]+ \| ([^|]+) \|$", tables, re.MULTILINE)
    spans = {span for cell in cells for span in re.findall(r"`([a-z][\w.-]*(?::[^`]+)?)`", cell)}
    named = [span for span in spans if re.split("[:_]", span)[0] in families.names("metric")]
    here = {name.here.format(**parts_of(name)) for name in PAPER_NAMES}
    here |= {name.here.format(**EXAMPLES | {"of": "dl+lh"}) for name in PAPER_NAMES}
    assert {span for span in named if span not in here} == NOTATION.keys()


@st.composite
def like_references(draw):
    """Segments of which some hypotheses have the words and parse of a reference."""
    segment = draw(segments(layers=LAYERS))
    (other,) = draw(st.permutations(segment.references))[:1]
    if draw(st.booleans()):
        return segment
    length = len(other.words)
    meaning = {"drs": draw(drs(length)), "roles": draw(roles(length))} if other.drs else {}
    return replace(segment, hypothesis=replace(other, **meaning))


def score_of(metric, batch):
    return float(metric.score(metric.stats(batch).sum(axis=0)))


@given(st.lists(like_references(), min_size=1, max_size=4))
@examples(40, few=10)
def test_names_score_what_their_twins_say(corpus):
    batch = batch_of(corpus)
    for name in PAPER_NAMES:
        if name.printed in TWINS:
            score, twin = score_of(registry.metric(written(name)), batch), TWINS[name.printed]
            assert score == pytest.approx(float(twin(corpus)), abs=1e-9), name.printed
    for text, twin in NOTATION.items():
        score = score_of(registry.metric(re.sub(r"=[lD]\b", "=3", text)), batch)
        assert score == pytest.approx(float(twin(corpus)), abs=1e-9), text


WORD_LISTS = st.lists(st.sampled_from(lexical.WORDS), max_size=6)
FORMS = {"dog": ("dog", "dogs"), "walks": ("walks", "walked"), "cat": ("cat", "Cat")}


@st.composite
def word_pairs(draw):
    """A hypothesis and a reference; half of the hypotheses have the words in other forms."""
    hypothesis, reference = draw(WORD_LISTS), draw(WORD_LISTS)
    if draw(st.booleans()):
        hypothesis = [draw(st.sampled_from(FORMS.get(word, (word,)))) for word in reference]
    return hypothesis, reference


@given(st.lists(word_pairs(), min_size=1, max_size=3))
def test_names_score_what_their_twins_of_words_say(pairs):
    batch = batch_of_pairs(*pairs)
    for name in PAPER_NAMES:
        if name.printed in OF_WORDS:
            score, twins = score_of(registry.metric(name.printed), batch), OF_WORDS[name.printed]
            twins = np.atleast_1d(twins(pairs))  # several alignments may be the best
            assert np.abs(score - twins).min() == pytest.approx(0, abs=1e-9), name.printed


@pytest.mark.parametrize("name", PAPER_NAMES, ids=lambda name: name.printed)
def test_a_name_is_what_the_list_says(name):
    parts = parts_of(name) | {"of": "dl+lh"}
    assert registry.metric(written(name)) == registry.metric(name.here.format(**parts))


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("bleu-2", "bleu:max_order=2"),
        ("PORT(rho)", "port-rho:"),
        ("PORT(tau)", "port-tau:"),
        ("rho", "rho:"),
        ("DR-STM-9_b", "dr-stm:form=back-off,denominator=all,length=9,average=true"),
        ("SR-Or-A1_i", "sr-or:form=interpolation,denominator=all,type=A1"),
        ("F[1g;2g;dl;lh]", "dpm:of=1g+2g+dl+lh"),
        ("mu_PR[dlh]", "mu-pr:of=dlh"),
        ("qmean(2)", "qmean:max_order=2"),
        ("BLEU-4:smooth=exp", "bleu:max_order=4,reflen=closest,smooth=exp"),
        ("dr-or_b", "dr-or:form=back-off,denominator=all,type=*,average=false"),
    ],
)
def test_signatures_of_names(text, signature):
    assert registry.metric(text).signature.startswith(signature)


def test_names_stand_in_formulas():
    formula = registry.metric("0.5*BLEU-2 + 0.3 * F[dl,lh] + 0.2*PORT(rho)")
    assert [metric.name() for metric in formula.metrics] == ["bleu", "dpm", "port-rho"]
    assert registry.metric("0.5*DR-STM-4_b + 0.5*DR-Or-*").metrics[1].average


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DR-STM-x", r"in papers DR-STM-\{n\} is dr-stm:length=\{n\},average=true"),
        ("POSF gn", "in papers POSF gm is posf:mean=gm"),
        ("MaxSim", "left out: Chen, Kuhn and Larkin 2012 name it only"),
        ("SP-Op-*", "left out: .* overlaps of chunks, constituents"),
        ("NE-Oe", "without a definition"),
        ("bleu-x", "a sign behind a metric needs spaces around it"),
        ("bleu*2", "a sign behind a metric needs spaces around it"),
    ],
)
def test_an_unknown_name_is_told_what_is_near(text, message):
    with pytest.raises(ConfigError, match=message):
        registry.metric(text)


def test_no_name_is_arithmetic(tmp_path):
    (tmp_path / "a").write_text("a b c d e\n")
    output = run("score", "--hyp", tmp_path / "a", "--ref", tmp_path / "a", "--metric", "bleu-4")
    assert "100.00" in output.stdout
    assert "bleu:max_order=4" in output.stdout


def test_the_command_finds_a_name():
    output = run("metrics", "F[dl,lh]").stdout
    assert output.startswith("dpm\n")
    assert "here: dl+lh" in output
    assert "here: 3" in run("metrics", "HWCM-3").stdout


def test_the_mean_of_four_kinds_lies_in_their_order():
    """H <= G <= A <= Q, section 2.2.1 of the PORT paper."""
    hypothesis, reference = (Counter(text.split()) for text in ("a b c d e f", "a b c x"))
    p = (hypothesis & reference).total() / 6
    r = (hypothesis & reference).total() / 4
    means = [2 * p * r / (p + r), math.sqrt(p * r), (p + r) / 2, math.sqrt((p * p + r * r) / 2)]
    assert means == sorted(means)
    assert means == pytest.approx([metrics.mean_of_two(p, r, kind) for kind in "hgaq"])
