"""Options are checked in Python as on the command line, in every family."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from pathlib import Path
from typing import get_type_hints

import pytest
from pydantic import ValidationError
from pydantic.dataclasses import is_pydantic_dataclass

from portmert.tuner import families
from portmert.tuner.base.errors import ConfigError
from portmert.tuner.components import registry

ALL = [(family, name) for family in families.families() for name in families.own_names(family)]


@pytest.mark.parametrize(("family", "name"), ALL)
def test_every_component_is_a_frozen_pydantic_dataclass_and_knows_its_name(family, name):
    cls = families.component(family, name)
    assert is_pydantic_dataclass(cls)
    assert cls.__dataclass_params__.frozen
    assert cls.name() == name
    named = "".join(part.capitalize() for part in name.split("-"))
    assert cls.__name__ in {named, named + families.families()[family].base_name}


@pytest.mark.parametrize(("family", "name"), ALL)
def test_an_option_of_another_name_or_kind_is_refused_in_python(family, name):
    cls = families.component(family, name)
    with pytest.raises(ValidationError, match="no_such_option"):
        cls(no_such_option=1)
    hints = get_type_hints(cls)
    for field in dataclasses.fields(cls):
        if hints[field.name] in (int, float):
            with pytest.raises(ValidationError, match=field.name):
                cls(**{field.name: "x"})
            with pytest.raises(ValidationError, match=field.name):
                cls(**{field.name: float("nan")})


def test_an_installation_older_than_the_sources_is_told(monkeypatch):
    """As after a pull: it names extensions, and nothing of the core."""
    entries = families._entry_points
    monkeypatch.setattr(
        families,
        "_entry_points",
        lambda path: [x for x in entries(path) if x.value.startswith("portmert.extensions.")],
    )
    with pytest.raises(ConfigError, match=r"metric 'bleu': .* install it again \(in a clone"):
        families.component("metric", "bleu")
    assert families.component("metric", "learned").name() == "learned"
    monkeypatch.undo()
    with pytest.raises(ConfigError, match=r"unknown metric 'blue'.*'bleu'"):
        families.component("metric", "blue")


@pytest.mark.parametrize(
    ("family", "name", "options", "message"),
    [
        ("optimizer", "mert", {"restarts": -5}, "restarts: Input should be greater than or equal"),
        ("metric", "bleu", {"max_order": 2.5}, "max_order: Input should be a valid integer"),
        ("aligner", "precomputed", {}, "aligner precomputed: links must be given"),
        ("optimizer", "mert", {"restart": 2}, "has no option 'restart'; did you mean 'restarts'"),
        ("aligner", "hmm", {}, "unknown aligner 'hmm'"),
    ],
)
def test_the_registry_says_it_in_one_line(family, name, options, message):
    with pytest.raises(ConfigError) as caught:
        registry.build(family, name, options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["BLEU", "Bleu-SBP", "PORT:alpha=0.5", "0.5*BLEU + 0.5*(1-TER)"])
def test_metrics_are_named_in_any_case(text):
    assert registry.metric(text) == registry.metric(text.lower())
    assert registry.metric(text).signature == registry.metric(text.lower()).signature


def test_chrf_plus_plus_is_chrf_with_words():
    assert registry.metric("chrF++") == registry.metric("chrf:word_order=2")
    assert registry.metric("chrf++:beta=1") == registry.metric("chrf:word_order=2,beta=1")
    both = registry.metric("0.5*chrf++ + 0.5*bleu")
    assert both == registry.metric("0.5*chrf:word_order=2 + 0.5*bleu")
    assert registry.metric(both.signature) == both


def subclasses(cls):
    """Return all classes derived from a class."""
    return {cls, *(each for direct in cls.__subclasses__() for each in subclasses(direct))}


@pytest.mark.parametrize("family", families.families())
def test_every_public_class_of_a_family_registers_in_pyproject(family):
    """Components stand in public files, and those of a folder are imported together."""
    registered = {families.component(family, name) for name in families.own_names(family)}
    packages = {cls.__module__.rpartition(".")[0] for cls in registered}
    for package in packages:
        for path in Path(importlib.import_module(package).__file__).parent.glob("[a-z]*.py"):
            importlib.import_module(f"{package}.{path.stem}")
    public = {
        cls
        for cls in subclasses(families.families()[family].base_class)
        if not inspect.isabstract(cls)
        and cls.__module__.rpartition(".")[0] in packages
        and "_" not in (cls.__name__[0], cls.__module__.rpartition(".")[2][0])
    }
    without_name = {"Comet", "CommandMetric", "CommandWithLinks", "FunctionDecoder", "M2"}
    assert {cls.__name__ for cls in public - registered} <= without_name


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["a"], "--set: 'a' is not option=value; as in x=1"),
        (["=1"], "--set: '=1' is not option=value"),
        (["a=1", "a=2"], "--set: option 'a' is given twice"),
    ],
)
def test_pairs_that_are_none(items, message):
    with pytest.raises(ConfigError, match=message):
        registry.key_values(items, where="--set", form="as in x=1")


def test_pairs_keep_what_follows_the_first_sign_and_collect_several():
    found = registry.key_values(["a=1=2", "b=x", "b=y"], where="--set", repeatable={"b"})
    assert found == {"a": "1=2", "b": ["x", "y"]}
