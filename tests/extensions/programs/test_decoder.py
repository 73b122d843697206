"""Any program as a decoder: what it is told, what it answers, and what may go wrong."""

import json
import shutil

import pytest

from portmert.extensions.processes import pools
from portmert.metrics._base import Vocabulary
from portmert.tuner.base.errors import ConfigError, InputError, ProgramError
from portmert.tuner.components import registry
from portmert.tuner.nbest.model import model_scores
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.weights.feature_weights import FeatureWeights
from portmert.tuner.weights.weights_file import read_weights_file
from tests.support.places import TESTS

TOY = str(TESTS / "programs" / "toy_decoder")
SOURCE = ["alpha beta gamma", "delta", "", "epsilon zeta eta theta"]
START = {"am": 1.0, "lm": 0.5, "words": -0.25}
BY_FILE = (TOY, "--weights", "{weights}", "--size", "{size}", "--nbest", "{nbest}")


def build(*program, **options):
    options.setdefault("weights", START)
    options = {key: value for key, value in options.items() if value is not None}
    return registry.decoder("command", {"program": program or BY_FILE, **options})


def decode(decoder, tmp_path, *, weights=None, size=8, source=SOURCE, out="out"):
    path = tmp_path / "source"
    path.write_text("".join(f"{line}\n" for line in source))
    told = weights or decoder.read_weights()
    decoder.decode(
        told,
        source=path,
        size=size,
        out=tmp_path / out,
        workdir=tmp_path / "work",
    )
    nbest = read_nbest([tmp_path / out], Vocabulary(), segments=len(source))
    assert nbest.model_scores == pytest.approx(model_scores(nbest, told), rel=1e-9)
    return (tmp_path / out).read_text()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return decode(build(), tmp_path_factory.mktemp("expected"))


@pytest.mark.parametrize("form", ["cdec", "joshua", "travatar", "moses", "json", "plain"])
def test_every_form_of_weights_gives_the_same_lists(form, expected, tmp_path):
    assert decode(build(weights_format=form), tmp_path) == expected


@pytest.mark.parametrize("form", ["cdec", "travatar", "jsonl", "moses"])
@pytest.mark.parametrize("by_file", [True, False])
def test_every_format_of_lists_gives_the_same_lists(form, by_file, expected, tmp_path):
    program = BY_FILE if by_file else (TOY, "--weights", "{weights}", "--size", "{size}")
    found = decode(build(*program, "--form", form), tmp_path)
    assert [line.split(" ||| ")[:2] for line in found.splitlines()] == [
        line.split(" ||| ")[:2] for line in expected.splitlines()
    ]


def test_weights_as_arguments_and_the_source_as_a_file(expected, tmp_path):
    told = [f"{name}={{weight:{name}}}" for name in START]
    program = (TOY, "--source", "{source}", "--size={size}", "--set", *told)
    assert decode(build(*program), tmp_path) == expected


def test_a_template_is_filled(expected, tmp_path):
    template = tmp_path / "template"
    template.write_bytes(b"am {weight:am}\nlm= {weight:lm}\nwords={weight:words}\n")
    assert decode(build(template=template), tmp_path) == expected


def test_start_weights_from_a_file_are_told_in_its_form(expected, tmp_path):
    start = tmp_path / "start"
    start.write_text("am=1\nlm=0.5\nwords=-0.25\n")
    decoder = build(weights=None, start=start)
    assert decode(decoder, tmp_path) == expected
    decoder.write_config(decoder.read_weights(), tmp_path / "tuned", header="")
    assert (tmp_path / "tuned").read_text() == "am=1.0\nlm=0.5\nwords=-0.25\n"
    assert read_weights_file(tmp_path / "tuned").weights.plain() == START


def test_formulas_tell_the_program_what_it_wants(expected, tmp_path):
    given = START | {"ratio": "lm / am", "minus": "-exp(log(am)) * words", "scaled": "2 ** 3 * lm"}
    decoder = build(weights=given)
    assert decoder.read_weights().plain() == START
    told = decoder.sent_weights(decoder.read_weights()).plain()
    assert told == {"ratio": 0.5, "minus": 0.25, "scaled": 4.0}
    # The program knows other names and other units; formulas turn one into the other.
    told = ["am={weight:AM}", "lm={weight:LM}", "words={weight:W}"]
    names = START | {"AM": "am", "LM": "am * (lm / am)", "W": "words"}
    program = (TOY, "--size={size}", "--set", *told)
    assert decode(build(*program, weights=names), tmp_path) == expected


@pytest.mark.parametrize("jobs", [2, 3])
def test_jobs_change_no_byte(jobs, expected, tmp_path):
    assert decode(build(jobs=jobs), tmp_path) == expected


def test_a_program_that_stays_is_started_once(expected, tmp_path):
    decoder = build(TOY, "--lines", protocol="lines")
    try:
        first = decode(decoder, tmp_path)
        process = pools._by_key[decoder.program].idle[0]
        other = decode(decoder, tmp_path, weights=FeatureWeights.of(START | {"lm": -2}))
        assert other != first
        assert pools._by_key[decoder.program].idle == [process]
        assert process.runs
        assert decode(decoder, tmp_path) == first
    finally:
        decoder.close()
    assert not process.runs
    assert [line.split(" ||| ")[:2] for line in first.splitlines()] == [
        line.split(" ||| ")[:2] for line in expected.splitlines()
    ]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("dies", "toy_decoder ended with status 3: models are damaged; its log is"),
        ("fewer", "1 of 4 segments have no hypothesis"),
        ("nan", "lm is nan; values must be finite"),
        ("no-feature", "no feature lm, which has a weight"),
        ("hidden-words", "the score fits a weight of 0.06 of words, which was given -0.25"),
        ("normalised", "the score is divided by the number of words, the features are not"),
        ("other-weights", "the score fits the weights am 0.9, lm 0.1, words -0.2"),
        ("more-features", "feature oov has no start weight"),
        ("bytes", "is not UTF-8"),
        ("endless", "more than 1064 lines to command.nbest, where 8 were asked for of each of 4"),
        ("hangs", "wrote nothing for 1 s (timeout_seconds) and was ended"),
    ],
)
def test_a_faulty_program_is_one_line(fault, message, tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_FAULT", fault)
    seconds = 1 if fault == "hangs" else 600
    with pytest.raises(ProgramError) as raised:
        decode(build(timeout_seconds=seconds), tmp_path)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_scores_that_are_not_weights_times_features_may_be_ignored(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_FAULT", "normalised")
    decode(build(scored=False), tmp_path)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("dies", "source:3: the decoder process ended with status 3: models loaded; its log is"),
        ("fewer", "source:4: the decoder process is stuck: it gave no answer for 5 s"),
        ("order", 'answer 1 has id 3, expected {"id": 0, "hypotheses": [...]}'),
        ("none", "'hypotheses' is empty: a segment has at least one hypothesis"),
        ("bytes", "answer 1 is not UTF-8"),
        ("nan", "answer 1 is not JSON (NaN is no number of JSON)"),
        ("junk", "column 2 (char 1)): '{'id': 0}'"),
        ("no-feature", "no feature lm, which has a weight"),
        ("endless", "bytes, without an end of line"),
    ],
)
def test_a_faulty_program_that_stays_is_one_line(fault, message, tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_FAULT", fault)
    decoder = build(
        TOY, "--lines", protocol="lines", timeout_seconds=5 if fault == "fewer" else 600
    )
    try:
        with pytest.raises(ProgramError) as raised:
            decode(decoder, tmp_path)
    finally:
        decoder.close()
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"program": []}, "program is empty"),
        ({"program": [TOY, "{nbset}"]}, "program has {nbset}; did you mean 'nbest'?"),
        ({"program": [TOY], "format": "mose"}, "format: unknown reader 'mose'"),
        (
            {"program": [TOY], "weights": {"a": "lm +"}},
            "formula: it cannot be read on from here (column 5)",
        ),
        ({"program": [TOY], "weights": {"a": "lm.x"}}, "formula: cannot read '.' (column 3)"),
        (
            {"program": [TOY], "weights": {"a": "__import__('os')"}},
            "formula: found what is no value",
        ),
        ({"program": [TOY], "weights": {"a": "log(lm, **tm)"}}, "formula: found what is no value"),
        ({"program": [TOY], "weights": {"a": "lm"}}, "give numbers in [weights], or start"),
        ({"program": [TOY, "{size}"], "protocol": "lines"}, "no template and no {places}"),
    ],
)
def test_a_wrong_configuration_is_one_line(options, message):
    with pytest.raises(ConfigError) as raised:
        registry.decoder("command", {"weights": START, **options})
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("program", "template", "message"),
    [
        (
            (TOY, "{weights}"),
            "am {weight:am} lm {weight:lm}",
            "template: no place for weight words",
        ),
        (
            (TOY, "{weight:am}"),
            None,
            "[decoder] program: no place for weight lm; write {weight:lm}",
        ),
        ((TOY, "{weights}", "{weight:wrods}"), None, "feature wrods; did you mean 'words'?"),
        ((TOY, "{nbest}"), "{weight:am}", "no {weights}, the place of the filled template"),
    ],
)
def test_a_weight_without_a_place_is_found_first(program, template, message, tmp_path):
    options = {}
    if template is not None:
        options["template"] = tmp_path / "template"
        options["template"].write_text(template)
    with pytest.raises(InputError) as raised:
        build(*program, **options).read_weights()
    assert message in str(raised.value)


def test_a_weight_that_stands_twice(tmp_path):
    start = tmp_path / "start"
    start.write_text("am 1\nlm 2\nam 3\n")
    with pytest.raises(InputError, match="start:3: feature am stands twice"):
        build(weights=None, start=start).read_weights()


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("lm / (am - 1)", "has no value at am 1, lm 0.5, words -0.25: float division by zero"),
        ("log(words)", "math domain error"),
        ("words ** 0.5", "is no real number"),
        ("10 ** 10 ** 10", "Numerical result out of range"),
        ("lmm", "no weight lmm; did you mean 'lm'?"),
    ],
)
def test_a_formula_without_a_value_is_one_line(formula, message):
    decoder = build(weights=START | {"x": formula})
    with pytest.raises(InputError) as raised:
        decoder.read_weights()
    assert message in str(raised.value)


def test_a_program_that_is_not_there(tmp_path):
    with pytest.raises(ProgramError, match="cannot be started: No such file"):
        decode(build("no-such-decoder", "{weights}"), tmp_path)
    with pytest.raises(ProgramError, match="cannot be started: No such file"):
        decode(build("no-such-decoder", protocol="lines"), tmp_path)
    pools.end(("no-such-decoder",))


def test_named_segments_come_in_the_order_of_the_source(tmp_path):
    program = tmp_path / "named"
    lines = [
        json.dumps({"id": name, "text": name, "features": {"lm": -1.0}}) for name in ("b", "a")
    ]
    (tmp_path / "lists").write_text("\n".join(lines) + "\n")
    program.write_text(f"#!/bin/sh\ncat {tmp_path / 'lists'}\n")
    program.chmod(0o755)
    decoder = build(str(program), "{weights}", weights={"lm": 1.0})
    found = decode(decoder, tmp_path, source=["a first", "b second"])
    assert [line.split(" ||| ")[:2] for line in found.splitlines()] == [["0", "a"], ["1", "b"]]
    with pytest.raises(ProgramError, match="id 'b' not in the first words of the source's lines"):
        decode(decoder, tmp_path, source=["a first", "c second"])


@pytest.mark.skipif(shutil.which("false") is None, reason="programs: no false")
def test_a_program_without_a_list(tmp_path):
    with pytest.raises(ProgramError, match="false ended with status 1: no message"):
        decode(build("false", "{weights}"), tmp_path)
