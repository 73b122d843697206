"""The replication's pooled answer, and the tables of its page, which are made of its results."""

import gzip
import json
import math
import re
import subprocess

import numpy as np
import pytest
from scipy import stats

from tests.bench import replication, replication_data
from tests.support.places import ROOT

PAGE = ROOT / "docs" / "explanation" / "reproduction.md"


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

    tried = np.linspace(0, 4, 400_001)
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
    found = replication.older()
    assert {name: len(one) for name, one in found.items()} == {"de-en": 5, "ja-en": 5, "nl-en": 4}
    assert found["de-en"]["ter"] == (-0.47, -0.68, -0.27)


def test_the_page_shows_the_tables_that_its_results_make():
    page = PAGE.read_text(encoding="utf-8")
    for title, table in replication.tables().items():
        assert table in page, title


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
    replication_data.main(corpus, tmp_path / "out")
    with gzip.open(tmp_path / "out" / "train.en.gz", "rt") as file:
        assert file.read() == "it 's no\ngood\n"
    with gzip.open(tmp_path / "out" / "train.es.gz", "rt") as file:
        assert file.read() == "no puede\nbueno\n"
    assert (tmp_path / "out" / "dev.es").read_text() == "uno dos tres cuatro\na b c d\n"
    assert (tmp_path / "out" / "test.en2").read_text() == "i 'm reference 2\nwhole\n"


def test_the_readme_has_the_pooled_answer():
    found = {**replication.changes(replication.load(), "port"), **replication.older()}
    headers, rows = replication.pooled_table(found, replication.SHOWN)
    cells = " | ".join(row[headers.index("pooled")] for row in rows)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"| five language pairs, 95 % interval | {cells} |" in readme
    assert len(found) == 5


def test_the_plot_has_a_line_for_each_tuning_and_one_for_the_mean():
    tunings = [
        {"system": "bleu", "replica": 1, "bleu": [0.20, 0.22]},
        {"system": "bleu", "replica": 2, "bleu": [0.20, 0.21, 0.24]},
        {"system": "mert-moses", "replica": 1, "bleu": [0.20, 0.19, 0.22]},
    ]
    drawn = replication.plot({"es-en": {"by_decoding": tunings}})
    lines = [
        [tuple(map(float, point.split(","))) for point in points.split()]
        for points in re.findall('<polyline points="(.*?)"', drawn)
    ]
    assert len(lines) == 5
    (_, _, first), (_, _, second), (_, _, mean) = lines[:3]
    assert lines[0][1][1] == first[1]  # an ended tuning keeps its last score
    assert mean[1] == pytest.approx((first[1] + second[1]) / 2, abs=0.1)
    assert lines[1][2][1] == replication.TOP  # 24, the highest score of all
    assert lines[3][1][1] == replication.HEIGHT - replication.TOP  # 19, the lowest
