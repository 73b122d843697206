"""What every decoder promises, whichever the registry finds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from portmert.metrics._base import Vocabulary
from portmert.tuner import families
from portmert.tuner.base.context import using
from portmert.tuner.base.errors import InputError
from portmert.tuner.components import registry
from portmert.tuner.decoders._base import Decoder
from portmert.tuner.nbest.model import model_scores
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights
from tests.support.languages.grammar import generate
from tests.support.places import INVENTED

PAIRS = generate(108, seed=9)
SEGMENTS = 9
RECORDED_MOSES = INVENTED / "recorded" / "recorded_moses"
LIST = """{0} ||| one hypothesis ||| LM0= -1 TM0= -{1} -1 ||| 0 ||| 0-0
{0} ||| another one ||| LM0= -3 TM0= -1 -1 ||| 0 ||| 0-1
"""
GRAPH = "{0} hyp=0 stack=0 forward=1 fscore=0\n" + "".join(
    f"{{0}} hyp={hypothesis} stack=1 back=0 score=0 transition=0 forward=-1 fscore=0 covered=0-0 "
    f'scores="core=({scores}) " out="word|{words}"\n'
    for hypothesis, scores, words in (
        (1, "-1,-{1},-1", "one hypothesis"),
        (2, "-3,-1,-1", "another one"),
    )
)


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decoders")
    train, dev = PAIRS[:100], PAIRS[100:]
    write(folder / "train.src", [" ".join(pair.source) for pair in train])
    write(folder / "train.tgt", [" ".join(pair.target) for pair in train])
    write(folder / "dev.src", [*(" ".join(pair.source) for pair in dev), ""])
    (folder / "list").write_text("".join(LIST.format(s, s + 2) for s in range(SEGMENTS)))
    (folder / "graphs").write_text("".join(GRAPH.format(s, s + 2) for s in range(SEGMENTS)))
    (folder / "moses.ini").write_text(
        f"[feature]\nKENLM name=LM0\nPhraseDictionaryMemory name=TM0 num-features=2\n"
        f"[recorded-lists]\n{folder / 'list'}\n[recorded-source]\n{folder / 'dev.src'}\n"
        f"[weight]\nLM0= 0.5\nTM0= 0.2 0.3\n"
    )
    return folder


@pytest.fixture(params=families.own_names("decoder"))
def decoder(request, folder):
    weights = "LM0= {weight:LM0} TM0= {weight:TM0}"
    options = {
        "command": {
            "program": [
                *(str(RECORDED_MOSES), "-config", str(folder / "moses.ini")),
                *("-weight-overwrite", weights, "-input-file", "{source}"),
                *("-n-best-list", "{nbest}", "{size}", "distinct"),
                *("-print-alignment-info-in-n-best", "true"),
            ],
            "start": folder / "moses.ini",
            "jobs": 2,
        },
        "graphs": {
            "graphs": [folder / "graphs"],
            "format": f"osgx:config={folder / 'moses.ini'}",
            "config": folder / "moses.ini",
        },
        "moses": {"config": folder / "moses.ini", "program": RECORDED_MOSES, "jobs": 2},
        "recorded": {"lists": [folder / "list"]},
        "thot": {
            "train_source": folder / "train.src",
            "train_target": folder / "train.tgt",
            "model": folder / "thot-model",
            "iterations": 2,
            "processes": 1,
        },
    }
    if request.param not in options:
        pytest.skip(f"programs: {request.param} needs one; tested in its own file")
    return registry.decoder(request.param, options[request.param])


def decode(decoder, folder, tmp_path, *, size=10, weights=None, out="out"):
    seen = []
    with using(progress=lambda _, *step: seen.append(step)):
        decoder.decode(
            weights or decoder.read_weights(),
            source=folder / "dev.src",
            size=size,
            out=tmp_path / out,
            workdir=tmp_path / "work",
        )
    return seen


def test_is_a_frozen_dataclass_with_a_docstring(decoder):
    assert isinstance(decoder, Decoder)
    assert type(decoder).__doc__
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(decoder, dataclasses.fields(decoder)[0].name, None)


def test_list_has_every_segment_and_the_features_of_the_start_weights(decoder, folder, tmp_path):
    decode(decoder, folder, tmp_path)
    nbest = read_nbest([tmp_path / "out"], Vocabulary(), segments=SEGMENTS)
    assert nbest.feature_names == decoder.read_weights().names
    assert nbest.texts.links is not None
    assert np.all(np.diff(nbest.offsets) >= 1)
    assert np.all(np.diff(nbest.offsets) <= 10)


def test_model_score_is_weights_times_features_and_the_best_comes_first(decoder, folder, tmp_path):
    decode(decoder, folder, tmp_path)
    nbest = read_nbest([tmp_path / "out"], Vocabulary(), segments=SEGMENTS)
    expected = model_scores(nbest, decoder.read_weights())
    np.testing.assert_allclose(nbest.model_scores, expected, rtol=1e-12)
    for start, stop in zip(nbest.offsets[:-1], nbest.offsets[1:], strict=True):
        assert expected[start] == expected[start:stop].max()


def test_same_weights_give_same_bytes(decoder, folder, tmp_path):
    decode(decoder, folder, tmp_path, out="one")
    decode(decoder, folder, tmp_path, out="two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_size_one_gives_the_first_of_a_longer_list(decoder, folder, tmp_path):
    decode(decoder, folder, tmp_path, size=10, out="long")
    decode(decoder, folder, tmp_path, size=1, out="short")
    lines = (tmp_path / "long").read_text().splitlines()
    firsts = {line.split(" ||| ")[0]: line for line in reversed(lines)}
    assert (tmp_path / "short").read_text().splitlines() == [
        firsts[str(s)] for s in range(SEGMENTS)
    ]


def test_progress_ends_with_all_segments(decoder, folder, tmp_path):
    assert decode(decoder, folder, tmp_path)[-1] == (SEGMENTS, SEGMENTS)


def test_a_list_compresses_by_its_suffix(decoder, folder, tmp_path):
    decode(decoder, folder, tmp_path, out="out.gz")
    assert (tmp_path / "out.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert len(read_nbest([tmp_path / "out.gz"], Vocabulary())) == SEGMENTS


def test_missing_weights_leave_no_list(decoder, folder, tmp_path):
    with pytest.raises(InputError, match="no weight for feature"):
        decode(decoder, folder, tmp_path, weights=FeatureWeights({"Other0": (1.0,)}))
    assert not (tmp_path / "out").exists()


def test_a_size_below_one_is_a_wrong_call(decoder, folder, tmp_path):
    with pytest.raises(ValueError, match="size is 0, must be at least 1"):
        decode(decoder, folder, tmp_path, size=0)


def test_written_weights_read_back(decoder, tmp_path):
    names = decoder.read_weights().names
    vector = [0.1 * number - 0.3 for number in range(sum(size for _, size in names))]
    weights = FeatureWeights.from_vector(names, vector)
    decoder.write_config(weights, tmp_path / "config", header="tuned on BLEU")
    assert read_weights(tmp_path / "config").values == weights.values
