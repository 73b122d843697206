import os
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from portmert.metrics._base import Vocabulary
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import ConfigError, InputError, ProgramError
from portmert.tuner.base.programs import Command, run
from portmert.tuner.components import registry
from portmert.tuner.decoders._moses_command import flag_sections, parse_shown, wrapped
from portmert.tuner.decoders.moses import Moses
from portmert.tuner.nbest.check import model_score_mismatch
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights
from portmert.tuner.weights.moses_ini import read_moses_ini
from tests.support.places import INVENTED
from tests.support.real_moses import real_system

RECORDED = INVENTED / "recorded"
PROGRAM = INVENTED / "recorded" / "recorded_moses"


@pytest.fixture(params=["recorded", "real"])
def system(request, tmp_path):
    """A Moses and a source of at least five lines."""
    if request.param == "real":
        return real_system(tmp_path)
    return Moses(config=RECORDED / "moses.ini", program=PROGRAM, threads=1), RECORDED / "dev.src"


def decode(decoder, source, tmp_path, *, weights=None, size=20, out="list"):
    seen = []
    with using(progress=lambda _, *step: seen.append(step)):
        decoder.decode(
            weights or decoder.read_weights(),
            source=source,
            size=size,
            out=tmp_path / out,
            workdir=tmp_path / "work",
        )
    return seen


def test_start_weights_are_the_tuneable_ones_of_moses_ini(system):
    decoder, _ = system
    weights = decoder.read_weights()
    of_ini = read_weights(decoder.config).values
    assert "UnknownWordPenalty0" in of_ini
    assert {**weights.values, "UnknownWordPenalty0": (1.0,)} == of_ini


def test_list_has_all_features_links_and_the_scores_of_the_weights(system, tmp_path):
    decoder, source = system
    weights = decoder.read_weights()
    changed = FeatureWeights(
        {name: tuple(0.7 * v + 0.01 for v in values) for name, values in weights.values.items()}
    )
    for number, given in enumerate((weights, changed)):
        decode(decoder, source, tmp_path, weights=given, out=f"list{number}")
        nbest = read_nbest([tmp_path / f"list{number}"], Vocabulary())
        assert nbest.feature_names == weights.names
        assert nbest.texts.links is not None
        assert not model_score_mismatch(nbest, given)
    assert (tmp_path / "list0").read_bytes() != (tmp_path / "list1").read_bytes()


def test_jobs_and_threads_change_no_byte(system, tmp_path):
    decoder, source = system
    decode(decoder, source, tmp_path, out="one")
    for jobs, threads in ((3, 1), (1, 2)):
        other = replace(decoder, jobs=jobs, threads=threads)
        decode(other, source, tmp_path, out="other")
        assert (tmp_path / "other").read_bytes() == (tmp_path / "one").read_bytes()


def test_written_moses_ini_differs_in_the_weights_alone_and_reads_back(system, tmp_path):
    decoder, _ = system
    weights = FeatureWeights(
        {n: tuple(v / 3 for v in values) for n, values in decoder.read_weights().values.items()}
    )
    decoder.write_config(weights, tmp_path / "tuned.ini", header="Tuned by portmert\non port")
    before = decoder.config.read_text().splitlines()
    first, second, *after = (tmp_path / "tuned.ini").read_text().splitlines()
    assert (first, second) == ("# Tuned by portmert", "# on port")
    changed = [a.split("=")[0] for a, b in zip(before, after, strict=True) if a != b]
    assert sorted(changed) == sorted(weights.values)
    tuned = replace(decoder, config=tmp_path / "tuned.ini")
    if decoder.program == PROGRAM:
        for name in ("1.nbest.gz", "2.nbest.gz", "dev.src"):
            shutil.copy(RECORDED / name, tmp_path)
    assert tuned.read_weights() == weights


def test_written_moses_ini_has_the_flags_under_names_that_moses_reads(tmp_path):
    # Moses takes a section [s] or [dl] for what it does not know, without a word.
    ini = (RECORDED / "moses.ini").read_text() + "\n[distortion-limit]\n6\n"
    for name in ("1.nbest.gz", "2.nbest.gz", "dev.src"):
        shutil.copy(RECORDED / name, tmp_path)
    decoder = recorded(tmp_path, ini, flags="-s 50 -dl 0 -search-algorithm 1 -v 0")
    decoder.write_config(decoder.read_weights(), tmp_path / "tuned.ini", header="")
    found, given = read_moses_ini(tmp_path / "tuned.ini"), read_moses_ini(decoder.config)
    added = {
        "distortion-limit": ["0"], "stack": ["50"], "search-algorithm": ["1"], "verbose": ["0"],
    }  # fmt: skip
    for section in {*given.sections, *found.sections} - {"weight"}:
        assert found.values(section) == added.get(section, given.values(section)), section


def test_a_switch_without_a_value_is_true_in_moses_ini():
    assert flag_sections("-mbr -T 'a file' --drop-unknown -tot -2.5") == {
        "minimum-bayes-risk": ["true"],
        "translation-details": ["a file"],
        "drop-unknown": ["true"],
        "translation-option-threshold": ["-2.5"],
    }


def test_moses_reads_the_flags_from_the_moses_ini_that_is_written(tmp_path):
    decoder, source = real_system(tmp_path)
    source.write_text("das neue haus\n")
    for flags, output in (
        ("", "the house neue \n"),
        ("-dl 0", "the neue house \n"),
        ("-du -s 20", "the house \n"),
    ):
        tuned = replace(decoder, flags=flags)
        tuned.write_config(tuned.read_weights(), tmp_path / "tuned.ini", header="")
        command = [decoder.program, "-f", tmp_path / "tuned.ini", "-i", source]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        assert said.stdout == output


def test_logs_stay_and_other_scratch_files_do_not(system, tmp_path):
    decoder, source = system
    decode(replace(decoder, jobs=2, flags="-v 1"), source, tmp_path)
    assert [p.name for p in sorted((tmp_path / "work").iterdir())] == [
        "moses-1.log", "moses-2.log",
    ]  # fmt: skip
    assert "-n-best-list" in (tmp_path / "work" / "moses-1.log").read_text().splitlines()[0]


def recorded(tmp_path, ini="", **options):
    path = RECORDED / "moses.ini"
    if ini:
        path = tmp_path / "moses.ini"
        path.write_text(ini)
    return Moses(config=path, program=PROGRAM, **{"threads": 1, **options})


LISTS = """0 ||| a b ||| LM0= -1 TM0= -2 -3 wt_x= 1 ||| 0 ||| 0-0 1-1
0 ||| b ||| LM0= -1.5 TM0= -1 -1 ||| 0 ||| 0-0
1 ||| c ||| LM0= -2 TM0= -1 -2 wt_y= 2 ||| 0 ||| 0-0
"""
SMALL = """[recorded-lists]
list
[recorded-source]
src
[feature]
KENLM name=LM0
PhraseDictionaryMemory name=TM0 num-features=3 tuneable-components=true,false,true
[weight]
LM0= 0.123456789
TM0= 1 2 3
Unk0= 5
"""


@pytest.fixture
def small(tmp_path):
    (tmp_path / "list").write_text(LISTS)
    (tmp_path / "src").write_text("x y\nz\n")
    # The lists have the two tuneable components; the program is told of three by moses.ini.
    return recorded(tmp_path, SMALL)


def test_untuneable_components_keep_their_weight(small, tmp_path):
    weights = small.read_weights()
    assert weights.values == {"LM0": (0.123456789,), "TM0": (1.0, 3.0)}
    assert small.shown_features().untuneable == ("Unk0",)
    assert small.shown_features().overwrite(weights) == "LM0= 0.123456789 TM0= 1.0 x 3.0"
    small.write_config(
        FeatureWeights({"LM0": (2.0,), "TM0": (7.0, 8.0)}), tmp_path / "new.ini", header=""
    )
    assert (tmp_path / "new.ini").read_text() == SMALL.replace("0.123456789", "2.0").replace(
        "TM0= 1 2 3", "TM0= 7.0 2 8.0"
    )
    decode(small, tmp_path / "src", tmp_path, weights=weights, out="out")
    scores = read_nbest([tmp_path / "out"], Vocabulary()).model_scores
    expected = [-1.5 * 0.123456789 - 4, -0.123456789 - 11, -2 * 0.123456789 - 7]
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


def test_more_jobs_than_segments_are_as_many_as_segments(small, tmp_path):
    decode(small, tmp_path / "src", tmp_path, out="one")
    decode(replace(small, jobs=99), tmp_path / "src", tmp_path, out="many")
    assert (tmp_path / "many").read_bytes() == (tmp_path / "one").read_bytes()


def test_sparse_weights_reach_the_decoder_and_the_tuned_moses_ini(small, tmp_path):
    weights = FeatureWeights({"LM0": (1.0,), "TM0": (0.0, 0.0), "wt_x": (-5.0,), "wt_y": (0.5,)})
    decode(small, tmp_path / "src", tmp_path, weights=weights, out="out")
    assert (tmp_path / "out").read_text().splitlines()[0].startswith("0 ||| b ")
    small.write_config(weights, tmp_path / "tuned.ini", header="")
    assert (
        f"[weight-file]\n{tmp_path / 'tuned.ini.sparse'}\n" in (tmp_path / "tuned.ini").read_text()
    )
    tuned = replace(small, config=tmp_path / "tuned.ini")
    assert tuned.read_weights() == weights
    # To Moses, what [weight] says of a sparse feature goes before a file: it is changed there.
    with_own = recorded(tmp_path, SMALL + "wt_x= 3\n")
    assert with_own.read_weights().values["wt_x"] == (3.0,)
    decode(with_own, tmp_path / "src", tmp_path, weights=weights, out="again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "out").read_bytes()


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("exit", "ended with status 3: Loading table / Exception: phrase-table.gz is dam"),
        ("signal", "was killed by SIGKILL"),
        ("silent", "wrote no n-best list"),
        ("empty", "empty file, expected an n-best list"),
        ("short", "1 of 40 segments have no hypothesis (ids 39); give the whole list"),
        ("zeros", "all feature values are 0"),
        ("no-words", "every hypothesis is empty"),
        ("hang", "wrote nothing for 4 s (timeout_seconds) and was ended"),
        ("closed", "wrote nothing for 4 s (timeout_seconds) and was ended"),
        ("endless", "more than 2600 lines to moses.nbest, where 20 were asked for of each of 40"),
    ],
)
def test_a_failing_decoder_is_one_readable_error(tmp_path, monkeypatch, fault, problem):
    monkeypatch.setenv("RECORDED_MOSES_FAULT", fault)
    with pytest.raises(ProgramError) as caught:
        decode(
            recorded(tmp_path, timeout_seconds=4 if "wrote nothing" in problem else 600),
            RECORDED / "dev.src",
            tmp_path,
        )
    message = str(caught.value)
    assert message.startswith("recorded_moses ")
    assert problem in message
    log = tmp_path / "work" / "moses.log"
    assert f"its log is {log}" in message
    assert log.read_text().startswith(f"{PROGRAM} -config {RECORDED / 'moses.ini'} -weight-over")
    assert "\n" not in message
    assert not (tmp_path / "list").exists()


def test_a_failing_job_ends_the_others(tmp_path, monkeypatch):
    monkeypatch.setenv("RECORDED_MOSES_FAULT", "signal")
    with pytest.raises(ProgramError, match="was killed by SIGKILL"):
        decode(recorded(tmp_path, jobs=4), RECORDED / "dev.src", tmp_path)
    assert not (tmp_path / "list").exists()


def test_a_decoder_that_is_not_there(tmp_path):
    with pytest.raises(ProgramError, match="there is no such decoder, and no mosess on PATH; nam"):
        replace(recorded(tmp_path), program=tmp_path / "mosess").read_weights()
    with pytest.raises(InputError, match=r"gone\.ini: No such file or directory"):
        replace(recorded(tmp_path), config=tmp_path / "gone.ini").read_weights()


def test_a_config_that_moses_refuses(tmp_path):
    decoder = recorded(tmp_path, "[nonsense]\n1\n")
    with pytest.raises(ProgramError, match="ended with status 1: Unknown parameter nonse"):
        decoder.read_weights()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"flags": "-f other.ini"}, "flags has -f, which is set by config; leave it out"),
        ({"flags": "--weight-overwrite 'LM0= 1'"}, "flags has -weight-overwrite, which is set by"),
        ({"flags": "-inputtype 1"}, "flags has -inputtype 1: a confusion network takes several"),
        ({"flags": "'"}, "flags: No closing quotation"),
        ({"command": '"'}, "command: No closing quotation"),
        ({"jobs": 0}, "jobs: Input should be greater than or equal to 1, found 0"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        registry.decoder("moses", {"config": "moses.ini", **options})


def test_wrappers():
    command = ["moses", "-weight-overwrite", "LM0= 0.5"]
    assert wrapped("", command) == tuple(command)
    assert wrapped("nice -n 10", command) == ("nice", "-n", "10", *command)
    quoted = "moses -weight-overwrite 'LM0= 0.5'"
    assert wrapped("ssh -p 22 host", command) == ("ssh", "-p", "22", "host", quoted)
    assert wrapped("qrsh -cwd 'cd x; {command}'", command) == ("qrsh", "-cwd", f"cd x; {quoted}")


def test_a_wrapper_that_hands_a_string_to_a_shell(tmp_path):
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text('#!/bin/sh\nshift\necho "Welcome" >&2\nexec sh -c "$*"\n')
    ssh.chmod(0o755)
    plain = recorded(tmp_path)
    decode(plain, RECORDED / "dev.src", tmp_path, out="plain")
    for command in (f"{ssh} host", f"{ssh} host '{{command}}'", "nice -n 1"):
        decode(replace(plain, command=command), RECORDED / "dev.src", tmp_path, out="other")
        assert (tmp_path / "other").read_bytes() == (tmp_path / "plain").read_bytes()
    with pytest.raises(ProgramError, match="nowhere: cannot be started: No such file"):
        decode(replace(plain, command=f"{tmp_path}/nowhere"), RECORDED / "dev.src", tmp_path)


def test_what_else_is_printed_beside_the_weights_is_left_out():
    text = "Starting...\nA0= 1 2\nB0 UNTUNEABLE\nC0=\nD0= UNTUNEABLECOMPONENT\nname: x\n"
    shown = parse_shown(text)
    assert shown.names == (("A0", 2),)
    assert shown.untuneable == ("B0", "D0")
    with pytest.raises(InputError, match="-show-weights: names no feature that can be tuned"):
        parse_shown("")
    with pytest.raises(InputError, match="-show-weights: weight of A0 is 'nan'"):
        parse_shown("A0= nan\n")


def test_bytes_that_are_no_utf8_reach_the_decoder_as_they_are(tmp_path):
    words = ("printf", "%s\n", os.fsdecode(b"a\x81b"))
    run(Command(words, tmp_path / "log", tmp_path / "out"))
    assert (tmp_path / "out").read_bytes() == b"a\x81b\n"
    assert (tmp_path / "log").read_bytes() == b"printf '%s\n' 'a\x81b'\n"
