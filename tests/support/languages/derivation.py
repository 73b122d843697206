"""Holds how a sentence is derived: one tree for both languages, and what is read off it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Leaf:
    """Holds words that belong together, next to each other in each language.

    Parameters
    ----------
    tag : str
        Part of speech.
    source, target : tuple of str
        Either may be empty: an article has no source word, a case particle no target word.
    concept : int or None
        Words of leaves with the same concept translate each other; None translates nothing.
    features : tuple of str
        What the target word's form shows, as `Number=Plur`.
    """

    tag: str
    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    concept: int | None = None
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Phrase:
    """Stands for a node of the derivation.

    Parameters
    ----------
    label : str
    children : tuple of Node
    source_order, target_order : tuple of int
        Indices of the children, in the order of each language.
    head : int
        Index of the child that the others depend on.
    roles : tuple of str
        What each child is to the head, as `subject`.
    """

    label: str
    children: tuple[Node, ...]
    source_order: tuple[int, ...]
    target_order: tuple[int, ...]
    head: int
    roles: tuple[str, ...]

    def leaves(self, order: str) -> Iterator[Leaf]:
        """Yield the leaves in the order of one language, `source_order` or `target_order`."""
        for index in getattr(self, order):
            child = self.children[index]
            if isinstance(child, Leaf):
                yield child
            else:
                yield from child.leaves(order)


Node = Leaf | Phrase


@dataclass(frozen=True)
class Pair:
    """Holds a sentence in both languages; `links` are (source, target) positions, sorted."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: tuple[tuple[int, int], ...]
    tree: Phrase


def pair(tree: Phrase) -> Pair:
    """Read a sentence off its derivation."""
    positions: list[dict[int, list[int]]] = [{}, {}]
    texts: list[list[str]] = [[], []]
    for side, order in enumerate(("source_order", "target_order")):
        for leaf in tree.leaves(order):
            words = leaf.target if side else leaf.source
            if leaf.concept is not None:
                start = len(texts[side])
                words_at = positions[side].setdefault(leaf.concept, [])
                words_at.extend(range(start, start + len(words)))
            texts[side].extend(words)
    links = sorted(
        (s, t)
        for concept, sources in positions[0].items()
        for s in sources
        for t in positions[1].get(concept, ())
    )
    return Pair(tuple(texts[0]), tuple(texts[1]), tuple(links), tree)
