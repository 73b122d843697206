from __future__ import annotations

from dataclasses import replace

import pytest

from portmert.aligners._base import parse_links
from portmert.aligners._symmetrize import symmetrize
from portmert.aligners.eflomal import Eflomal
from portmert.tuner.base.errors import PortmertError
from portmert.tuner.base.model_folders import read_record
from tests.support.aligner_programs import DATA, SOURCE, TARGET, align, recorded_bitext


@pytest.mark.parametrize("heuristic", ["grow-diag-final-and", "srctotgt", "tgttosrc"])
def test_links_of_the_recorded_bitext_are_those_of_eflomal(programs, tmp_path, heuristic):
    source, target = recorded_bitext()
    aligner = Eflomal(bin_dir=programs, symmetrization=heuristic)
    found = align(aligner, tmp_path / "work", source, target)
    ways = [
        [parse_links(line) for line in (DATA / "eflomal" / way).read_text().splitlines()]
        for way in ("forward", "reverse")
    ]
    for row, by_target, by_source in zip(found, *ways, strict=True):
        assert row == symmetrize(heuristic, by_source=by_source, by_target=by_target)


def test_each_direction_links_a_word_once(either, tmp_path):
    for heuristic, side in (("srctotgt", 0), ("tgttosrc", 1)):
        found = align(
            Eflomal(bin_dir=either, symmetrization=heuristic, length=0.1), tmp_path / "work"
        )
        assert any(found)
        assert all(len({link[side] for link in row}) == len(row) for row in found)


def test_the_same_pairs_get_the_same_links_again(either, tmp_path):
    aligner = Eflomal(bin_dir=either, length=0.1)
    work = tmp_path / "work"
    first, part = align(aligner, work), align(aligner, work, SOURCE[:9], TARGET[:9])
    assert align(aligner, work) == first
    assert align(aligner, work, SOURCE[:9], TARGET[:9]) == part
    assert len(list(work.glob("eflomal-*.links"))) == 2
    # Another heuristic is another question.
    union = align(replace(aligner, symmetrization="union"), work)
    assert union != first  # real eflomal draws its seed anew: which has more links is chance


def test_priors_are_kept_and_text_is_not(programs, tmp_path):
    align(Eflomal(bin_dir=programs), tmp_path / "work")
    [folder] = (path for path in (tmp_path / "work").iterdir() if path.is_dir())
    notes = read_record(folder)["notes"]
    assert (notes["pairs"], notes["pairs_left_out"]) == (60, 0)
    assert {path.name for path in folder.iterdir()} == {
        *("priors", "model.json", "eflomal-align.log", "eflomal-makepriors.log"),
    }


def test_saved_priors_are_used(programs, tmp_path):
    (tmp_path / "s").write_text("\n".join(SOURCE) + "\n")
    (tmp_path / "t").write_text("\n".join(TARGET) + "\n")
    trains = Eflomal(
        bin_dir=programs,
        train_source=tmp_path / "s",
        train_target=tmp_path / "t",
        saved=tmp_path / "kept",
    )
    first = align(trains, tmp_path / "w", SOURCE[:5], TARGET[:5])
    (programs / "eflomal-makepriors").unlink()
    loads = Eflomal(bin_dir=programs, saved=tmp_path / "kept")
    assert align(loads, tmp_path / "other", SOURCE[:5], TARGET[:5]) == first
    with pytest.raises(PortmertError, match="holds a model eflomal original 3, but eflomal"):
        align(replace(loads, model=1), tmp_path / "w")


def test_a_line_that_eflomal_would_read_as_empty_is_an_error(programs, tmp_path):
    aligner = Eflomal(bin_dir=programs)
    align(aligner, tmp_path / "work")
    message = "pair 2: 1 and 1024 tokens, eflomal takes at most 1023; split the line"
    with pytest.raises(PortmertError, match=message):
        align(aligner, tmp_path / "work", ["a", "b"], ["x", " ".join("y" * 1024)])


@pytest.mark.parametrize("name", ["eflomal-align", "eflomal-makepriors"])
def test_a_failing_program_leaves_a_log_alone(programs, tmp_path, monkeypatch, name):
    monkeypatch.setenv("RECORDED_ALIGNER_FAULT", f"{name}:exit")
    with pytest.raises(PortmertError, match=f"{name} ended with status 3: {name} is") as caught:
        align(Eflomal(bin_dir=programs), tmp_path / "work")
    [log] = (tmp_path / "work").iterdir()
    assert str(caught.value).endswith(f"; its log is {log}")


def test_missing_links_are_an_error(programs, tmp_path, monkeypatch):
    aligner = Eflomal(bin_dir=programs)
    align(aligner, tmp_path / "work", SOURCE[:2], TARGET[:2])
    monkeypatch.setenv("RECORDED_ALIGNER_FAULT", "eflomal-align:short")
    with pytest.raises(PortmertError, match="eflomal-align aligned 59 of 60 pairs: no message"):
        align(replace(aligner, saved=next((tmp_path / "work").glob("eflomal-*/"))), tmp_path / "w")


def test_nothing_to_train_on_is_an_error(programs, tmp_path):
    with pytest.raises(PortmertError, match="eflomal: no pair to train on: 1 pair, none with 1"):
        align(Eflomal(bin_dir=programs), tmp_path / "work", [""], ["b"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": 4}, "model\n  Input should be less than or equal to 3"),
        ({"length": 0}, "length\n  Input should be greater than 0"),
        ({"samplers": 0}, "samplers\n  Input should be greater than or equal to 1"),
        ({"null_prior": 1}, "null_prior\n  Input should be less than 1"),
        ({"vocab_size": 0}, "vocab_size\n  Input should be greater than or equal to 1"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Eflomal(**options)
