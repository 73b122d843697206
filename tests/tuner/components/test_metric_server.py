"""Our metrics behind METEOR's protocol: the lines themselves."""

from __future__ import annotations

import pytest

from portmert.tuner.base.errors import InputError
from portmert.tuner.components import registry
from portmert.tuner.components.metric_server import MetricServer


def answers(name, *lines):
    return list(MetricServer(registry.metric(name)).answers([line.encode() for line in lines]))


def fails(name, *lines):
    with pytest.raises(InputError) as caught:
        answers(name, *lines)
    return str(caught.value)


def test_statistics_and_score():
    # one of two words matches, no pair of one; reference length 3
    assert answers("bleu:max_order=2", "SCORE ||| a b c ||| a x") == ["1 2 0 1 3"]
    assert answers("bleu:max_order=1", "EVAL ||| 1 2 2", "EVAL |||1 2 2 ") == ["0.5", "0.5"]


def test_kinds_may_alternate_and_references_may_differ_in_number():
    found = answers(
        "bleu:max_order=1",
        "SCORE ||| a ||| a",
        "EVAL ||| 1 1 1",
        "SCORE ||| a b ||| c ||| c",
        "SCORE ||| a |||",
        "SCORE |||  ||| a",
    )
    assert found == ["1 1 1", "1", "1 1 1", "0 0 1", "0 1 0"]


def test_links_of_each_reference_and_of_the_hypothesis():
    (line,) = answers("v", "SCORE ||| a b ||| b a ||| links: 2 ; 0-0 1-1 ; 0-1 1-0")
    (same,) = answers("v", "SCORE ||| a b ||| b a ||| links: 2 ; 0-0 1-1 ; 0-0 1-1")
    assert line != same
    assert answers("bleu:max_order=1", "SCORE ||| a ||| a ||| links: 1 ; 0-0 ;") == ["1 1 1"]


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("bleu", "HELLO", "stdin:1: 'HELLO' is no request, expected `SCORE ||| reference"),
        ("bleu", "SCORE ||| a", "stdin:1: 'SCORE ||| a': SCORE needs at least one reference"),
        ("bleu", "EVAL ||| 1 2", "stdin:1: EVAL with '1 2', expected the 9 statistics of bleu:"),
        ("port", "SCORE ||| a ||| a", "stdin:1: metric port compares word orders and needs links"),
        (
            "port",
            "SCORE ||| a ||| a ||| links: 1 ; 0-0",
            "stdin:1: links of 1 text, references and",
        ),
        (
            "port",
            "SCORE ||| a ||| a ||| links: 1 ; 0-0 ; 0-1",
            "stdin:1: link 0-1 is out of range",
        ),
        (
            "port",
            "SCORE ||| a ||| a ||| links: 99999999 ; 0-0 ; 0-0",
            "stdin:1: 99999999 source tokens, expected at most 100000",
        ),
        ("port", "SCORE ||| a ||| a ||| links: 1 ; 0-00-0 ; 0-0", "stdin:1: metric port compares"),
        (
            "port",
            f"SCORE ||| a ||| a ||| links: 1 ; {'1-111' * 50}x ; 0-0",  # read in one way only
            "stdin:1: metric port compares word orders and needs links",
        ),
    ],
)
def test_wrong_lines(name, line, expected):
    assert fails(name, line).startswith(expected)


def test_wrong_lines_are_counted():
    server = MetricServer(registry.metric("bleu"))
    list(server.answers([b"SCORE ||| a ||| a"]))
    with pytest.raises(InputError, match="stdin:2: byte 0xff in column 1 is not UTF-8"):
        list(server.answers([b"\xff"]))
