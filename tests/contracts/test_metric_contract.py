"""What every metric promises; the registry finds the metrics."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import pickle
import re
import warnings
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.extensions.metaeval.data import MetricScores
from portmert.metrics._base import Batch, Texts, Vocabulary
from portmert.metrics._shared import WeightedMean
from portmert.metrics.bleu import Bleu
from portmert.metrics.flexible import Mbleu
from portmert.metrics.pos import Posf, Posp, Posr, Wpf
from portmert.metrics.semantics import _SegmentMean
from portmert.tuner import families
from portmert.tuner.base.context import using
from portmert.tuner.components import registry
from portmert.tuner.components.catalogue import describe
from portmert.tuner.evaluation.comparison.scores import Counted
from portmert.tuner.texts.scoring import COUNTS
from portmert.tuner.texts.statistics import TOLERANCE, compute_stats
from tests.oracles.metrics import Segment, Text, Tree
from tests.oracles.semantics import Node
from tests.support.examples import examples
from tests.support.strategies_metrics import LAYERS, arrays, batch_of, corpora, limits

NAMES = families.own_names("metric")
EXPECTED = (
    "bleu bleu-sbp qmean port port-rho port-tau v rho tau hamming kendall lr-hamming lr-kendall "
    "ter wer cder per chrf nist ribes posbleu posp posr posf wpf wpbleu "
    "hwcm hwcm-f stm stm-f dstm dstm-f tkm dtkm meteor terp learned "
    "ol sr-or sr-mr sr-orv sr-mrv dr-stm dr-or dr-orp"
)
ONLY_PRECISION = ("posp", "hwcm:depth=1,", "stm:depth=1,", "dstm:depth=1,")
"""A precision without a length penalty of what has no order: a part of a reference is perfect."""
ONE_CHUNK_COSTS = ("meteor:version=2005", "meteor:version=1.0")
"""A penalty for every run of links, also if there is one run only (docs/metrics/meteor.md)."""
MAY_BE_NEGATIVE = ("wer", "cer", "cder", "per", "learned")
"""1 - an error rate (docs/metrics/edits.md), or a weighted sum."""
FREE_TEXT = {
    "of": ("1g+3g+dlh+dh",),
    "sr type": ("A0",),
    "dr type": ("pred",),
    "language": ("german",),
    **dict.fromkeys(("model", "synonyms", "paraphrases", "function_words", "stop_words"), ()),
}
"""Values, besides the default, of options that are free text; files are tested elsewhere."""


def variants(name):
    """The default metric and one for each other value of each option."""
    cls = families.component("metric", name)
    hints = get_type_hints(cls, include_extras=True)
    built = [cls()]
    for field in dataclasses.fields(cls):
        if get_origin(hints[field.name]) is Literal:
            values = get_args(hints[field.name])
        elif hints[field.name] is bool:
            values = (False, True)
        elif field.name in FREE_TEXT or field.name == "type":
            values = FREE_TEXT[f"{name[:2]} type" if field.name == "type" else field.name]
        else:
            values = limits(hints[field.name])
            assert len(values) == 2, f"{name}: {field.name} must have limits"
        for value in values:
            if value == field.default:
                continue
            try:
                built.append(cls(**{field.name: type(value)(value)}))
            except ValueError:  # an option that needs another one
                continue
    return built


VARIANTS = {name: variants(name) for name in NAMES}
ALL_METRICS = [metric for name in NAMES for metric in VARIANTS[name]]
DEFAULTS = [pytest.param(registry.metric(name), id=name) for name in NAMES]
PERFECT = [
    " ".join(f"{word}{i}" for i in range(n)) for word, n in (("a", 16), ("b", 20), ("a", 17))
]


def text_of(line, links=()):
    """A text with everything that metrics may need: a chain of heads, two parses, a tree.

    Parses are as deep as the depth of any metric may be set.
    """
    words = tuple(line.split())
    tags = tuple(word[0] + str(i % 3) for i, word in enumerate(words))
    chain = tuple((i, "next") for i in range(len(words)))
    flat = tuple((0, "root") if i == 0 else (1, "flat") for i in range(len(words)))
    pairs = zip(tags, words, strict=True)
    tree = Tree("S", tuple(Tree(tag, (Tree(word),)) for tag, word in pairs)) if words else None
    for label in "XY" * 7 if words else "":
        tree = Tree(label, (tree,))
    parses = ((-1.0, chain), (-2.0, flat))
    return Text(words, frozenset(links), tags, chain, tree, parses, *meaning_of(words))


def meaning_of(words):
    """Every word is an argument of the first one, as all together are; and a condition."""
    if not words:
        return None, None
    places = tuple(range(len(words)))
    roles = ((0, (("A0", places), *(("A1", (i,)) for i in places))),)
    parts = (Node("pred", "", word, (("word", i),)) for i, word in enumerate(words))
    drs = Node("drs", children=tuple(parts))
    for _ in range(9):  # as many levels as any metric may ask for
        drs = Node("drs", children=(drs,))
    return roles, drs


@functools.cache
def perfect_batch():
    """References repeated as hypotheses, with the same links: source words in another order."""
    vocabulary = Vocabulary()
    links = [(i, (i + 2) % 6) for i in range(6)]
    texts = arrays([text_of(line, links) for line in PERFECT], vocabulary)
    offsets = np.arange(len(PERFECT) + 1)
    return Batch(texts, offsets, texts, offsets, np.full(len(PERFECT), 6, dtype=np.int32))


def test_every_metric_of_the_specification_is_there():
    assert set(EXPECTED.split()) <= set(NAMES)


def test_every_option_has_a_default():
    for name in NAMES:
        described = describe("metric", name)
        assert described["summary"].endswith((".", ":")), name
        for option in described["options"]:
            assert option["default"] is not None, (name, option["name"])


def test_only_lists_of_choices_are_broken_into_lines():
    """A line of a docstring that happens to begin with a value would be shown as a new item."""
    for name in NAMES:
        for option in describe("metric", name)["options"]:
            before = option["meaning"].splitlines()[:-1]
            assert all(line.endswith((".", ":", ";")) for line in before), (name, option)


def test_source_is_one_line():
    for name in NAMES:
        source = families.component("metric", name).source
        assert source, name
        assert "\n" not in source, name


def test_signature_builds_the_same_metric():
    for metric in ALL_METRICS:
        assert registry.metric(metric.signature) == metric, metric.signature


def test_the_same_metric_comes_out_in_another_process():
    for metric in ALL_METRICS:
        again = pickle.loads(pickle.dumps(metric))  # noqa: S301  our own
        assert again == metric, metric.signature
        assert again.signature == metric.signature


def test_stat_names_are_distinct():
    for metric in ALL_METRICS:
        assert len(set(metric.stat_names)) == len(metric.stat_names), metric.signature


def test_a_perfect_hypothesis_scores_1_or_has_error_rate_0():
    perfect = perfect_batch()
    for metric in ALL_METRICS:
        if not metric.in_percent or metric.signature.startswith(ONE_CHUNK_COSTS):
            continue
        best = 1.0 if metric.higher_is_better else 0.0
        stats = metric.stats(perfect)
        scores = [float(metric.score(stats.sum(axis=0))), *metric.score(stats)]
        assert scores == pytest.approx([best] * len(scores), abs=1e-12), metric.signature


def test_no_hypothesis_scores_better_than_a_perfect_one():
    perfect = perfect_batch()
    lines = [" ".join(line.split()[:-1][::-1]) for line in PERFECT]
    links = [(i, (i + 4) % 6) for i in range(6)]
    worse = arrays([text_of(line, links) for line in lines], perfect.hypotheses.vocabulary)
    for metric in ALL_METRICS:
        best = metric.oriented(metric.score(metric.stats(perfect)))
        stats = metric.stats(dataclasses.replace(perfect, hypotheses=worse))
        scores = metric.oriented(metric.score(stats))
        if metric.signature.startswith(ONLY_PRECISION):
            assert (scores <= best).all(), metric.signature
        else:
            assert (scores < best).all(), metric.signature


def longest_order(metric):
    """The longest item that counts 0 where a text has none; 1 if the metric leaves it out."""
    if getattr(metric, "effective_order", False) or getattr(metric, "smooth", "none") == "mteval":
        return 1
    if metric.name() == "ribes":  # a repeated word may have no context that makes it unique
        return 99
    if metric.name() in ("lr-hamming", "lr-kendall", "posp", "posr", "posf", "wpf"):
        return 4
    if getattr(metric, "combination", "") == "mu-pr":
        return max(int(of[0]) for of in metric.of.split("+") if of[0].isdigit())
    if metric.name() == "chrf":
        return 6 if metric.eps_smoothing else 1
    return getattr(metric, "max_order", getattr(metric, "depth", 1))


@given(
    st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=20), min_size=1), st.data()
)
@examples(30, few=6)
def test_a_text_with_itself_scores_the_maximum(texts, data):
    """Under every option; docs/metrics/index.md has the reasons of those that cannot."""
    links = st.lists(st.tuples(st.integers(0, 5), st.just(0)), max_size=4)
    made = [text_of(" ".join(words), data.draw(links)) for words in texts]
    batch = batch_of([Segment(6, text, (text,)) for text in made])
    shortest = min(map(len, texts))
    for metric in ALL_METRICS:
        if not metric.in_percent or metric.signature.startswith(ONE_CHUNK_COSTS):
            continue
        best = 1.0 if metric.higher_is_better else 0.0
        stats = metric.stats(needed(metric, batch))
        total = stats.sum(axis=0)
        scores = np.array([metric.score(total), *metric.segment_scores(stats, total)])
        if longest_order(metric) <= shortest:
            assert scores == pytest.approx(np.full(len(scores), best), abs=1e-9), metric.signature
        else:
            assert (metric.oriented(scores) <= metric.oriented(best) + 1e-9).all()


@given(corpora(max_segments=6, layers=LAYERS))
@examples(20, few=5)
def test_a_score_that_is_a_mean_is_the_mean_of_its_segments(corpus):
    batch = batch_of(corpus)
    for metric in ALL_METRICS:
        if type(metric).score not in (_SegmentMean.score, WeightedMean.score):
            continue
        stats = metric.stats(needed(metric, batch))
        total = stats.sum(axis=0)
        weights = stats[:, 1] if isinstance(metric, WeightedMean) else stats[:, 4]
        if getattr(metric, "denominator", "all") == "available":
            weights = stats[:, 1]
        if weights.sum() > 0:
            mean = np.average(metric.segment_scores(stats, total), weights=weights)
            assert float(metric.score(total)) == pytest.approx(mean, abs=1e-12), metric.signature


@pytest.mark.parametrize("metric", DEFAULTS)
def test_needs_are_missed_by_name(metric):
    batch = perfect_batch()
    bare = Texts(batch.hypotheses.vocabulary, batch.hypotheses.tokens)
    without = Batch(bare, batch.offsets, bare, batch.reference_offsets)
    if metric.needs:
        with pytest.raises(ValueError, match="needs"):
            metric.stats(without)
    else:
        assert metric.stats(without).shape == (len(PERFECT), len(metric.stat_names))


@pytest.mark.parametrize("metric", DEFAULTS)
def test_no_hypothesis_at_all_gives_no_row(metric):
    batch = perfect_batch()
    stats = metric.stats(batch.segments(1, 1))
    assert stats.shape == (0, len(metric.stat_names))
    assert metric.score(stats).shape == (0,)


def test_a_right_hypothesis_counts_behind_a_wrong_reference():
    links = [(i, (i + 2) % 6) for i in range(6)]
    texts = [text_of(line, links) for line in PERFECT]
    corpus = [
        Segment(6, text, (text, wrong)) for text, wrong in zip(texts, texts[::-1], strict=True)
    ]
    turned = [dataclasses.replace(s, references=s.references[::-1]) for s in corpus]
    batches = [batch_of(each) for each in (corpus, turned)]
    for metric in map(registry.metric, NAMES):
        stats, again = (metric.stats(needed(metric, batch)) for batch in batches)
        order_of_references_does_not_matter(metric, corpus, stats, again)


@given(corpora(max_segments=12, layers=LAYERS), st.data(), st.randoms())
@examples(30, few=10)  # each goes through all metrics, and a third of variants
def test_statistics_and_scores_of_random_texts(corpus, data, random):
    batch = batch_of(corpus)
    cut = data.draw(st.integers(0, len(corpus)))
    parts = [batch.segments(0, cut), batch.segments(cut, len(corpus))]
    others = [
        dataclasses.replace(s, references=tuple(random.sample(s.references, len(s.references))))
        for s in corpus
    ]
    shuffled = batch_of(others)
    # Not made read-only: kernels would be compiled a second time for arrays of that type.
    before = [array.copy() for array in arrays_of(batch)]
    defaults = [variants[0] for variants in VARIANTS.values()]
    others = [metric for variants in VARIANTS.values() for metric in variants[1:]]
    for metric in (*defaults, *others[data.draw(st.integers(0, 2)) :: 3]):
        with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
            warnings.simplefilter("error")
            stats = metric.stats(needed(metric, batch))
            statistics_and_scores_are_finite_float64(metric, stats, len(corpus))
        score_of_a_stack_is_that_of_its_rows(metric, stats)
        split = [metric.stats(needed(metric, part)) for part in parts]
        assert np.array_equal(np.concatenate(split), stats), metric.signature
        again = metric.stats(needed(metric, shuffled))
        order_of_references_does_not_matter(metric, corpus, stats, again)
    for array, old in zip(arrays_of(batch), before, strict=True):
        assert np.array_equal(array, old)


def needed(metric, batch):
    """The batch with those of the many kinds of links between words that a metric asks for."""
    return batch.changed(
        lambda texts: dataclasses.replace(
            texts, arcs={need: arcs for need, arcs in texts.arcs.items() if need in metric.needs}
        )
    )


def statistics_and_scores_are_finite_float64(metric, stats, segments):
    assert stats.dtype == np.float64, metric.signature
    assert stats.shape == (segments, len(metric.stat_names)), metric.signature
    assert np.isfinite(stats).all(), metric.signature
    scores = metric.score(stats)
    assert scores.shape == (segments,), metric.signature
    assert np.isfinite(scores).all(), metric.signature
    assert (scores >= 0).all() or metric.name() in MAY_BE_NEGATIVE, metric.signature
    assert (metric.oriented(scores - metric.best) <= TOLERANCE).all(), metric.signature
    for row in (stats[0], stats.sum(axis=0)):
        for value in metric.parts(row).values():
            assert type(value) is float, metric.signature
            assert np.isfinite(value), metric.signature
        for key, value in metric.parts(row).items():
            name = key.rpartition(".")[2]
            # Rates of errors may be more than 1, and the recall of several references.
            is_share = not re.match(r"r\d|recall|.mean$|.*rate$", name) and not name.startswith(
                COUNTS
            )
            assert not is_share or -TOLERANCE <= value <= 1 + TOLERANCE, (metric.signature, key)


def score_of_a_stack_is_that_of_its_rows(metric, rows):
    sums = np.cumsum(rows, axis=0)
    stack = np.stack([rows, sums, sums[::-1]], axis=1)
    before = stack.copy()
    stack.flags.writeable = False
    scores = metric.score(stack)
    assert np.array_equal(stack, before), metric.signature
    assert scores.shape == stack.shape[:2], metric.signature
    for i, j in itertools.product((0, len(rows) // 2), range(3)):
        assert float(metric.score(stack[i, j])) == scores[i, j], metric.signature
    # Nor does the layout in memory matter.
    assert np.array_equal(metric.score(np.asfortranarray(stack)), scores), metric.signature


def order_of_references_does_not_matter(metric, corpus, one, other):
    # A mean over references may differ in the last bit.
    if np.allclose(one, other, rtol=1e-14, atol=0.0):
        return
    # Of references under which a hypothesis scores the same the first counts; all metrics of
    # tags choose by the same one, whatever they show of it.
    by = Posf(mean="am") if isinstance(metric, Posf | Posp | Posr | Wpf) else metric
    if isinstance(metric, Mbleu):  # nor can BLEU, which is 0 for most single segments
        by = Bleu(smooth="add1", max_order=metric.max_order)
    assert by.score(one) == pytest.approx(by.score(other), rel=1e-14), metric.signature
    for s in np.flatnonzero((one != other).any(axis=1)):
        alone = [
            metric.stats(batch_of([dataclasses.replace(corpus[s], references=(r,))]))[0]
            for r in corpus[s].references
        ]
        for row in (one[s], other[s]):
            assert any(np.array_equal(row, each) for each in alone), metric.signature


def arrays_of(batch):
    yield from (batch.offsets, batch.reference_offsets, batch.source_lengths)
    for texts in (batch.hypotheses, batch.references):
        for rows in (texts.tokens, texts.links, texts.tags, texts.heads, texts.trees):
            yield from (rows.values, rows.offsets)
        for arcs in texts.arcs.values():
            yield from (arcs.links.values, arcs.links.offsets, arcs.weights)
        for part in (texts.roles, texts.drs):
            for rows in (part.nodes, part.words):
                yield from (rows.values, rows.offsets)


def test_threads_give_the_same_bytes(monkeypatch):
    monkeypatch.setattr("portmert.tuner.texts.statistics.HYPOTHESES_PER_CHUNK", 7)
    rng = np.random.default_rng(3)
    vocabulary, segments, each = Vocabulary(), 20, 5

    def many(count):
        lengths = rng.integers(0, 9, count)
        lines = [" ".join(rng.choice(list("abcde"), n)) for n in lengths]
        links = [
            [(int(rng.integers(6)), int(rng.integers(n))) for _ in range(5 if n else 0)]
            for n in lengths
        ]
        return arrays([text_of(*one) for one in zip(lines, links, strict=True)], vocabulary)

    batch = Batch(
        many(segments * each),
        np.arange(segments + 1) * each,
        many(segments * 2),
        np.arange(segments + 1) * 2,
        np.full(segments, 6, dtype=np.int32),
    )
    for metric in map(registry.metric, NAMES):
        one = compute_stats(metric, batch)
        assert one.tobytes() == metric.stats(batch).tobytes(), metric.signature
        for threads in (2, 8):
            with using(threads=threads):
                found = compute_stats(metric, batch)
            assert found.tobytes() == one.tobytes(), metric.signature


def segment_weights(metric, stats):
    """Weights of segments where the score of a corpus is their mean; None: it is none."""
    if isinstance(metric, _SegmentMean):
        return stats[:, 4] if metric.denominator == "all" else stats[:, 1]
    is_weighted = type(metric).score is WeightedMean.score
    if is_weighted or getattr(metric, "average", None) == "segments":
        return stats[:, -1]
    return None


MEANS = [metric for metric in ALL_METRICS if segment_weights(metric, np.ones((1, 5))) is not None]
NAMES_OF_MEANS = (
    "v v1 v2 rho tau hamming kendall ribes learned ol sr-or sr-mr sr-orv sr-mrv dr-stm dr-or "
    "dr-orp stm stm-f hwcm hwcm-f dstm dstm-f tkm dtkm"
)


def test_the_metrics_that_are_means_are_those_of_their_papers():
    assert {metric.name() for metric in MEANS} == set(NAMES_OF_MEANS.split())


@given(corpora(layers=LAYERS))
@examples(25, few=8)
def test_a_mean_over_segments_is_that_of_the_scores_of_segments_at_every_door(corpus):
    """`score --segments` and pages, `compare`, and metric evaluation with its permutations."""
    batch = batch_of(corpus)
    for metric in MEANS:
        stats = metric.stats(batch)
        weights, whole = segment_weights(metric, stats), stats.sum(axis=0)
        score, sign = float(metric.score(whole)), 1.0 if metric.higher_is_better else -1.0
        if not weights.any():
            continue
        scores = metric.segment_scores(stats, whole)
        (compared,) = Counted("", metric, [stats[np.newaxis]]).segment_scores()
        judged = MetricScores("", metric, "", stats[:, np.newaxis])
        for door in (scores, compared, sign * judged.unrounded_scores[:, 0]):
            mean = float(np.average(door, weights=weights))
            assert mean == pytest.approx(score, abs=1e-9), metric.signature
        assert sign * float(judged.contributions.mean()) == pytest.approx(score, abs=1e-9)
