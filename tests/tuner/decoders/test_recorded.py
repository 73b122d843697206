from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.metrics._base import Vocabulary
from portmert.tuner.base.errors import InputError
from portmert.tuner.decoders.recorded import Recorded, best_rows
from portmert.tuner.nbest.read import read_nbest
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights
from tests.support.examples import examples

FIRST = """0 ||| a b ||| LM0= -1 TM0= -4 -1 ||| 0 ||| 0-0
0 ||| a c ||| LM0= -3 TM0= -1 -1 tag_x= 1 ||| 0 ||| 0-1
1 |||  ||| LM0= 0 TM0= 0 0 ||| 0 |||
"""
SECOND = """0 ||| b ||| LM0= -2 TM0= -2 -2 ||| 0 ||| 1-0
0 ||| a b ||| LM0= -1 TM0= -4 -1 ||| 9 ||| 0-0
1 ||| d ||| LM0= -1 TM0= 1 1 ||| 0 ||| 0-0
"""


@pytest.fixture
def decoder(tmp_path):
    (tmp_path / "one").write_text(FIRST)
    (tmp_path / "two").write_text(SECOND)
    (tmp_path / "src").write_text("x y\nz\n")
    return Recorded(lists=(tmp_path / "one", tmp_path / "two"))


def decode(decoder, tmp_path, weights, size):
    decoder.decode(
        FeatureWeights(weights),
        source=tmp_path / "src",
        size=size,
        out=tmp_path / "out",
        workdir=tmp_path,
    )
    return [
        (fields[0].strip(), fields[1].strip(), float(fields[3]))
        for fields in (line.split("|||") for line in (tmp_path / "out").read_text().splitlines())
    ]


def test_decode_returns_the_best_of_all_lists_under_the_weights(decoder, tmp_path):
    # LM + 2 TM1 + TM2: a b = -1 - 8 - 1, a c = -3 - 2 - 1, b = -2 - 4 - 2; d = -1 + 2 + 1.
    weights = {"LM0": (1.0,), "TM0": (2.0, 1.0)}
    assert decode(decoder, tmp_path, weights, 2) == [
        ("0", "a c", -6.0),
        ("0", "b", -8.0),
        ("1", "d", 2.0),
        ("1", "", 0.0),
    ]


def test_decode_weighs_sparse_features(decoder, tmp_path):
    weights = {"LM0": (1.0,), "TM0": (0.0, 0.0), "tag_x": (5.0,)}
    assert decode(decoder, tmp_path, weights, 1) == [("0", "a c", 2.0), ("1", "", 0.0)]
    assert "tag_x= 1" in (tmp_path / "out").read_text()


def test_decode_keeps_links(decoder, tmp_path):
    decode(decoder, tmp_path, {"LM0": (1.0,), "TM0": (0.0, 0.0)}, 9)
    nbest = read_nbest([tmp_path / "out"], Vocabulary())
    links = [nbest.texts.links.row(row).tolist() for row in range(len(nbest.texts))]
    assert links == [[[0, 0]], [[1, 0]], [[0, 1]], [], [[0, 0]]]


def test_of_equal_scores_the_first_in_the_lists_wins(decoder, tmp_path):
    found = decode(decoder, tmp_path, {"LM0": (0.0,), "TM0": (0.0, 0.0)}, 9)
    assert [words for _, words, _ in found] == ["a b", "a c", "b", "", "d"]


def test_start_weights_default_to_one_and_sparse_ones_to_zero(decoder):
    values = decoder.read_weights().values
    assert values == {"LM0": (1.0,), "TM0": (1.0, 1.0), "tag_x": (0.0,)}


def test_start_weights_come_from_a_file(decoder, tmp_path):
    (tmp_path / "w.json").write_text('{"weights": {"TM0": [3, 4], "Other": [1], "LM0": [2]}}')
    values = replace(decoder, start=tmp_path / "w.json").read_weights().values
    assert values == {"LM0": (2.0,), "TM0": (3.0, 4.0), "tag_x": (0.0,)}


def test_write_config_writes_weights_or_a_moses_ini(decoder, tmp_path):
    weights = FeatureWeights({"LM0": (0.5,), "TM0": (1.0, 2.0)})
    decoder.write_config(weights, tmp_path / "tuned.json", header="x")
    assert json.loads((tmp_path / "tuned.json").read_text())["weights"]["TM0"] == [1.0, 2.0]
    ini = tmp_path / "moses.ini"
    ini.write_text("[weight]\nTM0= 0 0\nLM0= 0\n[x]\nkept\n")
    with_ini = replace(decoder, config=ini)
    with_ini.write_config(weights, tmp_path / "tuned.ini", header="tuned")
    assert (tmp_path / "tuned.ini").read_text() == (
        "# tuned\n[weight]\nTM0= 1.0 2.0\nLM0= 0.5\n[x]\nkept\n"
    )
    assert read_weights(tmp_path / "tuned.ini").values == dict(weights.values)


def test_a_text_of_another_length_is_an_error(decoder, tmp_path):
    (tmp_path / "src").write_text("x\ny\nz\n")
    with pytest.raises(InputError, match=r"src: 3 lines, the recorded lists have 2 segments"):
        decode(decoder, tmp_path, {"LM0": (1.0,), "TM0": (1.0, 1.0)}, 1)


def test_a_changed_list_is_read_again(decoder, tmp_path):
    weights = {"LM0": (1.0,), "TM0": (0.0, 0.0)}
    decode(decoder, tmp_path, weights, 1)
    (tmp_path / "two").write_text(SECOND + "1 ||| new ||| LM0= 7 TM0= 0 0 ||| 0 ||| 0-0\n")
    assert decode(decoder, tmp_path, weights, 1)[1] == ("1", "new", 7.0)


def test_a_missing_list_is_named(decoder, tmp_path):
    (tmp_path / "two").unlink()
    with pytest.raises(InputError, match="two: No such file or directory"):
        decoder.read_weights()


def test_no_list_is_a_wrong_call():
    with pytest.raises(ValueError, match="lists is empty"):
        Recorded(lists=())


@examples(300)
@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=1, max_size=6), min_size=1, max_size=5),
    st.integers(1, 7),
)
def test_best_rows_sorts_each_segment(segments, size):
    scores = np.array([score for segment in segments for score in segment], dtype=np.float64)
    offsets = np.cumsum([0, *map(len, segments)])
    rows, new = best_rows(scores, offsets, size=size)
    expected = []
    for s in range(len(segments)):
        mine = range(offsets[s], offsets[s + 1])
        expected.append(sorted(mine, key=lambda row: (-scores[row], row))[:size])
    assert [rows[a:b].tolist() for a, b in pairwise(new)] == expected
