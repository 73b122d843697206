"""Reads and writes analyses of meaning as JSON lines, an object for each sentence.

    {"words": ["he", "reads"], "tags": ["PRP", "VBZ"],
     "roles": [{"verb": 1, "arguments": [{"role": "A0", "words": [0]}]}],
     "drs": {"tag": "drs", "children": [{"tag": "pred", "symbol": "read", "word": [1]}]}}

Numbers are positions of words, from 0. `verbs` with `tags` in B-, I- and O of each word, as
semantic role labellers write them, may stand for `roles`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from portmert.metrics._base import WORD_KINDS
from portmert.tuner.annotation.annotators._analysed import Analysed, is_one_word
from portmert.tuner.annotation.annotators._base import Annotation, Structure
from portmert.tuner.annotation.annotators._columns import proposition
from portmert.tuner.annotation.annotators._meaning import (
    NUMBERED,
    Argument,
    Part,
    Proposition,
    discourse_tree,
    propositions_of,
    roles_tree,
)
from portmert.tuner.ground.documents import parse_json, to_json
from portmert.tuner.ground.errors import InputError, counted, faults_at

KEYS = ("words", "tags", "roles", "drs", "verbs")
_BOX_KEYS = ("tag", "type", "symbol", "children", *WORD_KINDS)


def looks_like(line: str) -> bool:
    """Return whether a line may be an object."""
    return line.startswith("{")


def read(path: str, lines: Sequence[str]) -> Iterator[Analysed]:
    """Yield the sentences of a file.

    Raises
    ------
    InputError
        A line of it is wrong.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _sentence(f"{path}:{number}", line)


def written(words: Sequence[str], answer: Annotation | None) -> str:
    """Return the line of one sentence."""
    found: dict[str, Any] = {"words": list(words)}
    if answer is not None and answer.tags:
        found["tags"] = list(answer.tags)
    if answer is not None and answer.roles is not None:
        found["roles"] = [
            {"verb": verb, "arguments": [{"role": r, "words": list(w)} for r, w in arguments]}
            for verb, arguments in propositions_of(answer.roles)
        ]
    if answer is not None and answer.drs is not None:
        found["drs"] = _box(answer.drs)
    return to_json(found, indent=None, ensure_ascii=False)


def _box(structure: Structure) -> dict[str, Any]:
    """Return nested objects; labels are whole, numbers of order behind them left out."""
    made: list[dict[str, Any]] = []
    for label, parent, kind in structure.nodes:
        tag = kind
        above = made[parent] if parent >= 0 else None
        if above is not None and above["tag"] in NUMBERED:
            number = f"-{len(above.get('children', ())) + 1}"
            tag, label = tag.removesuffix(number), label.removesuffix(number)  # noqa: PLW2901
        node: dict[str, Any] = {"tag": tag}
        rest = label[len(tag) + 1 :]
        if rest:
            node["symbol"] = rest
        made.append(node)
        if above is not None:
            above.setdefault("children", []).append(node)
    for place, kind, value in structure.words:
        made[place].setdefault(kind, []).append(value)
    return made[0]


def _sentence(where: str, line: str) -> Analysed:
    with faults_at(f"{where}: no JSON", ValueError, InputError):
        found = parse_json(line)
    if not isinstance(found, dict):
        raise InputError(f"{where}: expected an object with {', '.join(KEYS)}")
    words = _strings(where, found, "words")
    tags = _strings(where, found, "tags") if "tags" in found else ()
    if not words or not all(map(is_one_word, words)):
        raise InputError(f"{where}: words are without spaces, and at least one")
    if tags and len(tags) != len(words):
        raise InputError(f"{where}: {counted(len(tags), 'tag')} for {counted(len(words), 'word')}")
    roles = drs = None
    with faults_at(where, ValueError, InputError):
        if "roles" in found:
            roles = roles_tree(_roles(where, words, found["roles"]))
        elif "verbs" in found:
            roles = roles_tree(_verbs(where, words, found["verbs"]))
        if found.get("drs") is not None:
            drs = discourse_tree(_part(where, len(words), found["drs"]))
    return Analysed(where, words, tags, roles, drs)


def _strings(where: str, found: dict[str, Any], key: str) -> tuple[str, ...]:
    values = found.get(key)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InputError(f"{where}: '{key}' is not a list of strings")
    return tuple(values)


def _positions(where: str, length: int, values: object, what: str) -> tuple[int, ...]:
    numbers = values if isinstance(values, list) else [values]
    for number in numbers:
        if type(number) is not int or not 0 <= number < length:
            raise InputError(
                f"{where}: {what} is of word {number!r}, the sentence has words 0 to {length - 1}"
            )
    return tuple(sorted(numbers))


def _roles(where: str, words: tuple[str, ...], found: object) -> Iterator[Proposition]:
    if not isinstance(found, list):
        raise InputError(f"{where}: 'roles' is not a list")
    for one in found:
        given = one.get("arguments", []) if isinstance(one, dict) else None
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            raise InputError(f"{where}: one of 'roles' is no object with verb and arguments")
        (verb,) = _positions(where, len(words), [one.get("verb")], "a verb")
        arguments: list[Argument] = []
        for each in given:
            role = each.get("role")
            if not isinstance(role, str):
                raise InputError(f"{where}: role {role!r} of '{words[verb]}' is no name")
            at = _positions(where, len(words), each.get("words"), f"argument {role}")
            arguments.append((role, at))
        yield proposition(where, words, verb, arguments)


def _verbs(where: str, words: tuple[str, ...], found: object) -> Iterator[Proposition]:
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InputError(f"{where}: 'verbs' is not a list of objects")
    for one in found:
        tags = _strings(where, one, "tags")
        if len(tags) != len(words):
            raise InputError(
                f"{where}: {counted(len(tags), 'tag')} of a verb for {counted(len(words), 'word')}"
            )
        spans: list[tuple[str, list[int]]] = []
        for place, tag in enumerate(tags):
            mark, _, role = tag.partition("-")
            if mark == "B" or (mark == "I" and (not spans or spans[-1][0] != role)):
                spans.append((role, []))
            elif mark not in ("I", "O") or (mark == "I" and spans[-1][1][-1] != place - 1):
                raise InputError(f"{where}: '{tag}', expected B-ROLE, I-ROLE or O")
            if mark != "O":
                spans[-1][1].append(place)
        verbs = [positions[0] for role, positions in spans if role == "V"]
        if len(verbs) != 1:
            raise InputError(f"{where}: {len(verbs)} spans V of a verb, expected one")
        arguments = [(role, tuple(positions)) for role, positions in spans if role != "V"]
        yield proposition(where, words, verbs[0], arguments)


def _part(where: str, length: int, found: object) -> Part:
    """Return a box; `parse_json` sees to it that they are not nested too deep."""
    if not isinstance(found, dict) or not isinstance(found.get("tag"), str):
        raise InputError(f"{where}: a box is an object with a tag, found {type(found).__name__}")
    unknown = [key for key in found if key not in _BOX_KEYS]
    if unknown:
        raise InputError(
            f"{where}: a box has no key '{unknown[0]}'; known are {', '.join(_BOX_KEYS)}"
        )
    words: list[tuple[str, int | str]] = []
    for kind in WORD_KINDS:
        values = found.get(kind, [])
        if kind == "date":
            words += [(kind, date) for date in _strings(where, {kind: values}, kind)]
        else:
            at = _positions(where, length, values, f"{kind} of '{found['tag']}'")
            words += [(kind, place) for place in at]
    names = [found.get(key, "") for key in ("type", "symbol")]
    below = found.get("children", [])
    if not all(isinstance(name, str) for name in names) or not isinstance(below, list):
        raise InputError(f"{where}: type and symbol are strings, children a list of boxes")
    children = [_part(where, length, child) for child in below]
    return Part(found["tag"], names[0], names[1], words, children)
