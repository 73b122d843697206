"""Constituency trees in brackets, and the dependencies that follow from them.

Trees are as in the Penn Treebank and from Charniak's parser. Dependencies follow by the head
rules of Collins (1999), appendix A.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...texts.annotator import Heads

WRAPPERS = frozenset({"", "TOP", "ROOT", "S1"})
"""Labels of a root above the root."""

EMPTY = "-NONE-"
"""The part of speech of a trace: a leaf of the Penn Treebank that is not spoken."""

# Tokens are separated by ASCII white space only, as everywhere in portmert.
_PIECE = re.compile(r"[()]|[^()\x09-\x0d ]+")


@dataclass(frozen=True)
class Tree:
    """A constituency tree, its nodes in preorder.

    Parameters
    ----------
    labels
        The label of each node; the label of a leaf is its token.
    parents
        The place of each node's parent; -1 for the root.
    """

    labels: tuple[str, ...]
    parents: tuple[int, ...]

    @property
    def children(self) -> list[list[int]]:
        """The places of each node's children; a leaf has none."""
        children: list[list[int]] = [[] for _ in self.labels]
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                children[parent].append(place)
        return children

    @property
    def leaves(self) -> list[int]:
        """The places of the leaves, in the order of the text."""
        inner = set(self.parents)
        return [place for place in range(len(self.labels)) if place not in inner]

    @property
    def tokens(self) -> list[str]:
        """The leaves as they are written."""
        return [self.labels[leaf] for leaf in self.leaves]

    @property
    def tags(self) -> list[str]:
        """The part of speech above each leaf."""
        return [self.labels[self.parents[leaf]] for leaf in self.leaves]

    def with_leaves(self, tokens: Sequence[str]) -> Tree:
        """Return the same tree over other tokens, as many as it has."""
        labels = list(self.labels)
        for leaf, token in zip(self.leaves, tokens, strict=True):
            labels[leaf] = token
        return Tree(tuple(labels), self.parents)

    def __str__(self) -> str:
        children = self.children
        text, todo = [], [(0, False)]
        while todo:
            place, after = todo.pop()
            if after:
                text.append(")")
            elif not children[place]:
                text.append(f" {self.labels[place]}")
            else:
                text.append(f" ({self.labels[place]}" if text else f"({self.labels[place]}")
                todo.append((place, True))
                todo += [(child, False) for child in reversed(children[place])]
        return "".join(text)


def parse(text: str) -> Tree:
    """Return the one tree of a text, without wrappers (TOP, S1 ...) and without traces.

    Raises
    ------
    ValueError
        The text is not one tree in which each token has its own part of speech.
    """
    labels: list[str] = []
    parents: list[int] = []
    open_nodes: list[int] = []
    expecting_label = False
    for piece in _PIECE.finditer(text):
        sign, column = piece[0], piece.start() + 1
        if sign == "(":
            if not open_nodes and labels:
                raise ValueError(f"column {column}: a second tree; expected one")
            parents.append(open_nodes[-1] if open_nodes else -1)
            open_nodes.append(len(labels))
            labels.append("")
            expecting_label = True
            continue
        if not open_nodes:
            raise ValueError(
                f"column {column}: '{sign}' stands outside all brackets; are they balanced?"
            )
        if sign == ")":
            if open_nodes[-1] == len(labels) - 1:
                name = labels[-1]
                raise ValueError(f"column {column}: '({name})' has no token, expected (TAG token)")
            open_nodes.pop()
        elif expecting_label:
            labels[-1] = sign
        else:
            parents.append(open_nodes[-1])
            labels.append(sign)
        expecting_label = False
    if open_nodes:
        raise ValueError(f"{len(open_nodes)} brackets are not closed; is the tree cut off?")
    if not labels:
        raise ValueError("no tree; expected one in brackets")
    tree = Tree(tuple(labels), tuple(parents))
    _check(tree)
    return _unwrapped(_without_traces(tree))


def _check(tree: Tree) -> None:
    children = tree.children
    for leaf in tree.leaves:
        parent = tree.parents[leaf]
        if len(children[parent]) > 1:
            raise ValueError(
                f"token '{tree.labels[leaf]}' has no part of speech of its own, expected "
                f"(TAG {tree.labels[leaf]})"
            )


def _without_traces(tree: Tree) -> Tree:
    if EMPTY not in tree.labels:
        return tree
    keep = [False] * len(tree.labels)
    for leaf in tree.leaves:
        if tree.labels[tree.parents[leaf]] == EMPTY:
            continue
        place = leaf
        while place >= 0 and not keep[place]:
            keep[place] = True
            place = tree.parents[place]
    nodes = [place for place, is_kept in enumerate(keep) if is_kept]
    if not nodes:
        raise ValueError("the tree has no token besides traces")
    return _part(tree, nodes)


def _unwrapped(tree: Tree) -> Tree:
    top, children = 0, tree.children
    while tree.labels[top] in WRAPPERS and len(children[top]) == 1:
        below = children[top][0]
        if not children[below]:  # a token: this node is its part of speech
            break
        top = below
    return _part(tree, range(top, len(tree.labels)))


def _part(tree: Tree, nodes: range | list[int]) -> Tree:
    """Return the tree of the kept nodes: with each node, except the first, its parent is kept."""
    places = {place: number for number, place in enumerate(nodes)}
    places[-1] = -1
    return Tree(
        tuple(tree.labels[place] for place in nodes),
        tuple(places.get(tree.parents[place], -1) for place in nodes),
    )


ROOT = "root"
"""Label of a word that depends on no other word."""

Direction = Literal["left", "right"]

_RULES: dict[str, tuple[Direction, str]] = {
    "ADJP": ("left", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": ("right", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": ("right", "CC RB IN"),
    "FRAG": ("right", ""),
    "UCP": ("right", ""),
    "X": ("right", ""),
    "LST": ("right", "LS :"),
    "NAC": ("left", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
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
"""Parent -> side from which to look, and categories by priority.

The head of any other parent is its leftmost child.
"""

_NOUN_PHRASE: tuple[tuple[Direction, str], ...] = (
    ("right", "NN NNP NNPS NNS NX POS JJR"),
    ("left", "NP"),
    ("right", "$ ADJP PRN"),
    ("right", "CD"),
    ("right", "JJ JJS RB QP"),
)
"""Rules for noun phrases, in the order in which they are tried: a side, and categories."""

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
            head = _find(side, children, names.split())
            if head is not None:
                return head
        return len(children) - 1
    side, priority = _RULES.get(parent, ("left", ""))
    for name in priority.split():
        head = _find(side, children, (name,))
        if head is not None:
            return head
    return 0 if side == "left" else len(children) - 1


def _find(side: Direction, children: tuple[str, ...], names: Sequence[str]) -> int | None:
    places = range(len(children))
    order = places if side == "left" else reversed(places)
    return next((place for place in order if children[place] in names), None)


def dependencies(tree: Tree) -> Heads:
    """Return the dependency parse of a tree, one head for each of its tokens.

    Let C be a child that is not the head of its constituent X. Then the head word of C is linked
    to the head word of X, with the label X/C (docs/metrics/dependencies.md).
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
