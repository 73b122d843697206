"""Discourse representations in files: Boxer's XML, and the clauses of the Parallel Meaning Bank.

The XML of all releases of Boxer from 2008 to today is read. Tokens stand in `taggedtokens` (or in
`words` and `postags`). A node points to them by `index`, or by the places of its letters, `from`
and `to`.

A clause is a box, an operator and one or two arguments. Behind `%` stand its tokens, with their
places in the text. A presupposed box is part of the box that presupposes it, as in the XML.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from portmert.tuner.annotation.annotators._meaning import (
    DEEPEST,
    Analysed,
    Fault,
    Part,
    at,
    discourse_tree,
    is_one_word,
)

from ._lines import paragraphs, whole_number

TAGS = frozenset((
    "drs", "sdrs", "alfa", "merge", "smerge", "timex", "named", "pred", "card", "rel", "role",
    "eq", "comp", "not", "or", "imp", "whq", "duplex", "prop", "nec", "pos", "drel",
))  # fmt: skip
"""Elements that are nodes of a representation."""

PASSED = frozenset((
    "domain", "conds", "cond", "constituents", "constituent", "sub", "relations",
))  # fmt: skip
"""Elements that only group nodes."""

IGNORED = frozenset((
    "index", "indexlist", "tokens", "dr", "date", "time", "label", "var", "lam", "app",
))  # fmt: skip
"""Elements that describe a node and are no nodes."""

BESIDE = frozenset(("taggedtokens", "words", "postags", "netags", "neTags"))
"""Elements beside the representation."""

TIMES = ("YearOfCentury", "MonthOfYear", "DayOfMonth", "DayOfWeek", "ClockTime", "Decade")
"""Relations to dates in the Parallel Meaning Bank; before, they were conditions `timex`."""

ARGUMENTS = {"arg": "arg", "argument": "arg", "arg1": "arg1", "arg2": "arg2"}

SCOPES = {"NEGATION": "not", "NOT": "not", "POSSIBILITY": "pos", "POS": "pos", "NECESSITY": "nec",
          "NEC": "nec", "PROPOSITION": "prop", "PRP": "prop"}  # fmt: skip
"""Operators between a box and one below it, of release 3 and before: the tag."""

PAIRS = {"IMP": "imp", "DIS": "or", "DUP": "duplex"}
"""Operators between a box and two boxes below it: the tag."""

FOLLOWS = {"CONSEQUENCE": "imp", "ALTERNATION": "or"}
"""Relations of a first box to a second one, both below the box in which the first stands."""

INTRODUCES = ("CONDITION", "DISJUNCTION")
"""Operators by which a box has the first box of such a pair."""

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

OPERATORS = frozenset(("REF", "PRESUPPOSITION", *INTRODUCES, *SCOPES, *PAIRS, *FOLLOWS))
"""All operators in capitals besides `RELATIONS` and `COMPARISONS`."""

_BOX = re.compile(r"b[0-9]+")
_CLAUSE = re.compile(r'(?:"[^"]*"|[^%])*')
"""The part before the comment; a constant may hold the sign of a comment."""
_TOKEN = re.compile(r"(?<!\S)(\S++) \[([0-9]+)\.\.\.([0-9]+)\]")
_PIECE = re.compile(r'"[^"]*"|\S+')
_CONSTANT = re.compile(r'"([^"]*)"')


@dataclass
class Element:
    """An element of XML, its line and its text."""

    name: str
    line: int
    values: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, name: str) -> Iterator[Element]:
        """Yield the elements of a name at or below this one, in order."""
        todo: list[Element] = [self]
        while todo:
            element = todo.pop()
            if element.name == name:
                yield element
            todo.extend(reversed(element.children))


def read_xml(lines: Sequence[str]) -> Iterator[Analysed]:
    """Yield the sentences of Boxer's XML; raise `Fault` where it is wrong."""
    root = _parse("\n".join(lines))
    sentences = list(root.all("xdrs"))
    if root.name != "xdrs-output" or not sentences:
        raise Fault(root.line, f"<{root.name}> without <xdrs>, expected Boxer's <xdrs-output>")
    for element in sentences:
        yield XmlSentence(element).analysed()


def _parse(text: str) -> Element:
    parser = expat.ParserCreate()
    top = Element("", 0, {})
    opened = [top]

    def start(name: str, values: dict[str, str]) -> None:
        if len(opened) > 4 * DEEPEST:
            raise Fault(parser.CurrentLineNumber, "elements are nested too deep")
        opened.append(Element(name, parser.CurrentLineNumber, values))
        opened[-2].children.append(opened[-1])

    def end(_: str) -> None:
        opened.pop()

    def characters(data: str) -> None:
        opened[-1].text += data

    def entity(*_: object) -> None:
        raise Fault(parser.CurrentLineNumber, "it declares entities of its own")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = characters, entity
    parser.buffer_text = True
    try:
        parser.Parse(text, True)  # noqa: FBT003  it ends here
    except expat.ExpatError as error:
        inner = opened[-1]
        message = expat.errors.messages[error.code]
        still = f"; <{inner.name}> of line {inner.line} is open" if inner.name else ""
        raise Fault(error.lineno, f"{message}{still}") from None
    return top.children[0]


def _span(values: Mapping[str, str]) -> list[tuple[int, int]]:
    """Return the places `from` and `to` of letters; nothing if they are not given."""
    begin, end = (whole_number(values.get(key, "")) for key in ("from", "to"))
    return [] if begin is None or end is None else [(begin, end)]


class XmlSentence:
    """Reads one sentence of XML."""

    def __init__(self, element: Element) -> None:
        self._element = element
        self._places: dict[str, int] = {}
        self._spans: list[tuple[int, int]] = []
        self._words: list[str] = []
        self._tags: list[str] = []
        self._referents: dict[str, list[int]] = {}

    def analysed(self) -> Analysed:
        """Return the words of the sentence and its discourse representation."""
        line = self._element.line
        self._read_tokens()
        if not self._words:
            raise Fault(line, "no tokens, expected <taggedtokens> or <words>")
        self._check_tags()
        for referent in self._element.all("dr"):
            name = referent.values.get("name", "")
            self._referents.setdefault(name, []).extend(self._at(referent))
        tops = [child for child in self._element.children if child.name in TAGS]
        if len(tops) != 1:
            raise Fault(line, f"{len(tops)} representations in <xdrs>, expected one")
        with at(line):
            drs = discourse_tree(self._part(tops[0], 1))
        tags = tuple(self._tags) if all(self._tags) else ()
        return Analysed(line, tuple(self._words), tags, drs=drs)

    def _read_tokens(self) -> None:
        for token in self._element.all("tagtoken"):
            tags = {tag.values.get("type", ""): tag.text.strip() for tag in token.all("tag")}
            if tags.get("to") == "-1":  # it has no place in the text
                continue
            self._spans += _span(tags)
            self._add(token, tags.get("tok") or tags.get("word", ""), tags.get("pos", ""))
        kinds = {tag.values.get("index", ""): tag.text.strip()
                 for tag in self._element.all("postag")}  # fmt: skip
        for word in self._element.all("word"):
            name = word.values.get("xml:id", "")
            self._add(word, word.text.strip(), kinds.get(name, ""))

    def _add(self, element: Element, word: str, tag: str) -> None:
        if not is_one_word(word):
            raise Fault(element.line, f"the token is '{word}', expected one without spaces")
        self._places[element.values.get("xml:id", "")] = len(self._words)
        self._words.append(word)
        self._tags.append(tag)

    def _check_tags(self) -> None:
        unknown: list[Element] = []
        todo = [child for child in self._element.children if child.name not in BESIDE]
        while todo:
            element = todo.pop()
            if element.name in TAGS | PASSED:
                todo += element.children
            elif element.name not in IGNORED:
                unknown.append(element)
        if unknown:
            names = _with_counts([element.name for element in unknown])
            raise Fault(
                min(element.line for element in unknown),
                f"unknown tags of a discourse representation: {names}; known are "
                f"{', '.join(sorted(TAGS))}",
            )

    def _at(self, element: Element) -> list[int]:
        """Return the positions of the tokens to which an element points."""
        indices = [
            index
            for child in element.children
            if child.name in ("indexlist", "index")
            for index in child.all("index")
        ]
        for index in indices:
            if index.text.strip() not in self._places:
                raise Fault(index.line, f"no token is '{index.text.strip()}'")
        if indices:
            return sorted(self._places[index.text.strip()] for index in indices)
        return [
            place
            for begin, end in _span(element.values)
            for place, (first, last) in enumerate(self._spans)
            if first < end and begin < last
        ]

    def _part(self, element: Element, level: int) -> Part:
        if level > DEEPEST:
            raise Fault(element.line, "boxes in boxes, too deep")
        values = element.values
        words: list[tuple[str, int | str]] = [("word", place) for place in self._at(element)]
        for key, kind in ARGUMENTS.items():
            words += [(kind, place) for place in self._referents.get(values.get(key, ""), ())]
        if element.name == "timex":
            dates = ("".join(descendant.text.split()) for name in ("date", "time")
                     for descendant in element.all(name))  # fmt: skip
            words += [("date", date) for date in dates if date]
        symbol = values.get("symbol") or values.get("sym") or values.get("value", "")
        kind = "" if element.name == "drs" else values.get("type", "")
        tag = {"drel": "rel", "role": "rel"}.get(element.name, element.name)
        if tag == "comp" and symbol == "EQU":  # as older releases have it
            tag, symbol = "eq", ""
        elif tag == "rel" and symbol in TIMES:
            words.append(("date", f"{symbol} {values.get('arg2', '')}"))
            tag, symbol = "timex", ""
        part = Part(tag, kind, symbol, words)
        todo = list(reversed(element.children))
        while todo:
            child = todo.pop()
            if child.name in PASSED:
                todo += reversed(child.children)
            elif child.name == "dr":
                part.words += [("referent", place) for place in self._at(child)]
            elif child.name in TAGS:
                part.children.append(self._part(child, level + 1))
        return part


@dataclass(frozen=True)
class _Clause:
    """A clause, its line, and the places of its tokens."""

    line: int
    box: str
    operator: str
    arguments: list[str]
    tokens: list[tuple[int, int]]


def read_clauses(lines: Sequence[str]) -> Iterator[Analysed]:
    """Yield the sentences of clauses; raise `Fault` where a line is wrong."""
    return map(_clause_sentence, paragraphs(lines, "%%%"))


def _clause_sentence(rows: list[tuple[int, str]]) -> Analysed:
    """Return the sentence of some lines, each with its number."""
    first = rows[0][0]
    words: dict[tuple[int, int], str] = {}
    clauses = []
    for number, line in rows:
        text = _CLAUSE.match(line)[0]  # type: ignore[index]  # it matches anything
        spans = []
        for word, *places in _TOKEN.findall(line, len(text)):
            begin, end = map(whole_number, places)
            if begin is None or end is None:
                raise Fault(number, f"'{word}' has a place beyond all texts")
            if begin < end:  # a token that stands for nothing in the text has no length
                words[begin, end] = word
                spans.append((begin, end))
        pieces = _PIECE.findall(text)
        if not pieces:
            continue
        if len(pieces) not in (3, 4) or _BOX.fullmatch(pieces[0]) is None:
            raise Fault(
                number,
                f"'{text.strip()}' is no clause, expected a box, an operator and one or two "
                f"arguments, as b1 NEGATION b2",
            )
        clauses.append(_Clause(number, pieces[0], pieces[1], pieces[2:], spans))
    if not words:
        raise Fault(
            first,
            "no clause says which tokens it is of, as in % Tom [0...3]; without them nothing can "
            "be compared",
        )
    order = sorted(words)
    with at(first):
        boxes = _Boxes(clauses, {span: place for place, span in enumerate(order)})
        drs = discourse_tree(boxes.root())
    return Analysed(first, tuple(words[span] for span in order), drs=drs)


class _Boxes:
    """Builds the tree of boxes of one sentence; a ValueError is a fault of the sentence."""

    def __init__(self, clauses: list[_Clause], places: dict[tuple[int, int], int]) -> None:
        self._clauses = clauses
        self._places = places
        self._boxes: dict[str, Part] = {}
        self._merged: dict[str, str] = {}
        self._referents: dict[str, list[int]] = {}
        self._below: dict[str, list[str]] = {}

    def root(self) -> Part:
        """Return the outermost box, or a discourse of several."""
        self._check_operators()
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
            self._pair(first, second, Part(tag, words=self._words(clause)), clause, below)
        names = list(dict.fromkeys(map(self._find, self._boxes)))
        roots = [name for name in names if name not in below]
        self._check_cycles(names, roots)
        if len(roots) == 1:
            return self._boxes[roots[0]]
        relations = [
            Part("rel", "", clause.operator, self._words(clause))
            for clause in self._clauses
            if clause.operator in RELATIONS
        ]
        return Part("sdrs", children=[*(self._boxes[name] for name in roots), *relations])

    def _pair(
        self, first: str, second: str, part: Part, clause: _Clause, below: dict[str, _Clause]
    ) -> None:
        """Put two boxes into the box in which the first stands; if it stands in none, on top."""
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

    def _check_operators(self) -> None:
        names = [clause.operator for clause in self._clauses if clause.operator.isupper()]
        unknown = [name for name in names if name not in OPERATORS | RELATIONS | COMPARISONS]
        if unknown:
            raise ValueError(f"unknown operators: {_with_counts(unknown)}")

    def _find(self, name: str) -> str:
        """Return the box of which a box is part."""
        seen: list[str] = []
        while name in self._merged:
            if name in seen:
                chain = ", ".join(seen)
                raise ValueError(f"box {name} presupposes itself by way of {chain} (a cycle)")
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
        boxes = [name for name in arguments if _BOX.fullmatch(name)]
        if operator == "REF":
            box.words += [("referent", place) for place in self._at(clause)]
        elif operator == "PRESUPPOSITION" or operator in RELATIONS:
            if boxes != arguments:
                raise _no_box(clause, "a box")
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
            inner = list(map(self._box, boxes))
            box.children.append(Part(tag, words=self._words(clause), children=inner))
            for name in map(self._find, boxes):
                below[name] = clause
                self._below.setdefault(self._find(clause.box), []).append(name)
        else:
            box.children.append(self._plain(clause))

    def _plain(self, clause: _Clause) -> Part:
        """Return a condition on referents."""
        operator, names, words = clause.operator, clause.arguments, self._words(clause)
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
            words.append(("date", f"{operator} {value}"))
        else:
            tag, symbol = "rel", operator
        kinds = ("arg",) if len(names) == 1 else ("arg1", "arg2")
        for kind, name in zip(kinds, names, strict=True):
            words += [(kind, place) for place in self._referents.get(name, ())]
        return Part(tag, "", symbol, words)

    def _expect(self, clause: _Clause, boxes: list[str], count: int) -> None:
        if len(boxes) != count or len(clause.arguments) != count:
            raise _no_box(clause, "a box" if count == 1 else "two boxes")
        further = [other_clause for other_clause in self._clauses if other_clause != clause]
        for name in boxes:
            if not any(
                name in (other_clause.box, *other_clause.arguments) for other_clause in further
            ):
                raise Fault(
                    clause.line, f"box {name} has no clause: it is opened and nothing is in it"
                )

    def _check_cycles(self, names: list[str], roots: list[str]) -> None:
        """Refuse boxes that are below themselves: no root leads to them."""
        reached, todo = set(roots), list(roots)
        while todo:
            for name in self._below.get(todo.pop(), ()):
                if name in reached:
                    raise ValueError(f"box {name} is in two boxes, or in itself")
                reached.add(name)
                todo.append(name)
        lost = [name for name in names if name not in reached]
        if lost:
            raise ValueError(f"box {', '.join(lost)}: boxes that are in one another (a cycle)")


def _no_box(clause: _Clause, expected: str) -> Fault:
    arguments = " ".join(clause.arguments)
    return Fault(clause.line, f"{clause.operator} of '{arguments}', expected {expected}, as b2")


def _with_counts(names: list[str]) -> str:
    """Return names, sorted, and how often each occurs."""
    return ", ".join(f"{name} ({count})" for name, count in sorted(Counter(names).items()))
