"""`portmert.average`: every form of weights, and what cannot be averaged."""

import gzip
import json

import numpy as np
import pytest

import portmert
from portmert.tuner.weights.feature_weights import read_weights
from portmert.tuner.weights.weights_file import read_sparse
from tests.support.cli import run
from tests.support.places import INVENTED

DATA = INVENTED / "recorded"
INI = """\
[feature]
UnknownWordPenalty
KENLM name=LM0 path=lm
PhraseDictionaryMemory name=TM0 num-features=2
[weight]
UnknownWordPenalty0= 1
LM0= {} # keep me
TM0= {} {}
"""


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def average(files, lists=None, *, out="mean", **more):
    """Write the average in the format of the first file."""
    portmert.average(files, lists, **more).write(out)


def refused(files, lists=None, **more):
    """Return why files are not averaged."""
    with pytest.raises(portmert.PortmertError) as error:
        average(files, lists, out="mean.json", **more)
    return str(error.value)


def write(path, text):
    path.write_text(text)
    return path


def test_json_by_hand(tmp_path):
    first = write(tmp_path / "1", '{"weights": {"LM": [1], "TM": [3]}}')
    second = write(tmp_path / "2", '{"weights": {"TM": 2, "LM": -2}}')
    average([first, second], out="mean.json")
    assert json.loads((tmp_path / "mean.json").read_text()) == {
        "weights": {"LM": [-0.5], "TM": [2.5]}
    }


def test_lists_scale_by_what_weights_move(tmp_path):
    # A moves 100 times what B does: beside A a weight of B hardly counts, whatever its size.
    lines = ("0 ||| a ||| A= 0 B= 0 ||| 0\n0 ||| b ||| A= 200 B= 0 ||| 0\n"
             "1 ||| a ||| A= 0 B= 0 ||| 0\n1 ||| b ||| A= 0 B= 2 ||| 0\n")  # fmt: skip
    lists = write(tmp_path / "lists", lines)
    first = write(tmp_path / "1", '{"weights": {"A": 0.5, "B": 0}}')  # spread 50 / sqrt(2)
    second = write(tmp_path / "2", '{"weights": {"A": 0, "B": 0.5}}')  # spread 0.5 / sqrt(2)
    average([first, second], lists, out="mean.json")
    a, b = (n for (n,) in read_weights("mean.json").values.values())
    assert a * 100 == pytest.approx(b * 1)  # both move the same
    average([first, second], out="mean.json")
    assert read_weights("mean.json").values == {"A": (0.25,), "B": (0.25,)}


def test_one_moses_ini_is_written_like_the_first(tmp_path):
    first = write(tmp_path / "1.ini", INI.format(1, 2, 1))
    second = write(tmp_path / "2.ini", INI.format(4, 0, 0))
    average([first, second], out="mean.ini")
    # (1, 2, 1) / 4 and (1, 0, 0): mean (5/8, 1/4, 1/8), times 4. What is not tuned stays.
    assert (tmp_path / "mean.ini").read_text() == INI.format(2.5, 1.0, 0.5)


def test_sparse_weights_beside_a_moses_ini(tmp_path):
    files = []
    for number, value in ((1, 2), (2, 4)):
        sparse = write(tmp_path / f"{number}.sparse", f"x_a {value}\nx_b -{value}\n")
        text = INI.format(0, value, 0) + f"[weight-file]\n{sparse}\n"
        files.append(write(tmp_path / f"{number}.ini", text))
    average([*files], out="mean.ini")
    assert "TM0= 3.0 0.0" in (tmp_path / "mean.ini").read_text()
    assert str(tmp_path / "mean.ini.sparse") in (tmp_path / "mean.ini").read_text()
    assert read_sparse(tmp_path / "mean.ini.sparse") == {"x_a": (3.0,), "x_b": (-3.0,)}


def test_dense_and_sparse_files_keep_their_form(tmp_path):
    first, second = (write(tmp_path / f"{n}", f"TM= {n}\nTM= 0\nLM= {n}\n") for n in (1, 3))
    average([first, second], out="mean")
    assert (tmp_path / "mean").read_text() == "TM= 2.0\nTM= 0.0\nLM= 2.0\n"
    first = write(tmp_path / "s1", "# of mine\nx_a 1\nx_b 1\n")
    second = write(tmp_path / "s2", "x_a 2\n")
    average([first, second], out="mean", missing_features="zero")
    assert (tmp_path / "mean").read_text() == "x_a 1.5\nx_b 0.5\n"


def test_what_optimize_found_is_averaged_and_scores(tmp_path):
    given = ["--nbest", DATA / "1.nbest.gz", "--weights", DATA / "start.json"]
    files = []
    for seed in (1, 2, 3):
        files.append(tmp_path / f"{seed}.json")
        run("optimize", *given, "--ref", DATA / "dev.tgt", "--metric", "bleu", "--optimizer",
            "mert:searches_per_feature=10,restarts=1", "--seed", seed, "--out",
            files[-1])  # fmt: skip
    average([*files], DATA / "1.nbest.gz", out="mean.json")
    mean = read_weights("mean.json")
    again = portmert.average(files, DATA / "1.nbest.gz")
    assert again.weights == mean
    rows = [read_weights(file).vector(mean.names) for file in files]
    expected = np.mean([row / size for row, size in zip(rows, again.sizes, strict=True)], axis=0)
    assert mean.vector(mean.names) == pytest.approx(expected * np.mean(again.sizes))
    run("rerank", "--nbest", DATA / "1.nbest.gz", "--weights", "mean.json", "--out", "best")
    assert len((tmp_path / "best").read_text().splitlines()) == 40


def test_length_penalties_go_with_the_weights(tmp_path):
    first = write(tmp_path / "1", '{"weights": {"LM": 1}, "length_penalty": 0.5}')
    second = write(tmp_path / "2", '{"weights": {"LM": 3}, "length_penalty": 0.5}')
    average([first, second], out="mean.json")
    assert json.loads((tmp_path / "mean.json").read_text()) == {
        "weights": {"LM": [2.0]}, "length_penalty": 0.5
    }  # fmt: skip
    write(second, '{"weights": {"LM": 3}}')
    assert "2: weights with length penalty 0, those of" in refused([first, second])


def test_what_does_not_fit_is_one_line(tmp_path):
    first = write(tmp_path / "1", '{"weights": {"LM": 1, "TM": [1, 2]}}')
    other = tmp_path / "2"
    given = [first, other]
    write(other, '{"weights": {"LM": 1, "WP": 1, "XP": 1}}')
    said = refused(given)
    assert "1: no weight for feature WP and 1 more, which " in said
    assert "2 has; give missing_features zero where it is 0" in said
    write(other, '{"weights": {"LM": 1, "TM": 2}}')
    assert "2: 1 weight of feature TM, but " in refused(given)
    write(other, '{"weights": {"LM": 0, "TM": [0, 0]}}')
    assert "2: all weights are 0" in refused(given)
    write(other, "")
    assert "2: empty file, expected weights" in refused(given)
    write(other, "LM 1 2\n")
    assert "2:1: 'LM 1 2' is not a weight" in refused(given)
    write(other, "LM x\n")
    assert "2:1: 'LM x' is not a sparse weight" in refused(given)
    write(other, INI.format(1, 2, 3).replace("[weight]", "[wait]"))
    assert "no [weight] section" in refused(given)
    assert not (tmp_path / "mean.json").exists()
    write(other, '{"weights": {"LM": 1, "TM": [1, 2]}}')
    lists = tmp_path / "lists.gz"
    lists.write_bytes(gzip.compress(b"0 ||| a ||| LM= 1 QE= 2 ||| 0\n"))
    assert "1: no weight for feature QE" in refused(given, lists)


def test_a_byte_order_mark_changes_no_form(tmp_path):
    text = '{"weights": {"A": [1.0]}}'
    (tmp_path / "1").write_text(text, encoding="utf-8-sig")
    average(["1", write(tmp_path / "2", text)], out="mean")
    assert json.loads((tmp_path / "mean").read_text()) == {"weights": {"A": [1.0]}}


def test_a_sparse_name_stands_once(tmp_path):
    write(tmp_path / "1", "A 1\nB 2\nA= 3\n")
    assert refused(["1", "1"]) == "1:3: feature A stands twice; leave one line of it"


def test_a_file_of_sparse_weights_drops_no_weight(tmp_path):
    write(tmp_path / "1", "A 1\n")
    write(tmp_path / "2", '{"weights": {"A": 1, "B": [1, 2]}}')
    message = refused(["1", "2"], missing_features="zero")
    assert "feature B has 2 weights, and a file of sparse weights holds one of each" in message
    assert not (tmp_path / "mean.json").exists()


def test_a_moses_ini_may_tune_sparse_features_alone(tmp_path):
    sparse = write(tmp_path / "sparse", "A 1\nB 3\n")
    start = f"[feature]\nUnknownWordPenalty\n[weight-file]\n{sparse}\n[weight]\n"
    ini = write(tmp_path / "1", f"{start}UnknownWordPenalty0= 1\n")
    average([ini, ini], out="mean.ini")
    assert "UnknownWordPenalty0= 1\n" in (tmp_path / "mean.ini").read_text()
    assert read_sparse("mean.ini.sparse") == {"A": (1.0,), "B": (3.0,)}
