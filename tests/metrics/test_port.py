import pytest
from hypothesis import given

from portmert.metrics.port import BleuSbp, Port, PortRho, PortTau, Qmean
from tests.oracles import metrics as oracle
from tests.oracles.metrics import Segment
from tests.support.strategies_metrics import batch_of, corpora, text

# Example 3.7 F of the specification.
IDENTITY = "0-0 1-1 2-2 3-3"
SEGMENT_1 = Segment(
    4,
    text("i visited paris recently", "0-3 1-0 2-1 3-2"),
    (text("recently i visited paris", IDENTITY),),
)
SEGMENT_2 = Segment(
    4,
    text("he reads books", "0-0 1-1 3-2"),
    (
        text("he reads a book", "0-0 1-1 3-2 3-3"),
        text("he is reading books now", "0-0 1-1 1-2 2-4 3-3"),
    ),
)
EXAMPLE = [SEGMENT_1, SEGMENT_2]

ORDERS = [
    {},
    {"null": "plus_one"},
    {"encoding": "rank"},
    {"null": "plus_one", "encoding": "rank"},
]
SCALES = [{}, {"scale": "clip"}]
WHOLE = [
    {},
    {"alpha": 0.5},
    {"alpha": 0.0},
    {"alpha": 2.0},
    {"recall_cap": True},
    {"max_order": 2},
    {"effective_order": True},
    {"mean": "a", "combination": "g"},
    {"mean": "g", "combination": "q"},
    {"mean": "h", "combination": "a"},
]


def score(metric, corpus):
    return float(metric.score(metric.stats(batch_of(corpus)).sum(axis=0)))


def test_stats_are_those_of_the_specification():
    assert Port().stats(batch_of(EXAMPLE)).tolist() == [
        [4, 4, 4, 2, 3, 3, 1, 2, 2, 0, 1, 1, 4, 4, 4, 2],
        [3, 3, 4, 1, 2, 3, 0, 1, 2, 0, 0, 1, 4, 3, 4, 4],
    ]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (Port(), 0.571785),
        (Port(order="rho"), 0.568746),
        (Port(order="tau"), 0.571785),
        (PortRho(), 0.568746),
        (PortTau(), 0.571785),
        (Qmean(), 0.412670),
        (BleuSbp(), 0.0),
    ],
)
def test_corpus_score_is_that_of_the_specification(metric, expected):
    assert score(metric, EXAMPLE) == pytest.approx(expected, abs=1e-6)


def test_segment_scores_without_smoothing():
    assert score(Port(), [SEGMENT_1]) == pytest.approx(0.658900, abs=1e-6)
    assert score(Qmean(), [SEGMENT_1]) == pytest.approx(0.541667, abs=1e-6)


def test_parts_are_those_of_the_specification():
    parts = Port().parts(Port().stats(batch_of(EXAMPLE)).sum(axis=0))
    assert [parts[f"p{n}"] for n in (1, 2, 3, 4)] == pytest.approx([1, 3 / 5, 1 / 3, 0])
    assert [parts[f"r{n}"] for n in (1, 2, 3, 4)] == pytest.approx([7 / 8, 1 / 2, 1 / 4, 0])
    assert parts["SBP"] == pytest.approx(0.866878, abs=1e-6)
    assert parts["SRP"] == 1.0
    assert parts["Qmean"] == pytest.approx(0.412670, abs=1e-6)
    assert parts["v"] == 0.75
    assert [parts[f"matched_{n}"] for n in (1, 2, 3, 4)] == [7, 3, 1, 0]
    assert [parts[f"total_{n}"] for n in (1, 2, 3, 4)] == [7, 5, 3, 1]
    assert [parts[f"ref_total_{n}"] for n in (1, 2, 3, 4)] == [8, 6, 4, 2]
    assert (parts["hyp_len"], parts["ref_len"]) == (7, 8)


def test_empty_hypothesis_has_ordering_0():
    segment = Segment(2, text(""), (text("a b", "0-0 1-1"),))
    assert Port().stats(batch_of([segment]))[0, 15] == 0.0
    assert score(Port(), [segment]) == 0.0


def test_empty_source_has_ordering_1():
    segment = Segment(0, text("a b"), (text("a b"),))
    assert Port().stats(batch_of([segment]))[0, 15] == 2.0


def test_empty_reference_makes_sbp_1_and_srp_0():
    segment = Segment(1, text("a"), (text(""),))
    parts = Port().parts(Port().stats(batch_of([segment]))[0])
    assert (parts["SBP"], parts["SRP"]) == (1.0, 0.0)
    nothing = Segment(1, text(""), (text(""),))
    parts = Port().parts(Port().stats(batch_of([nothing]))[0])
    assert (parts["SBP"], parts["SRP"]) == (1.0, 1.0)


def test_recall_is_0_where_the_closest_reference_has_no_ngram():
    # "a a" is in the longer reference, but the closest length is 1: no bigram to divide by.
    segment = Segment(1, text("a a"), (text("a"), text("a a a")))
    parts = Qmean().parts(Qmean().stats(batch_of([segment]))[0])
    assert (parts["p2"], parts["r2"]) == (1.0, 0.0)
    # The closest has 3 words, so no 4-gram; all shorter ones are there.
    segment = Segment(1, text("a a a a"), (text("a a a"), text("a a a a a a")))
    parts = Qmean().parts(Qmean().stats(batch_of([segment]))[0])
    assert (parts["p4"], parts["r4"]) == (1.0, 0.0)


def test_recall_cap_limits_each_order():
    # The second reference is longer than the closest one and holds both matches: r(1) = 2 / 1.
    segment = Segment(1, text("a b"), (text("c"), text("a b c d")))
    assert score(Qmean(), [segment]) > score(Qmean(recall_cap=True), [segment])


def test_score_bears_the_rounding_of_a_line_search():
    stats = Port().stats(batch_of([SEGMENT_1]))[0]
    stats[15] = -1e-17  # what is left after adding and subtracting the same fractions
    for alpha in (0.25, 0.3):
        assert float(Port(alpha=alpha).score(stats)) == 0.0


def port_options():
    for order in ("v", "v1", "v2", "rho", "tau"):
        for options in ORDERS:
            yield {"order": order, **options}
        for options in WHOLE:
            yield {"order": order, **options}
    yield {"order": "rho", "scale": "clip"}
    yield {"order": "tau", "scale": "clip"}
    yield {"order": "tau", "tau_lr": True}
    yield {"order": "tau", "tau_lr": True, "encoding": "rank"}


def check(metric, batch, expected):
    value = float(metric.score(metric.stats(batch).sum(axis=0)))
    assert value == pytest.approx(expected, abs=1e-12), metric.signature


@given(corpora())
def test_port_equals_its_slow_twin(corpus):
    batch = batch_of(corpus)
    for options in port_options():
        check(Port(**options), batch, oracle.port(corpus, **options))


@given(corpora())
def test_variants_equal_their_slow_twins(corpus):
    batch = batch_of(corpus)
    for options in ({}, {"max_order": 1}, {"max_order": 5}, {"effective_order": True}):
        check(BleuSbp(**options), batch, oracle.bleu_sbp(corpus, **options))
        for mean in "aghq":
            check(Qmean(mean=mean, **options), batch, oracle.qmean(corpus, mean=mean, **options))
    check(Qmean(recall_cap=True), batch, oracle.qmean(corpus, recall_cap=True))
    for options in ORDERS + SCALES + WHOLE:
        check(PortRho(**options), batch, oracle.port(corpus, order="rho", **options))
    for options in [*ORDERS, *SCALES, *WHOLE, {"tau_lr": True}]:
        check(PortTau(**options), batch, oracle.port(corpus, order="tau", **options))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Port(alpha=-0.1), r"alpha\s+Input should be greater than or equal to 0"),
        (lambda: Port(tau_lr=True), "tau_lr is for order=tau, found order=v"),
        (lambda: Port(scale="clip"), "scale maps -1..1 to 0..1, but order=v"),
        (lambda: PortTau(scale="clip", tau_lr=True), "but tau_lr is in 0..1 already"),
    ],
)
def test_options_without_effect_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()
