"""An annotator without a model: every text gets tags and parses that follow from its words."""

from __future__ import annotations

from dataclasses import replace

from portmert.metrics._base import Arcs
from tests.oracles import semantics
from tests.oracles.metrics import Text, Tree
from tests.support.strategies_metrics import arrays, expected_arcs


def parsed(words):
    """Each word under the one before it, in a second parse all under the first; a flat tree.

    The first word is the predicate of all others, and each word is a condition of one box.
    """
    words = tuple(words)
    tags = tuple(word[0].upper() for word in words)
    chain = tuple((i, "root" if i == 0 else word[-1]) for i, word in enumerate(words))
    flat = tuple((0, "root") if i == 0 else (1, "flat") for i in range(len(words)))
    pairs = zip(tags, words, strict=True)
    tree = Tree("S", tuple(Tree(tag, (Tree(word),)) for tag, word in pairs)) if words else None
    roles = ((0, tuple((f"A{i}", (i,)) for i in range(1, len(words)))),) if words else ()
    predicates = (semantics.Node("pred", "", word, (("word", i),)) for i, word in enumerate(words))
    drs = semantics.Node("drs", children=tuple(predicates)) if words else None
    parses = ((-1.0, chain), (-2.0, flat))
    return Text(words, frozenset(), tags, chain, tree, parses, roles, drs)


class FakeAnnotator:
    """Stands for `texts.annotator.TextAnnotator`; `asked` are the texts of each call."""

    fingerprint, name = "fake 1", "fake"
    seconds = 0.0

    def __init__(self):
        self.depths = {}
        self.counts = {"hits": 0, "misses": 0, "failed": 0}
        self.asked = []

    def annotate(self, texts, needs):
        rows = [parsed(texts.words(row)) for row in range(len(texts))]
        self.asked.append([row.words for row in rows])
        layered = arrays(rows, texts.vocabulary)
        add = texts.vocabulary.add
        layers = ("tags", "heads", "trees", "roles", "drs")
        by_layer = {name: getattr(layered, name) for name in layers if name in needs}
        arcs = {need: expected_arcs(rows, need, add) for need in needs if isinstance(need, Arcs)}
        return replace(texts, **by_layer, arcs=arcs)
