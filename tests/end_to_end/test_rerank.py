"""`portmert rerank`."""

from __future__ import annotations

import json

import pytest

from tests.support.cli import run

LIST = """0 ||| a b ||| F= 1 G= 0 ||| 0 ||| 0-0 1-1
0 ||| c d ||| F= 0 G= 1 ||| 0 ||| 0-1
0 ||| e ||| F= 0 G= 1 ||| 0 ||| 0-0
1 |||  ||| F= 5 G= 0 ||| 0 |||
1 ||| g ||| F= 0 G= 0 ||| 0 ||| 2-0
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "list").write_text(LIST)
    (tmp_path / "weights.json").write_text(json.dumps({"weights": {"F": [0], "G": [1]}}))
    return tmp_path


def rerank(files, *more, nbest="list", status=0):
    given = ("--nbest", files / nbest, "--weights", files / "weights.json")
    return run("rerank", *given, *more, status=status)


def test_rerank_prints_the_first_of_the_best(files):
    # G decides segment 0 (c d, e equal); in segment 1 both have score 0
    result = rerank(files)
    assert result.stdout == "c d\n\n"


def test_rerank_writes_hypotheses_and_links(files):
    (files / "weights.json").write_text(json.dumps({"weights": {"F": [-1], "G": [-1]}}))
    (files / "list2").write_text("0 ||| z ||| G= -9 F= 0 ||| 0 ||| 1-0\n")
    result = rerank(
        files, "--nbest", files / "list2", "--out", files / "out", "--links-out", files / "links"
    )
    assert result.stdout == ""
    assert (files / "out").read_text() == "z\ng\n"
    assert (files / "links").read_text() == "1-0\n2-0\n"


def test_plain_text_of_segments_that_are_not_in_order_is_warned_of(files):
    rows = ({"id": f"s{n}", "text": "a", "features": {"F": 1, "G": 0}} for n in (2, 1))
    (files / "mixed").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    said = rerank(files, nbest="mixed").stderr
    assert "mixed: the ids are not in order ('s2' stands before 's1'), and the lines wri" in said
    for kept in (("--ids",), ("--out", files / "out.jsonl")):
        assert "not in order" not in rerank(files, *kept, nbest="mixed").stderr


def test_weights_of_features_that_the_list_lacks_are_refused(files):
    weights = {"F": [0], "G": [1], "qe": [2.5], "unused": [0], "UnknownWordPenalty0": [1]}
    (files / "weights.json").write_text(json.dumps({"weights": weights}))
    result = rerank(files, "--out", files / "out", status=1)
    assert (
        "weights.json: weights of qe, which the lists lack (they have F, G); add the features to "
        "the lists, or count them as 0: --missing-features zero" in result.stderr
    )
    assert not (files / "out").exists()
    assert rerank(files, "--missing-features", "zero").stdout == "c d\n\n"


def test_lists_without_features_say_so(files):
    (files / "plain").write_text("a b\nc d\n")
    listed = ("--nbest", files / "plain", "--nbest-format", "flat:n=2")
    result = run("rerank", *listed, "--weights", files / "weights.json", status=1)
    assert "which the lists lack (they have none); add the features" in result.stderr


def test_lists_of_sparse_features_may_lack_some(files):
    weights = {"F": [0], "G": [1], "qe_1": [2.5], "qe_2": [1]}
    (files / "weights.json").write_text(json.dumps({"weights": weights}))
    (files / "list").write_text(
        LIST.replace("0 ||| e ||| F= 0 G= 1", "0 ||| e ||| F= 0 G= 1 qe_1= 3")
    )
    assert rerank(files).stdout == "e\n\n"


def test_rerank_without_links_in_the_list(files):
    (files / "bare").write_text("0 ||| a ||| F= 1 G= 0 ||| 0\n")
    result = rerank(
        files, "--links-out", files / "links", "--out", files / "out", nbest="bare", status=1
    )
    assert "the list has no word alignment for --links-out" in result.stderr
    assert not (files / "links").exists()
    assert not (files / "out").exists()


def test_rerank_names_the_feature_without_weight(files):
    (files / "weights.json").write_text(json.dumps({"weights": {"F": [0]}}))
    result = rerank(files, "--out", files / "out", status=1)
    last = result.stderr.splitlines()[-1]
    assert last.startswith("portmert: error: ")
    assert "weights.json: no weight for feature G" in result.stderr
    assert not (files / "out").exists()


def test_rerank_to_one_file_for_both_is_wrong_usage(files):
    rerank(files, "--links-out", "-", status=2)


def test_rerank_with_a_faulty_list_leaves_the_old_output(files):
    (files / "out").write_text("old\n")
    (files / "list").write_text(LIST + "1 ||| x\n")
    result = rerank(files, "--out", files / "out", status=1)
    assert "list:6: 2 fields separated by |||, line 1 has 5" in result.stderr
    assert (files / "out").read_text() == "old\n"


def test_a_feature_from_a_file_is_tuned_and_reranked_with(files):
    # F and G say nothing of what is right; qe does, and only the third hypothesis is.
    (files / "qe").write_text("0\n0\n1\n0\n1\n")
    (files / "ref").write_text("e\ng\n")
    lists = ("--nbest", files / "list", "--feature", f"qe={files / 'qe'}")
    out = files / "weights.json"
    # The default optimizer keeps the start weights where two segments are all there is.
    search = ("--ref", files / "ref", "--metric", "chrf", "--optimizer", "mert")
    run("optimize", *lists, *search, "--out", out)
    assert run("rerank", *lists, "--weights", out).stdout == "e\ng\n"
    result = run("rerank", "--nbest", files / "list", "--weights", out, status=1)
    assert "weights of qe, which the lists lack" in result.stderr
    run("optimize", *lists, *search, "--replicas", 2, "--out-dir", files / "runs")
    assert run("rerank", *lists, "--weights", files / "runs" / "weights.json").stdout == "e\ng\n"
