from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from portmert.aligners import _thot
from portmert.extensions.demo._thot_worker import NAMES, Translator
from portmert.extensions.demo.thot import FEATURES, START, Thot
from portmert.metrics._base import Vocabulary
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import ConfigError, InputError, ProgramError, StateError
from portmert.tuner.base.model_folders import RECORD
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights
from tests.support.languages.grammar import generate

PAIRS = generate(312, seed=2)
TRAIN, DEV = PAIRS[:300], PAIRS[300:]
DEV_SOURCE = [" ".join(pair.source) for pair in DEV]


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decoder")
    made = Thot(
        train_source=write(folder / "s", [" ".join(pair.source) for pair in TRAIN]),
        train_target=write(folder / "t", [" ".join(pair.target) for pair in TRAIN]),
        model=folder / "model",
        iterations=3,
        processes=2,
    )
    made.train()
    return made


def decode(decoder, tmp_path, lines=DEV_SOURCE, *, weights=None, size=30):
    decoder.decode(
        weights or decoder.read_weights(),
        source=write(tmp_path / "source", lines),
        size=size,
        out=tmp_path / "out",
        workdir=tmp_path / "work",
    )
    return read_nbest([tmp_path / "out"], Vocabulary(), segments=len(lines))


@pytest.fixture(scope="module")
def listed(decoder, tmp_path_factory):
    """The list of the dev text under the start weights, and its file."""
    folder = tmp_path_factory.mktemp("listed")
    return decode(decoder, folder), folder / "out"


def task(decoder, weights=START):
    return {
        "folder": str(decoder.model),
        "aligner": decoder.aligner,
        "weights": list(weights),
        "model": {"non_monotonicity": 3, "a": 10, "w": 10.0, "heuristic": 6},
        "decoder": {"s": 10, "is_breadth_first": True},
    }


@pytest.mark.parametrize(
    "weights", [START, (-0.5, 2.0, 0.0, 0.3, -0.2, 0.7, 0.0, 0.8), (3.0, *START[1:-1], 0.0)]
)
def test_thots_own_score_differs_by_a_constant_of_the_segment(decoder, weights):
    # thot adds the score of the empty start, whose components are not in the list: log 0.7 as word
    # penalty, and a sentence length component of the segment. For a weight of 0 it takes 1e-6.
    effective = np.array([weight or 1e-6 for weight in weights])
    translator = Translator(task(decoder, weights))
    for line in DEV_SOURCE[:10]:
        found = translator._decoder.translate_n(line, 50)
        components = np.array([hypothesis.score_components for hypothesis in found])
        rest = np.array([hypothesis.score for hypothesis in found]) - components @ effective
        assert np.ptp(rest) < 1e-4
        start = rest[0] - effective[0] * np.log(0.7)
        assert (abs(start) < 1e-4) == (weights[-1] == 0)


def test_links_are_in_range_and_cover_both_sides(listed):
    nbest, _ = listed
    lengths = nbest.texts.tokens.lengths
    for segment, line in enumerate(DEV_SOURCE):
        for row in range(nbest.offsets[segment], nbest.offsets[segment + 1]):
            links = nbest.texts.links.row(row)
            assert links.min() >= 0
            assert links[:, 0].max() < len(line.split())
            assert links[:, 1].max() < lengths[row]
            assert len(links) >= min(len(line.split()), lengths[row]) / 2


def test_phrases_cover_every_word_once(listed):
    _, path = listed
    for line in path.read_text().splitlines():
        segment, words, _, _, phrases, links = line.split(" ||| ")
        covered = [[], []]
        for phrase in phrases.split():
            for side, span in enumerate(phrase.split("=")):
                first, _, last = span.partition("-")
                covered[side].append(range(int(first), int(last or first) + 1))
        spans = [[position for span in side for position in span] for side in covered]
        assert spans[1] == list(range(len(words.split())))
        assert sorted(spans[0]) == list(range(len(DEV_SOURCE[int(segment)].split())))
        for s, t in (map(int, link.split("-")) for link in links.split()):
            assert any(s in a and t in b for a, b in zip(*covered, strict=True))


def test_no_hypothesis_stands_twice(listed):
    nbest, path = listed
    lines = path.read_text().splitlines()
    assert len(lines) == len(nbest.texts)  # the reader drops what it has read before


def test_the_number_of_processes_and_repetition_change_nothing(decoder, listed, tmp_path):
    for processes in (1, 2):
        decode(replace(decoder, processes=processes), tmp_path)
        assert (tmp_path / "out").read_bytes() == listed[1].read_bytes()


def test_the_best_hypothesis_does_not_depend_on_the_size(decoder, listed, tmp_path):
    long, _ = listed
    short = decode(decoder, tmp_path, size=1)
    assert short.offsets.tolist() == list(range(len(DEV) + 1))
    first = long.texts.take(long.offsets[:-1])
    assert [first.words(s) for s in range(len(DEV))] == [
        short.texts.words(s) for s in range(len(DEV))
    ]


def test_weights_change_what_is_found(decoder, tmp_path):
    short = FeatureWeights.from_vector(FEATURES, (5.0, *START[1:]))
    lengths = [
        decode(decoder, tmp_path, weights=weights, size=1).texts.tokens.lengths.sum()
        for weights in (decoder.read_weights(), short)
    ]
    assert lengths[1] < lengths[0]


def test_empty_and_unknown_lines_have_a_hypothesis(decoder, tmp_path):
    lines = ["", "neverseen", "NULL ||| <s>", "a\u00a0b <src_segm>x</src_segm> @thot:NULL", " "]
    nbest = decode(decoder, tmp_path, lines)
    words = [nbest.texts.words(start) for start in nbest.offsets[:-1]]
    assert words == [
        [],
        ["neverseen"],
        ["NULL", "&#124;&#124;&#124;", "<s>"],  # ||| would end the field
        ["a\u00a0b", "<src_segm>x</src_segm>", "@thot:NULL"],
        [],
    ]
    assert not nbest.features[0].any()


def test_special_tokens_translate_as_ordinary_ones(decoder, tmp_path):
    special = [*sorted(_thot.SPECIAL - {"|||"}), "<phr_pair_annot>", "a<src_segm>b", "@thot:x"]
    sides = [[pair.source for pair in TRAIN], [pair.target for pair in TRAIN]]
    # Frequent words get special names, so that these occur in phrases and n-grams.
    names = []
    for side in sides:
        counts = {}
        for word in (word for line in side for word in line):
            counts[word] = counts.get(word, 0) + 1
        frequent = sorted(counts, key=lambda word: (-counts[word], word))
        names.append(dict(zip(frequent, special, strict=False)))
    files = [
        write(tmp_path / name, [" ".join(table.get(word, word) for word in line) for line in side])
        for name, side, table in zip("st", sides, names, strict=True)
    ]
    other = replace(
        decoder, train_source=files[0], train_target=files[1], model=tmp_path / "model"
    )
    plain = decode(decoder, tmp_path, size=10)
    renamed = [" ".join(names[0].get(word, word) for word in line.split()) for line in DEV_SOURCE]
    found = decode(other, tmp_path, renamed, size=10)
    expected = [
        [names[1].get(word, word) for word in plain.texts.words(row)]
        for row in range(len(plain.texts))
    ]
    assert [found.texts.words(row) for row in range(len(found.texts))] == expected
    np.testing.assert_array_equal(found.features, plain.features)


def test_models_are_trained_once_and_refused_when_options_change(decoder):
    before = decoder.model.stat().st_mtime_ns
    decoder.train()
    assert decoder.model.stat().st_mtime_ns == before
    replace(decoder, non_monotonicity=5).train()  # not of the models
    with pytest.raises(StateError, match="model: was trained with another lm_order; remove it"):
        replace(decoder, lm_order=2).train()
    with pytest.raises(StateError, match="trained with another train_source, train_target"):
        replace(
            decoder, train_source=decoder.train_target, train_target=decoder.train_source
        ).train()


@pytest.mark.parametrize("aligner", ["ibm1", "ibm2", "fast_align"])
def test_other_word_alignment_models_work(decoder, tmp_path, aligner):
    other = replace(decoder, aligner=aligner, model=tmp_path / "model", iterations=2)
    nbest = decode(other, tmp_path, size=5)
    assert sum(nbest.texts.links.lengths) > len(DEV)


def test_a_line_too_long_is_named(decoder, tmp_path):
    with pytest.raises(InputError, match="source:2: 201 tokens, thot translates at most 200"):
        decode(decoder, tmp_path, ["a", "b " * 201])
    assert not (tmp_path / "out").exists()


def test_a_crash_names_the_line_and_leaves_no_list(decoder, tmp_path):
    broken = tmp_path / "model"
    broken.mkdir()
    for path in decoder.model.iterdir():
        if path.name != "tm.ttable":
            (broken / path.name).write_bytes(path.read_bytes())
    # A record without digests, as of an earlier version: else the file that is missing is named.
    record = json.loads((broken / RECORD).read_text())
    del record["files"]
    (broken / RECORD).write_text(json.dumps(record))
    with pytest.raises(ProgramError, match=r"source:\d: the decoder process ended with status"):
        decode(replace(decoder, model=broken), tmp_path, ["x", "y"])
    assert not (tmp_path / "out").exists()


def test_a_damaged_model_is_named_before_a_process_loads_it(decoder, tmp_path):
    broken = tmp_path / "model"
    shutil.copytree(decoder.model, broken)
    (broken / "tm.ttable").write_bytes(b"")
    with pytest.raises(StateError, match=r"model/tm\.ttable: is damaged, .*; remove .*model and"):
        decode(replace(decoder, model=broken), tmp_path, ["x", "y"])
    assert not (tmp_path / "out").exists()


def test_decoding_goes_on_where_it_was_interrupted(decoder, listed, tmp_path):
    class KilledError(Exception):
        pass

    def interrupt(_phase, done, _total):
        if done == 5:
            raise KilledError

    given = {"source": write(tmp_path / "source", DEV_SOURCE), "size": 30, "out": tmp_path / "out"}
    weights, work = decoder.read_weights(), tmp_path / "work"
    with pytest.raises(KilledError), using(progress=interrupt):
        decoder.decode(weights, **given, workdir=work)
    assert not (tmp_path / "out").exists()
    seen = []
    with using(progress=lambda _phase, done, _total: seen.append(done)):
        decoder.decode(weights, **given, workdir=work)
    assert 6 <= seen[0] < len(DEV_SOURCE)  # workers may have ended a few more meanwhile
    assert (tmp_path / "out").read_bytes() == listed[1].read_bytes()
    assert not (work / "thot.journal").exists()


def test_sides_of_different_length_are_an_error(decoder, tmp_path):
    short = replace(decoder, train_target=write(tmp_path / "t", ["a"]), model=tmp_path / "model")
    with pytest.raises(InputError, match=r"t: 1 line, .*s has 300; line n of one must be"):
        short.train()


def test_an_empty_bitext_is_an_error(tmp_path):
    empty = write(tmp_path / "e", [""])
    with pytest.raises(InputError, match="e: thot hmm: no pair to train on: 1 pair"):
        Thot(empty, empty, tmp_path / "model").train()
    assert not (tmp_path / "model").exists()


def test_start_weights_are_named_and_can_be_written_and_read_back(decoder, tmp_path):
    assert decoder.read_weights().names == tuple((name, 1) for name in NAMES)
    weights = FeatureWeights({name: (number / 3,) for number, name in enumerate(reversed(NAMES))})
    decoder.write_config(weights, tmp_path / "tuned.json", header="tuned\non BLEU")
    again = replace(decoder, start=tmp_path / "tuned.json").read_weights()
    assert again.names == FEATURES
    assert again.values == weights.values
    content = json.loads((tmp_path / "tuned.json").read_text())
    assert content["settings"]["non_monotonicity"] == 3
    assert content["comment"] == ["tuned", "on BLEU"]
    assert read_weights(tmp_path / "tuned.json").values == weights.values


def test_a_weight_that_is_missing_is_named(decoder, tmp_path):
    with pytest.raises(InputError, match="no weight for feature LM0"):
        decode(decoder, tmp_path, weights=FeatureWeights({"WordPenalty0": (1.0,)}))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("lm_order", 0, "lm_order: Input should be greater than or equal to 1, found 0"),
        (
            "non_monotonicity",
            -1,
            "non_monotonicity: Input should be greater than or equal to 0, found -1",
        ),
        ("options_per_phrase", 0, "options_per_phrase: Input should be greater than 0, found 0"),
        ("aligner", "ibm4", "aligner: Input should be"),
        ("beam", 3, "decoder thot has no option 'beam'"),
    ],
)
def test_wrong_options_are_config_errors(key, value, message):
    options = {"train_source": "s", "train_target": "t", "model": "m", key: value}
    with pytest.raises(ConfigError, match=re.escape(message)):
        registry.decoder("thot", options)
