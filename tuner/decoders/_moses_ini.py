"""Replacing the weights of a moses.ini and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuner.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuner.weights import FeatureWeights


def replace_weights(
    lines: Sequence[str], weights: FeatureWeights, *, header: str, origin: str
) -> str:
    """Return the text of a moses.ini with `weights` in its [weight] section.

    Every other line stays as it is, comments and features without a weight here (those that are
    not tuned) too. Features new to the section are added at its end. `header` comes first, as
    comments.

    Raises
    ------
    InputError
        There is no [weight] section, or it holds none of the features.
    """
    found: list[str] = []
    left = {name: f"{name}= {' '.join(map(repr, v))}" for name, v in weights.values.items()}
    inside = False
    end = None
    for line in lines:
        stripped = line.strip()
        if stripped.startswith("["):
            inside = stripped.lower() == "[weight]"
        name, equals, _ = line.partition("=")
        found.append(
            left.pop(name.strip()) if inside and equals and name.strip() in left else line
        )
        if inside and stripped:
            end = len(found)
    if end is None:
        raise InputError(f"{origin}: no [weight] section to put the weights into")
    if len(left) == len(weights.values):
        raise InputError(
            f"{origin}: its [weight] section has none of {', '.join(left)}; is it the "
            f"configuration of another system?"
        )
    found[end:end] = left.values()
    comments = [f"# {line}" for line in header.splitlines()]
    return "".join(f"{line}\n" for line in [*comments, *found])
