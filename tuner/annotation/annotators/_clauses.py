"""Reads discourse representations in the clause format of the Parallel Meaning Bank.

A clause is a box, an operator and one or two arguments; behind `%` stand the tokens that it is of,
with their place in the text. Presupposed boxes are part of the box that presupposes them, as in
Boxer's XML.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from portmert.tuner.annotation.annotators._analysed import Analysed, whole_number
from portmert.tuner.annotation.annotators._boxer import TIMES
from portmert.tuner.annotation.annotators._meaning import Part, discourse_tree
from portmert.tuner.ground.errors import InputError, faults_at

_BOX = re.compile(r"b[0-9]+")
_CLAUSE = re.compile(r'(?:"[^"]*"|[^%])*')
"""What stands before the comment; a constant may hold the sign of a comment."""

_TOKEN = re.compile(r"(?<!\S)(\S++) \[([0-9]+)\.\.\.([0-9]+)\]")
_PIECE = re.compile(r'"[^"]*"|\S+')
_CONSTANT = re.compile(r'"([^"]*)"')

SCOPES = {"NEGATION": "not", "NOT": "not", "POSSIBILITY": "pos", "POS": "pos", "NECESSITY": "nec",
          "NEC": "nec", "PROPOSITION": "prop", "PRP": "prop"}  # fmt: skip
"""Operators between a box and one below it, of release 3 and before: the tag."""

PAIRS = {"IMP": "imp", "DIS": "or", "DUP": "duplex"}
"""Operators between a box and two below it."""

FOLLOWS = {"CONSEQUENCE": "imp", "ALTERNATION": "or"}
"""Relations of a first box to a second one, both below the box that the first stands in."""

INTRODUCES = ("CONDITION", "DISJUNCTION")
"""A box has the first box of such a pair."""

RELATIONS = frozenset((
    "CONTINUATION", "CONTRAST", "EXPLANATION", "ELABORATION", "RESULT", "PARALLEL",
    "BACKGROUND", "NARRATION", "ATTRIBUTION", "CORRECTION", "CONJUNCTION", "COMMENTARY",
    "PRECONDITION", "INSTANCE", "TOPIC", "SOURCE", "CONSEQUENTIAL", "GOAL", "TEMPORAL",
))  # fmt: skip
"""Relations of discourse: both boxes are part of the discourse."""

COMPARISONS = frozenset((
    "EQU", "NEQ", "APX", "LES", "LEQ", "TPR", "TAB", "TIN", "SXP", "SXN", "STI", "STO", "SY1",
    "SY2", "SXY", "ANA",
))  # fmt: skip
"""Conditions between two referents."""

VALUES = {"Name": "named", "Quantity": "card", "Cardinality": "card"}
"""Relations to a constant: the tag."""


def looks_like(line: str) -> bool:
    """Return whether a line may be of clauses."""
    return line.startswith("%%%") or _BOX.match(line.partition(" ")[0]) is not None


@dataclass(frozen=True)
class _Clause:
    line: int
    box: str
    operator: str
    arguments: list[str]
    tokens: list[tuple[int, int]]


@dataclass
class _Document:
    first: int = 0
    clauses: list[_Clause] = field(default_factory=list)
    tokens: dict[tuple[int, int], str] = field(default_factory=dict)


def read(path: str, lines: Sequence[str]) -> Iterator[Analysed]:
    """Yield the sentences of a file.

    Raises
    ------
    InputError
        A line of it is wrong.
    """
    document = _Document()
    for number, line in enumerate([*lines, ""], 1):
        if line.startswith("%%%"):
            continue
        if line.strip():
            document.first = document.first or number
            _add(path, number, line, document)
        elif document.first:
            yield _sentence(path, document)
            document = _Document()


def _add(path: str, number: int, line: str, document: _Document) -> None:
    clause = _CLAUSE.match(line)[0]  # type: ignore[index]  # it matches anything
    spans = []
    for word, *places in _TOKEN.findall(line, len(clause)):
        begin, end = map(whole_number, places)
        if begin is None or end is None:
            raise InputError(f"{path}:{number}: '{word}' stands beyond all texts")
        if begin < end:  # what stands for nothing has no length
            document.tokens[begin, end] = word
            spans.append((begin, end))
    pieces = _PIECE.findall(clause)
    if not pieces:
        return
    if len(pieces) not in (3, 4) or _BOX.fullmatch(pieces[0]) is None:
        raise InputError(
            f"{path}:{number}: '{clause.strip()}' is no clause, expected a box, an operator and "
            f"one or two arguments, as b1 NEGATION b2"
        )
    document.clauses.append(_Clause(number, pieces[0], pieces[1], pieces[2:], spans))


def _sentence(path: str, document: _Document) -> Analysed:
    where = f"{path}:{document.first}"
    if not document.tokens:
        raise InputError(
            f"{where}: no clause says which tokens it is of, as in % Tom [0...3]; without them "
            f"nothing can be compared"
        )
    order = sorted(document.tokens)
    places = {span: place for place, span in enumerate(order)}
    builder = _Builder(path, where, document, places)
    tokens = tuple(document.tokens[span] for span in order)
    with faults_at(where, ValueError, InputError):
        return Analysed(where, tokens, drs=discourse_tree(builder.root()))


class _Builder:
    """Builds the tree of boxes of one sentence."""

    def __init__(
        self, path: str, where: str, document: _Document, places: dict[tuple[int, int], int]
    ) -> None:
        self._path = path
        self._where = where
        self._places = places
        self._boxes: dict[str, Part] = {}
        self._merged: dict[str, str] = {}
        self._referents: dict[str, list[int]] = {}
        self._below: dict[str, list[str]] = {}
        self._clauses = document.clauses
        self._check_operators()

    def root(self) -> Part:
        """Return the outermost box, or a discourse of several."""
        for clause in self._clauses:
            if clause.operator == "PRESUPPOSITION":
                self._merged[clause.box] = clause.arguments[0]
            elif clause.operator == "REF":
                self._referents.setdefault(clause.arguments[0], []).extend(self._at(clause))
        for clause in self._clauses:
            self._box(clause.box)
        pairs: dict[str, tuple[str, str, _Clause]] = {}
        below: dict[str, _Clause] = {}
        for clause in self._clauses:
            self._condition(clause, pairs, below)
        for first, (tag, second, clause) in pairs.items():
            # The box that the first stands in has both; where none does, it is the outermost.
            part = Part(tag, words=self._words(clause), children=[])
            part.children = [self._box(first), self._box(second)]
            introducer = below.get(first)
            owner = self._find(introducer.box) if introducer else ""
            below.setdefault(first, clause)
            below[second] = clause
            if owner and owner != first:
                self._box(owner).children.append(part)
                self._below.setdefault(owner, []).extend((first, second))
            else:
                self._boxes[first] = part
                below.pop(first)
                self._below.setdefault(first, []).append(second)
        roots = [name for name in dict.fromkeys(map(self._find, self._boxes)) if name not in below]
        self._check_cycles(roots)
        if len(roots) == 1:
            return self._boxes[roots[0]]
        relations = [
            Part("rel", "", clause.operator, self._words(clause))
            for clause in self._clauses
            if clause.operator in RELATIONS
        ]
        return Part("sdrs", children=[*(self._boxes[name] for name in roots), *relations])

    def _check_operators(self) -> None:
        unknown = Counter(
            clause.operator
            for clause in self._clauses
            if clause.operator.isupper()
            and clause.operator not in {"REF", "PRESUPPOSITION", *INTRODUCES, *SCOPES, *PAIRS}
            and clause.operator not in {*FOLLOWS, *RELATIONS, *COMPARISONS}
        )
        if unknown:
            listed = ", ".join(f"{name} ({count})" for name, count in sorted(unknown.items()))
            raise InputError(f"{self._where}: unknown operators: {listed}")

    def _find(self, name: str) -> str:
        """Return the box that a box is part of."""
        seen: list[str] = []
        while name in self._merged:
            if name in seen:
                raise InputError(
                    f"{self._where}: box {name} presupposes itself by way of {', '.join(seen)} "
                    f"(a cycle)"
                )
            seen.append(name)
            name = self._merged[name]
        return name

    def _box(self, name: str) -> Part:
        return self._boxes.setdefault(self._find(name), Part("drs"))

    def _at(self, clause: _Clause) -> list[int]:
        return [self._places[span] for span in clause.tokens]

    def _words(self, clause: _Clause) -> list[tuple[str, int | str]]:
        return [("word", place) for place in self._at(clause)]

    def _condition(
        self,
        clause: _Clause,
        pairs: dict[str, tuple[str, str, _Clause]],
        below: dict[str, _Clause],
    ) -> None:
        box, operator, arguments = self._box(clause.box), clause.operator, clause.arguments
        words = self._words(clause)
        boxes = [name for name in arguments if _BOX.fullmatch(name)]
        if operator == "REF":
            box.words += [("referent", place) for place in self._at(clause)]
        elif operator == "PRESUPPOSITION" or operator in RELATIONS:
            if boxes != arguments:
                raise self._no_box(clause, "a box")
            for name in boxes:
                self._box(name)
        elif operator in FOLLOWS:
            self._expect(clause, boxes, 1)
            pairs[self._find(clause.box)] = (FOLLOWS[operator], self._find(boxes[0]), clause)
        elif operator in INTRODUCES:
            self._expect(clause, boxes, 1)
            below[self._find(boxes[0])] = clause
        elif operator in SCOPES or operator in PAIRS:
            self._expect(clause, boxes, 1 if operator in SCOPES else 2)
            tag = SCOPES.get(operator) or PAIRS[operator]
            box.children.append(Part(tag, words=words, children=[self._box(n) for n in boxes]))
            for name in map(self._find, boxes):
                below[name] = clause
                self._below.setdefault(self._find(clause.box), []).append(name)
        else:
            box.children.append(self._plain(clause, words))

    def _plain(self, clause: _Clause, words: list[tuple[str, int | str]]) -> Part:
        """Return a condition on referents."""
        operator, names = clause.operator, clause.arguments
        constant = _CONSTANT.fullmatch(names[-1])
        value = constant[1] if constant else ""
        if len(names) > 1 and _CONSTANT.fullmatch(names[0]) and operator[0].islower():
            tag, symbol, names = "pred", operator, names[1:]  # the other one is a sense
        elif operator == "EQU":
            tag, symbol = "eq", ""
        elif operator in COMPARISONS:
            tag, symbol = "comp", operator
        elif constant and operator in VALUES:
            tag, symbol, names = VALUES[operator], value, names[:1]
        elif constant and operator in TIMES:
            tag, symbol, names = "timex", "", names[:1]
            words = [*words, ("date", f"{operator} {value}")]
        else:
            tag, symbol = "rel", operator
        kinds = ("arg",) if len(names) == 1 else ("arg1", "arg2")
        of_arguments = [
            (kind, place)
            for kind, name in zip(kinds, names, strict=True)
            for place in self._referents.get(name, ())
        ]
        return Part(tag, "", symbol, [*words, *of_arguments])

    def _expect(self, clause: _Clause, boxes: list[str], count: int) -> None:
        if len(boxes) != count or len(clause.arguments) != count:
            raise self._no_box(clause, "a box" if count == 1 else "two boxes")
        for name in boxes:
            if not any(
                name in (one.box, *one.arguments) for one in self._clauses if one != clause
            ):
                raise InputError(
                    f"{self._path}:{clause.line}: box {name} has no clause: it is opened and "
                    f"nothing is in it"
                )

    def _no_box(self, clause: _Clause, expected: str) -> InputError:
        return InputError(
            f"{self._path}:{clause.line}: {clause.operator} of '{' '.join(clause.arguments)}', "
            f"expected {expected}, as b2"
        )

    def _check_cycles(self, roots: list[str]) -> None:
        """Refuse boxes that are below themselves: no root leads to them."""
        reached, todo = set(roots), list(roots)
        while todo:
            for name in self._below.get(todo.pop(), ()):
                if name in reached:
                    raise InputError(f"{self._where}: box {name} is in two boxes, or in itself")
                reached.add(name)
                todo.append(name)
        lost = [
            name for name in dict.fromkeys(map(self._find, self._boxes)) if name not in reached
        ]
        if lost:
            raise InputError(
                f"{self._where}: box {', '.join(lost)}: boxes that are in one another (a cycle)"
            )
