import re

from portmert.tuner.base.tables import Table
from portmert.tuner.evaluation.document import Document
from portmert.tuner.evaluation.latex import MAX_ROWS, latex, latex_table


def test_latex_has_minus_signs_in_numbers_and_hyphens_in_words():
    table = Table("T", ["a-1", "x"], [["-1 b-2", "-0.71..-0.11"], ["c", "1-10"]], label="t")
    rows = [line for line in latex_table(table).splitlines() if line.endswith(r"\\")]
    cells = [[cell.strip(" \\") for cell in row.split("&")] for row in rows]
    assert cells == [["a-1", "x"], ["-1 b-2", "$-$0.71..$-$0.11"], ["c", "1-10"]]


def test_every_special_sign_is_escaped_with_what_plain_latex_has():
    special = '\\~^<>|"&%$#_{}\x07'
    body = latex_table(Table("T", ["x"], [[special]]))
    (row,) = re.findall(r"\\midrule\n(.*)\n", body)
    assert row.removesuffix(r"\\").strip() == (
        r"\textbackslash{}\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}"
        r"\textbar{}\char34{}\&\%\$\#\_\{\}"
    )


def test_a_wide_table_is_set_in_small_letters():
    few, many = (Table("T", ["x" * 8] * n, [["1"] * n]) for n in (4, 9))
    assert "tabcolsep" not in latex_table(few)
    # 9 columns of 8 letters: at 10 points 72 * 5.2 + 18 * 6 > 345, at 7 points they fit.
    assert r"\scriptsize\setlength{\tabcolsep}{2pt}" in latex_table(many)
    assert r"% Needs \usepackage{booktabs};" in latex(Document("T", [few, many]))


def test_a_long_table_is_several_floats_in_order():
    rows = [[f"r{n}", str(n)] for n in range(2 * MAX_ROWS + 1)]
    floats = latex_table(Table("T", ["a", "b"], rows, label="t", note="Why."))
    assert re.findall(r"^ (r\d+) ", floats, re.MULTILINE) == [row[0] for row in rows]
    captions = re.findall(r"\\caption\{(.*)\}", floats)
    assert captions == ["T. Why.", "T, continued", "T, continued"]
    assert floats.count(r"\label{tab:t}") == 1
    assert latex_table(Table("T", ["a"], [])).count(r"\begin{table}") == 1
    prose = Table("T", ["a", "b"], [["x", "word " * 30]] * MAX_ROWS, left=2, prose=(1,))
    assert latex_table(prose).count(r"\begin{table}") == 5  # 150 letters are 5 lines
