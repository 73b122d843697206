"""The names of the papers: each is found, and scores what an independent twin says."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings

from portmert.metrics._paper_names import EXAMPLES, PAPER_NAMES
from portmert.metrics.meteor import Meteor
from portmert.metrics.terp import Ter, Terp
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.components import registry
from tests.oracles import dependencies, metrics, semantics, trees
from tests.support.cli import run
from tests.support.places import ROOT
from tests.support.strategies_metrics import LAYERS, batch_of, corpora


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


def lexical(corpus):
    words = [semantics.lexical(s.hypothesis, s.references) for s in corpus]
    return float(sum(words) / len(words))


def dpm(of, **options):
    return lambda corpus: dependencies.dpm(corpus, of=of, **options)


def other(metric):
    """Metrics whose twins are in tests of their own; here the options alone are compared."""
    return lambda corpus: float(metric.score(metric.stats(batch_of(corpus)).sum(axis=0)))


CONSTITUENTS, WORDS = trees.constituency_forest, trees.dependency_forest
TWINS = {
    "BLEU": metrics.bleu,
    "smoothed BLEU": lambda corpus: metrics.bleu(corpus, smooth="mteval"),
    "BLEU-SBP": metrics.bleu_sbp,
    "METEOR v1.0": other(Meteor(version="1.0", stem=True)),
    "MTR": other(Meteor(version="1.0", stem=True)),
    "TER 0.7.25": other(Ter()),
    "1-TER": lambda corpus: 1 - other(Ter())(corpus),
    "Qmean": metrics.qmean,
    "Qmean({n})": metrics.qmean,
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
    "TER-Plus": other(Terp()),
    "STM": of_trees(CONSTITUENTS, trees.subtrees),
    "STM-{n}": of_trees(CONSTITUENTS, trees.subtrees, depth=4),
    "TKM": kernel(CONSTITUENTS),
    "HWCM": of_trees(WORDS, trees.chains),
    "HWCM-{n}": of_trees(WORDS, trees.chains, depth=4),
    "DSTM": of_trees(WORDS, trees.subtrees),
    "DSTM-{n}": of_trees(WORDS, trees.subtrees, depth=4),
    "DTKM": kernel(WORDS),
    "BLEU-{n}": metrics.bleu,
    "POSBLEU": trees.posbleu,
    "POS-BLEU": trees.posbleu,
    "POSP gm": pos("P", mean="gm"),
    "POSP am": pos("P", mean="am"),
    "POSR gm": pos("R", mean="gm"),
    "POSR am": pos("R", mean="am"),
    "POSF gm": pos("F", mean="gm"),
    "POSF am": pos("F", mean="am"),
    "WPF": pos("F", pooled=True),
    "METEOR-r": other(Meteor(version="1.0-rank", stem=True)),
    "F[{of}]": dpm("dl+lh"),
    "F({of})": dpm("dl+lh"),
    "F[{of}],n={n}": dpm("dl+lh", parses=50, gamma=0.0),
    "F[{of}],n={n},gamma={gamma}": dpm("dl+lh", parses=50, gamma=0.25),
    "mu_PR[{of}]": dpm("dl+lh", combination="mu-pr"),
    "prmeans({of})": dpm("dl+lh", combination="mu-pr"),
    "EDPM": dpm("1g+2g+dl+lh", parses=50),
    "d": dpm("dlh"),
    "d_var": dpm("dl+lh"),
    "SParseval": dpm("dlh"),
    "BLEU{n}": metrics.bleu,
    "BLEU_{n}": metrics.bleu,
    "TERp": other(Terp()),
    "O_l": lexical,
    "DR-STM-{n}": meaning(semantics.dr_stm, length=4, average=True),
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
ELSEWHERE = {"MBLEU", "MTER", "chrF++"}
"""Their twins are in test_flexible.py and test_chrf.py."""


def parts_of(name):
    role = {"type": "A0"} if name.printed.startswith("SR-") else {}
    parses = {"n": "50"} if "n={n}" in name.printed else {}
    return EXAMPLES | role | parses


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
    assert set(printed) == TWINS.keys() | ELSEWHERE


@given(corpora(layers=LAYERS))
@settings(max_examples=15)
def test_names_score_what_their_twins_say(corpus):
    batch = batch_of(corpus)
    for name in PAPER_NAMES:
        if name.printed in ELSEWHERE:
            continue
        metric = registry.metric(written(name))
        score = float(metric.score(metric.stats(batch).sum(axis=0)))
        assert score == pytest.approx(float(TWINS[name.printed](corpus)), abs=1e-9), name.printed


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
