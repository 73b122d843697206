from __future__ import annotations

import json
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from portmert.aligners._base import parse_links
from portmert.extensions.giza import giza
from portmert.extensions.giza.giza import Giza
from portmert.tuner.base.errors import PortmertError
from portmert.tuner.base.model_folders import read_record
from portmert.tuner.base.programs import Command
from tests.support.aligner_programs import (
    DATA,
    PAIRS,
    SOURCE,
    TARGET,
    align,
    install,
    real,
    recorded_bitext,
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """One bitext trained once: the folder of its programs, its working folder."""
    folder = tmp_path_factory.mktemp("kept")
    programs = install(folder / "bin")
    align(Giza(bin_dir=programs), folder / "work")
    return programs, folder / "work"


@pytest.fixture
def trained(kept, tmp_path):
    """An aligner and a working folder of the test's own where its model lies trained."""
    shutil.copytree(kept[1], tmp_path / "work")
    return Giza(bin_dir=kept[0]), tmp_path / "work"


def test_links_of_the_recorded_bitext_are_those_of_mgiza_and_symal(programs, tmp_path):
    source, target = recorded_bitext()
    for heuristic in ("grow-diag-final-and", "srctotgt", "tgttosrc"):
        aligner = Giza(bin_dir=programs, symmetrization=heuristic, threads=4)
        links = align(aligner, tmp_path / "work", source, target)
        lines = (DATA / "giza" / f"symal.{heuristic}").read_text().splitlines()
        assert links == [parse_links(line) for line in lines], heuristic


def test_links_of_the_recorded_bitext_are_those_of_the_real_programs(tmp_path):
    source, target = recorded_bitext()
    links = align(Giza(bin_dir=real("giza")), tmp_path, source, target)
    lines = (DATA / "giza" / "symal.grow-diag-final-and").read_text().splitlines()
    assert links == [parse_links(line) for line in lines]


def test_recorded_programs_write_what_the_real_ones_wrote(programs, tmp_path):
    for side in ("source", "target"):
        shutil.copy(DATA / side, tmp_path)
    commands = [
        (
            "plain2snt source target -vcb1 source.vcb -vcb2 target.vcb "
            "-snt1 source-target.snt -snt2 target-source.snt"
        ),
        "snt2cooc source-target.cooc source.vcb target.vcb source-target.snt",
        "mkcls -n2 -c50 -psource -Vsource.vcb.classes opt",
        "mkcls -n2 -c50 -ptarget -Vtarget.vcb.classes opt",
    ]
    for command in commands:
        name, *arguments = command.split()
        subprocess.run([programs / name, *arguments], cwd=tmp_path, check=True)
    written = ["source.vcb", "target.vcb", "source-target.snt", "target-source.snt"]
    written += ["source-target.cooc", "source.vcb.classes", "target.vcb.classes"]
    for name in written:
        assert (tmp_path / name).read_bytes() == (DATA / "giza" / name).read_bytes(), name


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ibm4": 0},
        {"ibm3": 0, "threads": 1},
        {"ibm3": 0, "ibm4": 0, "threads": 5, "training_threads": 2},
        {"hmm": 0, "ibm3": 0, "ibm4": 0, "options": ""},
    ],
)
def test_every_schedule_trains_and_aligns_again(either, tmp_path, options):
    aligner = Giza(bin_dir=either, **options)
    first = align(aligner, tmp_path / "work")
    assert sum(map(len, first)) > len(PAIRS)
    # In another order and company, with words never seen, a pair keeps its links.
    source, target = [*SOURCE[30:10:-1], "neu Haus"], [*TARGET[30:10:-1], "new house"]
    again = align(aligner, tmp_path / "work", source, target)
    assert again[:-1] == first[30:10:-1]
    assert all(s < 2 and t < 2 for s, t in again[-1])


def test_a_second_call_trains_nothing(trained, programs):
    aligner, work = trained
    [folder] = work.iterdir()
    assert read_record(folder)["notes"] == {"pairs": 60, "pairs_left_out": 0}
    for name in ("mkcls", "plain2snt"):  # training alone needs them
        (programs / name).unlink()
    assert any(align(replace(aligner, bin_dir=programs), work, SOURCE[:3], TARGET[:3]))
    assert list(work.iterdir()) == [folder]


def test_runs_at_the_same_time_do_not_disturb_each_other(kept, programs, tmp_path):
    aligner = Giza(bin_dir=programs)
    expected = align(Giza(bin_dir=kept[0]), kept[1])
    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(align, aligner, tmp_path / "work") for _ in range(3)]
    assert [run.result() for run in runs] == [expected] * 3
    [folder] = (tmp_path / "work").iterdir()  # each trained aside, one was kept
    assert read_record(folder) is not None


def test_only_what_aligning_needs_is_kept(kept):
    [folder] = kept[1].iterdir()
    ends = ("t3.final", "a3.final", "d3.final", "n3.final", "p0_3.final", "d4.final", "D4.final")
    hmm = ("hhmm.5", "hhmm.5.alpha", "hhmm.5.beta")
    expected = {"model.json", "plain2snt.log"}
    for way in ("source-target", "target-source"):
        expected |= {f"{way}.{end}" for end in (*ends, *hmm, "log")} | {f"snt2cooc-{way}.log"}
    for side in ("source", "target"):
        expected |= {f"{side}.vcb", f"{side}.vcb.classes", f"mkcls-{side}.log"}
    assert {path.name for path in folder.iterdir()} == expected


def test_saved_tables_are_used_as_they_were_trained(programs, tmp_path):
    (tmp_path / "s").write_text("\n".join(SOURCE) + "\n")
    (tmp_path / "t").write_text("\n".join(TARGET) + "\n")
    bitext = {"train_source": tmp_path / "s", "train_target": tmp_path / "t"}
    trains = Giza(bin_dir=programs, ibm4=0, saved=tmp_path / "kept", **bitext)
    first = align(trains, tmp_path / "w", SOURCE[:5], TARGET[:5])
    # Its own iterations say nothing about tables that are there: those of the folder do.
    loads = Giza(bin_dir=programs, saved=tmp_path / "kept")
    assert align(loads, tmp_path / "w", SOURCE[:5], TARGET[:5]) == first
    with pytest.raises(PortmertError, match="kept: was trained with another ibm4; remove it"):
        align(replace(trains, ibm4=3), tmp_path / "w")
    with pytest.raises(PortmertError, match="nothing: no trained model there; name a training"):
        align(replace(loads, saved=tmp_path / "nothing"), tmp_path / "w")


def test_a_line_that_mgiza_would_cut_off_is_an_error(trained):
    aligner, work = trained
    source, target = ["", "a b", " ".join("a" * 101)], ["x", "x y", "x"]
    message = "pair 3: 101 and 1 tokens, MGIZA.. takes at most 100; split the line, or choose"
    with pytest.raises(PortmertError, match=message):
        align(aligner, work, source, target)
    source[2], target[2] = " ".join("a" * 100), " ".join("x" * 100)
    assert len(align(aligner, work, source, target)) == 3


def test_a_pair_of_very_unequal_length_has_links_of_one_direction(either, tmp_path):
    # Nine words are the most that one word generates. The tenth and all would be cut off.
    aligner = Giza(bin_dir=either, ibm4=0, ibm3=0, symmetrization="union")
    word = SOURCE[0].split()[0]
    source, target = [*SOURCE, word, word], [*TARGET, TARGET[0], TARGET[0]]
    target[-2] = " ".join((TARGET[0].split() * 9)[:9])
    target[-1] = " ".join((TARGET[0].split() * 9)[:10])
    links = align(aligner, tmp_path / "work", source, target)
    assert len(links[-2]) > 1
    assert len(links[-1]) == 1  # source words' links: one at most
    [folder] = (tmp_path / "work").glob("giza-*")
    assert read_record(folder)["notes"] == {"pairs": 61, "pairs_left_out": 1}


def test_nothing_to_train_on_is_an_error(programs, tmp_path):
    aligner = Giza(bin_dir=programs)
    message = "giza: no pair to train on: 2 pairs, none with 1 to 100 tokens on both sides"
    with pytest.raises(PortmertError, match=message):
        align(aligner, tmp_path / "work", ["", "a"], ["b", " ".join("x" * 10)])
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("mkcls:exit", "mkcls ended with status 3: mkcls is reading / no memory left; its log is"),
        ("plain2snt:signal", "plain2snt was killed by SIGSEGV: no message; its log is"),
        ("mgiza:exit", "mgiza ended with status 3: mgiza is reading / no memory left; its log"),
        ("mgiza:silent", "mgiza wrote no source-target.*: no message; its log is"),
    ],
)
def test_a_program_that_fails_in_training_leaves_a_log_alone(
    programs, tmp_path, monkeypatch, fault, message
):
    monkeypatch.setenv("RECORDED_ALIGNER_FAULT", fault)
    with pytest.raises(PortmertError, match=message) as caught:
        align(Giza(bin_dir=programs, threads=1), tmp_path / "work")
    assert len(str(caught.value).splitlines()) == 1
    [log] = (tmp_path / "work").iterdir()
    assert str(caught.value).endswith(f"; its log is {log}")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("mgiza:short", "mgiza aligned 59 of 60 pairs"),
        ("mgiza:silent", "mgiza aligned 0 of 60 pairs"),
        ("snt2cooc:exit", "snt2cooc ended with status 3"),
    ],
)
def test_a_program_that_fails_in_aligning_is_an_error(trained, monkeypatch, fault, message):
    aligner, work = trained
    monkeypatch.setenv("RECORDED_ALIGNER_FAULT", fault)
    with pytest.raises(PortmertError, match=message):
        align(aligner, work)
    names = {path.name.split("-")[0] for path in work.iterdir()}
    assert names == {"giza", fault.split(":")[0]}  # the tables and the logs, no scratch


def test_programs_are_sought_on_path_or_in_a_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    program = tmp_path / "mgiza"
    missing = r"the program mgiza is not on PATH; install MGIZA\+\+ .*, or set bin_dir"
    with pytest.raises(PortmertError, match=missing):
        Giza()._program("mgiza")
    program.write_text("")  # there, but no program
    with pytest.raises(PortmertError, match="holds no program mgiza; set bin_dir to where MGIZA"):
        Giza(bin_dir=tmp_path)._program("mgiza")
    program.chmod(0o755)
    assert Giza()._program("mgiza") == program
    monkeypatch.chdir(tmp_path.parent)
    assert Giza(bin_dir=Path(tmp_path.name))._program("mgiza") == program


def test_missing_programs_are_named(tmp_path):
    with pytest.raises(PortmertError, match="holds no program mkcls; set bin_dir to where MGIZA"):
        align(Giza(bin_dir=tmp_path), tmp_path / "work")


def test_a_damaged_vocabulary_is_an_error(trained):
    aligner, work = trained
    [vocabulary] = work.glob("*/source.vcb")
    vocabulary.write_text("2 a 1\nnonsense\n")
    with pytest.raises(PortmertError, match=r"source\.vcb: is damaged, its digest is not"):
        align(aligner, work)
    record = vocabulary.with_name("model.json")  # one of before there were digests
    record.write_text(json.dumps({**json.loads(record.read_text()), "files": {}}))
    with pytest.raises(PortmertError, match=r"source\.vcb:2: not a vocabulary of GIZA"):
        align(aligner, work)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ibm1": 0}, "ibm1 is 0: every other model starts from IBM model 1"),
        ({"hmm": 0}, "hmm is 0: IBM models 3 and 4 start from the HMM"),
        ({"ibm3": -1}, "ibm3\n  Input should be greater than or equal to 0"),
        ({"classes": 0}, "classes\n  Input should be greater than or equal to 1"),
        ({"threads": 0}, "threads\n  Input should be greater than or equal to 1"),
        ({"options": "-p0"}, "options: '-p0' has no value"),
        ({"options": "p0 1"}, "options: 'p0' is no name of an option"),
        ({"options": "-p0 1 -m1 9"}, "options: -m1 is not yours to set, the aligner does it"),
        ({"options": "-Previous_T x"}, "options: -Previous_T is not yours to set"),
        ({"train_source": Path("s")}, "train_source and train_target go together"),
        ({"subword": Path("m"), "vocab_size": 9}, "subword names a model and vocab_size trains"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Giza(**options)


# Classes of mkcls and MGIZA++'s fertilities depend on how words are written; model 1 does not.
MODEL_1 = {"hmm": 0, "ibm3": 0, "ibm4": 0}


def test_special_tokens_align_as_ordinary_ones(either, tmp_path):
    odd = ["a\u00a0b", "a\u3000b", "a\x1cb", "@escaped:x", "#", "%s", "a\x00b"]
    special = [*sorted(giza.SPECIAL), *odd]

    def renamed(lines):
        words = sorted({word for line in lines for word in line.split()})
        names = dict(zip(words, special, strict=False))
        return [" ".join(names.get(word, word) for word in line.split()) for line in lines]

    aligner = Giza(bin_dir=either, **MODEL_1)
    plain = align(aligner, tmp_path / "plain")
    assert align(aligner, tmp_path / "special", renamed(SOURCE), renamed(TARGET)) == plain


def test_pieces_are_projected_to_words(programs, tmp_path):
    rows = align(Giza(bin_dir=programs, vocab_size=150), tmp_path / "work")
    assert any(rows)
    for row, pair in zip(rows, PAIRS, strict=True):
        assert row == sorted(set(row))
        assert all(s < len(pair.source) and t < len(pair.target) for s, t in row)


def a3(number, source, target, links):
    groups = [f"NULL ({{ {''.join(f'{j} ' for j in links.get(0, ()))}}})"]
    groups += [
        f"{word} ({{ {''.join(f'{j} ' for j in links.get(i, ()))}}})"
        for i, word in enumerate(source.split(), 1)
    ]
    header = f"# Sentence pair ({number}) source length 1 target length 1 alignment score : 0.5"
    return f"{header}\n{target} \n{' '.join(groups)} \n"


@pytest.fixture
def parts(tmp_path):
    folder = tmp_path / "room"
    folder.mkdir()
    (folder / "x.log").write_text("mgiza\nProgram Finished\n")
    (folder / "x.A3.final.part000").write_text(a3(2, "a b", "c", {2: [1]}) + a3(3, "a", "b", {}))
    (folder / "x.A3.final.part001").write_text(a3(1, "a b", "c d e", {0: [2], 1: [1, 3]}))
    return folder


LENGTHS = [(2, 3), (2, 1), (1, 1)]


def test_parts_are_read_in_the_order_of_their_numbers(parts):
    links = giza.read_links(Command(["mgiza"], parts / "x.log"), "x", "A3.final", LENGTHS)
    assert links == [[(0, 0), (0, 2)], [(1, 0)], []]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text + a3(1, "a b", "c d e", {}), "aligned pair 1 twice"),
        (lambda text: text.replace("(1)", "(4)"), "aligned another pair 4 than it was given"),
        (lambda text: text.replace("c d e", "c d"), "aligned another pair 1 than it was given"),
        (lambda _: "", "aligned 2 of 3 pairs: Program Finished; its log is"),
        (lambda text: text[: text.index("NULL")], "wrote a damaged x.A3.final.part001:1"),
        (lambda text: text.replace("#", "*"), "wrote a damaged x.A3.final.part001:1"),
    ],
)
def test_damaged_links_are_an_error(parts, change, message):
    path = parts / "x.A3.final.part001"
    path.write_text(change(path.read_text()))
    with pytest.raises(PortmertError, match=re.escape(message)):
        giza.read_links(Command(["mgiza"], parts / "x.log"), "x", "A3.final", LENGTHS)
