"""Analyses of meaning: trees of semantic roles and of discourse representations.

Their own file format is JSON lines, an object for each sentence:

    {"words": ["he", "reads"], "tags": ["PRP", "VBZ"],
     "roles": [{"verb": 1, "arguments": [{"role": "A0", "words": [0]}]}],
     "drs": {"tag": "drs", "children": [{"tag": "pred", "symbol": "read", "word": [1]}]}}

Numbers are positions of words, from 0. In place of `roles` there may be `verbs`, each with `tags`:
B-, I- or O for each word, as semantic role labellers write them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from portmert.metrics._base import WORD_KINDS

from ...base.errors import counted
from ...base.json_toml import parse_json
from ...texts.annotator import Structure

Argument = tuple[str, tuple[int, ...]]
"""Role, and the positions of its words, rising."""

Proposition = tuple[int, tuple[Argument, ...]]
"""Position of the predicate, and its arguments."""

CONTINUED = ("C-", "R-")
"""Prefixes of roles: the argument goes on, or refers to another one."""

NUMBERED = ("or", "imp", "whq", "duplex")
"""Tags whose children are numbered, because their order counts; `duplex` is a later `whq`."""

DEEPEST = 200
"""Levels of a discourse representation: metrics go up from every word to the root."""

KEYS = ("words", "tags", "roles", "drs", "verbs")
_BOX_KEYS = ("tag", "type", "symbol", "children", *WORD_KINDS)


class Fault(Exception):  # noqa: N818  half of a message: the file stands before it
    """A fault at a line of a file, from 1."""

    def __init__(self, line: int, fault: str) -> None:
        super().__init__(fault)
        self.line = line


@contextmanager
def at(line: int) -> Iterator[None]:
    """Turn a ValueError of the block into a `Fault` at a line."""
    try:
        yield
    except ValueError as error:
        raise Fault(line, str(error)) from None


@dataclass(frozen=True)
class Analysed:
    """The analyses that a file has of one sentence; what it does not have is empty or None.

    Parameters
    ----------
    line
        Where the sentence begins, from 1.
    """

    line: int
    tokens: tuple[str, ...]
    tags: tuple[str, ...] = ()
    roles: Structure | None = None
    drs: Structure | None = None


@dataclass
class Part:
    """A box or a condition of a discourse representation, and what is below it.

    Parameters
    ----------
    tag, type, symbol
        As `pred`, ``, `man`, or `named`, `per`, `mary`.
    words
        One of `WORD_KINDS`, and the position of a token or, for a date, the date itself.
    """

    tag: str
    type: str = ""
    symbol: str = ""
    words: list[tuple[str, int | str]] = field(default_factory=list)
    children: list[Part] = field(default_factory=list)


def is_one_word(text: str) -> bool:
    """Return whether a text is one word: only ASCII white space separates words."""
    data = text.encode()
    return data.split() == [data]


def proposition(words: Sequence[str], verb: int, arguments: Sequence[Argument]) -> Proposition:
    """Return a predicate with its arguments.

    Raises
    ------
    ValueError
        An argument holds the predicate.
    """
    for role, positions in arguments:
        if verb in positions:
            word = words[verb]
            raise ValueError(f"argument {role} of '{word}' holds '{word}' itself (a cycle)")
    return verb, tuple(arguments)


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
    """Return a name without line ends: they separate names in records."""
    return name.replace("\n", " ")


def read(lines: Sequence[str]) -> Iterator[Analysed]:
    """Yield the sentences of JSON lines; raise `Fault` where a line is wrong."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            with at(number):
                yield _sentence(number, line)


def _sentence(number: int, line: str) -> Analysed:
    try:
        content = parse_json(line)
    except ValueError as error:
        raise ValueError(f"no JSON: {error}") from None
    if not isinstance(content, dict):
        raise ValueError(f"expected an object with {', '.join(KEYS)}")  # noqa: TRY004
    words = _strings(content, "words")
    tags = _strings(content, "tags") if "tags" in content else ()
    if not words or not all(map(is_one_word, words)):
        raise ValueError("words are without spaces, and at least one")
    if tags and len(tags) != len(words):
        raise ValueError(f"{counted(len(tags), 'tag')} for {counted(len(words), 'word')}")
    roles = drs = None
    if "roles" in content:
        roles = roles_tree(_roles(words, content["roles"]))
    elif "verbs" in content:
        roles = roles_tree(_verbs(words, content["verbs"]))
    if content.get("drs") is not None:
        drs = discourse_tree(_part(len(words), content["drs"]))
    return Analysed(number, words, tags, roles, drs)


def _strings(content: dict[str, Any], key: str) -> tuple[str, ...]:
    values = content.get(key)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"'{key}' is not a list of strings")
    return tuple(values)


def _objects(items: object, wrong: str) -> list[dict[str, Any]]:
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ValueError(wrong)
    return items


def _positions(length: int, values: object, noun: str) -> tuple[int, ...]:
    numbers: list[Any] = values if isinstance(values, list) else [values]
    for number in numbers:
        if type(number) is not int or not 0 <= number < length:
            raise ValueError(
                f"{noun} is of word {number!r}, the sentence has words 0 to {length - 1}"
            )
    return tuple(sorted(numbers))


def _roles(words: tuple[str, ...], frames: object) -> Iterator[Proposition]:
    if not isinstance(frames, list):
        raise ValueError("'roles' is not a list")  # noqa: TRY004  input's fault
    wrong = "one of 'roles' is no object with verb and arguments"
    for frame in _objects(frames, wrong):
        (verb,) = _positions(len(words), [frame.get("verb")], "a verb")
        arguments: list[Argument] = []
        for each in _objects(frame.get("arguments", []), wrong):
            role = each.get("role")
            if not isinstance(role, str):
                raise ValueError(f"role {role!r} of '{words[verb]}' is no name")  # noqa: TRY004
            positions = _positions(len(words), each.get("words"), f"argument {role}")
            arguments.append((role, positions))
        yield proposition(words, verb, arguments)


def _verbs(words: tuple[str, ...], content: object) -> Iterator[Proposition]:
    for verb in _objects(content, "'verbs' is not a list of objects"):
        tags = _strings(verb, "tags")
        if len(tags) != len(words):
            raise ValueError(
                f"{counted(len(tags), 'tag')} of a verb for {counted(len(words), 'word')}"
            )
        spans: list[tuple[str, list[int]]] = []
        for place, tag in enumerate(tags):
            mark, _, role = tag.partition("-")
            if mark == "B" or (mark == "I" and (not spans or spans[-1][0] != role)):
                spans.append((role, []))
            elif mark not in ("I", "O") or (mark == "I" and spans[-1][1][-1] != place - 1):
                raise ValueError(f"'{tag}', expected B-ROLE, I-ROLE or O")
            if mark != "O":
                spans[-1][1].append(place)
        verbs = [positions[0] for role, positions in spans if role == "V"]
        if len(verbs) != 1:
            raise ValueError(f"{len(verbs)} spans V of a verb, expected one")
        arguments = [(role, tuple(positions)) for role, positions in spans if role != "V"]
        yield proposition(words, verbs[0], arguments)


def _part(length: int, content: object) -> Part:
    """Return a box; `parse_json` sees to it that boxes are not nested too deep."""
    if not isinstance(content, dict) or not isinstance(content.get("tag"), str):
        kind = type(content).__name__
        raise ValueError(f"a box is an object with a tag, found {kind}")  # noqa: TRY004
    unknown = [key for key in content if key not in _BOX_KEYS]
    if unknown:
        raise ValueError(f"a box has no key '{unknown[0]}'; known are {', '.join(_BOX_KEYS)}")
    words: list[tuple[str, int | str]] = []
    for kind in WORD_KINDS:
        values = content.get(kind, [])
        if kind == "date":
            words += [(kind, date) for date in _strings({kind: values}, kind)]
        else:
            places = _positions(length, values, f"{kind} of '{content['tag']}'")
            words += [(kind, place) for place in places]
    names = [content.get(key, "") for key in ("type", "symbol")]
    below = content.get("children", [])
    if not all(isinstance(name, str) for name in names) or not isinstance(below, list):
        raise ValueError("type and symbol are strings, children a list of boxes")
    return Part(
        content["tag"], names[0], names[1], words, [_part(length, child) for child in below]
    )
