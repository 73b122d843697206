"""Reading human scores and finding the outputs they are about."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portmert.extensions.metaeval.human_scores import find_outputs, read_human_scores
from portmert.tuner.base.errors import InputError
from tests.support.places import SHARED, needs

REAL = SHARED / "data" / "mqm-ted-zh-en"
HEADER = "system\tsegment\tdocument\tscore\n"


@pytest.fixture
def read(tmp_path):
    def call(text):
        (tmp_path / "human.tsv").write_text(text)
        return read_human_scores(tmp_path / "human.tsv")

    return call


def test_scores_stand_by_segment_and_system(read):
    human = read(HEADER + "B\t1\td1\t-1.5\nA\t0\td0\t2\nB\t0\td0\t-0.0\n")
    assert human.systems == ("B", "A")
    assert human.scores.tolist()[0] == [0.0, 2.0]
    assert math.copysign(1, human.scores[0, 0]) == 1
    assert human.scores[1, 0] == -1.5
    assert np.isnan(human.scores[1, 1])
    assert human.complete.tolist() == [0]
    documents = human.partitions["document"]
    assert [documents.names[k] for k in documents.of_segment] == ["d0", "d1"]
    assert human.negated().scores[0].tolist() == [0.0, -2.0]
    assert human.of_systems(["A"]).scores[0].tolist() == [2.0]


def test_columns_may_stand_in_any_order_and_documents_are_not_needed(read):
    human = read("score\tjudge\tsegment\tsystem\n3\tx\t0\tA\n")
    assert human.scores.tolist() == [[3.0]]
    assert human.partitions == {}


def test_segments_after_the_last_score_are_not_judged(read):
    human = read(HEADER + "A\t0\td\t1\n").of_length(3, origin="ref")
    assert len(human) == 3
    assert human.complete.tolist() == [0]
    assert human.partitions["document"].of_segment.tolist() == [0, -1, -1]


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("ABC"), st.integers(0, 5)),
        st.floats(-1e30, 1e30),
        min_size=1,
    )
)
def test_what_is_written_is_read(tmp_path_factory, scores):
    path = tmp_path_factory.mktemp("human") / "human.tsv"
    path.write_text(
        "system\tsegment\tscore\n"
        + "".join(
            f"{system}\t{segment}\t{score!r}\n" for (system, segment), score in scores.items()
        )
    )
    human = read_human_scores(path)
    assert np.count_nonzero(~np.isnan(human.scores)) == len(scores)
    for (system, segment), score in scores.items():
        assert human.scores[segment, human.systems.index(system)] == score


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty; expected a line of column names, then a line a score"),
        (HEADER, "no scores behind the column names"),
        ("a\tb\n1\t2\n", "human.tsv:1: no column 'system'"),
        ("system\tsegment\tscore\tscore\nA\t0\t1\t1\n", "more than one column 'score'"),
        (HEADER + "A\t0\td\n", "human.tsv:2: 3 columns, the first line names 4"),
        (HEADER + "A\t-1\td\t1\n", "human.tsv:2: segment is '-1'; expected a line number"),
        (HEADER + "A\t0\td\tnan\n", "human.tsv:2: score is 'nan'; expected a number, finite"),
        (HEADER + "A\t0\td\tinf\n", "human.tsv:2: score is 'inf'"),
        (
            HEADER + "A\t0\td\t-2e300\n",
            "score is '-2e300'; expected a number, finite, none beyond 1e+30",
        ),
        # A table of all these segments would not fit into memory.
        (HEADER + "A\t999999999\td\t1\n", "human.tsv:2: segment is '999999999'; expected a line"),
        (HEADER + "A\t0\td\tNone\n", "leave the line out if the segment was not judged"),
        (HEADER + "A\t0\td\t1\nA\t0\td\t2\n", "human.tsv:3: system 'A' has a score of segment 0 "),
        (HEADER + "A\t0\td\t1\nB\t0\te\t2\n", "segment 0 is in document 'e', but line 2 has it"),
    ],
)
def test_a_wrong_table_is_an_error_that_says_where(read, text, message):
    with pytest.raises(InputError) as caught:
        read(text)
    assert message in str(caught.value)


def test_scores_must_fit_the_test_set(read):
    human = read(HEADER + "A\t4\td\t1\n")
    with pytest.raises(InputError, match=r"a score of segment 4 .*, but ref has 3 lines"):
        human.of_length(3, origin="ref")
    with pytest.raises(InputError, match="no score of system 'B'"):
        human.of_systems(["B"])
    with pytest.raises(InputError, match="system 'A' is named twice"):
        human.of_systems(["A", "A"])


def test_outputs_are_named_after_their_systems(tmp_path):
    for name in ("A.en", "B.v2.en.gz", "C", ".hidden"):
        (tmp_path / name).write_text("x\n")
    (tmp_path / "folder").mkdir()
    found = find_outputs(tmp_path, ["C", "B.v2", "A"])
    assert list(found) == ["C", "B.v2", "A"]
    assert [path.name for path in found.values()] == ["C", "B.v2.en.gz", "A.en"]


def test_outputs_and_systems_must_agree(tmp_path):
    (tmp_path / "A.en").write_text("x\n")
    with pytest.raises(InputError, match="no output of system 'B', which has human scores"):
        find_outputs(tmp_path, ["A", "B"])
    with pytest.raises(InputError, match=r"A\.en: system 'A' has no human scores"):
        find_outputs(tmp_path, ["B"])
    (tmp_path / "A.de").write_text("x\n")
    with pytest.raises(InputError, match=r"two outputs of system 'A': A\.de and A\.en"):
        find_outputs(tmp_path, ["A"])
    with pytest.raises(InputError, match="no such folder"):
        find_outputs(tmp_path / "none", ["A"])


def test_outputs_of_others_may_be_allowed(tmp_path):
    for name in ("A.en", "B.en"):
        (tmp_path / name).write_text("x\n")
    assert list(find_outputs(tmp_path, ["B"], others_allowed=True)) == ["B"]


@needs(REAL)
def test_the_real_scores_are_read():
    human = read_human_scores(REAL / "human.tsv")
    assert human.scores.shape == (529, 13)
    assert len(human.complete) == 529
    lines = (REAL / "documents.txt").read_text().splitlines()
    documents = human.partitions["document"]
    assert [documents.names[k] for k in documents.of_segment] == lines
    assert list(find_outputs(REAL / "outputs", human.systems)) == list(human.systems)
