"""Sheets hold what was drawn, tell nothing, and are harmless."""

import csv
import io
import json
import re

import pytest

from portmert.extensions.people.answers import read_answers
from portmert.extensions.people.evaluation import LONGEST, read_key, visible
from portmert.extensions.people.sheets import as_csv, as_html, find_keys, write
from portmert.tuner.base.errors import InputError, PortmertError
from tests.support.evaluations import HOSTILE, answered_csv, evaluation, export


def hostile():
    return evaluation(
        judges=("ada",), per_judge=len(HOSTILE), common=0, outputs=(HOSTILE, HOSTILE[::-1])
    )


def test_every_judge_has_the_common_items_and_own_ones():
    one = evaluation(per_judge=5, common=2)
    seen = {judge: {row.item for row in sheet} for judge, sheet in one.sheets.items()}
    common = {item for item, what in one.items.items() if what.common}
    assert len(common) == 2
    assert all(len(items) == 5 for items in seen.values())
    assert set.intersection(*seen.values()) == common
    assert sum(len(items - common) for items in seen.values()) == len(one.items) - 2
    assert len({what.segment for what in one.items.values()}) == len(one.items)


def test_the_same_seed_draws_the_same():
    assert evaluation().as_json() == evaluation().as_json()
    assert evaluation(seed=2).id != evaluation().id


def test_sides_orders_and_numbers_are_drawn():
    one = evaluation(per_judge=12, common=6)
    for sheet in one.sheets.values():
        assert {row.first_is_left for row in sheet} == {True, False}
        assert [row.item for row in sheet] != sorted(row.item for row in sheet)
    # Neither its number nor its place tells a common item.
    common = sorted(item for item, what in one.items.items() if what.common)
    assert common != sorted(one.items)[:6]


def test_sheets_tell_neither_systems_nor_segments():
    one = evaluation(outputs=(["x"] * 40, ["y"] * 40), source=False)
    one = type(one)(**{**vars(one), "systems": ("SECRET-1", "SECRET-2")})
    for content in (as_csv(one, "ada"), as_html(one, "ada")):
        text = content.decode()
        assert "SECRET" not in text
        assert "first_is_left" not in text
        assert "segment" not in text


def test_too_few_segments_are_an_error():
    with pytest.raises(
        InputError, match=r"the filters let 40 segments pass, but 61 are needed \(1 co"
    ):
        evaluation(per_judge=21, common=1)
    with pytest.raises(ValueError, match="common is 5"):
        evaluation(per_judge=4, common=5)


def test_a_text_too_long_for_a_cell_is_an_error():
    with pytest.raises(InputError, match=r"segment 0 .*a text of 32768 characters"):
        evaluation(judges=("ada",), per_judge=1, common=0, outputs=(["w" * (LONGEST + 1)], ["x"]))


def test_signs_that_print_nothing_are_replaced():
    assert visible("\ufeffa\x00b\tc\x1f\x85d\uffff") == "a\ufffdb c\ufffd\ufffdd\ufffd"


def test_no_cell_is_a_formula():
    one = hostile()
    for row in csv.reader(io.StringIO(as_csv(one, "ada").decode("utf-8-sig"), newline="")):
        assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for cell in row)


def test_the_form_keeps_hostile_text_inside_its_data():
    page = as_html(hostile(), "ada").decode()
    assert page.count("<script") == 2
    assert "onerror" not in re.sub(
        r'<script type="application/json".*?</script>', "", page, flags=re.DOTALL
    )
    data = re.search(r'<script type="application/json" id="sheet">(.*?)</script>', page, re.DOTALL)
    assert "<" not in data[1]
    assert {item["left"] for item in json.loads(data[1])["items"]} <= set(map(visible, HOSTILE))


@pytest.mark.parametrize("kind", ["csv", "json", "semicolons"])
def test_what_is_written_is_read_in_every_form(tmp_path, kind):
    one = hostile()
    votes = {row.item: number % 3 for number, row in enumerate(one.sheets["ada"])}

    def answer(item):
        return ("LEFT", "r", "equal ")[votes[item]]

    if kind == "json":
        path = tmp_path / "a.json"
        path.write_text(export(one, "ada", lambda item: answer(item).strip()))
    else:
        path = tmp_path / "a.csv"
        path.write_bytes(as_csv(one, "ada"))
        answered_csv(path, answer)
    if kind == "semicolons":  # as a spreadsheet of another country saves it, zeros gone
        rows = list(csv.reader(io.StringIO(path.read_text(), newline="")))
        for row in rows[1:]:
            row[0] = row[0].lstrip("0")
        with path.open("w", newline="") as out:
            csv.writer(out, delimiter=";").writerows([*rows, [""] * len(rows[0])])
    found = read_answers(path, [one])
    assert found.judge == "ada"
    left = {row.item: row.first_is_left for row in one.sheets["ada"]}
    assert dict(found.votes) == {
        item: 2 if vote == 2 else 0 if (vote == 0) == left[item] else 1
        for item, vote in votes.items()
    }


def test_the_key_is_read_back_and_must_be_whole(tmp_path):
    one = evaluation()
    write(one, tmp_path / "out")
    key = tmp_path / "out" / "key.json"
    assert read_key(key) == one
    for content in (
        "", "[]", "{}", "[" * 100_000, key.read_text().replace('"A"', '"C"'),
        key.read_text().replace('"portmert_humaneval_key": 1', '"portmert_humaneval_key": 2'),
    ):  # fmt: skip
        key.write_text(content)
        with pytest.raises(InputError, match="not the key of an evaluation"):
            read_key(key)


def test_a_folder_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    one = evaluation()
    monkeypatch.setattr(
        "portmert.extensions.people.sheets.as_html",
        lambda *_: (_ for _ in ()).throw(OSError("full")),
    )
    with pytest.raises(PortmertError, match="cannot write: full"):
        write(one, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_never_overwritten(tmp_path):
    write(evaluation(), tmp_path / "out")
    with pytest.raises(PortmertError, match="is there already"):
        write(evaluation(), tmp_path / "out")
    with pytest.raises(PortmertError, match="there is no folder"):
        write(evaluation(), tmp_path / "none" / "out")


def test_keys_are_found_near_the_sheets(tmp_path):
    write(evaluation(), tmp_path / "out")
    sheets = sorted((tmp_path / "out" / "judges").glob("*.csv"))
    assert [path.resolve() for path in find_keys(sheets)] == [tmp_path / "out" / "key.json"]
    (tmp_path / "x.csv").write_text("")
    with pytest.raises(InputError, match=r"x\.csv: no key\.json beside it"):
        find_keys([tmp_path / "x.csv"])
    with pytest.raises(InputError, match=r"out: is a folder; name the judges' sheets, as kit/"):
        find_keys([tmp_path / "out"])
    with pytest.raises(InputError, match=r"y\.csv: there is no such file"):
        find_keys([tmp_path / "y.csv"])
