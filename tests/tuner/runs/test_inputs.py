"""What a run was made from, written and read again."""

import json

import pytest

from portmert.tuner.base.errors import ConfigError, StateError
from portmert.tuner.runs.config import load_config
from portmert.tuner.runs.inputs import read_inputs, write_inputs

CONFIG = """\
[tune]
output = "runs/one"
[data]
source = "data/dev.src"
references = ["data/dev.ref"]
test_source = "data/test.src"
test_references = ["data/test.ref"]
text = ["debpe"]
[metric]
name = "port"
[decoder]
name = "recorded"
lists = ["data/list"]
[aligner]
name = "thot"
model = "ibm2"
train_source = "data/dev.src"
train_target = "data/dev.ref"
saved = "aligner"
"""


@pytest.fixture
def experiment(tmp_path):
    folder = tmp_path / "here"
    (folder / "data").mkdir(parents=True)
    for name in ("dev.src", "dev.ref", "test.src", "test.ref", "list"):
        (folder / "data" / name).write_text("x\n")
    (folder / "runs" / "one").mkdir(parents=True)
    (folder / "my.toml").write_text(CONFIG)
    return load_config(folder / "my.toml")


def test_written_then_read_is_the_same(experiment):
    write_inputs(experiment.tune.output, experiment)
    found = read_inputs(experiment.tune.output)
    assert found.data == experiment.data
    assert found.components == {"aligner": experiment.aligner}
    assert found.config == experiment.path


def test_a_moved_folder_still_finds_its_data(experiment, tmp_path):
    write_inputs(experiment.tune.output, experiment)
    (tmp_path / "here").rename(tmp_path / "there")
    found = read_inputs(tmp_path / "there" / "runs" / "one")
    assert found.data.test_source == tmp_path / "there" / "data" / "test.src"
    assert found.components["aligner"].saved == tmp_path / "there" / "aligner"


def test_no_path_of_this_machine_is_written(experiment, tmp_path):
    write_inputs(experiment.tune.output, experiment)
    assert str(tmp_path) not in (experiment.tune.output / "inputs.json").read_text()


def test_a_folder_that_does_not_say_gives_none(tmp_path):
    assert read_inputs(tmp_path) is None


@pytest.mark.parametrize("damage", ["{", "[]", '{"config": {"path": "a"}}', "data"])
def test_what_portmert_does_not_write_is_refused(experiment, damage):
    folder = experiment.tune.output
    write_inputs(folder, experiment)
    path = folder / "inputs.json"
    if damage == "data":
        content = json.loads(path.read_text())
        content[damage] = {"name": "none", "options": {}}
        path.write_text(json.dumps(content))
    else:
        path.write_text(damage)
    with pytest.raises(StateError, match=r"not what portmert writes .*delete it"):
        read_inputs(folder)


def test_a_component_that_there_is_not_is_named(experiment):
    folder = experiment.tune.output
    write_inputs(folder, experiment)
    path = folder / "inputs.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"aligner": {"name": "none", "options": {}}}))
    with pytest.raises(ConfigError, match="unknown aligner 'none'"):
        read_inputs(folder)
