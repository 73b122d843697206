"""Reads discourse representations in Boxer's XML, of its releases from 2008 to today.

Tokens stand in `taggedtokens` (or `words` and `postags`); a node points to them by `index` or by
the place of its letters, `from` and `to`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from portmert.tuner.annotation.annotators._analysed import Analysed, is_one_word, whole_number
from portmert.tuner.annotation.annotators._meaning import DEEPEST, Part, discourse_tree
from portmert.tuner.ground.errors import InputError, faults_at

TAGS = frozenset((
    "drs", "sdrs", "alfa", "merge", "smerge", "timex", "named", "pred", "card", "rel", "role",
    "eq", "comp", "not", "or", "imp", "whq", "duplex", "prop", "nec", "pos", "drel",
))  # fmt: skip
"""Nodes of a representation."""

PASSED = frozenset((
    "domain", "conds", "cond", "constituents", "constituent", "sub", "relations",
))  # fmt: skip
"""What only groups nodes."""

IGNORED = frozenset((
    "index", "indexlist", "tokens", "dr", "date", "time", "label", "var", "lam", "app",
))  # fmt: skip
"""What says something about a node, and is no node."""

TIMES = ("YearOfCentury", "MonthOfYear", "DayOfMonth", "DayOfWeek", "ClockTime", "Decade")
"""Relations to dates of the Parallel Meaning Bank, conditions `timex` before."""

ARGUMENTS = {"arg": "arg", "argument": "arg", "arg1": "arg1", "arg2": "arg2"}


@dataclass
class Element:
    """Holds an element of XML, its line and its text."""

    name: str
    line: int
    values: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, name: str) -> Iterator[Element]:
        """Yield the elements of a name at or below this one, in order."""
        todo = [self]
        while todo:
            one = todo.pop()
            if one.name == name:
                yield one
            todo += reversed(one.children)


def looks_like(line: str) -> bool:
    """Return whether a file that begins so may be XML."""
    return line.lstrip(" \t").startswith("<")


def read(path: str, text: str) -> Iterator[Analysed]:
    """Yield the sentences of a file.

    Raises
    ------
    InputError
        It is no XML, or not Boxer's.
    """
    root = _parse(path, text)
    found = list(root.all("xdrs"))
    if root.name != "xdrs-output" or not found:
        raise InputError(
            f"{path}:{root.line}: <{root.name}> without <xdrs>, expected Boxer's <xdrs-output>"
        )
    for one in found:
        yield _Reader(path, one).sentence()


def _parse(path: str, text: str) -> Element:
    parser = expat.ParserCreate()
    top = Element("", 0, {})
    opened = [top]

    def start(name: str, values: dict[str, str]) -> None:
        if len(opened) > 4 * DEEPEST:
            raise InputError(f"{path}:{parser.CurrentLineNumber}: elements are nested too deep")
        opened.append(Element(name, parser.CurrentLineNumber, values))
        opened[-2].children.append(opened[-1])

    def end(_: str) -> None:
        opened.pop()

    def characters(data: str) -> None:
        opened[-1].text += data

    def entity(*_: object) -> None:
        raise InputError(f"{path}:{parser.CurrentLineNumber}: it declares entities of its own")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = characters
    parser.EntityDeclHandler = entity
    parser.buffer_text = True
    try:
        parser.Parse(text, True)  # noqa: FBT003  it ends here
    except expat.ExpatError as error:
        inner = opened[-1]
        what = expat.errors.messages[error.code]
        still = f"; <{inner.name}> of line {inner.line} is open" if inner.name else ""
        raise InputError(f"{path}:{error.lineno}: {what}{still}") from None
    return top.children[0]


def _span(values: Mapping[str, str]) -> list[tuple[int, int]]:
    """Return the places `from` and `to` of letters, nothing if they are not given."""
    begin, end = (whole_number(values.get(key, "")) for key in ("from", "to"))
    return [] if begin is None or end is None else [(begin, end)]


class _Reader:
    """Reads one sentence."""

    def __init__(self, path: str, element: Element) -> None:
        self._path = path
        self._element = element
        self._where = f"{path}:{element.line}"
        self._places: dict[str, int] = {}
        self._spans: list[tuple[int, int]] = []
        self._words: list[str] = []
        self._tags: list[str] = []
        self._referents: dict[str, list[int]] = {}

    def sentence(self) -> Analysed:
        self._read_tokens()
        self._check_tags()
        for referent in self._element.all("dr"):
            name = referent.values.get("name", "")
            self._referents.setdefault(name, []).extend(self._at(referent))
        tops = [child for child in self._element.children if child.name in TAGS]
        if len(tops) != 1:
            raise InputError(f"{self._where}: {len(tops)} representations in <xdrs>, expected one")
        with faults_at(self._where, ValueError, InputError):
            drs = discourse_tree(self._part(tops[0], 1))
        tags = tuple(self._tags) if all(self._tags) else ()
        return Analysed(self._where, tuple(self._words), tags, drs=drs)

    def _read_tokens(self) -> None:
        for token in self._element.all("tagtoken"):
            tags = {tag.values.get("type", ""): tag.text.strip() for tag in token.all("tag")}
            if tags.get("to") == "-1":  # what stands for nothing
                continue
            self._spans += _span(tags)
            self._add(token, tags.get("tok") or tags.get("word", ""), tags.get("pos", ""))
        kinds = {tag.values.get("index", ""): tag.text.strip()
                 for tag in self._element.all("postag")}  # fmt: skip
        for word in self._element.all("word"):
            name = word.values.get("xml:id", "")
            self._add(word, word.text.strip(), kinds.get(name, ""))
        if not self._words:
            raise InputError(f"{self._where}: no tokens, expected <taggedtokens> or <words>")

    def _add(self, element: Element, word: str, tag: str) -> None:
        if not is_one_word(word):
            raise InputError(
                f"{self._path}:{element.line}: the token is '{word}', expected one without spaces"
            )
        self._places[element.values.get("xml:id", "")] = len(self._words)
        self._words.append(word)
        self._tags.append(tag)

    def _check_tags(self) -> None:
        unknown: Counter[str] = Counter()
        first = 0
        others = IGNORED | {"taggedtokens", "words", "postags", "netags", "neTags"}
        todo = [child for child in self._element.children if child.name not in others]
        while todo:
            one = todo.pop()
            if one.name not in TAGS | PASSED | IGNORED:
                unknown[one.name] += 1
                first = min(first or one.line, one.line)
            elif one.name not in IGNORED:
                todo += one.children
        if unknown:
            listed = ", ".join(f"{name} ({count})" for name, count in sorted(unknown.items()))
            raise InputError(
                f"{self._path}:{first}: unknown tags of a discourse representation: {listed}; "
                f"known are {', '.join(sorted(TAGS))}"
            )

    def _at(self, element: Element) -> list[int]:
        """Return the positions of the tokens that an element points to."""
        indices = [
            index
            for child in element.children
            if child.name in ("indexlist", "index")
            for index in child.all("index")
        ]
        found = []
        for index in indices:
            name = index.text.strip()
            if name not in self._places:
                raise InputError(f"{self._path}:{index.line}: no token is '{name}'")
            found.append(self._places[name])
        if not indices:
            found = [
                place
                for begin, end in _span(element.values)
                for place, (first, last) in enumerate(self._spans)
                if first < end and begin < last
            ]
        return sorted(found)

    def _part(self, element: Element, level: int) -> Part:
        if level > DEEPEST:
            raise InputError(f"{self._path}:{element.line}: boxes in boxes, too deep")
        values = element.values
        words: list[tuple[str, int | str]] = [("word", place) for place in self._at(element)]
        for key, kind in ARGUMENTS.items():
            words += [(kind, place) for place in self._referents.get(values.get(key, ""), ())]
        dates = ("".join(one.text.split()) for name in ("date", "time")
                 for one in element.all(name) if element.name == "timex")  # fmt: skip
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
