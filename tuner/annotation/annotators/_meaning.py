"""Builds trees of semantic roles and of discourse representations from what was found of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from portmert.tuner.annotation.annotators._analysed import is_one_word
from portmert.tuner.annotation.annotators._base import Structure

Argument = tuple[str, tuple[int, ...]]
"""Role, and the positions of its words, rising."""

Proposition = tuple[int, tuple[Argument, ...]]
"""Position of the predicate, and its arguments."""

CONTINUED = ("C-", "R-")
"""Before roles: the argument goes on, or refers to another one."""

NUMBERED = ("or", "imp", "whq", "duplex")
"""Tags whose children have numbers, for their order counts; `duplex` is Boxer's later `whq`."""

DEEPEST = 200
"""Levels of a discourse representation: metrics go up from every word to the root."""


@dataclass
class Part:
    """Holds a box or a condition of a discourse representation, and what is below it.

    Parameters
    ----------
    tag, type, symbol
        `pred`, ``, `man`; `named`, `per`, `mary`.
    words
        One of `WORD_KINDS`, and the position of a token or what a date is.
    """

    tag: str
    type: str = ""
    symbol: str = ""
    words: list[tuple[str, int | str]] = field(default_factory=list)
    children: list[Part] = field(default_factory=list)


def roles_tree(propositions: Iterable[Proposition]) -> Structure:
    """Return semantic roles as a tree: the root, predicates, arguments.

    The prefixes C- (goes on) and R- (refers) of roles are left out.

    Raises
    ------
    ValueError
        A role is no name, or an argument has no words or one of them twice.
    """
    nodes: list[tuple[str, int, str]] = [("roles", -1, "roles")]
    words: list[tuple[int, str, int | str]] = []
    for place, arguments in propositions:
        predicate = len(nodes)
        nodes.append(("predicate", 0, "predicate"))
        words.append((predicate, "word", place))
        for role, positions in arguments:
            name = role[2:] if role.startswith(CONTINUED) else role
            if not is_one_word(name):
                raise ValueError(f"the role '{role}', expected a name without spaces, as A0")
            if not positions or len(set(positions)) < len(positions):
                raise ValueError(f"argument {role} has no words, or one of them twice")
            words += [(len(nodes), "word", position) for position in positions]
            nodes.append((name, predicate, name))
    return Structure(tuple(nodes), tuple(words))


def discourse_tree(root: Part) -> Structure:
    """Return a discourse representation as a tree whose labels are `tag[.type][.symbol]`.

    Children of `or`, `imp` and `whq` have `-1`, `-2` and so on behind label and tag.

    Raises
    ------
    ValueError
        It is too deep, or a tag is no name.
    """
    nodes: list[tuple[str, int, str]] = []
    words: list[tuple[int, str, int | str]] = []
    todo = [(root, -1, "", 1)]
    while todo:
        part, parent, suffix, level = todo.pop()
        if level > DEEPEST:
            raise ValueError(f"boxes in boxes, more than {DEEPEST} deep")
        if not is_one_word(part.tag):
            raise ValueError(f"the tag '{part.tag}', expected a name without spaces, as pred")
        here = len(nodes)
        label = ".".join(_plain(name) for name in (part.tag, part.type, part.symbol) if name)
        nodes.append((label + suffix, parent, part.tag + suffix))
        words += [
            (here, kind, _plain(value) if isinstance(value, str) else value)
            for kind, value in part.words
        ]
        numbered = part.tag in NUMBERED
        below = [
            (child, here, f"-{number}" if numbered else "", level + 1)
            for number, child in enumerate(part.children, 1)
        ]
        todo += reversed(below)
    return Structure(tuple(nodes), tuple(words))


def _plain(name: str) -> str:
    """Return a name without line ends, which records part it by."""
    return name.replace("\n", " ")


def propositions_of(structure: Structure) -> list[Proposition]:
    """Return the predicates and arguments behind `roles_tree`."""
    positions: dict[int, list[int]] = {}
    for node, _, value in structure.words:
        positions.setdefault(node, []).append(int(value))
    found: list[tuple[int, list[Argument]]] = []
    for place, (label, parent, _) in enumerate(structure.nodes):
        if parent == 0:
            found.append((positions[place][0], []))
        elif parent > 0:
            found[-1][1].append((label, tuple(positions.get(place, ()))))
    return [(place, tuple(arguments)) for place, arguments in found]
