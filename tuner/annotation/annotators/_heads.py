"""Dependencies from constituency trees: the head rules of Collins (1999), appendix A."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Literal

from portmert.tuner.annotation.annotators._base import Heads
from portmert.tuner.annotation.annotators._brackets import Tree

ROOT = "root"
"""Label of the word that depends on none."""

Side = Literal["left", "right"]

_RULES: dict[str, tuple[Side, str]] = {
    "ADJP": (
        "left",
        "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB",
    ),
    "ADVP": ("right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": ("right", "CC RB IN"),
    "FRAG": ("right", ""),
    "UCP": ("right", ""),
    "X": ("right", ""),
    "LST": ("right", "LS :"),
    "NAC": (
        "left",
        "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW",
    ),
    "PP": ("right", "IN TO VBG VBN RP FW"),
    "PRT": ("right", "RP"),
    "QP": ("left", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": ("right", "VP NP ADVP ADJP PP"),
    "S": ("left", "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": ("left", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": ("left", "SQ S SINV SBARQ FRAG"),
    "SINV": ("left", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": ("left", "VBZ VBD VBP VB MD VP SQ"),
    "VP": ("left", "TO VBD VBN MD VBZ VB VBG VBP AUX AUXG VP ADJP NN NNS NP"),
    "WHADJP": ("left", "CC WRB JJ ADJP"),
    "WHADVP": ("right", "CC WRB"),
    "WHNP": ("left", "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": ("right", "IN TO FW"),
}
"""Parent -> side to look from, categories by priority; any other parent: the leftmost child."""

_NOUN_PHRASE: tuple[tuple[Side, str], ...] = (
    ("right", "NN NNP NNPS NNS NX POS JJR"),
    ("left", "NP"),
    ("right", "$ ADJP PRN"),
    ("right", "CD"),
    ("right", "JJ JJS RB QP"),
)
"""Side and categories, any of them, one after the other."""

_CONJUNCTIONS = frozenset({"CC", "CONJP"})
_PUNCTUATION = frozenset({",", ".", ":", "``", "''", '"', "'", "-LRB-", "-RRB-", "#"})


def category(label: str) -> str:
    """Return a label without functions and indices: NP of `NP-SBJ=2`; `-LRB-` stays."""
    if label.startswith("-"):
        return label
    return label.partition("-")[0].partition("=")[0]


@functools.lru_cache(maxsize=1 << 16)
def head_child(parent: str, children: tuple[str, ...]) -> int:
    """Return which of the children, given by category, is the head of a constituent."""
    head = _first_head(parent, children)
    if head >= 2 and children[head - 1] in _CONJUNCTIONS:
        left = head - 2
        while left > 0 and children[left] in _PUNCTUATION:
            left -= 1
        if children[left] not in _PUNCTUATION:
            return left
    return head


def _first_head(parent: str, children: tuple[str, ...]) -> int:
    if parent == "NP":
        if children[-1] == "POS":
            return len(children) - 1
        for side, names in _NOUN_PHRASE:
            found = _find(side, children, names.split())
            if found is not None:
                return found
        return len(children) - 1
    side, priority = _RULES.get(parent, ("left", ""))
    for name in priority.split():
        found = _find(side, children, (name,))
        if found is not None:
            return found
    return 0 if side == "left" else len(children) - 1


def _find(side: Side, children: tuple[str, ...], names: Sequence[str]) -> int | None:
    places = range(len(children))
    order = places if side == "left" else reversed(places)
    return next((place for place in order if children[place] in names), None)


def heads(tree: Tree) -> Heads:
    """Return the dependency parse of a tree, one head for each of its tokens.

    A child of category C that is not the head of its constituent X makes a link X/C from its head
    word to that of the constituent (docs/metrics/dependencies.md).
    """
    children = tree.children
    number = {leaf: place for place, leaf in enumerate(tree.leaves)}
    categories = [category(label) for label in tree.labels]
    word = [0] * len(children)  # the head word of each node
    links: list[tuple[int, str]] = [(0, ROOT)] * len(number)
    for node in reversed(range(len(children))):  # children before parents
        below = children[node]
        if not below:
            word[node] = number[node]
            continue
        head = below[head_child(categories[node], tuple(categories[child] for child in below))]
        word[node] = word[head]
        for child in below:
            if child != head:
                label = f"{categories[node]}/{categories[child]}"
                links[word[child]] = (word[head] + 1, label)
    return tuple(links)
