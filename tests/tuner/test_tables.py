import re

from tuner.tables import Table, as_latex


def test_latex_has_minus_signs_in_numbers_and_hyphens_in_words():
    table = Table("T", ["a-1", "x"], [["-1 b-2", "-0.71..-0.11"], ["c", "1-10"]], label="t")
    rows = [line for line in table.latex().splitlines() if line.endswith(r"\\")]
    cells = [[cell.strip(" \\") for cell in row.split("&")] for row in rows]
    assert cells == [["a-1", "x"], ["-1 b-2", "$-$0.71..$-$0.11"], ["c", "1-10"]]


def test_every_special_sign_is_escaped_with_what_plain_latex_has():
    special = '\\~^<>|"&%$#_{}\x07'
    body = Table("T", ["x"], [[special]]).latex()
    (row,) = re.findall(r"\\midrule\n(.*)\n", body)
    assert row.removesuffix(r"\\").strip() == (
        r"\textbackslash{}\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}"
        r"\textbar{}\char34{}\&\%\$\#\_\{\}"
    )


def test_a_table_of_many_columns_is_set_narrow():
    few, many = (Table("T", ["x"] * n, [["1"] * n]) for n in (8, 9))
    assert "tabcolsep" not in few.latex()
    assert r"\footnotesize\setlength{\tabcolsep}{3pt}" in many.latex()
    assert as_latex([few, many]).startswith(r"% Needs \usepackage{booktabs};")
