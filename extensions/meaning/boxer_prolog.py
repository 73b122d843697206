"""Discourse representations as Boxer writes them by default: clauses of Prolog.

`sem(1, [1001:[tok:'A',pos:'DT',...],...], drs(...)).`, or in older releases `sem(1, [word(1001,
'A'),...], [pos(1001,'DT'),...], [...], drs(...)).` A clause becomes the elements of Boxer's XML.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from portmert.tuner.annotation.annotators._meaning import Analysed, Fault

from .drs_files import TAGS, Element, XmlSentence

_TOKEN = re.compile(
    r"""(?P<space>\s+|%.*)|(?P<quoted>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*")"""
    r"""|(?P<end>\.(?=\s|%|$))|(?P<sign>[()\[\],:])|(?P<name>\w+|[^\s\w()\[\],:'"%]+)"""
)
_VALUES = {
    "pred": ("arg", "symbol", "type"), "named": ("arg", "symbol", "type"),
    "rel": ("arg1", "arg2", "symbol"), "role": ("arg1", "arg2", "symbol"),
    "card": ("arg", "value", "type"), "eq": ("arg1", "arg2"), "prop": ("argument",),
    "timex": ("arg",), "alfa": ("type",), "duplex": ("type",),
}  # fmt: skip
"""What the arguments of a condition are, in order; boxes are below it."""
_GROUPS = {"lab": "constituent", "sub": "sub", "[]": "conds"}


class _Term(NamedTuple):
    """A name and its arguments; a list is named `[]`. What stands before colons is `before`."""

    line: int
    name: str
    arguments: tuple["_Term", ...] = ()
    before: tuple["_Term", ...] = ()


def read(lines: Sequence[str]) -> Iterator[Analysed]:
    """Yield the sentences of Boxer's Prolog; raise `Fault` where it is wrong.

    A clause is gathered, over lines, in Python's syntax, which `_term` parses.
    """
    first, clause = 1, ""
    for number, line in enumerate(lines, 1):
        place, kind_before = 0, ""
        while place < len(line):
            match = _TOKEN.match(line, place)
            if match is None:
                raise Fault(number, f"no Prolog: {line[place : place + 30]}")
            place, kind, text = match.end(), match.lastgroup, match[0]
            is_second = (
                kind in ("name", "quoted") and kind_before == "space" and clause[-1:] in "'\""
            )
            if is_second and clause.startswith("'sem'("):
                raise Fault(number, f"no comma before '{text}'")
            kind_before = str(kind)
            if kind == "end":
                if clause.startswith("'sem'("):
                    yield XmlSentence(_sentence(_term(first, clause))).analysed()
                clause = ""
            elif kind != "space":
                if not clause.strip():
                    first, clause = number, ""
                clause += "@" if text == ":" else text if kind == "sign" else repr(_atom(text))
        clause += "\n"
    if clause.startswith("'sem'("):
        raise Fault(first, "the clause has no full stop; is the file cut off?")


def _atom(text: str) -> str:
    if text[0] not in "'\"":
        return text
    return re.sub(r"\\(.)|''", lambda match: match[1] or "'", text[1:-1])


def _term(first: int, clause: str) -> _Term:
    """Parse a clause whose names are quoted and whose colons are `@`: it has Python's syntax."""

    def term(node: ast.expr) -> _Term:
        line = first - 1 + node.lineno
        match node:
            case ast.Constant(value=str(name)):
                return _Term(line, name)
            case ast.List(elts=parts):
                return _Term(line, "[]", tuple(map(term, parts)))
            case ast.Call(func=ast.Constant(value=str(name)), args=parts, keywords=[]):
                return _Term(line, name, tuple(map(term, parts)))
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                first_part = term(left)
                before = (*first_part.before, first_part._replace(before=()))
                return term(right)._replace(before=before)
        raise Fault(line, "this is no term of Prolog, expected name(argument, ...)")

    try:
        return term(ast.parse(clause, mode="eval").body)
    except (SyntaxError, MemoryError, RecursionError) as error:
        line = first - 1 + (getattr(error, "lineno", None) or 1)
        raise Fault(line, "a bracket or comma of Prolog is amiss, or terms are too deep") from None


def _sentence(clause: _Term) -> Element:
    """Return a clause as the element <xdrs>."""
    if len(clause.arguments) < 3:
        raise Fault(clause.line, "sem/3 or sem/5 is expected: tokens and a representation")
    _, tokens, *tag_lists, drs = clause.arguments
    beside = Element("taggedtokens", tokens.line, {})
    for term in (x for several in (tokens, *tag_lists) for x in several.arguments):
        if term.name == "[]" and term.before:
            tags = [
                Element("tag", tag.line, {"type": tag.before[0].name}, text=tag.name)
                for tag in term.arguments
                if tag.before
            ]
            name = {"xml:id": term.before[0].name}
            beside.children.append(Element("tagtoken", term.line, name, tags))
        elif term.name in ("word", "pos") and len(term.arguments) == 2:
            tag, key = ("word", "xml:id") if term.name == "word" else ("postag", "index")
            index, text = (argument.name for argument in term.arguments)
            beside.children.append(Element(tag, term.line, {key: index}, text=text))
    return Element("xdrs", clause.line, {}, [beside, _element(drs)])


def _element(term: _Term) -> Element:
    """Return a box, a condition or a list of them as Boxer's XML has it."""
    element = Element(_GROUPS.get(term.name, term.name), term.line, {})
    for index in (x for several in term.before if several.name == "[]" for x in several.arguments):
        element.children.append(Element("index", index.line, {}, text=index.name))
    arguments = list(term.arguments)
    if term.name == "drs" and len(arguments) == 2:
        for referent in arguments.pop(0).arguments:
            dr = _element(referent._replace(name="dr", arguments=()))
            dr.values["name"] = referent.name
            element.children.append(dr)
    names = iter(_VALUES.get(term.name, ()))
    for argument in arguments:
        is_node = argument.name in TAGS | _GROUPS.keys() or term.name == "[]"
        if argument.arguments and is_node:
            element.children.append(_element(argument))
        elif name := next(names, ""):
            element.values[name] = argument.name
        elif term.name == "timex":
            date = "".join(part.name for part in argument.arguments) or argument.name
            element.children.append(Element("date", argument.line, {}, text=date))
    return element
