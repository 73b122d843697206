"""Every command shows an example and is as loud as it is asked to be."""

import pytest

from portmert.tuner.cli import main
from tests.support.cli import fault, run


def commands():
    context = main.make_context("portmert", ["--help"], resilient_parsing=True)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        yield name, command
        for sub in getattr(command, "commands", {}).values():
            yield f"{name} {sub.name}", sub


@pytest.mark.parametrize("name", [name for name, _ in commands() if name != "mert-moses"])
def test_every_command_shows_an_example_and_how_loud_it_is(name):
    shown = run(*name.split(), "--help").stdout
    described, _, examples = shown.partition("\nExamples:\n")
    assert f"portmert {name}" in (examples or described.split("Options:")[0].partition("\n\n")[2])
    if name != "humaneval":
        assert "--quiet" in shown
        assert "--verbose" in shown


def test_quiet_and_verbose(tmp_path):
    lists = tmp_path / "lists"
    lists.write_text("0 ||| a ||| LM= -1 ||| -1\n")
    weights = tmp_path / "weights.json"
    weights.write_text('{"weights": {"LM": [1]}}')
    options = ["rerank", "--nbest", lists, "--weights", weights]
    assert run(*options).stderr.startswith("portmert: note: ")
    assert run(*options, "--quiet").stderr == ""
    assert " s] portmert: note: " in run(*options, "-v").stderr
    assert run(*options, "-q").stdout == "a\n"
    assert "portmert: error: " in fault("rerank", "--nbest", "absent", "--weights", weights, "-q")


def test_json_goes_to_stdout_or_a_file(tmp_path):
    text = tmp_path / "text"
    text.write_text("a b\n")
    options = ["score", "--metric", "ter", "--hyp", text, "--ref", text]
    printed = run(*options, "--json").stdout
    assert printed == run(*options, "--json", "-").stdout
    assert '"metric": "ter"' in printed
    beside = run(*options, "--json", tmp_path / "out.json")
    assert (tmp_path / "out.json").read_text() == printed
    assert beside.stdout.startswith("metric")
