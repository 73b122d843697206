from dataclasses import replace

import numpy as np
import pytest

from portmert.metrics._base import Ragged, Texts, Vocabulary
from portmert.metrics._display import Display
from portmert.metrics.bleu import Bleu
from portmert.metrics.port import Port
from portmert.metrics.terp import Ter
from tests.metrics.test_port import EXAMPLE
from tests.support.strategies_metrics import batch_of


def test_only_ascii_white_space_ends_a_token():
    # U+3000 and U+00A0 are part of a token for Moses; links count its tokens.
    texts = Texts.from_lines(["a\u3000b  c\t\u00a0d "], Vocabulary())
    assert texts.words(0) == ["a\u3000b", "c", "\u00a0d"]


def test_take_copies_rows_in_the_order_asked_for():
    rows = Ragged.from_rows([[1, 2], [], [3]])
    taken = rows.take(np.array([2, 0, 0, 1]))
    assert [taken.row(i).tolist() for i in range(4)] == [[3], [1, 2], [1, 2], []]


def test_segments_of_a_batch_have_the_statistics_of_the_whole():
    batch = batch_of([*EXAMPLE, *EXAMPLE])
    whole = Port().stats(batch)
    parts = [Port().stats(batch.segments(a, b)) for a, b in ((0, 1), (1, 3), (3, 3), (3, 4))]
    assert np.array_equal(np.concatenate(parts), whole)


def test_segments_of_a_batch_keep_their_outcomes():
    batch = replace(batch_of([*EXAMPLE, *EXAMPLE]), offsets=np.array([0, 1, 3, 4]))
    batch = replace(batch, outcomes={"right": np.array([7.0, 8.0, 9.0, 5.0])})
    found = [
        batch.segments(a, b).outcomes["right"].tolist()
        for a, b in ((0, 1), (1, 2), (0, 2), (2, 3))
    ]
    assert found == [[7], [8, 9], [7, 8, 9], [5]]


def test_what_is_computed_once_is_that_of_the_whole_for_all_parts():
    seen = []

    def count(batch):
        seen.append(batch)
        return len(batch)

    batch = batch_of([*EXAMPLE, *EXAMPLE])
    part = batch.segments(1, 3).segments(0, 1)
    assert (len(part), part.once(count), batch.segments(0, 0).once(count)) == (1, 4, 4)
    assert batch.once(count) == 4
    assert seen == [batch]
    # Another test set is counted anew.
    assert replace(batch, offsets=batch.offsets[:2]).once(count) == 1
    assert replace(part, offsets=part.offsets).once(count) == 4


def test_signature_names_every_option():
    assert Port(alpha=0.5).signature == (
        "port:alpha=0.5,order=v,recall_cap=false,null=inherit,encoding=order,scale=linear,"
        "tau_lr=false"
    )


def test_a_segment_without_reference_is_refused():
    batch = batch_of(EXAMPLE)
    broken = type(batch)(
        batch.hypotheses,
        batch.offsets,
        batch.references,
        np.array([0, 3, 3]),
        batch.source_lengths,
    )
    for metric in (Bleu(), Port()):
        with pytest.raises(ValueError, match="segment 1 has no reference"):
            metric.stats(broken)


def test_oriented_scores_rise_as_they_get_better():
    assert (Bleu().oriented(0.25), Ter().oriented(0.25)) == (0.25, -0.25)
    assert Ter().oriented(np.array([0.5, -1.0])).tolist() == [-0.5, 1.0]


def test_what_rounds_to_nothing_has_no_minus():
    for in_percent, printed in ((True, "0.00"), (False, "0.0000")):
        for value in (-1e-9, 1e-9, -0.0):
            display = Display(in_percent)
            assert display.shown_change(value) == f"+{printed}"
            assert display.shown(value) == printed
