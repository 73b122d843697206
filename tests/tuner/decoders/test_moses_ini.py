from __future__ import annotations

import pytest

from tuner.decoders._moses_ini import replace_weights
from tuner.errors import InputError
from tuner.weights import FeatureWeights, read_weights

INI = """# a comment
[feature]
LM0= not a weight
[weight]
UnknownWordPenalty0= 1
LM0= 0.5  # old
TM0= 0.2 0.2

[mapping]
0 T 0
"""


def replaced(weights, text=INI, header="tuned on BLEU"):
    return replace_weights(
        text.splitlines(), FeatureWeights(weights), header=header, origin="moses.ini"
    )


def test_only_the_weights_change():
    assert replaced({"TM0": (1.5, -2.0), "LM0": (0.25,)}) == (
        "# tuned on BLEU\n"
        + INI.replace("LM0= 0.5  # old", "LM0= 0.25").replace("TM0= 0.2 0.2", "TM0= 1.5 -2.0")
    )


def test_a_new_feature_goes_to_the_end_of_the_section():
    text = replaced({"LM0": (0.5,), "New0": (3.0,)})
    assert "TM0= 0.2 0.2\nNew0= 3.0\n\n[mapping]" in text


def test_what_is_written_reads_back(tmp_path):
    path = tmp_path / "moses.ini"
    weights = {"LM0": (0.1 + 0.2,), "TM0": (1e-17, 3.0)}
    path.write_text(replaced(weights))
    assert read_weights(path).values == {"UnknownWordPenalty0": (1.0,), **weights}


def test_a_file_without_the_section_is_an_error():
    with pytest.raises(InputError, match=r"moses.ini: no \[weight\] section to put the weights"):
        replaced({"LM0": (1.0,)}, "[feature]\n")


def test_a_file_of_another_system_is_an_error():
    with pytest.raises(InputError, match="has none of LM7, TM7; is it the configuration of anoth"):
        replaced({"LM7": (1.0,), "TM7": (1.0,)})
