"""Each extension is taken off a copy of the program in turn, and all at once: the core works."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from portmert.metrics._base import Arcs
from portmert.tuner import families
from portmert.tuner.components import registry
from portmert.tuner.texts.statistics import needs_of
from tests.support.annotation_models import write_meanings
from tests.support.bracketed import write_trees
from tests.support.forks import forks
from tests.support.places import INVENTED, ROOT

EXTENSIONS = sorted(path.parent.name for path in (ROOT / "extensions").glob("*/__init__.py"))
POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
DATA = INVENTED / "recorded"
LISTS = ("--nbest", DATA / "1.nbest.gz", "--ref", DATA / "dev.tgt", "--source", DATA / "dev.src")
TEXTS = ("--hyp", "hyp", "--ref", "ref", "--source", "ref", "--hyp-links", "links.txt",
         "--ref-links", "links.txt")  # fmt: skip
QUICK = ("--metric", "bleu", "--optimizer", "mert", "--set", "restarts=1")
COMMANDS = [
    ("optimize", *LISTS, *QUICK, "--out", "weights.json"),
    ("rerank", "--nbest", DATA / "1.nbest.gz", "--weights", "weights.json", "--out", "best.txt"),
    ("components",),
    ("metrics", "port"),
]


def more_commands(folder):
    """Return what takes longer: README's commands, with little to do."""
    short = ("--set", "tune.iterations=1", "--set", "optimizer.name=mert", "--set")
    return [
        ("rerank-tune", *LISTS, *QUICK, "--test-nbest", DATA / "2.nbest.gz", "--test-ref",
         DATA / "dev.tgt", "--out-dir", "tuned"),
        ("tune", INVENTED / "moses.toml", *short, f"tune.output={folder}/moses"),
        ("tune", INVENTED / "recorded.toml", *short, f"tune.output={folder}/run"),
        ("compare", f"a={DATA / 'dev.tgt'}", "b=best.txt", "--ref", DATA / "dev.tgt", "--metric",
         "bleu", "--samples", "100", "--html", "page.html"),
        ("align", "--source", DATA / "dev.src", "--target", DATA / "dev.tgt", "--out", "links"),
    ]  # fmt: skip


USES = [
    ("cluster", (*COMMANDS[0], "--executor", "dask:tcp://host:1")),
    ("graphs", ("optimize", "--graphs", "x", *LISTS[2:], *QUICK, "--out", "weights.json")),
    ("graphs", ("tune", INVENTED / "moses.toml", "--set", "decoder.graphs=true")),
    ("m2", ("metrics", "m2")),
    ("m2", ("score", "--metric", "bleu", "--hyp", "x", "--ref", "x.m2")),
    (
        "meaning",
        (
            "score",
            "--metric",
            "sr-or",
            "--hyp",
            DATA / "dev.tgt",
            "--ref",
            DATA / "dev.tgt",
            "--annotator",
            f"semantics:files={DATA / 'dev.tgt'}",
        ),
    ),
    ("outside_scores", ("compare", "a=x", "b=y")),
    ("outside_scores", ("score", "--metric", "scores:x#acc")),
    ("plots", (*COMMANDS[0], "--plot", "x.svg")),
    ("mbr", ("rerank", "--nbest", DATA / "1.nbest.gz", "--mbr", "chrf", "--out", "mbr.txt")),
    ("neural", ("metrics", "comet:x")),
    ("programs", ("metrics", "command:x")),
]
"""Of extensions: a command line that needs them."""


def without(folder, names):
    """Make a tree of the program that lacks these extensions."""
    (folder / "portmert").mkdir()
    for path in (ROOT / "portmert").iterdir():
        if path.name not in ("extensions", "__pycache__"):
            (folder / "portmert" / path.name).symlink_to(path.resolve())
    (folder / "portmert/extensions").mkdir()
    for path in (ROOT / "extensions").iterdir():
        if path.name not in (*names, "__pycache__"):
            (folder / "portmert/extensions" / path.name).symlink_to(path)
    return folder


def lost(group, names):
    """Return what these extensions add to a group: {name: folder}."""
    folders = {name: value.split(".")[2] for name, value in POINTS.get(group, {}).items()}
    return {name: folder for name, folder in folders.items() if folder in names}


def scores_of_every_metric(folder, names):
    """Return commands that score with every metric that is there."""
    metrics = set(families.names("metric")) - lost("portmert.metrics", names).keys()
    needs = {name: needs_of([registry.metric(name)]) for name in metrics}
    needs = {name: need for name, need in needs.items() if Arcs(0, 0.25) not in need}  # no file
    lines = ["i visited paris recently", "recently i visited paris"]
    (folder / "hyp").write_text(f"{lines[0]}\n")
    (folder / "ref").write_text(f"{lines[1]}\n")
    (folder / "links.txt").write_text("0-0 1-1 2-2 3-3\n")
    write_meanings(folder / "meanings.jsonl", [line.split() for line in lines])
    annotators = {"roles": "semantics:files=meanings.jsonl", "trees": "", "": None}
    annotators["trees"] = write_trees(folder / "trees.mrg", lines)
    for kind, annotator in annotators.items():
        named = [
            name
            for name in sorted(needs)
            if kind == ("roles" if needs[name] & {"roles", "drs"} else "trees" * bool(needs[name]))
        ]
        options = () if annotator is None else ("--annotator", annotator)
        yield ("score", *(word for name in named for word in ("--metric", name)), *TEXTS, *options)


TAKEN = [*(pytest.param([name], marks=pytest.mark.slow) for name in EXTENSIONS), EXTENSIONS]


@pytest.mark.parametrize("taken", TAKEN, ids="+".join)
def test_the_core_works_without(tmp_path, monkeypatch, taken):
    monkeypatch.setenv("PORTMERT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "tree").mkdir()
    tree = without(tmp_path / "tree", taken)
    with forks(tree=tree) as process:

        def said(*words, status=0):
            ended = process.run(*words, folder=tmp_path)
            assert ended.status == status, ended
            return ended.stdout if status == 0 else ended.stderr

        shown = re.findall(r"^  ([a-z-]+) ", said("--help"), re.MULTILINE)
        for words in COMMANDS:
            said(*words)
        if taken == EXTENSIONS:
            for words in (*more_commands(tmp_path), *scores_of_every_metric(tmp_path, taken)):
                said(*words)
        for name, folder in lost("portmert.commands", taken).items():
            assert name not in shown
            assert f"its folder portmert/extensions/{folder} is missing" in said(name, status=2)
        check_components(said, taken)
        for extension, words in USES:
            if extension in taken:
                message = said(*words, status=1)
                assert f"folder portmert/extensions/{extension}" in message
                assert "missing here" in message


def check_components(said, taken):
    """No component of an extension is listed; asked for one, the program names its folder."""
    listed = {
        family: {one["name"] for one in components}
        for family, components in json.loads(said("components", "--json")).items()
    }
    families_lost = lost("portmert.families", taken)
    asked = [((name,), folder) for name, folder in families_lost.items()]
    assert not families_lost.keys() & listed.keys()
    for family, place in families.families().items():
        names_lost = lost(place.group, taken)
        assert not names_lost.keys() & listed.get(family, set())
        asked += [((family, name), folder) for name, folder in names_lost.items()]
    for words, folder in asked:
        message = said("components", *words, status=1)
        assert f"its folder portmert/extensions/{folder} is missing" in message
