from __future__ import annotations

import gzip
import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.aligners._base import parse_links
from portmert.aligners._symmetrize import Heuristic, symmetrize
from tests.oracles import aligners as oracle
from tests.support.aligner_programs import DATA
from tests.support.places import MOSES, needs

REAL = MOSES / "giza"

#   target 0  .  a  .       a: by_source and by_target (the intersection)
#          1  s  .  .       s: by_source only (source 0 - target 1)
#          2  .  .  t       t: by_target only (source 2 - target 2)
#             0  1  2 source
HEURISTICS = get_args(Heuristic)
BY_SOURCE = [(1, 0), (0, 1)]
BY_TARGET = [(1, 0), (2, 2)]


@pytest.mark.parametrize(
    ("heuristic", "expected"),
    [
        ("srctotgt", [(0, 1), (1, 0)]),
        ("tgttosrc", [(1, 0), (2, 2)]),
        ("intersection", [(1, 0)]),
        ("union", [(0, 1), (1, 0), (2, 2)]),
        ("grow", [(1, 0)]),  # 0-1 is a neighbour across a corner only
        ("grow-diag", [(0, 1), (1, 0)]),
        ("grow-final", [(0, 1), (1, 0), (2, 2)]),
        ("grow-diag-final", [(0, 1), (1, 0), (2, 2)]),
        ("grow-final-and", [(0, 1), (1, 0), (2, 2)]),
        ("grow-diag-final-and", [(0, 1), (1, 0), (2, 2)]),
    ],
)
def test_symmetrize_three_words_by_hand(heuristic, expected):
    assert symmetrize(heuristic, by_source=BY_SOURCE, by_target=BY_TARGET) == expected


def test_final_and_wants_two_words_without_a_link():
    # 0-0 is common; 0-3 and 3-0 touch a linked word each, 2-2 none.
    sides = {"by_source": [(0, 0), (3, 0), (2, 2)], "by_target": [(0, 0), (0, 3)]}
    assert symmetrize("grow-diag-final", **sides) == [(0, 0), (0, 3), (2, 2), (3, 0)]
    assert symmetrize("grow-diag-final-and", **sides) == [(0, 0), (2, 2)]


def test_final_takes_the_links_of_target_words_first():
    # Each alone would be added; after 0-1 (by_target) source 0 is linked, and target 0 is not.
    sides = {"by_source": [(0, 0)], "by_target": [(0, 1)]}
    assert symmetrize("grow-final-and", **sides) == [(0, 1)]
    assert symmetrize("grow-final", **sides) == [(0, 0), (0, 1)]


@st.composite
def directions(draw):
    sources, targets = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    one = st.none() | st.integers(0, targets - 1)
    other = st.none() | st.integers(0, sources - 1)
    by_source = draw(st.lists(one, min_size=sources, max_size=sources))
    by_target = draw(st.lists(other, min_size=targets, max_size=targets))
    return (
        [(s, t) for s, t in enumerate(by_source) if t is not None],
        [(s, t) for t, s in enumerate(by_target) if s is not None],
        (sources, targets),
    )


@given(directions(), st.sampled_from(HEURISTICS))
def test_symmetrize_is_its_slow_twin(sides, heuristic):
    by_source, by_target, size = sides
    found = symmetrize(heuristic, by_source=by_source, by_target=by_target)
    assert found == oracle.symmetrize(heuristic, by_source, by_target, size)


@given(directions())
def test_every_heuristic_lies_between_intersection_and_union(sides):
    by_source, by_target, _ = sides
    least, most = set(by_source) & set(by_target), set(by_source) | set(by_target)
    for heuristic in HEURISTICS:
        found = symmetrize(heuristic, by_source=by_source, by_target=by_target)
        assert least <= set(found) <= most
        assert found == sorted(set(found))


def a3_links(path):
    """(generating, generated) links of a merged A3 file, by a reader of its own."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    lines = content.decode("utf-8").split("\n")
    found = {}
    for start in range(0, len(lines) - 1, 3):
        number = int(lines[start].split("(")[1].split(")")[0])
        groups = re.findall(r"\(\{((?: \d+)*) \}\)", lines[start + 2])[1:]
        found[number] = [(n, int(k) - 1) for n, group in enumerate(groups) for k in group.split()]
    return found


def both(direct, inverse):
    return [([(s, t) for t, s in inverse[number]], direct[number]) for number in sorted(direct)]


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_symmetrize_is_symal_on_the_recorded_sample(heuristic):
    found = {"source-target": {}, "target-source": {}}
    for way, links in found.items():
        for part in sorted((DATA / "giza").glob(f"{way}.A3.final.part*")):
            links.update(a3_links(part))
    expected = (DATA / "giza" / f"symal.{heuristic}").read_text().splitlines()
    pairs = both(found["source-target"], found["target-source"])
    assert len(pairs) == len(expected) == 40
    for (by_source, by_target), line in zip(pairs, expected, strict=True):
        assert symmetrize(heuristic, by_source=by_source, by_target=by_target) == parse_links(line)


@pytest.fixture(scope="module")
def moses_pairs():
    return both(
        a3_links(REAL / "en-ja.A3.final.gz"),  # every English word has one Japanese word
        a3_links(REAL / "ja-en.A3.final.gz"),
    )


@needs(REAL)
@pytest.mark.parametrize(
    "name",
    [
        *("srctotgt", "tgttosrc", "union", "intersect", "grow"),
        *("grow-diag", "grow-diag-final", "grow-diag-final-and"),
    ],
)
def test_symmetrize_is_symal_on_2000_pairs(moses_pairs, name):
    expected = (REAL / f"aligned.{name}").read_text().split("\n")[:-1]
    assert len(expected) == len(moses_pairs) == 2000
    heuristic = "intersection" if name == "intersect" else name
    wrong = [
        number
        for number, ((by_source, by_target), line) in enumerate(
            zip(moses_pairs, expected, strict=True), 1
        )
        if symmetrize(heuristic, by_source=by_source, by_target=by_target) != parse_links(line)
    ]
    assert wrong == []
