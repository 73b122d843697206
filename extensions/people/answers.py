"""Reads what judges answered and checks it against the key."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from portmert.tuner.base import files, json_toml
from portmert.tuner.base.errors import InputError, counted, suggest

from . import sheets
from .evaluation import Evaluation, Placed


class Vote(IntEnum):
    """Which system is better; votes are counted under these numbers."""

    FIRST = 0
    SECOND = 1
    NEITHER = 2


_SHORT = {"l": "left", "r": "right", "e": "equal", "=": "equal"}


@dataclass(frozen=True)
class Answers:
    """The votes of one judge.

    Parameters
    ----------
    path
        The sheet.
    votes
        Item -> vote.
    """

    path: Path
    evaluation: Evaluation
    judge: str
    votes: Mapping[str, Vote]


def read_answers(path: Path, evaluations: Sequence[Evaluation]) -> Answers:
    """Read a judge's sheet: CSV, or what the HTML form exports.

    Raises
    ------
    InputError
        The sheet belongs to none of the evaluations; an answer is missing, given twice, or not one
        of the three; an item is unknown; a text was changed. The message names file and row.
    """
    content = files.read_bytes(path)
    if path.suffix.lower() == ".json":
        return _of_export(path, content, evaluations)
    rows = _rows(path, content)
    number, first = rows[0]
    evaluation = _evaluation(f"{path}:{number}", first["evaluation"].strip(), evaluations)
    for name in sheets.columns(evaluation):
        _check_column(path, name, first)
    judge = _judge(f"{path}:{number}", first["judge"].strip(), evaluation)
    for number, row in rows:
        for name, expected in (("evaluation", evaluation.id), ("judge", judge)):
            if row[name].strip() not in (expected, sheets.harmless(expected)):
                raise InputError(
                    f"{path}:{number}: {name} is '{row[name].strip()}', that of the first row is "
                    f"'{expected}'; a sheet is of one judge and one evaluation"
                )
    _check_judge(path, rows, evaluation, judge)
    answered = []
    for number, row in rows:
        item = row["item"].strip()
        answered.append((f"{path}:{number}", item, row["answer"].strip()))
        placed = _placed(item, evaluation.sheets[judge])
        if placed is None:
            continue  # `_votes` refuses it
        expected_texts = evaluation.row(placed)
        column = _change(row, expected_texts)
        if column is not None:
            raise InputError(
                f"{path}:{number}: item {item}: the text in column '{column}' was changed: "
                f"found {_differing(row[column], expected_texts[column])}; put it back"
            )
    return Answers(path, evaluation, judge, _votes(path, answered, evaluation, judge))


def _rows(path: Path, content: bytes) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a table: number, and cells by column. There is at least one."""
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".tsv"):
        raise InputError(
            f"{path}: a sheet is a file .csv, or the .json that the HTML form exports; save a "
            f"spreadsheet as CSV UTF-8"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}:{line}: byte {content[error.start]:#04x} is not UTF-8; save the sheet as "
            f"CSV UTF-8"
        ) from None
    rows = list(sheets.read_csv(path, text))
    if not rows:
        raise InputError(f"{path}: no row with an answer; expected a judge's sheet")
    for name in ("item", "answer", "judge", "evaluation"):
        _check_column(path, name, rows[0][1])
    return rows


def _check_column(path: Path, name: str, row: Mapping[str, str]) -> None:
    if name not in row:
        raise InputError(f"{path}: no column '{name}'; expected a judge's sheet")


@dataclass(frozen=True)
class _Answer:
    """An answer that the form has exported."""

    item: str
    answer: str | None


@dataclass(frozen=True)
class _Export:
    """A file that the form has exported."""

    portmert_humaneval: Literal[1]
    judge: str
    evaluation: str
    answers: Sequence[_Answer]


def _of_export(path: Path, content: bytes, evaluations: Sequence[Evaluation]) -> Answers:
    try:
        export = TypeAdapter(_Export).validate_python(json_toml.parse_json(content))
    except ValueError:
        raise InputError(
            f"{path}: not what the HTML form of `portmert humaneval make` exports"
        ) from None
    answered = [
        (f"{path}: answer {number}", answer.item, answer.answer or "")
        for number, answer in enumerate(export.answers, 1)
    ]
    evaluation = _evaluation(str(path), export.evaluation, evaluations)
    judge = _judge(str(path), export.judge, evaluation)
    return Answers(path, evaluation, judge, _votes(path, answered, evaluation, judge))


def _evaluation(where: str, evaluation_id: str, evaluations: Sequence[Evaluation]) -> Evaluation:
    for evaluation in evaluations:
        if evaluation.id == evaluation_id:
            return evaluation
    choices = ", ".join(f"{x.id} ({x.condition})" for x in evaluations)
    raise InputError(
        f"{where}: a sheet of evaluation '{evaluation_id}'; the keys given are of {choices}"
    )


def _judge(where: str, name: str, evaluation: Evaluation) -> str:
    for written in (str, sheets.harmless):
        for judge in evaluation.sheets:
            if name == written(judge):
                return judge
    raise InputError(
        f"{where}: evaluation {evaluation.id} has no judge '{name}'"
        f"{suggest(name, evaluation.sheets)}"
    )


def _check_judge(
    path: Path, rows: Sequence[tuple[int, Mapping[str, str]]], evaluation: Evaluation, judge: str
) -> None:
    """Raise InputError if all rows come from another judge's sheet."""
    fitting = [
        name
        for name, sheet in evaluation.sheets.items()
        if all(
            placed is not None and _change(row, evaluation.row(placed)) is None
            for row, placed in ((row, _placed(row["item"].strip(), sheet)) for _, row in rows)
        )
    ]
    if fitting and judge not in fitting:
        raise InputError(
            f"{path}:{rows[0][0]}: judge is '{judge}', but these are the items of judge "
            f"{' or '.join(fitting)}; put the judge right in all rows"
        )


def _change(row: Mapping[str, str], expected: Mapping[str, str]) -> str | None:
    """Return the first column whose text was changed, if there is one."""
    for name, text in expected.items():
        if _spaced(row[name]) not in (_spaced(text), _spaced(sheets.harmless(text))):
            return name
    return None


def _votes(
    path: Path, answered: Iterable[tuple[str, str, str]], evaluation: Evaluation, judge: str
) -> dict[str, Vote]:
    """Return the vote on each item of a judge's sheet, in its order.

    `answered` are the place of an answer in the file, its item, and what it says.
    """
    sheet = evaluation.sheets[judge]
    votes: dict[str, Vote] = {}
    where: dict[str, str] = {}
    for row, item, answer in answered:
        placed = _placed(item, sheet)
        if placed is None:
            raise InputError(f"{row}: item '{item}' is none of judge {judge}'s")
        if placed.item in where:
            raise InputError(
                f"{row}: item {placed.item} stands in {where[placed.item]} already; leave one"
            )
        where[placed.item] = row
        choice = _SHORT.get(answer.lower(), answer.lower())
        if choice not in sheets.ANSWERS:
            fault = f": answer is '{_start(answer)}'" if choice else " has no answer"
            expected = f"{', '.join(sheets.ANSWERS[:-1])} or {sheets.ANSWERS[-1]}"
            raise InputError(f"{row}: item {placed.item}{fault}; expected {expected}")
        is_for_first = (choice == "left") == placed.first_is_left
        better = Vote.FIRST if is_for_first else Vote.SECOND
        votes[placed.item] = Vote.NEITHER if choice == "equal" else better
    missing = [placed.item for placed in sheet if placed.item not in votes]
    if missing:
        raise InputError(
            f"{path}: no row for {len(missing)} of judge {judge}'s {counted(len(sheet), 'item')}: "
            f"{', '.join(missing[:5])}{', ...' if len(missing) > 5 else ''}"
        )
    return {placed.item: votes[placed.item] for placed in sheet}


def _placed(item: str, sheet: Sequence[Placed]) -> Placed | None:
    """Return the row of an item. A spreadsheet may have removed leading zeros of its name."""
    names = {item, item.zfill(len(sheet[0].item)) if item.isascii() and item.isdigit() else item}
    return next((placed for placed in sheet if placed.item in names), None)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _differing(text: str, expected: str) -> str:
    """Return both texts, from shortly before the place where they differ."""
    text, expected = _spaced(text), _spaced(expected)
    pairs = zip(text, expected, strict=False)
    same = next(
        (place for place, (a, b) in enumerate(pairs) if a != b),
        min(len(text), len(expected)),
    )
    start = 0 if same < 20 else same - 10
    before = "..." if start else ""
    return f"'{before}{_start(text[start:])}', expected '{before}{_start(expected[start:])}'"


def _start(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."


def complete(
    answers: Sequence[Answers], evaluations: Sequence[Evaluation], absent: Collection[str] = ()
) -> list[Answers]:
    """Return the answers, with evaluations as if the judges in `absent` had not been asked.

    Raises
    ------
    InputError
        An absent judge has a sheet, another judge two sheets or none, or no judge is left.
    """
    for sheet in answers:
        if sheet.judge in absent:
            raise InputError(
                f"{sheet.path}: a sheet of judge {sheet.judge}, but --without {sheet.judge} says "
                f"that there is none; leave out one of the two"
            )
    seen: dict[tuple[str, str], Path] = {}
    for sheet in answers:
        key = sheet.evaluation.id, sheet.judge
        if key in seen:
            raise InputError(
                f"{sheet.path}: judge {sheet.judge}'s answers are in {seen[key]} already; give "
                f"one of the two"
            )
        seen[key] = sheet.path
    evaluated = {}
    for each in evaluations:
        sheets = {judge: sheet for judge, sheet in each.sheets.items() if judge not in absent}
        missing = [judge for judge in sheets if (each.id, judge) not in seen]
        if not sheets:
            raise InputError(f"evaluation {each.id} ({each.condition}): no judge is left")
        if missing:
            raise InputError(
                f"evaluation {each.id} ({each.condition}): no sheet of "
                f"{', '.join(f'judge {judge}' for judge in missing)}; give it, or leave the judge "
                f"out (--without)"
            )
        evaluated[each.id] = replace(each, sheets=sheets)
    return [replace(sheet, evaluation=evaluated[sheet.evaluation.id]) for sheet in answers]
