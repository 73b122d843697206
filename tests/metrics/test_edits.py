"""The error rates without shifts: wer, cer, cder, per."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from portmert.metrics.edits import Cder, Cer, ExactMatch, Mer, Per, Ser, Wer, Wil, Wip
from tests.oracles import edits as oracle
from tests.oracles.metrics import Segment, Text
from tests.support.examples import examples
from tests.support.strategies_metrics import batch_of, corpora, text

LETTERS = examples(50)
RECENTLY = Segment(0, text("i visited paris recently"), (text("recently i visited paris"),))
TWINS = [
    (Wer(), oracle.wer_stats),
    (Cder(), oracle.cder_stats),
    (Per(), oracle.per_stats),
    (Mer(), lambda s: oracle.equal_word_stats(s, lambda *row: -oracle.match_error_rate(*row))),
    (Wip(), lambda s: oracle.equal_word_stats(s, oracle.preserved)),
    (Wil(), lambda s: oracle.equal_word_stats(s, oracle.preserved)),
]

TWINS += [
    (metric, lambda s: [float(any(r.words == s.hypothesis.words for r in s.references)), 1.0])
    for metric in (Ser(), ExactMatch())
]


def stats_of(metric, hypothesis, *references):
    segment = Segment(0, text(hypothesis), tuple(map(text, references)))
    return metric.stats(batch_of([segment]))[0].tolist()


@pytest.mark.parametrize(
    ("metric", "stats", "score"),
    [(Wer(), [2, 4], 0.5), (Cder(), [2, 4], 0.5), (Per(), [4, 4, 4], 1.0)],
)
def test_recently_pair_is_that_of_the_specification(metric, stats, score):
    rows = metric.stats(batch_of([RECENTLY]))
    assert rows.tolist() == [stats]
    assert metric.score(rows).tolist() == [score]


@given(corpora(max_segments=6))
def test_stats_equal_their_slow_twins(corpus):
    batch = batch_of(corpus)
    for metric, twin in TWINS:
        expected = [list(twin(segment)) for segment in corpus]
        assert metric.stats(batch).tolist() == expected, metric.name()


@pytest.mark.parametrize("metric", [Wer(), Cder()])
def test_without_a_reference_word_the_rate_is_the_distance(metric):
    assert stats_of(metric, "a b", "")[1] == 0
    assert metric.score(np.array([[0.0, 0.0], [3.0, 0.0]])).tolist() == [1, -2]


@pytest.mark.parametrize("metric", [Wer(), Cder()])
def test_an_empty_reference_is_chosen_for_an_empty_hypothesis_only(metric):
    for references in (("", "a b"), ("a b", "")):
        assert stats_of(metric, "a b", *references) == [0, 2]
        assert stats_of(metric, "", *references) == [0, 0]
    # Two edits over one word are a high rate, but not an infinite one.
    assert stats_of(metric, "x y", "", "a")[1] == 1
    # Where all references are empty the first counts.
    assert stats_of(metric, "x", "", "") == [1, 0]


@pytest.mark.parametrize(
    ("metric", "empty_hypothesis", "one_token", "other_token"),
    [
        (Wer(), [3, 3], [0, 1], [1, 1]),
        (Cder(), [3, 3], [0, 1], [1, 1]),
        (Per(), [0, 0, 3], [1, 1, 1], [0, 1, 1]),
    ],
)
def test_empty_hypotheses_and_single_tokens(metric, empty_hypothesis, one_token, other_token):
    assert stats_of(metric, "", "a b c") == empty_hypothesis
    assert stats_of(metric, "a", "a") == one_token
    assert stats_of(metric, "a", "b") == other_token


def test_a_moved_block_costs_wer_its_words_and_cder_jumps():
    # To the block, back to the front, and to the end: three jumps, however long the blocks are.
    assert stats_of(Wer(), "d e f g a b c", "a b c d e f g") == [6, 7]
    assert stats_of(Cder(), "d e f g a b c", "a b c d e f g") == [3, 7]


def test_per_takes_an_empty_reference_for_an_empty_hypothesis_only():
    for references in (("", "x"), ("x", "")):
        assert stats_of(Per(), "a b c d", *references) == [0, 4, 1]
        assert stats_of(Per(), "", *references)[0] == 0
    assert stats_of(Per(), "a", "", "") == [0, 1, 0]


def test_scores_below_0_where_there_are_more_edits_than_words():
    for metric in (Wer(), Per()):
        stats = np.array(stats_of(metric, "x y z", "a"))
        assert float(metric.score(stats)) == -2.0
        assert metric.parts(stats)["rate"] == 3.0


def test_of_several_references_the_lowest_rate_counts_and_the_first_on_a_tie():
    assert stats_of(Wer(), "a b c d", "a b", "a b c d x x x x x") == [5, 9]
    assert stats_of(Wer(), "a x", "a b", "a x c d") == [1, 2]
    assert stats_of(Wer(), "a x", "a x c d", "a b") == [2, 4]
    assert stats_of(Per(), "a b", "c a", "a b c d") == [1, 2, 2]
    assert stats_of(Per(), "a b", "a b c d", "c a") == [2, 2, 4]


def test_parts_hold_rate_counts_and_lengths():
    assert Wer().parts(np.array([1.0, 4.0])) == {"rate": 0.25, "edits": 1, "ref_len": 4}
    assert Per().parts(np.array([3.0, 5.0, 4.0])) == {
        "rate": 0.5,
        "correct": 3,
        "hyp_len": 5,
        "ref_len": 4,
    }


# Kinds of edits


@given(corpora(max_segments=3))
@LETTERS
def test_kinds_of_edits_equal_their_slow_twin_and_add_to_the_distance(corpus):
    one = [replace(segment, references=segment.references[:1]) for segment in corpus]
    batch = batch_of(one)
    expected = [oracle.edit_kinds(s.hypothesis.words, s.references[0].words) for s in one]
    found = Wer().details(batch)
    counts = [found[name] for name in ("substitutions", "insertions", "deletions")]
    assert counts == np.sum(expected, axis=0).tolist()
    assert sum(counts) == Wer().stats(batch)[:, 0].sum()


@given(corpora(max_segments=3))
@LETTERS
def test_confusions_are_the_edits_of_the_counts(corpus):
    batch = batch_of(corpus)
    found = Wer().details(batch)
    counts = dict.fromkeys(("substitutions", "insertions", "deletions"), 0)
    confusions = Wer().confusions(batch)
    for wrong, right, count in confusions:
        assert wrong != right
        kind = "insertions" if not wrong else "substitutions" if right else "deletions"
        counts[kind] += count
    assert counts == {name: found[name] for name in counts}
    assert [row[2] for row in confusions] == sorted((row[2] for row in confusions), reverse=True)


def test_confusions_by_hand():
    batch = batch_of(
        [
            Segment(0, text("a cat sat the mat"), (text("the cat sat on the mat"),)),
            Segment(1, text("a dog"), (text("x y z"), text("the dog here"))),
        ]
    )
    assert Wer().confusions(batch) == [("the", "a", 2), ("here", "", 1), ("on", "", 1)]


def test_of_equal_paths_the_one_of_kaldi_counts():
    # Two substitutions cost as much; the rule is that of Kaldi's compute-wer.
    batch = batch_of([Segment(0, text("b x"), (text("a b"),))])
    assert Wer().details(batch) == {
        "sub_rate": 0.0, "ins_rate": 0.5, "del_rate": 0.5,
        "substitutions": 0.0, "insertions": 1.0, "deletions": 1.0,
    }  # fmt: skip


def test_kinds_of_edits_are_against_the_reference_that_counts():
    batch = batch_of([Segment(0, text("a b"), (text("c d e"), text("a b c")))])
    assert Wer().details(batch)["deletions"] == 1
    empty = batch_of([Segment(0, text("a"), (text(""),))])
    assert Wer().details(empty)["ins_rate"] == 1.0
    assert Wer().details(empty)["insertions"] == 1.0
    assert Cder().details(batch) == {}


# Characters


SPELLING = {"a": "a", "b": "ab", "c": "b\u3000a", "d": "\U0001f600b"}


@given(corpora(max_segments=3))
@LETTERS
def test_characters_equal_their_slow_twin(corpus):
    spelled = [
        replace(
            s, hypothesis=_respelled(s.hypothesis), references=tuple(map(_respelled, s.references))
        )
        for s in corpus
    ]
    batch = batch_of(spelled)
    for spaces in (True, False):
        expected = [list(oracle.cer_stats(s, spaces=spaces)) for s in spelled]
        assert Cer(spaces=spaces).stats(batch).tolist() == expected


def _respelled(one):
    return Text(tuple(SPELLING[word] for word in one.words))


@pytest.mark.parametrize(
    ("hypothesis", "reference", "rate"),
    [("the bat sat on", "the cat sat", 4 / 11), ("abc", "ab c", 1 / 4), ("", "a b c", 1.0)],
)
def test_characters_and_spaces_are_those_of_jiwer(hypothesis, reference, rate):
    # jiwer.cer of jiwer 4.0
    stats = np.array(stats_of(Cer(), hypothesis, reference))
    assert Cer().parts(stats)["rate"] == pytest.approx(rate)


def test_without_spaces_where_words_end_does_not_matter():
    assert stats_of(Cer(spaces=False), "abc", "ab c") == [0, 3]


def test_exact_matches_are_those_of_sclite():
    """Four of five recognised sentences have an error: belambert/asr-evaluation issue 23."""
    right = "a quick fox ran over the old dog"
    wrong = ("a fox ran over the old dog", "a quack fox ran over the old dog")
    pairs = [(right, right), (wrong[0], right), (right, wrong[0]), (wrong[1], right), (right, "")]
    batch = batch_of([Segment(0, text(hyp), (text(ref),)) for hyp, ref in pairs])
    total = Ser().stats(batch).sum(axis=0)
    assert total.tolist() == [1, 5]
    assert float(Ser().score(total)) == Ser().parts(total)["rate"] == 0.8
    assert float(ExactMatch().score(total)) == 0.2
    assert stats_of(Ser(), "a b", "b a", "a b") == [1, 1]


def test_measures_of_unchanged_words():
    rows = Mer().stats(batch_of([RECENTLY]))  # three words stay, one is extra and one is missing
    assert rows.tolist() == [[3, 2, 4, 4]]
    assert float(Mer().score(rows[0])) == pytest.approx(2 / 5)
    assert float(Wip().score(rows[0])) == pytest.approx(9 / 16)
    assert float(Wil().score(rows[0])) == pytest.approx(7 / 16)
    assert Mer().parts(rows[0])["rate"] == pytest.approx(2 / 5)
    assert "rate" not in Wip().parts(rows[0])
    # Both empty, an extra word, a missing word: the values of jiwer.
    empty = np.array([[0.0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 0, 1]])
    assert Mer().score(empty).tolist() == [0, 1, 1]
    assert Wip().score(empty).tolist() == [1, 0, 0]
    assert Wil().score(empty).tolist() == [0, 1, 1]
