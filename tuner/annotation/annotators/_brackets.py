"""Reads constituency trees in brackets, as the Penn Treebank and Charniak's parser write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

WRAPPERS = frozenset({"", "TOP", "ROOT", "S1"})
"""Labels of a root above the root."""

EMPTY = "-NONE-"
"""The part of speech of what is not spoken (traces of the Penn Treebank)."""

# Only ASCII white space parts tokens, as everywhere in portmert.
_PIECE = re.compile(r"[()]|[^()\x09-\x0d ]+")


@dataclass(frozen=True)
class Tree:
    """Holds a constituency tree, its nodes in preorder.

    Parameters
    ----------
    labels
        Of each node; of a leaf, the token.
    parents
        The place of each node's parent; -1 of the root.
    """

    labels: tuple[str, ...]
    parents: tuple[int, ...]

    @property
    def children(self) -> list[list[int]]:
        """The places of each node's children; a leaf has none."""
        found: list[list[int]] = [[] for _ in self.labels]
        for place, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(place)
        return found

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
        It is not one tree in which each token has a part of speech of its own.
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
    kept = [place for place, is_kept in enumerate(keep) if is_kept]
    if not kept:
        raise ValueError("the tree has no token besides traces")
    return _part(tree, kept)


def _unwrapped(tree: Tree) -> Tree:
    top, children = 0, tree.children
    while tree.labels[top] in WRAPPERS and len(children[top]) == 1:
        below = children[top][0]
        if not children[below]:  # a token: this node is its part of speech
            break
        top = below
    return _part(tree, range(top, len(tree.labels)))


def _part(tree: Tree, kept: range | list[int]) -> Tree:
    """Return the tree of some nodes, closed under parents but for the first one's."""
    places = {place: number for number, place in enumerate(kept)}
    places[-1] = -1
    return Tree(
        tuple(tree.labels[place] for place in kept),
        tuple(places.get(tree.parents[place], -1) for place in kept),
    )
