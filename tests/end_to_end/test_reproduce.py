"""`portmert reproduce` on the recorded lists: tunings of several metrics, one document."""

import gzip
import re
import shutil

import pytest

from tests.support.bracketed import write_trees
from tests.support.cli import run
from tests.support.readme import ROOT

SHORT = ["--set=tune.iterations=1", "--set=optimizer.effort=5", "--set=tune.replicas=2"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduce")
    configs = folder / "configs"
    shutil.copytree(ROOT / "configs", configs)
    source, target = configs / "recorded" / "dev.src", configs / "recorded" / "dev.tgt"
    options = [
        *SHORT,
        f"--set=data.test_source={source}",
        f'--set=data.test_references=["{target}"]',
        f'--set=data.test_reference_links=["{configs / "recorded" / "dev.links"}"]',
        f"--set=tune.output={folder / 'run'}",
    ]
    result = run(
        "reproduce", configs / "recorded.toml", "--metric=bleu", "--metric=port", "--metric=ter",
        *options,
    )  # fmt: skip
    return folder, options, result


def test_the_document_has_every_table(finished):
    folder, _, _ = finished
    text = (folder / "run" / "paper.md").read_text()
    numbers = [int(number) for number in re.findall(r"^## Table (\d+)", text, re.MULTILINE)]
    assert numbers == [3, 4, 6, 8, 9, 10, 11]
    assert "2 tunings for each metric" in text
    for system in ("bleu", "port", "qmean"):
        assert re.search(rf"^\| {system} +\|.*\| +2 \|", text, re.MULTILINE), system
    assert "figures are not at hand for table 3, 4, 6, 8, 9, 10, 11." in text


def test_each_metric_has_a_run_of_its_own(finished):
    folder, _, _ = finished
    for name in ("bleu", "port", "qmean"):
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
    assert "## Table 5, published only" in (folder / "run" / "paper.md").read_text()


def test_published_figures_stand_below_ours(finished, tmp_path):
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
    ours = text.split("## Table 8: ")[1].split("## Table 9")[0]
    assert ours.index("| port ") < ours.index("In the paper: theirs") < ours.index("|   12.34 |")
    assert "figures are not at hand for table 3, 4, 6, 9, 10, 11." in text


def test_one_metric_is_no_comparison(finished):
    folder, _, _ = finished
    config = str(folder / "configs" / "recorded.toml")
    result = run("reproduce", config, "--tune-on", "bleu", status=2)
    assert "at least two metrics" in result.stderr


def test_an_unknown_metric_is_one_line_before_anything_is_tuned(finished):
    folder, options, _ = finished
    config = str(folder / "configs" / "recorded.toml")
    result = run("reproduce", config, "--tune-on", "bleu", "--tune-on", "prot", *options, status=1)
    assert "unknown metric 'prot'" in result.stderr
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
