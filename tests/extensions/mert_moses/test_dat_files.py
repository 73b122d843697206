"""Moses' features.dat and scores.dat."""
# ruff: noqa: W291  Moses ends its lines with a space

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.extensions.mert_moses.dat_files import (
    read_dat,
    with_statistics,
    write_features,
    write_scores,
)
from portmert.metrics._base import Vocabulary
from portmert.metrics.bleu import Bleu
from portmert.metrics.nist import Nist
from portmert.metrics.terp import Ter
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.numbers import LARGEST
from portmert.tuner.nbest.model import SparseFeatures, featured
from portmert.tuner.nbest.read import merge, read_nbest
from portmert.tuner.search.list_statistics import statistics_in
from tests.oracles import nbest as oracle
from tests.support.interrupts import must_end
from tests.support.places import MOSES, needs

MERT = MOSES / "mert-bleu"

FEATURES = """FEATURES_TXT_BEGIN_0 0 2 3 LM0_0 TM0_0 TM0_1 
-1.5 1 2 
-2.5 3 4 
FEATURES_TXT_END_0
FEATURES_TXT_BEGIN_0 1 1 3 LM0_0 TM0_0 TM0_1 
0 0 -0 
FEATURES_TXT_END_0
"""
SCORES = """SCORES_TXT_BEGIN_0 0 2 2 BLEU
1 4 
0 3 
SCORES_TXT_END_0
SCORES_TXT_BEGIN_0 1 1 2 BLEU
5 5 
SCORES_TXT_END_0
"""


def read(tmp_path, *pairs):
    paths = []
    for number, pair in enumerate(pairs, 1):
        for kind, text in zip(("f", "s"), pair, strict=True):
            paths.append(tmp_path / f"{kind}{number}")
            paths[-1].write_bytes(text.encode())
    return read_dat(paths[::2], paths[1::2])


def binary(text, dtype):
    """What Moses' extractor writes with --binary in place of a text."""
    out = b""
    for line in text.splitlines():
        if "_TXT_" in line:
            out += line.replace("_TXT_", "_BIN_").encode() + b"\n"
        else:
            out += np.array(line.split(), dtype=np.float64).astype(dtype).tobytes()
    return out


MOSES_TER = """1400 1800 77
2500 4100 60
900 2100 42
500 1500 33
2400 4600 52
1100 2400 45
1900 3400 55
1300 3400 38
1800 3700 48
3000 5800 51"""
"""What Moses' extractor writes for the first hypotheses of mert.extractor-txt, segment by segment.

Moses' evaluator says 0.4878 of them.
"""


@pytest.mark.parametrize("dtype", [None, "<f4", "<i4"])
def test_ter_of_moses_is_read_in_its_hundredths(tmp_path, dtype):
    blocks = [("FEATURES", "1 F_0 ", "1"), ("SCORES", "3 TER", None)]
    paths = [tmp_path / "f", tmp_path / "s"]
    for path, (kind, head, line) in zip(paths, blocks, strict=True):
        text = "".join(
            f"{kind}_TXT_BEGIN_0 {n} 1 {head}\n{line or row}\n{kind}_TXT_END_0\n"
            for n, row in enumerate(MOSES_TER.splitlines())
        )
        path.write_bytes(text.encode() if dtype is None or line else binary(text, dtype))
    stats = statistics_in(read_dat(paths[:1], paths[1:]), Ter())
    assert stats[:2].tolist() == [[14, 18], [25, 41]]
    assert round(1 - float(Ter().score(stats.sum(axis=0))), 4) == 0.4878


def test_messages_name_the_score_file(tmp_path):
    lists = read(tmp_path, (FEATURES, SCORES.replace("BLEU", "TER").replace("1 4", "1 0 ", 1)))
    with pytest.raises(InputError, match=f"^{tmp_path}/s1: 2 statistics of TER, .* 9: .*; give"):
        statistics_in(lists, Bleu())
    lists = read(tmp_path, (FEATURES, SCORES.replace("BLEU", "TER").replace("0 3", "-1 3")))
    with pytest.raises(InputError, match=f"^{tmp_path}/s1: segment 0, hypothesis 2: edits is -1"):
        statistics_in(lists, Ter())
    lists = read(tmp_path, (FEATURES, SCORES.replace("2 BLEU", "2 NIST")))
    with pytest.raises(InputError, match=r"metric nist has .*; give the n-best lists and ref"):
        statistics_in(lists, Nist())


def test_faults_of_binary_files_are_placed_by_their_blocks(tmp_path):
    (tmp_path / "f").write_bytes(binary(FEATURES.replace("1 1 3 LM0", "1 1 3 LM1"), "<f4"))
    (tmp_path / "s").write_bytes(SCORES.encode())
    with pytest.raises(InputError, match="f: block 2: another number of columns, or other names"):
        read_dat([tmp_path / "f"], [tmp_path / "s"])


@pytest.mark.parametrize("dtype", ["<f4", "<i4"])
def test_binary_files_are_read(tmp_path, dtype):
    (tmp_path / "f").write_bytes(binary(FEATURES, "<f4"))
    (tmp_path / "s").write_bytes(binary(SCORES, dtype))
    expected = read(tmp_path, (FEATURES, SCORES))
    found = read_dat([tmp_path / "f"], [tmp_path / "s"])
    assert np.array_equal(found.features, expected.features)
    assert np.array_equal(found.counted.rows, expected.counted.rows)
    assert found.feature_names == expected.feature_names
    for cut in range(4, 90):
        (tmp_path / "s").write_bytes(binary(SCORES, dtype)[:-cut])
        with pytest.raises(InputError, match=r"cut off|its segments are not those of"):
            read_dat([tmp_path / "f"], [tmp_path / "s"])


def fails(tmp_path, *pairs):
    with pytest.raises(InputError) as caught:
        read(tmp_path, *pairs)
    return str(caught.value).replace(f"{tmp_path}/", "")


def rows_of(lists):
    rows = []
    for segment in range(len(lists)):
        span = slice(lists.offsets[segment], lists.offsets[segment + 1])
        names = [f"{name}_{k}" for name, size in lists.feature_names for k in range(size)]
        rows.append(
            [
                (tuple(sorted(zip(names, features, strict=True))), tuple(stats))
                for features, stats in zip(
                    lists.features[span].tolist(), lists.counted.rows[span].tolist(), strict=True
                )
            ]
        )
    return rows


def test_pair_is_read(tmp_path):
    lists = read(tmp_path, (FEATURES, SCORES))
    assert lists.feature_names == (("LM0", 1), ("TM0", 2))
    assert lists.counted.metric == "BLEU"
    assert lists.offsets.tolist() == [0, 2, 3]
    assert lists.features.tolist() == [[-1.5, 1, 2], [-2.5, 3, 4], [0, 0, 0]]
    assert lists.counted.rows.tolist() == [[1, 4], [0, 3], [5, 5]]
    assert lists.features.flags.f_contiguous
    assert lists.counted.rows.flags.c_contiguous


@st.composite
def pairs_of_files(draw):
    """Several pairs with small numbers, so that many hypotheses are equal."""
    segments = draw(st.integers(1, 3))
    names = ["A_0", "B_0", "B_1", "C_0"][: draw(st.integers(1, 4))]
    width = draw(st.integers(1, 3))
    files = []
    for _ in range(draw(st.integers(1, 3))):
        columns = draw(st.permutations(names))
        texts = ["", ""]
        for segment in draw(st.permutations(range(segments))):
            count = draw(st.integers(1, 5))
            for k, (kind, size, head) in enumerate(
                [("FEATURES", len(names), " ".join(columns)), ("SCORES", width, "PER")]
            ):
                texts[k] += f"{kind}_TXT_BEGIN_0 {segment} {count} {size} {head}\n"
                for _ in range(count):
                    row = draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
                    texts[k] += "".join(f"{value / 2:g} " for value in row) + "\n"
                texts[k] += f"{kind}_TXT_END_0\n"
        files.append(texts)
    return files


@given(pairs_of_files())
def test_read_equals_slow_twin(tmp_path_factory, files):
    lists = read(tmp_path_factory.mktemp("dat"), *files)
    assert rows_of(lists) == oracle.read_dat([f for f, _ in files], [s for _, s in files])


def test_equal_features_with_other_statistics_both_stay(tmp_path):
    other = SCORES.replace("5 5", "5 6")
    assert read(tmp_path, (FEATURES, SCORES), (FEATURES, other)).offsets.tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("features", "scores", "message"),
    [
        ("", SCORES, "f1: empty file, expected Moses' features.dat"),
        (
            SCORES,
            SCORES,
            "f1:1: expected Moses' features.dat, which begins with FEATURES_TXT_BEGIN",
        ),
        (
            FEATURES.replace("TXT", "BIN"),
            SCORES,
            "f1: the block at byte 1 has no FEATURES_BIN_END after the 2 x 3 numbers that its he",
        ),
        (
            FEATURES.replace("0 2 3 LM0_0 TM0_0 TM0_1", "0 2 0"),
            SCORES,
            "f1:1: the header announces 0 columns of features: none to read",
        ),
        (
            FEATURES.replace("1 1 3 LM0_0", "1 1 3 LM1_0"),
            SCORES,
            "f1:5: another number of columns",
        ),
        (FEATURES.replace("-2.5 3 4", "-2.5 3"), SCORES, "f1:3: 2 numbers, the header says 3; is"),
        (FEATURES.replace("3 4", "3 x"), SCORES, "f1:3: 'x' is not a number"),
        (FEATURES.replace("3 4", "3 nan"), SCORES, "f1:3: nan in the numbers; values must be fin"),
        (FEATURES.replace("3 4 ", "3 4 s_x=a "), SCORES, "f1:3: 's_x=a' is not a sparse feature"),
        (
            FEATURES.replace("_1\n", "_1\n", 1) + "s_x=1\n",
            SCORES,
            "f1:8: a sparse feature outside",
        ),
        (FEATURES.replace("-2.5 3 4 \n", ""), SCORES, "f1:3: the block ends before the number"),
        (
            FEATURES.replace("-2.5 3 4 \n", "-2.5 3 4 \n1 2 3 \n"),
            SCORES,
            "f1:4: expected FEATURES_TXT_END after the 2 lines of segment 0; is the file cut off?",
        ),
        (
            FEATURES.replace("_0\nF", "_0\nstray\nF"),
            SCORES,
            "f1:5: expected FEATURES_TXT_BEGIN or the end of the file",
        ),
        (FEATURES[:-19], SCORES, "f1:7: expected FEATURES_TXT_END after the 1 line of segment 1"),
        (FEATURES.replace("TM0_1", "TM0_0"), SCORES, "f1:1: feature TM0_0 stands twice"),
        (FEATURES.replace(" TM0_1", ""), SCORES, "f1:1: names of features: 2, columns: 3"),
        (FEATURES.replace("0 0 2 3", "0 0 9999 3"), SCORES, "f1:1: the headers announce 30000 n"),
        (FEATURES, SCORES.replace(" 1 1 2", " 2 1 2"), "s1: its segments are not those of f1"),
        (
            FEATURES,
            SCORES.replace("5 5 \n", "5 5 \n5 5 \n").replace("1 1 2 BLEU", "1 2 2 BLEU"),
            "s1: segment 1 has 2 hypotheses, in f1 it has 1; both must come from one run",
        ),
        (
            FEATURES.replace("_0 1 1", "_0 2 1"),
            SCORES.replace("_0 1 1", "_0 2 1"),
            "f1: 1 of 3 segments have no hypothesis (ids 1); give the whole list",
        ),
    ],
)
def test_fault_is_named(tmp_path, features, scores, message):
    assert fails(tmp_path, (features, scores)).startswith(message)


def test_files_of_different_models_or_metrics(tmp_path):
    pair = (FEATURES, SCORES)
    assert fails(tmp_path, pair, (FEATURES.replace("LM0", "LM1"), SCORES)) == (
        "f2: f2 has no feature LM0_0, f1 has; files that are merged must come from one model"
    )
    assert fails(tmp_path, pair, (FEATURES, SCORES.replace("BLEU", "PER"))) == (
        "s2: 2 statistics of PER, s1 has 2 of BLEU"
    )


def test_sparse_features_are_read_and_merged_by_name(tmp_path):
    first = FEATURES.replace("3 4 ", "3 4 s_x=1 a_=b_y=-2e1 ").replace("1 2 ", "1 2 s_z=0.5 ")
    second = FEATURES.replace("0 0 -0 ", "0 0 -0 s_z=7 ")
    lists = read(tmp_path, (first, SCORES), (second, SCORES))
    assert lists.sparse.names == ("s_z", "s_x", "a_=b_y")
    found = [
        {
            lists.sparse.names[lists.sparse.columns[e]]: lists.sparse.values[e]
            for e in range(*lists.sparse.offsets[row : row + 2])
        }
        for row in range(len(lists.features))
    ]
    # Lines that differ in sparse features alone are two hypotheses.
    assert found == [{"s_z": 0.5}, {"s_x": 1.0, "a_=b_y": -20.0}, {}, {}, {}, {"s_z": 7.0}]
    assert lists.offsets.tolist() == [0, 4, 6]


NUMBERS = st.floats(-LARGEST, LARGEST) | st.integers(-3, 3).map(float)


@st.composite
def dat_lists(draw):
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    rows, width = sum(sizes), draw(st.integers(1, 4))
    cells = st.lists(NUMBERS, min_size=rows * width, max_size=rows * width)
    sparse = None
    if draw(st.booleans()):
        counts = draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows))
        columns = np.concatenate([np.arange(count) for count in counts]).astype(np.int32)
        values = draw(st.lists(NUMBERS, min_size=len(columns), max_size=len(columns)))
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        sparse = SparseFeatures(("s_a", "s_b=c"), offsets, columns, np.array(values))
    nbest = featured(
        np.asfortranarray(np.array(draw(cells)).reshape(rows, width)),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        (("LM0", 1), ("my_TM0", width - 1)) if width > 1 else (("LM0", 1),),
        sparse,
    )
    return with_statistics(nbest, np.array(draw(cells)).reshape(rows, width), "PORT")


def content(lists):
    """Rows with all that belongs to them, by segment."""
    found = []
    for row in range(len(lists.features)):
        sparse = {}
        if lists.sparse is not None:
            for entry in range(*lists.sparse.offsets[row : row + 2]):
                name = lists.sparse.names[lists.sparse.columns[entry]]
                sparse[name] = lists.sparse.values[entry]
        segment = int(np.searchsorted(lists.offsets, row, side="right"))
        features, stats = lists.features[row].tolist(), lists.counted.rows[row].tolist()
        found.append((segment, features, stats, sparse))
    return found


@given(dat_lists())
def test_what_is_written_reads_back_without_duplicates(tmp_path_factory, lists):
    folder = tmp_path_factory.mktemp("dat")
    write_features(lists, folder / "f")
    write_scores(lists, folder / "s")
    expected = []
    for row in content(lists):
        if row not in expected:
            expected.append(row)
    for found in (read_dat([folder / "f"], [folder / "s"]), merge([lists])):
        assert content(found) == expected
        assert found.feature_names == lists.feature_names
        assert found.counted.metric == "PORT"
    assert "-0 " not in (folder / "f").read_text()


def test_written_files_are_of_the_form_of_moses(tmp_path):
    lists = read(tmp_path, (FEATURES, SCORES))
    write_features(lists, tmp_path / "f")
    write_scores(lists, tmp_path / "s")
    assert (tmp_path / "f").read_text() == FEATURES.replace("-0 ", "0 ")
    assert (tmp_path / "s").read_text() == SCORES


def test_as_many_feature_files_as_score_files():
    with pytest.raises(InputError, match="2 feature files and 1 score file; give as many"):
        read_dat(["a", "b"], ["c"])


@needs(MERT)
def test_seven_iterations_have_as_many_hypotheses_as_moses_says():
    numbers = range(1, 8)
    lists = read_dat(
        [MERT / f"run{k}.features.dat.gz" for k in numbers],
        [MERT / f"run{k}.scores.dat.gz" for k in numbers],
    )
    assert lists.features.shape == (169370, 14)
    assert lists.counted.rows.shape == (169370, 9)


@needs(MERT)
def test_features_are_those_of_the_list():
    lists = read_dat([MERT / "run1.features.dat.gz"], [MERT / "run1.scores.dat.gz"])
    nbest = read_nbest([MERT / "run1.best100.out.gz"], Vocabulary(), segments=500)
    assert nbest.feature_names == lists.feature_names
    for segment in range(500):
        ours = nbest.features[nbest.offsets[segment] : nbest.offsets[segment + 1]]
        theirs = lists.features[lists.offsets[segment] : lists.offsets[segment + 1]]
        assert {*map(tuple, ours.tolist())} == {*map(tuple, theirs.tolist())}
    text = gzip.decompress((MERT / "run1.scores.dat.gz").read_bytes()).decode()
    first = next(oracle.blocks(text))[2]
    kept = lists.counted.rows[: lists.offsets[1]].tolist()
    assert {*map(tuple, kept)} == {*map(tuple, first)}
    assert np.all(lists.counted.rows == np.round(lists.counted.rows))


def test_a_long_word_costs_no_more_than_its_length(tmp_path):
    long = FEATURES.replace("0 0 -0 ", "s=1 0 0 " + "(" * 1_000_000)
    with must_end():  # squared it is more than an hour
        assert "is not a number" in fails(tmp_path, (long, SCORES))


@given(dat_lists(), st.data())
def test_what_is_in_no_feature_stays_with_its_row(lists, data):
    rows = len(lists.features)
    hidden = data.draw(st.lists(NUMBERS, min_size=rows, max_size=rows))
    merged = merge([replace(lists, unlisted=np.array(hidden))] * 2)
    rows = content(lists)
    firsts = [hidden[rows.index(row)] for row in content(merged)]
    assert merged.unlisted.tolist() == firsts
    assert not merge([lists, lists]).unlisted.size
    with pytest.raises(InputError, match="hidden parts: False in list 1, True in"):
        merge([lists, replace(lists, unlisted=np.array(hidden))])
