import json
import shutil

import pytest

from portmert.tuner.runs.records import finish
from tests.support.browser import browser, console
from tests.support.cli import run
from tests.support.places import INVENTED
from tests.support.run_folders import LITTLE_SET

CONFIG = INVENTED / "recorded.toml"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "mine"
    run(
        "tune", CONFIG, "--set", f"tune.output={folder}",
        "--set=tune.iterations=2", "--set=data.test_source=recorded/dev.src",
        "--set=data.test_references=['recorded/dev.tgt']",
        "--set=data.test_reference_links=['recorded/dev.links']", *LITTLE_SET,
    )  # fmt: skip
    return folder


def report(*arguments, status=0):
    return run("report", *arguments, status=status)


def test_report_prints_every_iteration_and_all_weights(finished):
    result = json.loads((finished / "result.json").read_text())
    shown = report(finished)
    first = shown.stdout.splitlines()[0]
    assert first == (
        f"mine: port {100 * result['start_dev_score']:.2f} → {100 * result['dev_score']:.2f} on "
        f"dev, {100 * result['test']['score']:.2f} on test "
        f"(untuned {100 * result['start_test_score']:.2f}; iteration {result['best_iteration']} "
        f"of {len(result['iterations'])})"
    )
    assert "held out" not in shown.stdout  # nothing was
    assert "replicas" not in shown.stdout  # there is one tuning
    assert "projected: score of the weights then found" in " ".join(shown.stdout.split())
    for one in result["iterations"]:
        assert f"  {one['hypotheses']}" in shown.stdout
        assert f"{100 * one['dev_score']:.2f}" in shown.stdout
    for name in json.loads((finished / "weights.json").read_text())["weights"]:
        assert f"\n{name} " in shown.stdout


def test_a_run_without_the_untuned_score_has_a_headline_without_it(finished, tmp_path):
    """Runs of earlier versions have none."""
    old = tmp_path / "mine"
    shutil.copytree(finished, old)
    result = json.loads((old / "result.json").read_text())
    del result["start_test_score"]
    finish(old / "result.json", result, alone=True)
    first = report(old).stdout.splitlines()[0]
    assert f"{100 * result['test']['score']:.2f} on test (iteration " in first


def test_report_writes_page_and_json(finished, tmp_path):
    page, content = tmp_path / "page.html", tmp_path / "run.json"
    shown = report(finished, "--html", page, "--json", content, "--metric", "bleu")
    assert f"written: {page}" in shown.stderr
    document = json.loads(content.read_text())
    assert document["runs"][0]["name"] == "mine"
    held = json.loads((finished / "result.json").read_text())["test"]["score"]
    assert document["ordering"][0]["scores"]["port"] == pytest.approx(held)
    again = tmp_path / "again.html"
    report(finished, "--html", again, "--metric", "bleu")
    assert again.read_bytes() == page.read_bytes()
    with browser() as driver:
        driver.get(page.as_uri())
        assert console(driver) == []
        charts = driver.execute_script("return Object.values(Chart.instances).length")
        assert charts == 7


def test_several_runs_share_charts(finished, tmp_path):
    copy = tmp_path / "copy" / finished.name
    shutil.copytree(finished, copy)
    shown = report(finished, copy, "--json", tmp_path / "runs.json", "--metric", "bleu")
    assert [line.partition(": ")[0] for line in shown.stdout.splitlines()[:2]] == [
        str(finished), str(copy),
    ]  # fmt: skip
    assert f"\n{copy}, weights, absolute values" in shown.stdout
    assert len(json.loads((tmp_path / "runs.json").read_text())["runs"]) == 2


def test_report_refuses_what_is_no_run(tmp_path):
    shown = report(tmp_path, status=1)
    assert shown.stderr == (
        f"portmert: error: {tmp_path}: not the folder of a run (no state.json); expected one of "
        f"tune\n"
    )


def test_report_looks_before_the_work_whether_it_can_write(finished, tmp_path):
    shown = report(finished, "--html", tmp_path / "no" / "page.html", status=1)
    assert "there is no folder" in shown.stderr
    same = tmp_path / "x"
    report(finished, "--html", same, "--json", same, status=2)


def test_a_run_without_a_test_set_is_reported_all_the_same(finished, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(finished, copy)
    shutil.rmtree(copy / "test")
    shown = report(copy, "--json", tmp_path / "run.json", "--metric", "bleu")
    assert "portmert: note: no scores of a test set: " in shown.stderr
    assert "scores" not in json.loads((tmp_path / "run.json").read_text())
