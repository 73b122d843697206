import pytest

from tests.support.readme import ROOT
from tuner.errors import InputError
from tuner.evaluation.reproduction.published import read_published


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


def test_the_shipped_file_reads():
    table = read_published(ROOT / "configs" / "paper-port" / "published.toml").find(5)
    assert sum(int(row[2]) for row in table.rows) == 300


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = ", "not TOML"),
        ("[[table]]\nnumber = 3\n", "table.0.caption: Field required"),
        (
            '[[table]]\nnumber = 3\ncaption = ""\nheaders = ["a", "b"]\nrows = [["r"]]\n',
            "table 3: the row of 'r' has 1 cells, the headers are 2",
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
