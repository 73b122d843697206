"""Small human evaluations, and sheets answered by a program."""

import csv
import io
import json

import numpy as np

from portmert.extensions.people import evaluation as made_by
from portmert.extensions.people.sheets import write

HOSTILE = (
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1,2)",
    "<script>document.title='broken'</script>",
    "</script><img src=x onerror=alert(1)>",
    'a "quoted", text; with\u2028signs',
    "\u202e\u05e9\u05dc\u05d5\u05dd right to left",
    "NUL \x00 and bell \x07",
    "'apostrophe",
    "w" * 3000,
    "",
)


def evaluation(
    *, judges=("ada", "bob", "eve"), per_judge=4, common=2, seed=1, condition="A against B",
    outputs=None, source=True,
):  # fmt: skip
    """An evaluation of 40 segments."""
    count = 40
    first, second = outputs or (
        [f"first {number}" for number in range(count)],
        [f"second {number}" for number in range(count)],
    )
    texts = {"reference": [f"reference {number}" for number in range(len(first))]}
    if source:
        texts["source"] = [f"source {number}" for number in range(len(first))]
    return made_by.make(
        np.arange(len(first)),
        texts=texts,
        outputs=(first, second),
        systems=("A", "B"),
        judges=list(judges),
        per_judge=per_judge,
        common=common,
        condition=condition,
        filters={},
        seed=seed,
    )


def side(evaluation, judge, item, vote):
    """What a judge writes whose vote it is: 0 for the first system, 1 the second, 2 neither."""
    (placed,) = [row for row in evaluation.sheets[judge] if row.item == item]
    return "equal" if vote == 2 else "left" if (vote == 0) == placed.first_is_left else "right"


def answered_csv(path, answer):
    """Write `answer(item)` into the answers of a CSV sheet."""
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))
    for row in rows:
        row["answer"] = answer(row["item"])
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(out.getvalue(), encoding="utf-8", newline="")


def export(evaluation, judge, answer):
    """What the form exports."""
    return json.dumps(
        {
            "portmert_humaneval": 1,
            "evaluation": evaluation.id,
            "judge": judge,
            "answers": [
                {"item": placed.item, "answer": answer(placed.item)}
                for placed in evaluation.sheets[judge]
            ],
        }
    )


def written(evaluation, folder, votes):
    """Write an evaluation and all its CSV sheets answered by votes(judge, item)."""
    write(evaluation, folder)
    sheets = []
    for judge in evaluation.sheets:
        sheets.append(folder / "judges" / f"{judge}.csv")
        answered_csv(
            sheets[-1], lambda item, judge=judge: side(evaluation, judge, item, votes(judge, item))
        )
    return sheets
