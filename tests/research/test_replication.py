"""The replication's pooled answer, and the tables of its page, which are made of its results."""

import gzip
import json
import math
import subprocess

import numpy as np
import pytest
from scipy import stats

from research import graphs, replication, replication_data
from tests.support.places import ROOT


def test_two_conditions_by_hand():
    # Differences 0 and 1, errors 0.1. Their squares are 0.5 / (v + 0.01) = 1, so v = 0.49; each
    # weighs 1 / 0.5, both 4; Student's t with one degree of freedom at 0.975 is 12.706.
    found = replication.pool([0.0, 1.0], [0.1, 0.1])
    assert found.mean == pytest.approx(0.5)
    assert found.between == pytest.approx(0.7)
    assert found.high - found.mean == pytest.approx(12.706 / 2, abs=1e-3)


def test_conditions_that_agree_are_weighted_by_their_errors():
    # Squares 4/3 * 0.05**2 / 0.1**2 = 1/3 < 1: no variance between them. Weights 100 and 25.
    found = replication.pool([0.10, 0.05], [0.1, 0.2])
    assert found.between == 0.0
    assert found.mean == pytest.approx(0.09)
    half = math.tan(0.475 * math.pi) / math.sqrt(125)  # the quantile of Student's t, one degree
    assert (found.low, found.high) == pytest.approx((0.09 - half, 0.09 + half))


def slow_pool(differences, errors):
    """Find the variance between conditions by trying many."""
    differences, errors = np.array(differences), np.array(errors)
    free = len(differences) - 1

    def weighted(between):
        weights = 1 / (errors**2 + between)
        mean = np.average(differences, weights=weights)
        return mean, weights, np.sum(weights * (differences - mean) ** 2)

    tried = np.linspace(0, 2, 40_001) ** 2
    between = next(one for one in tried if weighted(one)[2] <= free)
    mean, weights, squares = weighted(between)
    factor = max(1.0, squares / free)
    half = stats.t.ppf(0.975, free) * math.sqrt(factor / weights.sum())
    return mean, mean - half, mean + half, math.sqrt(between)


@pytest.mark.parametrize("conditions", [2, 3, 4])
def test_a_slow_twin_finds_the_same(conditions):
    rng = np.random.default_rng(conditions)
    differences = rng.normal(0, 0.4, conditions)
    errors = rng.uniform(0.05, 0.3, conditions)
    found = replication.pool(differences, errors)
    assert found == pytest.approx(slow_pool(differences, errors), abs=1e-3)


def test_the_interval_holds_the_true_mean_as_often_as_it_says():
    rng = np.random.default_rng(1)
    errors, inside = np.array([0.1, 0.15, 0.2, 0.25]), []
    for _ in range(1500):
        found = replication.pool(0.3 + rng.normal(0, 0.3, 4) + rng.normal(0, errors), errors)
        inside.append(found.low <= 0.3 <= found.high)
    assert 0.93 < np.mean(inside) < 0.99


def test_older_conditions_are_read_as_their_page_prints_them():
    found = replication.older()
    assert {name: len(one) for name, one in found.items()} == {
        "de-en, talks": 5,
        "ja-en": 5,
        "nl-en": 4,
    }
    assert found["de-en, talks"]["ter"] == (-0.47, -0.68, -0.27)


def test_what_is_made_of_the_results_is_what_is_committed():
    for path, text in replication.made().items():
        assert path.read_text(encoding="utf-8") == text, path


def test_the_page_of_search_graphs_is_made_of_its_results():
    records = json.loads(graphs.RESULTS.read_text())
    page, drawn = graphs.PAGE.read_text(), graphs.PLOT.read_text()
    assert page.endswith(graphs.MARK + "\n\n" + "\n\n".join(graphs.tables(records)) + "\n")
    assert [chart.title for chart in graphs.charts(records) if chart.title not in drawn] == []


def test_a_run_shows_what_a_shorter_one_takes():
    rows = [{"judged": 0.3, "listed": 0.4, "gain": None, "gain_error": None},
            {"judged": 0.35, "listed": 0.34, "gain": 0.02, "gain_error": 0.01},
            {"judged": 0.36, "listed": 0.37, "gain": 0.01, "gain_error": 0.01},
            {"judged": 0.37, "listed": 0.36, "gain": 0.001, "gain_error": 0.01},
            {"judged": 0.34}]  # fmt: skip
    taken = {name: graphs.taken({"rows": rows}, name) for name in ("1", "2", "3", "8", "gain=0.5")}
    assert taken == {"1": (1, 2), "2": (2, 2), "3": (3, 4), "8": (5, 4), "gain=0.5": (4, 4)}


def test_the_pages_show_every_table_and_say_its_pooled_figures():
    pages = [page.read_text(encoding="utf-8") for page in replication.PAGES]
    for name, table in replication.tables().items():
        assert any(table in page for page in pages), name
    headers, rows = replication.pooled_table(
        {**replication.older(), **replication.changes(replication.load(), "port")},
        replication.SHOWN,
    )
    pooled = {row[0]: row[headers.index("pooled")] for row in rows}
    guide = (ROOT / "docs/explanation/does-it-help.md").read_text(encoding="utf-8")
    for metric in ("BLEU", "PORT", "TER"):
        value, _, interval = pooled[metric].rstrip(")").partition(" (")
        assert f"| {metric} | {value} | {interval} |" in guide, metric


def variant(name, dev, references, **scores):
    """Results with as many tunings of each system as its scores say: BLEU, deviation, tunings."""
    return {
        "condition": name,
        "dev": dev,
        "references": references,
        "systems": [{"name": one, "replicas": n} for one, (_, _, n) in scores.items()],
        "scores": [
            {"metric": "bleu", "system": one, "score": bleu, "s_opt": deviation}
            for one, (bleu, deviation, _) in scores.items()
        ],
    }


def test_the_table_of_dev_sets_by_hand(tmp_path, monkeypatch):
    base = variant("xx-en", 200, 1, bleu=(0.31, 0.002, 5), untuned=(0.3, None, 1))
    small = variant("xx-en-50", 50, 1, bleu=(0.302, 0.001, 3), **{"mert-moses": (0.29, None, 1)})
    other = variant("xx-en-four", 200, 4, bleu=(0.4, 0.001, 3))
    for one in (base, small, other):
        (tmp_path / f"{one['condition']}.json").write_text(json.dumps(one))
    monkeypatch.setattr(replication.load, "__defaults__", (tmp_path,))
    assert replication.load() == {"xx-en": base}
    assert replication.sizes_table({"xx-en": base})[1] == [
        ["xx-en", "50", "3", "30.20 ± 0.10", "1", "29.00"],
        ["xx-en", "200", "5", "31.00 ± 0.20", "", ""],
    ]


def test_links_that_cross_are_counted_by_hand():
    # Three pairs of links: 0-1 and 1-0 cross, the others do not; 2-2 and 2-3 share a word.
    assert replication.crossing("0-1 1-0 2-2") == pytest.approx(1 / 3)
    assert replication.crossing("2-2 2-3") == replication.crossing("") == 0.0


def test_results_are_of_the_configurations_that_are_committed():
    for name, one in replication.load().items():
        condition = replication.Condition.read(replication.RESULTS.parent / f"{name}.toml")
        assert one["settings"]["flags"] == condition.tables["decoder"]["flags"]
        assert one["references"] == len(condition.tables["data"]["references"])
        tuned = {row["name"] for row in one["systems"]} - {replication.UNTUNED}
        assert {row["system"] for row in one["tunings"]} == tuned
        assert json.dumps(one).isascii()


def test_the_training_script_is_a_shell_script():
    script = replication.RESULTS.parent / "train-moses.sh"
    subprocess.run(["sh", "-n", script], check=True)


def test_the_spanish_data_stay_line_by_line(tmp_path):
    corpus = tmp_path / "corpus"
    for folder in ("oracle", "ldc"):
        (corpus / folder).mkdir(parents=True)

    def write(name, *lines):
        (corpus / name).write_bytes("".join(f"{line}\n" for line in lines).encode())

    write("oracle/callhome_train.es", "No  puede", "Sí", "bueno")
    write("ldc/callhome_train.en", "It's,\rno: \N{RIGHT SINGLE QUOTATION MARK}", "", "Good.")
    for name in ("fisher_dev", "fisher_dev2"):
        write(f"oracle/{name}.es", "uno dos tres", "uno dos tres cuatro", "a b c d", "e f g h")
        for number in range(4):
            last = "" if number == 3 else "gone"
            write(f"ldc/{name}.en.{number}", "short", f"I'm\rreference {number}!", "Whole", last)
    replication_data.make_spanish(corpus, tmp_path / "out")
    with gzip.open(tmp_path / "out" / "train.en.gz", "rt") as file:
        assert file.read() == "it 's no\ngood\n"
    with gzip.open(tmp_path / "out" / "train.es.gz", "rt") as file:
        assert file.read() == "no puede\nbueno\n"
    assert (tmp_path / "out" / "dev.es").read_text() == "uno dos tres cuatro\na b c d\n"
    assert (tmp_path / "out" / "test.en2").read_text() == "i 'm reference 2\nwhole\n"


MESSAGES = """
msgid ""
msgstr "Language: zh"

#: ../../a.rst:2
msgid ""
"Return the :class:`A <a.A>` of *this* ``name``, see `there <http://a.b>`_. Never "
"``None``."
msgstr ""
"\u8fd4\u56de *\u8fd9\u4e2a* ``name`` \u7684 :class:`A <a.A>`\uff0c\u53c2\u89c1 "
"`there <http://a.b>`_\u3002\u4e0d\u4f1a\u662f ``None``\u3002"

msgid "Two sentences here. In one there."
msgstr "\u90a3\u91cc\u53ea\u6709 \u4e00\u53e5"

#, fuzzy
msgid "This one is not sure."
msgstr "\u8fd9 \u4e00\u53e5 \u4e0d \u786e\u5b9a"

msgid "a = 1\\nb = 2\\nc = 3"
msgstr "a = 1\\nb = 2\\nc = 3"
"""


def test_the_chinese_data_are_sentences_without_markup(tmp_path, monkeypatch):
    monkeypatch.setattr(replication_data, "DRAWN", {"dev": 1, "test": 1})
    for page in ("library/a", "glossary", "license"):
        path = tmp_path / f"{page}.po"
        path.parent.mkdir(exist_ok=True)
        path.write_text(MESSAGES.replace("this", page.rpartition("/")[2]), encoding="utf-8")
    replication_data.make_chinese(tmp_path, tmp_path / "out", cut=list)
    with gzip.open(tmp_path / "out" / "train.en.gz", "rt") as file:
        assert file.read() == "return the a of a name , see there .\n"
    with gzip.open(tmp_path / "out" / "train.zh.gz", "rt", encoding="utf-8") as file:
        words = "\u8fd4 \u56de \u8fd9 \u4e2a name \u7684 a \uff0c \u53c2 \u89c1 there \u3002"
        assert file.read() == f"{words}\n"
    assert (
        tmp_path / "out" / "test.en"
    ).read_text() == "return the a of license name , see there .\n"


def test_the_german_test_set_is_two_files_and_keeps_the_pairs(tmp_path):
    for name in ("train", "val", "test_2016_flickr", "test_2017_flickr"):
        for end in ("en", "de"):
            (tmp_path / f"{name}.lc.norm.tok.{end}").write_text(
                f"{name} A {end}\n{name} b {end}\n"
            )
    replication_data.make_german(tmp_path, tmp_path / "out")
    with gzip.open(tmp_path / "out" / "train.de.gz", "rt") as file:
        assert file.read() == "train a de\ntrain b de\n"
    assert (tmp_path / "out" / "dev.en").read_text() == "val a en\nval b en\n"
    assert (tmp_path / "out" / "test.de").read_text().splitlines() == [
        f"test_{year}_flickr {word} de" for year in (2016, 2017) for word in "ab"
    ]


def test_japanese_of_dev_and_test_is_not_trained_on(tmp_path, monkeypatch):
    monkeypatch.setattr(replication_data, "JAPANESE_DEV", 1)
    monkeypatch.setattr(replication_data, "JAPANESE_TEST", 2)
    parts = {"train": "a d b t e f g", "dev": "d", "test": "t"}
    for part, words in parts.items():
        for end in ("en", "ja"):
            text = "".join(f"{word} {end}\n" for word in words.split())
            (tmp_path / f"{part}.{end}").write_text(text)
    replication_data.make_japanese(tmp_path, tmp_path / "out")
    with gzip.open(tmp_path / "out" / "train.ja.gz", "rt") as file:
        assert file.read() == "a ja\nb ja\n"
    assert (tmp_path / "out" / "dev.en").read_text() == "d en\ne en\n"
    assert (tmp_path / "out" / "test.ja").read_text() == "t ja\nf ja\ng ja\n"


def test_a_tuning_that_has_ended_keeps_its_last_score_and_a_broken_one_has_none():
    tunings = [
        {"system": "bleu", "replica": 1, "finished": True, "bleu": [0.20, 0.22]},
        {"system": "bleu", "replica": 2, "finished": True, "bleu": [0.20, 0.21, 0.24]},
        {"system": "mert-moses", "replica": 1, "finished": False, "bleu": [0.20, 0.19]},
    ]
    drawn = replication.by_decodings({"by_decoding": tunings})
    assert drawn["bleu", 1] == pytest.approx([20, 22, 22])
    assert drawn["bleu", 2] == pytest.approx([20, 21, 24])
    assert drawn["mert-moses", 1] == pytest.approx([20, 19, math.nan], nan_ok=True)


TEXTS = ["a b c d e", "b c d e f", "c d e f g", "d e f g h", "e f g h i", "f g h i j"]
CROSSED = "0-1 1-0 2-2 3-3 4-4"


@pytest.fixture
def condition(tmp_path):
    """A condition with one tuning on BLEU of two decodings, and one on PORT that lacks a step."""
    links = ["0-0 1-1 2-2 3-3 4-4", CROSSED, "0-4 1-3 2-2 3-1 4-0"] * 2
    for name, rows in (("dev", TEXTS[:2]), ("test", TEXTS), ("links", links)):
        (tmp_path / name).write_text("".join(f"{row}\n" for row in rows))
    (tmp_path / "tiny.toml").write_text(
        '[tune]\noutput = "run"\niterations = 1\nnbest = 5\n[decoder]\n'
        'flags = ""\nconfig = "moses.ini"\n'
        '[data]\nsource = "dev"\nreferences = ["dev"]\ntest_source = "test"\n'
        'test_references = ["test"]\ntest_reference_links = ["links"]\n'
    )
    weights = json.dumps({"weights": {"LM0": [0.5], "Distortion0": [0.1]}})
    for system, wrong in (("bleu", 1), ("port", 2), ("untuned", 3)):
        replica = tmp_path / "run" / system / "replica-1"
        output = [*TEXTS[:-wrong], *(text.replace("h", "x") for text in TEXTS[-wrong:])]
        (replica / "test").mkdir(parents=True)
        (replica / "test" / "output.txt").write_text("".join(f"{text}\n" for text in output))
        with gzip.open(replica / "test" / "nbest.gz", "wt") as lists:
            lists.writelines(f"0 ||| {text} ||| 0 ||| 0 ||| {CROSSED}\n" for text in output)
        if system != "untuned":
            scores = [{"dev_score": 0.2}, {"dev_score": 0.3}]
            result = {"iterations": scores, "best_iteration": 2, "stopped": "as it should"}
            (replica / "result.json").write_text(json.dumps(result))
            (replica / "weights.json").write_text(weights)
            for number in (1, 2):
                (replica / f"iteration-0{number}").mkdir()
                (replica / f"iteration-0{number}" / "weights.json").write_text(weights)
                parts = {
                    "Qmean": 0.2,
                    "v": 0.9,
                    "SBP": 1,
                    "SRP": 1,
                    "hyp_len": number,
                    "ref_len": 2,
                }
                parts |= {"p1": 0.5, "matched_1": 3}
                scored = json.dumps({"parts": parts})
                (replica / f"iteration-0{number}" / "scores.json").write_text(scored)
            estimate = json.dumps({"unseen_score": 0.25})
            (replica / "iteration-01" / "optimized.json").write_text(estimate)
    return replication.Condition.read(tmp_path / "tiny.toml")


def test_outputs_that_are_known_are_not_decoded_again(condition):
    (condition.output / "part").mkdir()
    replication.by_decoding(condition, condition.path, range(1, 2))  # there is no decoder
    steps = condition.output / "bleu" / "replica-1" / "steps"
    assert (steps / "1" / "output.txt").read_text() == "a b c d e\nf g x i j\n"
    assert sorted(path.name for path in steps.iterdir()) == ["1", "2"]


def test_results_are_collected(condition):
    replication.by_decoding(condition, condition.path, range(1, 2))
    (condition.output / "port" / "replica-1" / "steps" / "1").mkdir(parents=True)
    found = replication.collect(condition)
    assert [one["name"] for one in found["systems"]] == ["bleu", "port", "untuned"]
    assert [one["system"] for one in found["by_decoding"]] == ["bleu"]  # all steps are known
    assert [one["crossing"] for one in found["by_order"]] == pytest.approx([0.0, 0.1, 1.0])
    assert {one["segments"] for one in found["by_order"]} == {2}
    assert found["by_order"][0]["words"] == 5
    assert found["tunings"][0]["weights"] == {"LM0": [0.5], "Distortion0": [0.1]}
    tables = [
        replication.order_table({"tiny": found}),
        replication.scores_table(found, {"v": "v"}),
    ]
    assert [len(rows) for _, rows in tables] == [3, 3]
    _, (start, tuned) = replication.dev_table({"tiny": found})
    assert start == ["tiny", "untuned", "20.00", "90.00", "100.00", "100.00", "0.500"]
    assert tuned[-1] == "1.000"
    twice = {"tiny": {"tunings": found["tunings"] * 2}}
    _, (first, _) = replication.estimates_table(twice)
    assert first == ["tiny", "bleu", "+5.00, +5.00", "0.00", "+10.00, +10.00"]
