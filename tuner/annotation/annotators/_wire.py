"""Packs sentences, requests and annotations as JSON, between this process and the workers."""

from __future__ import annotations

from typing import Any

from portmert.tuner.annotation.annotators._base import Annotation, Heads, Request


def pack_request(request: Request) -> Any:
    """Return a request as JSON values."""
    return [sorted(request.layers), request.parses, list(request.gammas)]


def unpack_request(packed: Any) -> Request:
    """Return what `pack_request` was given."""
    layers, parses, gammas = packed
    return Request(frozenset(layers), parses, tuple(gammas))


def pack(annotation: Annotation | None) -> Any:
    """Return an annotation as JSON values."""
    if annotation is None:
        return None
    return [
        annotation.tags,
        annotation.heads,
        annotation.tree,
        annotation.parses,
        list(annotation.marginals.items()),  # a key of a JSON object would be a string
    ]


def unpack(packed: Any) -> Annotation | None:
    """Return what `pack` was given."""
    if packed is None:
        return None
    tags, heads, tree, parses, marginals = packed
    return Annotation(
        tuple(tags),
        _heads(heads),
        tree,
        tuple((score, _heads(parse)) for score, parse in parses),
        {gamma: tuple(tuple(arc) for arc in arcs) for gamma, arcs in marginals},
    )


def _heads(packed: Any) -> Heads:
    return tuple((head, label) for head, label in packed)
