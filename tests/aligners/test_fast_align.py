from __future__ import annotations

import re
from dataclasses import replace

import pytest

from portmert.aligners._symmetrize import symmetrize
from portmert.aligners.fast_align import FastAlign
from portmert.tuner.base.errors import PortmertError
from portmert.tuner.base.model_folders import read_record
from tests.support.aligner_programs import DATA, PAIRS, SOURCE, TARGET, align, recorded_bitext


@pytest.mark.parametrize("heuristic", ["grow-diag-final-and", "srctotgt", "tgttosrc"])
def test_links_of_the_recorded_bitext_are_those_of_fast_align(either, tmp_path, heuristic):
    source, target = recorded_bitext()
    aligner = FastAlign(bin_dir=either, symmetrization=heuristic)
    found = align(aligner, tmp_path / "work", source, target)
    ways = []
    for way in ("forward", "reverse"):
        lines = (DATA / "fast_align" / f"{way}.links").read_text("utf-8").splitlines()
        ways.append([re.findall(r"(\d+)-(\d+)", line.split("|||")[2]) for line in lines])
    for row, forward, reverse in zip(found, *ways, strict=True):
        by_target = [(int(s), int(t)) for s, t in forward]
        by_source = [(int(s), int(t)) for s, t in reverse]
        # Each target word is linked at most once forward, each source word in reverse.
        assert len({t for _, t in by_target}) == len(by_target)
        assert len({s for s, _ in by_source}) == len(by_source)
        assert row == symmetrize(heuristic, by_source=by_source, by_target=by_target)


@pytest.mark.parametrize(
    "options", [{}, {"favor_diagonal": False}, {"iterations": 2, "threads": 1}]
)
def test_a_pair_keeps_its_links_in_other_company(either, tmp_path, options):
    aligner = FastAlign(bin_dir=either, **options)
    first = align(aligner, tmp_path / "work")
    assert sum(map(len, first)) > len(PAIRS)
    [folder] = (tmp_path / "work").iterdir()
    source, target = [*SOURCE[30:10:-1], "neu Haus", ""], [*TARGET[30:10:-1], "new", "x"]
    again = align(aligner, tmp_path / "work", source, target)
    assert again[:-2] == first[30:10:-1]
    assert again[-1] == []
    assert list((tmp_path / "work").iterdir()) == [folder]


def test_what_training_learned_goes_into_aligning(programs, tmp_path):
    align(FastAlign(bin_dir=programs), tmp_path / "work")
    [folder] = (tmp_path / "work").iterdir()
    notes = read_record(folder)["notes"]
    learned = {"ratio": "1.25", "tension": "4.5"}  # what the recorded program prints
    assert notes == {
        "pairs": 60,
        "pairs_left_out": 0,
        "forward": learned,
        "reverse": learned,
    }
    assert {path.name for path in folder.iterdir()} == {
        *("forward.params", "reverse.params", "forward.log", "reverse.log", "model.json"),
    }


def test_saved_tables_are_used(programs, tmp_path):
    (tmp_path / "s").write_text("\n".join(SOURCE) + "\n")
    (tmp_path / "t").write_text("\n".join(TARGET) + "\n")
    trains = FastAlign(
        bin_dir=programs,
        train_source=tmp_path / "s",
        train_target=tmp_path / "t",
        saved=tmp_path / "kept",
    )
    first = align(trains, tmp_path / "w", SOURCE[:5], TARGET[:5])
    loads = FastAlign(bin_dir=programs, saved=tmp_path / "kept", iterations=9)
    assert align(loads, tmp_path / "w", SOURCE[:5], TARGET[:5]) == first
    with pytest.raises(PortmertError, match="kept: was trained with another p_null"):
        align(replace(trains, p_null=0.5), tmp_path / "w")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("fast_align:exit", "fast_align ended with status 3: fast_align is reading / no memory"),
        ("fast_align:silent", "fast_align wrote no parameters: expected target length"),
    ],
)
def test_a_failing_training_leaves_a_log_alone(programs, tmp_path, monkeypatch, fault, message):
    monkeypatch.setenv("RECORDED_ALIGNER_FAULT", fault)
    with pytest.raises(PortmertError, match=message) as caught:
        align(FastAlign(bin_dir=programs, threads=1), tmp_path / "work")
    [log] = (tmp_path / "work").iterdir()
    assert str(caught.value).endswith(f"; its log is {log}")


@pytest.mark.parametrize(("fault", "count"), [("short", 59), ("silent", 0)])
def test_missing_links_are_an_error(programs, tmp_path, monkeypatch, fault, count):
    aligner = FastAlign(bin_dir=programs)
    align(aligner, tmp_path / "work")
    monkeypatch.setenv("RECORDED_ALIGNER_FAULT", f"fast_align:{fault}")
    with pytest.raises(PortmertError, match=f"fast_align aligned {count} of 60 pairs"):
        align(aligner, tmp_path / "work")


def test_nothing_to_train_on_is_an_error(programs, tmp_path):
    with pytest.raises(PortmertError, match="fast_align: no pair to train on: 2 pairs, all with"):
        align(FastAlign(bin_dir=programs), tmp_path / "work", ["", "a"], ["b", ""])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iterations": 0}, "iterations\n  Input should be greater than or equal to 1"),
        ({"threads": 0}, "threads\n  Input should be greater than or equal to 1"),
        ({"p_null": 0}, "p_null\n  Input should be greater than 0"),
        ({"vocab_size": 0}, "vocab_size\n  Input should be greater than or equal to 1"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        FastAlign(**options)


def test_a_damaged_line_is_an_error(programs, tmp_path):
    aligner = FastAlign(bin_dir=programs)
    align(aligner, tmp_path / "work")
    (programs / "fast_align").write_text("#!/bin/sh\necho 'a ||| b ||| 0-0'\n")
    with pytest.raises(PortmertError, match=r"wrote a damaged forward\.links:1"):
        align(aligner, tmp_path / "work", ["a"], ["b"])
