"""Charts as files: panels, numbers, both themes, equal bytes, and what is refused."""

import re
import sys
from importlib import metadata

import pytest

import portmert
from portmert.extensions.plots import drawing as plots
from portmert.tuner.base.errors import ConfigError, InputError, ProgramError
from portmert.tuner.evaluation.document import Chart, ChartChoice, Series

pytest.importorskip("matplotlib", reason="portmert[plots] is not installed")

BARS = ChartChoice(
    "", [Series("a", [0.5, None], low=[0.4, None], high=[0.6, None]), Series("b", [0.1, 0.2])],
    in_percent=True, categories=["one", "<two>"], marker=0.25,
)  # fmt: skip
LINES = ChartChoice("bleu", [Series("x & y", [1.0, 2.0, None], [1, 2, 3]), Series("z", [2], [1])])
CHARTS = [
    Chart("bars", "bars", "Bars", [BARS], x="score"),
    Chart("intervals", "intervals", "Intervals", [BARS], x="gain"),
    *(
        Chart(kind, kind, kind.title(), [LINES], x="iteration", y="y")
        for kind in ("lines", "scatter")
    ),
    Chart("none", "lines", "Nothing", []),
]  # fmt: skip


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_equal_charts_give_equal_files(tmp_path, form):
    first, second = tmp_path / f"a.{form}", tmp_path / f"b.{form}"
    for path in (first, second):
        plots.draw(CHARTS, path)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [first.name, second.name]


def test_panels_show_the_first_choice_of_each_chart():
    panels = plots.figure(CHARTS).axes
    titles = [axes.get_title(loc="left") for axes in panels]
    assert titles == ["Bars", "Intervals", "Lines (bleu)", "Scatter (bleu)"]
    widths = [bar.get_width() for bar in panels[0].patches]
    assert widths == pytest.approx([50, 10, 20])  # in percent; None has no bar
    assert [label.get_text() for label in panels[1].get_yticklabels()] == ["one", "<two>"]
    (x, y) = panels[2].lines[0].get_data()
    assert (list(x), list(y)) == ([1, 2], [1.0, 2.0])


def test_an_svg_has_both_themes_and_escapes(tmp_path):
    plots.draw(CHARTS, tmp_path / "plot.svg")
    text = (tmp_path / "plot.svg").read_text()
    assert "prefers-color-scheme: dark" in text
    for light in (plots.INK, plots.SOFT, plots.RULE, plots.COLOURS[0][0]):
        assert re.search(rf'style="[^"]*(fill|stroke): {light}', text), light
    assert "<two>" not in text


def test_another_form_is_refused_before_the_work(tmp_path):
    lists = portmert.Lists.from_arrays([[[1.0], [0.0]]], scores=[[0.1, 0.9]])
    with pytest.raises(ConfigError, match=r"plot\.bmp: a plot is a file that ends in \.svg"):
        portmert.optimize(lists, optimizer="mert", plot=tmp_path / "plot.bmp")


def test_nothing_to_draw_is_one_line(tmp_path):
    with pytest.raises(InputError, match="there is nothing to draw"):
        plots.draw([Chart("none", "lines", "Nothing", [])], tmp_path / "plot.svg")


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    def version(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ProgramError, match=r"pip install 'portmert\[plots\]'"):
        plots.draw(CHARTS, tmp_path / "plot.svg")


def test_a_search_is_drawn(tmp_path):
    features = [[[1.0, 0.0], [0.0, 2.0]], [[2.0, 0.0], [0.0, 1.0]]]
    lists = portmert.Lists.from_arrays(features, scores=[[0.1, 0.9], [0.2, 0.8]])
    portmert.optimize(lists, optimizer="mert", plot=tmp_path / "plot.svg")
    text = (tmp_path / "plot.svg").read_text()
    for title in ("Scores of the lists", "Shares of the weights"):
        assert f"<!-- {title}" in text
