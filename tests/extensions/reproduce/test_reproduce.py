"""`portmert reproduce` on the recorded lists: tunings of several metrics, one document."""

import gzip
import json
import re
import shutil

import pytest

import portmert
from portmert.extensions.reproduce.run import experiments_of
from portmert.tuner.base.errors import InputError
from portmert.tuner.components import registry
from tests.support.bracketed import write_trees
from tests.support.cli import fault, run
from tests.support.places import INVENTED, ROOT
from tests.support.run_folders import LITTLE_SET

SHORT = ["--set=tune.iterations=1", "--set=tune.replicas=2", *LITTLE_SET]

SYSTEMS = ("bleu", "port", "qmean", "port-rho", "port-tau", "port@hand")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduce")
    configs = folder / "configs"
    shutil.copytree(INVENTED, configs)
    source, target = configs / "recorded" / "dev.src", configs / "recorded" / "dev.tgt"
    options = [
        *SHORT,
        f"--set=data.test_source={source}",
        f'--set=data.test_references=["{target}"]',
        f'--set=data.test_reference_links=["{configs / "recorded" / "dev.links"}"]',
        f"--set=tune.output={folder / 'run'}",
    ]
    links = (configs / "recorded" / "dev.links").read_text().splitlines()
    hand = folder / "hand.links"
    hand.write_text("".join(f"{line.rpartition(' ')[0]}\n" for line in links))  # the last missed
    options.append(f"--links=hand={hand}")
    result = run(
        "reproduce", configs / "recorded.toml", "--metric=bleu", "--metric=port", "--metric=ter",
        *options,
    )  # fmt: skip
    return folder, options, result


def sections(text):
    """Return number of a table -> its section of the document."""
    parts = re.split(r"^## Table (\d+)", text, flags=re.MULTILINE)
    return dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))


def cells(section, first):
    """Return the rows of a section that begin with this cell, without it."""
    rows = [[cell.strip() for cell in row[1:-1].split("|")] for row in section.splitlines()
            if row.startswith("|")]  # fmt: skip
    return [row[1:] for row in rows if row[0] == first]


def test_the_document_has_every_table(finished):
    folder, _, _ = finished
    text = (folder / "run" / "paper.md").read_text()
    assert list(sections(text)) == [3, 4, 6, 7, 8, 9, 10, 11]
    assert "2 tunings for each metric" in text
    for system in SYSTEMS:
        assert re.search(rf"^\| {system} +\|.*\| +2 \|", text, re.MULTILINE), system
    assert "figures are not at hand for table 3, 4, 6, 7, 8, 9, 10, 11." in text
    assert "Nothing of ours" not in text


def test_each_table_shows_the_systems_that_the_paper_compares_in_it(finished):
    folder, _, _ = finished
    tables = sections((folder / "run" / "paper.md").read_text())
    shown = {number: [row[0] for row in cells(tables[number], "ours")] for number in (4, 7, 8, 9)}
    assert shown == {
        4: list(SYSTEMS),
        7: ["bleu", "port", "port@hand"],
        8: ["bleu", "port", "qmean"],
        9: ["bleu", "port", "port-rho", "port-tau"],
    }


def test_a_score_is_the_same_in_every_table(finished):
    folder, _, _ = finished
    tables = sections((folder / "run" / "paper.md").read_text())
    columns, *_ = cells(tables[4], "system")
    scores = {name: cells(tables[4], name)[0] for name in SYSTEMS}
    detailed = {
        (name, metric): float(row[columns.index(column)])
        for name, row in scores.items()
        for metric, column in (("ter", "ter ↓"), ("bleu", "bleu ↑"))
    }
    for number in (4, 7, 8, 9):
        for system, bleu, meteor, ter, *_ in cells(tables[number], "ours"):
            assert float(bleu) == detailed[system, "bleu"]
            assert float(ter) == detailed[system, "ter"]
            assert meteor == "n/a"  # it was not asked for


def first_hypotheses(path):
    texts = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            number, text, *_ = line.split(" ||| ")
            texts.setdefault(int(number), text.strip())
    return [texts[number] for number in sorted(texts)]


def test_every_version_of_meteor_is_in_its_column_and_test_sets_are_averaged(finished, tmp_path):
    folder, options, _ = finished
    segments = len((folder / "configs" / "recorded" / "dev.src").read_text().splitlines())
    meteor = "meteor:version=1.0,stem=true"
    command = (
        "reproduce", folder / "configs" / "recorded.toml", "--metric=bleu", f"--metric={meteor}",
        "--metric=ter", *options,
    )  # fmt: skip
    out = tmp_path / "paper.md"
    few = segments // 3
    parts = [f"--test-set=few={few}", f"--test-set=rest={segments - few}"]
    result = run(*command, *parts, "--out", out)
    assert "optimizing over" not in result.stderr
    text = out.read_text()
    assert "meteor is meteor:version=1.0," in text
    tables = sections(text)
    for number in (4, 7, 8, 9):
        sets = [cells(tables[number], f"ours, {name}") for name in ("few", "rest", "mean of 2")]
        for few_row, rest_row, mean_row in zip(*sets, strict=True):
            assert few_row[0] == rest_row[0] == mean_row[0]
            for column in (1, 2, 3):
                of_sets = float(few_row[column]), float(rest_row[column])
                assert float(mean_row[column]) == pytest.approx(sum(of_sets) / 2, abs=0.0101)
    assert len(cells(tables[10], "ours, few")) == len(cells(tables[10], "ours, rest")) == 6
    # A test set alone has the score of its lines.
    reference = (folder / "configs" / "recorded" / "dev.tgt").read_text().splitlines()
    scores = [
        100 * portmert.score(first_hypotheses(path)[:few], [reference[:few]], metric=meteor).score
        for path in sorted((folder / "run" / "port").glob("replica-*/test/*nbest*"))
    ]
    assert len(scores) == 2
    row = next(row for row in cells(tables[4], "ours, few") if row[0] == "port")
    assert float(row[2]) == pytest.approx(sum(scores) / 2, abs=0.0051)
    for wrong, message in (
        (["--test-set=few=1"], f"1 segments in all, but test_source has {segments}"),
        (["--test-set=few"], "expected another NAME=SEGMENTS"),
        (["--published", ROOT / "configs" / "paper-edpm" / "published.toml"],
         "Kahn, Snover and Ostendorf"),
        (["--published", ROOT / "configs" / "paper-pos" / "published.toml"],
         "no table of tuned systems"),
        (["--set=metric.name=ter"], "--tune-on names the metrics"),
    ):  # fmt: skip
        refused = run(*command, *wrong, status=1)
        assert message in refused.stderr
        assert "tuning on" not in refused.stderr


def test_table_6_has_the_time_to_score_the_lists_and_of_an_iteration(finished):
    folder, _, _ = finished
    table = sections((folder / "run" / "paper.md").read_text())[6]
    for name in SYSTEMS:
        row = next(row for row in cells(table, name) if len(row) == 3)
        hypotheses, seconds, iteration = row
        with gzip.open(
            max((folder / "run" / name / "replica-1").glob("iteration-*/nbest.gz")), "rt"
        ) as lines:
            assert int(hypotheses) == sum(1 for _ in lines)
        assert float(seconds) >= 0.0
        assert float(iteration) >= 0.0


def test_options_of_the_config_stay_with_the_metrics_that_have_them(tmp_path):
    configs = tmp_path / "configs"
    shutil.copytree(INVENTED, configs)
    config = configs / "recorded.toml"
    text = re.sub(
        r"\[metric\][^\[]*", '[metric]\nname = "port"\nalpha = 0.5\n\n', config.read_text()
    )
    config.write_text(text)
    tuned_on = ["bleu", "port", "port-rho", "port:alpha=0.125", "my=0.5*bleu + 0.5*port"]
    experiments = experiments_of(config, tuned_on)
    assert list(experiments) == ["bleu", "port", "port-rho", "port:alpha=0.125", "my"]
    metrics = {name: experiment.metric for name, experiment in experiments.items()}
    assert metrics["bleu"] == registry.metric("bleu")
    assert [metrics[name].alpha for name in tuned_on[1:4]] == [0.5, 0.5, 0.125]
    folders = [experiment.tune.output.name for experiment in experiments.values()]
    assert folders == ["bleu", "port", "port-rho", "port-alpha=0.125", "my"]


def test_other_links_are_tuned_with_and_judged_by_the_same_ones(finished):
    folder, _, _ = finished
    held = {
        system: json.loads((folder / "run" / system / "state.json").read_text())["fingerprint"]
        for system in ("port", "port@hand")
    }
    differing = {key for key, value in held["port"].items() if value != held["port@hand"][key]}
    assert differing == {"data.reference_links"}


def test_an_output_folder_that_is_a_loop_of_links_is_one_line(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    output = f"--set=tune.output={tmp_path / 'loop'}"
    said = fault("reproduce", INVENTED / "recorded.toml", output)
    assert "loop: cannot write: its symbolic links form a loop" in said


def test_each_metric_has_a_run_of_its_own(finished):
    folder, _, _ = finished
    for name in SYSTEMS:
        assert (folder / "run" / name / "replica-2" / "result.json").is_file()


def test_started_again_it_tunes_nothing(finished):
    folder, options, first = finished
    result = run(
        "reproduce", folder / "configs" / "recorded.toml", "--metric=bleu", "--metric=port",
        "--metric=ter", *options, "--published",
        ROOT / "configs" / "paper-port" / "published.toml",
    )  # fmt: skip
    assert "optimizing over" not in result.stderr
    assert result.stdout == first.stdout
    text = (folder / "run" / "paper.md").read_text()
    assert "not at hand" not in text
    tables = sections(text)
    assert list(tables) == list(range(1, 12))
    for number in (1, 2, 5):
        assert tables[number].startswith(", published only: ")
    assert ["BLEU", "26.8", "55.2", "62.0", "49.7"] in cells(tables[4], "zh-en small")
    for number in (3, 4, 7, 8, 9, 10, 11):  # one table: the paper's rows, then ours
        table = tables[number]
        assert table.index("| zh-en small" if number != 10 else "| NIST06") < table.index("| ours")
        assert table.count("In the paper: ") == 1


def test_a_published_table_of_another_form_stands_below_ours(finished, tmp_path):
    folder, options, _ = finished
    published = tmp_path / "published.toml"
    published.write_text(
        'citation = "The paper"\n[[table]]\nnumber = 8\ncaption = "theirs"\n'
        'headers = ["system", "qmean"]\nrows = [["one", "12.34"]]\n'
    )
    out = tmp_path / "paper.md"
    run(
        "reproduce", folder / "configs" / "recorded.toml", "--metric=bleu", *options,
        "--published", published, "--out", out,
    )  # fmt: skip
    text = out.read_text()
    ours = sections(text)[8]
    assert ours.index("| ours") < ours.index("In the paper: theirs") < ours.index("|   12.34 |")
    assert "figures are not at hand for table 3, 4, 6, 7, 9, 10, 11." in text


def test_tables_without_their_systems_say_how_to_get_them(finished, tmp_path):
    folder, options, _ = finished
    out = tmp_path / "paper.md"
    run(
        "reproduce", folder / "configs" / "recorded.toml", "--tune-on=bleu", "--tune-on=port",
        "--metric=bleu", *options[:-1], "--out", out,
    )  # fmt: skip
    tables = sections(out.read_text())
    for number, remedy in ((7, "--links NAME=FILE"), (8, "--tune-on qmean"), (9, "port-rho")):
        assert "Nothing of ours to show: no system" in tables[number]
        assert remedy in tables[number]
        assert "AER" not in tables[number]
        assert not cells(tables[number], "ours")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hand", "expected NAME=FILE"),
        ("hand=one,two", "2 files; expected 1 (links of each reference)"),
        ("by hand=one", "a name of letters, digits"),
        ("hand=none.links", "there is no file"),
    ],
)
def test_wrong_links_are_one_line_before_anything_is_tuned(finished, text, message):
    folder, options, _ = finished
    config = str(folder / "configs" / "recorded.toml")
    result = run("reproduce", config, *options[:-1], f"--links={text}", status=1)
    assert message in result.stderr
    assert "tuning on" not in result.stderr


def test_one_metric_is_no_comparison(finished):
    folder, _, _ = finished
    config = str(folder / "configs" / "recorded.toml")
    result = run("reproduce", config, "--tune-on", "bleu", status=2)
    assert "at least two metrics" in result.stderr


def test_a_formula_to_tune_on_has_a_name(finished):
    config = finished[0] / "configs" / "recorded.toml"
    found = experiments_of(config, ["bleu", "mean=0.5*bleu + 0.5*chrf:beta=2"])
    assert list(found) == ["bleu", "mean"]
    assert found["mean"].metric == registry.metric("0.5*bleu + 0.5*chrf:beta=2")
    assert found["mean"].tune.output == found["bleu"].tune.output.parent / "mean"
    for twice in (["bleu", "bleu"], ["bleu", "bleu=chrf"]):
        with pytest.raises(InputError, match="two metrics to tune on are called bleu"):
            experiments_of(config, twice)


@pytest.mark.parametrize(
    "more", [("--tune-on", "prot"), ("--tune-on", "port", "--metric", "prot")]
)
def test_an_unknown_metric_is_one_line_before_anything_is_tuned(finished, more):
    folder, options, _ = finished
    config = str(folder / "configs" / "recorded.toml")
    result = run("reproduce", config, "--tune-on", "bleu", *more, *options, status=1)
    assert "unknown metric 'prot'" in result.stderr
    assert "tuning on" not in result.stderr


def test_without_a_test_set_nothing_is_tuned(tmp_path):
    result = run(
        "reproduce", INVENTED / "recorded.toml", f"--set=tune.output={tmp_path / 'run'}",
        "--tune-on=bleu", "--tune-on=port", status=1,
    )  # fmt: skip
    assert "recorded.toml: [data] has no test_source and test_references" in result.stderr
    assert "tuning on" not in result.stderr


def test_systems_are_tuned_on_and_scored_with_syntax(finished, tmp_path):
    folder, options, _ = finished
    recorded = folder / "configs" / "recorded"
    texts = (recorded / "dev.tgt").read_text().splitlines()
    for path in sorted(recorded.glob("*.nbest.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            texts += [line.split(" ||| ")[1] for line in lines]
    annotator = write_trees(tmp_path / "trees", texts)
    result = run(
        "reproduce", folder / "configs" / "recorded.toml", "--tune-on=bleu", "--tune-on=dpm",
        "--metric=bleu", "--metric=dpm", f"--annotator={annotator}",
        f"--annotation-cache={tmp_path / 'cache'}", *options,
        f"--set=tune.output={tmp_path / 'run'}", "--set=tune.replicas=1",
    )  # fmt: skip
    assert re.search(r"^dpm: .*DPM-tuned .*BLEU-tuned", result.stdout, re.MULTILINE)
    assert "| dpm " in (tmp_path / "run" / "paper.md").read_text()
