import pytest

from portmert.tuner.base.errors import InputError
from portmert.tuner.evaluation.published import read_published
from tests.support.readme import ROOT


def write(tmp_path, text):
    path = tmp_path / "published.toml"
    path.write_text(text)
    return path


def test_tables_are_found_by_number(tmp_path):
    found = read_published(
        write(
            tmp_path,
            'citation = "X"\n[[table]]\nnumber = 3\ncaption = "c"\nheaders = ["a"]\n'
            'rows = [["1"]]\n',
        )
    )
    assert found.citation == "X"
    assert found.find(3).rows == (("1",),)
    assert found.find(4) is None


@pytest.fixture(scope="module")
def shipped():
    return read_published(ROOT / "configs" / "paper-port" / "published.toml")


def test_the_shipped_file_has_every_table_of_the_paper(shipped):
    assert [table.number for table in shipped.table] == list(range(1, 12))


def test_the_shipped_preferences_add_up(shipped):
    *tasks, whole = [list(map(int, row[1::2] + row[7:])) for row in shipped.find(5).rows]
    assert [sum(column) for column in zip(*tasks, strict=True)] == whole
    assert [sum(row[:3]) for row in tasks] == [row[3] for row in tasks]


def test_the_shipped_tables_agree_where_they_repeat_each_other(shipped):
    scores = {row[:2]: row[2:] for row in shipped.find(4).rows}
    repeated = {row[:2]: row[2:] for row in shipped.find(8).rows if row[1] != "Qmean"}
    assert {
        key: tuple(cell.rstrip("*") for cell in row) for key, row in scores.items()
    } == repeated
    by_hand, with_v = shipped.find(7).rows, shipped.find(9).rows
    assert [row[2:5] for row in by_hand[:2]] == [row[2:] for row in with_v[:2]]


@pytest.mark.parametrize("paper", ["edpm", "pos"])
def test_the_shipped_correlations_of_other_papers_are_numbers(paper):
    tables = read_published(ROOT / "configs" / f"paper-{paper}" / "published.toml").table
    assert [table.number for table in tables] == list(range(1, len(tables) + 1))
    for table in tables:
        for _, *cells in table.rows:
            assert all(-1 < float(cell.rstrip("*")) < 1 for cell in cells), table.number


def test_figures_that_the_edpm_tables_repeat_are_the_same():
    tables = read_published(ROOT / "configs" / "paper-edpm" / "published.toml")
    one, bags, parses = [
        {row[0]: row[-1] for row in tables.find(number).rows} for number in (1, 2, 3)
    ]
    assert one["F[dl,lh]"] == bags["F[dl,lh]"] == parses["F[dl,lh]"]
    assert bags["F[1g,2g,dl,lh]"] == parses["F[1g,2g,dl,lh]"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = ", "not TOML"),
        ("[[table]]\nnumber = 3\n", "table.0.caption must be given"),
        (
            '[[table]]\nnumber = 3\ncaption = ""\nheaders = ["a", "b"]\nrows = [["r"]]\n',
            "table 3: the row of 'r' has 1 cell, the headers are 2",
        ),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=message) as error:
        read_published(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_published(tmp_path / "none.toml")
