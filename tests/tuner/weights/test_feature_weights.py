"""Feature weights: by name, and the three kinds of file they are read from."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.tuner.base.errors import InputError
from portmert.tuner.base.numbers import LARGEST, parse_number
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights
from tests.support.examples import examples
from tests.support.places import MOSES, needs

INI = """# MERT optimized configuration
[input-factors]
0

[feature]
UnknownWordPenalty
KENLM name=LM0 factor=0 path=lm.bin order=4

[Weight]
# LM0= 7
UnknownWordPenalty0= 1
LM0= 0.5   # the language model
TranslationModel0= 0.2 -.3 4e-1 0
[v]
0
"""
OF_INI = {
    "UnknownWordPenalty0": (1.0,),
    "LM0": (0.5,),
    "TranslationModel0": (0.2, -0.3, 0.4, 0.0),
}


def read(tmp_path, text):
    path = tmp_path / "weights"
    path.write_bytes(text.encode())
    return read_weights(path)


def fails(tmp_path, text):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    return str(caught.value).replace(f"{tmp_path}/", "")


def test_moses_ini_is_read(tmp_path):
    assert dict(read(tmp_path, INI).values) == OF_INI


def test_moses_ini_with_windows_line_ends_and_byte_order_mark_is_read(tmp_path):
    assert dict(read(tmp_path, "\ufeff" + INI.replace("\n", "\r\n")).values) == OF_INI


def test_dense_file_of_mert_moses_is_read(tmp_path):
    text = "LM0= 0.5\nTM0= 0.1\nTM0= 0.2\nTM0= -0\n"
    assert dict(read(tmp_path, text).values) == {"LM0": (0.5,), "TM0": (0.1, 0.2, 0.0)}


def test_weights_of_cdec_and_travatar_are_read(tmp_path):
    for text in ("# from MIRA\nLM 0.5\nTM -1e-3\n", "LM=0.5\nTM=-1e-3\n"):
        assert dict(read(tmp_path, text).values) == {"LM": (0.5,), "TM": (-0.001,)}
    joshua = "tm = thrax -owner pt -path g\nlowercase = true\ntop-n = 10\n\nLM 0.5\nTM -1e-3\n"
    assert dict(read(tmp_path, joshua).values) == {"LM": (0.5,), "TM": (-0.001,)}
    assert fails(tmp_path, "LM 0.5\nLM 1\n") == "weights:2: feature LM stands twice"


def test_json_ignores_other_keys(tmp_path):
    text = json.dumps({"metric": "port", "weights": {"LM0": [0.5], "D0": 1, "TM0": [1, 2.5]}})
    assert dict(read(tmp_path, text).values) == {"LM0": (0.5,), "D0": (1.0,), "TM0": (1.0, 2.5)}


@examples(200)
@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), min_size=1),
        st.lists(st.floats(-LARGEST, LARGEST), min_size=1).map(tuple),
        min_size=1,
    )
)
def test_written_as_json_and_read_again_is_identity(tmp_path_factory, values):
    weights = FeatureWeights(values)
    assert read(tmp_path_factory.mktemp("weights"), weights.to_json()) == weights


@needs(MOSES)
def test_real_moses_files_are_read():
    dense = read_weights(MOSES / "mert-bleu" / "run1.dense")
    untuned, tuned = read_weights(MOSES / "moses.ini"), read_weights(MOSES / "mert-bleu/moses.ini")
    assert dense.values["LexicalReordering0"] == (0.3,) * 6
    assert {*dense.values, "UnknownWordPenalty0"} == {*untuned.values} == {*tuned.values}
    assert tuned.values["TranslationModel0"] == (0.072666, 0.0227441, 0.0256209, 0.0330895)
    assert dense.vector(dense.names).tolist() == untuned.vector(dense.names).tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "weights: empty file, expected weights (our JSON, a moses.ini or a runN.dense)"),
        ("# x\n", "weights: no weights, expected lines like `LM0= 0.5`"),
        (
            "[weight-l]\n0.5\n",
            "weights: no [weight] section; [weight-l] is the form of Moses before 2012, write",
        ),
        ("[weight]\nLM0= 1\nLM0= 2\n", "weights:3: feature LM0 stands twice in [weight]"),
        ("[weight]\nLM0= x\n", "weights:2: weight of LM0 is 'x', expected a number"),
        (
            "LM0= 1\nD0= nan\n",
            "weights:2: weight of D0 is nan; weights must be finite, none beyond 1e+30",
        ),
        ("LM0=\n", "weights:1: feature LM0 has no weight"),
        ("0.5 0.3\n", "weights:1: '0.5 0.3' is not a weight, expected `LM0= 0.5`"),
        ('{"weights": {"LM0": [0.5]', "weights:1: not JSON: "),
        pytest.param(
            '{"a":' * 100_000, "weights: not JSON: brackets are nested too deep", id="deep"
        ),
        pytest.param(
            '{"weights": ' + "1" * 9999 + "}",
            "weights: not JSON: a number has thousands",
            id="long",
        ),
        ("{}", 'weights: no weights, expected {"weights": {"LM0": [0.5]}}'),
        ('{"weights": {"LM0": []}}', "weights: feature LM0 has no weight"),
        ('{"weights": {"LM0": ["1"]}}', 'weights: weight of LM0 is "1", expected a number'),
        (
            '{"weights": {"LM0": 1, "LM0": 2}}',
            "weights: not JSON: the key 'LM0' stands twice in one object",
        ),
        (
            '{"weights": {"LM0": 1' + "0" * 400 + "}}",
            "weights: weight of LM0 is 1000",
        ),
    ],
)
def test_fault_is_named(tmp_path, text, message):
    assert fails(tmp_path, text).startswith(message)


def test_vector_goes_by_name_and_ignores_other_features():
    weights = FeatureWeights({"A": (1.0, 2.0), "Other": (9.0,), "B": (3.0,)})
    assert weights.vector((("B", 1), ("A", 2))).tolist() == [3, 1, 2]


def test_vector_names_what_is_missing():
    weights = FeatureWeights({"LM0": (1.0,)})
    with pytest.raises(
        InputError, match=r"w.json: no weight for feature LM1; did you mean 'LM0'\?"
    ):
        weights.vector((("LM1", 1),), origin="w.json")
    with pytest.raises(InputError, match="LM0 has 1 weight, the n-best list has 2 values"):
        weights.vector((("LM0", 2),))


def test_from_vector_takes_all_columns():
    names = (("A", 2), ("B", 1))
    assert FeatureWeights.from_vector(names, [1, 2, 3]).values == {"A": (1.0, 2.0), "B": (3.0,)}
    with pytest.raises(ValueError, match="4 weights for 3 feature columns"):
        FeatureWeights.from_vector(names, [1, 2, 3, 4])


def test_weights_must_be_finite():
    with pytest.raises(InputError, match="weight of A is nan; weights must be finite"):
        FeatureWeights({"A": (math.nan,)})


@pytest.mark.parametrize("text", ["1", "-.5", "+3.", "1e-5", "2E+3", "00.10"])
def test_number(text):
    assert parse_number(text) == float(text)


@pytest.mark.parametrize("text", ["", ".", "1_0", "0x1", "\u0661", "1 2", "e5", "nano", " 1"])
def test_no_number(text):
    assert parse_number(text) is None


def test_some_share_of_the_way_to_others_and_what_is_absent_counts_zero():
    first = FeatureWeights({"A": (1.0, -2.0), "B": (3.0,)})
    second = FeatureWeights({"B": (1.0,), "A": (3.0, -2.0), "word_x": (1.0,)})
    middle = first.towards(second, 0.5)
    assert middle.values == {"A": (2.0, -2.0), "B": (2.0,), "word_x": (0.5,)}
    assert second.towards(first, 0.5) == middle
    assert first.towards(second, 0.25).values == {"A": (1.5, -2.0), "B": (2.5,), "word_x": (0.25,)}
    assert first.towards(first, 0.5) == first
