from dataclasses import replace

import numpy as np
import pytest

from portmert.metrics._base import Batch, Ragged, Texts, Vocabulary
from portmert.metrics.bleu import Bleu
from portmert.metrics.port import Port
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import InputError
from portmert.tuner.texts import statistics
from portmert.tuner.texts.statistics import compute_stats, notices
from tests.support.interrupts import pieces_begun


def make(hypotheses, links, reference_links=((0, 0), (1, 1))):
    """Two segments with two source and two reference words each; hypotheses shared evenly."""
    vocabulary = Vocabulary()
    count = len(hypotheses)
    return Batch(
        Texts.from_lines(hypotheses, vocabulary, links),
        np.array([0, count // 2, count]),
        Texts.from_lines(["a b", "a b"], vocabulary, [list(reference_links)] * 2),
        np.array([0, 1, 2]),
        np.array([2, 2], dtype=np.int32),
    )


def test_stats_are_those_of_the_metric():
    batch = make(["a b", "b", "", "a a"], [[(0, 0)], [], [], [(1, 1)]])
    for metric in (Bleu(), Port()):
        assert np.array_equal(compute_stats(metric, batch), metric.stats(batch))


def test_a_statistic_that_is_not_finite_is_placed(monkeypatch):
    def broken(_, batch):
        stats = np.zeros((len(batch.hypotheses), 9))
        stats[3, 2] = np.nan
        return stats

    monkeypatch.setattr(Bleu, "stats", broken)
    batch = make(["a b", "b", "", "a a"], [[]] * 4)
    with pytest.raises(InputError) as caught:
        compute_stats(Bleu(), batch)
    assert str(caught.value) == (
        "segment 1, hypothesis 1 (counted from 0): statistic matched_2 of metric bleu is "
        "nan, expected a finite number; mend the metric"
    )


def test_segments_without_hypotheses_have_no_rows(monkeypatch):
    monkeypatch.setattr(statistics, "HYPOTHESES_PER_CHUNK", 2)
    batch = make(["a b", "b", "a", "a a"], [[]] * 4)
    gaps = replace(batch, offsets=np.array([0, 4, 4]))
    with using(threads=2):
        assert compute_stats(Port(), gaps).shape == (4, 16)
    none = replace(batch, offsets=np.array([0, 0, 0]), hypotheses=batch.hypotheses.rows(0, 0))
    assert compute_stats(Port(), none).shape == (0, 16)


def test_missing_links_are_an_error_that_names_them():
    batch = make(["a", "b"], [[], []])
    bare = replace(batch, hypotheses=replace(batch.hypotheses, links=None))
    with pytest.raises(
        InputError, match=r"metric port compares word orders.*missing: links of the hypotheses"
    ):
        compute_stats(Port(), bare)
    with pytest.raises(InputError, match="missing: the source text"):
        compute_stats(Port(), replace(batch, source_lengths=None))
    with pytest.raises(InputError, match="missing: links of the references"):
        compute_stats(Port(), replace(batch, references=replace(batch.references, links=None)))
    assert compute_stats(Bleu(), bare).shape == (2, 9)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ((2, 0), "segment 1, hypothesis 1 .counted from 0.: link 2-0: the source has 2 tokens"),
        ((0, 1), "segment 1, hypothesis 1 .*: link 0-1: the hypothesis has 1 token, so"),
        ((-1, 0), "segment 1, hypothesis 1 .*: link -1-0: the source has 2 tokens"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_link_outside_its_sentence_is_an_error_that_names_it(
    link, message, threads, monkeypatch
):
    monkeypatch.setattr(statistics, "HYPOTHESES_PER_CHUNK", 1)
    batch = make(["a b", "b", "a", "a"], [[(0, 0)], [], [], [(0, 0), link]])
    with pytest.raises(InputError, match=message), using(threads=threads):
        compute_stats(Port(), batch)


def test_a_reference_link_outside_its_sentence_is_an_error_that_names_it():
    batch = make(["a", "b"], [[], []], reference_links=[(0, 5)])
    with pytest.raises(
        InputError, match=r"segment 0, reference 0 .*: link 0-5: the reference has"
    ):
        compute_stats(Port(), batch)


def test_an_empty_hypothesis_cannot_have_links():
    batch = make(["a", ""], [[], [(0, 0)]])
    with pytest.raises(InputError, match="link 0-0: the hypothesis is empty"):
        compute_stats(Port(), batch)


def test_other_wrong_calls_stay_wrong_calls():
    batch = make(["a", "b"], [[], []])
    with pytest.raises(ValueError, match="segment 0 has no reference"):
        compute_stats(Port(), replace(batch, reference_offsets=np.array([0, 0, 2])))


def test_texts_without_links_are_counted():
    batch = make(["a b", "b", "", "a"], [[(0, 0)], [], [], []], reference_links=())
    assert notices(Port(), batch) == [
        "2 of 4 hypotheses have no links: their words count as being in source order",
        "2 of 2 references have no links: their words count as being in source order",
    ]
    assert notices(Bleu(), batch) == []


def test_a_view_of_links_is_checked_by_its_own_offsets():
    batch = make(["a b", "b"], [[(9, 9)], [(0, 0)]])
    links = batch.hypotheses.links
    view = Ragged(links.values, np.array([1, 2, 2]))  # the wrong link belongs to no hypothesis
    assert compute_stats(Port(), replace(batch, hypotheses=replace(batch.hypotheses, links=view)))[
        :, 15
    ].tolist() == [2.0, 2.0]


def test_slow_metrics_are_asked_for_less_at_a_time(monkeypatch):
    batch = make([*["a b", "b", "", "a a"] * 300], [[]] * 1200)
    batch = replace(batch, offsets=np.arange(0, 1201, 600))
    whole, asked = Bleu().stats(batch), []
    own = Bleu.stats

    def stats(self, part):
        asked.append(len(part.hypotheses))
        return own(self, part)

    monkeypatch.setattr(Bleu, "stats", stats)
    monkeypatch.setattr(statistics, "_SECONDS", -1.0)  # all are slow
    assert np.array_equal(compute_stats(Bleu(), batch), whole)
    assert asked == [600, 600]  # a segment at least
    fine = replace(batch, offsets=np.arange(1201), reference_offsets=np.arange(1201))
    fine = replace(fine, references=batch.hypotheses, source_lengths=None)
    del asked[:]
    compute_stats(Bleu(), fine)
    assert asked[:4] == [256, 128, 64, 32]
    monkeypatch.setattr(statistics, "_SECONDS", 100.0)
    del asked[:]
    compute_stats(Bleu(), fine)
    assert asked == [256, 512, 432]


SLOW = """
import os
import numpy as np
import portmert
from portmert.metrics.bleu import Bleu

def stats(self, batch):
    os.write(1, b"computing\\n")  # whole, also beside another thread's
    interrupt()
    return np.ones((len(batch.hypotheses), len(self.stat_names)))

Bleu.stats = stats
lines = ["a b"] * 40_000
try:
    portmert.score(lines, [lines], metric="bleu", threads=2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_statistics_in_python_end_soon_after_an_interrupt():
    assert pieces_begun(SLOW, working="computing") <= 2  # one in each thread
