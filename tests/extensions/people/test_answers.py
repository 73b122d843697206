"""What is wrong with a sheet is said with its file and row."""

import csv
import io
import json

import pytest

from portmert.extensions.people.answers import complete, read_answers
from portmert.extensions.people.sheets import as_csv
from portmert.tuner.base.errors import InputError
from tests.support.evaluations import answered_csv, evaluation, export

ONE = evaluation(judges=("ada", "bob"))


@pytest.fixture
def sheet(tmp_path):
    path = tmp_path / "ada.csv"
    path.write_bytes(as_csv(ONE, "ada"))
    answered_csv(path, lambda _: "left")
    return path


def changed(path, change):
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))
    rows = change(rows) or rows
    with path.open("w", newline="") as out:
        csv.writer(out).writerows(rows)


def fault(path):
    with pytest.raises(InputError) as caught:
        read_answers(path, [ONE])
    assert "\n" not in str(caught.value)
    return str(caught.value)


def cell(row, name, value):
    def change(rows):
        rows[row - 1][rows[0].index(name)] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            cell(3, "answer", ""),
            "ada.csv:3: item {1} has no answer; expected left, right or equal",
        ),
        (cell(3, "answer", "both"), "ada.csv:3: item {1}: answer is 'both'; expected left, right"),
        (cell(3, "item", "99"), "ada.csv:3: item '99' is none of judge ada's"),
        (cell(3, "item", ""), "ada.csv:3: item '' is none of judge ada's"),
        (cell(3, "judge", "bob"), "ada.csv:3: judge is 'bob', that of the first row is 'ada'"),
        (cell(3, "evaluation", "x"), "ada.csv:3: evaluation is 'x', that of the first row is"),
        (
            cell(2, "evaluation", "x"),
            "ada.csv:2: a sheet of evaluation 'x'; the keys given are of",
        ),
        (cell(2, "judge", "adda"), "has no judge 'adda'; did you mean 'ada'?"),
        (
            cell(4, "left", "another"),
            "ada.csv:4: item {2}: the text in column 'left' was changed: found 'another', ",
        ),
        (cell(4, "reference", ""), "the text in column 'reference' was changed: found ''"),
        (lambda rows: rows[:2] + rows[1:], "ada.csv:3: item {0} stands in "),
        (lambda rows: rows[:-1], "no row for 1 of judge ada's 4 items: {3}"),
        (lambda rows: rows[:1], "ada.csv: no row with an answer"),
        (lambda rows: [row[1:] for row in rows], "ada.csv: no column 'item'"),
        (cell(1, "right", "wrong"), "ada.csv: no column 'right'"),
        (lambda rows: [*rows[:2], ["x"]], "ada.csv:3: 1 column, the first line names 8"),
        (
            lambda rows: [[*rows[0], "answer"], *([*row, "right"] for row in rows[1:])],
            "ada.csv:1: 2 columns 'answer'; which one counts is not known, leave one",
        ),
    ],
)
def test_a_wrong_table_is_an_error_that_names_the_row(sheet, change, message):
    changed(sheet, change)
    items = [row.item for row in ONE.sheets["ada"]]
    assert message.format(*items) in fault(sheet)


def test_a_change_far_into_a_text_is_shown(tmp_path):
    outputs = [[f"{number} {'word ' * 30}{end}" for number in range(40)] for end in "ab"]
    one = evaluation(judges=("ada", "bob"), outputs=outputs)
    path = tmp_path / "ada.csv"
    path.write_bytes(as_csv(one, "ada"))
    changed(path, lambda rows: [[cell.replace("word b", "word bad") for cell in r] for r in rows])
    with pytest.raises(
        InputError, match=r"found '\.\.\.(\w+ )+bad', expected '\.\.\.(\w+ )+b'; put"
    ):
        read_answers(path, [one])
    path.write_bytes(as_csv(one, "ada"))
    changed(path, lambda rows: [[cell.replace("word b", "word") for cell in r] for r in rows])
    with pytest.raises(InputError, match=r"found '.* word', expected '.* word b'; put"):
        read_answers(path, [one])


def test_columns_of_ones_own_without_a_name_are_let_be(sheet):
    before = read_answers(sheet, [ONE]).votes
    changed(sheet, lambda rows: [[*row, "", ""] for row in rows])
    assert read_answers(sheet, [ONE]).votes == before


@pytest.mark.parametrize("suffix", [".csv", ".json"])
def test_a_judge_may_be_called_like_a_formula(tmp_path, suffix):
    one = evaluation(judges=("=1+1", "-bob"))
    path = tmp_path / f"sheet{suffix}"
    if suffix == ".json":
        path.write_text(export(one, "-bob", lambda _: "equal"))
    else:
        path.write_bytes(as_csv(one, "-bob"))
        answered_csv(path, lambda _: "equal")
    assert read_answers(path, [one]).judge == "-bob"


def test_a_sheet_under_another_judges_name_is_told(sheet):
    def renamed(rows):
        for row in rows[1:]:
            row[rows[0].index("judge")] = "bob"

    changed(sheet, renamed)
    assert "ada.csv:2: judge is 'bob', but these are the items of judge ada;" in fault(sheet)


def test_an_answer_missing_from_a_sheet_is_named_too(tmp_path):
    path = tmp_path / "ada.csv"
    path.write_bytes(as_csv(ONE, "ada"))
    items = [row.item for row in ONE.sheets["ada"]]
    answered_csv(path, lambda item: "" if item == items[2] else "equal")
    assert f"ada.csv:4: item {items[2]} has no answer" in fault(path)


def test_an_export_with_an_open_answer_is_named(tmp_path):
    path = tmp_path / "ada.json"
    items = [row.item for row in ONE.sheets["ada"]]
    path.write_text(export(ONE, "ada", lambda item: None if item == items[1] else "left"))
    assert f"ada.json: answer 2: item {items[1]} has no answer" in fault(path)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '{"portmert_humaneval": 2}', "\x00", "NaN", "[" * 100_000]
)
def test_another_json_is_no_export(tmp_path, content):
    (tmp_path / "a.json").write_text(content)
    assert "a.json: not what the HTML form" in fault(tmp_path / "a.json")


def test_an_export_of_another_form_is_refused(tmp_path):
    held = json.loads(export(ONE, "ada", lambda _: "left"))
    (tmp_path / "a.json").write_text(json.dumps(held | {"portmert_humaneval": 2}))
    assert "not what the HTML form" in fault(tmp_path / "a.json")


def test_other_files_are_no_sheets(tmp_path):
    (tmp_path / "a.html").write_text("x")
    assert "a sheet is a file .csv, or the .json" in fault(tmp_path / "a.html")
    (tmp_path / "a.csv").write_bytes(b"item,answer\n\xff,left\n")
    assert "a.csv:2: byte 0xff is not UTF-8" in fault(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text('item,answer\n"x"y,left\n')
    assert "a.csv:2: no CSV" in fault(tmp_path / "a.csv")


def test_every_judge_needs_one_sheet(sheet):
    answers = read_answers(sheet, [ONE])
    with pytest.raises(InputError, match=r"judge ada's answers are in .*ada\.csv already"):
        complete([answers, answers], [ONE])
    with pytest.raises(InputError, match="no sheet of judge bob; give it, or leave"):
        complete([answers], [ONE])
    (kept,) = complete([answers], [ONE], ["bob"])
    assert list(kept.evaluation.sheets) == ["ada"]
    with pytest.raises(InputError, match="no judge is left"):
        complete([], [ONE], ["ada", "bob"])


def test_a_sheet_of_a_judge_to_do_without_is_told(sheet):
    answers = read_answers(sheet, [ONE])
    with pytest.raises(InputError, match=r"ada\.csv: a sheet of judge ada, but --without ada"):
        complete([answers], [ONE], ["bob", "ada"])
