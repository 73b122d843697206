import html
import json
import re

import pytest

import portmert
from portmert.tuner.evaluation.comparison import report
from portmert.tuner.evaluation.comparison.sentences import summaries
from portmert.tuner.evaluation.document import Chart
from portmert.tuner.evaluation.formatting import ShownMetric, decimals, p_value
from portmert.tuner.evaluation.page.html import MAX_BYTES
from portmert.tuner.evaluation.page.html import html as page_of
from tests.support.documents import document

HOSTILE = "<script>alert(1)</script><!-- </SCRIPT> & \" ' \x00\x1b\u2028 \u202e\udc80"


def data_of(page):
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[
        1
    ]
    return json.loads(text)


def render(given):
    return page_of(report.document_of(given))


def chart_of(given, name):
    blocks = report.document_of(given).blocks
    (chart,) = [x for x in blocks if isinstance(x, Chart) and x.name == name]
    return chart


def everywhere(value, replacement):
    """Put a text in the place of every text, but of those that name or count others."""
    if isinstance(value, dict):
        kept = {"kind", "links", "order", "state", "label", "metric"}
        return {
            key: item if key in kept and isinstance(item, str) else everywhere(item, replacement)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [everywhere(item, replacement) for item in value]
    return replacement if isinstance(value, str) else value


def test_the_page_needs_nothing_from_outside():
    page = render(document())
    assert not re.search(r"""(src|href|action|xlink:href)\s*=\s*["']?(https?:|//)""", page)
    assert "@import" not in page
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    policy = html.unescape(policy)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<[a-z][^>]*\s(style|on[a-z]+)=", page.split("<script>")[0])


def test_the_headline_comes_first():
    page = render(document())
    body = page.split("<body>")[1]
    lead = body.index('class="lead"')
    sentence = html.escape(summaries(document())[0])
    assert lead < body.index(sentence) < body.index("<table")


def test_the_headline_says_what_was_shown_and_what_was_not():
    given = document(1)
    differences = {"port": (0.0061, 0.031), "bleu": (-0.0012, 0.4), "ter": (0.02, 0.00001)}
    for row in given["scores"]:
        if row["difference"] is not None:
            row["difference"], row["p_holm"] = differences.get(row["metric"], (0, 0))
    (sentence,) = summaries(given)
    assert sentence == (
        "PORT-tuned is better than BLEU-tuned on port (+0.61, p = 0.0310), worse than "
        "BLEU-tuned on ter ↓ (+2.00, p < 0.0001); no difference shown on bleu and nist"
    )
    for row in given["scores"]:
        row["p_holm"] = 1.0
    assert summaries(given) == [
        "PORT-tuned and BLEU-tuned: no difference shown on port, bleu, ter and nist"
    ]
    assert summaries(document(1, systems=("alone",))) == []
    given["tuning_luck_untested"] = [system["name"] for system in given["systems"]]
    assert summaries(given)[0].endswith("nist; chance in tuning untested")


def test_many_systems_of_one_verdict_share_a_sentence():
    given = document(1, systems=("base", "a", "b", "c", "d"))
    for system in given["systems"]:
        system["tuned_on"] = None
    for row in given["scores"]:
        if row["difference"] is not None:
            row["p_holm"] = 1.0 if row["system"] == "c" else 0.01
            row["difference"] = -0.02 if row["metric"] == "ter" else 0.03
            if row["system"] == "d":
                row["difference"] *= -1
    all_metrics = "port, bleu, ter and nist"
    assert summaries(given) == [
        f"a and b are better than base on {all_metrics}",
        f"c and base: no difference shown on {all_metrics}",
        f"d is worse than base on {all_metrics}",
    ]


def test_systems_that_would_be_called_the_same_keep_their_names():
    given = document(1, systems=("base", "port", "Port"))
    for system in given["systems"]:
        system["tuned_on"] = "port:alpha=0.25"
    said = [sentence.split()[0] for sentence in summaries(given)]
    assert said == ["port", "Port"]


def test_hostile_texts_are_escaped_wherever_they_stand():
    given = everywhere(document(3), HOSTILE)
    given["differences"]["by_length"][0]["label"] = HOSTILE
    page = render(given)
    plain = render(document(3))
    for tag in ("<script", "</script", "<!--"):
        assert page.lower().count(tag) == plain.lower().count(tag)
    assert "\x00" not in page
    assert "\x1b" not in page
    page.encode("utf-8")
    first = data_of(page)["segments"][0]["o"][0][0]
    assert first.startswith("<script>alert(1)</script><!-- </SCRIPT> & \" ' ␀␛\u2028")
    assert first.endswith(
        "\N{MATHEMATICAL LEFT ANGLE BRACKET}U+202E\N{MATHEMATICAL RIGHT ANGLE BRACKET}"
        "\N{REPLACEMENT CHARACTER}"
    )
    assert "\u202e" not in page


def test_two_thousand_segments_stay_under_the_limit():
    page = render(document(2000, systems=("bleu", "port", "qmean"), length=30))
    assert len(page.encode()) < MAX_BYTES
    assert len(data_of(page)["segments"]) == 2000
    assert all(segment["o"][0][1] for segment in data_of(page)["segments"])


def test_a_larger_comparison_keeps_the_links_of_the_most_different_segments_and_says_so(
    monkeypatch,
):
    whole_page = render(document(200))
    monkeypatch.setattr("portmert.tuner.evaluation.page.html.MAX_BYTES", len(whole_page.encode()))
    page = render(document(200))
    segments = data_of(page)["segments"]
    assert len(segments) == 200
    assert [number for number, s in enumerate(segments) if s["o"][0][1]] == list(range(10))
    assert "only the segments that differ most have their word links here" in page
    monkeypatch.setattr("portmert.tuner.evaluation.page.html.MAX_BYTES", 0)
    page = render(document(200))
    assert [segment["n"] for segment in data_of(page)["segments"]] == list(range(1, 11))
    assert "holds only the segments that differ most" in page
    assert (
        "small" not in whole_page.split("<script")[0].split('id="segments"')[1].split("<table")[0]
    )


def test_scores_under_several_links_are_shown_on_their_own_scale():
    content = document(1)
    (label,) = [m["label"] for m in content["metrics"] if not m["in_percent"]]
    content["alignments"]["scores"] += [
        {"links": links, "system": system, "metric": label, "score": 5.3719}
        for links in ("giza", "thot")
        for system in ("bleu", "port")
    ]
    page = render(content)
    assert ">5.3719<" in page
    assert ">537.19<" not in page


def test_what_is_not_known_leaves_no_empty_section():
    bare = document(2)
    bare |= {"ordering": [], "alignments": None, "reference_links": None}
    bare["differences"] |= {"by_reordering": []}
    page = render(bare)
    for title in ("Word order", "Under other word alignments"):
        assert f">{title}<" not in page
    assert ">Scores<" in page


def test_a_comparison_of_one_segment_without_source_or_scores_renders():
    one = document(1)
    for segment in one["segments"]:
        segment["source"] = None
        segment["reordering"] = None
        segment["scores"] = {label: [None, None] for label in segment["scores"]}
        for text in (*segment["references"], *segment["outputs"]):
            text["links"] = text["order"] = None
    (segment,) = data_of(render(one))["segments"]
    assert segment["s"] is None
    assert segment["c"][0] == [None, None]


def test_the_same_document_makes_the_same_page():
    assert render(document(5)) == render(document(5))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.61234, "61.23"), (None, "\N{EN DASH}"), (-0.005, "-0.50")],
)
def test_scores_are_shown_in_percent(value, text):
    assert ShownMetric().shown(value) == text


def test_numbers_are_shown_with_the_digits_that_matter():
    assert ShownMetric(in_percent=False).shown(1.5) == "1.5000"
    assert ShownMetric().signed(0.0061) == "+0.61"
    assert ShownMetric().signed(-0.0061) == "\N{MINUS SIGN}0.61"
    assert ShownMetric().signed(0.0) == "0.00"
    assert [decimals(x, 1) for x in (-1.25, -0.01)] == ["-1.2", "0.0"]
    assert [p_value(p) for p in (0.00001, 0.00009999, 0.0312, 0.5, 1.0)] == [
        "< 0.0001",
        "0.0001",
        "0.0312",
        "0.50",
        "1.00",
    ]


def test_differences_of_many_systems_are_drawn_one_metric_at_a_time():
    few, many = (
        chart_of(document(1, systems=names), "differences")
        for names in (("base", "a", "b", "c"), ("base", "a", "b", "c", "d"))
    )
    (choice,) = few.choices
    metrics = ["port", "bleu", "ter (sign turned)"]
    assert choice.categories == [f"{metric}, {system}" for metric in metrics for system in "abc"]
    assert [choice.label for choice in many.choices] == metrics
    rows = {(r["metric"], r["system"]): r for r in document(1, systems=tuple("zabcd"))["scores"]}
    bleu = many.choices[1]
    (series,) = bleu.series
    assert bleu.categories == ["a", "b", "c", "d"]
    assert list(series.values) == [rows["bleu", system]["difference"] for system in "abcd"]
    assert list(series.low) == [rows["bleu", system]["difference_low"] for system in "abcd"]


def test_right_is_better_where_lower_scores_are():
    given = document(1)
    (row,) = [r for r in given["scores"] if r["metric"] == "ter" and r["difference"] is not None]
    row |= {"difference": -0.02, "difference_low": -0.03, "difference_high": -0.005}
    chart = chart_of(given, "differences")
    (choice,) = chart.choices
    (series,) = choice.series
    ter = choice.categories.index("ter (sign turned)")
    assert (series.low[ter], series.values[ter], series.high[ter]) == (0.005, 0.02, 0.03)
    assert "sign turned" in chart.caption


def opening(given):
    options = re.search(r'data-field="metric">(.*?)</select>', render(given), re.DOTALL)[1]
    return re.search(r" selected>([^<]*)<", options)[1]


def test_segments_open_sorted_by_chrf_where_there_are_references():
    given = document(4)
    assert opening(given) == "chrf"
    (*_, scores) = data_of(render(given))["segments"][0]["c"]
    segment = given["segments"][0]
    for output, score in zip(segment["outputs"], scores, strict=True):
        references = [text["text"] for text in segment["references"]]
        assert score == pytest.approx(
            portmert.score([output["text"]], [references], metric="chrf").score, abs=1e-5
        )
    given["segments"][0]["references"] = []
    assert opening(given) == "port"


def test_one_segment_is_not_called_segments():
    assert "1 segment of test.tgt" in render(document(1))
    assert "2 segments of test.tgt" in render(document(2))
