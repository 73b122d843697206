import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.tuner.base.errors import InputError
from portmert.tuner.base.numbers import LARGEST
from portmert.tuner.weights.feature_weights import read_weights
from portmert.tuner.weights.moses_ini import MosesIni, read_moses_ini
from tests.support.examples import examples
from tests.support.places import MOSES, needs

INI = """# a comment
[input-factors]
0

[feature]
UnknownWordPenalty
WordPenalty
KENLM name=LM0 path=lm.bin # [not a section]
PhraseDictionaryMemory name=TM0 num-features=3
Distortion
Distortion tuneable=false

  [Weight]
# Name0= 7
UnknownWordPenalty0= 1
LM0= 0.5  # old
 TM0= 0.2 0.3 0.4
WordPenalty0= -1

[mapping]
0 T 0
"""


def ini(text=INI):
    return MosesIni(tuple(text.split("\n")), "moses.ini")


def with_weights(weights, text=INI, **options):
    return ini(text).with_weights(weights, **options).decode()


def test_sections_values_and_features_are_read():
    assert ini().sections == ["input-factors", "feature", "weight", "mapping"]
    assert ini().values("mapping") == ["0 T 0"]
    assert list(ini().features) == [
        "UnknownWordPenalty0", "WordPenalty0", "LM0", "TM0", "Distortion0", "Distortion1",
    ]  # fmt: skip
    assert ini().features["LM0"] == "KENLM name=LM0 path=lm.bin"
    assert ini().untuneable == {"UnknownWordPenalty0", "Distortion1"}


def test_only_the_numbers_of_the_weights_change():
    assert with_weights({"WordPenalty0": (1.5,), "LM0": (0.25,)}, header="tuned\non BLEU") == (
        "# tuned\n# on BLEU\n"
        + INI.replace("LM0= 0.5  # old", "LM0= 0.25  # old").replace("y0= -1", "y0= 1.5")
    )


def test_untuned_components_stay():
    text = with_weights({"TM0": (7.0, 9.0)}, tuned={"TM0": (True, False, True)})
    assert text == INI.replace(" TM0= 0.2 0.3 0.4", " TM0= 7.0 0.3 9.0")


def test_a_new_feature_goes_to_the_end_of_the_section():
    text = with_weights({"LM0": (0.5,), "New0": (3.0,)})
    assert "WordPenalty0= -1\nNew0= 3.0\n\n[mapping]" in text
    assert (
        with_weights({"A": (1.0,), "B": (2.0,)}, "[weight]\nA= 0") == "[weight]\nA= 1.0\nB= 2.0\n"
    )


def test_sections_are_added_at_the_end():
    extra = {"weight-file": ["/x/sparse"]}
    assert with_weights({"A": (1.0,)}, "[weight]\nA= 0\n", extra=extra) == (
        "[weight]\nA= 1.0\n[weight-file]\n/x/sparse\n"
    )
    assert with_weights({"A": (1.0,)}, "[weight]\nA= 0", extra=extra) == (
        "[weight]\nA= 1.0\n[weight-file]\n/x/sparse\n"
    )


def test_a_section_that_is_there_gets_other_values():
    text = "[weight-file]\n# old\nold\n[weight]\nA= 0\n"
    assert with_weights({"A": (1.0,)}, text, extra={"weight-file": ["new"]}) == (
        "[weight-file]\nnew\n# old\n[weight]\nA= 1.0\n"
    )


def test_windows_line_ends_and_bytes_that_are_not_utf_8_stay(tmp_path):
    path = tmp_path / "moses.ini"
    path.write_bytes(b"# caf\xe9\r\n[weight]\r\nA= 1\r\n[x]\r\n\xff")
    assert read_moses_ini(path).with_weights({"A": (2.0,)}, header="h") == (
        b"# h\r\n# caf\xe9\r\n[weight]\r\nA= 2.0\r\n[x]\r\n\xff"
    )


@examples(200)
@given(st.lists(st.floats(-LARGEST, LARGEST), min_size=5, max_size=5))
def test_what_is_written_reads_back(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("ini") / "moses.ini"
    weights = {"LM0": tuple(values[:1]), "TM0": tuple(values[1:4]), "WordPenalty0": (values[4],)}
    path.write_bytes(ini().with_weights(weights))
    assert read_weights(path).values == {"UnknownWordPenalty0": (1.0,), **weights}
    numbers = re.compile(r"(?m)^ ?(LM0|TM0|WordPenalty0)=[^#\n]*")
    assert numbers.sub("", path.read_text()) == numbers.sub("", INI)


@pytest.mark.parametrize(
    ("text", "weights", "message"),
    [
        ("[feature]\n", {"LM0": (1.0,)}, "moses.ini: no [weight] section to put the weights into"),
        (INI, {"LM7": (1.0,)}, "moses.ini: its [weight] section has none of LM7; is it the conf"),
        (INI, {"TM0": (1.0,)}, "moses.ini:17: feature TM0 has 3 weights here, 1 are to be writ"),
    ],
)
def test_a_file_of_another_system_is_an_error(text, weights, message):
    with pytest.raises(InputError, match=re.escape(message)):
        with_weights(weights, text)


@needs(MOSES)
def test_a_file_of_train_model_keeps_all_but_its_weights():
    path = MOSES / "moses.ini"
    weights = dict(read_weights(path).values)
    del weights["UnknownWordPenalty0"]
    written = read_moses_ini(path).with_weights(weights).decode()
    before = path.read_text().splitlines()
    changed = [a for a, b in zip(before, written.splitlines(), strict=True) if a != b]
    assert changed == ["WordPenalty0= -1"]  # now -1.0
    assert read_moses_ini(path).untuneable == {"UnknownWordPenalty0"}
