"""What every aligner promises, whichever the registry finds."""

from __future__ import annotations

import dataclasses

import pytest

from portmert.aligners._base import Aligner
from portmert.tuner import families
from portmert.tuner.components import registry
from tests.support.aligner_programs import NAMES, install, real
from tests.support.languages.grammar import generate

PAIRS = generate(60, seed=8)
SOURCE = ["", *(" ".join(pair.source) for pair in PAIRS), "a"]
TARGET = ["x", *(" ".join(pair.target) for pair in PAIRS), ""]


@pytest.fixture(params=[*families.own_names("aligner"), *(f"real {name}" for name in NAMES)])
def aligner(request, tmp_path):
    """Outside programs are recorded ones, and the real ones where they are installed."""
    name = request.param.removeprefix("real ")
    links = tmp_path / "given.links"
    rows = ["", *(" ".join(f"{s}-{t}" for s, t in pair.links) for pair in PAIRS), ""]
    links.write_text("".join(f"{row}\n" for row in rows))
    options = {"precomputed": {"links": links}, "thot": {"model": "ibm1", "iterations": 2}}
    if name in NAMES:
        is_real = name != request.param
        options[name] = {"bin_dir": real(name) if is_real else install(tmp_path / "bin")}
    return registry.aligner(name, options.get(name, {}))


def align(aligner, folder):
    return aligner.align(source=SOURCE, target=TARGET, workdir=folder)


def test_is_a_frozen_dataclass_with_a_docstring(aligner):
    assert isinstance(aligner, Aligner)
    assert dataclasses.fields(aligner)
    assert type(aligner).__doc__
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(aligner, dataclasses.fields(aligner)[0].name, None)


def test_every_pair_gets_sorted_links_in_range(aligner, tmp_path):
    found = align(aligner, tmp_path / "work")
    assert len(found) == len(SOURCE)
    for links, source, target in zip(found, SOURCE, TARGET, strict=True):
        assert links == sorted(set(links))
        assert all(isinstance(s, int) and 0 <= s < len(source.split()) for s, _ in links), links
        assert all(isinstance(t, int) and 0 <= t < len(target.split()) for _, t in links)


def test_a_pair_with_an_empty_side_has_no_links(aligner, tmp_path):
    found = align(aligner, tmp_path / "work")
    assert found[0] == found[-1] == []
    assert any(found)


def test_same_input_gives_same_links(aligner, tmp_path):
    first = align(aligner, tmp_path / "one")
    assert align(aligner, tmp_path / "one") == first  # with what it kept
    assert align(aligner, tmp_path / "two") == first  # from scratch


def test_sides_of_different_length_are_a_wrong_call(aligner, tmp_path):
    with pytest.raises(ValueError, match="62 source lines, 61 target lines"):
        aligner.align(source=SOURCE, target=TARGET[1:], workdir=tmp_path)
