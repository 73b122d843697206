"""What every metric scores where a text has no words; docs/metrics/index.md has the table."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

import numpy as np
import pytest

import portmert
from portmert.metrics._base import Batch, Vocabulary
from portmert.tuner.components import registry
from tests.contracts.test_metric_contract import ALL_METRICS, NAMES, PERFECT, text_of
from tests.support.places import programs
from tests.support.strategies_metrics import arrays

PAGE = Path(__file__).parents[2] / "docs/metrics/index.md"
CASES = {
    "no reference word": [("a b", "")],
    "no hypothesis word": [("", "a b")],
    "no word on either side": [("", "")],
    "two segments, no reference word": [("a b", ""), ("c", "")],
}
FORMULAS = (
    "0.5*wer + 0.5*chrf",
    "2 / (1/bleu + 1/chrf)",
    "1 - ter / bleu",
    "bleu * chrf / (bleu + chrf)",
    "1 - (1 - wer) / max(chrf, 0.1)",
)
METRICS = [*ALL_METRICS, *map(registry.metric, FORMULAS)]
MEAN_LENGTHS = ("ter", "terp", "mter", "learned", "nist")
"""The mean length of all references counts, as in their programs: an empty one shortens it."""
CLOSEST_LENGTHS = ("bleu", "bleu-sbp", "posbleu", "wpbleu", "lr-hamming", "lr-kendall", "qmean")
"""The closest length counts, as in their programs, and it may be that of the empty reference."""


def batch_of(pairs):
    """A batch of one hypothesis a segment; each pair is a hypothesis and its references."""
    return _batch_of(tuple(pairs))


@functools.cache  # to make a batch takes longer than to score it
def _batch_of(pairs):
    vocabulary = Vocabulary()
    rows = [(own, (others,) if isinstance(others, str) else others) for own, others in pairs]

    def texts(lines):
        links = [[(i, i) for i in range(min(len(line.split()), 6))] for line in lines]
        return arrays([text_of(*both) for both in zip(lines, links, strict=True)], vocabulary)

    return Batch(
        texts([own for own, _ in rows]),
        np.arange(len(rows) + 1),
        texts([reference for _, others in rows for reference in others]),
        np.cumsum([0, *(len(others) for _, others in rows)]),
        np.full(len(rows), 6, dtype=np.int32),
    )


def score_of(metric, pairs):
    """The score of a text: with all errors of arithmetic, it must be finite."""
    with np.errstate(all="raise", under="ignore"):
        score = float(metric.score(metric.stats(batch_of(pairs)).sum(axis=0)))
    assert np.isfinite(score), metric.signature
    return score


def table():
    """The table of docs/metrics/index.md: metrics with equal values share a row."""
    rows = {}
    for name in NAMES:
        metric = registry.metric(name)
        values = (metric.display.value(score_of(metric, pairs)) + 0.0 for pairs in CASES.values())
        cells = tuple(f"{value:.2f}" for value in values)
        rows.setdefault(cells, []).append(metric.display.labelled(f"`{name}`"))
    lines = [
        f"| metric | {' | '.join(CASES)} |",
        f"|---|{'---:|' * len(CASES)}",
        *(
            f"| {', '.join(names) if len(names) < 9 else 'all others'} | {' | '.join(cells)} |"
            for cells, names in sorted(rows.items(), key=lambda row: (len(row[1]), row[1]))
        ),
    ]
    return "\n".join(lines)


def test_the_page_shows_what_every_metric_scores():
    assert table() in PAGE.read_text(encoding="utf-8"), f"the table is now:\n{table()}"


@pytest.mark.parametrize("case", CASES)
def test_a_text_without_words_is_never_the_best(case):
    for metric in METRICS:
        perfect = metric.oriented(score_of(metric, [(line, line) for line in PERFECT]))
        score = metric.oriented(score_of(metric, CASES[case]))
        if case == "no word on either side":  # a match, or no score at all
            assert score <= perfect, metric.signature
        else:
            assert score < perfect, metric.signature


def test_a_segment_without_words_never_makes_a_perfect_text_better():
    lines = [(line, line) for line in PERFECT]
    for metric in METRICS:
        if metric.name() == "nist":  # its best score depends on the references
            continue
        perfect = metric.oriented(score_of(metric, lines))
        for case in CASES.values():
            score = metric.oriented(score_of(metric, [*lines, *case]))
            assert score <= perfect + 1e-12, (metric.signature, case)


def error_rate_formulas():
    """Formulas that multiply metrics or divide by one, for every error rate as 1 - rate."""
    names = [name for name in NAMES if registry.metric(name).is_error_rate]
    rises = {name: registry.metric(name).higher_is_better for name in names}
    scores = [name if rises[name] else f"(1 - {name})" for name in names]
    return [
        text.replace("ONE", score).replace("TWO", other)
        for number, score in enumerate(scores)
        for other in (scores[number - 1], "chrf")
        for text in (
            "2 / (1/ONE + 1/TWO)",
            "ONE * TWO",
            "ONE * ONE * TWO",
            "2 * ONE * TWO / (ONE + TWO)",
            "(0.5*ONE + 0.5*TWO) * ONE",
            "1 - (1 - ONE) / TWO",
            "max(ONE, TWO) * min(ONE, TWO)",
        )
    ]


TOO_LONG = "abcdefghijkl mnopqrstuvwx a b c d e f g h"
FEW_WORDS = "abcdefghijkl mnopqrstuvwx"


def test_more_errors_than_words_are_never_better_than_perfect_in_a_formula():
    cases = {
        "too many words": [(TOO_LONG, FEW_WORDS)],
        "too many letters": [("abcdefghijkl" * 9 + " b c d e", "a b")],
        "no reference word": [("a b c d", ""), ("x y", "")],
    }
    for metric in map(registry.metric, error_rate_formulas()):
        for case, pairs in cases.items():
            perfect = score_of(metric, [(reference, reference) for _, reference in pairs])
            best = score_of(metric, [(line, line) for line in PERFECT])
            assert score_of(metric, pairs) <= max(perfect, best), (metric.signature, case)
        # Several texts at once have the same scores as each alone, on any leading axes.
        rows = np.stack([metric.stats(batch_of(pairs)).sum(axis=0) for pairs in cases.values()])
        together = metric.score(np.stack([rows, rows[::-1]]))
        alone = np.array([float(metric.score(row)) for row in rows])
        np.testing.assert_array_equal(together, [alone, alone[::-1]])


@pytest.mark.parametrize("metric", ["2 / (1/wer + 1/chrf)", "wer * cer", "(1 - ter) * wer"])
@pytest.mark.parametrize("optimizer", ["mert", "bagged", "random-directions"])
def test_the_exact_reference_is_preferred_to_one_with_words_added(metric, optimizer):
    records = [
        {"id": number, "text": text, "features": {"good": good, "long": 1 - good}}
        for number in range(4)
        for text, good in ((TOO_LONG, 0.0), (FEW_WORDS, 1.0))
    ]
    lists = portmert.Lists.from_records(records, refs=[[FEW_WORDS] * 4])
    result = portmert.optimize(
        lists, metric, optimizer=optimizer, weights={"good": 0.0, "long": 1.0}
    )
    assert result.score == pytest.approx(1.0)
    assert result.weights.values["good"] > result.weights.values["long"]


@pytest.mark.parametrize("case", [*CASES, "an empty reference beside others"])
def test_per_is_that_of_moses(tmp_path, case):
    (evaluator,) = programs("evaluator")
    pairs = CASES.get(case, [("a b", ""), ("a c", "a d"), ("", "b")])
    for name, lines in zip(("hyp", "ref"), zip(*pairs, strict=True), strict=True):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    options = ("--sctype", "PER", "--reference", tmp_path / "ref", "--candidate", tmp_path / "hyp")
    printed = subprocess.run(
        [evaluator, *options], check=True, capture_output=True, text=True
    ).stdout
    assert score_of(registry.metric("per"), pairs) == pytest.approx(float(printed), abs=1e-4)


def test_one_segment_and_equal_segments_score_as_the_segment():
    for metric in METRICS:
        if metric.name() == "nist" or getattr(metric, "smooth", "none") != "none":
            continue  # information depends on the test set, smoothing on the sum of counts
        for pair in (("a b c d e", "a b d c e"), ("a", "b"), ("a b c d e", "a b c d e")):
            stats = metric.stats(batch_of([pair] * 3))
            scores = [*metric.score(stats), float(metric.score(stats.sum(axis=0)))]
            assert scores == pytest.approx([scores[0]] * 4, abs=1e-12), (metric.signature, pair)


def test_an_empty_reference_beside_another_one_never_makes_a_hypothesis_better():
    for metric in METRICS:
        if metric.name() in (*MEAN_LENGTHS, *CLOSEST_LENGTHS, "formula"):
            continue
        for own, other in (("a b c d", "x"), ("a", "a b c d e f"), ("b a", "a b c"), ("x", "y z")):
            alone = metric.oriented(score_of(metric, [(own, other)]))
            for references in (("", other), (other, "")):
                score = metric.oriented(score_of(metric, [(own, references)]))
                assert score <= alone + 1e-12, (metric.signature, own, references)


def test_a_segment_without_a_reference_is_an_error_everywhere():
    batch = batch_of([("a b", "a b"), ("c", ())])
    for metric in ALL_METRICS:
        with pytest.raises(ValueError, match="segment 1 has no reference"):
            metric.stats(batch)
