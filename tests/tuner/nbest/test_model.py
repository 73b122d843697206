"""N-best lists: the reader against its slow twin, merging, writing, the words of each error."""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import struct
from dataclasses import replace

import numpy as np
import pytest
import zstandard
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from portmert.metrics._base import Vocabulary
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.numbers import LARGEST
from portmert.tuner.base.warn import collected_warnings
from portmert.tuner.components import registry
from portmert.tuner.nbest.check import check_links, model_score_mismatch
from portmert.tuner.nbest.model import (
    best_hypotheses,
    model_scores,
    new_outputs,
    write_nbest,
)
from portmert.tuner.nbest.read import merge, read_nbest
from portmert.tuner.texts import _token_kernels as kernels
from portmert.tuner.weights.feature_weights import FeatureWeights, read_weights
from tests.oracles import nbest as oracle
from tests.support.examples import examples
from tests.support.places import MOSES, needs
from tests.support.strategies_nbest import nbest_texts

MERT = MOSES / "mert-bleu"

LINE = "0 ||| a b ||| LM0= -1.5 TM0= 1 2 ||| -3 ||| 0-1=0-1 ||| 0-0 1-1\n"


def read(tmp_path, *texts, **options):
    paths = []
    for number, text in enumerate(texts, 1):
        path = tmp_path / f"list{number}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        paths.append(path)
    return read_nbest(paths, Vocabulary(), **options)


def fails(tmp_path, *texts, **options):
    with pytest.raises(InputError) as caught:
        read(tmp_path, *texts, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{tmp_path}/", "")


def rows_of(nbest):
    """Every hypothesis as the twin writes it."""
    rows = []
    for segment in range(len(nbest)):
        rows.append([])
        for row in range(nbest.offsets[segment], nbest.offsets[segment + 1]):
            features, at = {}, 0
            for name, size in nbest.feature_names:
                features[name] = tuple(nbest.features[row, at : at + size].tolist())
                at += size
            if nbest.sparse is not None:
                entries = slice(nbest.sparse.offsets[row], nbest.sparse.offsets[row + 1])
                columns, values = nbest.sparse.columns[entries], nbest.sparse.values[entries]
                assert np.all(np.diff(columns) > 0)
                for column, value in zip(columns, values, strict=True):
                    features[nbest.sparse.names[column]] = (float(value),)
            links = None
            if nbest.texts.links is not None:
                links = tuple(map(tuple, nbest.texts.links.row(row).tolist()))
            rows[-1].append(
                oracle.Hypothesis(
                    segment,
                    tuple(nbest.texts.words(row)),
                    features,
                    float(nbest.model_scores[row]),
                    links,
                )
            )
    return rows


def same(a, b):
    assert rows_of(a) == rows_of(b)
    assert a.feature_names == b.feature_names
    assert a.features.flags.f_contiguous
    assert b.features.flags.f_contiguous


# The number reader


@examples(1000)
@given(st.integers(0, 2**64 - 1))
def test_number_of_any_float64_printed_shortest_is_that_float64(bits):
    value = struct.unpack("d", struct.pack("Q", bits))[0]
    assume(math.isfinite(value))
    number, exact = kernels.parse_number(np.frombuffer(repr(value).encode(), dtype=np.uint8))
    assert number == value or not exact


@examples(1000)
@given(
    st.integers(0, 10**18 - 1),
    st.integers(0, 18),
    st.sampled_from(["", "e", "E-", "e+"]),
    st.integers(0, 40),
    st.sampled_from(["", "-", "+"]),
)
def test_number_is_rounded_as_python_rounds(digits, point, e, exponent, sign):
    whole = str(digits).zfill(point + 1)
    text = sign + whole[: len(whole) - point] + "." + whole[len(whole) - point :]
    text += f"{e}{exponent}" if e else ""
    number, exact = kernels.parse_number(np.frombuffer(text.encode(), dtype=np.uint8))
    assert exact == (abs(float(text)) <= LARGEST)
    assert number == float(text)


@examples(500)
@given(st.integers(2**52, 2**53 - 1), st.integers(0, 5))
def test_number_half_way_between_two_floats_goes_to_even(mantissa, shift):
    text = str((2 * mantissa + 1) << shift)
    number, exact = kernels.parse_number(np.frombuffer(text.encode(), dtype=np.uint8))
    assert exact == (abs(float(text)) <= LARGEST)
    assert number == float(text)


@pytest.mark.parametrize(
    "text", ["", "-", ".", "e5", "1e", "1e+", "1.2.3", "1_0", "0x10", "nan", "inf", "1a", "--1"]
)
def test_number_leaves_what_is_none_to_python(text):
    assert not kernels.parse_number(np.frombuffer(text.encode(), dtype=np.uint8))[1]


# Reading and merging


@settings(max_examples=80)
@given(nbest_texts())
@example([  # equal hypotheses without links, in lists of which one alone has links
    "0 |||  ||| D_0= 0 LM0= 0 ||| 0 ||| \n1 |||  ||| D_0= 0 LM0= 0 ||| 0 ||| \n",
    "0 |||  ||| D_0= 0 LM0= 0 ||| 0 ||| \n1 ||| a ||| D_0= 0 LM0= 0 ||| 0 ||| 0=0 1=0\n",
])  # fmt: skip
def test_read_equals_slow_twin(tmp_path_factory, texts):
    nbest = read(tmp_path_factory.mktemp("lists"), *texts)
    lists = [oracle.read_lines(text) for text in texts]
    assert rows_of(nbest) == oracle.merged(lists)
    assert [name for name, _ in nbest.feature_names] == oracle.dense_names(lists)
    assert nbest.features.flags.f_contiguous
    assert (nbest.texts.links is None) == any(row.links is None for rows in lists for row in rows)


@given(nbest_texts())
def test_merge_equals_reading_all_files(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("lists")
    vocabulary = Vocabulary()
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"{number}.gz")
        paths[-1].write_bytes(gzip.compress(text.encode()))
    parts = [read_nbest([path], vocabulary) for path in paths]
    same(merge(parts), read_nbest(paths, vocabulary))


@given(nbest_texts(lists=1))
def test_write_then_read_is_identity(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("lists")
    nbest = read(folder, *texts)
    before = rows_of(nbest)
    write_nbest(nbest, folder / "copy.xz")
    again = read_nbest([folder / "copy.xz"], Vocabulary())
    assert rows_of(nbest) == before
    same(again, nbest)


def test_merge_with_itself_changes_nothing(tmp_path):
    nbest = read(tmp_path, LINE + LINE.replace("a b", "b a"))
    same(merge([nbest, nbest]), nbest)


def test_equal_hypotheses_the_first_stays(tmp_path):
    nbest = read(tmp_path, LINE + LINE.replace("||| -3 |||", "||| -4 |||"))
    assert nbest.model_scores.tolist() == [-3]


def test_hypotheses_that_differ_in_links_alone_both_stay(tmp_path):
    nbest = read(tmp_path, LINE + LINE.replace("0-0 1-1", "0-1 1-0"))
    assert nbest.offsets.tolist() == [0, 2]


def test_zero_and_minus_zero_are_equal(tmp_path):
    line = "0 ||| a ||| F= 0 G= -0 ||| 1\n"
    assert read(tmp_path, line, line.replace("F= 0 G= -0", "F= -0.0 G= 0e9")).offsets[-1] == 1


def test_columns_are_matched_by_name(tmp_path):
    first, second = "0 ||| a ||| F= 1 G= 2 3 ||| 1\n", "0 ||| b ||| G= 5 6 F= 4 ||| 1\n"
    nbest = read(tmp_path, first, second)
    assert nbest.feature_names == (("F", 1), ("G", 2))
    assert nbest.features.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert read(tmp_path, first + second).features.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_value_may_stand_directly_behind_the_equals_sign(tmp_path):
    assert read(tmp_path, "0 ||| a ||| F0=-1.2 F1=3 4 ||| -1\n").features.tolist() == [
        [-1.2, 3, 4]
    ]


def test_ids_need_not_be_sorted_and_order_of_arrival_stays(tmp_path):
    lines = [f"{segment} ||| w{k} ||| F= {k} ||| 0\n" for k, segment in enumerate([1, 0, 1, 0])]
    nbest = read(tmp_path, "".join(lines))
    assert nbest.features[:, 0].tolist() == [1, 3, 0, 2]
    assert nbest.texts.words(0) == ["w1"]


def test_empty_hypothesis_is_valid(tmp_path):
    nbest = read(tmp_path, "0 |||  ||| F= 1 ||| -1 |||  ||| \n0 ||| ||| F= 2 ||| -1 ||| |||\n")
    assert nbest.texts.tokens.lengths.tolist() == [0, 0]
    assert nbest.texts.links is not None


def test_windows_line_ends_are_accepted(tmp_path):
    same(read(tmp_path, (LINE * 2).replace("\n", "\r\n")), read(tmp_path, LINE * 2))


def test_bars_inside_a_token_are_text(tmp_path):
    assert read(tmp_path, "0 ||| a|||b |||c ||| F= 1 ||| 0\n").texts.words(0) == ["a|||b", "|||c"]


def test_segmentation_is_expanded_where_there_are_no_links(tmp_path):
    # source 1-2 -> target 0-1 (two times two links), source 0 -> target 2
    nbest = read(tmp_path, "0 ||| a b c ||| F= 1 ||| 0 ||| 1-2=0-1 0=2\n")
    assert nbest.texts.links.row(0).tolist() == [[0, 2], [1, 0], [1, 1], [2, 0], [2, 1]]


def test_segmentation_of_dropped_words_gives_no_links(tmp_path):
    # Moses with drop-unknown: source 1 and source 3 have no target words
    nbest = read(tmp_path, "0 ||| a b ||| F= 1 ||| 0 ||| 0=0 1=1 2=1 3=2\n")
    assert nbest.texts.links.row(0).tolist() == [[0, 0], [2, 1]]


def test_links_are_sorted_and_each_stands_once(tmp_path):
    nbest = read(tmp_path, "0 ||| a b ||| F= 1 ||| 0 ||| 3-1 0-1 3-1 0-0\n")
    assert nbest.texts.links.row(0).tolist() == [[0, 0], [0, 1], [3, 1]]


def test_empty_links_are_told_from_segmentation_by_other_lines(tmp_path):
    text = "0 |||  ||| F= 1 ||| 0 ||| \n0 ||| a ||| F= 1 ||| 0 ||| 0-1=0\n"
    assert read(tmp_path, text).texts.links.lengths.tolist() == [0, 2]


def test_sparse_features_are_those_that_some_lines_lack(tmp_path):
    texts = ["0 ||| a ||| F= 1 s_x= 2 ||| 0", "0 ||| b ||| F= 1 s_y= 3 s_x= 4 ||| 0"]
    text = "\n".join([*texts, "1 ||| c ||| F= 0 ||| 0\n"])
    nbest = read(tmp_path, text)
    assert nbest.feature_names == (("F", 1),)
    assert nbest.sparse.names == ("s_x", "s_y")
    assert nbest.sparse.offsets.tolist() == [0, 1, 3, 3]
    assert nbest.sparse.columns.tolist() == [0, 0, 1]
    assert nbest.sparse.values.tolist() == [2, 4, 3]


def test_dense_feature_becomes_sparse_when_another_list_lacks_it(tmp_path):
    nbest = read(tmp_path, "0 ||| a ||| s_x= 2 F= 1 ||| 0\n", "0 ||| a ||| F= 1 ||| 0\n")
    assert nbest.feature_names == (("F", 1),)
    assert nbest.sparse.values.tolist() == [2]
    assert nbest.offsets.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", zstandard.compress),
    ],
)
def test_compressed_lists_are_read_and_cut_off_ones_refused(tmp_path, suffix, pack):
    path = tmp_path / f"list{suffix}"
    path.write_bytes(pack(LINE.encode()))
    assert read_nbest([path], Vocabulary()).offsets.tolist() == [0, 1]
    path.write_bytes(pack(LINE.encode() * 100)[:-10])
    with pytest.raises(InputError, match="the compressed stream is damaged or cut off"):
        read_nbest([path], Vocabulary())


def test_lists_with_and_without_links_have_none_and_a_warning_says_so(tmp_path):
    with_links, without = LINE + LINE.replace("0-0", "0-1"), "0 ||| c ||| LM0= 1 TM0= 1 2 ||| 1\n"
    with collected_warnings() as warnings:
        nbest = read(tmp_path, with_links, without)
    assert nbest.texts.links is None
    assert nbest.offsets.tolist() == [0, 2]  # the two that differed in links alone are one now
    assert [line.replace(f"{tmp_path}/", "") for line in warnings] == [
        (
            "list2 has no word alignment, list1 has; metrics that need links will not find them: "
            "leave out the lists without"
        )
    ]
    assert read(tmp_path, without, with_links).texts.links is None


def test_last_line_without_end_is_read_and_a_warning_says_so(tmp_path):
    with collected_warnings() as warnings:
        assert read(tmp_path, LINE + LINE[:-1]).offsets.tolist() == [0, 1]
    assert "the last line has no line end; taken as complete" in next(iter(warnings))


# Errors


def test_field_count_wrong(tmp_path):
    assert fails(tmp_path, "0 ||| a ||| F= 1\n") == (
        "list1:1: 3 fields separated by |||, expected 4 to 6: id, hypothesis, features, score, "
        "then maybe segmentation and word alignment"
    )
    assert fails(tmp_path, LINE + "0 ||| a ||| F= 1 ||| 2\n") == (
        "list1:2: 4 fields separated by |||, line 1 has 6"
    )
    assert "7 fields" in fails(tmp_path, LINE[:-1] + " ||| x\n")
    assert fails(tmp_path, LINE + "\n" + LINE) == (
        "list1:2: empty line, expected `id ||| hypothesis ||| features ||| score`"
    )


def test_score_missing(tmp_path):
    assert fails(tmp_path, "0 ||| a ||| F= 1 |||\n") == (
        "list1:1: no model score (the fourth field is empty)"
    )
    message = fails(tmp_path, "0 ||| a ||| F= 1 ||| 1 2\n")
    assert "'1 2' for the model score is not a number" in message


def test_feature_missing_or_unknown(tmp_path):
    line = "0 ||| a ||| LM0= 1 TM0= 2 ||| 0\n"
    assert fails(tmp_path, line * 2 + line.replace("LM0= 1 ", "")) == (
        "list1:3: feature LM0 is missing, line 1 has it"
    )
    assert fails(tmp_path, line + line.replace("LM0= 1", "LM0= 1 LM1= 3")).startswith(
        "list1:2: unknown feature LM1, line 1 does not have it"
    )
    assert fails(tmp_path, line + line.replace("TM0= 2", "TM0= 2 3")).startswith(
        "list1:2: feature TM0 has 2 values, line 1 has 1"
    )
    assert "sparse feature s_x has 2 values" in fails(
        tmp_path, line + line.replace("LM0= 1", "LM0= 1 s_x= 3 4")
    )


def test_feature_sets_differ_between_files(tmp_path):
    line = "0 ||| a ||| LM0= 1 TM0= 2 ||| 0\n"
    assert fails(tmp_path, line, line.replace("LM0= 1 ", "")) == (
        "list2: list2 has no feature LM0, list1 has; "
        "lists that are merged must come from one model; for several systems: --systems NAME,NAME"
    )
    assert "list1 has no feature LM1, list2 has" in fails(
        tmp_path, line, line.replace("LM0= 1 ", "LM0= 1 LM1= 1 ")
    )
    assert "feature TM0 has 3 values, in list1 it has 1" in fails(
        tmp_path, line, line.replace("TM0= 2", "TM0= 2 3 4")
    )


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity", "1e999"])
def test_values_must_be_finite(tmp_path, value):
    text = "0 ||| a ||| LM0= 1 ||| 0\n"
    assert fails(tmp_path, text + text.replace("LM0= 1", f"LM0= {value}")) == (
        f"list1:2: feature LM0 is {value}; values must be finite, none beyond 1e+30"
    )
    assert fails(tmp_path, text.replace("||| 0\n", f"||| {value}\n")) == (
        f"list1:1: the model score is {value}; values must be finite, none beyond 1e+30"
    )


@pytest.mark.parametrize("value", ["1_0", "0x10", "one", "1,5", "--1", "٣"])
def test_value_is_no_number(tmp_path, value):
    assert fails(tmp_path, f"0 ||| a ||| LM0= {value} ||| 0\n") == (
        f"list1:1: '{value}' for feature LM0 is not a number"
    )


def test_bars_without_blanks_part_fields_where_moses_needs_them(tmp_path):
    spaced = "0 ||| a b ||| F= 1 G= 2 ||| -1\n0 ||| c ||| F= 1 G= 3 ||| -2 ||| 0-0\n"
    for text in (
        "0 |||a b ||| F= 1 G= 2 ||| -1\n1 ||| x|||y ||| F= 1 G= 3 ||| -2\n",
        "0|||a b|||F= 1 G= 2|||-1\r\n1 ||| x|||y ||| F= 1 G= 3 ||| -2",
    ):
        found = read(tmp_path, text)
        words = [found.texts.words(row) for row in range(2)]
        assert words == [["a", "b"], ["x|||y"]]  # a token, where fields have blanks around
        assert found.features.tolist() == [[1, 2], [1, 3]]
        assert found.model_scores.tolist() == [-1, -2]
    old = read(tmp_path, "0||| a b ||| d: 1 2 w: -3 ||| -1\n")  # Moses before 2013
    assert (old.feature_names, old.features.tolist()) == ((("d", 2), ("w", 1)), [[1, 2, -3]])
    assert fails(tmp_path, spaced) == "list1:2: 5 fields separated by |||, line 1 has 4"
    assert fails(tmp_path, "0 |||a b\n").startswith("list1:1: 2 fields separated by |||, expected")


@pytest.mark.parametrize("name", ["cdec", "joshua", "marian", "travatar", "nematus"])
def test_other_formats_ask_for_blanks(tmp_path, name):
    fields = {"nematus": "-3", "travatar": "-3 ||| w=1", "marian": "F0= 1 ||| -3"}
    text = f"0 |||a b ||| {fields.get(name, 'lm_0=1 ||| -3')}\n"
    assert " separated by |||" in fails(tmp_path, text, reader=registry.reader(name))


def test_bars_without_space_after_the_features(tmp_path):
    assert "fields are separated by ||| with white space around it" in fails(
        tmp_path, "0 ||| a ||| F= 1||| 2 ||| 3\n"
    )


def test_feature_syntax(tmp_path):
    assert "feature F has no value" in fails(tmp_path, "0 ||| a ||| F= G= 1 ||| 0\n")
    assert "feature G has no value" in fails(tmp_path, "0 ||| a ||| F= 1 G= ||| 0\n")
    assert "'=1' has no feature name before its =" in fails(tmp_path, "0 ||| a ||| =1 ||| 0\n")
    assert "no features (the third field is empty)" in fails(tmp_path, "0 ||| a ||| ||| 0\n")


def test_duplicate_feature_name(tmp_path):
    assert fails(tmp_path, "0 ||| a ||| F= 1 G= 2 F= 3 ||| 0\n") == (
        "list1:1: feature F stands twice in this line"
    )


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ("x", "segment id 'x' is not an integer; ids count from 0"),
        ("1.0", "segment id '1.0' is not an integer; ids count from 0"),
        ("", "segment id '' is not an integer; ids count from 0"),
        ("-1", "segment id -1 is negative; ids count from 0"),
        ("99999999999999999999", "segment id '99999999999999999999' is too large"),
        ("1", "segment id 1, the references have 1 segment, so ids are 0..0"),
    ],
)
def test_segment_id(tmp_path, found, message):
    assert fails(tmp_path, LINE + found + LINE[1:], segments=1) == f"list1:2: {message}"


def test_segments_without_hypothesis(tmp_path):
    lines = "".join(f"{k}{LINE[1:]}" for k in (0, 2, 3, 11))
    assert fails(tmp_path, lines) == (
        "list1: 8 of 12 segments have no hypothesis (ids 1, 4, 5, 6, 7, ...); give the whole list"
    )
    lines = "".join(f"{k}{LINE[1:]}" for k in (107788, 250, 9))  # names of another program
    assert "the list has 9..107788: --drop-missing takes these alone" in fails(tmp_path, lines)
    assert "1 of 2 segments have no hypothesis (ids 1);" in fails(tmp_path, LINE, segments=2)
    assert "(ids 0, 1, 2, 3, 4, ...)" in fails(tmp_path, "2000000000" + LINE[1:])
    assert "the n-best lists together: 1 of 2" in fails(tmp_path, LINE, LINE, segments=2)
    assert len(read(tmp_path, LINE, "1" + LINE[1:], segments=2)) == 2


@pytest.mark.parametrize("end", range(1, len(LINE) - 9))
def test_list_cut_off_in_the_middle_of_a_line(tmp_path, end):
    message = fails(tmp_path, LINE + LINE[:end])
    assert message.startswith("list1:2: ")
    assert message.endswith("the file ends in the middle of this line: is the list cut off?")


def test_bars_inside_the_hypothesis(tmp_path):
    expected = (
        "the third field is 'b', expected features like `LM0= -23.7`; is there a ||| inside the "
        "hypothesis? escape it"
    )
    text = "0 ||| a ||| F= 1 ||| 0\n"
    assert fails(tmp_path, text + text.replace("a", "a ||| b")) == f"list1:2: {expected}"
    assert fails(tmp_path, text.replace("a", "a ||| b")) == f"list1:1: {expected}"


def test_empty_file(tmp_path):
    assert (
        fails(tmp_path, "") == "list1: empty file, expected an n-best list; did the decoder fail?"
    )


def test_file_missing(tmp_path):
    with pytest.raises(InputError, match=r"none: No such file or directory"):
        read_nbest([tmp_path / "none"], Vocabulary())


def test_links_malformed_or_out_of_range(tmp_path):
    line = "0 ||| a b ||| F= 1 ||| 0 ||| 0-0 1-1\n"
    assert fails(tmp_path, line + line.replace("1-1", "1-2")) == (
        "list1:2: 1-2 is out of range, the hypothesis has 2 tokens (positions count from 0)"
    )
    for wrong in ("1-", "-1", "1", "1-1-1", "1-x", "1--1", "99999999999-0", "0-1=0"):
        assert fails(tmp_path, line + line.replace("1-1", wrong)) == (
            f"list1:2: '{wrong}' is not a link, expected source-target positions from 0 like 0-0"
        )


def test_segmentation_malformed_or_out_of_range(tmp_path):
    line = "0 ||| a b ||| F= 1 ||| 0 ||| 0=0 1=1\n"
    assert "1=1-2 is out of range, the hypothesis has 2 tokens" in fails(
        tmp_path, line.replace("1=1", "1=1-2")
    )
    # Read as 2147483647 links, it asked for 16 GB.
    assert fails(tmp_path, line + line.replace("1=1", "0-2147483646=0")) == (
        "list1:2: 0-2147483646=0 is out of range, a source phrase has at most 4096 words"
    )
    assert len(read(tmp_path, line.replace("1=1", "1-4096=1")).texts.links.values) == 4097
    for wrong in ("1=", "=1", "1", "2-1=1", "1=1-0", "1=1=1", "x=1"):
        assert fails(tmp_path, line.replace("1=1", wrong)) == (
            f"list1:1: '{wrong}' is not a phrase pair, expected source=target spans like 0-1=0-2"
        )


def test_both_optional_fields_of_one_kind(tmp_path):
    assert "fields 5 and 6 are both word alignments" in fails(
        tmp_path, "0 ||| a ||| F= 1 ||| 0 ||| 0-0 ||| 0-0\n"
    )


def test_write_refuses_the_separator_as_a_token(tmp_path):
    nbest = read(tmp_path, LINE)
    nbest.texts.vocabulary.words[0] = "|||"
    with pytest.raises(InputError, match=r"segment 0: a hypothesis has the token \|\|\|, which"):
        write_nbest(nbest, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["my LM", "", "|||", "LM\t"])
def test_write_refuses_names_that_would_not_be_read_again(tmp_path, name):
    nbest = replace(read(tmp_path, "0 ||| a ||| LM= 1 ||| 0\n"), feature_names=((name, 1),))
    with pytest.raises(InputError) as caught:
        write_nbest(nbest, tmp_path / "out")
    assert str(caught.value).startswith(f"{tmp_path}/out: feature '{name}".rstrip())
    assert "cannot be in a Moses list: a name there is one word" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_merge_refuses_lists_that_do_not_belong_together(tmp_path):
    one, other = read(tmp_path, LINE), read(tmp_path, LINE)
    with pytest.raises(ValueError, match="list 2 has another vocabulary"):
        merge([one, other])
    with pytest.raises(ValueError, match="no n-best list"):
        merge([])


def test_check_links_names_the_link(tmp_path):
    nbest = read(tmp_path, LINE + LINE.replace("1-1", "2-1"))
    check_links(nbest, np.array([3], dtype=np.int32))
    with pytest.raises(InputError) as caught:
        check_links(nbest, np.array([2], dtype=np.int32))
    assert str(caught.value) == (
        "n-best list: segment 0, hypothesis 2: link 2-1 is out of range, the source has 2 tokens; "
        "is it the source of this list?"
    )
    with pytest.raises(InputError, match="the source has 2 segments, the n-best list has 1"):
        check_links(nbest, np.array([2, 2], dtype=np.int32))


def test_a_list_whose_links_count_from_one_is_told(tmp_path, caplog):
    text = "".join(f"{n} ||| a b ||| LM0= -1 ||| -1 ||| 1-1\n" for n in range(3))
    check_links(read(tmp_path, text), np.array([3, 3, 3], dtype=np.int32))
    assert "n-best list: no link has a 0" in caplog.text


# Scores and weights


WEIGHTS = FeatureWeights({"LM0": (2.0,), "TM0": (1.0, 0.5)})


def test_model_scores_are_weights_times_features(tmp_path):
    # 2 * -1.5 + 1 * 1 + 0.5 * 2 = -1
    assert model_scores(read(tmp_path, LINE), WEIGHTS).tolist() == [-1]


def test_model_scores_have_sparse_features_with_known_weights(tmp_path):
    text = "0 ||| a ||| F= 1 s_x= 2 s_y= 7 ||| 0\n0 ||| b ||| F= 3 ||| 0\n"
    weights = FeatureWeights({"F": (1.0,), "s_x": (10.0,)})
    assert model_scores(read(tmp_path, text), weights).tolist() == [21, 3]


def test_best_hypothesis_of_equal_scores_is_the_first(tmp_path):
    lines = [f"{s} ||| {w} ||| F= {v} ||| 0\n" for s, w, v in ["0a1", "0b2", "0c2", "1d0", "1e0"]]
    nbest = read(tmp_path, "".join(lines))
    assert best_hypotheses(nbest, FeatureWeights({"F": (1.0,)})).tolist() == [1, 3]


def test_written_with_weights_the_scores_are_theirs(tmp_path):
    write_nbest(read(tmp_path, LINE), tmp_path / "out", WEIGHTS)
    assert (
        tmp_path / "out"
    ).read_text() == "0 ||| a b ||| LM0= -1.5 TM0= 1 2 ||| -1 ||| 0-0 1-1\n"


def test_model_score_mismatch_is_reported_in_a_line(tmp_path):
    text = "".join(
        f"0 ||| w{k} ||| LM0= {k} TM0= 1 {k * k} ||| {2 * k + 1 + 0.5 * k * k + (k == 2)}\n"
        for k in range(1, 6)
    )
    report = model_score_mismatch(read(tmp_path, text), WEIGHTS)
    assert report == (
        "1 of 5 model scores (20.0%) are not weights . features, by up to 1 (first: segment 0, "
        "hypothesis 2: the list says 8, the weights give 7)"
    )


def test_model_score_mismatch_allows_a_factor_and_a_constant_of_each_segment(tmp_path):
    text = "".join(
        f"{s} ||| w{k} ||| LM0= {k} TM0= 1 {s} ||| "
        f"{0.25 * (2 * k + 1 + 0.5 * s) - 100 * (s == 2)}\n"
        for k in range(1, 4)
        for s in range(3)
    )
    assert not model_score_mismatch(read(tmp_path, text), WEIGHTS)
    wrong = text.replace("2 ||| w3 ||| LM0= 3", "2 ||| w3 ||| LM0= 5")
    assert "not weights . features times 0.25" in model_score_mismatch(
        read(tmp_path, wrong), WEIGHTS
    )


def test_model_score_mismatch_accepts_six_printed_digits(tmp_path):
    rng = np.random.default_rng(3)
    weights = FeatureWeights({f"F{k}": (float(v),) for k, v in enumerate(rng.normal(size=5))})
    lines = []
    for _ in range(200):
        values = rng.normal(size=5) * 10.0 ** rng.integers(-3, 3, 5)
        score = sum(v * weights.values[f"F{k}"][0] for k, v in enumerate(values))
        text = " ".join(f"F{k}= {v:.6g}" for k, v in enumerate(values))
        lines.append(f"0 ||| a ||| {text} ||| {score:.6g}\n")
    assert not model_score_mismatch(read(tmp_path, "".join(lines)), weights)


# What real Moses wrote


@needs(MERT)
def test_moses_scores_are_the_weights_of_the_iteration_times_the_features():
    for number in (1, 2):
        nbest = read_nbest([MERT / f"run{number}.best100.out.gz"], Vocabulary(), segments=500)
        weights = read_weights(MERT / f"run{number}.dense")
        assert not model_score_mismatch(nbest, weights)
        other = read_weights(MERT / "run5.dense")
        assert int(model_score_mismatch(nbest, other).partition(" ")[0]) > 10000


@needs(MERT)
def test_moses_links_features_and_tokens_are_those_of_the_file(tmp_path):
    whole = gzip.decompress((MERT / "run1.best100.out.gz").read_bytes()).decode()
    text = whole.partition("\n100 ||| ")[0] + "\n"  # the first 100 segments of 500
    nbest = read(tmp_path, text)
    assert len(nbest.offsets) == 101
    assert rows_of(nbest) == oracle.merged([oracle.read_lines(text)])


@needs(MERT)
def test_moses_tuned_list_gives_its_own_best():
    nbest = read_nbest([MERT / "test.best100.out.gz"], Vocabulary())
    best = best_hypotheses(nbest, read_weights(MERT / "moses.ini"))
    found = [" ".join(nbest.texts.words(row)) for row in best]
    assert found == [line.strip() for line in (MERT / "test.out").read_text().splitlines()]


@examples(150)
@given(nbest_texts(lists=1), st.data())
def test_damaged_list_is_read_or_refused_in_one_line(tmp_path_factory, texts, data):
    """No damage ends in anything but an InputError that names the file."""
    text = bytearray(texts[0].encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        piece = data.draw(
            st.sampled_from([b"", b"|", b"=", b" ", b"\n", b"-", b"9", b"\xff", b" ||| ", b"\x00"])
        )
        text[at : at + data.draw(st.integers(0, 3))] = piece
    nbest, message = None, ""
    try:
        nbest = read(tmp_path_factory.mktemp("damaged"), bytes(text))
    except InputError as error:
        message = str(error)
    if nbest is None:
        assert "list1" in message
        assert "\n" not in message
    else:
        assert np.isfinite(nbest.features).all()
        assert nbest.offsets[-1] == len(nbest.texts)


def test_new_outputs_are_first_hypotheses_that_no_earlier_list_has(tmp_path):
    earlier = read(
        tmp_path,
        "0 ||| a ||| f= 1 2 ||| 1\n0 ||| b ||| f= 3 4 ||| 1\n"
        "1 ||| a ||| f= 5 6 ||| 1\n2 ||| a ||| f= 7 8 ||| 1\n3 ||| a ||| f= 9 9 ||| 1\n",
    )
    last = read(
        tmp_path,
        "0 ||| b ||| f= 3 4 ||| 1\n0 ||| c ||| f= 0 0 ||| 1\n"  # second before
        "1 ||| a ||| f= 5 7 ||| 1\n"  # another value
        "2 ||| a ||| f= 5 6 ||| 1\n"  # of another segment
        "3 ||| c ||| f= 1 1 ||| 1\n3 ||| a ||| f= 9 9 ||| 1\n",  # it is not the first
    )
    assert new_outputs(earlier, last) == 0.75
    assert new_outputs(last, last) == 0.0
