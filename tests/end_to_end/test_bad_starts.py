"""No start is too bad, and a tuning that found nothing better says so."""

import gzip
import json
import re

import pytest

import portmert
from portmert.tuner.weights.feature_weights import read_weights
from tests.end_to_end.test_whole_way import HYPOTHESES, Everything, products
from tests.extensions.mert_moses.test_mert_moses import BAGGED, RECORDED, tune

FEW = 3
"""So many hypotheses of a segment are shown: lists under bad weights know nothing good."""
BAD = {
    "flipped": {"good": -1.0, "noise": 0.0, "idle": 0.0},
    "runaway": {"good": -0.001, "noise": -0.99, "idle": 0.001},
    "tiny": {"good": -1e-39, "noise": 1e-39, "idle": 1e-39},
    "constant": {"good": -0.5, "noise": 0.5, "idle": 100_000.0},
    "zero": {"good": 0.0, "noise": 0.0, "idle": 1.0},
}


class WithIdle(Everything):
    """Each hypothesis has a feature `idle` of one value more, a number of its segment.

    With `exact`, `good` tells exactly how much of a hypothesis is right.
    """

    def __init__(self, *args, exact=False, **others):
        super().__init__(*args, **others)
        for number, (rows, reference) in enumerate(zip(self.lists, self.references, strict=True)):
            for row in rows:
                row["features"]["idle"] = float(number % 7)
                if exact:
                    pairs = zip(row["text"].split(), reference.split(), strict=True)
                    row["features"]["good"] = sum(word == right for word, right in pairs)


def decoded_second(folder):
    weights = json.loads((folder / "iteration-02/weights.json").read_text())["weights"]
    return {number for numbers in weights.values() for number in numbers}


def test_lists_that_teach_nothing_are_left_for_equal_weights(tmp_path):
    """Under the start one word of each hypothesis is right, which is no more than chance."""
    decoder = WithIdle(shown=FEW)
    for rows, reference in zip(decoder.lists, decoder.references, strict=True):
        right = reference.split()
        for k, row in enumerate(rows[: HYPOTHESES // 2]):
            text = ["wrong"] * len(right)
            text[k % len(right)] = right[k % len(right)]
            row["text"], row["features"]["good"] = " ".join(text), -1.0
    start = {"good": -1.0, "noise": 0.001, "idle": 0.0}
    tuned = decoder.tuned(tmp_path, start, decodings=3)
    first, second = (each.dev_score for each in tuned.result.iterations[:2])
    assert second > 2 * first > 0
    assert len(decoded_second(tmp_path)) == 1
    assert "the next decoding has equal weights" in (tmp_path / "log.txt").read_text()


def test_lists_that_teach_are_not_left_for_equal_weights(tmp_path):
    WithIdle().tuned(tmp_path, {"good": 0.1, "noise": 1.0, "idle": 1.0}, decodings=2)
    assert "equal weights" not in (tmp_path / "log.txt").read_text()
    assert len(decoded_second(tmp_path)) > 1


@pytest.mark.parametrize("start", BAD.values(), ids=BAD)
def test_four_decodings_are_enough_for_a_bad_start(tmp_path, start):
    tuned = WithIdle(shown=FEW).tuned(tmp_path, start, decodings=4)
    decoded = [each.dev_score for each in tuned.result.iterations if each.is_decoded]
    assert decoded[0] < 0.6
    assert max(decoded[1:3]) > 0.8
    assert tuned.result.score > 0.8
    assert tuned.result.best > 1
    found = json.loads((tmp_path / "result.json").read_text())
    assert not found["equals_start"]
    assert found["gain"] > 5 * found["gain_error"] > 0
    weights = tuned.weights
    assert abs(weights["idle"]) <= 3 * (abs(weights["good"]) + abs(weights["noise"]))


def test_lists_of_bleu_0_do_not_end_a_tuning(tmp_path):
    """No hypothesis that is shown has a right word; equal weights show others."""
    decoder = WithIdle(shown=FEW)
    for rows in decoder.lists:
        for row in rows[: HYPOTHESES // 2]:
            row["text"], row["features"]["good"] = "none of these words", -1.0
    start = {"good": -1.0, "noise": 0.001, "idle": 0.0}
    tuned = decoder.tuned(tmp_path, start, metric="bleu", decodings=4)
    scores = [each.dev_score for each in tuned.result.iterations]
    assert scores[0] == 0
    assert scores[1] > 0
    assert tuned.result.score > 0.5
    assert tuned.result.best > 1


def test_a_killed_run_from_a_bad_start_goes_on_to_the_same_bytes(tmp_path):
    whole = WithIdle(shown=FEW)
    whole.tuned(tmp_path / "whole", BAD["constant"], decodings=3)
    decoder = WithIdle(shown=FEW)
    decoder.fails = 3
    with pytest.raises(Exception, match="no power"):
        decoder.tuned(tmp_path / "cut", BAD["constant"], decodings=3)
    decoder.tuned(tmp_path / "cut", BAD["constant"], decodings=3)
    assert products(tmp_path / "cut") == products(tmp_path / "whole")


def test_what_a_constant_feature_weighs_changes_no_step(tmp_path):
    """Its weight is as large as the others, or 0: the steps and scores are the same."""
    runs = []
    for weight in (0.0, 1.0):
        start = {"good": 0.2, "noise": 1.0, "idle": weight}
        tuned = WithIdle(shown=FEW).tuned(tmp_path / f"{weight}", start, decodings=4)
        runs.append([(each.dev_score, each.change) for each in tuned.result.iterations])
    assert runs[0] == [pytest.approx(row, abs=1e-9) for row in runs[1]]


def test_replicas_that_end_as_the_start_weights_are_named_and_counted(tmp_path, caplog):
    caplog.set_level("INFO", logger="portmert")
    start = {"good": 1.0, "noise": 0.0, "idle": 0.0}
    tuned = WithIdle(exact=True).tuned(tmp_path, start, replicas=2, decodings=3)
    said = "2 of 2 replicas equal to the start weights: no gain shown: replica-1, replica-2"
    assert any(line.endswith(said) for line in caplog.messages)
    assert "replica-1 (start weights)" in str(tuned)
    assert [each.keeps_start for each in tuned.result.results] == [
        "equal to the start weights: no gain shown (the estimate for unseen text got no better)"
    ] * 2
    found = json.loads((tmp_path / "result.json").read_text())
    assert [replica["equals_start"] for replica in found["replicas"]] == [True, True]
    for number in (1, 2):
        folder = tmp_path / f"replica-{number}"
        assert json.loads((folder / "result.json").read_text())["equals_start"]
        assert (folder / "iteration-02" / "weights.json").exists()  # it decoded on
        first = folder / "iteration-01" / "weights.json"
        assert read_weights(folder / "weights.json") == read_weights(first)


def test_mert_moses_leaves_the_runaway_weights_of_another_program(tmp_path):
    """As a first run of mert-moses.pl on few segments leaves them."""
    folder, quick = tmp_path / "work", [*BAGGED, "--nbest=15"]
    tune(folder, "--maximum-iterations=1", quick=quick)
    dense = (folder / "run1.dense").read_text().splitlines()
    runaway = [-0.99 if line.startswith("LM0=") else 0.001 for line in dense]
    log = folder / "run1.mert.log"
    point = f"Best point: {' '.join(map(str, runaway))} => 0.450000"
    log.write_text(re.sub(r"Best point:.*", point, log.read_text()))
    shown = tune(folder, "--continue", "--maximum-iterations=3", quick=quick).stderr
    assert "step 1 is of mert-moses.pl" in shown
    scores = [float(score) for score in re.findall(r"iteration \d+: .* dev +([\d.]+)", shown)]
    start, bad = (score_of(folder, step) for step in (1, 2))
    assert bad < start / 2
    assert score_of(folder, 3) > start  # one decoding later
    assert max(scores) > 100 * start


def score_of(folder, step):
    """Return the BLEU of the first hypotheses of a step's list."""
    with gzip.open(folder / f"run{step}.best15.out.gz", "rt", encoding="utf-8") as lines:
        best = {}
        for line in lines:
            number, text, *_ = line.split(" ||| ")
            best.setdefault(number, text)
    return portmert.score(list(best.values()), RECORDED / "dev.tgt", metric="bleu").score
