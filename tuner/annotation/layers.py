"""Chooses what is kept of an annotator's answers, for what metrics need.

Where an annotator does not give heads, they follow from its constituency trees or its weighted
parses. Where it gives heads and no analyses of meaning, these follow from its heads by rules.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Literal, TypeVar

from portmert.metrics._base import Arcs, Need
from portmert.tuner.annotation import records
from portmert.tuner.annotation.annotators import _rules, _trees
from portmert.tuner.annotation.annotators._base import Annotation, AnnotationRequest, Layer

Whole = TypeVar("Whole", bound=Sized)

Gives = frozenset["Layer"]

MEANING: tuple[Literal["roles", "drs"], ...] = ("roles", "drs")
RULES = 1
"""Version of the rules by which these follow from heads: raised with every change of them."""

SOURCES: dict[str, Layer] = {
    "tags": "tags",
    "trees": "tree",
    "parses": "parses",
    "marginals": "marginals",
    "roles": "roles",
    "drs": "drs",
}
"""What is kept, but heads -> the layer of an answer that it is made of."""

ONE_PARSE: Gives = frozenset({"heads", "tree", "parses"})
"""Any of these has a dependency parse in it."""


@dataclass(frozen=True, order=True)
class KeptLayer:
    """Holds what the cache keeps of a sentence.

    Parameters
    ----------
    name
        `tags`, `heads`, `trees`, `parses`, `marginals`, `roles` or `drs`.
    parses
        How many of the best parses there may be at most.
    gamma
        That of marginals.
    rules
        Version of the rules by which roles or a discourse representation follow from heads; 0:
        they are the annotator's own.
    """

    name: str
    parses: int = 0
    gamma: float = 0.0
    rules: int = 0

    def __str__(self) -> str:
        if self.rules:
            return f"{self.name} by rules {self.rules}"
        if self.name == "parses":
            return f"parses {self.parses}"
        return f"marginals {self.gamma!r}" if self.name == "marginals" else self.name


def kept_for(need: Need, gives: Gives) -> KeptLayer | None:
    """Return what to keep for a need, None if the annotator cannot give it."""
    if isinstance(need, Arcs):
        if not need.parses:
            return KeptLayer("marginals", gamma=need.gamma) if "marginals" in gives else None
        if "parses" in gives:
            return KeptLayer("parses", parses=need.parses)
        return KeptLayer("heads") if gives & ONE_PARSE else None
    if need in MEANING:
        if need in gives:
            return KeptLayer(need)
        return KeptLayer(need, rules=RULES) if "heads" in gives else None
    possible = {
        "tags": "tags" in gives,  # not from trees: what stands there may be no parts of speech
        "heads": bool(gives & ONE_PARSE),
        "trees": "tree" in gives,
    }
    return KeptLayer(need) if possible[need] else None


def everything(gives: Gives) -> list[Need]:
    """Return all that an annotator gives of one parse, without what would follow by rules."""
    needs: tuple[Need, ...] = ("tags", "heads", "trees", *MEANING)
    kept = [(need, kept_for(need, gives)) for need in needs]
    return [need for need, layer in kept if layer is not None and not layer.rules]


def source(layer: KeptLayer, gives: Gives) -> Layer:
    """Return which layer of the annotator's answers one of the cache is made of."""
    if layer.name == "heads":
        possible: tuple[Layer, ...] = ("heads", "tree", "parses")
        return next(one for one in possible if one in gives)
    return SOURCES[layer.name]


def requests(
    layers: Sequence[KeptLayer], gives: Gives
) -> list[tuple[AnnotationRequest, list[KeptLayer]]]:
    """Return what to ask the annotator, and which layers are made of the answer.

    One question, unless lists of parses of several lengths are wanted: an answer must not depend
    on what else is asked.
    """
    by_length: dict[int, list[KeptLayer]] = {}
    others = []
    for layer in layers:
        if source(layer, gives) == "parses":
            by_length.setdefault(layer.parses or 1, []).append(layer)
        else:
            others.append(layer)
    groups = [(length, by_length[length]) for length in sorted(by_length)] or [(1, [])]
    groups[0] = (groups[0][0], others + groups[0][1])
    return [
        (
            AnnotationRequest(
                frozenset(source(layer, gives) for layer in group),
                length,
                tuple(layer.gamma for layer in group if layer.name == "marginals"),
            ),
            group,
        )
        for length, group in groups
    ]


def pack(
    annotation: Annotation | None, layers: Sequence[KeptLayer], gives: Gives, length: int
) -> dict[KeptLayer, bytes]:
    """Return the records of an answer.

    Raises
    ------
    ValueError
        The answer is not about a sentence of `length` tokens.
    RecordError
        It cannot be kept.
    """
    if annotation is None:
        return dict.fromkeys(layers, records.UNPARSED)
    answer = _Answer(annotation, length)
    return {layer: answer.record(layer, source(layer, gives)) for layer in layers}


def unpack(row: Mapping[str, bytes], words: Sequence[str]) -> Annotation | None:
    """Return what the records of layers say of a sentence; None if one of them is of no parse.

    Raises
    ------
    RecordError
        One of them is damaged.
    """
    if records.UNPARSED in row.values():
        return None
    return Annotation(
        tags=records.tags_of(row["tags"], len(words)) if "tags" in row else (),
        heads=records.heads_of(row["heads"], len(words)) if "heads" in row else (),
        tree=records.tree_of(row["trees"], words) if "trees" in row else "",
        parses=records.parses_of(row["parses"], len(words)) if "parses" in row else (),
        roles=records.structure_of(row["roles"], len(words)) if "roles" in row else None,
        drs=records.structure_of(row["drs"], len(words)) if "drs" in row else None,
    )


def derive(
    layers: Sequence[KeptLayer], words: Sequence[str], heads: bytes, tags: bytes | None
) -> dict[KeptLayer, bytes]:
    """Return the records of layers that follow from the record of a dependency parse by rules.

    `tags` is that of the parts of speech, None where there are none.

    Raises
    ------
    RecordError
        One of them is damaged.
    """
    if records.UNPARSED in (heads, tags):
        return dict.fromkeys(layers, records.UNPARSED)
    sentence = _rules.Sentence(
        words,
        records.heads_of(heads, len(words)),
        () if tags is None else records.tags_of(tags, len(words)),
    )
    rules = {"roles": _rules.roles, "drs": _rules.representation}
    return {
        layer: records.pack_structure(rules[layer.name](sentence), len(words)) for layer in layers
    }


class _Answer:
    """Holds what an annotator said about one sentence."""

    def __init__(self, answer: Annotation, length: int) -> None:
        self._answer = answer
        self._length = length

    def record(self, layer: KeptLayer, of: Layer) -> bytes:
        """Return a layer's record, made of a layer of the answer."""
        answer = self._answer
        if of == "tags":
            return records.pack_tags(self._whole(answer.tags, "tags"))
        if of == "heads":
            return records.pack_heads(self._whole(answer.heads, "heads"))
        if of == "tree":
            return self._of_tree(layer)
        if of == "parses":
            return self._of_parses(layer)
        if of in MEANING:
            return records.pack_structure(getattr(answer, of), self._length)
        return records.pack_marginals(answer.marginals.get(layer.gamma, ()), self._length)

    def _of_tree(self, layer: KeptLayer) -> bytes:
        tree = self._tree
        if tree is None:
            return records.UNPARSED
        if layer.name == "heads":
            return records.pack_heads(_trees.dependencies(tree))
        return records.pack_tree(tree)

    def _of_parses(self, layer: KeptLayer) -> bytes:
        parses = [(score, self._whole(heads, "heads")) for score, heads in self._answer.parses]
        if layer.name == "heads":
            return records.pack_heads(parses[0][1]) if parses else records.UNPARSED
        return records.pack_parses(parses[: layer.parses])

    @functools.cached_property
    def _tree(self) -> _trees.Tree | None:
        try:
            tree = _trees.parse(self._answer.tree)
        except ValueError:
            return None
        self._whole(tree.leaves, "leaves of the tree")
        return tree

    def _whole(self, values: Whole, what: str) -> Whole:
        if len(values) != self._length:
            raise ValueError(f"{len(values)} {what}, expected {self._length} (one a token)")
        return values
