import random
import resource
import sys

import numpy as np
import pytest
from sacrebleu.metrics.lib_ter import translation_edit_rate

from portmert.metrics.terp import TER_LIMITS, Ter
from tests.metrics.test_port import EXAMPLE
from tests.oracles.metrics import Segment, Text
from tests.support.strategies_metrics import batch_of, text


def stats_of(*pairs):
    return Ter().stats(batch_of([Segment(0, text(h), (text(r),)) for h, r in pairs])).tolist()


def compare(pairs):
    """Statistics of pairs of word lists, ours and sacrebleu's."""
    corpus = [Segment(0, Text(tuple(h)), (Text(tuple(r)),)) for h, r in pairs]
    expected = np.array([translation_edit_rate(h, r) for h, r in pairs], dtype=float)
    stats = Ter().stats(batch_of(corpus))
    wrong = np.flatnonzero((stats != expected).any(axis=1))
    assert not wrong.size, [(pairs[i], stats[i], expected[i]) for i in wrong[:3]]


def shuffled(rng, words):
    """Words with a few phrases moved and a few words changed."""
    for _ in range(rng.randint(0, 3)):
        begin, end = sorted(rng.randint(0, len(words)) for _ in range(2))
        phrase, rest = words[begin:end], words[:begin] + words[end:]
        to = rng.randint(0, len(rest))
        words = rest[:to] + phrase + rest[to:]
    return [
        w for w in (rng.choice([word, word, word, word, word, "x", None]) for word in words) if w
    ]


def test_stats_are_those_of_the_specification():
    assert stats_of(("i visited paris recently", "recently i visited paris")) == [[1, 4]]
    hypothesis = "this week the saudis denied information published in the new york times"
    reference = (
        "saudi arabia denied this week information published in the american new york times"
    )
    assert stats_of((hypothesis, reference)) == [[4, 13]]
    assert Ter().stats(batch_of(EXAMPLE)).tolist() == [[1, 4], [2, 4.5]]


def test_score_and_parts_are_those_of_the_specification():
    total = Ter().stats(batch_of(EXAMPLE)).sum(axis=0)
    assert float(Ter().score(total)) == pytest.approx(0.352941, abs=1e-6)
    parts = {"rate": pytest.approx(3 / 8.5), "edits": 3, "ref_len": 8.5}
    assert Ter().parts(total) == parts
    assert not Ter.higher_is_better


def test_empty_texts():
    pairs = (("", ""), ("", "a b"), ("a b c", ""), ("a", "a"), ("a", "b"))
    stats = stats_of(*pairs)
    assert stats == [[0, 0], [2, 2], [3, 0], [0, 1], [1, 1]]
    assert Ter().score(np.array(stats)).tolist() == [0, 1, 1, 0, 1]


def test_a_shift_counts_once_however_long_it_is():
    # Four words go over three: fewer edits than any without a shift.
    assert stats_of(("d e f g a b c", "a b c d e f g")) == [[1, 7]]


@pytest.mark.parametrize("seed", range(4))
def test_1000_random_pairs_equal_sacrebleu(seed):
    rng = random.Random(seed)
    pairs = []
    for _ in range(1000):
        words = "abcdefghij"[: rng.choice([1, 2, 3, 5, 10])]
        reference = [rng.choice(words) for _ in range(rng.randint(0, 12))]
        if rng.random() < 0.5:
            hypothesis = shuffled(rng, reference)
        else:
            hypothesis = [rng.choice(words) for _ in range(rng.randint(0, 12))]
        pairs.append((hypothesis, reference))
    compare(pairs)


def test_long_pairs_equal_sacrebleu():
    # Phrases longer than may be moved at once, and words further away than they may go.
    rng = random.Random(5)
    words = [f"w{i}" for i in range(40)]
    pairs = []
    for n, m in ((0, 40), (3, 70), (70, 3), (45, 75), (30, 30), (40, 25)):
        pairs.append(
            ([rng.choice(words) for _ in range(n)], [rng.choice(words) for _ in range(m)])
        )
    numbers = [str(i) for i in range(75)]
    pairs.append((numbers[60:] + numbers[:60], numbers))
    pairs.append((numbers[30:45] + numbers[:30], numbers[:45]))
    compare(pairs)


def test_memory_does_not_grow_with_the_square_of_a_text():
    words = [str(i % 700) for i in range(20_000)]
    hypothesis = words[10:13] + words[:10] + words[13:-4]
    texts = batch_of([Segment(0, text(" ".join(hypothesis)), (text(" ".join(words)),))])
    Ter().stats(batch_of(EXAMPLE))  # compiled, and what the kernels need once
    before = peak_memory()
    assert Ter().stats(texts).tolist() == [[5, 20_000]]  # a shift, four words missing
    assert peak_memory() - before < 100 * 2**20  # a table of bytes would have 400 MB


def peak_memory():
    """The most memory that this process held, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1 if sys.platform == "darwin" else 1024)


def edits_with(monkeypatch, pair, **changed):
    monkeypatch.setattr("portmert.metrics.terp.TER_LIMITS", TER_LIMITS._replace(**changed))
    return stats_of(tuple(map(" ".join, pair)))[0][0]


def test_the_edit_distance_has_the_band_of_sacrebleu(monkeypatch):
    # All 20 words match, but the first 20 of 60 lie far from the diagonal.
    pair = ([str(i) for i in range(20)], [str(i) for i in range(60)])
    compare([pair])
    assert edits_with(monkeypatch, pair) > edits_with(monkeypatch, pair, half_width=100) == 40


def test_the_band_of_a_much_longer_reference_is_that_of_sacrebleu():
    rng = random.Random(7)
    pairs = []
    for words in (4, 6, 9, 12, 16):
        for ratio in (20, 45, 49, 51, 60, 90):
            reference = [f"w{n}" for n in range(words * ratio)]
            places = [
                min(max(0, i * ratio + rng.randint(-70, 70)), len(reference) - 1)
                for i in range(words)
            ]
            pairs.append(([reference[place] for place in sorted(places)], reference))
    compare(pairs)


def test_the_search_ends_where_that_of_sacrebleu_does(monkeypatch):
    # More than 1000 shifts to try; going on finds one more that pays.
    pair = (list("baacaaababcbbabbccacccaaacba"), list("cbcabaaccaacbcaabccbaababcca"))
    compare([pair])
    assert (edits_with(monkeypatch, pair), edits_with(monkeypatch, pair, tried=10**6)) == (11, 10)


def test_references_may_be_of_different_number():
    segments = [
        Segment(0, text("a b c"), (text("x"), text("a b c"), text("c"))),
        Segment(0, text("a b"), (text("b a"),)),
    ]
    # Lengths 1, 3 and 1; then a shift.
    assert Ter().stats(batch_of(segments)) == pytest.approx(np.array([[0, 5 / 3], [1, 2]]))
