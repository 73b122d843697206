"""The page From the papers to options: its commands have only options and metrics that exist."""

import itertools
import re
import shlex

import click
import pytest

from portmert.tuner.cli import main
from portmert.tuner.components import registry
from portmert.tuner.evaluation.published import read_published
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "metrics" / "papers.md").read_text()
SPANS = re.findall(r"`([^`\n]+)`", PAGE)
COMMANDS = [shlex.split(span) for span in SPANS if span.startswith("portmert ")]
PAPERS = PAGE.split("\n## ")[1:6]


def command_of(words):
    """Return the command that words call, and the words after its name."""
    command, words = main, words[1:]
    while isinstance(command, click.Group):
        command, words = command.get_command(click.Context(command), words[0]), words[1:]
    return command, words


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_names_options_and_metrics_that_exist(words):
    command, rest = command_of(words)
    options = {name for parameter in command.params for name in parameter.opts}
    for word in rest:
        if word.startswith("--"):
            assert word.partition("=")[0] in options, word
    for name, value in itertools.pairwise(rest):
        if name in ("--metric", "--tune-on"):
            registry.metric(value)
        if name == "--published":
            read_published(ROOT / value)


def test_every_metric_of_the_tables_exists():
    """In a table of notation the right column begins with what the paper's name is here."""
    rows = re.findall(r"^\| ([^|`]+) \| `([^`]+)`", PAGE, re.MULTILINE)
    metrics = [here for _, here in rows if re.match(r"[a-z][a-z-]*\d?(:|$)", here)]
    metrics = [here for here in metrics if "PARSES" not in here]
    assert len(metrics) > 25
    for text in metrics:
        registry.metric(re.sub(r"=[lD]\b", "=4", text))


def test_every_table_of_the_papers_has_a_command():
    numbers = [
        {int(n) for row in re.findall(r"^\| ([0-9, ]+)[^|]* \|", paper, re.MULTILINE)
         for n in re.findall(r"\d+", row)}
        for paper in PAPERS
    ]  # fmt: skip
    assert [set(range(1, last + 1)) <= found for last, found in zip(
        (11, 3, 4, 6, 3), numbers, strict=True)] == [True, False, True, True, True]  # fmt: skip
    assert "there is no table of results" in PAPERS[1]
