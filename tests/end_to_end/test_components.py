"""`portmert components` as a user runs it."""

from __future__ import annotations

import json

import pytest

from portmert.tuner import families
from portmert.tuner.components.external import NAMES
from tests.support import cli

ALL = [(family, name) for family in families.families() for name in families.own_names(family)]


def run(*arguments):
    return cli.run("components", *arguments)


def test_all_families_are_listed_with_all_their_components():
    lines = run().stdout.splitlines()
    starts = {line.split()[0] for line in lines if line.strip()}
    assert {*families.families()} <= starts
    assert {name for _, name in ALL} <= starts
    assert "broken" not in run().stdout


def test_json_of_all_is_that_of_each_family():
    whole = json.loads(run("--json").stdout)
    assert [*whole] == [*families.families()]
    for family, listed in whole.items():
        assert listed == json.loads(run(family, "--json").stdout)
        outside = NAMES if family == "metric" else ()
        assert [one["name"] for one in listed] == sorted([*families.names(family), *outside])


@pytest.mark.parametrize(("family", "name"), ALL)
def test_one_is_described_with_every_option_its_range_and_default(family, name):
    result = run(family, name)
    assert result.stdout.startswith(f"{name}\n")
    described = json.loads(run(family, name, "--json").stdout)
    for option in described["options"]:
        assert f"  {option['name']}: {option['values']} (" in result.stdout
        assert option["meaning"]
        assert not option["values"].startswith(("Annotated", "typing", "Optional"))
        is_choice = " | " in option["values"] and option["values"] != "true | false"
        if is_choice and family in ("metric", "reader"):
            for value in option["values"].split(" | "):
                assert f"`{value}`" in option["meaning"], (option["name"], value)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("optimizer", "mert"), "restarts: integer, at least 1 (default: 2)"),
        (("aligner", "thot"), "iterations: integer, at least 1 (default: 5)"),
        (("decoder", "recorded"), "lists: list of path (must be given)"),
        (("reader", "flat:n=5"), "n: integer, at least 1 (default: unset; here: 5)"),
        (("reader", "moses"), "  0 ||| b ||| LM0= -1 TM0= 0 2 ||| -4"),
        (("annotator", "udpipe"), "gives:      heads, tags"),
        (("metric", "PORT:alpha=0.5"), "alpha: number, 0 to 100 (default: 0.25; here: 0.5)"),
        (("metric", "port:alpha=0.5"), "signature:  port:alpha=0.5,order=v"),
        (("aligner", "thot"), "source:     Brown et al."),
    ],
)
def test_what_is_said(arguments, expected):
    assert expected in run(*arguments).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("optimizer", "mrt"), "unknown optimizer 'mrt'; did you mean 'mert'?"),
        (("optimizer", "mert:restarts=0"), "optimizer mert: restarts: Input should be greater"),
        (("reader", "flat:m=2"), "reader flat has no option 'm'"),
    ],
)
def test_faults_are_one_line(arguments, message):
    assert message in cli.fault("components", *arguments)


def test_metrics_is_the_same_for_its_family():
    for arguments in ((), ("port",), ("bleu:max_order=2", "--json")):
        other = cli.run("metrics", *arguments)
        assert other.stdout == run("metric", *arguments).stdout


@pytest.mark.parametrize("text", ["jsonl", "flat:n=5", "BLEU", "giza"])
def test_the_family_may_be_left_out(text):
    family = {"BLEU": "metric", "giza": "aligner"}.get(text, "reader")
    assert run(text).stdout == run(family, text).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("jsnl",), "there is no family or component 'jsnl'; did you mean 'jsonl'?"),
        (("optimiser", "mert"), "there is no family 'optimiser'; did you mean 'optimizer'?"),
        (("conllu", "x"), "there is no family 'conllu'"),
    ],
)
def test_an_unknown_family_or_name_is_told(arguments, message):
    assert message in cli.fault("components", *arguments)
