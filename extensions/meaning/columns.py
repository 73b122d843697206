"""Semantic roles in columns: CoNLL-2009, Universal Propositions, CoNLL-2005 and 2012, SENNA.

The first two mark the head of an argument. Its words are all words below the head, without the
predicate if that is below it too. The others mark spans: by brackets, SENNA by B-, I-, E-, S-.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from portmert.tuner.annotation.annotators import _meaning
from portmert.tuner.annotation.annotators._meaning import Fault
from portmert.tuner.base.errors import counted
from portmert.tuner.texts.annotator import faulty_word, heads_fault

from ._lines import paragraphs, whole_number

NOTHING = ("_", "-", "", "*")


class Form(NamedTuple):
    """The columns of a format, from 0; `head` is -1 if arguments are spans."""

    name: str
    word: int
    tag: int
    head: int
    predicate: int
    first: int
    last_columns: int = 0
    """Columns after the arguments: coreference."""


UP = Form("Universal Propositions", 1, 4, 6, 10, 11)
CONLL_2009 = Form("CoNLL-2009", 1, 4, 8, 13, 14)
CONLL_2012 = Form("CoNLL-2012", 3, 4, -1, 6, 11, 1)
CONLL_2005 = Form("CoNLL-2005", 0, 1, -1, -1, -1)
"""Words, any columns of syntax, predicates, then a column of arguments for each."""
SENNA = Form("SENNA", 0, 1, -1, 4, 5)
_IOBES = {"B": "({}*", "I": "*", "E": "*)", "S": "({}*)", "O": "*"}


class TokenRow(NamedTuple):
    """The columns of a word, and its line, from 1."""

    line: int
    columns: list[str]


def read(lines: Sequence[str]) -> Iterator[_meaning.Analysed]:
    """Yield the sentences of a file; raise `Fault` where a line is wrong."""
    for paragraph in paragraphs(lines, "#"):  # `#begin document` too
        form, rows = UP, list[TokenRow]()
        for number, line in paragraph:
            if not rows:
                form = _form(number, line)
            columns = line.split("\t") if form.head >= 0 else line.split()
            if form.head >= 0 and set("-.") & set(columns[0]):  # a range, an empty node
                continue
            if rows and len(columns) != len(rows[0].columns):
                raise Fault(
                    number,
                    f"{counted(len(columns), 'column')}, line {rows[0].line} has "
                    f"{len(rows[0].columns)}; is the file cut off?",
                )
            rows.append(TokenRow(number, columns))
        if rows:
            yield _sentence(form, rows)


def _form(number: int, line: str) -> Form:
    """Return the format of a line."""
    columns = line.split("\t")
    if len(columns) > UP.predicate and columns[0].partition("-")[0].partition(".")[0].isdigit():
        if len(columns) > CONLL_2009.predicate and columns[CONLL_2009.head].isdigit():
            return CONLL_2009
        return UP
    columns = line.split()
    if len(columns) >= CONLL_2012.first + 1 and columns[2].isdigit() and "*" in columns[5]:
        return CONLL_2012
    if len(columns) >= SENNA.first and all(re.match(r"[BIES]-|O$", x) for x in columns[2:4]):
        return SENNA
    if len(columns) > 1 and "\t" not in line.strip("\t"):
        return CONLL_2005
    raise Fault(number, _UNKNOWN)


_UNKNOWN = (
    "these are not the columns of CoNLL-2005, CoNLL-2009, CoNLL-2012, SENNA or Universal "
    "Propositions"
)


def _with_predicates(rows: list[TokenRow]) -> Form:
    """Return the form of CoNLL-2005 in which each predicate has its column of arguments."""
    width = len(rows[0].columns)
    for place in range(1, width):
        predicates = [row.columns[place] for row in rows]
        arguments = [column for row in rows for column in row.columns[place + 1 :]]
        if (
            sum(predicate != "-" for predicate in predicates) == width - place - 1
            and not any("*" in predicate for predicate in predicates)
            and all("*" in argument for argument in arguments)
        ):
            tag = CONLL_2005.tag if place > 1 and "*" not in rows[0].columns[1] else -1
            return CONLL_2005._replace(predicate=place, first=place + 1, tag=tag)
    raise Fault(rows[0].line, _UNKNOWN)


def _with_brackets(rows: list[TokenRow]) -> list[TokenRow]:
    """Return rows of SENNA with brackets; a last column of syntax has them and is left out."""
    has_tree = all("*" in row.columns[-1] for row in rows)
    bracketed = []
    for line, columns in rows:
        arguments = columns[SENNA.first : len(columns) - has_tree]
        for argument in arguments:
            if argument[:1] not in _IOBES:
                raise Fault(line, f"'{argument}', expected B-A0, I-A0, E-A0, S-A0 or O")
        spans = [_IOBES[argument[0]].format(argument[2:]) for argument in arguments]
        bracketed.append(TokenRow(line, [*columns[: SENNA.first], *spans]))
    return bracketed


def _sentence(form: Form, rows: list[TokenRow]) -> _meaning.Analysed:
    if form is SENNA:
        rows = _with_brackets(rows)
    elif form is CONLL_2005:
        form = _with_predicates(rows)
    words = tuple(row.columns[form.word] for row in rows)
    tags = tuple(row.columns[form.tag] if form.tag >= 0 else NOTHING[0] for row in rows)
    for row in rows:
        if not row.columns[form.word]:
            raise Fault(row.line, "the word is empty")
    first = rows[0].line
    with _meaning.at(first):
        propositions = _by_heads(form, rows) if form.head >= 0 else _by_spans(form, rows, words)
        roles = _meaning.roles_tree(propositions)
    return _meaning.Analysed(
        first, words, () if any(tag in NOTHING[:3] for tag in tags) else tags, roles
    )


def _by_heads(form: Form, rows: list[TokenRow]) -> Iterator[_meaning.Proposition]:
    predicates = [
        place for place, row in enumerate(rows) if row.columns[form.predicate] not in NOTHING
    ]
    there = len(rows[0].columns) - form.first
    # Universal Propositions end lines of sentences without a predicate with a tab.
    blank = all(not column for row in rows for column in row.columns[form.first :])
    if there != len(predicates) and not (not predicates and blank):
        raise ValueError(
            f"{counted(there, 'column')} of arguments for {len(predicates)} predicates, as "
            f"{form.name} has one for each"
        )
    links = []
    for row in rows:
        head = whole_number(row.columns[form.head])
        if head is None:
            raise Fault(row.line, f"HEAD is '{row.columns[form.head]}', expected a number")
        links.append((head, "_"))
    if bad := faulty_word(tuple(links)):
        raise Fault(rows[bad - 1].line, heads_fault(tuple(links)))
    below: list[list[int]] = [[] for _ in rows]
    for place, (head, _) in enumerate(links):
        if head:
            below[head - 1].append(place)
    for number, predicate in enumerate(predicates):
        arguments: list[_meaning.Argument] = []
        for place, row in enumerate(rows):
            role = row.columns[form.first + number]
            if role in NOTHING or role == "V":
                continue
            # A noun may be its own argument: it stands for itself.
            is_predicate = place == predicate
            arguments.append((role, (place,) if is_predicate else _span(below, place, predicate)))
        yield predicate, tuple(arguments)


def _span(below: list[list[int]], place: int, without: int) -> tuple[int, ...]:
    """Return a word and the words below it, in order, but not `without` and those below that."""
    span, todo = [], [place]
    while todo:
        word = todo.pop()
        if word != without:
            span.append(word)
            todo += below[word]
    return tuple(sorted(span))


def _by_spans(
    form: Form, rows: list[TokenRow], words: tuple[str, ...]
) -> Iterator[_meaning.Proposition]:
    for column in range(form.first, len(rows[0].columns) - form.last_columns):
        opened: list[tuple[str, int, int]] = []
        verbs: list[int] = []
        arguments: list[_meaning.Argument] = []
        for place, row in enumerate(rows):
            before, star, after = row.columns[column].partition("*")
            names = before.split("(")[1:]
            if not star or (before and not before.startswith("(")) or after.strip(")"):
                raise Fault(row.line, f"'{row.columns[column]}', expected '*', '(A0*' or '*)'")
            opened += [(name, place, row.line) for name in names]
            for _ in after:
                if not opened:
                    raise Fault(row.line, "a bracket closes what is not open")
                role, begin, _ = opened.pop()
                if role == "V":
                    verbs.append(begin)
                else:
                    arguments.append((role, tuple(range(begin, place + 1))))
        if opened:
            role, begin, line = opened[0]
            raise Fault(line, f"'({role}' at '{words[begin]}' is not closed in this sentence")
        if len(verbs) != 1:
            raise ValueError(
                f"{len(verbs)} verbs '(V*)' in column {column + 1}, expected one in each column "
                f"of arguments"
            )
        yield _meaning.proposition(words, verbs[0], arguments)
