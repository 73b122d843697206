import random
from collections import Counter

import numpy as np
import pytest
import sacrebleu
from hypothesis import given

from portmert.metrics import _shared
from portmert.metrics.bleu import Bleu
from portmert.metrics.kernels import ngrams
from tests.oracles import metrics as oracle
from tests.oracles.metrics import Segment
from tests.support.strategies_metrics import batch_of, batch_of_pairs, corpora, text

# Example 2.6 of the specification.
SEGMENT_1 = Segment(
    0,
    text("the cat sat on the mat"),
    (text("the cat sat on a mat"), text("a cat was on the mat")),
)
SEGMENT_2 = Segment(
    0, text("he reads books"), (text("he reads a book"), text("he is reading books now"))
)
EXAMPLE = [SEGMENT_1, SEGMENT_2]

VARIANTS = [
    *({"smooth": s} for s in ("none", "exp", "mteval", "add1", "moses+1", "floor", "add-k")),
    *({"reflen": r} for r in ("shortest", "average")),
    *({"max_order": n, "smooth": s} for n in (1, 2, 3, 6) for s in ("none", "mteval")),
    {"smooth": "floor", "smooth_value": 0.5},
    {"smooth": "add-k", "smooth_value": 0.25},
]


def test_stats_are_those_of_the_specification():
    assert Bleu().stats(batch_of(EXAMPLE)).tolist() == [
        [5, 6, 5, 5, 3, 4, 1, 3, 6],
        [3, 3, 1, 2, 0, 1, 0, 0, 4],
    ]


def test_score_is_that_of_the_specification():
    total = Bleu().stats(batch_of(EXAMPLE)).sum(axis=0)
    assert float(Bleu().score(total)) == pytest.approx(0.559085, abs=1e-6)


@pytest.mark.parametrize(
    ("smooth", "expected"),
    [("none", 0.0), ("mteval", 0.506664), ("exp", 0.0), ("add1", 0.544446)],
)
def test_smoothed_segment_is_that_of_the_specification(smooth, expected):
    metric = Bleu(smooth=smooth)
    stats = metric.stats(batch_of([SEGMENT_2]))
    assert float(metric.score(stats[0])) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("smooth", "fourth_power"),
    [
        ("mteval", 1 / 2 * 1 / 2),  # the first order without a match; without n-grams it is 1
        ("exp", 0),
        ("add1", 1 / 2 * 1 / 2),
        ("moses+1", 2 / 3 * 1 / 2),
        ("floor", 0),
    ],
)
def test_orders_without_a_match_and_orders_without_an_ngram(smooth, fourth_power):
    metric = Bleu(smooth=smooth)
    stats = metric.stats(batch_of([Segment(0, text("a x"), (text("a b"),))]))
    assert stats.tolist() == [[1, 2, 0, 1, 0, 0, 0, 0, 2]]
    assert float(metric.score(stats[0])) == pytest.approx(fourth_power ** (1 / 4))


def test_parts_hold_precisions_penalty_counts_and_lengths():
    parts = Bleu().parts(Bleu().stats(batch_of(EXAMPLE)).sum(axis=0))
    assert parts["BP"] == pytest.approx(0.894839, abs=1e-6)
    assert [parts[f"p{n}"] for n in (1, 2, 3, 4)] == pytest.approx([8 / 9, 6 / 7, 3 / 5, 1 / 3])
    assert [parts[f"matched_{n}"] for n in (1, 2, 3, 4)] == [8, 6, 3, 1]
    assert [parts[f"total_{n}"] for n in (1, 2, 3, 4)] == [9, 7, 5, 3]
    assert (parts["hyp_len"], parts["ref_len"]) == (9, 10)
    nothing = np.zeros(9)  # beside nothing, then beside a word
    assert Bleu().parts(nothing)["BP"] == 1.0
    nothing[-1] = 1
    assert Bleu().parts(nothing)["BP"] == 0.0


def test_empty_hypothesis_takes_the_shortest_reference_length():
    segment = Segment(0, text(""), (text("a b c"), text("a b")))
    assert Bleu().stats(batch_of([segment])).tolist() == [[0] * 8 + [2]]


def test_closest_length_takes_the_shorter_on_a_tie():
    segment = Segment(0, text("a b c"), (text("a b c d"), text("a b")))
    assert Bleu().stats(batch_of([segment]))[0, -1] == 2


def test_average_length_is_not_rounded():
    segment = Segment(0, text("a b c"), (text("a b c d"), text("a")))
    assert Bleu(reflen="average").stats(batch_of([segment]))[0, -1] == 2.5


@pytest.mark.parametrize("options", VARIANTS)
def test_a_corpus_of_empty_hypotheses_scores_0(options):
    metric = Bleu(**options)
    stats = metric.stats(batch_of([Segment(0, text(""), (text("a b"),))]))
    assert float(metric.score(stats[0])) == 0.0


def test_an_empty_reference_is_legal():
    segment = Segment(0, text("a b c d"), (text(""),))
    assert float(Bleu().score(Bleu().stats(batch_of([segment]))[0])) == 0.0


@given(corpora())
def test_score_equals_its_slow_twin(corpus):
    batch = batch_of(corpus)
    for options in VARIANTS:
        metric = Bleu(**options)
        score = float(metric.score(metric.stats(batch).sum(axis=0)))
        assert score == pytest.approx(oracle.bleu(corpus, **options), abs=1e-12), options


@given(corpora())
def test_little_text_is_counted_without_the_kernel_as_with_it(corpus):
    batch = batch_of(corpus)
    segments = _shared.segments_of(batch)
    all_one = (np.empty(0, dtype=np.int64), np.empty(0))
    for order in (1, 4, 9):
        few = _shared.few_matches(segments, order)
        assert few.tobytes() == ngrams.ngram_matches(segments, all_one, order).tobytes()


def test_much_text_in_small_parts_is_counted_with_the_kernel(monkeypatch):
    monkeypatch.setattr(_shared, "is_loaded", lambda: False)
    monkeypatch.setattr(_shared, "_WITHOUT_KERNEL", Counter())
    monkeypatch.setattr(_shared, "FEW_TOKENS", 30)
    without = []
    monkeypatch.setattr(_shared, "few_matches", lambda *_: without.append(1))
    batch = batch_of_pairs((["a", "b", "c"], ["a", "b", "d"]))
    for _ in range(9):
        _shared.matched(batch, 2)
    assert len(without) == 5


def test_exp_of_two_short_perfect_lines_is_that_of_sacrebleu():
    lines = ["a b", "c d"]
    expected = sacrebleu.metrics.BLEU(tokenize="none", smooth_method="exp", force=True)
    batch = batch_of_pairs(*((line.split(), line.split()) for line in lines))
    total = Bleu().stats(batch).sum(axis=0)
    assert expected.corpus_score(lines, [lines]).score == 0.0
    assert float(Bleu(smooth="exp").score(total)) == 0.0
    assert float(Bleu(smooth="mteval").score(total)) == 1.0


def test_matches_do_not_depend_on_how_long_the_segments_are():
    # A long text among short ones: the table of n-grams changes its size between segments.
    rng = random.Random(1)
    words = [f"w{i}" for i in range(400)]

    def line(n):
        return text(" ".join(rng.choice(words) for _ in range(n)))

    corpus = [Segment(0, line(n), (line(n), line(n))) for n in (3, 900, 0, 5, 300, 1)]
    stats = Bleu().stats(batch_of(corpus))
    expected = [[oracle.clipped_matches(s, n) for n in (1, 2, 3, 4)] for s in corpus]
    assert stats[:, 0:-1:2].tolist() == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_order": 0}, r"max_order\s+Input should be greater than or equal to 1"),
        ({"max_order": 17}, r"max_order\s+Input should be less than or equal to 16"),
        (
            {"max_order": 2.5},
            r"max_order\s+Input should be a valid integer, got .* fractional part",
        ),
        ({"max_ordre": 2}, r"max_ordre\s+Unexpected keyword argument"),
        ({"smooth": "moses"}, r"smooth\s+Input should be 'none', 'exp', 'mteval'"),
        ({"reflen": "longest"}, r"reflen\s+Input should be 'closest', 'shortest' or 'average'"),
        ({"smooth_value": 1.0}, "smooth_value is for smooth=floor or add-k, found smooth=none"),
        (
            {"smooth": "floor", "smooth_value": float("nan")},
            r"smooth_value\s+Input should be a finite number",
        ),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Bleu(**options)


def test_signature_leaves_out_what_is_unset():
    assert Bleu().signature == "bleu:max_order=4,reflen=closest,smooth=none"
    assert Bleu(smooth="add-k", smooth_value=2.0).signature == (
        "bleu:max_order=4,reflen=closest,smooth=add-k,smooth_value=2.0"
    )


def test_score_of_many_rows_warns_of_nothing_and_is_finite():
    stats = np.zeros((3, 5, 9))
    for options in VARIANTS:
        if options.get("max_order", 4) == 4:
            assert (Bleu(**options).score(stats) == 0).all()
