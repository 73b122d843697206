"""Minimum Bayes risk by `portmert rerank --mbr`, and as a feature."""

import json

import pytest

import portmert
from tests.support.cli import run
from tests.support.interrupts import pieces_begun

LIST = """0 ||| x y z ||| F= 3 ||| -1
0 ||| a b c d ||| F= 0 ||| -9
0 ||| a b c e ||| F= 1 ||| -9
0 ||| a b c f ||| F= 1 ||| -8
1 ||| p ||| F= 0 ||| 0
1 ||| q ||| F= 0 ||| -1
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "list").write_text(LIST)
    (tmp_path / "w.json").write_text(json.dumps({"weights": {"F": [1]}}))
    return tmp_path


def rerank(files, *more, status=0):
    return run("rerank", "--nbest", files / "list", *more, status=status)


def test_what_is_most_like_the_others_is_chosen_the_first_of_equal_ones(files):
    for metric in ("chrf", "bleu:smooth=add1", "ter", "0.5*wer + 0.5*chrf"):
        assert rerank(files, "--mbr", metric).stdout == "a b c d\np\n", metric
    assert rerank(files, "--mbr", "bleu", "--mbr-average", "statistics").stdout == "a b c d\np\n"


def test_weights_say_which_are_likely(files):
    weights = ("--weights", files / "w.json", "--mbr", "chrf")
    assert rerank(files, *weights, "--mbr-temperature", 5).stdout == "x y z\np\n"
    assert rerank(files, *weights, "--mbr-temperature", 0).stdout == "a b c d\np\n"
    # The best three under the weights are x y z, ... e and ... f: e comes first.
    assert rerank(files, *weights, "--mbr-size", 3).stdout == "a b c e\np\n"
    # Without weights the list's own scores.
    assert rerank(files, "--mbr", "chrf", "--mbr-temperature", 1).stdout == "x y z\np\n"
    assert rerank(files, "--mbr", "chrf", "--mbr-size", 1).stdout == "x y z\np\n"


def test_texts_are_compared_behind_the_text_steps(files):
    (files / "list").write_text(
        "0 ||| c ||| F= 0 ||| 0\n0 ||| a@@ b ||| F= 0 ||| 0\n0 ||| ab ||| F= 0 ||| 0\n"
    )
    assert rerank(files, "--mbr", "wer").stdout == "c\n"
    assert rerank(files, "--mbr", "wer", "--text", "debpe").stdout == "ab\n"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--mbr", "port"), "metric port reads links; minimum Bayes risk compares the tokens"),
        (("--mbr", "chrff"), "unknown metric 'chrff'; did you mean 'chrf'?"),
        (("--mbr", "scores:x"), "minimum Bayes risk compares the tokens"),
    ],
)
def test_metrics_that_do_not_fit(files, more, message):
    assert message in rerank(files, *more, status=1).stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--mbr-size", "3"), "--mbr-size goes with --mbr"),
        (("--mbr", "chrf", "--mbr-size", "0"), "0 is not in the range x>=1"),
        (("--mbr", "chrf", "--mbr-temperature", "nan"), "nan is not a finite number"),
        (("--mbr", "chrf", "--mbr-temperature", "1e308"), "1e308 is not a finite number of at"),
        (("--mbr", "chrf", "--mbr-temperature", "-1"), "-1.0 is not in the range x>=0"),
        (("--mbr", "chrf", "--oracle", "bleu"), "--mbr and --oracle choose by different things"),
        (("--mbr", "chrf", "--ref", "list"), "--ref goes with --oracle"),
    ],
)
def test_options_that_do_not_fit(files, monkeypatch, more, message):
    monkeypatch.chdir(files)
    assert message in rerank(files, *more, status=2).stderr


def test_a_temperature_without_any_score(files):
    (files / "list").write_text(LIST.replace("-1\n", "0\n").replace("-9", "0").replace("-8", "0"))
    result = rerank(files, "--mbr", "chrf", "--mbr-temperature", 1, status=1)
    assert "in no segment do those of these lists differ; give weights" in result.stderr


def test_as_a_feature_it_is_tuned(files):
    (files / "ref").write_text("a b c d\np\n")
    lists = portmert.Lists.read(
        files / "list",
        refs=files / "ref",
        features=["mbr:chrf", "-e=mbr:ter"],
    )
    found = portmert.optimize(lists, "chrf", optimizer="mert")
    assert set(found.weights.values) == {"F", "mbr:chrf", "-e"}
    assert found.score == 1.0
    lists = portmert.Lists.read(files / "list", features=["mbr:wer"]).nbest
    # 1 - edits over the length of the reference, itself, the others: -1/3 against x y z.
    like = (1 + 0.75 + 0.75 - 1 / 3) / 4
    assert lists.features[:, 1] == pytest.approx([0.25, like, like, like, 0.5, 0.5])
    result = run(
        "optimize", "--nbest", files / "list", "--ref", files / "ref", "--metric", "chrf",
        "--feature", "mbr", "--out", files / "o", status=1,
    )  # fmt: skip
    assert "--feature mbr: mbr needs a metric: write mbr:chrf" in result.stderr


def test_from_python(files):
    lists = portmert.Lists.read(files / "list").nbest
    how = portmert.Mbr(portmert.metric("chrf"), temperature=5)
    assert portmert.rerank(lists, {"F": 1.0}, mbr=how).lines == ("x y z", "p")
    assert portmert.rerank(lists, mbr="chrf").lines == ("a b c d", "p")
    for wrong in ({"size": 0}, {"temperature": float("inf")}, {"average": "means"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            portmert.Mbr("chrf", **wrong)


LONG = """
import random, sys, tempfile, pathlib, portmert
from portmert.tuner.base import context
from portmert.extensions.mbr import mbr

context.available_processors = lambda: 2
compare = mbr.checked_stats

def piece(*arguments):
    print("comparing", flush=True)
    interrupt()
    return compare(*arguments)

mbr.checked_stats = piece
draw = random.Random(1)
words = [f"w{n}" for n in range(99)]
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "list"
    path.write_text("".join(
        f"{segment} ||| {' '.join(draw.choices(words, k=40))} ||| F= 0 ||| 0\\n"
        for segment in range(9) for _ in range(500)
    ))
    try:
        portmert.rerank(portmert.Lists.read([path]), mbr="ter")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_in_python_it_ends_soon_after_an_interrupt():
    """A block of 64,000 pairs takes TER 10 s and more: threads look up within a block."""
    assert 1 <= pieces_begun(LONG, working="comparing") <= 2
