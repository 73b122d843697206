"""Lists of recognisers: scores by key, archives of several lists, folders."""

import numpy as np
import pytest

import portmert
from portmert.tuner.base.errors import InputError
from portmert.tuner.base.warn import notices_to

WORDS = "u-1 a\nu-2 a b\nv-1 c\n"


def lists(*paths, **options):
    return portmert.Lists.read([str(path) for path in paths], **options)


def features(found):
    names = [name for name, _ in found.nbest.feature_names]
    return dict(zip(names, found.nbest.features.T.tolist(), strict=True))


def refused(*paths, **options):
    with pytest.raises(InputError) as caught:
        lists(*paths, **options)
    return str(caught.value)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "words": WORDS,
        "ac": "v-1 3\nu-2 2\nu-1 1\n",
        "lm": "u-1 4\nu-2 tensor(5.)\nv-1 6\n",
        "more": "w-1 d\nw-2\n",
        "all": "u-1 1\nu-2 2\nv-1 3\nw-1 7\nw-2 8\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("form", ["kaldi:x=ac,y=lm", "kaldi:-x=ac,y=lm"])
@pytest.mark.usefixtures("folder")
def test_files_of_costs_have_the_names_that_the_user_gives(form):
    assert features(lists("words", format=form)) == {"-x": [-1, -2, -3], "-y": [-4, -5, -6]}


def test_files_of_one_name_are_parts_of_one_archive(folder):
    (folder / "ac.1").write_text("u-1 1\nu-2 2\n")
    (folder / "ac.2").write_text("v-1 3\n")
    assert features(lists("words", format="kaldi:ac=ac.1+ac.2")) == {"-ac": [-1, -2, -3]}
    message = refused("words", format="kaldi:ac=ac.1+ac.1")
    assert message == "ac.1: u-1 stands in another file of -ac too"


@pytest.mark.usefixtures("folder")
def test_one_archive_serves_several_lists():
    found = lists("words", "more", format="kaldi:ac=all")
    assert features(found) == {"-ac": [-1, -2, -3, -7, -8]}
    assert found.nbest.ids == ("u", "v", "w")
    said = []
    with notices_to(said.append):
        portmert.Lists.read("more", format="kaldi:ac=all")
    assert said[0].endswith(", costs times -1, 3 numbers of other lists in all")


def test_an_archive_with_more_of_an_utterance_than_the_list_is_refused(folder):
    (folder / "words").write_text("u-1 a\nv-1 c\n")
    assert refused("words", format="kaldi:ac=all") == (
        "all: u-2 not in words; is that list cut off?"
    )


def test_lists_of_the_same_utterances_cannot_share_an_archive(folder):
    (folder / "other").write_text("u-1 x\nu-2 y\nv-1 y\n")
    message = refused("words", "other", format="kaldi:ac=all")
    assert message.startswith("other: another list has hypotheses of u too, and format names one")
    (folder / "ac2").write_text("u-1 9\nu-2 8\nv-1 7\n")
    found = lists("words", "other", features=["-ac=ac,ac2"])
    assert features(found) == {"-ac": [-1, -2, -9, -8, -3, -7]}
    assert "several lists have hypotheses of u; give a file for each list" in refused(
        "words", "other", features=["-ac=all"]
    )


@pytest.mark.usefixtures("folder")
def test_features_by_key():
    assert features(lists("words", features=["lm=lm", "-ac=ac"])) == {
        "lm": [4, 5, 6],
        "-ac": [-1, -2, -3],
    }
    said = []
    with notices_to(said.append):
        found = portmert.Lists.read(["words", "more"], features=["ac=all"])
    assert features(found) == {"ac": [1, 2, 3, 7, 8]}
    with notices_to(said.append):
        portmert.Lists.read("words", features=["ac=all"])
    assert said[-1] == "all: 2 numbers of other lists passed over"


def test_features_by_key_are_found_for_lists_with_numbers_and_for_equal_hypotheses(folder):
    (folder / "moses").write_text(
        "0 ||| a ||| F= 1 ||| 0\n1 ||| b ||| F= 1 ||| 0\n"
        "0 ||| a ||| F= 1 ||| 0\n0 ||| c ||| F= 1 ||| 0\n"
    )
    (folder / "qe").write_text("0-1 1\n0-2 2\n0-3 3\n1-1 4\n")
    found = lists("moses", features=["qe=qe"])
    assert features(found)["qe"] == [1, 3, 4]
    assert found.nbest.ranks.tolist() == [1, 3, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u-1 1\nu-2 2\n", "x: nothing for v-1, which the list has (found: u-1, u-2, ...); give"),
        ("u-1 1\nu-2 2\nv-1 3\nv-2 4\n", "x: 4 numbers of segments of the lists, which have 3 hy"),
        ("u-1 1\nu-1 2\nv-1 3\n", "x:2: u-1 stands twice, first in line 1"),
        ("u-1 1\nu-2 z\nv-1 3\n", "x:2: 'z' for the value is not a number"),
        ("u-1 1\nu-2 inf\nv-1 3\n", "x:2: the value is inf; values must be"),
        ("u-1 1\n2\nv-1 3\n", "x:2: '2' does not begin with a key of a hypothesis, like utt-1"),
    ],
)
def test_wrong_files_of_keys_are_refused(folder, text, message):
    (folder / "x").write_text(text)
    assert message in refused("words", features=["f=x"])


def espnet(folder, job=""):
    """Three hypotheses of u, one of v."""
    for rank, text, score in (
        (1, "u a b\nv c\n", "u tensor(-1.5)\nv -2\n"),
        (2, "u b\n", "u -3\n"),
        (3, "u\n", "u -4\n"),
    ):
        tables = folder / job / f"{rank}best_recog"
        tables.mkdir(parents=True)
        (tables / "text").write_text(text)
        (tables / "score").write_text(score)


def test_folders_of_espnet_2_are_read_directly(tmp_path):
    espnet(tmp_path)
    said = []
    with notices_to(said.append):
        found = portmert.Lists.read(tmp_path)
    assert features(found) == {"score": [-1.5, -3, -4, -2]}
    assert found.nbest.ids == ("u", "v")
    assert [found.nbest.texts.words(row) for row in range(4)] == [["a", "b"], ["b"], [], ["c"]]
    assert said == ["ESPnet 2 n-best, 1 feature, 2 segments x 1..3, no word alignment"]
    (tmp_path / "lm").write_text("u-1 7\nu-2 8\nu-3 9\nv-1 6\n")
    more = lists(tmp_path, features=[f"lm={tmp_path}/lm"])
    assert features(more)["lm"] == [7, 8, 9, 6]


def test_jobs_of_espnet_2_are_read_together(tmp_path):
    espnet(tmp_path, "logdir/output.2")
    other = tmp_path / "logdir" / "output.10" / "1best_recog"
    other.mkdir(parents=True)
    (other / "text").write_text("w d\n")
    (other / "score").write_text("w -9\n")
    found = lists(tmp_path)
    assert found.nbest.ids == ("u", "v", "w")
    assert np.array_equal(found.nbest.offsets, [0, 3, 4, 5])


def test_wrong_folders_are_refused(tmp_path):
    assert "a folder; expected a file, or a folder of ESPnet 2 with tables" in refused(tmp_path)
    espnet(tmp_path)
    score = tmp_path / "2best_recog" / "score"
    score.write_text("v -3\n")
    assert refused(tmp_path).endswith("2best_recog/score: nothing for u, which text has")
    score.write_text("u -3\nv -3\n")
    assert refused(tmp_path).endswith("is that list cut off?")
    score.write_text("u x\n")
    assert refused(tmp_path).endswith("score:1: 'x' for the value is not a number")
    score.write_text("u 1\nu 2\n")
    assert refused(tmp_path).endswith("score:2: u stands twice")
    score.unlink()
    assert "No such file" in refused(tmp_path)


COMET = "h.txt\tSegment 0\tscore: 0.8\nh.txt\tSegment 1\tscore: -0.1\nh.txt\tSegment 2\tscore: 1\n"


@pytest.mark.usefixtures("folder")
def test_what_comet_score_prints_is_read_as_it_is(folder):
    (folder / "c").write_text(f"{COMET}h.txt\tscore: 0.5667\n")
    assert features(lists("words", features=["c=c"])) == {"c": [0.8, -0.1, 1]}
    (folder / "c").write_text(f"{COMET}h.txt\tscore: 0.5667\nPredictions saved in: x.json.\n")
    assert features(lists("words", features=["c=c"])) == {"c": [0.8, -0.1, 1]}
    with_variance = COMET.replace("\n", "\tvariance: 0.1\n")
    (folder / "c").write_text(f"{with_variance}h.txt\tscore: 0.5667\n")
    assert features(lists("words", features=["c=c"])) == {"c": [0.8, -0.1, 1]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (COMET, "c: the mean that comet-score prints last is missing; is the file cut off?"),
        (COMET.replace("Segment 1", "Segment 4"), "c:2: 'h.txt Segment 4 score: -0.1', exp"),
        (COMET.replace("Segment 1", f"Segment {'1' * 5000}"), "c:2: 'h.txt Segment 111"),
        (f"{COMET}i.txt\tscore: 1\n", "c:4: 'i.txt score: 1', expected Segment 3 of h.txt, as"),
    ],
)
def test_other_prints_of_comet_score_are_refused(folder, text, message):
    (folder / "c").write_text(text)
    assert message in refused("words", features=["c=c"])


def test_lists_of_beams_have_no_ids_and_go_with_ids_in_order(folder):
    beams = '[["a b", null, [], -1.5, -2.5], ["b", null, [], -1, -3]]\n'
    (folder / "beams").write_text(beams * 3)
    (folder / "text").write_text("u1 a b\nu2 b\nu3 c\n")
    said = []
    with notices_to(said.append):
        read = lists("beams", refs=["text"], ids=True)
    assert read.nbest.ids is None
    assert "no ids, so line n is the n-th segment" in said[0]
    (folder / "text").write_text("u3 a b\nu2 b\nu1 c\n")
    said = refused("beams", refs=["text"], ids=True)
    assert "the n-best lists: no ids, and those of text are not in order" in said
    (folder / "objects").write_text('{"nbest": ["a", "b"], "k": 1}\n' * 3)
    assert "name it: id=KEY" in refused("objects", refs=["text"], ids=True)
