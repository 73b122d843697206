"""Features added to lists: from files, of lengths, of metrics against other outputs."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import portmert
from portmert.tuner.base.errors import PortmertError
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.components.features import FeatureInputs, with_features
from portmert.tuner.nbest.feature_files import read_numbers
from portmert.tuner.texts.prepare import Preparation
from portmert.tuner.texts.text_pipeline import TextPipeline

ONE = """\
0 ||| a b ||| F= 1 ||| 0
0 ||| c ||| F= 2 ||| 0
0 ||| a b ||| F= 1 ||| 0
1 ||| d e f ||| F= 3 ||| 0
"""
TWO = "1 ||| g ||| F= 4 ||| 0\n0 ||| c ||| F= 2 ||| 0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").write_text(ONE)
    (tmp_path / "two").write_text(TWO)
    (tmp_path / "qe").write_text("0.1\n0.2\n0.3\n0.4\n")
    np.save(tmp_path / "qe2.npy", np.array([5, 6]))
    return tmp_path


def read(paths, *extra):
    return portmert.Lists.read(paths, features=extra).nbest


def ready(steps):
    return Preparation(TextPipeline.parse(steps))


NO_ARRAY = r"not what numpy.save writes of numbers or texts; is it cut off, or .* of Python\?$"


@pytest.mark.usefixtures("folder")
def test_each_hypothesis_gets_its_own_number():
    nbest = read(["one", "two"], "qe=qe,qe2.npy", "length")
    assert nbest.feature_names == (("F", 1), ("qe", 1), ("length", 1))
    # Segment 0: a b, c (of the first list; what is equal later is dropped); segment 1: d e f, g.
    assert nbest.features.tolist() == [[1, 0.1, 2], [2, 0.2, 1], [3, 0.4, 3], [4, 5, 1]]
    assert nbest.features.flags.f_contiguous


@pytest.mark.usefixtures("folder")
def test_less_is_better_by_a_minus():
    nbest = read("one", "-per=qe")
    assert nbest.feature_names == (("F", 1), ("-per", 1))
    assert nbest.features[:, 1].tolist() == [-0.1, -0.2, -0.4]


@pytest.mark.parametrize(
    ("paths", "spec", "message"),
    [
        ("one", "qe=short", "short: 3 numbers, n-best list 1 has 4 hypotheses"),
        (["one", "two"], "qe=qe", "features qe=qe: 1 file of numbers for 2 n-best lists"),
        ("one", "qe=text", "text:2: 'two' is not a finite number"),
        ("one", "qe=inf.npy", "inf.npy: number 2 is inf, expected finite"),
        ("one", "qe=wide.npy", "wide.npy: an array of float64 and shape \\(4, 1\\)"),
        ("one", "qe=pickled.npy", f"pickled.npy: {NO_ARRAY}"),
        ("one", "qe=header.npy", f"header.npy: {NO_ARRAY}"),
        ("one", "qe=cut.npy", f"cut.npy: {NO_ARRAY}"),
        ("one", "qe=call.npy", f"call.npy: {NO_ARRAY}"),
        ("one", "qe=~nosuchuser/x", "'~nosuchuser/x': there is no such user, or it has no fold"),
        ("one", "qe=gone", "gone: No such file"),
        ("one", "F=qe", "there can be no feature 'F': the lists have it already"),
        ("one", "q e=qe", "there can be no feature 'q e': a name is one word"),
        (
            "one",
            "=qe",
            "features =qe: the name is missing; expected NAME=FILE, NAME=METRIC@FILE, or ",
        ),
        ("one", "lenght", "features lenght: a file or a metric is missing; expected NAME=FILE, "),
        ("one", "x=chrf@", "features x=chrf@: a name is empty in '', expected FILE"),
        ("one", "a=b=length", "b=length: No such file"),
        ("one", "length:words", "length:words: there is no length:words; write length"),
        ("one", "ratio:source", "there is no ratio:source; write ratio or ratio:list"),
        ("one", "ratio", "give source, or take `ratio:list`"),
        ("one", "x=chrf@short", "short: 3 lines, the lists have 2 segments"),
        ("one", "x=chrff@short", "features x=chrff@short: unknown metric 'chrff'"),
        ("one", "x=port@short", "metric port needs links; features are made by metrics that"),
        ("one", "x=scores:qe@short", "metric scores needs no references but a file: write NAME="),
    ],
)
def test_what_does_not_fit_is_named(folder, paths, spec, message):
    (folder / "short").write_text("1\n2\n3\n")
    (folder / "text").write_text("1\ntwo\n3\n4\n")
    (folder / "nan").write_text("nan\n2\n3\n4\n")
    np.save(folder / "inf.npy", np.array([1, np.inf, 2, 3]))
    np.save(folder / "wide.npy", np.ones((4, 1)))
    whole = (folder / "wide.npy").read_bytes()
    (folder / "header.npy").write_bytes(whole.replace(b"}", b"(", 1))
    (folder / "call.npy").write_bytes(whole.replace(b"(4, 1)", b"f(4,) ", 1))
    (folder / "promise.npy").write_bytes(
        whole.replace(b"(4, 1), }" + b" " * 8, b"(99999999999,), }", 1)
    )
    (folder / "cut.npy").write_bytes(whole[:5])
    np.save(folder / "pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(portmert.PortmertError, match=message):
        read(paths, spec)


def test_a_metric_against_another_output(folder):
    (folder / "other").write_text("A b\nd e\n")
    (folder / "odd@name").write_text("1\n2\n3\n4\n")
    nbest = read("one", "other=wer@other", "-other=wer@other", "odd=./odd@name", "low=length")
    # 1 - edits per word of the other: of a b and c against A b, of d e f against d e.
    assert nbest.features[:, 1].tolist() == [0.5, 0, 0.5]
    assert nbest.features[:, 2].tolist() == [-0.5, 0, -0.5]
    assert nbest.features[:, 3].tolist() == [1, 2, 4]
    assert nbest.features[:, 4].tolist() == [2, 1, 3]
    assert [name for name, _ in nbest.feature_names] == ["F", "other", "-other", "odd", "low"]


def test_a_metric_compares_texts_as_they_are_scored(folder):
    (folder / "other").write_text("A b\nd e\n")
    (folder / "more").write_text("C\nd\n")
    nbest = with_features(read("one"), ["x=wer@other,more"], preparation=ready("lowercase"))
    # Of several references the closest counts: a b and c are each one of them.
    assert nbest.features[:, 1].tolist() == [1, 1, 0.5]
    half = with_features(read("one"), ["x=wer@other"], preparation=ready("hyp:lowercase"))
    assert half.features[:, 1].tolist() == [0.5, 0, 0.5]


@pytest.mark.usefixtures("folder")
def test_length_by_that_of_the_source_or_of_the_list():
    nbest = read("one")
    found = with_features(nbest, ["ratio", "ratio:list"], source_lengths=np.array([4, 0]))
    assert found.features[:, 1].tolist() == [0.5, 0.25, 3]  # an empty source counts as one token
    assert found.features[:, 2].tolist() == [2 / 1.5, 1 / 1.5, 1]
    with pytest.raises(portmert.PortmertError, match="source has 1 segment, the lists 2"):
        with_features(nbest, ["ratio"], source_lengths=np.array([4]))


@pytest.mark.usefixtures("folder")
def test_empty_hypotheses_and_lists_of_one():
    with open("empty", "w", encoding="utf-8") as out:  # noqa: PTH123  the current folder
        out.write("0 |||  ||| F= 1 ||| 0\n0 |||  ||| F= 2 ||| 0\n1 ||| d e ||| F= 3 ||| 0\n")
    with open("other", "w", encoding="utf-8") as out:  # noqa: PTH123
        out.write("\nd e\n")
    with collected_warnings() as notes:
        nbest = read("empty", "length", "ratio:list", "x=chrf@other", "y=bleu@other")
    assert nbest.features[:, 1].tolist() == [0, 0, 2]
    assert nbest.features[:, 2].tolist() == [0, 0, 1]
    assert np.isfinite(nbest.features).all()
    assert "feature length is equal for all hypotheses of a segment: it changes nothing" in notes


@pytest.mark.usefixtures("folder")
def test_a_feature_that_varies_in_a_segment_is_no_note():
    with collected_warnings() as notes:
        read("one", "length", "qe=qe")
    assert not [note for note in notes if note.startswith("feature")]


@pytest.mark.usefixtures("folder")
def test_a_feature_named_twice():
    with pytest.raises(portmert.PortmertError, match="no feature 'qe': the lists have it already"):
        read("one", "qe=qe", "qe=qe")


@pytest.mark.usefixtures("folder")
def test_lists_that_were_read_before_take_features_too():
    lists = portmert.Lists.read("one", refs=[["a b", "d e f"]])
    found = portmert.optimize(lists.with_feature("qe=qe"), "bleu")
    assert set(found.weights.values) == {"F", "qe"}


@given(st.lists(st.floats(-1e30, 1e30, allow_nan=False), max_size=20))
def test_numbers_are_read_alike_from_all_forms(tmp_path_factory, numbers):
    folder = tmp_path_factory.mktemp("numbers")
    text = "".join(f"{number!r}\n" for number in numbers)
    (folder / "text").write_text(text)
    with gzip.open(folder / "text.gz", "wt") as out:
        out.write(text)
    np.save(folder / "array.npy", np.array(numbers, dtype=np.float64))
    for name in ("text", "text.gz", "array.npy"):
        assert read_numbers(folder / name).tolist() == [number + 0.0 for number in numbers]


def test_files_that_numpy_calls_old_are_read_without_a_word(tmp_path):
    np.save(tmp_path / "qe.npy", np.arange(4.0))
    written = (tmp_path / "qe.npy").read_bytes()
    (tmp_path / "qe.npy").write_bytes(written.replace(b"(4,), } ", b"(4L,), }", 1))  # Python 2's
    assert read_numbers(tmp_path / "qe.npy").tolist() == [0, 1, 2, 3]


class Overlap(portmert.Metric):
    """The share of a hypothesis' words that the reference has: 0/0 of a hypothesis without any."""

    source = "a test"
    stat_names = ("matches", "words")

    def stats(self, batch):
        return np.array(
            [[len({*own} & {*refs[0]}), len(own)] for own, refs in batch.words()], float
        )

    def score(self, stats):
        with np.errstate(invalid="ignore"):
            return stats[..., 0] / stats[..., 1]


@pytest.mark.parametrize("feature", ["mbr:overlap", "z=overlap@text", "-z=mbr:overlap"])
def test_computed_values_that_are_not_finite_are_refused(folder, monkeypatch, feature):
    monkeypatch.setattr(FeatureInputs, "metric", lambda *_: Overlap())
    (folder / "list").write_text(ONE + "1 |||  ||| F= 3 ||| 0\n")
    (folder / "text").write_text("a b\nd\n")
    lists = portmert.Lists.read(folder / "list")
    name = feature.partition("=")[0]
    expected = f"^feature {name}: segment 1, hypothesis 2: its value is nan, expected a finite"
    with pytest.raises(PortmertError, match=expected):
        _ = lists.with_feature(feature).nbest
    with pytest.raises(PortmertError, match=r"^feature mbr:overlap: segment 1, hyp"):
        portmert.rerank(lists, mbr=Overlap())
