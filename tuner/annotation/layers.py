"""The layers of an annotator's answers that the cache keeps for the needs of metrics.

If an annotator does not give heads, they follow from its constituency trees or its weighted
parses.
"""

import functools
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from typing import Literal, cast

from portmert.metrics._base import Arcs, Need

from ..texts.annotator import Annotation, AnnotationRequest, Layer
from . import records
from .annotators import _trees

Gives = frozenset["Layer"]

MEANING: tuple[Literal["roles", "drs"], ...] = ("roles", "drs")

ONE_PARSE: Gives = frozenset({"heads", "tree", "parses"})
"""Each of these has a dependency parse in it."""


@dataclass(frozen=True, order=True)
class KeptLayer:
    """A layer that the cache keeps of a sentence.

    Parameters
    ----------
    name
        `tags`, `heads`, `trees`, `parses`, `marginals`, `roles` or `drs`.
    parses
        The most parses in the layer `parses`.
    gamma
        The gamma of marginals.
    """

    name: str
    parses: int = 0
    gamma: float = 0.0

    def __str__(self) -> str:
        if self.name == "parses":
            return f"parses {self.parses}"
        return f"marginals {self.gamma!r}" if self.name == "marginals" else self.name


def kept_for(need: Need, gives: Gives) -> KeptLayer | None:
    """Return the layer to keep for a need; None if the annotator cannot give it."""
    if isinstance(need, Arcs):
        if not need.parses:
            return KeptLayer("marginals", gamma=need.gamma) if "marginals" in gives else None
        if "parses" in gives:
            return KeptLayer("parses", parses=need.parses)
        return KeptLayer("heads") if gives & ONE_PARSE else None
    if need in MEANING:
        return KeptLayer(need) if need in gives else None
    possible = {
        "tags": "tags" in gives,  # not from trees: their tags may be no parts of speech
        "heads": bool(gives & ONE_PARSE),
        "trees": "tree" in gives,
    }
    return KeptLayer(need) if possible[need] else None


def everything(gives: Gives) -> list[Need]:
    """Return all needs that an annotator meets with one parse."""
    needs: tuple[Need, ...] = ("tags", "heads", "trees", *MEANING)
    return [need for need in needs if kept_for(need, gives) is not None]


def source(layer: KeptLayer, gives: Gives) -> Layer:
    """Return the layer of an answer from which a layer of the cache is made."""
    if layer.name == "heads":
        possible: tuple[Layer, ...] = ("heads", "tree", "parses")
        return next(layer_name for layer_name in possible if layer_name in gives)
    return "tree" if layer.name == "trees" else cast("Layer", layer.name)


def requests(
    layers: Sequence[KeptLayer], gives: Gives
) -> list[tuple[AnnotationRequest, list[KeptLayer]]]:
    """Return the requests to the annotator, each with the layers that are made of the answer.

    There is one request, unless lists of parses of several lengths or analyses of meaning are
    wanted: an answer must not depend on what else is asked.
    """
    by_length: dict[int, list[KeptLayer]] = {}
    single, alone = [], []
    for layer in layers:
        if source(layer, gives) == "parses":
            by_length.setdefault(layer.parses or 1, []).append(layer)
        elif source(layer, gives) in MEANING:
            alone.append((1, [layer]))
        else:
            single.append(layer)
    groups = [(length, by_length[length]) for length in sorted(by_length)] or [(1, [])]
    groups[0] = (groups[0][0], single + groups[0][1])
    return [
        (
            AnnotationRequest(
                frozenset(source(layer, gives) for layer in group),
                length,
                tuple(layer.gamma for layer in group if layer.name == "marginals"),
            ),
            group,
        )
        for length, group in [*groups, *alone]
        if group
    ]


def pack(
    annotation: Annotation | None, layers: Sequence[KeptLayer], gives: Gives, length: int
) -> dict[KeptLayer, bytes]:
    """Return the records of an answer.

    Raises
    ------
    ValueError
        The answer is not about a sentence of `length` tokens, or cannot be kept.
    """
    if annotation is None:
        return dict.fromkeys(layers, records.UNPARSED)
    return {layer: _record(layer, annotation, gives, length) for layer in layers}


def _record(layer: KeptLayer, answer: Annotation, gives: Gives, length: int) -> bytes:
    """Return the record of one layer of an answer."""
    record = records.UNPARSED
    match source(layer, gives):
        case "tags":
            _check_length(answer.tags, length, "tags")
            record = records.pack_tags(answer.tags)
        case "heads":
            _check_length(answer.heads, length, "heads")
            record = records.pack_heads(answer.heads)
        case "tree":
            record = _of_tree(layer, answer.tree, length)
        case "parses":
            for _, heads in answer.parses:
                _check_length(heads, length, "heads")
            if layer.name == "parses":
                record = records.pack_parses(answer.parses[: layer.parses])
            elif answer.parses:
                record = records.pack_heads(answer.parses[0][1])
        case "marginals":
            record = records.pack_marginals(answer.marginals.get(layer.gamma, ()), length)
        case meaning:
            record = records.pack_structure(getattr(answer, meaning), length)
    return record


def _of_tree(layer: KeptLayer, text: str, length: int) -> bytes:
    try:
        tree = _parsed(text)
    except ValueError:
        return records.UNPARSED
    _check_length(tree.leaves, length, "leaves of the tree")
    if layer.name == "heads":
        return records.pack_heads(_trees.dependencies(tree))
    return records.pack_tree(tree)


def _check_length(values: Sized, length: int, noun: str) -> None:
    if len(values) != length:
        raise ValueError(f"{len(values)} {noun}, expected {length} (one a token)")


@functools.lru_cache(maxsize=1)
def _parsed(tree: str) -> _trees.Tree:
    """Return a tree; several layers of one answer may ask for it."""
    return _trees.parse(tree)
