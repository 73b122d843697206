"""Tuning on METEOR, TERp and learnt metrics, with files beside the configuration."""

import dataclasses
import json
import shutil

import pytest

from portmert.extensions.learned.learned import TERP_ALONE
from portmert.metrics._lexicon_files import content_hash
from portmert.tuner.runs.config import load_config
from tests.oracles.lexical import write_wordnet
from tests.support.cli import run
from tests.support.places import INVENTED
from tests.support.run_folders import LITTLE_SET

CONFIG = INVENTED / "recorded.toml"
TABLE = "0.5 <p>plou</p> <p>detrint plou</p>\n0.1 <p>plepout</p> <p>plepount</p>\n"


@pytest.fixture
def config(tmp_path):
    """Return a function that writes a configuration with a table [metric]."""
    shutil.copytree(CONFIG.with_suffix(""), tmp_path / "recorded")
    (tmp_path / "table").write_text(TABLE)
    model = dataclasses.replace(
        TERP_ALONE, resources={"paraphrases": content_hash(tmp_path / "table")}
    )
    (tmp_path / "model.json").write_text(model.text())

    def write(metric):
        text = CONFIG.read_text().replace("../recorded-run", "run")
        before, _, rest = text.partition("[metric]")
        path = tmp_path / "experiment.toml"
        path.write_text(
            f"{before}[metric]\n{metric}\n[optimizer]{rest.partition('[optimizer]')[2]}"
        )
        return path

    return write


@pytest.mark.parametrize(
    "metric",
    [
        'name = "meteor"\nversion = "1.5-tune"\nstem = true\nparaphrases = "table"',
        'name = "terp"\nparaphrases = "table"',
        'name = "learned"\nmodel = "model.json"\nparaphrases = "table"',
        'formula = "0.5*port + 0.5*(1 - terp)"',
    ],
)
def test_tuning_makes_the_dev_score_better(config, tmp_path, metric):
    run("tune", config(metric), "--set", "tune.iterations=4", *LITTLE_SET)
    found = json.loads((tmp_path / "run" / "result.json").read_text())
    change = found["dev_score"] - found["start_dev_score"]
    assert (change < 0) if 'name = "terp"' in metric else (change > 0)
    assert str(tmp_path) not in found["metric"]


@pytest.mark.parametrize(
    ("metric", "keys"),
    [
        ('name = "terp"\nparaphrases = "table"\nsynonyms = "wordnet"',
         ("metric.paraphrases", "metric.synonyms")),
        ('formula = "terp:paraphrases=./table,synonyms=./wordnet + ter"',
         ("metric.metrics", "metric.metrics")),
    ],
)  # fmt: skip
def test_a_run_is_known_by_what_its_files_hold(config, tmp_path, monkeypatch, metric, keys):
    monkeypatch.chdir(tmp_path)
    write_wordnet(tmp_path / "wordnet")
    path = config(metric)
    prints = [load_config(path).fingerprint()]
    assert load_config(path).fingerprint() == prints[0]
    (tmp_path / "table").write_text(TABLE.replace("0.1", "0.2"))
    prints.append(load_config(path).fingerprint())
    (tmp_path / "wordnet" / "verb.exc").write_text("went go\n")
    prints.append(load_config(path).fingerprint())
    for key, one, other in zip(keys, prints, prints[1:], strict=False):
        assert {name for name in one if one[name] != other[name]} == {key}


def test_a_faulty_file_stops_the_run_before_it_begins(config, tmp_path):
    path = config('name = "terp"\nparaphrases = "table"')
    (tmp_path / "table").write_text(TABLE + "0.5 -1 <p>a</p> <p>b</p>\n")
    assert "table:3: second probability -1;" in run("tune", path, status=1).stderr
    (tmp_path / "table").write_text(TABLE + "-1 <p>a</p> <p>b</p>\n")
    result = run("tune", path, status=1)
    assert "table:3: probability -1; expected a number from 0 to 1e6" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()
