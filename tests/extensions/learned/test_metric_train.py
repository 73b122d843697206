"""`portmert metric-train` as a user runs it."""

import json
import shutil
from pathlib import Path

import pytest

from tests.oracles.lexical import write_paraphrases
from tests.support.cli import fault, run
from tests.support.places import INVENTED, ROOT, SHARED, needs
from tests.support.run_folders import LITTLE

REAL = SHARED / "data" / "mqm-ted-zh-en"
REFERENCES = ["the dog walks home", "a cat and the deal", "b c d e f", "g h i j k l"]
OUTPUTS = {
    "good": ["the dog walked home", "a cat and the deal", "b c d e f", "g h i j k l"],
    "fair": ["the hound walks", "a tom and it", "b c f e", "g h x j k l m"],
    "poor": ["home x dog", "cat and a", "x b", "y y g h"],
}
ALL = ["--human", "human.tsv", "--outputs", "out", "--ref", "ref"]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "ref").write_text("".join(f"{line}\n" for line in REFERENCES))
    rows = ["system\tsegment\tdocument\tscore\n"]
    for rank, (system, lines) in enumerate(OUTPUTS.items()):
        (tmp_path / "out" / f"{system}.en").write_text("".join(f"{line}\n" for line in lines))
        rows += [f"{system}\t{s}\td{s // 2}\t{-rank - s}\n" for s in range(4)]
    (tmp_path / "human.tsv").write_text("".join(rows))
    write_paraphrases(tmp_path / "table")
    # Parses of all texts: every word under the one before it.
    texts = sorted({line for lines in (REFERENCES, *OUTPUTS.values()) for line in lines})
    with (tmp_path / "parsed.conllu").open("w") as file:
        for text in texts:
            for i, word in enumerate(text.split()):
                file.write(f"{i + 1}\t{word}\t_\tX\tX\t_\t{i}\t{'dep' if i else 'root'}\t_\t_\n")
            file.write("\n")


def table(text):
    """The rows of the table that is printed."""
    rows = [line.split() for line in text.splitlines()]
    return [row for row in rows if len(row) >= 7 and set(row[0]) <= set("ETPNB")]


def test_a_metric_that_learnt_nothing_is_said():
    for system in OUTPUTS:
        Path("out", f"{system}.en").write_text(Path("ref").read_text())
    result = run("metric-train", *ALL, "--out", "m.json")
    assert "all its weights are 0: no feature differs" in result.stderr
    assert set(json.loads(Path("m.json").read_text())["weights"].values()) == {0.0}


def test_table_has_every_set_of_features_that_can_be():
    result = run("metric-train", *ALL, "--table", "--paraphrases", "table", "--json", "m.json")
    assert result.stdout.startswith("3 systems, 4 segments, 2 documents\n")
    rows = table(result.stdout)
    assert [row[0] for row in rows] == [
        "T", "P", "N", "B", "TP", "TN", "TB", "PN", "PB", "NB", "TPN", "TPB", "TNB", "PNB", "TPNB",
    ]  # fmt: skip
    found = json.loads(Path("m.json").read_text())["conditions"]
    assert [one["groups"] for one in found] == [row[0] for row in rows]
    for row, one in zip(rows, found, strict=True):
        if one["mean"] is None:  # the table of paraphrases alone moves no score
            assert row[0] == "P"
            assert row[1:5] == ["\u2013"] * 4
            continue
        assert row[3] == f"{one['mean']:.4f}"
        assert one["mean"] == pytest.approx(sum(one["tested"]) / 2)
        assert row[4:7] == [f"({one['low']:.4f}", "to", f"{one['high']:.4f})"]
        assert max(one["trained"]) <= 1


def test_metric_learnt_ranks_as_people_do():
    result = run("metric-train", *ALL, "--groups", "NB", "--out", "m.json")
    assert "the metric, learnt on all documents, is learned:model=m.json" in result.stderr
    scores = []
    for system in OUTPUTS:
        one = run("score", "--metric", "learned:model=m.json", "--hyp", f"out/{system}.en",
                  "--ref", "ref", "--json")  # fmt: skip
        scores.append(json.loads(one.stdout)["scores"][0]["score"])
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3
    trained = json.loads(Path("m.json").read_text())["trained"]
    assert trained["agreement"] > 0.9
    assert [one["groups"] for one in trained["two_fold"]] == ["NB"]


def test_features_of_parses_come_from_the_annotator():
    annotator = ["--annotator", "conllu:files=parsed.conllu", "--annotation-cache", "cache"]
    run("metric-train", *ALL, *annotator, "--groups", "EB", "--parses", "1",
                 "--out", "m.json")  # fmt: skip
    model = json.loads(Path("m.json").read_text())
    assert len(model["weights"]) == 10
    assert any(model["weights"][name] for name in ("p_dl", "r_dlh"))
    score = ["score", "--metric", "learned:model=m.json", "--hyp", "out/fair.en", "--ref", "ref"]
    run(*score, *annotator)
    assert "needs an annotator" in fault(*score)


def test_the_same_bytes_every_time():
    for name in ("one", "two"):
        run("metric-train", *ALL, "--out", f"{name}.json", "--latex", f"{name}.tex")
    for suffix in ("json", "tex"):
        assert Path(f"one.{suffix}").read_bytes() == Path(f"two.{suffix}").read_bytes()


def test_a_metric_learnt_with_a_table_wants_the_same_one():
    options = ["--paraphrases", "table", "--groups", "TP", "--out", "m.json"]
    run("metric-train", *ALL, *options)
    score = ["--hyp", "out/fair.en", "--ref", "ref"]
    good = run("score", "--metric", "learned:model=m.json,paraphrases=table", *score)
    assert "learned:model=m.json,paraphrases=table|refs:1" in good.stdout
    message = fault("score", "--metric", "learned:model=m.json", *score)
    assert "m.json was learnt with paraphrases; give the same, paraphrases=..." in message


def test_one_system_more_or_a_segment_without_scores_is_told():
    with Path("human.tsv").open("a") as file:
        file.write("good\t3\td1\t0\n")
    assert "human.tsv:14: system 'good' has a score" in fault("metric-train", *ALL)
    lines = Path("human.tsv").read_text().splitlines()[:-2]
    Path("human.tsv").write_text("\n".join(lines) + "\n")
    result = run("metric-train", *ALL)
    assert "1 of 4 segments are left out: not every system has a score" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--groups", "EN"], "--groups EN: features E need --annotator"),
        (["--groups", "P"], "--groups P: features P need --paraphrases"),
        (["--groups", "NX"], "expected some of the letters ETPNB"),
        (["--gamma", "2"], "--gamma"),
    ],
)
def test_wrong_usage_is_named(options, message):
    assert message in fault("metric-train", *ALL, *options, status=2)


def test_faults_are_one_line():
    assert "language is 'klingon'" in fault("metric-train", *ALL, "--language", "klingon")
    assert "there is no folder" in fault("metric-train", *ALL, "--out", "no/m.json")
    Path("table").write_text("x\n")
    message = fault("metric-train", *ALL, "--paraphrases", "table")
    assert "table: its number of lines, 1, is no multiple of three; expected three" in message
    rows = Path("human.tsv").read_text()
    Path("human.tsv").write_text(rows.replace("d1", "d0"))
    assert "human.tsv: 1 document; the halves" in fault("metric-train", *ALL)
    cells = [line.split("\t") for line in rows.splitlines()]
    Path("human.tsv").write_text("".join(f"{a}\t{b}\t{d}\n" for a, b, _, d in cells))
    result = run("metric-train", *ALL)
    assert "no documents are known (column 'document'): the halves are of single" in result.stderr
    assert "learnt on one half of the segments (A has 2, B 2)" in result.stdout


def test_figures_of_a_paper_stand_beside():
    published = ROOT / "configs" / "paper-edpm" / "published.toml"
    result = run("metric-train", *ALL, "--table", "--published", published)
    rows = {row[0]: row[-1] for row in table(result.stdout)}
    assert rows["T"] == "0.3758"  # the draft's
    assert rows["TNB"] == "0.3708"
    Path("other.toml").write_text(
        '[[table]]\nnumber=1\ncaption="c"\nheaders=["a"]\nrows=[["b"]]\n'
    )
    message = fault("metric-train", *ALL, "--published", "other.toml")
    assert "other.toml: no table whose first header is 'features'" in message


def test_groups_are_dealt_out_evenly():
    lines = Path("human.tsv").read_text().splitlines()
    head, *rows = lines
    group = {"d0": "x", "d1": "y"}
    named = [f"{row}\t{group[row.split(chr(9))[2]]}" for row in rows]
    Path("human.tsv").write_text("\n".join([f"{head}\tgroup", *named]) + "\n")
    run("metric-train", *ALL)
    Path("human.tsv").write_text("\n".join([f"{head}\tgroup", *named[:-1], f"{rows[-1]}\tz"]))
    message = fault("metric-train", *ALL)
    assert "segment 3 is in group 'z', but line 5 has it in 'y'" in message


def test_a_learnt_metric_is_tuned_on_end_to_end(tmp_path, monkeypatch):
    """From human scores of outputs to tuned weights of a decoder."""
    run("metric-train", *ALL, "--groups", "TNB", "--out", "m.json")
    model = tmp_path / "m.json"
    shutil.copytree(INVENTED, tmp_path / "configs")
    monkeypatch.chdir(tmp_path / "configs")
    settings = ["metric.name=learned", f"metric.model={model}", "tune.output=run"]
    run("tune", "recorded.toml", *(f"--set={one}" for one in (*settings, *LITTLE)))
    result = json.loads((tmp_path / "configs" / "run" / "result.json").read_text())
    assert "learned" in json.dumps(result)


@needs(REAL)
def test_talks_judged_by_people():
    real = ["--human", REAL / "human.tsv", "--outputs", REAL / "outputs", "--text", "13a"]
    result = run("metric-train", *real, "--ref", REAL / "ref.en", "--table", "--out", "m.json")
    assert result.stdout.startswith("13 systems, 529 segments, 5 documents\n")
    trained = json.loads(Path("m.json").read_text())["trained"]
    # Pearson's r of metaeval, column `both`, for the same metric.
    assert 0 < trained["agreement"] < 0.3
    assert [row[0] for row in table(result.stdout)] == ["T", "N", "B", "TN", "TB", "NB", "TNB"]
